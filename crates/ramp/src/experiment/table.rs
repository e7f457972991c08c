//! The experiment as text of at most 80 columns: for each half the hosts' tables side by side, the
//! difference, the verdict.

use super::{Arm, Busy, Experiment, HostRows, experiment_verdict};
use crate::summary::RampRow;
use block::Span;

const COLUMNS: usize = 80;
/// Width of a host's table: total, WIJ, cycle, a mark, latency.
const HOST: usize = 25;
/// Width of the column of run numbers.
const RUN: usize = 3;
/// Hosts in a row.
const ABREAST: usize = (COLUMNS - RUN) / HOST;

/// The whole result.
pub fn experiment_table(experiment: &Experiment) -> String {
    let mut text = String::new();
    for arm in &experiment.arms {
        text += &arm_table(experiment, arm);
        text += &hanging("Blocks/s while all write: ", &capacities(arm).join(", "));
        text.push('\n');
    }
    text += &difference(experiment);
    text.push('\n');
    let (outcome, answers) = experiment_verdict(experiment);
    for answer in answers {
        let said = format!("{}: {}", answer.question, answer.because);
        text += &hanging(&format!("{:<12}", answer.outcome.to_string()), &said);
    }
    text += &format!("\nverdict: {outcome}\n");
    for note in &experiment.notes {
        text += &hanging("note: ", note);
    }
    text
}

/// The tables of a half. `*` marks a cycle that is not below the limit, `~` one that does not
/// count.
fn arm_table(experiment: &Experiment, arm: &Arm) -> String {
    let mut text = format!("{}; * cycle not below {:.2} s", capital(&arm.name), experiment.limit().as_secs_f64());
    if experiment.left_out(arm).0 > 0 {
        text += ", ~ left out: the storage did too little";
    }
    text.push('\n');
    for hosts in arm.hosts.chunks(ABREAST) {
        let mut names = " ".repeat(RUN);
        let mut titles = format!("{:>RUN$}", "Run");
        for host in hosts {
            names += &format!(" {:<width$}", cut(&host_name(host), HOST - 2), width = HOST - 1);
            titles += &format!(" {:>6} {:>5} {:>5} {:>5}", "Total", "WIJ s", "Cyc.s", "Wr.ms");
        }
        text += &format!("{}\n{}\n", names.trim_end(), titles.trim_end());
        for index in 0..hosts.iter().map(|host| host.rows.len()).max().unwrap_or(0) {
            let number = hosts.iter().find_map(|host| host.rows.get(index)).map_or(0, |row| row.run);
            let mut line = format!("{number:>RUN$}");
            for host in hosts {
                let cells = |row| cells(row, experiment.mark(arm, host, index));
                line += &host.rows.get(index).map_or(" ".repeat(HOST), cells);
            }
            text += &format!("{}\n", line.trim_end());
        }
    }
    text
}

fn cells(row: &RampRow, mark: char) -> String {
    let total = row.total_iops().trunc();
    if row.cycles == 0 {
        return format!(" {total:>6} {:>5} {:>5}  {:>4}", "-", "-", "-");
    }
    let seconds = |span: Span| format!("{:.2}", span.as_secs_f64());
    let latency = row.effective_write_ms.map_or("-".to_owned(), |ms| format!("{ms:.2}"));
    let (wij, cycle) = (seconds(row.longest_wij), seconds(row.longest_cycle));
    format!(" {total:>6} {wij:>5} {cycle:>5}{mark}{latency:>5}")
}

/// What the storage did in each run while all hosts wrote.
pub(super) fn capacities(arm: &Arm) -> Vec<String> {
    let said = |busy: Busy| format!("{:.0}", busy.blocks_per_second);
    let of_run = |cycles: &Vec<Option<Busy>>| Busy::together(cycles.iter().copied().flatten()).map_or("-".into(), said);
    arm.busy.iter().map(of_run).collect()
}

