//! Hosts at the level of phases: the write cycles of several hosts on one storage, without single
//! requests.
//!
//! ```text
//!   host 1   sleep │ journal │ blocks      │ sleep          what changes is which phase each host is in; between two
//!   host 2   sleep │ journal   │ blocks         │ sleep     changes all rates stand still
//! ```
//! The cycles are those of [`CycleMachine`](crate::Machine), with the same loads and constants: a
//! burst begins when it is due, goes to the journal in one write at a time, then to its places by
//! several writers, and a late one delays the next. The rates of a phase are requested from the
//! storage; a test checks that both levels agree. Left out: the flushes and the clearing at the
//! ends of phases, four requests in a cycle of seconds.

use crate::cycle::Cycle;
use crate::ladder::RampLoad;
use crate::settings::{Constants, RampSettings};
use crate::summary::{RampRow, effective_write, percentile_90};
use crate::{Accounting, BLOCK};
use block::Span;

/// The phase of a host's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostPhase {
    /// Waits for its next burst.
    Sleeps,
    /// Writes the journal, one write after the other.
    Journal,
    /// Writes the blocks to their places.
    Blocks,
}

/// The rates of a host until something changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Blocks per second in the phase of its writer.
    pub blocks: f64,
    /// Reads per second.
    pub reads: f64,
    /// Seconds per read.
    pub read_response: f64,
}

/// The storage of several hosts.
pub trait Steady {
    /// The rates of each host in these phases, in order.
    fn rates(&mut self, doing: &[HostPhase]) -> Vec<Rates>;
}

/// The outcome of a run of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseRun {
    /// The completed cycles.
    pub cycles: Vec<Cycle>,
    /// Cycles that were due but did not begin.
    pub cycles_missed: u64,
    /// Completed reads.
    pub reads: f64,
    /// Mean seconds per read.
    pub read_mean: f64,
    /// The length of the run.
    pub elapsed: Span,
}

struct Host {
    burst: f64,
    number: u64,
    doing: HostPhase,
    left: f64,
    begun: f64,
    due: f64,
    slept_since: f64,
    journal_end: f64,
    reads: f64,
    waited: f64,
    run: PhaseRun,
}

/// A phase with less than this left is finished: a millionth of a block.
const NOTHING: f64 = 1e-6;

/// Plays a run of several hosts together; all have the cycle and the runtime of the first.
pub fn phases(settings: &RampSettings, loads: &[RampLoad], storage: &mut dyn Steady) -> Vec<PhaseRun> {
    let constants = settings.constants;
    let (period, runtime) = (constants.cycle.as_secs_f64(), settings.runtime.as_secs_f64());
    let mut hosts: Vec<Host> = loads.iter().map(Host::of).collect();
    let mut now = 0.0;
    loop {
        hosts.iter_mut().for_each(|host| host.wake(now, period, runtime));
        let doing: Vec<HostPhase> = hosts.iter().map(|host| host.doing).collect();
        if now >= runtime && doing.iter().all(|doing| *doing == HostPhase::Sleeps) {
            break;
        }
        let rates = storage.rates(&doing);
        let ends = hosts.iter().zip(&rates).filter_map(|(host, rates)| host.changes(now, rates, period, runtime));
        let end = if now < runtime { Some(runtime) } else { None };
        let Some(next) = ends.chain(end).min_by(f64::total_cmp) else { break };
        for (host, rates) in hosts.iter_mut().zip(&rates) {
            host.pass(now, next, rates, runtime);
        }
        now = next;
    }
    let due = ((runtime - NOTHING) / period).floor().max(0.0) as u64;
    hosts.into_iter().map(|host| host.finish(due, now.max(runtime))).collect()
}

impl Host {
    fn of(load: &RampLoad) -> Host {
        Host {
            burst: load.burst as f64,
            number: 0,
            doing: HostPhase::Sleeps,
            left: 0.0,
            begun: 0.0,
            due: 0.0,
            slept_since: 0.0,
            journal_end: 0.0,
            reads: 0.0,
            waited: 0.0,
            run: PhaseRun::default(),
        }
    }

    /// When its next burst begins, if there is one.
    fn begins(&self, period: f64, runtime: f64) -> Option<f64> {
        let begins = ((self.number + 1) as f64 * period).max(self.slept_since);
        (self.doing == HostPhase::Sleeps && self.burst > 0.0 && begins < runtime - NOTHING).then_some(begins)
    }

    fn wake(&mut self, now: f64, period: f64, runtime: f64) {
        let Some(begins) = self.begins(period, runtime).filter(|begins| *begins <= now) else { return };
        self.number += 1;
        self.due = self.number as f64 * period;
        self.begun = begins;
        self.doing = HostPhase::Journal;
        self.left = self.burst + 1.0;
    }

    fn changes(&self, now: f64, rates: &Rates, period: f64, runtime: f64) -> Option<f64> {
        match self.doing {
            HostPhase::Sleeps => self.begins(period, runtime),
            _ if rates.blocks > 0.0 => Some(now + self.left / rates.blocks),
            _ => None,
        }
    }

