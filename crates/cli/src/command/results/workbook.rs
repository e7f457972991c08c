//! Runs as a workbook: their descriptions, their figures, and native charts of IOPS and response
//! time by second.

use block::Span;
use report::workbook::{Chart, Sheet, SheetValue, Workbook};
use results::Answer;
use stats::run::{Run, Slice};
use std::collections::BTreeMap;

/// Maximum number of lines in a chart: beyond it, the actors of a run are combined.
const LINES_MAX: usize = 12;

/// A line of the charts.
struct Line {
    name: String,
    /// The slices by the number of the second from the start of the run.
    slices: BTreeMap<u64, Slice>,
}

/// The workbook of these runs with their numbers; `about` and `figures` are their rows in the views
/// `runs` and `results`.
pub fn of(runs: &[(i64, Run)], about: &Answer, figures: &Answer) -> Workbook {
    let lines = lines(runs);
    let seconds = rows(&lines);
    let heads = |what: &str| lines.iter().map(|line| format!("{}, {what}", line.name)).collect::<Vec<_>>();
    let chart = |title: &str, first: usize, name: &str| Chart {
        title: title.into(),
        across_name: "seconds from the start of the run".into(),
        lines: (first..first + lines.len()).collect(),
        lines_name: name.into(),
        ..Chart::default()
    };
    let mut units: Vec<&str> = runs.iter().map(|(_, run)| run.identity.rate_unit()).collect();
    units.dedup();
    let rate = if let [one] = units[..] { one } else { "operations a second" };
    let charts = vec![chart(rate, 1, rate), chart("Mean response time", 1 + lines.len(), "milliseconds")];
    let by_second = Sheet {
        name: "Seconds".into(),
        heads: [vec!["second".to_owned()], heads(rate), heads("ms")].concat(),
        // No chart without data.
        charts: if seconds.is_empty() { Vec::new() } else { charts },
        rows: seconds,
    };
    let made = runs.iter().map(|(_, run)| run.identity.started_unix_ms / 1000).max().unwrap_or(0);
    let sheets = vec![table("Runs", about), table("Results", figures), by_second];
    Workbook { title: "Runs of Seawall".into(), made_unix_s: made, sheets }
}

fn lines(runs: &[(i64, Run)]) -> Vec<Line> {
    let actors: usize = runs.iter().map(|(_, run)| run.actors.len()).sum();
    let mut lines = Vec::new();
    for (number, run) in runs {
        let whole = (actors > LINES_MAX).then(|| run.together("all"));
        let run = whole.as_ref().unwrap_or(run);
        for (actor, named) in (0u32..).zip(&run.actors) {
            let name = if runs.len() > 1 { format!("run {number}, {}", named.name) } else { named.name.clone() };
            let second = |slice: &Slice| (slice.start + Span::SECOND / 2).as_nanos() / Span::SECOND.as_nanos();
            let mut slices = BTreeMap::new();
            // The fraction of a second at the end does not represent a whole one.
            for slice in run.whole(actor, Span::ZERO).iter().filter(|slice| slice.length * 2 > Span::SECOND) {
                slices.insert(second(slice), *slice);
            }
            lines.push(Line { name, slices });
        }
    }
    lines
}

/// A row for each second of any line: the second, all IOPS, all response times.
fn rows(lines: &[Line]) -> Vec<Vec<SheetValue>> {
    let mut seconds: Vec<u64> = lines.iter().flat_map(|line| line.slices.keys().copied()).collect();
    seconds.sort_unstable();
    seconds.dedup();
    let row = |second: u64| {
        let of = |figure: &dyn Fn(&Slice) -> Option<f64>| {
            let cell =
                |line: &Line| line.slices.get(&second).and_then(figure).map_or(SheetValue::Empty, SheetValue::from);
            lines.iter().map(cell).collect::<Vec<_>>()
        };
        let iops = of(&|slice| Some(slice.ops as f64 / slice.length.as_secs_f64()));
        let response = of(&|slice| Some(slice.response?.mean.as_millis_f64()));
        [vec![SheetValue::Number(second as f64)], iops, response].concat()
    };
    seconds.into_iter().map(row).collect()
}

fn table(name: &str, answer: &Answer) -> Sheet {
    let cell = |cell: &results::SqlValue| match cell {
        results::SqlValue::Null => SheetValue::Empty,
        results::SqlValue::Integer(number) => SheetValue::Number(*number as f64),
        results::SqlValue::Real(number) => SheetValue::from(*number),
        results::SqlValue::Text(words) => SheetValue::from(words.as_str()),
        results::SqlValue::Bytes(bytes) => SheetValue::Words(format!("{bytes} bytes")),
    };
    let rows = answer.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    Sheet { name: name.into(), heads: answer.columns.clone(), rows, ..Sheet::default() }
}
