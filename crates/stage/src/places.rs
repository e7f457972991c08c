//! A plan's volumes on other storage: permission for each place before anything is made, layout of
//! missing files, and targets.

use crate::path;
use anyhow::{Context as _, Result, anyhow, bail};
use block::Bytes;
use stats::run;
use std::path::Path;
use storage::{Consent, Contents, How, Intent, LaidOut, NfsMount, Opened, Permit, Place, PlaceKind};
use uring::Io;
use uring::disk::Caching;
use workload::plan::{PlanStep, Volume, Workload};
use workload::{Plan, Spec};

/// What a run may do to the places of its plan, in the order of the plan's volumes; `None` for a
/// volume of its own server.
#[derive(Clone, Debug, Default)]
pub struct Places(Vec<Option<Permit>>);

/// Places of volumes that replace those of the plan.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere<'a> {
    /// Each as `VOLUME=PLACE`.
    pub places: &'a [String],
    /// What may be overwritten.
    pub consent: Consent,
}

impl Elsewhere<'_> {
    /// The option that replaces the place of this volume, as typed.
    pub fn option(&self, volume: &str) -> Option<String> {
        let is_it = |given: &&String| given.split_once('=').is_some_and(|(name, _)| name == volume);
        self.places.iter().rfind(is_it).map(|given| format!("--place {given}"))
    }

    /// What an error about the place of a volume begins with: the option that replaces it, or its
    /// line in the plan.
    fn about(&self, plan: &Plan, volume: usize) -> String {
        let name = &plan.volumes[volume].name;
        self.option(name).unwrap_or_else(|| format!("{}: volume {name}", plan.at_volume(name, "place")))
    }

    /// Gives the plan's volumes those places. A file that does not exist will be made as long as
    /// loads use of it.
    ///
    /// # Errors
    /// A name that is not in the plan, or commands for a server that has no volume left; one line.
    pub fn change(&self, plan: &mut Plan) -> Result<()> {
        for given in self.places {
            let (name, place) = given.split_once('=').filter(|(_, place)| !place.is_empty()).with_context(|| {
                format!("--place: must be VOLUME=PLACE, such as vol1=/mnt/fsx/seawall.dat, got {given:?}")
            })?;
            let names = || plan.volumes.iter().map(|volume| volume.name.as_str()).collect::<Vec<_>>().join(", ");
            let index = plan.volumes.iter().position(|volume| volume.name == name);
            let index =
                index.with_context(|| format!("--place {given}: the plan has no volume {name}, but {}", names()))?;
            let used = plan.used(index);
            let volume = &mut plan.volumes[index];
            volume.places = vec![place.to_owned()];
            volume.size = volume.size.and(used.size).map(|size| Bytes(used.offset.0 + size.0));
            (volume.thin, volume.stripe) = (false, None);
        }
        let line = plan.phases.iter().flat_map(|phase| &phase.commands).next();
        match line.filter(|_| !plan.volumes.iter().any(Volume::is_served)) {
            Some(line) => {
                bail!("--place: no volume of the plan's own server is left, which its command {line:?} is for")
            }
            None => Ok(()),
        }
    }
}

impl Places {
    /// How the kernel mounted the file systems of the plan's files, if that is NFS: a line for each
    /// volume.
    pub fn mounts(&self, plan: &Plan) -> Vec<String> {
        let lines = self.0.iter().zip(&plan.volumes).filter_map(|(permit, volume)| {
            let path = permit.iter().flat_map(Permit::parts).find_map(Permit::path)?;
            Some(format!("volume {}: {}", volume.name, NfsMount::of(path.as_path())?))
        });
        lines.collect()
    }

