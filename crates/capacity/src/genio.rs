//! The published GenIO tests: two hosts on an A300, three on an A700, and three with adaptive QoS,
//! one of them a bully.
//!
//! Two numbers are fitted, both to the three tables of the test with adaptive QoS, and neither
//! depends on the host: the time of a block in the journal, and the time of a whole cycle for each
//! of its blocks. In the array they become the bandwidth of a stream (`flow` of the link) and the
//! time of a small write (`latency` of the log).

mod bounds;

use crate::comparison::{Basis, Column, Comparison, Curve, Drawn, Fitted, Given, Line, Row, Target};
use crate::hosts_on::{HostLoad, HostsOn};
use crate::median;
use crate::published::{Cells, PublishedError};
use array::Array;
use ramp::{PhaseRun, RampInvocation, RampSettings};
use std::collections::HashMap;

/// Hosts by name, each with whether a policy protects it; and their ramps.
pub type Ramps = (Vec<(String, bool)>, Vec<RampSettings>);

/// The result of playing a published test.
#[derive(Clone, Debug)]
pub struct Trial {
    /// For each host its name, and whether a policy protects it.
    pub hosts: Vec<(String, bool)>,
    /// The ramp of each host.
    pub settings: Vec<RampSettings>,
    /// The rows of each host, by run.
    pub rows: Vec<Vec<ramp::RampRow>>,
}

impl Trial {
    /// Plays a test phase by phase; `policies` are floor and ceiling of each host.
    pub fn play(
        array: &Array,
        hosts: Vec<(String, bool)>,
        settings: Vec<RampSettings>,
        policies: &[(Option<f64>, Option<f64>)],
    ) -> Trial {
        let runs = settings.iter().map(|one| one.loads().len()).min().unwrap_or(0);
        let mut rows = vec![Vec::new(); hosts.len()];
        for run in 0..runs {
            let load = |(one, (floor, ceiling)): (&RampSettings, &(Option<f64>, Option<f64>))| HostLoad {
                floor: *floor,
                ceiling: *ceiling,
                ..HostLoad::of(one.loads()[run])
            };
            let loads: Vec<HostLoad> = settings.iter().zip(policies).map(load).collect();
            let asked: Vec<ramp::RampLoad> = loads.iter().map(|host| host.load).collect();
            let played: Vec<PhaseRun> =
                ramp::phases(&settings[0], &asked, &mut HostsOn::new(array, &loads, &settings[0].constants, true));
            for (host, one) in played.iter().enumerate() {
                rows[host].push(one.row(run as u64, &asked[host], &settings[host]));
            }
        }
        Trial { hosts, settings, rows }
    }
}

/// The ramps of a published test: for each host its name, its role and the settings of its command
/// line. Where the source describes a host only in prose, the first host's command line is used
/// with that host's own ends of the ramp.
///
/// # Errors
/// The table of tests does not have the test.
pub fn setups(test: &str, others: &HashMap<String, String>) -> Result<Ramps, PublishedError> {
    let cells = Cells::of("genio_test_setups.csv", others)?;
    let mut hosts = Vec::new();
    let mut settings = Vec::new();
    for row in (0..cells.len()).filter(|row| cells.text(*row, "test") == Ok(test)) {
        let word = |column: &str| cells.text(row, column);
        // What the prose leaves out is taken from the first command line of the test.
        let or_first = |column: &str| match word(column)? {
            "" => cells.text(cells.find("test", test).unwrap_or(row), column),
            said => Ok(said),
        };
        let line = format!(
            "--miniops {} --maxiops {} --runtime {} --numruns {} --wijfile {} --disable-warmup --published-accounting",
            word("miniops")?,
            word("maxiops")?,
            or_first("runtime_arg")?,
            or_first("numruns")?,
            or_first("wijfile_arg")?,
        );
        let words: Vec<String> = line.split(' ').map(String::from).collect();
        let read = RampInvocation::parse(&words, word("host")?);
        let read = read.map_err(|error| PublishedError(format!("{}: {error}", cells.file)))?;
        settings.extend(read.settings);
        hosts.push((word("host")?.to_string(), word("role")? == "protected"));
    }
    if hosts.is_empty() {
        return Err(PublishedError(format!("{}: has no test {test}", cells.file)));
    }
    Ok((hosts, settings))
}

