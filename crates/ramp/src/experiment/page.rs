//! The experiment as a page: for each half the hosts' cycles run by run with the line of the limit, and the tables.

use super::table::{capacities, host_name};
use super::{Arm, Experiment, experiment_verdict};
use crate::page::graph::{Graph, Line};
use crate::page::{STYLE, escape};
use stats::Outcome;

/// Beside the style of a ramp's page: tables next to each other where there is room.
const ABREAST: &str = "\
.abreast{display:flex;flex-wrap:wrap;gap:.8rem 1.6rem}.abreast table{font-size:.8rem}caption{text-align:left;font-weight:600;\
padding:.3rem 0}.verdict td{text-align:left;vertical-align:top}.abreast th,.abreast td{padding:.15rem .3rem}.abreast th{vertical-align:bottom}\
.abreast :is(th,td):first-child{padding-left:0}@media(max-width:640px){.abreast{flex-direction:column}\
.abreast table{width:100%;font-size:.9rem}}";

/// The page; `facts` says when and on what it was played.
pub fn experiment_page(experiment: &Experiment, facts: &str) -> String {
    let (outcome, answers) = experiment_verdict(experiment);
    let verdict: String = answers
        .iter()
        .map(|answer| {
            let class = if answer.outcome == Outcome::Pass { "" } else { " class=fail" };
            let (question, because) = (escape(answer.question), escape(&answer.because));
            format!("<tr><td{class}>{}<td>{question}<td>{because}</tr>\n", answer.outcome)
        })
        .collect();
    let notes: String = experiment.notes.iter().map(|note| format!("<p class=stamp>{}</p>\n", escape(note))).collect();
    let arms: String = experiment.arms.iter().map(|arm| arm_part(experiment, arm)).collect();
    let window = experiment.window();
    format!(
        "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}{ABREAST}</style>\n<h1>{title}</h1>\n<p class=facts>{facts}</p>\n<p>{about}</p>\n{notes}\
         <h2>Verdict: {outcome}</h2>\n<table class=verdict>{verdict}</table>\n\
         <p>Scaled to this machine by {factor:.4}. Blocks of 8 KiB a second while all hosts write: the protected hosts \
         need {low:.0} to write a burst within {drain} beside the others' reads, all hosts {high:.0} within {limit}.</p>\n\
         {arms}</html>\n",
        title = escape(&experiment.title),
        facts = escape(facts),
        about = escape(&experiment.about),
        factor = experiment.factor,
        low = window.low,
        high = window.high,
        drain = window.drain,
        limit = window.limit,
    )
}

fn arm_part(experiment: &Experiment, arm: &Arm) -> String {
    let limit = experiment.limit();
    // The halves are compared by eye: one scale for both.
    let rows = experiment.arms.iter().flat_map(|arm| &arm.hosts).flat_map(|host| &host.rows);
    let longest = rows.map(|row| row.longest_cycle).max().unwrap_or_default().as_secs_f64();
    let names: Vec<String> = arm.hosts.iter().map(|host| escape(&host_name(host))).collect();
    // Runs are told apart by what the hosts without protection ask for: that is what changes.
    let neighbours: Vec<_> = arm.hosts.iter().filter(|host| !host.protected).collect();
    let runs = arm.hosts.iter().map(|host| host.rows.len()).max().unwrap_or(0);
    let target =
        |run: usize| neighbours.iter().filter_map(|host| host.rows.get(run)).map(|row| row.target).sum::<u64>();
    let asked: Vec<u64> = (0..runs).map(target).collect();
    let points = |host: &super::HostRows| {
        let seen = host.rows.iter().zip(&asked).filter(|(row, _)| row.cycles > 0);
        seen.map(|(row, asked)| (*asked as f64, row.longest_cycle.as_secs_f64())).collect()
    };
    // The graph has three colours; further hosts stand in the tables.
    let lines = arm.hosts.iter().take(3);
    let graph = Graph {
        x: "IOPS asked by the unprotected",
        y: "longest write cycle in seconds",
        lines: lines.map(|host| Line { name: &host.name, points: points(host), dots: true }).collect(),
        limit: Some((limit.as_secs_f64(), format!("limit {limit}"))),
        room: longest,
    };
    let table =
        |(host, name): (&super::HostRows, &String)| host_table(host, name, |run| experiment.mark(arm, host, run));
    let tables: String = arm.hosts.iter().zip(&names).map(table).collect();
    let mut name = arm.name.clone();
    name.get_mut(..1).map(str::make_ascii_uppercase);
    let left_out = if experiment.left_out(arm).0 > 0 { " ~ left out: the storage did too little." } else { "" };
    format!(
        "<h2>{}</h2>\n{}\n<div class=abreast>\n{tables}</div>\n<p>Blocks a second while all hosts wrote, run by run: \
         {}.{left_out}</p>\n",
        escape(&name),
        graph.svg(),
        capacities(arm).join(", ")
    )
}

fn host_table(host: &super::HostRows, name: &str, mark: impl Fn(usize) -> char) -> String {
    let mut text =
        format!("<table><caption>{name}</caption><tr><th>Run<th>Total IOPS<th>WIJ s<th>Cycle s<th>Write ms</tr>\n");
    for (run, row) in host.rows.iter().enumerate() {
        let (class, left_out) = match mark(run) {
            ' ' if row.cycles > 0 => ("", ""),
            '~' => ("", "~"),
            _ => (" class=fail", ""),
        };
        text += &format!(
            "<tr><td>{}<td>{:.0}<td>{:.2}<td{class}>{:.2}{left_out}<td>{}</tr>\n",
            row.run,
            row.total_iops().trunc(),
            row.longest_wij.as_secs_f64(),
            row.longest_cycle.as_secs_f64(),
            row.effective_write_ms.map_or("–".to_owned(), |ms| format!("{ms:.2}")),
        );
    }
    text + "</table>\n"
}

#[cfg(test)]
mod tests {
    use super::super::verdict::tests::experiment;
    use super::*;

    /// Two graphs of three hosts each with their limit, six tables; the neighbour's nine cycles over the line are marked
    /// in both halves, and the one of a protected host without floors.
    #[test]
    fn a_page_has_both_halves() {
        let mut shown = experiment();
        shown.title = "a<b".into();
        shown.arms[0].hosts[2].rows[9].longest_cycle = block::Span::from_secs(95);
        let page = experiment_page(&shown, "2026-11-22 09:08:27 UTC · vm");
        assert!(page.contains("<p class=facts>2026-11-22 09:08:27 UTC · vm</p>"));
        assert_eq!((page.matches("<svg").count(), page.matches("<polyline").count()), (2, 6));
        assert_eq!(page.matches("<caption>").count(), 6);
        assert_eq!(page.matches("<td class=fail>").count(), 2 * 9 + 1);
        assert_eq!(page.matches("limit 45.0 s").count(), 2);
        // One scale for both, whichever half has the longest cycle: the limit lies at the same height.
        let heights: Vec<&str> =
            page.split("<line class=limit").skip(1).filter_map(|rest| rest.split(" />").next()).collect();
        assert!(heights.len() == 2 && heights[0] == heights[1], "{heights:?}");
        assert!(page.contains("Verdict: pass") && page.contains("With floors") && !page.contains("a<b"));
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }
}
