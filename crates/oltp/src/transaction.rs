//! The nine transactions: names, what each draws by chance, and what it does, a file for those that
//! belong together.

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
    /// Products looked at.
    BrowseProducts,
    /// Products looked at and bought.
    OrderProducts,
    /// The next order of a warehouse worked on.
    ProcessOrders,
    /// Orders looked at, one changed.
    BrowseOrders,
    /// The ten largest orders of a sales representative.
    SalesRepQuery,
    /// Orders of a warehouse, added up.
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

    /// What has that short name, in any case.
    pub fn of_short(short: &str) -> Option<Transaction> {
        Transaction::ALL.into_iter().find(|one| one.short().eq_ignore_ascii_case(short))
    }

    /// One of it, with all of its chance drawn: what it asks for depends on nothing else but the
    /// database's answers, so that single statements and a procedure do the same. Its new rows have
    /// that date.
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

/// A transaction that is about to be done.
pub(crate) trait Drawn<S: Session> {
    /// Does it by single statements.
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure>;

    /// Does it by one call: the statement and its arguments. The procedure returns two numbers.
    fn call(&self) -> (&'static str, Vec<Value>);

    /// What a call did: `looked` are queries that depended on what was found, `changed` what was
    /// changed.
    fn counts(&self, looked: u64, changed: u64) -> Counts;
}

/// A choice of one of some that are not known yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick(i64);

impl Pick {
    /// Any.
    fn draw(chance: &mut Chance) -> Pick {
        Pick(chance.between(0, (1 << 32) - 1))
    }

    /// Of so many, from 0; the same sum is in the procedures.
    fn of(self, count: usize) -> usize {
        ((self.0 * count as i64) >> 32) as usize
    }
}

/// Numbers as an array of the database.
fn array(numbers: impl IntoIterator<Item = i64>) -> Value {
    let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    format!("{{{}}}", numbers.join(",")).into()
}
