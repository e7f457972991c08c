//! The series of the whole of an actor.

use super::recording::since;
use super::{Class, Run, Slice, Times};
use block::Span;
use std::collections::BTreeMap;

impl Run {
    /// The slices of an actor's whole that begin at `from` or later.
    pub fn whole(&self, actor: u32, from: Span) -> &[Slice] {
        self.series(actor, &Class::ALL).map_or(&[], |all| since(&all.slices, from))
    }
}

/// Adds up classes, by the start of their slices.
pub(super) fn added_up(classes: &[&[Slice]]) -> BTreeMap<Span, Slice> {
    let mut whole: BTreeMap<Span, Slice> = BTreeMap::new();
    for slice in classes.iter().copied().flatten() {
        whole.entry(slice.start).and_modify(|sum| *sum = sum.plus(slice)).or_insert(*slice);
    }
    whole
}

impl Slice {
    /// Adds a slice of another class at the same time.
    pub(super) fn plus(&self, other: &Slice) -> Slice {
        Slice {
            start: self.start,
            length: self.length.max(other.length),
            ops: self.ops + other.ops,
            bytes: either(self.bytes, other.bytes, |a, b| a + b),
            failed: either(self.failed, other.failed, |a, b| a + b),
            response: either(self.response, other.response, Times::plus),
            service: either(self.service, other.service, Times::plus),
            outstanding: either(self.outstanding, other.outstanding, |a, b| a + b),
        }
    }

    /// Joins this slice with the one after it.
    pub(super) fn then(&self, next: &Slice) -> Slice {
        let length = (next.start + next.length).saturating_sub(self.start);
        Slice { length, outstanding: next.outstanding, ..self.plus(next) }
    }
}

impl Times {
    fn plus(self, other: Times) -> Times {
        let count = self.count + other.count;
        let sum = u128::from(self.mean.as_nanos()) * u128::from(self.count)
            + u128::from(other.mean.as_nanos()) * u128::from(other.count);
        let mean = Span::from_nanos(u64::try_from(sum / u128::from(count.max(1))).unwrap_or(u64::MAX));
        let max = Option::zip(self.max, other.max).map(|(a, b)| a.max(b));
        Times { count, mean, spread: None, max }.rounded()
    }
}

fn either<T>(a: Option<T>, b: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(join(a, b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_add_up_by_the_time_they_are_of() {
        let slice = |second: u64, ops: u64, mean_us: u64| Slice {
            start: Span::from_secs(second),
            length: Span::SECOND,
            ops,
            bytes: Some(ops * 4096),
            response: Times::of_sum(ops, Span::from_micros(mean_us) * ops, Some(Span::from_micros(mean_us * 3))),
            ..Slice::default()
        };
        let reads = [slice(0, 30, 100), slice(1, 10, 100)];
        let whole: Vec<Slice> = added_up(&[&reads, &[slice(1, 30, 300)]]).into_values().collect();
        assert_eq!(whole.iter().map(|slice| slice.ops).collect::<Vec<_>>(), [30, 40]);
        // (10 × 100 + 30 × 300) / 40 = 250.
        let times = whole[1].response.unwrap();
        assert_eq!((times.mean, times.max), (Span::from_micros(250), Some(Span::from_micros(900))));
        assert_eq!(times.spread, None, "percentiles do not add up");
    }
}
