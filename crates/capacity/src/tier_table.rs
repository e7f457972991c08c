//! The published table of tiers: order entry on the disks of a USP-V, and on arrays that it
//! virtualises.
//!
//! Three numbers are fitted, all to tests 7 and 8: the users, as rate times response time; and from
//! both rates the host's time of a transaction and the fraction of pages that the buffer cache
//! misses. Tests 5, 6, 9 and 10 are predicted from their arrays alone. Impossible cells are
//! identified by rules and shown as printed.

use crate::comparison::{Basis, Column, Comparison, Drawn, Fitted, Given, Line, Row, Target};
use crate::median;
use crate::order_entry::{carried, fit_two};
use crate::published::{Cells, PublishedError};
use array::Array;
use block::{Bytes, Span};
use oltp::{Shop, ShopDemand, TransactionMix};
use std::collections::HashMap;

const FILE: &str = "uspv_swingbench.csv";

/// The fraction of pages that the buffer cache misses. It is fitted, because neither the size of
/// the database nor its buffers are published.
pub const TIER_MISSING: f64 = 0.04482;

/// The fitted numbers, and an assumption: 30 GB of tables and indexes, which is the published
/// schema at a scale of about 10, in pages of 8 KiB. No source says how large the database was.
pub const TIER_SHOP: Shop = Shop {
    users: 72,
    mix: TransactionMix::V2,
    think: Span::ZERO,
    host: Span::from_nanos(1_020_600),
    processors: 1,
    asks: ShopDemand::anywhere(TIER_MISSING),
    database: Bytes(30_000_000_000),
    page: Bytes::kib(8),
};

/// The result of the fit: users, the fraction of pages that is missing, and seconds of the host.
///
/// # Errors
/// A published cell is missing, or no fraction gives both rates.
pub fn fit_tiers(
    seven: &Array,
    eight: &Array,
    others: &HashMap<String, String>,
) -> Result<(u32, f64, f64), PublishedError> {
    let published = Cells::of(FILE, others)?;
    let row =
        |test: &str| published.find("test", test).ok_or_else(|| PublishedError(format!("{FILE}: no test {test}")));
    let (row7, row8) = (row("7")?, row("8")?);
    let number = |row: usize, column: &str| published.number(row, column);
    let population = |row: usize| Ok(number(row, "avg_tps")? * number(row, "avg_resp")? / 1e3);
    let users = f64::midpoint(population(row7)?, population(row8)?).round() as u32;
    let rates = [number(row7, "avg_tps")?, number(row8, "avg_tps")?];
    let (missing, host) = fit_two([seven, eight], rates, &Shop { users, ..TIER_SHOP })
        .ok_or_else(|| PublishedError(format!("{FILE}: no part of missing pages gives the rates of tests 7 and 8")))?;
    Ok((users, missing, host))
}

/// Cells and rows that are impossible as printed, by rule, with the reasons.
pub fn suspects(published: &Cells) -> Result<Vec<(String, String)>, PublishedError> {
    let mut found = Vec::new();
    let populations = populations(published)?;
    let median = median(&populations);
    for (row, users) in populations.iter().enumerate() {
        let test = published.text(row, "test")?.to_string();
        let number = |column: &str| published.number(row, column);
        let (average, most, minute) = (number("avg_tps")?, number("max_tps")?, number("max_tpm")? / 60.0);
        if most < average {
            found.push((test.clone(), format!("Max TPS {most} is below Avg TPS {average}")));
        } else if most > 1.5 * minute {
            found.push((test.clone(), format!("Max TPS {most} is {:.1} times Max TPM in a second", most / minute)));
        }
        if (users / median - 1.0).abs() > 0.03 {
            found.push((test.clone(), format!("Avg TPS × Avg Resp is {users:.1} users, the median {median:.1}")));
        }
        let same = |other: &usize| {
            let cells = ["iops", "mbps"].map(|column| published.text(row, column) == published.text(*other, column));
            cells == [true, true] && number("iops").is_ok()
        };
        if let Some(before) = (0..row).find(same) {
            let before = published.text(before, "test")?;
            found.push((test, format!("IOPS and MBPS are those of test {before}: measured once")));
        }
    }
    Ok(found)
}

/// The number of users in each row, from rate and response time.
fn populations(published: &Cells) -> Result<Vec<f64>, PublishedError> {
    let users = |row| Ok(published.number(row, "avg_tps")? * published.number(row, "avg_resp")? / 1e3);
    (0..published.len()).map(users).collect()
}

