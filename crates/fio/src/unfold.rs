//! Turns sections into jobs: defaults, clones, groups and stages, and the checks that need a whole
//! job.

use crate::catalogue::{self, Definition};
use crate::command_line;
use crate::dialect::Dialect;
use crate::error::{Error, Problem};
use crate::flags::{Action, Flags};
use crate::job::Job;
use crate::naming;
use crate::notes;
use crate::options::{Directions, Engine, Options};
use crate::script::{Script, Section, Setting};
use crate::value::Value;
use crate::world::World;
use block::{Bytes, Span};
use stats::Direction;
use std::collections::BTreeSet;
use workload::job::Amount;

/// The jobs of a run and related results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unfolded {
    /// In order of their start, clones next to each other.
    pub jobs: Vec<Job>,
    /// The final values that global sections set, by fio's names; `None` if they set nothing.
    pub global: Option<Vec<(String, String)>>,
    /// Jobs that cannot run and do not prevent the others from running.
    pub left_out: Vec<LeftOut>,
    /// Notes for the user; one line each.
    pub notes: Vec<String>,
}

/// A job that cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// The reason, and what was probably meant.
    pub why: String,
}

impl LeftOut {
    /// As one line.
    pub fn note(&self) -> String {
        format!("{}: {}", self.name, self.why)
    }
}

/// Turns `scripts` into jobs. The command line's own script is the first, followed by the job
/// files.
///
/// # Errors
/// An option is unknown, a value is wrong, or options do not go together.
pub fn unfold(scripts: &[Script], flags: &Flags, world: &dyn World) -> Result<Unfolded, Error> {
    let (not_chosen, found) = Default::default();
    let mut unfolding = Unfolding { flags, world, group: 0, stage: 0, not_chosen, found };
    let mut typed_globals = Template::default();
    let mut files = 0;
    for script in scripts {
        let mut template = typed_globals.clone();
        // Every job file but the first waits for the files before it.
        let mut waits = script.file.is_some() && files > 0;
        for section in &script.sections {
            if section.is_global {
                unfolding.set(&mut template, &section.settings)?;
                if !section.settings.is_empty() || unfolding.found.global.is_some() {
                    unfolding.found.global = Some(template.given.clone());
                }
                continue;
            }
            let is_wanted =
                script.file.is_none() || flags.sections.is_empty() || flags.sections.contains(&section.name);
            if is_wanted {
                unfolding.section(section, &template, waits)?;
                waits = false;
            } else {
                unfolding.not_chosen.insert(section.job_name().to_owned());
            }
        }
        match script.file {
            Some(_) => files += 1,
            None => typed_globals = template,
        }
    }
    // As in fio, one job with exitall makes the end of any job end others.
    let exitall = unfolding.found.jobs.iter().any(|job| job.options.course.exitall);
    unfolding.found.jobs.iter_mut().for_each(|job| job.options.course.exitall = exitall);
    Ok(unfolding.found)
}

/// Options while they are being collected, with the settings by name.
#[derive(Clone, Debug, Default)]
struct Template {
    options: Options,
    given: Vec<(String, String)>,
}

struct Unfolding<'a> {
    flags: &'a Flags,
    world: &'a dyn World,
    group: u32,
    stage: u32,
    /// Names of jobs that `--section` excludes.
    not_chosen: BTreeSet<String>,
    found: Unfolded,
}

