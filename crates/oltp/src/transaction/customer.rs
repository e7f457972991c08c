//! Customers who register, and customers who move.

use super::Drawn;
use crate::chance::Chance;
use crate::generate::{address, card, customer, name};
use crate::schema::{Sequence, Table};
use crate::session::{Counts, Failure, Row, Session, Value};
use crate::statement::{BY_NAME, MOVE, REGISTER, UPDATE_CUSTOMER};
use crate::user::User;

/// A customer, an address and a card; their numbers are assigned when they are inserted.
pub struct Registration {
    customer: Row,
    address: Row,
    card: Row,
    date: i64,
}

impl Registration {
    pub fn draw(chance: &mut Chance, date: i64) -> Registration {
        let customer = customer(Value::Null, (0, 0), date, chance);
        Registration {
            customer,
            address: address(Value::Null, 0, date, chance),
            card: card(Value::Null, 0, date, chance),
            date,
        }
    }
}

/// Columns of a customer that are drawn: all except the number and the preferred address and card.
const DRAWN: std::ops::Range<usize> = 1..14;

impl<S: Session> Drawn<S> for Registration {
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure> {
        user.begin()?;
        let id = user.next(Sequence::Customer)?;
        let (home, payment) = (user.next(Sequence::Address)?, user.next(Sequence::Card)?);
        let mut row = self.customer.clone();
        (row[0], row[14], row[15]) = (id.into(), home.into(), payment.into());
        user.insert(Table::Customers, &row)?;
        user.insert(Table::Addresses, &owned(&self.address, home, id))?;
        user.insert(Table::CardDetails, &owned(&self.card, payment, id))?;
        user.commit()?;
        user.think();
        user.logon(id, self.date)?;
        user.customer(id).map(drop)
    }

    fn call(&self) -> (&'static str, Vec<Value>) {
        let mut given = vec![self.date.into()];
        given.extend_from_slice(&self.customer[DRAWN]);
        given.extend_from_slice(&self.address[2..]);
        given.extend_from_slice(&self.card[2..]);
        (REGISTER, given)
    }

    fn counts(&self, _: u64, _: u64) -> Counts {
        let counts = Counts { selects: 1, commits: 2, ..Counts::default() };
        counts.with(Table::Customers, 1).with(Table::Addresses, 1).with(Table::CardDetails, 1).with(Table::Logon, 1)
    }
}

/// The row with its number, for that customer.
fn owned(row: &Row, id: i64, customer: i64) -> Row {
    let mut row = row.clone();
    (row[0], row[1]) = (id.into(), customer.into());
    row
}

/// A new address for the first customer with a name.
pub struct Move {
    first: String,
    last: String,
    address: Row,
}

impl Move {
    pub fn draw(chance: &mut Chance, date: i64) -> Move {
        let (first, last) = name(chance);
        Move { first, last, address: address(Value::Null, 0, date, chance) }
    }
}

impl<S: Session> Drawn<S> for Move {
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure> {
        let found = user.select(BY_NAME, &[self.last.as_str().into(), self.first.as_str().into()])?;
        user.think();
        // As in the published server-side variant, a customer whose name nobody shares does not
        // move.
        let Some(id) = found.first().and_then(|row| row[0].number()).filter(|_| found.len() >= 2) else {
            return Ok(());
        };
        user.begin()?;
        let home = user.next(Sequence::Address)?;
        user.insert(Table::Addresses, &owned(&self.address, home, id))?;
        user.update(MOVE, &[home.into(), id.into()])?;
        user.commit()
    }

    fn call(&self) -> (&'static str, Vec<Value>) {
        let mut given = vec![self.last.as_str().into(), self.first.as_str().into()];
        given.extend_from_slice(&self.address[2..]);
        (UPDATE_CUSTOMER, given)
    }

    fn counts(&self, _: u64, changed: u64) -> Counts {
        let counts = Counts { selects: 1, updates: changed, commits: changed, ..Counts::default() };
        counts.with(Table::Addresses, changed)
    }
}
