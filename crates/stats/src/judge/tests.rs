//! Every possible outcome of a criterion, on runs of two phases of five seconds.

mod floor;
mod held;
mod shared;
mod unanswered;

use super::*;
use crate::{Counts, Rate, Scale, Tally};

/// Two phases of five seconds; per phase the IOPS of two workloads, `a` limited and `b`.
fn run(iops: [[u64; 2]; 2]) -> Recording {
    let second = Span::SECOND;
    let phase = |name: &str, n: u64| Phase {
        name: name.into(),
        start: second * (5 * n),
        end: second * (5 * n + 5),
        ..Phase::default()
    };
    let reads = |reads| Counts { reads, ..Counts::default() };
    let workload = |which: usize| WorkloadRecord {
        name: ["a", "b"][which].into(),
        object: ["s:/vol/a/l", "s:/vol/b/l"][which].into(),
        intervals: (0..10)
            .map(|n| Interval {
                start: second * n,
                length: second,
                counts: reads(iops[n as usize / 5][which]),
                ..Interval::default()
            })
            .collect(),
        tallies: (0..2)
            .map(|p| Tally { length: second * 5, counts: reads(5 * iops[p][which]), ..Tally::default() })
            .collect(),
        ..WorkloadRecord::default()
    };
    Recording {
        phases: vec![phase("before", 0), phase("after", 1)],
        workloads: vec![workload(0), workload(1)],
        ..Recording::default()
    }
}

fn limited(
    mut recording: Recording,
    path: &str,
    is_group: bool,
    limits: LimitsInForce,
    per_bin: impl Fn(u64) -> u32,
) -> Recording {
    let mut object = ObjectRecord {
        path: path.into(),
        is_group,
        limits: vec![LimitsInForce::default(), limits],
        ..ObjectRecord::default()
    };
    (0..1000).for_each(|bin| object.trace.add_bin(bin, per_bin(bin), 4096 * u64::from(per_bin(bin))));
    recording.objects.push(object);
    recording
}

fn ceiling(iops: u64) -> LimitsInForce {
    LimitsInForce { ceiling_iops: Some(iops), ..LimitsInForce::default() }
}

#[test]
fn a_ceiling_is_judged_by_its_fullest_second_and_only_while_in_force() {
    let criterion = Criterion::CeilingHeld { tolerance: 0.01 };
    // 10 a bin is 1000 a second; before the limit was in force there were 50 a bin, which must not
    // count.
    let steady = limited(run([[0; 2]; 2]), "s:/vol/a", false, ceiling(1000), |bin| if bin < 500 { 50 } else { 10 });
    assert_eq!(criterion.judge(&steady).outcome, Outcome::Pass);
    // 11 operations more in one bin of 10 ms: 1011 in a second that straddles it; 1000 × 1.01 + 1 =
    // 1011 is allowed.
    let just = limited(run([[0; 2]; 2]), "s:/vol/a", false, ceiling(1000), |bin| {
        if bin < 500 { 0 } else { 10 + 11 * u32::from(bin == 700) }
    });
    assert_eq!(criterion.judge(&just).outcome, Outcome::Pass, "{:?}", criterion.judge(&just));
    let over = limited(run([[0; 2]; 2]), "s:/vol/a", false, ceiling(1000), |bin| {
        if bin < 500 { 0 } else { 10 + 12 * u32::from(bin == 700) }
    });
    assert_eq!(criterion.judge(&over).outcome, Outcome::Fail);
    assert!(criterion.judge(&over).because.contains("1012 operations"), "{:?}", criterion.judge(&over));
    assert_eq!(criterion.judge(&run([[0; 2]; 2])).outcome, Outcome::CannotSay, "no ceiling at all");
}

