//! One batch: runs its jobs, watches them, and makes rows of their outcomes.

use super::keeper::TOOL;
use super::marks::Running;
use super::{SIMULATED, Storage, database, relation, smaller_than_memory};
use crate::classic::{Counters, aim, on_flash};
use crate::interrupt::Stop;
use crate::live::{JobRows, Live};
use crate::memory::{self, Kept, Memory};
use crate::play::now_unix_ms;
use crate::{dataset, date, machine, terminal};
use ::database::{Looked, Relation};
use anyhow::{Result, bail};
use array::VirtualClock;
use block::{Bytes, Span};
use engine::job::{JobProgress, RunSettings, Simulation, Watch};
use ranread::kept::{self, Taken};
use ranread::{Aim, Batch, BatchEvidence, Effort, Load, Measured, ProcessRow, ProcessState};
use report::text;
use stage::device::built;
use stats::job::{JobOutcome, Losses};
use stats::run::{Identity, Run};
use stats::{Direction, Track};
use stats::{Machine, run};
use std::path::Path;
use storage::{Consent, Place};
use workload::job::JobSpec;

/// Default number of requests of a process, and the default on flash.
const ITERATIONS: u64 = 10_000;
const ITERATIONS_ON_FLASH: u64 = 100_000;

/// The targets of all batches, opened once.
pub struct Field<'a> {
    load: Load,
    aims: Vec<Aim>,
    storage: Storage<'a>,
    /// The names of the targets.
    places: Vec<run::RunPlace>,
    /// Bytes of all targets; `None` if it does not matter.
    size: Option<Bytes>,
    running: Option<Running>,
    /// The relation that is read instead of running the engine's jobs.
    relation: Option<Relation>,
    /// Why the reads of a relation say nothing about the storage.
    unsure: Option<String>,
    /// Where a server's blocks came from so far.
    served: Option<relation::Served>,
    failed: bool,
}

/// The outcome of a batch.
pub struct Finished {
    /// The outcome of each process.
    pub outcomes: Vec<JobOutcome>,
    /// Bytes read from storage, if another program reads them.
    pub fetched: Option<u64>,
    /// A server's cache hits and reads.
    pub looked: Option<Looked>,
}

impl<'a> Field<'a> {
    /// Opens all targets.
    ///
    /// # Errors
    /// One of them is invalid.
    pub fn open(mut load: Load, storage: Storage<'a>) -> Result<Field<'a>> {
        let relation = if let Storage::Real = storage { of_relation(&load)? } else { None };
        let (mut aims, mut places, mut size, mut flash) = (Vec::new(), Vec::new(), Bytes(0), true);
        for target in &load.targets {
            let (found, bytes, on_flash) = match storage {
                Storage::Simulated(_) => (Aim::Simulated { name: target.clone(), size: SIMULATED }, SIMULATED, false),
                Storage::Real => match &relation {
                    Some(relation) => (Aim::Relation { name: relation.postgres().name() }, relation.size(), false),
                    None => real(target, &load)?,
                },
            };
            places.push(place(&found, target, bytes));
            size = Bytes(size.0.saturating_add(bytes.0));
            flash &= on_flash;
            aims.push(found);
        }
        let usual = if flash { ITERATIONS_ON_FLASH } else { ITERATIONS };
        load.effort.get_or_insert(Effort::Iterations(usual));
        let is_real = matches!(storage, Storage::Real) && !aims.iter().all(|aim| matches!(aim, Aim::Nothing { .. }));
        let running = if let Storage::Real = storage { Running::begin()? } else { None };
        let size = is_real.then_some(size);
        Ok(Field { load, aims, storage, places, size, running, relation, unsure: None, served: None, failed: false })
    }

    /// The names of the targets in rows.
    fn name(&self) -> String {
        self.places.iter().map(|place| place.name.as_str()).collect::<Vec<_>>().join(",")
    }

    /// The machine that loads them.
    pub fn machine(&self) -> Machine {
        match (self.storage, self.aims.first()) {
            (Storage::Simulated(_), _) => Machine { backend: "virtual time".into(), ..Machine::default() },
            (Storage::Real, Some(Aim::Database { path })) => machine::look(Path::new(path).parent(), ""),
            (Storage::Real, _) => {
                let folder = self.relation.as_ref().and_then(|relation| relation.postgres().folder());
                machine::look(folder.as_deref(), "")
            }
        }
    }

    /// Whether its time is virtual.
    pub fn is_simulated(&self) -> bool {
        matches!(self.storage, Storage::Simulated(_))
    }

    /// Begins to keep the run; `loads` is the number of processes in words.
    pub fn begin(&self, memory: &Memory, loads: &str, sheet: &[(String, String)]) -> (Run, Kept) {
        let title = format!("{} of {}, {loads}", self.kind(), self.name());
        let identity = memory::identity(TOOL, title, now_unix_ms());
        let identity = Identity { seed: self.load.seed, simulated: self.is_simulated(), ..identity };
        let begun = kept::begun(&self.load, self.places.clone(), sheet);
        let run = Run { identity, machine: self.machine(), ..begun };
        let file = |aim: &'_ Aim| match aim {
            Aim::Database { path } | Aim::Device { path } => Some(path.clone()),
            Aim::Relation { .. } => self.relation.as_ref()?.postgres().folder()?.to_str().map(str::to_owned),
            Aim::Export { .. } | Aim::Joined { .. } | Aim::Nothing { .. } | Aim::Simulated { .. } => None,
        };
        let memory = memory.loading(self.aims.iter().filter_map(file));
        let kept = memory.begin(run.clone());
        (run, kept)
    }

