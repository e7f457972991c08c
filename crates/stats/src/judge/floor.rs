//! The criterion on floors.
//!
//! A floor is a promise to an object, so it is met by all workloads of the object together. A
//! workload on several objects has the sum of their floors, since it is not known what it got from
//! each of them.

use super::figure::told;
use super::is_over;
use super::{Answer, EXCLUDED_LIMIT, SHORTEST, doubt, find_all, in_percent, intervals, is_silent, names, phase_named};
use crate::criterion::Outcome;
use crate::recording::{FloorOutcome, HeldBy, Interval, Phase, Recording, WorkloadRecord};
use std::collections::BTreeSet;

/// Whether the workloads got at least `part` of their floors in every second of a phase except its
/// first. Only seconds count in which the backend completed at least the sum of the floors, and in
/// which they asked for their floors.
pub(super) fn held(recording: &Recording, workloads: &[String], phase: &str, part: f64) -> Answer {
    let (index, ran) = phase_named(recording, phase)?;
    let named = find_all(recording, workloads)?;
    let covered = covered(recording, &named, index, ran)?;
    let needed = Amount::sum(covered.iter().map(|covered| covered.floor));
    let first = named.first().ok_or("no workload is named")?;
    // The first second is not judged, nor is a rest that is too short for a rate.
    let long = |(_, interval): &(usize, &Interval)| interval.length >= SHORTEST;
    let seconds: Vec<usize> = intervals(first, ran).enumerate().skip(1).filter(long).map(|(n, _)| n).collect();
    if seconds.is_empty() {
        return Err(format!("{phase} has no full second after its first, which is not judged; let it last longer"));
    }
    let (mut judged, mut excluded, mut unasked, mut missing) = (0usize, 0usize, Vec::new(), 0.0);
    let mut worst = (f64::INFINITY, String::new());
    for &second in &seconds {
        let short = |covered: &&Covered<'_>| covered.got(ran, second).part_of(covered.floor) < part;
        if let Some(content) = covered.iter().filter(short).find(|covered| covered.is_content(ran, second)) {
            unasked.push(content.names());
            continue;
        }
        // If the backend completed less than the sum of the floors, they could not be met.
        if Amount::sum(recording.workloads.iter().map(|w| got(w, ran, second))).part_of(needed) < 1.0 {
            excluded += 1;
            continue;
        }
        judged += 1;
        let mut least = part;
        for covered in &covered {
            let got = covered.got(ran, second);
            let got_part = got.part_of(covered.floor);
            least = least.min(got_part);
            if got_part < worst.0 {
                let beside = got.beside(covered.floor);
                worst = (got_part, format!("{} got {beside} in {} worst second", covered.names(), covered.whose()));
            }
        }
        missing += part - least;
    }
    let limit = EXCLUDED_LIMIT * seconds.len() as f64;
    if let Some(who) = unasked.first().filter(|_| judged == 0 || unasked.len() as f64 > limit) {
        return Err(format!("{who} did not ask for the floor in {} of {} seconds", unasked.len(), seconds.len()));
    }
    if judged == 0 || excluded as f64 > limit {
        return Err(format!("in {excluded} of {} seconds the backend did less than the sum of floors", seconds.len()));
    }
    let (unit, excluded) = (if judged == 1 { "second" } else { "seconds" }, excluded + unasked.len());
    let share = told(100.0 * worst.0, &[100.0 * part], 1);
    let because = format!("{} ({share} %); {judged} {unit} judged, {excluded} excluded", worst.1);
    if worst.0 >= part {
        return Ok((Outcome::Pass, because, in_percent(worst.0, part)));
    }
    match doubt(recording, workloads, phase, missing)? {
        Some(why) => Err(format!("{because}; but {why}")),
        None => Ok((Outcome::Fail, because, in_percent(worst.0, part))),
    }
}

/// A rate in operations, in bytes, or in both; for a floor the kinds that it is set in.
#[derive(Clone, Copy, Debug)]
struct Amount {
    iops: Option<f64>,
    bytes: Option<f64>,
}

impl Amount {
    /// The sum of each kind that all of them have.
    fn sum(all: impl Iterator<Item = Amount>) -> Amount {
        let add = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        all.fold(Amount { iops: Some(0.0), bytes: Some(0.0) }, |sum, more| Amount {
            iops: add(sum.iops, more.iops),
            bytes: add(sum.bytes, more.bytes),
        })
    }

    /// The fraction of a floor. Of a floor in both kinds the one reached first counts.
    fn part_of(self, floor: Amount) -> f64 {
        self.parts_of(floor).into_iter().flatten().fold(0.0, f64::max)
    }

    /// The fractions of a floor in operations and in bytes.
    fn parts_of(self, floor: Amount) -> [Option<f64>; 2] {
        let part = |got: Option<f64>, floor: Option<f64>| got.zip(floor).map(|(got, floor)| got / floor.max(1.0));
        [part(self.iops, floor.iops), part(self.bytes, floor.bytes)]
    }

