//! What a recording says about each criterion.
//!
//! Three answers, never two: where the machine could not show the thing (no contention, a busy processor, a disk that
//! somebody else used), the answer is "cannot say" with the reason, because a pass that chance made is worth nothing.

use crate::criterion::{Criterion, Outcome, Verdict};
use crate::recording::{HeldBy, LimitsInForce, ObjectRecord, Phase, Recording, WorkloadRecord};
use block::{Span, Time};

/// Below this part of its baseline total, the backend itself was slower: somebody else used it.
const BACKEND_STEADY: f64 = 0.9;

/// Seconds without enough completions of the backend may be at most this part of a phase.
const EXCLUDED_LIMIT: f64 = 0.05;

impl Criterion {
    /// Answers for one run.
    pub fn judge(&self, recording: &Recording) -> Verdict {
        let (question, answer) = match self {
            Criterion::CeilingHeld { tolerance } => (
                format!("no ceiling exceeded by more than {} in any sliding second", percent(*tolerance)),
                ceiling_held(recording, *tolerance),
            ),
            Criterion::SharedSum { phase, tolerance } => (
                format!("members of the shared limit together get exactly it (±{}) in {phase}", percent(*tolerance)),
                shared_sum(recording, phase, *tolerance),
            ),
            Criterion::Starved { workloads, phase, baseline, part } => (
                format!("{} below {} of {baseline} in {phase}", names(workloads), percent(*part)),
                starved(recording, workloads, phase, baseline, *part),
            ),
            Criterion::Restored { workloads, phase, baseline, part } => (
                format!("{} at {} of {baseline} or more in {phase}", names(workloads), percent(*part)),
                restored(recording, workloads, phase, baseline, *part),
            ),
            Criterion::FloorHeld { workloads, phase, part } => (
                match &workloads[..] {
                    [one] => format!("{one} gets {} of its floor in every second of {phase}", percent(*part)),
                    all => format!("{} get {} of their floor in every second of {phase}", names(all), percent(*part)),
                },
                floor_held(recording, workloads, phase, *part),
            ),
        };
        let (outcome, because) = answer.unwrap_or_else(|why| (Outcome::CannotSay, why));
        Verdict { question, outcome, because }
    }
}

/// An answer, or why there is none.
type Answer = Result<(Outcome, String), String>;

fn ceiling_held(recording: &Recording, tolerance: f64) -> Answer {
    let mut worst: Option<Excess> = None;
    for object in &recording.objects {
        for (phase, limits) in recording.phases.iter().zip(&object.limits) {
            for excess in excesses(object, phase, limits, tolerance) {
                if worst.as_ref().is_none_or(|w| excess.over() > w.over()) {
                    worst = Some(excess);
                }
            }
        }
    }
    let worst = worst.ok_or("no ceiling was in force for a whole second")?;
    let outcome = if worst.over() > 0.0 { Outcome::Fail } else { Outcome::Pass };
    Ok((outcome, worst.to_string()))
}

/// The fullest second of an object in a phase beside its ceiling.
struct Excess {
    path: String,
    phase: String,
    unit: &'static str,
    fullest: u64,
    limit: u64,
    allowed: f64,
}

impl Excess {
    /// How far above what is allowed, as a part of the limit; negative when below.
    fn over(&self) -> f64 {
        (self.fullest as f64 - self.allowed) / self.limit as f64
    }
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = 100.0 * (self.fullest as f64 / self.limit as f64 - 1.0);
        let Excess { path, phase, unit, fullest, limit, .. } = self;
        write!(f, "closest: {path} in {phase}, {fullest} {unit} in its fullest second, ceiling {limit} ({part:+.2} %)")
    }
}

fn excesses(object: &ObjectRecord, phase: &Phase, limits: &LimitsInForce, tolerance: f64) -> Vec<Excess> {
    let Some(peak) = object.trace.peak(time(phase.start), time(phase.end)) else { return Vec::new() };
    let excess = |unit, fullest, limit: u64, slack: f64| Excess {
        path: object.path.clone(),
        phase: phase.name.clone(),
        unit,
        fullest,
        limit,
        allowed: limit as f64 * (1.0 + tolerance) + slack,
    };
    // One operation more may always start within a second: at 50 IOPS one is 2 %.
    let largest = peak.bytes.checked_div(peak.ops).unwrap_or(0) as f64;
    let iops = limits.ceiling_iops.map(|limit| excess("operations", peak.ops, limit, 1.0));
    let bytes = limits.ceiling_bytes.map(|limit| excess("bytes", peak.bytes, limit, largest));
    iops.into_iter().chain(bytes).collect()
}

