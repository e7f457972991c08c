//! Customers who register, and who move.

use crate::generate::{address, card, customer, name};
use crate::schema::{Sequence, Table};
use crate::session::{Failure, Session};
use crate::user::User;

const BY_NAME: &str = "SELECT customer_id, preferred_address FROM customers WHERE lower(cust_last_name) = lower($1) AND \
                       lower(cust_first_name) = lower($2) ORDER BY customer_id LIMIT 5";
const MOVE: &str = "UPDATE customers SET preferred_address = $1 WHERE customer_id = $2";

pub fn register<S: Session>(user: &mut User<S>) -> Result<(), Failure> {
    user.begin()?;
    let id = user.next(Sequence::Customer)?;
    let (home, payment) = (user.next(Sequence::Address)?, user.next(Sequence::Card)?);
    let now = user.session.date();
    let row = customer(id.into(), (home, payment), now, &mut user.chance);
    user.insert(Table::Customers, &row)?;
    let row = address(home.into(), id, &mut user.chance);
    user.insert(Table::Addresses, &row)?;
    let row = card(payment.into(), id, now, &mut user.chance);
    user.insert(Table::CardDetails, &row)?;
    user.commit()?;
    user.think();
    user.logon(id)?;
    user.customer(id).map(drop)
}

pub fn update<S: Session>(user: &mut User<S>) -> Result<(), Failure> {
    let (first, last) = name(&mut user.chance);
    let found = user.select(BY_NAME, &[last.into(), first.into()])?;
    user.think();
    // As the published server side has it: a name that only one has stays.
    let Some(id) = found.first().and_then(|row| row[0].number()).filter(|_| found.len() >= 2) else { return Ok(()) };
    user.begin()?;
    let home = user.next(Sequence::Address)?;
    let row = address(home.into(), id, &mut user.chance);
    user.insert(Table::Addresses, &row)?;
    user.update(MOVE, &[home.into(), id.into()])?;
    user.commit()
}
