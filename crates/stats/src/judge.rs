//! Judges a recording by each criterion.
//!
//! There are three answers, never two. If the machine could not show the effect (no contention, a
//! busy processor, a disk that another program used), the answer is "cannot say" with the reason,
//! because a pass by chance is worth nothing.

mod bounds;
mod figure;
mod floor;
mod held;
mod hits;
mod shared;

pub use self::figure::told;
use self::figure::{exact, in_points, percent};
use crate::criterion::{Criterion, Measured, Outcome, Verdict};
use crate::recording::{
    BurstAllowed, Counts, HeldBy, Interval, LimitsInForce, ObjectRecord, Phase, Recording, WorkloadRecord,
};
use crate::window::Window;
use block::{Span, Time};

/// If the total falls below this fraction of the baseline, the backend itself was slower: another
/// program used it.
const BACKEND_STEADY: f64 = 0.9;

/// A shorter interval has no meaningful rate.
const SHORTEST: Span = Span::from_millis(500);

/// Maximum fraction of a phase's seconds in which the backend may do too little.
const EXCLUDED_LIMIT: f64 = 0.05;

impl Criterion {
    /// Judges one run.
    pub fn judge(&self, recording: &Recording) -> Verdict {
        let (question, answer) = match self {
            Criterion::CeilingHeld { tolerance } => {
                (ceiling_question(recording, *tolerance), ceiling_held(recording, *tolerance))
            }
            Criterion::SharedSum { phase, tolerance } => (
                format!("the members of each shared limit together get it (±{}) in {phase}", percent(*tolerance)),
                shared::sum(recording, phase, *tolerance),
            ),
            Criterion::Starved { workloads, phase, baseline, part } => (
                format!("{} below {} of {baseline} in {phase}", names(workloads), percent(*part)),
                starved(recording, workloads, phase, baseline, *part),
            ),
            Criterion::Restored { workloads, phase, baseline, part, most } => {
                let (names, part_of) = (names(workloads), percent(*part));
                let asked = match most {
                    Some(most) => format!("{names} at {part_of} to {} of {baseline} in {phase}", percent(*most)),
                    None => format!("{names} at {part_of} of {baseline} or more in {phase}"),
                };
                (asked, restored(recording, workloads, [phase, baseline], *part, *most))
            }
            Criterion::FloorHeld { workloads, phase, part } => {
                let (get, whose) = if workloads.len() == 1 { ("gets", "its") } else { ("get", "their") };
                let (names, part_of) = (names(workloads), percent(*part));
                let asked =
                    format!("{names} {get} {part_of} of {whose} floor in every second of {phase} but its first");
                (asked, floor::held(recording, workloads, phase, *part))
            }
            Criterion::ResponseWithin { workloads, phase, percentile, at_most } => {
                let part = part_of_requests(*percentile);
                (
                    format!("{part} of {} within {} in {phase}", names(workloads), exact(*at_most)),
                    bounds::response(recording, workloads, phase, *percentile, *at_most),
                )
            }
            Criterion::RateReached { workloads, phase, at_least } => (
                format!("{} at {at_least} or more in {phase}", names(workloads)),
                bounds::rate(recording, workloads, phase, *at_least),
            ),
            Criterion::RateIs { workloads, phase, rate, tolerance } => (
                format!("{} at {rate} (±{}) in {phase}", names(workloads), percent(*tolerance)),
                bounds::exactly(recording, workloads, phase, *rate, *tolerance),
            ),
            Criterion::HeldBy { workloads, phase, cause } => (
                format!("{} held by {} in {phase}", names(workloads), held::cause(*cause)),
                held::by(recording, workloads, phase, *cause),
            ),
            Criterion::HitShareKept { workloads, phase, baseline, points } => (
                format!("{} within {} of {baseline}'s share of hits in {phase}", names(workloads), in_points(*points)),
                hits::kept(recording, workloads, [phase, baseline], *points),
            ),
            Criterion::HitShareBelow { workloads, phase, part } => (
                format!("{} below {} hits in {phase}", names(workloads), percent(*part)),
                hits::below(recording, workloads, phase, *part),
            ),
        };
        let (outcome, because, measured) = answer.unwrap_or_else(|why| (Outcome::CannotSay, why, None));
        Verdict { question, outcome, because, measured }
    }
}

/// An outcome with its explanation and figure; an error says why there is no outcome.
type Answer = Result<(Outcome, String, Option<Measured>), String>;

fn measured(value: f64, bound: f64, unit: &str) -> Option<Measured> {
    Some(Measured { value, bound, unit: unit.into() })
}

/// Fractions as percentages.
fn in_percent(value: f64, bound: f64) -> Option<Measured> {
    measured(100.0 * value, 100.0 * bound, "%")
}

