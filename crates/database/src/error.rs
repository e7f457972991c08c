//! Errors of databases; one line each.

use crate::mysql::MysqlError;
use crate::postgres::WireError;
use crate::url::AddressError;

/// An error of a database, in one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Setup has not been run.
    #[error("{0}: no order-entry tables of ours are in it; seawall oltp setup makes them")]
    NotOurs(String),
    /// Setup was cut off, or is in progress.
    #[error(
        "{0}: setup has not finished here; if none is under way, remove it with seawall oltp drop and set it up again"
    )]
    Unfinished(String),
    /// Objects with the same names exist.
    #[error("{database}: has {table} already; drop what setup made with seawall oltp drop, or name another database")]
    Taken {
        /// Which database.
        database: String,
        /// The name of the first one.
        table: String,
    },
    /// There is no relation to read.
    #[error(
        "{database}: has no relation of ours to read; make one with: seawall ranread setup --database {option} NAME SIZE_GB"
    )]
    NoRelation {
        /// Which database.
        database: String,
        /// The value of `--database` for it, as a shell takes it.
        option: String,
    },
    /// Setup has already made a relation there.
    #[error(
        "{database}: has seawall_ranread already; read it, name another database, or remove it with: seawall ranread purge \
         --database {option}"
    )]
    HasRelation {
        /// Which database.
        database: String,
        /// The value of `--database` for it, as a shell takes it.
        option: String,
    },
    /// A table of the relation's name that is not ours.
    #[error("{0}: has a table seawall_ranread that setup did not make; rename it, or name another database")]
    NotOurRelation(String),
    /// It is in use.
    #[error("{0}: a run is under way; wait for its end, or give --force")]
    Busy(String),
    /// The user stopped it.
    #[error("stopped; what was made is removed")]
    Stopped,
    /// The name is not that of a database.
    #[error("must be sqlite:PATH, postgres://USER@HOST/DATABASE, mysql://USER@HOST/DATABASE or private:FOLDER")]
    Kind,
    /// The URL of a server is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// SQLite's message.
    #[error("{0}: {1}")]
    Sqlite(String, rusqlite::Error),
    /// Another object refers to one that is to be dropped.
    #[error("{database}: {table} has a reference to a table that setup made; nothing was removed; take it away first")]
    Needed {
        /// Which database.
        database: String,
        /// The table that refers.
        table: String,
    },
    /// MariaDB's message.
    #[error("{0}: {1}")]
    Mysql(String, MysqlError),
    /// PostgreSQL's message.
    #[error("{0}: {1}")]
    Postgres(String, WireError),
    /// The file system's message.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
}