/// The two fitted numbers, in seconds for each block of a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Time in the journal.
    pub journal: f64,
    /// Time of the whole cycle.
    pub cycle: f64,
}

/// A published cycle: blocks of its burst, seconds of the cycle and, if printed, of the journal.
type Seen = (f64, f64, Option<f64>);

const TABLES: [&str; 3] = ["aqos_rhel1.csv", "aqos_rhel2.csv", "aqos_rhel3_bully.csv"];

fn seen(others: &HashMap<String, String>) -> Result<Vec<Vec<Seen>>, PublishedError> {
    let (_, settings) = setups("A700_AQOS", others)?;
    let table = |(file, settings): (&&str, &RampSettings)| {
        let cells = Cells::of(file, others)?;
        let row = |(row, load): (usize, ramp::RampLoad)| {
            let journal = cells.number(row, "longest_wij_time_s").ok();
            Ok((load.burst as f64, cells.number(row, "longest_write_cycle_s")?, journal))
        };
        settings.loads().into_iter().enumerate().map(row).collect()
    };
    TABLES.iter().zip(&settings).map(table).collect()
}

fn fit_to(seen: &[Seen]) -> Fit {
    Fit {
        journal: median(&seen.iter().filter_map(|(blocks, _, journal)| Some((*journal)? / blocks)).collect::<Vec<_>>()),
        cycle: median(&seen.iter().map(|(blocks, cycle, _)| cycle / blocks).collect::<Vec<_>>()),
    }
}

/// Fits both numbers to all rows of the three tables, as medians, which one outlier does not
/// change.
///
/// # Errors
/// A cell is missing.
/// A cell is missing.
pub fn fit(others: &HashMap<String, String>) -> Result<Fit, PublishedError> {
    Ok(fit_to(&seen(others)?.concat()))
}

/// Cross-validates: fits to some rows and returns the mean and worst errors of the cycles that were
/// held out. Splits by even and odd runs, both ways, and by the bully's upper half of loads.
///
/// # Errors
/// A cell is missing.
pub fn held_out(others: &HashMap<String, String>) -> Result<Vec<(String, f64, f64)>, PublishedError> {
    let seen = seen(others)?;
    let tried = |name: &str, is_held_out: &dyn Fn(usize, usize) -> bool, counts: &dyn Fn(usize) -> bool| {
        let pick = |held: bool| -> Vec<Seen> {
            let host = |(host, runs): (usize, &Vec<Seen>)| {
                let wanted = |run: &usize| is_held_out(host, *run) == held && (!held || counts(host));
                (0..runs.len()).filter(wanted).map(|run| runs[run]).collect::<Vec<_>>()
            };
            seen.iter().enumerate().flat_map(host).collect()
        };
        let fit = fit_to(&pick(false));
        let errors: Vec<f64> =
            pick(true).iter().map(|(blocks, cycle, _)| (fit.cycle * blocks / cycle - 1.0).abs()).collect();
        let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        (name.to_string(), mean, errors.into_iter().fold(0.0, f64::max))
    };
    let (bully, all) = (|host: usize| host == 2, |_: usize| true);
    Ok(vec![
        tried("fitted to even runs, odd runs held out", &|_, run| run % 2 == 1, &all),
        tried("fitted to odd runs, even runs held out", &|_, run| run % 2 == 0, &all),
        tried("fitted to low loads, the bully's upper half held out", &|host, run| host == 2 && run >= 5, &bully),
    ])
}

