//! The page of a ramp: the charts that people draw of such tests by hand, and the table below them, in one HTML file
//! without scripts or anything to load.

pub(crate) mod graph;

use crate::machine::Outcome;
use crate::settings::Settings;
use crate::summary::Row;
use graph::{Graph, Line};

pub(crate) const STYLE: &str = "\
body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1d21;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}.facts{opacity:.7;font-size:.9rem}.stamp{border-left:4px solid #b45309;padding:.2rem .8rem}\
svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:currentColor}\
.frame{fill:none;stroke:#9aa1a9}.grid{stroke:#9aa1a9;stroke-opacity:.35}.limit{stroke:#b91c1c;stroke-dasharray:6 4}\
.l0{stroke:#1d4ed8;fill:#1d4ed8}.l1{stroke:#b45309;fill:#b45309}.l2{stroke:#047857;fill:#047857}\
polyline{fill:none!important;stroke-width:1.8}polyline.l1.dots{stroke-dasharray:5 3}\
svg text.l0,svg text.l1,svg text.l2{stroke:none}.over{paint-order:stroke;stroke:#fff;stroke-width:4px}\
svg text.l0{fill:#1d4ed8}svg text.l1{fill:#b45309}svg text.l2{fill:#047857}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.2rem .7rem;text-align:right}\
th{border-bottom:1px solid #9aa1a9}.fail{color:#b91c1c;font-weight:600}\
@media(prefers-color-scheme:dark){body{color:#e6e8ea;background:#16181b}.l0{stroke:#7aa2ff;fill:#7aa2ff}\
svg text.l0{fill:#7aa2ff}.l1{stroke:#f0a35c;fill:#f0a35c}svg text.l1{fill:#f0a35c}.l2{stroke:#4cc9a0;fill:#4cc9a0}\
svg text.l2{fill:#4cc9a0}.limit{stroke:#ff7b7b}.over{stroke:#16181b}.fail{color:#ff7b7b}}\
@media(max-width:640px){svg text{font-size:15px}th,td{padding:.2rem .3rem}table{font-size:.85rem}}";

/// The page of these runs; `rows` and `runs` are of the same runs, in order, and `facts` says when and on what they were
/// made.
pub fn page(settings: &Settings, rows: &[Row], runs: &[Outcome], facts: &str) -> String {
    let title = format!("Ramp {} to {} IOPS on {}", settings.ladder.min, settings.ladder.max, settings.system);
    let differences = settings.differences();
    let stamp = match differences.is_empty() {
        true => String::new(),
        false => {
            format!("<p class=stamp>Not comparable with published figures: {}.</p>", escape(&differences.join(", ")))
        }
    };
    format!(
        "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style>\n<h1>{title}</h1>\n<p class=facts>{facts}</p>\n<p>{comment}</p>{stamp}\n\
         <h2>Write cycle against IOPS</h2>\n{cycle}\n<h2>Latency against IOPS</h2>\n{latency}\n\
         <h2>Reads and bursts over time</h2>\n{timeline}\n<h2>Runs</h2>\n{table}\n</html>\n",
        title = escape(&title),
        facts = escape(facts),
        comment = escape(&settings.comment),
        cycle = cycle_graph(settings, rows),
        latency = latency_graph(rows),
        timeline = timeline_graph(runs),
        table = table(rows),
    )
}

