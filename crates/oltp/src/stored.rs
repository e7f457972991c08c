//! The sizes in pages of a shop's tables and indexes, as PostgreSQL stores them after setup.
//!
//! Sample rows are generated and measured, so that only the constants of the format are here: a row
//! has a header of 24 bytes (and with NULLs one bit per column more), numbers of 8 bytes are
//! aligned to 8, a text has a length byte, and a page of 8192 bytes has 8168 for rows and their
//! line pointers of 4 bytes. An index is filled to nine tenths; equal keys share one entry, with 6
//! bytes for each row.

use crate::generate::Rows;
use crate::scale::{SchemaScale, Sizes};
use crate::schema::Table;
use crate::session::{Row, Value};
use block::Bytes;

/// What a database stores separately: the rows of a table, its key, or one of its other indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stored {
    /// Rows.
    Heap(Table),
    /// The index of the key.
    Key(Table),
    /// The index with that number, from 1.
    Index(Table, u8),
}

/// Bytes of a page, and the bytes of it that are available for rows.
const PAGE: f64 = 8192.0;
const ROOM: f64 = 8168.0;
/// The fraction of an index page that is filled when the index is built.
const FILLED: f64 = 0.9;
/// Rows of `inventories` in a page, which is filled to a tenth.
const TENTH: f64 = ROOM - 0.9 * PAGE;
/// Maximum number of rows that share one index entry: PostgreSQL limits an entry to a sixth of a
/// page.
const SHARED: f64 = 220.0;
/// Child pages of one inner page of an index: 8168 bytes, filled to seven tenths with entries of
/// 20.
pub(crate) const FANOUT: f64 = 280.0;
/// Minimum number of rows of a table that are generated to measure them.
const SAMPLE: usize = 50;

impl Stored {
    /// All tables and indexes.
    pub fn all() -> Vec<Stored> {
        let of = |table: Table| {
            let key = (!table.key().is_empty() && table != Table::Metadata).then_some(Stored::Key(table));
            let indexes = (1..=table.index_columns().len() as u8).map(move |number| Stored::Index(table, number));
            std::iter::once(Stored::Heap(table)).chain(key).chain(indexes)
        };
        Table::ALL.into_iter().filter(|table| *table != Table::Metadata).flat_map(of).collect()
    }

    /// Its name in PostgreSQL.
    pub fn name(self) -> String {
        match self {
            Stored::Heap(table) => table.name().into(),
            Stored::Key(table) => format!("{}_pkey", table.name()),
            Stored::Index(table, number) => format!("{}_{number}", table.name()),
        }
    }

    /// The one with that name in PostgreSQL.
    pub fn named(name: &str) -> Option<Stored> {
        Stored::all().into_iter().find(|stored| stored.name() == name)
    }

    /// Its table.
    pub fn table(self) -> Table {
        match self {
            Stored::Heap(table) | Stored::Key(table) | Stored::Index(table, _) => table,
        }
    }

    /// The number of distinct keys of an index; for a table, its rows.
    pub(crate) fn keys(self, sizes: &Sizes) -> f64 {
        let rows = sizes.rows(self.table());
        let [customers, products] = [Table::Customers, Table::ProductInformation].map(|table| sizes.rows(table));
        let keys = match self {
            Stored::Index(Table::Customers | Table::Orders, 1) => 1000.0,
            // Ages from 18 to 90 years.
            Stored::Index(Table::Customers, 2) => 73.0,
            Stored::Index(Table::Addresses | Table::CardDetails, 1) | Stored::Index(Table::Orders, 2) => customers,
            Stored::Index(Table::ProductInformation, 1) => 100.0,
            Stored::Index(Table::ProductInformation, 2) => 200.0,
            Stored::Index(Table::Inventories, 1) | Stored::Index(Table::OrderItems, 2) => products,
            Stored::Index(Table::Inventories, 2) => Sizes::WAREHOUSES as f64,
            // Orders of each warehouse are in one of ten states.
            Stored::Index(Table::Orders, 4) => 10.0 * Sizes::WAREHOUSES as f64,
            Stored::Index(Table::OrderItems, 1) => sizes.rows(Table::Orders),
            _ => rows,
        };
        keys.min(rows)
    }

    /// The columns of a key.
    fn columns(self) -> Vec<&'static str> {
        match self {
            Stored::Heap(table) => table.columns().collect(),
            Stored::Key(table) => table.key().to_vec(),
            Stored::Index(table, number) => {
                let columns = table.index_columns()[usize::from(number) - 1].split(", ");
                columns.map(|column| column.trim_start_matches("lower(").trim_end_matches(')')).collect()
            }
        }
    }
}

/// Sample rows of each table.
#[derive(Clone, Debug)]
pub(crate) struct Widths {
    rows: [Vec<Row>; Table::ALL.len()],
}

fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(8)
}

/// Bytes of consecutive values.
fn data<'a>(values: impl Iterator<Item = &'a Value>) -> usize {
    values.fold(0, |sum, value| match value {
        Value::Null => sum,
        Value::Number(_) => aligned(sum) + 8,
        Value::Text(text) if text.len() < 126 => sum + 1 + text.len(),
        Value::Text(text) => sum.next_multiple_of(4) + 4 + text.len(),
    })
}

impl Widths {
    pub(crate) fn new() -> Widths {
        let sizes = Sizes { scale: SchemaScale::nearest(1.0), products: Sizes::PRODUCTS };
        let of = |table: Table| {
            let mut rows = Vec::new();
            if table != Table::Metadata {
                let mut unit = 0;
                while rows.len() < SAMPLE {
                    Rows { seed: 0, sizes }.unit(table, unit, &mut rows);
                    unit += 1;
                }
            }
            rows
        };
        Widths { rows: Table::ALL.map(of) }
    }

