//! A file, device or export of a job: the permit to use it, the part of it that is used, and how it
//! is to be created.

use super::room::Room;
use super::site_error::SiteError;
use super::stage::Watch;
use block::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use storage::{Consent, Contents, Intent, LaidOut, LayoutPlan, OpenError, Permit, Place, PlaceKind};
use uring::disk::Caching;
use workload::job::{Amount, Direction, FileSpec, JobSpec, Provision, Region};

/// Largest size of any file, 4 EiB: the nominal end of a job that writes until no space is left.
const FULL_MOST: u64 = 1 << 62;

/// One place of a job.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// What the job asks of it; percentages in its start are resolved.
    file: FileSpec,
    pub(crate) permit: Permit,
    pub(crate) region: Region,
    plan: Option<LayoutPlan>,
}

/// The files as they will be once all jobs of a run are laid out, as far as jobs were surveyed.
#[derive(Default)]
pub(crate) struct Ahead {
    /// The files that will be created or extended.
    files: BTreeMap<PathBuf, Planned>,
    /// Alignment that direct I/O needs, by folder.
    alignments: BTreeMap<PathBuf, u32>,
    pub(crate) room: Room,
}

/// Future length of a file.
#[derive(Clone, Copy)]
struct Planned {
    /// After the lay-out.
    laid_out: u64,
    /// After the jobs have written it.
    written: u64,
}

/// Whether a job changes existing data.
pub(crate) fn writes(spec: &JobSpec) -> bool {
    let takes = spec.reach.mix.changes_data() && spec.verify.as_ref().is_none_or(|verify| !verify.only);
    // Allocating calls make a file longer, whichever direction the job calls them.
    takes || spec.calls.space
}

/// Checks all places of a job without changing anything.
pub(crate) fn survey(spec: &JobSpec, consent: &Consent, ahead: &mut Ahead) -> Result<Vec<Site>, Vec<SiteError>> {
    match &spec.place {
        workload::job::JobPlace::Null { size } => {
            let permit = Permit::ask(&Place::Nothing(*size), Intent::Read).map_err(|error| vec![error.into()])?;
            let region = Region { len: size.0, ..Region::default() };
            Ok(vec![Site { file: FileSpec::default(), permit, region, plan: None }])
        }
        workload::job::JobPlace::Named { name, region } => {
            Site::survey_named(name, region, spec, consent, ahead).map(|site| vec![site]).map_err(|error| vec![error])
        }
        workload::job::JobPlace::Files(files) => {
            let (mut sites, mut wrong) = (Vec::with_capacity(files.len()), Vec::new());
            for file in files {
                match Site::survey(file, spec, consent, ahead) {
                    Ok(site) => sites.push(site),
                    Err(error) => wrong.push(error),
                }
            }
            if wrong.is_empty() { Ok(sites) } else { Err(wrong) }
        }
    }
}

impl Site {
    fn survey_named(
        name: &str,
        file: &FileSpec,
        spec: &JobSpec,
        consent: &Consent,
        ahead: &mut Ahead,
    ) -> Result<Site, SiteError> {
        // Plain paths are not accepted here, since files are loaded as files.
        let place = match Place::parse(name) {
            Ok(Place::Path(_)) => Place::nbd(name),
            place => place,
        };
        let place = place.map_err(|line| SiteError::Named(format!("uri: {line}")))?;
        let intent = if writes(spec) { Intent::Write(consent) } else { Intent::Read };
        let permit = Permit::ask(&place, intent)?;
        let region = region(file, spec, permit.size()).map_err(SiteError::Named)?;
        let site = Site { file: file.clone(), permit, region, plan: None };
        site.check_alignment(spec, ahead)?;
        Ok(site)
    }

