//! Common parts of setup for all databases: progress, and what was loaded.

use crate::books::{Books, WHOLE, note};
use crate::error::Error;
use oltp::{Rows, Sizes, Table};

/// What was loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// For each table: the number of rows, and the sum of their digests.
    pub rows: Vec<(Table, u64, u64)>,
}

/// Numbers taken from a sequence at once, as published.
pub(crate) const SEQUENCE_CACHE: u32 = 100_000;

/// Called with the fraction done and the current activity; returning `false` stops setup.
pub type Progress<'a> = &'a mut dyn FnMut(f64, &str) -> bool;

/// A setup in progress.
pub(crate) struct Work<'p> {
    pub rows: Rows,
    /// Sum of [`weight`]s.
    pub done: f64,
    all: f64,
    /// The last activity.
    pub what: &'static str,
    progress: Progress<'p>,
}

impl<'p> Work<'p> {
    pub fn new(rows: Rows, progress: Progress<'p>) -> Work<'p> {
        let all = Table::ALL.into_iter().map(|table| rows.sizes.units(table) as f64 * weight(table)).sum();
        Work { rows, done: 0.0, all, what: "tables", progress }
    }

    /// Reports progress; an error if setup is to stop.
    pub fn goes_on(&mut self, what: &str) -> Result<(), Error> {
        // Indexes and statistics take about as long as rows, but their progress is unknown: they
        // are the last hundredth.
        let part = (self.done / self.all).min(0.99);
        if (self.progress)(part, what) { Ok(()) } else { Err(Error::Stopped) }
    }
}

/// Mean number of rows in a unit.
pub(crate) const fn weight(table: Table) -> f64 {
    match table {
        Table::Inventories => 900.0,
        Table::OrderItems => 3.5,
        _ => 1.0,
    }
}

impl Loaded {
    /// Zero rows in all tables.
    pub(crate) fn of_tables() -> Loaded {
        let tables = Table::ALL.into_iter().filter(|table| *table != Table::Metadata);
        Loaded { rows: tables.map(|table| (table, 0, 0)).collect() }
    }

    /// Adds rows of a table and their digests.
    pub(crate) fn add(&mut self, table: Table, rows: u64, digest: u64) {
        if let Some((_, count, sum)) = self.rows.iter_mut().find(|(one, _, _)| *one == table) {
            *count += rows;
            *sum = sum.wrapping_add(digest);
        }
    }

    /// Number of rows of a table.
    pub fn of(&self, table: Table) -> u64 {
        self.rows.iter().find(|(one, _, _)| *one == table).map_or(0, |(_, rows, _)| *rows)
    }

    /// Writes it down, with all that checks compare with, once everything else is done.
    pub(crate) fn note(&self, books: &mut dyn Books, rows: &Rows) -> Result<(), Error> {
        for (table, count, sum) in &self.rows {
            note(books, &format!("rows:{}", table.name()), &count.to_string())?;
            note(books, &format!("digest:{}", table.name()), &format!("{sum:016x}"))?;
        }
        let stock = books.number("SELECT SUM(quantity_on_hand) FROM inventories")?.unwrap_or(0);
        let Rows { seed, sizes: Sizes { scale, .. } } = rows;
        for (key, value) in [("stock", stock.to_string()), ("scale", scale.to_string()), (WHOLE, seed.to_string())] {
            note(books, key, &value)?;
        }
        Ok(())
    }
}
