//! Compares two levels of what is in flight by pairs of measurements side by side: whether the
//! larger does more (`knee.rs`).

use super::constants::pair;
use super::corrections::{Correction, Corrections};

/// A comparison of two levels, the smaller and the larger.
#[derive(Debug)]
pub(super) struct Trial {
    pub below: f64,
    pub above: f64,
    /// It began at the larger level, to see whether the smaller would do.
    pub less: bool,
    /// Seconds that an operation took when it began.
    pub time: f64,
    /// It is judged by what those without a floor do.
    pub others: bool,
    /// What the smaller one did in this pair, while the larger is measured.
    pub first: Option<Pace>,
    /// Over all pairs: the sum of the logarithms of their ratios, that of the squares, and the
    /// count.
    sum: f64,
    squares: f64,
    pairs: f64,
}

/// Completions per second. Some devices are limited by operations, some by bytes, which the cost
/// reflects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub cost: f64,
    pub requests: f64,
}

impl Pace {
    /// The logarithm of how much more this is. A level may let in requests of other sizes, and
    /// those move one of the two figures: a device does more only if it does more of both.
    fn over(&self, other: &Pace, corrections: Corrections) -> f64 {
        if self.requests == 0.0 && other.requests == 0.0 {
            return 0.0;
        }
        let counted = |ratio: f64, part| if corrections.has(part) { ratio } else { f64::INFINITY };
        let cost = counted(self.cost / other.cost, Correction::Cost);
        let requests = counted(self.requests / other.requests, Correction::Requests);
        cost.min(requests).ln().clamp(-pair::FARTHEST, pair::FARTHEST)
    }
}

/// How a comparison stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Open,
    More,
    NoMore,
}

impl Trial {
    /// A comparison to see whether the larger level does more.
    pub fn of_more(below: f64, above: f64, others: bool) -> Trial {
        Trial { below, above, less: false, time: 0.0, others, first: None, sum: 0.0, squares: 0.0, pairs: 0.0 }
    }

    /// A comparison to see whether the smaller would do; `time` is what an operation takes in
    /// seconds.
    pub fn of_less(below: f64, above: f64, others: bool, time: f64) -> Trial {
        Trial { less: true, time, ..Trial::of_more(below, above, others) }
    }

    /// The level from before it began.
    pub fn before(&self) -> f64 {
        if self.less { self.above } else { self.below }
    }

    /// Notes the measurement of a level; `chance` is the deviation that the count alone makes. The
    /// smaller level comes first in each pair.
    pub fn note(&mut self, pace: Pace, chance: f64, corrections: Corrections) -> Standing {
        let Some(first) = self.first.take() else {
            self.first = Some(pace);
            return Standing::Open;
        };
        let ratio = pace.over(&first, corrections);
        (self.sum, self.squares, self.pairs) = (self.sum + ratio, self.squares + ratio * ratio, self.pairs + 1.0);
        let mean = self.sum / self.pairs;
        // Few pairs say little of their spread: as if there had been one more, off by a tenth.
        let spread = (self.squares - self.pairs * mean * mean).max(0.0) + pair::PRIOR;
        let deviation = (spread / self.pairs).max(2.0 * chance * chance).sqrt() / self.pairs.sqrt();
        if !corrections.has(Correction::Pairs) {
            return if mean > pair::GAIN { Standing::More } else { Standing::NoMore };
        }
        if !corrections.has(Correction::Shown)
            && (self.pairs >= pair::MOST || (mean - pair::GAIN).abs() > 2.0 * deviation)
        {
            return if mean > pair::GAIN { Standing::More } else { Standing::NoMore };
        }
        // A gain that cannot be shown counts as none: the shorter queue is certain. Where owners
        // have a surplus, what the others lack is certain too: there the mean decides.
        let doubt = if self.others { pair::SURE } else { pair::DOUBT };
        // That half is too little is decided sooner: it ends a trial that costs those who wait, and
        // leaves the window as it was.
        let least = if self.less { pair::LEAST_LESS } else { pair::LEAST };
        match mean - pair::GAIN {
            over if over > pair::SURE * deviation && self.pairs >= least => Standing::More,
            over if over > 0.0 && self.others && self.pairs >= pair::MOST => Standing::More,
            over if over < -doubt * deviation || self.pairs >= pair::MOST => Standing::NoMore,
            _ => Standing::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(requests: f64, cost: f64) -> Pace {
        Pace { cost, requests }
    }

    fn trial(paces: impl Iterator<Item = (Pace, Pace)>) -> (Standing, u32) {
        play(Trial::of_more(16.0, 32.0, false), paces)
    }

    fn play(mut trial: Trial, paces: impl Iterator<Item = (Pace, Pace)>) -> (Standing, u32) {
        for (pairs, (below, above)) in (1..).zip(paces) {
            assert!(trial.note(below, 0.0, Corrections::ALL) == Standing::Open, "the first of a pair says nothing");
            let standing = trial.note(above, 0.0, Corrections::ALL);
            if standing != Standing::Open {
                return (standing, pairs);
            }
        }
        panic!("no end")
    }

    /// A fifth more in each pair is ln 1.2 - 0.01 = 0.172 above the hundredth. One pair off by 0.1
    /// makes the deviation of four 0.1 / 4 = 0.025: 2.5 of them are far below, so the fourth pair,
    /// the first that may tell, does.
    #[test]
    fn a_plain_gain_is_taken_as_soon_as_it_may_be() {
        let (standing, pairs) = trial(std::iter::repeat((pace(100.0, 100.0), pace(120.0, 120.0))));
        assert!(standing == Standing::More && pairs == 4, "{pairs}");
    }

    /// A level that does nothing is no more than another that does nothing. The deviation of n such
    /// pairs is 0.1 / n, and half of it is below the hundredth from the sixth on.
    #[test]
    fn of_nothing_there_is_no_more() {
        let (standing, pairs) = trial(std::iter::repeat((pace(0.0, 0.0), pace(0.0, 0.0))));
        assert!(standing == Standing::NoMore && pairs == 6, "{pairs}");
    }

    /// Twice as much in each pair: that half is too little is said after two.
    #[test]
    fn half_is_soon_seen_to_be_too_little() {
        let less = Trial::of_less(16.0, 32.0, false, 1e-3);
        let (standing, pairs) = play(less, std::iter::repeat((pace(100.0, 100.0), pace(200.0, 200.0))));
        assert!(standing == Standing::More && pairs == 2, "{pairs}");
    }

    /// Neither more requests of less cost, nor more cost in fewer requests: other requests went,
    /// the device does no more.
    #[test]
    fn other_sizes_are_no_gain() {
        for other in [pace(80.0, 150.0), pace(150.0, 80.0), pace(100.0, 150.0)] {
            let (standing, _) = trial(std::iter::repeat((pace(100.0, 100.0), other)));
            assert!(standing == Standing::NoMore, "{other:?}");
        }
    }

    /// Pairs that go up and down by a third show nothing, however the last of them went.
    #[test]
    fn moods_are_no_gain() {
        let moods = [0.75, 1.33, 1.4, 0.7, 1.3, 0.8].into_iter().cycle();
        let (standing, pairs) = trial(moods.map(|mood| (pace(100.0, 100.0), pace(100.0 * mood, 100.0 * mood))));
        assert!(standing == Standing::NoMore && f64::from(pairs) <= pair::MOST, "{pairs}");
    }
}
