//! Tables, their columns and keys, and the statements that create them.
//!
//! Amounts are whole numbers, and dates are seconds since 1970 (UTC): sums are exact, and rows are
//! the same in every database.

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
#[expect(missing_docs, reason = "each is the table of its name")]
pub enum Table {
    Customers,
    Addresses,
    CardDetails,
    Warehouses,
    ProductInformation,
    ProductDescriptions,
    Inventories,
    Orders,
    OrderItems,
    Logon,
    Metadata,
}

/// A sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// Of customers.
    Customer,
    /// Of addresses.
    Address,
    /// Of cards.
    Card,
    /// Of orders.
    Orders,
    /// Of logons.
    Logon,
}

impl Sequence {
    /// All of them.
    pub const ALL: [Sequence; 5] =
        [Sequence::Customer, Sequence::Address, Sequence::Card, Sequence::Orders, Sequence::Logon];

    /// Its name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Sequence::Customer => "customer_seq",
            Sequence::Address => "address_seq",
            Sequence::Card => "card_details_seq",
            Sequence::Orders => "orders_seq",
            Sequence::Logon => "logon_seq",
        }
    }

    /// The table whose rows it numbers.
    pub const fn table(self) -> Table {
        match self {
            Sequence::Customer => Table::Customers,
            Sequence::Address => Table::Addresses,
            Sequence::Card => Table::CardDetails,
            Sequence::Orders => Table::Orders,
            Sequence::Logon => Table::Logon,
        }
    }
}

/// The table of sequences in a database that has none.
pub const SEQUENCES_TABLE: &str = "orderentry_sequences";

/// Which indexes to create.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Indexes {
    /// Primary keys and all others.
    #[default]
    All,
    /// Primary keys, which references need.
    Primary,
    /// None.
    None,
}

/// The type of a column.
#[derive(Clone, Copy)]
enum Kind {
    /// A whole number of 64 bits.
    Number,
    /// Text of at most this many characters.
    Text(u16),
}

use Kind::{Number as N, Text as T};

/// The definition of a table.
struct Definition {
    name: &'static str,
    columns: &'static [(&'static str, Kind)],
    key: &'static [&'static str],
    /// A column and the table whose key it refers to.
    references: &'static [(&'static str, &'static str)],
    indexes: &'static [&'static str],
}

impl Table {
    /// All tables, in an order in which each refers to earlier ones only.
    pub const ALL: [Table; 11] = [
        Table::Customers,
        Table::Addresses,
        Table::CardDetails,
        Table::Warehouses,
        Table::ProductInformation,
        Table::ProductDescriptions,
        Table::Inventories,
        Table::Orders,
        Table::OrderItems,
        Table::Logon,
        Table::Metadata,
    ];

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// The columns of its key.
    pub fn key(self) -> &'static [&'static str] {
        self.definition().key
    }

    /// The names of its columns, in order.
    pub fn columns(self) -> impl Iterator<Item = &'static str> {
        self.definition().columns.iter().map(|(name, _)| *name)
    }

    /// The columns of its secondary indexes, as in `CREATE INDEX`.
    pub(crate) fn index_columns(self) -> &'static [&'static str] {
        self.definition().indexes
    }

    /// The type of a column, counted from 0.
    pub(crate) fn kind(self, column: usize) -> String {
        match self.definition().columns[column].1 {
            Kind::Number => "BIGINT".into(),
            Kind::Text(most) => format!("VARCHAR({most})"),
        }
    }

    fn definition(self) -> &'static Definition {
        &DEFINITIONS[self as usize]
    }
}

