//! What managers ask.

use crate::session::{Failure, Session};
use crate::user::User;

const BY_REP: &str = "SELECT * FROM (SELECT o.order_id, o.order_total, c.cust_first_name, c.cust_last_name, RANK() OVER \
                      (ORDER BY o.order_total DESC) AS place FROM orders o JOIN customers c ON c.customer_id = \
                      o.customer_id WHERE o.sales_rep_id = $1) ranked WHERE place <= 10";
/// All groupings of a cube over mode and warehouse, which not every database has as such.
const BY_WAREHOUSE: &str = "WITH here AS (SELECT order_mode, warehouse_id, order_total FROM orders WHERE warehouse_id = $1) \
     SELECT order_mode, warehouse_id, SUM(order_total), COUNT(*) FROM here GROUP BY order_mode, warehouse_id UNION ALL \
     SELECT order_mode, NULL, SUM(order_total), COUNT(*) FROM here GROUP BY order_mode UNION ALL \
     SELECT NULL, warehouse_id, SUM(order_total), COUNT(*) FROM here GROUP BY warehouse_id UNION ALL \
     SELECT NULL, NULL, SUM(order_total), COUNT(*) FROM here";
/// Slots of five minutes.
const LAST_HOUR: &str = "SELECT (order_date - $1) / 300, SUM(order_total), COUNT(*) FROM orders WHERE order_date >= $1 \
                         AND warehouse_id = $2 GROUP BY (order_date - $1) / 300";

pub fn sales_rep<S: Session>(user: &mut User<S>) -> Result<(), Failure> {
    let rep = user.chance.between(1, 1000);
    user.select(BY_REP, &[rep.into()]).map(drop)
}

pub fn warehouse<S: Session>(user: &mut User<S>) -> Result<(), Failure> {
    let place = user.any_warehouse();
    user.select(BY_WAREHOUSE, &[place.into()]).map(drop)
}

pub fn activity<S: Session>(user: &mut User<S>) -> Result<(), Failure> {
    let (since, place) = (user.session.date() - 3600, user.any_warehouse());
    user.select(LAST_HOUR, &[since.into(), place.into()]).map(drop)
}
