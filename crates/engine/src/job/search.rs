//! Finds the highest depth that keeps a latency limit, by bisection between a depth that kept it
//! and one that did not.

use block::{Span, Time};
use stats::job::LatencyFinding;
use workload::job::LatencySearch;

/// The search of one job.
pub(crate) struct Search {
    rule: LatencySearch,
    /// The highest depth known to keep the limit; 0 while none is known.
    good: u32,
    /// The lowest depth known to break it; one more than the highest allowed while none is known.
    bad: u32,
    depth: u32,
    ends: u64,
    slow: u64,
    window_end: Option<Time>,
    tried: u32,
}

/// What the job does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Continue at the same depth.
    Same,
    /// Continue at this depth.
    Depth(u32),
    /// The search is over.
    Found(LatencyFinding),
}

impl Search {
    /// A search up to depth `most`, which is tried first.
    pub(crate) fn new(rule: LatencySearch, most: u32) -> Search {
        Search { rule, good: 0, bad: most + 1, depth: most, ends: 0, slow: 0, window_end: None, tried: 0 }
    }

    /// Records a request's service time.
    pub(crate) fn count(&mut self, clat: Span) {
        self.ends += 1;
        self.slow += u64::from(clat > self.rule.target);
    }

    /// Evaluates the window if it is over.
    pub(crate) fn look(&mut self, now: Time) -> Step {
        let end = *self.window_end.get_or_insert(now + self.rule.window);
        if now < end || self.ends == 0 || self.is_found() {
            return Step::Same;
        }
        let kept = 100.0 * (self.ends - self.slow) as f64 / self.ends as f64 >= self.rule.percent;
        self.tried += 1;
        (self.ends, self.slow, self.window_end) = (0, 0, None);
        match kept {
            true => self.good = self.depth,
            false => self.bad = self.depth,
        }
        if self.is_found() {
            return Step::Found(LatencyFinding { depth: self.good, tried: self.tried });
        }
        // As in fio, a limit that depth 1 does not keep does not end the job: it goes on with one
        // request in flight, and the limit may be kept later.
        self.bad = self.bad.max(2);
        self.depth = self.good + (self.bad - self.good) / 2;
        Step::Depth(self.depth)
    }

    /// Whether the highest depth that keeps the limit is known.
    fn is_found(&self) -> bool {
        self.good > 0 && self.good + 1 == self.bad
    }

    /// The depth that was tried last, while none is found.
    pub(crate) fn so_far(&self) -> Option<LatencyFinding> {
        (self.tried > 0).then_some(LatencyFinding { depth: self.depth, tried: self.tried })
    }

    /// That no depth has kept the limit, if that is so.
    pub(crate) fn unmet(&self) -> Option<String> {
        let (target, tried) = (self.rule.target, self.tried);
        let unmet = tried > 0 && self.good == 0;
        unmet.then(|| {
            format!("latency_target={target} was not kept at any of {tried} tries, the last at depth {}", self.depth)
        })
    }

    /// Whether the job continues after the search.
    pub(crate) fn goes_on(&self) -> bool {
        self.rule.goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that takes d × 10 µs at depth d.
    fn found(target_us: u64, most: u32) -> LatencyFinding {
        let (target, window) = (Span::from_micros(target_us), Span::from_millis(10));
        let mut search = Search::new(LatencySearch { target, window, percent: 99.0, goes_on: false }, most);
        let (mut now, mut depth) = (Time::ZERO, most);
        for _ in 0..100 {
            (0..100).for_each(|_| search.count(Span::from_micros(u64::from(depth) * 10)));
            match search.look(now) {
                Step::Same => now += window,
                Step::Depth(next) => depth = next,
                Step::Found(finding) => return finding,
            }
        }
        panic!("a search ends");
    }

    #[test]
    fn the_highest_depth_that_keeps_the_latency_is_found() {
        assert_eq!(found(170, 64).depth, 17);
        assert_eq!(found(1_000_000, 64), LatencyFinding { depth: 64, tried: 1 });
        assert!(found(170, 64).tried <= 8, "halving 64 takes seven steps, and one for the first");
    }

    #[test]
    fn a_limit_that_cannot_be_kept_is_tried_on_at_depth_1() {
        let (target, window) = (Span::from_micros(5), Span::from_millis(10));
        let mut search = Search::new(LatencySearch { target, window, percent: 99.0, goes_on: false }, 64);
        let (mut now, mut depth) = (Time::ZERO, 64);
        for _ in 0..100 {
            search.count(Span::from_micros(10));
            match search.look(now) {
                Step::Same => now += window,
                Step::Depth(next) => depth = next,
                Step::Found(finding) => panic!("{finding:?}"),
            }
        }
        assert_eq!(depth, 1);
        assert!(search.unmet().unwrap().ends_with("the last at depth 1"));
        // The storage has become fast.
        (0..1000).for_each(|_| search.count(Span::from_micros(1)));
        let found = (0..2).map(|n| search.look(now + window * (n + 1))).find(|step| *step != Step::Same);
        assert!(matches!(found, Some(Step::Found(LatencyFinding { depth: 1, .. }))), "{found:?}");
        assert_eq!(search.unmet(), None);
    }
}
