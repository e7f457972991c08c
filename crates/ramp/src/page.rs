//! The page of a ramp: the usual charts of such tests, its cycles, and the table below them.

use crate::machine::RampOutcome;
use crate::settings::RampSettings;
use crate::summary::RampRow;
use crate::timeline::TimelineSecond;
use block::Span;
use report::Page;
use report::chart::{Axis, Band, Chart, LevelKind, Look, Mark, Merge, Stretch, Threshold, thinned};
use report::section::{
    Charts, Curve, CycleChart, CycleParts, CycleRun, Cycles, Figure, Group, PercentileChart, Percentiles, RunVerdict,
    Table, TableCell, Tables, Tone, curve,
};
use report::text;
use stats::Tape;

/// Maximum number of points of a line over time: a longer ramp shows the mean of several seconds,
/// with a note.
const POINTS_MOST: usize = 1200;
/// Maximum number of curves in a chart: of more runs some are chosen from the first to the last.
const CURVES_MOST: usize = 6;

/// The page of these runs; `rows` and `runs` are of the same runs, in order. The caller sets its
/// facts and version.
pub fn page(settings: &RampSettings, rows: &[RampRow], runs: &[RampOutcome]) -> Page {
    let title = format!("Ramp {} to {} IOPS on {}", settings.ladder.min, settings.ladder.max, settings.system);
    let mut page = Page { about: settings.comment.clone(), ..Page::new(title, "") };
    let differences = settings.differences();
    if !differences.is_empty() {
        page.banners.push(format!("Not comparable with published figures: {}", differences.join(", ")));
    }
    page.add(verdict(rows));
    page.add(cycles_by_iops(settings, rows));
    page.add(latency_by_iops(rows));
    page.add(cycles(settings, rows, runs));
    page.add(percentiles(rows, runs));
    page.add(over_time(rows, runs));
    page.add(table(rows));
    page
}

/// The verdict on all runs: each has its own in the table.
fn verdict(rows: &[RampRow]) -> RunVerdict {
    let count = |outcome: stats::Outcome| rows.iter().filter(|row| row.verdict == outcome.to_string()).count();
    let [failed, open, passed] = [stats::Outcome::Fail, stats::Outcome::CannotSay, stats::Outcome::Pass].map(count);
    let runs = text::count(rows.len(), "run", "runs");
    let (outcome, sentence) = match (failed, open, passed) {
        (0, 0, 0) => (None, "No run was judged yet".into()),
        (0, 0, _) => (Some(stats::Outcome::Pass), format!("All runs passed: {passed}")),
        (0, ..) => (Some(stats::Outcome::CannotSay), format!("Of {open} of {runs} nothing can be said")),
        _ => (Some(stats::Outcome::Fail), format!("{failed} of {runs} failed")),
    };
    RunVerdict { outcome, sentence, ..RunVerdict::default() }
}

/// Figures of each run over the total IOPS that it reached.
fn by_iops<const N: usize>(title: &str, y: Axis, rows: &[RampRow], lines: [Line<'_>; N]) -> Chart {
    let reached = || rows.iter().map(RampRow::total_iops);
    let x = Axis::around(reached().fold(f64::INFINITY, f64::min), reached().fold(0.0, f64::max));
    let mut chart = Chart::new(title, x.unit("total IOPS"), y);
    let said = lines.iter().filter_map(|line| Some(format!("{} {:.2}", line.name, line.points.last()?.1)));
    chart.description = format!("At the highest IOPS: {}.", said.collect::<Vec<_>>().join(", "));
    chart.marks = (0..)
        .zip(lines)
        .map(|(index, Line { name, points })| Mark::Line {
            name: name.into(),
            points,
            look: Look::Alone(index),
            dots: true,
            on_right: false,
        })
        .collect();
    chart
}

struct Line<'n> {
    name: &'n str,
    points: Vec<(f64, f64)>,
}

