//! The table at the end of a run, in 80 columns: figures per phase and workload, then the verdicts,
//! then the notes.
//!
//! Response times are from due to end, in milliseconds. The last two columns split the mean by the
//! server's figures: the wait in its QoS gate, and the time in the disk below it. The rest is
//! between client and server.

use crate::relation::{self, Ceiling};
use crate::{Paint, Standing, standing, text, words};
use stats::{Outcome, Phase, Recording, Tally, Verdict, WorkloadRecord};

/// Width of the table in characters; a line is longer only if a single figure is.
pub const COLUMNS: usize = 80;

/// The columns after the name, with their widths.
const HEADINGS: [(&str, usize); 8] = [
    (words::IOPS, 10),
    (words::MEGABYTES, 8),
    (words::MEAN, 7),
    (words::P50, 7),
    (words::P99, 7),
    (words::P999, 8),
    (words::IN_QOS, 8),
    (words::IN_DISK, 8),
];
const NAME_WIDTH: usize = 17;

/// The complete table: title, figures, verdicts and notes.
pub fn render(recording: &Recording, paint: Paint) -> String {
    let parts = [
        title(recording, paint),
        figures(recording, paint),
        verdicts(&recording.verdicts, paint),
        notes(&recording.notes, paint),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Only the figures, with a block for each phase.
pub fn figures(recording: &Recording, paint: Paint) -> String {
    let mut lines = Lines::default();
    let groups = format!("{:35}{:^29}{:>16}", "", "response time in ms", "mean in ms");
    lines.push(paint.dim(groups.trim_end()));
    lines.push(paint.dim(&row("", &HEADINGS.map(|(heading, _)| heading.into()))));
    let ceilings = relation::ceilings(recording);
    for index in 0..recording.phases.len() {
        lines.push("");
        phase(&mut lines, recording, index, &ceilings, paint);
    }
    lines.0
}

/// Only the verdicts: the summary, then each with its mark, its question and its reason.
pub fn verdicts(verdicts: &[Verdict], paint: Paint) -> String {
    const INDENT: usize = 18;
    let mut lines = Lines::default();
    let standing = Standing::of(verdicts);
    lines.push(paint_outcome(paint, standing.outcome(), &standing.sentence()));
    for verdict in verdicts {
        let name = format!("  {} {:<14}", standing::mark(verdict.outcome), standing::words(verdict.outcome));
        let name = paint_outcome(paint, Some(verdict.outcome), &name);
        lines.push("");
        for (i, line) in wrapped(&verdict.question, COLUMNS - INDENT).iter().enumerate() {
            let before = if i == 0 { name.clone() } else { " ".repeat(INDENT) };
            lines.push(format!("{before}{}", paint.bold(line)));
        }
        for line in wrapped(&verdict.because, COLUMNS - INDENT) {
            lines.push(format!("{}{line}", " ".repeat(INDENT)));
        }
    }
    lines.0
}

fn title(recording: &Recording, paint: Paint) -> String {
    let origin = &recording.origin;
    let mut lines = Lines::default();
    for line in wrapped(&origin.title, COLUMNS) {
        lines.push(paint.bold(&line));
    }
    for line in wrapped(&text::facts(origin.started_unix_ms, &recording.machine), COLUMNS) {
        lines.push(paint.dim(&line));
    }
    if let Some(line) = text::scale(recording.scale) {
        wrapped(&line, COLUMNS).iter().for_each(|line| lines.push(paint.dim(line)));
    }
    if origin.simulated {
        lines.push("Simulated: no real device was used, time was virtual.");
    }
    if origin.cut_short {
        lines.push(paint.doubtful("Cut short: the run ended early; figures are up to there."));
    }
    lines.0
}

fn notes(notes: &[String], paint: Paint) -> String {
    let mut lines = Lines::default();
    for note in notes {
        for (i, line) in wrapped(note, COLUMNS - 6).iter().enumerate() {
            lines.push(format!("{}{line}", if i == 0 { paint.doubtful("note  ") } else { " ".repeat(6) }));
        }
    }
    lines.0
}

/// Adds a phase: heading, ceilings in force, a row for each workload, and one for the sum under
/// each shared ceiling.
fn phase(lines: &mut Lines, recording: &Recording, index: usize, ceilings: &[Ceiling<'_>], paint: Paint) {
    heading(lines, &recording.phases[index], paint);
    for limit in relation::limits_in_force(recording, ceilings, index) {
        wrapped(&limit, COLUMNS - 2).iter().for_each(|line| lines.push(paint.dim(&format!("  {line}"))));
    }
    if recording.workloads.iter().all(|workload| workload.tallies.len() <= index) {
        lines.push("  not reached");
    }
    for workload in &recording.workloads {
        let Some(tally) = workload.tallies.get(index) else { continue };
        let name = text::printable(&format!("{}  {}", workload.name, relation::volume_of(workload)));
        // A name that does not fit has lines of its own.
        if text::width(&name) > NAME_WIDTH - 2 {
            let own = match text::width(&name) <= COLUMNS - 2 {
                true => vec![name],
                false => wrapped(&name, COLUMNS - 2),
            };
            own.iter().for_each(|line| lines.push(format!("  {line}")));
            lines.push(row("", &cells(recording, workload, tally)));
        } else {
            lines.push(row(&name, &cells(recording, workload, tally)));
        }
        if let Some(cycles) = relation::cycles(workload, index) {
            lines.push(paint.dim(&format!("    {cycles}")));
        }
        let remarks = relation::remarks(tally).into_iter().chain(relation::floor_remark(recording, workload, index));
        for remark in remarks {
            wrapped(&remark, COLUMNS - 4).iter().for_each(|line| lines.push(format!("    {}", paint.bad(line))));
        }
    }
    for ceiling in ceilings.iter().filter(|ceiling| ceiling.phase == index && ceiling.shared) {
        let (iops, bytes) = ceiling.together(recording);
        lines.push(row("together", &[text::iops(iops), text::megabytes(bytes)]));
    }
}

/// Adds the phase's name and what it shows, on the same line if there is room.
fn heading(lines: &mut Lines, phase: &Phase, paint: Paint) {
    let mut names = wrapped(&phase.name, COLUMNS);
    let beside = names.pop().unwrap_or_default();
    names.iter().for_each(|line| lines.push(paint.bold(line)));
    let (name, room) = match COLUMNS.checked_sub(text::width(&beside) + 2) {
        Some(room) if names.is_empty() && room >= COLUMNS / 2 => (beside, room),
        _ => {
            lines.push(paint.bold(&beside));
            (String::new(), COLUMNS - 2)
        }
    };
    for (i, line) in wrapped(&phase.about, room).iter().enumerate() {
        let before = if i == 0 { paint.bold(&name) } else { " ".repeat(text::width(&name)) };
        let line = format!("{before}  {line}");
        if !line.trim().is_empty() {
            lines.push(line.trim_end());
        }
    }
}

fn cells(recording: &Recording, workload: &WorkloadRecord, tally: &Tally) -> [String; 8] {
    let response = tally.response.summary();
    let times = [response.mean, response.p50, response.p99, response.p999].map(text::millis);
    let [mean, p50, p99, p999] = if response.count == 0 { times.map(|_| "–".into()) } else { times };
    let [iops, megabytes] = relation::rates(recording, workload, tally);
    [iops, megabytes, mean, p50, p99, p999, text::mean_or_dash(&tally.queued), text::mean_or_dash(&tally.device)]
}

/// A row of a name and some of the columns.
fn row(name: &str, cells: &[String]) -> String {
    let mut line = format!("  {name:<width$}", width = NAME_WIDTH - 2);
    for (cell, (_, width)) in cells.iter().zip(HEADINGS) {
        line.push_str(&format!("{cell:>width$}"));
    }
    line
}

fn wrapped(line: &str, columns: usize) -> Vec<String> {
    text::wrap(&text::printable(line), columns)
}

fn paint_outcome(paint: Paint, outcome: Option<Outcome>, words: &str) -> String {
    match outcome {
        Some(Outcome::Pass) => paint.good(words),
        Some(Outcome::CannotSay) => paint.doubtful(words),
        Some(Outcome::Fail) => paint.bad(words),
        None => words.into(),
    }
}

/// Lines of text, each with a line end.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn push(&mut self, line: impl AsRef<str>) {
        self.0.push_str(line.as_ref());
        self.0.push('\n');
    }
}