    fn kind(&self) -> String {
        match self.load.read_percent {
            100 => "random reads".to_owned(),
            0 => "random writes".to_owned(),
            percent => format!("{percent} % random reads, the rest random writes"),
        }
    }

    /// Fails if a target would have no process.
    pub fn must_suffice(&self, processes: u32) -> Result<()> {
        let targets = self.aims.len();
        if (processes as usize) < targets {
            bail!("PROCESSES: must be at least one for each of {targets} targets, got {processes}");
        }
        Ok(())
    }

    /// Notes to print before anything runs.
    pub fn notes(&self) -> Vec<String> {
        let cache = self.cannot_say().map(|why| format!("this will measure the cache: {why}"));
        let direct = (self.load.page_cache).then(|| "through the page cache: figures are not the storage's".to_owned());
        cache.into_iter().chain(direct).collect()
    }

    /// Why no verdict on the storage is possible; `None` if one is.
    pub fn cannot_say(&self) -> Option<String> {
        // For a relation, the origin of its blocks is measured.
        if self.relation.is_some() {
            return self.unsure.clone();
        }
        self.size.and_then(smaller_than_memory)
    }

    /// Whether a process failed.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Lines of the specification sheet: the target, its size and the load.
    pub fn sheet(&self) -> Vec<(String, String)> {
        let size = self.size.map_or(String::new(), |size| size.to_string());
        let effort = match self.load.effort {
            Some(Effort::Seconds(seconds)) => format!("{seconds} s a batch"),
            Some(Effort::Iterations(n)) => format!("{} requests a process", text::thousands(n)),
            None => String::new(),
        };
        let sheet = [
            ("Database", self.name()),
            ("Database size", size),
            ("Load", format!("{} of {}, {effort}", self.kind(), Bytes(u64::from(self.load.block)))),
        ];
        sheet.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// Runs a batch of this many processes as the last point of `run`, in which it begins at
    /// `start`.
    ///
    /// # Errors
    /// Nothing was run.
    pub fn play(
        &mut self,
        processes: u32,
        start: Span,
        run: &mut Run,
        watched: Watched<'_>,
    ) -> Result<(Batch, Measured)> {
        let Watched { stop, dots, live, kept } = watched;
        live.begin(text::count(processes as usize, "process", "processes"), self.length());
        let repeat = (run.points.len() as u64).saturating_sub(1);
        let specs =
            if self.relation.is_some() { Vec::new() } else { ranread::jobs(&self.load, &self.aims, processes, repeat) };
        let blank = ProcessRow::blank(date::since_1970().as_secs(), self.name(), processes, &self.load);
        let before = Counters::now();
        let finished = match (self.storage, &self.relation) {
            (Storage::Real, Some(relation)) => {
                let (running, mut ticks) = (self.running.as_ref(), 0u32);
                relation::play(relation, &self.load, processes, repeat, &mut || {
                    ticks += 1;
                    if ticks % 10 == 0 {
                        if dots {
                            terminal::print(".");
                        }
                        // Until the batch is over only its time is known.
                        live.state.elapsed += Span::SECOND;
                        live.draw();
                    }
                    stop.is_asked() || running.is_some_and(Running::is_stopped)
                })?
            }
            (Storage::Real, None) => {
                let watched = Watched { stop, dots, live: &mut *live, kept };
                self.load_by_engine(&specs, start, run, watched)?
            }
            (Storage::Simulated(device), _) => {
                let simulation = Simulation::of(&specs)?;
                let target = built(device, simulation.size(), self.load.seed ^ repeat)?;
                // Each batch starts on an idle device; its processes run at once.
                let clock = VirtualClock::new();
                Finished::of(simulation.run(target, &clock, &mut || stop.is_asked(), &mut |_, _| Ok(None)))
            }
        };
        live.clear();
        let Finished { outcomes, fetched, looked } = finished;
        let after = Counters::now();
        self.remark_on(&outcomes);
        let rows = (1..).zip(&outcomes).map(|(job, outcome)| blank.of(job, ProcessState::Whole, outcome)).collect();
        let batch = Batch { rows };
        let mut evidence = self.evidence(&outcomes, &before, &after);
        if let Some(looked) = looked {
            evidence.bytes_fetched = fetched;
            self.look_at_server(&mut evidence, looked);
        }
        if let Some(first) = outcomes.first().filter(|_| !self.is_simulated()) {
            run.machine.backend.clone_from(&first.backend);
        }
        kept::add(run, Taken { start, state: batch.state(), outcomes });
        let measured = Measured::of(&batch, evidence);
        Ok((batch, measured))
    }

    /// Length of a batch, if it is fixed.
    fn length(&self) -> Option<Span> {
        match self.load.effort {
            Some(Effort::Seconds(seconds)) => Some(Span::from_secs(seconds)),
            _ => None,
        }
    }

    /// Lets the engine's jobs read.
    fn load_by_engine(&mut self, specs: &[JobSpec], start: Span, run: &Run, watched: Watched<'_>) -> Result<Finished> {
        let settings = RunSettings {
            destroy: self.load.destroy.clone(),
            even_in_use: self.load.even_in_use.clone(),
            ..RunSettings::default()
        };
        watched.stop.let_insist();
        let running = self.running.as_ref();
        let mut watch = Watching { watched, running, run, start, rows: JobRows::default() };
        Ok(Finished::of(engine::job::run(specs, &settings, &mut watch)?))
    }

    /// Takes in where a server's blocks came from in a batch.
    fn look_at_server(&mut self, evidence: &mut BatchEvidence, looked: Looked) {
        evidence.server_cached = Some(looked.hits as f64 / (looked.hits + looked.reads).max(1) as f64);
        // The first reason is kept: one batch of a sweep that says nothing about the storage is
        // enough.
        self.unsure = self.unsure.take().or_else(|| relation::unsure(evidence, looked));
        match &mut self.served {
            Some(served) => served.add(evidence, looked),
            None => self.served = Some(relation::Served::of(evidence, looked)),
        }
    }

    /// Prints where a server's blocks came from in all batches.
    pub fn print_served(&self) {
        self.served.iter().for_each(|served| terminal::complain(&served.said()));
    }

    /// Prints remarks on lost connections, and on each error once.
    fn remark_on(&mut self, outcomes: &[JobOutcome]) {
        let mut lost = Losses::default();
        outcomes.iter().for_each(|outcome| lost.absorb(&outcome.losses));
        lost.lines().iter().for_each(|line| terminal::complain(line));
        let mut errors: Vec<&String> = Vec::new();
        for error in outcomes.iter().filter_map(|outcome| outcome.error.as_ref()) {
            self.failed = true;
            if !errors.contains(&&error.text) {
                errors.push(&error.text);
            }
        }
        errors.into_iter().for_each(|error| terminal::complain(error));
    }

    /// What was observed of the machine meanwhile; nothing for a simulated device.
    fn evidence(&self, outcomes: &[JobOutcome], before: &Counters, after: &Counters) -> BatchEvidence {
        let Storage::Real = self.storage else { return BatchEvidence::default() };
        let mut reads = Track::default();
        outcomes.iter().for_each(|outcome| reads.absorb(&outcome.tape[Direction::Read]));
        let spread = reads.iops_spread();
        let iops_variation = (spread.samples > 2 && spread.mean > 0.0).then(|| spread.deviation / spread.mean);
        let disks = outcomes.first().map_or(&[][..], |outcome| &outcome.disks);
        let busy = |disk: &stats::job::DiskUse| disk.busy.as_secs_f64() / disk.over.as_secs_f64().max(1e-9);
        let busiest = disks.iter().max_by(|one, other| busy(one).total_cmp(&busy(other)));
        let counted = self.aims.iter().all(|aim| matches!(aim, Aim::Database { .. } | Aim::Device { .. }));
        BatchEvidence {
            device_busy: busiest.map(|disk| busy(disk).min(1.0)),
            device: busiest.map_or(String::new(), |disk| disk.name.clone()),
            cpu_busy: after.cpu_busy_since(before),
            bytes_asked: reads.bytes,
            bytes_fetched: after.fetched_since(before).filter(|_| counted),
            server_cached: None,
            iops_variation,
        }
    }
}

impl Finished {
    fn of(outcomes: Vec<JobOutcome>) -> Finished {
        Finished { outcomes, fetched: None, looked: None }
    }
}

/// The relation that is read; `None` for files and devices.
fn of_relation(load: &Load) -> Result<Option<Relation>> {
    let [target] = load.targets.as_slice() else {
        match load.targets.iter().find(|target| relation::is_relation(target)) {
            Some(_) => bail!("--database: a server's relation is read alone; name nothing else beside it"),
            None => return Ok(None),
        }
    };
    if !relation::is_relation(target) {
        return Ok(None);
    }
    if load.read_percent < 100 || u64::from(load.block) != ::database::BLOCK {
        bail!("--database: through a server blocks of 8 KiB are read, and nothing is written");
    }
    relation::open(target).map(Some)
}

/// A target of this machine that `load` may have, its size, and whether it is on flash.
fn real(target: &str, load: &Load) -> Result<(Aim, Bytes, bool)> {
    if !is_special(target) {
        let (manifest, path) = database::find(target)?;
        let on_flash = on_flash(&path);
        return Ok((Aim::Database { path: path.display().to_string() }, Bytes(manifest.bytes), on_flash));
    }
    let found = aim(target)?;
    if load.read_percent < 100 {
        dataset::spare_filled(&found.place, &Consent::new(&load.destroy, &load.even_in_use))?;
    }
    let aim = match found.place {
        Place::Nbd { uri, .. } | Place::Nfs { uri, .. } => Aim::Export { uri },
        Place::Nothing(size) => Aim::Nothing { size },
        Place::Joined { .. } => Aim::Joined { name: target.to_owned() },
        Place::Path(_) => Aim::Device { path: target.to_owned() },
    };
    Ok((aim, found.size, on_flash(Path::new(target))))
}

/// Whether it is a device, an export or null, and not a directory.
fn is_special(target: &str) -> bool {
    match Place::parse(target) {
        Ok(Place::Path(path)) if path.is_dir() || target.ends_with('/') => false,
        Ok(Place::Path(path)) => path.starts_with("/dev") || Place::Path(path).is_block_device(),
        Ok(_) | Err(_) => true,
    }
}

/// The name of a target in kept runs: a database has that of its directory.
fn place(aim: &Aim, target: &str, size: Bytes) -> run::RunPlace {
    let (kind, name) = match aim {
        Aim::Database { .. } => ("folder", database::with_slash(target)),
        Aim::Device { .. } | Aim::Simulated { .. } => ("file", target.to_owned()),
        Aim::Export { uri } if uri.starts_with("nfs://") => ("nfs", target.to_owned()),
        Aim::Export { .. } => ("nbd", target.to_owned()),
        Aim::Joined { name } if name.starts_with("striped:") => ("striped", name.clone()),
        Aim::Joined { name } => ("concatenated", name.clone()),
        Aim::Relation { name } => ("database", name.clone()),
        Aim::Nothing { .. } => ("null", target.to_owned()),
    };
    run::RunPlace { kind: kind.into(), name, size: Some(size.0) }
}

/// The context of a batch.
pub struct Watched<'w> {
    /// The request to stop.
    pub stop: &'w Stop,
    /// Whether to print a dot each second.
    pub dots: bool,
    /// The live view at a terminal, if no dots are printed.
    pub live: &'w mut Live,
    /// The kept run.
    pub kept: &'w mut Kept,
}

