//! The statements of the transactions, each written once; used alone and inside procedures.
//!
//! They have an ORDER BY where a choice depends on the order, so that every database finds the same
//! row first.

pub const CUSTOMER: &str = "SELECT cust_first_name, cust_last_name, nls_language, nls_territory, credit_limit, \
                            cust_email, account_mgr_id, customer_class, preferred_address, preferred_card FROM customers \
                            WHERE customer_id = $1";
pub const ADDRESSES: &str = "SELECT address_id, street_name, town, county, country, post_code, zip_code FROM addresses \
                             WHERE customer_id = $1 ORDER BY address_id LIMIT 5";
pub const CARDS: &str = "SELECT card_id, card_type, card_number, expiry_date, is_valid FROM card_details WHERE \
                         customer_id = $1 ORDER BY card_id LIMIT 5";

pub const BY_NAME: &str = "SELECT customer_id, preferred_address FROM customers WHERE lower(cust_last_name) = lower($1) \
                           AND lower(cust_first_name) = lower($2) ORDER BY customer_id LIMIT 5";
pub const MOVE: &str = "UPDATE customers SET preferred_address = $1 WHERE customer_id = $2";

pub const PRODUCT: &str = "SELECT p.product_id, p.product_name, p.list_price, i.warehouse_id, i.quantity_on_hand FROM \
                           product_information p JOIN inventories i ON i.product_id = p.product_id WHERE p.product_id = \
                           $1 LIMIT 14";
pub const ORDERS: &str = "SELECT order_id, order_date, order_mode, order_status, order_total, sales_rep_id FROM orders \
                          WHERE customer_id = $1 ORDER BY order_id LIMIT 50";
pub const ITEMS: &str = "SELECT line_item_id, product_id, unit_price, quantity FROM order_items WHERE order_id = $1 \
                         ORDER BY line_item_id";
pub const ADD_ONE: &str = "UPDATE order_items SET quantity = quantity + 1 WHERE order_id = $1 AND line_item_id = $2";
pub const RAISE_TOTAL: &str = "UPDATE orders SET order_total = order_total + $1 WHERE order_id = $2";

pub const OF_CATEGORY: &str = "SELECT p.product_id, p.list_price, p.supplier_id, i.quantity_on_hand FROM \
                               product_information p JOIN inventories i ON i.product_id = p.product_id WHERE \
                               p.category_id = $1 AND i.warehouse_id = $2 ORDER BY p.product_id LIMIT 14";
pub const STOCK: &str = "SELECT quantity_on_hand FROM inventories WHERE product_id = $1 AND warehouse_id = $2";
pub const TAKE: &str = "UPDATE inventories SET quantity_on_hand = quantity_on_hand - 1 WHERE product_id = $1 AND \
                        warehouse_id = $2";
pub const CLOSE: &str = "UPDATE orders SET order_status = $1, order_total = $2 WHERE order_id = $3";
pub const OPEN: &str = "SELECT o.order_id, o.order_status, c.customer_id, i.line_item_id, i.product_id FROM (SELECT \
                        order_id, order_status, customer_id FROM orders WHERE warehouse_id = $1 AND order_status <= 4 \
                        ORDER BY order_status, order_id LIMIT 9) o JOIN customers c ON c.customer_id = o.customer_id \
                        JOIN order_items i ON i.order_id = o.order_id ORDER BY o.order_status, o.order_id, \
                        i.line_item_id";
pub const STATUS: &str = "UPDATE orders SET order_status = $1 WHERE order_id = $2";

pub const BY_REP: &str = "SELECT * FROM (SELECT o.order_id, o.order_total, c.cust_first_name, c.cust_last_name, RANK() \
                          OVER (ORDER BY o.order_total DESC) AS place FROM orders o JOIN customers c ON c.customer_id = \
                          o.customer_id WHERE o.sales_rep_id = $1) ranked WHERE place <= 10";
/// All groupings of a cube over mode and warehouse, because not every database has CUBE.
pub const BY_WAREHOUSE: &str = "WITH here AS (SELECT order_mode, warehouse_id, order_total FROM orders WHERE \
     warehouse_id = $1) SELECT order_mode, warehouse_id, SUM(order_total), COUNT(*) FROM here GROUP BY order_mode, \
     warehouse_id UNION ALL SELECT order_mode, NULL, SUM(order_total), COUNT(*) FROM here GROUP BY order_mode UNION ALL \
     SELECT NULL, warehouse_id, SUM(order_total), COUNT(*) FROM here GROUP BY warehouse_id UNION ALL SELECT NULL, NULL, \
     SUM(order_total), COUNT(*) FROM here";
/// Slots of five minutes.
pub const LAST_HOUR: &str = "SELECT (order_date - $1) / 300, SUM(order_total), COUNT(*) FROM orders WHERE order_date >= \
                             $1 AND warehouse_id = $2 GROUP BY (order_date - $1) / 300";

// Calls; what follows the arguments receives the two numbers that a procedure returns.
pub const REGISTER: &str = "CALL orderentry_register($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, \
                            $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, NULL, NULL)";
pub const UPDATE_CUSTOMER: &str =
    "CALL orderentry_update_customer($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL, NULL)";
pub const BROWSE_PRODUCTS: &str = "CALL orderentry_browse_products($1, $2, $3, NULL, NULL)";
pub const PLACE_ORDER: &str = "CALL orderentry_place_order($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL, NULL)";
pub const NEXT_ORDER: &str = "CALL orderentry_next_order($1, $2, NULL, NULL)";
pub const BROWSE_ORDERS: &str = "CALL orderentry_browse_orders($1, $2, $3, $4, NULL, NULL)";
pub const SALES_REP: &str = "CALL orderentry_sales_rep($1, NULL, NULL)";
pub const WAREHOUSE: &str = "CALL orderentry_warehouse($1, NULL, NULL)";
pub const WAREHOUSE_ACTIVITY: &str = "CALL orderentry_warehouse_activity($1, $2, NULL, NULL)";