impl Unfolding<'_> {
    fn section(&mut self, section: &Section, template: &Template, waits: bool) -> Result<(), Error> {
        let mut own = Template { options: template.options.clone(), given: Vec::new() };
        // A name in a global section would give every job the same name.
        own.options.name = None;
        if section.place.file.is_none() {
            own.given.push(("name".into(), section.name.clone()));
        }
        self.set(&mut own, &section.settings)?;
        own.options.course.stonewall |= waits;
        let name = own.options.name.clone().unwrap_or_else(|| section.name.clone());
        use_nfs(&mut own.options);
        let job = Job {
            name,
            section: section.name.clone(),
            number: 0,
            group: 0,
            stage: 0,
            seed: 0,
            options: own.options,
            given: own.given,
            place: section.place.clone(),
        };
        self.check_wait_for(&job)
            .and_then(|()| self.check_folders(&job))
            .and_then(|()| self.check_processors(&job))
            .map_err(|rule| Error::at(&job.place, Problem::Rule(rule)))?;
        if let Some(why) = self.size_missing(&job)? {
            self.found.left_out.push(LeftOut { name: job.name, why });
            return Ok(());
        }
        check(&job, self.flags).map_err(|problem| Error::at(&job.place, problem))?;
        self.notes(&job);
        self.clones(&job)
    }

    /// Applies settings in fio's order: in job files, units come first and names of files last.
    fn set(&self, template: &mut Template, settings: &[Setting]) -> Result<(), Error> {
        let mut found: Vec<(&'static Definition, &Setting)> = Vec::new();
        for setting in settings {
            found.push((definition(&setting.option).map_err(|problem| Error::at(&setting.place, problem))?, setting));
        }
        // A job file's section is read as a whole, a command line argument by argument.
        if settings.first().is_some_and(|setting| setting.place.file.is_some()) {
            found.sort_by_key(|(definition, _)| definition.rank());
        }
        for (definition, setting) in found {
            let dialect = Dialect { strict_fio: self.flags.strict_fio, kb_base: template.options.kb_base };
            let value = value(definition, setting).map_err(|problem| Error::at(&setting.place, problem))?;
            (definition.set)(&mut template.options, Value::new(value, dialect)).map_err(|rule| {
                let (option, value) = (setting.option.clone(), value.to_owned());
                Error::at(&setting.place, Problem::Value { option, value, rule })
            })?;
            template.given.retain(|(name, _)| name != definition.name);
            // As in fio, an option without a value is shown without one.
            if setting.value.is_some() {
                template.given.push((definition.name.to_owned(), value.to_owned()));
            }
        }
        Ok(())
    }

    /// Numbers the clones of a job and appends them.
    fn clones(&mut self, job: &Job) -> Result<(), Error> {
        let before = self.found.jobs.len();
        let course = &job.options.course;
        if before > 0 && (course.stonewall || course.new_group) {
            self.group += 1;
        }
        if before > 0 && course.stonewall {
            self.stage += 1;
        }
        let jobs = before as u64 + u64::from(course.numjobs);
        if jobs > u64::from(self.flags.max_jobs) {
            let too_many = Problem::TooMuch { what: "jobs", given: jobs, limit: u64::from(self.flags.max_jobs) };
            return Err(Error::at(&job.place, too_many));
        }
        let seed = if job.options.pattern.repeat { job.options.pattern.seed } else { self.world.chance() };
        // fio numbers its clones downwards.
        let numbers = (0..course.numjobs.min(1)).chain((1..course.numjobs).rev());
        for (index, number) in (before as u64..).zip(numbers) {
            let (group, stage, seed) = (self.group, self.stage, mixed(seed, index));
            self.found.jobs.push(Job { number, group, stage, seed, ..job.clone() });
        }
        Ok(())
    }

    /// A job can only wait for an earlier job, so no job waits for ever.
    fn check_wait_for(&self, job: &Job) -> Result<(), String> {
        let Some(name) = &job.options.course.wait_for else { return Ok(()) };
        let earlier = || self.found.jobs.iter().filter(|earlier| earlier.number == 0);
        match earlier().filter(|earlier| earlier.name == *name).count() {
            _ if *name == job.name => {
                Err(format!("wait_for={name}: a job cannot wait for itself; name an earlier job"))
            }
            0 if self.not_chosen.contains(name) => {
                Err(format!("wait_for={name}: --section leaves that job out; choose it too, or drop wait_for"))
            }
            0 => {
                let meant = nearest::to(name, earlier().map(|earlier| earlier.name.as_str()));
                let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
                Err(format!("wait_for={name}: no earlier job has that name{meant}"))
            }
            1 => Ok(()),
            jobs => Err(format!("wait_for={name}: {jobs} jobs have that name; give each its own")),
        }
    }

    /// Folders within `directory` are created, but `directory` itself is not, because its name may
    /// be mistyped.
    fn check_folders(&self, job: &Job) -> Result<(), String> {
        if self.flags.action != Action::Run || !job.options.target.engine.has_files() {
            return Ok(());
        }
        let folders = naming::split(job.options.target.directory.as_deref().unwrap_or_default());
        match folders.iter().find(|folder| !self.world.is_folder(folder)) {
            Some(folder) => Err(format!("directory={folder}: there is no such folder; make it, or name another")),
            None => Ok(()),
        }
    }

    fn check_processors(&self, job: &Job) -> Result<(), String> {
        if self.flags.action != Action::Run {
            return Ok(());
        }
        let (course, last) = (&job.options.course, self.world.last_cpu());
        let named = course.cpus.iter().map(|cpu| ("cpus_allowed", *cpu));
        let polling = course.kernel_polls_on.iter().map(|cpu| ("sqthread_poll_cpu", *cpu));
        match named.chain(polling).find(|(_, cpu)| u64::from(*cpu) > last) {
            Some((option, cpu)) => {
                Err(format!("{option}: there is no processor {cpu}, the last is {last}; leave it out of the list"))
            }
            None => Ok(()),
        }
    }

    /// Why a job has no size, if the other jobs can run without it; an error if the size was
    /// probably forgotten.
    fn size_missing(&self, job: &Job) -> Result<Option<String>, Error> {
        let target = &job.options.target;
        // Files that an earlier job lays out exist when this one begins.
        let is_made = |path: &String| self.found.jobs.iter().any(|earlier| earlier.paths().contains(path));
        let is_there = |path: &String| self.world.size_of(path).is_some_and(|bytes| bytes > 0) || is_made(path);
        // A device that is not there is refused by its name, later.
        let is_part = matches!(target.size, Some(Amount::Percent(_)));
        let has_whole = |path: &String| is_there(path) || is_part && path.starts_with("/dev/");
        let known = self.flags.action == Action::ParseOnly
            || matches!(target.size, Some(Amount::Bytes(_)))
            || target.filesize.is_some()
            || target.read_iolog.is_some()
            || target.layout.until_full
            || match target.engine {
                Engine::Nbd | Engine::Nfs | Engine::Joined => true,
                Engine::Null => false,
                Engine::Sync | Engine::Space | Engine::Uring => job.paths().iter().all(has_whole),
            };
        if known {
            return Ok(None);
        }
        let is_afterthought = job.place.file.is_none() && target.filename.is_none() && !self.found.jobs.is_empty();
        if self.flags.strict_fio {
            return Ok(Some("you need to specify size=".into()));
        }
        if is_afterthought {
            let again = self.found.jobs.iter().any(|earlier| earlier.name == job.name);
            let meant = if again { "one --name, before all options of the job" } else { "its size and file after it" };
            return Ok(Some(format!(
                "every --name opens a new job, and this one has neither size nor file; probably meant: {meant}. \
                 Left out (fio fails it, runs the others and exits with 1)"
            )));
        }
        let rule = match target.engine {
            Engine::Null => "needs size=…, which the null engine has no file to take it from".into(),
            _ if target.size.is_some() => {
                "needs size=… in bytes, because not all files of which it is a part are there".into()
            }
            // If size= would not help, the message is the actual reason.
            _ => job
                .paths()
                .iter()
                .find_map(|path| self.world.why_no_size(path))
                .unwrap_or_else(|| "needs size=…, because not all of its files are there to take it from".into()),
        };
        Err(Error::at(&job.place, Problem::Rule(rule)))
    }

    fn notes(&mut self, job: &Job) {
        for note in notes::on(job) {
            let note = format!("{}: {note}", job.name);
            if !self.found.notes.contains(&note) {
                self.found.notes.push(note);
            }
        }
    }
}

