//! The limits in force: their workloads, whether these reach them, and a sentence for each.

use super::{BINDING_PART, add_once, listed, numbers, used, volume};
use crate::text;
use block::Span;
use stats::{BurstAllowed, LimitsInForce, ObjectRecord, Recording, Tally};

/// A ceiling in force in a phase.
#[derive(Debug)]
pub(crate) struct Ceiling<'r> {
    /// Index of the phase.
    pub phase: usize,
    /// The policy group's name; may be empty.
    pub policy: &'r str,
    /// Indices of the workloads under it.
    pub workloads: Vec<usize>,
    /// The names of their volumes under it.
    pub volumes: Vec<&'r str>,
    /// Whether all of them share it.
    pub shared: bool,
    /// Operations per second, and whether they were reached.
    pub iops: Option<Bound>,
    /// Bytes per second, and whether they were reached.
    pub bytes: Option<Bound>,
    /// What may pass above it for a while.
    burst: Option<BurstAllowed>,
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    /// The number, per second.
    pub limit: f64,
    /// Whether the workloads under it reached it together.
    pub binds: bool,
}

/// Every ceiling of every phase with a workload under it. A shared group's ceiling appears once and
/// not for its members; equal ceilings of one policy group on several objects are merged, with the
/// workloads of all.
pub(crate) fn ceilings(recording: &Recording) -> Vec<Ceiling<'_>> {
    let mut all: Vec<Ceiling<'_>> = Vec::new();
    for phase in 0..recording.phases.len() {
        for ceiling in recording.objects.iter().filter_map(|object| ceiling(recording, object, phase)) {
            match all.iter_mut().find(|other| other.equals(&ceiling)) {
                Some(other) => other.join(&ceiling),
                None => all.push(ceiling),
            }
        }
    }
    all
}

impl<'r> Ceiling<'r> {
    /// As a sentence: `policy1: vol1 and vol2 each at most 1,000 IOPS or 100 MB/s`.
    pub(crate) fn sentence(&self) -> String {
        let how = match (self.volumes.len(), self.shared) {
            (..=1, _) => "",
            (_, true) => " together",
            (_, false) => " each",
        };
        let numbers = numbers(self.iops.map(|bound| bound.limit), self.bytes.map(|bound| bound.limit), " or ");
        let burst = self.burst.map(|BurstAllowed { ppm, duration }| {
            format!(", in bursts {} % more for {duration}", text::short(ppm as f64 / 1e4))
        });
        let burst = burst.unwrap_or_default();
        format!("{}{}{how} at most {numbers}{burst}", prefix(self.policy), listed(&self.volumes, " and "))
    }

    /// Operations and bytes per second of its workloads together, over its phase.
    pub(crate) fn together(&self, recording: &Recording) -> (f64, f64) {
        let tallies = self.workloads.iter().filter_map(|&index| recording.workloads[index].tallies.get(self.phase));
        tallies.fold((0.0, 0.0), |sum, tally| (sum.0 + tally.iops(), sum.1 + tally.bytes_per_second()))
    }

    fn equals(&self, other: &Ceiling<'_>) -> bool {
        let numbers = |ceiling: &Ceiling<'_>| [ceiling.iops, ceiling.bytes].map(|bound| bound.map(|bound| bound.limit));
        let same = self.phase == other.phase && self.policy == other.policy && numbers(self) == numbers(other);
        same && self.burst == other.burst && !self.shared && !other.shared
    }

    /// Merges an equal ceiling; it binds if either does.
    fn join(&mut self, other: &Ceiling<'r>) {
        add_once(&mut self.workloads, other.workloads.iter().copied());
        add_once(&mut self.volumes, other.volumes.iter().copied());
        for (mine, theirs) in [(&mut self.iops, other.iops), (&mut self.bytes, other.bytes)] {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                mine.binds |= theirs.binds;
            }
        }
    }
}

/// The limits in force in a phase (counted from 0) as sentences like in the table, for the live
/// view.
pub fn in_force(recording: &Recording, phase: usize) -> Vec<String> {
    limits_in_force(recording, &ceilings(recording), phase)
}

/// All limits in force in a phase as sentences: ceilings, then floors.
pub(crate) fn limits_in_force(recording: &Recording, ceilings: &[Ceiling<'_>], phase: usize) -> Vec<String> {
    let ceilings = ceilings.iter().filter(|ceiling| ceiling.phase == phase).map(Ceiling::sentence);
    let floors = floors(recording).into_iter().filter(|floor| floor.phase == phase);
    let idle = recording.objects.iter().filter(|object| under(recording, object, phase).workloads.is_empty());
    let floors: Vec<String> = floors.map(|floor| floor.sentence()).collect();
    ceilings.chain(floors).chain(idle.filter_map(|object| idle_floor(object, phase))).collect()
}

/// A floor in force in a phase.
#[derive(Debug, PartialEq)]
pub(crate) struct Floor<'r> {
    /// Index of the phase.
    pub phase: usize,
    /// The names of its volumes.
    pub volumes: Vec<&'r str>,
    /// Least operations per second.
    pub iops: Option<f64>,
    /// Least bytes per second.
    pub bytes: Option<f64>,
    /// The most that half of the requests take.
    latency: Option<Span>,
    policy: &'r str,
}

