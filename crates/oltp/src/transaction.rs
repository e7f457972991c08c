//! The nine transactions: their names, their random choices, and their steps; related ones share a
//! file.

mod browse;
mod customer;
mod order;
mod query;

use crate::chance::Chance;
use crate::keys::Keys;
use crate::session::{Counts, Failure, Session, Value};
use crate::user::User;
pub(crate) use order::DELIVERY;

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Transaction {
    /// A new customer, with an address and a card.
    CustomerRegistration,
    /// A new address of a customer found by name.
    UpdateCustomerDetails,
    /// Browses products.
    BrowseProducts,
    /// Browses products and buys some.
    OrderProducts,
    /// Processes the next order of a warehouse.
    ProcessOrders,
    /// Browses orders and changes one.
    BrowseOrders,
    /// The ten largest orders of a sales representative.
    SalesRepQuery,
    /// The orders of a warehouse, summed up.
    WarehouseQuery,
    /// The last hour of a warehouse.
    WarehouseActivity,
}

impl Transaction {
    /// All of them, in the order of the published columns.
    pub const ALL: [Transaction; 9] = [
        Transaction::CustomerRegistration,
        Transaction::UpdateCustomerDetails,
        Transaction::BrowseProducts,
        Transaction::OrderProducts,
        Transaction::ProcessOrders,
        Transaction::BrowseOrders,
        Transaction::SalesRepQuery,
        Transaction::WarehouseQuery,
        Transaction::WarehouseActivity,
    ];

    /// Its short name.
    pub const fn short(self) -> &'static str {
        ["NCR", "UCD", "BP", "OP", "PO", "BO", "SQ", "WQ", "WA"][self as usize]
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        [
            "Customer Registration",
            "Update Customer Details",
            "Browse Products",
            "Order Products",
            "Process Orders",
            "Browse Orders",
            "Sales Rep Query",
            "Warehouse Query",
            "Warehouse Activity Query",
        ][self as usize]
    }

    /// The transaction with that short name, in any case.
    pub fn of_short(short: &str) -> Option<Transaction> {
        Transaction::ALL.into_iter().find(|one| one.short().eq_ignore_ascii_case(short))
    }

    /// A transaction with all of its random choices drawn: what it requests depends only on them
    /// and on the database's answers, so that single statements and a procedure do the same. Its
    /// new rows have that date.
    pub(crate) fn draw<S: Session>(self, chance: &mut Chance, keys: &Keys, date: i64) -> Box<dyn Drawn<S>> {
        match self {
            Transaction::CustomerRegistration => Box::new(customer::Registration::draw(chance, date)),
            Transaction::UpdateCustomerDetails => Box::new(customer::Move::draw(chance, date)),
            Transaction::BrowseProducts => Box::new(browse::Products::draw(chance, keys, date)),
            Transaction::OrderProducts => Box::new(order::Order::draw(chance, keys, date)),
            Transaction::ProcessOrders => Box::new(order::Next::draw(chance)),
            Transaction::BrowseOrders => Box::new(browse::Orders::draw(chance, keys, date)),
            Transaction::SalesRepQuery => Box::new(query::SalesRep::draw(chance)),
            Transaction::WarehouseQuery => Box::new(query::Warehouse::draw(chance)),
            Transaction::WarehouseActivity => Box::new(query::Activity::draw(chance, date)),
        }
    }
}

/// A transaction that is ready to run.
pub(crate) trait Drawn<S: Session> {
    /// Runs it by single statements.
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure>;

    /// Runs it by one call: the statement and its arguments. The procedure returns two numbers.
    fn call(&self) -> (&'static str, Vec<Value>);

    /// The counts of a call: `looked` is the number of queries that depended on earlier results,
    /// `changed` the number of changes.
    fn counts(&self, looked: u64, changed: u64) -> Counts;
}

/// A random choice among a number of things that is not yet known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick(i64);

impl Pick {
    /// Draws a choice.
    fn draw(chance: &mut Chance) -> Pick {
        Pick(chance.between(0, (1 << 32) - 1))
    }

    /// The choice among this many, from 0; the procedures use the same formula.
    fn of(self, count: usize) -> usize {
        ((self.0 * count as i64) >> 32) as usize
    }
}

/// Numbers as an array of the database.
fn array(numbers: impl IntoIterator<Item = i64>) -> Value {
    let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    format!("{{{}}}", numbers.join(",")).into()
}
