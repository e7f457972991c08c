//! MariaDB, a server that speaks MySQL's protocol, at a URL.

mod address;
mod connection;
mod server;
mod setup;
mod watch;
mod wire;

pub use address::MysqlAddress;
pub use server::PrivateMariadb;
pub use wire::MysqlError;

use crate::books::Books;
use crate::error::Error;
use crate::postgres::Isolation;
use oltp::{Dialect, Value};
use std::path::{Path, PathBuf};
use wire::Wire;

/// Maximum time of a statement in seconds, as published.
const TIMEOUT_S: u32 = 120;
/// Settings of every connection: quoted names as in standard SQL, and errors for values that do not
/// fit.
const WORDS: &str = "SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1";
/// Maximum time that setup, checks and drop wait for a lock, in seconds.
const LOCK_TIMEOUT: &str = "SET SESSION lock_wait_timeout = 10, innodb_lock_wait_timeout = 10";

/// A database of a MariaDB server.
#[derive(Clone, Debug)]
pub struct Mysql {
    address: MysqlAddress,
    /// Isolation level of users' transactions.
    pub isolation: Isolation,
}

impl Mysql {
    /// The database at that address.
    pub fn new(address: MysqlAddress, isolation: Isolation) -> Mysql {
        Mysql { address, isolation }
    }

    /// Its URL, without a password.
    pub fn name(&self) -> String {
        self.address.name()
    }

    /// Whether its server is on this host, as far as its address says.
    pub fn is_local(&self) -> bool {
        self.address.is_local()
    }

    /// A connection for setup, checks and records.
    pub(crate) fn books(&self) -> Result<Book, Error> {
        let wrong = |error| Error::Mysql(self.name(), error);
        let wire = Wire::connect(&self.address, &[WORDS, LOCK_TIMEOUT], None).map_err(wrong)?;
        let mut book = Book { name: self.name(), wire, version: String::new() };
        // For example `10.11.14-MariaDB-0+deb12u2`; MySQL's version has no name in it.
        let version = book.text("SELECT VERSION()", &[])?.unwrap_or_default();
        match version.split_once("-MariaDB") {
            Some((number, _)) => book.version = number.to_owned(),
            None => return Err(wrong(MysqlError::Foreign(format!("MySQL {version}")))),
        }
        Ok(book)
    }

    /// The server's version.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn version(&self) -> Result<String, Error> {
        Ok(self.books()?.version)
    }

    /// Size of the whole database in bytes, from its statistics, which setup updates.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn size(&self) -> Result<u64, Error> {
        let sql = "SELECT CAST(SUM(data_length + index_length) AS SIGNED) FROM information_schema.tables WHERE \
                   table_schema = DATABASE()";
        Ok(self.books()?.number(sql)?.unwrap_or(0).try_into().unwrap_or(0))
    }

    /// Size of the server's page cache in bytes.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn buffers(&self) -> Result<u64, Error> {
        Ok(self.books()?.number("SELECT @@innodb_buffer_pool_size")?.unwrap_or(0).try_into().unwrap_or(0))
    }

    /// Whether it reads with direct I/O, as far as it tells.
    pub fn reads_directly(&self) -> bool {
        self.setting("innodb_flush_method").is_some_and(|method| method.starts_with("O_DIRECT"))
    }

    /// The folder of its files, if it is on this host.
    pub fn folder(&self) -> Option<PathBuf> {
        let folder = PathBuf::from(self.setting("datadir")?);
        (self.is_local() && folder.exists()).then_some(folder)
    }

    /// The folder of its log, if it is on this host.
    pub fn log_folder(&self) -> Option<PathBuf> {
        // A relative path is within the folder of its files.
        Some(self.folder()?.join(Path::new(&self.setting("innodb_log_group_home_dir")?)))
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.books().ok()?.text(&format!("SELECT @@{name}"), &[]).ok()?
    }
}

/// A connection for records and checks.
pub(crate) struct Book {
    name: String,
    wire: Wire,
    /// The server's version.
    version: String,
}

impl Books for Book {
    fn dialect(&self) -> Dialect {
        Dialect::Mariadb
    }

    fn ask(&mut self, sql: &str, args: &[Value], each: &mut dyn FnMut(Vec<Value>)) -> Result<u64, Error> {
        self.wire.once(sql, args, each).map_err(|error| self.wrong(error))
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.wire.batch(sql).map_err(|error| self.wrong(error))
    }

    fn sign(&mut self, run: i64) -> Result<String, Error> {
        self.batch("SET SESSION wait_timeout = 31536000")?;
        self.ask(&format!("SELECT GET_LOCK({}, 0)", lock_of(run)), &[], &mut |_| {})?;
        Ok("GET_LOCK".into())
    }

    /// Users' are those of this account in this database; locks are not of a database.
    fn withdraw(&mut self) -> Result<(), Error> {
        self.batch("USE information_schema")
    }

    fn lives(&mut self, run: i64, _sign: &str) -> Result<bool, Error> {
        Ok(self.text(&format!("SELECT IS_USED_LOCK({})", lock_of(run)), &[])?.is_some())
    }
}

/// The name of a run's lock: locks are the whole server's, and names no longer than 64 letters.
fn lock_of(run: i64) -> String {
    format!("CONCAT('seawall ', MD5(DATABASE()), ' {run}')")
}

impl Book {
    fn wrong(&self, error: MysqlError) -> Error {
        match error.code() {
            // No such table, or another one without our columns.
            Some(1146 | 1054) => Error::NotOurs(self.name.clone()),
            _ => Error::Mysql(self.name.clone(), error),
        }
    }
}