/// The columns of tests whose rates are of this basis; nothing was fitted to how busy disks are.
fn columns(rates: Basis) -> Vec<Column> {
    [("Avg TPS", rates), ("Avg Resp, ms", rates), ("Disk Busy %", Basis::Predicted(3))]
        .map(|(name, basis)| Column { name: name.into(), basis, digits: 0, absolute: false })
        .into()
}

/// Tests that are fitted to, and tests that are predicted.
const FITTED: [&str; 2] = ["7", "8"];
const PREDICTED: [&str; 4] = ["5", "6", "9", "10"];

/// The comparison, with the array of each test that has one.
///
/// # Errors
/// A published cell is missing.
pub fn tier_table(
    arrays: &[(&str, Array)],
    shop: &Shop,
    others: &HashMap<String, String>,
) -> Result<Comparison, PublishedError> {
    let published = Cells::of(FILE, others)?;
    let suspects = suspects(&published)?;
    let (mut fitted, mut predicted, mut limits) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..published.len() {
        let test = published.text(row, "test")?;
        let reached = arrays.iter().find(|(of, _)| *of == test).map(|(_, array)| carried(array, shop));
        let cell = |column: &str, figure: Option<f64>| Ok((published.text(row, column)?.to_string(), figure));
        let cells = vec![
            cell("avg_tps", reached.as_ref().map(|reached| reached.tps))?,
            cell("avg_resp", reached.as_ref().map(|reached| 1e3 * reached.response))?,
            cell("disk_busy_pct", reached.as_ref().map(|reached| 100.0 * reached.media.1))?,
        ];
        let left_out = match (FITTED.contains(&test) || PREDICTED.contains(&test), &reached) {
            (true, _) => None,
            (false, None) => Some("another host and other buffer caches, which are not printed".to_string()),
            (false, Some(_)) => suspects.iter().find(|(of, _)| of == test).map(|(_, why)| why.clone()),
        };
        if let Some(reached) = reached {
            limits.push(format!("{test}: {} {:.0} %", reached.limit.0, 100.0 * reached.limit.1));
        }
        let row = Row { name: format!("test {test}"), cells, left_out };
        if FITTED.contains(&test) { fitted.push(row) } else { predicted.push(row) }
    }
    let lines = vec![
        Line { name: "tests 7 and 8".into(), columns: columns(Basis::Fitted(3)), rows: fitted },
        Line { name: "all others".into(), columns: columns(Basis::Predicted(3)), rows: predicted },
    ];
    let constant = constant(&published)?;
    Ok(Comparison {
        given: Given::Published,
        name: "uspv".into(),
        title: "Order entry on tiers of storage: a USP-V and what it virtualises".into(),
        about: "A closed population of users on each test's array, by means: the host, reads of pages that the buffer cache lacks, \
                commits, and changed pages that are written behind them."
            .into(),
        fitted: numbers(shop),
        targets: targets(&published, &lines, &suspects, constant)?,
        drawn: vec![drawn(&published, &lines, constant)?],
        lines,
        notes: notes(&limits, &suspects),
    })
}

fn notes(limits: &[String], suspects: &[(String, String)]) -> Vec<String> {
    let mut notes = vec![format!("Fullest resource by test: {}.", limits.join(", "))];
    notes.extend(
        suspects.iter().map(|(test, why)| format!("Suspect by rule, as printed all the same: test {test}: {why}.")),
    );
    notes.push(
        "Tests 7 and 8 differ by 2.6 %, of which the fit makes what disks cost; that may be chance, for nothing was repeated. Disk Busy % \
         is printed as 35 for test 7, where the model's disks are nearly full: the two do not fit together."
            .into(),
    );
    notes.push(
        "The columns IOPS and MBPS are those of another experiment (Orion), and need numbers of spindles that are not printed; they \
         are not compared. No source says how large the database was: 30 GB are assumed."
            .into(),
    );
    notes
}

fn numbers(shop: &Shop) -> Vec<Fitted> {
    let number = |name: &str, value: String, to: &str| Fitted { name: name.into(), value, to: to.into() };
    vec![
        number("users without think time", shop.users.to_string(), "Avg TPS × Avg Resp of tests 7 and 8"),
        number(
            "what a transaction keeps the host, one at a time",
            format!("{:.1} µs", shop.host.as_secs_f64() * 1e6),
            "Avg TPS of tests 7 and 8",
        ),
        number(
            "the part of pages that the buffer cache lacks",
            format!("{TIER_MISSING:.4}"),
            "Avg TPS of tests 7 and 8",
        ),
    ]
}

/// The constant that a model must beat: the mean of the tests that are fitted to.
fn constant(published: &Cells) -> Result<f64, PublishedError> {
    let tps = |test: &&str| published.number(published.find("test", test).unwrap_or(0), "avg_tps");
    let sum: f64 = FITTED.iter().map(tps).sum::<Result<f64, _>>()?;
    Ok(sum / FITTED.len() as f64)
}

