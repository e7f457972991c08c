//! Several databases on one server: what `run` and `simulate` do with a plan of hosts.
//!
//! ```text
//!   published loads ──► window ──► fit: ramps of one run, until the storage lies where the window is aimed
//!                                   │ factor
//!      run 0  floors on, every host ─► floors off, every host
//!      run 1  floors off, every host ─► floors on, every host         … ──► tables, page, verdict
//! ```
//! The halves take turns run by run: what storage can do changes within minutes, and a change then meets both.

mod children;
mod fit;
mod load;
mod real;
mod simulated;
mod whole;

use crate::memory::Kept;
use crate::play::{Options, RealOptions, check_out, free_name, in_memory, now_unix_ms, say, stamp};
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Bytes, Span};
use fit::fit;
use load::{Scaling, constants, fitted, window};
use ramp::{Arm, Experiment, HostRows, Outcome, Row, Settings, TimelineSecond, experiment_page, experiment_table};
use ramp::{busy_by_cycle, experiment_verdict};
use report::Page;
use stats::run::{Run, State};
use stats::{LimitsInForce, Machine};
use std::path::{Path, PathBuf};
use workload::plan::{HostsPlan, PlannedHost};

/// What a host left of a ramp.
#[derive(Default)]
struct Left {
    rows: Vec<Row>,
    seconds: Vec<TimelineSecond>,
    /// The same runs as the results database keeps them.
    run: Run,
}

impl Left {
    /// How long a run's cycles took, by the periods in which they were due; none is due in the first.
    fn cycles(&self, run: usize, period: Span) -> Vec<Option<Span>> {
        let mut cycles = Vec::new();
        for (_, cycle) in self.run.cycles.iter().filter(|(_, cycle)| cycle.phase as usize == run) {
            let number = (cycle.due.as_nanos() / period.as_nanos().max(1)).saturating_sub(1) as usize;
            cycles.resize(cycles.len().max(number + 1), None);
            cycles[number] = Some(cycle.cycle);
        }
        cycles
    }
}

/// What the hosts left of each ramp, in their order, and whether all came to the end.
struct Played {
    left: Vec<Vec<Left>>,
    ended: Result<()>,
}

/// What the hosts work on.
trait Field {
    /// Runs an administrator's line.
    fn command(&mut self, line: &str) -> Result<()>;
    /// Makes a ramp of every host ready, beside those that are: no run begins. `name` tells it from others.
    fn begin(&mut self, name: &str, ramps: &[Settings]) -> Result<()>;
    /// Plays the next run of a ramp, from 0 as they were begun: all hosts together, to its end.
    fn run(&mut self, ramp: usize) -> Result<()>;
    /// Ends all ramps, `ended` telling whether their runs came to the end.
    fn end(&mut self, ended: Result<()>) -> Played;
    /// The numbers in force, by path.
    fn limits(&self) -> Vec<(String, LimitsInForce)>;
    /// The space that volumes use, by path.
    fn used(&self) -> Vec<(String, Bytes)>;
    /// What it runs on.
    fn machine(&self) -> Machine;
    /// Whether its time is a virtual one.
    fn is_simulated(&self) -> bool;
    /// What a reader must know of how they ran.
    fn notes(&self) -> Vec<String>;
    /// Keeps the folder with what each host left, where there is one: otherwise it goes with this.
    fn keep_folder(&mut self) -> Option<PathBuf>;
}

/// The experiment as it was played.
struct Halves {
    /// The lines that made the policies, as they were run.
    created: Vec<String>,
    /// With floors, then without.
    halves: [Half; 2],
    /// Which half played which run, in the order of time.
    turns: Vec<(usize, u32)>,
}

/// A half of the experiment as it was played.
struct Half {
    arm: Arm,
    /// The lines that made it so, before each of its runs, as they were run.
    commands: Vec<String>,
    /// The same as the plan has them.
    published: Vec<String>,
    limits: Vec<(String, LimitsInForce)>,
    left: Vec<Left>,
}

