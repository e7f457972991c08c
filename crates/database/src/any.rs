//! The database of a run, of any kind.

use crate::books::{self, Books, Found, OpenRun};
use crate::cgroup::MemoryBound;
use crate::error::Error;
use crate::mysql::{Mysql, MysqlAddress};
use crate::play::StopSignal;
use crate::postgres::{Address, Isolation, Postgres};
use crate::private::Private;
use crate::setup::{Loaded, Progress};
use crate::sqlite::Sqlite;
use crate::url::{Environment, Scheme};
use crate::watch::ServerWatch;
use oltp::{Counts, Failure, Indexes, Ranges, Rows, Session, Table};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A database under the load.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file.
    Sqlite(Sqlite),
    /// A server of PostgreSQL.
    Postgres(Postgres),
    /// A server of MariaDB.
    Mysql(Mysql),
}

impl Database {
    /// Opens the database of that name: `sqlite:PATH`, `postgres://…`, `mysql://…`, or
    /// `private:FOLDER`, for which a PostgreSQL server is started that stops when this is dropped.
    /// `environment` looks up variables; `buffers` is the size of the database's cache, where this
    /// program sets it.
    ///
    /// # Errors
    /// The name is invalid; the message does not repeat it, because it may contain a password.
    pub fn named(name: &str, environment: Environment<'_>, buffers: Option<u64>) -> Result<Database, Error> {
        if let Some(path) = name.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            return Ok(Database::Sqlite(Sqlite::new(path.into(), buffers.unwrap_or(SQLITE_BUFFERS))));
        }
        if let Some(folder) = name.strip_prefix("private:").filter(|path| !path.is_empty()) {
            return private(Path::new(folder), buffers.unwrap_or(SERVER_BUFFERS)).map(Database::Postgres);
        }
        if Scheme::Mysql.is_of(name) {
            let address = MysqlAddress::parse(name, environment)?;
            return Ok(Database::Mysql(Mysql::new(address, Isolation::default())));
        }
        if !Scheme::Postgres.is_of(name) {
            return Err(Error::Kind);
        }
        let address = Address::parse(name, environment)?;
        let password = address.password().map(str::to_owned).or_else(|| from_file(&address, environment));
        Ok(Database::Postgres(Postgres::new(address.with_password(password), Isolation::default())))
    }

    /// Its name without a password.
    pub fn name(&self) -> String {
        match self {
            Database::Sqlite(sqlite) => format!("sqlite:{}", sqlite.path().display()),
            Database::Postgres(postgres) => postgres.name(),
            Database::Mysql(mysql) => mysql.name(),
        }
    }

    /// Its program and version, such as `sqlite 3.54.0`.
    ///
    /// # Errors
    /// A server does not answer.
    pub fn engine(&self) -> Result<String, Error> {
        Ok(match self {
            Database::Sqlite(_) => format!("sqlite {}", Sqlite::version()),
            Database::Postgres(postgres) => format!("postgresql {}", postgres.version()?),
            Database::Mysql(mysql) => format!("mariadb {}", mysql.version()?),
        })
    }

    fn books(&self) -> Result<Box<dyn Books>, Error> {
        Ok(match self {
            Database::Sqlite(sqlite) => Box::new(sqlite.books()?),
            Database::Postgres(postgres) => Box::new(postgres.books()?),
            Database::Mysql(mysql) => Box::new(mysql.books()?),
        })
    }

    /// A connection to a database that setup has at least begun to make.
    fn begun(&self) -> Result<Box<dyn Books>, Error> {
        let mut books = self.books()?;
        books::must_be_ours(&mut *books, &self.name())?;
        Ok(books)
    }

    /// A connection to the database, which setup must have completed.
    fn ours(&self) -> Result<Box<dyn Books>, Error> {
        let mut books = self.books()?;
        books::must_be_whole(&mut *books, &self.name())?;
        Ok(books)
    }

    /// Creates and loads all tables, with several connections where the database allows it. If it
    /// fails or is stopped, everything is removed again.
    ///
    /// # Errors
    /// Objects with the same names exist, or the database cannot be written.
    pub fn setup(
        &self,
        rows: Rows,
        indexes: Indexes,
        jobs: NonZeroUsize,
        progress: Progress<'_>,
    ) -> Result<Loaded, Error> {
        match self {
            Database::Sqlite(sqlite) => sqlite.setup(rows, indexes, progress),
            Database::Postgres(postgres) => postgres.setup(rows, indexes, jobs, progress),
            Database::Mysql(mysql) => mysql.setup(rows, indexes, jobs, progress),
        }
    }

    /// Whether a run is under way.
    ///
    /// # Errors
    /// The database was not set up, or cannot be read.
    pub fn is_in_use(&self) -> Result<bool, Error> {
        books::is_in_use(&mut *self.begun()?)
    }

    /// Removes everything that setup made.
    ///
    /// # Errors
    /// The database was not set up by this program, or is in use.
    pub fn drop_all(&self) -> Result<(), Error> {
        drop(self.begun()?);
        match self {
            Database::Sqlite(sqlite) => sqlite.drop_all(),
            Database::Postgres(postgres) => postgres.drop_all(),
            Database::Mysql(mysql) => mysql.drop_all(),
        }
    }

    /// Opens the connection of a user, whose think time the signal ends.
    ///
    /// # Errors
    /// The database does not exist, or refuses.
    pub fn connect<'w>(&self, signal: &'w StopSignal) -> Result<Box<dyn Session + Send + 'w>, Failure> {
        Ok(match self {
            Database::Sqlite(sqlite) => Box::new(sqlite.connect(signal)?),
            Database::Postgres(postgres) => Box::new(postgres.connect(signal)?),
            Database::Mysql(mysql) => Box::new(mysql.connect(signal)?),
        })
    }

    /// Size of its file, or of the whole database, in bytes.
    ///
    /// # Errors
    /// The database does not exist.
    pub fn size(&self) -> Result<u64, Error> {
        match self {
            Database::Sqlite(sqlite) => sqlite.size(),
            Database::Postgres(postgres) => postgres.size(),
            Database::Mysql(mysql) => mysql.size(),
        }
    }

    /// Size of its page cache in bytes; for SQLite that of each connection.
    ///
    /// # Errors
    /// A server does not answer.
    pub fn buffers(&self) -> Result<u64, Error> {
        match self {
            Database::Sqlite(sqlite) => Ok(sqlite.buffers),
            Database::Postgres(postgres) => postgres.buffers(),
            Database::Mysql(mysql) => mysql.buffers(),
        }
    }

    /// Memory limit of a private server, if there is one.
    pub fn memory(&self) -> Option<MemoryBound> {
        match self {
            Database::Postgres(postgres) => postgres.memory(),
            Database::Sqlite(_) | Database::Mysql(_) => None,
        }
    }

    /// Whether it is on this host, judging by its name.
    pub fn is_local(&self) -> bool {
        match self {
            Database::Sqlite(_) => true,
            Database::Postgres(postgres) => postgres.is_local(),
            Database::Mysql(mysql) => mysql.is_local(),
        }
    }

    /// Whether it reads with direct I/O, as far as it tells.
    pub fn reads_directly(&self) -> bool {
        match self {
            Database::Sqlite(_) | Database::Postgres(_) => false,
            Database::Mysql(mysql) => mysql.reads_directly(),
        }
    }

    /// Its file, or the folder of its files, if that is on this host and known.
    pub fn folder(&self) -> Option<PathBuf> {
        match self {
            Database::Sqlite(sqlite) => Some(sqlite.path().to_path_buf()),
            Database::Postgres(postgres) => postgres.folder(),
            Database::Mysql(mysql) => mysql.folder(),
        }
    }

    /// The folder of a server's log, if that is on this host and known.
    pub fn log_folder(&self) -> Option<PathBuf> {
        match self {
            Database::Sqlite(_) => None,
            Database::Postgres(postgres) => postgres.folder().map(|folder| folder.join("pg_wal")),
            Database::Mysql(mysql) => mysql.log_folder(),
        }
    }

    /// Starts to watch a server, second by second; `None` if the database is not a server.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn watch(&self) -> Result<Option<ServerWatch>, Error> {
        match self {
            Database::Sqlite(_) => Ok(None),
            Database::Postgres(postgres) => postgres.watch().map(Some),
            Database::Mysql(mysql) => mysql.watch().map(Some),
        }
    }

    /// A number that setup recorded.
    ///
    /// # Errors
    /// The database was not set up by this program.
    pub fn number(&self, key: &str) -> Result<f64, Error> {
        books::left(&mut *self.ours()?, &self.name(), key)
    }

    /// The ranges from which keys are drawn.
    ///
    /// # Errors
    /// The database was not set up by this program.
    pub fn ranges(&self) -> Result<Ranges, Error> {
        books::ranges(&mut *self.ours()?, &self.name())
    }

    /// Records the start of a run. Until [`Database::run_ends`], row counts cannot be checked. A
    /// run that is dropped without it counts as dead.
    ///
    /// # Errors
    /// The database was not set up by this program, or cannot be written.
    pub fn run_begins(&self, users: u32) -> Result<OpenRun, Error> {
        books::run_begins(self.ours()?, users)
    }

    /// Records the end of a run and the rows that it added; `unsure` is the number of transactions
    /// that may or may not have been committed.
    ///
    /// # Errors
    /// Those of [`Database::run_begins`].
    #[expect(clippy::needless_pass_by_value, reason = "it ends here")]
    pub fn run_ends(&self, run: OpenRun, counts: &Counts, unsure: u64) -> Result<(), Error> {
        books::run_ends(&mut *self.ours()?, &run, counts, unsure)
    }

    /// Checks everything that must hold. Rows that dead runs added are accepted from then on.
    ///
    /// # Errors
    /// The database was not set up by this program, or cannot be read; or, after a run that died,
    /// cannot be written.
    pub fn check(&self, said: &mut dyn FnMut(&Found)) -> Result<bool, Error> {
        books::check(&mut *self.ours()?, said)
    }

    /// The present digest of each table's rows.
    ///
    /// # Errors
    /// Those of [`Database::check`].
    pub fn digests(&self) -> Result<Vec<(Table, u64)>, Error> {
        books::digests(&mut *self.ours()?)
    }
}

