//! Load jobs as a course: each stage of the jobs is a point.

use crate::course::{self, Scene, StageError};
use block::Time;
use stats::job::JobOutcome;
use stats::run::{Point, Run};
use std::ops::Range;
use workload::job::{JobSpec, stages};

/// Runs the jobs of a stage: on threads by the wall clock, or on one device in virtual time.
pub(super) trait Crews {
    /// Its clock.
    fn now(&self) -> Time;

    /// Runs the jobs of the next stage; `done` has the outcomes of the earlier ones.
    fn run(&mut self, jobs: Range<usize>, done: &[JobOutcome]) -> Vec<JobOutcome>;
}

struct Stages<'c> {
    crews: &'c mut dyn Crews,
    stages: Vec<Range<usize>>,
    played: usize,
    outcomes: Vec<JobOutcome>,
}

/// Plays the stages of the jobs, which are the first actors of `run`, and adds them to it. Returns
/// the outcome of each job in order.
pub(super) fn play(specs: &[JobSpec], crews: &mut dyn Crews, run: Run) -> (Run, Vec<JobOutcome>) {
    let outcomes = Vec::with_capacity(specs.len());
    let mut stages = Stages { crews, stages: stages(specs), played: 0, outcomes };
    // A stage has no command lines that could fail; its errors are in the outcomes.
    let (run, _) = course::play(&mut stages, run);
    (run, stages.outcomes)
}

impl Scene for Stages<'_> {
    type Error = StageError;

    fn now(&self) -> Time {
        self.crews.now()
    }

    fn next(&mut self, _run: &Run) -> Option<Point> {
        (self.played < self.stages.len()).then(|| Point::stage(self.played, self.stages.len()))
    }

    fn play(&mut self, _start: Time, run: &mut Run) -> Result<bool, StageError> {
        let jobs = self.stages[self.played].clone();
        let first = jobs.start as u32;
        let outcomes = self.crews.run(jobs, &self.outcomes);
        run.add_stage(first, &outcomes);
        self.outcomes.extend(outcomes);
        self.played += 1;
        // Jobs of later stages report themselves that they were not run.
        Ok(true)
    }
}