fn fitted(array: &Array, settings: &RampSettings) -> Vec<Fitted> {
    // The results of the array's own figures with a single host.
    let load = HostLoad::of(settings.loads()[0]);
    let hosts = [load];
    let mut on = HostsOn::new(array, &hosts, &settings.constants, true);
    let mut micros = |doing| 1e6 / ramp::Steady::rates(&mut on, &[doing])[0].blocks;
    let (journal, blocks) = (micros(ramp::HostPhase::Journal), micros(ramp::HostPhase::Blocks));
    let number = |name: &str, value: String, to: &str| Fitted { name: name.into(), value, to: to.into() };
    vec![
        number(
            "what a stream of a host carries (link, flow)",
            format!("{journal:.2} µs a block of the journal"),
            "the longest WIJ times of the test with adaptive QoS",
        ),
        number(
            "how long a small write takes (write-log, latency)",
            format!("{blocks:.2} µs a block and writer of eight"),
            "the longest write cycles of the same test, all three hosts",
        ),
    ]
}

fn column(name: &str, basis: Basis, digits: usize, absolute: bool) -> Column {
    Column { name: name.into(), basis, digits, absolute }
}

fn columns(cycle: Basis, with_reads: bool) -> Vec<Column> {
    let free = Basis::Predicted(2);
    let mut columns = vec![
        column("total IOPS", free, 0, false),
        column("write IOPS", free, 0, false),
        column("longest cycle, s", cycle, 2, false),
        column("write latency, ms", free, 3, true),
    ];
    if with_reads {
        columns.insert(1, column("read IOPS", free, 0, false));
    }
    columns
}

fn cells(published: &Cells, row: usize, columns: &[Column], simulated: &ramp::RampRow) -> Result<Row, PublishedError> {
    let pick = |column: &Column| {
        let (name, figure) = match column.name.as_str() {
            "total IOPS" => ("total_iops", Some(simulated.total_iops())),
            "read IOPS" => ("read_iops", Some(simulated.read_iops)),
            "write IOPS" => ("write_iops", Some(simulated.write_iops)),
            "longest WIJ time, s" => ("longest_wij_time_s", Some(simulated.longest_wij.as_secs_f64())),
            "longest cycle, s" => ("longest_write_cycle_s", Some(simulated.longest_cycle.as_secs_f64())),
            "write latency, ms" => ("effective_write_latency_ms", simulated.effective_write_ms),
            _ => ("randread_average_ms", Some(simulated.read_mean.as_millis_f64())),
        };
        Ok((published.text(row, name)?.to_string(), figure))
    };
    let name = published.text(row, "run").map(|run| format!("run {run}")).unwrap_or_else(|_| "row".into());
    Ok(Row { name, cells: columns.iter().map(pick).collect::<Result<_, _>>()?, left_out: None })
}

/// The three tables of the test with adaptive QoS. `free` is the same test without policies.
///
/// # Errors
/// A published cell is missing.
pub fn adaptive_qos(
    array: &Array,
    with: &Trial,
    free: Option<&Trial>,
    others: &HashMap<String, String>,
) -> Result<Comparison, PublishedError> {
    let mut comparison = Comparison {
        name: "aqos".into(),
        title: "Adaptive QoS on an AFF A700: two protected hosts and a bully".into(),
        about: "Ten runs of 30 minutes on three hosts. The rates of operations test the generator and its counting alone: the \
                load is open and paced. The array shows in cycles and latencies."
            .into(),
        fitted: fitted(array, &with.settings[0]),
        ..Comparison::default()
    };
    for (index, file) in TABLES.iter().enumerate() {
        let published = Cells::of(file, others)?;
        let mut columns = columns(Basis::Fitted(2), index < 2);
        if index == 2 {
            columns.insert(2, column("longest WIJ time, s", Basis::Fitted(2), 2, false));
        }
        let rows = with.rows[index].iter().enumerate().map(|(run, row)| cells(&published, run, &columns, row));
        let rows = rows.collect::<Result<_, _>>()?;
        comparison.lines.push(Line { name: with.hosts[index].0.clone(), columns, rows });
    }
    comparison.targets = targets(&comparison, with, others)?;
    comparison.drawn = vec![cycles(&comparison, with, free)];
    comparison.notes = notes(with, free);
    let (mean, worst) = bounds::one_time_for_all(others)?;
    comparison.notes.push(format!(
        "Targets 2, 3 and 6: hosts that differ in nothing but their load have the same time a block, and no one time comes nearer to these \
         cells than {:.1} % on average, or than {:.1} % in its worst row. So much of a miss is the difference between hosts that are set up alike.",
        100.0 * mean,
        100.0 * worst
    ));
    Ok(comparison)
}