fn ceiling_question(recording: &Recording, tolerance: f64) -> String {
    let bursts = recording.objects.iter().flat_map(|object| &object.limits).any(|limits| limits.burst.is_some());
    let credit = if bursts { ", nor the credit of a burst" } else { "" };
    format!("no ceiling exceeded by more than {} in any sliding second{credit}", percent(tolerance))
}

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
    Ok((outcome, worst.to_string(), measured(worst.window.amount as f64, worst.allowed, worst.unit)))
}

/// The fullest second of an object in a phase, or the longer window with most beyond the ceiling,
/// and its ceiling.
struct Excess {
    path: String,
    phase: String,
    unit: &'static str,
    window: Window,
    /// A second at the ceiling.
    limit: u64,
    /// What the ceiling and the burst that the policy allows let pass in the window.
    with_burst: f64,
    allowed: f64,
}

impl Excess {
    /// The excess over what is allowed, as a fraction of the limit; negative if below.
    fn over(&self) -> f64 {
        (self.window.amount as f64 - self.allowed) / self.limit.max(1) as f64
    }
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Excess { path, phase, unit, window: Window { amount, length }, limit, with_burst, .. } = self;
        let part = 100.0 * (*amount as f64 / with_burst.max(1.0) - 1.0);
        let (time, burst) = match *length {
            Span::SECOND if *with_burst > *limit as f64 => {
                ("its fullest second".into(), format!(" with a burst to {with_burst:.0}"))
            }
            Span::SECOND => ("its fullest second".into(), String::new()),
            length => (length.to_string(), format!(" and its credit let {with_burst:.0} pass")),
        };
        write!(f, "closest: {path} in {phase}, {amount} {unit} in {time}, ceiling {limit}{burst} ({part:+.2} %)")
    }
}

fn excesses(object: &ObjectRecord, phase: &Phase, limits: &LimitsInForce, tolerance: f64) -> Vec<Excess> {
    let (from, to) = (time(phase.start), time(phase.end));
    let Some(peak) = object.trace.peak(from, to) else { return Vec::new() };
    // One more operation may always start within a window: at 50 IOPS that is 2 % of a second.
    let largest = peak.bytes.checked_div(peak.ops).unwrap_or(0);
    let of = |unit, limit: u64, fullest, slack: u64, amount: fn(u64, u64) -> u64| {
        let excess = |window: Window, seconds: f64| {
            let (path, phase, with_burst) = (object.path.clone(), phase.name.clone(), limit as f64 * seconds);
            let allowed = with_burst * (1.0 + tolerance) + slack as f64;
            Excess { path, phase, unit, window, limit, with_burst, allowed }
        };
        let second = limits.burst.map_or(1.0, BurstAllowed::in_a_second);
        let rate = limit as f64 * (1.0 + tolerance);
        let longer = limits.burst.and_then(|burst| {
            let window = object.trace.furthest_beyond(from, to, rate, amount)?;
            let seconds = window.length.as_secs_f64() + burst.credit();
            (window.length > Span::SECOND).then(|| excess(window, seconds))
        });
        [excess(Window { amount: fullest, length: Span::SECOND }, second)].into_iter().chain(longer)
    };
    let iops = limits.ceiling_iops.map(|limit| of("operations", limit, peak.ops, 1, |ops, _| ops));
    let bytes = limits.ceiling_bytes.map(|limit| of("bytes", limit, peak.bytes, largest, |_, bytes| bytes));
    iops.into_iter().chain(bytes).flatten().collect()
}

fn starved(recording: &Recording, workloads: &[String], phase: &str, baseline: &str, part: f64) -> Answer {
    let shares = shares(recording, workloads, phase, baseline)?;
    let greatest = shares.iter().map(|share| share.part).fold(0.0, f64::max);
    let because = share_text(&shares, baseline, &[part]);
    match shares.iter().all(|share| share.part < part) {
        true => Ok((Outcome::Pass, because, in_percent(greatest, part))),
        false => Err(format!("no contention on this machine: {because}")),
    }
}

fn restored(
    recording: &Recording,
    workloads: &[String],
    [phase, baseline]: [&str; 2],
    part: f64,
    most: Option<f64>,
) -> Answer {
    let shares = shares(recording, workloads, phase, baseline)?;
    let bounds: Vec<f64> = [part].into_iter().chain(most).collect();
    let because = share_text(&shares, baseline, &bounds);
    let least = shares.iter().map(|share| share.part).fold(f64::INFINITY, f64::min);
    let doubt = |why: String| Err(format!("{because}; but {why}"));
    if least >= part {
        let greatest = shares.iter().map(|share| share.part).fold(0.0, f64::max);
        let Some(most) = most.filter(|&most| greatest > most) else {
            return Ok((Outcome::Pass, because, in_percent(least, part)));
        };
        return match was_less(recording, workloads, baseline, greatest / most - 1.0)? {
            Some(why) => doubt(why),
            None => Ok((Outcome::Fail, because, in_percent(greatest, most))),
        };
    }
    let phase_ran = phase_named(recording, phase)?.1;
    if let Some(why) = stalled_for(phase_ran, (part - least) * phase_ran.length().as_secs_f64()) {
        return doubt(why);
    }
    let (now, before) = (total_iops(recording, phase)?, total_iops(recording, baseline)?);
    if now < BACKEND_STEADY * before && is_device_slower(recording, workloads, phase, baseline)? {
        let percent = 100.0 * now / before;
        return doubt(format!(
            "all together got {percent:.0} % of what they got in {baseline}: the machine itself was slower"
        ));
    }
    if mostly_held_by_cpu(recording, workloads, phase)? {
        return doubt("a processor was busy, so it is not the storage that is measured".into());
    }
    Ok((Outcome::Fail, because, in_percent(least, part)))
}