/// A burst of half a second at twice the ceiling is half as much again in one second; longer ones
/// are twice the ceiling in any second, for as long as the credit lasts.
#[test]
fn a_burst_that_the_policy_allows_is_no_excess() {
    let judge = |per_second: u32, seconds: u64, duration_ms: u64| {
        let burst = Some(BurstAllowed { ppm: 1_000_000, duration: Span::from_millis(duration_ms) });
        let limits = LimitsInForce { burst, ..ceiling(1000) };
        // The ceiling is in force from 5 s on.
        let in_burst = 500..500 + 100 * seconds;
        let per_bin = |bin| if in_burst.contains(&bin) { per_second / 100 } else { 10 };
        let recording = limited(run([[0; 2]; 2]), "s:/vol/a", false, limits, per_bin);
        Criterion::CeilingHeld { tolerance: 0.01 }.judge(&recording)
    };
    for (per_second, seconds, duration_ms, outcome) in [
        (1500, 1, 500, Outcome::Pass),
        (1600, 1, 500, Outcome::Fail),
        (2000, 2, 2000, Outcome::Pass),
        (2000, 3, 2000, Outcome::Fail),
        (2100, 1, 2000, Outcome::Fail),
    ] {
        let verdict = judge(per_second, seconds, duration_ms);
        assert_eq!(verdict.outcome, outcome, "{verdict:?}");
    }
    assert!(judge(2000, 2, 2000).because.ends_with("ceiling 1000 with a burst to 2000 (+0.00 %)"));
    // 6000 in 3 s, where 3000 and a credit of 2000 may pass.
    let longer = judge(2000, 3, 2000);
    let says = "6000 operations in 3.00 s, ceiling 1000 and its credit let 5000 pass (+20.00 %)";
    assert!(longer.because.ends_with(says), "{longer:?}");
    assert!(longer.question.ends_with("in any sliding second, nor the credit of a burst"), "{longer:?}");
}

/// A workload that made no requests had no less than it asked for, and was not held back.
#[test]
fn nothing_is_said_of_who_asked_for_nothing() {
    let mut silent = run([[100; 2], [0, 100]]);
    // Of two seconds, all of its requests were made in the first one.
    silent.phases[1].end = Span::from_secs(7);
    silent.workloads[0].intervals[5].counts.reads = 10;
    let (workloads, phase) = (vec!["a".to_owned()], "after".to_owned());
    let rate = Rate::Iops(block::Iops(1000));
    let reached = Criterion::RateReached { workloads: workloads.clone(), phase: phase.clone(), at_least: rate };
    let is = Criterion::RateIs { workloads: workloads.clone(), phase: phase.clone(), rate, tolerance: 0.01 };
    for criterion in [reached, is] {
        let verdict = criterion.judge(&silent);
        assert_eq!(verdict.outcome, Outcome::CannotSay, "{verdict:?}");
        assert!(verdict.because.ends_with("it did not ask for more"), "{verdict:?}");
    }
    let held = |recording: &Recording, cause| {
        Criterion::HeldBy { workloads: workloads.clone(), phase: phase.clone(), cause }.judge(recording)
    };
    let nobody = held(&silent, HeldBy::Nothing);
    assert_eq!((nobody.outcome, nobody.because.as_str()), (Outcome::CannotSay, "a asked for nothing in after"));
    // It is judged by what it asked for in one second.
    let mut once = silent;
    once.workloads[0].intervals[6].counts.reads = 10;
    once.workloads[0].intervals[6].held_by = HeldBy::SharedIops;
    let shared = held(&once, HeldBy::SharedIops);
    assert_eq!(shared.question, "a held by a shared limit in IOPS in after");
    assert_eq!(
        (shared.outcome, shared.because.as_str()),
        (Outcome::Pass, "a by a shared limit in IOPS in 1 of 1 s, at 0.0 MB/s")
    );
}

