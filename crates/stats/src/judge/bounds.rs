//! Criteria with an absolute bound: a response time not to be exceeded, or a rate to be reached.

use super::figure::{exact, time_told, told};
use super::{Answer, doubt, find_all, intervals, is_silent, measured, phase_named};
use crate::SETTLE;
use crate::criterion::{Measured, Outcome, Rate};
use crate::recording::{Counts, HeldBy, Interval, Phase, Recording, Tally, WorkloadRecord};
use block::Span;

/// Whether `percentile` percent of each workload's requests were answered within `at_most`.
/// Requests that an open loop never sent were not.
pub(super) fn response(
    recording: &Recording,
    workloads: &[String],
    phase: &str,
    percentile: f64,
    at_most: Span,
) -> Answer {
    let (index, ran) = phase_named(recording, phase)?;
    let records = find_all(recording, workloads)?;
    let found = records.iter().map(|record| at_percentile(record, index, ran, percentile, at_most));
    let found = found.collect::<Result<Vec<_>, String>>()?;
    let worst = found.iter().max_by_key(|found| found.within).ok_or("no workload is named")?;
    let settling = records.iter().find_map(|record| settled_late(record, ran, at_most));
    let because = worst.beside(at_most) + &settling.unwrap_or_default();
    if worst.within <= at_most {
        return Ok((Outcome::Pass, because, worst.measured(at_most)));
    }
    let may_be_late = (1.0 - percentile / 100.0) * ran.length().as_secs_f64();
    if let Some(why) = doubt(recording, std::slice::from_ref(&worst.name), phase, may_be_late)? {
        return Err(format!("{because}; but {why}"));
    }
    Ok((Outcome::Fail, because, worst.measured(at_most)))
}

/// Whether each workload reached that rate on average.
pub(super) fn rate(recording: &Recording, workloads: &[String], phase: &str, at_least: Rate) -> Answer {
    let rates = rates(recording, workloads, phase, at_least)?;
    let least = rates.iter().min_by(|one, other| one.got.total_cmp(&other.got)).ok_or("no workload is named")?;
    let because = format!("least: {}", least.beside(1.0));
    if least.got >= least.asked {
        return Ok((Outcome::Pass, because, least.measured()));
    }
    least.too_little(recording, phase, because)
}

/// Whether each workload had that rate on average, within `tolerance`.
pub(super) fn exactly(recording: &Recording, workloads: &[String], phase: &str, rate: Rate, tolerance: f64) -> Answer {
    let rates = rates(recording, workloads, phase, rate)?;
    let off = |rate: &Had<'_>| (rate.got - rate.asked).abs();
    let furthest = rates.iter().max_by(|one, other| off(one).total_cmp(&off(other))).ok_or("no workload is named")?;
    let bound = if furthest.got > furthest.asked { 1.0 + tolerance } else { 1.0 - tolerance };
    let because = format!("furthest: {}", furthest.beside(bound));
    if off(furthest) <= tolerance * furthest.asked {
        return Ok((Outcome::Pass, because, furthest.measured()));
    }
    if furthest.got > furthest.asked {
        return Ok((Outcome::Fail, because, furthest.measured()));
    }
    furthest.too_little(recording, phase, because)
}

/// A workload's rate, and the rate that was asked for.
struct Had<'r> {
    record: &'r WorkloadRecord,
    got: f64,
    asked: f64,
    unit: &'static str,
}

fn rates<'r>(recording: &'r Recording, workloads: &[String], phase: &str, rate: Rate) -> Result<Vec<Had<'r>>, String> {
    let (asked, unit, of): (f64, _, fn(&Tally) -> f64) = match rate {
        Rate::Iops(rate) => (rate.0 as f64, "IOPS", Tally::iops),
        Rate::Bytes(rate) => (rate.0 as f64 / 1e6, "MB/s", |tally| tally.bytes_per_second() / 1e6),
    };
    let index = phase_named(recording, phase)?.0;
    let records = find_all(recording, workloads)?;
    let had = |record: &'r WorkloadRecord| {
        let got = record.tallies.get(index).map_or(0.0, of);
        Had { record, got, asked, unit }
    };
    Ok(records.into_iter().map(had).collect())
}

impl Had<'_> {
    /// As text, with enough digits to tell it from `bound`, a fraction of what was asked for.
    fn beside(&self, bound: f64) -> String {
        let Had { record, got, asked, unit } = self;
        let got_told = told(*got, &[bound * asked], if *unit == "IOPS" { 0 } else { 1 });
        let part = told(100.0 * got / asked.max(1e-9), &[100.0 * bound], 1);
        format!("{} {got_told} {unit} ({part} %)", record.name)
    }

    fn measured(&self) -> Option<Measured> {
        measured(self.got, self.asked, self.unit)
    }

    /// Flushes a second, if it made any.
    fn flushes(&self, recording: &Recording, phase: &str) -> Result<Option<f64>, String> {
        let index = phase_named(recording, phase)?.0;
        let tally = self.record.tallies.get(index).filter(|tally| tally.flushes > 0);
        Ok(tally.map(|tally| tally.flushes as f64 / tally.length.as_secs_f64().max(1e-9)))
    }

    /// The answer if the rate was too low: a failure, unless something other than the storage may
    /// be the reason.
    fn too_little(&self, recording: &Recording, phase: &str, because: String) -> Answer {
        let ran = phase_named(recording, phase)?.1;
        // The seconds that are in the figure: a longer phase leaves its first second out.
        let whole = if ran.length() > SETTLE { ran.start + SETTLE } else { ran.start };
        let seconds = || intervals(self.record, ran).filter(|second| second.start >= whole);
        let is_content = |second: &&Interval| second.held_by == HeldBy::Pace || is_silent(second);
        if 2 * seconds().filter(is_content).count() > seconds().count() {
            let Some(flushes) = self.flushes(recording, phase)? else {
                return Err(format!("{because}; it did not ask for more"));
            };
            return Err(format!(
                "{because} and {flushes:.0} flushes a second, which its pace counts as requests and IOPS do not; it did \
                 not ask for more"
            ));
        }
        let missing = (1.0 - self.got / self.asked) * ran.length().as_secs_f64();
        if let Some(why) = doubt(recording, std::slice::from_ref(&self.record.name), phase, missing)? {
            return Err(format!("{because}; but {why}"));
        }
        Ok((Outcome::Fail, because, self.measured()))
    }
}

