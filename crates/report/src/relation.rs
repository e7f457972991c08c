//! Relations in a recording: the phase of an interval, the volume of a workload, the workloads
//! under a ceiling. Table, page and picture all use them, so that they agree.

mod limits;

pub use limits::in_force;
pub(crate) use limits::{Bound, Ceiling, Floor, ceilings, floors, limits_in_force};

use crate::text;
use block::Span;
use stats::{FloorOutcome, HeldBy, Interval, Phase, Recording, SETTLE, Tally, Waits, WorkloadRecord};
use std::borrow::Cow;

/// A ceiling counts as binding if its workloads together reach this fraction of it.
const BINDING_PART: f64 = 0.95;

/// Index of the phase that contains an interval's middle; `None` between phases.
pub(crate) fn phase_of(phases: &[Phase], interval: &Interval) -> Option<usize> {
    let middle = interval.start + interval.length / 2;
    phases.iter().position(|phase| phase.start <= middle && middle < phase.end)
}

/// The intervals with meaningful rates: a last one shorter than half of the one before is left out,
/// because a few requests are no rate.
pub(crate) fn with_rates(workload: &WorkloadRecord) -> &[Interval] {
    match workload.intervals.as_slice() {
        [whole @ .., before, last] if last.length * 2 < before.length => &workload.intervals[..whole.len() + 1],
        all => all,
    }
}

/// The interval of a workload that contains an instant.
pub(crate) fn interval_at(workload: &WorkloadRecord, moment: Span) -> Option<&Interval> {
    let before = workload.intervals.partition_point(|interval| interval.start <= moment);
    let interval = workload.intervals.get(before.checked_sub(1)?)?;
    (moment < interval.start + interval.length).then_some(interval)
}

/// The waits of a second; `None` where requests ended whose times at the server are not known, as
/// of one of several workloads on a LUN.
pub(crate) fn waits(interval: &Interval) -> Option<&Waits> {
    (interval.service.is_some() || interval.response.is_none()).then_some(&interval.waits)
}

/// The mean wait in the QoS gate, for any cause; `None` if not known.
pub(crate) fn in_gate(interval: &Interval) -> Option<Span> {
    waits(interval).map(|waits| waits.ceiling + waits.floors + waits.turn)
}

/// Whether a run has information from a QoS gate: a wait in it, what held a workload back, or a
/// floor. Limits alone do not show their effect.
pub(crate) fn has_gate(recording: &Recording) -> bool {
    let told = |interval: &Interval| {
        in_gate(interval) > Some(Span::ZERO)
            || interval.held_by != HeldBy::Nothing
            || interval.floor != FloorOutcome::NotSet
    };
    recording.workloads.iter().any(|workload| workload.intervals.iter().any(told))
}

/// The mean time in the disk from the server; without a server, the mean service time. `None`
/// without requests.
pub(crate) fn in_disk(interval: &Interval) -> Option<Span> {
    interval.service.map(|times| times.mean)
}

/// The median of a second's response times, if percentiles are known.
pub(crate) fn p50(interval: &Interval) -> Option<Span> {
    interval.response.and_then(|times| times.p50())
}

/// The mean of a second's response times.
pub(crate) fn mean(interval: &Interval) -> Option<Span> {
    interval.response.map(|times| times.mean)
}

/// The maximum of a second's response times, if known.
pub(crate) fn longest(interval: &Interval) -> Option<Span> {
    interval.response.and_then(|times| times.max)
}

/// The 99th percentile of a second's response times, if percentiles are known.
pub(crate) fn p99(interval: &Interval) -> Option<Span> {
    interval.response.and_then(|times| times.p99())
}

/// A short name of a workload's volume: `vol1` for `svm01:/vol/vol1/lun1`, otherwise the whole
/// path. For several volumes their number.
pub(crate) fn volume_of(workload: &WorkloadRecord) -> Cow<'_, str> {
    let mut volumes = Vec::new();
    add_once(&mut volumes, used(workload).map(volume));
    match volumes[..] {
        [one] => one.into(),
        _ => text::count(volumes.len(), "volume", "volumes").into(),
    }
}

/// The objects that a workload uses: one, or several in a list, as for a host of an experiment.
fn used(workload: &WorkloadRecord) -> impl Iterator<Item = &str> {
    workload.object.split(", ")
}

