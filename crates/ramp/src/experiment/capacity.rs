//! What the storage does while all hosts write at once: its capacity in the experiment's own mix.
//!
//! ```text
//!   host 1   ──────▓▓▓▓▓▓▓▓▓▓▓──────     ▓ a write cycle
//!   host 2   ──────▓▓▓▓▓▓▓▓▓────────
//!   host 3   ──────▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓─
//!                  └ counted ┘           whole seconds in which every host's cycle is under way
//! ```

use crate::timeline::TimelineSecond;

/// Storage with work from everybody.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Busy {
    /// Blocks moved a second: reads, blocks to the journal, blocks to the database, of all hosts.
    pub blocks_per_second: f64,
    /// Whole seconds that were counted.
    pub seconds: u64,
}

/// How much of a second a host's cycle must be under way for the second to count: hosts start within milliseconds of
/// each other.
const WHOLE: f64 = 0.98;

/// What `hosts`, each with its seconds, did together in their last run. `None` where there was no second in which all of
/// them wrote.
pub fn busy(hosts: &[Vec<TimelineSecond>]) -> Option<Busy> {
    let last: Vec<Vec<&TimelineSecond>> = hosts
        .iter()
        .map(|seconds| {
            let run = seconds.iter().map(|second| second.run).max();
            seconds.iter().filter(|second| Some(second.run) == run).collect()
        })
        .collect();
    let common = last.iter().map(Vec::len).min()?;
    let counts = |at: &usize| last.iter().all(|host| host[*at].cycle >= WHOLE);
    let sums: Vec<u64> = (0..common).filter(counts).map(|at| last.iter().map(|host| host[at].blocks()).sum()).collect();
    let seconds = sums.len() as u64;
    (seconds > 0).then(|| Busy { blocks_per_second: sums.iter().sum::<u64>() as f64 / seconds as f64, seconds })
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

    /// Seconds 1 and 2 are whole for both: 2 · 111 blocks each. Second 3 is only one host's.
    #[test]
    fn seconds_count_in_which_everybody_writes() {
        let found = busy(&[host(4, &[0.0, 1.0, 0.99, 0.3]), host(4, &[0.0, 1.0, 1.0, 1.0])]);
        assert_eq!(found, Some(Busy { blocks_per_second: 222.0, seconds: 2 }));
    }

    #[test]
    fn only_the_last_run_counts_and_without_such_a_second_nothing_is_said() {
        let early = [host(0, &[1.0, 1.0]), host(1, &[0.0, 0.5])].concat();
        assert_eq!(busy(&[early.clone(), early]), None);
        assert_eq!(busy(&[]), None);
        assert_eq!(busy(&[Vec::new(), host(0, &[1.0])]), None);
    }
}