fn shared_sum(recording: &Recording, phase: &str, tolerance: f64) -> Answer {
    let (index, phase) = phase_named(recording, phase)?;
    let groups = recording.objects.iter().filter(|object| object.is_group);
    let group = groups.filter_map(|g| Some((g, g.limits.get(index)?.ceiling_iops?))).next();
    let (group, limit) = group.ok_or("no shared limit in IOPS was in force")?;
    let from = phase.start + crate::SETTLE.min(phase.end.saturating_sub(phase.start) / 2);
    let peak = group.trace.peak(time(from), time(phase.end)).ok_or("the phase was shorter than two seconds")?;
    let part = peak.mean_ops / limit as f64;
    let because =
        format!("{}: {:.0} IOPS together, limit {limit} ({:+.2} %)", group.path, peak.mean_ops, 100.0 * (part - 1.0));
    if (part - 1.0).abs() <= tolerance {
        return Ok((Outcome::Pass, because));
    }
    let held = recording.workloads.iter().flat_map(|w| intervals(w, phase));
    if part < 1.0 && !held.into_iter().any(|interval| interval.held_by == HeldBy::SharedIops) {
        return Err(format!("{because}; its members did not ask for more"));
    }
    Ok((Outcome::Fail, because))
}

fn starved(recording: &Recording, workloads: &[String], phase: &str, baseline: &str, part: f64) -> Answer {
    let shares = shares(recording, workloads, phase, baseline)?;
    let because = share_text(&shares, baseline);
    match shares.iter().all(|share| share.part < part) {
        true => Ok((Outcome::Pass, because)),
        false => Err(format!("no contention on this machine: {because}")),
    }
}

fn restored(recording: &Recording, workloads: &[String], phase: &str, baseline: &str, part: f64) -> Answer {
    let shares = shares(recording, workloads, phase, baseline)?;
    let because = share_text(&shares, baseline);
    if shares.iter().all(|share| share.part >= part) {
        return Ok((Outcome::Pass, because));
    }
    let (now, before) = (total_iops(recording, phase)?, total_iops(recording, baseline)?);
    if now < BACKEND_STEADY * before {
        return Err(format!(
            "{because}; but all together got {:.0} % of what they got in {baseline}: the machine itself was slower",
            100.0 * now / before
        ));
    }
    if mostly_held_by_cpu(recording, workloads, phase)? {
        return Err(format!("{because}; but a processor was busy, so it is not the storage that is measured"));
    }
    Ok((Outcome::Fail, because))
}

fn floor_held(recording: &Recording, workloads: &[String], phase: &str, part: f64) -> Answer {
    let (index, phase) = phase_named(recording, phase)?;
    let records = find_all(recording, workloads)?;
    let floors = records
        .iter()
        .map(|record| floor_of(recording, record, index).ok_or_else(|| format!("{} has no floor in IOPS", record.name)))
        .collect::<Result<Vec<u64>, _>>()?;
    let needed: u64 = floors.iter().sum();
    let seconds = intervals(records[0], phase).count();
    let (mut judged, mut excluded, mut worst) = (0usize, 0usize, (f64::INFINITY, String::new()));
    for second in 1..seconds {
        let at = |w: &WorkloadRecord| intervals(w, phase).nth(second).map_or(0.0, |interval| interval.iops());
        // The backend must have completed at least the sum of floors, or the floors were not there to be had.
        if recording.workloads.iter().map(at).sum::<f64>() < needed as f64 {
            excluded += 1;
            continue;
        }
        judged += 1;
        for (record, &floor) in records.iter().zip(&floors) {
            let got = at(record) / floor as f64;
            if got < worst.0 {
                worst = (got, format!("{} got {:.0} of {floor} IOPS in its worst second", record.name, at(record)));
            }
        }
    }
    if judged == 0 || excluded as f64 > EXCLUDED_LIMIT * (seconds - 1) as f64 {
        return Err(format!("in {excluded} of {} seconds the backend did less than the sum of floors", seconds - 1));
    }
    let unit = if judged == 1 { "second" } else { "seconds" };
    let because = format!("{} ({:.1} %); {judged} {unit} judged, {excluded} excluded", worst.1, 100.0 * worst.0);
    Ok((if worst.0 >= part { Outcome::Pass } else { Outcome::Fail }, because))
}

/// The floor in IOPS in force for a workload's object, or for what it hangs on.
fn floor_of(recording: &Recording, record: &WorkloadRecord, phase: usize) -> Option<u64> {
    let on_path = |object: &&ObjectRecord| {
        record.object == object.path
            || record.object.strip_prefix(&object.path).is_some_and(|rest| rest.starts_with('/'))
    };
    let floors = recording.objects.iter().filter(on_path).filter_map(|o| o.limits.get(phase)?.floor_iops);
    floors.max()
}

struct Share {
    name: String,
    part: f64,
}

fn shares(recording: &Recording, workloads: &[String], phase: &str, baseline: &str) -> Result<Vec<Share>, String> {
    let (now, before) = (phase_named(recording, phase)?.0, phase_named(recording, baseline)?.0);
    let share = |record: &WorkloadRecord| {
        let iops = |index: usize| record.tallies.get(index).map_or(0.0, |tally| tally.iops());
        match iops(before) {
            0.0 => Err(format!("{} did nothing in {baseline}", record.name)),
            even => Ok(Share { name: record.name.clone(), part: iops(now) / even }),
        }
    };
    find_all(recording, workloads)?.into_iter().map(share).collect()
}

