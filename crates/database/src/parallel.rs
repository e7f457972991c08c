//! Loads on several connections: tables in chunks, tasks shared among threads, and rows in a text
//! format that PostgreSQL's COPY and MariaDB's LOAD DATA both accept.

use crate::error::Error;
use crate::setup::{Loaded, Work, weight};
use oltp::{Rows, Table, Value, digest};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Rows of a chunk: enough that its overhead is small, few enough for an even distribution.
const CHUNK: f64 = 20_000.0;
/// How often the progress callback is asked whether to continue.
const LOOK: Duration = Duration::from_millis(200);

/// A part of a table.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    pub table: Table,
    from: u64,
    until: u64,
}

/// What was loaded.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub table: Table,
    pub rows: u64,
    pub digest: u64,
    /// Sum of [`weight`]s.
    pub weight: f64,
}

/// Loads all tables in chunks, in their order, distributed over connections by [`share`].
///
/// # Errors
/// Those of [`share`].
pub(crate) fn load<C>(
    work: &mut Work<'_>,
    jobs: NonZeroUsize,
    connect: &(dyn Fn() -> Result<C, Error> + Sync),
    load: &(dyn Fn(&Chunk, &mut C, &AtomicBool) -> Result<Part, Error> + Sync),
) -> Result<Loaded, Error> {
    let sizes = work.rows.sizes;
    let all: Vec<Chunk> = Table::ALL.into_iter().flat_map(|table| chunks(table, sizes.units(table))).collect();
    let mut loaded = Loaded::of_tables();
    share(&all, jobs, connect, load, &mut |part: Option<Part>| {
        if let Some(part) = part {
            loaded.add(part.table, part.rows, part.digest);
            work.done += part.weight;
            work.what = part.table.name();
        }
        work.goes_on(work.what)
    })?;
    Ok(loaded)
}

fn chunks(table: Table, units: u64) -> Vec<Chunk> {
    let size = (CHUNK / weight(table)).max(1.0) as usize;
    (0..units).step_by(size).map(|from| Chunk { table, from, until: (from + size as u64).min(units) }).collect()
}

/// The rows of a chunk as lines of text, generated on demand.
pub(crate) struct Lines {
    rows: Rows,
    until: u64,
    unit: u64,
    some: Vec<oltp::Row>,
    /// What was generated so far; its weight is that of the whole chunk.
    pub part: Part,
}

impl Lines {
    pub fn of(rows: Rows, Chunk { table, from, until }: Chunk) -> Lines {
        let part = Part { table, rows: 0, digest: 0, weight: (until - from) as f64 * weight(table) };
        Lines { rows, until, unit: from, some: Vec::new(), part }
    }

    /// Appends lines until there are `bytes` bytes or no more rows.
    pub fn fill(&mut self, out: &mut Vec<u8>, bytes: usize) {
        while self.unit < self.until && out.len() < bytes {
            self.rows.unit(self.part.table, self.unit, &mut self.some);
            for row in self.some.drain(..) {
                self.part.digest = self.part.digest.wrapping_add(digest(&row));
                self.part.rows += 1;
                line(&row, out);
            }
            self.unit += 1;
        }
    }
}

/// A row as a line with tabs between values. Only these characters of our texts need escaping.
fn line(row: &[Value], out: &mut Vec<u8>) {
    use std::io::Write as _;
    for (place, value) in row.iter().enumerate() {
        if place > 0 {
            out.push(b'\t');
        }
        match value {
            Value::Null => out.extend_from_slice(b"\\N"),
            // Writing to memory cannot fail.
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

/// Distributes tasks over `jobs` connections, which `connect` opens. `each` is called for each task
/// that is done, and regularly in between.
///
/// # Errors
/// The first failure of a connection or a task, or `each` stopped it.
pub(crate) fn share<C, T: Sync, D: Send>(
    tasks: &[T],
    jobs: NonZeroUsize,
    connect: &(dyn Fn() -> Result<C, Error> + Sync),
    work: &(dyn Fn(&T, &mut C, &AtomicBool) -> Result<D, Error> + Sync),
    each: &mut dyn FnMut(Option<D>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.get().min(tasks.len()) {
            let (sender, next, stop): (Sender<Result<D, Error>>, _, _) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                let mut connection = match connect() {
                    Ok(connection) => connection,
                    Err(error) => return drop(sender.send(Err(error))),
                };
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let is_over = stop.load(Ordering::Relaxed);
                    let done = if is_over { Err(Error::Stopped) } else { work(task, &mut connection, stop) };
                    let failed = done.is_err();
                    // The receiver is dropped after the first failure.
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