fn all_errors<'a>(comparison: &'a Comparison, name: &'a str) -> impl Iterator<Item = f64> + 'a {
    comparison.lines.iter().flat_map(move |line| {
        let at = line.columns.iter().position(|column| column.name == name);
        at.into_iter().flat_map(|at| line.errors(at).map(f64::abs).collect::<Vec<_>>())
    })
}

fn worst(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, f64::max)
}

fn targets(
    comparison: &Comparison,
    with: &Trial,
    others: &HashMap<String, String>,
) -> Result<Vec<Target>, PublishedError> {
    let cycles: Vec<f64> = all_errors(comparison, "longest cycle, s").collect();
    let mean = cycles.iter().sum::<f64>() / cycles.len().max(1) as f64;
    let mut targets = vec![
        Target::percent("1 total IOPS within 0.3 % on every row", worst(all_errors(comparison, "total IOPS")), 0.003),
        Target::percent("1 read IOPS within 0.2 % on every row", worst(all_errors(comparison, "read IOPS")), 0.002),
        Target::percent("1 write IOPS within 0.6 % on every row", worst(all_errors(comparison, "write IOPS")), 0.006),
        Target::percent("2 longest cycle within 6.5 % on average, with 2 fitted numbers", mean, 0.065),
        Target::percent(
            "2 longest cycle within 13 % on every row, with 2 fitted numbers",
            worst(cycles.into_iter()),
            0.13,
        ),
    ];
    for ((name, mean, worst), limit) in held_out(others)?.into_iter().zip([0.065, 0.065, 0.12]) {
        let asked = format!("3 {name}: within {:.1} % on average, with 2 fitted numbers", 100.0 * limit);
        let mut target = Target::percent(&asked, mean, limit);
        target.reached += &format!(", worst {:.1} %", 100.0 * worst);
        targets.push(target);
    }
    let limit = Cells::of("genio_acceptance.csv", others)?;
    let limit = limit.number(limit.find("metric", "longest_write_cycle").unwrap_or(0), "limit")?;
    let verdicts = comparison.lines.iter().flat_map(|line| {
        let at = line.columns.iter().position(|column| column.name == "longest cycle, s").unwrap_or(0);
        line.rows.iter().map(move |row| {
            let (published, simulated) = &row.cells[at];
            published.parse().is_ok_and(|cycle: f64| cycle < limit) == simulated.is_some_and(|cycle| cycle < limit)
        })
    });
    let verdicts: Vec<bool> = verdicts.collect();
    let agree = verdicts.iter().filter(|agrees| **agrees).count();
    targets.push(Target::of(
        &format!("5 verdict by the limit of {limit} s as published in 29 of 30 rows"),
        format!("{agree} of {}", verdicts.len()),
        agree + 1 >= verdicts.len(),
    ));
    let latency = worst(all_errors(comparison, "write latency, ms"));
    let asked = "6 write latency within 0.025 ms on every row";
    targets.push(Target::of(asked, format!("{latency:.4} ms"), latency <= 0.025));
    let elasticity = slope(with, 2, |row| row.write_iops);
    let asked = "7 the bully's cycles grow with its writes to the power of 0.7 to 1.1";
    targets.push(Target::of(asked, format!("{elasticity:.2}"), (0.7..=1.1).contains(&elasticity)));
    let total = |run: usize| with.rows.iter().map(|rows| rows[run].total_iops()).sum::<f64>();
    for host in 0..2 {
        let points = with.rows[host].iter().enumerate().map(|(run, row)| (total(run), row.longest_cycle.as_secs_f64()));
        let exponent = power(points);
        let asked =
            format!("7 cycles of {} grow with the load of all to less than the power of 0.3", with.hosts[host].0);
        targets.push(Target::of(&asked, format!("{exponent:.2}"), exponent < 0.3));
    }
    Ok(targets)
}

