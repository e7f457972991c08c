//! The view of a run in progress: a frame that is redrawn in place on a terminal, or plain lines
//! for everything else.
//!
//! ```text
//!   A noisy neighbour, measured and walled off                 0:19 / 0:56
//!   3/7 ceiling  a policy group caps vol1, and the others breathe again
//!       policy1: vol1 at most 5,000 IOPS or 150 MB/s
//!   ━━━━━━━━━━━━━━━━━━━━━━━─────────────────────────────────────────  34 %
//!
//!   times in ms      IOPS   MB/s   mean    p99 in disk  held back by
//!   server1  vol1   5,000   20.5    819    963     819  ceiling (IOPS)  ▁▁████▄▄▄
//! ```
//!
//! A plan's run has all of it. Lines and columns are left out for what has no phases, no known end
//! or no latencies: filling volumes has a title, a line of figures and a bar, and a load job a line
//! for each direction.
//!
//! Formatting is pure: [`frame`] and [`lines()`] turn a [`LiveState`] into text. Only [`Screen`]
//! moves a cursor.

mod screen;

pub use screen::{SHOW_CURSOR, Screen, ScreenSize};

use crate::{Paint, relation, text, words};
use block::Span;
use stats::Interval;
use std::collections::VecDeque;

/// Number of seconds kept for the sparkline.
pub const RECENT: usize = 60;

/// State of a run in progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveState {
    /// The plan's title, or the present activity.
    pub title: String,
    /// The current phase, counted from 1; 0 before the first.
    pub phase: usize,
    /// Number of phases; 0 if there are none.
    pub phases: usize,
    /// Name of the phase; may be empty.
    pub name: String,
    /// What it shows, or its progress, one line.
    pub about: String,
    /// The limits in force, one line each.
    pub in_force: Vec<String>,
    /// The server's advice about them, one line each.
    pub advice: Vec<String>,
    /// Time since the start.
    pub elapsed: Span,
    /// Expected length; zero if not known.
    pub total: Span,
    /// The fraction done, from 0 to 1, if it is not that of the time but of bytes.
    pub done: Option<f64>,
    /// Unit of the rate of operations; empty for IOPS.
    pub rate: &'static str,
    /// The workloads, in the plan's order.
    pub workloads: Vec<LiveWorkload>,
}

/// A workload in progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveWorkload {
    /// Its name.
    pub name: String,
    /// Short name of its volume.
    pub volume: String,
    /// What held it back in the last second, in a few words; see [`crate::held_back`].
    pub held: String,
    /// The last seconds, oldest first; see [`LiveWorkload::push`].
    pub recent: VecDeque<Interval>,
}

impl LiveWorkload {
    /// A workload that has not been measured yet.
    pub fn new(name: impl Into<String>, volume: impl Into<String>) -> LiveWorkload {
        LiveWorkload { name: name.into(), volume: volume.into(), held: String::new(), recent: VecDeque::new() }
    }

    /// Adds a second and drops the one [`RECENT`] seconds before it.
    pub fn push(&mut self, second: Interval) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(second);
    }
}

/// The frame in plain text, no line longer than `width`.
pub fn frame(width: usize, state: &LiveState) -> Vec<String> {
    painted_frame(width, state, Paint::Plain)
}

/// The frame, with or without colour, no line longer than `width`.
pub fn painted_frame(width: usize, state: &LiveState, paint: Paint) -> Vec<String> {
    let mut lines = heading(width, state);
    lines.extend(progress(width, state));
    if !state.workloads.is_empty() {
        lines.push(Line::default());
        lines.extend(table(width, state));
    }
    lines.into_iter().map(|line| line.finish(width, paint)).collect()
}

