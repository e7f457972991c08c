//! Which pages transactions visit: groups of pages of each table and index that are visited
//! uniformly, and how often each transaction visits them.
//!
//! Counted from the statements, as PostgreSQL runs them. A visit is a random page that the same
//! transaction has not visited before; further requests for it within the transaction are touches
//! (an update finds its row again, a reference locks the row that it refers to, a row that moves
//! has a new entry in each index beside the old one). Pages that every transaction visits are not
//! counted, because they are in any buffers: appended ones (new rows, keys from sequences, the
//! newest dates), the upper pages of indexes, the free space maps.
//!
//! If keys are few and new rows are added after the old ones of their key, only the last page of
//! each key is visited ([`VisitedPages::at_most`]).

use crate::demand::{Demand, ShopDemand};
use crate::mix::TransactionMix;
use crate::scale::Sizes;
use crate::schema::Table;
use crate::stored::{FANOUT, Stored, Widths};
use crate::transaction::Transaction;
use Stored::{Heap, Index, Key};
use Transaction::{BrowseOrders, BrowseProducts, CustomerRegistration, OrderProducts, ProcessOrders};
use Transaction::{SalesRepQuery, UpdateCustomerDetails, WarehouseActivity, WarehouseQuery};
use block::Bytes;

/// One number for each transaction.
pub type EachTransaction = [f64; Transaction::ALL.len()];

/// Pages of a table or an index that are visited uniformly.
#[derive(Clone, Debug, PartialEq)]
pub struct VisitedPages {
    /// The table or index.
    pub stored: Stored,
    /// Maximum number of its pages that are visited; infinite if all are.
    pub at_most: f64,
    /// Number of pages.
    pub pages: f64,
    /// Visits by each kind of transaction.
    pub visits: EachTransaction,
    /// Requests for pages, touches included.
    pub touches: EachTransaction,
    /// Visits that change the page.
    pub changed: EachTransaction,
}

/// All visits of a shop's transactions.
#[derive(Clone, Debug, PartialEq)]
pub struct ShopPages {
    /// By group of uniformly visited pages.
    pub visited: Vec<VisitedPages>,
    /// Pages that each transaction appends; they enter the buffers without being read.
    pub appended: EachTransaction,
    /// Pages of each table and index.
    pub stored: Vec<(Stored, f64)>,
}

/// The fraction of pairs of names that are equal: 992 first and 992 last names, drawn from a bell
/// curve with a standard deviation of an eighth (1 / (2 √π 124) for each, squared).
const SAME_NAME: f64 = 5.18e-6;
/// Pages that hold the first 14 rows of a product's stock, at 15 rows per page.
const FIRST_PAGES: f64 = 1.87;
/// Mean number of looks of a transaction.
const LOOKS: f64 = 3.0;
/// Categories of products; the last two are never drawn.
const CATEGORIES: f64 = 200.0;
/// The fraction of warehouses that have a product.
const STOCKED: f64 = 0.9;
/// Pages that hold the items of an order: 3.5 consecutive rows, at about 70 per page.
const ITEM_PAGES: f64 = 1.05;

/// Poisson distribution: the probability of `count` at this mean.
fn poisson(mean: f64, count: u32) -> f64 {
    (1..=count).fold((-mean).exp(), |part, number| part * mean / f64::from(number))
}

/// Items of an order: 2 to 5 are wanted, limited by how many products of a category a warehouse
/// has.
fn bought(products: f64) -> f64 {
    let found = STOCKED * products / CATEGORIES;
    let of = |wanted: u32| {
        let fewer: f64 = (0..wanted).map(|count| f64::from(count) * poisson(found, count)).sum();
        let less: f64 = (0..wanted).map(|count| poisson(found, count)).sum();
        fewer + f64::from(wanted) * (1.0 - less)
    };
    (2..=5).map(of).sum::<f64>() / 4.0
}

/// Collects the visits.
struct Counted {
    sizes: Sizes,
    visited: Vec<VisitedPages>,
}

/// How often, touches of each, and whether they change the page.
#[derive(Clone, Copy)]
enum Visit {
    Read(f64),
    Change(f64, f64),
}

use Visit::{Change, Read};

impl Counted {
    fn add(&mut self, by: Transaction, stored: Stored, visit: Visit) {
        // An index has no more such pages than keys, whose last ones they are.
        let at_most = match stored {
            Heap(_) => f64::INFINITY,
            Key(_) | Index(..) => stored.keys(&self.sizes),
        };
        self.add_few(by, stored, at_most, visit);
    }