#[test]
fn a_figure_does_not_contradict_its_verdict() {
    let rate = |rate, tolerance| {
        let (workloads, phase) = (vec!["b".to_owned()], "after".to_owned());
        Criterion::RateIs { workloads, phase, rate: Rate::Iops(block::Iops(rate)), tolerance }
            .judge(&run([[100; 2], [100, 1000]]))
    };
    // 1000 / 990 is 101.0101 %.
    let above = rate(990, 0.01);
    assert_eq!((above.outcome, above.because.as_str()), (Outcome::Fail, "furthest: b 1000 IOPS (101.01 %)"));
    let mut recording = run([[100; 2]; 2]);
    recording.workloads[1].tallies[1].response.record(Span::from_millis(4));
    let (workloads, phase) = (vec!["b".to_owned()], "after".to_owned());
    let at_most = Span::from_micros(3999);
    let within = Criterion::ResponseWithin { workloads, phase, percentile: 100.0, at_most }.judge(&recording);
    assert_eq!(within.question, "all requests of b within 3.999 ms in after");
    assert!(within.outcome == Outcome::Fail && within.because.ends_with("within 4.00 ms"), "{within:?}");
}

#[test]
fn without_contention_a_machine_cannot_show_starvation() {
    let criterion =
        Criterion::Starved { workloads: vec!["b".into()], phase: "after".into(), baseline: "before".into(), part: 0.7 };
    assert_eq!(criterion.judge(&run([[7000, 7000], [12_000, 1000]])).outcome, Outcome::Pass);
    let kept = criterion.judge(&run([[7000, 7000], [7000, 6000]]));
    assert_eq!(kept.outcome, Outcome::CannotSay);
    assert!(kept.because.starts_with("no contention on this machine"), "{kept:?}");
}

#[test]
fn what_is_not_restored_fails_unless_the_machine_itself_was_slower() {
    let criterion = Criterion::Restored {
        workloads: vec!["b".into()],
        phase: "after".into(),
        baseline: "before".into(),
        part: 0.95,
        most: None,
    };
    assert_eq!(criterion.judge(&run([[7000, 7000], [1000, 6700]])).outcome, Outcome::Pass);
    // 6000 of 7000 is 86 %, and 13 000 of 14 000 in all (93 %): the disk had the capacity, and b
    // did not get it.
    assert_eq!(criterion.judge(&run([[7000, 7000], [7000, 6000]])).outcome, Outcome::Fail);
    // 7000 of 14 000 in all: the disk did not have the capacity.
    assert_eq!(criterion.judge(&run([[7000, 7000], [1000, 6000]])).outcome, Outcome::CannotSay);
}

#[test]
fn a_floor_is_judged_second_by_second_where_the_backend_could() {
    let criterion = Criterion::FloorHeld { workloads: vec!["b".into()], phase: "after".into(), part: 0.99 };
    let floor = LimitsInForce { floor_iops: Some(2000), ..LimitsInForce::default() };
    let outcome = |seconds: [[u64; 2]; 5]| {
        let mut recording = limited(run([[0; 2]; 2]), "s:/vol/b", false, floor.clone(), |_| 0);
        for (n, second) in seconds.iter().enumerate() {
            for (which, &reads) in second.iter().enumerate() {
                recording.workloads[which].intervals[5 + n].counts.reads = reads;
            }
        }
        criterion.judge(&recording).outcome
    };
    // The first second is not judged; 1980 of 2000 is 99 %.
    assert_eq!(outcome([[9000, 0], [9000, 1980], [9000, 2000], [9000, 2000], [9000, 2000]]), Outcome::Pass);
    assert_eq!(outcome([[9000, 0], [9000, 1979], [9000, 2000], [9000, 2000], [9000, 2000]]), Outcome::Fail);
    // One of four seconds in which the device did less than the floor: more than 5 %.
    assert_eq!(outcome([[9000, 0], [10, 10], [9000, 2000], [9000, 2000], [9000, 2000]]), Outcome::CannotSay);
}

