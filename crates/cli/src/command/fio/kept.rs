//! Jobs as any run is kept: who loads what, what was asked, and what came of it.

use crate::memory::{self, Kept};
use crate::play::now_unix_ms;
use block::Span;
use fio::Invocation;
use stats::job::JobOutcome;
use stats::run::{Place, Run, State};
use std::path::Path;
use workload::job::{Direction, EngineKind, JobSpec, Mix, Pace};

/// The files and devices that jobs load.
pub fn paths(specs: &[JobSpec]) -> Vec<&Path> {
    let files = specs.iter().flat_map(|spec| match &spec.place {
        workload::job::Place::Files(files) => &files[..],
        workload::job::Place::Named { .. } | workload::job::Place::Null { .. } => &[],
    });
    files.map(|file| file.path.as_path()).collect()
}

/// Jobs that begin now.
pub fn begun(invocation: &Invocation, specs: &[JobSpec], simulated: bool) -> Run {
    let mut names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    names.dedup();
    let mut identity = memory::identity("fio", names.join(", "), now_unix_ms());
    identity.text = invocation.command();
    identity.simulated = simulated;
    identity.seed = specs.first().map_or(0, |spec| spec.seed);
    let backend = if simulated { "virtual time" } else { "" };
    Run { identity, machine: memory::this_machine(backend), ..Run::default() }
}

/// The same jobs at their end. Those that were stopped by hand are cut short.
pub fn ended(begun: &Run, specs: &[JobSpec], outcomes: &[JobOutcome], interrupted: bool) -> Run {
    let mut run = begun.clone();
    let mut stage = 0;
    let stages = specs.iter().enumerate().map(|(index, spec)| {
        stage += usize::from(index > 0 && spec.start.after_earlier);
        stage
    });
    run.add_jobs(outcomes.iter().zip(stages));
    for (number, spec) in specs.iter().enumerate().take(run.actors.len()) {
        // Of a job that did not begin yet nothing else is known.
        run.actors[number].name.clone_from(&spec.name);
        let place = run.place(place(spec));
        run.actors[number].place = Some(place);
        settings(&mut run, number as u32, spec);
    }
    run.machine.backend = match outcomes.first() {
        Some(first) if !begun.identity.simulated => first.backend.clone(),
        _ => run.machine.backend,
    };
    let failed = outcomes.iter().any(|outcome| outcome.error.is_some());
    run.identity.state = if interrupted || failed { State::CutShort } else { State::Ended };
    run
}

/// Jobs as they are kept while they run.
pub struct Keeping<'k> {
    /// As they began.
    pub begun: &'k Run,
    /// What they are.
    pub specs: &'k [JobSpec],
    /// Where they are kept.
    pub kept: &'k mut Kept,
}

impl Keeping<'_> {
    /// Writes what they did so far.
    pub fn so_far(&mut self, mut outcomes: Vec<JobOutcome>) {
        for (outcome, spec) in outcomes.iter_mut().zip(self.specs) {
            // What a job does in its ramp is no result.
            if outcome.elapsed <= spec.ending.ramp && spec.ending.ramp > Span::ZERO {
                *outcome = JobOutcome::default();
            }
        }
        self.kept.so_far(ended(self.begun, self.specs, &outcomes, false));
    }
}

/// What a place that was named is.
fn named(name: &str) -> &'static str {
    match storage::Place::parse(name) {
        Ok(storage::Place::Joined { stripe: Some(_), .. }) => "striped",
        Ok(storage::Place::Joined { stripe: None, .. }) => "concatenated",
        Ok(storage::Place::Nfs { .. }) => "nfs",
        _ => "nbd",
    }
}

fn place(spec: &JobSpec) -> Place {
    let (kind, name, size) = match &spec.place {
        workload::job::Place::Files(files) => {
            let names: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
            ("file", names.join(", "), None)
        }
        workload::job::Place::Named { name, .. } => (named(name), name.clone(), None),
        workload::job::Place::Null { size } => ("null", "null".to_owned(), Some(size.0)),
    };
    Place { kind: kind.into(), name, size }
}

fn settings(run: &mut Run, actor: u32, spec: &JobSpec) {
    let actor = Some(actor);
    let (mix, read_percent) = match spec.reach.mix {
        Mix::Only(direction) => (direction.name(), (direction == Direction::Read).then_some(100)),
        Mix::ReadWrite { read_percent } => ("readwrite", Some(read_percent)),
        Mix::TrimThenWrite => ("trimwrite", None),
    };
    run.set(actor, "mix", mix);
    if let Some(percent) = read_percent {
        run.set(actor, "read_percent", f64::from(percent));
    }
    run.set(actor, "order", if spec.reach.order.is_random() { "random" } else { "sequential" });
    for direction in Direction::ALL.into_iter().filter(|direction| spec.reach.mix.has(*direction)) {
        let blocks = &spec.reach.blocks[direction];
        run.set(actor, &format!("{}_block_bytes", direction.name()), f64::from(blocks.most()));
        match spec.pacing.rate[direction] {
            Some(Pace::Iops(rate)) => run.set(actor, &format!("{}_rate_iops", direction.name()), rate.0 as f64),
            Some(Pace::Throughput(rate)) => run.set(actor, &format!("{}_rate_bytes", direction.name()), rate.0 as f64),
            None => {}
        }
    }
    run.set(actor, "depth", f64::from(spec.pacing.depth));
    run.set(actor, "direct", if spec.direct { "yes" } else { "no" });
    let engine = match spec.engine {
        EngineKind::Uring => "io_uring",
        EngineKind::Sync => "system calls",
    };
    run.set(actor, "engine", engine);
}
