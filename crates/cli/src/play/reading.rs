//! A plan before it is played: read, checked with every command in it, sized and scaled.

use super::Options;
use crate::scale;
use anyhow::{Result, bail};
use block::Span;
use stage::{Elsewhere, Rehearsed, check_forms, clones, rehearse};
use workload::Plan;
use workload::plan::Volume;

/// Reads the plan and checks it with all of its commands. Nothing has been created yet.
pub(super) fn read(text: &str, file: &str, options: &Options) -> Result<Plan> {
    let mut plan = match options.seed {
        Some(seed) => Plan::read_seeded(text, file, seed)?,
        None => Plan::read(text, file)?,
    };
    if let Some(seconds) = options.phase_seconds {
        plan.phase_length = Span::from_secs(seconds);
    }
    plan.device = options.device.clone().or(plan.device);
    let lines = plan.phases.iter().flat_map(|phase| phase.commands.iter().map(move |line| (&phase.name, line)));
    let wrong = lines.filter_map(|(phase, line)| {
        let error = scale::line(line, 1.0).err()?;
        Some(format!("{}: phase {phase:?}: {error:#}", plan.at_command(phase, line)))
    });
    let wrong: Vec<String> = wrong.collect();
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    clones::check(&plan)?;
    Ok(plan)
}

/// The plan with all of its sizes, after checking the form of its places and rehearsing its
/// commands.
pub(super) fn sized(plan: Plan, options: &Options, elsewhere: &Elsewhere<'_>) -> Result<Plan> {
    check_forms(&plan)?;
    let origin = |volume: &Volume| options.origin(volume).or_else(|| elsewhere.option(&volume.name));
    let plan = plan.sized_by(options.volume_size(), origin)?;
    let phases = plan.phases.iter();
    let phases = phases.map(|phase| Rehearsed { before: &phase.name, phase: &phase.name, commands: &phase.commands });
    rehearse(&plan, phases)?;
    Ok(plan)
}

/// The plan with its loads scaled, and the commands of each phase as they will be run.
pub(super) fn scaled(plan: &Plan, factor: f64) -> Result<(Plan, Vec<Vec<String>>)> {
    let lines = |phase: &workload::plan::Phase| phase.commands.iter().map(|line| scale::line(line, factor)).collect();
    let commands = plan.phases.iter().map(lines).collect::<Result<_>>()?;
    Ok((plan.scaled(factor), commands))
}
