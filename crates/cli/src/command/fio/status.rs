//! The status of a run: how many jobs run, how fast, how the last seconds went, when it will be
//! over. In a terminal that is the view that all commands have; fio's options `--eta=always` and
//! `--eta-newline` ask for lines, which programs read:
//!
//! ```text
//!   2 jobs (2 running) ▃▅▆▆▇ read 412 MiB/s 105k IOPS, write 103 MiB/s 26.4k IOPS, 64 in flight; 40 %, 00:36 left
//! ```
//! In a pipe there is none unless `--eta=always` asks for it.

use super::kept::Keeping;
use super::{recording, remark, reports::Reports};
use crate::interrupt::Stop;
use crate::live::{JobRows, Live, Stream};
use crate::terminal;
use block::{Bytes, Span, count};
use engine::job::{JobProgress, Watch};
use fio::{Eta, Flags};
use stats::job::JobOutcome;
use std::io::{IsTerminal as _, stderr};
use std::path::Path;
use workload::job::{Amount, Direction, JobPlace, JobSpec, PerDirection, stages};

/// Bars of the sparkline: so many of the last readings.
const RECENT: usize = 12;

/// Shows how a run goes, and stops it on request.
pub struct Status<'r, 'i> {
    stop: Stop,
    reports: &'r mut Reports<'i>,
    keeping: Keeping<'r>,
    /// When a report in between is due, where any is asked for, and whether it is awaited.
    report_every: Option<Span>,
    next_report: Span,
    report_wanted: bool,
    /// Why a report in between could not be written: the run ends then.
    lost: Option<anyhow::Error>,
    shown: bool,
    terminal: bool,
    /// The view, where no lines are asked for.
    live: Live,
    rows: JobRows,
    newline: Option<Span>,
    next_newline: Span,
    plans: Vec<Plan>,
    last: (Span, PerDirection<(u64, u64)>),
    recent: Vec<f64>,
    drawn: bool,
}

/// The parts of a line.
struct Parts {
    jobs: String,
    running: String,
    bars: String,
    rates: String,
    /// The rates in few digits.
    brief: String,
    /// The rates without bytes.
    operations: String,
    in_flight: String,
    left: String,
}

impl Parts {
    /// The line in at most so many columns: what matters least goes first, and how long it still
    /// takes stays. A line that the terminal broke in two could not be drawn over.
    fn fitting(&self, columns: usize) -> String {
        let Parts { jobs, running, bars, rates, brief, operations, in_flight, left } = self;
        let bars_behind = |most: usize| -> String {
            let skipped = bars.chars().count().saturating_sub(most);
            bars.chars().skip(skipped).collect()
        };
        let few = bars_behind(RECENT / 2);
        let lines = [
            format!("{jobs}{running} {bars} {rates}{in_flight}{left}"),
            format!("{jobs} {bars} {rates}{in_flight}{left}"),
            format!("{jobs} {few} {rates}{left}"),
            format!("{jobs} {few} {brief}{left}"),
            format!("{jobs} {few} {operations}{left}"),
            format!("{few} {operations}{left}"),
            format!("{jobs} {few}{left}"),
        ];
        let fits = |line: &&String| line.chars().count() <= columns;
        let last = &lines[lines.len() - 1];
        lines.iter().find(fits).cloned().unwrap_or_else(|| last.chars().take(columns).collect())
    }
}

/// What is known of a job's length beforehand.
struct Plan {
    stage: usize,
    /// With a runtime: ramp and runtime.
    time: Option<Span>,
    time_based: bool,
    /// Bytes that it moves in all, as far as that is known.
    bytes: Option<u64>,
}

