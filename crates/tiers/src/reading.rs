//! Conclusions from the columns together: which resource was the limit, and which figures hardly
//! depend on which.

use crate::column::{TierFigure, TierWord};
use crate::table::{TierRow, TierTable, shown};
use report::text::thousands;

/// What limited a tier's test, as far as the table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// The disk was busy, the processors were not.
    Disk,
    /// The processors were busy, the disk was not.
    Cpu,
    /// Both were busy.
    Both,
    /// Neither was busy.
    Elsewhere,
}

/// Utilisation from which a disk or the processors count as busy, in percent.
const FULL: f64 = 90.0;
/// One figure follows another if it varies by at least this part of the other's factor.
const FOLLOWS: f64 = 0.5;
/// Rows have the same closed load if their transactions in progress differ by less than this part
/// from the mean.
const SAME_USERS: f64 = 0.15;

/// What limited a row's transactions, according to its columns. `None` if it has no transactions,
/// or a utilisation is unknown.
pub fn limiter(row: &TierRow) -> Option<Limiter> {
    row.median(TierFigure::AvgTps).or(row.median(TierFigure::MaxTpm))?;
    let full = |figure| row.median(figure).map(|percent| percent >= FULL);
    Some(match (full(TierFigure::DiskBusy)?, full(TierFigure::Cpu)?) {
        (true, false) => Limiter::Disk,
        (false, true) => Limiter::Cpu,
        (true, true) => Limiter::Both,
        (false, false) => Limiter::Elsewhere,
    })
}

/// The conclusions from a table, one sentence each.
pub fn readings(table: &TierTable) -> Vec<String> {
    let sentences = [follows(table), users(table)];
    sentences.into_iter().flatten().chain(caches(table)).chain(judged(table)).chain(limiters(table)).collect()
}

