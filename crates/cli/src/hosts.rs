//! Several databases on one server: what `run` and `simulate` do with a plan of hosts.
//!
//! ```text
//!   published loads ──► window ──► fit: ramps of one run, until the storage lies where the window is aimed
//!                                   │ factor
//!      run 0  floors on, every host ─► floors off, every host
//!      run 1  floors off, every host ─► floors on, every host         … ──► tables, page, verdict
//! ```
//! The halves alternate run by run: the speed of storage changes within minutes, and a change then
//! affects both.

mod fit;
mod load;
mod real;
mod simulated;
mod together;
mod whole;

use crate::memory::Kept;
use crate::outputs::check_out;
use crate::play::{Options, RealOptions, in_memory, now_unix_ms, say, stamp, write_page};
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Span, Time};
use engine::{Managed, Scene};
use fit::fit;
use load::{Scaling, constants, window};
use ramp::{Arm, Experiment, HostRows, Outcome, RampRow, RampSettings, RunOutcome, TimelineSecond, experiment_page};
use ramp::{busy_by_cycle, experiment_table, experiment_verdict};
use report::Page;
use stats::Machine;
use stats::run::{Point, Run};
use workload::plan::{HostsPlan, PlannedHost};

/// The storage of the hosts: the real server with a thread for each host, or its model in virtual
/// time.
trait Testbed {
    /// The server that takes the administrators' commands.
    fn managed(&mut self) -> &mut dyn Managed;
    /// Plays run `number` of each host's ramp, from 0: all hosts together, to its end.
    ///
    /// # Errors
    /// A stop was requested or a host failed. This ends the runs of all hosts, and they are lost.
    fn run(&mut self, ramps: &[RampSettings], number: u64) -> Result<Vec<RunOutcome>>;
    /// Its clock.
    fn now(&self) -> Time;
    /// The machine it runs on.
    fn machine(&self) -> Machine;
    /// Whether it runs in virtual time.
    fn is_simulated(&self) -> bool;
    /// Notes for the reader on how the hosts ran.
    fn notes(&self) -> Vec<String>;
}

/// The error of a run that the user stopped.
fn stopped() -> anyhow::Error {
    anyhow!("stopped by hand")
}

/// The names of the halves of the experiment.
const HALVES: [&str; 2] = ["with floors", "without floors"];

/// A run of all hosts.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Its half.
    half: usize,
    /// Its number in that half, from 0.
    run: usize,
}

/// The hosts and their storage, and the runs of their ramps.
struct Ramping<'a> {
    plan: &'a HostsPlan,
    testbed: &'a mut dyn Testbed,
    kept: &'a mut Kept,
    say: &'a mut dyn FnMut(&str),
    /// The runs that have not begun.
    points: std::vec::IntoIter<Point>,
    /// The ramp of each host.
    ramps: Vec<RampSettings>,
    /// The finished runs of each host in each half.
    runs: [Vec<Vec<RunOutcome>>; 2],
}

/// Plays a plan of hosts on real storage, with a thread for each host.
pub fn on_real_storage(text: &str, file: &str, options: &Options, real: &RealOptions) -> Result<Answer> {
    let plan = prepared(text, file, options)?;
    let mut testbed = real::Real::start(&plan, options, real)?;
    play(&plan, &options.loading([testbed.folder()]), &mut testbed)
}

/// Plays a plan of hosts in virtual time.
pub fn simulated(text: &str, file: &str, options: &Options) -> Result<Answer> {
    let mut plan = prepared(text, file, options)?;
    plan.device = options.device.clone().or(plan.device);
    let mut testbed = simulated::Simulated::start(&plan)?;
    play(&plan, options, &mut testbed)
}

