//! Each transaction as one call of a procedure, here in PostgreSQL's language. Unlike a function, a
//! procedure may commit in the middle, as a logon does.
//!
//! Random numbers are drawn by the caller and passed as arguments, so that a call does the same as
//! the single statements.

mod mariadb;

use crate::schema::{Dialect, Table};
use crate::statement::{
    ADD_ONE, ADDRESSES, BY_NAME, BY_REP, BY_WAREHOUSE, CARDS, CLOSE, CUSTOMER, ITEMS, LAST_HOUR, MOVE, OF_CATEGORY,
    OPEN, ORDERS, PRODUCT, RAISE_TOTAL, STATUS, STOCK, TAKE,
};
use crate::transaction::DELIVERY;

/// The names of all procedures.
pub const PROCEDURES: [&str; 9] = [
    "orderentry_register",
    "orderentry_update_customer",
    "orderentry_browse_products",
    "orderentry_place_order",
    "orderentry_next_order",
    "orderentry_browse_orders",
    "orderentry_sales_rep",
    "orderentry_warehouse",
    "orderentry_warehouse_activity",
];

/// The statements that create the procedures; SQLite has none.
pub fn create_procedures(dialect: Dialect) -> Vec<String> {
    match dialect {
        Dialect::Sqlite => Vec::new(),
        Dialect::Postgres => create().into(),
        Dialect::Mariadb => mariadb::create().into(),
    }
}

fn create() -> [String; 9] {
    [
        register(),
        update_customer(),
        browse_products(),
        place_order(),
        next_order(),
        browse_orders(),
        query(6, "p_rep BIGINT", BY_REP, &["p_rep"]),
        query(7, "p_place BIGINT", BY_WAREHOUSE, &["p_place"]),
        query(8, "p_since BIGINT, p_place BIGINT", LAST_HOUR, &["p_since", "p_place"]),
    ]
}

fn procedure(number: usize, given: &str, variables: &str, body: &str) -> String {
    format!(
        "CREATE PROCEDURE {}({given}, INOUT looked BIGINT, INOUT changed BIGINT) LANGUAGE plpgsql AS $seawall$\nDECLARE \
         {variables}\nBEGIN\nlooked := 0; changed := 0;\n{body}\nEND\n$seawall$",
        PROCEDURES[number]
    )
}

/// A statement with variables for its arguments.
fn with(sql: &str, variables: &[&str]) -> String {
    let argument = |sql: String, (number, variable): (usize, &&str)| sql.replace(&format!("${}", number + 1), variable);
    variables.iter().enumerate().fold(sql.to_owned(), argument)
}

/// A query that is run without using its result.
fn perform(sql: &str, variables: &[&str]) -> String {
    format!("PERFORM * FROM ({}) found;", with(sql, variables))
}

fn logon(customer: &str) -> String {
    format!("INSERT INTO logon VALUES (nextval('logon_seq'), {customer}, p_date); COMMIT;")
}

/// The first value of a query's first column; the whole query is run.
fn first(column: &str, into: &str, sql: &str, variables: &[&str]) -> String {
    format!("SELECT (array_agg({column}))[1] INTO {into} FROM ({}) found;", with(sql, variables))
}

/// Parameters for these columns of a table, and their names.
fn parameters(table: Table, columns: std::ops::Range<usize>) -> (String, String) {
    let names: Vec<&str> = table.columns().collect();
    let name = |column: &usize| format!("p_{}_{}", table.name(), names[*column]);
    let given = columns.clone().map(|column| format!("{} {}", name(&column), table.kind(column)));
    let used = columns.clone().map(|column| name(&column));
    (given.collect::<Vec<_>>().join(", "), used.collect::<Vec<_>>().join(", "))
}

fn register() -> String {
    let (customer, customers) = parameters(Table::Customers, 1..14);
    let (address, addresses) = parameters(Table::Addresses, 2..10);
    let (card, cards) = parameters(Table::CardDetails, 2..7);
    let body = format!(
        "v_id := nextval('customer_seq'); v_home := nextval('address_seq'); v_card := nextval('card_details_seq');\nINSERT \
         INTO customers VALUES (v_id, {customers}, v_home, v_card);\nINSERT INTO addresses VALUES (v_home, v_id, \
         {addresses});\nINSERT INTO card_details VALUES (v_card, v_id, {cards});\nCOMMIT;\n{}\n{}",
        logon("v_id"),
        perform(CUSTOMER, &["v_id"]),
    );
    let given = format!("p_date BIGINT, {customer}, {address}, {card}");
    procedure(0, &given, "v_id BIGINT; v_home BIGINT; v_card BIGINT;", &body)
}

fn update_customer() -> String {
    let (address, addresses) = parameters(Table::Addresses, 2..10);
    let body = format!(
        "SELECT array_agg(customer_id ORDER BY customer_id) INTO v_found FROM ({}) found;\nIF \
         coalesce(array_length(v_found, 1), 0) < 2 THEN RETURN; END IF;\nv_home := nextval('address_seq');\nINSERT INTO \
         addresses VALUES (v_home, v_found[1], {addresses});\n{};\nchanged := 1;\nCOMMIT;",
        with(BY_NAME, &["p_last", "p_first"]),
        with(MOVE, &["v_home", "v_found[1]"]),
    );
    let given = format!("p_last VARCHAR, p_first VARCHAR, {address}");
    procedure(1, &given, "v_found BIGINT[]; v_home BIGINT;", &body)
}