/// A phase of one second has only the second that is not judged.
#[test]
fn a_phase_without_a_second_after_the_first_says_so() {
    let criterion = Criterion::FloorHeld { workloads: vec!["b".into()], phase: "after".into(), part: 0.99 };
    let floor = LimitsInForce { floor_iops: Some(2000), ..LimitsInForce::default() };
    let mut recording = limited(run([[9000; 2]; 2]), "s:/vol/b", false, floor, |_| 0);
    recording.phases[1].end = recording.phases[1].start + Span::SECOND;
    let verdict = criterion.judge(&recording);
    let because = "after has no full second after its first, which is not judged; let it last longer";
    assert_eq!((verdict.outcome, verdict.because.as_str()), (Outcome::CannotSay, because));
}

#[test]
fn a_run_that_was_cut_short_says_nothing_about_its_last_phase() {
    let criterion =
        Criterion::Starved { workloads: vec!["b".into()], phase: "after".into(), baseline: "before".into(), part: 0.7 };
    let mut recording = run([[7000, 7000], [12_000, 1000]]);
    recording.origin.cut_short = true;
    assert_eq!(criterion.judge(&recording).outcome, Outcome::CannotSay);
}

#[test]
fn a_ceiling_in_bytes_allows_one_request_more_of_the_size_that_passes() {
    let criterion = Criterion::CeilingHeld { tolerance: 0.0 };
    let limits = LimitsInForce { ceiling_bytes: Some(4096 * 1000), ..LimitsInForce::default() };
    // 10 requests of 4 KiB a bin are exactly the limit. One more in a second may have started
    // within it, two may not.
    let outcome = |more: u32| {
        let run =
            limited(run([[0; 2]; 2]), "s:/vol/a", false, limits.clone(), |bin| 10 + if bin == 700 { more } else { 0 });
        criterion.judge(&run).outcome
    };
    assert_eq!(outcome(0), Outcome::Pass);
    assert_eq!(outcome(1), Outcome::Pass);
    assert_eq!(outcome(2), Outcome::Fail);
}

#[test]
fn a_share_that_the_processor_cut_short_cannot_be_judged() {
    let criterion = Criterion::Restored {
        workloads: vec!["b".into()],
        phase: "after".into(),
        baseline: "before".into(),
        part: 0.95,
        most: None,
    };
    let judge = |stalled_ms: u64| {
        let mut recording = run([[7000, 7000], [7000, 6300]]);
        recording.phases[1].stalled = Span::from_millis(stalled_ms);
        criterion.judge(&recording)
    };
    // 90 % instead of 95 % is 5 % of 5 s: 250 ms.
    assert_eq!(judge(240).outcome, Outcome::Fail);
    assert_eq!(judge(260).outcome, Outcome::CannotSay);
    assert!(judge(260).because.contains("260 ms of 5.00 s"));
}

#[test]
fn a_floor_that_the_processor_cut_short_cannot_be_judged() {
    let criterion = Criterion::FloorHeld { workloads: vec!["b".into()], phase: "after".into(), part: 0.99 };
    let floor = LimitsInForce { floor_iops: Some(2000), ..LimitsInForce::default() };
    let judge = |stalled_ms: u64| {
        let mut recording = limited(run([[9000; 2]; 2]), "s:/vol/b", false, floor.clone(), |_| 0);
        // Two seconds at 1680 of 2000: 84 %, which is 15 % less than asked, twice: 300 ms.
        for second in [6, 8] {
            recording.workloads[1].intervals[second].counts.reads = 1680;
        }
        recording.phases[1].stalled = Span::from_millis(stalled_ms);
        criterion.judge(&recording)
    };
    assert_eq!(judge(290).outcome, Outcome::Fail);
    assert_eq!(judge(310).outcome, Outcome::CannotSay);
    assert!(judge(310).because.contains("310 ms of 5.00 s"), "{:?}", judge(310));
}

