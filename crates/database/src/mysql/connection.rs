//! A user's connection.

use super::wire::{MysqlError, SILENCE, Wire};
use super::{Mysql, TIMEOUT_S, WORDS};
use crate::play::Whistle;
use block::Span;
use oltp::{Failure, Row, Sequence, Session, Value, Waits};
use uring::Clock;

/// A connection of one user.
pub struct Connection<'w> {
    wire: Wire,
    /// Whether a transaction was begun and has not ended.
    is_open: bool,
    whistle: &'w Whistle,
    clock: Clock,
    waits: Waits,
}

impl Mysql {
    /// A connection of a user, whose thinking the whistle ends.
    ///
    /// # Errors
    /// The server refuses, or is not there.
    pub fn connect<'w>(&self, whistle: &'w Whistle) -> Result<Connection<'w>, Failure> {
        let isolation = format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", self.isolation.name());
        let limits = format!("SET SESSION max_statement_time = {TIMEOUT_S}, innodb_lock_wait_timeout = {TIMEOUT_S}");
        let wire = Wire::connect(&self.address, &[WORDS, &isolation, &limits], Some(SILENCE)).map_err(failure)?;
        Ok(Connection { wire, is_open: false, whistle, clock: Clock::new(), waits: Waits::default() })
    }
}

impl Session for Connection<'_> {
    fn rows(&mut self, sql: &'static str, args: &[Value]) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        let done = self.wire.run(sql, args, &mut |row| rows.push(row));
        if done.is_err() && sql.starts_with("CALL ") {
            // A call that fails leaves the transaction open that it had begun; what fails here has
            // failed before.
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
            // What fails here has failed before.
            let _ = self.wire.batch("ROLLBACK");
        }
    }

    fn think(&mut self, span: Span) -> Span {
        self.whistle.waited(&self.clock, span)
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

/// By the server's numbers (MariaDB's list of error codes).
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn failure(error: MysqlError) -> Failure {
    match error.code() {
        Some(1213) => Failure::Deadlock,
        // A record has changed since it was read (innodb_snapshot_isolation).
        Some(1020) => Failure::Serialization,
        // A lock that was not had in time, and a statement that took too long.
        Some(1205 | 1969) => Failure::Timeout,
        // Too many connections, a server that ends, a connection that was ended or could not be
        // read from or written to.
        Some(1040 | 1053 | 1152 | 1158..=1161 | 1184 | 1927) | None => Failure::Lost(error.to_string()),
        Some(_) => Failure::Other(error.to_string()),
    }
}