    fn pass(&mut self, now: f64, next: f64, rates: &Rates, runtime: f64) {
        let reading = (next.min(runtime) - now).max(0.0);
        self.reads += rates.reads * reading;
        self.waited += rates.reads * rates.read_response * reading;
        if self.doing == HostPhase::Sleeps {
            return;
        }
        self.left -= rates.blocks * (next - now);
        if self.left > NOTHING * self.burst.max(1.0) {
            return;
        }
        if self.doing == HostPhase::Journal {
            self.journal_end = next;
            (self.doing, self.left) = (HostPhase::Blocks, self.burst);
            return;
        }
        let span = |seconds: f64| Span::from_nanos((seconds * 1e9).round() as u64);
        self.run.cycles.push(Cycle {
            number: self.number,
            due: span(self.due),
            start: span(self.begun),
            sleep: span(self.begun - self.slept_since),
            wij: span(self.journal_end - self.begun),
            write: span(next - self.journal_end),
            cycle: span(next - self.begun),
            blocks: self.burst as u64,
        });
        (self.doing, self.slept_since) = (HostPhase::Sleeps, next);
    }

    fn finish(mut self, due: u64, end: f64) -> PhaseRun {
        self.run.cycles_missed = due.saturating_sub(self.run.cycles.len() as u64) * u64::from(self.burst > 0.0);
        self.run.reads = self.reads;
        self.run.read_mean = if self.reads > 0.0 { self.waited / self.reads } else { 0.0 };
        self.run.elapsed = Span::from_nanos((end * 1e9).round() as u64);
        self.run
    }
}

impl PhaseRun {
    /// The run as a row of the summary; percentiles are unknown at this level and left empty.
    pub fn row(&self, run: u64, load: &RampLoad, settings: &RampSettings) -> RampRow {
        let elapsed = settings.accounting.elapsed(self.elapsed, settings.runtime);
        let rate = |count: f64| count / elapsed.as_secs_f64().max(1e-9);
        let longest = |of: fn(&Cycle) -> Span| self.cycles.iter().map(of).max().unwrap_or(Span::ZERO);
        let read_mean = Span::from_nanos((self.read_mean * 1e9).round() as u64);
        RampRow {
            run,
            target: load.target,
            read_iops: rate(self.reads),
            write_iops: rate(self.cycles.iter().map(|cycle| cycle.blocks as f64).sum()),
            longest_wij: longest(|cycle| cycle.wij),
            longest_cycle: longest(|cycle| cycle.cycle),
            effective_write_ms: effective_write(&self.cycles, settings.constants.writers),
            read_mean,
            read_service: read_mean,
            cycle_p90: percentile_90(&self.cycles),
            reads: self.reads as u64,
            cycles: self.cycles.len() as u64,
            cycles_missed: self.cycles_missed,
            overruns: self.cycles.iter().filter(|cycle| cycle.overran(settings.constants.cycle)).count() as u64,
            elapsed,
            comparable: settings.accounting == Accounting::Published && settings.differences().is_empty(),
            ..RampRow::default()
        }
    }
}

/// Blocks of one write to the journal.
pub fn journal_write(constants: &Constants) -> u64 {
    (constants.wij_write.0 / BLOCK).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ladder, Steps};

    struct Fixed(f64, f64);

    impl Steady for Fixed {
        fn rates(&mut self, doing: &[HostPhase]) -> Vec<Rates> {
            let blocks = |doing: &HostPhase| match doing {
                HostPhase::Sleeps => 0.0,
                HostPhase::Journal => self.0,
                HostPhase::Blocks => self.1,
            };
            doing.iter().map(|doing| Rates { blocks: blocks(doing), reads: 100.0, read_response: 1e-3 }).collect()
        }
    }

    fn settings(runtime: u64) -> RampSettings {
        RampSettings {
            ladder: Ladder { min: 1000, max: 1000, runs: 1, steps: Steps::AboveMinimum },
            runtime: Span::from_secs(runtime),
            wij_file: String::new(),
            system: String::new(),
            comment: String::new(),
            warm_up: false,
            accounting: Accounting::Published,
            constants: Constants::default(),
            seed: 1,
        }
    }

    /// 20 000 blocks and a header at 4000 a second to the journal and 2000 a second to their
    /// places: 5.00025 and 10 s, 22 times in 1800 s, divided by 1820.
    #[test]
    fn a_cycle_is_the_sum_of_its_phases() {
        let settings = settings(1800);
        let load = RampLoad::of(1000, &settings.constants);
        let run = &phases(&settings, &[load], &mut Fixed(4000.0, 2000.0))[0];
        let row = run.row(0, &load, &settings);
        assert_eq!((row.cycles, row.cycles_missed, row.overruns), (22, 0, 0));
        assert!((row.longest_cycle.as_secs_f64() - 15.000_25).abs() < 1e-6, "{:?}", row.longest_cycle);
        assert!(
            (row.write_iops - 22.0 * 20_000.0 / 1820.0).abs() < 1e-6
                && (row.read_iops - 180_000.0 / 1820.0).abs() < 1e-6
        );
        // 8 writers at 2000 blocks a second: 4 ms a block.
        assert!(row.effective_write_ms.is_some_and(|ms| (ms - 4.0).abs() < 1e-6));
    }

    /// A burst of 100 s at a period of 80: the next begins when it ends, and what is due is missed
    /// in the end.
    #[test]
    fn a_late_cycle_delays_the_next() {
        let settings = settings(480);
        let load = RampLoad::of(1000, &settings.constants);
        let run = &phases(&settings, &[load], &mut Fixed(20_001.0 / 50.0, 400.0))[0];
        // Due at 80, 160, 240, 320 and 400; begun at 80, 180, 280 and 380, which ends at 480: the
        // fifth never begins.
        let begun: Vec<f64> = run.cycles.iter().map(|cycle| cycle.start.as_secs_f64()).collect();
        assert!(begun.iter().zip([80.0, 180.0, 280.0, 380.0]).all(|(a, b)| (a - b).abs() < 1e-3), "{begun:?}");
        assert_eq!((run.cycles.len(), run.cycles_missed), (4, 1));
    }
}