fn definition(option: &str) -> Result<&'static Definition, Problem> {
    catalogue::find(option).ok_or_else(|| match catalogue::replacement(option) {
        Some(instead) => Problem::NotHere { option: option.to_owned(), instead: instead.to_owned() },
        None => {
            let nearest = catalogue::nearest_to(option).or_else(|| command_line::nearest_flag(option));
            Problem::UnknownOption { option: option.to_owned(), nearest }
        }
    })
}

fn value<'s>(definition: &Definition, setting: &'s Setting) -> Result<&'s str, Problem> {
    match setting.value.as_deref() {
        Some(value) if !value.is_empty() => Ok(value),
        _ if definition.form.may_stand_alone() => Ok(""),
        _ => {
            let (option, example) = (setting.option.clone(), definition.form.example().to_owned());
            Err(Problem::NeedsValue { option, example })
        }
    }
}

/// What `uri` must be for the engine: one export, or several places as one.
fn check_uri(job: &Job) -> Result<(), Problem> {
    let target = &job.options.target;
    let uri = target.uri.as_deref();
    let is_joined = uri.is_some_and(|uri| uri.starts_with("concat:") || uri.starts_with("striped:"));
    let given = uri.unwrap_or("none");
    match target.engine {
        Engine::Nbd if uri.is_none() => {
            Err(Problem::Rule("ioengine=nbd needs uri=…, as in uri=nbd+unix:///disk?socket=pool.sock".into()))
        }
        Engine::Nbd if is_joined => {
            Err(Problem::Rule(format!("ioengine=nbd loads one export, got uri={given}; use ioengine=joined")))
        }
        Engine::Nfs => check_nfs(job),
        Engine::Joined if !is_joined => Err(Problem::Rule(format!(
            "ioengine=joined needs uri=concat:A,B or uri=striped:64KiB:A,B, got uri={given}"
        ))),
        _ => Ok(()),
    }
}

