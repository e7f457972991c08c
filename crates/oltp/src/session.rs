//! What a transaction asks of a database, and what comes back.

use crate::schema::{Sequence, Table};
use block::Span;

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// None.
    Null,
    /// A whole number.
    Number(i64),
    /// Words.
    Text(String),
}

impl Value {
    /// The number that it is.
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

/// Why a transaction failed. It is never done again inside its response time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Two waited for each other.
    #[error("deadlock")]
    Deadlock,
    /// What it had read has changed meanwhile.
    #[error("could not be serialized")]
    Serialization,
    /// It waited for too long.
    #[error("timeout")]
    Timeout,
    /// The connection is gone.
    #[error("connection lost: {0}")]
    Lost(String),
    /// Anything else, in the database's words.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// Kinds of failures that are counted apart.
    pub const KINDS: [&str; 5] = ["deadlocks", "serialization_failures", "timeouts", "lost_connections", "errors"];

    /// The number of its kind.
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

/// One connection of one user. Statements number their arguments `$1`, `$2` … in the order in which
/// they appear.
pub trait Session {
    /// The rows of a query.
    ///
    /// # Errors
    /// The database refuses, or is gone.
    fn rows(&mut self, sql: &'static str, args: &[Value]) -> Result<Vec<Row>, Failure>;

    /// How many rows a statement changed.
    ///
    /// # Errors
    /// As [`Session::rows`].
    fn change(&mut self, sql: &'static str, args: &[Value]) -> Result<u64, Failure>;

    /// The next number of a sequence.
    ///
    /// # Errors
    /// As [`Session::rows`].
    fn next(&mut self, sequence: Sequence) -> Result<i64, Failure>;

    /// Begins a transaction that will change something.
    ///
    /// # Errors
    /// As [`Session::rows`].
    fn begin(&mut self) -> Result<(), Failure>;

    /// Makes it durable.
    ///
    /// # Errors
    /// As [`Session::rows`].
    fn commit(&mut self) -> Result<(), Failure>;

    /// Takes it back, if one is open; what fails here has failed before.
    fn rollback(&mut self);

    /// Waits as long as a user thinks; returns how long that was.
    fn think(&mut self, span: Span) -> Span;

    /// What it waited since this was asked last.
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

/// How a transaction is asked for.
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

/// What a connection waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Until it might write, where a database has one writer at a time.
    pub locked: Span,
    /// Until changes were durable.
    pub committing: Span,
}

/// Statements that were done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Queries; numbers of sequences are none.
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
    /// Nothing.
    pub const NONE: Counts =
        Counts { selects: 0, inserts: [0; Table::ALL.len()], updates: 0, commits: 0, rollbacks: 0 };

    /// The same with so many rows more in a table.
    #[must_use]
    pub fn with(mut self, table: Table, rows: u64) -> Counts {
        self.inserts[table as usize] += rows;
        self
    }

    /// Adds those of another.
    pub fn add(&mut self, other: &Counts) {
        self.selects += other.selects;
        self.updates += other.updates;
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.inserts.iter_mut().zip(other.inserts).for_each(|(sum, more)| *sum += more);
    }

    /// All rows added.
    pub fn inserted(&self) -> u64 {
        self.inserts.iter().sum()
    }

    /// Whether statements were counted: commits without any are of virtual time, where there is no
    /// SQL and zero is not what was done.
    pub fn has_sql(&self) -> bool {
        self.commits == 0 || self.selects + self.updates + self.inserted() > 0
    }
}

/// Which numbers there are to draw from, as the database said at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// The highest number of a customer that setup loaded.
    pub customers: i64,
    /// The highest number of a product.
    pub products: i64,
}

/// What keys are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draws {
    /// All there are.
    pub ranges: Ranges,
    /// By which exponent some are drawn more often (Zipf); all alike without.
    pub skew: Option<f64>,
}

/// How long users think, in milliseconds, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Think {
    /// Inside a transaction, after each of its steps.
    pub within_ms: (i64, i64),
    /// Between transactions.
    pub between_ms: (i64, i64),
}
