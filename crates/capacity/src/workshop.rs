//! The published tests of a cloud file system: a workshop on its throughput, and a walk-through of
//! its QoS.

use crate::comparison::{Basis, Column, Comparison, Drawn, Fitted, Given, Line, Row, Target, range};
use crate::published::{Cells, PublishedError};
use std::collections::HashMap;

/// A step of a published procedure and its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WalkStep {
    /// Its name in the published table.
    pub name: String,
    /// For each figure measured: its mean, and its maximum over seconds.
    pub figures: Vec<(f64, f64)>,
}

/// Steps by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WalkSteps(pub Vec<WalkStep>);

impl WalkSteps {
    fn figure(&self, name: &str, of: usize) -> Option<(f64, f64)> {
        self.0.iter().find(|step| step.name == name)?.figures.get(of).copied()
    }
}

fn column(name: &str, basis: Basis) -> Column {
    Column { name: name.into(), basis, digits: 0, absolute: false }
}

fn fitted(name: &str, value: &str, to: &str) -> Fitted {
    Fitted { name: name.into(), value: value.into(), to: to.into() }
}

/// Compares the workshop: MB/s and IOPS by step, and MB/s over time from memory and from NVMe until
/// the credit is used up.
///
/// # Errors
/// A published cell is missing.
pub fn workshop(
    steps: &WalkSteps,
    curves: Vec<(String, Vec<(f64, f64)>)>,
    others: &HashMap<String, String>,
) -> Result<Comparison, PublishedError> {
    let (rates, operations) = expectations(steps, others)?;
    let line = |name: &str, columns, rows| Line { name: name.into(), columns, rows };
    let lines = vec![
        line("throughput", vec![column("MB/s", Basis::Predicted(2))], rates),
        line("small requests", vec![column("IOPS", Basis::Fitted(2))], operations),
    ];
    let error = |line: usize| lines[line].mean_and_worst(0).map_or(1.0, |(_, worst)| worst);
    let mut targets = vec![
        Target::percent("9 one flow and the network's burst within 10 %, none fitted to them", error(0), 0.10),
        Target::percent("9 59K reads and 29K writes within 10 %, by 2 fitted numbers", error(1), 0.10),
    ];
    // With a single connection the credit lasts longer than any curve.
    for (name, points) in curves.iter().filter(|(name, _)| name.contains("nconnect")) {
        let (first, last) = (points.first().map_or(0.0, |p| p.1), points.last().map_or(0.0, |p| p.1));
        targets.push(Target::of(
            &format!("9 {name}: falls to 150 MB/s when the credit ends"),
            format!("{first:.0}, then {last:.0} MB/s"),
            (last / 150.0 - 1.0).abs() <= 0.1 && first > 600.0,
        ));
    }
    let drawn = Drawn {
        title: "Sequential reads of 1 MiB over time".into(),
        axes: ["seconds".into(), "MB/s".into()],
        curves: curves.into_iter().map(|(name, points)| (name, false, points)).collect(),
        levels: vec![("one flow 625".into(), 625.0), ("burst 1250".into(), 1250.0), ("baseline 150".into(), 150.0)],
    };
    Ok(Comparison {
        given: Given::Published,
        name: "fsx-workshop".into(),
        title: "A file server of 128 MB/s: the workshop's steps".into(),
        about: "Each step is the workshop's own fio command line in virtual time, over the array fsx-128; with one connection \
                the link has one flow of 5 Gb/s, with nconnect=16 sixteen."
            .into(),
        fitted: vec![
            fitted("what a read of 4 KiB costs (controller, read)", "33 µs of two cores", "~59k reads a second"),
            fitted("what a write of 4 KiB costs (controller, write)", "68 µs of two cores", "~29K writes a second"),
        ],
        lines,
        targets,
        notes: vec![
            "The size of the pool of credit is not published. It is assumed: 27.2 minutes of burst, as was measured once on a \
             file server of the second generation; when the fall comes is therefore no prediction, only where to."
                .into(),
            "The files are in the caches to begin with, for the workshop writes them before it reads them: those of 16 MB in \
             memory, those of 16 GB in NVMe. Both are faster than the network, so their curves are alike."
                .into(),
        ],
        drawn: vec![drawn],
    })
}

/// The rows of throughput, and those of small requests.
fn expectations(steps: &WalkSteps, others: &HashMap<String, String>) -> Result<(Vec<Row>, Vec<Row>), PublishedError> {
    let published = Cells::of("fsx_workshop_expectations.csv", others)?;
    let (mut rates, mut operations) = (Vec::new(), Vec::new());
    for row in 0..published.len() {
        let name = published.text(row, "step")?;
        let cell = published.text(row, "published_expectation")?.to_string();
        let simulated = steps.figure(name, 0).map(|figure| figure.0);
        let says = range(&cell).is_some();
        let left_out = (!says).then(|| match cell.is_empty() {
            true => "the source prints no figure".to_string(),
            false => format!("the source says {cell:?}"),
        });
        let is_rate = published.text(row, "block_size")? == "1M";
        let cell = if says { cell } else { String::new() };
        let row = Row { name: name.into(), cells: vec![(cell, simulated)], left_out };
        if is_rate { rates.push(row) } else { operations.push(row) }
    }
    Ok((rates, operations))
}