/// Reads the plan and checks it with all of its commands. Nothing has been created yet.
fn prepared(text: &str, file: &str, options: &Options) -> Result<HostsPlan> {
    let mut plan = HostsPlan::read(text, file)?;
    plan.seed = options.seed.unwrap_or(plan.seed);
    if options.phase_seconds.is_some() {
        bail!("--phase-seconds: {file} is a plan of hosts, which has runs and no phases; change its run_seconds");
    }
    if options.size.is_some() {
        bail!("--size: {file} is a plan of hosts, whose volumes have the size that its [ramp] says; change it there");
    }
    let most = load::factor_max(&plan);
    if let Some(factor) = options.scale.filter(|factor| *factor > most) {
        bail!(
            "--scale {factor}: makes write bursts that volumes of {} do not hold, at most {:.2}; give less, or make \
             volume_size in [ramp] of {file} larger",
            plan.volume_size,
            (100.0 * most).floor() / 100.0
        );
    }
    load::rehearse(&plan)?;
    check_out(&options.out)?;
    Ok(plan)
}

fn play(plan: &HostsPlan, options: &Options, testbed: &mut dyn Testbed) -> Result<Answer> {
    let started = now_unix_ms();
    say(options, &format!("{}\n{}\n", plan.title, plan.about));
    let factor = match options.scale {
        Some(factor) => factor,
        None => fit(plan, testbed, &mut |line| say(options, line))?,
    };
    let ramps = load::ramps(plan, factor);
    ramps.iter().try_for_each(RampSettings::check)?;
    let points = whole::points(plan, &ramps, Scaling::of(plan, factor))?;
    let (tool, memory) = &options.keeping;
    let run = Run {
        identity: whole::identity(plan, tool, started, testbed.is_simulated()),
        machine: testbed.machine(),
        scale: Some(whole::scale(plan, factor, options.scale.is_none())),
        ..Run::default()
    };
    let run = whole::begun(plan, run);
    let mut kept = memory.begin(run.clone());
    let runs = report::text::count(plan.runs as usize, "run", "runs");
    say(options, &format!("with floors and without, in turns: {runs} of {} on each host …", plan.run_length));
    kept.begins();
    let none = || vec![Vec::new(); plan.hosts.len()];
    let mut ramping = Ramping {
        plan,
        testbed,
        kept: &mut kept,
        say: &mut |line| say(options, line),
        points: points.into_iter(),
        ramps,
        runs: [none(), none()],
    };
    let (mut run, ended) = engine::play(&mut ramping, run);
    let Ramping { ramps, runs, .. } = ramping;
    let host = kept.host().clone();
    if run.points.is_empty() {
        kept.forget();
        return ended.and_then(|()| bail!("the plan has no runs"));
    }
    let experiment = experiment(plan, &ramps, factor, &runs, ended.is_err(), testbed.notes());
    run.verdicts = whole::verdicts(&experiment);
    run.notes.extend(experiment.notes.iter().cloned());
    run.host = host;
    let answer = shown(&experiment, run, options, kept)?;
    ended.context("the experiment ended early; what was measured so far is kept, marked as cut short")?;
    answer
}

/// The experiment, for tables, page and verdicts.
fn experiment(
    plan: &HostsPlan,
    ramps: &[RampSettings],
    factor: f64,
    runs: &[Vec<Vec<RunOutcome>>; 2],
    cut_short: bool,
    mut notes: Vec<String>,
) -> Experiment {
    let differences = ramps[0].differences();
    if !differences.is_empty() {
        notes.insert(0, format!("not comparable with published figures: {}", differences.join(", ")));
    }
    notes.push(format!(
        "a run of {} has {} bursts, the first after {}: it reaches {:.1} % of the IOPS that are asked",
        plan.run_length,
        ramps[0].bursts(),
        plan.cycle,
        100.0 * ramps[0].reachable()
    ));
    Experiment {
        title: plan.title.clone(),
        about: plan.about.clone(),
        constants: constants(plan),
        windows: (0..plan.runs).map(|run| window(plan, factor, run)).collect(),
        factor,
        arms: [0, 1].map(|half| arm(HALVES[half], plan, ramps, &runs[half])),
        cut_short,
        notes,
    }
}

/// The turns in order. The half that goes first changes from run to run, so that storage that gets
/// slower or faster over time favours neither.
fn turns(plan: &HostsPlan) -> impl Iterator<Item = Turn> {
    let halves = |run| if run % 2 == 0 { [0, 1] } else { [1, 0] };
    (0..plan.runs as usize).flat_map(move |run| halves(run).map(|half| Turn { half, run }))
}

