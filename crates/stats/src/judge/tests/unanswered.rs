//! Requests that storage does not answer for whole phases.

use super::{Tally, run};
use crate::criterion::{Criterion, Outcome};
use crate::recording::WorkloadRecord;
use crate::run::Times;
use block::Span;

/// Of `b` 64 requests are outstanding from the last second of `before` on, and none is answered in
/// `after`: after five seconds they are certainly late, whenever they end.
#[test]
fn what_is_not_answered_in_a_phase_did_not_hold() {
    let judge = |phase: &str, at_most, change: fn(&mut WorkloadRecord)| {
        let mut recording = run([[100; 2], [100, 0]]);
        let record = &mut recording.workloads[1];
        record.tallies.iter_mut().for_each(|tally| tally.response.record_many(Span::from_millis(1), 100));
        record.tallies[1] = Tally::default();
        record.intervals[4..].iter_mut().for_each(|second| second.outstanding = Some(64));
        change(record);
        let (workloads, phase) = (vec!["b".to_owned()], phase.to_owned());
        Criterion::ResponseWithin { workloads, phase, percentile: 100.0, at_most: Span::from_secs(at_most) }
            .judge(&recording)
    };
    let late = judge("after", 1, |_| {});
    let because = "b: 64 of 64 requests were not answered for 5.00 s or longer";
    assert_eq!((late.outcome, late.because.as_str()), (Outcome::Fail, because));
    let maybe = judge("after", 5, |_| {});
    let because = "64 requests of b were outstanding in after, and none was answered";
    assert_eq!((maybe.outcome, maybe.because.as_str()), (Outcome::CannotSay, because));
    let flushed = judge("after", 1, |record| record.intervals[9].flushes = 1);
    assert_eq!(flushed.outcome, Outcome::CannotSay, "those at its end may be new: {flushed:?}");
    // Those that end in the first second of a phase were made before it.
    let settling = |record: &mut WorkloadRecord| {
        record.intervals[5].response = Times::of_sum(64, Span::from_secs(320), Some(Span::from_secs(5)));
        record.tallies[1].response.record_many(Span::from_millis(1), 100);
        record.intervals[6..].iter_mut().for_each(|second| second.counts.reads = 100);
    };
    let after = judge("after", 1, settling);
    assert_eq!(after.outcome, Outcome::Pass);
    assert!(
        after.because.ends_with("; requests from before after took up to 5.00 s, which counts in no phase"),
        "{after:?}"
    );
    assert_eq!(judge("before", 1, |_| {}).outcome, Outcome::Pass);
}
