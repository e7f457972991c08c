//! An experiment as a plan file: volumes, workloads on hosts, timed phases that may run
//! administrators' commands, and criteria. `plans/noisy-neighbour.toml` is one.
//!
//! | table | keys |
//! | --- | --- |
//! | the plan | `title`, `about`, `seed` (1), `phase_seconds` (8) |
//! | `[scale]` | `published_iops`, `most`; without the table, the plan runs as it stands |
//! | `[server]` | `svm`, `units` (`decimal`; what a GB is, here and in commands) |
//! | `[[volume]]` | `name`, `size` (said when the plan is run), and `lun` (`lun1`) and `thin`, or `clone_of`, or `place` (storage that is there already, one or several) and `stripe` |
//! | `[[workload]]` | `name`, `host` (its name), `volume` or `lun` (`/vol/VOLUME/LUN`), `seed` (from the plan's), and a load |
//! | `[[phase]]` | `name`, `about`, `seconds`, `commands`, and `WORKLOAD = { … }` for what changes in its load |
//! | `[[criterion]]` | `kind`, and by kind: `phase`, `baseline`, `workloads`, `part`, `tolerance` |
//! | `[device]` | `kind`, by kind what is different from its usual figures, `changes` of its capacity |
//!
//! A load: `pattern` (`random` or `sequential`), `read_percent` (100), `flush_every` so many writes
//! (never), `block` (`"4k"`, or sizes with percentages `{ 4k = 60, 64k = 40 }`), `offset` and
//! `size` of the part that is used (all), `connections` (1), `requests` (no end), and either
//! `depth` on each connection with `pace` in requests a second of each (no limit of its own) or
//! `rate` in requests a second with `spacing` (`uniform` or `poisson`) and `outstanding` (256), the
//! most in flight on each connection. A phase that names `depth` or `rate` makes the load a closed
//! or an open one; `connections = 0` keeps it silent.
//!
//! What a phase says about a workload, and what its commands set, stays in force in the phases
//! after it.
//!
//! Reading collects every mistake, each as one line: file, line, key, rule, value, and what to do.
//! Commands stay text here: their grammar belongs to `ontap`.

mod advice;
mod again;
mod criteria;
mod database;
mod describe;
mod device;
mod duration;
mod error;
mod hosts;
mod load;
mod locate;
mod read;
mod server;
mod space;
mod table;
mod unfold;
mod volume;

pub use again::ReplayedRead;
pub use database::{Bottleneck, DatabasePlan, Goal, GoalKind, PlannedDatabase};
pub use device::{Device, DeviceFigure};
pub use duration::{ParseDurationError, parse_duration};
pub use error::{PlanError, PlanErrors, Problem};
pub use hosts::{HostsPlan, PlannedHost};
pub use locate::{PlanStep, line_of};
pub use read::PHASE_SECONDS;
pub use server::{Burst, CACHE_PAGE, Peak, PlanLink, PlanNesting, PlanProcessors, PlanProtocol, PlanSettings};
pub use space::{ParseSpaceError, PlanUnits, parse_space};
pub use unfold::unfold;

use crate::spec::{Arrival, DEPTH_MAX, RATE_MAX, Range, Spec, SpecError};
use block::{Bytes, Iops, Span};
use stats::{Criterion, Rate};

/// Default length of a phase: long enough for per-second figures to settle and be credible.
pub const PHASE_DEFAULT: Span = Span::from_secs(8);

/// One experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The file's name, as given to [`Plan::read`].
    pub file: String,
    /// The file's text, for the record.
    pub text: String,
    /// What the experiment is called.
    pub title: String,
    /// What it shows.
    pub about: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// What the published machine achieved in the load by which this machine is measured; the ratio
    /// of the two is the factor for [`Plan::scaled`]. `None` if the plan runs unscaled.
    pub published_iops: Option<Iops>,
    /// Upper bound of that factor: a faster machine is not asked for more.
    pub scale_most: Option<f64>,
    /// The SVM that owns the volumes.
    pub svm: String,
    /// How its server takes sizes and policies.
    pub settings: PlanSettings,
    /// The volumes, in the file's order.
    pub volumes: Vec<Volume>,
    /// The workloads, in the file's order.
    pub workloads: Vec<Workload>,
    /// Default length of a phase.
    pub phase_length: Span,
    /// The phases, in order; at least one.
    pub phases: Vec<Phase>,
    /// The criteria of the run.
    pub criteria: Vec<Criterion>,
    /// The simulated device.
    pub device: Option<Device>,
}

/// A volume with one LUN on the plan's own server, or storage that exists already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Size of the volume and of its LUN; `None` until [`Plan::sized`].
    pub size: Option<Bytes>,
    /// Its LUN's name.
    pub lun: String,
    /// The files, devices, exports and folders that together are the volume, as typed. Empty for a
    /// volume of the plan's own server. In a simulation every volume is simulated.
    pub places: Vec<String>,
    /// Length of the stripes over its places; `None` if they are concatenated.
    pub stripe: Option<Bytes>,
    /// Before a run on real storage only the part that loads use is written.
    pub thin: bool,
    /// Index in [`Plan::volumes`] of the volume that a phase's command clones to make it; `None` if
    /// it exists from the start.
    pub clone_of: Option<usize>,
}

