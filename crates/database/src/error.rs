//! What is wrong with a database; one line each.

use crate::mysql::MysqlError;
use crate::postgres::WireError;
use crate::url::AddressError;

/// What is wrong; one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Setup was not there.
    #[error("{0}: no order-entry tables of ours are in it; seawall oltp setup makes them")]
    NotOurs(String),
    /// Tables of the same names.
    #[error("{database}: has {table} already; drop what setup made with seawall oltp drop, or name another database")]
    Taken {
        /// Which database.
        database: String,
        /// The first name that is in the way.
        table: String,
    },
    /// No relation to read.
    #[error("{0}: has no relation of ours to read; make one with seawall ranread setup --database {0} NAME SIZE_GB")]
    NoRelation(String),
    /// Somebody uses it.
    #[error("{0}: a run goes on, or was killed before it could tell; wait for its end, or give --force")]
    Busy(String),
    /// The user ended it.
    #[error("stopped; what was made is removed")]
    Stopped,
    /// Not a database.
    #[error("must be sqlite:PATH, postgres://USER@HOST/DATABASE, mysql://USER@HOST/DATABASE or private:FOLDER")]
    Kind,
    /// Not a server's URL.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// In SQLite's words.
    #[error("{0}: {1}")]
    Sqlite(String, rusqlite::Error),
    /// Something of others refers to what is to be dropped.
    #[error("{database}: {table} has a reference to a table that setup made; nothing was removed; take it away first")]
    Needed {
        /// Which database.
        database: String,
        /// The table that refers.
        table: String,
    },
    /// In MariaDB's words.
    #[error("{0}: {1}")]
    Mysql(String, MysqlError),
    /// In PostgreSQL's words.
    #[error("{0}: {1}")]
    Postgres(String, WireError),
    /// The file system's words.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
}
