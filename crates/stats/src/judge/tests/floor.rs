//! Verdicts on floors: of several volumes, of several workloads, and where nobody asked.

use super::*;
use crate::FloorOutcome;

fn judge(recording: &Recording, workloads: &[&str]) -> Verdict {
    let workloads = workloads.iter().map(|name| (*name).to_owned()).collect();
    Criterion::FloorHeld { workloads, phase: "after".into(), part: 0.95 }.judge(recording)
}

fn floored(recording: Recording, path: &str, iops: Option<u64>, bytes: Option<u64>) -> Recording {
    limited(
        recording,
        path,
        false,
        LimitsInForce { floor_iops: iops, floor_bytes: bytes, ..LimitsInForce::default() },
        |_| 0,
    )
}

/// 2547 IOPS over two volumes with 2000 each: all floors together are 4000.
#[test]
fn a_workload_on_several_volumes_has_the_sum_of_their_floors() {
    let judged = |a: u64, floors: &[&str]| {
        let mut recording = run([[a, 9000]; 2]);
        recording.workloads[0].object = "s:/vol/v1/l, s:/vol/v2/l".into();
        let recording = floors.iter().fold(recording, |all, path| floored(all, path, Some(2000), None));
        judge(&recording, &["a"])
    };
    let both = ["s:/vol/v1", "s:/vol/v2"];
    let missed = judged(2547, &both);
    assert_eq!(missed.outcome, Outcome::Fail);
    assert!(missed.because.starts_with("a got 2547 of 4000 IOPS in its worst second"), "{missed:?}");
    assert_eq!(judged(3800, &both).outcome, Outcome::Pass);
    assert_eq!(judged(2000, &["s"]).outcome, Outcome::Pass, "one floor of the SVM over both");
    let one = judged(3800, &both[..1]);
    assert_eq!(one.outcome, Outcome::CannotSay);
    assert_eq!(one.because, "a also uses storage without a floor in IOPS or MB/s");
}

/// Two workloads of one LUN share its floor of 5000: 2601 and 2602 are more than that.
#[test]
fn workloads_of_one_object_share_its_floor() {
    let judged = |names: &[&str], iops: [u64; 2]| {
        let mut recording = run([iops; 2]);
        recording.workloads[1].object = recording.workloads[0].object.clone();
        judge(&floored(recording, "s:/vol/a", Some(5000), None), names)
    };
    for names in [&["a", "b"][..], &["a"], &["b"]] {
        assert_eq!(judged(names, [2601, 2602]).outcome, Outcome::Pass, "{names:?}");
    }
    // Not the whole floor, and not twice the floor.
    let less = judged(&["a", "b"], [2300, 2300]);
    assert_eq!(less.outcome, Outcome::CannotSay, "the backend did less: {less:?}");
    let mut noisy = run([[2300, 2300]; 2]);
    noisy.workloads[1].object = noisy.workloads[0].object.clone();
    let noise = WorkloadRecord { name: "noise".into(), object: "s:/vol/c/l".into(), ..noisy.workloads[0].clone() };
    noisy.workloads.push(noise);
    let missed = judge(&floored(noisy, "s:/vol/a", Some(5000), None), &["a", "b"]);
    assert_eq!(missed.outcome, Outcome::Fail);
    assert!(missed.because.starts_with("a and b got 4600 of 5000 IOPS in their worst second (92.0 %)"), "{missed:?}");
}

/// What is missing because the processor was elsewhere says nothing about the server, as with other
/// criteria; in a few seconds it is no excuse for all of them.
#[test]
fn a_busy_processor_is_no_missed_floor() {
    let judged = |busy: usize| {
        let mut recording = floored(run([[1500, 9000]; 2]), "s:/vol/a", Some(2000), None);
        let phase = recording.phases.iter().find(|phase| phase.name == "after").unwrap().clone();
        let seconds = recording.workloads[0].intervals.iter_mut().filter(|second| second.start >= phase.start);
        seconds.take(busy).for_each(|second| second.held_by = HeldBy::Cpu);
        judge(&recording, &["a"])
    };
    let doubtful = judged(4);
    assert_eq!(doubtful.outcome, Outcome::CannotSay, "{doubtful:?}");
    assert!(doubtful.because.ends_with("but a processor was busy, so it is not the storage that is measured"));
    assert_eq!(judged(1).outcome, Outcome::Fail);
}

#[test]
fn who_asked_for_less_than_the_floor_is_told_so() {
    for (held_by, floor) in [(HeldBy::Pace, FloorOutcome::NotSet), (HeldBy::Depth, FloorOutcome::Met)] {
        let mut recording = floored(run([[500, 0]; 2]), "s:/vol/a", Some(900), None);
        for second in &mut recording.workloads[0].intervals {
            (second.held_by, second.floor) = (held_by, floor);
        }
        let verdict = judge(&recording, &["a"]);
        assert_eq!(verdict.outcome, Outcome::CannotSay);
        assert_eq!(verdict.because, "a did not ask for the floor in 4 of 4 seconds");
    }
}

#[test]
fn a_floor_in_bytes_is_judged_and_of_both_kinds_the_one_reached_first() {
    let judged = |iops: Option<u64>, bytes: Option<u64>| {
        let mut recording = run([[1000, 9000]; 2]);
        // 1000 requests of 4 KiB are 4.096 MB/s.
        for workload in &mut recording.workloads {
            workload.intervals.iter_mut().for_each(|second| second.counts.read_bytes = 4096 * second.counts.reads);
        }
        judge(&floored(recording, "s:/vol/a", iops, bytes), &["a"])
    };
    assert_eq!(judged(None, Some(4_000_000)).outcome, Outcome::Pass);
    let missed = judged(None, Some(8_000_000));
    assert_eq!(missed.outcome, Outcome::Fail);
    assert!(missed.because.starts_with("a got 4.1 of 8.0 MB/s"), "{missed:?}");
    assert_eq!(judged(Some(1000), Some(8_000_000)).outcome, Outcome::Pass);
    assert_eq!(judged(Some(2000), Some(8_000_000)).outcome, Outcome::Fail);
    assert_eq!(judged(None, None).because, "a has no floor in IOPS or MB/s");
}