fn browse_products() -> String {
    let body = format!(
        "{}\n{}\nFOREACH v_product IN ARRAY p_products LOOP\n{}\nEND LOOP;",
        perform(CUSTOMER, &["p_customer"]),
        logon("p_customer"),
        perform(PRODUCT, &["v_product"]),
    );
    procedure(2, "p_date BIGINT, p_customer BIGINT, p_products BIGINT[]", "v_product BIGINT;", &body)
}

fn place_order() -> String {
    let found = "SELECT array_agg(product_id ORDER BY product_id), array_agg(list_price ORDER BY product_id), \
                 array_agg(supplier_id ORDER BY product_id) INTO v_products, v_prices, v_suppliers FROM";
    let body = format!(
        "{customer}\n{addresses}\n{cards}\n{logon}\nFOR v_at IN 1..array_length(p_categories, 1) LOOP\n{found} ({look}) \
         found;\nEND LOOP;\nv_order := nextval('orders_seq');\nINSERT INTO orders VALUES (v_order, p_date, 'online', \
         p_customer, 1, 0, p_rep, NULL, p_warehouse, 'Standard', p_cost, 'ship_asap', coalesce(v_home, 0), 'Occasional', \
         coalesce(v_card, 0), coalesce(v_home, 0));\nFOR v_at IN 1..least(coalesce(array_length(v_products, 1), 0), \
         array_length(p_places, 1)) LOOP\nlooked := looked + 1;\nIF ({stock}) > 0 THEN\nINSERT INTO order_items VALUES \
         (v_order, v_at, v_products[v_at], v_prices[v_at], 1, NULL, NULL, 'None', 'New', v_suppliers[v_at], p_date + \
         {DELIVERY});\nv_total := v_total + v_prices[v_at]; v_taken := v_taken || v_at; changed := changed + 1;\nEND \
         IF;\nEND LOOP;\n{close};\nFOREACH v_item IN ARRAY v_taken LOOP\n{take};\nEND LOOP;\nCOMMIT;",
        customer = perform(CUSTOMER, &["p_customer"]),
        addresses = first("address_id ORDER BY address_id", "v_home", ADDRESSES, &["p_customer"]),
        cards = first("card_id ORDER BY card_id", "v_card", CARDS, &["p_customer"]),
        logon = logon("p_customer"),
        look = with(OF_CATEGORY, &["p_categories[v_at]", "p_warehouses[v_at]"]),
        stock = with(STOCK, &["v_products[v_at]", "p_places[v_at]"]),
        close = with(CLOSE, &["p_status", "v_total", "v_order"]),
        take = with(TAKE, &["v_products[v_item]", "p_places[v_item]"]),
    );
    let given = "p_date BIGINT, p_customer BIGINT, p_categories BIGINT[], p_warehouses BIGINT[], p_warehouse BIGINT, p_rep \
                 BIGINT, p_cost BIGINT, p_places BIGINT[], p_status BIGINT";
    let variables = "v_home BIGINT; v_card BIGINT; v_order BIGINT; v_item INTEGER; v_total BIGINT := 0; v_products \
                     BIGINT[]; v_prices BIGINT[]; v_suppliers BIGINT[]; v_taken INTEGER[] := '{}';";
    procedure(3, given, variables, &body)
}

fn next_order() -> String {
    let body = format!(
        "{}\nIF v_order IS NULL THEN RETURN; END IF;\n{};\nchanged := 1;\nCOMMIT;",
        first("order_id ORDER BY order_status, order_id", "v_order", OPEN, &["p_warehouse"]),
        with(STATUS, &["p_status", "v_order"]),
    );
    procedure(4, "p_warehouse BIGINT, p_status BIGINT", "v_order BIGINT;", &body)
}

fn browse_orders() -> String {
    let body = format!(
        "{customer}\n{addresses}\n{logon}\nSELECT array_agg(order_id ORDER BY order_id) INTO v_orders FROM ({orders}) \
         found;\nv_count := coalesce(array_length(v_orders, 1), 0);\nIF v_count < 2 THEN RETURN; END IF;\nv_order := \
         v_orders[1 + ((p_order * v_count) >> 32)];\nlooked := 1;\nSELECT array_agg(line_item_id ORDER BY line_item_id), \
         array_agg(unit_price ORDER BY line_item_id) INTO v_lines, v_prices FROM ({items}) found;\nv_count := \
         coalesce(array_length(v_lines, 1), 0);\nIF v_count = 0 THEN RETURN; END IF;\nv_at := 1 + ((p_item * v_count) >> \
         32);\n{add_one};\n{raise};\nchanged := 1;\nCOMMIT;",
        customer = perform(CUSTOMER, &["p_customer"]),
        addresses = perform(ADDRESSES, &["p_customer"]),
        logon = logon("p_customer"),
        orders = with(ORDERS, &["p_customer"]),
        items = with(ITEMS, &["v_order"]),
        add_one = with(ADD_ONE, &["v_order", "v_lines[v_at]"]),
        raise = with(RAISE_TOTAL, &["v_prices[v_at]", "v_order"]),
    );
    let variables =
        "v_orders BIGINT[]; v_order BIGINT; v_lines BIGINT[]; v_prices BIGINT[]; v_count BIGINT; v_at BIGINT;";
    procedure(5, "p_date BIGINT, p_customer BIGINT, p_order BIGINT, p_item BIGINT", variables, &body)
}

fn query(number: usize, given: &str, sql: &str, variables: &[&str]) -> String {
    procedure(number, given, "", &perform(sql, variables))
}
