//! Load jobs in virtual time: the same runners, on one simulated device.
//!
//! Every file, device or export that a job names becomes a range of the device. Ranges follow each
//! other in the order in which they are first named, each as long as the jobs need it.

use super::board::Board;
use super::context::Context;
use super::course::{self, Crews};
use super::crew;
use super::prepare::{SetupError, adjusted};
use super::prepared::delay;
use super::runner::{Parts, Runner};
use super::site::region;
use crate::hub::{Hub, Socket};
use block::{Bytes, Completion, Driver, Request, Span, Submitted, Target, Ticket, Time, Traits, Wait, Wakeup, drive};
use stats::job::JobOutcome;
use stats::run::Run;
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use storage::LossCounts;
use workload::job::{FileSpec, JobPlace, JobSpec, Region};

/// The type of [`Watch::complete`](super::Watch::complete) as a function.
pub type Completing<'a> = dyn FnMut(usize, &[JobOutcome]) -> Result<Option<JobSpec>, String> + 'a;

/// Jobs that are ready to run in virtual time.
#[derive(Clone, Debug)]
pub struct Simulation {
    jobs: Vec<Job>,
    /// For each file its start on the device and its length.
    bases: HashMap<PathBuf, (u64, u64)>,
    size: Bytes,
}

#[derive(Clone, Debug)]
struct Job {
    spec: JobSpec,
    notes: Vec<String>,
    /// The region of each of its files that is used, and the file's start on the device.
    regions: Vec<Region>,
    bases: Vec<u64>,
    paths: Vec<PathBuf>,
}

impl Simulation {
    /// Checks the jobs and assigns their files to ranges of a device.
    ///
    /// # Errors
    /// A job needs what a simulated device does not have: stored data, a file of unknown size, or
    /// programs that are run beside it.
    pub fn of(specs: &[JobSpec]) -> Result<Simulation, SetupError> {
        let mut wrong = Vec::new();
        let mut space = Space::default();
        for spec in specs {
            wrong.extend(objections(spec).map(|line| format!("{}: {line}", spec.name)));
            for file in files(spec) {
                space.note(&file, spec).unwrap_or_else(|line| wrong.push(format!("{}: {line}", spec.name)));
            }
        }
        if !wrong.is_empty() {
            return Err(SetupError(wrong));
        }
        let bases = space.bases();
        let jobs = specs.iter().map(|spec| Job::of(spec, &bases).map_err(|line| SetupError(vec![line])));
        let jobs = jobs.collect::<Result<_, _>>()?;
        Ok(Simulation { jobs, bases, size: Bytes(space.lengths.iter().map(|(_, length)| length).sum()) })
    }

    /// The size that the device must have.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Runs all jobs on `device` with `clock`; returns their outcomes in the same order. `stop` is
    /// asked before each pass whether to end; `complete` is
    /// [`Watch::complete`](super::Watch::complete).
    pub fn run<D: Driver + Clone + 'static>(
        self,
        device: Box<dyn Target>,
        clock: &D,
        stop: &mut dyn FnMut() -> bool,
        complete: &mut Completing<'_>,
    ) -> Vec<JobOutcome> {
        self.play(device, clock, stop, complete, Run::default()).1
    }

    /// Runs all jobs, which are the first actors of `run`, and adds each of their stages to it as a
    /// point; see [`Simulation::run`].
    pub fn play<D: Driver + Clone + 'static>(
        self,
        device: Box<dyn Target>,
        clock: &D,
        stop: &mut dyn FnMut() -> bool,
        complete: &mut Completing<'_>,
        run: Run,
    ) -> (Run, Vec<JobOutcome>) {
        let Simulation { jobs, bases, .. } = self;
        let specs: Vec<JobSpec> = jobs.iter().map(|job| job.spec.clone()).collect();
        let (board, hub) = (Arc::new(Board::new(&specs, clock.now())), Hub::new(device));
        let waiting = jobs.into_iter();
        let mut crews = Virtual { waiting, bases, specs: &specs, board, hub, clock, stop, complete };
        course::play(&specs, &mut crews, run)
    }
}

/// Jobs in virtual time.
struct Virtual<'s, D> {
    /// The jobs of later stages.
    waiting: std::vec::IntoIter<Job>,
    bases: HashMap<PathBuf, (u64, u64)>,
    specs: &'s [JobSpec],
    board: Arc<Board>,
    hub: Hub<Box<dyn Target>>,
    clock: &'s D,
    stop: &'s mut dyn FnMut() -> bool,
    complete: &'s mut Completing<'s>,
}

impl<D: Driver + Clone + 'static> Crews for Virtual<'_, D> {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn run(&mut self, jobs: Range<usize>, done: &[JobOutcome]) -> Vec<JobOutcome> {
        let (began, context) = (self.clock.now(), Context::Virtual(Rc::new(self.clock.clone())));
        let mut runners = Vec::with_capacity(jobs.len());
        for (index, job) in jobs.zip(self.waiting.by_ref()) {
            let late = (self.complete)(index, done);
            let late = late.and_then(|spec| spec.map(|spec| Job::of(&spec, &self.bases)).transpose());
            let (job, trouble) = match late {
                Ok(late) => (late.unwrap_or(job), None),
                Err(line) => (job, Some(line)),
            };
            let mut runner = job.runner(index, &context, &self.hub, &self.board, began);
            trouble.into_iter().for_each(|line| runner.refuse(&line, began));
            runners.push(runner);
        }
        self.board.begin_stage(runners.iter().map(|runner| (runner.index(), &self.specs[runner.index()])));
        let mut heeded = 0;
        drive(&mut self.clock.clone(), &mut runners, |now, runners: &mut [Runner]| {
            if !self.board.is_stopped() && (self.stop)() {
                self.board.stop();
            }
            crew::heed(&self.board, runners, now, &mut heeded);
            Wait::Until(now + Span::SECOND)
        });
        runners.into_iter().map(Runner::finish).collect()
    }
}

