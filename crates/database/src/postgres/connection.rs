//! A user's connection.

use super::wire::{Wire, WireError};
use super::{Postgres, TIMEOUT_MS};
use crate::play::StopSignal;
use block::Span;
use oltp::{Failure, Row, Sequence, Session, Value, Waits};
use uring::Clock;

/// Isolation level of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before the statement.
    #[default]
    ReadCommitted,
    /// Each statement sees what was committed before the transaction.
    RepeatableRead,
    /// As if transactions ran one after the other.
    Serializable,
}

impl Isolation {
    /// Its name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}

/// A connection of one user.
pub struct Connection<'w> {
    wire: Wire,
    signal: &'w StopSignal,
    clock: Clock,
    waits: Waits,
}

impl Postgres {
    /// Opens the connection of a user, whose think time the signal ends.
    ///
    /// # Errors
    /// The server refuses or cannot be reached.
    pub fn connect<'w>(&self, signal: &'w StopSignal) -> Result<Connection<'w>, Failure> {
        let settings = [
            ("application_name", "seawall user"),
            ("statement_timeout", TIMEOUT_MS),
            ("default_transaction_isolation", self.isolation.name()),
        ];
        let wire = Wire::connect(&self.address, &settings).map_err(failure)?;
        Ok(Connection { wire, signal, clock: Clock::new(), waits: Waits::default() })
    }
}

impl Session for Connection<'_> {
    fn rows(&mut self, sql: &'static str, args: &[Value]) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        self.wire.run(sql, args, &mut |row| rows.push(row)).map_err(failure)?;
        Ok(rows)
    }

    fn change(&mut self, sql: &'static str, args: &[Value]) -> Result<u64, Failure> {
        self.wire.run(sql, args, &mut |_| {}).map_err(failure)
    }

    fn next(&mut self, sequence: Sequence) -> Result<i64, Failure> {
        let rows = self.rows(next_of(sequence), &[])?;
        let number = rows.first().and_then(|row| row[0].number());
        number.ok_or_else(|| Failure::Other(format!("{}: gave no number", sequence.name())))
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.change("BEGIN", &[]).map(drop)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let before = self.clock.now();
        let done = self.change("COMMIT", &[]);
        self.waits.committing += self.clock.now().since(before);
        done.map(drop)
    }

    fn rollback(&mut self) {
        if self.wire.in_transaction() {
            // If the rollback fails too, the first error is reported.
            let _ = self.change("ROLLBACK", &[]);
        }
    }

    fn think(&mut self, span: Span) -> Span {
        self.signal.waited(&self.clock, span)
    }

    fn waits(&mut self) -> Waits {
        std::mem::take(&mut self.waits)
    }
}

const fn next_of(sequence: Sequence) -> &'static str {
    match sequence {
        Sequence::Customer => "SELECT nextval('customer_seq')",
        Sequence::Address => "SELECT nextval('address_seq')",
        Sequence::Card => "SELECT nextval('card_details_seq')",
        Sequence::Orders => "SELECT nextval('orders_seq')",
        Sequence::Logon => "SELECT nextval('logon_seq')",
    }
}

/// Classifies an error by its SQLSTATE (PostgreSQL's manual, appendix A): class 08 and 57P01 to
/// 57P05 are lost connections.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn failure(error: WireError) -> Failure {
    match error.code() {
        "40P01" => Failure::Deadlock,
        "40001" => Failure::Serialization,
        // A cancelled statement, or the timeout of a lock.
        "57014" | "55P03" => Failure::Timeout,
        code if code.starts_with("57P") || code.starts_with("08") => Failure::Lost(error.to_string()),
        "" => Failure::Lost(error.to_string()),
        _ => Failure::Other(error.to_string()),
    }
}
