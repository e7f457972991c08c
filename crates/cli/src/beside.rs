//! A database beside other workloads: what `run` and `simulate` do with a plan of a database.
//!
//! ```text
//!   round 1   alone ► bully ► ceiling ► floor ► …      each turn: policies reset, the arm's lines, data restored,
//!   round 2   bully ► ceiling ► floor ► … ► alone      users warm up alone, then the arm's loads and the window
//! ```
//! Each round begins with a different arm, so that changes over time favour no arm.

mod disk;
mod mounted;
mod real;
mod simulated;
mod tools;

use crate::memory::{self, Kept};
use crate::outputs::check_out;
use crate::play::{Options, RealOptions, answer, in_memory, now_unix_ms, say, stamp, write_page};
use crate::scale::{self, Factors};
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, bail};
use block::{Span, Time};
use engine::{Managed, Scene, WorkloadSecond};
use oltp::{Beside, BesideArm, Ledger, Turn, beside_page, beside_run, beside_table, beside_verdicts};
use report::Page;
use report::text::{count, thousands};
use stage::Rehearsed;
use stats::Machine;
use stats::run::{self, Identity, Point, Run, RunActor, RunPlace};
use workload::Spec;
use workload::plan::DatabasePlan;

/// The storage of the database and of the other workloads: a real server, or its model in virtual
/// time.
trait Testbed {
    /// The server that takes the administrators' commands.
    fn managed(&mut self) -> &mut dyn Managed;
    /// Plays one turn: the users work on the data that setup left, beside the other workloads.
    ///
    /// # Errors
    /// A stop was requested or something failed; the turn is lost.
    fn turn(&mut self, specs: &[Spec], seed: u64) -> Result<Played>;
    /// Its clock.
    fn now(&self) -> Time;
    /// The machine it runs on.
    fn machine(&self) -> Machine;
    /// The name of the database.
    fn database(&self) -> String;
    /// The factors for the limits in commands.
    fn factors(&self) -> Factors;
    /// Whether it runs in virtual time.
    fn is_simulated(&self) -> bool;
    /// Notes for the reader on how the turns ran.
    fn notes(&self) -> Vec<String>;
}

/// The result of a turn.
struct Played {
    /// What the users did.
    ledger: Ledger,
    /// What the other workloads did in the window, second by second.
    others: Vec<Others>,
    /// The server's advice at the end; may be empty.
    advice: String,
}

/// What the other workloads did in an interval.
struct Others {
    start: Time,
    length: Span,
    workloads: Vec<WorkloadSecond>,
}

/// The error of a turn that the user stopped.
fn stopped() -> anyhow::Error {
    anyhow::anyhow!("stopped by hand")
}

/// Plays a plan of a database on real storage.
pub fn on_real_storage(text: &str, file: &str, options: &Options, real: &RealOptions) -> Result<Answer> {
    let plan = prepared(text, file, options)?;
    tools::all_there(&plan)?;
    say(options, &format!("{}\n{}\n", plan.plan.title, plan.plan.about));
    let mut testbed = real::Real::start(&plan, options, real)?;
    play(&plan, &options.loading([testbed.folder()]), &mut testbed)
}

/// Plays a plan of a database in virtual time.
pub fn simulated(text: &str, file: &str, options: &Options) -> Result<Answer> {
    let plan = prepared(text, file, options)?;
    say(options, &format!("{}\n{}\n", plan.plan.title, plan.plan.about));
    let mut testbed = simulated::Simulated::start(&plan, options.scale.unwrap_or(1.0))?;
    play(&plan, options, &mut testbed)
}

