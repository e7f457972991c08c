//! The volumes, opened once, and the points played on them.

use super::{Storage, said};
use crate::classic::{Counters, aim};
use crate::interrupt::Stop;
use crate::live::{JobRows, Live};
use crate::memory::Kept;
use crate::{dataset, terminal};
use anyhow::{Context as _, Result, bail};
use array::VirtualClock;
use block::{Bytes, Span};
use engine::job::{JobProgress, RunSettings, Simulation, Watch};
use orion::{JobRole, LoadPoint, MeasuredPoint, OrionVolume, Settings, Test, VolumeKind};
use stage::device::built;
use stats::job::JobOutcome;
use stats::run::Run;
use std::path::Path;
use storage::{Consent, Intent, Permit, Place};

/// Size of a volume of a simulated device.
const SIMULATED: Bytes = Bytes::gib(100);

/// The volumes of a test.
pub struct Field<'a> {
    /// Its volumes, in their order.
    pub volumes: Vec<OrionVolume>,
    storage: Storage<'a>,
}

impl<'a> Field<'a> {
    /// Opens all volumes.
    ///
    /// # Errors
    /// The list cannot be read, or a volume is invalid.
    pub fn open(settings: &Settings, storage: Storage<'a>) -> Result<Field<'a>> {
        let volumes = match storage {
            Storage::Real => listed(&settings.test_name)?.iter().map(|path| volume(path)).collect::<Result<_>>()?,
            Storage::Simulated(_) => {
                let count = settings.disks.unwrap_or(1);
                let volume =
                    |n| OrionVolume { name: format!("volume {n}"), size: SIMULATED.0, at: VolumeKind::Simulated };
                (1..=count).map(volume).collect()
            }
        };
        Ok(Field { volumes, storage })
    }

    /// Checks that all volumes may be written, if any point writes: before the first point, because
    /// some points may write nothing.
    ///
    /// # Errors
    /// One of them may not be written.
    pub fn may_be_written(&self, settings: &Settings) -> Result<()> {
        let writes = settings.load.write_percent > 0 && matches!(self.storage, Storage::Real);
        let consent = Consent::new(&settings.destroy, &settings.even_in_use);
        for volume in self.volumes.iter().filter(|_| writes) {
            let place = Place::parse(&volume.name).map_err(said)?;
            dataset::spare_filled(&place, &consent)?;
            Permit::ask(&place, Intent::Write(&consent)).map_err(said)?;
        }
        Ok(())
    }

    /// Measures a point that began `start` after the beginning of its test.
    ///
    /// # Errors
    /// Nothing was run.
    pub fn play(&self, spot: LoadPoint, start: Span, watching: Watching<'_>) -> Result<MeasuredPoint> {
        let (settings, number) = (&watching.test.settings, watching.number() as u64);
        let counted = self.volumes.iter().any(|volume| volume.at == VolumeKind::File);
        let (roles, specs): (Vec<JobRole>, Vec<_>) =
            orion::jobs(&settings.load, &self.volumes, spot, number).into_iter().unzip();
        let before = Counters::now();
        let outcomes = match self.storage {
            Storage::Real => {
                // The data that the first point was allowed to overwrite must not block the later
                // ones.
                let own = self.volumes.iter().filter(|_| number > 0).map(|volume| volume.name.clone());
                let settings = RunSettings {
                    destroy: settings.destroy.iter().cloned().chain(own).collect(),
                    even_in_use: settings.even_in_use.clone(),
                    read_only: settings.load.write_percent == 0,
                    ..RunSettings::default()
                };
                let so_far =
                    |outcomes| MeasuredPoint::of(spot, start, roles.iter().copied().zip(outcomes).collect(), counted);
                watching.stop.let_insist();
                engine::job::run(&specs, &settings, &mut Played { watching, so_far, rows: JobRows::default() })?
            }
            Storage::Simulated(device) => {
                let simulation = Simulation::of(&specs)?;
                let seed = specs.first().map_or(1, |spec| spec.seed);
                let target = built(device, simulation.size(), seed)?;
                simulation.run(target, &VirtualClock::new(), &mut || watching.stop.is_asked(), &mut |_, _| Ok(None))
            }
        };
        let point = MeasuredPoint::of(spot, start, roles.into_iter().zip(outcomes).collect(), counted);
        let fetched = Counters::now().fetched_since(&before).filter(|_| counted);
        Ok(MeasuredPoint { fetched, ..point })
    }
}

/// The volumes in a test's list.
fn listed(test_name: &str) -> Result<Vec<String>> {
    let file = orion::lun_file(test_name);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            match test_name.strip_suffix(".lun") {
                Some(name) => bail!("{file}: is not there; .lun is added to -testname, so say -testname {name}"),
                None => bail!("{file}: is not there; it lists the volumes, a path on each line"),
            };
        }
        Err(error) => return Err(error).with_context(|| format!("{file}: cannot be read")),
    };
    orion::luns(&text, &file).map_err(said)
}

/// A volume that exists and may be read.
fn volume(path: &str) -> Result<OrionVolume> {
    if Path::new(path).is_dir() {
        bail!("{path}: is a folder; a volume is a device or a file");
    }
    let found = aim(path)?;
    let at = match found.place {
        Place::Path(_) => VolumeKind::File,
        Place::Nbd { .. } | Place::Nfs { .. } => VolumeKind::Export,
        Place::Nothing(_) => VolumeKind::Nothing,
        Place::Joined { stripe: None, .. } => VolumeKind::Concatenated,
        Place::Joined { stripe: Some(_), .. } => VolumeKind::Striped,
    };
    Ok(OrionVolume { name: path.to_owned(), size: found.size.0, at })
}

/// The context of a point that is measured.
pub struct Watching<'w> {
    /// Asked to stop.
    pub stop: &'w Stop,
    /// The test.
    pub test: &'w Test,
    /// The live view at a terminal.
    pub live: &'w mut Live,
    /// The kept run.
    pub kept: &'w mut Kept,
    /// The completed points, and the one that begins.
    pub run: &'w Run,
}

impl Watching<'_> {
    /// The point's number, from 0.
    fn number(&self) -> usize {
        self.run.points.len().saturating_sub(1)
    }
}

/// A point in progress: keeps its partial results, and prints notes only before the first point.
struct Played<'w, F> {
    watching: Watching<'w>,
    so_far: F,
    rows: JobRows,
}

impl<F: Fn(Vec<JobOutcome>) -> MeasuredPoint> Watch for Played<'_, F> {
    fn laying_out(&mut self, _path: &Path, _bytes: u64) {}

    fn note(&mut self, line: &str) {
        if self.watching.number() == 0 {
            terminal::complain(&format!("note: {line}"));
        }
    }

    fn progress(&mut self, passed: Span, jobs: &[JobProgress]) {
        self.rows.take(&mut self.watching.live.state, passed, jobs);
        self.watching.live.draw();
    }

    fn wants_interim(&mut self, _passed: Span) -> bool {
        self.watching.kept.is_due()
    }

    fn interim(&mut self, _passed: Span, outcomes: Vec<JobOutcome>) {
        let so_far = (self.so_far)(outcomes);
        let mut run = self.watching.run.clone();
        orion::kept::add(&mut run, self.watching.test, &so_far);
        self.watching.kept.so_far(run);
    }

    fn waiting(&mut self, line: &str) {
        self.watching.live.clear();
        terminal::complain(line);
    }

    fn wants_end(&mut self) -> bool {
        self.watching.stop.is_insisted_on()
    }

    fn wants_stop(&mut self) -> bool {
        self.watching.stop.is_asked()
    }
}