fn line<'n>(name: &'n str, rows: &[RampRow], figure: impl Fn(&RampRow) -> Option<f64>) -> Line<'n> {
    let mut points: Vec<_> = rows.iter().filter_map(|row| Some((row.total_iops(), figure(row)?))).collect();
    // A run with a long last cycle reaches less than the one before; lines still go from left to
    // right.
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    Line { name, points }
}

fn highest(lines: &[Line<'_>]) -> f64 {
    lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max)
}

fn charts(heading: &str, figure: Figure) -> Charts {
    Charts { heading: heading.into(), figures: vec![figure], ..Charts::default() }
}

fn cycles_by_iops(settings: &RampSettings, rows: &[RampRow]) -> Charts {
    let seen = |of: fn(&RampRow) -> Span| move |row: &RampRow| row.of_cycles(of(row)).map(Span::as_secs_f64);
    let lines = [
        line("longest cycle", rows, seen(|row| row.longest_cycle)),
        line("90 % of cycles", rows, seen(|row| row.cycle_p90)),
        line("longest WIJ", rows, seen(|row| row.longest_wij)),
    ];
    let limit = settings.constants.cycle_limit().as_secs_f64();
    let y = Axis::from_zero(highest(&lines).max(limit * 1.05)).unit("seconds");
    let mut chart = by_iops("Write cycle by IOPS", y, rows, lines);
    chart.marks.push(limit_of(limit, &chart.x));
    charts("Write cycle against IOPS", Figure::of(chart))
}

/// The limit of a cycle, in seconds, over the whole of an axis.
pub(crate) fn limit_of(limit: f64, x: &Axis) -> Mark {
    let says = vec![format!("limit {limit} s")];
    Mark::Level(Threshold { from: x.low(), to: x.high(), figure: limit, says, kind: LevelKind::Limit })
}

fn latency_by_iops(rows: &[RampRow]) -> Charts {
    let lines = [
        line("read, mean", rows, |row| row.of_reads(row.read_mean).map(Span::as_millis_f64)),
        line("read, p99", rows, |row| row.of_reads(row.read_p99).map(Span::as_millis_f64)),
        line("effective write", rows, |row| row.effective_write_ms),
    ];
    let y = Axis::from_zero(highest(&lines)).unit("milliseconds");
    charts("Latency against IOPS", Figure::of(by_iops("Latency by IOPS", y, rows, lines)))
}

fn cycles(settings: &RampSettings, rows: &[RampRow], runs: &[RampOutcome]) -> Cycles {
    let run = |(row, run): (&RampRow, &RampOutcome)| CycleRun {
        name: format!("run {}", row.run),
        number: 0,
        cycles: run
            .cycles
            .iter()
            .map(|cycle| CycleParts { journal: cycle.wij.as_secs_f64(), whole: cycle.cycle.as_secs_f64() })
            .collect(),
    };
    let runs = rows.iter().zip(runs).map(run).filter(|run| !run.cycles.is_empty()).collect();
    Cycles {
        heading: "Every write cycle".into(),
        lead: "From its start until its journal was cleared: the journal (WIJ), and the writes to their places on it."
            .into(),
        limit: Some(settings.constants.cycle_limit().as_secs_f64()),
        charts: vec![CycleChart { name: String::new(), runs }],
    }
}

fn percentiles(rows: &[RampRow], runs: &[RampOutcome]) -> Percentiles {
    let step = rows.len().saturating_sub(1).div_ceil(CURVES_MOST - 1).max(1);
    // From the last run backwards, so that the heaviest is among them.
    let mut picked: Vec<_> = rows.iter().zip(runs).rev().step_by(step).collect();
    picked.reverse();
    let curve = |(index, (row, run)): (usize, (&RampRow, &RampOutcome))| Curve {
        name: format!("run {}, {} IOPS", row.run, row.target),
        look: Look::Alone(index),
        points: curve(&run.tape[Tape::READ].response),
    };
    let curves = picked.into_iter().enumerate().map(curve).filter(|curve| !curve.points.is_empty()).collect();
    Percentiles {
        heading: "Reads by percentile".into(),
        lead: "How long so many of the reads took at most, from when they were due. Both axes are logarithmic.".into(),
        charts: vec![PercentileChart { name: String::new(), curves }],
    }
}