impl<'r, 'i> Status<'r, 'i> {
    /// For these jobs; what was done in between goes to `reports`.
    pub fn new(stop: Stop, flags: &Flags, reports: &'r mut Reports<'i>, keeping: Keeping<'r>) -> Status<'r, 'i> {
        uring::signal::watch_status();
        let terminal = stderr().is_terminal();
        let stages = stages(keeping.specs);
        let plan = |(index, spec): (usize, &JobSpec)| Plan {
            stage: stages.partition_point(|stage| stage.end <= index),
            time: spec.ending.runtime.map(|runtime| runtime + spec.ending.ramp + spec.start.delay_least),
            time_based: spec.ending.time_based,
            bytes: bytes_of(spec),
        };
        let shown = match flags.eta {
            Eta::Always => true,
            Eta::Never => false,
            Eta::Auto => terminal,
        };
        let lines = !shown || flags.eta_newline.is_some();
        Status {
            stop,
            reports,
            report_every: flags.status_interval.filter(|every| *every > Span::ZERO),
            next_report: flags.status_interval.unwrap_or_default(),
            report_wanted: false,
            lost: None,
            shown,
            terminal,
            live: Live::on(Stream::Err, lines, &keeping.begun.identity.title),
            rows: JobRows::default(),
            newline: flags.eta_newline,
            next_newline: flags.eta_newline.unwrap_or_default(),
            plans: keeping.specs.iter().enumerate().map(plan).collect(),
            keeping,
            last: Default::default(),
            recent: Vec::new(),
            drawn: false,
        }
    }

    /// Leaves a line as it is, and takes a view away; what follows is printed below.
    ///
    /// # Errors
    /// A report in between could not be written.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.live.clear();
        if self.drawn && self.terminal {
            terminal::aside("\n");
        }
        self.lost.map_or(Ok(()), Err)
    }

    fn report(&mut self, passed: Span, outcomes: &[JobOutcome]) {
        self.live.clear();
        if self.drawn && self.terminal {
            terminal::aside("\r\x1b[K");
        }
        if let Err(error) = self.reports.in_between(passed, outcomes) {
            self.lost.get_or_insert(error);
        }
    }

    fn parts(&mut self, passed: Span, jobs: &[JobProgress]) -> Parts {
        let running = jobs.iter().filter(|job| job.began.is_some() && !job.ended).count();
        let in_flight: u32 = jobs.iter().map(|job| job.in_flight).sum();
        let sum = PerDirection::from_fn(|direction| {
            jobs.iter().map(|job| job.counts[direction]).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        });
        let seconds = passed.saturating_sub(self.last.0).as_secs_f64().max(1e-9);
        let rate = |direction: Direction| {
            let (now, before) = (sum[direction], self.last.1[direction]);
            // Counts begin anew behind a ramp.
            (now.0.saturating_sub(before.0) as f64 / seconds, now.1.saturating_sub(before.1) as f64 / seconds)
        };
        let said: Vec<String> = Direction::ALL
            .into_iter()
            .filter(|&direction| sum[direction].0 > 0)
            .map(|direction| {
                let (ops, bytes) = rate(direction);
                format!("{} {}/s {} IOPS", direction.name(), Bytes(bytes as u64), short(ops))
            })
            .collect();
        let moved = Direction::ALL.into_iter().filter(|&direction| sum[direction].0 > 0);
        let operations: Vec<String> =
            moved.clone().map(|direction| format!("{} {} IOPS", direction.name(), short(rate(direction).0))).collect();
        let brief = |direction: Direction| {
            let (ops, bytes) = rate(direction);
            format!("{} {}/s {}", direction.name(), rounded(bytes), short(ops))
        };
        let brief: Vec<String> = moved.map(brief).collect();
        self.recent.push(Direction::ALL.into_iter().map(|direction| rate(direction).0).sum());
        if self.recent.len() > RECENT {
            self.recent.remove(0);
        }
        self.last = (passed, sum);
        Parts {
            jobs: count(jobs.len(), "job", "jobs"),
            running: format!(" ({running} running)"),
            bars: sparkline(&self.recent),
            rates: if said.is_empty() { "nothing yet".to_owned() } else { said.join(", ") },
            brief: format!("{} IOPS", brief.join(", ")),
            operations: operations.join(", "),
            in_flight: format!(", {in_flight} in flight"),
            left: self.left(passed, jobs).map_or(String::new(), |left| left_of(passed, left)),
        }
    }

    /// How long the rest will take, where that can be told.
    fn left(&self, passed: Span, jobs: &[JobProgress]) -> Option<Span> {
        let stages = self.plans.last().map_or(0, |plan| plan.stage);
        let mut left = Span::ZERO;
        for stage in 0..=stages {
            let of_stage = self.plans.iter().zip(jobs).filter(|(plan, _)| plan.stage == stage);
            let mut longest = Span::ZERO;
            for (plan, job) in of_stage.filter(|(_, job)| !job.ended) {
                longest = longest.max(rest_of(plan, job, passed)?);
            }
            left += longest;
        }
        Some(left)
    }
}

