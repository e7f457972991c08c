//! A plan's volumes that are storage of somebody else: leave for each before anything is made, files that are missing laid
//! out, targets.

use super::path;
use anyhow::{Context as _, Result, bail};
use block::{Bytes, Target};
use stats::run;
use std::path::Path;
use storage::{Consent, Contents, How, Intent, Kind, Permit, Place};
use uring::Io;
use uring::disk::Cache;
use workload::{Plan, Spec};

/// What a run may do to the places of its plan, in the plan's order of volumes; nothing for a volume of its own server.
#[derive(Clone, Debug, Default)]
pub struct Places(Vec<Option<Permit>>);

impl Places {
    /// Asks for leave at each place, and gives the plan's volumes without a size that of their place. A file that is not
    /// there yet is going to be made, and so needs leave to be written.
    ///
    /// # Errors
    /// No leave, or the place is smaller than the plan has it; one line.
    pub fn ask(plan: &mut Plan, consent: &Consent) -> Result<Places> {
        let mut asked: Vec<Option<Permit>> = Vec::new();
        for volume in 0..plan.volumes.len() {
            let permit = permit(plan, volume, consent)?;
            let is_same = |other: &Option<Permit>| {
                permit.iter().zip(other).any(|(one, other)| one.place().is_same(other.place()))
            };
            if let Some(other) = asked.iter().position(is_same) {
                let (one, other) = (&plan.volumes[volume].name, &plan.volumes[other].name);
                bail!("volume {one}: is the same place as volume {other}; let their workloads name one volume");
            }
            asked.push(permit);
        }
        Ok(Places(asked))
    }

    /// Whether the plan's own server has none of the volumes.
    pub fn are_all(&self) -> bool {
        self.0.iter().all(Option::is_some)
    }

    /// All of them, as they were named.
    pub fn named(&self) -> Vec<Place> {
        self.0.iter().flatten().map(|permit| permit.place().clone()).collect()
    }

    /// Those that are paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().flatten().filter_map(Permit::path).map(|path| path.as_path())
    }

    /// What each workload loads: a LUN of the plan's own server by its path, or a place as it was named.
    pub fn loaded(&self, plan: &Plan) -> Vec<run::Place> {
        let loaded = |volume: usize| {
            let size = plan.volumes[volume].size.map(|size| size.0);
            match self.0.get(volume).and_then(Option::as_ref) {
                Some(permit) => {
                    run::Place { kind: permit.kind().word().into(), name: permit.place().to_string(), size }
                }
                None => run::Place { kind: "volume".into(), name: path(plan, &plan.volumes[volume]), size },
            }
        };
        plan.workloads.iter().map(|load| loaded(load.volume)).collect()
    }

    /// Checks that the loads fit the alignment of their places.
    ///
    /// # Errors
    /// A load asks for parts of blocks; one line with what the place takes.
    pub fn check_loads(&self, plan: &Plan) -> Result<()> {
        for (index, load) in plan.workloads.iter().enumerate() {
            let Some(permit) = &self.0[load.volume] else { continue };
            let (name, align) = (&plan.volumes[load.volume].name, permit.alignment(Cache::Direct)?);
            let specs = plan.phases.iter().map(|phase| &phase.specs[index]);
            if let Some(odd) = specs.filter(|spec| spec.connections > 0).find_map(|spec| unaligned(spec, align)) {
                bail!(
                    "volume {name}: {} takes whole multiples of {} without the page cache, and workload {} asks for {odd}",
                    permit.place(),
                    Bytes(align.into()),
                    load.name,
                );
            }
        }
        Ok(())
    }

    /// Makes the files that are missing, with data that cannot be compressed. `said` is told of each before.
    ///
    /// # Errors
    /// The system refuses; what was begun of that file is removed.
    pub fn lay_out(&self, plan: &Plan, said: impl Fn(&Place, Bytes)) -> Result<()> {
        for (permit, volume) in self.0.iter().zip(&plan.volumes) {
            let Some(permit) = permit.as_ref().filter(|permit| permit.kind() == Kind::Missing) else { continue };
            let size = volume.size.unwrap_or_default();
            said(permit.place(), size);
            let contents = Contents::Random(plan.seed);
            let laid_out = permit.lay_out(storage::Plan { len: size.0, contents, until_full: false });
            laid_out.with_context(|| format!("volume {}: {}", volume.name, permit.place()))?;
        }
        Ok(())
    }

    /// A target of one connection at a place; nothing for a volume of the plan's own server.
    ///
    /// # Errors
    /// It cannot be opened without the page cache, or the server refuses.
    pub fn open(&self, io: &Io, volume: usize) -> Result<Option<Box<dyn Target>>> {
        let Some(permit) = &self.0[volume] else { return Ok(None) };
        let how = How { keep_data: false, ..How::default() };
        Ok(Some(permit.clone().over_one_connection().open(io, how)?.target))
    }
}

/// Leave for one volume.
fn permit(plan: &mut Plan, volume: usize, consent: &Consent) -> Result<Option<Permit>> {
    let (name, writes) = (plan.volumes[volume].name.clone(), plan.writes(volume));
    let Some(given) = plan.volumes[volume].place.clone() else { return Ok(None) };
    let place = Place::parse(&given).map_err(|line| anyhow::anyhow!("volume {name}: place: {line}"))?;
    let is_missing = matches!(&place, Place::Path(path) if !path.exists());
    let intent = if writes || is_missing { Intent::Write(consent) } else { Intent::Read };
    let permit = Permit::ask(&place, intent).with_context(|| format!("volume {name}"))?;
    if permit.kind() != Kind::Missing {
        let (has, size) = (permit.size(), &mut plan.volumes[volume].size);
        if let Some(size) = size.filter(|size| *size > has) {
            bail!("volume {name}: {place} has {has}, and the plan asks for {size}; leave size out to use all of it");
        }
        size.get_or_insert(has);
    }
    Ok(Some(permit))
}

/// What of a load is no multiple of `align` bytes, in words.
fn unaligned(spec: &Spec, align: u32) -> Option<String> {
    let odd = |size: Bytes| !size.0.is_multiple_of(u64::from(align));
    let blocks = spec.blocks.shares().iter().map(|share| share.size).find(|size| odd(*size));
    let block = blocks.map(|size| format!("blocks of {size}"));
    block.or_else(|| odd(spec.range.offset).then(|| format!("an offset of {}", spec.range.offset)))
}