/// Operations in each second, one run after the other.
fn over_time(rows: &[RampRow], runs: &[RampOutcome]) -> Charts {
    let of_runs: Vec<Vec<TimelineSecond>> = runs.iter().map(|run| TimelineSecond::of(0, run)).collect();
    let seconds = of_runs.concat();
    let mut step = 1;
    let mut steps = |name: &str, index, of: fn(&TimelineSecond) -> f64| {
        let stretch = |(at, second)| Stretch { from: at as f64, to: at as f64 + 1.0, figure: Some(of(second)) };
        let all: Vec<Stretch> = seconds.iter().enumerate().map(stretch).collect();
        let (stretches, merged) = thinned(&all, POINTS_MOST, Merge::Mean);
        step = merged;
        let most = stretches.iter().filter_map(|stretch| stretch.figure).fold(0.0, f64::max);
        (Mark::Steps { name: name.into(), stretches, look: Look::Series(index) }, most)
    };
    let (reads, most_reads) = steps("reads", 0, |second| second.reads as f64);
    let (writes, most_writes) = steps("writes", 1, |second| second.writes as f64);
    let (journal, most_journal) = steps("journal", 2, |second| second.journal as f64);
    let y = Axis::from_zero(most_reads.max(most_writes).max(most_journal)).unit("blocks/s");
    let mut chart = Chart::new("Reads and bursts over time", Axis::seconds(seconds.len() as f64), y);
    let (length, number) = (text::count(seconds.len(), "second", "seconds"), text::count(runs.len(), "run", "runs"));
    chart.description = format!("Over {length} of {number}, one after the other.");
    let mut end = 0.0;
    for (row, run) in rows.iter().zip(&of_runs) {
        let (from, about) = (end, format!("asked for {} IOPS", row.target));
        end += run.len() as f64;
        chart.bands.push(Band { from, to: end, number: 0, name: format!("run {}", row.run), about });
    }
    chart.marks = vec![reads, writes, journal];
    let means = if step > 1 { format!(", means of {step} seconds") } else { String::new() };
    let caption = format!("Blocks of 8 KiB a second, one run after the other{means}.");
    charts("Reads and bursts over time", Figure::of(chart).captioned(caption))
}