    /// Asks for a permit at each place, and gives the plan's volumes without a size that of their
    /// places. A file that does not exist yet will be made, so it needs a permit to write.
    ///
    /// # Errors
    /// No permit, or the place is smaller than the plan says; one line.
    pub fn ask(plan: &mut Plan, elsewhere: &Elsewhere<'_>) -> Result<Places> {
        let mut asked: Vec<Option<Permit>> = Vec::new();
        for volume in 0..plan.volumes.len() {
            let permit = ask(plan, volume, &elsewhere.consent).with_context(|| elsewhere.about(plan, volume))?;
            let is_same = |other: &Option<Permit>, place: &Place| {
                other.as_ref().is_some_and(|other| other.parts().iter().any(|part| part.place().is_same(place)))
            };
            for part in permit.iter().flat_map(Permit::parts) {
                if let Some(other) = asked.iter().position(|other| is_same(other, part.place())) {
                    bail!(
                        "{}: is the same place as volume {}; let their workloads name one volume",
                        elsewhere.about(plan, volume),
                        plan.volumes[other].name,
                    );
                }
            }
            asked.push(permit);
        }
        Ok(Places(asked))
    }

    /// Whether none of the volumes is on the plan's own server.
    pub fn are_all(&self) -> bool {
        self.0.iter().all(Option::is_some)
    }

    fn permits(&self) -> impl Iterator<Item = &Permit> {
        self.0.iter().flatten().flat_map(Permit::parts)
    }

    /// All places, as they were named.
    pub fn named(&self) -> Vec<Place> {
        self.permits().map(|permit| permit.place().clone()).collect()
    }

    /// The places that are paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.permits().filter_map(Permit::path).map(|path| path.as_path())
    }

    /// What each workload loads: a LUN of the plan's own server by its path, or places as they
    /// were named.
    pub fn loaded(&self, plan: &Plan) -> Vec<run::RunPlace> {
        let loaded = |load: &Workload| {
            let volume = load.volumes[0];
            let about = &plan.volumes[volume];
            let (kind, name) = match self.0.get(volume).and_then(Option::as_ref) {
                None => (
                    "volume",
                    load.volumes.iter().map(|used| path(plan, &plan.volumes[*used])).collect::<Vec<_>>().join(", "),
                ),
                Some(permit) if permit.splits() => (permit.kind().word(), about.together()),
                Some(permit) => (permit.kind().word(), permit.place().to_string()),
            };
            run::RunPlace { kind: kind.into(), name, size: about.size.map(|size| size.0) }
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
            let permits = self.0[volume].iter().flat_map(Permit::parts);
            for permit in permits {
                let (name, align) = (&plan.volumes[volume].name, permit.alignment(Caching::Direct)?);
                let used = plan.phases.iter().filter(|phase| phase.specs[index].connections > 0);
                let odd = used.filter_map(|phase| Some((phase, unaligned(&phase.specs[index], align)?))).next();
                if let Some((phase, (key, odd))) = odd {
                    let at = match phase.specs[index] == load.spec {
                        true => plan.at_workload(&load.name, key),
                        false => {
                            plan.at(&[PlanStep::Phase(&phase.name), PlanStep::Key(&load.name), PlanStep::Key(key)])
                        }
                    };
                    bail!(
                        "{at}: volume {name}: {} takes whole multiples of {} without the page cache, and workload {} asks \
                         for {odd}",
                        permit.place(),
                        Bytes(align.into()),
                        load.name,
                    );
                }
            }
        }
        Ok(())
    }

    /// Makes the missing files, with data that cannot be compressed, until `is_stopped`, which is
    /// asked for each MiB, says so. `said` is called with the place and size of each before it is
    /// made.
    ///
    /// # Errors
    /// It was stopped, or the system refuses; the file that was begun is removed.
    pub fn lay_out(&self, plan: &Plan, said: impl Fn(&str), is_stopped: &mut dyn FnMut() -> bool) -> Result<()> {
        for (permit, volume) in self.0.iter().zip(&plan.volumes) {
            for permit in permit.iter().filter(|permit| permit.kind() == PlaceKind::Missing) {
                let size = volume.size.unwrap_or_default();
                said(&format!("{}, {size}", permit.place()));
                let contents = Contents::Random(plan.seed);
                let whole = storage::LayoutPlan { len: size.0, contents, until_full: false };
                let about = || format!("volume {}: {}", volume.name, permit.place());
                if permit.lay_out(whole, is_stopped).with_context(about)? == LaidOut::Stopped {
                    permit.path().map_or(Ok(()), std::fs::remove_file).with_context(about)?;
                    bail!("{}: stopped before it was laid out; what there was of it is removed", about());
                }
            }
        }
        Ok(())
    }

    /// A target with one connection to a place, or to each of several; `None` for a volume of the
    /// plan's own server.
    ///
    /// # Errors
    /// It cannot be opened without the page cache, or the server refuses.
    pub fn open(&self, io: &Io, volume: usize) -> Result<Option<Opened>> {
        let Some(permit) = &self.0[volume] else { return Ok(None) };
        let how = How { keep_data: false, ..How::default() };
        Ok(Some(permit.clone().over_one_connection().open(io, how)?))
    }
}