#[test]
fn a_rest_of_a_second_is_not_judged_as_one() {
    let criterion = Criterion::FloorHeld { workloads: vec!["b".into()], phase: "after".into(), part: 0.99 };
    let floor = LimitsInForce { floor_iops: Some(2000), ..LimitsInForce::default() };
    let mut recording = limited(run([[9000, 2000]; 2]), "s:/vol/b", false, floor, |_| 0);
    for workload in &mut recording.workloads {
        let rest = &mut workload.intervals[9];
        (rest.length, rest.counts.reads) = (Span::from_millis(1), 0);
    }
    assert_eq!(criterion.judge(&recording).outcome, Outcome::Pass, "3 seconds are judged");
}

#[test]
fn less_in_all_is_the_machines_fault_only_if_its_device_was_slower() {
    let criterion = Criterion::Restored {
        workloads: vec!["b".into()],
        phase: "after".into(),
        baseline: "before".into(),
        part: 0.95,
        most: None,
    };
    let outcome = |before_us: u64, after_us: u64| {
        // 7000 of 14 000 in all, and b at 86 %.
        let mut recording = run([[7000, 7000], [1000, 6000]]);
        for (tally, us) in recording.workloads[1].tallies.iter_mut().zip([before_us, after_us]) {
            tally.device.record(Span::from_micros(us));
        }
        criterion.judge(&recording).outcome
    };
    assert_eq!(outcome(100, 200), Outcome::CannotSay);
    assert_eq!(outcome(100, 50), Outcome::Fail, "the device had time for b and did not get its requests");
}

/// A workload that gets more than in the baseline was limited by something else then, so its share
/// was not simply restored.
#[test]
fn more_than_before_is_not_what_was_before() {
    let criterion = Criterion::Restored {
        workloads: vec!["a".into(), "b".into()],
        phase: "after".into(),
        baseline: "before".into(),
        part: 0.95,
        most: Some(1.10),
    };
    let judge = |after: u64| criterion.judge(&run([[7000, 7000], [7000, after]]));
    assert_eq!(judge(7700).outcome, Outcome::Pass, "110 %");
    assert_eq!(judge(7710).outcome, Outcome::Fail);
    assert_eq!(judge(10_080).because, "a 100 %, b 144 % of before");
    assert_eq!(judge(10_080).question, "a and b at 95 % to 110 % of before in after");
    assert_eq!(judge(6640).outcome, Outcome::Fail, "94.9 %");
    // The machine had done more before the run: 16 000, of which 14 000 are 87 %.
    let mut recording = run([[7000, 7000], [7000, 10_080]]);
    let scale = Scale { factor: 1.0, published_iops: 16_000.0, measured_iops: Some(16_000.0) };
    recording.scale = Some(scale);
    assert_eq!(criterion.judge(&recording).outcome, Outcome::CannotSay);
    recording.scale = Some(Scale { measured_iops: Some(15_000.0), ..scale });
    assert_eq!(criterion.judge(&recording).outcome, Outcome::Fail);
    // 144 / 110 is 31 % too much: 31 % of the baseline's 5 s are 1.55 s.
    let stalled = |ms: u64| {
        let mut recording = run([[7000, 7000], [7000, 10_080]]);
        recording.phases[0].stalled = Span::from_millis(ms);
        criterion.judge(&recording).outcome
    };
    assert_eq!((stalled(1_500), stalled(1_600)), (Outcome::Fail, Outcome::CannotSay));
}

#[test]
fn a_busy_processor_is_no_verdict_on_storage() {
    let criterion = Criterion::Restored {
        workloads: vec!["b".into()],
        phase: "after".into(),
        baseline: "before".into(),
        part: 0.95,
        most: None,
    };
    let mut recording = run([[7000, 7000], [7000, 6000]]);
    let held = |recording: &mut Recording, seconds: std::ops::Range<usize>| {
        recording.workloads[1].intervals[seconds].iter_mut().for_each(|interval| interval.held_by = HeldBy::Cpu);
    };
    held(&mut recording, 5..7);
    assert_eq!(criterion.judge(&recording).outcome, Outcome::Fail, "2 of 5 seconds");
    held(&mut recording, 7..8);
    assert_eq!(criterion.judge(&recording).outcome, Outcome::CannotSay, "3 of 5");
}