/// Compares the walk-through of QoS: steps by number, each with the IOPS of vol1, vol2 and vol3 and
/// their maximum in a second; the seventh also with the sum of vol1 and vol2.
///
/// # Errors
/// A published cell is missing.
pub fn walk_through(steps: &WalkSteps, others: &HashMap<String, String>) -> Result<Comparison, PublishedError> {
    let (first, rest) = observed(steps, others)?;
    let lines = vec![
        Line { name: "step 1".into(), columns: vec![column("IOPS", Basis::Fitted(2))], rows: first },
        Line { name: "steps 2 to 9".into(), columns: vec![column("IOPS", Basis::Predicted(2))], rows: rest },
    ];
    let targets = walk_targets(steps, &lines);
    let figure = |step: &WalkStep| step.name.parse::<f64>().ok();
    let curve = |volume: usize| -> Vec<(f64, f64)> {
        steps.0.iter().filter_map(|step| Some((figure(step)?, step.figures.get(volume)?.0))).collect()
    };
    let drawn = Drawn {
        title: "IOPS of each volume by step".into(),
        axes: ["step".into(), "IOPS".into()],
        curves: VOLUMES
            .iter()
            .enumerate()
            .map(|(index, volume)| (format!("{volume}, simulated"), false, curve(index)))
            .collect(),
        levels: vec![("even share 7000".into(), 7000.0)],
    };
    Ok(Comparison {
        given: Given::Published,
        name: "fsx-qos".into(),
        title: "QoS on a shared file system: the walk-through, step by step".into(),
        about: "The published commands on the real gate over a simulated file system, with three clients of one setting: what a \
                job makes at most."
            .into(),
        fitted: vec![
            fitted("what a job makes at most", "3500 IOPS", "~7K a client of two jobs in step 1"),
            fitted("what the file system does", "21 000 IOPS", "the prose of step 1, where it is said to be saturated"),
        ],
        lines,
        targets,
        notes: vec![
            "Only a bound on the client explains step 4: with vol1 at 1000, shared capacity alone would let the others rise to \
             10K each, and they return to 7K."
                .into(),
            "Step 9 prints vol3 above 15 000, more than two jobs of this setting make; a second setting that no source states \
             would be needed, so the cell is left out."
                .into(),
        ],
        drawn: vec![drawn],
    })
}

const VOLUMES: [&str; 3] = ["vol1", "vol2", "vol3"];

/// The rows of step 1, and those of all others.
fn observed(steps: &WalkSteps, others: &HashMap<String, String>) -> Result<(Vec<Row>, Vec<Row>), PublishedError> {
    let published = Cells::of("fsx_qos_steps.csv", others)?;
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for row in 0..published.len() {
        let step = published.text(row, "step")?;
        for (index, volume) in VOLUMES.iter().enumerate() {
            let cell = published.text(row, &format!("{volume}_observed"))?;
            let shared = cell.contains("together");
            if shared && index != 0 {
                continue;
            }
            let simulated = steps.figure(step, if shared { 3 } else { index });
            let says = range(cell).or_else(|| range(cell.split(' ').next().unwrap_or_default())).is_some();
            if cell.is_empty() && simulated.is_none() {
                continue;
            }
            let left_out = (!says).then(|| match cell.is_empty() {
                true => "no figure printed".to_string(),
                false => format!("printed {cell:?}"),
            });
            let number = if says { cell.split(' ').next().unwrap_or_default().to_string() } else { String::new() };
            let name = if shared { format!("{step} vol1+vol2") } else { format!("{step} {volume}") };
            let row = Row { name, cells: vec![(number, simulated.map(|figure| figure.0))], left_out };
            if step == "1" { first.push(row) } else { rest.push(row) }
        }
    }
    Ok((first, rest))
}

fn walk_targets(steps: &WalkSteps, lines: &[Line]) -> Vec<Target> {
    let near = |step: &str, volume: usize, want: f64, part: f64| {
        steps.figure(step, volume).is_some_and(|(mean, _)| (mean / want - 1.0).abs() <= part)
    };
    let says = |step: &str, volumes: &[usize]| {
        let figure =
            |volume: &usize| steps.figure(step, *volume).map_or("–".into(), |(mean, _)| format!("{mean:.0}"));
        volumes.iter().map(figure).collect::<Vec<_>>().join(", ")
    };
    let printed = |line: usize, name: &str| {
        let row = lines[line].rows.iter().find(|row| row.name == name);
        row.and_then(|row| range(&row.cells[0].0)).map_or(f64::NAN, |(low, high)| f64::midpoint(low, high))
    };
    // A ceiling holds if no second is more than 5 % above it, and if its load, which asks for more,
    // reaches it.
    let held = |name: &str, step: &str, volume: usize| {
        let ceiling = printed(1, name);
        steps.figure(step, volume).is_some_and(|(mean, most)| mean >= 0.995 * ceiling && most <= 1.05 * ceiling)
    };
    vec![
        Target::of(
            "8 one client setting gives what is printed in steps 1 and 4, within 10 %",
            format!("{}; {}", says("1", &[0, 1, 2]), says("4", &[1, 2])),
            (0..3).all(|volume| near("1", volume, printed(0, &format!("1 vol{}", volume + 1)), 0.1))
                && [1, 2].iter().all(|volume| near("4", *volume, printed(1, &format!("4 vol{}", volume + 1)), 0.1)),
        ),
        Target::of(
            "8 ceilings hold within -0 and +5 %: 1000 in step 4, 2000 each in step 6",
            format!("{}; {}", says("4", &[0]), says("6", &[0, 1])),
            held("4 vol1", "4", 0) && held("6 vol1", "6", 0) && held("6 vol2", "6", 1),
        ),
        Target::of("8 the shared 3000 is a sum", says("7", &[3]), held("7 vol1+vol2", "7", 3)),
        Target::of("8 150 at 100 GB", says("8", &[1]), held("8 vol2", "8", 1)),
        Target::of(
            "8 never above 15 000 at 10 TB",
            format!("most {:.0}", steps.figure("9", 1).map_or(0.0, |(_, most)| most)),
            steps.figure("9", 1).is_some_and(|(_, most)| most <= 15_001.0),
        ),
    ]
}
