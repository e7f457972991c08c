//! A plan's volumes that are storage of somebody else: leave for each before anything is made, files that are missing laid
//! out, targets.

use super::path;
use anyhow::{Context as _, Result, bail};
use block::{Bytes, Target};
use ramp::Dataset;
use stats::run;
use std::path::Path;
use storage::{Consent, Contents, How, Intent, Kind, Permit, Place};
use uring::Io;
use uring::disk::Cache;
use workload::plan::{Volume, Workload};
use workload::{Plan, Spec};

/// Places that one volume may be: each file of each connection is a descriptor.
const MEMBERS_MAX: usize = 256;

/// What a run may do to the places of its plan, in the plan's order of volumes; nothing for a volume of its own server.
#[derive(Clone, Debug, Default)]
pub struct Places(Vec<Option<Storage>>);

/// The storage of a volume: one place, or several together.
#[derive(Clone, Debug)]
struct Storage {
    permits: Vec<Permit>,
    stripe: Option<Bytes>,
}

impl Places {
    /// Asks for leave at each place, and gives the plan's volumes without a size that of their places. A file that is not
    /// there yet is going to be made, and so needs leave to be written.
    ///
    /// # Errors
    /// No leave, or the place is smaller than the plan has it; one line.
    pub fn ask(plan: &mut Plan, consent: &Consent) -> Result<Places> {
        let mut asked: Vec<Option<Storage>> = Vec::new();
        let mut taken: Vec<(usize, Place)> = Vec::new();
        for volume in 0..plan.volumes.len() {
            let storage = ask(plan, volume, consent)?;
            for permit in storage.iter().flat_map(|storage| &storage.permits) {
                let name = &plan.volumes[volume].name;
                match taken.iter().find(|(_, place)| place.is_same(permit.place())) {
                    Some((other, place)) if *other == volume => bail!("volume {name}: {place}: is named twice"),
                    Some((other, _)) => bail!(
                        "volume {name}: is the same place as volume {}; let their workloads name one volume",
                        plan.volumes[*other].name,
                    ),
                    None => taken.push((volume, permit.place().clone())),
                }
            }
            asked.push(storage);
        }
        Ok(Places(asked))
    }

    /// Whether the plan's own server has none of the volumes.
    pub fn are_all(&self) -> bool {
        self.0.iter().all(Option::is_some)
    }

    fn permits(&self) -> impl Iterator<Item = &Permit> {
        self.0.iter().flatten().flat_map(|storage| &storage.permits)
    }

    /// All of them, as they were named.
    pub fn named(&self) -> Vec<Place> {
        self.permits().map(|permit| permit.place().clone()).collect()
    }

    /// Those that are paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.permits().filter_map(Permit::path).map(|path| path.as_path())
    }

    /// What each workload loads: a LUN of the plan's own server by its path, or places as they were named.
    pub fn loaded(&self, plan: &Plan) -> Vec<run::Place> {
        let loaded = |load: &Workload| {
            let volume = load.volumes[0];
            let about = &plan.volumes[volume];
            let (kind, name) = match self.0.get(volume).and_then(Option::as_ref) {
                None => (
                    "volume",
                    load.volumes.iter().map(|used| path(plan, &plan.volumes[*used])).collect::<Vec<_>>().join(", "),
                ),
                Some(Storage { stripe: Some(_), .. }) => ("striped", about.together()),
                Some(Storage { permits, .. }) if permits.len() > 1 => ("concatenated", about.together()),
                Some(Storage { permits, .. }) => (permits[0].kind().word(), permits[0].place().to_string()),
            };
            run::Place { kind: kind.into(), name, size: about.size.map(|size| size.0) }
        };
        plan.workloads.iter().map(loaded).collect()
    }

    /// Checks that the loads fit the alignment of their places.
    ///
    /// # Errors
    /// A load asks for parts of blocks; one line with what the place takes.
    pub fn check_loads(&self, plan: &Plan) -> Result<()> {
        for (index, load) in plan.workloads.iter().enumerate() {
            // Several volumes of one workload are all the plan's own.
            let volume = load.volumes[0];
            let permits = self.0[volume].iter().flat_map(|storage| &storage.permits);
            for permit in permits {
                let (name, align) = (&plan.volumes[volume].name, permit.alignment(Cache::Direct)?);
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
        }
        Ok(())
    }

    /// Makes the files that are missing, with data that cannot be compressed. `said` is told of each before.
    ///
    /// # Errors
    /// The system refuses; what was begun of that file is removed.
    pub fn lay_out(&self, plan: &Plan, said: impl Fn(&Place, Bytes)) -> Result<()> {
        for (storage, volume) in self.0.iter().zip(&plan.volumes) {
            let permits = storage.iter().flat_map(|storage| &storage.permits);
            for permit in permits.filter(|permit| permit.kind() == Kind::Missing) {
                let size = volume.size.unwrap_or_default();
                said(permit.place(), size);
                let contents = Contents::Random(plan.seed);
                let laid_out = permit.lay_out(storage::Plan { len: size.0, contents, until_full: false });
                laid_out.with_context(|| format!("volume {}: {}", volume.name, permit.place()))?;
            }
        }
        Ok(())
    }

    /// A target of one connection at a place, or at each of several; nothing for a volume of the plan's own server.
    ///
    /// # Errors
    /// It cannot be opened without the page cache, or the server refuses.
    pub fn open(&self, io: &Io, volume: usize) -> Result<Option<Box<dyn Target>>> {
        let Some(Storage { permits, stripe }) = &self.0[volume] else { return Ok(None) };
        let how = How { keep_data: false, ..How::default() };
        let permits: Vec<Permit> = permits.iter().map(|permit| permit.clone().over_one_connection()).collect();
        match permits.as_slice() {
            [permit] => Ok(Some(permit.open(io, how)?.target)),
            several => Ok(Some(Box::new(storage::open_joined(io, several, *stripe, how)?))),
        }
    }
}

