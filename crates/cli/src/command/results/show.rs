//! `seawall results show`: the final state of one run.

use super::{drawn, looked_at, open, rounded};
use crate::Answer;
use crate::live::Stream;
use crate::memory::Memory;
use crate::terminal;
use crate::watch::{REPORT_COLUMNS, paint};
use anyhow::{Result, bail};
use block::Span;
use report::text;
use stats::Histogram;
use stats::run::{Cell, Class, Kind, Point, Run, State};

/// Show one run: its figures, verdicts and notes
///
/// --plan shows the plan or job file that was run, --csv its figures.
#[derive(clap::Args)]
pub struct Show {
    /// The run
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    /// Print the run's figures as CSV instead of its table: by second, or of its write cycles
    #[arg(long, value_name = "WHAT", value_parser = ["seconds", "cycles"])]
    csv: Option<String>,
    /// Print the plan or job file that was run instead of its table
    #[arg(long, conflicts_with = "csv")]
    plan: bool,
}

impl Show {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let database = open(memory)?;
        let number = database.number_of(&self.run)?;
        let run = if self.csv.is_some() { looked_at(&database, number)? } else { drawn(&database, number)? };
        match self.csv.as_deref() {
            _ if self.plan && run.identity.text.is_empty() => {
                let command = known("; its command was: ", &run.identity.command);
                bail!("--plan: run {number} had none{command}");
            }
            _ if self.plan => terminal::print(&run.identity.text),
            Some(what) => {
                let (recording, mut out) = (run.recording(), Vec::new());
                match what {
                    "cycles" => report::csv::write_cycles(&recording, &mut out)?,
                    _ => report::csv::write(&recording, &mut out)?,
                }
                terminal::print(&String::from_utf8(out)?);
            }
            // Plans have their own table, with policies and what limited each workload.
            None if !run.objects.is_empty() || !run.gates.is_empty() => {
                terminal::print(&report::table::render(&run.recording(), paint(Stream::Out)));
                let host = wrapped(&run);
                if !host.is_empty() {
                    terminal::line(&format!("\n{}", host.join("\n")));
                }
            }
            None => terminal::print(&shown(number, &run)),
        }
        Ok(Answer::Yes)
    }
}

/// A word after a lead; empty if it is unknown, as for imported figures of another program.
fn known(lead: &str, word: &str) -> String {
    if word.is_empty() { String::new() } else { format!("{lead}{}", text::printable(word)) }
}

/// The host's figures in 80 columns.
fn wrapped(run: &Run) -> Vec<String> {
    let lines = report::host_lines(&run.host);
    lines.iter().flat_map(|line| text::wrap(&text::printable(line), REPORT_COLUMNS)).collect()
}

/// A run in 80 columns: its origin, a line for each class of each actor, verdicts, notes.
fn shown(number: i64, run: &Run) -> String {
    let identity = &run.identity;
    let mut lines = vec![text::fit(&format!("run {number}: {}", text::printable(&identity.title)), REPORT_COLUMNS)];
    let state = match identity.state {
        State::Running => ", goes on",
        State::CutShort => ", cut short",
        State::Ended => "",
    };
    let clock = if identity.simulated { ", in virtual time" } else { "" };
    let started = text::date(identity.started_unix_ms);
    let host = known(", on ", &run.machine.host);
    lines.push(format!("{}, {started}{clock}{state}{host}", identity.tool));
    let command = known("command: ", &identity.command);
    if !command.is_empty() {
        lines.extend(text::wrap(&command, REPORT_COLUMNS));
    }
    for (key, word) in &run.labels {
        lines.push(text::fit(&format!("{key}: {}", text::printable(word)), REPORT_COLUMNS));
    }
    let kind = kind(run);
    if kind == Kind::Service {
        lines.push("times: service, from hand-over to end; response times are not known".into());
    }
    for (point, stretch) in run.points.iter().enumerate() {
        lines.push(String::new());
        lines.push(text::fit(&heading(run, point as u32, stretch), REPORT_COLUMNS));
        let cells: Vec<&Cell> = run.cells.iter().filter(|cell| cell.point as usize == point).collect();
        let mut unit = "";
        for of_actor in cells.chunk_by(|one, next| one.actor == next.actor) {
            // Transactions and requests have a heading each.
            let rate = run.rate_unit(of_actor[0].actor);
            if rate != unit {
                unit = rate;
                lines.push(headings(rate));
            }
            // A single class is the same as the total.
            let alone = of_actor.len() == 2;
            let told = of_actor.iter().filter(|cell| cell.class != Class::ALL || !alone);
            lines.extend(told.map(|cell| line(run, cell, kind)));
            lines.extend(of_actor.iter().filter_map(|cell| punctual(cell)));
        }
    }
    let host = wrapped(run);
    if !host.is_empty() {
        lines.push(String::new());
        lines.extend(host);
    }
    for verdict in &run.verdicts {
        lines.push(String::new());
        let said = format!("{}: {} ({})", verdict.outcome, verdict.question, verdict.because);
        lines.extend(text::wrap(&text::printable(&said), REPORT_COLUMNS));
    }
    for note in &run.notes {
        lines.extend(text::wrap(&format!("note: {}", text::printable(note)), REPORT_COLUMNS));
    }
    lines.join("\n") + "\n"
}