/// Reads the plan and checks it with all of its commands. Nothing has been created yet.
fn prepared(text: &str, file: &str, options: &Options) -> Result<DatabasePlan> {
    let mut plan = DatabasePlan::read(text, file)?;
    if options.phase_seconds.is_some() {
        bail!("--phase-seconds: {file} is a plan of a database, which has arms and no phases; change its seconds");
    }
    if options.seed.is_some() {
        bail!("--seed: {file} is a plan of a database; change its seed");
    }
    let shared = plan.create.iter().chain(&plan.reset).map(|line| ("", line));
    let arms = plan.plan.phases.iter().flat_map(|arm| arm.commands.iter().map(|line| (arm.name.as_str(), line)));
    for (arm, line) in shared.chain(arms) {
        scale::line(line, 1.0).with_context(|| plan.plan.at_command(arm, line))?;
    }
    plan.plan.device = options.device.clone().or(plan.plan.device);
    plan.plan = plan.plan.sized_by(options.volume_size(), |volume| options.origin(volume))?;
    let points = points(&plan, 1.0.into())?;
    let rehearsed = points.iter().map(|point| Rehearsed {
        before: &point.name,
        phase: &point.arm,
        commands: &point.commands_published,
    });
    stage::rehearse(&plan.plan, rehearsed)?;
    check_out(&options.out)?;
    Ok(plan)
}

/// The turns in order: the arm and the round, both from 0.
fn turns(plan: &DatabasePlan) -> impl Iterator<Item = (usize, usize)> {
    let arms = plan.plan.phases.len();
    (0..plan.database.rounds as usize).flat_map(move |round| (0..arms).map(move |turn| ((round + turn) % arms, round)))
}

/// A point for each turn, with the commands as they will be run.
fn points(plan: &DatabasePlan, factors: Factors) -> Result<Vec<Point>> {
    let point = |(number, (arm, round)): (usize, (usize, usize))| {
        let arm = &plan.plan.phases[arm];
        let create = plan.create.iter().filter(|_| number == 0);
        let published: Vec<String> = create.chain(&plan.reset).chain(&arm.commands).cloned().collect();
        Ok(Point {
            name: format!("{}, round {}", arm.name, round + 1),
            arm: arm.name.clone(),
            about: arm.about.clone(),
            commands: published.iter().map(|line| scale::line(line, factors)).collect::<Result<_>>()?,
            commands_published: published,
            ..Point::default()
        })
    };
    turns(plan).enumerate().map(point).collect()
}

/// The turns and the storage on which they are played.
struct Turns<'a> {
    plan: &'a DatabasePlan,
    testbed: &'a mut dyn Testbed,
    kept: &'a mut Kept,
    say: &'a mut dyn FnMut(&str),
    /// The turns that have not begun.
    points: std::vec::IntoIter<Point>,
    beside: Beside,
}

fn play(plan: &DatabasePlan, options: &Options, testbed: &mut dyn Testbed) -> Result<Answer> {
    let started = now_unix_ms();
    let points = points(plan, testbed.factors())?;
    let (tool, memory) = &options.keeping;
    let identity = memory::identity(tool, plan.plan.title.clone(), started);
    let identity =
        Identity { text: plan.plan.text.clone(), seed: plan.plan.seed, simulated: testbed.is_simulated(), ..identity };
    let run = Run { identity, machine: testbed.machine(), ..Run::default() };
    let run = begun(plan, beside_run(run, &testbed.database(), plan.database.users));
    let mut kept = memory.begin(run.clone());
    let (arms, window) = (plan.plan.phases.len(), plan.database.window);
    let rounds = count(plan.database.rounds as usize, "round", "rounds");
    say(options, &format!("{} by turns, {rounds}, {window} each …", count(arms, "arm", "arms")));
    kept.begins();
    let beside = empty(plan);
    let say_it = &mut |line: &str| say(options, line);
    let mut turns = Turns { plan, testbed, kept: &mut kept, say: say_it, points: points.into_iter(), beside };
    let (mut run, ended) = engine::play(&mut turns, run);
    let Turns { mut beside, testbed, .. } = turns;
    let notes = testbed.notes();
    run.host = kept.host().clone();
    if run.points.is_empty() {
        kept.forget();
        return ended.and_then(|()| bail!("the plan has no arms"));
    }
    beside.cut_short = ended.is_err();
    beside.notes.extend(notes);
    run.verdicts = beside_verdicts(&beside);
    run.notes.clone_from(&beside.notes);
    let verdicts = run.verdicts.clone();
    shown(&beside, run, options, kept)?;
    ended.context("the run ended early; what was measured so far is kept, marked as cut short")?;
    answer(&verdicts)
}

