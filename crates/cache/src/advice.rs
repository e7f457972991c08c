//! Which size of a cache is worth its memory, from a miss-ratio curve.

use crate::shards::Curve;

/// A doubling is worth its memory if it saves at least one read in so many that are made.
const WORTH: f64 = 0.05;

/// A size and what it brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// Size of the cache.
    pub pages: u64,
    /// Share of asks that are hits there.
    pub hits: f64,
    /// How much of all asks the last doubling saved.
    pub gained: f64,
}

/// What a curve says.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The sizes, each twice the one before, up to one that holds everything.
    pub sizes: Vec<Worth>,
    /// The one that is worth its memory; `None` if no size is.
    pub best: Option<Worth>,
}

/// Looks at sizes from `from` pages on. The best is the largest whose doubling still saved 5 % of all asks, counted over
/// all doublings since the last that did, so that a working set that fits only as a whole is found beyond a plain.
pub fn advise(curve: &Curve, from: u64) -> Advice {
    let (mut sizes, mut best, mut pages) = (Vec::new(), None, from.max(1));
    let (mut before, mut paid) = (0.0, 0.0);
    loop {
        let hits = 1.0 - curve.misses(pages);
        let size = Worth { pages, hits, gained: hits - before };
        sizes.push(size);
        let doublings = sizes.len() as f64 - best.map_or(0.0, |(at, _): (usize, Worth)| at as f64);
        if hits - paid >= WORTH * doublings {
            best = Some((sizes.len(), size));
            paid = hits;
        }
        before = hits;
        if pages >= curve.pages || sizes.len() == 48 {
            return Advice { sizes, best: best.map(|(_, size)| size) };
        }
        pages *= 2;
    }
}