fn targets(
    published: &Cells,
    lines: &[Line],
    suspects: &[(String, String)],
    constant: f64,
) -> Result<Vec<Target>, PublishedError> {
    let row = |test: &&str| lines[1].rows.iter().find(|row| row.name == format!("test {test}"));
    let errors: Vec<(&str, f64)> =
        PREDICTED.iter().filter_map(|test| Some((*test, row(test)?.error(0, false)?.abs()))).collect();
    let mean = |errors: &mut dyn Iterator<Item = f64>| errors.sum::<f64>() / PREDICTED.len() as f64;
    let ours = mean(&mut errors.iter().map(|(_, error)| *error));
    let tps = |test: &&str| published.number(published.find("test", test).unwrap_or(0), "avg_tps");
    let printed: Vec<f64> = PREDICTED.iter().map(tps).collect::<Result<_, _>>()?;
    let by_constant = mean(&mut printed.iter().map(|tps| (constant / tps - 1.0).abs()));
    let mut targets: Vec<Target> = errors
        .iter()
        .map(|(test, error)| {
            let asked = format!("10 Avg TPS of test {test} within 10 %, with 3 numbers fitted to tests 7 and 8");
            Target::percent(&asked, *error, 0.10)
        })
        .collect();
    let verdict = if ours < by_constant { "" } else { ": NOT REPRODUCED" };
    targets.push(Target::of(
        &format!("10 nearer to tests 5, 6, 9 and 10 than the constant {constant:.0}, 3 and 1 fitted numbers"),
        format!("{:.1} % on average, the constant {:.1} %{verdict}", 100.0 * ours, 100.0 * by_constant),
        ours < by_constant,
    ));
    let populations = populations(published)?;
    let middle = median(&populations);
    let regular = |row: &usize| {
        let test = published.text(*row, "test").unwrap_or_default();
        !suspects.iter().any(|(of, why)| of == test && why.contains("users"))
    };
    let regular: Vec<usize> = (0..published.len()).filter(regular).collect();
    let worst = regular.iter().map(|row| (populations[*row] / middle - 1.0).abs()).fold(0.0, f64::max);
    targets.push(Target::percent(
        &format!("10 the same users within 2 % on the {} regular rows", regular.len()),
        worst,
        0.02,
    ));
    let flagged = suspects.iter().any(|(test, why)| test == "11" && why.starts_with("Max TPS"));
    let says = if flagged { "flagged" } else { "not flagged" };
    targets.push(Target::of("10 Max TPS of test 11 flagged by rule", says.into(), flagged));
    Ok(targets)
}

fn drawn(published: &Cells, lines: &[Line], constant: f64) -> Result<Drawn, PublishedError> {
    let at = |row: &Row| row.name.strip_prefix("test ").and_then(|test| test.parse::<f64>().ok());
    let mut simulated: Vec<(f64, f64)> =
        lines.iter().flat_map(|line| &line.rows).filter_map(|row| Some((at(row)?, row.cells[0].1?))).collect();
    simulated.sort_by(|one, other| one.0.total_cmp(&other.0));
    let printed = |row| Ok((published.number(row, "test")?, published.number(row, "avg_tps")?));
    let printed = (0..published.len()).map(printed).collect::<Result<_, PublishedError>>()?;
    Ok(Drawn {
        title: "Average transactions a second by test".into(),
        axes: ["test".into(), "TPS".into()],
        curves: vec![("published".into(), true, printed), ("simulated".into(), false, simulated)],
        levels: vec![(format!("constant {constant:.0}"), constant)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The impossible cells are found by rule: 110 below its average of 935, 963 twice its minimum,
    /// the populations of tests 2, 4 and 11, and an experiment that is printed three times.
    #[test]
    fn suspect_cells_are_found_by_rule() {
        let published = Cells::of(FILE, &HashMap::new()).expect("embedded");
        let found = suspects(&published).expect("numbers");
        let says = |test: &str, what: &str| found.iter().any(|(of, why)| of == test && why.starts_with(what));
        assert!(says("11", "Max TPS 110 is below") && says("6", "Max TPS 963 is 1.8 times"), "{found:?}");
        for test in ["2", "4", "11"] {
            assert!(says(test, "Avg TPS ×"), "{test}: {found:?}");
        }
        assert!(says("2", "IOPS and MBPS are those of test 1") && says("3", "IOPS and MBPS"));
        assert!(
            ["1", "5", "7", "8", "9", "10"].iter().all(|test| !found.iter().any(|(of, _)| of == test)),
            "{found:?}"
        );
    }
}
