//! The capacity of the storage in the experiment's own mix: what it does while all hosts write at
//! once.
//!
//! ```text
//!   host 1   ──────▓▓▓▓▓▓▓▓▓▓▓──────     ▓ a write cycle
//!   host 2   ──────▓▓▓▓▓▓▓▓▓────────
//!   host 3   ──────▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓─
//!                  └ counted ┘           every host's cycle is under way
//! ```

use crate::timeline::TimelineSecond;
use block::Span;
use std::ops::Range;

/// The storage's throughput with work from every host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Busy {
    /// Blocks transferred per second: reads, blocks to the journal, blocks to the database, of all
    /// hosts.
    pub blocks_per_second: f64,
    /// The duration, in seconds.
    pub seconds: f64,
}

impl Busy {
    /// Minimum time in seconds for which all hosts must write; below it the figure is only a hint,
    /// because the resolution is one second.
    const LEAST: f64 = 1.0;

    /// The combined figure; `None` if there are none.
    pub fn together(of: impl Iterator<Item = Busy>) -> Option<Busy> {
        let (blocks, seconds) =
            of.fold((0.0, 0.0), |(b, s), busy| (b + busy.blocks_per_second * busy.seconds, s + busy.seconds));
        (seconds > 0.0).then(|| Busy { blocks_per_second: blocks / seconds, seconds })
    }

    /// Whether it lasted long enough to be reliable.
    pub fn is_long(&self) -> bool {
        self.seconds >= Busy::LEAST
    }
}

/// What `hosts`, each with its seconds, did together in a run, from 0. A second counts by the
/// fraction of it in which all of them wrote, so that a burst is included from its journal to its
/// last block. `None` if they never wrote together.
pub fn busy(hosts: &[Vec<TimelineSecond>], run: u64) -> Option<Busy> {
    let hosts = of_run(hosts, run);
    busy_within(&hosts, 0..hosts.iter().map(Vec::len).min()?)
}

/// The same for each cycle's period, the first of which begins one period after the run does.
pub fn busy_by_cycle(hosts: &[Vec<TimelineSecond>], run: u64, period: Span) -> Vec<Option<Busy>> {
    let hosts = of_run(hosts, run);
    let end = hosts.iter().map(Vec::len).min().unwrap_or(0);
    let bound = |cycle: usize| ((period.as_secs_f64() * cycle as f64).round() as usize).min(end);
    let cycles = (1..).take_while(|cycle| bound(*cycle) < bound(cycle + 1));
    cycles.map(|cycle| busy_within(&hosts, bound(cycle)..bound(cycle + 1))).collect()
}

fn of_run(hosts: &[Vec<TimelineSecond>], run: u64) -> Vec<Vec<&TimelineSecond>> {
    hosts.iter().map(|seconds| seconds.iter().filter(|second| second.run == run).collect()).collect()
}

fn busy_within(hosts: &[Vec<&TimelineSecond>], seconds: Range<usize>) -> Option<Busy> {
    let (mut blocks, mut total) = (0.0, 0.0);
    for at in seconds {
        let part = hosts.iter().map(|host| host[at].cycle).fold(1.0, f64::min);
        blocks += part * hosts.iter().map(|host| host[at].blocks()).sum::<u64>() as f64;
        total += part;
    }
    (total > 0.0).then(|| Busy { blocks_per_second: blocks / total, seconds: total })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(run: u64, cycles: &[f64]) -> Vec<TimelineSecond> {
        let second = |(second, cycle): (usize, &f64)| TimelineSecond {
            run,
            second: second as u64,
            reads: 100,
            writes: 10,
            journal: 1,
            cycle: *cycle,
        };
        cycles.iter().enumerate().map(second).collect()
    }

    /// Second 1 counts fully with 2 · 111 blocks, second 2 counts half with twice as many, second 3
    /// has only one host: (222 + 0.5 · 444) / 1.5 = 296.
    #[test]
    fn seconds_count_by_the_part_in_which_everybody_writes() {
        let (mut one, mut other) = (host(4, &[0.0, 1.0, 0.5, 0.0]), host(4, &[0.0, 1.0, 1.0, 1.0]));
        for host in [&mut one, &mut other] {
            (host[2].reads, host[2].writes, host[2].journal) = (200, 20, 2);
        }
        assert_eq!(busy(&[one, other], 4), Some(Busy { blocks_per_second: 296.0, seconds: 1.5 }));
    }

    /// A period of 2 s: the first cycle is due in second 2, the next in second 4; the last period
    /// is cut short by the end.
    #[test]
    fn each_cycle_has_its_own() {
        let mut one = host(1, &[0.0, 0.0, 1.0, 0.0, 1.0]);
        one[4].reads = 300;
        let found = busy_by_cycle(&[one.clone(), one], 1, Span::from_secs(2));
        let busy = |blocks_per_second| Some(Busy { blocks_per_second, seconds: 1.0 });
        assert_eq!(found, [busy(222.0), busy(622.0)]);
        assert_eq!(Busy::together(found.into_iter().flatten()), Some(Busy { blocks_per_second: 422.0, seconds: 2.0 }));
        assert_eq!(Busy::together(std::iter::empty()), None);
    }

    #[test]
    fn only_that_run_counts_and_without_such_a_second_nothing_is_said() {
        let early = [host(0, &[1.0, 1.0]), host(1, &[0.0, 0.9])].concat();
        let both = [early.clone(), early.clone()];
        assert!(busy(&both, 1).is_some_and(|busy| !busy.is_long() && busy.seconds == 0.9));
        assert!(busy(&both, 0).is_some_and(|busy| busy.is_long() && busy.seconds == 2.0));
        assert_eq!(busy(&both, 2), None);
        assert_eq!(busy(&[early, host(1, &[0.0, 0.0, 1.0])], 1), None);
        assert_eq!(busy(&[], 0), None);
        assert_eq!(busy(&[Vec::new(), host(0, &[1.0])], 0), None);
    }
}