/// How much of the time has passed, and what is left, behind the rest of a line.
fn left_of(passed: Span, left: Span) -> String {
    let whole = (passed + left).as_secs_f64().max(1e-9);
    let percent = passed.as_secs_f64() / whole * 100.0;
    let seconds = left.as_secs_f64().ceil() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let hours = if hours > 0 { format!("{hours}:") } else { String::new() };
    format!("; {percent:.0} %, {hours}{minutes:02}:{seconds:02} left")
}

/// How long a job still takes, as far as that can be told.
fn rest_of(plan: &Plan, job: &JobProgress, passed: Span) -> Option<Span> {
    let Some(began) = job.began else { return plan.time };
    let worked = passed.saturating_sub(began);
    let by_time = plan.time.map(|time| time.saturating_sub(worked));
    if plan.time_based && by_time.is_some() {
        return by_time;
    }
    let done: u64 = Direction::ALL.into_iter().map(|direction| job.counts[direction].1).sum();
    let by_bytes = plan.bytes.filter(|_| done > 0).map(|bytes| {
        let part = bytes.saturating_sub(done) as f64 / done as f64;
        Span::from_secs_f64(worked.as_secs_f64() * part)
    });
    match (by_time, by_bytes) {
        (Some(time), Some(bytes)) => Some(time.min(bytes)),
        (time, bytes) => time.or(bytes),
    }
}

/// Bytes that a job moves in all, where its description alone says so.
fn bytes_of(spec: &JobSpec) -> Option<u64> {
    let sized = |amount: Option<Amount>| match amount {
        Some(Amount::Bytes(bytes)) => Some(bytes.0),
        _ => None,
    };
    let whole = match &spec.place {
        JobPlace::Files(files) => files.iter().map(|file| sized(file.size)).sum::<Option<u64>>(),
        JobPlace::Named { region, .. } => sized(region.size),
        JobPlace::Null { size } => Some(size.0),
    };
    let pass = sized(spec.ending.amount).or(whole)?;
    Some(pass.saturating_mul(u64::from(spec.ending.loops.max(1))))
}

impl Watch for Status<'_, '_> {
    fn note(&mut self, line: &str) {
        self.live.clear();
        remark(&format!("note: {line}"));
        self.reports.note(line.to_owned());
    }

    fn begins(&mut self) {
        self.keeping.kept.begins();
    }

    fn laying_out(&mut self, path: &Path, bytes: u64) {
        self.live.clear();
        remark(&format!("laying out {} ({})", path.display(), Bytes(bytes)));
    }

    fn progress(&mut self, passed: Span, jobs: &[JobProgress]) {
        if !self.shown {
            return;
        }
        if self.live.is_shown() {
            let left = self.left(passed, jobs);
            self.rows.take(&mut self.live.state, passed, jobs);
            self.live.state.total = left.map_or(Span::ZERO, |left| passed + left);
            return self.live.draw();
        }
        let columns = if self.terminal { columns().unwrap_or(USUAL_COLUMNS) } else { usize::MAX };
        let line = self.parts(passed, jobs).fitting(columns);
        self.drawn = true;
        let newline = self.newline.is_some() && passed >= self.next_newline;
        if newline {
            self.next_newline = passed + self.newline.unwrap_or_default();
        }
        match (self.terminal, newline) {
            (true, false) => terminal::aside(&format!("\r\x1b[K{line}")),
            (true, true) => terminal::aside(&format!("\r\x1b[K{line}\n")),
            (false, true) => terminal::aside(&format!("{line}\n")),
            (false, false) if self.newline.is_none() => terminal::aside(&format!("{line}\n")),
            (false, false) => {}
        }
    }

    fn wants_interim(&mut self, passed: Span) -> bool {
        self.report_wanted |= uring::signal::status_was_asked();
        if let Some(every) = self.report_every.filter(|_| passed >= self.next_report) {
            self.report_wanted = true;
            self.next_report = every * (passed.as_nanos() / every.as_nanos() + 1);
        }
        self.report_wanted || self.keeping.kept.is_due()
    }

