//! Selects the cycles that say something about floors. The speed of a disk varies from cycle to
//! cycle; if it did less than the protected hosts need beside that run's neighbours, no floor could
//! have been kept. Such a cycle is left out in both halves.

use super::{Arm, Busy, Experiment, HostRows};
use block::Span;

impl Experiment {
    /// Whether a cycle counts: the storage did enough while it lasted. If the hosts hardly ever
    /// wrote at the same time, there was enough capacity.
    pub(super) fn says(&self, arm: &Arm, run: usize, cycle: usize) -> bool {
        let busy = arm.busy.get(run).and_then(|cycles| *cycles.get(cycle)?).filter(Busy::is_long);
        let window = self.windows.get(run).unwrap_or(self.window());
        busy.is_none_or(|busy| window.check_low(busy.blocks_per_second).is_ok())
    }

    /// The cycles of a host that count, each with the index of its run.
    pub(super) fn judged<'a>(&'a self, arm: &'a Arm, host: &'a HostRows) -> impl Iterator<Item = (usize, Span)> + 'a {
        host.cycles.iter().enumerate().flat_map(move |(run, cycles)| {
            let says = move |(cycle, took): (usize, &Option<Span>)| took.filter(|_| self.says(arm, run, cycle));
            cycles.iter().enumerate().filter_map(says).map(move |took| (run, took))
        })
    }

    /// The longest of them; `None` if there are none.
    pub(super) fn longest(&self, arm: &Arm, host: &HostRows) -> Option<Span> {
        self.judged(arm, host).map(|(_, took)| took).max()
    }

    /// The mark in a table beside the longest cycle of a host's run: `*` if a cycle that counts is
    /// not below the limit, `~` if one that does not count is not.
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

    /// Number of cycles of a half that are left out, and of all cycles; those of all hosts in a
    /// period are one.
    pub(super) fn left_out(&self, arm: &Arm) -> (usize, usize) {
        let places = arm.busy.iter().enumerate().flat_map(|(run, cycles)| (0..cycles.len()).map(move |at| (run, at)));
        places.fold((0, 0), |(out, all), (run, at)| (out + usize::from(!self.says(arm, run, at)), all + 1))
    }
}
