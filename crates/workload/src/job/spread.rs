//! Distribution of random offsets that may repeat, over a region.

use super::ranks::Ranks;
use super::{Distribution, Reach};
use crate::chance::Chance;
use block::Bytes;

/// Distribution of random offsets over a region.
#[derive(Clone, Debug)]
pub(super) enum Spread {
    Even,
    /// The block of a rank is `(first + rank × step) mod n`; `step` and `n` have no common divisor.
    Ranked {
        ranks: Ranks,
        n: u64,
        first: u64,
        step: u64,
    },
    /// For each zone: the end of its share in percent, its start, its length.
    Zoned(Vec<(u64, u64, u64)>),
}

impl Spread {
    /// Where rank 0 is in a region without a centre, as a fraction of the region. It is drawn, so
    /// that jobs, clones and files have hot blocks of their own.
    pub(super) fn first(reach: &Reach, chance: &mut Chance) -> f64 {
        let is_ranked = |direction| match reach.distribution[direction] {
            Distribution::Zipf { center, .. }
            | Distribution::Pareto { center, .. }
            | Distribution::Normal { center, .. } => center.is_none(),
            Distribution::Uniform | Distribution::Zoned(_) => false,
        };
        if reach.order.is_random() && reach.directions().any(is_ranked) { chance.unit() } else { 0.0 }
    }

    /// The distribution of the multiples of `align` in a region of `len` bytes; `first` is where
    /// rank 0 is without a centre.
    pub(super) fn of(distribution: &Distribution, len: u64, align: u64, first: f64) -> Spread {
        let n = (len / align).max(1);
        // Ranks are scattered; a centre is the place of rank 0, or where the middle rank goes.
        let ranked = |ranks, first: f64| {
            let first = (first.rem_euclid(1.0) * n as f64) as u64 % n;
            Spread::Ranked { ranks, n, first, step: scattering_step(n) }
        };
        match distribution {
            Distribution::Uniform => Spread::Even,
            Distribution::Zipf { theta, center } => ranked(Ranks::zipf(n, *theta), center.unwrap_or(first)),
            Distribution::Pareto { h, center } => ranked(Ranks::pareto(n, *h), center.unwrap_or(first)),
            Distribution::Normal { width_percent, center } => {
                ranked(Ranks::normal(n, *width_percent), center.map_or(first, |center| center - 0.5))
            }
            Distribution::Zoned(zones) => {
                let (mut share, mut start) = (0, 0);
                Spread::Zoned(
                    zones
                        .iter()
                        .map(|zone| {
                            let length = zone.length.of(Bytes(len)).0.min(len - start);
                            share += u64::from(zone.access_percent);
                            start += length;
                            (share, start - length, length)
                        })
                        .collect(),
                )
            }
        }
    }

    /// A random multiple of `align`, at most `last × align`.
    #[inline]
    pub(super) fn draw(&self, last: u64, align: u64, chance: &mut Chance) -> u64 {
        match self {
            Spread::Even => chance.below(last + 1) * align,
            Spread::Ranked { ranks, n, first, step } => {
                let scattered = u128::from(ranks.draw(chance)) * u128::from(*step) + u128::from(*first);
                ((scattered % u128::from(*n)) as u64).min(last) * align
            }
            Spread::Zoned(zones) => {
                let whole = zones.last().map_or(1, |zone| zone.0.max(1));
                let drawn = chance.below(whole);
                let (_, start, length) = zones.iter().find(|zone| drawn < zone.0).copied().unwrap_or((0, 0, align));
                let place = start / align + chance.below((length / align).max(1));
                place.min(last) * align
            }
        }
    }
}

/// A number near `n` divided by the golden ratio and coprime to `n`: its multiples scatter ranks
/// over the region.
fn scattering_step(n: u64) -> u64 {
    let near = (n as f64 * 0.618_033_988_749_895) as u64;
    (near.max(1)..).find(|&step| gcd(step, n) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
