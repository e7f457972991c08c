//! The gate's cost per request, the duration of its polls, and the memory of an idle object: the
//! example `speed` of the package `qos`, run several times.

use super::super::{line_of, median};
use crate::root;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// A line of the table: the example's name for it, a description, and the limit.
struct Row {
    name: &'static str,
    what: &'static str,
    most: Option<f64>,
    unit: &'static str,
}

const fn row(name: &'static str, what: &'static str, most: Option<f64>, unit: &'static str) -> Row {
    Row { name, what, most, unit }
}

const ROWS: [Row; 13] = [
    row("no_policy", "no policy on the path", Some(60.0), "ns a request"),
    row("four_levels_10k", "4 levels, ceilings and floors, 10 000 backlogged", Some(300.0), "ns a request"),
    row("four_levels_10k_median", "  the middle piece of 50 000", None, "ns a request"),
    row("million_limited", "1 000 000 backlogged, each with a ceiling", Some(1_000.0), "ns a request"),
    row("million_limited_poll_p99.99", "  99.99 % of polls, by the clock", None, "µs"),
    row("million_limited_poll_own_p99.99", "  99.99 % of polls, less what others ran", Some(100.0), "µs"),
    row("million_limited_poll_own_max", "  the longest of 200 000, less what others ran", None, "µs"),
    row("million_shared", "1 000 000 backlogged behind one shared limit", Some(1_000.0), "ns a request"),
    row("million_shared_poll_p99.99", "  99.99 % of polls, by the clock", None, "µs"),
    row("million_shared_poll_own_p99.99", "  99.99 % of polls, less what others ran", Some(100.0), "µs"),
    row("idle_workload", "an idle workload", Some(200.0), "B"),
    row("idle_workload_ceiling", "  with a ceiling of its own", Some(200.0), "B"),
    row("idle_workload_floor", "  with a ceiling and a floor of its own", None, "B"),
];

/// Runs the example that many times and prints the medians beside the limits.
///
/// # Errors
/// It cannot be built or fails.
pub fn run(runs: u32) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut figures: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut command = Command::new(cargo);
    command.args(["run", "--release", "--quiet", "--package", "qos", "--example", "speed"]).current_dir(root());
    println!("\nspeed and memory: {} × {}, medians", runs, line_of(&command));
    for _ in 0..runs {
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("run the example")?;
        if !output.status.success() {
            bail!("the example speed ended with {}", output.status);
        }
        for (name, value) in String::from_utf8_lossy(&output.stdout).lines().filter_map(figure) {
            figures.entry(name).or_default().push(value);
        }
    }
    println!("\n  {:<50} {:>10} {:>10}", "", "measured", "at most");
    ROWS.iter().for_each(|row| println!("{}", line(row, figures.get(row.name).map_or(&[], Vec::as_slice))));
    println!("  a poll: what the inner target completed, 64 steps (each one dispatch, wake-up or move, and at most 8");
    println!("  levels), 16 floors judged (qos::Settings::steps_per_poll)");
    Ok(())
}

/// `name value unit`.
fn figure(line: &str) -> Option<(String, f64)> {
    let mut words = line.split(' ');
    Some((words.next()?.into(), words.next()?.parse().ok()?))
}

fn line(row: &Row, values: &[f64]) -> String {
    if values.is_empty() {
        return format!("  {:<50} {:>10}", row.what, "not said");
    }
    let value = median(values.iter().copied());
    let most = row.most.map_or(String::new(), |most| format!("{most:.0}"));
    let verdict = row.most.map_or("", |most| if value <= most { "held" } else { "missed" });
    format!("  {:<50} {value:>10.1} {most:>10} {:<13} {verdict}", row.what, row.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_was_measured_and_whether_it_held() {
        assert_eq!(figure("no_policy 28.5 ns/request"), Some(("no_policy".into(), 28.5)));
        assert_eq!(figure("nothing"), None);
        let row = row("a", "a thing", Some(60.0), "ns");
        assert!(line(&row, &[61.0, 20.0, 30.0]).ends_with("held"));
        assert!(line(&row, &[61.0]).ends_with("missed"));
        assert!(line(&row, &[]).ends_with("not said"));
    }
}