fn table(rows: &[RampRow]) -> Tables {
    let columns = [
        "Run",
        "Target",
        "Read IOPS",
        "Write IOPS",
        "WIJ (s)",
        "Cycle (s)",
        "Write (ms)",
        "Read (ms)",
        "p99 (ms)",
        "Verdict",
    ];
    let cells = |row: &RampRow| {
        let tone = if row.verdict == "fail" { Tone::Bad } else { Tone::Plain };
        let known = |figure: Option<f64>| figure.map_or("–".to_owned(), |figure| format!("{figure:.2}"));
        let cycle = |length: Span| known(row.of_cycles(length).map(Span::as_secs_f64));
        let read = |latency: Span| known(row.of_reads(latency).map(Span::as_millis_f64));
        let mut cells: Vec<TableCell> = vec![
            row.target.to_string().into(),
            format!("{:.0}", row.read_iops.trunc()).into(),
            format!("{:.0}", row.write_iops.trunc()).into(),
            cycle(row.longest_wij).into(),
            cycle(row.longest_cycle).into(),
            known(row.effective_write_ms).into(),
            read(row.read_mean).into(),
            read(row.read_p99).into(),
        ];
        cells.push(TableCell { says: row.verdict.clone(), tone });
        report::section::TableRow { name: row.run.to_string(), remarks: Vec::new(), cells }
    };
    let groups = vec![Group { rows: rows.iter().map(cells).collect(), ..Group::default() }];
    let columns = columns.map(String::from).to_vec();
    Tables {
        heading: "Runs".into(),
        tables: vec![Table { columns, groups, ..Table::default() }],
        note: "Reads are made on a schedule whatever storage does, so the IOPS that were reached check the generator; what \
               storage is worth, the cycles and latencies say."
            .into(),
        ..Tables::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::Ladder;
    use crate::settings::{Accounting, Constants, Steps};
    use block::Span;
    use stats::TapeSlice;

    fn settings() -> RampSettings {
        RampSettings {
            ladder: Ladder { min: 75_000, max: 150_000, runs: 2, steps: Steps::AboveMinimum },
            runtime: Span::from_secs(1800),
            wij_file: String::new(),
            system: "a<b".into(),
            comment: "1 & 2".into(),
            warm_up: true,
            accounting: Accounting::True,
            constants: Constants::default(),
            seed: 1,
        }
    }

    /// Two runs, one on either side of the limit: the page has three charts with their lines, the
    /// limit, both rows, and the user's texts escaped.
    #[test]
    fn a_page_has_its_graphs_and_its_rows() {
        let row = |run, iops, cycle_s, verdict: &str| RampRow {
            run,
            read_iops: iops,
            reads: 9,
            cycles: 22,
            longest_cycle: Span::from_secs(cycle_s),
            verdict: verdict.into(),
            ..RampRow::default()
        };
        let rows = [row(0, 82_500.0, 40, "pass"), row(1, 150_000.0, 73, "fail")];
        let run = |took, cycles| {
            let mut tape = Tape::default();
            let slice = |end| TapeSlice { end: Span::from_secs(end), ops: 5, ..TapeSlice::default() };
            tape[Tape::READ].slices = (1..=3000).map(slice).collect();
            tape[Tape::READ].response = took;
            RampOutcome { tape, cycles, ..RampOutcome::default() }
        };
        let histogram = |n: u64| {
            let mut histogram = stats::Histogram::new();
            histogram.record_many(Span::from_millis(n), 100);
            histogram
        };
        let cycle = |s| crate::Cycle { cycle: Span::from_secs(s), wij: Span::from_secs(9), ..crate::Cycle::default() };
        let run = |s| run(histogram(s), vec![cycle(s)]);
        let html = page(&settings(), &rows, &[run(40), run(73)]).render();
        // Five charts, each wide and narrow.
        assert_eq!((html.matches("<svg").count(), html.matches("</svg>").count()), (10, 10));
        // Three lines, twice, except for the effective write latency, which these rows do not have.
        let lines = |name: &str| html.matches(&format!(">{name}</text>")).count();
        assert_eq!((lines("longest cycle"), lines("read, p99"), lines("effective write")), (2, 2, 0));
        assert_eq!((lines("limit 45 s"), lines("run 1, 0 IOPS"), lines("journal")), (4, 2, 4));
        assert!(html.contains("run 1, cycle 1: 73.00 s, journal 9.00 s") && html.contains("<td class=\"l bad\">fail"));
        assert!(html.contains("on a&lt;b") && html.contains("1 &amp; 2") && !html.contains("a<b"));
        assert!(html.contains("1 of 2 runs failed") && html.contains("means of 5 seconds"));
        assert!(!html.contains("class=\"banner\"") && !html.contains("NaN") && !html.contains("inf"));
    }

    /// Without measurements the charts are empty frames.
    #[test]
    fn a_page_of_no_runs_is_a_page() {
        let html = page(&RampSettings { runtime: Span::SECOND, ..settings() }, &[], &[]).render();
        assert!(html.contains("<svg") && !html.contains("NaN") && html.contains("No run was judged yet"));
        assert!(html.contains("Not comparable with published figures: runs of 1.00 s"), "{html}");
    }
}