/// Why workloads may have had less than they asked for in a baseline through no fault of the
/// server; `part` is how much less.
fn was_less(recording: &Recording, workloads: &[String], baseline: &str, part: f64) -> Result<Option<String>, String> {
    let ran = phase_named(recording, baseline)?.1;
    if let Some(why) = stalled_for(ran, part * ran.length().as_secs_f64()) {
        return Ok(Some(format!("in {baseline} {why}")));
    }
    let (all, measured) = (total_iops(recording, baseline)?, recording.scale.and_then(|scale| scale.measured_iops));
    if let Some(measured) = measured.filter(|measured| all < BACKEND_STEADY * measured) {
        let percent = 100.0 * all / measured;
        return Ok(Some(format!("{baseline} itself was slow: {percent:.0} % of what was measured before the run")));
    }
    let busy = mostly_held_by_cpu(recording, workloads, baseline)?;
    Ok(busy.then(|| format!("in {baseline} a processor was busy, so it is not the storage that is measured")))
}

/// Why the work of workloads that is missing in a phase, in seconds of it, may not be missing by
/// the storage's fault.
fn doubt(
    recording: &Recording,
    workloads: &[String],
    phase: &str,
    missing_seconds: f64,
) -> Result<Option<String>, String> {
    let busy = mostly_held_by_cpu(recording, workloads, phase)?;
    let busy = busy.then(|| "a processor was busy, so it is not the storage that is measured".to_owned());
    Ok(stalled_for(phase_named(recording, phase)?.1, missing_seconds).or(busy))
}

/// Why work of this many seconds may be missing in a phase: the server did not get the processor
/// for that long.
fn stalled_for(phase: &Phase, missing_seconds: f64) -> Option<String> {
    let enough = phase.stalled > Span::ZERO && phase.stalled.as_secs_f64() >= missing_seconds;
    enough.then(|| {
        let (stalled, length) = (phase.stalled, phase.length());
        format!("the processor was taken from the server for {stalled} of {length}: something else used it")
    })
}

/// Whether the device took longer for requests of these workloads than in the baseline, as far as
/// is known.
fn is_device_slower(recording: &Recording, workloads: &[String], phase: &str, baseline: &str) -> Result<bool, String> {
    let (now, before) = (phase_named(recording, phase)?.0, phase_named(recording, baseline)?.0);
    let mean = |record: &WorkloadRecord, phase: usize| record.tallies.get(phase).map(|tally| tally.device.mean());
    let records = find_all(recording, workloads)?;
    Ok(records.iter().any(|record| mean(record, now) >= mean(record, before)))
}

/// Whether an object is what a workload uses, or contains it.
fn is_over(object: &str, used: &str) -> bool {
    let rest = used.strip_prefix(object);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with(":/"))
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

/// Each workload's share as text, with enough digits to tell it from the bounds.
fn share_text(shares: &[Share], baseline: &str, bounds: &[f64]) -> String {
    let bounds: Vec<f64> = bounds.iter().map(|bound| 100.0 * bound).collect();
    let each = |share: &Share| format!("{} {} %", share.name, told(100.0 * share.part, &bounds, 0));
    let each: Vec<_> = shares.iter().map(each).collect();
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
    Ok(2 * held.iter().filter(|&&by| matches!(by, HeldBy::Cpu | HeldBy::Stalled)).count() > held.len())
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

fn intervals<'a>(record: &'a WorkloadRecord, phase: &'a Phase) -> impl Iterator<Item = &'a Interval> {
    record.intervals.iter().filter(|interval| interval.start >= phase.start && interval.start < phase.end)
}

/// Whether no requests were made in a second: none completed, and none was held back.
fn is_silent(second: &Interval) -> bool {
    second.held_by == HeldBy::Nothing && second.counts == Counts::default()
}

fn time(span: Span) -> Time {
    Time::ZERO + span
}

fn part_of_requests(percentile: f64) -> String {
    if percentile < 100.0 { format!("{percentile} % of the requests") } else { "all requests".into() }
}

fn names(workloads: &[String]) -> String {
    workloads.join(" and ")
}

#[cfg(test)]
mod tests;
