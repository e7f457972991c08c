//! Products and orders that are looked at.

use crate::session::{Failure, Session};
use crate::user::User;

const PRODUCT: &str = "SELECT p.product_id, p.product_name, p.list_price, i.warehouse_id, i.quantity_on_hand FROM \
                       product_information p JOIN inventories i ON i.product_id = p.product_id WHERE p.product_id = $1 \
                       LIMIT 14";
const ORDERS: &str = "SELECT order_id, order_date, order_mode, order_status, order_total, sales_rep_id FROM orders WHERE \
                      customer_id = $1 ORDER BY order_id LIMIT 50";
const ITEMS: &str = "SELECT line_item_id, product_id, unit_price, quantity FROM order_items WHERE order_id = $1";
const ONE_MORE: &str = "UPDATE order_items SET quantity = quantity + 1 WHERE order_id = $1 AND line_item_id = $2";
const DEARER: &str = "UPDATE orders SET order_total = order_total + $1 WHERE order_id = $2";

pub fn products<S: Session>(user: &mut User<S>) -> Result<(), Failure> {
    let customer = user.any_customer();
    user.customer(customer)?;
    user.think();
    user.logon(customer)?;
    for _ in 0..user.chance.between(1, 5) {
        let product = user.any_product();
        user.select(PRODUCT, &[product.into()])?;
        user.think();
    }
    Ok(())
}

pub fn orders<S: Session>(user: &mut User<S>) -> Result<(), Failure> {
    let customer = user.any_customer();
    user.customer(customer)?;
    user.addresses(customer)?;
    user.logon(customer)?;
    let orders = user.select(ORDERS, &[customer.into()])?;
    if orders.len() < 2 {
        return Ok(());
    }
    let order = user.chance.pick(&orders)[0].clone();
    let items = user.select(ITEMS, std::slice::from_ref(&order))?;
    if items.is_empty() {
        return Ok(());
    }
    let item = user.chance.pick(&items).clone();
    user.begin()?;
    user.update(ONE_MORE, &[order.clone(), item[0].clone()])?;
    user.update(DEARER, &[item[2].clone(), order])?;
    user.commit()
}
