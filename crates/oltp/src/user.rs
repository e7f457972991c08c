//! One user: a connection, random numbers, and what was done with them.

use crate::chance::Chance;
use crate::keys::Keys;
use crate::schema::{Sequence, Table};
use crate::session::{Counts, Draws, Failure, Mode, Row, Session, Think, Value};
use crate::statement::{ADDRESSES, CARDS, CUSTOMER};
use crate::transaction::{Drawn, Transaction};
use block::Span;

/// The insert statements by table; each exists once and is prepared once.
const fn insert_of(table: Table) -> &'static str {
    match table {
        Table::Customers => {
            "INSERT INTO customers VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
        }
        Table::Addresses => "INSERT INTO addresses VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        Table::CardDetails => "INSERT INTO card_details VALUES ($1, $2, $3, $4, $5, $6, $7)",
        Table::Orders => {
            "INSERT INTO orders VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
        }
        Table::OrderItems => "INSERT INTO order_items VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        Table::Logon => "INSERT INTO logon VALUES ($1, $2, $3)",
        Table::Warehouses
        | Table::ProductInformation
        | Table::ProductDescriptions
        | Table::Inventories
        | Table::Metadata => panic!("no transaction adds to it"),
    }
}

/// A user.
pub struct User<S> {
    session: S,
    mode: Mode,
    chance: Chance,
    /// Random numbers of think times, separate so that thinking does not change what the user does.
    moods: Chance,
    keys: Keys,
    think: Think,
    counts: Counts,
    /// Added to the counts only when they are durable.
    open: Option<Counts>,
    thought: Span,
    unsure: bool,
}

/// A transaction that was completed or failed.
#[derive(Clone, Debug)]
pub struct Performed {
    /// Think time within it.
    pub thought: Span,
    /// Statements.
    pub counts: Counts,
    /// Why it failed, if it did; an open transaction is rolled back.
    pub failure: Option<Failure>,
    /// Whether it failed and it is unknown how much of it was committed: the connection was lost
    /// during a commit, or a call failed that may have committed in the middle.
    pub unsure: bool,
}

impl<S: Session> User<S> {
    /// The user with this seed and number.
    pub fn new(session: S, mode: Mode, (seed, number): (u64, u64), draws: Draws, think: Think) -> User<S> {
        User {
            session,
            mode,
            chance: Chance::new(seed, number),
            moods: Chance::new(!seed, number),
            keys: Keys::new(draws.ranges, draws.skew),
            think,
            counts: Counts::NONE,
            open: None,
            thought: Span::ZERO,
            unsure: false,
        }
    }

    /// Runs a transaction whose new rows have that date in seconds since 1970 (UTC).
    pub fn perform(&mut self, what: Transaction, date: i64) -> Performed {
        let drawn = what.draw(&mut self.chance, &self.keys, date);
        let done = match self.mode {
            Mode::Statements => drawn.perform(self),
            Mode::Procedures => self.call(&*drawn),
        };
        let failure = done.err();
        if failure.is_some() && self.open.take().is_some() {
            self.session.rollback();
            self.counts.rollbacks += 1;
        }
        Performed {
            thought: std::mem::take(&mut self.thought),
            counts: std::mem::take(&mut self.counts),
            failure,
            unsure: std::mem::take(&mut self.unsure),
        }
    }

    fn call(&mut self, drawn: &dyn Drawn<S>) -> Result<(), Failure> {
        let (sql, given) = drawn.call();
        self.unsure = true;
        let rows = self.session.rows(sql, &given)?;
        self.unsure = false;
        let number = |at: usize| rows.first().and_then(|row| row.get(at)?.number()).unwrap_or(0) as u64;
        self.counts.add(&drawn.counts(number(0), number(1)));
        Ok(())
    }

    /// Its random numbers, to choose the next transaction.
    pub fn chance(&mut self) -> &mut Chance {
        &mut self.chance
    }

    /// Its connection.
    pub fn session(&mut self) -> &mut S {
        &mut self.session
    }

    /// Thinks between transactions.
    pub fn rest(&mut self) {
        let span = span_of(self.think.between_ms, &mut self.moods);
        if span > Span::ZERO {
            self.session.think(span);
        }
    }

    pub(crate) fn think(&mut self) {
        let span = span_of(self.think.within_ms, &mut self.moods);
        if span > Span::ZERO {
            self.thought += self.session.think(span);
        }
    }

    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        self.session.begin()?;
        self.open = Some(Counts::NONE);
        Ok(())
    }

    pub(crate) fn commit(&mut self) -> Result<(), Failure> {
        let done = self.session.commit();
        self.unsure = matches!(done, Err(Failure::Lost(_)));
        done?;
        let open = self.open.take().unwrap_or_default();
        self.counts.add(&open);
        self.counts.commits += 1;
        Ok(())
    }

    fn count(&mut self) -> &mut Counts {
        self.open.as_mut().unwrap_or(&mut self.counts)
    }

    /// The next number of a sequence; not counted as a query.
    pub(crate) fn next(&mut self, sequence: Sequence) -> Result<i64, Failure> {
        self.session.next(sequence)
    }

    pub(crate) fn select(&mut self, sql: &'static str, args: &[Value]) -> Result<Vec<Row>, Failure> {
        self.count().selects += 1;
        self.session.rows(sql, args)
    }

    pub(crate) fn insert(&mut self, table: Table, row: &[Value]) -> Result<(), Failure> {
        let added = self.session.change(insert_of(table), row)?;
        self.count().inserts[table as usize] += added;
        Ok(())
    }

    pub(crate) fn update(&mut self, sql: &'static str, args: &[Value]) -> Result<(), Failure> {
        self.count().updates += 1;
        self.session.change(sql, args).map(drop)
    }

    /// A logon is a separate transaction.
    pub(crate) fn logon(&mut self, customer: i64, date: i64) -> Result<(), Failure> {
        self.begin()?;
        let id = self.next(Sequence::Logon)?;
        self.insert(Table::Logon, &[id.into(), customer.into(), date.into()])?;
        self.commit()
    }

    pub(crate) fn customer(&mut self, id: i64) -> Result<Vec<Row>, Failure> {
        self.select(CUSTOMER, &[id.into()])
    }

    /// Reads a customer's addresses; returns the number of the first.
    pub(crate) fn addresses(&mut self, customer: i64) -> Result<Option<i64>, Failure> {
        let found = self.select(ADDRESSES, &[customer.into()])?;
        Ok(found.first().and_then(|row| row[0].number()))
    }

    /// Reads a customer's cards; returns the number of the first.
    pub(crate) fn cards(&mut self, customer: i64) -> Result<Option<i64>, Failure> {
        let found = self.select(CARDS, &[customer.into()])?;
        Ok(found.first().and_then(|row| row[0].number()))
    }
}

/// A think time. It is zero only if the most is zero.
fn span_of((least, most): (i64, i64), chance: &mut Chance) -> Span {
    if most <= 0 {
        return Span::ZERO;
    }
    Span::from_micros(chance.between(least * 1000, most * 1000) as u64)
}
