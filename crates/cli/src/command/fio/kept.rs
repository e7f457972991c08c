//! Jobs as any run is kept: who loads what, what was asked, and what came of it.

use crate::memory::{self, Kept};
use crate::play::now_unix_ms;
use block::Span;
use fio::Invocation;
use stats::job::JobOutcome;
use stats::run::{Point, Run, RunActor, RunPlace, State};
use std::path::Path;
use workload::job::{Direction, EngineKind, JobSpec, Mix, Pace, stages};

/// The files and devices that jobs load.
pub fn paths(specs: &[JobSpec]) -> Vec<&Path> {
    let files = specs.iter().flat_map(|spec| match &spec.place {
        workload::job::JobPlace::Files(files) => &files[..],
        workload::job::JobPlace::Named { .. } | workload::job::JobPlace::Null { .. } => &[],
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
    let mut run = Run { identity, machine: memory::this_machine(backend), ..Run::default() };
    for (number, spec) in (0..).zip(specs) {
        let place = Some(run.place(place(spec)));
        run.actors.push(RunActor { name: spec.name.clone(), group: Some(spec.group), place, ..RunActor::default() });
        settings(&mut run, number, spec);
    }
    run
}

/// The same jobs at their end. Those that were stopped by hand are cut short.
pub fn ended(mut run: Run, outcomes: &[JobOutcome], interrupted: bool) -> Run {
    run_on(&mut run, outcomes);
    let failed = outcomes.iter().any(|outcome| outcome.error.is_some());
    run.identity.state = if interrupted || failed { State::CutShort } else { State::Ended };
    run
}

/// Says by what their I/O ran.
fn run_on(run: &mut Run, outcomes: &[JobOutcome]) {
    if let Some(first) = outcomes.first().filter(|_| !run.identity.simulated) {
        run.machine.backend.clone_from(&first.backend);
    }
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
        let (mut run, stages) = (self.begun.clone(), stages(self.specs));
        run_on(&mut run, &outcomes);
        for (number, jobs) in stages.iter().enumerate() {
            run.points.push(Point::stage(number, stages.len()));
            run.add_stage(jobs.start as u32, &outcomes[jobs.clone()]);
        }
        self.kept.so_far(run);
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

fn place(spec: &JobSpec) -> RunPlace {
    let (kind, name, size) = match &spec.place {
        workload::job::JobPlace::Files(files) => {
            let names: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
            ("file", names.join(", "), None)
        }
        workload::job::JobPlace::Named { name, .. } => (named(name), name.clone(), None),
        workload::job::JobPlace::Null { size } => ("null", "null".to_owned(), Some(size.0)),
    };
    RunPlace { kind: kind.into(), name, size }
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