fn volume(path: &str) -> &str {
    let name = path.split_once("/vol/").and_then(|(_, rest)| rest.split('/').next());
    name.filter(|name| !name.is_empty()).unwrap_or(path)
}

fn add_once<T: PartialEq>(to: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for one in more {
        if !to.contains(&one) {
            to.push(one);
        }
    }
}

/// Path of the object, or name of the group, whose ceiling held a workload back.
pub(crate) fn held_at<'r>(recording: &'r Recording, interval: &Interval) -> Option<&'r str> {
    recording.objects.get(interval.held_at? as usize).map(|object| object.path.as_str())
}

/// What held a workload back, with the owner of the ceiling: `ceiling of vol1 (IOPS)`, `others'
/// floors`.
pub(crate) fn held(recording: &Recording, interval: &Interval) -> String {
    let Some(unit) = unit(interval.held_by) else { return interval.held_by.to_string() };
    match (held_at(recording, interval), interval.held_by) {
        (None, held_by) => held_by.to_string(),
        (Some(group), HeldBy::SharedIops | HeldBy::SharedThroughput) => format!("shared {group} ({unit})"),
        (Some(path), _) => format!("ceiling of {} ({unit})", short(path)),
    }
}

/// What held a workload back in its last second, in at most 14 characters: the unit if the ceiling
/// is its own or its volume's, otherwise its owner.
pub fn held_back(recording: &Recording, workload: &WorkloadRecord) -> String {
    let Some(last) = workload.intervals.last() else { return String::new() };
    let words = match (held_at(recording, last), last.held_by) {
        (Some(path), HeldBy::CeilingIops | HeldBy::CeilingThroughput) if short(path) != volume_of(workload) => {
            format!("ceiling {}", short(path))
        }
        (Some(group), HeldBy::SharedIops | HeldBy::SharedThroughput) => format!("shared {group}"),
        _ => last.held_by.to_string(),
    };
    // Half a name says less than the unit.
    if text::width(&words) > HELD_MOST { last.held_by.to_string() } else { words }
}

/// Room in the live view.
const HELD_MOST: usize = 14;

fn unit(held_by: HeldBy) -> Option<&'static str> {
    match held_by {
        HeldBy::CeilingIops | HeldBy::SharedIops => Some("IOPS"),
        HeldBy::CeilingThroughput | HeldBy::SharedThroughput => Some("MB/s"),
        _ => None,
    }
}

/// In how many of a phase's seconds the floor that covers a workload was missed, and the most
/// frequent reason. The first second is left out, as in all figures.
pub(crate) fn floor_remark(recording: &Recording, workload: &WorkloadRecord, phase: usize) -> Option<String> {
    let start = recording.phases.get(phase)?.start;
    let within = |interval: &&Interval| {
        phase_of(&recording.phases, interval) == Some(phase) && interval.start >= start + SETTLE.min(Span::SECOND)
    };
    let floors: Vec<FloorOutcome> = workload.intervals.iter().filter(within).map(|interval| interval.floor).collect();
    let kind = |floor: &FloorOutcome| std::mem::discriminant(floor);
    let count = |of: &FloorOutcome| floors.iter().filter(|floor| kind(floor) == kind(of)).count();
    let missed = floors.iter().filter(|floor| floor.is_short()).count();
    // Of a reason's numbers the last one is shown.
    let why = floors.iter().filter(|floor| floor.is_short()).max_by_key(|floor| count(floor))?;
    Some(format!("floor missed in {missed} of {} seconds: {why}", floors.len()))
}

