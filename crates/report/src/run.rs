//! The page of a plan's run, or of several runs side by side: its sections and their content.
//!
//! The verdict comes first, then what the reader must know, then the picture. Several runs have the
//! same axes.

mod figures;
mod held;
mod host;
mod seconds;
mod tables;

pub(crate) use figures::label;
pub use host::host_figures;

use crate::chart::{Chart, Look};
use crate::page::{Page, cut_short};
use crate::relation;
use crate::section::{
    Charts, CycleChart, CycleParts, CycleRun, Cycles, Fact, Facts, Figure, Notes, PercentileChart, Percentiles,
    PhaseLine, Phases, Preformatted, RunVerdict, curve,
};
use crate::text;
use figures::Scales;
use stats::{Phase, Recording, WorkloadRecord};

/// One of the runs on a page.
struct Run<'r> {
    /// Its name; empty if it is the only one.
    name: String,
    recording: &'r Recording,
}

impl Run<'_> {
    /// The name of a phase, with its number.
    fn phase(&self, index: usize) -> String {
        numbered(self.recording, index)
    }

    /// A heading for this run: `Throughput` for a single run, `Throughput: with floors` among
    /// several.
    fn headed(&self, heading: &str) -> String {
        if self.name.is_empty() { heading.into() } else { format!("{heading}: {}", self.name) }
    }
}

/// The page of these runs; version and order of colours are those of the first.
pub fn run_page(recordings: &[&Recording]) -> Page {
    let runs = named(recordings);
    let scales = Scales::of(recordings);
    let mut page = Page::new(title(recordings), recordings.first().map_or("", |first| &first.origin.version));
    page.facts = recordings.iter().map(|recording| facts(recording)).collect::<Vec<_>>().join(" | ");
    page.banners = runs.iter().flat_map(banners).collect();
    for run in &runs {
        let mut verdict = RunVerdict::of(&run.recording.verdicts);
        if !run.name.is_empty() {
            verdict.sentence = format!("{}: {}", run.name, verdict.sentence);
        }
        page.add(verdict);
    }
    page.add(Notes { lines: runs.iter().flat_map(notes).collect() });
    if let Some(over_time) = over_time(&runs, &scales) {
        page.add(over_time);
    }
    runs.iter().for_each(|run| page.add(phases(run)));
    page.add(latency(&runs, &scales));
    page.add(percentiles(&runs));
    if let Some(throughput) = throughput(&runs, &scales) {
        page.add(throughput);
    }
    if let Some(hits) = hits(&runs, &scales) {
        page.add(hits);
    }
    if let Some(partitions) = tables::partitions(&runs) {
        page.add(partitions);
    }
    page.add(cycles(&runs));
    page.add(tables::figures(&runs));
    page.add(host::host(&runs));
    if let Some(devices) = host::devices(&runs) {
        page.add(devices);
    }
    runs.iter().filter(|run| run.recording.scale.is_some()).for_each(|run| page.add(tables::commands(run)));
    for run in &runs {
        page.add(Facts { heading: run.headed("Where it comes from"), facts: origin(run.recording) });
        let command = run.recording.origin.command.clone();
        page.add(Preformatted {
            heading: run.headed("Repeat it with"),
            text: command,
            wraps: true,
            ..Preformatted::default()
        });
        let plan = run.recording.origin.plan.clone();
        page.add(Preformatted { heading: run.headed("The plan, as run"), text: plan, ..Preformatted::default() });
    }
    // The script shows a second only if there is one run.
    page.seconds = if let [run] = &runs[..] { Some(seconds::of(run.recording)) } else { None };
    page
}

/// The number of a phase, from 1; 0 if its name suffices: there is no other, or the names have
/// numbers of their own, as the runs of a ramp.
fn number(recording: &Recording, index: usize) -> usize {
    let own = |phase: &Phase| phase.name.rsplit(' ').next().is_some_and(|word| word.parse::<u64>().is_ok());
    let suffices = recording.phases.len() < 2 || recording.phases.iter().all(own);
    if suffices { 0 } else { index + 1 }
}