/// The headings of a table of cells with this unit of rates.
fn headings(rate: &str) -> String {
    let [mb, mean, p99, max, failed] = ["MB/s", "mean ms", "p99 ms", "max ms", "failed"];
    format!("{:<20} {:<7} {rate:>8} {mb:>8} {mean:>8} {p99:>8} {max:>8} {failed:>6}", "", "class")
}

/// Which times are shown: response times if there are any, else service times.
fn kind(run: &Run) -> Kind {
    let has = |kind| run.cells.iter().any(|cell| cell.latency(kind).is_some());
    if !has(Kind::Response) && has(Kind::Service) { Kind::Service } else { Kind::Response }
}

/// The name of a point and its length, of which less may be measured, as where it settles first.
fn heading(run: &Run, number: u32, point: &Point) -> String {
    let (name, length) = (text::printable(&point.name), point.length());
    let measured = run.cells.iter().filter(|cell| cell.point == number).map(|cell| cell.measured);
    let measured = measured.max().unwrap_or_default();
    let of_it = match measured.as_secs_f64() < 0.98 * length.as_secs_f64() {
        true => format!(", {} of it measured", text::length(measured)),
        false => String::new(),
    };
    let incomplete = run.incomplete(number).map_or(String::new(), |why| format!(" (incomplete: {why})"));
    format!("{name}, {}{of_it}{}", text::length(length), text::printable(&incomplete))
}

fn line(run: &Run, cell: &Cell, kind: Kind) -> String {
    let actor = run.actors.get(cell.actor as usize).map_or("", |actor| actor.name.as_str());
    let seconds = cell.measured.as_secs_f64();
    let known =
        |figure: Option<f64>, digits: usize| figure.map_or("-".to_owned(), |figure| format!("{figure:.digits$}"));
    let rate = |count: f64| (seconds > 0.0).then_some(count / seconds);
    let times = cell.latency(kind);
    // Three decimals, or more where they would be zeroes.
    let ms = |time: Span| match time < Span::from_micros(10) {
        true => text::millis(time),
        false => format!("{:.3}", time.as_millis_f64()),
    };
    let ms = |of: fn(&Histogram) -> Span| times.map_or("-".to_owned(), |times| ms(of(times)));
    format!(
        "{:<20} {:<7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}",
        text::fit(&text::printable(actor), 20),
        text::fit(cell.class.name(), 7),
        rate(cell.ops as f64).map_or("-".to_owned(), rounded),
        known(cell.bytes.and_then(|bytes| rate(bytes as f64 / 1e6)), 1),
        ms(Histogram::mean),
        ms(|times| times.quantile(0.99)),
        ms(Histogram::max),
        cell.failed.map_or("-".to_owned(), |failed| failed.to_string()),
    )
}

