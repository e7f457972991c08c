//! A run as one HTML page that needs nothing else: no script to be complete, no file beside it, no network.
//!
//! The verdict comes first, then what the reader must know, then the picture. Everything from outside is escaped: the
//! template by askama, the charts by their own writer, the figures for the script as JSON without `<`.

use crate::figures::{self, Size};
use crate::relation::{self, Ceiling};
use crate::{Standing, palette, standing, strip, text};
use askama::Template;
use serde::Serialize;
use stats::{FloorFared, Histogram, Interval, Outcome, Phase, Recording, Tally, WorkloadRecord};

const PICTURE: Size = Size { width: 984.0, height: 400.0 };
const LATENCY: Size = Size { width: 984.0, height: 200.0 };
const THROUGHPUT: Size = Size { width: 984.0, height: 260.0 };

/// The page as a file's content.
pub fn render(recording: &Recording) -> String {
    let mut html = Page::of(recording).render().expect("the template's values all render");
    // Control characters are no part of HTML, escaped or not.
    html.retain(|c| !c.is_control() || c == '\n' || c == '\t');
    html
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    title: String,
    version: String,
    facts: String,
    banners: Vec<&'static str>,
    outcome: &'static str,
    mark: &'static str,
    sentence: String,
    verdicts: Vec<VerdictLine>,
    notes: Vec<String>,
    iops: String,
    strips: String,
    causes: [(&'static str, &'static str); strip::CAUSES.len()],
    has_floors: bool,
    throughput: String,
    latencies: Vec<LatencyChart>,
    phases: Vec<PhaseBlock>,
    scaled: bool,
    scale: String,
    origin: Vec<Fact>,
    plan: String,
    seconds: String,
    style: String,
    script: &'static str,
}

struct VerdictLine {
    class: &'static str,
    mark: &'static str,
    words: &'static str,
    question: String,
    because: String,
}

struct LatencyChart {
    label: String,
    class: String,
    svg: String,
}

struct PhaseBlock {
    number: usize,
    name: String,
    when: String,
    about: String,
    commands: Vec<String>,
    pairs: Vec<CommandPair>,
    limits: Vec<String>,
    rows: Vec<FigureRow>,
}

struct CommandPair {
    run: String,
    published: String,
}

struct FigureRow {
    name: String,
    remarks: Vec<String>,
    cells: Vec<String>,
}

struct Fact {
    name: &'static str,
    value: String,
    code: bool,
}

impl Page {
    fn of(recording: &Recording) -> Page {
        let (origin, standing) = (&recording.origin, Standing::of(&recording.verdicts));
        let ceilings = relation::ceilings(recording);
        let phases = recording.phases.iter().enumerate();
        let untitled = || "A run without a title".into();
        Page {
            title: if origin.title.is_empty() { untitled() } else { origin.title.clone() },
            version: origin.version.clone(),
            facts: facts(recording),
            banners: banners(recording),
            outcome: class(standing.outcome()),
            mark: standing.outcome().map_or("", standing::mark),
            sentence: standing.sentence(),
            verdicts: recording.verdicts.iter().map(VerdictLine::of).collect(),
            notes: recording.notes.clone(),
            iops: figures::iops(recording, PICTURE).finish(None),
            strips: strip::render(recording, PICTURE.width),
            causes: strip::CAUSES,
            has_floors: !relation::floors(recording).is_empty(),
            throughput: figures::throughput(recording, THROUGHPUT).finish(None),
            latencies: (0..recording.workloads.len()).map(|index| LatencyChart::of(recording, index)).collect(),
            phases: phases.map(|(index, phase)| PhaseBlock::of(recording, index, phase, &ceilings)).collect(),
            scaled: recording.scale.is_some(),
            scale: text::scale(recording.scale).unwrap_or_default(),
            origin: origin_facts(recording),
            plan: origin.plan.clone(),
            seconds: Seconds::of(recording).json(),
            style: style(),
            script: include_str!("../templates/page.js"),
        }
    }
}