/// Every floor of every phase with a workload under it; equal floors of one policy group are
/// merged, each for its own workloads.
pub(crate) fn floors(recording: &Recording) -> Vec<Floor<'_>> {
    let mut all: Vec<Floor<'_>> = Vec::new();
    for phase in 0..recording.phases.len() {
        for object in &recording.objects {
            let Some(limits) = object.limits.get(phase) else { continue };
            let Under { workloads, volumes, .. } = under(recording, object, phase);
            if !has_floor(limits) || workloads.is_empty() {
                continue;
            }
            let [iops, bytes] = [limits.floor_iops, limits.floor_bytes].map(|number| number.map(|n| n as f64));
            let latency = limits.floor_latency;
            let found = Floor { phase, volumes, iops, bytes, latency, policy: &limits.policy };
            let same = |other: &&mut Floor<'_>| {
                let same = (other.phase, other.iops, other.bytes, other.latency) == (phase, iops, bytes, latency);
                same && other.policy == found.policy
            };
            match all.iter_mut().find(same) {
                Some(other) => add_once(&mut other.volumes, found.volumes),
                None => all.push(found),
            }
        }
    }
    all
}

impl Floor<'_> {
    /// As a sentence: `gold: vol2 and vol3 each at least 2,000 IOPS`.
    fn sentence(&self) -> String {
        let each = if self.volumes.len() > 1 { " each" } else { "" };
        let promise = promise(self.iops, self.bytes, self.latency);
        format!("{}{}{each} {promise}", prefix(self.policy), listed(&self.volumes, " and "))
    }
}

fn has_floor(limits: &LimitsInForce) -> bool {
    limits.floor_iops.or(limits.floor_bytes).is_some() || limits.floor_latency.is_some()
}

/// What a floor promises: `at least 2,000 IOPS`, `half of the requests within 5.00 ms`.
fn promise(iops: Option<f64>, bytes: Option<f64>, latency: Option<Span>) -> String {
    let rate = iops.or(bytes).map(|_| format!("at least {}", numbers(iops, bytes, " or ")));
    let latency = latency.map(|span| format!("half of the requests within {span}"));
    rate.into_iter().chain(latency).collect::<Vec<_>>().join(", ")
}

/// A floor of an object that no workload uses: `gold: svm01:/vol/vol3 at least 2,000 IOPS`.
fn idle_floor(object: &ObjectRecord, phase: usize) -> Option<String> {
    let limits = object.limits.get(phase).filter(|limits| has_floor(limits))?;
    let [iops, bytes] = [limits.floor_iops, limits.floor_bytes].map(|number| number.map(|n| n as f64));
    Some(format!("{}{} {}", prefix(&limits.policy), object.path, promise(iops, bytes, limits.floor_latency)))
}

fn prefix(policy: &str) -> String {
    if policy.is_empty() { String::new() } else { format!("{policy}: ") }
}

fn ceiling<'r>(recording: &'r Recording, object: &'r ObjectRecord, phase: usize) -> Option<Ceiling<'r>> {
    let limits = object.limits.get(phase)?;
    let in_group = |group: &ObjectRecord| is_member(object, group, phase) && has_ceiling(group, phase);
    if recording.objects.iter().any(in_group) {
        return None;
    }
    let Under { workloads, volumes, whole } = under(recording, object, phase);
    let bound = |limit: Option<u64>, rate: fn(&Tally) -> f64| {
        let reached: f64 =
            workloads.iter().filter_map(|&index| recording.workloads[index].tallies.get(phase)).map(rate).sum();
        limit.map(|limit| Bound { limit: limit as f64, binds: whole && reached >= limit as f64 * BINDING_PART })
    };
    let (iops, bytes) = (bound(limits.ceiling_iops, Tally::iops), bound(limits.ceiling_bytes, Tally::bytes_per_second));
    if workloads.is_empty() || (iops.is_none() && bytes.is_none()) {
        return None;
    }
    let policy = if object.is_group { &object.path } else { &limits.policy };
    Some(Ceiling { phase, policy, workloads, volumes, shared: object.is_group, iops, bytes, burst: limits.burst })
}

/// The workloads under an object's policy in a phase.
struct Under<'r> {
    /// Indices of the workloads.
    workloads: Vec<usize>,
    /// Names of the volumes by which they are under it.
    volumes: Vec<&'r str>,
    /// Whether everything that these workloads use is under it, so that all of their load counts.
    whole: bool,
}

/// The workloads under an object, or under the members of a shared group, in a phase.
fn under<'r>(recording: &'r Recording, object: &ObjectRecord, phase: usize) -> Under<'r> {
    let mut holders = recording.objects.iter().filter(|holder| is_member(holder, object, phase)).collect::<Vec<_>>();
    if !object.is_group {
        holders.push(object);
    }
    let mut found = Under { workloads: Vec::new(), volumes: Vec::new(), whole: true };
    for (index, workload) in recording.workloads.iter().enumerate() {
        let is_held = |path: &&str| holders.iter().any(|holder| is_under(path, holder));
        let held: Vec<&str> = used(workload).filter(is_held).map(volume).collect();
        if !held.is_empty() {
            found.workloads.push(index);
            found.whole &= held.len() == used(workload).count();
            add_once(&mut found.volumes, held);
        }
    }
    found
}

/// Whether an object is under a shared group's policy in a phase. A group's name may be prefixed by
/// its SVM.
fn is_member(object: &ObjectRecord, group: &ObjectRecord, phase: usize) -> bool {
    let named = |policy: &str| group.path == policy || group.path.rsplit(':').next() == Some(policy);
    group.is_group && !object.is_group && object.limits.get(phase).is_some_and(|limits| named(&limits.policy))
}

fn has_ceiling(object: &ObjectRecord, phase: usize) -> bool {
    object.limits.get(phase).is_some_and(|limits| limits.ceiling_iops.or(limits.ceiling_bytes).is_some())
}

/// Whether the path that a workload uses is this object or below it.
fn is_under(used: &str, object: &ObjectRecord) -> bool {
    let rest = used.strip_prefix(object.path.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with(":/"))
}