/// How far the schedule of an open loop was missed, if it was.
fn punctual(cell: &Cell) -> Option<String> {
    let told = [(cell.late, "late"), (cell.held, "held by the cap"), (cell.never_sent, "never sent")];
    let told: Vec<String> =
        told.into_iter().filter_map(|(count, what)| count.filter(|n| *n > 0).map(|n| format!("{n} {what}"))).collect();
    (cell.class == Class::ALL && !told.is_empty()).then(|| format!("  of its schedule: {}", told.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::run::{Event, RunActor};

    /// Two jobs of reads on a schedule: the remarks on each follow its line.
    #[test]
    fn remarks_on_a_schedule_follow_their_line() {
        let cell = |actor, class, late| Cell { late: Some(late), ..Cell::new(0, actor, class, Span::SECOND) };
        let cells = |actor, late| [Class::ALL, Class::READ].map(|class| cell(actor, class, late));
        let actor = |name: &str| RunActor { name: name.into(), ..RunActor::default() };
        let run = Run {
            actors: vec![actor("one"), actor("two")],
            points: vec![Point::default()],
            cells: [cells(0, 5), cells(1, 7)].concat(),
            ..Run::default()
        };
        let text = shown(1, &run);
        let told: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("one")).collect();
        let starts = ["one ", "  of its schedule: 5 late", "two ", "  of its schedule: 7 late"];
        assert!(told.len() == 4 && told.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{text}");
    }

    /// A point of 10 s that was measured for its last second, and one that was cut.
    #[test]
    fn a_point_is_headed_with_what_was_measured() {
        let point = Point { name: "small 1, large 0".into(), end: Span::from_secs(10), ..Point::default() };
        let cells = [(0, 1), (1, 10)].map(|(point, s)| Cell::new(point, 0, Class::ALL, Span::from_secs(s)));
        let mut run = Run { cells: cells.into(), ..Run::default() };
        assert_eq!(heading(&run, 0, &point), "small 1, large 0, 10 s, 1 s of it measured");
        assert_eq!(heading(&run, 1, &point), "small 1, large 0, 10 s");
        let (kind, name) = (Event::INCOMPLETE.into(), "stopped before its end".into());
        run.events.push(Event { point: Some(1), actor: None, at: Span::ZERO, kind, name, number: None });
        assert_eq!(heading(&run, 1, &point), "small 1, large 0, 10 s (incomplete: stopped before its end)");
    }

    /// A run of 3 ms whose requests took 150 ns has neither 0 s nor 0 ms.
    #[test]
    fn what_is_short_is_not_nothing() {
        let mut times = Histogram::new();
        times.record(Span::from_nanos(150));
        let end = Span::from_millis(3);
        let cell = Cell { ops: 1, ..Cell::new(0, 0, Class::ALL, end) }.with(Kind::Response, &times);
        let run = Run { cells: vec![cell], ..Run::default() };
        assert_eq!(heading(&run, 0, &Point { name: "run".into(), end, ..Point::default() }), "run, 3.00 ms");
        let told = line(&run, &run.cells[0], Kind::Response);
        let told: Vec<&str> = told.split_whitespace().skip(3).take(3).collect();
        assert_eq!(told, ["0.00015"; 3]);
    }

    /// 9 transactions in 20 s are 0.450 a second and not 0.
    #[test]
    fn a_low_rate_is_not_none() {
        let cell = Cell { ops: 9, ..Cell::new(0, 0, Class::ALL, Span::from_secs(20)) };
        let told = line(&Run::default(), &cell, Kind::Response);
        assert_eq!(told.split_whitespace().nth(1), Some("0.450"), "{told}");
    }

    /// Imported figures of another program, without where and how they were measured.
    #[test]
    fn unknown_facts_are_left_out() {
        let text = shown(1, &Run::default());
        assert!(text.lines().count() == 2 && text.ends_with(" UTC\n"), "{text}");
        let mut run = Run::default();
        (run.identity.command, run.machine.host) = ("seawall demo".into(), "epic1".into());
        let text = shown(1, &run);
        assert!(text.contains("\ncommand: seawall demo\n") && text.contains(", on epic1\n"), "{text}");
    }
}
