//! What held each workload back, second by second: a row a workload, a cell a second, in the colour of the cause. A mark
//! at the foot of a cell says that a floor was missed then.
//!
//! ```text
//!   server1 │▒▒▒▒▒▒▒▒████████████████│
//!   server2 │░░░░░░░░░░▁▁░░░░░░░░░░░░│   ▁ floor missed
//! ```

use crate::chart::svg::{Svg, place};
use crate::chart::{self, Axis};
use crate::{figures, palette, relation, text};
use stats::{HeldBy, Interval, Recording, WorkloadRecord};

/// Height of a row, and of the cells in it.
const ROW: f64 = 24.0;
const CELL: f64 = 18.0;
/// Height of the mark of a missed floor.
const MARK: f64 = 5.0;

/// The causes as the legend lists them: the class of their cells, and their name.
pub(crate) const CAUSES: [(&str, &str); 7] = [
    ("ceiling", "a ceiling"),
    ("shared", "a shared ceiling"),
    ("floors", "others' floors"),
    ("disk", "the disk"),
    ("cpu", "the processor"),
    ("depth", "its own depth"),
    ("nothing", "nothing"),
];

/// The strips of all workloads, as wide as the other charts of the page.
pub(crate) fn render(recording: &Recording, width: f64) -> String {
    let names = figures::room_for_names(recording);
    let x = figures::time(recording).laid(chart::MARGIN_LEFT, width - names);
    let height = ROW * recording.workloads.len() as f64;
    let mut svg = Svg::default();
    let size = [place(width), place(height)];
    let view = format!("0 0 {} {}", size[0], size[1]);
    let attributes = [
        ("class", "chart strips"),
        ("role", "img"),
        ("aria-label", "What held each workload back, second by second"),
        ("viewBox", &view),
        ("width", &size[0]),
        ("height", &size[1]),
    ];
    svg.open("svg", &attributes);
    for (index, workload) in recording.workloads.iter().enumerate() {
        row(&mut svg, recording, workload, &x, ROW * index as f64);
        let y = place(ROW * index as f64 + CELL - 4.0);
        let class = format!("name {}", palette::class(index));
        let room = ((names - 8.0) / 7.6) as usize;
        let attributes = [("class", class.as_str()), ("x", &place(width - names + 8.0)), ("y", &y)];
        svg.text("text", &attributes, &text::fit(&figures::label(workload), room));
    }
    svg.close("svg");
    svg.finish()
}

fn row(svg: &mut Svg, recording: &Recording, workload: &WorkloadRecord, x: &Axis, top: f64) {
    let mut intervals = workload.intervals.iter().peekable();
    // Seconds that say the same are one cell, so that an hour is no longer than what happened in it.
    while let Some(first) = intervals.next() {
        let words = relation::held(recording, first);
        let mut last = first;
        while let Some(next) = intervals.next_if(|next| says_the_same(first, next) && follows(last, next)) {
            last = next;
        }
        let (from, to) = (first.start.as_secs_f64(), (last.start + last.length).as_secs_f64());
        let (Some(x1), Some(x2)) = (x.place(from), x.place(to)) else { continue };
        let missed = first.floor.is_short();
        let floor = if missed { format!("; floor missed: {}", first.floor) } else { String::new() };
        let title = format!("{}–{} s: {words}{floor}", text::short(from.round()), text::short(to.round()));
        cell(svg, &format!("cause by-{}", class(first.held_by)), [x1, x2, top, CELL], &title);
        if missed {
            cell(svg, "missed", [x1, x2, top + CELL - MARK, MARK], &title);
        }
    }
}

fn says_the_same(one: &Interval, other: &Interval) -> bool {
    (one.held_by, one.held_at, one.floor) == (other.held_by, other.held_at, other.floor)
}

/// Whether a second comes right after another, give or take what a stage runs late.
fn follows(one: &Interval, next: &Interval) -> bool {
    next.start <= one.start + one.length + one.length / 10
}

fn cell(svg: &mut Svg, class: &str, [x1, x2, y, height]: [f64; 4], title: &str) {
    let numbers = [place(x1), place(y), place(x2 - x1), place(height)];
    let [x, y, width, height] = &numbers;
    svg.open("rect", &[("class", class), ("x", x), ("y", y), ("width", width), ("height", height)]);
    svg.text("title", &[], title);
    svg.close("rect");
}

fn class(held_by: HeldBy) -> &'static str {
    match held_by {
        HeldBy::CeilingIops | HeldBy::CeilingThroughput => "ceiling",
        HeldBy::SharedIops | HeldBy::SharedThroughput => "shared",
        HeldBy::Floors => "floors",
        HeldBy::Disk => "disk",
        HeldBy::Cpu => "cpu",
        HeldBy::Depth => "depth",
        HeldBy::Nothing => "nothing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Span;
    use stats::{FloorFared, ObjectRecord};

    /// Three seconds under a ceiling, of which the third misses a floor, then one at the disk: three cells, one mark.
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
            second(0, HeldBy::CeilingIops, Some(0), FloorFared::Met),
            second(1, HeldBy::CeilingIops, Some(0), FloorFared::Met),
            second(2, HeldBy::CeilingIops, Some(0), FloorFared::NeedsOutstanding(9)),
            second(3, HeldBy::Disk, None, FloorFared::Met),
        ];
        let recording = Recording {
            workloads: vec![WorkloadRecord { name: "w".into(), intervals, ..WorkloadRecord::default() }],
            objects: vec![ObjectRecord { path: "svm01:/vol/vol1".into(), ..ObjectRecord::default() }],
            ..Recording::default()
        };
        let svg = render(&recording, 984.0);
        assert_eq!(svg.matches("class=\"cause by-ceiling\"").count(), 2, "{svg}");
        assert_eq!((svg.matches("cause by-disk").count(), svg.matches("class=\"missed\"").count()), (1, 1));
        assert!(svg.contains("0–2 s: ceiling of vol1 (IOPS)"), "{svg}");
        assert!(svg.contains("floor missed: needs 9 outstanding requests"), "{svg}");
    }
}
