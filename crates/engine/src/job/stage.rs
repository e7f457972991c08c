//! Runs stages by the wall clock, each with its own workers, while the calling thread watches.

use super::board::{Board, JobProgress};
use super::course::{self, Crews};
use super::crew;
use super::disks::Disks;
use super::patience::Patience;
use super::placement::Near;
use super::prepare::{OpenError, SetupError, prepare, prepare_late};
use super::prepared::Prepared;
use block::{Span, Time};
use stats::job::{JobError, JobOutcome};
use stats::run::Run;
use std::mem::take;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use uring::Clock;
use workload::job::{Ends, EngineKind, JobPlace, JobSpec};

/// Settings of a run that apply to all jobs.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Names, patterns and folders (or names of jobs) whose data may be destroyed although seawall
    /// did not write it.
    pub destroy: Vec<String>,
    /// Devices and files that may be written even while they are in use, each by name.
    pub even_in_use: Vec<String>,
    /// Refuses every job that would write.
    pub read_only: bool,
    /// How often [`Watch::progress`] is called; above zero.
    pub progress_every: Span,
    /// Maximum number of threads for asynchronous jobs; the number of processors when `None`.
    pub threads_most: Option<usize>,
}

impl Default for RunSettings {
    fn default() -> RunSettings {
        RunSettings {
            destroy: Vec::new(),
            even_in_use: Vec::new(),
            read_only: false,
            progress_every: Span::SECOND,
            threads_most: None,
        }
    }
}

/// Watches a run; called on the thread that called [`run`].
pub trait Watch {
    /// A file is about to be laid out to `bytes`.
    fn laying_out(&mut self, path: &Path, bytes: u64);

    /// Reports something that the user should know before the run begins.
    fn note(&mut self, _line: &str) {}

    /// All files are laid out and the first jobs begin. Times count from this call.
    fn begins(&mut self) {}

    /// Progress of all jobs in the order given, `passed` after the start.
    fn progress(&mut self, passed: Span, jobs: &[JobProgress]);

    /// Whether [`Watch::interim`] is wanted. Asked about ten times a second, `passed` after the
    /// start.
    fn wants_interim(&mut self, _passed: Span) -> bool {
        false
    }

    /// Outcomes of all jobs so far, in the order given, `passed` after the start. They have no
    /// logs, and a job that has not begun has figures of zero.
    fn interim(&mut self, _passed: Span, _outcomes: Vec<JobOutcome>) {}

    /// Completes a job of a later stage, once all earlier stages have ended; `done` has their
    /// outcomes. Returns the job as it is to run, or `None` to leave it unchanged. Called for every
    /// job right before its stage.
    ///
    /// # Errors
    /// The job cannot run, in one line; the others do.
    fn complete(&mut self, _job: usize, _done: &[JobOutcome]) -> Result<Option<JobSpec>, String> {
        Ok(None)
    }

    /// Says that requests keep jobs from ending.
    fn waiting(&mut self, _line: &str) {}

    /// Whether to end without waiting for what is outstanding, which then counts as unanswered.
    /// Asked about ten times a second.
    fn wants_end(&mut self) -> bool {
        false
    }

    /// Whether to stop. Asked about ten times a second, and for each MiB that is laid out.
    fn wants_stop(&mut self) -> bool;
}

/// Runs all jobs; returns their outcomes in the same order.
///
/// # Errors
/// There is a problem with a job or its files, and nothing was run.
pub fn run(specs: &[JobSpec], settings: &RunSettings, watch: &mut dyn Watch) -> Result<Vec<JobOutcome>, SetupError> {
    play(specs, settings, watch, Run::default()).map(|(_, outcomes)| outcomes)
}

/// Runs all jobs, which are the first actors of `run`, and adds each of their stages to it as a
/// point.
///
/// # Errors
/// As for [`run`].
pub fn play(
    specs: &[JobSpec],
    settings: &RunSettings,
    watch: &mut dyn Watch,
    run: Run,
) -> Result<(Run, Vec<JobOutcome>), SetupError> {
    let jobs = prepare(specs, settings, watch)?;
    // Each job opens its own copy of each of its files.
    uring::usage::raise_file_limit();
    let clock = Clock::new();
    let start = clock.now();
    watch.begins();
    let board = Arc::new(Board::new(specs, start));
    let mut threads = Threads { waiting: jobs.into_iter(), settings, board, clock, watch };
    Ok(course::play(specs, &mut threads, run))
}

/// Runs the stages of jobs on threads.
struct Threads<'s> {
    /// The jobs of later stages.
    waiting: std::vec::IntoIter<Prepared>,
    settings: &'s RunSettings,
    board: Arc<Board>,
    clock: Clock,
    watch: &'s mut dyn Watch,
}

