//! Reads a plan from the text of a file: one function for each section, in the order in which later
//! ones need earlier ones.

use super::criteria::Names;
use super::error::{PlanErrors, Problem};
use super::table::{Found, Report, Table};
use super::{PHASE_DEFAULT, Phase, Plan, Volume, Workload, criteria, device, load, server, volume};
use crate::spec::SpecError;
use block::{Iops, Span};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::DeTable;

/// Longest text of a plan, a hundred times what a long plan needs.
const TEXT_MAX: usize = 1 << 20;

/// The keys of a phase itself, which no workload may have as its name; every other key names a
/// workload.
const PHASE_KEYS: [&str; 4] = ["name", "about", "seconds", "commands"];

/// Maximum number of reported syntax errors; a file with more is probably not TOML at all.
const SYNTAX_MAX: usize = 3;

/// Reads a plan; `seed` takes the place of its own.
pub(super) fn read(text: &str, file: &str, seed: Option<u64>) -> Result<Plan, PlanErrors> {
    let report = Report::new(text, file);
    let Some(document) = document(text, &report) else { return Err(report.into_errors()) };
    let root = Table::root(&report, document.get_ref());
    if is_of_another_kind(&root) {
        return Err(report.into_errors());
    }
    let plan = Sections { root }.plan(text, file, seed);
    if report.is_clean() { Ok(plan) } else { Err(report.into_errors()) }
}

/// The keys of a plan.
const KEYS: [&str; 11] = [
    "title",
    "about",
    "seed",
    "phase_seconds",
    "scale",
    "server",
    "volume",
    "workload",
    "phase",
    "criterion",
    "device",
];

/// Whether a key is almost the table by which plans of another kind are known. Only that is noted:
/// as a plan of phases, all else in it would be wrong, too.
fn is_of_another_kind(root: &Table<'_>) -> bool {
    const TABLES: [(&str, &str); 2] = [("database", "[database]"), ("host", "[[host]]")];
    let unknown = root.keys().filter(|key| !KEYS.contains(&key.value));
    let meant = unknown.filter_map(|key| {
        let known = KEYS.into_iter().chain(TABLES.map(|(table, _)| table));
        let near = nearest::to(key.value, known)?;
        Some((key, TABLES.iter().find(|(table, _)| *table == near)?.1))
    });
    let meant: Vec<_> = meant.collect();
    for (key, header) in &meant {
        let advice = format!("did you mean {header}?");
        root.note(key.line, Problem::UnknownKey { key: root.full(key.value), table: root.called(), advice });
    }
    !meant.is_empty()
}

/// Parses the text as TOML; `None` if it failed, after reporting why.
pub(super) fn document<'t>(text: &'t str, report: &Report<'_>) -> Option<Spanned<DeTable<'t>>> {
    if text.len() > TEXT_MAX {
        let (key, given) = ("the plan".into(), format!("{}", text.len()));
        let (rule, advice) = (format!("at most {TEXT_MAX} bytes of text"), "split it into several plans".into());
        report.note(1, Problem::Value { key, rule, given, advice });
        return None;
    }
    let (document, faults) = DeTable::parse_recoverable(text);
    let mut told = Vec::new();
    for fault in &faults {
        let line = report.line(fault.span().map_or(0, |span| span.start));
        // Further errors on a line that is wrong already are noise.
        if told.last() == Some(&line) {
            continue;
        }
        if told.len() == SYNTAX_MAX {
            break;
        }
        told.push(line);
        let message = fault.message().trim().replace('\n', ", ").replace(char::is_control, " ");
        report.note(line, Problem::Syntax(message));
    }
    report.is_clean().then_some(document)
}

/// The tables that plans of phases and of databases share.
pub(super) struct Sections<'t> {
    pub(super) root: Table<'t>,
}