impl VerdictLine {
    fn of(verdict: &stats::Verdict) -> VerdictLine {
        VerdictLine {
            class: class(Some(verdict.outcome)),
            mark: standing::mark(verdict.outcome),
            words: standing::words(verdict.outcome),
            question: verdict.question.clone(),
            because: verdict.because.clone(),
        }
    }
}

impl LatencyChart {
    fn of(recording: &Recording, index: usize) -> LatencyChart {
        LatencyChart {
            label: figures::label(&recording.workloads[index]),
            class: palette::class(index),
            svg: figures::latency(recording, index, LATENCY).finish(None),
        }
    }
}

impl PhaseBlock {
    fn of(recording: &Recording, index: usize, phase: &Phase, ceilings: &[Ceiling<'_>]) -> PhaseBlock {
        let in_force = || ceilings.iter().filter(|ceiling| ceiling.phase == index);
        let row = |workload: &WorkloadRecord| {
            let mut row = FigureRow::of(workload, workload.tallies.get(index)?);
            row.remarks.extend(relation::floor_remark(recording, workload, index));
            Some(row)
        };
        let together = in_force().filter(|ceiling| ceiling.shared).map(|ceiling| FigureRow::sum(recording, ceiling));
        PhaseBlock {
            number: index + 1,
            name: phase.name.clone(),
            when: format!("{}–{} s", text::seconds(phase.start), text::seconds(phase.end)),
            about: phase.about.clone(),
            commands: phase.commands.clone(),
            pairs: pairs(phase),
            limits: relation::limits_in_force(recording, ceilings, index),
            rows: recording.workloads.iter().filter_map(row).chain(together).collect(),
        }
    }
}

impl FigureRow {
    fn of(workload: &WorkloadRecord, tally: &Tally) -> FigureRow {
        let response = tally.response.summary();
        let times = [response.mean, response.p50, response.p99, response.p999, response.max];
        let said = |span| if response.count == 0 { "–".into() } else { text::millis(span) };
        let mut cells = vec![text::iops(tally.iops()), text::megabytes(tally.bytes_per_second())];
        cells.extend(times.map(said));
        cells.extend([&tally.queued, &tally.device].map(mean));
        FigureRow { name: figures::label(workload), remarks: relation::remarks(tally), cells }
    }

    /// What the workloads under a shared ceiling did together.
    fn sum(recording: &Recording, ceiling: &Ceiling<'_>) -> FigureRow {
        let (iops, bytes) = ceiling.together(recording);
        let name = format!("{} together", relation::listed(&ceiling.volumes, " and "));
        let mut cells = vec![text::iops(iops), text::megabytes(bytes)];
        cells.resize(9, String::new());
        FigureRow { name, remarks: Vec::new(), cells }
    }
}

/// What the script shows of every second.
#[derive(Serialize)]
struct Seconds {
    headings: [&'static str; 8],
    seconds: Vec<Second>,
}

#[derive(Serialize)]
struct Second {
    /// When, and in which phase.
    at: String,
    /// Its middle in seconds.
    middle: f64,
    rows: Vec<(usize, String, [String; 8])>,
}

impl Seconds {
    fn of(recording: &Recording) -> Seconds {
        let mut seconds: Vec<Second> = Vec::new();
        let mut starts: Vec<&Interval> = recording.workloads.iter().flat_map(|workload| &workload.intervals).collect();
        starts.sort_by_key(|interval| interval.start);
        starts.dedup_by_key(|interval| interval.start);
        for first in starts {
            let phase = relation::phase_of(&recording.phases, first);
            let phase =
                phase.map_or(String::new(), |phase| format!(" · {} {}", phase + 1, recording.phases[phase].name));
            let row = |(index, workload): (usize, &WorkloadRecord)| {
                let interval = relation::interval_at(workload, first.start + first.length / 2)?;
                Some((index, figures::label(workload), hover_cells(recording, interval)))
            };
            seconds.push(Second {
                at: format!("second {}{phase}", text::seconds(first.start)),
                middle: (first.start + first.length / 2).as_secs_f64(),
                rows: recording.workloads.iter().enumerate().filter_map(row).collect(),
            });
        }
        Seconds { headings: ["IOPS", "MB/s", "p50", "p99", "in QoS", "in disk", "held by", "floor"], seconds }
    }

