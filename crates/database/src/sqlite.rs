//! SQLite: a file, one writer at a time, many readers.

mod connection;
mod setup;

use connection::Given;

use crate::books::Books;
use crate::error::Error;
use crate::process;
use oltp::{Dialect, Row, Table, Value};
use rusqlite::types::ValueRef;
use rusqlite::{OpenFlags, params_from_iter};
use std::path::{Path, PathBuf};

/// A database in a file.
#[derive(Clone, Debug)]
pub struct Sqlite {
    path: PathBuf,
    /// The cache of each connection, in bytes.
    pub buffers: u64,
}

impl Sqlite {
    /// The database in that file, which need not exist yet.
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
        move |error| Error::Sqlite(name.clone(), error)
    }

    fn open(&self) -> Result<rusqlite::Connection, Error> {
        if !self.path.exists() {
            return Err(Error::NotOurs(self.name()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        rusqlite::Connection::open_with_flags(&self.path, flags).map_err(self.wrong())
    }

    /// A connection for checks and records.
    pub(crate) fn books(&self) -> Result<Book, Error> {
        Ok(Book { name: self.name(), connection: self.open()? })
    }

    /// Removes everything that setup made, and the file if nothing else is in it.
    ///
    /// # Errors
    /// It is in use.
    pub(crate) fn drop_all(&self) -> Result<(), Error> {
        let connection = self.open()?;
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
            // The file may not exist.
            let _ = std::fs::remove_file(path);
        }
        std::fs::remove_file(&self.path).map_err(|error| Error::File(self.name(), error))
    }
}

/// A connection for records and checks.
pub(crate) struct Book {
    name: String,
    connection: rusqlite::Connection,
}

impl Books for Book {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn ask(&mut self, sql: &str, args: &[Value], each: &mut dyn FnMut(Vec<Value>)) -> Result<u64, Error> {
        let work = || {
            let mut statement = self.connection.prepare(sql)?;
            let columns = statement.column_count();
            let mut rows = statement.query(params_from_iter(args.iter().map(Given)))?;
            let mut count = 0;
            while let Some(row) = rows.next()? {
                each(values(row, columns)?);
                count += 1;
            }
            Ok(count)
        };
        let mut work = work;
        work().map_err(|error| self.wrong(error))
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.connection.execute_batch(sql).map_err(|error| self.wrong(error))
    }

    fn sign(&mut self, _run: i64) -> Result<String, Error> {
        process::identity(std::process::id()).map_err(|error| Error::File("/proc".into(), error))
    }

    fn lives(&mut self, _run: i64, sign: &str) -> Result<bool, Error> {
        Ok(process::lives(sign))
    }
}

impl Book {
    fn wrong(&self, error: rusqlite::Error) -> Error {
        // No such table, or another one without our columns.
        let said = error.to_string();
        match said.starts_with("no such table") || said.starts_with("no such column") {
            true => Error::NotOurs(self.name.clone()),
            false => Error::Sqlite(self.name.clone(), error),
        }
    }
}

/// A row in the load's types.
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

/// Removes our tables, views and sequences.
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
