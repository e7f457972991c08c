//! SQLite: a file, one writer at a time, many readers.

mod connection;
mod setup;

pub use connection::Connection;
pub use setup::Loaded;

use oltp::{Check, Counts, Expected, Ranges, Row, Table, Value, checks, digest};
use rusqlite::types::ValueRef;
use rusqlite::{OpenFlags, OptionalExtension as _};
use std::path::{Path, PathBuf};

/// What is wrong; one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Setup was not there.
    #[error("{0}: no order-entry tables of ours are in it; seawall oltp setup makes them")]
    NotOurs(String),
    /// Tables of the same names.
    #[error(
        "{database}: has a table {table} already; drop what setup made with seawall oltp drop, or name another database"
    )]
    Taken {
        /// Which database.
        database: String,
        /// The first table that is in the way.
        table: String,
    },
    /// The user ended it.
    #[error("stopped; what was made is removed")]
    Stopped,
    /// Anything else, in the database's words.
    #[error("{0}: {1}")]
    Database(String, rusqlite::Error),
    /// The file system's words.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
}

/// What mark setup leaves.
const MADE_BY: (&str, &str) = ("made_by", "seawall");
/// Counts the runs that have not said what they added.
const OPEN_RUNS: &str = "open_runs";

/// A database in a file.
#[derive(Clone, Debug)]
pub struct Sqlite {
    path: PathBuf,
    /// The cache of each connection, in bytes.
    pub buffers: u64,
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Found {
    /// What must hold.
    pub what: String,
    /// Whether it does; `None` where nothing can be said.
    pub holds: Option<bool>,
    /// The figures.
    pub because: String,
}

impl Sqlite {
    /// The database of that file, which need not be there yet.
    pub fn new(path: PathBuf, buffers: u64) -> Sqlite {
        Sqlite { path, buffers }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn wrong(&self) -> impl Fn(rusqlite::Error) -> Error {
        let name = self.name();
        move |error| Error::Database(name.clone(), error)
    }

    fn open(&self) -> Result<rusqlite::Connection, Error> {
        if !self.path.exists() {
            return Err(Error::NotOurs(self.name()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        rusqlite::Connection::open_with_flags(&self.path, flags).map_err(self.wrong())
    }

    /// A connection to a database of ours.
    fn ours(&self) -> Result<rusqlite::Connection, Error> {
        let connection = self.open()?;
        match metadata(&connection, MADE_BY.0) {
            Ok(Some(by)) if by == MADE_BY.1 => Ok(connection),
            Ok(_) => Err(Error::NotOurs(self.name())),
            Err(error) if error.to_string().contains("no such table") => Err(Error::NotOurs(self.name())),
            Err(error) => Err(self.wrong()(error)),
        }
    }

    /// A number that setup left.
    ///
    /// # Errors
    /// It is no database of ours.
    pub fn number(&self, key: &str) -> Result<f64, Error> {
        let connection = self.ours()?;
        let value = metadata(&connection, key).map_err(self.wrong())?;
        value.and_then(|value| value.parse().ok()).ok_or_else(|| Error::NotOurs(self.name()))
    }

    /// What there is to draw from.
    ///
    /// # Errors
    /// It is no database of ours.
    pub fn ranges(&self) -> Result<Ranges, Error> {
        let of = |key| self.number(key).map(|number| number as i64);
        Ok(Ranges { customers: of("rows:customers")?, products: of("rows:product_information")? })
    }

    /// A run begins: until it says what it added, rows cannot be compared.
    ///
    /// # Errors
    /// It is no database of ours, or cannot be written.
    pub fn run_begins(&self) -> Result<(), Error> {
        let connection = self.ours()?;
        add(&connection, OPEN_RUNS, 1).map_err(self.wrong())
    }

    /// A run has ended that added so much.
    ///
    /// # Errors
    /// As [`Sqlite::run_begins`].
    pub fn run_ends(&self, counts: &Counts) -> Result<(), Error> {
        let mut connection = self.ours()?;
        let work = || {
            let transaction = connection.transaction()?;
            for table in Table::ALL {
                add(&transaction, &format!("counted:{}", table.name()), counts.inserts[table as usize] as i64)?;
            }
            add(&transaction, OPEN_RUNS, -1)?;
            transaction.commit()
        };
        let mut work = work;
        work().map_err(self.wrong())
    }

    /// Looks whether all holds that must.
    ///
    /// # Errors
    /// It is no database of ours, or cannot be read.
    pub fn check(&self, said: &mut dyn FnMut(&Found)) -> Result<bool, Error> {
        let connection = self.ours()?;
        let stored = |key: &str| -> Result<i64, Error> {
            let value = metadata(&connection, key).map_err(self.wrong())?;
            Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
        };
        let is_open = stored(OPEN_RUNS)? != 0;
        let mut all = true;
        for Check { what, sql, expected } in checks(stored("rows:orders")?, stored("stock")?) {
            let number: i64 = connection.query_row(&sql, [], |row| row.get(0)).map_err(self.wrong())?;
            let wanted = match expected {
                Expected::Zero => 0,
                Expected::LoadedAndCounted(table) | Expected::LastOf(table) => {
                    stored(&format!("rows:{}", table.name()))? + stored(&format!("counted:{}", table.name()))?
                }
            };
            let counts = expected != Expected::Zero;
            let found = match counts && is_open {
                true => {
                    Found { what, holds: None, because: "a run goes on, or was killed before it could tell".into() }
                }
                false => {
                    let because =
                        if counts { format!("{number}, expected {wanted}") } else { format!("{number} are wrong") };
                    Found { what, holds: Some(number == wanted), because }
                }
            };
            all &= found.holds == Some(true);
            said(&found);
        }
        Ok(all)
    }

    /// The digest of each table's rows as they are now.
    ///
    /// # Errors
    /// As [`Sqlite::check`].
    pub fn digests(&self) -> Result<Vec<(Table, u64)>, Error> {
        let connection = self.ours()?;
        let tables = Table::ALL.into_iter().filter(|table| *table != Table::Metadata);
        tables.map(|table| Ok((table, digest_of(&connection, table).map_err(self.wrong())?))).collect()
    }

    /// Removes what setup made, and the file where nothing else is in it.
    ///
    /// # Errors
    /// It is no database of ours, or in use.
    pub fn drop_all(&self) -> Result<(), Error> {
        let connection = self.ours()?;
        remove(&connection).map_err(self.wrong())?;
        let others: i64 = connection
            .query_row("SELECT COUNT(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'", [], |row| row.get(0))
            .map_err(self.wrong())?;
        if others == 0 {
            drop(connection);
            self.remove_file()?;
        } else {
            connection.execute_batch("VACUUM").map_err(self.wrong())?;
        }
        Ok(())
    }

    fn remove_file(&self) -> Result<(), Error> {
        for behind in ["-wal", "-shm", "-journal"] {
            let mut path = self.path.clone().into_os_string();
            path.push(behind);
            // They are there or they are not.
            let _ = std::fs::remove_file(path);
        }
        std::fs::remove_file(&self.path).map_err(|error| Error::File(self.name(), error))
    }
}

fn metadata(connection: &rusqlite::Connection, key: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT metadata_value FROM orderentry_metadata WHERE metadata_key = ?1";
    connection.query_row(sql, [key], |row| row.get(0)).optional()
}

fn add(connection: &rusqlite::Connection, key: &str, more: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO orderentry_metadata VALUES (?1, ?2) ON CONFLICT (metadata_key) DO UPDATE SET metadata_value = \
               CAST(metadata_value AS INTEGER) + ?2";
    connection.execute(sql, rusqlite::params![key, more]).map(drop)
}

fn digest_of(connection: &rusqlite::Connection, table: Table) -> rusqlite::Result<u64> {
    let columns: Vec<&str> = table.columns().collect();
    let mut statement = connection.prepare(&format!("SELECT {} FROM {}", columns.join(", "), table.name()))?;
    let (mut rows, mut sum) = (statement.query([])?, 0u64);
    while let Some(row) = rows.next()? {
        sum = sum.wrapping_add(digest(&values(row, columns.len())?));
    }
    Ok(sum)
}

/// A row as the load knows it.
fn values(row: &rusqlite::Row<'_>, columns: usize) -> rusqlite::Result<Row> {
    let value = |column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Integer(number) => Value::Number(number),
            ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => Value::Null,
        })
    };
    (0..columns).map(value).collect()
}

/// Removes tables, views and sequences of ours.
fn remove(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    let mut all = String::from("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE;\n");
    for (view, _) in oltp::create_views() {
        all += &format!("DROP VIEW IF EXISTS {view};\n");
    }
    for table in Table::ALL.into_iter().rev().map(Table::name).chain([oltp::SEQUENCES_TABLE]) {
        all += &format!("DROP TABLE IF EXISTS {table};\n");
    }
    connection.execute_batch(&(all + "COMMIT"))
}
