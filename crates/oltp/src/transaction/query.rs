//! The manager queries.

use super::Drawn;
use crate::chance::Chance;
use crate::keys::Keys;
use crate::session::{Counts, Failure, Session, Value};
use crate::statement::{BY_REP, BY_WAREHOUSE, LAST_HOUR, SALES_REP, WAREHOUSE, WAREHOUSE_ACTIVITY};
use crate::user::User;

const ONE: Counts = Counts { selects: 1, ..Counts::NONE };

/// The largest orders of a sales representative.
pub struct SalesRep(i64);

impl SalesRep {
    pub fn draw(chance: &mut Chance) -> SalesRep {
        SalesRep(chance.between(1, 1000))
    }
}

impl<S: Session> Drawn<S> for SalesRep {
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure> {
        user.select(BY_REP, &[self.0.into()]).map(drop)
    }

    fn call(&self) -> (&'static str, Vec<Value>) {
        (SALES_REP, vec![self.0.into()])
    }

    fn counts(&self, _: u64, _: u64) -> Counts {
        ONE
    }
}

/// The orders of a warehouse, summed up.
pub struct Warehouse(i64);

impl Warehouse {
    pub fn draw(chance: &mut Chance) -> Warehouse {
        Warehouse(Keys::warehouse(chance))
    }
}

impl<S: Session> Drawn<S> for Warehouse {
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure> {
        user.select(BY_WAREHOUSE, &[self.0.into()]).map(drop)
    }

    fn call(&self) -> (&'static str, Vec<Value>) {
        (WAREHOUSE, vec![self.0.into()])
    }

    fn counts(&self, _: u64, _: u64) -> Counts {
        ONE
    }
}

/// The last hour of a warehouse.
pub struct Activity {
    since: i64,
    warehouse: i64,
}

impl Activity {
    pub fn draw(chance: &mut Chance, date: i64) -> Activity {
        Activity { since: date - 3600, warehouse: Keys::warehouse(chance) }
    }
}

impl<S: Session> Drawn<S> for Activity {
    fn perform(&self, user: &mut User<S>) -> Result<(), Failure> {
        user.select(LAST_HOUR, &[self.since.into(), self.warehouse.into()]).map(drop)
    }

    fn call(&self) -> (&'static str, Vec<Value>) {
        (WAREHOUSE_ACTIVITY, vec![self.since.into(), self.warehouse.into()])
    }

    fn counts(&self, _: u64, _: u64) -> Counts {
        ONE
    }
}
