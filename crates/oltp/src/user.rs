//! One user: a connection, chance, and what was done with them.

use crate::chance::Chance;
use crate::scale::Sizes;
use crate::schema::{Sequence, Table};
use crate::session::{Counts, Failure, Ranges, Row, Session, Think, Value};
use crate::transaction::Transaction;
use block::Span;

const CUSTOMER: &str = "SELECT cust_first_name, cust_last_name, nls_language, nls_territory, credit_limit, cust_email, \
                        account_mgr_id, customer_class, preferred_address, preferred_card FROM customers WHERE \
                        customer_id = $1";
const ADDRESSES: &str = "SELECT address_id, street_name, town, county, country, post_code, zip_code FROM addresses WHERE \
                         customer_id = $1 LIMIT 5";
const CARDS: &str = "SELECT card_id, card_type, card_number, expiry_date, is_valid FROM card_details WHERE customer_id = \
                     $1 LIMIT 5";

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
    pub(crate) session: S,
    pub(crate) chance: Chance,
    ranges: Ranges,
    think: Think,
    counts: Counts,
    /// Counted only when they are durable.
    open: Option<Counts>,
    thought: Span,
}

impl<S: Session> User<S> {
    /// The user of that number.
    pub fn new(session: S, seed: u64, number: u64, ranges: Ranges, think: Think) -> User<S> {
        let chance = Chance::new(seed, number);
        User { session, chance, ranges, think, counts: Counts::default(), open: None, thought: Span::ZERO }
    }

    /// Does a transaction. Returns how long the user thought in it, what was done, and why it failed, if it did: what is
    /// open then is taken back.
    pub fn perform(&mut self, what: Transaction) -> (Span, Counts, Option<Failure>) {
        let failure = what.perform(self).err();
        if failure.is_some() && self.open.take().is_some() {
            self.session.rollback();
            self.counts.rollbacks += 1;
        }
        (std::mem::take(&mut self.thought), std::mem::take(&mut self.counts), failure)
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
        let span = span_of(self.think.between_ms, &mut self.chance);
        if span > Span::ZERO {
            self.session.think(span);
        }
    }

    pub(crate) fn think(&mut self) {
        let span = span_of(self.think.within_ms, &mut self.chance);
        if span > Span::ZERO {
            self.thought += self.session.think(span);
        }
    }

    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        self.session.begin()?;
        self.open = Some(Counts::default());
        Ok(())
    }

    pub(crate) fn commit(&mut self) -> Result<(), Failure> {
        self.session.commit()?;
        let open = self.open.take().unwrap_or_default();
        self.counts.add(&open);
        self.counts.commits += 1;
        Ok(())
    }

    fn count(&mut self) -> &mut Counts {
        self.open.as_mut().unwrap_or(&mut self.counts)
    }

    pub(crate) fn next(&mut self, sequence: Sequence) -> Result<i64, Failure> {
        self.count().selects += 1;
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
    pub(crate) fn logon(&mut self, customer: i64) -> Result<(), Failure> {
        self.begin()?;
        let id = self.next(Sequence::Logon)?;
        let date = self.session.date();
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

    pub(crate) fn any_customer(&mut self) -> i64 {
        self.chance.between(1, self.ranges.customers)
    }

    pub(crate) fn any_product(&mut self) -> i64 {
        self.chance.between(1, self.ranges.products)
    }

    pub(crate) fn any_warehouse(&mut self) -> i64 {
        self.chance.between(1, Sizes::WAREHOUSES as i64 - 1)
    }
}

/// How long a user thinks. A least of none is no reason not to think: only a most of none is.
fn span_of((least, most): (i64, i64), chance: &mut Chance) -> Span {
    if most <= 0 {
        return Span::ZERO;
    }
    Span::from_micros(chance.between(least * 1000, most * 1000) as u64)
}
