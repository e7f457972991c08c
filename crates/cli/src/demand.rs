//! Reads the load of a database from a recording: a ramp's folder of outputs, or a results
//! database.

use anyhow::{Context as _, Result, anyhow, bail};
use block::Span;
use ramp::{Constants, read_seconds};
use stats::run::{Run, Value};
use stats::{Recording, WorkloadRecord};
use std::path::Path;

/// The load of a recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Operations in each second of each run.
    pub runs: Vec<Vec<u64>>,
    /// How many of these operations were reads.
    pub reads: u64,
    /// Period of its write cycles.
    pub cycle: Span,
    /// Space that the data took.
    pub used_bytes: Option<u64>,
    /// Number of volumes of the data, if the recording has it.
    pub volumes: Option<u64>,
    /// Warnings for the reader.
    pub doubts: Vec<String>,
}

impl Recorded {
    /// The share of reads in whole percent.
    pub fn reads_percent(&self) -> u64 {
        let all: u64 = self.runs.iter().flatten().sum();
        (self.reads * 200 + all).checked_div(2 * all).unwrap_or(0)
    }
}

/// The line in a ramp's folder with the space that its data takes; in a results database it is the
/// setting `used_bytes`.
pub const USED: &str = "used space in bytes: ";
/// The line with the interval of its write cycles; in a results database it is the setting
/// `cycle_s`.
pub const CYCLE: &str = "write cycle in ms: ";

/// Reads the recording at `path`.
///
/// # Errors
/// It is not a recording, or does not have that run or workload.
pub fn read(path: &Path, run: Option<&str>, workloads: &[String]) -> Result<Recorded> {
    let shown = path.display();
    if !path.exists() {
        bail!("--recording {shown}: is not there; name a ramp's folder of outputs or a results database");
    }
    if !path.is_dir() {
        return database(path, run, workloads);
    }
    if !workloads.is_empty() {
        bail!("--workload: {shown} is a ramp's folder, which has one load; leave it out");
    }
    folder(path, run)
}

/// A ramp's folder of outputs.
fn folder(path: &Path, run: Option<&str>) -> Result<Recorded> {
    let number =
        |run: &str| run.parse::<u64>().map_err(|_| anyhow!("--run {run}: a ramp's runs have numbers; give one"));
    let run = run.map(number).transpose()?;
    let text = |name: &str| {
        let file = path.join(name);
        std::fs::read_to_string(&file).with_context(|| format!("--recording {}", file.display()))
    };
    if !path.join("seconds.csv").is_file() {
        bail!("--recording {}: is no folder of a ramp's outputs, it has no seconds.csv", path.display());
    }
    let seconds = read_seconds(&text("seconds.csv")?)
        .with_context(|| format!("--recording {}", path.join("seconds.csv").display()))?;
    let mut runs: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut reads = 0;
    for second in seconds.iter().filter(|second| run.is_none_or(|run| run == second.run)) {
        if runs.last().is_none_or(|(number, _)| *number != second.run) {
            runs.push((second.run, Vec::new()));
        }
        if let Some((_, run)) = runs.last_mut() {
            // Writes to the journal do not count as operations of the database.
            run.push(second.reads + second.writes);
            reads += second.reads;
        }
    }
    if let (Some(run), true) = (run, runs.is_empty()) {
        bail!("--run {run}: {} has no such run", path.display());
    }
    let about = text("about.txt").unwrap_or_default();
    let lines: Vec<&str> = about.lines().collect();
    let figure = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let cycle = figure(CYCLE).filter(|ms| *ms > 0).map(Span::from_millis);
    let runs = runs.into_iter().map(|(_, run)| run).collect();
    Ok(Recorded { reads, ..told(runs, figure(USED), cycle) })
}

/// A run of a results database and its number; by default the last one.
///
/// # Errors
/// There is no such database or run; one line.
pub fn kept(path: &Path, run: Option<&str>) -> Result<(i64, Run)> {
    let within = || format!("--recording {}", path.display());
    let results = results::Results::open_existing(path).context("--recording")?;
    let wanted =
        results.number_of(run.unwrap_or("last")).context(if run.is_some() { "--run" } else { "--recording" })?;
    Ok((wanted, results.load(wanted).with_context(within)?))
}

/// A run of a results database.
fn database(path: &Path, run: Option<&str>, workloads: &[String]) -> Result<Recorded> {
    let (wanted, run) = kept(path, run)?;
    let recording = run.recording();
    for name in workloads {
        if !recording.workloads.iter().any(|workload| workload.name == *name) {
            let known: Vec<&str> = recording.workloads.iter().map(|workload| workload.name.as_str()).collect();
            bail!("--workload {name}: run {wanted} has no such workload; it has {}", known.join(", "));
        }
    }
    let (mut seconds, mut reads): (Vec<u64>, u64) = (Vec::new(), 0);
    let chosen = recording.workloads.iter().filter(|w| workloads.is_empty() || workloads.contains(&w.name));
    for interval in chosen.flat_map(|workload| &workload.intervals) {
        let second = (interval.start.as_nanos() / Span::SECOND.as_nanos()) as usize;
        if seconds.len() <= second {
            seconds.resize(second + 1, 0);
        }
        seconds[second] += interval.counts.ops();
        reads += interval.counts.reads;
    }
    let figure = |key: &str| {
        run.settings.iter().filter(|setting| setting.key == key).find_map(|setting| match setting.value {
            Value::Number(number) if number > 0.0 => Some(number),
            _ => None,
        })
    };
    let cycle = figure("cycle_s").map(Span::from_secs_f64);
    let recorded = told(vec![seconds], figure("used_bytes").map(|bytes| bytes as u64), cycle);
    let used = used_by(&recording, workloads);
    let volumes = Some(used.len() as u64).filter(|volumes| *volumes > 0);
    let used_bytes = recorded.used_bytes.or_else(|| volumes.map(|_| used.iter().sum()));
    Ok(Recorded { reads, used_bytes, volumes, ..recorded })
}

/// The space used by each volume of these workloads at the end of the run, or at its beginning if
/// the end is unknown.
fn used_by(recording: &Recording, workloads: &[String]) -> Vec<u64> {
    let chosen = |workload: &&WorkloadRecord| workloads.is_empty() || workloads.contains(&workload.name);
    let paths: Vec<&str> =
        recording.workloads.iter().filter(chosen).flat_map(|workload| workload.object.split(", ")).collect();
    let is_used = |volume: &str| {
        paths.iter().any(|path| path.strip_prefix(volume).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    // Only volumes have used space, so nothing is counted twice.
    let used = recording.objects.iter().filter_map(|object| Some((object, object.used_end.or(object.used_start)?)));
    used.filter(|(object, _)| is_used(&object.path)).map(|(_, used)| used.0).collect()
}

/// The load with the values that the ramp recorded about itself.
fn told(runs: Vec<Vec<u64>>, used_bytes: Option<u64>, cycle: Option<Span>) -> Recorded {
    let cycle = cycle.unwrap_or(Constants::CYCLE);
    let mut doubts = Vec::new();
    if cycle != Constants::CYCLE {
        doubts.push(format!("recorded with a write cycle every {cycle}; the advice is for {}", Constants::CYCLE));
    }
    Recorded { runs, reads: 0, cycle, used_bytes, volumes: None, doubts }
}
