//! The arms as a page: the verdict, transactions of each arm, response times, what the other
//! workloads did, and one round second by second.

use super::verdict::beside_verdicts;
use super::{Beside, BesideArm, Turn};
use report::Page;
use report::chart::{Axis, Chart, Column, LevelKind, Look, Mark, Stretch, Threshold};
use report::section::{Charts, Figure, Group, Notes, RunVerdict, Table, TableRow, Tables};
use report::text::{count, millis, thousands};
use stats::Median;
use workload::plan::GoalKind;

/// The page; the caller sets its facts and version.
pub fn beside_page(beside: &Beside) -> Page {
    let mut page = Page::new(beside.title.clone(), "");
    page.about = beside.about.clone();
    page.add(RunVerdict::of(&beside_verdicts(beside)));
    page.add(Notes { lines: beside.notes.clone() });
    page.add(transactions(beside));
    page.add(responses(beside));
    page.add(others(beside));
    page.add(seconds(beside));
    page.add(turns(beside));
    page
}

/// A place for each arm.
fn places(beside: &Beside) -> Axis {
    Axis::places(beside.arms.iter().map(|arm| arm.name.clone()).collect::<Vec<_>>())
}

/// The fraction of an arm's place that a column fills.
const FILLED: f64 = 0.6;

/// Medians as columns, with a dot for each round.
fn columns(beside: &Beside, name: &str, of: impl Fn(&Turn) -> f64 + Copy) -> Vec<Mark> {
    let bar = |(place, arm): (usize, &BesideArm)| {
        let median = arm.median(of)?;
        let from = place as f64 + (1.0 - FILLED) / 2.0;
        let title = format!("{}: {}", arm.name, interval(&median));
        Some(Column { from, to: from + FILLED, base: 0.0, top: median.value, title })
    };
    let bars = beside.arms.iter().enumerate().filter_map(bar).collect();
    let mut marks = vec![Mark::Columns { name: name.into(), columns: bars, look: Look::Series(0) }];
    for (place, arm) in beside.arms.iter().enumerate() {
        let Some(median) = arm.median(of) else { continue };
        let middle = place as f64 + 0.5;
        let name = if place == 0 { "interval of the median" } else { "" };
        let points = vec![(middle, median.low), (middle, median.high)];
        marks.push(Mark::Line { name: name.into(), points, look: Look::Sum, dots: true, on_right: false });
    }
    marks
}

fn interval(median: &Median) -> String {
    let [value, low, high] = [median.value, median.low, median.high].map(|figure| thousands(figure.round() as u64));
    format!("{value}, {low} to {high}")
}

fn most(beside: &Beside, of: impl Fn(&Turn) -> f64) -> f64 {
    beside.arms.iter().flat_map(BesideArm::played).map(of).fold(0.0, f64::max)
}

fn transactions(beside: &Beside) -> Charts {
    let y = Axis::from_zero(most(beside, |turn| turn.tpm)).unit("TPM");
    let mut chart = Chart::new("Transactions a minute by arm", places(beside), y);
    chart.height = 340.0;
    chart.marks = columns(beside, "TPM, median of rounds", |turn| turn.tpm);
    let bound = bound(beside);
    chart.marks.extend(bound.as_ref().map(|(level, _)| Mark::Level(level.clone())));
    let line = |arm: &BesideArm| Some(format!("{}: {} TPM.", arm.name, interval(&arm.median(|turn| turn.tpm)?)));
    chart.description = beside.arms.iter().filter_map(line).collect::<Vec<_>>().join(" ");
    Charts {
        heading: "Transactions a minute".into(),
        lead: format!(
            "What users of the database had: {}, each with its next transaction when one has ended. Columns are medians \
             of rounds, lines on them their intervals{}.",
            count(beside.users as usize, "user", "users"),
            bound.map_or(String::new(), |(_, says)| format!("; the dashed line is {says}"))
        ),
        figures: vec![Figure::of(chart)],
        small: false,
    }
}

/// The goal as a line, explained in words, because a label in the chart would cover a column.
fn bound(beside: &Beside) -> Option<(Threshold, String)> {
    let goal = beside.goals.iter().find(|goal| goal.kind == GoalKind::Kept)?;
    let baseline = &beside.arms[goal.baseline];
    let figure = baseline.median(|turn| turn.tpm)?.value * goal.part;
    let to = beside.arms.len() as f64;
    let level = Threshold { from: 0.0, to, figure, says: Vec::new(), kind: LevelKind::Limit };
    Some((level, format!("{:.0} % of \"{}\"", goal.part * 100.0, baseline.name)))
}

