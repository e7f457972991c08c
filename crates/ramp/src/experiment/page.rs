//! The experiment as a page: for each half the hosts' cycles run by run with the limit, and the
//! tables.

use super::table::{capacities, host_name};
use super::{Arm, Experiment, HostRows, experiment_verdict};
use crate::page::limit_of;
use report::Page;
use report::chart::{Axis, Chart, Look, Mark};
use report::section::{Answer, Charts, Figure, Group, Notes, RunVerdict, Table, TableCell, TableRow, Tables, Tone};

/// The page; the caller sets its facts and version.
pub fn experiment_page(experiment: &Experiment) -> Page {
    let window = experiment.window();
    let mut page = Page::new(experiment.title.clone(), "");
    page.about = format!(
        "{} Scaled to this machine by {:.4}. Blocks of 8 KiB a second while all hosts write: the protected hosts need {:.0} to \
         write a burst within {} beside the others' reads, all hosts {:.0} within {}.",
        sentence(&experiment.about),
        experiment.factor,
        window.low,
        window.drain,
        window.high,
        window.limit,
    );
    page.add(verdict(experiment));
    page.add(Notes { lines: experiment.notes.clone() });
    page.add(cycles(experiment));
    experiment.arms.iter().for_each(|arm| page.add(tables(experiment, arm)));
    page
}

fn verdict(experiment: &Experiment) -> RunVerdict {
    let (outcome, answers) = experiment_verdict(experiment);
    let answers = answers.into_iter().map(|answer| Answer {
        outcome: answer.outcome,
        question: answer.question.into(),
        because: answer.because,
    });
    RunVerdict {
        outcome: Some(outcome),
        sentence: format!("Verdict: {outcome}"),
        answers: answers.collect(),
        ..RunVerdict::default()
    }
}

/// Both halves have the same axes, because they are compared by eye.
fn cycles(experiment: &Experiment) -> Charts {
    let limit = experiment.limit().as_secs_f64();
    let hosts = || experiment.arms.iter().flat_map(|arm| &arm.hosts);
    let longest = hosts().flat_map(|host| &host.rows).map(|row| row.longest_cycle).max().unwrap_or_default();
    let asked = || experiment.arms.iter().flat_map(asked);
    let x = Axis::around(asked().fold(f64::INFINITY, f64::min), asked().fold(0.0, f64::max));
    let x = x.unit("IOPS asked by the unprotected");
    let y = Axis::from_zero(longest.as_secs_f64().max(limit * 1.05)).unit("seconds");
    let figure = |arm: &Arm| {
        let title = format!("Longest write cycle of each run, {}", arm.name);
        let mut chart = Chart::new(title, x.clone(), y.clone());
        chart.description = describe(experiment, arm);
        chart.marks = arm.hosts.iter().enumerate().map(|(index, host)| line(arm, host, index)).collect();
        chart.marks.push(limit_of(limit, &x));
        Figure::of(chart).headed(capital(&arm.name))
    };
    let lead = "The longest cycle of each run by what the hosts without protection asked for: that is what changes from run \
                to run.";
    Charts {
        heading: "Longest write cycle".into(),
        lead: lead.into(),
        figures: experiment.arms.iter().map(figure).collect(),
        small: false,
    }
}

fn line(arm: &Arm, host: &HostRows, index: usize) -> Mark {
    let seen = host.rows.iter().zip(asked(arm)).filter(|(row, _)| row.cycles > 0);
    Mark::Line {
        name: host.name.clone(),
        points: seen.map(|(row, asked)| (asked, row.longest_cycle.as_secs_f64())).collect(),
        look: Look::Alone(index),
        dots: true,
        on_right: false,
    }
}

/// The total target of the unprotected hosts, run by run.
fn asked(arm: &Arm) -> Vec<f64> {
    let runs = arm.hosts.iter().map(|host| host.rows.len()).max().unwrap_or(0);
    let neighbours = || arm.hosts.iter().filter(|host| !host.protected);
    (0..runs).map(|run| neighbours().filter_map(|host| host.rows.get(run)).map(|row| row.target as f64).sum()).collect()
}

fn describe(experiment: &Experiment, arm: &Arm) -> String {
    let host = |host: &HostRows| {
        Some(format!("{}: longest cycle {:.2} s.", host_name(host), experiment.longest(arm, host)?.as_secs_f64()))
    };
    arm.hosts.iter().filter_map(host).collect::<Vec<_>>().join(" ")
}

fn tables(experiment: &Experiment, arm: &Arm) -> Tables {
    let table = |host: &HostRows| {
        let rows = host.rows.iter().enumerate().map(|(run, row)| table_row(row, experiment.mark(arm, host, run)));
        Table {
            caption: host_name(host),
            columns: ["Run", "Total IOPS", "WIJ s", "Cycle s", "Write ms"].map(String::from).to_vec(),
            groups: vec![Group { rows: rows.collect(), ..Group::default() }],
            words: false,
        }
    };
    let left_out = if experiment.left_out(arm).0 > 0 { " ~ left out: the storage did too little." } else { "" };
    let capacities = capacities(arm).join(", ");
    Tables {
        heading: format!("The runs {}", arm.name),
        lead: String::new(),
        tables: arm.hosts.iter().map(table).collect(),
        note: format!("Blocks a second while all hosts wrote, run by run: {capacities}.{left_out}"),
    }
}

fn table_row(row: &crate::summary::RampRow, mark: char) -> TableRow {
    let (tone, left_out) = match mark {
        ' ' if row.cycles > 0 => (Tone::Plain, ""),
        '~' => (Tone::Plain, "~"),
        _ => (Tone::Bad, ""),
    };
    let cells: Vec<TableCell> = vec![
        format!("{:.0}", row.total_iops().trunc()).into(),
        format!("{:.2}", row.longest_wij.as_secs_f64()).into(),
        TableCell { says: format!("{:.2}{left_out}", row.longest_cycle.as_secs_f64()), tone },
        row.effective_write_ms.map_or("–".to_owned(), |ms| format!("{ms:.2}")).into(),
    ];
    TableRow { name: row.run.to_string(), remarks: Vec::new(), cells }
}

/// The text with a full stop, unless it is empty.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text.into() } else { format!("{text}.") }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::verdict::tests::experiment;
    use super::*;

    /// A chart for each half, wide and narrow, of three hosts with their limit; six tables; marks
    /// for the neighbour's nine cycles above the limit in both halves, and for one of a protected
    /// host without floors.
    #[test]
    fn a_page_has_both_halves() {
        let mut shown = experiment();
        shown.title = "a<b".into();
        shown.arms[0].hosts[2].rows[9].longest_cycle = block::Span::from_secs(95);
        let html = experiment_page(&shown).render();
        assert_eq!((html.matches("<svg").count(), html.matches(">epic_rhel3</text>").count()), (4, 4));
        assert_eq!(html.matches("<caption>").count(), 6);
        assert_eq!(html.matches("<td class=\"bad\">").count(), 2 * 9 + 1);
        assert_eq!(html.matches(">limit 45 s</text>").count(), 4);
        // One scale for both, whichever half has the longest cycle: the limit is at the same
        // height.
        let heights: Vec<&str> =
            html.split("class=\"limit\"").skip(1).filter_map(|rest| rest.split("/>").next()).collect();
        assert!(heights.len() == 4 && heights[0] == heights[2] && heights[1] == heights[3], "{heights:?}");
        assert!(html.contains("Verdict: pass") && html.contains("With floors") && !html.contains("a<b"));
        assert!(!html.contains("NaN") && !html.contains("inf"));
    }
}