#[test]
fn names_that_the_run_does_not_have_are_told() {
    let because = |workload: &str, phase: &str, baseline: &str| {
        let criterion = Criterion::Starved {
            workloads: vec![workload.into()],
            phase: phase.into(),
            baseline: baseline.into(),
            part: 0.7,
        };
        let verdict = criterion.judge(&run([[0, 7000], [7000, 1000]]));
        assert_eq!(verdict.outcome, Outcome::CannotSay);
        verdict.because
    };
    assert_eq!(because("c", "after", "before"), "there is no workload c");
    assert_eq!(because("b", "later", "before"), "the run did not reach the phase later");
    assert_eq!(because("a", "after", "before"), "a did nothing in before");
    let floor = Criterion::FloorHeld { workloads: vec!["a".into()], phase: "after".into(), part: 0.99 };
    assert_eq!(floor.judge(&run([[7000; 2]; 2])).because, "a has no floor in IOPS or MB/s");
    let nobody = Criterion::FloorHeld { workloads: vec![], phase: "after".into(), part: 0.99 };
    assert_eq!(nobody.judge(&run([[7000; 2]; 2])).outcome, Outcome::CannotSay);
}

/// A verdict also has its figures: `a` had 100 and has 95, and must have 90 %.
#[test]
fn a_verdict_has_its_figures() {
    let asked = |part| Criterion::Restored {
        workloads: vec!["a".into()],
        phase: "after".into(),
        baseline: "before".into(),
        part,
        most: None,
    };
    let verdict = asked(0.9).judge(&run([[100, 100], [95, 100]]));
    let figures = verdict.measured.expect("it is one figure");
    assert_eq!((verdict.outcome, figures.unit.as_str()), (Outcome::Pass, "%"));
    assert!((figures.value - 95.0).abs() < 1e-9 && (figures.bound - 90.0).abs() < 1e-9, "{figures:?}");
    // Without an outcome there are no figures.
    assert_eq!(asked(0.9).judge(&run([[0, 100], [95, 100]])).measured, None);
}

#[test]
fn a_response_time_is_judged_at_its_percentile_and_what_was_never_sent_counts() {
    let judge = |percentile, at_most, never_sent, change: fn(&mut Recording)| {
        let mut recording = run([[100; 2]; 2]);
        let tally = &mut recording.workloads[1].tallies[1];
        tally.response.record_many(Span::from_millis(1), 990);
        tally.response.record_many(Span::from_millis(50), 10);
        tally.never_sent = never_sent;
        change(&mut recording);
        let (workloads, phase) = (vec!["b".to_owned()], "after".to_owned());
        Criterion::ResponseWithin { workloads, phase, percentile, at_most: Span::from_millis(at_most) }
            .judge(&recording)
    };
    let nothing = |_: &mut Recording| {};
    assert_eq!(judge(99.0, 2, None, nothing).outcome, Outcome::Pass);
    assert_eq!(judge(99.1, 2, None, nothing).outcome, Outcome::Fail);
    assert_eq!(judge(100.0, 50, Some(0), nothing).outcome, Outcome::Pass);
    let all = judge(100.0, 49, None, nothing);
    assert_eq!((all.outcome, all.question.as_str()), (Outcome::Fail, "all requests of b within 49.0 ms in after"));
    let measured = all.measured.unwrap();
    assert_eq!((measured.value, measured.bound, measured.unit.as_str()), (50.0, 49.0, "ms"));
    // 990 of 1011 that were due are 97.9 %.
    assert_eq!(judge(97.9, 2, Some(11), nothing).outcome, Outcome::Pass);
    assert_eq!(judge(98.0, 2, Some(11), nothing).outcome, Outcome::Fail);
    let unsent = judge(99.0, 60, Some(11), nothing);
    assert_eq!(unsent.outcome, Outcome::Fail, "{unsent:?}");
    assert!(unsent.because.contains("11 of 1011 requests") && unsent.measured.is_none(), "{unsent:?}");
    let few = judge(99.99, 2, None, nothing);
    assert_eq!(few.outcome, Outcome::CannotSay);
    assert!(few.because.contains("takes at least 10000"), "{few:?}");
    let idle = judge(99.0, 2, None, |recording| recording.workloads[1].tallies[1] = Tally::default());
    assert_eq!((idle.outcome, idle.because.as_str()), (Outcome::CannotSay, "b did nothing in after"));
    let busy = judge(99.1, 2, None, |recording| {
        recording.workloads[1].intervals.iter_mut().for_each(|interval| interval.held_by = HeldBy::Cpu);
    });
    assert_eq!(busy.outcome, Outcome::CannotSay);
}

