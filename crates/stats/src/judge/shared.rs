//! The criterion on limits that several objects share.

use super::figure::told;
use super::{Answer, intervals, measured, phase_named, stalled_for, time};
use crate::criterion::Outcome;
use crate::recording::{HeldBy, LimitsInForce, ObjectRecord, Phase, Recording};
use block::Span;

/// Whether the members of every shared limit of a phase together reached it. A limit that passed
/// nothing and held nothing back had no members at work and is skipped.
pub(super) fn sum(recording: &Recording, phase: &str, tolerance: f64) -> Answer {
    let (index, ran) = phase_named(recording, phase)?;
    let groups = recording.objects.iter().enumerate().filter(|(_, object)| object.is_group);
    let shared = groups.filter_map(|(at, object)| Some(Shared { at, object, limits: object.limits.get(index)? }));
    let shared: Vec<Shared<'_>> = shared.filter(Shared::is_limited).collect();
    let used = shared.iter().filter(|shared| shared.is_used(recording, ran)).collect::<Vec<_>>();
    let judged = if used.is_empty() { shared.iter().collect() } else { used };
    let answers: Vec<Answer> = judged.iter().map(|shared| shared.sum(recording, ran, tolerance)).collect();
    // A failure outweighs "cannot say", and that outweighs a pass.
    let rank = |answer: &Answer| answer.as_ref().map_or(Outcome::CannotSay, |(outcome, ..)| *outcome);
    let worst = answers.into_iter().rev().max_by_key(rank);
    worst.unwrap_or_else(|| Err("no shared limit was in force".into()))
}

/// A shared limit in force.
struct Shared<'r> {
    /// Its index in [`Recording::objects`].
    at: usize,
    object: &'r ObjectRecord,
    limits: &'r LimitsInForce,
}

impl Shared<'_> {
    fn is_limited(&self) -> bool {
        self.limits.ceiling_iops.is_some() || self.limits.ceiling_bytes.is_some()
    }

    fn is_used(&self, recording: &Recording, ran: &Phase) -> bool {
        let passed = self.object.trace.peak(time(ran.start), time(ran.end));
        passed.is_none_or(|peak| peak.mean_ops > 0.0) || self.holds(recording, ran)
    }

    /// Whether it held anything back in the seconds that are judged, or may have: not every second
    /// names the limit.
    fn holds(&self, recording: &Recording, ran: &Phase) -> bool {
        let here = |at: Option<u32>| at.is_none_or(|at| at as usize == self.at);
        let seconds = recording.workloads.iter().flat_map(|workload| intervals(workload, ran));
        let mut seconds = seconds.filter(|second| second.start >= judged_from(ran));
        seconds.any(|second| match second.held_by {
            HeldBy::SharedIops | HeldBy::SharedThroughput => here(second.held_at),
            HeldBy::Stalled => true,
            _ => false,
        })
    }

    fn sum(&self, recording: &Recording, ran: &Phase, tolerance: f64) -> Answer {
        let (path, limits) = (&self.object.path, self.limits);
        let from = judged_from(ran);
        let peak = self.object.trace.peak(time(from), time(ran.end));
        let peak = peak.ok_or("no whole second of the phase is left behind its first")?;
        let iops = limits.ceiling_iops.map(|limit| ("IOPS", peak.mean_ops, limit));
        let bytes = limits.ceiling_bytes.map(|limit| ("bytes/s", peak.mean_bytes, limit));
        // Of the two limits the one with the higher utilisation binds.
        let part = |&(_, got, limit): &(&str, f64, u64)| got / limit.max(1) as f64;
        let fuller = iops.into_iter().chain(bytes).max_by(|a, b| part(a).total_cmp(&part(b)));
        let (unit, got, limit) = fuller.ok_or("no shared limit was in force")?;
        let part = part(&(unit, got, limit));
        let figure = measured(got, limit as f64, unit);
        let off = told(100.0 * (part - 1.0), &[-100.0 * tolerance, 100.0 * tolerance], 2);
        let sign = if off.starts_with('-') { "" } else { "+" };
        let because = format!("{path}: {got:.0} {unit} together, limit {limit} ({sign}{off} %)");
        if (part - 1.0).abs() <= tolerance {
            return Ok((Outcome::Pass, because, figure));
        }
        if part < 1.0 {
            if !self.holds(recording, ran) {
                return Err(format!("{because}; its members did not ask for more"));
            }
            let missing = (1.0 - tolerance - part) * ran.end.saturating_sub(from).as_secs_f64();
            stalled_for(ran, missing).map_or(Ok(()), |why| Err(format!("{because}; but {why}")))?;
        }
        Ok((Outcome::Fail, because, figure))
    }
}

/// Where the judged part of a phase begins: its first second is left out.
fn judged_from(ran: &Phase) -> Span {
    ran.start + crate::SETTLE.min(ran.length() / 2)
}
