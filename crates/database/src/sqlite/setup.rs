//! Creates and loads the tables on one connection, because there can be only one writer.

use super::connection::Given;
use super::{Book, Sqlite, remove};
use crate::books::{Books as _, MADE_BY, must_be_free, note};
use crate::error::Error;
use crate::setup::{Loaded, Progress, Work, weight};
use oltp::{Dialect, Indexes, Row, Rows, SEQUENCES_TABLE, Sequence, Table, create, create_views, digest, insert};
use rusqlite::params_from_iter;
use std::fs::File;

/// Units of rows between reports of progress.
const STEP: u64 = 1000;

impl Sqlite {
    /// Creates and loads all tables. If it fails or is stopped, everything is removed again.
    ///
    /// # Errors
    /// Tables with the same names exist, or the database cannot be written.
    pub(crate) fn setup(&self, rows: Rows, indexes: Indexes, progress: Progress<'_>) -> Result<Loaded, Error> {
        let is_new = !self.path.exists();
        // If the folder is missing, SQLite's own message is less clear.
        File::options().append(true).create(true).open(&self.path).map_err(|error| Error::File(self.name(), error))?;
        let connection = rusqlite::Connection::open(&self.path).map_err(self.wrong())?;
        let mut book = Book { name: self.name(), connection };
        must_be_free(&mut book, &self.name(), "SELECT name FROM sqlite_master WHERE lower(name) = $1")?;
        let loaded = self.fill(&mut book, rows, indexes, progress);
        if loaded.is_err() {
            if is_new {
                drop(book);
                self.remove_file()?;
            } else {
                // The first error is reported.
                let _ = book.batch("ROLLBACK");
                let _ = remove(&book.connection);
            }
        }
        loaded
    }

    fn fill(&self, book: &mut Book, rows: Rows, indexes: Indexes, progress: Progress<'_>) -> Result<Loaded, Error> {
        // Nothing needs to be durable before the end, since an interrupted load is removed.
        book.batch("PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536")?;
        // With the mark in one transaction: whatever is cut off later, drop knows that it is ours.
        book.batch("BEGIN")?;
        for table in Table::ALL {
            book.batch(&create(table, indexes, Dialect::Sqlite))?;
        }
        book.batch(&format!("CREATE TABLE {SEQUENCES_TABLE} (name VARCHAR(40) PRIMARY KEY, value BIGINT)"))?;
        create_views().iter().try_for_each(|(_, sql)| book.batch(sql))?;
        note(book, MADE_BY.0, MADE_BY.1)?;
        book.batch("COMMIT")?;
        let mut work = Work::new(rows, progress);
        let mut loaded = Loaded::of_tables();
        for table in Table::ALL {
            book.batch("BEGIN")?;
            self.load(&mut work, book, table, &mut loaded)?;
            book.batch("COMMIT")?;
        }
        for table in Table::ALL {
            work.goes_on("indexes")?;
            oltp::indexes(table, indexes).iter().try_for_each(|sql| book.batch(sql))?;
        }
        for sequence in Sequence::ALL {
            let sql = format!("INSERT INTO {SEQUENCES_TABLE} VALUES ($1, $2)");
            let last = loaded.of(sequence.table()) as i64;
            book.ask(&sql, &[sequence.name().into(), last.into()], &mut |_| {})?;
        }
        book.batch("ANALYZE; PRAGMA journal_mode = WAL")?;
        loaded.note(book, &rows)?;
        book.batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.map_err(|error| Error::File(self.name(), error))?;
        Ok(loaded)
    }

    fn load(&self, work: &mut Work<'_>, book: &Book, table: Table, loaded: &mut Loaded) -> Result<(), Error> {
        let mut statement = book.connection.prepare(&insert(table)).map_err(self.wrong())?;
        let mut rows = Vec::<Row>::new();
        for unit in 0..work.rows.sizes.units(table) {
            work.rows.unit(table, unit, &mut rows);
            for row in rows.drain(..) {
                loaded.add(table, 1, digest(&row));
                statement.execute(params_from_iter(row.iter().map(Given))).map_err(self.wrong())?;
            }
            work.done += weight(table);
            if unit % STEP == 0 {
                work.goes_on(table.name())?;
            }
        }
        Ok(())
    }
}
