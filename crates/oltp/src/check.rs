//! What must hold in the database after a run: references, totals, stock, sequences, and that the
//! number of rows has grown by the counted inserts.

use crate::schema::{Dialect, Sequence, Table};

/// A check whose result is a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What must hold.
    pub what: String,
    /// The query that returns the number.
    pub sql: String,
    /// What the number must be.
    pub expected: Expected,
}

/// What a number must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// None.
    Zero,
    /// The rows that setup loaded into a table plus those that runs counted; cannot be said while a
    /// run is open.
    LoadedAndCounted(Table),
    /// The same for the last number of a sequence.
    LastOf(Table),
}

fn orphans(child: &str, column: &str, parent: &str) -> Check {
    Check {
        what: format!("{child} have their {parent}"),
        sql: format!(
            "SELECT COUNT(*) FROM {child} WHERE NOT EXISTS (SELECT 1 FROM {parent} WHERE {parent}.{column} = \
             {child}.{column})"
        ),
        expected: Expected::Zero,
    }
}

/// All checks, for a database in which setup loaded this many orders and this much stock.
pub fn checks(dialect: Dialect, orders_loaded: i64, stock_loaded: i64) -> Vec<Check> {
    let mut all = vec![
        orphans("addresses", "customer_id", "customers"),
        orphans("card_details", "customer_id", "customers"),
        orphans("logon", "customer_id", "customers"),
        orphans("orders", "customer_id", "customers"),
        orphans("order_items", "order_id", "orders"),
        orphans("order_items", "product_id", "product_information"),
        orphans("inventories", "product_id", "product_information"),
        orphans("inventories", "warehouse_id", "warehouses"),
        Check {
            what: "totals of orders that were placed are those of their items".into(),
            sql: format!(
                "SELECT COUNT(*) FROM orders o WHERE o.order_id > {orders_loaded} AND o.order_total <> (SELECT \
                 COALESCE(SUM(i.unit_price * i.quantity), 0) FROM order_items i WHERE i.order_id = o.order_id)"
            ),
            expected: Expected::Zero,
        },
        Check {
            what: "stock went down by one for each item that was bought".into(),
            sql: format!(
                "SELECT {stock_loaded} - (SELECT SUM(quantity_on_hand) FROM inventories) - (SELECT COUNT(*) FROM \
                 order_items WHERE order_id > {orders_loaded})"
            ),
            expected: Expected::Zero,
        },
    ];
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Metadata) {
        all.push(Check {
            what: format!("rows of {} are those loaded and those counted", table.name()),
            sql: format!("SELECT COUNT(*) FROM {}", table.name()),
            expected: Expected::LoadedAndCounted(table),
        });
    }
    all.extend(Sequence::ALL.map(|sequence| of_sequence(sequence, dialect)));
    all
}

fn of_sequence(sequence: Sequence, dialect: Dialect) -> Check {
    let (name, table) = (sequence.name(), sequence.table());
    match dialect {
        Dialect::Sqlite => Check {
            what: format!("{name} gave a number to each row and to nothing else"),
            sql: format!("SELECT value FROM {} WHERE name = '{name}'", crate::SEQUENCES_TABLE),
            expected: Expected::LastOf(table),
        },
        // A rolled back transaction does not return its numbers, and each connection, or the
        // server, reserves many at once.
        Dialect::Postgres | Dialect::Mariadb => {
            let column = table.columns().next().unwrap_or_default();
            let last = match dialect {
                Dialect::Mariadb => "next_not_cached_value - 1",
                Dialect::Postgres | Dialect::Sqlite => "last_value",
            };
            Check {
                what: format!("no row of {} is ahead of {name}", table.name()),
                sql: format!("SELECT COUNT(*) FROM {} WHERE {column} > (SELECT {last} FROM {name})", table.name()),
                expected: Expected::Zero,
            }
        }
    }
}