/// The longest counted cycle of each host with floors and without.
fn difference(experiment: &Experiment) -> String {
    let mut text =
        format!("{:<26}{:>14}{:>16}{:>14}\n", "Longest cycle", "with floors", "without floors", "difference");
    let [with, without] = &experiment.arms;
    for (one, other) in with.hosts.iter().zip(&without.hosts) {
        let said = |longest: Option<Span>| longest.map_or("-".to_owned(), |s| format!("{:.2} s", s.as_secs_f64()));
        let name = cut(&host_name(one), 25);
        let (one, other) = (experiment.longest(with, one), experiment.longest(without, other));
        let change = match (one, other) {
            (Some(one), Some(other)) => format!("{:+.2} s", other.as_secs_f64() - one.as_secs_f64()),
            _ => "-".to_owned(),
        };
        text += &format!("{name:<26}{:>14}{:>16}{change:>14}\n", said(one), said(other));
    }
    text
}

/// A host's name in headings.
pub(super) fn host_name(host: &HostRows) -> String {
    let note = if host.protected { "" } else { " (neighbour)" };
    format!("{}{note}", host.name)
}

/// `text` after `first`, with further lines indented alike, in at most 80 columns if the words
/// allow it.
fn hanging(first: &str, text: &str) -> String {
    let indent = first.chars().count();
    let (mut lines, mut line) = (String::new(), first.to_owned());
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > COLUMNS && line.chars().count() > indent {
            lines += &format!("{}\n", line.trim_end());
            line = " ".repeat(indent);
        }
        if line.chars().count() > indent {
            line.push(' ');
        }
        line += word;
    }
    lines + line.trim_end() + "\n"
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::verdict::tests::experiment;
    use super::*;

    /// The published tables, side by side, in 80 columns.
    #[test]
    fn the_tables_stand_side_by_side() {
        let mut shown = experiment();
        shown.notes =
            vec!["not comparable with published figures: a write cycle every 8 s instead of 80 s, and more".into()];
        let text = experiment_table(&shown);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        let wanted = "\
With floors; * cycle not below 45.00 s
    epic_rhel1               epic_rhel2               epic_rhel3 (neighbour)
Run  Total WIJ s Cyc.s Wr.ms  Total WIJ s Cyc.s Wr.ms  Total WIJ s Cyc.s Wr.ms
 10  73832  0.00 32.66  0.12  73711  0.00 33.96  0.10  81207 21.48 40.05  0.10
 11  73768  0.00 34.66  0.10  73788  0.00 28.59  0.09  88610 17.57 46.32* 0.12
";
        assert!(text.starts_with(wanted), "{text}");
        assert!(text.contains("\nepic_rhel2                       33.96 s         45.00 s      +11.04 s\n"), "{text}");
        assert!(text.contains("\nverdict: pass\n") && text.contains("\nnote: not comparable"), "{text}");
    }

    /// A cycle in which the storage did less than the protected hosts need has another mark,
    /// because no host could have been served better.
    #[test]
    fn what_says_nothing_is_marked() {
        let mut shown = experiment();
        shown.arms[0].busy[1] = vec![Some(Busy { blocks_per_second: 1000.0, seconds: 9.0 })];
        let text = experiment_table(&shown);
        assert!(text.starts_with("With floors; * cycle not below 45.00 s, ~ left out: the storage did too little\n"));
        assert!(text.contains(" 46.32~ 0.12") && !text.contains(" 46.32* 0.12\n  12"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn a_run_without_a_cycle_has_no_times() {
        let row = RampRow { read_iops: 1234.5, ..RampRow::default() };
        assert_eq!(cells(&row, ' '), "   1234     -     -     -");
        assert_eq!(cells(&row, ' ').chars().count(), HOST);
    }

    #[test]
    fn long_lines_hang_under_their_beginning() {
        let text = hanging("pass  ", &"word ".repeat(31));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].starts_with("      word") && lines.iter().all(|line| line.len() <= COLUMNS));
        assert_eq!(text.matches("word").count(), 31);
    }
}
