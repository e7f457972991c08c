//! Several databases on one server: what `run` and `simulate` do with a plan of hosts.
//!
//! ```text
//!   published loads ──► window ──► fit: ramps of one run, until the storage lies where the window is aimed
//!                                   │ factor
//!                  floors on ──► every host's ramp ──► floors off ──► every host's ramp ──► tables, page, verdict
//! ```

mod children;
mod fit;
mod load;
mod real;
mod recording;
mod simulated;

use crate::play::{DATABASE, Options, RealOptions, check_out, free_name, now_unix_ms, say, stamp};
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use block::Bytes;
use fit::fit;
use load::{Scaling, constants, fitted, window};
use ramp::{Arm, Experiment, HostRows, Outcome, Row, Settings, TimelineSecond, experiment_page, experiment_table};
use ramp::{busy, experiment_verdict};
use record::Results;
use stats::{LimitsInForce, Machine, Recording};
use std::path::Path;
use workload::plan::{HostsPlan, PlannedHost};

/// What a host left of a ramp.
#[derive(Default)]
struct Left {
    rows: Vec<Row>,
    seconds: Vec<TimelineSecond>,
    /// The same runs as the results database keeps them.
    recording: Recording,
}

/// What all hosts left, in their order, and whether they came to the end.
struct Played {
    left: Vec<Left>,
    ended: Result<()>,
}

/// What the hosts work on.
trait Field {
    /// Runs an administrator's line.
    fn command(&mut self, line: &str) -> Result<()>;
    /// Has every host play its ramp, all starting each run together; `name` tells this from other ramps, and `say` is
    /// told of each run that takes a while.
    fn play(&mut self, name: &str, ramps: &[Settings], say: &mut dyn FnMut(&str)) -> Played;
    /// The numbers in force, by path.
    fn limits(&self) -> Vec<(String, LimitsInForce)>;
    /// The space that volumes use, by path.
    fn used(&self) -> Vec<(String, Bytes)>;
    /// What it runs on.
    fn machine(&self) -> Machine;
    /// What a reader must know of how they ran.
    fn notes(&self) -> Vec<String>;
    /// The folder with what each host left, where there is one.
    fn folder(&self) -> Option<&Path>;
}

/// A half of the experiment as it was played.
struct Half {
    arm: Arm,
    /// The lines that made it so, as they were run.
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
    play(&plan, options, &mut field)
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
    for line in plan.floors_on.iter().chain(&plan.floors_off) {
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
    let (halves, ended) = both(plan, field, Scaling::of(plan, factor), &ramps, &mut |line| say(options, line));
    if halves.iter().all(|half| half.arm.hosts.iter().all(|host| host.rows.is_empty())) {
        return ended.and_then(|()| bail!("the hosts left no rows"));
    }
    let mut notes = field.notes();
    let differences = ramps[0].differences();
    if !differences.is_empty() {
        notes.insert(0, format!("not comparable with published figures: {}", differences.join(", ")));
    }
    let experiment = Experiment {
        title: plan.title.clone(),
        about: plan.about.clone(),
        constants: constants(plan),
        window: window(plan, factor),
        factor,
        arms: halves.each_ref().map(|half| half.arm.clone()),
        cut_short: ended.is_err(),
        notes,
    };
    let mut recording = recording::recording(plan, &experiment, &halves);
    recording::add_used(&mut recording, &used, &field.used());
    recording.scale = Some(recording::scale(plan, factor, options.scale.is_none()));
    recording.machine = field.machine();
    recording.origin = recording::origin(plan, started, field.folder().is_none(), ended.is_err());
    let answer = shown(&experiment, &recording, options, field.folder())?;
    ended.context("the experiment ended early; what was measured so far is kept, marked as cut short")?;
    answer
}

/// Plays one half after the other, the second only where the first came to its end.
fn both(
    plan: &HostsPlan,
    field: &mut dyn Field,
    scaling: Scaling,
    ramps: &[Settings],
    say: &mut dyn FnMut(&str),
) -> ([Half; 2], Result<()>) {
    let mut halves = [("with floors", &plan.floors_on), ("without floors", &plan.floors_off)]
        .map(|(n, lines)| Half::of(plan, n, lines));
    for half in &mut halves {
        say(&format!("{}: {} runs of {} on each host …", half.arm.name, plan.runs, plan.run_length));
        if let Err(error) = half.play(field, scaling, ramps, say) {
            return (halves, Err(error));
        }
    }
    (halves, Ok(()))
}

impl Half {
    /// One that was not played yet.
    fn of(plan: &HostsPlan, name: &str, lines: &[String]) -> Half {
        let host =
            |host: &PlannedHost| HostRows { name: host.name.clone(), protected: host.protected, rows: Vec::new() };
        let hosts = plan.hosts.iter().map(host).collect();
        Half {
            arm: Arm { name: name.into(), hosts, busy: None },
            commands: Vec::new(),
            published: lines.to_vec(),
            limits: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Sets the policies and has the hosts play; what they left is kept also when they did not come to their end.
    fn play(
        &mut self,
        field: &mut dyn Field,
        scaling: Scaling,
        ramps: &[Settings],
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        for line in &self.published {
            let line = fitted(line, scaling)?;
            field.command(&line)?;
            self.commands.push(line);
        }
        self.limits = field.limits();
        let Played { left, ended } = field.play(&self.arm.name.replace(' ', "-"), ramps, say);
        for (host, left) in self.arm.hosts.iter_mut().zip(&left) {
            host.rows.clone_from(&left.rows);
        }
        let seconds: Vec<Vec<TimelineSecond>> = left.iter().map(|host| host.seconds.clone()).collect();
        self.arm.busy = busy(&seconds);
        self.left = left;
        ended
    }
}

/// Prints and keeps the result; what it says, or why it says nothing.
fn shown(
    experiment: &Experiment,
    recording: &Recording,
    options: &Options,
    folder: Option<&Path>,
) -> Result<Result<Answer>> {
    terminal::print(&format!("\n{}", experiment_table(experiment)));
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("--out {}: make the folder", options.out.display()))?;
    // Beside the hosts' folder, by the same name.
    let page = match folder {
        Some(folder) => folder.with_extension("html"),
        None => {
            let name = free_name(&options.out, &stamp(recording.origin.started_unix_ms), "html");
            options.out.join(format!("{name}.html"))
        }
    };
    let facts = record::text::facts(recording.origin.started_unix_ms, &recording.machine);
    std::fs::write(&page, experiment_page(experiment, &facts)).with_context(|| page.display().to_string())?;
    terminal::line(&format!("\npage      {}", page.display()));
    if let Some(folder) = folder {
        terminal::line(&format!("hosts     {}", folder.display()));
    }
    let database = options.out.join(DATABASE);
    let run = Results::open(&database)?.save(recording)?;
    terminal::line(&format!("database  {} (run {run})", database.display()));
    Ok(match experiment_verdict(experiment) {
        (Outcome::Pass, _) => Ok(Answer::Yes),
        (Outcome::Fail, _) => Ok(Answer::No),
        (Outcome::CannotSay, answers) => {
            let unsaid = answers.into_iter().find(|answer| answer.outcome == Outcome::CannotSay);
            Err(anyhow!("cannot say: {}", unsaid.map_or(String::new(), |answer| answer.because)))
        }
    })
}
