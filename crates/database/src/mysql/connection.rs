//! A user's connection.

use super::wire::{MysqlError, SILENCE, Wire};
use super::{Mysql, TIMEOUT_S, WORDS};
use crate::play::StopSignal;
use block::Span;
use oltp::{Failure, Row, Sequence, Session, Value, Waits};
use uring::Clock;

/// A connection of one user.
pub struct Connection<'w> {
    wire: Wire,
    /// Whether a transaction has begun and not ended.
    is_open: bool,
    signal: &'w StopSignal,
    clock: Clock,
    waits: Waits,
}

impl Mysql {
    /// Opens the connection of a user, whose think time the signal ends.
    ///
    /// # Errors
    /// The server refuses or cannot be reached.
    pub fn connect<'w>(&self, signal: &'w StopSignal) -> Result<Connection<'w>, Failure> {
        let isolation = format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", self.isolation.name());
        let limits = format!("SET SESSION max_statement_time = {TIMEOUT_S}, innodb_lock_wait_timeout = {TIMEOUT_S}");
        let wire = Wire::connect(&self.address, &[WORDS, &isolation, &limits], Some(SILENCE)).map_err(failure)?;
        Ok(Connection { wire, is_open: false, signal, clock: Clock::new(), waits: Waits::default() })
    }
}

impl Session for Connection<'_> {
    fn rows(&mut self, sql: &'static str, args: &[Value]) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        let done = self.wire.run(sql, args, &mut |row| rows.push(row));
        if done.is_err() && sql.starts_with("CALL ") {
            // A procedure that fails leaves its transaction open. If the rollback fails too, the
            // first error is reported.
            let _ = self.wire.batch("ROLLBACK");
        }
        done.map_err(failure)?;
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
        self.wire.batch("BEGIN").map_err(failure)?;
        self.is_open = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let before = self.clock.now();
        let done = self.wire.batch("COMMIT");
        self.waits.committing += self.clock.now().since(before);
        self.is_open = done.is_err();
        done.map_err(failure)
    }

    fn rollback(&mut self) {
        if std::mem::take(&mut self.is_open) {
            // If the rollback fails too, the first error is reported.
            let _ = self.wire.batch("ROLLBACK");
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
        Sequence::Customer => "SELECT NEXTVAL(customer_seq)",
        Sequence::Address => "SELECT NEXTVAL(address_seq)",
        Sequence::Card => "SELECT NEXTVAL(card_details_seq)",
        Sequence::Orders => "SELECT NEXTVAL(orders_seq)",
        Sequence::Logon => "SELECT NEXTVAL(logon_seq)",
    }
}

/// Classifies an error by its number (MariaDB's list of error codes).
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn failure(error: MysqlError) -> Failure {
    match error.code() {
        Some(1213) => Failure::Deadlock,
        // A row has changed since it was read (innodb_snapshot_isolation).
        Some(1020) => Failure::Serialization,
        // Timeout of a lock or of a statement.
        Some(1205 | 1969) => Failure::Timeout,
        // Too many connections, a server shutting down, or a broken connection.
        Some(1040 | 1053 | 1152 | 1158..=1161 | 1184 | 1927) | None => Failure::Lost(error.to_string()),
        Some(_) => Failure::Other(error.to_string()),
    }
}
