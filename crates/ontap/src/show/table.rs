//! Tables with a header, a line of dashes, and one blank between columns. A cell that is wider than
//! its column takes the rest of its line, and the row continues in the next line, under its
//! columns:
//!
//! ```text
//!   Vserver   Volume       Aggregate
//!   --------- ------------ ------------
//!   svm01     a_volume_with_a_long_name
//!                          aggr1
//! ```
//!
//! If the table fits a terminal, a cell that would pass the edge starts further left, so that it
//! ends there.

use crate::grammar::filled;

/// Columns of the terminal that summaries are laid out for.
pub(super) const TERMINAL: usize = 80;

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The field that it shows.
    pub field: &'static str,
    /// The upper and the lower line of its header; most columns have only the lower one.
    header: [&'static str; 2],
    width: usize,
    right: bool,
    /// Longer cells continue on the next line, broken between words.
    wraps: bool,
}

impl Column {
    /// A column of text.
    pub const fn left(field: &'static str, header: &'static str, width: usize) -> Column {
        Column { field, header: ["", header], width, right: false, wraps: false }
    }

    /// A column of figures.
    pub const fn right(field: &'static str, header: &'static str, width: usize) -> Column {
        Column { field, header: ["", header], width, right: true, wraps: false }
    }

    /// A column of sentences or lists; it must be the last one.
    pub const fn wrapped(field: &'static str, header: &'static str, width: usize) -> Column {
        Column { field, header: ["", header], width, right: false, wraps: true }
    }

    /// The same with an upper line of its header.
    #[must_use]
    pub const fn under(mut self, above: &'static str) -> Column {
        self.header[0] = above;
        self
    }

    fn align(&self, text: &str) -> String {
        let width = self.width;
        if self.right { format!("{text:>width$}") } else { format!("{text:<width$}") }
    }
}

/// A table that grows line by line.
pub(super) struct Table {
    columns: Vec<Column>,
    /// The edge at which cells end; `None` if the columns themselves pass it.
    edge: Option<usize>,
    text: String,
}

impl Table {
    pub fn new(columns: Vec<Column>) -> Table {
        let width: usize = columns.iter().map(|column| column.width + 1).sum();
        let edge = (width <= TERMINAL + 1).then_some(TERMINAL);
        let mut table = Table { columns, edge, text: String::new() };
        if table.columns.iter().any(|c| !c.header[0].is_empty()) {
            table.line(table.header(0));
        }
        table.line(table.header(1));
        table.line(table.columns.iter().map(|c| "-".repeat(c.width)).collect::<Vec<_>>());
        table
    }

    fn header(&self, line: usize) -> Vec<String> {
        self.columns.iter().map(|c| c.header[line].to_owned()).collect()
    }

    /// Adds a row with a cell for each column.
    pub fn line(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut line = String::new();
        let mut start = 0;
        let mut below = Vec::new();
        for (column, mut cell) in self.columns.iter().zip(cells) {
            if column.wraps {
                below = wrapped(&cell, column.width);
                cell = below.remove(0);
            }
            let latest = self.edge.map_or(start, |edge| edge.saturating_sub(cell.chars().count()));
            let (at, filled) = (start.min(latest), line.chars().count());
            // A cell that fits leaves a blank before `at`.
            if filled > 0 && filled >= at {
                self.text += line.trim_end();
                self.text.push('\n');
                line.clear();
            }
            let gap = at - line.chars().count();
            line += &" ".repeat(gap);
            line += &column.align(&cell);
            start += column.width + 1;
        }
        self.text += line.trim_end();
        self.text.push('\n');
        let indent = start.saturating_sub(self.columns.last().map_or(0, |column| column.width + 1));
        for piece in below {
            self.text += &" ".repeat(indent);
            self.text += piece.trim_end();
            self.text.push('\n');
        }
    }

    pub fn text(self) -> String {
        self.text
    }
}

/// A sentence in lines of at most `width` characters; at least one line. A longer word is broken,
/// after commas if it has some.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let lines = filled(text.split_whitespace().flat_map(|word| broken(word, width)), width);
    if lines.is_empty() { vec![String::new()] } else { lines }
}

/// A word in as few pieces of at most `width` characters as possible.
fn broken(word: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for part in word.split_inclusive(',') {
        let chars: Vec<char> = part.chars().collect();
        for chunk in chars.chunks(width) {
            match pieces.last_mut() {
                Some(piece) if piece.chars().count() + chunk.len() <= width => piece.extend(chunk),
                _ => pieces.push(chunk.iter().collect()),
            }
        }
    }
    pieces
}
