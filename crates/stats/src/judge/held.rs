//! Criteria on what held workloads back.

use super::{Answer, find_all, intervals, is_silent, phase_named};
use crate::criterion::Outcome;
use crate::recording::{HeldBy, Recording};
use std::collections::BTreeMap;

/// The cause as part of a sentence.
pub(super) fn cause(by: HeldBy) -> String {
    let said = match by {
        HeldBy::CeilingIops => "a ceiling in IOPS",
        HeldBy::CeilingThroughput => "a ceiling in MB/s",
        HeldBy::SharedIops => "a shared limit in IOPS",
        HeldBy::SharedThroughput => "a shared limit in MB/s",
        HeldBy::Stalled => "a stalled server",
        HeldBy::Burst => "the network's burst",
        other => return other.to_string(),
    };
    said.into()
}

/// Whether each workload was held back by `cause` in most seconds of a phase in which it made
/// requests.
pub(super) fn by(recording: &Recording, workloads: &[String], phase: &str, cause: HeldBy) -> Answer {
    let (index, ran) = phase_named(recording, phase)?;
    let mut odd = None;
    let mut last = None;
    for record in find_all(recording, workloads)? {
        let mut seconds: BTreeMap<HeldBy, usize> = BTreeMap::new();
        let whole = || intervals(record, ran).skip(1);
        if whole().next().is_some() && whole().all(is_silent) {
            return Err(format!("{} asked for nothing in {phase}", record.name));
        }
        whole().filter(|second| !is_silent(second)).for_each(|second| *seconds.entry(second.held_by).or_default() += 1);
        let all: usize = seconds.values().sum();
        let most = seconds.into_iter().max_by_key(|(_, count)| *count);
        let (most, count) = most.ok_or_else(|| format!("{} has no whole second in {phase}", record.name))?;
        let rate = record.tallies.get(index).map_or(0.0, |tally| tally.bytes_per_second() / 1e6);
        let said = format!("{} by {} in {count} of {all} s, at {rate:.1} MB/s", record.name, self::cause(most));
        *if most == cause { &mut last } else { &mut odd } = Some(said);
    }
    let outcome = if odd.is_none() { Outcome::Pass } else { Outcome::Fail };
    Ok((outcome, odd.or(last).ok_or("no workload is named")?, None))
}