    fn survey(file: &FileSpec, spec: &JobSpec, consent: &Consent, ahead: &mut Ahead) -> Result<Site, SiteError> {
        let path = &file.path;
        let of_file = |problem: String| SiteError::File { file: path.clone(), problem };
        let about = std::fs::metadata(path).ok();
        let is_special = about.as_ref().is_some_and(|about| !about.is_file());
        let is_planned = ahead.files.contains_key(path);
        let has_size = file.size.is_some() || file.file_size.is_some();
        let there = match ahead.files.get(path) {
            // A job that takes its size from the file gets its size after it was written.
            Some(planned) => Some(if has_size { planned.laid_out } else { planned.written }),
            None => about.filter(|about| about.is_file()).map(|about| about.len()),
        };
        let file = if is_special { file.clone() } else { placed(file, spec, there.unwrap_or(0)) };
        let plan = if is_special { None } else { plan(&file, spec, there) };
        let lengthens = |plan: &LayoutPlan| plan.contents != Contents::SpaceAlone;
        let laid_out = there.unwrap_or(0).max(plan.filter(lengthens).map_or(0, |plan| plan.len));
        let written = if grows(spec) { laid_out.max(asked(&file, spec, there)) } else { laid_out };
        let planned = Planned { laid_out, written };
        let intent = if writes(spec) {
            Intent::Write(consent)
        } else if plan.is_some() || is_planned || spec.layout.unlink || spec.layout.renew {
            Intent::Remove(consent)
        } else {
            Intent::Read
        };
        let endless = Permit::endless(path, Bytes(asked(&file, spec, None)), intent);
        if endless.as_ref().is_some_and(|permit| permit.size() == Bytes(0)) {
            return Err(of_file("has no size of its own; set size=".into()));
        }
        let permit = endless.map_or_else(|| Permit::ask(&Place::Path(path.clone()), intent), Ok);
        let permit = permit.map_err(|error| match (&error, plan, there) {
            (OpenError::Refused(_), Some(plan), Some(there)) if !writes(spec) => of_file(format!(
                "has {}, the job reads {}, and seawall did not lay it out, so it is not extended; lower size=",
                Bytes(there),
                Bytes(plan.len)
            )),
            _ => error.into(),
        })?;
        if permit.kind() == PlaceKind::Missing && !is_planned {
            may_be_made(&file, spec).map_err(|rule| of_file(rule.to_owned()))?;
        }
        let whole = match permit.kind() {
            PlaceKind::Device | PlaceKind::Endless => permit.size(),
            _ => Bytes(planned.written),
        };
        let region = region(&file, spec, whole).map_err(of_file)?;
        let site = Site { file, permit, region, plan };
        site.check_alignment(spec, ahead)?;
        if plan.is_some() || planned.written > planned.laid_out {
            ahead.files.insert(path.clone(), planned);
        }
        if let Some(plan) = plan {
            ahead.room.add(path, plan);
        }
        Ok(site)
    }

    fn check_alignment(&self, spec: &JobSpec, ahead: &mut Ahead) -> Result<(), SiteError> {
        let cache = if spec.direct { Caching::Direct } else { Caching::Page };
        let folder = self.permit.path().and_then(|path| path.parent()).map(Path::to_owned).unwrap_or_default();
        let known = ahead.alignments.get(&folder).filter(|_| spec.direct && self.permit.kind() == PlaceKind::Missing);
        let align = match known {
            Some(align) => *align,
            None => self.permit.alignment(cache)?,
        };
        if spec.direct && self.permit.kind() == PlaceKind::Missing {
            ahead.alignments.insert(folder, align);
        }
        let (block, align) = (u64::from(spec.reach.least_block()), u64::from(align.max(1)));
        if block.is_multiple_of(align) && self.region.start.is_multiple_of(align) {
            return Ok(());
        }
        let how = if self.permit.path().is_none() { "requests to" } else { "direct I/O on" };
        let place = self.permit.place().to_string();
        Err(SiteError::Alignment { how, place, align, block, start: self.region.start })
    }