fn points(rows: &[Row], figure: impl Fn(&Row) -> Option<f64>) -> Vec<(f64, f64)> {
    let mut points: Vec<_> = rows.iter().filter_map(|row| Some((row.total_iops(), figure(row)?))).collect();
    // A run whose last cycle took long reaches less than the one before: lines go from left to right all the same.
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

fn cycle_graph(settings: &Settings, rows: &[Row]) -> String {
    let seen = |of: fn(&Row) -> block::Span| move |row: &Row| (row.cycles > 0).then(|| of(row).as_secs_f64());
    let limit = settings.constants.cycle_limit();
    Graph {
        x: "total IOPS",
        y: "seconds",
        lines: vec![
            Line { name: "longest cycle", points: points(rows, seen(|row| row.longest_cycle)), dots: true },
            Line { name: "90 % of cycles", points: points(rows, seen(|row| row.cycle_p90)), dots: true },
            Line { name: "longest WIJ", points: points(rows, seen(|row| row.longest_wij)), dots: true },
        ],
        limit: Some((limit.as_secs_f64(), format!("limit {} s", limit.as_secs_f64()))),
        room: 0.0,
    }
    .svg()
}

fn latency_graph(rows: &[Row]) -> String {
    Graph {
        x: "total IOPS",
        y: "milliseconds",
        lines: vec![
            Line { name: "read, mean", points: points(rows, |row| Some(row.read_mean.as_millis_f64())), dots: true },
            Line { name: "read, 99 %", points: points(rows, |row| Some(row.read_p99.as_millis_f64())), dots: true },
            Line { name: "effective write", points: points(rows, |row| row.effective_write_ms), dots: true },
        ],
        limit: None,
        room: 0.0,
    }
    .svg()
}

/// Operations in each second, one run after the other. At most so many points a line: a longer ramp shows the mean of
/// several seconds, and says so.
const POINTS_MAX: usize = 1200;

fn timeline_graph(runs: &[Outcome]) -> String {
    let seconds: Vec<_> = runs.iter().flat_map(|run| &run.seconds).copied().collect();
    let step = seconds.len().div_ceil(POINTS_MAX).max(1);
    let line = |of: fn(&crate::machine::Second) -> f64| -> Vec<(f64, f64)> {
        let mean = |(number, piece): (usize, &[crate::machine::Second])| {
            ((number * step) as f64, piece.iter().map(of).sum::<f64>() / piece.len() as f64)
        };
        seconds.chunks(step).enumerate().map(mean).collect()
    };
    let journal = |second: &crate::machine::Second| second.wij_bytes as f64 / crate::BLOCK as f64;
    let x = if step == 1 { "seconds".to_owned() } else { format!("seconds, means of {step}") };
    Graph {
        x: &x,
        y: "blocks of 8 KiB a second",
        lines: vec![
            Line { name: "reads", points: line(|second| second.reads as f64), dots: false },
            Line { name: "writes", points: line(|second| second.writes as f64), dots: false },
            Line { name: "journal", points: line(journal), dots: false },
        ],
        limit: None,
        room: 0.0,
    }
    .svg()
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "<table><tr><th>Run<th>Target<th>Read IOPS<th>Write IOPS<th>WIJ (s)<th>Cycle (s)<th>Write (ms)<th>Read (ms)\
         <th>p99 (ms)<th>Verdict</tr>\n",
    );
    for row in rows {
        let class = if row.verdict == "fail" { " class=fail" } else { "" };
        text.push_str(&format!(
            "<tr><td>{}<td>{}<td>{:.0}<td>{:.0}<td>{:.2}<td>{:.2}<td>{}<td>{:.2}<td>{:.2}<td{class}>{}</tr>\n",
            row.run,
            row.target,
            row.read_iops.trunc(),
            row.write_iops.trunc(),
            row.longest_wij.as_secs_f64(),
            row.longest_cycle.as_secs_f64(),
            row.effective_write_ms.map_or("–".to_owned(), |ms| format!("{ms:.2}")),
            row.read_mean.as_millis_f64(),
            row.read_p99.as_millis_f64(),
            escape(&row.verdict),
        ));
    }
    text + "</table>\n<p>Reads are made on a schedule whatever storage does, so the IOPS that were reached check the generator; what \
            storage is worth, the cycles and latencies say.</p>"
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::Ladder;
    use crate::machine::Second;
    use crate::settings::{Accounting, Constants, Steps};
    use block::Span;

    fn settings() -> Settings {
        Settings {
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

    /// Two runs, one on either side of the line: the page has three graphs with their lines, the limit, both rows, and
    /// what people typed as text.
    #[test]
    fn a_page_has_its_graphs_and_its_rows() {
        let row = |run, iops, cycle_s, verdict: &str| Row {
            run,
            read_iops: iops,
            cycles: 22,
            longest_cycle: Span::from_secs(cycle_s),
            verdict: verdict.into(),
            ..Row::default()
        };
        let rows = [row(0, 82_500.0, 40, "pass"), row(1, 150_000.0, 73, "fail")];
        let second = Second { reads: 5, ..Second::default() };
        let run = Outcome { seconds: vec![second; 3000], ..Outcome::default() };
        let page = page(&settings(), &rows, &[run], "2026-11-22 09:05:11 UTC · vm<1");
        assert!(page.contains("<p class=facts>2026-11-22 09:05:11 UTC · vm&lt;1</p>"));
        assert_eq!(page.matches("<svg").count(), 3);
        assert_eq!(page.matches("</svg>").count(), 3);
        // Three lines each, but for the effective write latency, which these rows have not.
        assert_eq!(page.matches("<polyline").count(), 8);
        assert!(page.contains("limit 45 s") && page.contains("<td class=fail>fail"));
        assert!(page.contains("on a&lt;b") && page.contains("1 &amp; 2") && !page.contains("a<b"));
        assert!(page.contains("means of 3") && !page.contains("class=stamp"));
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }

    /// Nothing measured is drawn as empty frames.
    #[test]
    fn a_page_of_no_runs_is_a_page() {
        let page = page(&Settings { runtime: Span::SECOND, ..settings() }, &[], &[], "");
        assert!(page.matches("<svg").count() == 3 && !page.contains("NaN"));
        assert!(page.contains("class=stamp"));
    }
}
