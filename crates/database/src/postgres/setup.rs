//! Tables made, and loaded by COPY on several connections at once.

use super::wire::Wire;
use super::{Book, Postgres};
use crate::books::{Books as _, MADE_BY, must_be_free};
use crate::error::Error;
use crate::setup::{Loaded, Progress, Work, weight};
use oltp::{
    Dialect, Indexes, Rows, Sequence, Table, Value, constraints, create, create_procedures, create_views, digest,
};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Rows of a COPY: large enough to cost little beside them, small enough to be shared evenly.
const CHUNK: f64 = 20_000.0;
/// Text that is sent at once.
const PORTION: usize = 64 << 10;
/// Numbers that a connection takes from a sequence at once, as published.
const SEQUENCE_CACHE: u32 = 100_000;
/// How often progress is asked whether to go on.
const LOOK: Duration = Duration::from_millis(200);

/// Part of a table.
#[derive(Clone, Copy)]
struct Chunk {
    table: Table,
    from: u64,
    until: u64,
}

/// What a loader did.
struct Part {
    table: Table,
    rows: u64,
    digest: u64,
    weight: f64,
}

impl Postgres {
    /// Makes and loads all tables with so many connections.
    ///
    /// # Errors
    /// Something of the same names is there, or the database cannot be written.
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
            // The first failure is the one to tell; the connection may be what failed.
            let _ = self.books().and_then(|mut book| remove(&mut book));
        }
        loaded
    }

    /// Removes what setup made.
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
        // With the mark in one transaction: whatever is cut off later, drop knows that it is ours.
        let mut all = String::from("BEGIN;\n");
        for table in Table::ALL {
            let _ = writeln!(all, "{};", create(table, indexes, Dialect::Postgres));
        }
        create_views().iter().for_each(|(_, sql)| _ = writeln!(all, "{sql};"));
        for sequence in Sequence::ALL {
            let first = rows.sizes.units(sequence.table()) + 1;
            let _ = writeln!(all, "CREATE SEQUENCE {} START WITH {first} CACHE {SEQUENCE_CACHE};", sequence.name());
        }
        create_procedures().iter().for_each(|sql| _ = writeln!(all, "{sql};"));
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
        loaded.note(book, &rows)?;
        let tables: Vec<&str> = Table::ALL.into_iter().map(Table::name).collect();
        book.batch("SET lock_timeout = 0")?;
        book.batch(&format!("VACUUM ANALYZE {}", tables.join(", ")))?;
        // Only some roles may; without it the first run has the checkpoint.
        let _ = book.batch("CHECKPOINT");
        Ok(loaded)
    }

    fn load(&self, work: &mut Work<'_>, jobs: NonZeroUsize) -> Result<Loaded, Error> {
        let rows = work.rows;
        let chunks: Vec<Chunk> =
            Table::ALL.into_iter().flat_map(|table| chunks(table, rows.sizes.units(table))).collect();
        let mut loaded = Loaded::of_tables();
        let load = |chunk: &Chunk, wire: &mut Wire, stop: &AtomicBool| {
            let part = copy(wire, rows, *chunk, stop).map_err(|error| Error::Postgres(self.name(), error))?;
            part.ok_or(Error::Stopped)
        };
        self.share(&chunks, jobs, &load, &mut |part| {
            if let Some(part) = part {
                loaded.add(part.table, part.rows, part.digest);
                work.done += part.weight;
                work.what = part.table.name();
            }
            work.goes_on(work.what)
        })?;
        Ok(loaded)
    }

    /// Primary keys and indexes, a table after the other on each connection.
    fn index(&self, work: &mut Work<'_>, indexes: Indexes, jobs: NonZeroUsize) -> Result<(), Error> {
        let make = |table: &Table, wire: &mut Wire, _: &AtomicBool| {
            let keys = constraints(*table, indexes).primary.into_iter();
            let all: Vec<String> = keys.chain(oltp::indexes(*table, indexes)).collect();
            let made = all.iter().try_for_each(|sql| wire.batch(sql));
            made.map_err(|error| Error::Postgres(self.name(), error))
        };
        self.share(&Table::ALL, jobs, &make, &mut |_| work.goes_on("indexes"))
    }

    /// Shares tasks among so many connections; `each` is called for each that is done, and now and
    /// then.
    fn share<T: Sync, D: Send>(
        &self,
        tasks: &[T],
        jobs: NonZeroUsize,
        work: &(dyn Fn(&T, &mut Wire, &AtomicBool) -> Result<D, Error> + Sync),
        each: &mut dyn FnMut(Option<D>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            for _ in 0..jobs.get().min(tasks.len()) {
                let (sender, next, stop): (Sender<Result<D, Error>>, _, _) = (sender.clone(), &next, &stop);
                scope.spawn(move || {
                    let mut wire = match self.loader() {
                        Ok(wire) => wire,
                        Err(error) => return drop(sender.send(Err(error))),
                    };
                    while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let done = if stop.load(Ordering::Relaxed) {
                            Err(Error::Stopped)
                        } else {
                            work(task, &mut wire, stop)
                        };
                        let failed = done.is_err();
                        // The receiver is gone once the first failure was taken.
                        if sender.send(done).is_err() || failed {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let ended = collect(&receiver, each);
            stop.store(true, Ordering::Relaxed);
            ended
        })
    }

    fn loader(&self) -> Result<Wire, Error> {
        let settings =
            [("application_name", "seawall setup"), ("synchronous_commit", "off"), ("maintenance_work_mem", "256MB")];
        Wire::connect(&self.address, &settings).map_err(|error| Error::Postgres(self.name(), error))
    }
}

fn collect<D>(
    receiver: &Receiver<Result<D, Error>>,
    each: &mut dyn FnMut(Option<D>) -> Result<(), Error>,
) -> Result<(), Error> {
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(done) => each(Some(done?))?,
            Err(RecvTimeoutError::Timeout) => each(None)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn chunks(table: Table, units: u64) -> Vec<Chunk> {
    let size = (CHUNK / weight(table)).max(1.0) as usize;
    (0..units).step_by(size).map(|from| Chunk { table, from, until: (from + size as u64).min(units) }).collect()
}

/// Loads a chunk; `None` if it was stopped.
fn copy(wire: &mut Wire, rows: Rows, chunk: Chunk, stop: &AtomicBool) -> Result<Option<Part>, super::WireError> {
    let Chunk { table, from, until } = chunk;
    let mut part = Part { table, rows: 0, digest: 0, weight: (until - from) as f64 * weight(table) };
    let (mut unit, mut some) = (from, Vec::new());
    let sql = format!("COPY {} FROM STDIN", table.name());
    let done = wire.copy(&sql, &mut |out| {
        while unit < until && out.len() < PORTION {
            rows.unit(table, unit, &mut some);
            for row in some.drain(..) {
                part.digest = part.digest.wrapping_add(digest(&row));
                part.rows += 1;
                line(&row, out);
            }
            unit += 1;
        }
        !stop.load(Ordering::Relaxed)
    })?;
    Ok(done.then_some(part))
}

/// A row as COPY takes it: tabs between values, and no letter of ours has to be escaped but these.
fn line(row: &[Value], out: &mut Vec<u8>) {
    use std::io::Write as _;
    for (place, value) in row.iter().enumerate() {
        if place > 0 {
            out.push(b'\t');
        }
        match value {
            Value::Null => out.extend_from_slice(b"\\N"),
            // Writing to memory does not fail.
            Value::Number(number) => _ = write!(out, "{number}"),
            Value::Text(text) => {
                for letter in text.bytes() {
                    match letter {
                        b'\t' => out.extend_from_slice(b"\\t"),
                        b'\n' => out.extend_from_slice(b"\\n"),
                        b'\r' => out.extend_from_slice(b"\\r"),
                        b'\\' => out.extend_from_slice(b"\\\\"),
                        _ => out.push(letter),
                    }
                }
            }
        }
    }
    out.push(b'\n');
}

/// Removes what setup made, all of it or nothing.
fn remove(book: &mut Book) -> Result<(), Error> {
    let mut all = String::from("BEGIN;\n");
    oltp::PROCEDURES.iter().for_each(|name| _ = writeln!(all, "DROP PROCEDURE IF EXISTS {name};"));
    create_views().iter().for_each(|(view, _)| _ = writeln!(all, "DROP VIEW IF EXISTS {view};"));
    Table::ALL.into_iter().rev().for_each(|table| _ = writeln!(all, "DROP TABLE IF EXISTS {};", table.name()));
    Sequence::ALL.iter().for_each(|sequence| _ = writeln!(all, "DROP SEQUENCE IF EXISTS {};", sequence.name()));
    book.batch(&(all + "COMMIT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_loaded_in_chunks_that_meet() {
        let all = chunks(Table::Customers, 50_001);
        assert_eq!(
            all.iter().map(|chunk| (chunk.from, chunk.until)).collect::<Vec<_>>(),
            [(0, 20_000), (20_000, 40_000), (40_000, 50_001)]
        );
        // A unit of inventories has 900 rows.
        assert_eq!(chunks(Table::Inventories, 100)[0].until, 22);
        assert!(chunks(Table::Metadata, 0).is_empty());
    }

    #[test]
    fn a_row_is_a_line_of_copy() {
        let mut out = Vec::new();
        line(&[Value::Number(-7), Value::Null, "a\tb\\c\n".into()], &mut out);
        assert_eq!(out, b"-7\t\\N\ta\\tb\\\\c\\n\n");
    }
}