/// Plays a plan of hosts on real storage, each host a process of its own.
pub fn on_real_storage(text: &str, file: &str, options: &Options, real: &RealOptions) -> Result<Answer> {
    let plan = prepared(text, file, options)?;
    let mut field = real::Real::start(&plan, options, real)?;
    play(&plan, &options.loading([field.folder()]), &mut field)
}

/// Plays a plan of hosts in virtual time.
pub fn simulated(text: &str, file: &str, options: &Options) -> Result<Answer> {
    let plan = prepared(text, file, options)?;
    let mut field = simulated::Simulated::start(&plan)?;
    play(&plan, options, &mut field)
}

/// The plan, read and checked with every command in it: nothing was made yet.
fn prepared(text: &str, file: &str, options: &Options) -> Result<HostsPlan> {
    let plan = HostsPlan::read(text, file)?;
    if options.phase_seconds.is_some() {
        bail!("--phase-seconds: {file} is a plan of hosts, which has runs and no phases; change its run_seconds");
    }
    for line in plan.floors_create.iter().chain(&plan.floors_on).chain(&plan.floors_off) {
        fitted(line, Scaling { rates: 1.0, space: 1.0 }).with_context(|| format!("{file}: [floors]"))?;
    }
    check_out(&options.out)?;
    Ok(plan)
}

fn play(plan: &HostsPlan, options: &Options, field: &mut dyn Field) -> Result<Answer> {
    let started = now_unix_ms();
    say(options, &format!("{}\n{}\n", plan.title, plan.about));
    let used = field.used();
    let factor = match options.scale {
        Some(factor) => factor,
        None => fit(plan, field, &mut |line| say(options, line))?,
    };
    let ramps = load::ramps(plan, factor);
    ramps.iter().try_for_each(Settings::check)?;
    let (tool, memory) = &options.keeping;
    let identity = whole::identity(plan, tool, started, field.is_simulated());
    let mut kept = memory.begin(Run { identity: identity.clone(), machine: field.machine(), ..Run::default() });
    let (played, ended) = both(plan, field, factor, &ramps, &mut |line| say(options, line));
    let host = kept.host().clone();
    if played.halves.iter().all(|half| half.arm.hosts.iter().all(|host| host.rows.is_empty())) {
        kept.forget();
        return ended.and_then(|()| bail!("the hosts left no rows"));
    }
    let folder = field.keep_folder();
    let mut notes = field.notes();
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
    let experiment = Experiment {
        title: plan.title.clone(),
        about: plan.about.clone(),
        constants: constants(plan),
        windows: (0..plan.runs).map(|run| window(plan, factor, run)).collect(),
        factor,
        arms: played.halves.each_ref().map(|half| half.arm.clone()),
        cut_short: ended.is_err(),
        notes,
    };
    let mut run = whole::run(plan, &experiment, &played);
    whole::add_used(&mut run, &used, &field.used());
    run.scale = Some(whole::scale(plan, factor, options.scale.is_none()));
    run.machine = field.machine();
    run.identity = identity;
    run.identity.state = if ended.is_ok() { State::Ended } else { State::CutShort };
    run.host = host;
    let answer = shown(&experiment, run, options, kept, folder.as_deref())?;
    ended.context("the experiment ended early; what was measured so far is kept, marked as cut short")?;
    answer
}

/// Which half plays which run. Who comes first changes from run to run, so that storage which gets slower or faster all
/// the time favours nobody.
fn turns(runs: u32) -> Vec<(usize, u32)> {
    (0..runs).flat_map(|run| if run % 2 == 0 { [(0, run), (1, run)] } else { [(1, run), (0, run)] }).collect()
}