fn responses(beside: &Beside) -> Charts {
    let quantiles = [("half of them within", 0.5), ("99 of 100 within", 0.99)];
    let times: Vec<[f64; 2]> = beside
        .arms
        .iter()
        .map(|arm| {
            let response = arm.response();
            quantiles.map(|(_, part)| response.quantile(part).as_millis_f64())
        })
        .collect();
    let y = Axis::from_zero(times.iter().flatten().copied().fold(0.0, f64::max)).unit("ms");
    let mut chart = Chart::new("Response times of transactions by arm", places(beside), y);
    let wide = FILLED / 2.0;
    for (which, (name, _)) in quantiles.iter().enumerate() {
        let column = |(place, times): (usize, &[f64; 2])| {
            let from = place as f64 + (1.0 - FILLED) / 2.0 + wide * which as f64;
            let title = format!("{}: {} ms", beside.arms[place].name, report::text::significant(times[which]));
            Column { from, to: from + wide, base: 0.0, top: times[which], title }
        };
        let columns = times.iter().enumerate().map(column).collect();
        chart.marks.push(Mark::Columns { name: (*name).into(), columns, look: Look::Series(which) });
    }
    let line = |(arm, times): (&BesideArm, &[f64; 2])| {
        let [half, most] = times.map(report::text::significant);
        format!("{}: {half} and {most} ms.", arm.name)
    };
    chart.description = beside.arms.iter().zip(&times).map(line).collect::<Vec<_>>().join(" ");
    Charts {
        heading: "Response times".into(),
        lead: "Of all transactions of all rounds.".into(),
        figures: vec![Figure::of(chart)],
        small: false,
    }
}

fn others(beside: &Beside) -> Charts {
    let y = Axis::from_zero(most(beside, |turn| turn.others_iops)).unit("IOPS");
    let mut chart = Chart::new("Operations of the other workloads by arm", places(beside), y);
    chart.marks = columns(beside, "IOPS, median of rounds", |turn| turn.others_iops);
    chart.height = 240.0;
    let line =
        |arm: &BesideArm| Some(format!("{}: {} IOPS.", arm.name, interval(&arm.median(|turn| turn.others_iops)?)));
    chart.description = beside.arms.iter().filter_map(line).collect::<Vec<_>>().join(" ");
    Charts {
        heading: "What the others had".into(),
        lead: "Operations a second of the bully in each arm: the less, the more protecting the database costs it."
            .into(),
        figures: vec![Figure::of(chart)],
        small: false,
    }
}

/// The first round in which every arm was played.
fn seconds(beside: &Beside) -> Charts {
    let rounds = beside.arms.iter().map(|arm| arm.turns.len()).max().unwrap_or(0);
    let whole = |round: &usize| beside.arms.iter().all(|arm| matches!(arm.turns.get(*round), Some(Some(_))));
    let Some(round) = (0..rounds).find(whole) else { return Charts::default() };
    let turns = || beside.arms.iter().filter_map(|arm| Some((arm, arm.turns[round].as_ref()?)));
    let tpm = |done: u64| done as f64 * 60.0;
    let length = turns().map(|(_, turn)| turn.seconds.len()).max().unwrap_or(0);
    let top = turns().flat_map(|(_, turn)| turn.seconds.iter().copied()).map(tpm).fold(0.0, f64::max);
    let y = Axis::from_zero(top).unit("TPM");
    let mut chart = Chart::new("Transactions second by second", Axis::seconds(length as f64), y);
    for (index, (arm, turn)) in turns().enumerate() {
        let stretch = |(second, done): (usize, &u64)| Stretch {
            from: second as f64,
            to: second as f64 + 1.0,
            figure: Some(tpm(*done)),
        };
        let stretches = turn.seconds.iter().enumerate().map(stretch).collect();
        chart.marks.push(Mark::Steps { name: arm.name.clone(), stretches, look: Look::Alone(index) });
    }
    let line = |(arm, turn): (&BesideArm, &Turn)| {
        let least = turn.seconds.iter().copied().map(tpm).fold(f64::INFINITY, f64::min);
        format!("{}: at least {} TPM in a second.", arm.name, thousands(least.round() as u64))
    };
    chart.description = turns().map(line).collect::<Vec<_>>().join(" ");
    Charts {
        heading: format!("Round {} second by second", round + 1),
        lead: "Transactions of each second, times sixty.".into(),
        figures: vec![Figure::of(chart)],
        small: false,
    }
}

/// All turns.
fn turns(beside: &Beside) -> Tables {
    let row = |(round, turn): (usize, &Turn)| {
        let quantile = |part| millis(turn.response.quantile(part)).into();
        let cells = vec![
            thousands(turn.tpm.round() as u64).into(),
            quantile(0.5),
            quantile(0.99),
            millis(turn.response.max()).into(),
            thousands(turn.failed).into(),
            thousands(turn.others_iops.round() as u64).into(),
        ];
        TableRow { name: (round + 1).to_string(), remarks: Vec::new(), cells }
    };
    let group = |arm: &BesideArm| Group {
        name: arm.name.clone(),
        remarks: Some(arm.about.clone()).filter(|about| !about.is_empty()).into_iter().collect(),
        rows: arm.turns.iter().enumerate().filter_map(|(round, turn)| Some(row((round, turn.as_ref()?)))).collect(),
    };
    let columns = ["round", "TPM", "p50 ms", "p99 ms", "max ms", "failed", "others' IOPS"].map(String::from).to_vec();
    let table = Table { columns, groups: beside.arms.iter().map(group).collect(), ..Table::default() };
    Tables { heading: "Every turn".into(), tables: vec![table], ..Tables::default() }
}