impl Sections<'_> {
    /// The whole plan; not usable if mistakes were reported.
    fn plan(&self, text: &str, file: &str, seed: Option<u64>) -> Plan {
        let root = &self.root;
        root.only(&KEYS);
        root.missing("title", "say in a few words what the experiment is called");
        let own = root.whole("seed").unwrap_or(1);
        let seed = seed.unwrap_or(own);
        let (svm, settings) = server::read(root);
        let volumes = self.volumes();
        if volumes.iter().any(Volume::is_served) || volumes.is_empty() {
            root.missing("server", "begin it with a line [server] and name its svm");
        }
        let workloads = self.workloads(seed, &volumes);
        let phases = self.phases(&workloads, &volumes);
        let criteria = self.criteria(&workloads, &phases);
        Plan {
            file: file.to_owned(),
            text: text.to_owned(),
            title: owned(root.text("title")),
            about: owned(root.text("about")),
            seed,
            published_iops: self.published_iops(),
            scale_most: self.scale_most(),
            svm,
            settings,
            phase_length: seconds(root, "phase_seconds").unwrap_or(PHASE_DEFAULT),
            volumes,
            workloads: workloads.into_iter().map(|entry| entry.workload).collect(),
            phases,
            criteria,
            device: root.table("device", "[device]").and_then(|table| device::read(&table)),
        }
    }

    /// The largest factor for scaling.
    pub(super) fn scale_most(&self) -> Option<f64> {
        self.root.table("scale", "[scale]")?.number("most", 0.0, 1000.0, "1 asks for no more than published")
    }

    pub(super) fn published_iops(&self) -> Option<Iops> {
        let table = self.root.table("scale", "[scale]")?;
        table.only(&["published_iops", "most"]);
        table.missing("published_iops", "say what the published machine did, or leave [scale] out");
        let iops = table.whole("published_iops")?;
        if iops == 0 {
            table.wrong("published_iops", "1 or more", "say what the published machine did, or leave [scale] out");
        }
        Some(Iops(iops))
    }

    pub(super) fn volumes(&self) -> Vec<Volume> {
        self.root.missing("volume", "begin each with a line [[volume]] and name it");
        let mut names = Unique::default();
        let tables = self.root.tables("volume", "[[volume]]");
        let mut volumes: Vec<Volume> = Vec::new();
        for table in &tables {
            volumes.extend(volume::read(table, &volumes, &mut names));
        }
        volumes
    }

    pub(super) fn workloads(&self, seed: u64, volumes: &[Volume]) -> Vec<Entry> {
        self.root.missing("workload", "begin each with a line [[workload]] and name it");
        let mut names = Unique::default();
        // Each workload has a seed of its own, derived from the plan's.
        let mut seeds = SplitMix64::seed_from_u64(seed);
        let tables = self.root.tables("workload", "[[workload]]");
        tables.iter().map(|table| workload(table, seeds.next_u64(), volumes, &mut names)).collect()
    }

    fn phases(&self, workloads: &[Entry], volumes: &[Volume]) -> Vec<Phase> {
        self.root.missing("phase", "begin each with a line [[phase]] and name it");
        let mut names = Unique::default();
        let mut now = workloads.to_vec();
        let tables = self.root.tables("phase", "[[phase]]");
        tables.iter().map(|table| phase(table, &mut now, volumes, &mut names)).collect()
    }

    fn criteria(&self, workloads: &[Entry], phases: &[Phase]) -> Vec<stats::Criterion> {
        // Leaves out entries whose own name was wrong.
        let named = |name: &&str| !name.is_empty();
        let workloads: Vec<_> = workloads.iter().map(|entry| entry.workload.name.as_str()).filter(named).collect();
        let phases: Vec<_> = phases.iter().map(|phase| phase.name.as_str()).filter(named).collect();
        let names = Names { phases: &phases, workloads: &workloads };
        let tables = self.root.tables("criterion", "[[criterion]]");
        tables.iter().filter_map(|table| criteria::read(table, &names)).collect()
    }
}

/// A workload while the file is read: its load as of the last phase, and the mistakes reported so
/// far.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) workload: Workload,
    told: Vec<SpecError>,
}