/// The run before its first point: the other workloads and the volumes that they load.
fn begun(plan: &DatabasePlan, mut run: Run) -> Run {
    for load in &plan.plan.workloads {
        let place = RunPlace { kind: "volume".into(), name: plan.plan.storage(load), size: None };
        let place = Some(run.place(place));
        run.actors.push(RunActor { name: load.name.clone(), host: load.host.clone(), group: None, place });
    }
    run
}

/// The experiment before its first turn.
fn empty(plan: &DatabasePlan) -> Beside {
    let arm = |arm: &workload::plan::Phase| BesideArm {
        name: arm.name.clone(),
        about: arm.about.clone(),
        turns: vec![None; plan.database.rounds as usize],
    };
    Beside {
        title: plan.plan.title.clone(),
        about: plan.plan.about.clone(),
        users: plan.database.users,
        window: plan.database.window,
        arms: plan.plan.phases.iter().map(arm).collect(),
        goals: plan.goals.clone(),
        ..Beside::default()
    }
}

impl Scene for Turns<'_> {
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

    fn play(&mut self, start: Time, run: &mut Run) -> Result<bool> {
        let point = run.points.len() - 1;
        let Some((arm, round)) = turns(self.plan).nth(point) else { return Ok(false) };
        let played = self.testbed.turn(&self.plan.plan.phases[arm].specs, self.plan.plan.seed + round as u64)?;
        let since = |time: Time| engine::passed(start, time);
        let window = played.ledger.window().as_secs_f64().max(f64::MIN_POSITIVE);
        let mut operations = 0;
        for Others { start, length, workloads } in &played.others {
            for (actor, seen) in (1..).zip(workloads) {
                operations += seen.tape.ops();
                let (point, outstanding) = (point as u32, seen.outstanding);
                let at =
                    run::Second { point, actor, start: since(*start), length: *length, outstanding, settled: true };
                run.add_second(&seen.tape, at, None);
            }
        }
        let turn = Turn::of(&played.ledger, self.plan.database.users, operations as f64 / window);
        turn.add(run, &played.ledger, since(played.ledger.from()), round as u32 + 1);
        (self.say)(&line(&self.beside, arm, round, &turn));
        let failure = played.ledger.first_failure().map(|failure| format!("the first failure was {failure}"));
        let advice = Some(played.advice).filter(|advice| !advice.is_empty() && round == 0);
        let name = &self.beside.arms[arm].name;
        self.beside.notes.extend(failure.into_iter().chain(advice).map(|said| format!("{name}: {said}")));
        self.beside.arms[arm].turns[round] = Some(turn);
        if self.kept.is_due() {
            self.kept.so_far(run.clone());
        }
        Ok(true)
    }
}

/// One line about a turn.
fn line(beside: &Beside, arm: usize, round: usize, turn: &Turn) -> String {
    let (tpm, others) = (thousands(turn.tpm.round() as u64), thousands(turn.others_iops.round() as u64));
    let p99 = report::text::millis(turn.response.quantile(0.99));
    format!("  round {} {:<18} {tpm:>9} TPM, p99 {p99} ms, others {others} IOPS", round + 1, beside.arms[arm].name)
}

/// Prints and keeps the result.
fn shown(beside: &Beside, run: Run, options: &Options, kept: Kept) -> Result<()> {
    let started = run.identity.started_unix_ms;
    let facts = report::text::facts(started, &run.machine);
    let banners = match run.identity.simulated {
        true => vec!["Simulated in virtual time: users, disk and bully are models".to_owned()],
        false => Vec::new(),
    };
    let database = in_memory(kept.end(run));
    terminal::print(&format!("\n{}", beside_table(beside)));
    let page = Page { facts, banners, version: env!("CARGO_PKG_VERSION").into(), ..beside_page(beside) };
    let page = write_page(&options.out, &stamp(started), &page)?;
    terminal::line(&format!("\npage      {}", page.display()));
    database.iter().for_each(|line| terminal::line(line));
    Ok(())
}
