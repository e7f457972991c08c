//! Answers in ONTAP's layout: from plain rows to text.
//!
//! ```text
//!   rows ─ filter by the selection ─► Listing ─┬─ Form::Summary   table with the usual columns
//!                                              ├─ Form::Instance  label: value, a block for each object
//!                                              ├─ Form::Fields    table with the keys and the columns asked for
//!                                              └─ Output::Json    the same fields as one JSON document (`json`)
//! ```
//! A row type defines the values of its fields ([`Row::cell`]), the columns of its summary and the
//! labels of its instance form. The fields themselves are in the table of its `show` command, so
//! every field that can be filtered by can be shown, and vice versa. Rows of what an SVM has are
//! printed by SVM and then by name (`order`), others in the order in which they are given.

mod adaptive;
mod aggregate;
mod cache;
mod cell;
mod certificate;
mod clone;
mod df;
mod event;
mod fairness;
mod figure;
mod file;
mod fit;
mod held;
mod history;
mod json;
mod link;
mod listing;
mod login;
mod lun;
mod order;
mod outcome;
mod policy_group;
mod qtree;
mod snapshot;
mod statistics;
mod table;
mod volume;
mod vserver;
mod workload;

pub use adaptive::AdaptiveRow;
pub use aggregate::AggregateRow;
pub use cache::{CacheCounts, CachePartitionRow, CacheStatisticsRow, MemoryRow, SecondLevelRow};
pub use cell::Cell;
pub use certificate::CertificateRow;
pub use clone::CloneRow;
pub use df::DfRow;
pub use event::EventRow;
pub use fairness::FairnessRow;
pub use figure::{latency, size, throughput};
pub use file::FileRow;
pub use fit::fitted;
pub use held::{FloorStatus, HeldBy};
pub use history::HistoryRow;
pub use json::refusal;
pub use link::LinkRow;
pub use listing::{Listing, Rows};
pub use login::LoginRow;
pub use lun::LunRow;
pub use outcome::{entries, lun_created};
pub use policy_group::{BurstRow, PolicyGroupRow};
pub use qtree::QtreeRow;
pub use snapshot::SnapshotRow;
pub use statistics::{Measured, Statistics, Waits};
pub use table::Column;
pub use volume::VolumeRow;
pub use vserver::VserverRow;
pub use workload::{BurstInForce, WorkloadRow};

use crate::catalogue::{self, Form, Selection};
use crate::grammar::CommandSpec;
use crate::value::SizeUnits;
use table::{TERMINAL, Table, wrapped};

/// Something that a `show` command lists.
pub trait Row {
    /// The words of that command; its table has the fields and the keys.
    const COMMAND: &'static str;
    /// The columns of the summary.
    const SUMMARY: &'static [Column];
    /// Labels and fields of the instance form, in order.
    const INSTANCE: &'static [(&'static str, &'static str)];

    /// Least width of the labels in the instance form, in characters; the longest label may need
    /// more.
    const LABEL_WIDTH: usize = 0;

    /// Fields that are expensive to determine; they are asked for only if they are needed.
    const MEASURED: &'static [&'static str] = &[];

    /// Whether they stand by age within what they are in, the oldest first, and not by name.
    const BY_AGE: bool = false;

    /// The value of a field; `None` for a field that rows of this kind do not have.
    fn cell(&self, field: &str) -> Option<Cell>;
}

/// Whether a row is selected. A field that the row does not have matches nothing.
pub fn picked<R: Row>(row: &R, selection: &Selection, units: SizeUnits) -> bool {
    selection.filters.iter().all(|f| row.cell(f.field).is_some_and(|cell| cell.matches(&f.query, units)))
}

fn text<R: Row>(row: &R, field: &str, units: SizeUnits) -> String {
    row.cell(field).unwrap_or(Cell::Absent).text(units)
}

fn summary<R: Row>(rows: &[R], units: SizeUnits) -> String {
    let mut table = Table::new(R::SUMMARY.to_vec());
    for row in rows {
        table.line(R::SUMMARY.iter().map(|column| text(row, column.field, units)));
    }
    table.text()
}

fn instance<R: Row>(row: &R, units: SizeUnits) -> String {
    let width = R::INSTANCE.iter().map(|(label, _)| label.len()).fold(R::LABEL_WIDTH, usize::max);
    let line = |(label, field): &(&str, &str)| {
        let value = match row.cell(field) {
            // Lists of any length are wrapped to the terminal.
            Some(cell @ Cell::List(_)) => {
                let lines = wrapped(&cell.text(units), TERMINAL.saturating_sub(width + 2).max(1));
                lines.join(&format!("\n{:width$}", "", width = width + 2))
            }
            _ => text(row, field, units),
        };
        format!("{label:>width$}: {value}\n")
    };
    R::INSTANCE.iter().map(line).collect()
}

/// The keys first, then the fields asked for, in the order of the command's table; each column is
/// as wide as necessary.
fn columns<R: Row>(rows: &[R], fields: &[&'static str], units: SizeUnits) -> String {
    let shown = with_keys::<R>(fields);
    let width = |field: &'static str| {
        let cells = rows.iter().map(|row| text(row, field, units).chars().count());
        cells.chain([field.len()]).max().unwrap_or(0)
    };
    let mut table = Table::new(shown.iter().map(|field| Column::left(field, field, width(field))).collect());
    for row in rows {
        table.line(shown.iter().map(|field| text(row, field, units)));
    }
    table.text()
}

/// The keys of the command, then these fields in the order of its table.
fn with_keys<R: Row>(fields: &[&'static str]) -> Vec<&'static str> {
    let spec = catalogue::specs().find(|s| s.path == R::COMMAND);
    let keys = spec.map_or(&[][..], |s| s.keys);
    let others = spec.into_iter().flat_map(CommandSpec::columns).filter(|c| fields.contains(c) && !keys.contains(c));
    keys.iter().copied().chain(others).collect()
}

/// The fields that a form shows of each object in JSON; the keys are always included.
fn fields_of<R: Row>(form: &Form) -> Vec<&'static str> {
    match form {
        Form::Summary => with_keys::<R>(&R::SUMMARY.iter().map(|column| column.field).collect::<Vec<_>>()),
        Form::Instance => R::INSTANCE.iter().map(|(_, field)| *field).collect(),
        Form::Fields(fields) => with_keys::<R>(fields),
    }
}

#[cfg(test)]
mod tests;
