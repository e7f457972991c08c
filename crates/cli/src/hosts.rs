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
mod simulated;

use crate::play::{Options, RealOptions, check_out, free_name, now_unix_ms, say, stamp};
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, bail};
use fit::fit;
use load::{Scaling, constants, fitted, window};
use ramp::{Arm, Experiment, HostRows, Outcome, Row, Settings, TimelineSecond, experiment_page, experiment_table};
use ramp::{busy, experiment_verdict};
use workload::plan::HostsPlan;

/// What a host left of a ramp.
struct Left {
    rows: Vec<Row>,
    seconds: Vec<TimelineSecond>,
}

/// What the hosts work on.
trait Field {
    /// Runs an administrator's line.
    fn command(&mut self, line: &str) -> Result<()>;
    /// Has every host play its ramp, all starting each run together; `name` tells this from other ramps.
    fn play(&mut self, name: &str, ramps: &[Settings]) -> Result<Vec<Left>>;
    /// What a reader must know of how they ran.
    fn notes(&self) -> Vec<String>;
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
    let factor = match options.scale {
        Some(factor) => factor,
        None => fit(plan, field, &mut |line| say(options, line))?,
    };
    let scaling = Scaling::of(plan, factor);
    let ramps = load::ramps(plan, factor);
    ramps.iter().try_for_each(Settings::check)?;
    let mut half = |name: &str, lines: &[String]| -> Result<Arm> {
        for line in lines {
            field.command(&fitted(line, scaling)?)?;
        }
        say(options, &format!("{name}: {} runs of {} on each host …", plan.runs, plan.run_length));
        let left = field.play(&name.replace(' ', "-"), &ramps)?;
        let seconds: Vec<Vec<TimelineSecond>> = left.iter().map(|host| host.seconds.clone()).collect();
        let host = |(host, left): (&workload::plan::PlannedHost, Left)| HostRows {
            name: host.name.clone(),
            protected: host.protected,
            rows: left.rows,
        };
        Ok(Arm { name: name.into(), hosts: plan.hosts.iter().zip(left).map(host).collect(), busy: busy(&seconds) })
    };
    let arms = [half("with floors", &plan.floors_on)?, half("without floors", &plan.floors_off)?];
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
        arms,
        notes,
    };
    shown(&experiment, options, started)
}

/// Prints and keeps the result.
fn shown(experiment: &Experiment, options: &Options, started: u64) -> Result<Answer> {
    terminal::print(&format!("\n{}", experiment_table(experiment)));
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("--out {}: make the folder", options.out.display()))?;
    let page = options.out.join(format!("{}.html", free_name(&options.out, &stamp(started), "html")));
    std::fs::write(&page, experiment_page(experiment)).with_context(|| page.display().to_string())?;
    terminal::line(&format!("\npage      {}", page.display()));
    match experiment_verdict(experiment) {
        (Outcome::Pass, _) => Ok(Answer::Yes),
        (Outcome::Fail, _) => Ok(Answer::No),
        (Outcome::CannotSay, answers) => {
            let unsaid = answers.into_iter().find(|answer| answer.outcome == Outcome::CannotSay);
            bail!("cannot say: {}", unsaid.map_or(String::new(), |answer| answer.because))
        }
    }
}