/// SQLite's default cache of a connection.
const SQLITE_BUFFERS: u64 = 2 << 20;
/// Default cache of a private server, the same as PostgreSQL's.
const SERVER_BUFFERS: u64 = 128 << 20;
/// Maximum number of connections of a private server.
const CONNECTIONS: &str = "1100";

fn private(folder: &Path, buffers: u64) -> Result<Postgres, Error> {
    let wrong = |error| Error::File(folder.display().to_string(), error);
    let is_ours = folder.join("data/PG_VERSION").exists();
    if !is_ours && std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(wrong(std::io::Error::other("the folder is not empty and has no server of ours in it")));
    }
    std::fs::create_dir_all(folder).map_err(wrong)?;
    let size = format!("{}kB", (buffers >> 10).max(128));
    let settings = [("shared_buffers", size.as_str()), ("max_connections", CONNECTIONS), ("track_io_timing", "on")];
    let server = Private::start(folder, &settings, None).map_err(wrong)?;
    let address = Address::parse(&server.url(), &|_| None)?;
    Ok(Postgres::of_private(address, server))
}

/// The password from libpq's file: `PGPASSFILE`, or `.pgpass` in the home folder. As in libpq, a
/// file that others can read is ignored.
fn from_file(address: &Address, environment: Environment<'_>) -> Option<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let home = || environment("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let path = environment("PGPASSFILE").map(PathBuf::from).or_else(home)?;
    let mode = path.metadata().ok()?.permissions().mode();
    let text = std::fs::read_to_string(path).ok().filter(|_| mode & 0o077 == 0)?;
    address.password_in(&text)
}