    fn mean(&self, table: Table, bytes: impl Fn(&Row) -> usize) -> f64 {
        let rows = &self.rows[table as usize];
        rows.iter().map(|row| bytes(row) as f64).sum::<f64>() / rows.len() as f64
    }

    /// Bytes of a row with its line pointer.
    pub(crate) fn row(&self, table: Table) -> f64 {
        self.mean(table, |row| {
            let has_null = row.contains(&Value::Null);
            let before = if has_null { aligned(23 + row.len().div_ceil(8)) } else { 24 };
            aligned(before + data(row.iter())) + 4
        })
    }

    /// Bytes of a single index entry with its line pointer.
    pub(crate) fn entry(&self, stored: Stored) -> f64 {
        self.entries(stored, 1.0)
    }

    /// Bytes of an index entry for this many rows.
    fn entries(&self, stored: Stored, rows: f64) -> f64 {
        let table = stored.table();
        let at: Vec<usize> =
            stored.columns().iter().filter_map(|column| table.columns().position(|one| one == *column)).collect();
        let shared = if rows > 1.0 { (6.0 * rows) as usize } else { 0 };
        self.mean(table, |row| aligned(8 + data(at.iter().map(|at| &row[*at])) + shared) + 4)
    }

    /// Pages at these sizes.
    pub(crate) fn pages(&self, stored: Stored, sizes: &Sizes) -> f64 {
        let rows = sizes.rows(stored.table());
        let pages = match stored {
            Stored::Heap(table) => {
                let room = if table == Table::Inventories { TENTH } else { ROOM };
                rows / (room / self.row(table)).floor()
            }
            Stored::Key(_) | Stored::Index(..) => {
                let alike = (rows / stored.keys(sizes)).min(SHARED);
                let alike = if alike < 1.5 { 1.0 } else { alike };
                let leaves = rows / alike * self.entries(stored, alike) / (ROOM * FILLED);
                // The upper levels including the root, and the meta page.
                leaves.ceil() + (leaves / FANOUT).ceil() + 1.0
            }
        };
        pages.ceil().max(1.0)
    }

    /// Bytes of all tables and indexes.
    pub(crate) fn bytes(&self, sizes: &Sizes) -> Bytes {
        let pages: f64 = Stored::all().into_iter().map(|stored| self.pages(stored, sizes)).sum();
        Bytes((pages * PAGE) as u64)
    }
}

impl Sizes {
    /// The sizes of a database with this many bytes: the default number of products unless given,
    /// and as many customers as fill it. Below a scale of 0.1 both shrink by the same factor.
    pub fn of_bytes(bytes: Bytes) -> Sizes {
        let widths = Widths::new();
        // One number for both: up to 1 it is a fraction of 1000 products and of a scale of 0.1.
        let sizes = |much: f64| Sizes {
            scale: SchemaScale::nearest(0.1 * much),
            products: ((Sizes::PRODUCTS as f64 * much.min(1.0)).round() as u64).max(1),
        };
        let (mut low, mut high) = (-4.0f64, 4.0f64);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            let less = widths.bytes(&sizes(10f64.powf(middle))).0 < bytes.0;
            *(if less { &mut low } else { &mut high }) = middle;
        }
        sizes(10f64.powf(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_database() {
        let all = Stored::all();
        // Ten tables, nine keys (logons have none) and 18 indexes.
        assert_eq!(all.len(), 37);
        let names: Vec<String> = all.iter().map(|stored| stored.name()).collect();
        for name in ["customers", "customers_pkey", "customers_4", "logon", "order_items_2", "inventories_pkey"] {
            assert!(names.iter().any(|one| one == name), "{name}");
        }
        assert!(all.iter().all(|stored| !stored.columns().is_empty()));
    }

    /// Three numbers: 24 bytes of header, 24 of their own and 4 of line pointer. Of a page's 8168
    /// bytes `inventories` uses 795, which is 15 rows; `logon` uses all, 157 rows. A key of one
    /// number has 8 bytes of header and 4 of line pointer: 367 in nine tenths of a page.
    #[test]
    fn pages_are_those_of_the_format() {
        let widths = Widths::new();
        let sizes = Sizes { scale: "0.1".parse().unwrap(), products: 1000 };
        assert_eq!(widths.row(Table::Inventories), 52.0);
        assert_eq!(widths.pages(Stored::Heap(Table::Inventories), &sizes), 60_000.0);
        assert_eq!(widths.pages(Stored::Heap(Table::Logon), &sizes), (238_298.0f64 / 157.0).ceil());
        let key = widths.pages(Stored::Key(Table::Customers), &sizes);
        assert!((273.0..=276.0).contains(&key), "100,000 keys at 367.6 a page, and two above: {key}");
    }

    #[test]
    fn a_database_of_so_many_bytes_has_so_many() {
        for bytes in [Bytes::mib(20), Bytes::mib(700), Bytes::gib(30)] {
            let sizes = Sizes::of_bytes(bytes);
            let has = Widths::new().bytes(&sizes).0 as f64;
            assert!((has / bytes.0 as f64 - 1.0).abs() < 0.02, "{bytes}: {sizes:?} has {has}");
        }
        assert!(Sizes::of_bytes(Bytes::gib(30)).scale.number() > 5.0);
    }
}
