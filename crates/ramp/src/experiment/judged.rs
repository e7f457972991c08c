//! Which cycles say something of floors. What a disk can do wavers from cycle to cycle; where it
//! did less than the protected hosts need beside that run's neighbours, no floor could have held,
//! and none would have been missed. Such a cycle is left out, in both halves.

use super::{Arm, Busy, Experiment, HostRows};
use block::Span;

impl Experiment {
    /// Whether a cycle says something: the storage did enough while it lasted. Where the hosts
    /// hardly ever wrote at the same time there was room enough.
    pub(super) fn says(&self, arm: &Arm, run: usize, cycle: usize) -> bool {
        let busy = arm.busy.get(run).and_then(|cycles| *cycles.get(cycle)?).filter(Busy::is_long);
        let window = self.windows.get(run).unwrap_or(self.window());
        busy.is_none_or(|busy| window.check_low(busy.blocks_per_second).is_ok())
    }

    /// The cycles of a host that say something, each with the place of its run.
    pub(super) fn judged<'a>(&'a self, arm: &'a Arm, host: &'a HostRows) -> impl Iterator<Item = (usize, Span)> + 'a {
        host.cycles.iter().enumerate().flat_map(move |(run, cycles)| {
            let says = move |(cycle, took): (usize, &Option<Span>)| took.filter(|_| self.says(arm, run, cycle));
            cycles.iter().enumerate().filter_map(says).map(move |took| (run, took))
        })
    }

    /// The longest of them; `None` where there is none.
    pub(super) fn longest(&self, arm: &Arm, host: &HostRows) -> Option<Span> {
        self.judged(arm, host).map(|(_, took)| took).max()
    }

    /// What a table says beside the longest cycle of a host's run: `*` where one that says
    /// something is not below the limit, `~` where one is not that says nothing.
    pub(super) fn mark(&self, arm: &Arm, host: &HostRows, run: usize) -> char {
        let limit = self.limit();
        let missed = |took: Option<Span>| took.is_some_and(|took| took >= limit);
        if missed(self.judged(arm, host).filter(|(of, _)| *of == run).map(|(_, took)| took).max()) {
            '*'
        } else if missed(host.cycles.get(run).and_then(|cycles| cycles.iter().copied().max()?)) {
            '~'
        } else {
            ' '
        }
    }

    /// How many cycles of a half are left out, and how many it has: those of all hosts in a period
    /// are one.
    pub(super) fn left_out(&self, arm: &Arm) -> (usize, usize) {
        let places = arm.busy.iter().enumerate().flat_map(|(run, cycles)| (0..cycles.len()).map(move |at| (run, at)));
        places.fold((0, 0), |(out, all), (run, at)| (out + usize::from(!self.says(arm, run, at)), all + 1))
    }
}