/// With an NFS server, a job uses one file in the given folder.
fn check_nfs(job: &Job) -> Result<(), Problem> {
    let folder = job.options.target.nfs_url.as_deref().unwrap_or_default();
    let files = job.paths().len();
    if !folder.starts_with("nfs://") {
        Err(Problem::Rule("ioengine=nfs needs nfs_url=…, as in nfs_url=nfs://host/vol1?nconnect=16".into()))
    } else if files != 1 {
        Err(Problem::Rule(format!("ioengine=nfs loads one file a job, got {files}; use numjobs={files}")))
    } else {
        Ok(())
    }
}

/// A directory on an NFS server is loaded by seawall's own client, whichever engine was given for
/// files.
fn use_nfs(options: &mut Options) {
    let target = &mut options.target;
    let folder = target.directory.take_if(|folder| folder.starts_with("nfs://"));
    let Some(folder) = folder else { return };
    target.nfs_url = Some(folder);
    let named = std::mem::replace(&mut target.engine_name, "nfs".into());
    if std::mem::replace(&mut target.engine, Engine::Nfs).has_files() {
        options.notes.retain(|note| !note.starts_with("ioengine="));
        options.note(format!("ioengine={named}: nfs in its place, as the directory is that of an NFS server"));
    }
}

/// Checks a job as a whole.
fn check(job: &Job, flags: &Flags) -> Result<(), Problem> {
    let options = &job.options;
    let rule = |text: String| Err(Problem::Rule(text));
    if flags.readonly && options.pattern.kind.directions != Directions::Only(Direction::Read) {
        return rule("writes, and --readonly was given".into());
    }
    check_uri(job)?;
    for direction in Direction::ALL {
        let (bytes, iops) = (options.pace.rate[direction], options.pace.rate_iops[direction]);
        if let (Some(bytes), Some(iops)) = (bytes, iops) {
            let bytes = Bytes(bytes);
            return rule(format!(
                "has rate={bytes} and rate_iops={iops} for the same direction; only one of them can set the pace"
            ));
        }
        let (floor, floor_iops) = (options.pace.rate_min[direction], options.pace.rate_iops_min[direction]);
        if let Some((floor, cap)) = floor.zip(bytes).filter(|(floor, cap)| floor > cap) {
            let (floor, cap) = (Bytes(floor), Bytes(cap));
            return rule(format!("has rate_min={floor} above rate={cap}, so it could only fail"));
        }
        if let Some((floor, cap)) = floor_iops.zip(iops).filter(|(floor, cap)| floor > cap) {
            return rule(format!("has rate_iops_min={floor} above rate_iops={cap}, so it could only fail"));
        }
    }
    if options.target.engine == Engine::Space && options.data.verify.is_some() {
        return rule("has verify with ioengine=falloc, which writes no data that could be checked".into());
    }
    let only_reads = options.pattern.kind.directions == Directions::Only(Direction::Read);
    let has_size = options.target.size.is_some() || options.target.filesize.is_some();
    let in_order =
        !options.pattern.kind.random && options.pattern.kind.directions == Directions::Only(Direction::Write);
    if options.target.layout.until_full && !has_size && !only_reads && !in_order {
        return rule(
            "fill_device without size=… goes on until there is no space left, in order; it needs rw=write, or rw=read of \
             what was filled before"
                .into(),
        );
    }
    if options.data.state_load && options.data.trims.percent > 0 {
        return rule(
            "has verify_state_load together with trim_percentage, but the state does not record what was trimmed"
                .into(),
        );
    }
    check_pieces(job).and_then(|()| check_headers(job)).map_err(Problem::Rule)?;
    if options.pace.search.target > Span::ZERO && options.pace.search.window == Span::ZERO {
        return rule("latency_target needs latency_window=…, the time for which each depth is tried".into());
    }
    Ok(())
}