fn share_text(shares: &[Share], baseline: &str) -> String {
    let each: Vec<_> = shares.iter().map(|share| format!("{} {:.0} %", share.name, 100.0 * share.part)).collect();
    format!("{} of {baseline}", each.join(", "))
}

fn total_iops(recording: &Recording, phase: &str) -> Result<f64, String> {
    let index = phase_named(recording, phase)?.0;
    Ok(recording.workloads.iter().filter_map(|w| w.tallies.get(index)).map(|tally| tally.iops()).sum())
}

fn mostly_held_by_cpu(recording: &Recording, workloads: &[String], phase: &str) -> Result<bool, String> {
    let phase = phase_named(recording, phase)?.1;
    let records = find_all(recording, workloads)?;
    let held: Vec<_> = records.iter().flat_map(|record| intervals(record, phase)).map(|i| i.held_by).collect();
    Ok(2 * held.iter().filter(|&&by| by == HeldBy::Cpu).count() > held.len())
}

fn phase_named<'a>(recording: &'a Recording, name: &str) -> Result<(usize, &'a Phase), String> {
    let found = recording.phases.iter().enumerate().find(|(_, phase)| phase.name == name);
    let (index, phase) = found.ok_or_else(|| format!("the run did not reach the phase {name}"))?;
    if recording.origin.cut_short && index + 1 == recording.phases.len() {
        return Err(format!("the run was cut short in the phase {name}"));
    }
    Ok((index, phase))
}

fn find_all<'a>(recording: &'a Recording, workloads: &[String]) -> Result<Vec<&'a WorkloadRecord>, String> {
    let find = |name: &String| {
        let found = recording.workloads.iter().find(|record| record.name == *name);
        found.ok_or_else(|| format!("there is no workload {name}"))
    };
    workloads.iter().map(find).collect()
}

fn intervals<'a>(record: &'a WorkloadRecord, phase: &'a Phase) -> impl Iterator<Item = &'a crate::Interval> {
    record.intervals.iter().filter(|interval| interval.start >= phase.start && interval.start < phase.end)
}

fn time(span: Span) -> Time {
    Time::ZERO + span
}

fn names(workloads: &[String]) -> String {
    workloads.join(" and ")
}

/// `1 %`, `0.5 %`: no more decimals than it takes.
fn percent(part: f64) -> String {
    format!("{} %", (part * 1e4).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counts, Interval, Tally};

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
        // 10 a bin is 1000 a second; before it was in force there were 50 a bin, which must not count.
        let steady = limited(run([[0; 2]; 2]), "s:/vol/a", false, ceiling(1000), |bin| if bin < 500 { 50 } else { 10 });
        assert_eq!(criterion.judge(&steady).outcome, Outcome::Pass);
        // 11 operations more in one bin of 10 ms: 1011 in a second that straddles it; 1000 × 1.01 + 1 = 1011 is allowed.
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

    #[test]
    fn a_shared_sum_is_exact_in_both_directions() {
        let criterion = Criterion::SharedSum { phase: "after".into(), tolerance: 0.01 };
        let outcome = |per_bin: u32, held: HeldBy| {
            let mut recording = limited(run([[0; 2]; 2]), "g", true, ceiling(3000), |_| per_bin);
            recording.workloads[0].intervals[7].held_by = held;
            criterion.judge(&recording).outcome
        };
        assert_eq!(outcome(30, HeldBy::SharedIops), Outcome::Pass);
        assert_eq!(outcome(31, HeldBy::SharedIops), Outcome::Fail);
        assert_eq!(outcome(29, HeldBy::SharedIops), Outcome::Fail);
        assert_eq!(outcome(29, HeldBy::Depth), Outcome::CannotSay, "nobody asked for more");
    }

    #[test]
    fn without_contention_a_machine_cannot_show_starvation() {
        let criterion = Criterion::Starved {
            workloads: vec!["b".into()],
            phase: "after".into(),
            baseline: "before".into(),
            part: 0.7,
        };
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
        };
        assert_eq!(criterion.judge(&run([[7000, 7000], [1000, 6700]])).outcome, Outcome::Pass);
        // 6000 of 7000 is 86 %, with 13 000 of 14 000 in all (93 %): the disk was there, b did not get it.
        assert_eq!(criterion.judge(&run([[7000, 7000], [7000, 6000]])).outcome, Outcome::Fail);
        // 7000 of 14 000 in all: the disk was not there.
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

    #[test]
    fn a_run_that_was_cut_short_says_nothing_about_its_last_phase() {
        let criterion = Criterion::Starved {
            workloads: vec!["b".into()],
            phase: "after".into(),
            baseline: "before".into(),
            part: 0.7,
        };
        let mut recording = run([[7000, 7000], [12_000, 1000]]);
        recording.origin.cut_short = true;
        assert_eq!(criterion.judge(&recording).outcome, Outcome::CannotSay);
    }
}