fn workload(table: &Table<'_>, seed: u64, volumes: &[Volume], names: &mut Unique) -> Entry {
    table.only(&[&["name", "host", "lun", "volume", "seed"][..], &load::KEYS].concat());
    table.missing("name", "name the workload, such as server1");
    let name = table.name("name");
    names.note_if_taken(table, "[[workload]]", name);
    if name.is_some_and(|name| PHASE_KEYS.contains(&name.value)) {
        table.wrong("name", "no key of a phase", "phases name workloads as keys, choose another name");
    }
    if !table.has("rate") {
        table.missing("depth", "say depth (requests in flight on each connection) or rate (requests a second)");
    }
    let spec = load::over(table, &load::unsaid(table.whole("seed").unwrap_or(seed)));
    if spec.connections == 0 {
        table.wrong("connections", "1 or more", "a workload that begins later has 0 in the first phase instead");
    }
    let used = volume::named(table, volumes);
    let mut told = Vec::new();
    let on = used.iter().filter_map(|index| volumes.get(*index));
    on.for_each(|volume| load::check(table, &spec, volume.size, &mut told));
    let host = owned(table.name("host").or(name));
    Entry { workload: Workload { name: owned(name), host, volumes: used, spec }, told }
}

pub(super) fn phase(table: &Table<'_>, now: &mut [Entry], volumes: &[Volume], names: &mut Unique) -> Phase {
    let workloads = now.iter().map(|entry| entry.workload.name.as_str()).filter(|name| !name.is_empty());
    table.only(&PHASE_KEYS.into_iter().chain(workloads).collect::<Vec<_>>());
    table.missing("name", "name the phase, such as even");
    let name = table.text("name");
    names.note_if_taken(table, table.called(), name);
    for entry in now.iter_mut() {
        change(table, entry, volumes);
    }
    if table.has("commands") && !volumes.is_empty() && !volumes.iter().any(Volume::is_served) {
        let advice = "commands go to the plan's own server, and each volume here has a place elsewhere";
        table.wrong("commands", "absent where no volume is served", advice);
    }
    Phase {
        name: owned(name),
        about: owned(table.text("about")),
        length: seconds(table, "seconds"),
        specs: now.iter().map(|entry| entry.workload.spec.clone()).collect(),
        commands: table.texts("commands").into_iter().map(|line| line.value.to_owned()).collect(),
    }
}

/// Applies a phase's changes to one workload.
fn change(phase: &Table<'_>, entry: &mut Entry, volumes: &[Volume]) {
    let name = &entry.workload.name;
    if PHASE_KEYS.contains(&name.as_str()) || !phase.has(name) {
        return;
    }
    let Some(table) = phase.table_within(name) else {
        phase.wrong(name, "what changes for this workload", "write { connections = 32 } or the like");
        return;
    };
    table.only(&load::KEYS);
    entry.workload.spec = load::over(&table, &entry.workload.spec);
    for volume in entry.workload.volumes.iter().filter_map(|index| volumes.get(*index)) {
        load::check(&table, &entry.workload.spec, volume.size, &mut entry.told);
    }
}

/// Allowed length of a phase in seconds. Figures are recorded by the second, and a week is longer
/// than any load needs to show its behaviour.
pub const PHASE_SECONDS: RangeInclusive<u64> = 1..=604_800;

/// A duration in whole seconds.
fn seconds(table: &Table<'_>, key: &str) -> Option<Span> {
    let seconds = table.whole(key)?;
    if !PHASE_SECONDS.contains(&seconds) {
        let rule = format!("from {} to {}", PHASE_SECONDS.start(), PHASE_SECONDS.end());
        table.wrong(key, rule, "figures are recorded a second each");
        return None;
    }
    Some(Span::from_secs(seconds))
}

/// Names seen so far and their lines.
#[derive(Default)]
pub(super) struct Unique(Vec<(String, u32)>);

impl Unique {
    pub(super) fn note_if_taken(&mut self, table: &Table<'_>, kind: &'static str, name: Option<Found<&str>>) {
        let Some(name) = name else { return };
        match self.0.iter().find(|(taken, _)| taken == name.value) {
            Some(&(_, line)) => {
                let (key, given) = (table.full("name"), name.value.to_owned());
                table.note(name.line, Problem::Taken { key, table: kind, given, line });
            }
            None => self.0.push((name.value.to_owned(), name.line)),
        }
    }
}

pub(super) fn owned(found: Option<Found<&str>>) -> String {
    found.map(|found| found.value.to_owned()).unwrap_or_default()
}