/// A load on one LUN, or spread over several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// The host it stands for.
    pub host: String,
    /// Indices in [`Plan::volumes`], at least one; its connections are spread over them in turn.
    pub volumes: Vec<usize>,
    /// The load before any phase changes it.
    pub spec: Spec,
}

/// A section of the plan with its own load and commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// Its own length; see [`Plan::length`].
    pub length: Option<Span>,
    /// The load of each of [`Plan::workloads`] in this phase, with all changes up to here.
    pub specs: Vec<Spec>,
    /// The administrators' commands to run at its start.
    pub commands: Vec<String>,
}

impl Plan {
    /// Reads a plan from `text`; `file` is its name in messages. Loads on volumes without a size
    /// are checked by [`Plan::sized`].
    pub fn read(text: &str, file: &str) -> Result<Plan, PlanErrors> {
        read::read(text, file, None)
    }

    /// [`Plan::read`] with this seed in place of the text's; a workload's own seed stays.
    pub fn read_seeded(text: &str, file: &str, seed: u64) -> Result<Plan, PlanErrors> {
        read::read(text, file, Some(seed))
    }

    /// Length of a phase.
    pub fn length(&self, phase: &Phase) -> Span {
        phase.length.unwrap_or(self.phase_length)
    }

    /// The plan with `size` for every volume without one, and every load checked against its
    /// volume.
    pub fn sized(self, size: Bytes) -> Result<Plan, PlanErrors> {
        self.sized_by(size, |_| None)
    }

    /// [`Plan::sized`], with the origin of a volume's size in errors about loads on it. `origin`
    /// names the option that set the size, or is `None` if the plan itself did.
    pub fn sized_by(mut self, size: Bytes, origin: impl Fn(&Volume) -> Option<String>) -> Result<Plan, PlanErrors> {
        let origins: Vec<Option<String>> = self.volumes.iter().map(origin).collect();
        for volume in &mut self.volumes {
            volume.size.get_or_insert(size);
        }
        for volume in 0..self.volumes.len() {
            if let Some(parent) = self.volumes[volume].clone_of {
                self.volumes[volume].size = self.volumes[parent].size;
            }
        }
        let mut errors = Vec::new();
        for (index, workload) in self.workloads.iter().enumerate() {
            let mut told = Vec::new();
            let phases = self.phases.iter().map(|phase| (Some(phase.name.as_str()), &phase.specs[index]));
            for (phase, spec) in [(None, &workload.spec)].into_iter().chain(phases) {
                for volume in &workload.volumes {
                    let new = spec.broken_rules(self.volumes[*volume].size).into_iter();
                    for error in new.filter(|error| !told.contains(error)).collect::<Vec<_>>() {
                        told.push(error.clone());
                        errors.push(self.load_error(&workload.name, phase, origins[*volume].as_deref(), error));
                    }
                }
            }
        }
        if errors.is_empty() { Ok(self) } else { Err(PlanErrors(errors)) }
    }

    /// An error of a workload's load, which a phase may have changed.
    fn load_error(&self, workload: &str, phase: Option<&str>, origin: Option<&str>, error: SpecError) -> PlanError {
        let key = error.key();
        let line = match phase {
            None => line_of(&self.text, &[PlanStep::Key("workload"), PlanStep::Named(workload), PlanStep::Key(key)]),
            Some(phase) => line_of(&self.text, &[PlanStep::Phase(phase), PlanStep::Key(workload), PlanStep::Key(key)]),
        };
        let origin = origin.map(|origin| format!("{origin}: ")).unwrap_or_default();
        let problem = Problem::Load { within: format!("{origin}{workload}."), error };
        PlanError { file: self.file.clone(), line: Some(line), problem }
    }

    /// Seed of a workload.
    pub fn seed_of(&self, workload: usize) -> u64 {
        self.workloads[workload].spec.seed ^ (workload as u64) << 48
    }

    /// Maximum number of a workload's connections in any phase.
    pub fn connections(&self, workload: usize) -> u32 {
        let phases = self.phases.iter().map(|phase| phase.specs[workload].connections);
        phases.chain([self.workloads[workload].spec.connections]).max().unwrap_or(0)
    }

    /// Whether any load on `volume` writes, initially or in a phase.
    pub fn writes(&self, volume: usize) -> bool {
        let writes = |spec: &Spec| spec.connections > 0 && spec.read_percent < 100;
        self.loads_on(volume).any(writes)
    }

    /// Every load on `volume`, initially and in the phases.
    fn loads_on(&self, volume: usize) -> impl Iterator<Item = &Spec> {
        let phases = |index: usize| self.phases.iter().map(move |phase| &phase.specs[index]);
        let on_it = self.workloads.iter().enumerate().filter(move |(_, load)| load.volumes.contains(&volume));
        on_it.flat_map(move |(index, load)| phases(index).chain([&load.spec]))
    }

