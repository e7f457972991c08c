//! Verdicts on what held workloads back.

use super::*;

/// The verdict on `a`, whose last four seconds had these causes.
fn judge(causes: [HeldBy; 4], cause: HeldBy, stalled: Span) -> Verdict {
    let mut recording = run([[1000, 0]; 2]);
    recording.phases[1].stalled = stalled;
    for (second, by) in recording.workloads[0].intervals[6..].iter_mut().zip(causes) {
        second.held_by = by;
    }
    Criterion::HeldBy { workloads: vec!["a".into()], phase: "after".into(), cause }.judge(&recording)
}

/// Half of the seconds is not most of them, whichever of the two is asked for.
#[test]
fn a_tie_holds_for_neither() {
    let tie = [HeldBy::Pace, HeldBy::Disk, HeldBy::Pace, HeldBy::Disk];
    for (cause, said) in [(HeldBy::Pace, "a by its own pace in 2 of 4 s"), (HeldBy::Disk, "a by the disk in 2 of 4 s")]
    {
        let verdict = judge(tie, cause, Span::ZERO);
        assert_eq!(verdict.outcome, Outcome::Fail, "{verdict:?}");
        assert!(verdict.because.starts_with(said), "{verdict:?}");
    }
    let three = [HeldBy::Disk, HeldBy::Disk, HeldBy::Pace, HeldBy::Disk];
    assert_eq!(judge(three, HeldBy::Disk, Span::ZERO).outcome, Outcome::Pass);
    let other = judge(three, HeldBy::Pace, Span::ZERO);
    assert_eq!(
        (other.outcome, other.because.as_str()),
        (Outcome::Fail, "a by the disk in 3 of 4 s, by its own pace in 1, at 0.0 MB/s")
    );
}

#[test]
fn nothing_is_said_where_the_server_was_stalled() {
    let stalled = [HeldBy::Stalled, HeldBy::Stalled, HeldBy::Disk, HeldBy::Disk];
    let doubt = judge(stalled, HeldBy::Disk, Span::ZERO);
    assert_eq!(doubt.outcome, Outcome::CannotSay);
    assert!(doubt.because.ends_with("; but the server was stalled in 2 of 4 s"), "{doubt:?}");
    assert_eq!(judge(stalled, HeldBy::Pace, Span::ZERO).outcome, Outcome::Fail, "two of four at most");
    let other = [HeldBy::Disk; 4];
    assert_eq!(judge(other, HeldBy::Pace, Span::from_secs(1)).outcome, Outcome::Fail, "one second of four");
    assert_eq!(judge(other, HeldBy::Pace, Span::from_secs(2)).outcome, Outcome::CannotSay);
}

/// 200 requests a second with a flush after four writes are 160 writes and 40 flushes.
#[test]
fn flushes_are_told_where_they_are_missing_in_a_rate() {
    let mut recording = run([[160, 0]; 2]);
    recording.workloads[0].intervals.iter_mut().for_each(|second| second.held_by = HeldBy::Pace);
    recording.workloads[0].tallies[1].flushes = 200;
    let rate = Rate::Iops(block::Iops(200));
    let judge = |recording: &Recording| {
        Criterion::RateReached { workloads: vec!["a".into()], phase: "after".into(), at_least: rate }.judge(recording)
    };
    let verdict = judge(&recording);
    assert_eq!(verdict.outcome, Outcome::CannotSay);
    let why = "least: a 160 IOPS (80.0 %) and 40 flushes a second, which its pace counts as requests and IOPS do not; it \
               did not ask for more";
    assert_eq!(verdict.because, why);
    recording.workloads[0].tallies[1].flushes = 0;
    assert_eq!(judge(&recording).because, "least: a 160 IOPS (80.0 %); it did not ask for more");
}
