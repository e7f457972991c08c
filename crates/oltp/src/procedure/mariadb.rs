//! The procedures in MariaDB's language.
//!
//! It has no arrays: a list is text with a comma after each number, such as `7,8,9,`. The results
//! of a query are read row by row, because a query without a target would send them to the caller.
//! The two numbers are the one row that a call returns.

use super::{PROCEDURES, parameters, with};
use crate::schema::Table;
use crate::statement::{
    ADD_ONE, ADDRESSES, BY_NAME, BY_REP, BY_WAREHOUSE, CARDS, CLOSE, CUSTOMER, ITEMS, LAST_HOUR, MOVE, OF_CATEGORY,
    OPEN, ORDERS, PRODUCT, RAISE_TOTAL, STATUS, STOCK, TAKE,
};
use crate::transaction::DELIVERY;
use crate::wording::in_mariadb;

/// A list as a parameter, which arrives as `{7,8,9}`.
const LIST: &str = "VARCHAR(200)";
/// A name as a parameter, with the collation of the column, whatever the database's default.
const NAME: &str = "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";

/// The statements that create the procedures.
pub(super) fn create() -> [String; 9] {
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

/// Leaving `work` early still returns the two numbers.
fn procedure(number: usize, given: &str, variables: &str, body: &str) -> String {
    format!(
        "CREATE PROCEDURE {}({given}) MODIFIES SQL DATA\nBEGIN\nDECLARE looked, changed, v_rows BIGINT DEFAULT \
         0;\n{variables}\nwork: BEGIN\n{body}\nEND work;\nSELECT looked, changed;\nEND",
        PROCEDURES[number]
    )
}

/// A statement with variables for its arguments.
fn words(sql: &str, variables: &[&str]) -> String {
    in_mariadb(&with(sql, variables)).sql
}

/// Runs statements for each row of a query.
fn each(sql: &str, variables: &[&str], does: &str) -> String {
    format!("FOR v_row IN ({}) DO {does} END FOR;", words(sql, variables))
}

/// A query that is run without using its result.
fn perform(sql: &str, variables: &[&str]) -> String {
    each(sql, variables, "SET v_rows = v_rows + 1;")
}

fn logon(customer: &str) -> String {
    format!("START TRANSACTION; INSERT INTO logon VALUES (NEXTVAL(logon_seq), {customer}, p_date); COMMIT;")
}

/// The first value of a query's column; the whole query is run.
fn first(column: &str, into: &str, sql: &str, variables: &[&str]) -> String {
    each(sql, variables, &format!("IF {into} IS NULL THEN SET {into} = v_row.{column}; END IF;"))
}

/// A list as it was passed, with a comma after each number.
fn list(given: &str) -> String {
    format!("SET {given} = CONCAT(TRIM(BOTH '}}' FROM TRIM(BOTH '{{' FROM {given})), ',');")
}

/// The length of a list.
fn len(list: &str) -> String {
    format!("(LENGTH({list}) - LENGTH(REPLACE({list}, ',', '')))")
}

/// A number of a list, counted from 1.
fn of(list: &str, at: &str) -> String {
    format!("CAST(SUBSTRING_INDEX(SUBSTRING_INDEX({list}, ',', {at}), ',', -1) AS SIGNED)")
}

/// Adds to a list.
fn push(list: &str, number: &str) -> String {
    format!("SET {list} = CONCAT({list}, {number}, ',');")
}

fn register() -> String {
    let (customer, customers) = parameters(Table::Customers, 1..14);
    let (address, addresses) = parameters(Table::Addresses, 2..10);
    let (card, cards) = parameters(Table::CardDetails, 2..7);
    let body = format!(
        "START TRANSACTION;\nSET v_id = NEXTVAL(customer_seq), v_home = NEXTVAL(address_seq), v_card = \
         NEXTVAL(card_details_seq);\nINSERT INTO customers VALUES (v_id, {customers}, v_home, v_card);\nINSERT INTO \
         addresses VALUES (v_home, v_id, {addresses});\nINSERT INTO card_details VALUES (v_card, v_id, \
         {cards});\nCOMMIT;\n{}\n{}",
        logon("v_id"),
        perform(CUSTOMER, &["v_id"]),
    );
    let given = format!("p_date BIGINT, {customer}, {address}, {card}");
    procedure(0, &given, "DECLARE v_id, v_home, v_card BIGINT;", &body)
}

fn update_customer() -> String {
    let (address, addresses) = parameters(Table::Addresses, 2..10);
    let found = "IF v_id IS NULL THEN SET v_id = v_row.customer_id; END IF; SET v_rows = v_rows + 1;";
    let body = format!(
        "{}\nIF v_rows < 2 THEN LEAVE work; END IF;\nSTART TRANSACTION;\nSET v_home = NEXTVAL(address_seq);\nINSERT INTO \
         addresses VALUES (v_home, v_id, {addresses});\n{};\nCOMMIT;\nSET changed = 1;",
        each(BY_NAME, &["p_last", "p_first"], found),
        words(MOVE, &["v_home", "v_id"]),
    );
    let given = format!("p_last {NAME}, p_first {NAME}, {address}");
    procedure(1, &given, "DECLARE v_id, v_home BIGINT;", &body)
}

fn browse_products() -> String {
    let body = format!(
        "{list}\n{customer}\n{logon}\nFOR v_at IN 1..{count} DO\nSET v_product = {product};\n{look}\nEND FOR;",
        list = list("p_products"),
        customer = perform(CUSTOMER, &["p_customer"]),
        logon = logon("p_customer"),
        count = len("p_products"),
        product = of("p_products", "v_at"),
        look = perform(PRODUCT, &["v_product"]),
    );
    let given = format!("p_date BIGINT, p_customer BIGINT, p_products {LIST}");
    procedure(2, &given, "DECLARE v_product BIGINT;", &body)
}

fn place_order() -> String {
    let found = format!(
        "{} {} {}",
        push("v_products", "v_row.product_id"),
        push("v_prices", "v_row.list_price"),
        push("v_suppliers", "v_row.supplier_id")
    );
    let body = format!(
        "{lists}\n{customer}\n{addresses}\n{cards}\n{logon}\nFOR v_at IN 1..{looks} DO\nSET v_category = {category}, \
         v_shelf = {shelf}, v_products = '', v_prices = '', v_suppliers = '';\n{look}\nEND FOR;\nSTART TRANSACTION;\nSET \
         v_order = NEXTVAL(orders_seq);\nINSERT INTO orders VALUES (v_order, p_date, 'online', p_customer, 1, 0, p_rep, \
         NULL, p_warehouse, 'Standard', p_cost, 'ship_asap', COALESCE(v_home, 0), 'Occasional', COALESCE(v_card, 0), \
         COALESCE(v_home, 0));\nFOR v_at IN 1..LEAST({products}, {places}) DO\nSET looked = looked + 1, v_product = \
         {product}, v_place = {place}, v_price = {price};\nIF ({stock}) > 0 THEN\nINSERT INTO order_items VALUES (v_order, \
         v_at, v_product, v_price, 1, NULL, NULL, 'None', 'New', {supplier}, p_date + {DELIVERY});\nSET v_total = v_total \
         + v_price, changed = changed + 1;\n{taken}\nEND IF;\nEND FOR;\n{close};\nFOR v_at IN 1..changed DO\nSET v_item = \
         {item};\nSET v_product = {bought}, v_place = {bought_at};\n{take};\nEND FOR;\nCOMMIT;",
        lists = ["p_categories", "p_warehouses", "p_places"].map(list).join("\n"),
        customer = perform(CUSTOMER, &["p_customer"]),
        addresses = first("address_id", "v_home", ADDRESSES, &["p_customer"]),
        cards = first("card_id", "v_card", CARDS, &["p_customer"]),
        logon = logon("p_customer"),
        looks = len("p_categories"),
        category = of("p_categories", "v_at"),
        shelf = of("p_warehouses", "v_at"),
        look = each(OF_CATEGORY, &["v_category", "v_shelf"], &found),
        products = len("v_products"),
        places = len("p_places"),
        product = of("v_products", "v_at"),
        place = of("p_places", "v_at"),
        price = of("v_prices", "v_at"),
        supplier = of("v_suppliers", "v_at"),
        stock = words(STOCK, &["v_product", "v_place"]),
        taken = push("v_taken", "v_at"),
        close = words(CLOSE, &["p_status", "v_total", "v_order"]),
        item = of("v_taken", "v_at"),
        bought = of("v_products", "v_item"),
        bought_at = of("p_places", "v_item"),
        take = words(TAKE, &["v_product", "v_place"]),
    );
    let given = format!(
        "p_date BIGINT, p_customer BIGINT, p_categories {LIST}, p_warehouses {LIST}, p_warehouse BIGINT, p_rep BIGINT, \
         p_cost BIGINT, p_places {LIST}, p_status BIGINT"
    );
    let variables = "DECLARE v_home, v_card, v_order, v_category, v_shelf, v_product, v_place, v_price, v_item \
                     BIGINT;\nDECLARE v_total BIGINT DEFAULT 0;\nDECLARE v_products, v_prices, v_suppliers, v_taken \
                     VARCHAR(1000) DEFAULT '';";
    procedure(3, &given, variables, &body)
}

fn next_order() -> String {
    let body = format!(
        "{}\nIF v_order IS NULL THEN LEAVE work; END IF;\nSTART TRANSACTION;\n{};\nCOMMIT;\nSET changed = 1;",
        first("order_id", "v_order", OPEN, &["p_warehouse"]),
        words(STATUS, &["p_status", "v_order"]),
    );
    procedure(4, "p_warehouse BIGINT, p_status BIGINT", "DECLARE v_order BIGINT;", &body)
}

fn browse_orders() -> String {
    let item = format!("{} {}", push("v_lines", "v_row.line_item_id"), push("v_prices", "v_row.unit_price"));
    let body = format!(
        "{customer}\n{addresses}\n{logon}\n{orders}\nSET v_count = {found};\nIF v_count < 2 THEN LEAVE work; END IF;\nSET \
         v_at = 1 + ((p_order * v_count) >> 32);\nSET v_order = {order}, looked = 1;\n{items}\nSET v_count = {lines};\nIF \
         v_count = 0 THEN LEAVE work; END IF;\nSET v_at = 1 + ((p_item * v_count) >> 32);\nSET v_line = {line}, v_price = \
         {price};\nSTART TRANSACTION;\n{add_one};\n{raise};\nCOMMIT;\nSET changed = 1;",
        customer = perform(CUSTOMER, &["p_customer"]),
        addresses = perform(ADDRESSES, &["p_customer"]),
        logon = logon("p_customer"),
        orders = each(ORDERS, &["p_customer"], &push("v_orders", "v_row.order_id")),
        found = len("v_orders"),
        order = of("v_orders", "v_at"),
        items = each(ITEMS, &["v_order"], &item),
        lines = len("v_lines"),
        line = of("v_lines", "v_at"),
        price = of("v_prices", "v_at"),
        add_one = words(ADD_ONE, &["v_order", "v_line"]),
        raise = words(RAISE_TOTAL, &["v_price", "v_order"]),
    );
    let variables = "DECLARE v_order, v_line, v_price, v_count, v_at BIGINT;\nDECLARE v_orders, v_lines, v_prices \
                     VARCHAR(2000) DEFAULT '';";
    procedure(5, "p_date BIGINT, p_customer BIGINT, p_order BIGINT, p_item BIGINT", variables, &body)
}

fn query(number: usize, given: &str, sql: &str, variables: &[&str]) -> String {
    procedure(number, given, "", &perform(sql, variables))
}