/// The last component of a path: `vol1` for `svm01:/vol/vol1`, `svm01` for itself.
fn short(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The end of the last phase or interval, whichever is later.
pub(crate) fn end_of(recording: &Recording) -> Span {
    let phases = recording.phases.iter().map(|phase| phase.end);
    let intervals = recording.workloads.iter().filter_map(|workload| workload.intervals.last());
    phases.chain(intervals.map(|last| last.start + last.length)).max().unwrap_or(Span::ZERO)
}

/// Warnings about a workload's phase that must not be overlooked.
pub(crate) fn remarks(tally: &Tally) -> Vec<String> {
    let mut remarks = Vec::new();
    if tally.counts.faults > 0 {
        remarks.push(format!("{} failed", text::count(tally.counts.faults as usize, "operation", "operations")));
    }
    if let Some(late) = tally.late.filter(|late| *late > 0) {
        let late = text::count(late as usize, "request was made late", "requests were made late");
        remarks.push(format!("{late}, by up to {}", tally.late_max.unwrap_or_default()));
    }
    if let Some(never) = tally.never_sent.filter(|never| *never > 0) {
        let never = text::count(never as usize, "request that was due was", "requests that were due were");
        remarks.push(format!("{never} not sent by the end of the phase"));
    }
    remarks
}

/// A workload's rates as in tables, operations and MB a second: dashes if nothing was measured, as
/// in a phase that was cut short within its first second. Transactions among requests have their
/// unit.
pub(crate) fn rates(recording: &Recording, workload: &WorkloadRecord, tally: &Tally) -> [String; 2] {
    let [unit, of_run] = [workload.rate_unit(), recording.origin.rate_unit()];
    let unit = if unit == of_run || recording.origin.transactions { String::new() } else { format!(" {unit}") };
    match tally.length {
        Span::ZERO => ["–".into(), "–".into()],
        _ => {
            let megabytes = text::megabytes_or_dash(&tally.counts, tally.bytes_per_second());
            [text::iops(tally.iops()) + &unit, megabytes]
        }
    }
}

/// The write cycles of a workload in a phase, one line; `None` if there are none.
pub(crate) fn cycles(workload: &WorkloadRecord, phase: usize) -> Option<String> {
    let cycles = || workload.cycles.iter().filter(|cycle| cycle.phase as usize == phase);
    let longest = cycles().map(|cycle| cycle.cycle).max()?;
    let wij = cycles().map(|cycle| cycle.wij).max().unwrap_or_default();
    let number = text::count(cycles().count(), "write cycle", "write cycles");
    let seconds = |span: Span| text::significant(span.as_secs_f64());
    Some(format!("{number}, the longest {} s; longest journal {} s", seconds(longest), seconds(wij)))
}

fn numbers(iops: Option<f64>, bytes: Option<f64>, between: &str) -> String {
    let iops = iops.map(|limit| text::iops(limit) + " IOPS");
    let bytes = bytes.map(|limit| text::short(limit / 1e6) + " MB/s");
    iops.into_iter().chain(bytes).collect::<Vec<_>>().join(between)
}

/// A list of names; three or more with consecutive numbers are shortened to the first and the last:
/// `db1–4`.
pub(crate) fn listed<'n>(names: &[&'n str], between: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = names;
    while let [first, behind @ ..] = rest {
        let follows = |(ahead, name): (usize, &'n str)| {
            let (one, next) = (numbered(first)?, numbered(name)?);
            let number = one.number.checked_add(ahead as u64 + 1)?;
            // With leading zeros all numbers must have as many digits.
            let alike = one.digits == next.digits || !(one.is_filled || next.is_filled);
            (next.stem == one.stem && next.number == number && alike).then_some(next.text)
        };
        let run: Vec<&str> = behind.iter().copied().enumerate().map_while(follows).collect();
        match run[..] {
            [_, .., last] => parts.push(format!("{first}–{last}")),
            _ => parts.push((*first).into()),
        }
        rest = if run.len() > 1 { &behind[run.len()..] } else { behind };
    }
    parts.join(between)
}

/// A name that ends with a number.
struct Numbered<'n> {
    stem: &'n str,
    text: &'n str,
    number: u64,
    digits: usize,
    /// Whether the number has leading zeros.
    is_filled: bool,
}

