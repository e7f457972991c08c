//! The nine transactions: names, weights, and what each does, a file for those that belong together.

mod browse;
mod customer;
mod order;
mod query;

use crate::session::{Failure, Session};
use crate::user::User;

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

    pub(crate) fn perform<S: Session>(self, user: &mut User<S>) -> Result<(), Failure> {
        match self {
            Transaction::CustomerRegistration => customer::register(user),
            Transaction::UpdateCustomerDetails => customer::update(user),
            Transaction::BrowseProducts => browse::products(user),
            Transaction::OrderProducts => order::products(user),
            Transaction::ProcessOrders => order::process(user),
            Transaction::BrowseOrders => browse::orders(user),
            Transaction::SalesRepQuery => query::sales_rep(user),
            Transaction::WarehouseQuery => query::warehouse(user),
            Transaction::WarehouseActivity => query::activity(user),
        }
    }
}