const DEFINITIONS: [Definition; 11] = [
    Definition {
        name: "customers",
        columns: &[
            ("customer_id", N),
            ("cust_first_name", T(40)),
            ("cust_last_name", T(40)),
            ("nls_language", T(3)),
            ("nls_territory", T(30)),
            ("credit_limit", N),
            ("cust_email", T(100)),
            ("account_mgr_id", N),
            ("customer_since", N),
            ("customer_class", T(40)),
            ("suggestions", T(40)),
            ("dob", N),
            ("mailshot", T(1)),
            ("partner_mailshot", T(1)),
            ("preferred_address", N),
            ("preferred_card", N),
        ],
        key: &["customer_id"],
        references: &[],
        indexes: &["account_mgr_id", "dob", "cust_email", "lower(cust_last_name), lower(cust_first_name)"],
    },
    Definition {
        name: "addresses",
        columns: &[
            ("address_id", N),
            ("customer_id", N),
            ("date_created", N),
            ("house_no_or_name", T(60)),
            ("street_name", T(60)),
            ("town", T(60)),
            ("county", T(60)),
            ("country", T(60)),
            ("post_code", T(12)),
            ("zip_code", T(12)),
        ],
        key: &["address_id"],
        references: &[("customer_id", "customers")],
        indexes: &["customer_id"],
    },
    Definition {
        name: "card_details",
        columns: &[
            ("card_id", N),
            ("customer_id", N),
            ("card_type", T(30)),
            ("card_number", N),
            ("expiry_date", N),
            ("is_valid", T(1)),
            ("security_code", N),
        ],
        key: &["card_id"],
        references: &[("customer_id", "customers")],
        indexes: &["customer_id"],
    },
    Definition {
        name: "warehouses",
        columns: &[("warehouse_id", N), ("warehouse_name", T(35)), ("location_id", N)],
        key: &["warehouse_id"],
        references: &[],
        indexes: &["location_id"],
    },
    Definition {
        name: "product_information",
        columns: &[
            ("product_id", N),
            ("product_name", T(50)),
            ("product_description", T(2000)),
            ("category_id", N),
            ("weight_class", N),
            ("warranty_period", N),
            ("supplier_id", N),
            ("product_status", T(20)),
            ("list_price", N),
            ("min_price", N),
            ("catalog_url", T(50)),
        ],
        key: &["product_id"],
        references: &[],
        indexes: &["supplier_id", "category_id"],
    },
    Definition {
        name: "product_descriptions",
        columns: &[
            ("product_id", N),
            ("language_id", T(3)),
            ("translated_name", T(50)),
            ("translated_description", T(2000)),
        ],
        key: &["product_id", "language_id"],
        references: &[("product_id", "product_information")],
        indexes: &["translated_name"],
    },
    Definition {
        name: "inventories",
        columns: &[("product_id", N), ("warehouse_id", N), ("quantity_on_hand", N)],
        key: &["product_id", "warehouse_id"],
        references: &[("product_id", "product_information"), ("warehouse_id", "warehouses")],
        indexes: &["product_id", "warehouse_id"],
    },
    Definition {
        name: "orders",
        columns: &[
            ("order_id", N),
            ("order_date", N),
            ("order_mode", T(8)),
            ("customer_id", N),
            ("order_status", N),
            ("order_total", N),
            ("sales_rep_id", N),
            ("promotion_id", N),
            ("warehouse_id", N),
            ("delivery_type", T(15)),
            ("cost_of_delivery", N),
            ("wait_till_all_available", T(15)),
            ("delivery_address_id", N),
            ("customer_class", T(30)),
            ("card_id", N),
            ("invoice_address_id", N),
        ],
        key: &["order_id"],
        references: &[("customer_id", "customers")],
        indexes: &["sales_rep_id", "customer_id", "order_date", "warehouse_id, order_status"],
    },
    Definition {
        name: "order_items",
        columns: &[
            ("order_id", N),
            ("line_item_id", N),
            ("product_id", N),
            ("unit_price", N),
            ("quantity", N),
            ("dispatch_date", N),
            ("return_date", N),
            ("gift_wrap", T(20)),
            // A reserved word of MariaDB; quoted as standard SQL has it.
            ("\"condition\"", T(20)),
            ("supplier_id", N),
            ("estimated_delivery", N),
        ],
        key: &["order_id", "line_item_id"],
        references: &[("order_id", "orders"), ("product_id", "product_information")],
        indexes: &["order_id", "product_id"],
    },
    Definition {
        name: "logon",
        columns: &[("logon_id", N), ("customer_id", N), ("logon_date", N)],
        key: &[],
        references: &[],
        indexes: &[],
    },
    Definition {
        name: "orderentry_metadata",
        columns: &[("metadata_key", T(40)), ("metadata_value", T(200))],
        key: &["metadata_key"],
        references: &[],
        indexes: &[],
    },
];

/// An SQL dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite's: references are part of the table's definition.
    Sqlite,
    /// PostgreSQL's: keys and references are added after loading.
    Postgres,
    /// MariaDB's: rows are stored by key, so the key is part of the table's definition; references
    /// are added after loading.
    Mariadb,
}

/// The statement that creates a table.
pub fn create(table: Table, indexes: Indexes, dialect: Dialect) -> String {
    let Definition { name, columns, key, references, .. } = table.definition();
    let is_rowid =
        |column: &str| dialect == Dialect::Sqlite && key.len() == 1 && key[0] == column && indexes != Indexes::None;
    let mut parts: Vec<String> = Vec::new();
    for (column, kind) in *columns {
        parts.push(match kind {
            // Only this wording makes the key the row id, without an index of its own.
            Kind::Number if is_rowid(column) => format!("{column} INTEGER PRIMARY KEY"),
            Kind::Number => format!("{column} BIGINT{}", limit_of(column)),
            Kind::Text(most) => format!("{column} VARCHAR({most})"),
        });
    }
    let is_keyed = table == Table::Metadata || (indexes != Indexes::None && dialect != Dialect::Postgres);
    if is_keyed && !key.is_empty() && !parts.iter().any(|part| part.ends_with("PRIMARY KEY")) {
        parts.push(format!("PRIMARY KEY ({})", key.join(", ")));
    }
    if is_keyed && dialect == Dialect::Sqlite {
        parts.extend(references.iter().map(reference));
    }
    let storage = match dialect {
        // A tenth of each block is filled, as published, so that neighbouring stock rows do not
        // share one.
        Dialect::Postgres if table == Table::Inventories => " WITH (fillfactor = 10)",
        // The collation ignores case: see `in_mariadb`.
        Dialect::Mariadb => " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        Dialect::Postgres | Dialect::Sqlite => "",
    };
    format!("CREATE TABLE {name} ({}){storage}", parts.join(", "))
}