/// Plays both halves in turns; what they left is kept also when they did not come to their end.
fn both(
    plan: &HostsPlan,
    field: &mut dyn Field,
    factor: f64,
    ramps: &[Settings],
    say: &mut dyn FnMut(&str),
) -> (Halves, Result<()>) {
    let halves = [("with floors", &plan.floors_on), ("without floors", &plan.floors_off)]
        .map(|(name, lines)| Half::of(plan, name, lines));
    let mut played = Halves { created: Vec::new(), halves, turns: turns(plan.runs) };
    let ended = in_turns(plan, field, Scaling::of(plan, factor), ramps, &mut played, say);
    let Played { left, ended } = field.end(ended);
    for (half, left) in played.halves.iter_mut().zip(left) {
        half.keep(left, plan.cycle);
    }
    (played, ended)
}

fn in_turns(
    plan: &HostsPlan,
    field: &mut dyn Field,
    scaling: Scaling,
    ramps: &[Settings],
    played: &mut Halves,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    let fitted = |lines: &[String]| lines.iter().map(|line| fitted(line, scaling)).collect::<Result<Vec<_>>>();
    played.created = fitted(&plan.floors_create)?;
    played.created.iter().try_for_each(|line| field.command(line))?;
    for half in &mut played.halves {
        half.commands = fitted(&half.published)?;
        field.begin(&half.arm.name.replace(' ', "-"), ramps)?;
    }
    say(&format!("with floors and without, in turns: {} runs of {} on each host …", plan.runs, plan.run_length));
    for &(number, run) in &played.turns {
        let half = &mut played.halves[number];
        half.commands.iter().try_for_each(|line| field.command(line))?;
        half.limits = field.limits();
        say(&format!("  run {} of {} {}", run + 1, plan.runs, half.arm.name));
        field.run(number)?;
    }
    Ok(())
}

impl Half {
    /// One that was not played yet.
    fn of(plan: &HostsPlan, name: &str, lines: &[String]) -> Half {
        let host = |host: &PlannedHost| HostRows {
            name: host.name.clone(),
            protected: host.protected,
            rows: Vec::new(),
            cycles: Vec::new(),
        };
        let hosts = plan.hosts.iter().map(host).collect();
        Half {
            arm: Arm { name: name.into(), hosts, busy: Vec::new() },
            commands: Vec::new(),
            published: lines.to_vec(),
            limits: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Keeps what its hosts left, with a cycle due every `period`.
    fn keep(&mut self, left: Vec<Left>, period: Span) {
        for (host, left) in self.arm.hosts.iter_mut().zip(&left) {
            host.rows.clone_from(&left.rows);
            host.cycles = (0..left.rows.len()).map(|run| left.cycles(run, period)).collect();
        }
        let seconds: Vec<Vec<TimelineSecond>> = left.iter().map(|host| host.seconds.clone()).collect();
        let runs = left.iter().map(|host| host.rows.len()).max().unwrap_or(0);
        self.arm.busy = (0..runs as u64).map(|run| busy_by_cycle(&seconds, run, period)).collect();
        self.left = left;
    }
}

/// Prints and keeps the result; what it says, or why it says nothing.
fn shown(
    experiment: &Experiment,
    run: Run,
    options: &Options,
    kept: Kept,
    folder: Option<&Path>,
) -> Result<Result<Answer>> {
    let started = run.identity.started_unix_ms;
    let facts = report::text::facts(started, &run.machine);
    let database = in_memory(kept.end(run));
    terminal::print(&format!("\n{}", experiment_table(experiment)));
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("--out {}: make the folder", options.out.display()))?;
    // Beside the hosts' folder, by the same name.
    let page = match folder {
        Some(folder) => folder.with_extension("html"),
        None => {
            let name = free_name(&options.out, &stamp(started), "html");
            options.out.join(format!("{name}.html"))
        }
    };
    let shown = Page { facts, version: env!("CARGO_PKG_VERSION").into(), ..experiment_page(experiment) };
    std::fs::write(&page, shown.render()).with_context(|| page.display().to_string())?;
    terminal::line(&format!("\npage      {}", page.display()));
    if let Some(folder) = folder {
        terminal::line(&format!("hosts     {}", folder.display()));
    }
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
