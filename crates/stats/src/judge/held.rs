//! Criteria on what held workloads back.

use super::{Answer, find_all, intervals, is_silent, phase_named, stalled_for};
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

/// Whether each workload was held back by `cause` in more than half of the seconds of a phase in
/// which it made requests.
pub(super) fn by(recording: &Recording, workloads: &[String], phase: &str, cause: HeldBy) -> Answer {
    let (index, ran) = phase_named(recording, phase)?;
    let (mut odd, mut doubtful, mut last) = (None, None, None);
    for record in find_all(recording, workloads)? {
        let mut seconds: BTreeMap<HeldBy, usize> = BTreeMap::new();
        let whole = || intervals(record, ran).skip(1);
        if whole().next().is_some() && whole().all(is_silent) {
            return Err(format!("{} asked for nothing in {phase}", record.name));
        }
        whole().filter(|second| !is_silent(second)).for_each(|second| *seconds.entry(second.held_by).or_default() += 1);
        let all: usize = seconds.values().sum();
        let count = |by: HeldBy| seconds.get(&by).copied().unwrap_or(0);
        // Of equals, the one asked for is told first.
        let most = seconds.iter().max_by_key(|(by, count)| (**count, **by == cause));
        let most = *most.ok_or_else(|| format!("{} has no whole second in {phase}", record.name))?.0;
        let rate = record.tallies.get(index).map_or(0.0, |tally| tally.bytes_per_second() / 1e6);
        let mut said = format!("{} by {} in {} of {all} s", record.name, self::cause(most), count(most));
        if most != cause && count(cause) > 0 {
            said += &format!(", by {} in {}", self::cause(cause), count(cause));
        }
        said += &format!(", at {rate:.1} MB/s");
        if 2 * count(cause) > all {
            last = Some(said);
            continue;
        }
        // The seconds that were lost to stalls might have been of this cause.
        let missing = all as f64 / 2.0 - count(cause) as f64;
        let stalled = count(HeldBy::Stalled);
        let doubt = match stalled_for(ran, missing) {
            _ if cause == HeldBy::Stalled => None,
            None if 2 * (count(cause) + stalled) > all => {
                Some(format!("the server was stalled in {stalled} of {all} s"))
            }
            known => known,
        };
        match doubt {
            Some(why) => doubtful = Some(format!("{said}; but {why}")),
            None => odd = Some(said),
        }
    }
    match (odd, doubtful) {
        (Some(odd), _) => Ok((Outcome::Fail, odd, None)),
        (None, Some(doubtful)) => Err(doubtful),
        (None, None) => Ok((Outcome::Pass, last.ok_or("no workload is named")?, None)),
    }
}