    /// Why it may not be used as it is; `None` if it may.
    pub(crate) fn forbidden(&self) -> Option<SiteError> {
        let plan = self.plan?;
        let problem = match self.permit.kind() {
            PlaceKind::Missing => {
                "is not there, and --readonly forbids making it; make it first, or leave --readonly out".into()
            }
            _ => format!(
                "has {}, the job needs {}, and --readonly forbids making it longer; lower size=, or leave --readonly out",
                self.permit.size(),
                Bytes(plan.len)
            ),
        };
        Some(SiteError::File { file: self.file.path.clone(), problem })
    }

    /// A note if a device or export is smaller than the job asks for.
    pub(crate) fn shortage(&self) -> Option<String> {
        let (whole, Region { start, len, .. }) = (self.permit.size(), self.region);
        let is_fixed = self.permit.path().is_none() || self.permit.kind() == PlaceKind::Device;
        let asked = self.file.size.filter(|_| is_fixed)?.of(whole);
        (asked.0 > len).then(|| {
            let (place, from) = (self.permit.place(), Bytes(start));
            format!("size: {asked} from {from} on go beyond the end of {place} at {whole}; {} are used", Bytes(len))
        })
    }

    /// Creates or extends it if the survey found that necessary, until `watch` wants to stop.
    pub(crate) fn lay_out(&mut self, spec: &JobSpec, watch: &mut dyn Watch) -> Result<(), String> {
        let Some(plan) = self.plan.filter(|_| !watch.wants_stop()) else { return Ok(()) };
        let path = &self.file.path;
        let free = || uring::space::space(path.parent().unwrap_or(Path::new("."))).map_or(0, |space| space.available.0);
        if plan.len > 0 {
            watch.laying_out(path, if plan.len == FULL_MOST { free() } else { plan.len });
        }
        let laid_out = self.make(plan, &mut || watch.wants_stop())?;
        if plan.until_full && laid_out == LaidOut::Whole {
            // The length is known only after the file system was filled.
            let size = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?.len();
            self.region =
                region(&self.file, spec, Bytes(size)).map_err(|line| format!("{}: {line}", path.display()))?;
        }
        Ok(())
    }

    /// Removes a file and creates it again, until `is_stopped`; devices and exports stay.
    pub(crate) fn renew(&self, spec: &JobSpec, is_stopped: &mut dyn FnMut() -> bool) -> Result<(), String> {
        let path = &self.file.path;
        if !path.is_file() {
            return Ok(());
        }
        std::fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display()))?;
        plan(&self.file, spec, None).map_or(Ok(()), |plan| self.make(plan, is_stopped).map(drop))
    }

    fn make(&self, plan: LayoutPlan, is_stopped: &mut dyn FnMut() -> bool) -> Result<LaidOut, String> {
        let made = self.permit.lay_out(plan, is_stopped);
        made.map_err(|error| format!("{}: {error}", self.file.path.display()))
    }

    /// The part of it that is used, given its final size.
    pub(crate) fn region_in(&self, spec: &JobSpec, size: Bytes) -> Result<Region, String> {
        region(&self.file, spec, size)
    }
}

/// Resolves the start of the region in a file of `there` bytes, before it is extended: at its end
/// for a job that appends, otherwise with percentages of its present size.
fn placed(file: &FileSpec, spec: &JobSpec, there: u64) -> FileSpec {
    let mut file = file.clone();
    if spec.layout.append && there > 0 {
        (file.offset, file.offset_more) = (Amount::Bytes(Bytes(there)), Amount::default());
        // A size in percent would count the existing data.
        file.file_size = None;
    }
    (file.offset, file.offset_more) = (Amount::Bytes(start(&file, spec, Bytes(there))), Amount::default());
    file
}

/// Where the region begins in something of `whole` bytes.
fn start(file: &FileSpec, spec: &JobSpec, whole: Bytes) -> Bytes {
    file.start(whole, u64::from(spec.reach.least_block()))
}

/// Whether a missing file may be created; an error if the job does not say how.
fn may_be_made(file: &FileSpec, spec: &JobSpec) -> Result<(), &'static str> {
    if file.size.is_none() && file.file_size.is_none() && !spec.layout.until_full {
        return Err("is not there, and no size= says how large it should be; set size=");
    }
    if !spec.layout.create {
        return Err("is not there, and the job is told to make none; make it first");
    }
    Ok(())
}