#[test]
fn a_rate_is_judged_where_it_was_asked_for() {
    let of = |at_least, held| {
        let mut recording = run([[100, 100], [900, 1000]]);
        recording.workloads[0].intervals.iter_mut().for_each(|interval| interval.held_by = held);
        recording.workloads[0].tallies[1].counts.read_bytes = 5 * 4_000_000;
        recording.workloads[1].tallies[1].counts.write_bytes = 5 * 8_000_000;
        let (workloads, phase) = (vec!["a".to_owned(), "b".to_owned()], "after".to_owned());
        Criterion::RateReached { workloads, phase, at_least }.judge(&recording)
    };
    let iops = |rate| Rate::Iops(block::Iops(rate));
    assert_eq!(of(iops(900), HeldBy::Disk).outcome, Outcome::Pass);
    let missed = of(iops(901), HeldBy::Disk);
    assert_eq!((missed.outcome, missed.because.as_str()), (Outcome::Fail, "least: a 900 IOPS (99.9 %)"));
    assert_eq!(of(iops(901), HeldBy::Pace).outcome, Outcome::CannotSay, "it did not ask for more");
    assert_eq!(of(iops(901), HeldBy::Cpu).outcome, Outcome::CannotSay);
    assert_eq!(of(Rate::Bytes(block::Bytes(4_000_000)), HeldBy::Disk).outcome, Outcome::Pass);
    assert_eq!(of(Rate::Bytes(block::Bytes(4_000_001)), HeldBy::Disk).outcome, Outcome::Fail);
}

/// The rate of a limit must be neither missed nor exceeded: 900 of 900 ± 1 %, but 1000 at `b`.
#[test]
fn a_rate_is_met_from_both_sides() {
    let of = |names: &[&str], rate, held| {
        let mut recording = run([[100, 100], [900, 1000]]);
        recording.workloads[0].intervals.iter_mut().for_each(|interval| interval.held_by = held);
        let (workloads, phase) = (names.iter().map(|&name| name.to_owned()).collect(), "after".to_owned());
        let rate = Rate::Iops(block::Iops(rate));
        Criterion::RateIs { workloads, phase, rate, tolerance: 0.01 }.judge(&recording)
    };
    // 900 / 0.99 = 909.09 and 900 / 1.01 = 891.09.
    for (rate, outcome) in
        [(909, Outcome::Pass), (910, Outcome::Fail), (892, Outcome::Pass), (891, Outcome::Fail), (900, Outcome::Pass)]
    {
        assert_eq!(of(&["a"], rate, HeldBy::CeilingIops).outcome, outcome, "{rate}");
    }
    let both = of(&["a", "b"], 905, HeldBy::CeilingIops);
    assert_eq!((both.outcome, both.because.as_str()), (Outcome::Fail, "furthest: b 1000 IOPS (110.5 %)"));
    assert_eq!(both.question, "a and b at 905 IOPS (±1 %) in after");
    assert_eq!(of(&["a"], 1000, HeldBy::Pace).outcome, Outcome::CannotSay, "it did not ask for more");
    assert_eq!(of(&["a"], 800, HeldBy::Pace).outcome, Outcome::Fail, "too much is too much");
}
