//! Creates the tables and loads them with LOAD DATA from memory, on several connections.

use super::wire::Wire;
use super::{Book, LOCK_TIMEOUT, Mysql, WORDS};
use crate::books::{Books as _, MADE_BY, must_be_free};
use crate::error::Error;
use crate::parallel::{self, Chunk, Lines, Part, share};
use crate::setup::{Loaded, Progress, SEQUENCE_CACHE, Work};
use oltp::{Dialect, Indexes, Rows, Sequence, Table, constraints, create, create_procedures, create_views, in_mariadb};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

impl Mysql {
    /// Creates and loads all tables with `jobs` connections.
    ///
    /// # Errors
    /// Objects with the same names exist, or the database cannot be written.
    pub(crate) fn setup(
        &self,
        rows: Rows,
        indexes: Indexes,
        jobs: NonZeroUsize,
        progress: Progress<'_>,
    ) -> Result<Loaded, Error> {
        let mut book = self.books()?;
        let named =
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = $1";
        must_be_free(&mut book, &self.name(), named)?;
        let named = "SELECT MIN(routine_name) FROM information_schema.routines WHERE routine_schema = DATABASE() AND \
                     routine_name LIKE 'orderentry\\_%'";
        if let Some(table) = book.text(named, &[])? {
            return Err(Error::Taken { database: self.name(), table });
        }
        let loaded = self.fill(&mut book, rows, indexes, jobs, progress);
        if loaded.is_err() {
            // The first error is reported, since the connection itself may have failed.
            let _ = self.books().and_then(|mut book| remove(&mut book));
        }
        loaded
    }

    /// Removes everything that setup made, unless other objects need it.
    pub(crate) fn drop_all(&self) -> Result<(), Error> {
        let mut book = self.books()?;
        let ours: Vec<String> = Table::ALL.into_iter().map(|table| format!("'{}'", table.name())).collect();
        let ours = ours.join(", ");
        // A reference would stop it half-way.
        let sql = format!(
            "SELECT MIN(CONCAT(table_schema, '.', table_name)) FROM information_schema.key_column_usage WHERE \
             referenced_table_schema = DATABASE() AND referenced_table_name IN ({ours}) AND NOT (table_schema = DATABASE() \
             AND table_name IN ({ours}))"
        );
        match book.text(&sql, &[])? {
            Some(table) => Err(Error::Needed { database: self.name(), table }),
            None => remove(&mut book),
        }
    }

    fn fill(
        &self,
        book: &mut Book,
        rows: Rows,
        indexes: Indexes,
        jobs: NonZeroUsize,
        progress: Progress<'_>,
    ) -> Result<Loaded, Error> {
        // The mark is created with the first table in one statement, and removed last. So drop
        // recognises the database even if setup was interrupted.
        let (key, value) = MADE_BY;
        let metadata = create(Table::Metadata, indexes, Dialect::Mariadb);
        book.batch(&format!("{metadata} AS SELECT '{key}' AS metadata_key, '{value}' AS metadata_value"))?;
        for table in Table::ALL.into_iter().filter(|table| *table != Table::Metadata) {
            book.batch(&create(table, indexes, Dialect::Mariadb))?;
        }
        create_views().iter().try_for_each(|(_, sql)| book.batch(sql))?;
        for sequence in Sequence::ALL {
            let first = rows.sizes.units(sequence.table()) + 1;
            let name = sequence.name();
            book.batch(&format!("CREATE SEQUENCE {name} START WITH {first} CACHE {SEQUENCE_CACHE} ENGINE = InnoDB"))?;
        }
        create_procedures(Dialect::Mariadb).iter().try_for_each(|sql| book.batch(sql))?;
        let mut work = Work::new(rows, progress);
        let loaded = self.load(&mut work, jobs)?;
        self.index(&mut work, indexes, jobs)?;
        // The rows satisfy the references by construction, and `check` verifies them. Without this
        // the server would copy each table.
        book.batch("SET SESSION foreign_key_checks = 0")?;
        for table in Table::ALL {
            work.goes_on("references")?;
            constraints(table, indexes).references.iter().try_for_each(|sql| book.batch(sql))?;
        }
        work.goes_on("statistics")?;
        for table in Table::ALL {
            book.ask(&format!("ANALYZE TABLE {}", table.name()), &[], &mut |_| {})?;
        }
        loaded.note(book, &rows)?;
        Ok(loaded)
    }

    fn load(&self, work: &mut Work<'_>, jobs: NonZeroUsize) -> Result<Loaded, Error> {
        let rows = work.rows;
        parallel::load(work, jobs, &|| self.loader(), &|chunk: &Chunk, wire: &mut Wire, _: &AtomicBool| {
            send(wire, rows, *chunk).map_err(|error| Error::Mysql(self.name(), error))
        })
    }

    /// Creates the indexes beside the keys, one table after the other on each connection.
    fn index(&self, work: &mut Work<'_>, indexes: Indexes, jobs: NonZeroUsize) -> Result<(), Error> {
        let make = |table: &Table, wire: &mut Wire, _: &AtomicBool| {
            let all = oltp::indexes(*table, indexes);
            let made = all.iter().try_for_each(|sql| wire.batch(&in_mariadb(sql).sql));
            made.map_err(|error| Error::Mysql(self.name(), error))
        };
        share(&Table::ALL, jobs, &|| self.loader(), &make, &mut |_| work.goes_on("indexes"))
    }

    /// A connection whose statements may take any time.
    fn loader(&self) -> Result<Wire, Error> {
        Wire::connect(&self.address, &[WORDS, LOCK_TIMEOUT], None).map_err(|error| Error::Mysql(self.name(), error))
    }
}

/// Loads a chunk in one statement, and so completely or not at all.
fn send(wire: &mut Wire, rows: Rows, chunk: Chunk) -> Result<Part, super::MysqlError> {
    let (mut lines, mut text) = (Lines::of(rows, chunk), Vec::new());
    lines.fill(&mut text, usize::MAX);
    wire.load(chunk.table.name(), text, lines.part.rows)?;
    Ok(lines.part)
}

/// Removes everything that setup made. The table with the mark is last, so that an interrupted
/// removal can be repeated.
fn remove(book: &mut Book) -> Result<(), Error> {
    for procedure in oltp::PROCEDURES {
        book.batch(&format!("DROP PROCEDURE IF EXISTS {procedure}"))?;
    }
    for (view, _) in create_views() {
        book.batch(&format!("DROP VIEW IF EXISTS {view}"))?;
    }
    for sequence in Sequence::ALL {
        book.batch(&format!("DROP SEQUENCE IF EXISTS {}", sequence.name()))?;
    }
    let marked_last = Table::ALL.into_iter().rev().filter(|table| *table != Table::Metadata).chain([Table::Metadata]);
    for table in marked_last {
        book.batch(&format!("DROP TABLE IF EXISTS {}", table.name()))?;
    }
    Ok(())
}
