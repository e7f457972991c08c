//! Which customers, products and warehouses are drawn.

use crate::chance::Chance;
use crate::scale::Sizes;
use crate::session::Ranges;

/// Draws keys: all of a range alike, as the published load does.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    ranges: Ranges,
}

impl Keys {
    pub(crate) fn new(ranges: Ranges) -> Keys {
        Keys { ranges }
    }

    /// A customer that setup loaded.
    pub(crate) fn customer(&self, chance: &mut Chance) -> i64 {
        chance.between(1, self.ranges.customers)
    }

    /// A product.
    pub(crate) fn product(&self, chance: &mut Chance) -> i64 {
        chance.between(1, self.ranges.products)
    }

    /// A warehouse: all but the last, as published.
    pub(crate) fn warehouse(chance: &mut Chance) -> i64 {
        chance.between(1, Sizes::WAREHOUSES as i64 - 1)
    }
}