impl Job {
    /// A job whose files have ranges in `bases`. An error is one line.
    fn of(spec: &JobSpec, bases: &HashMap<PathBuf, (u64, u64)>) -> Result<Job, String> {
        let (spec, notes) = adjusted(spec);
        let mut job = Job { notes, regions: Vec::new(), bases: Vec::new(), paths: Vec::new(), spec };
        for file in files(&job.spec) {
            let named = |line: &dyn std::fmt::Display| format!("{}: {}: {line}", job.spec.name, file.path.display());
            let (base, length) = *bases.get(&file.path).ok_or_else(|| named(&"is no range of the device"))?;
            let used = region(&file, &job.spec, Bytes(length)).map_err(|line| named(&line))?;
            job.regions.push(used);
            job.bases.push(base);
            job.paths.push(file.path);
        }
        Ok(job)
    }

    fn runner(
        self,
        index: usize,
        context: &Context,
        hub: &Hub<Box<dyn Target>>,
        board: &Arc<Board>,
        began: Time,
    ) -> Runner {
        let Job { spec, notes, regions, bases, paths } = self;
        let start = began + delay(&spec);
        let target = Box::new(Ranges { socket: hub.socket(), bases });
        let (board, backend) = (Arc::clone(board), "virtual time".to_owned());
        let parts = Parts {
            spec,
            index,
            board,
            target,
            paths,
            regions,
            notes,
            backend,
            losses: LossCounts::default(),
            start,
            renew: None,
            forget: None,
        };
        Runner::new(context, parts)
    }
}

/// What a job needs that a simulated device does not have.
fn objections(spec: &JobSpec) -> impl Iterator<Item = &'static str> {
    let found = [
        (spec.verify.is_some(), "verify: a simulated device keeps no data; leave it out"),
        (
            spec.commands != Default::default(),
            "exec_prerun and exec_postrun: no program runs in virtual time; leave them out",
        ),
        (spec.layout.until_full, "fill_device: a simulated device is as large as what is asked of it; set size="),
        (spec.layout.append, "file_append: no file is there whose end could be found; leave it out"),
    ];
    found.into_iter().filter(|(asked, _)| *asked).map(|(_, line)| line)
}

/// The files of a job; an export or nothing counts as one.
fn files(spec: &JobSpec) -> Vec<FileSpec> {
    match &spec.place {
        JobPlace::Files(files) => files.clone(),
        JobPlace::Named { name, region } => vec![FileSpec { path: name.into(), ..region.clone() }],
        JobPlace::Null { size } => {
            let path = PathBuf::from(format!("{} (null)", spec.name));
            vec![FileSpec { path, file_size: Some(*size), ..FileSpec::default() }]
        }
    }
}

/// The length of each file, in the order in which they are first named.
#[derive(Default)]
struct Space {
    lengths: Vec<(PathBuf, u64)>,
}

impl Space {
    fn note(&mut self, file: &FileSpec, spec: &JobSpec) -> Result<(), String> {
        let known = self.lengths.iter_mut().find(|(path, _)| *path == file.path);
        let whole = file.file_size.or(known.as_ref().map(|(_, length)| Bytes(*length))).unwrap_or_default();
        let offset = file.offset.of(whole).0 + file.offset_more.of(whole).0;
        let length = file.size.map_or(whole.0, |size| offset + size.of(whole).0).max(whole.0);
        if length == 0 {
            return Err(format!("{}: set size=, as no file is there in virtual time", file.path.display()));
        }
        if length > i64::MAX as u64 / 1024 {
            return Err(format!("{}: size: must be below 8 PiB, got {}; lower it", spec.name, Bytes(length)));
        }
        match known {
            Some((_, known)) => *known = length.max(*known),
            None => self.lengths.push((file.path.clone(), length)),
        }
        Ok(())
    }

    fn bases(&self) -> HashMap<PathBuf, (u64, u64)> {
        let mut at = 0;
        let place = |(path, length): &(PathBuf, u64)| {
            let base = at;
            at += length;
            (path.clone(), (base, *length))
        };
        self.lengths.iter().map(place).collect()
    }
}

/// Maps a job's files to ranges of the device.
struct Ranges {
    socket: Socket<Box<dyn Target>>,
    bases: Vec<u64>,
}

impl Target for Ranges {
    fn traits(&self) -> Traits {
        self.socket.traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let at = request.at;
        let base = self.bases[request.object.0 as usize];
        match self.socket.submit(now, Request { at: at + base, ..request }) {
            Submitted::Full(request) => Submitted::Full(Request { at, ..request }),
            taken => taken,
        }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        self.socket.poll(now, out);
    }

    fn next_wakeup(&self) -> Wakeup {
        self.socket.next_wakeup()
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.socket.cancel(now, ticket);
    }
}
