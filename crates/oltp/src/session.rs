//! The interface to a database that transactions use.

use crate::schema::{Sequence, Table};
use block::Span;

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// A whole number.
    Number(i64),
    /// Text.
    Text(String),
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<i64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Null | Value::Text(_) => None,
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(number)
    }
}

impl From<&str> for Value {
    fn from(words: &str) -> Value {
        Value::Text(words.into())
    }
}

impl From<String> for Value {
    fn from(words: String) -> Value {
        Value::Text(words)
    }
}

/// A row.
pub type Row = Vec<Value>;

/// Why a transaction failed. A failed transaction is not retried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Two transactions waited for each other.
    #[error("deadlock")]
    Deadlock,
    /// Rows that it had read were changed meanwhile.
    #[error("could not be serialized")]
    Serialization,
    /// A lock wait or a statement timed out.
    #[error("timeout")]
    Timeout,
    /// The connection was lost.
    #[error("connection lost: {0}")]
    Lost(String),
    /// Any other error, with the database's message.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// Number of kinds of failures that are counted separately.
    pub const KINDS: [&str; 5] = ["deadlocks", "serialization_failures", "timeouts", "lost_connections", "errors"];

    /// The index of its kind.
    pub fn kind(&self) -> usize {
        match self {
            Failure::Deadlock => 0,
            Failure::Serialization => 1,
            Failure::Timeout => 2,
            Failure::Lost(_) => 3,
            Failure::Other(_) => 4,
        }
    }
}

/// One connection of one user. Statements number their arguments `$1`, `$2` … in order of
/// appearance.
pub trait Session {
    /// The rows of a query.
    ///
    /// # Errors
    /// The database returns an error, or the connection is lost.
    fn rows(&mut self, sql: &'static str, args: &[Value]) -> Result<Vec<Row>, Failure>;

    /// Runs a statement and returns the number of rows that it changed.
    ///
    /// # Errors
    /// Those of [`Session::rows`].
    fn change(&mut self, sql: &'static str, args: &[Value]) -> Result<u64, Failure>;

    /// The next number of a sequence.
    ///
    /// # Errors
    /// Those of [`Session::rows`].
    fn next(&mut self, sequence: Sequence) -> Result<i64, Failure>;

    /// Begins a transaction that writes.
    ///
    /// # Errors
    /// Those of [`Session::rows`].
    fn begin(&mut self) -> Result<(), Failure>;

    /// Commits the transaction.
    ///
    /// # Errors
    /// Those of [`Session::rows`].
    fn commit(&mut self) -> Result<(), Failure>;

    /// Rolls the transaction back if one is open. Its errors follow from an earlier one and are
    /// ignored.
    fn rollback(&mut self);

    /// Waits for a think time and returns its length.
    fn think(&mut self, span: Span) -> Span;

    /// How long the connection has waited since the last call.
    fn waits(&mut self) -> Waits;
}

impl<S: Session + ?Sized> Session for Box<S> {
    fn rows(&mut self, sql: &'static str, args: &[Value]) -> Result<Vec<Row>, Failure> {
        (**self).rows(sql, args)
    }

    fn change(&mut self, sql: &'static str, args: &[Value]) -> Result<u64, Failure> {
        (**self).change(sql, args)
    }

    fn next(&mut self, sequence: Sequence) -> Result<i64, Failure> {
        (**self).next(sequence)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        (**self).begin()
    }

    fn commit(&mut self) -> Result<(), Failure> {
        (**self).commit()
    }

    fn rollback(&mut self) {
        (**self).rollback();
    }

    fn think(&mut self, span: Span) -> Span {
        (**self).think(span)
    }

    fn waits(&mut self) -> Waits {
        (**self).waits()
    }
}

/// How a transaction is sent to the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// By single statements.
    #[default]
    Statements,
    /// By one call of a procedure in the database.
    Procedures,
}

impl Mode {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Statements => "statements",
            Mode::Procedures => "procedures",
        }
    }
}

/// How long a connection waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// For the right to write, if the database has a single writer.
    pub locked: Span,
    /// For changes to become durable.
    pub committing: Span,
}

/// Counts of statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Queries; fetching a number from a sequence does not count.
    pub selects: u64,
    /// Rows added, by table.
    pub inserts: [u64; Table::ALL.len()],
    /// Updates.
    pub updates: u64,
    /// Commits.
    pub commits: u64,
    /// Rollbacks.
    pub rollbacks: u64,
}

impl Counts {
    /// No statements.
    pub const NONE: Counts =
        Counts { selects: 0, inserts: [0; Table::ALL.len()], updates: 0, commits: 0, rollbacks: 0 };

    /// The same with this many more rows in a table.
    #[must_use]
    pub fn with(mut self, table: Table, rows: u64) -> Counts {
        self.inserts[table as usize] += rows;
        self
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Counts) {
        self.selects += other.selects;
        self.updates += other.updates;
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.inserts.iter_mut().zip(other.inserts).for_each(|(sum, more)| *sum += more);
    }

    /// Rows added in all tables.
    pub fn inserted(&self) -> u64 {
        self.inserts.iter().sum()
    }

    /// Whether statements were counted. In virtual time there is no SQL: there are only commits,
    /// and the other counts are unknown, not zero.
    pub fn has_sql(&self) -> bool {
        self.commits == 0 || self.selects + self.updates + self.inserted() > 0
    }
}

/// The ranges of keys to draw from, as the database reported them at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// The highest customer number that setup loaded.
    pub customers: i64,
    /// The highest product number.
    pub products: i64,
}

/// How keys are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draws {
    /// The ranges.
    pub ranges: Ranges,
    /// Zipf's exponent; `None` draws uniformly.
    pub skew: Option<f64>,
}

/// Think times in milliseconds, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Think {
    /// Within a transaction, after each of its steps.
    pub within_ms: (i64, i64),
    /// Between transactions.
    pub between_ms: (i64, i64),
}
