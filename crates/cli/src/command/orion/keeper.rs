//! A test kept as it goes: one run in the results database, of which each point of the matrix is a point.

use crate::memory::{Kept, Memory};
use orion::{Measured, Test, Where};
use stats::run::{Run, State};

/// A test under way, as far as it is kept.
pub struct Keeper<'t> {
    test: &'t Test,
    begun: Run,
    kept: Kept,
}

impl<'t> Keeper<'t> {
    /// Begins to keep a test; `begun` says where it comes from.
    pub fn begin(memory: &Memory, test: &'t Test, begun: Run) -> Keeper<'t> {
        let files = test.volumes.iter().filter(|volume| volume.at == Where::File).map(|volume| &volume.name);
        let kept = memory.loading(files).begin(begun.clone());
        Keeper { test, begun, kept }
    }

    /// Whether it is time to write what there is.
    pub fn is_due(&self) -> bool {
        self.kept.is_due()
    }

    /// Writes the points that are over, and what the one under way did so far.
    pub fn so_far(&mut self, over: &[Measured], under_way: Option<Measured>) {
        let points: Vec<Measured> = over.iter().cloned().chain(under_way).collect();
        let mut run = self.run(&points);
        // Part of a point proves nothing.
        run.verdicts = orion::verdicts(&self.test.proofs(over));
        self.kept.so_far(run);
    }

    /// Keeps the test as it ended.
    pub fn end(self, points: &[Measured]) {
        let run = self.run(points);
        self.kept.end(run);
    }

    /// Keeps nothing of it: it was refused before it did anything.
    pub fn forget(self) {
        self.kept.forget();
    }

    /// What these points are.
    fn run(&self, points: &[Measured]) -> Run {
        let Run { identity, machine, .. } = &self.begun;
        let mut run = Run { identity: identity.clone(), machine: machine.clone(), ..orion::kept(self.test, points) };
        let whole = points.len() == self.test.grid.spots.len() && points.iter().all(|point| point.trouble().is_none());
        run.identity.state = if whole { State::Ended } else { State::CutShort };
        let work = points.iter().flat_map(Measured::works).next();
        if let Some((_, work)) = work.filter(|_| !self.test.simulated) {
            run.machine.backend.clone_from(&work.backend);
        }
        run
    }
}
