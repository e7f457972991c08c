//! One user: a connection, chance, and what was done with them.

use crate::chance::Chance;
use crate::keys::Keys;
use crate::schema::{Sequence, Table};
use crate::session::{Counts, Draws, Failure, Mode, Row, Session, Think, Value};
use crate::statement::{ADDRESSES, CARDS, CUSTOMER};
use crate::transaction::{Drawn, Transaction};
use block::Span;

/// What is inserted, by table; each stands once and is prepared once.
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

/// A user at work.
pub struct User<S> {
    session: S,
    mode: Mode,
    chance: Chance,
    /// Of thinking, apart, so that a user who thinks does the same.
    moods: Chance,
    keys: Keys,
    think: Think,
    counts: Counts,
    /// Counted only when they are durable.
    open: Option<Counts>,
    thought: Span,
    unsure: bool,
}

/// A transaction that was done, or failed.
#[derive(Clone, Debug)]
pub struct Performed {
    /// How long the user thought in it.
    pub thought: Span,
    /// What was done.
    pub counts: Counts,
    /// Why it failed, if it did: what was open is taken back.
    pub failure: Option<Failure>,
    /// It failed, and how much of it was committed before is not known: the connection was lost
    /// while it committed, or a call failed, which may have committed in its midst.
    pub unsure: bool,
}

impl<S: Session> User<S> {
    /// The user of a seed and a number.
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

    /// Does a transaction, whose new rows have that date in seconds since 1970 (UTC).
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

    /// Its chance, for what to do next.
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

    /// The next number of a sequence; no query of the published counts.
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

    /// A logon is a transaction of its own.
    pub(crate) fn logon(&mut self, customer: i64, date: i64) -> Result<(), Failure> {
        self.begin()?;
        let id = self.next(Sequence::Logon)?;
        self.insert(Table::Logon, &[id.into(), customer.into(), date.into()])?;
        self.commit()
    }

    pub(crate) fn customer(&mut self, id: i64) -> Result<Vec<Row>, Failure> {
        self.select(CUSTOMER, &[id.into()])
    }

    /// Looks at a customer's addresses; the first one's number.
    pub(crate) fn addresses(&mut self, customer: i64) -> Result<Option<i64>, Failure> {
        let found = self.select(ADDRESSES, &[customer.into()])?;
        Ok(found.first().and_then(|row| row[0].number()))
    }

    /// Looks at a customer's cards; the first one's number.
    pub(crate) fn cards(&mut self, customer: i64) -> Result<Option<i64>, Failure> {
        let found = self.select(CARDS, &[customer.into()])?;
        Ok(found.first().and_then(|row| row[0].number()))
    }
}

/// How long a user thinks. A least of none is no reason not to think: only a most of none is.
fn span_of((least, most): (i64, i64), chance: &mut Chance) -> Span {
    if most <= 0 {
        return Span::ZERO;
    }
    Span::from_micros(chance.between(least * 1000, most * 1000) as u64)
}
