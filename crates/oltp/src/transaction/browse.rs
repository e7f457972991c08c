//! Products and orders that are looked at.

use super::{Drawn, Pick, array};
use crate::chance::Chance;
use crate::keys::Keys;
use crate::schema::Table;
use crate::session::{Counts, Failure, Session, Value};
use crate::statement::{ADD_ONE, BROWSE_ORDERS, BROWSE_PRODUCTS, ITEMS, ORDERS, PRODUCT, RAISE_TOTAL};
use crate::user::User;

/// Looks at some products, one after the other.
pub struct Products {
    customer: i64,
    products: Vec<i64>,
    date: i64,
}

impl Products {
    pub fn draw(chance: &mut Chance, keys: &Keys, date: i64) -> Products {
        let customer = keys.customer(chance);
        let products = (0..chance.between(1, 5)).map(|_| keys.product(chance)).collect();
        Products { customer, products, date }
    }
}

impl<S: Session> Drawn<S> for Products {
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure> {
        user.customer(self.customer)?;
        user.think();
        user.logon(self.customer, self.date)?;
        for product in &self.products {
            user.select(PRODUCT, &[(*product).into()])?;
            user.think();
        }
        Ok(())
    }

    fn call(&self) -> (&'static str, Vec<Value>) {
        (BROWSE_PRODUCTS, vec![self.date.into(), self.customer.into(), array(self.products.iter().copied())])
    }

    fn counts(&self, _: u64, _: u64) -> Counts {
        let counts = Counts { selects: 1 + self.products.len() as u64, commits: 1, ..Counts::default() };
        counts.with(Table::Logon, 1)
    }
}

/// Looks at the orders of a customer and increases the quantity of an item.
pub struct Orders {
    customer: i64,
    order: Pick,
    item: Pick,
    date: i64,
}

impl Orders {
    pub fn draw(chance: &mut Chance, keys: &Keys, date: i64) -> Orders {
        Orders { customer: keys.customer(chance), order: Pick::draw(chance), item: Pick::draw(chance), date }
    }
}

impl<S: Session> Drawn<S> for Orders {
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure> {
        user.customer(self.customer)?;
        user.addresses(self.customer)?;
        user.logon(self.customer, self.date)?;
        let orders = user.select(ORDERS, &[self.customer.into()])?;
        // As in the published server-side variant, a customer with one order changes nothing.
        if orders.len() < 2 {
            return Ok(());
        }
        let order = orders[self.order.of(orders.len())][0].clone();
        let items = user.select(ITEMS, std::slice::from_ref(&order))?;
        if items.is_empty() {
            return Ok(());
        }
        let item = items[self.item.of(items.len())].clone();
        user.begin()?;
        user.update(ADD_ONE, &[order.clone(), item[0].clone()])?;
        user.update(RAISE_TOTAL, &[item[2].clone(), order])?;
        user.commit()
    }

    fn call(&self) -> (&'static str, Vec<Value>) {
        (BROWSE_ORDERS, vec![self.date.into(), self.customer.into(), self.order.0.into(), self.item.0.into()])
    }

    fn counts(&self, looked: u64, changed: u64) -> Counts {
        let counts = Counts { selects: 3 + looked, updates: 2 * changed, commits: 1 + changed, ..Counts::default() };
        counts.with(Table::Logon, 1)
    }
}