fn reference((column, other): &(&str, &str)) -> String {
    let cascade = if *other == "orders" { " ON DELETE CASCADE" } else { "" };
    format!("FOREIGN KEY ({column}) REFERENCES {other} ({column}){cascade}")
}

/// The statements that add a table's key and references if [`create`] leaves them out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// The key.
    pub primary: Option<String>,
    /// References; each needs the other table's key.
    pub references: Vec<String>,
}

/// The key and the references of a table, for a database that adds them after loading.
pub fn constraints(table: Table, indexes: Indexes) -> Constraints {
    let Definition { name, key, references, .. } = table.definition();
    if indexes == Indexes::None || table == Table::Metadata {
        return Constraints::default();
    }
    Constraints {
        primary: (!key.is_empty()).then(|| format!("ALTER TABLE {name} ADD PRIMARY KEY ({})", key.join(", "))),
        references: references.iter().map(|one| format!("ALTER TABLE {name} ADD {}", reference(one))).collect(),
    }
}

/// The constraints of a column's values.
fn limit_of(column: &str) -> &'static str {
    match column {
        "credit_limit" => " CHECK (credit_limit <= 50000)",
        "order_total" => " CHECK (order_total >= 0)",
        "order_status" => " CHECK (order_status BETWEEN 0 AND 10)",
        _ => "",
    }
}

/// The statements that create a table's secondary indexes.
pub fn indexes(table: Table, indexes: Indexes) -> Vec<String> {
    let Definition { name, indexes: all, .. } = table.definition();
    let wanted = if indexes == Indexes::All { *all } else { &[] };
    let index = |(number, columns): (usize, &&str)| format!("CREATE INDEX {name}_{number} ON {name} ({columns})");
    wanted.iter().enumerate().map(|(number, columns)| index((number + 1, columns))).collect()
}

/// The statements that create the views.
pub fn create_views() -> [(&'static str, &'static str); 2] {
    [
        (
            "products",
            "CREATE VIEW products AS SELECT i.*, d.language_id, COALESCE(d.translated_name, i.product_name) AS \
             translated_name, COALESCE(d.translated_description, i.product_description) AS translated_description FROM \
             product_information i LEFT JOIN product_descriptions d ON d.product_id = i.product_id",
        ),
        (
            "product_prices",
            "CREATE VIEW product_prices AS SELECT category_id, COUNT(*) AS products, MIN(list_price) AS low_price, \
             MAX(list_price) AS high_price FROM product_information GROUP BY category_id",
        ),
    ]
}

/// The statement that inserts a row.
pub fn insert(table: Table) -> String {
    let columns: Vec<&str> = table.columns().collect();
    let marks: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
    format!("INSERT INTO {} ({}) VALUES ({})", table.name(), columns.join(", "), marks.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_the_tables_and_indexes_of_the_load() {
        assert_eq!(Table::ALL.len(), 11);
        assert!(Table::ALL.iter().enumerate().all(|(at, table)| *table as usize == at));
        // 4 for customers, 4 for orders, 2 each for inventories, items and products, and 1 each for
        // four other tables.
        let count = |of| Table::ALL.iter().map(|table| indexes(*table, of).len()).sum::<usize>();
        assert_eq!((count(Indexes::All), count(Indexes::Primary)), (18, 0));
        let sqlite = |table, indexes| create(table, indexes, Dialect::Sqlite);
        assert!(sqlite(Table::Inventories, Indexes::All).contains("PRIMARY KEY (product_id, warehouse_id)"));
        assert!(sqlite(Table::Orders, Indexes::All).contains("order_id INTEGER PRIMARY KEY"));
        assert!(!sqlite(Table::Orders, Indexes::None).contains("KEY"));
        assert!(!create(Table::OrderItems, Indexes::All, Dialect::Postgres).contains("KEY"));
        let items = constraints(Table::OrderItems, Indexes::Primary);
        assert_eq!(items.primary.unwrap(), "ALTER TABLE order_items ADD PRIMARY KEY (order_id, line_item_id)");
        assert!(items.references[0].ends_with("(order_id) REFERENCES orders (order_id) ON DELETE CASCADE"));
        let mariadb = create(Table::OrderItems, Indexes::Primary, Dialect::Mariadb);
        assert!(mariadb.contains("PRIMARY KEY (order_id, line_item_id)) ENGINE"), "{mariadb}");
        assert!(!mariadb.contains("REFERENCES"), "{mariadb}");
        assert_eq!(constraints(Table::Orders, Indexes::None), Constraints::default());
    }
}
