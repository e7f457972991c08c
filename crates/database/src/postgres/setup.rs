//! Creates the tables and loads them with COPY, on several connections.

use super::wire::Wire;
use super::{Book, Postgres};
use crate::books::{Books as _, MADE_BY, must_be_free};
use crate::error::Error;
use crate::parallel::{self, Chunk, Lines, Part, share};
use crate::setup::{Loaded, Progress, SEQUENCE_CACHE, Work};
use oltp::{Dialect, Indexes, Rows, Sequence, Table, constraints, create, create_procedures, create_views};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of text sent at once.
const PORTION: usize = 64 << 10;

impl Postgres {
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
        self.must_be_free(&mut book)?;
        let loaded = self.fill(&mut book, rows, indexes, jobs, progress);
        if loaded.is_err() {
            // The first error is reported, since the connection itself may have failed.
            let _ = self.books().and_then(|mut book| remove(&mut book));
        }
        loaded
    }

    /// Removes everything that setup made.
    pub(crate) fn drop_all(&self) -> Result<(), Error> {
        remove(&mut self.books()?)
    }

    fn must_be_free(&self, book: &mut Book) -> Result<(), Error> {
        must_be_free(book, &self.name(), "SELECT relname FROM pg_class WHERE oid = to_regclass(CAST($1 AS text))")?;
        let sql =
            "SELECT MIN(proname) FROM pg_proc WHERE proname LIKE 'orderentry\\_%' AND pg_function_is_visible(oid)";
        match book.text(sql, &[])? {
            Some(table) => Err(Error::Taken { database: self.name(), table }),
            None => Ok(()),
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
        // In one transaction with the mark, so that drop recognises the database even if setup was
        // interrupted.
        let mut all = String::from("BEGIN;\n");
        for table in Table::ALL {
            let _ = writeln!(all, "{};", create(table, indexes, Dialect::Postgres));
        }
        create_views().iter().for_each(|(_, sql)| _ = writeln!(all, "{sql};"));
        for sequence in Sequence::ALL {
            let first = rows.sizes.units(sequence.table()) + 1;
            let _ = writeln!(all, "CREATE SEQUENCE {} START WITH {first} CACHE {SEQUENCE_CACHE};", sequence.name());
        }
        create_procedures(Dialect::Postgres).iter().for_each(|sql| _ = writeln!(all, "{sql};"));
        let (key, value) = MADE_BY;
        let _ = writeln!(all, "INSERT INTO orderentry_metadata VALUES ('{key}', '{value}');\nCOMMIT");
        book.batch(&all)?;
        let mut work = Work::new(rows, progress);
        let loaded = self.load(&mut work, jobs)?;
        self.index(&mut work, indexes, jobs)?;
        for table in Table::ALL {
            work.goes_on("references")?;
            constraints(table, indexes).references.iter().try_for_each(|sql| book.batch(sql))?;
        }
        work.goes_on("statistics")?;
        self.vacuum(&mut work, jobs)?;
        loaded.note(book, &rows)?;
        // Only some roles may do this; otherwise the checkpoint falls into the first run.
        let _ = book.batch("CHECKPOINT");
        Ok(loaded)
    }

    fn load(&self, work: &mut Work<'_>, jobs: NonZeroUsize) -> Result<Loaded, Error> {
        let rows = work.rows;
        parallel::load(work, jobs, &|| self.loader(), &|chunk: &Chunk, wire: &mut Wire, stop: &AtomicBool| {
            let part = copy(wire, rows, *chunk, stop).map_err(|error| Error::Postgres(self.name(), error))?;
            part.ok_or(Error::Stopped)
        })
    }

    /// Creates primary keys and indexes, one table after the other on each connection.
    fn index(&self, work: &mut Work<'_>, indexes: Indexes, jobs: NonZeroUsize) -> Result<(), Error> {
        let make = |table: &Table, wire: &mut Wire, _: &AtomicBool| {
            let keys = constraints(*table, indexes).primary.into_iter();
            let all: Vec<String> = keys.chain(oltp::indexes(*table, indexes)).collect();
            let made = all.iter().try_for_each(|sql| wire.batch(sql));
            made.map_err(|error| Error::Postgres(self.name(), error))
        };
        share(&Table::ALL, jobs, &|| self.loader(), &make, &mut |_| work.goes_on("indexes"))
    }

    /// Computes statistics and marks pages as all-visible, one table after the other on each
    /// connection.
    fn vacuum(&self, work: &mut Work<'_>, jobs: NonZeroUsize) -> Result<(), Error> {
        let make = |table: &Table, wire: &mut Wire, _: &AtomicBool| {
            let done = wire.batch(&format!("VACUUM ANALYZE {}", table.name()));
            done.map_err(|error| Error::Postgres(self.name(), error))
        };
        share(&Table::ALL, jobs, &|| self.loader(), &make, &mut |_| work.goes_on("statistics"))
    }

    fn loader(&self) -> Result<Wire, Error> {
        let settings =
            [("application_name", "seawall setup"), ("synchronous_commit", "off"), ("maintenance_work_mem", "256MB")];
        Wire::connect(&self.address, &settings).map_err(|error| Error::Postgres(self.name(), error))
    }
}

/// Loads a chunk; `None` if it was stopped.
fn copy(wire: &mut Wire, rows: Rows, chunk: Chunk, stop: &AtomicBool) -> Result<Option<Part>, super::WireError> {
    let mut lines = Lines::of(rows, chunk);
    let sql = format!("COPY {} FROM STDIN", chunk.table.name());
    let done = wire.copy(&sql, &mut |out| {
        lines.fill(out, PORTION);
        !stop.load(Ordering::Relaxed)
    })?;
    Ok(done.then_some(lines.part))
}

/// Removes everything that setup made, or nothing.
fn remove(book: &mut Book) -> Result<(), Error> {
    let mut all = String::from("BEGIN;\n");
    oltp::PROCEDURES.iter().for_each(|name| _ = writeln!(all, "DROP PROCEDURE IF EXISTS {name};"));
    create_views().iter().for_each(|(view, _)| _ = writeln!(all, "DROP VIEW IF EXISTS {view};"));
    Table::ALL.into_iter().rev().for_each(|table| _ = writeln!(all, "DROP TABLE IF EXISTS {};", table.name()));
    Sequence::ALL.iter().for_each(|sequence| _ = writeln!(all, "DROP SEQUENCE IF EXISTS {};", sequence.name()));
    book.batch(&(all + "COMMIT"))
}