fn slope(with: &Trial, host: usize, of: impl Fn(&ramp::RampRow) -> f64) -> f64 {
    power(with.rows[host].iter().map(|row| (of(row), row.longest_cycle.as_secs_f64())))
}

/// The exponent with which y grows with x, by least squares of logarithms; 0 if x is constant.
fn power(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let logs: Vec<(f64, f64)> = points.map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (x, y) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let over: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let under: f64 = logs.iter().map(|p| (p.0 - x).powi(2)).sum();
    if under < 1e-12 { 0.0 } else { over / under }
}

fn cycles(comparison: &Comparison, with: &Trial, free: Option<&Trial>) -> Drawn {
    let asked: Vec<f64> = with.rows.last().into_iter().flatten().map(|row| row.target as f64).collect();
    let mut curves = Vec::new();
    for (host, line) in comparison.lines.iter().enumerate() {
        let at = line.columns.iter().position(|column| column.name == "longest cycle, s").unwrap_or(0);
        let published = line.rows.iter().zip(&asked).filter_map(|(row, x)| Some((*x, row.cells[at].0.parse().ok()?)));
        curves.push((format!("{}, published", line.name), true, published.collect()));
        let simulated = |trial: &Trial| -> Vec<(f64, f64)> {
            trial.rows[host].iter().zip(&asked).map(|(row, x)| (*x, row.longest_cycle.as_secs_f64())).collect()
        };
        curves.push((format!("{}, simulated", line.name), false, simulated(with)));
        // Curves that differ by less than a hundredth would overlap; the note has the figures.
        let free = free.map(simulated).filter(|free| {
            simulated(with).into_iter().zip(free).any(|(with, free)| (free.1 / with.1 - 1.0).abs() > 0.01)
        });
        curves.extend(free.map(|free| (format!("{}, without policies", line.name), false, free)));
    }
    Drawn {
        title: "Longest write cycle by what the bully asks".into(),
        axes: ["IOPS asked by the bully".into(), "seconds".into()],
        curves,
        levels: vec![("limit 45 s".into(), 45.0)],
    }
}

fn notes(with: &Trial, free: Option<&Trial>) -> Vec<String> {
    let last = |trial: &Trial, host: usize| trial.rows[host].last().map_or(0.0, |row| row.longest_cycle.as_secs_f64());
    let mut notes = vec![
        "Ratio of achieved to asked operations is the same in every published row: an open, paced load says nothing about the \
         array."
            .to_string(),
        "Nothing differs from host to host but what it asks, so two hosts of equal load have equal cycles; the published ones \
         of epic-rhel1 and epic-rhel2 differ by a tenth, and the floor's effect on the bully is no larger."
            .to_string(),
    ];
    let Some(free) = free else { return notes };
    let hosts = 0..with.hosts.len();
    let figures =
        hosts.map(|host| format!("{} {:.2} and {:.2} s", with.hosts[host].0, last(with, host), last(free, host)));
    notes.push(format!(
        "Prediction without a published counterpart: the last run's longest cycles with the policies and without them are {}.",
        figures.collect::<Vec<_>>().join(", ")
    ));
    notes
}

/// A published row of hosts that ramp together on a pair of controllers.
#[derive(Clone, Copy, Debug)]
pub struct PairRow<'a> {
    /// The name of the comparison.
    pub name: &'a str,
    /// Its title.
    pub title: &'a str,
    /// The file of the published row.
    pub file: &'a str,
    /// The step of the ramp that it shows, from 1. No source says which it is. It was determined
    /// once by [`nearest_step`], like a fitted figure, so that changing a published cell does not
    /// change the step beside it.
    pub step: usize,
}