/// A batch in progress.
struct Watching<'w> {
    watched: Watched<'w>,
    running: Option<&'w Running>,
    /// The run, whose last point the batch is.
    run: &'w Run,
    /// When the batch began in it.
    start: Span,
    rows: JobRows,
}

impl Watch for Watching<'_> {
    fn laying_out(&mut self, _path: &Path, _bytes: u64) {}

    fn note(&mut self, line: &str) {
        terminal::complain(&format!("note: {line}"));
    }

    fn progress(&mut self, passed: Span, jobs: &[JobProgress]) {
        if self.watched.dots {
            terminal::print(".");
        }
        self.rows.take(&mut self.watched.live.state, passed, jobs);
        self.watched.live.draw();
    }

    fn wants_interim(&mut self, _passed: Span) -> bool {
        self.watched.kept.is_due()
    }

    fn interim(&mut self, _passed: Span, outcomes: Vec<JobOutcome>) {
        let mut run = self.run.clone();
        kept::add(&mut run, Taken { start: self.start, state: ProcessState::Running, outcomes });
        self.watched.kept.so_far(run);
    }

    fn waiting(&mut self, line: &str) {
        self.watched.live.clear();
        terminal::interject(line);
    }

    fn wants_end(&mut self) -> bool {
        // After a stop by another shell the first Ctrl-C is the second stop.
        let stop = self.watched.stop;
        stop.is_insisted_on() || stop.is_asked() && self.running.is_some_and(Running::is_stopped)
    }

    fn wants_stop(&mut self) -> bool {
        self.watched.stop.is_asked() || self.running.is_some_and(Running::is_stopped)
    }
}

/// The figures that the classic lines do not have, in one line.
pub fn said(batch: &Batch, measured: &Measured) -> String {
    let lat = batch.lat();
    let ms = |part| text::millis(lat.quantile(part));
    let cache = match measured.evidence.server_cached {
        Some(_) => "the server's own cache or the page cache below it",
        None => "this host's cache",
    };
    let cached = measured.evidence.cached().filter(|cached| *cached >= 0.1);
    let cached = cached.map_or(String::new(), |cached| format!("; {:.0} % of it came from {cache}", cached * 100.0));
    format!(
        "{}, p50 {} ms, p99 {}, p99.9 {}, max {}; {} IOPS by the clock{cached}",
        text::count(batch.done() as usize, "request", "requests"),
        ms(0.5),
        ms(0.99),
        ms(0.999),
        text::millis(lat.max()),
        text::iops(batch.measured_iops())
    )
}