/// The name of a phase, with its number: `2: with floors`.
fn numbered(recording: &Recording, index: usize) -> String {
    let name = recording.phases.get(index).map_or("", |phase| phase.name.as_str());
    match number(recording, index) {
        0 => name.into(),
        number => format!("{number}: {name}"),
    }
}

/// The IOPS of a run over time, as a separate chart.
pub(crate) fn picture(recording: &Recording) -> Chart {
    Chart { height: 420.0, ..figures::iops(recording, &Scales::of(&[recording])) }
}

/// The runs with names that distinguish them.
fn named<'r>(recordings: &[&'r Recording]) -> Vec<Run<'r>> {
    let title = |recording: &Recording| recording.origin.title.clone();
    let same = |name: &str| recordings.iter().filter(|other| title(other) == name).count() > 1;
    let name = |(index, recording): (usize, &&'r Recording)| {
        let name = match title(recording) {
            _ if recordings.len() == 1 => String::new(),
            title if same(&title) || title.is_empty() => {
                format!("run {} of {}", index + 1, text::date(recording.origin.started_unix_ms))
            }
            title => title,
        };
        Run { name, recording }
    };
    recordings.iter().enumerate().map(name).collect()
}

fn title(recordings: &[&Recording]) -> String {
    let mut titles: Vec<&str> = recordings.iter().map(|recording| &*recording.origin.title).collect();
    titles.retain(|title| !title.is_empty());
    titles.dedup();
    if titles.is_empty() { "A run without a title".into() } else { titles.join(" beside ") }
}

