//! What held each workload back, second by second: a row for each workload, a cell for each second,
//! in the colour of the cause. A mark at the bottom of a cell says that a floor was missed.

use super::figures::{self, Scales};
use crate::chart::{Look, Strip, StripCell, Strips};
use crate::{relation, text};
use stats::{HeldBy, Interval, Recording, WorkloadRecord};

/// The causes in the order of the legend: the class of their cells, and their name.
const CAUSES: [(&str, &str); 12] = [
    ("cause by-ceiling", "a ceiling"),
    ("cause by-shared", "a shared ceiling"),
    ("cause by-floors", "others' floors"),
    ("cause by-flow", "its connection"),
    ("cause by-burst", "network burst"),
    ("cause by-link", "the network"),
    ("cause by-disk", "the disk"),
    ("cause by-cpu", "the processor"),
    ("cause by-stalled", "a stalled server"),
    ("cause by-depth", "its own depth"),
    ("cause by-pace", "its own pace"),
    ("cause by-nothing", "nothing"),
];

/// The strips of all workloads.
pub(super) fn strips(recording: &Recording, scales: &Scales) -> Strips {
    let row = |(index, workload): (usize, &WorkloadRecord)| Strip {
        name: figures::label(workload),
        look: Look::Series(index),
        cells: cells(recording, workload),
    };
    Strips {
        title: "What held each workload back, second by second".into(),
        x: scales.time(),
        rows: recording.workloads.iter().enumerate().map(row).collect(),
        room: scales.room,
    }
}

/// The legend.
pub(super) fn key(has_floors: bool) -> Vec<(&'static str, String)> {
    let causes = CAUSES.into_iter().chain(has_floors.then_some(("missed", "floor missed")));
    causes.map(|(class, says)| (class, says.to_owned())).collect()
}

/// Equal seconds are merged into one cell, so that the size depends on changes and not on time.
fn cells(recording: &Recording, workload: &WorkloadRecord) -> Vec<StripCell> {
    let mut intervals = workload.intervals.iter().peekable();
    let mut cells = Vec::new();
    while let Some(first) = intervals.next() {
        let words = relation::held(recording, first);
        let mut last = first;
        while let Some(next) = intervals.next_if(|next| says_the_same(first, next) && follows(last, next)) {
            last = next;
        }
        let (from, to) = (first.start.as_secs_f64(), (last.start + last.length).as_secs_f64());
        let missed = first.floor.is_short();
        let floor = if missed { format!("; floor missed: {}", first.floor) } else { String::new() };
        let title = format!("{}–{} s: {words}{floor}", text::short(from.round()), text::short(to.round()));
        cells.push(StripCell { from, to, class: class(first.held_by), title, missed });
    }
    cells
}

fn says_the_same(one: &Interval, other: &Interval) -> bool {
    (one.held_by, one.held_at, one.floor) == (other.held_by, other.held_at, other.floor)
}

/// Whether a second follows another directly, except for the delay of a stage.
fn follows(one: &Interval, next: &Interval) -> bool {
    next.start <= one.start + one.length + one.length / 10
}

fn class(held_by: HeldBy) -> &'static str {
    match held_by {
        HeldBy::CeilingIops | HeldBy::CeilingThroughput => "cause by-ceiling",
        HeldBy::SharedIops | HeldBy::SharedThroughput => "cause by-shared",
        HeldBy::Floors => "cause by-floors",
        HeldBy::Disk => "cause by-disk",
        HeldBy::Cpu => "cause by-cpu",
        HeldBy::Depth => "cause by-depth",
        HeldBy::Pace => "cause by-pace",
        HeldBy::Stalled => "cause by-stalled",
        HeldBy::Link => "cause by-link",
        HeldBy::Flow => "cause by-flow",
        HeldBy::Burst => "cause by-burst",
        HeldBy::Nothing => "cause by-nothing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Span;
    use stats::{FloorOutcome, ObjectRecord};

    /// Three seconds under a ceiling, the third with a missed floor, then one at the disk: three
    /// cells, one mark.
    #[test]
    fn seconds_that_say_the_same_are_one_cell() {
        let second = |at: u64, held_by, held_at, floor| Interval {
            start: Span::from_secs(at),
            length: Span::SECOND,
            held_by,
            held_at,
            floor,
            ..Interval::default()
        };
        let intervals = vec![
            second(0, HeldBy::CeilingIops, Some(0), FloorOutcome::Met),
            second(1, HeldBy::CeilingIops, Some(0), FloorOutcome::Met),
            second(2, HeldBy::CeilingIops, Some(0), FloorOutcome::NeedsOutstanding(9)),
            second(3, HeldBy::Disk, None, FloorOutcome::Met),
        ];
        let recording = Recording {
            workloads: vec![WorkloadRecord { name: "w".into(), intervals, ..WorkloadRecord::default() }],
            objects: vec![ObjectRecord { path: "svm01:/vol/vol1".into(), ..ObjectRecord::default() }],
            ..Recording::default()
        };
        let scales = Scales::of(&[&recording]);
        let svg = strips(&recording, &scales).svg("strips", crate::chart::Width::Wide);
        assert_eq!(svg.matches("class=\"cause by-ceiling\"").count(), 2, "{svg}");
        assert_eq!((svg.matches("cause by-disk").count(), svg.matches("class=\"missed\"").count()), (1, 1));
        assert!(svg.contains("0–2 s: ceiling of vol1 (IOPS)"), "{svg}");
        assert!(svg.contains("floor missed: needs 9 requests at the server at all times"), "{svg}");
    }
}