    fn add_few(&mut self, by: Transaction, stored: Stored, at_most: f64, visit: Visit) {
        let (visits, touches, changed) = match visit {
            Read(visits) => (visits, visits, 0.0),
            Change(visits, touches) => (visits, visits * touches, visits),
        };
        let found = self.visited.iter().position(|pages| (pages.stored, pages.at_most) == (stored, at_most));
        let at = found.unwrap_or_else(|| {
            let none = EachTransaction::default();
            self.visited.push(VisitedPages { stored, at_most, pages: 0.0, visits: none, touches: none, changed: none });
            self.visited.len() - 1
        });
        let pages = &mut self.visited[at];
        pages.visits[by as usize] += visits;
        pages.touches[by as usize] += touches;
        pages.changed[by as usize] += changed;
    }

    fn all(&mut self, by: Transaction, visits: &[(Stored, Visit)]) {
        visits.iter().for_each(|(stored, visit)| self.add(by, *stored, *visit));
    }

    /// A customer by number, with the reference lock if a row that refers to it is added.
    fn customer(&mut self, by: Transaction, refers: bool) {
        let key = if refers { (Key(Table::Customers), Change(1.0, 2.0)) } else { (Key(Table::Customers), Read(1.0)) };
        let row = if refers { (Heap(Table::Customers), Change(1.0, 3.0)) } else { (Heap(Table::Customers), Read(1.0)) };
        self.all(by, &[key, row]);
    }

    /// The mean of one and a half rows of a customer.
    fn owned(&mut self, by: Transaction, table: Table) {
        self.all(by, &[(Index(table, 1), Read(1.0)), (Heap(table), Read(1.5))]);
    }

    fn customers(&mut self) {
        // The address and card are found by the new number, which is the last.
        for number in 1..=4 {
            self.add(CustomerRegistration, Index(Table::Customers, number), Change(1.0, 1.0));
        }
        let alike = SAME_NAME * self.sizes.rows(Table::Customers);
        let moves = 1.0 - poisson(alike, 0) - poisson(alike, 1);
        self.all(
            UpdateCustomerDetails,
            &[
                (Index(Table::Customers, 4), Read(1.0)),
                (Heap(Table::Customers), Read((alike - moves).max(0.0))),
                (Heap(Table::Customers), Change(moves, 3.0)),
                (Key(Table::Customers), Change(moves, 3.0)),
                (Index(Table::Addresses, 1), Change(moves, 1.0)),
                (Index(Table::Customers, 1), Change(moves, 1.0)),
                (Index(Table::Customers, 2), Change(moves, 1.0)),
                (Index(Table::Customers, 3), Change(moves, 1.0)),
            ],
        );
    }

    fn products(&mut self) {
        let products = self.sizes.rows(Table::ProductInformation);
        self.customer(BrowseProducts, false);
        self.all(
            BrowseProducts,
            &[
                (Key(Table::ProductInformation), Read(LOOKS)),
                (Heap(Table::ProductInformation), Read(LOOKS)),
                (Index(Table::Inventories, 1), Read(LOOKS)),
            ],
        );
        let first = FIRST_PAGES * products;
        self.add_few(BrowseProducts, Heap(Table::Inventories), first, Read(FIRST_PAGES * LOOKS));
    }

    fn order(&mut self) {
        let products = self.sizes.rows(Table::ProductInformation);
        let (seen, items) = (LOOKS * products / CATEGORIES, bought(products));
        self.customer(OrderProducts, true);
        self.owned(OrderProducts, Table::Addresses);
        self.owned(OrderProducts, Table::CardDetails);
        self.all(
            OrderProducts,
            &[
                (Index(Table::ProductInformation, 2), Read(LOOKS)),
                (Heap(Table::ProductInformation), Read(seen)),
                (Key(Table::Inventories), Read(seen)),
                (Heap(Table::Inventories), Read(STOCKED * seen)),
                (Key(Table::Inventories), Change(items, 2.0)),
                (Heap(Table::Inventories), Change(STOCKED * items, 3.0)),
                (Index(Table::OrderItems, 2), Change(STOCKED * items, 1.0)),
                // Once when it is inserted, and once when its state changes.
                (Index(Table::Orders, 1), Change(1.0, 2.0)),
                (Index(Table::Orders, 2), Change(1.0, 2.0)),
                (Index(Table::Orders, 4), Change(1.0, 2.0)),
            ],
        );
    }

