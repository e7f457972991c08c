//! Orders that are placed, and worked on.

use crate::schema::{Sequence, Table};
use crate::session::{Failure, Row, Session, Value};
use crate::user::User;

const OF_CATEGORY: &str = "SELECT p.product_id, p.list_price, p.supplier_id, i.quantity_on_hand FROM product_information \
                           p JOIN inventories i ON i.product_id = p.product_id WHERE p.category_id = $1 AND \
                           i.warehouse_id = $2 LIMIT 14";
const STOCK: &str = "SELECT quantity_on_hand FROM inventories WHERE product_id = $1 AND warehouse_id = $2";
const TAKE: &str = "UPDATE inventories SET quantity_on_hand = quantity_on_hand - 1 WHERE product_id = $1 AND \
                    warehouse_id = $2";
const CLOSE: &str = "UPDATE orders SET order_status = $1, order_total = $2 WHERE order_id = $3";
const OPEN: &str = "SELECT o.order_id, o.order_status, c.customer_id, i.line_item_id, i.product_id FROM (SELECT \
                    order_id, order_status, customer_id FROM orders WHERE warehouse_id = $1 AND order_status <= 4 ORDER \
                    BY order_status, order_id LIMIT 9) o JOIN customers c ON c.customer_id = o.customer_id JOIN \
                    order_items i ON i.order_id = o.order_id";
const STATUS: &str = "UPDATE orders SET order_status = $1 WHERE order_id = $2";

/// Days until what was ordered comes, in seconds.
const DELIVERY: i64 = 3 * 86_400;

pub fn products<S: Session>(user: &mut User<S>) -> Result<(), Failure> {
    let customer = user.any_customer();
    user.customer(customer)?;
    let home = user.addresses(customer)?;
    let card = user.cards(customer)?;
    user.think();
    user.logon(customer)?;
    user.think();
    let mut found = Vec::new();
    for _ in 0..user.chance.between(1, 5) {
        let place = [user.chance.between(1, 198).into(), user.any_warehouse().into()];
        found = user.select(OF_CATEGORY, &place)?;
        user.think();
    }
    user.begin()?;
    let order = user.next(Sequence::Orders)?;
    let row = placed(user, order, customer, home.unwrap_or(0), card.unwrap_or(0));
    user.insert(Table::Orders, &row)?;
    let wanted = user.chance.between(2, 5) as usize;
    let (mut total, mut taken) = (0, Vec::new());
    for (line, product) in (1..).zip(found.iter().take(wanted)) {
        let place = user.any_warehouse();
        let stock = user.select(STOCK, &[product[0].clone(), place.into()])?;
        if stock.first().and_then(|row| row[0].number()).is_some_and(|quantity| quantity > 0) {
            let row = item(user, order, line, product);
            user.insert(Table::OrderItems, &row)?;
            total += product[1].number().unwrap_or(0);
            taken.push([product[0].clone(), place.into()]);
        }
    }
    let status = user.chance.between(0, 3);
    user.update(CLOSE, &[status.into(), total.into(), order.into()])?;
    for place in &taken {
        user.update(TAKE, place)?;
    }
    user.commit()
}

fn placed<S: Session>(user: &mut User<S>, order: i64, customer: i64, home: i64, card: i64) -> Row {
    let (date, place, rep) = (user.session.date(), user.any_warehouse(), user.chance.between(1, 1000));
    let nobody = Value::Null;
    vec![
        order.into(),
        date.into(),
        "online".into(),
        customer.into(),
        1.into(),
        0.into(),
        rep.into(),
        nobody,
        place.into(),
        "Standard".into(),
        user.chance.between(1, 5).into(),
        "ship_asap".into(),
        home.into(),
        "Occasional".into(),
        card.into(),
        home.into(),
    ]
}

fn item<S: Session>(user: &User<S>, order: i64, line: i64, product: &[Value]) -> Row {
    let date = user.session.date();
    vec![
        order.into(),
        line.into(),
        product[0].clone(),
        product[1].clone(),
        1.into(),
        Value::Null,
        Value::Null,
        "None".into(),
        "New".into(),
        product[2].clone(),
        (date + DELIVERY).into(),
    ]
}

pub fn process<S: Session>(user: &mut User<S>) -> Result<(), Failure> {
    let place = user.any_warehouse();
    let open = user.select(OPEN, &[place.into()])?;
    user.think();
    let Some(order) = open.first().map(|row| row[0].clone()) else { return Ok(()) };
    let status = user.chance.between(5, 9);
    user.begin()?;
    user.update(STATUS, &[status.into(), order])?;
    user.commit()
}