    fn interim(&mut self, passed: Span, outcomes: Vec<JobOutcome>) {
        if std::mem::take(&mut self.report_wanted) {
            self.report(passed, &outcomes);
        }
        if self.keeping.kept.is_due() {
            self.keeping.so_far(outcomes);
        }
    }

    fn complete(&mut self, job: usize, done: &[JobOutcome]) -> Result<Option<JobSpec>, String> {
        recording::complete(self.reports.invocation(), job, done)
    }

    fn waiting(&mut self, line: &str) {
        self.live.clear();
        terminal::complain(line);
    }

    fn wants_end(&mut self) -> bool {
        self.stop.is_insisted_on()
    }

    fn wants_stop(&mut self) -> bool {
        self.stop.is_asked() || self.lost.is_some()
    }
}

/// What a terminal that does not tell its width is taken for.
const USUAL_COLUMNS: usize = 79;

/// Columns of the terminal that the standard error is, less one that a cursor stands in; `None`
/// where it is none.
pub fn columns() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(stderr())?;
    Some(usize::from(width.0).saturating_sub(1).max(20))
}

/// A number in at most four characters and a unit.
fn short(number: f64) -> String {
    match number {
        0.0..1e4 => format!("{number:.0}"),
        1e4..1e5 => format!("{:.1}k", number / 1e3),
        1e5..1e6 => format!("{:.0}k", number / 1e3),
        _ => format!("{:.2}M", number / 1e6),
    }
}

/// Bytes in at most four digits and a unit.
fn rounded(bytes: f64) -> String {
    let mut number = bytes;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if number < 1000.0 {
            return format!("{number:.0} {unit}");
        }
        number /= 1024.0;
    }
    format!("{number:.1} TiB")
}

fn sparkline(recent: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = recent.iter().copied().fold(0.0, f64::max).max(1e-9);
    recent.iter().map(|rate| BARS[((rate / most * 7.0).round() as usize).min(7)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Kept;
    use stats::run::Run;

    #[test]
    fn the_line_says_how_fast_and_how_long() {
        let spec = JobSpec {
            ending: workload::job::Ending {
                runtime: Some(Span::from_secs(10)),
                time_based: true,
                ..Default::default()
            },
            ..JobSpec::default()
        };
        let flags = Flags { eta: Eta::Never, ..Flags::default() };
        let invocation = fio::Invocation::parse(&["--version".to_owned()], &fio::Given::default()).unwrap();
        let mut reports = Reports::new(&invocation);
        let mut kept = Kept::default();
        let keeping = Keeping { begun: &Run::default(), specs: &[spec], kept: &mut kept };
        let mut status = Status::new(Stop::default(), &flags, &mut reports, keeping);
        let mut job = JobProgress { began: Some(Span::ZERO), ended: false, counts: Default::default(), in_flight: 32 };
        job.counts.read = (50_000, 50_000 * 4096);
        let first = status.parts(Span::SECOND, std::slice::from_ref(&job)).fitting(200);
        assert_eq!(first, "1 job (1 running) █ read 195.31 MiB/s 50.0k IOPS, 32 in flight; 10 %, 00:09 left");
        job.counts.read = (75_000, 75_000 * 4096);
        let second = status.parts(Span::from_secs(2), std::slice::from_ref(&job)).fitting(200);
        let third = status.parts(Span::from_secs(3), std::slice::from_ref(&job));
        // Narrower and narrower, the time that is left stays as long as there is room for anything.
        assert_eq!(third.fitting(60), "1 job █▅▁ read 0 B/s 0 IOPS, 32 in flight; 30 %, 00:07 left");
        assert_eq!(third.fitting(50), "1 job █▅▁ read 0 B/s 0 IOPS; 30 %, 00:07 left");
        assert_eq!(third.fitting(30), "1 job █▅▁; 30 %, 00:07 left");
        assert!((1..80).all(|columns| third.fitting(columns).chars().count() <= columns));
        assert_eq!([999.0, 1e6, 76e6, 5e12].map(rounded), ["999 B", "977 KiB", "72 MiB", "4.5 TiB"]);
        assert_eq!(second, "1 job (1 running) █▅ read 97.66 MiB/s 25.0k IOPS, 32 in flight; 20 %, 00:08 left");
    }
}