/// Checks the options that belong to `zonemode=strided`.
fn check_pieces(job: &Job) -> Result<(), String> {
    let pattern = &job.options.pattern;
    if !pattern.strided {
        return match pattern.zone_bytes > 0 || pattern.zone_skip > 0 || pattern.zone_range > 0 {
            true => Err("has zonesize, zonerange or zoneskip without zonemode=strided, which they belong to".into()),
            false => Ok(()),
        };
    }
    let range = if pattern.zone_range > 0 { pattern.zone_range } else { pattern.zone_bytes };
    let most = Direction::ALL.map(|direction| job.block_sizes(direction).most()).into_iter().max().unwrap_or(0);
    match (pattern.zone_bytes, range) {
        (0, _) => Err("zonemode=strided needs zonesize=…, the bytes that are moved in a piece before the next".into()),
        (_, range) if range < u64::from(most) => {
            let (block, range) = (Bytes(u64::from(most)), Bytes(range));
            Err(format!("has blocks of {block} in pieces of {range}; no block fits, so raise zonerange"))
        }
        _ => Ok(()),
    }
}

/// A header at an offset must fit into its interval.
fn check_headers(job: &Job) -> Result<(), String> {
    let data = &job.options.data;
    if data.verify_offset == 0 {
        return Ok(());
    }
    let block = job.block_sizes(Direction::Write).least();
    let interval = if data.verify_interval > 0 { data.verify_interval.min(block) } else { block };
    match u64::from(data.verify_offset) + 48 <= u64::from(interval) {
        true => Ok(()),
        false => Err(format!(
            "has verify_offset={} in an interval of {interval} bytes, where a header of 48 does not fit; lower it",
            data.verify_offset
        )),
    }
}

/// The seed of the job with this index, by SplitMix64 (Steele, Lea, Flood 2014), so that
/// neighbouring jobs are unrelated.
fn mixed(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