/// Response time of a workload at a percentile.
struct AtPercentile {
    name: String,
    percentile: f64,
    /// [`Span::MAX`] if the request at the percentile was never sent, or not answered in time.
    within: Span,
    due: u64,
    never_sent: u64,
    unanswered: Unanswered,
}

fn at_percentile(
    record: &WorkloadRecord,
    index: usize,
    ran: &Phase,
    percentile: f64,
    at_most: Span,
) -> Result<AtPercentile, String> {
    let (name, phase) = (&record.name, &ran.name);
    let waiting = Unanswered::at_end(record, ran);
    let nothing = || match waiting.requests {
        0 => format!("{name} did nothing in {phase}"),
        requests => format!("{requests} requests of {name} were outstanding in {phase}, and none was answered"),
    };
    let tally = record.tallies.get(index).ok_or_else(nothing)?;
    let (ended, never_sent) = (tally.response.count(), tally.never_sent.unwrap_or(0));
    // Those outstanding for less may still be answered in time.
    let unanswered = if waiting.length > at_most { waiting } else { Unanswered::default() };
    let due = ended + never_sent + unanswered.requests;
    if due == 0 {
        return Err(nothing());
    }
    // With fewer requests the percentile is always the longest one.
    let needed = if percentile < 100.0 { (100.0 / (100.0 - percentile)).round() as u64 } else { 1 };
    if due < needed {
        return Err(format!("{name} made {due} requests in {phase}; {percentile} % of them takes at least {needed}"));
    }
    let rank = ((percentile / 100.0 * due as f64).ceil() as u64).max(1);
    let within = match rank <= ended {
        true if percentile >= 100.0 => tally.response.max(),
        true => tally.response.quantile(rank as f64 / ended as f64),
        false => Span::MAX,
    };
    Ok(AtPercentile { name: name.clone(), percentile, within, due, never_sent, unanswered })
}

impl AtPercentile {
    /// As text, with enough digits to tell it from the bound.
    fn beside(&self, bound: Span) -> String {
        let AtPercentile { name, percentile, within, due, never_sent, unanswered } = self;
        let Unanswered { requests, length } = unanswered;
        match *within {
            Span::MAX if *requests == 0 => {
                format!("{name}: {never_sent} of {due} requests that were due were never sent")
            }
            Span::MAX => {
                let unsent = if *never_sent > 0 { format!(", and {never_sent} never sent") } else { String::new() };
                format!("{name}: {requests} of {due} requests were not answered for {length} or longer{unsent}")
            }
            within => {
                format!("slowest: {name}, {percentile} % of {due} requests within {}", time_told(within, bound))
            }
        }
    }

    fn measured(&self, bound: Span) -> Option<Measured> {
        let milliseconds = |span: Span| span.as_secs_f64() * 1e3;
        (self.within < Span::MAX).then(|| measured(milliseconds(self.within), milliseconds(bound), "ms")).flatten()
    }
}

/// Requests that were outstanding while storage answered none of their workload's.
#[derive(Clone, Copy, Debug, Default)]
struct Unanswered {
    requests: u64,
    /// For at least so long.
    length: Span,
}

impl Unanswered {
    /// Those at the end of a phase, by its last seconds and those before it.
    ///
    /// ```text
    ///   answered ▕ 64 outstanding  ▕ none answered ▕ none answered ▕ end of the phase
    ///                              └──────── length of all 64 ─────┘
    /// ```
    fn at_end(record: &WorkloadRecord, ran: &Phase) -> Unanswered {
        let until = record.intervals.partition_point(|second| second.start < ran.end);
        let seconds = &record.intervals[..until];
        let is_unanswered =
            |second: &&Interval| second.response.is_none() && second.flushes == 0 && second.counts == Counts::default();
        let none = seconds.iter().rev().take_while(is_unanswered).count();
        let Some(before) = (until - none).checked_sub(1).map(|last| &seconds[last]) else {
            // Nothing was ever answered: what the first second left is as old as its end.
            let Some(first) = seconds.first() else { return Unanswered::default() };
            return Unanswered::since(first, ran.end);
        };
        Unanswered::since(before, ran.end)
    }

    fn since(second: &Interval, end: Span) -> Unanswered {
        let length = end.saturating_sub(second.start + second.length);
        Unanswered { requests: second.outstanding.unwrap_or(0).into(), length }
    }
}

/// Says that requests took too long that were made before the phase and ended in its first second,
/// which counts in neither phase.
fn settled_late(record: &WorkloadRecord, ran: &Phase, at_most: Span) -> Option<String> {
    let settling = intervals(record, ran).take_while(|second| second.start < ran.start + SETTLE);
    let took = |second: &Interval| {
        let longest = second.response.and_then(|times| times.max)?;
        let passed = (second.start + second.length).saturating_sub(ran.start);
        (longest > at_most.max(passed)).then_some(longest)
    };
    let (longest, phase) = (settling.filter_map(took).max()?, &ran.name);
    (ran.length() > SETTLE)
        .then(|| format!("; requests from before {phase} took up to {}, which counts in no phase", exact(longest)))
}