fn facts(recording: &Recording) -> String {
    let (origin, machine) = (&recording.origin, &recording.machine);
    let length = text::length(relation::end_of(recording));
    let phases = text::count(recording.phases.len(), "phase", "phases");
    let facts = [text::date(origin.started_unix_ms), machine.host.clone(), machine.backend.clone(), phases, length];
    facts.into_iter().filter(|fact| !fact.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn banners(run: &Run<'_>) -> Vec<String> {
    let origin = &run.recording.origin;
    let cut = match origin.goes_on {
        true => Some(goes_on(run.recording)),
        false => origin.cut_short.then(|| cut_short("the run ended early")),
    };
    let simulated = origin.simulated.then(|| "Simulated: no real device, virtual time".to_owned());
    cut.into_iter().chain(simulated).map(|banner| prefixed(run, &banner)).collect()
}

/// The warning on a run that has not ended: a page is not renewed.
fn goes_on(recording: &Recording) -> String {
    let until = recording.origin.started_unix_ms + relation::end_of(recording).as_nanos() / 1_000_000;
    format!("The run goes on: figures are up to {}", text::date(until))
}

fn notes(run: &Run<'_>) -> Vec<String> {
    run.recording.notes.iter().map(|note| prefixed(run, note)).collect()
}

fn prefixed(run: &Run<'_>, text: &str) -> String {
    if run.name.is_empty() { text.into() } else { format!("{}: {text}", run.name) }
}

/// Rates over time of the runs whose seconds are known; `None` if there are none.
fn over_time(runs: &[Run<'_>], scales: &Scales) -> Option<Charts> {
    let mut figures = Vec::new();
    for run in runs.iter().filter(|run| has_seconds(run)) {
        let has_floors = relation::floors(run.recording).iter().any(|floor| floor.iops.or(floor.bytes).is_some());
        let dots = if has_floors { " Dots are floors." } else { "" };
        let dashes = match relation::ceilings(run.recording).is_empty() {
            true => "",
            false => {
                " Dashes are ceilings in force, pale where they did not bind; a thin line under the dashes of a shared \
                     ceiling is the sum of its volumes."
            }
        };
        let what = if run.recording.origin.transactions { "Transactions" } else { "Operations" };
        let caption = format!("{what} per second that the clients saw, {}.{dashes}{dots}", scales.said(run.recording));
        figures.push(Figure::of(figures::iops(run.recording, scales)).headed(&run.name).captioned(caption));
        if !relation::has_gate(run.recording) {
            continue;
        }
        let mut strips = Figure::of_strips(held::strips(run.recording, scales));
        strips.heading = run.headed("What held each workload back");
        strips.key = held::key(has_floors);
        figures.push(strips);
    }
    let mut units: Vec<&str> = runs.iter().map(|run| run.recording.origin.rate_unit()).collect();
    units.sort_unstable();
    units.dedup();
    let heading = format!("{} over time", units.join(" and "));
    (!figures.is_empty()).then(|| Charts { heading, figures, ..Charts::default() })
}

/// Whether a run has seconds; a table of another program has only totals.
fn has_seconds(run: &Run<'_>) -> bool {
    run.recording.workloads.iter().any(|workload| !workload.intervals.is_empty())
}

/// Throughput over time of the runs where it is known; `None` if there are none.
fn throughput(runs: &[Run<'_>], scales: &Scales) -> Option<Charts> {
    let caption = "MB/s, reads, writes and trims together; a megabyte is 1,000,000 bytes.";
    let figure =
        |run: &Run<'_>| Figure::of(figures::throughput(run.recording, scales)).headed(&run.name).captioned(caption);
    let has_bytes = |run: &&Run<'_>| {
        let mut tallies = run.recording.workloads.iter().flat_map(|workload| &workload.tallies).peekable();
        tallies.peek().is_none() || tallies.any(|tally| tally.counts.bytes() > 0)
    };
    let figures: Vec<Figure> = runs.iter().filter(|run| has_seconds(run)).filter(has_bytes).map(figure).collect();
    let heading = "Throughput over time".into();
    (!figures.is_empty()).then(|| Charts { heading, figures, ..Charts::default() })
}

/// Hit ratios of workloads in the server's cache; `None` if no run had one.
fn hits(runs: &[Run<'_>], scales: &Scales) -> Option<Charts> {
    let caption = "Of the pages that reads asked for, those that were in the server's memory.";
    let figure = |run: &Run<'_>| {
        let chart = figures::hits(run.recording, scales)?;
        Some(Figure::of(chart).headed(&run.name).captioned(caption))
    };
    let figures: Vec<Figure> = runs.iter().filter_map(figure).collect();
    let heading = "Found in the cache over time".into();
    (!figures.is_empty()).then(|| Charts { heading, figures, ..Charts::default() })
}

fn latency(runs: &[Run<'_>], scales: &Scales) -> Charts {
    let mut found = Vec::new();
    for run in runs {
        let timed = |workload: &WorkloadRecord| workload.intervals.iter().any(|interval| interval.response.is_some());
        for (index, workload) in run.recording.workloads.iter().enumerate().filter(|(_, workload)| timed(workload)) {
            let mut figure = Figure::of(figures::latency(run.recording, index, scales));
            figure.heading = run.headed(&label(workload));
            figure.look = Some(Look::Series(index));
            found.push(figure);
        }
    }
    let workloads = || runs.iter().flat_map(|run| &run.recording.workloads);
    let shaded = match workloads().any(figures::has_percentiles) {
        true => "the shaded stretch reaches from the median to the 99th percentile.",
        false => "the line is the mean of each second.",
    };
    let below = match runs.iter().any(|run| relation::has_gate(run.recording)) {
        true => {
            "The dotted line is the mean wait in the QoS gate, the grey one the mean time in the disk below it, both as the \
             server tells them."
        }
        false => "The grey line is the mean time from hand-over to end.",
    };
    Charts {
        heading: "Response time, and where it was spent".into(),
        lead: format!(
            "Response time counts from when a request was due until its end; {shaded} {below} The axis is logarithmic."
        ),
        figures: found,
        small: false,
    }
}

fn percentiles(runs: &[Run<'_>]) -> Percentiles {
    let chart = |run: &Run<'_>, index: usize| {
        let curve = |(number, workload): (usize, &WorkloadRecord)| crate::section::Curve {
            name: label(workload),
            look: Look::Alone(number),
            points: workload.tallies.get(index).map_or(Vec::new(), |tally| curve(&tally.response)),
        };
        let curves = run.recording.workloads.iter().enumerate().map(curve);
        let name = run.headed(&run.phase(index));
        PercentileChart { name, curves: curves.filter(|curve| !curve.points.is_empty()).collect() }
    };
    let phases = |run: &Run<'_>| (0..run.recording.phases.len()).map(|phase| chart(run, phase)).collect::<Vec<_>>();
    let charts = runs.iter().flat_map(phases).filter(|chart| !chart.curves.is_empty()).collect();
    Percentiles {
        heading: "Response time by percentile".into(),
        lead: "How long so many of the requests of a phase took at most, from due to end. Each further nine is as wide as the \
               one before; both axes are logarithmic."
            .into(),
        charts,
    }
}

/// Write cycles, one chart for each workload that has them.
fn cycles(runs: &[Run<'_>]) -> Cycles {
    let chart = |run: &Run<'_>, workload: &WorkloadRecord| {
        let phase = |(number, phase): (usize, &Phase)| CycleRun {
            name: phase.name.clone(),
            number: self::number(run.recording, number),
            cycles: workload
                .cycles
                .iter()
                .filter(|cycle| cycle.phase as usize == number)
                .map(|cycle| CycleParts { journal: cycle.wij.as_secs_f64(), whole: cycle.cycle.as_secs_f64() })
                .collect(),
        };
        CycleChart {
            name: run.headed(&label(workload)),
            runs: run.recording.phases.iter().enumerate().map(phase).collect(),
        }
    };
    let of_run = |run: &Run<'_>| {
        let writing = run.recording.workloads.iter().filter(|workload| !workload.cycles.is_empty());
        writing.map(|workload| chart(run, workload)).collect::<Vec<_>>()
    };
    Cycles {
        heading: "Write cycles".into(),
        lead: "How long each cycle took, from its start until its journal was cleared.".into(),
        limit: None,
        charts: runs.iter().flat_map(of_run).collect(),
    }
}

fn phases(run: &Run<'_>) -> Phases {
    let line = |phase: &Phase| PhaseLine {
        name: phase.name.clone(),
        when: text::stretch(phase.start, phase.end),
        about: phase.about.clone(),
        commands: phase.commands.clone(),
    };
    Phases { heading: run.headed("The phases"), phases: run.recording.phases.iter().map(line).collect() }
}

fn origin(recording: &Recording) -> Vec<Fact> {
    let (origin, machine) = (&recording.origin, &recording.machine);
    let cores = if machine.cores == 0 { String::new() } else { text::count(machine.cores as usize, "core", "cores") };
    let processor: Vec<String> = [machine.cpu.clone(), cores].into_iter().filter(|part| !part.is_empty()).collect();
    let memory = if machine.memory.0 == 0 { String::new() } else { machine.memory.to_string() };
    let labels: Vec<String> = origin.labels.iter().map(|(key, word)| format!("{key}={word}")).collect();
    // A run of another program has neither a command here nor a seed.
    let seed = if origin.command.is_empty() { String::new() } else { origin.seed.to_string() };
    vec![
        Fact::of("Labels", labels.join(", ")),
        Fact::of("Seed", seed),
        Fact::of("Started", text::date(origin.started_unix_ms)),
        Fact::of("Seawall", &origin.version),
        Fact::of("Host", &machine.host),
        Fact::of("System", &machine.kernel),
        Fact::of("Processor", processor.join(", ")),
        Fact::of("Memory", memory),
        Fact::of("Storage", &machine.storage),
        Fact::of("I/O through", &machine.backend),
        Fact::of("Scale", text::scale(recording.scale).unwrap_or_else(|| "not scaled".into())),
    ]
}