    /// The part of `volume` that loads use, from the first byte to the last.
    pub fn used(&self, volume: usize) -> Range {
        let whole = self.volumes[volume].size.unwrap_or_default().0;
        let part = |spec: &Spec| {
            let Range { offset, size } = spec.range;
            (offset.0, size.map_or(whole, |size| offset.0.saturating_add(size.0)))
        };
        let parts = self.loads_on(volume).map(part);
        let (from, to) = parts.fold((whole, 0), |(from, to), part| (from.min(part.0), to.max(part.1.min(whole))));
        Range { offset: Bytes(from), size: Some(Bytes(to.saturating_sub(from))) }
    }

    /// The storage of a workload in words: `svm01:/vol/vol1/lun1`, or the places as they were
    /// named.
    pub fn storage(&self, workload: &Workload) -> String {
        let paths = workload.volumes.iter().map(|volume| {
            let volume = &self.volumes[*volume];
            if volume.is_served() { format!("{}:{}", self.svm, volume.path()) } else { volume.together() }
        });
        let paths: Vec<String> = paths.collect();
        match paths.as_slice() {
            [first, .., last] => {
                format!("{first} to {} ({} LUNs)", last.trim_start_matches(&format!("{}:", self.svm)), paths.len())
            }
            few => few.concat(),
        }
    }

    /// Whether a workload uses a volume that exists only after a phase has made it.
    pub fn is_late(&self, workload: usize) -> bool {
        self.workloads[workload].volumes.iter().any(|volume| self.volumes[*volume].clone_of.is_some())
    }

    /// The plan with depths, paces, rates and maxima of outstanding requests multiplied by
    /// `factor`, rounded, at least 1; so are the limits of its link and the rates in its criteria.
    /// Connections stay. Figures within commands are left to the caller.
    pub fn scaled(&self, factor: f64) -> Plan {
        let mut plan = self.clone();
        let base = plan.workloads.iter_mut().map(|workload| &mut workload.spec);
        for spec in base.chain(plan.phases.iter_mut().flat_map(|phase| &mut phase.specs)) {
            spec.arrival = scaled(spec.arrival, factor);
            spec.pace = spec.pace.map(|pace| times(pace, factor));
        }
        let link = &mut plan.settings.link;
        let rates = [&mut link.flow, &mut link.network, &mut link.burst];
        rates.into_iter().flatten().for_each(|rate| rate.0 = scaled_bytes(rate.0, factor));
        link.credit.0 = scaled_bytes(link.credit.0, factor);
        for criterion in &mut plan.criteria {
            let (Criterion::RateIs { rate, .. } | Criterion::RateReached { at_least: rate, .. }) = criterion else {
                continue;
            };
            match rate {
                Rate::Iops(rate) => *rate = times(*rate, factor),
                Rate::Bytes(rate) => rate.0 = scaled_bytes(rate.0, factor),
            }
        }
        plan
    }

    /// Describes the experiment in plain language: a line for the whole, each workload, each phase,
    /// and the simulated device.
    pub fn describe(&self) -> Vec<String> {
        describe::describe(self)
    }
}

impl Workload {
    /// Index in [`Plan::volumes`] of the volume that a connection uses.
    pub fn volume_of(&self, connection: u32) -> usize {
        self.volumes[connection as usize % self.volumes.len()]
    }
}

impl Volume {
    /// Whether it is on the plan's own server.
    pub fn is_served(&self) -> bool {
        self.places.is_empty()
    }

    /// Its places in words, if there are any: `a, b in stripes of 64 KiB`.
    pub fn together(&self) -> String {
        let stripes = self.stripe.map(|stripe| format!(" in stripes of {stripe}")).unwrap_or_default();
        format!("{}{stripes}", self.places.join(", "))
    }

    /// Path of the LUN, as workloads name it: `/vol/vol1/lun1`.
    pub fn path(&self) -> String {
        format!("/vol/{}/{}", self.name, self.lun)
    }
}

fn scaled_bytes(bytes: u64, factor: f64) -> u64 {
    (bytes as f64 * factor).round() as u64
}

fn times(rate: Iops, factor: f64) -> Iops {
    Iops(((rate.0 as f64 * factor).round() as u64).clamp(1, RATE_MAX.0))
}

fn scaled(arrival: Arrival, factor: f64) -> Arrival {
    // Rounds to nearest. Conversions from `f64` saturate, so no factor can overflow.
    let depth = |depth: u32| ((f64::from(depth) * factor).round() as u32).clamp(1, DEPTH_MAX);
    match arrival {
        Arrival::Closed { depth: d } => Arrival::Closed { depth: depth(d) },
        Arrival::Open { rate, spacing, outstanding } => {
            Arrival::Open { rate: times(rate, factor), spacing, outstanding: depth(outstanding) }
        }
    }
}