    /// As JSON that may stand in a script element: without `<` nothing in it can end the element.
    fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and finite numbers").replace('<', "\\u003c")
    }
}

fn hover_cells(recording: &Recording, interval: &Interval) -> [String; 8] {
    [
        text::iops(interval.iops()),
        text::megabytes(interval.bytes_per_second()),
        text::millis(interval.response.p50),
        text::millis(interval.response.p99),
        text::millis(figures::in_gate(interval)),
        text::millis(interval.waits.device),
        relation::held(recording, interval),
        match interval.floor {
            FloorFared::NotSet => "–".into(),
            fared => fared.to_string(),
        },
    ]
}

fn facts(recording: &Recording) -> String {
    let (origin, machine) = (&recording.origin, &recording.machine);
    let length = format!("{} s", text::seconds(relation::end_of(recording)));
    let phases = text::count(recording.phases.len(), "phase", "phases");
    let facts = [text::date(origin.started_unix_ms), machine.host.clone(), machine.backend.clone(), phases, length];
    facts.into_iter().filter(|fact| !fact.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn banners(recording: &Recording) -> Vec<&'static str> {
    let origin = &recording.origin;
    let cut = origin.cut_short.then_some("Cut short: stopped before its end, figures are up to there");
    let simulated = origin.simulated.then_some("Simulated: no real device, virtual time");
    cut.into_iter().chain(simulated).collect()
}

/// The commands of a phase side by side; where one form has more lines, the other is empty.
fn pairs(phase: &Phase) -> Vec<CommandPair> {
    let line = |lines: &[String], index: usize| lines.get(index).cloned().unwrap_or_default();
    let count = phase.commands.len().max(phase.commands_published.len());
    let pair =
        |index| CommandPair { run: line(&phase.commands, index), published: line(&phase.commands_published, index) };
    (0..count).map(pair).collect()
}

fn origin_facts(recording: &Recording) -> Vec<Fact> {
    let (origin, machine) = (&recording.origin, &recording.machine);
    let cores = if machine.cores == 0 { String::new() } else { text::count(machine.cores as usize, "core", "cores") };
    let processor: Vec<String> = [machine.cpu.clone(), cores].into_iter().filter(|part| !part.is_empty()).collect();
    let memory = if machine.memory.0 == 0 { String::new() } else { machine.memory.to_string() };
    let fact = |name, value: &str| Fact { name, value: value.into(), code: false };
    let facts = [
        Fact { name: "Repeat it with", value: origin.command.clone(), code: true },
        fact("Seed", &origin.seed.to_string()),
        fact("Started", &text::date(origin.started_unix_ms)),
        fact("Seawall", &origin.version),
        fact("Host", &machine.host),
        fact("System", &machine.kernel),
        fact("Processor", &processor.join(", ")),
        fact("Memory", &memory),
        fact("Storage", &machine.storage),
        fact("I/O through", &machine.backend),
        fact("Scale", &text::scale(recording.scale).unwrap_or_else(|| "not scaled".into())),
    ];
    facts.into_iter().filter(|fact| !fact.value.is_empty()).collect()
}

fn mean(histogram: &Histogram) -> String {
    if histogram.count() == 0 { "–".into() } else { text::millis(histogram.mean()) }
}

fn class(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Pass) => "pass",
        Some(Outcome::CannotSay) => "cannot",
        Some(Outcome::Fail) => "fail",
        None => "none",
    }
}

/// Light, and dark where the reader's system is; paper is always light.
fn style() -> String {
    let set = |colours: &palette::Palette| {
        let (variables, chart) = (palette::variables(colours), palette::chart_style(colours));
        format!(":root{{{variables}}}{chart}{}", palette::strip_style(colours))
    };
    format!(
        "{}@media screen and (prefers-color-scheme:dark){{{}}}{}",
        set(&palette::LIGHT),
        set(&palette::DARK),
        include_str!("../templates/page.css")
    )
}