/// The step of the ramp, from 1, whose total is nearest to the published one.
///
/// # Errors
/// A published cell is missing, or nothing was played.
pub fn nearest_step(file: &str, trial: &Trial, others: &HashMap<String, String>) -> Result<usize, PublishedError> {
    let total = Cells::of(file, others)?.number(0, "total_iops")?;
    let sum = |run: usize| trial.rows.iter().map(|rows| rows[run].total_iops()).sum::<f64>();
    let runs = 0..trial.rows.first().map_or(0, Vec::len);
    let step = runs.min_by(|one, other| (sum(*one) - total).abs().total_cmp(&(sum(*other) - total).abs()));
    step.map(|step| step + 1).ok_or_else(|| PublishedError(format!("{file}: no run was played")))
}

/// Compares a row of hosts that ramp together on a pair of controllers.
///
/// # Errors
/// A published cell is missing, or the step was not played.
pub fn a_pair(
    PairRow { name, title, file, step }: PairRow<'_>,
    array: &Array,
    trial: &Trial,
    others: &HashMap<String, String>,
) -> Result<Comparison, PublishedError> {
    let published = Cells::of(file, others)?;
    let played = trial.rows.iter().map(Vec::len).min().unwrap_or(0);
    if step > played {
        return Err(PublishedError(format!("{file}: shows step {step}, and the ramp has {played}")));
    }
    let step = step - 1;
    let hosts = trial.rows.iter().map(|rows| &rows[step]);
    let quiet =
        hosts.clone().min_by(|one, other| one.longest_cycle.cmp(&other.longest_cycle)).cloned().unwrap_or_default();
    let all = ramp::RampRow {
        read_iops: hosts.clone().map(|row| row.read_iops).sum(),
        write_iops: hosts.clone().map(|row| row.write_iops).sum(),
        ..quiet
    };
    let count = trial.rows.len() as f64;
    let read = hosts.clone().map(|row| row.read_mean.as_millis_f64()).sum::<f64>() / count;
    let mut columns = columns(Basis::Predicted(2), true);
    columns.push(column("read average, ms", Basis::Predicted(2), 2, false));
    let mut row = cells(&published, 0, &columns, &all)?;
    row.name = format!("step {}", step + 1);
    row.cells.last_mut().into_iter().for_each(|cell| cell.1 = Some(read));
    let line = Line {
        name: format!("{} hosts together, step {} of 10", trial.rows.len(), step + 1),
        columns,
        rows: vec![row],
    };
    let at = line.columns.iter().position(|column| column.name == "longest cycle, s").unwrap_or(0);
    let error = worst(line.errors(at).map(f64::abs));
    let targets =
        vec![Target::percent("4 cycle without a new fit within 5 %, with 2 numbers fitted elsewhere", error, 0.05)];
    let printed = (all.target as f64, published.number(0, "longest_write_cycle_s")?);
    Ok(Comparison {
        given: Given::Published,
        name: name.into(),
        title: title.into(),
        about: "One published row of a ramp, of all hosts together; which step it shows is not said and was chosen by its total. \
                The cycle is that of the host that asks least."
            .into(),
        fitted: fitted(array, &trial.settings[0]),
        lines: vec![line],
        targets,
        notes: vec![
            "Which step the row shows was chosen by its total, so the error of the total is no evidence.".into(),
            "Read averages are as the array's parts come to, and not fitted: two more fitted numbers would meet both published \
             ones and prove nothing."
                .into(),
        ],
        drawn: vec![ramps_drawn(printed, trial)],
    })
}

/// The printed cycle, and the cycles of each host at all steps.
fn ramps_drawn(printed: (f64, f64), trial: &Trial) -> Drawn {
    let cycles = |rows: &Vec<ramp::RampRow>| {
        rows.iter().map(|row| (row.target as f64, row.longest_cycle.as_secs_f64())).collect()
    };
    let mut curves: Vec<Curve> = vec![("published".into(), true, vec![printed])];
    curves.extend(trial.hosts.iter().zip(&trial.rows).map(|(host, rows)| (host.0.clone(), false, cycles(rows))));
    Drawn {
        title: "Longest write cycle by what a host asks".into(),
        axes: ["IOPS asked by the host".into(), "seconds".into()],
        curves,
        levels: vec![("limit 45 s".into(), 45.0)],
    }
}