/// Leave for one volume.
fn ask(plan: &mut Plan, volume: usize, consent: &Consent) -> Result<Option<Storage>> {
    let writes = plan.writes(volume);
    let Volume { name, places: given, size, stripe, .. } = &mut plan.volumes[volume];
    if given.is_empty() {
        return Ok(None);
    }
    let mut places = Vec::new();
    for given in &*given {
        let place = Place::parse(given).map_err(|line| anyhow::anyhow!("volume {name}: place: {line}"))?;
        places.extend(place.files().with_context(|| format!("volume {name}"))?);
    }
    // What tells how the data of a folder was made is not of that data.
    places.retain(|place| !matches!(place, Place::Path(path) if path.ends_with(Dataset::MANIFEST)));
    let is_one = places.len() == 1;
    if places.len() > MEMBERS_MAX {
        bail!("volume {name}: at most {MEMBERS_MAX} places together, got {}", places.len());
    }
    let ask = |place: &Place| {
        let is_missing = matches!(place, Place::Path(path) if !path.exists());
        if is_missing && !is_one {
            bail!("{place}: is not there, and a file that is made is a volume alone; make it first");
        }
        let intent = if writes || is_missing { Intent::Write(consent) } else { Intent::Read };
        Ok(Permit::ask(place, intent)?)
    };
    let permits: Result<Vec<Permit>> = places.iter().map(ask).collect();
    let permits = permits.with_context(|| format!("volume {name}"))?;
    let has = match permits.as_slice() {
        [] => bail!("volume {name}: there is nothing to load; name files, devices or exports"),
        [_] if stripe.is_some() => bail!("volume {name}: stripe: needs several places, got one; leave stripe out"),
        [permit] if permit.kind() == Kind::Missing => None,
        [permit] => Some(permit.size()),
        several => Some(storage::joined_size(several, *stripe).with_context(|| format!("volume {name}"))?),
    };
    if let Some(has) = has {
        let named = given.join(", ");
        if has == Bytes(0) && permits.len() > 1 {
            bail!(
                "volume {name}: {named} has 0 B together, as the smallest has no whole stripe or block; leave it out"
            );
        }
        if let Some(size) = size.filter(|size| *size > has) {
            bail!("volume {name}: {named} has {has}, and the plan asks for {size}; leave size out to use all of it");
        }
        size.get_or_insert(has);
    }
    Ok(Some(Storage { permits, stripe: *stripe }))
}

/// What of a load is no multiple of `align` bytes, in words.
fn unaligned(spec: &Spec, align: u32) -> Option<String> {
    let odd = |size: Bytes| !size.0.is_multiple_of(u64::from(align));
    let blocks = spec.blocks.shares().iter().map(|share| share.size).find(|size| odd(*size));
    let block = blocks.map(|size| format!("blocks of {size}"));
    block.or_else(|| odd(spec.range.offset).then(|| format!("an offset of {}", spec.range.offset)))
}
