//! How many rows there are.

use crate::schema::Table;
use std::fmt;
use std::str::FromStr;

/// How large the scaled tables are: 1 is a million customers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchemaScale(f64);

impl SchemaScale {
    /// The nearest valid scale.
    pub fn nearest(scale: f64) -> SchemaScale {
        SchemaScale(scale.clamp(0.0001, 1000.0))
    }

    /// As a number.
    pub fn number(self) -> f64 {
        self.0
    }
}

impl FromStr for SchemaScale {
    type Err = &'static str;

    fn from_str(given: &str) -> Result<SchemaScale, &'static str> {
        let scale = given.parse::<f64>().ok().filter(|scale| (0.0001..=1000.0).contains(scale));
        scale.map(SchemaScale).ok_or("must be a number from 0.0001 to 1000, as in 0.1 for 100,000 customers")
    }
}

impl fmt::Display for SchemaScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How large all tables are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// The scale of the scaled tables.
    pub scale: SchemaScale,
    /// Products; each is stored in 800 to 1000 warehouses, which is most of a small database.
    pub products: u64,
}

impl Sizes {
    /// Warehouses, at any scale.
    pub const WAREHOUSES: u64 = 1000;
    /// Products by default.
    pub const PRODUCTS: u64 = 1000;

    /// The number of units of rows in a table: a unit is one row, except in inventories, where it
    /// is a product, and in items, where it is an order.
    pub fn units(&self, table: Table) -> u64 {
        let scaled = |rows: f64| ((rows * self.scale.0).round() as u64).max(1);
        match table {
            Table::Customers => scaled(1_000_000.0),
            Table::Addresses | Table::CardDetails => scaled(1_500_000.0),
            Table::Orders | Table::OrderItems => scaled(1_429_790.0),
            Table::Logon => scaled(2_382_984.0),
            Table::Inventories | Table::ProductInformation | Table::ProductDescriptions => self.products,
            Table::Warehouses => Sizes::WAREHOUSES,
            Table::Metadata => 0,
        }
    }

    /// The mean number of rows of a table.
    pub fn rows(&self, table: Table) -> f64 {
        // 1 to 6 items, 800 to 1000 warehouses.
        let a_unit = match table {
            Table::OrderItems => 3.5,
            Table::Inventories => 900.0,
            _ => 1.0,
        };
        self.units(table) as f64 * a_unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_scale_and_fixed_tables_stay() {
        let sizes = Sizes { scale: "0.1".parse().unwrap(), products: Sizes::PRODUCTS };
        assert_eq!(sizes.units(Table::Customers), 100_000);
        assert_eq!(sizes.units(Table::Orders), 142_979);
        assert_eq!(sizes.units(Table::Warehouses), 1000);
        for wrong in ["0", "x", "-1", "1e9", "nan", ""] {
            assert!(wrong.parse::<SchemaScale>().unwrap_err().starts_with("must be a number"), "{wrong}");
        }
    }
}
