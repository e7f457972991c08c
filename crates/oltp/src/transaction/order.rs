//! Placing orders, and processing them.

use super::{Drawn, array};
use crate::chance::Chance;
use crate::keys::Keys;
use crate::schema::{Sequence, Table};
use crate::session::{Counts, Failure, Row, Session, Value};
use crate::statement::{CLOSE, NEXT_ORDER, OF_CATEGORY, OPEN, PLACE_ORDER, STATUS, STOCK, TAKE};
use crate::user::User;

/// Seconds until delivery.
pub const DELIVERY: i64 = 3 * 86_400;

/// Looks at products by category, and buys some of the last ones.
pub struct Order {
    customer: i64,
    /// Category and warehouse of each look.
    looks: Vec<(i64, i64)>,
    warehouse: i64,
    sales_rep: i64,
    cost: i64,
    /// The warehouse of each wanted item.
    places: Vec<i64>,
    status: i64,
    date: i64,
}

impl Order {
    pub fn draw(chance: &mut Chance, keys: &Keys, date: i64) -> Order {
        let customer = keys.customer(chance);
        let looks = (0..chance.between(1, 5)).map(|_| (chance.between(1, 198), Keys::warehouse(chance))).collect();
        let (warehouse, sales_rep) = (Keys::warehouse(chance), chance.between(1, 1000));
        let (cost, status) = (chance.between(1, 5), chance.between(0, 3));
        let places = (0..chance.between(2, 5)).map(|_| Keys::warehouse(chance)).collect();
        Order { customer, looks, warehouse, sales_rep, cost, places, status, date }
    }

    fn row(&self, order: i64, home: i64, card: i64) -> Row {
        vec![
            order.into(),
            self.date.into(),
            "online".into(),
            self.customer.into(),
            1.into(),
            0.into(),
            self.sales_rep.into(),
            Value::Null,
            self.warehouse.into(),
            "Standard".into(),
            self.cost.into(),
            "ship_asap".into(),
            home.into(),
            "Occasional".into(),
            card.into(),
            home.into(),
        ]
    }

    fn item(&self, order: i64, line: i64, product: &[Value]) -> Row {
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
            (self.date + DELIVERY).into(),
        ]
    }
}

impl<S: Session> Drawn<S> for Order {
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure> {
        user.customer(self.customer)?;
        let home = user.addresses(self.customer)?;
        let card = user.cards(self.customer)?;
        user.think();
        user.logon(self.customer, self.date)?;
        user.think();
        let mut found = Vec::new();
        for (category, warehouse) in &self.looks {
            found = user.select(OF_CATEGORY, &[(*category).into(), (*warehouse).into()])?;
            user.think();
        }
        user.begin()?;
        let order = user.next(Sequence::Orders)?;
        user.insert(Table::Orders, &self.row(order, home.unwrap_or(0), card.unwrap_or(0)))?;
        let (mut total, mut taken) = (0, Vec::new());
        for ((line, product), place) in (1..).zip(&found).zip(&self.places) {
            let stock = user.select(STOCK, &[product[0].clone(), (*place).into()])?;
            if stock.first().and_then(|row| row[0].number()).is_some_and(|quantity| quantity > 0) {
                user.insert(Table::OrderItems, &self.item(order, line, product))?;
                total += product[1].number().unwrap_or(0);
                taken.push([product[0].clone(), (*place).into()]);
            }
        }
        user.update(CLOSE, &[self.status.into(), total.into(), order.into()])?;
        for place in &taken {
            user.update(TAKE, place)?;
        }
        user.commit()
    }

    fn call(&self) -> (&'static str, Vec<Value>) {
        let given = vec![
            self.date.into(),
            self.customer.into(),
            array(self.looks.iter().map(|(category, _)| *category)),
            array(self.looks.iter().map(|(_, warehouse)| *warehouse)),
            self.warehouse.into(),
            self.sales_rep.into(),
            self.cost.into(),
            array(self.places.iter().copied()),
            self.status.into(),
        ];
        (PLACE_ORDER, given)
    }

    fn counts(&self, looked: u64, changed: u64) -> Counts {
        let selects = 3 + self.looks.len() as u64 + looked;
        let counts = Counts { selects, updates: 1 + changed, commits: 2, ..Counts::default() };
        counts.with(Table::Logon, 1).with(Table::Orders, 1).with(Table::OrderItems, changed)
    }
}

/// The next order of a warehouse.
pub struct Next {
    warehouse: i64,
    status: i64,
}

impl Next {
    pub fn draw(chance: &mut Chance) -> Next {
        Next { warehouse: Keys::warehouse(chance), status: chance.between(5, 9) }
    }
}

impl<S: Session> Drawn<S> for Next {
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure> {
        let open = user.select(OPEN, &[self.warehouse.into()])?;
        user.think();
        let Some(order) = open.first().map(|row| row[0].clone()) else { return Ok(()) };
        user.begin()?;
        user.update(STATUS, &[self.status.into(), order])?;
        user.commit()
    }

    fn call(&self) -> (&'static str, Vec<Value>) {
        (NEXT_ORDER, vec![self.warehouse.into(), self.status.into()])
    }

    fn counts(&self, _: u64, changed: u64) -> Counts {
        Counts { selects: 1, updates: changed, commits: changed, ..Counts::default() }
    }
}
