//! Which customers, products and warehouses are drawn.

use crate::chance::Chance;
use crate::scale::Sizes;
use crate::session::Ranges;
use workload::job::Zipf;

/// Draws keys: uniformly, as the published load does, or skewed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    ranges: Ranges,
    /// Ranks of customers and of products.
    skew: Option<(Zipf, Zipf)>,
}

/// Ranks are scattered over the keys by this factor, so that popular keys do not share blocks. It
/// is a prime larger than any range, so each rank has a key of its own.
const SCATTER: u128 = 2_654_435_761;

impl Keys {
    /// With a `skew`, the key of rank `k` is drawn with a weight of `1 / k^skew`.
    pub(crate) fn new(ranges: Ranges, skew: Option<f64>) -> Keys {
        let ranks = |range: i64, theta| Zipf::new(range.unsigned_abs(), theta);
        Keys { ranges, skew: skew.map(|theta| (ranks(ranges.customers, theta), ranks(ranges.products, theta))) }
    }

    /// A customer that setup loaded.
    pub(crate) fn customer(&self, chance: &mut Chance) -> i64 {
        key(self.skew.as_ref().map(|(customers, _)| customers), self.ranges.customers, chance)
    }

    /// A product.
    pub(crate) fn product(&self, chance: &mut Chance) -> i64 {
        key(self.skew.as_ref().map(|(_, products)| products), self.ranges.products, chance)
    }

    /// A warehouse, except the last, as published.
    pub(crate) fn warehouse(chance: &mut Chance) -> i64 {
        chance.between(1, Sizes::WAREHOUSES as i64 - 1)
    }
}

fn key(ranks: Option<&Zipf>, range: i64, chance: &mut Chance) -> i64 {
    match ranks {
        None => chance.between(1, range),
        Some(zipf) => {
            let rank = zipf.rank(|| chance.part());
            (u128::from(rank) * SCATTER % u128::from(range.unsigned_abs())) as i64 + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// With a skew of 1 and 100 customers the first rank has 1 of 5.187 (the sum of 1/k up to 100)
    /// of all draws, the second half as many. A share of 10,000 draws deviates by 0.4 %.
    #[test]
    fn some_keys_are_drawn_more_often_and_lie_apart() {
        let ranges = Ranges { customers: 100, products: 7 };
        let share = |skew, customer| {
            let (keys, mut chance) = (Keys::new(ranges, skew), Chance::new(3, 1));
            let drawn: Vec<i64> = (0..10_000).map(|_| keys.customer(&mut chance)).collect();
            assert!(drawn.iter().all(|key| (1..=100).contains(key)));
            drawn.iter().filter(|key| **key == customer).count() as f64 / 10_000.0
        };
        assert!((share(Some(1.0), 1) - 0.193).abs() < 0.02);
        assert!((share(Some(1.0), 62) - 0.096).abs() < 0.015, "2,654,435,761 mod 100 is 61");
        assert!((share(None, 1) - 0.01).abs() < 0.005);
        let mut seen = BTreeMap::new();
        (0..100u128).for_each(|rank| *seen.entry(rank * SCATTER % 100).or_insert(0) += 1);
        assert_eq!(seen.len(), 100, "each rank has a key of its own");
    }
}
