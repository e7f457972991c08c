//! Latencies of about a second: mean and maximum to four digits, and percentiles.

use crate::Summary;
use block::Span;

/// Latencies of the requests of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Number of requests; above zero.
    pub count: u64,
    /// Their mean.
    pub mean: Span,
    /// Percentiles, if a histogram was kept for so short a time.
    pub spread: Option<Spread>,
    /// The longest.
    pub max: Option<Span>,
}

/// The percentiles of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The median.
    pub p50: Span,
    /// The 99th percentile.
    pub p99: Span,
    /// The 99.9th percentile.
    pub p999: Span,
}

impl Times {
    /// Times from a summary; `None` if it is empty. A summary with a mean but no maximum has no
    /// percentiles.
    pub fn of(summary: &Summary) -> Option<Times> {
        let Summary { count, mean, p50, p99, p999, max } = *summary;
        let known = [p50, p99, p999, max] != [Span::ZERO; 4] || mean == Span::ZERO;
        let spread = known.then_some(Spread { p50, p99, p999 });
        (count > 0).then(|| Times { count, mean, spread, max: known.then_some(max) }.rounded())
    }

    /// Rounds mean and maximum to four digits, a relative error of half a thousandth. A second's
    /// figures are no more exact, and the noise in further digits would be most of the storage of a
    /// long run. Percentiles are those of a histogram, which are stored in less as they are; none
    /// stays above the maximum.
    #[must_use]
    pub fn rounded(self) -> Times {
        let (mean, max) = (to_four_digits(self.mean), self.max.map(to_four_digits));
        let one = |span: Span| span.min(max.unwrap_or(Span::MAX));
        let spread = |Spread { p50, p99, p999 }| Spread { p50: one(p50), p99: one(p99), p999: one(p999) };
        Times { mean, max, spread: self.spread.map(spread), ..self }
    }

    /// Times from a sum over `count` requests; `None` if there are none.
    pub fn of_sum(count: u64, sum: Span, max: Option<Span>) -> Option<Times> {
        (count > 0).then(|| Times { count, mean: sum / count, spread: None, max }.rounded())
    }

    /// The median, if percentiles are known.
    pub fn p50(&self) -> Option<Span> {
        self.spread.map(|spread| spread.p50)
    }

    /// The 99th percentile, if percentiles are known.
    pub fn p99(&self) -> Option<Span> {
        self.spread.map(|spread| spread.p99)
    }

    /// The 99.9th percentile, if percentiles are known.
    pub fn p999(&self) -> Option<Span> {
        self.spread.map(|spread| spread.p999)
    }
}

/// Rounds to four digits, within half a thousandth.
pub(super) fn to_four_digits(span: Span) -> Span {
    let ns = span.as_nanos();
    let last = 10u64.pow(ns.checked_ilog10().unwrap_or(0).saturating_sub(3));
    Span::from_nanos(ns.saturating_add(last / 2) / last * last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 234 449 ns is 1.234 ms in four digits, as the largest of a second and as its percentile.
    #[test]
    fn no_percentile_is_above_the_maximum() {
        let ns = Span::from_nanos;
        let summary = Summary {
            count: 3,
            mean: ns(1_000_449),
            p50: ns(1_000_449),
            p99: ns(1_234_449),
            p999: ns(1_234_449),
            max: ns(1_234_449),
        };
        let times = Times::of(&summary).unwrap();
        let spread = times.spread.unwrap();
        assert_eq!([spread.p50, spread.p99, spread.p999], [ns(1_000_449), ns(1_234_000), ns(1_234_000)]);
        assert_eq!((times.mean, times.max), (ns(1_000_000), Some(ns(1_234_000))));
        // A percentile of coarser buckets may be above it.
        let coarse = Times { spread: Some(Spread { p999: ns(1_260_000), ..spread }), ..times }.rounded();
        assert_eq!(coarse.p999(), coarse.max);
    }
}
