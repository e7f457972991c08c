//! Which size of cache is worth its memory, according to a miss-ratio curve.

use crate::shards::Curve;

/// A doubling is worth its memory if it saves at least this fraction of all accesses.
const WORTH: f64 = 0.05;

/// A size and its benefit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// Size of the cache in pages.
    pub pages: u64,
    /// Hit ratio at that size.
    pub hits: f64,
    /// Fraction of all accesses that the last doubling saved.
    pub gained: f64,
}

/// The advice from a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The sizes, each twice the previous one, up to one that holds everything.
    pub sizes: Vec<Worth>,
    /// The size that is worth its memory; `None` if none is.
    pub best: Option<Worth>,
}

/// Evaluates sizes from `from` pages on. The best is the largest that still saved 5 % of all
/// accesses against half of it, either alone or averaged over all doublings since the last that
/// did. So a working set that fits only as a whole is found even beyond a plateau.
pub fn advise(curve: &Curve, from: u64) -> Advice {
    let (mut sizes, mut best, mut pages) = (Vec::new(), None, from.max(1));
    let (mut before, mut paid) = (0.0, 0.0);
    loop {
        let hits = 1.0 - curve.misses(pages);
        let size = Worth { pages, hits, gained: hits - before };
        sizes.push(size);
        let doublings = sizes.len() as f64 - best.map_or(0.0, |(at, _): (usize, Worth)| at as f64);
        if size.gained >= WORTH || hits - paid >= WORTH * doublings {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn best(points: &[(u64, f64)]) -> Option<u64> {
        let pages = points.last().map_or(0, |point| point.0);
        let curve = Curve { points: points.to_vec(), asked: 1000, pages };
        advise(&curve, 1).best.map(|best| best.pages)
    }

    #[test]
    fn the_largest_size_whose_doubling_pays_is_named() {
        // 50, 51, 52 and 60 % at 1, 2, 4 and 8 pages, 61 % at 16: the doubling to 8 saved 8 %, the
        // ones before little.
        assert_eq!(best(&[(0, 1.0), (1, 0.5), (2, 0.49), (4, 0.48), (8, 0.4), (16, 0.39)]), Some(8));
        // Nothing up to 8, everything at 16.
        assert_eq!(best(&[(0, 1.0), (16, 0.0)]), Some(16));
        // 4.9 % each, and so 4.9 % on average.
        assert_eq!(best(&[(0, 1.0), (1, 0.951), (2, 0.902), (4, 0.853)]), None);
        assert_eq!(best(&[(0, 1.0), (1, 1.0), (2, 1.0)]), None);
    }
}