impl Scene for Ramping<'_> {
    type Error = anyhow::Error;

    fn managed(&mut self) -> Option<&mut dyn Managed> {
        Some(self.testbed.managed())
    }

    fn now(&self) -> Time {
        self.testbed.now()
    }

    fn next(&mut self, _run: &Run) -> Option<Point> {
        self.points.next()
    }

    fn play(&mut self, _start: Time, run: &mut Run) -> Result<bool> {
        let Some(turn) = turns(self.plan).nth(run.points.len() - 1) else { return Ok(false) };
        (self.say)(&format!("  run {} of {} {}", turn.run + 1, self.plan.runs, HALVES[turn.half]));
        for object in &mut run.objects {
            // The path of a shared group is its name alone, like that of the SVM.
            object.is_group = !object.path.contains(':') && object.path != self.plan.svm;
        }
        let outcomes = self.testbed.run(&self.ramps, turn.run as u64)?;
        for ((actor, outcome), runs) in (0..).zip(outcomes).zip(&mut self.runs[turn.half]) {
            ramp::kept::add(run, actor, &outcome);
            runs.push(outcome);
        }
        if self.kept.is_due() {
            self.kept.so_far(run.clone());
        }
        Ok(true)
    }
}

/// A half's rows and cycles.
fn arm(name: &str, plan: &HostsPlan, ramps: &[RampSettings], runs: &[Vec<RunOutcome>]) -> Arm {
    let rows = |((host, ramp), runs): ((&PlannedHost, &RampSettings), &Vec<RunOutcome>)| HostRows {
        name: host.name.clone(),
        protected: host.protected,
        rows: (0..).zip(runs).map(|(number, run)| RampRow::of(number, run, ramp)).collect(),
        cycles: runs.iter().map(|run| cycles(run, plan.cycle)).collect(),
    };
    let second = |runs: &Vec<RunOutcome>| (0..).zip(runs).flat_map(|(run, of)| TimelineSecond::of(run, of)).collect();
    let seconds: Vec<Vec<TimelineSecond>> = runs.iter().map(second).collect();
    let played = runs.iter().map(Vec::len).max().unwrap_or(0) as u64;
    Arm {
        name: name.into(),
        hosts: plan.hosts.iter().zip(ramps).zip(runs).map(rows).collect(),
        busy: (0..played).map(|run| busy_by_cycle(&seconds, run, plan.cycle)).collect(),
    }
}

/// The lengths of a run's cycles, by the period in which each was due. None is due in the first
/// period.
fn cycles(run: &RunOutcome, period: Span) -> Vec<Option<Span>> {
    let mut cycles = Vec::new();
    for cycle in &run.cycles {
        let number = (cycle.due.as_nanos() / period.as_nanos().max(1)).saturating_sub(1) as usize;
        cycles.resize(cycles.len().max(number + 1), None);
        cycles[number] = Some(cycle.cycle);
    }
    cycles
}

/// Prints and keeps the result. The inner result is the answer, or why there is none.
fn shown(experiment: &Experiment, run: Run, options: &Options, kept: Kept) -> Result<Result<Answer>> {
    let started = run.identity.started_unix_ms;
    let facts = report::text::facts(started, &run.machine);
    let database = in_memory(kept.end(run));
    terminal::print(&format!("\n{}", experiment_table(experiment)));
    let page = Page { facts, version: env!("CARGO_PKG_VERSION").into(), ..experiment_page(experiment) };
    let page = write_page(&options.out, &stamp(started), &page)?;
    terminal::line(&format!("\npage      {}", page.display()));
    database.iter().for_each(|line| terminal::line(line));
    Ok(match experiment_verdict(experiment) {
        (Outcome::Pass, _) => Ok(Answer::Yes),
        (Outcome::Fail, _) => Ok(Answer::No),
        (Outcome::CannotSay, answers) => {
            let unsaid = answers.into_iter().find(|answer| answer.outcome == Outcome::CannotSay);
            Err(anyhow!("cannot say: {}", unsaid.map_or(String::new(), |answer| answer.because)))
        }
    })
}