/// Whether transactions follow IOPS.
fn follows(table: &TierTable) -> Option<String> {
    let both: Vec<(f64, f64)> = table
        .rows
        .iter()
        .filter_map(|row| Some((row.median(TierFigure::Iops)?, row.median(TierFigure::MaxTpm)?)))
        .filter(|(iops, tpm)| *iops > 0.0 && *tpm > 0.0)
        .collect();
    if both.len() < 2 {
        return None;
    }
    let range = |of: fn(&(f64, f64)) -> f64| {
        let all = || both.iter().map(of);
        (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
    };
    let ((iops, most_iops), (tpm, most_tpm)) = (range(|pair| pair.0), range(|pair| pair.1));
    let (by, than) = (most_iops / iops, most_tpm / tpm);
    let whole = |value: f64| thousands(value.round() as u64);
    let told = format!(
        "IOPS differ {}-fold ({} to {}), Max TPM {}-fold ({} to {})",
        times(by),
        whole(iops),
        whole(most_iops),
        times(than),
        whole(tpm),
        whole(most_tpm)
    );
    Some(match than < FOLLOWS * by {
        true => format!("{told}: transactions do not follow IOPS, so something else limits them in most rows."),
        false => format!("{told}."),
    })
}

/// Transactions in progress are the rate times the response time (Little's law). In a closed loop
/// they are the same in all rows with the same number of users.
fn users(table: &TierTable) -> Option<String> {
    let under_way: Vec<f64> = table
        .rows
        .iter()
        .filter_map(|row| Some(row.median(TierFigure::AvgTps)? * row.median(TierFigure::AvgResp)? / 1000.0))
        .collect();
    let mean = under_way.iter().sum::<f64>() / under_way.len().max(1) as f64;
    let (least, most) = under_way.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
    (under_way.len() > 2 && most - mean < SAME_USERS * mean && mean - least < SAME_USERS * mean).then(|| {
        format!(
            "Avg TPS × Avg Resp is {least:.0} to {most:.0} in all rows: one closed load of about {mean:.0} busy users, so \
             these two columns say the same thing twice."
        )
    })
}

/// Rows that differ only in their caches.
fn caches(table: &TierTable) -> Vec<String> {
    let gigabytes = |row: &TierRow| row.word(TierWord::Cache).shown()?.trim().parse::<f64>().ok();
    let same = |a: &TierRow, b: &TierRow| {
        [TierWord::Storage, TierWord::Spindle, TierWord::Raid]
            .iter()
            .all(|&word| a.word(word).shown() == b.word(word).shown())
    };
    let mut told = Vec::new();
    for (at, small) in table.rows.iter().enumerate() {
        for other in &table.rows[at + 1..] {
            let (Some(a), Some(b)) = (gigabytes(small), gigabytes(other)) else { continue };
            if a == b || !same(small, other) {
                continue;
            }
            let (small, large) = if a < b { (small, other) } else { (other, small) };
            let factor = |figure| Some(large.median(figure)? / small.median(figure).filter(|value| *value > 0.0)?);
            let (Some(iops), tpm) = (factor(TierFigure::Iops), factor(TierFigure::MaxTpm)) else { continue };
            let and = tpm.map_or(String::new(), |tpm| format!(", Max TPM {} times", times(tpm)));
            told.push(format!(
                "With {} GB of cache in place of {} (tests {} and {}) IOPS are {} times as many{and}{}",
                shown(a.max(b), 2),
                shown(a.min(b), 2),
                small.number,
                large.number,
                times(iops),
                if iops > 2.0 { ": the cache is what was measured." } else { "." }
            ));
        }
    }
    told
}

/// What the runs themselves report as their limit: they know more than the columns.
fn judged(table: &TierTable) -> Vec<String> {
    let told = table.rows.iter().filter_map(|row| {
        let last = row.limits.last()?;
        let mut names: Vec<&str> = row.limits.iter().map(|limit| &*limit.name).collect();
        names.sort_unstable();
        names.dedup();
        Some(match &names[..] {
            [name] => format!("Test {}: what limited order entry: {name}; {}.", row.number, last.grounds),
            names => format!("Test {}: its runs of order entry were limited by {}.", row.number, names.join(" or ")),
        })
    });
    told.collect()
}

/// What the columns show, for rows without such a report.
fn limiters(table: &TierTable) -> Vec<String> {
    let of = |wanted| {
        let rows = table.rows.iter().filter(|row| row.limits.is_empty() && limiter(row) == Some(wanted));
        rows.map(|row| row.number).collect::<Vec<_>>()
    };
    let sentences = [
        (Limiter::Disk, "the disk was full, the processors were not: storage limits"),
        (Limiter::Cpu, "the processors were full, the disk was not: faster storage brings nothing"),
        (Limiter::Both, "disk and processors were full"),
        (
            Limiter::Elsewhere,
            "neither disk nor processors were full: what limits is elsewhere (commits, locks, the number of users)",
        ),
    ];
    let told = sentences.into_iter().filter_map(|(wanted, says)| {
        let rows = of(wanted);
        (!rows.is_empty()).then(|| {
            let numbers: Vec<String> = rows.iter().map(u32::to_string).collect();
            format!("{} {}: {says}.", if rows.len() == 1 { "Test" } else { "Tests" }, numbers.join(", "))
        })
    });
    told.collect()
}

/// A factor with about two digits.
fn times(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}") } else { format!("{factor:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::run::{Run, Setting, Value};

    /// Only one judgement: where a run reported its limit, the columns are not used.
    #[test]
    fn what_limited_is_what_the_run_said() {
        let mut run = Run::default();
        for (key, word) in [("limiter", "storage"), ("limiter_grounds", "disks, 82 % used (by means)")] {
            let value = Value::Word(word.into());
            run.settings.push(Setting { point: Some(0), actor: None, key: key.into(), value });
        }
        let mut row = TierRow { number: 1, ..TierRow::default() };
        for (figure, value) in [(TierFigure::AvgTps, 100.0), (TierFigure::DiskBusy, 82.0), (TierFigure::Cpu, 3.0)] {
            row.add(figure, value, "run 1");
        }
        let table = |row: &TierRow| TierTable { rows: vec![row.clone()], ..TierTable::default() };
        assert!(readings(&table(&row))[0].starts_with("Test 1: neither disk nor processors were full"));
        row.limits.extend(crate::runs::limits_of(&run));
        assert_eq!(readings(&table(&row)), ["Test 1: what limited order entry: storage; disks, 82 % used (by means)."]);
        row.limits.push(crate::Limit { name: "locks".into(), grounds: String::new() });
        assert_eq!(readings(&table(&row)), ["Test 1: its runs of order entry were limited by locks or storage."]);
    }
}