fn numbered(name: &str) -> Option<Numbered<'_>> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let text = &name[stem.len()..];
    let number = text.parse().ok().filter(|_| !stem.is_empty())?;
    Some(Numbered { stem, text, number, digits: text.len(), is_filled: text.len() > 1 && text.starts_with('0') })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{Counts, LimitsInForce, ObjectRecord};

    fn workload(object: &str, iops: u64) -> WorkloadRecord {
        let counts = Counts { reads: iops, read_bytes: iops * 4096, ..Counts::default() };
        let tally = Tally { length: Span::SECOND, counts, ..Tally::default() };
        WorkloadRecord { object: object.into(), tallies: vec![tally], ..WorkloadRecord::default() }
    }

    fn object(path: &str, is_group: bool, policy: &str, ceiling_iops: Option<u64>) -> ObjectRecord {
        let limits = vec![LimitsInForce { policy: policy.into(), ceiling_iops, ..LimitsInForce::default() }];
        ObjectRecord { path: path.into(), is_group, limits, ..ObjectRecord::default() }
    }

    fn recording(workloads: Vec<WorkloadRecord>, objects: Vec<ObjectRecord>) -> Recording {
        Recording { phases: vec![Phase::default()], workloads, objects, ..Recording::default() }
    }

    /// Of one of several workloads on a LUN the times at the server are unknown; a second without
    /// requests waited for nothing.
    #[test]
    fn an_unknown_wait_is_not_0() {
        let times = Some(stats::run::Times::default());
        let second = |response, service| Interval { response, service, ..Interval::default() };
        let all = [second(times, None), second(times, times), second(None, None)];
        assert_eq!(all.map(|second| in_gate(&second)), [None, Some(Span::ZERO), Some(Span::ZERO)]);
    }

    #[test]
    fn a_ceiling_is_over_the_workloads_below_its_object_and_no_others() {
        let workloads = vec![workload("svm01:/vol/vol1/lun1", 94), workload("svm01:/vol/vol11/lun1", 500)];
        let recording = recording(workloads, vec![object("svm01:/vol/vol1", false, "gold", Some(100))]);
        let found = ceilings(&recording);
        assert_eq!((found.len(), &found[0].workloads[..], found[0].policy), (1, &[0][..], "gold"));
        // 94 of 100 is below 95 %.
        assert_eq!(found[0].iops, Some(Bound { limit: 100.0, binds: false }));
        assert_eq!(found[0].bytes, None);
    }

    #[test]
    fn members_of_a_shared_group_reach_its_ceiling_together() {
        let workloads =
            vec![workload("svm01:/vol/vol1", 40), workload("svm01:/vol/vol2", 55), workload("svm01:/vol/vol3", 9)];
        let objects = vec![
            object("svm01:/vol/vol1", false, "both", Some(100)),
            object("svm01:/vol/vol2", false, "both", None),
            object("svm01:/vol/vol3", false, "", None),
            object("both", true, "both", Some(100)),
        ];
        let recording = recording(workloads, objects);
        let found = ceilings(&recording);
        // 40 + 55 is 95 % of 100.
        assert_eq!((found.len(), &found[0].workloads[..], found[0].shared), (1, &[0, 1][..], true));
        assert_eq!(found[0].iops, Some(Bound { limit: 100.0, binds: true }));
    }

    #[test]
    fn what_is_in_force_is_said_in_sentences() {
        let workloads =
            vec![workload("svm01:/vol/vol1", 1), workload("svm01:/vol/vol2", 1), workload("svm01:/vol/vol3", 1)];
        let mut floor = object("svm01:/vol/vol3", false, "gold", None);
        (floor.limits[0].floor_iops, floor.limits[0].floor_bytes) = (Some(2000), Some(8_000_000));
        let objects = vec![
            object("svm01:/vol/vol1", false, "own", Some(1000)),
            object("svm01:/vol/vol2", false, "own", Some(1000)),
            floor,
        ];
        let recording = recording(workloads, objects);
        let sentences = limits_in_force(&recording, &ceilings(&recording), 0);
        assert_eq!(
            sentences,
            ["own: vol1 and vol2 each at most 1,000 IOPS", "gold: vol3 at least 2,000 IOPS or 8 MB/s"]
        );
        let mut bursts = recording;
        let burst = Some(stats::BurstAllowed { ppm: 500_000, duration: Span::SECOND });
        bursts.objects[0].limits[0].burst = burst;
        let limits = &mut bursts.objects[2].limits[0];
        (limits.floor_bytes, limits.floor_latency) = (None, Some(Span::from_millis(5)));
        assert_eq!(
            limits_in_force(&bursts, &ceilings(&bursts), 0),
            [
                "own: vol1 at most 1,000 IOPS, in bursts 50 % more for 1.00 s",
                "own: vol2 at most 1,000 IOPS",
                "gold: vol3 at least 2,000 IOPS, half of the requests within 5.00 ms"
            ]
        );
        bursts.objects[2].limits[0].floor_iops = None;
        let latency = limits_in_force(&bursts, &ceilings(&bursts), 0).pop();
        assert_eq!(latency.as_deref(), Some("gold: vol3 half of the requests within 5.00 ms"));
    }

    /// Two hosts of four volumes each, the first of each host larger than the others: a sentence
    /// for each limit, with every volume that has it. A ceiling does not bind because of a host's
    /// load on its other volumes.
    #[test]
    fn a_host_of_several_volumes_is_under_what_is_on_any_of_them() {
        let paths = |host: u32| (1..=4).map(move |n| format!("svm01:/vol/h{host}_db{n}"));
        let on_all = |host| workload(&paths(host).map(|path| path + "/lun1").collect::<Vec<_>>().join(", "), 5000);
        let object = |path: String| {
            let mut object = object(&path, false, "gold", Some(if path.ends_with('1') { 800 } else { 600 }));
            object.limits[0].floor_iops = object.limits[0].ceiling_iops.map(|ceiling| ceiling / 2);
            object
        };
        let recording = recording(vec![on_all(1), on_all(2)], paths(1).chain(paths(2)).map(object).collect());
        let ceilings = ceilings(&recording);
        let sentences = [
            "gold: h1_db1 and h2_db1 each at most 800 IOPS",
            "gold: h1_db2–4 and h2_db2–4 each at most 600 IOPS",
            "gold: h1_db1 and h2_db1 each at least 400 IOPS",
            "gold: h1_db2–4 and h2_db2–4 each at least 300 IOPS",
        ];
        assert_eq!(limits_in_force(&recording, &ceilings, 0), sentences);
        assert_eq!((&ceilings[1].workloads[..], volume_of(&recording.workloads[0])), (&[0, 1][..], "4 volumes".into()));
        assert!(ceilings.iter().all(|ceiling| ceiling.iops.is_some_and(|bound| !bound.binds)));
    }

    #[test]
    fn names_that_are_numbered_through_are_told_short() {
        let told = |names: &[&str]| listed(names, ", ");
        assert_eq!(told(&["a9", "a10", "a11", "b", "c1", "c2", "c4"]), "a9–11, b, c1, c2, c4");
        assert_eq!(told(&["a09", "a10", "a11", "1", "2", "3"]), "a09–11, 1, 2, 3");
        assert_eq!(told(&["a08", "a9", "a10", "b9", "b010", "b011"]), "a08, a9, a10, b9, b010, b011");
        assert_eq!(
            (told(&[]), told(&["a18446744073709551615", "a"])),
            (String::new(), "a18446744073709551615, a".into())
        );
    }

    #[test]
    fn a_moment_has_its_interval_and_a_gap_none() {
        let at = |ms| Interval { start: Span::from_millis(ms), length: Span::SECOND, ..Interval::default() };
        let workload = WorkloadRecord { intervals: vec![at(0), at(1500)], ..WorkloadRecord::default() };
        let found = [0, 999, 1000, 1500, 2500].map(|ms| interval_at(&workload, Span::from_millis(ms)).map(|i| i.start));
        assert_eq!(found, [Some(Span::ZERO), Some(Span::ZERO), None, Some(Span::from_millis(1500)), None]);
    }

    #[test]
    fn a_volume_is_named_by_its_path() {
        assert_eq!(volume_of(&workload("svm01:/vol/vol1/lun1", 0)), "vol1");
        assert_eq!(volume_of(&workload("/dev/sdb", 0)), "/dev/sdb");
    }

    #[test]
    fn an_interval_belongs_to_the_phase_of_its_middle() {
        let span = Span::from_millis;
        let phases = [(0, 8000), (8100, 16_000)].map(|(start, end)| Phase {
            start: span(start),
            end: span(end),
            ..Phase::default()
        });
        let at = |start| Interval { start: span(start), length: Span::SECOND, ..Interval::default() };
        assert_eq!(
            [0, 7499, 7550, 7600, 15_500].map(|ms| phase_of(&phases, &at(ms))),
            [Some(0), Some(0), None, Some(1), None]
        );
    }
}
