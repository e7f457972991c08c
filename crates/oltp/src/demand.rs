//! What transactions demand of storage: random pages, random pages that they change, and commits.
//!
//! Counted from the steps of each transaction and from the schema's tables and indexes, not
//! measured. A row or an index leaf that is found by a uniformly drawn key is a random page. Not
//! counted, because any cache has them: appended pages (new rows, the newest leaf of an index by
//! date), the inner pages of indexes, and the tables of fixed size (products, warehouses,
//! inventories), except for the stock that an order changes. Where counts vary these are means:
//! three looks, three items, 1.5 addresses and cards per customer.
//!
//! These counts are for a database of which only the miss ratio is known, as in a published table.
//! If its size and its buffers are known, [`ShopPages`](crate::ShopPages) says which pages those
//! are.

use crate::mix::TransactionMix;
use crate::transaction::Transaction;

/// Pages and commits of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// Random pages.
    pub pages: f64,
    /// Random pages that are changed.
    pub changed: f64,
    /// Commits that the user waits for.
    pub commits: f64,
}

impl Transaction {
    /// The demand of one transaction, at a scale of 1.
    pub const fn demand(self) -> Demand {
        let (pages, changed, commits) = match self {
            // Leaves of new keys: five of customers, two each of addresses and cards. The logon is
            // a commit of its own.
            Transaction::CustomerRegistration => (9.0, 9.0, 2.0),
            // A leaf and three customers with a name; two leaves of addresses, and the customer.
            Transaction::UpdateCustomerDetails => (6.0, 3.0, 1.0),
            // The customer by its key; the logon.
            Transaction::BrowseProducts => (2.0, 0.0, 1.0),
            // Customer, addresses and cards: 7. Four leaves of orders, three of items by product
            // and two by order; the stock of three products, which is in memory and is written.
            Transaction::OrderProducts => (16.0, 12.0, 2.0),
            // Nine orders, their customers and items, each by a leaf and a row; the first one
            // changes, with its leaf.
            Transaction::ProcessOrders => (46.0, 2.0, 1.0),
            // Customer and addresses: 4.5; orders of the customer: 2.4; the items of one: 3. An
            // item and its order change.
            Transaction::BrowseOrders => (10.0, 2.0, 2.0),
            // All orders of one of a thousand representatives, and ten customers.
            Transaction::SalesRepQuery => (1450.0, 0.0, 0.0),
            // All orders of one of a thousand warehouses.
            Transaction::WarehouseQuery => (1430.0, 0.0, 0.0),
            // Those of the last hour.
            Transaction::WarehouseActivity => (5.0, 0.0, 0.0),
        };
        Demand { pages, changed, commits }
    }
}

/// What each transaction demands of storage behind a database's buffers: the pages that miss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShopDemand(pub [Demand; Transaction::ALL.len()]);

impl ShopDemand {
    /// This fraction of all random pages misses, whichever they are.
    pub const fn anywhere(missing: f64) -> ShopDemand {
        let mut asks = [Demand { pages: 0.0, changed: 0.0, commits: 0.0 }; Transaction::ALL.len()];
        let mut at = 0;
        while at < asks.len() {
            let Demand { pages, changed, commits } = Transaction::ALL[at].demand();
            asks[at] = Demand { pages: pages * missing, changed: changed * missing, commits };
            at += 1;
        }
        ShopDemand(asks)
    }

    /// The demand of one transaction.
    pub fn of(&self, what: Transaction) -> Demand {
        self.0[what as usize]
    }

    /// The mean demand of a transaction in this mix.
    pub fn mean(&self, mix: &TransactionMix) -> Demand {
        Demand {
            pages: mix.mean(&self.0.map(|demand| demand.pages)),
            changed: mix.mean(&self.0.map(|demand| demand.changed)),
            commits: mix.mean(&self.0.map(|demand| demand.commits)),
        }
    }

    /// The same with the pages multiplied by this factor.
    #[must_use]
    pub fn times(self, factor: f64) -> ShopDemand {
        ShopDemand(self.0.map(|Demand { pages, changed, commits }| Demand {
            pages: pages * factor,
            changed: changed * factor,
            commits,
        }))
    }
}

impl TransactionMix {
    /// The mean of a number over the transactions of a mix.
    pub fn mean(&self, of: &[f64; Transaction::ALL.len()]) -> f64 {
        let all: f64 = Transaction::ALL.iter().map(|one| f64::from(self.weight(*one))).sum();
        Transaction::ALL.iter().map(|one| f64::from(self.weight(*one)) / all * of[*one as usize]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1.48 commits per transaction at the published weights: 12 + 32 + 4 % of them have two, all
    /// others one.
    #[test]
    fn the_published_mix_has_its_published_commits() {
        let demand = ShopDemand::anywhere(1.0).mean(&TransactionMix::V2);
        assert!((demand.commits - 1.48).abs() < 1e-12);
        // 0.12 × 9 + 0.08 × 6 + 0.4 × 2 + 0.32 × 16 + 0.04 × 46 + 0.04 × 10, and 0.12 × 9 + 0.08 ×
        // 3 + 0.32 × 12 + 0.08 × 2.
        assert!((demand.pages - 9.72).abs() < 1e-9 && (demand.changed - 5.32).abs() < 1e-9, "{demand:?}");
    }
}