/// Checks that each of the plan's places is well-formed, without a look at the storage.
///
/// # Errors
/// A place is malformed; one line with its volume.
pub fn check_forms(plan: &Plan) -> Result<()> {
    for volume in plan.volumes.iter().filter(|volume| !volume.is_served()) {
        form(volume).with_context(|| format!("{}: volume {}", plan.at_volume(&volume.name, "place"), volume.name))?;
    }
    Ok(())
}

/// The place of a volume that has one, as it is written.
fn form(volume: &Volume) -> Result<Place> {
    let Volume { places: given, stripe, .. } = volume;
    let parse = |given: &String| Place::parse(given).map_err(|line| anyhow!("place: {line}"));
    let members = given.iter().map(parse).collect::<Result<Vec<Place>>>()?;
    let is_folder = |place: &Place| matches!(place, Place::Path(path) if path.is_dir());
    match members.as_slice() {
        [place @ Place::Joined { .. }] if stripe.is_none() => Ok(place.clone()),
        [place] if !is_folder(place) => match stripe {
            Some(_) => bail!("stripe: needs several places, got one; leave stripe out"),
            None => Ok(place.clone()),
        },
        [_, _, ..] if members.iter().any(|place| matches!(place, Place::Joined { .. })) => {
            bail!("place: places that are joined cannot be joined again; name all of them in one row")
        }
        _ => Ok(Place::Joined { members, stripe: *stripe }),
    }
}

/// Asks for the permit of one volume.
fn ask(plan: &mut Plan, volume: usize, consent: &Consent) -> Result<Option<Permit>> {
    let writes = plan.writes(volume);
    if plan.volumes[volume].is_served() {
        return Ok(None);
    }
    let place = form(&plan.volumes[volume])?;
    let Volume { places: given, size, stripe, .. } = &mut plan.volumes[volume];
    let parts = place.members()?;
    if stripe.is_some() && parts.len() == 1 {
        bail!("stripe: needs several places, got one; leave stripe out");
    }
    let is_missing = parts.len() == 1 && matches!(&place, Place::Path(path) if !path.exists());
    let intent = if writes || is_missing { Intent::Write(consent) } else { Intent::Read };
    if let (true, Place::Path(path)) = (is_missing, &place) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            bail!("{place}: the folder {} is not there; make or mount it first", folder.display());
        }
    }
    let permit = Permit::ask(&place, intent)?;
    if permit.kind() != PlaceKind::Missing {
        let (named, has) = (given.join(", "), permit.size());
        if let Some(size) = size.filter(|size| *size > has) {
            bail!("{named} has {has}, and the plan asks for {size}; leave size out to use all of it");
        }
        size.get_or_insert(has);
    }
    Ok(Some(permit))
}

/// The key of what in a load is no multiple of `align` bytes, and what it is in words.
fn unaligned(spec: &Spec, align: u32) -> Option<(&'static str, String)> {
    let odd = |size: Bytes| !size.0.is_multiple_of(u64::from(align));
    let blocks = spec.blocks.shares().iter().map(|share| share.size).find(|size| odd(*size));
    let block = blocks.map(|size| ("block", format!("blocks of {size}")));
    block.or_else(|| odd(spec.range.offset).then(|| ("offset", format!("an offset of {}", spec.range.offset))))
}