    fn next_order(&mut self) {
        // By state from the lowest on, until there are nine and that state is complete.
        let alike = self.sizes.rows(Table::Orders) / (10.0 * Sizes::WAREHOUSES as f64);
        let found = alike.max(9.0 + alike / 2.0).min(4.0 * alike);
        let (nine, any) = (found.min(9.0), 1.0 - poisson(4.0 * alike, 0));
        self.all(
            ProcessOrders,
            &[
                (Index(Table::Orders, 4), Change(1.0, 2.0)),
                (Heap(Table::Orders), Read((found - any).max(0.0))),
                (Heap(Table::Orders), Change(any, 3.0)),
                (Key(Table::Customers), Read(nine)),
                (Index(Table::OrderItems, 1), Read(nine)),
                (Heap(Table::OrderItems), Read(nine * ITEM_PAGES)),
                (Key(Table::Orders), Change(any, 2.0)),
                (Index(Table::Orders, 1), Change(any, 1.0)),
                (Index(Table::Orders, 2), Change(any, 1.0)),
                (Index(Table::Orders, 3), Change(any, 1.0)),
            ],
        );
    }

    fn orders(&mut self) {
        let each = self.sizes.rows(Table::Orders) / self.sizes.rows(Table::Customers);
        let more = 1.0 - poisson(each, 0) - poisson(each, 1);
        self.customer(BrowseOrders, false);
        self.owned(BrowseOrders, Table::Addresses);
        self.all(
            BrowseOrders,
            &[
                (Index(Table::Orders, 2), Read(1.0)),
                (Heap(Table::Orders), Read(each - more)),
                (Heap(Table::Orders), Change(more, 3.0)),
                (Index(Table::OrderItems, 1), Change(more, 2.0)),
                (Heap(Table::OrderItems), Change(ITEM_PAGES * more, 3.0)),
                (Key(Table::OrderItems), Change(more, 2.0)),
                (Index(Table::OrderItems, 2), Change(more, 1.0)),
                (Key(Table::Orders), Change(more, 2.0)),
                (Index(Table::Orders, 1), Change(more, 1.0)),
                (Index(Table::Orders, 3), Change(more, 1.0)),
                (Index(Table::Orders, 4), Change(more, 1.0)),
            ],
        );
    }

    fn queries(&mut self) {
        let orders = self.sizes.rows(Table::Orders) / 1000.0;
        let entries = 1.0 + orders * 7.0 / 8168.0;
        self.all(
            SalesRepQuery,
            &[
                (Index(Table::Orders, 1), Read(entries)),
                (Heap(Table::Orders), Read(orders)),
                (Key(Table::Customers), Read(orders)),
                (Heap(Table::Customers), Read(orders)),
            ],
        );
        self.all(WarehouseQuery, &[(Index(Table::Orders, 4), Read(entries)), (Heap(Table::Orders), Read(orders))]);
        // The orders of the last hour are at the end.
        self.add(WarehouseActivity, Index(Table::Orders, 3), Read(1.0));
    }
}

/// Bytes that rows of these tables append, with their entries in indexes whose newest keys are the
/// last ones; other entries fit into existing pages.
fn appended(widths: &Widths, rows: &[(Table, f64)]) -> f64 {
    let is_last = |stored: &Stored| match stored {
        Heap(_) => false,
        Key(_) => true,
        Index(table, number) => matches!(
            (table, number),
            (Table::Addresses | Table::CardDetails | Table::OrderItems, 1) | (Table::Orders, 3)
        ),
    };
    let of = |table: Table| {
        let entries = Stored::all().into_iter().filter(|stored| stored.table() == table && is_last(stored));
        widths.row(table) + entries.map(|stored| widths.entry(stored)).sum::<f64>()
    };
    rows.iter().map(|(table, rows)| rows * of(*table)).sum()
}

impl ShopPages {
    /// Bytes of a page.
    pub const PAGE: Bytes = Bytes::kib(8);

    /// The pages of a database that setup made at these sizes.
    pub fn of(sizes: &Sizes) -> ShopPages {
        let mut counted = Counted { sizes: *sizes, visited: Vec::new() };
        counted.customers();
        counted.products();
        counted.order();
        counted.next_order();
        counted.orders();
        counted.queries();
        let widths = Widths::new();
        let mut pages =
            ShopPages { visited: counted.visited, appended: EachTransaction::default(), stored: Vec::new() };
        let items = STOCKED * bought(sizes.rows(Table::ProductInformation));
        let logon = (Table::Logon, 1.0);
        let rows: [(Transaction, &[(Table, f64)]); 5] = [
            (
                CustomerRegistration,
                &[(Table::Customers, 1.0), (Table::Addresses, 1.0), (Table::CardDetails, 1.0), logon],
            ),
            (BrowseProducts, &[logon]),
            // An order is stored twice, because its state changes.
            (OrderProducts, &[(Table::Orders, 2.0), (Table::OrderItems, items), logon]),
            (ProcessOrders, &[(Table::Orders, 1.0)]),
            (BrowseOrders, &[(Table::Orders, 0.4), (Table::OrderItems, 0.4), logon]),
        ];
        for (what, rows) in rows {
            pages.appended[what as usize] = appended(&widths, rows) / ShopPages::PAGE.0 as f64;
        }
        pages.sized(|stored| widths.pages(stored, sizes));
        pages
    }