/// Whether a job writes until no space is left, without a size of its own.
fn is_endless(file: &FileSpec, spec: &JobSpec) -> bool {
    spec.layout.until_full && file.size.is_none()
}

/// Whether a job's file grows only by its writes: because space may run out earlier, or because the
/// job wants no length set in advance.
fn grows(spec: &JobSpec) -> bool {
    let mix = spec.reach.mix;
    let only_writes = !mix.has(Direction::Read) && !mix.has(Direction::Trim);
    let no_length = matches!(spec.layout.provision, Provision::Nothing | Provision::SpaceAlone);
    (spec.layout.until_full || no_length) && only_writes && !spec.layout.overwrite
}

/// How long a file of `there` bytes must be for its job.
fn asked(file: &FileSpec, spec: &JobSpec, there: Option<u64>) -> u64 {
    let whole = file.file_size.unwrap_or(Bytes(there.unwrap_or(0)));
    let offset = start(file, spec, whole).0;
    file.size.map_or(file.file_size.unwrap_or_default().0, |size| offset.saturating_add(size.of(whole).0))
}

/// How to create or extend a file of `there` bytes; `None` if it is long enough.
fn plan(file: &FileSpec, spec: &JobSpec, there: Option<u64>) -> Option<LayoutPlan> {
    let only_writes = !spec.reach.mix.has(Direction::Read) && !spec.reach.mix.has(Direction::Trim);
    let filled = !only_writes || spec.layout.overwrite;
    let reserves = spec.layout.provision == Provision::SpaceAlone && !spec.layout.until_full;
    let len = match filled && is_endless(file, spec) {
        _ if grows(spec) && !reserves => 0,
        true => FULL_MOST,
        false => asked(file, spec, there),
    };
    if there.is_some_and(|there| there >= len) {
        return None;
    }
    let seed = spec.seed ^ u64::from(spec.number).rotate_left(32);
    let contents = match spec.layout.provision {
        _ if filled => Contents::Random(seed),
        Provision::Space => Contents::Space,
        Provision::SpaceAlone => Contents::SpaceAlone,
        Provision::Length | Provision::Nothing => Contents::Holes,
    };
    Some(LayoutPlan { len, contents, until_full: spec.layout.until_full && filled })
}

/// The region of something of `whole` bytes that a job uses.
pub(super) fn region(file: &FileSpec, spec: &JobSpec, whole: Bytes) -> Result<Region, String> {
    let start = start(file, spec, whole).0;
    let is_file = !file.path.as_os_str().is_empty() && !Place::Path(file.path.clone()).is_block_device();
    let unbound = is_endless(file, spec) && !spec.reach.mix.has(Direction::Read);
    let sized = spec.layout.until_full && grows(spec) && matches!(file.size, Some(Amount::Bytes(_)));
    let endless = is_file && (unbound || sized);
    let whole = if endless { Bytes(start.saturating_add(FULL_MOST)) } else { whole };
    let rest = whole
        .0
        .checked_sub(start)
        .ok_or_else(|| format!("offset: must lie before the end at {whole}, got {}; lower it", Bytes(start)))?;
    let len = file.size.map_or(rest, |size| size.of(whole).0);
    // What a device or export has behind the start is used, and so is what is there where the space
    // ended before the file was as long as asked.
    let len = if spec.layout.until_full || !is_file { len.min(rest) } else { len };
    if len > rest {
        return Err(format!("size: {} from {} on go beyond the end at {whole}; lower it", Bytes(len), Bytes(start)));
    }
    let most = u64::from(spec.reach.most_block());
    if len < most {
        return Err(format!("bs: must fit into the {} that are used, got {}; lower it", Bytes(len), Bytes(most)));
    }
    Ok(Region { start, len, beyond: rest - len })
}
