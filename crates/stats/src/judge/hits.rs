//! Criteria on hit ratios of the server's cache.

use super::figure::told;
use super::{Answer, find_all, in_percent, intervals, measured, phase_named};
use crate::criterion::Outcome;
use crate::recording::{Counts, Interval, Recording, WorkloadRecord};
use crate::run::Hits;
use block::Span;

/// Fewer pages than this are not enough for a ratio: that of a thousand is exact to some 3 points
/// (two standard deviations at one half).
const PAGES_LEAST: u64 = 1000;

/// Whether each workload's hit ratio is that of the baseline, less at most `points`.
pub(super) fn kept(recording: &Recording, workloads: &[String], phases: [&str; 2], points: f64) -> Answer {
    let mut worst: Option<(f64, String)> = None;
    for record in find_all(recording, workloads)? {
        let [now, then] = phases.map(|phase| share(recording, record, phase));
        let (now, then) = (now?, then?);
        let lost = 100.0 * (then - now);
        let said = format!("{} {:.1} % for {:.1} %", record.name, 100.0 * now, 100.0 * then);
        if worst.as_ref().is_none_or(|(most, _)| lost > *most) {
            worst = Some((lost, said));
        }
    }
    let (lost, said) = worst.ok_or("no workload is named")?;
    let outcome = if lost <= points { Outcome::Pass } else { Outcome::Fail };
    Ok((outcome, said, measured(lost, points, "points")))
}

/// Whether each workload's hit ratio is below `part`.
pub(super) fn below(recording: &Recording, workloads: &[String], phase: &str, part: f64) -> Answer {
    let mut most: Option<(f64, String)> = None;
    for record in find_all(recording, workloads)? {
        let share = share(recording, record, phase)?;
        if most.as_ref().is_none_or(|(most, _)| share > *most) {
            most = Some((share, format!("{} {} %", record.name, told(100.0 * share, &[100.0 * part], 1))));
        }
    }
    let (share, said) = most.ok_or("no workload is named")?;
    let outcome = if share < part { Outcome::Pass } else { Outcome::Fail };
    Ok((outcome, said, in_percent(share, part)))
}

/// Hit ratio of a workload in a phase, without its first second.
fn share(recording: &Recording, record: &WorkloadRecord, phase: &str) -> Result<f64, String> {
    let (_, ran) = phase_named(recording, phase)?;
    let from = ran.start + Span::SECOND;
    let mut sum = Hits::default();
    let settled = |interval: &&Interval| interval.start >= from;
    if let Some(other) = shares_object(recording, record, |other| {
        intervals(other, ran).filter(settled).any(|interval| interval.counts != Counts::default())
    }) {
        return Err(format!(
            "{} and {} loaded the same storage in {phase}, whose hits the server counts together",
            record.name, other.name
        ));
    }
    intervals(record, ran).filter(settled).for_each(|interval| sum += interval.cached);
    match sum.share() {
        Some(share) if sum.found + sum.missed >= PAGES_LEAST => Ok(share),
        None => Err(format!("{} asked no cache for anything in {phase}", record.name)),
        Some(_) => Err(format!(
            "{} asked for {} pages in {phase}, and {PAGES_LEAST} are needed",
            record.name,
            sum.found + sum.missed
        )),
    }
}

/// Another workload on an object that this one uses, of those that `works`.
fn shares_object<'r>(
    recording: &'r Recording,
    record: &WorkloadRecord,
    works: impl Fn(&WorkloadRecord) -> bool,
) -> Option<&'r WorkloadRecord> {
    let used = |other: &WorkloadRecord| record.object.split(", ").any(|one| other.object.split(", ").any(|o| o == one));
    recording.workloads.iter().find(|other| other.name != record.name && used(other) && works(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Phase;

    /// Phases of three seconds: the first second, which is left out, has no hits; the others have
    /// this many of 1000.
    fn recording(found: [u64; 2], asked: u64) -> Recording {
        let second = |at: u64, found: u64| Interval {
            start: Span::from_secs(at),
            length: Span::SECOND,
            cached: Hits { found, missed: asked - found },
            ..Interval::default()
        };
        let [then, now] = found;
        let intervals =
            [0, then, then, 0, now, now].into_iter().enumerate().map(|(at, found)| second(at as u64, found));
        let phase = |name: &str, start: u64| Phase {
            name: name.into(),
            start: Span::from_secs(start),
            end: Span::from_secs(start + 3),
            ..Phase::default()
        };
        let record = WorkloadRecord { name: "db".into(), intervals: intervals.collect(), ..WorkloadRecord::default() };
        Recording { phases: vec![phase("a", 0), phase("b", 3)], workloads: vec![record], ..Recording::default() }
    }

    #[test]
    fn a_share_is_kept_to_within_points() {
        let db = ["db".to_owned()];
        for (found, outcome) in [([950, 930], Outcome::Pass), ([950, 929], Outcome::Fail), ([500, 900], Outcome::Pass)]
        {
            let (answer, said, _) = kept(&recording(found, 1000), &db, ["b", "a"], 2.0).unwrap();
            assert_eq!(answer, outcome, "{said}");
        }
        let (_, said, measured) = kept(&recording([950, 929], 1000), &db, ["b", "a"], 2.0).unwrap();
        assert_eq!(said, "db 92.9 % for 95.0 %");
        assert!((measured.unwrap().value - 2.1).abs() < 1e-9);
    }

    #[test]
    fn a_share_is_below_a_part_or_nobody_asked() {
        let db = ["db".to_owned()];
        assert_eq!(below(&recording([0, 499], 1000), &db, "b", 0.5).unwrap().0, Outcome::Pass);
        assert_eq!(below(&recording([0, 500], 1000), &db, "b", 0.5).unwrap().0, Outcome::Fail);
        assert_eq!(below(&recording([0, 0], 0), &db, "b", 0.5).unwrap_err(), "db asked no cache for anything in b");
        let few = below(&recording([0, 1], 499), &db, "b", 0.5).unwrap_err();
        assert_eq!(few, "db asked for 998 pages in b, and 1000 are needed");
    }

    /// The server counts hits by object.
    #[test]
    fn nothing_is_said_of_hits_on_shared_storage() {
        let db = ["db".to_owned()];
        let mut shared = recording([500, 500], 1000);
        let other = WorkloadRecord { name: "batch".into(), ..shared.workloads[0].clone() };
        shared.workloads.push(other);
        assert_eq!(below(&shared, &db, "b", 0.6).unwrap().0, Outcome::Pass, "the other one did nothing");
        shared.workloads[1].intervals[4].counts.reads = 1;
        let why = "db and batch loaded the same storage in b, whose hits the server counts together";
        assert_eq!(below(&shared, &db, "b", 0.6).unwrap_err(), why);
        assert_eq!(kept(&shared, &db, ["b", "a"], 2.0).unwrap_err(), why);
        shared.workloads[1].object = "s:/vol/b/l".into();
        assert_eq!(below(&shared, &db, "b", 0.6).unwrap().0, Outcome::Pass);
    }
}
