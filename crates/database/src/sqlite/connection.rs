//! A user's connection.

use super::{Sqlite, values};
use crate::error::Error;
use crate::play::StopSignal;
use block::Span;
use oltp::{Failure, Row, Sequence, Session, Value, Waits};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, ToSql, params_from_iter};
use std::time::Duration;
use uring::Clock;

/// Maximum time that a statement waits for a lock.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Number of prepared statements that a connection keeps, more than the load has.
const PREPARED: usize = 64;

/// A connection of one user.
pub struct Connection<'w> {
    connection: rusqlite::Connection,
    signal: &'w StopSignal,
    clock: Clock,
    waits: Waits,
}

impl Sqlite {
    /// Opens the connection of a user, whose think time the signal ends.
    ///
    /// # Errors
    /// The database was not set up by this program.
    pub fn connect<'w>(&self, signal: &'w StopSignal) -> Result<Connection<'w>, Failure> {
        let connection = self.open().map_err(|error| Failure::Lost(error.to_string()))?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        let kib = (self.buffers / 1024).max(1);
        let settings = format!("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -{kib}");
        connection.execute_batch(&settings).map_err(failure)?;
        connection.busy_timeout(TIMEOUT).map_err(failure)?;
        Ok(Connection { connection, signal, clock: Clock::new(), waits: Waits::default() })
    }

    /// The version of SQLite in this program.
    pub fn version() -> &'static str {
        rusqlite::version()
    }

    /// Size of the file in bytes.
    ///
    /// # Errors
    /// The file does not exist.
    pub fn size(&self) -> Result<u64, Error> {
        let about = std::fs::metadata(self.path()).map_err(|error| Error::File(self.name(), error))?;
        Ok(about.len())
    }
}

/// Binds a value without copying it.
pub(super) struct Given<'a>(pub &'a Value);

impl ToSql for Given<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Number(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl Session for Connection<'_> {
    fn rows(&mut self, sql: &'static str, args: &[Value]) -> Result<Vec<Row>, Failure> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failure)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(args.iter().map(Given))).map_err(failure)?;
        let mut out = Vec::new();
        while let Some(row) = rows.next().map_err(failure)? {
            out.push(values(row, columns).map_err(failure)?);
        }
        Ok(out)
    }

    fn change(&mut self, sql: &'static str, args: &[Value]) -> Result<u64, Failure> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failure)?;
        statement.execute(params_from_iter(args.iter().map(Given))).map(|rows| rows as u64).map_err(failure)
    }

    fn next(&mut self, sequence: Sequence) -> Result<i64, Failure> {
        const NEXT: &str = "UPDATE orderentry_sequences SET value = value + 1 WHERE name = $1 RETURNING value";
        let rows = self.rows(NEXT, &[sequence.name().into()])?;
        let number = rows.first().and_then(|row| row[0].number());
        number.ok_or_else(|| Failure::Other(format!("{}: there is no such sequence", sequence.name())))
    }

    fn begin(&mut self) -> Result<(), Failure> {
        // Takes the write lock at once: a reader that upgrades later may find that its snapshot is
        // outdated.
        let before = self.clock.now();
        let begun = self.connection.prepare_cached("BEGIN IMMEDIATE").and_then(|mut it| it.execute([]));
        self.waits.locked += self.clock.now().since(before);
        begun.map(drop).map_err(failure)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let before = self.clock.now();
        let done = self.connection.prepare_cached("COMMIT").and_then(|mut it| it.execute([]));
        self.waits.committing += self.clock.now().since(before);
        done.map(drop).map_err(failure)
    }

    fn rollback(&mut self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn think(&mut self, span: Span) -> Span {
        self.signal.waited(&self.clock, span)
    }

    fn waits(&mut self) -> Waits {
        std::mem::take(&mut self.waits)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn failure(error: rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => Failure::Timeout,
        Some(ErrorCode::DatabaseLocked) => Failure::Deadlock,
        Some(ErrorCode::CannotOpen | ErrorCode::NotADatabase) => Failure::Lost(error.to_string()),
        _ => Failure::Other(error.to_string()),
    }
}