    /// Sets the number of pages of each table and index.
    pub fn sized(&mut self, pages: impl Fn(Stored) -> f64) {
        self.stored = Stored::all().into_iter().map(|stored| (stored, pages(stored))).collect();
        for visited in &mut self.visited {
            visited.pages = pages(visited.stored).min(visited.at_most);
        }
    }

    /// Pages of indexes above the leaves, including the root of each.
    pub fn above(&self) -> f64 {
        let indexes = self.stored.iter().filter(|(stored, _)| !matches!(stored, Heap(_)));
        indexes.map(|(_, pages)| 1.0 + pages / FANOUT).sum()
    }

    /// Bytes of all tables and indexes.
    pub fn bytes(&self) -> Bytes {
        let pages: f64 = self.stored.iter().map(|(_, pages)| pages).sum();
        Bytes((pages * ShopPages::PAGE.0 as f64) as u64)
    }

    /// The demand of each transaction if `missing` is the miss ratio of each of
    /// [`ShopPages::visited`].
    pub fn asks(&self, missing: &[f64]) -> ShopDemand {
        let sum = |of: fn(&VisitedPages) -> &EachTransaction, what: Transaction| -> f64 {
            self.visited.iter().zip(missing).map(|(pages, missing)| of(pages)[what as usize] * missing).sum()
        };
        ShopDemand(Transaction::ALL.map(|what| Demand {
            pages: sum(|pages| &pages.visits, what),
            changed: sum(|pages| &pages.changed, what),
            commits: what.demand().commits,
        }))
    }
}

impl VisitedPages {
    /// Mean visits and touches of a transaction in this mix.
    pub fn mean(&self, mix: &TransactionMix) -> (f64, f64) {
        (mix.mean(&self.visits), mix.mean(&self.touches))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(scale: &str, products: u64) -> ShopPages {
        ShopPages::of(&Sizes { scale: scale.parse().unwrap(), products })
    }

    fn visits(pages: &ShopPages, stored: Stored) -> f64 {
        let of = pages.visited.iter().filter(|visited| visited.stored == stored);
        of.map(|visited| visited.mean(&TransactionMix::V2).0).sum()
    }

    /// By hand, at a scale of 0.1. Stock: 32 % of transactions have three looks at 5 products, of
    /// which 4.5 have stock, and three items of which 2.7 have; 40 % have three looks at 1.87 first
    /// pages. Customers: 76 % read one by key, and 4 % read nine.
    #[test]
    fn visits_are_those_of_the_statements() {
        let pages = pages("0.1", 1000);
        let stock = 0.32 * (13.5 + 2.7) + 0.4 * 3.0 * 1.87;
        assert!((visits(&pages, Heap(Table::Inventories)) / stock - 1.0).abs() < 0.01);
        assert!((bought(1000.0) - 2.99).abs() < 0.03, "{}", bought(1000.0));
        let customers = visits(&pages, Key(Table::Customers));
        assert!((customers - (0.76 + 0.04 * 9.0 + 0.08 * 0.1)).abs() < 0.02, "{customers}");
        // Orders of a warehouse in one state: 14.3, of which half more than nine are read.
        let rows = pages.visited.iter().filter(|one| one.stored == Heap(Table::Orders));
        let rows: f64 = rows.map(|one| one.visits[ProcessOrders as usize]).sum();
        assert!((rows - 16.1).abs() < 0.2, "{rows}");
        // A third of transactions adds an order of 182 bytes twice and 2.7 items of 116, and nearly
        // all add a logon of 52: with customers, addresses, cards and keys about 390 bytes.
        // PostgreSQL's tables and indexes grew by 0.044 to 0.053 pages per transaction.
        let appended = TransactionMix::V2.mean(&pages.appended);
        assert!((0.042..0.055).contains(&appended), "{appended}");
    }

    /// If everything misses, every visit is a read; if nothing misses, there are no reads, but
    /// still commits.
    #[test]
    fn what_is_asked_of_storage_are_visits_that_miss() {
        let pages = pages("0.01", 100);
        let all = pages.asks(&vec![1.0; pages.visited.len()]).mean(&TransactionMix::V2);
        let by_hand: f64 = pages.visited.iter().map(|one| one.mean(&TransactionMix::V2).0).sum();
        assert!((all.pages - by_hand).abs() < 1e-9 && all.changed < all.pages && all.changed > 1.0);
        let none = pages.asks(&vec![0.0; pages.visited.len()]).mean(&TransactionMix::V2);
        assert!((none.pages, none.changed) == (0.0, 0.0) && (none.commits - 1.48).abs() < 1e-12);
    }
}