/// The newest second, one line for each workload. Lines are self-contained, for logs and pipes, and
/// nothing is cut: ` 0:19  server1 vol1    5,000 IOPS   20.5 MB/s    819 ms  p99    963  ceiling
/// (IOPS)`. A missed floor has a line of its own below.
pub fn lines(state: &LiveState) -> Vec<String> {
    let when = format!("{:>5}  ", text::clock(state.elapsed));
    let names: Vec<String> = state.workloads.iter().map(|w| label(w).replace("  ", " ")).collect();
    let name_width = names.iter().map(|name| text::width(name)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (workload, name) in state.workloads.iter().zip(&names) {
        let start = format!("{when}{name:<name_width$}");
        let Some(last) = workload.recent.back() else {
            lines.push(format!("{start}  starting"));
            continue;
        };
        let rates = format!("{:>8} IOPS {:>6} MB/s", text::iops(last.iops()), text::megabytes(last.bytes_per_second()));
        let mean = last.response.map(|times| times.mean);
        let [mean, p99] = [mean, relation::p99(last)].map(text::millis_or_dash);
        let held = text::printable(&workload.held);
        let line = format!("{start}{rates} {mean:>5} ms p99 {p99:>6}  {held}");
        lines.push(line.trim_end().to_owned());
        let below = failed(last).map(|failed| format!("{failed} in this second")).into_iter().chain(missed(last));
        lines.extend(below.map(|words| format!("{}{words}", " ".repeat(when.len() + 2))));
    }
    lines
}

fn heading(width: usize, state: &LiveState) -> Vec<Line> {
    let clock = match state.total {
        Span::ZERO => text::clock(state.elapsed),
        total => format!("{} / {}", text::clock(state.elapsed), text::clock(total)),
    };
    let room = width.saturating_sub(text::width(&clock) + 2);
    let mut title = Line::default();
    title.push(Style::Bold, format!("{:<room$}", text::fit(&text::printable(&state.title), room)));
    title.push(Style::Dim, format!("  {clock}"));
    let mut lines = vec![title];
    let number = if state.phases == 0 { String::new() } else { format!("{}/{} ", state.phase, state.phases) };
    let name = text::printable(&state.name);
    let room = width.saturating_sub(number.len() + text::width(&name) + 2).max(width / 2);
    let is_said = !number.is_empty() || !name.is_empty() || !state.about.is_empty();
    let about = if is_said { text::wrap(&text::printable(&state.about), room) } else { Vec::new() };
    for (index, about) in about.into_iter().enumerate() {
        let mut line = Line::default();
        let shown = |text: &str| if index == 0 { text.into() } else { " ".repeat(text::width(text)) };
        line.push(Style::Dim, shown(&number));
        line.push(Style::Bold, shown(&name));
        line.push(Style::Plain, format!("  {about}"));
        lines.push(line);
    }
    let indent = " ".repeat(number.len().max(2));
    let room = width.saturating_sub(indent.len()).max(1);
    for (style, said) in
        state.in_force.iter().map(|limit| (Style::Dim, limit)).chain(state.advice.iter().map(|a| (Style::Doubtful, a)))
    {
        for part in text::wrap(&text::printable(said), room) {
            let mut line = Line::default();
            line.push(style, format!("{indent}{part}"));
            lines.push(line);
        }
    }
    lines
}

/// The progress bar; `None` without a known end.
fn progress(width: usize, state: &LiveState) -> Option<Line> {
    let of_time = (state.total > Span::ZERO).then(|| state.elapsed.as_secs_f64() / state.total.as_secs_f64());
    let part = state.done.or(of_time)?.clamp(0.0, 1.0);
    let bar = width.saturating_sub(6);
    let full = (bar as f64 * part) as usize;
    let mut line = Line::default();
    line.push(Style::Good, "━".repeat(full));
    line.push(Style::Dim, "─".repeat(bar - full));
    // Rounded down, so that 100 % is shown only at the end.
    line.push(Style::Plain, format!("{:>4} %", (part * 100.0) as u32));
    Some(line)
}

/// A column: its heading, its width, and its text for a second. If there is no room, columns with
/// the lowest `keep` are dropped first.
struct Column {
    heading: &'static str,
    width: usize,
    keep: u8,
    say: fn(&Interval, &LiveWorkload) -> String,
}

const COLUMNS: [Column; 6] = [
    Column { heading: words::IOPS, width: 8, keep: 6, say: |second, _| text::iops(second.iops()) },
    Column {
        heading: words::MEGABYTES,
        width: 7,
        keep: 3,
        say: |second, _| text::megabytes(second.bytes_per_second()),
    },
    Column {
        heading: words::MEAN,
        width: 7,
        keep: 4,
        say: |second, _| text::millis_or_dash(second.response.map(|times| times.mean)),
    },
    Column { heading: words::P99, width: 7, keep: 2, say: |second, _| text::millis_or_dash(relation::p99(second)) },
    Column {
        heading: words::IN_DISK,
        width: 8,
        keep: 1,
        say: |second, _| text::millis_or_dash(relation::in_disk(second)),
    },
    Column { heading: words::HELD_BACK_BY, width: HELD, keep: 5, say: |_, workload| held_cell(&workload.held) },
];
/// Width of the column for the cause, with two blanks before it.
const HELD: usize = 16;
const NAME_MOST: usize = 24;
const SPARK_LEAST: usize = 6;
const SPARK_GAP: usize = 2;

fn table(width: usize, state: &LiveState) -> Vec<Line> {
    let names: Vec<String> = state.workloads.iter().map(label).collect();
    let name_width = names.iter().map(|name| text::width(name)).max().unwrap_or(0).clamp(11, NAME_MOST);
    let columns = columns(width.saturating_sub(name_width), state);
    let used = name_width + columns.iter().map(|column| column.width).sum::<usize>();
    let room = width.saturating_sub(used + SPARK_GAP).min(RECENT);
    let spark_width = if room < SPARK_LEAST { 0 } else { room };

    let mut headings = Line::default();
    let unit = if columns.iter().any(Column::is_time) { "times in ms" } else { "" };
    headings.push(Style::Dim, format!("{unit:name_width$}"));
    let rate = if state.rate.is_empty() { words::IOPS } else { state.rate };
    let head = |column: &Column| match column.heading {
        words::IOPS => column.right(rate),
        _ => column.head(),
    };
    columns.iter().for_each(|column| headings.push(Style::Dim, head(column)));
    if spark_width >= 12 {
        headings.push(Style::Dim, format!("  {rate}, {spark_width} s"));
    }
    let highest = state.workloads.iter().flat_map(|workload| &workload.recent).map(Interval::iops).fold(0.0, f64::max);
    let mut lines = vec![headings];
    for (index, (workload, name)) in state.workloads.iter().zip(&names).enumerate() {
        let mut line = Line::default();
        line.push(Style::Series(index), format!("{:name_width$}", text::fit(name, name_width)));
        for column in &columns {
            line.push(Style::Plain, column.cell(workload));
        }
        if spark_width > 0 {
            line.push(Style::Series(index), format!("  {}", sparkline(&workload.recent, spark_width, highest)));
        }
        lines.push(line);
        if let Some(failed) = workload.recent.back().and_then(failed) {
            let mut line = Line::default();
            line.push(Style::Bad, format!("  {failed} in this second"));
            lines.push(line);
        }
        if let Some(missed) = workload.recent.back().and_then(missed) {
            let mut line = Line::default();
            line.push(Style::Bad, format!("  {missed}"));
            lines.push(line);
        }
    }
    lines
}

/// The columns that fit into `room`, in order. A column without any values is dropped.
fn columns(room: usize, state: &LiveState) -> Vec<Column> {
    let mut columns = Vec::from(COLUMNS);
    if state.workloads.iter().any(|workload| !workload.recent.is_empty()) {
        // Operations that move no bytes have their own unit, and no throughput.
        let moves = |column: &Column| state.rate.is_empty() || column.heading != words::MEGABYTES;
        columns.retain(|column| column.is_known(state) && moves(column));
    }
    // Millions of operations need more room than usual.
    columns.iter_mut().filter(|column| !column.is_text()).for_each(|column| column.width = column.wide_enough(state));
    while columns.len() > 1 && columns.iter().map(|column| column.width).sum::<usize>() > room {
        let least = columns.iter().enumerate().min_by_key(|(_, column)| column.keep).map_or(0, |(index, _)| index);
        columns.remove(least);
    }
    columns
}

impl Column {
    fn head(&self) -> String {
        if self.is_text() {
            format!("  {:<width$}", self.heading, width = self.width - 2)
        } else {
            self.right(self.heading)
        }
    }

    fn cell(&self, workload: &LiveWorkload) -> String {
        match workload.recent.back() {
            Some(second) => self.right(&(self.say)(second, workload)),
            None if self.is_text() => format!("  {:<width$}", "starting", width = self.width - 2),
            None => self.right("–"),
        }
    }

    fn is_text(&self) -> bool {
        self.width == HELD
    }

    fn is_time(&self) -> bool {
        [words::MEAN, words::P99, words::IN_DISK].contains(&self.heading)
    }

    /// The width needed for the newest seconds, with a blank in front; less than that of a text
    /// column.
    fn wide_enough(&self, state: &LiveState) -> usize {
        let newest = state.workloads.iter().filter_map(|workload| Some((workload.recent.back()?, workload)));
        let longest = newest.map(|(second, workload)| text::width(&(self.say)(second, workload)) + 1).max();
        longest.unwrap_or(0).max(self.width).min(HELD - 1)
    }

    /// Whether it has a value for any second that is kept.
    fn is_known(&self, state: &LiveState) -> bool {
        let says = |workload: &LiveWorkload| {
            workload.recent.iter().any(|second| !["", "–"].contains(&(self.say)(second, workload).trim()))
        };
        state.workloads.iter().any(says)
    }

    fn right(&self, text: &str) -> String {
        format!("{text:>width$}", width = self.width)
    }
}

fn label(workload: &LiveWorkload) -> String {
    let label = format!("{}  {}", workload.name, workload.volume);
    text::printable(label.trim_end())
}

fn held_cell(held: &str) -> String {
    format!("  {:14}", text::fit(&text::printable(held), HELD - 2))
}

/// The floor that was missed, and why.
fn missed(second: &Interval) -> Option<String> {
    second.floor.is_short().then(|| format!("floor missed: {}", second.floor))
}

fn failed(second: &Interval) -> Option<String> {
    let faults = second.counts.faults;
    (faults > 0).then(|| text::count(faults as usize, "operation", "operations") + " failed")
}

/// The IOPS of the last `width` seconds, newest at the right, in eighths of `highest`. Zero is a
/// blank, so that pauses are visible; anything above has at least the lowest block. All workloads
/// share one scale, so that starvation is visible.
fn sparkline(recent: &VecDeque<Interval>, width: usize, highest: f64) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let block = |second: &Interval| {
        let eighths = if highest > 0.0 { (second.iops() / highest * 8.0).ceil() } else { 0.0 };
        BLOCKS[(eighths as usize).min(8)]
    };
    let shown: String = recent.iter().skip(recent.len().saturating_sub(width)).map(block).collect();
    format!("{shown:>width$}")
}

/// The style of a piece of a line.
#[derive(Clone, Copy)]
enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Doubtful,
    Bad,
    Series(usize),
}

/// A line in pieces, so that it can be cut to a width before colours are added.
#[derive(Default)]
struct Line(Vec<(Style, String)>);

impl Line {
    fn push(&mut self, style: Style, text: impl Into<String>) {
        self.0.push((style, text.into()));
    }

    fn finish(mut self, width: usize, paint: Paint) -> String {
        while let Some((_, last)) = self.0.last_mut() {
            last.truncate(last.trim_end().len());
            if !last.is_empty() {
                break;
            }
            self.0.pop();
        }
        let (mut out, mut room) = (String::new(), width);
        for (style, text) in self.0 {
            let text = text::fit(&text, room);
            room -= text::width(&text);
            if text.is_empty() {
                continue;
            }
            out.push_str(&match style {
                Style::Plain => text,
                Style::Bold => paint.bold(&text),
                Style::Dim => paint.dim(&text),
                Style::Good => paint.good(&text),
                Style::Doubtful => paint.doubtful(&text),
                Style::Bad => paint.bad(&text),
                Style::Series(index) => paint.series(index, &text),
            });
        }
        out
    }
}