impl Crews for Threads<'_> {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn run(&mut self, jobs: Range<usize>, done: &[JobOutcome]) -> Vec<JobOutcome> {
        let stage = self.waiting.by_ref().take(jobs.len());
        let stage = stage.map(|job| completed(job, done, self.settings, self.watch)).collect();
        // A stop may have interrupted the lay-out, and no job begins with half of its files.
        if self.watch.wants_stop() {
            self.board.stop();
        }
        run_stage(stage, self.settings, &self.board, self.clock, self.watch)
    }
}

/// A job with what is known only now.
fn completed(job: Prepared, done: &[JobOutcome], settings: &RunSettings, watch: &mut dyn Watch) -> Prepared {
    let late = match watch.complete(job.index, done) {
        Ok(None) => return job,
        Ok(Some(spec)) => prepare_late(&spec, job.index, settings, watch),
        Err(line) => Err(line),
    };
    late.unwrap_or_else(|line| Prepared { trouble: Some(OpenError(line)), ..job })
}

/// Runs the jobs of one stage.
fn run_stage(
    jobs: Vec<Prepared>,
    settings: &RunSettings,
    board: &Arc<Board>,
    clock: Clock,
    watch: &mut dyn Watch,
) -> Vec<JobOutcome> {
    let first = jobs.first().map_or(0, |job| job.index);
    if board.is_stopped() {
        return jobs.iter().map(never_run).collect();
    }
    let began = clock.now();
    board.begin_stage(jobs.iter().map(|job| (job.index, &job.spec)));
    let disks = Disks::watch(&jobs.iter().flat_map(|job| job.paths()).collect::<Vec<_>>(), began);
    let removed: Vec<_> = jobs.iter().filter(|job| job.spec.layout.unlink).flat_map(|job| job.paths()).collect();
    let mut interim = Interim { asked: None, board, clock };
    let mut outcomes: Vec<Option<JobOutcome>> = (0..jobs.len()).map(|_| None).collect();
    let (report, reports) = channel();
    let crews = assign(jobs, settings);
    let (mut running, mut patience) = (crews.len(), Patience::default());
    let threads = start_crews(crews, board, began, &report);
    drop(report);
    let mut news = began + settings.progress_every;
    while running > 0 {
        match reports.recv_timeout(Duration::from_nanos(Board::TICK.as_nanos())) {
            Ok(ended) => {
                running -= 1;
                for (index, mut outcome) in ended {
                    interim.keep(index, &mut outcome);
                    outcomes[index - first] = Some(outcome);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if !board.is_stopped() && watch.wants_stop() {
            board.stop();
        }
        if patience.look(board, watch, clock.now()) {
            break;
        }
        interim.look(watch);
        board.wake_all();
        if clock.now() >= news {
            news += settings.progress_every;
            watch.progress(clock.now().since(board.start()), &board.progress());
        }
    }
    join(threads, board);
    removed.iter().filter(|path| path.is_file()).for_each(|path| {
        let _ = std::fs::remove_file(path);
    });
    let used = disks.since(clock.now());
    let shown = board.shown().into_iter().skip(first);
    let ended = outcomes.into_iter().zip(shown).map(|(outcome, shown)| outcome.unwrap_or_else(|| lost(board, shown)));
    ended.map(|outcome| JobOutcome { disks: used.clone(), ..outcome }).collect()
}

/// Waits for workers to end. One that the kernel does not let go ends with the program.
fn join(threads: Vec<Option<JoinHandle<()>>>, board: &Board) {
    for thread in threads.into_iter().flatten() {
        if !board.is_given_up() || thread.is_finished() {
            // A worker that panicked has printed why; its jobs are reported as failed.
            let _ = thread.join();
        }
    }
}

/// The outcome of a job whose worker gave none; `shown` is what it last published.
fn lost(board: &Board, shown: Option<JobOutcome>) -> JobOutcome {
    let text = match board.is_given_up() {
        true => "a request was not answered when the run was ended, and the kernel did not let go of it",
        false => "its thread ended early",
    };
    let error = Some(JobError { number: 5, text: text.into() });
    let outcome = shown.unwrap_or_default();
    JobOutcome { error: outcome.error.clone().or(error), interrupted: board.is_given_up(), ..outcome }
}

/// Collects interim results: asks the workers, and passes them on after the time they need to
/// answer.
struct Interim<'b> {
    /// When the workers were asked; `None` if no answer is awaited.
    asked: Option<Time>,
    board: &'b Board,
    clock: Clock,
}

impl Interim<'_> {
    /// Uses a job's final outcome, without logs, as its interim result from now on.
    fn keep(&self, index: usize, outcome: &mut JobOutcome) {
        let logs = (take(&mut outcome.log), take(&mut outcome.histogram_log), take(&mut outcome.asked));
        self.board.show(index, outcome.clone());
        (outcome.log, outcome.histogram_log, outcome.asked) = logs;
    }

    fn look(&mut self, watch: &mut dyn Watch) {
        let now = self.clock.now();
        let passed = |at: Time| at.since(self.board.start());
        match self.asked {
            // Every worker wakes within a tick. For one that is blocked in the kernel its last
            // result is used again.
            Some(asked) if now >= asked + Board::TICK => {
                let shown = self.board.shown().into_iter().map(Option::unwrap_or_default).collect();
                watch.interim(passed(asked), shown);
                self.asked = None;
            }
            None if watch.wants_interim(passed(now)) => {
                self.board.ask();
                self.asked = Some(now);
            }
            _ => {}
        }
    }
}

type Ended = Vec<(usize, JobOutcome)>;

fn start_crews(
    crews: Vec<Vec<Prepared>>,
    board: &Arc<Board>,
    began: Time,
    report: &Sender<Ended>,
) -> Vec<Option<JoinHandle<()>>> {
    // Several workers on the same processor would disturb each other.
    let near = if let [crew] = &crews[..] { crew::nearest(crew) } else { None };
    crews.into_iter().map(|crew| start_crew(crew, near.clone(), board, began, report)).collect()
}

fn start_crew(
    crew: Vec<Prepared>,
    near: Option<Near>,
    board: &Arc<Board>,
    began: Time,
    report: &Sender<Ended>,
) -> Option<JoinHandle<()>> {
    let (board, outbox) = (Arc::clone(board), report.clone());
    let name = crew.first().map_or_else(String::new, |job| format!("load-{}", job.index));
    let work = move || {
        let outcomes = match crew::run(&crew, near.as_ref(), &board, began) {
            Ok(outcomes) => outcomes,
            Err(error) => crew.iter().map(|job| failed(job, &board, &error)).collect(),
        };
        let _ = outbox.send(crew.iter().map(|job| job.index).zip(outcomes).collect());
    };
    std::thread::Builder::new().name(name).spawn(work).ok()
}

/// Assigns jobs to threads. A job that blocks in system calls, spins, or is bound to processors has
/// its own thread. The others share as many threads as there are processors, since more would only
/// cause context switches.
fn assign(jobs: Vec<Prepared>, settings: &RunSettings) -> Vec<Vec<Prepared>> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let most = settings.threads_most.unwrap_or(processors).max(1);
    let wants_own = |spec: &JobSpec| {
        let blocks = spec.engine == EngineKind::Sync && matches!(spec.place, JobPlace::Files(_));
        let spins = spec.pacing.think.is_some_and(|think| think.spin > Span::ZERO);
        let placed = !spec.cpus.is_empty() || spec.numa != Default::default() || spec.kernel_polls.is_some();
        let apart = placed || spec.priority != Default::default();
        let runs_others = spec.commands != Default::default() || spec.layout.renew;
        blocks || spins || apart || runs_others
    };
    let (own, shared): (Vec<Prepared>, Vec<Prepared>) =
        jobs.into_iter().partition(|job| wants_own(&job.spec) || job.trouble.is_some());
    let mut crews: Vec<Vec<Prepared>> = own.into_iter().map(|job| vec![job]).collect();
    let threads = most.min(shared.len());
    let mut together: Vec<Vec<Prepared>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, job) in shared.into_iter().enumerate() {
        together[index % threads].push(job);
    }
    crews.append(&mut together);
    crews
}

fn never_run(job: &Prepared) -> JobOutcome {
    let spec = &job.spec;
    JobOutcome {
        name: spec.name.clone(),
        number: spec.number,
        group: spec.group,
        seed: spec.seed,
        interrupted: true,
        ..JobOutcome::default()
    }
}

fn failed(job: &Prepared, board: &Board, error: &OpenError) -> JobOutcome {
    let ending = &job.spec.ending;
    board.end(job.index, if ending.ends_all_on_error { Ends::All } else { ending.ends });
    // The caller adds the job's name.
    let text = error.0.strip_prefix(&format!("{}: ", job.spec.name)).unwrap_or(&error.0).to_owned();
    let error = JobError { number: 5, text };
    JobOutcome { interrupted: false, error: Some(error), ..never_run(job) }
}
