//! PostgreSQL, a server at a URL.

mod address;
mod connection;
mod setup;
mod stream;
mod watch;
mod wire;

pub use address::Address;
pub(crate) use connection::Connection;
pub use connection::Isolation;
pub use wire::WireError;

use crate::books::Books;
use crate::cgroup::MemoryBound;
use crate::error::Error;
use crate::private::Private;
use crate::shell;
use oltp::{Dialect, Value};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use wire::Wire;

/// Maximum time of a statement in milliseconds, as published.
const TIMEOUT_MS: &str = "120000";
/// Maximum time that setup, checks and drop wait for a lock.
const LOCK_TIMEOUT: &str = "10s";

/// A database of a PostgreSQL server.
#[derive(Clone, Debug)]
pub struct Postgres {
    address: Address,
    /// Isolation level of users' transactions.
    pub isolation: Isolation,
    /// The private server, if it is one; stopped when the last reference is dropped.
    server: Option<Arc<Mutex<Private>>>,
}

impl Postgres {
    /// The database at that address.
    pub fn new(address: Address, isolation: Isolation) -> Postgres {
        Postgres { address, isolation, server: None }
    }

    /// The database of a private server.
    pub(crate) fn of_private(address: Address, server: Private) -> Postgres {
        Postgres { address, isolation: Isolation::default(), server: Some(Arc::new(Mutex::new(server))) }
    }

    /// Whether the server is private.
    pub fn is_private(&self) -> bool {
        self.server.is_some()
    }

    /// Limits the memory of a private server, page cache included; needs root.
    ///
    /// # Errors
    /// The server is not private, or the host does not support such limits.
    pub fn limit_memory(&self, bytes: u64) -> Result<(), Error> {
        let wrong = |error| Error::File(self.name(), error);
        let Some(server) = &self.server else {
            return Err(wrong(std::io::Error::other("only a server of one's own (private:FOLDER) is limited")));
        };
        server.lock().unwrap_or_else(PoisonError::into_inner).limit_memory(bytes).map_err(wrong)
    }

    /// Memory limit of a private server, if there is one.
    pub fn memory(&self) -> Option<MemoryBound> {
        self.server.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).memory()
    }

    /// Its URL, without a password.
    pub fn name(&self) -> String {
        self.address.name()
    }

    /// The value of `--database` that names it, quoted for a shell. A private server has a URL only
    /// while it runs, so it is named by its folder.
    pub fn option(&self) -> String {
        let folder = self
            .server
            .as_ref()
            .map(|server| server.lock().unwrap_or_else(PoisonError::into_inner).folder().display().to_string());
        shell::word(&folder.map_or_else(|| self.name(), |folder| format!("private:{folder}")))
    }

    /// Whether its server is on this host, judging by its address.
    pub fn is_local(&self) -> bool {
        self.address.is_local()
    }

    /// A connection for setup, checks and records.
    pub(crate) fn books(&self) -> Result<Book, Error> {
        let settings = [("application_name", "seawall"), ("lock_timeout", LOCK_TIMEOUT)];
        let wire = Wire::connect(&self.address, &settings).map_err(|error| Error::Postgres(self.name(), error))?;
        Ok(Book { name: self.name(), wire })
    }

    /// The server's version.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn version(&self) -> Result<String, Error> {
        let book = self.books()?;
        // For example `15.18 (Debian 15.18-0+deb12u1)`.
        Ok(book.wire.version().split(' ').next().unwrap_or_default().to_owned())
    }

    /// Size of the whole database in bytes.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn size(&self) -> Result<u64, Error> {
        let sql = "SELECT pg_database_size(current_database())";
        Ok(self.books()?.number(sql)?.unwrap_or(0).try_into().unwrap_or(0))
    }

    /// A setting of the server; `None` if the role may not see it.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn setting(&self, name: &str) -> Result<Option<String>, Error> {
        match self.books()?.text("SELECT current_setting($1)", &[name.into()]) {
            Err(Error::Postgres(_, WireError::Server { .. })) => Ok(None),
            answer => answer,
        }
    }

    /// Size of its page cache in bytes.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn buffers(&self) -> Result<u64, Error> {
        let sql = "SELECT setting::bigint * current_setting('block_size')::bigint FROM pg_settings WHERE name = \
                   'shared_buffers'";
        Ok(self.books()?.number(sql)?.unwrap_or(0).try_into().unwrap_or(0))
    }

    /// The folder of its files, if it is on this host and the role may see it.
    pub fn folder(&self) -> Option<PathBuf> {
        let folder = PathBuf::from(self.setting("data_directory").ok()??);
        (self.is_local() && folder.exists()).then_some(folder)
    }
}

/// A connection for records and checks.
pub(crate) struct Book {
    name: String,
    pub(crate) wire: Wire,
}

impl Books for Book {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn ask(&mut self, sql: &str, args: &[Value], each: &mut dyn FnMut(Vec<Value>)) -> Result<u64, Error> {
        self.wire.once(sql, args, each).map_err(|error| self.wrong(error))
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.wire.batch(sql).map_err(|error| self.wrong(error))
    }

    /// Its lock is on the table's own number: there may be such tables in several schemas.
    fn sign(&mut self, run: i64) -> Result<String, Error> {
        // Servers before 14 do not have it.
        let _ = self.wire.batch("SET idle_session_timeout = 0");
        let sql = format!("SELECT pg_advisory_lock('orderentry_metadata'::regclass::oid::int, {run})");
        self.ask(&sql, &[], &mut |_| {})?;
        Ok("pg_advisory_lock".into())
    }

    fn lives(&mut self, run: i64, _sign: &str) -> Result<bool, Error> {
        let sql = format!(
            "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND objid = {run} AND \
             classid = 'orderentry_metadata'::regclass::oid AND database = (SELECT oid FROM pg_database WHERE datname = \
             current_database())"
        );
        Ok(self.number(&sql)? != Some(0))
    }
}

impl Book {
    fn wrong(&self, error: WireError) -> Error {
        match error.code() {
            // No such table, or another one without our columns.
            "42P01" | "42703" => Error::NotOurs(self.name.clone()),
            _ => Error::Postgres(self.name.clone(), error),
        }
    }
}