    /// As text, in the kind that counts: `1900 of 2000 IOPS`.
    fn beside(self, floor: Amount) -> String {
        let [iops, bytes] = self.parts_of(floor);
        if bytes > iops {
            let [got, floor] = [self.bytes, floor.bytes].map(|bytes| bytes.unwrap_or(0.0) / 1e6);
            return format!("{got:.1} of {floor:.1} MB/s");
        }
        format!("{:.0} of {:.0} IOPS", self.iops.unwrap_or(0.0), floor.iops.unwrap_or(0.0))
    }
}

/// Workloads that have floors together: those of one object, or of several that a workload joins.
struct Covered<'r> {
    workloads: Vec<&'r WorkloadRecord>,
    floor: Amount,
}

impl Covered<'_> {
    fn names(&self) -> String {
        names(&self.workloads.iter().map(|record| record.name.clone()).collect::<Vec<_>>())
    }

    fn whose(&self) -> &'static str {
        if self.workloads.len() == 1 { "its" } else { "their" }
    }

    /// What they got together in a second of a phase.
    fn got(&self, ran: &Phase, second: usize) -> Amount {
        Amount::sum(self.workloads.iter().map(|record| got(record, ran, second)))
    }

    /// Whether none of them asked for more in that second.
    fn is_content(&self, ran: &Phase, second: usize) -> bool {
        let mut seconds = self.workloads.iter().filter_map(|record| intervals(record, ran).nth(second));
        seconds.all(|second| second.held_by == HeldBy::Pace || second.floor == FloorOutcome::Met || is_silent(second))
    }
}

fn got(record: &WorkloadRecord, ran: &Phase, second: usize) -> Amount {
    let interval = intervals(record, ran).nth(second);
    let rate = |of: fn(&Interval) -> f64| Some(interval.map_or(0.0, of));
    Amount { iops: rate(Interval::iops), bytes: rate(Interval::bytes_per_second) }
}

/// The named workloads with those that share their floors, each floor once.
fn covered<'r>(
    recording: &'r Recording,
    named: &[&'r WorkloadRecord],
    phase: usize,
    ran: &Phase,
) -> Result<Vec<Covered<'r>>, String> {
    let is_named = |record: &WorkloadRecord| named.iter().any(|named| named.name == record.name);
    let works = |record: &&WorkloadRecord| is_named(record) || !intervals(record, ran).all(is_silent);
    let owners = |record: &'r WorkloadRecord| (record, owners(recording, record, phase));
    let mut left: Vec<_> = recording.workloads.iter().filter(works).map(owners).collect();
    let mut all = Vec::new();
    for record in named {
        let Some(at) = left.iter().position(|(other, _)| other.name == record.name) else { continue };
        let (mut workloads, mut floors) = (vec![left[at].0], known(&left[at])?);
        left.remove(at);
        while let Some(at) = left.iter().position(|(_, over)| over.iter().flatten().any(|owner| floors.contains(owner)))
        {
            floors.extend(known(&left[at])?);
            workloads.push(left.remove(at).0);
        }
        let floor = Amount::sum(floors.iter().filter_map(|owner| floor(recording, *owner, phase)));
        if floor.iops.or(floor.bytes).is_none() {
            return Err(format!("{} has floors in IOPS and in MB/s, which do not add up", record.name));
        }
        all.push(Covered { workloads, floor });
    }
    Ok(all)
}

/// The owners of the floors over each object that a workload uses, which must all have one.
fn known((record, owners): &(&WorkloadRecord, Vec<Option<usize>>)) -> Result<BTreeSet<usize>, String> {
    let name = &record.name;
    match owners.iter().flatten().count() {
        0 => Err(format!("{name} has no floor in IOPS or MB/s")),
        some if some < owners.len() => Err(format!("{name} also uses storage without a floor in IOPS or MB/s")),
        _ => Ok(owners.iter().flatten().copied().collect()),
    }
}

/// For each object that a workload uses, the one over it with the largest floor: an index in
/// [`Recording::objects`].
fn owners(recording: &Recording, record: &WorkloadRecord, phase: usize) -> Vec<Option<usize>> {
    let owner = |used: &str| {
        let objects = recording.objects.iter().enumerate().filter(|(_, object)| is_over(&object.path, used));
        let floors = objects.filter_map(|(at, _)| Some((at, floor(recording, at, phase)?)));
        let size = |floor: &Amount| (floor.iops, floor.bytes);
        let largest = floors
            .max_by(|(_, one), (_, other)| size(one).partial_cmp(&size(other)).unwrap_or(std::cmp::Ordering::Equal));
        largest.map(|(at, _)| at)
    };
    record.object.split(", ").map(owner).collect()
}

/// The floor in force for an object.
fn floor(recording: &Recording, object: usize, phase: usize) -> Option<Amount> {
    let limits = recording.objects[object].limits.get(phase)?;
    limits.floor_iops.or(limits.floor_bytes)?;
    let [iops, bytes] = [limits.floor_iops, limits.floor_bytes].map(|rate| rate.map(|rate| rate as f64));
    Some(Amount { iops, bytes })
}
