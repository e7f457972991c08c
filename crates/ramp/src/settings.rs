//! The settings of a ramp: the published options, and the constants that they leave out, each with
//! its name.

use crate::ladder::{Ladder, RampLoad};
use block::{Bytes, Span};
use report::text::count;

/// The placement of targets between the ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steps {
    /// `min + i · (max − min) / n`, as in the published tables: the first run is a step above the
    /// minimum.
    #[default]
    AboveMinimum,
    /// The first run is at the minimum, the last at the maximum.
    Inclusive,
}

/// The divisor of counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accounting {
    /// The time that the run took.
    #[default]
    True,
    /// The planned length of the run plus 20 s, as the published tables imply; for comparison with
    /// them.
    Published,
}

impl Accounting {
    /// The published divisor minus the length of a run: `0.75 · T · 1800 / Read` is 1820 s on
    /// average.
    pub const PADDING: Span = Span::from_secs(20);

    /// The divisor for a run that took `elapsed` and was planned for `runtime`. A published run
    /// whose last cycle ended 33 s after its length has the same divisor as the others.
    pub fn elapsed(self, elapsed: Span, runtime: Span) -> Span {
        match self {
            Accounting::True => elapsed,
            Accounting::Published => elapsed.min(runtime) + Accounting::PADDING,
        }
    }
}

/// The constants of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// From one write cycle's due time to the next.
    pub cycle: Span,
    /// Percent of the operations that are reads.
    pub read_percent: u32,
    /// Synchronous writers of a burst's random phase: the write daemon's helpers.
    pub writers: u32,
    /// Maximum reads in flight; later ones wait, and their wait counts.
    pub readers: u32,
    /// Size of a journal write.
    pub wij_write: Bytes,
    /// Duration of the load before the first run, which is not measured; at least one whole cycle.
    pub warmup: Span,
    /// Bytes per second of a transaction journal that is written beside the cycles; 0 for none.
    pub journal: Bytes,
}

impl Default for Constants {
    fn default() -> Constants {
        Constants {
            cycle: Constants::CYCLE,
            read_percent: 75,
            writers: 8,
            readers: 128,
            wij_write: Bytes::kib(256),
            warmup: Span::from_secs(60),
            journal: Bytes(0),
        }
    }
}

impl Constants {
    /// The database's own period.
    pub const CYCLE: Span = Span::from_secs(80);
    /// The time in which a burst must be written, at a period of [`Constants::CYCLE`].
    pub const CYCLE_LIMIT: Span = Span::from_secs(45);

    /// The limit for a write cycle at this period: 45 s at 80 s, and in the same ratio otherwise.
    pub fn cycle_limit(&self) -> Span {
        let limit = u128::from(self.cycle.as_nanos()) * u128::from(Constants::CYCLE_LIMIT.as_nanos())
            / u128::from(Constants::CYCLE.as_nanos());
        Span::from_nanos(u64::try_from(limit).unwrap_or(u64::MAX))
    }
}

/// A whole ramp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RampSettings {
    /// The targets.
    pub ladder: Ladder,
    /// Length of a run.
    pub runtime: Span,
    /// The journal's file.
    pub wij_file: String,
    /// The host's label.
    pub system: String,
    /// Free text.
    pub comment: String,
    /// Load before the first run.
    pub warm_up: bool,
    /// The divisor of counts.
    pub accounting: Accounting,
    /// The constants of the test.
    pub constants: Constants,
    /// Seed of every random choice.
    pub seed: u64,
}

/// A setting that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The ends are in the wrong order.
    #[error("--maxiops: must not be below --miniops ({min}), got {max}")]
    Ends {
        /// Lower end.
        min: u64,
        /// Upper end.
        max: u64,
    },
    /// A setting is out of range.
    #[error("{option}: must be {rule}, got {given}")]
    Range {
        /// The option.
        option: &'static str,
        /// The range, in words.
        rule: &'static str,
        /// What was given.
        given: String,
    },
}

impl RampSettings {
    /// The longest run.
    pub const RUNTIME_MAX: Span = Span::from_secs(7 * 24 * 3600);
    /// The fastest transaction journal, a second.
    const JOURNAL_MAX: Bytes = Bytes::gib(1);

    /// Checks whether such a ramp can be run.
    ///
    /// # Errors
    /// The first setting that breaks a rule.
    pub fn check(&self) -> Result<(), SettingsError> {
        let range = |holds: bool, option, rule, given: String| match holds {
            true => Ok(()),
            false => Err(SettingsError::Range { option, rule, given }),
        };
        let Ladder { min, max, runs, .. } = self.ladder;
        let Constants { cycle, read_percent, writers, readers, wij_write, journal, .. } = self.constants;
        let rate = "between 1 and 100000000 IOPS";
        range((1..=100_000_000).contains(&min), "--miniops", rate, min.to_string())?;
        range((1..=100_000_000).contains(&max), "--maxiops", rate, max.to_string())?;
        if max < min {
            return Err(SettingsError::Ends { min, max });
        }
        range((1..=1000).contains(&runs), "--numruns", "between 1 and 1000", runs.to_string())?;
        let lengths = Span::SECOND..=RampSettings::RUNTIME_MAX;
        range(lengths.contains(&self.runtime), "--runtime", "between 1s and 7 days", self.runtime.to_string())?;
        range(lengths.contains(&cycle), "--cycle", "between 1s and 7 days", cycle.to_string())?;
        range(read_percent <= 99, "--read-percent", "between 0 and 99", read_percent.to_string())?;
        range((1..=1024).contains(&writers), "--writers", "between 1 and 1024", writers.to_string())?;
        range((1..=4096).contains(&readers), "--readers", "between 1 and 4096", readers.to_string())?;
        let whole = wij_write.0.is_multiple_of(crate::BLOCK) && (crate::BLOCK..=16 << 20).contains(&wij_write.0);
        range(whole, "--wij-write", "a multiple of 8 KiB up to 16 MiB", wij_write.to_string())?;
        let journal_most = RampSettings::JOURNAL_MAX;
        range(journal <= journal_most, "--journal-rate", "at most 1 GiB a second", journal.to_string())
    }

    /// The load of each run.
    pub fn loads(&self) -> Vec<RampLoad> {
        self.ladder.targets().into_iter().map(|target| RampLoad::of(target, &self.constants)).collect()
    }

    /// Bursts that begin within a run: one at the end of each period, except at the run's end.
    pub fn bursts(&self) -> u64 {
        self.runtime.as_nanos().saturating_sub(1) / self.constants.cycle.as_nanos().max(1)
    }

    /// The fraction of a target that a run can reach. The first burst begins a period after the
    /// start, so that there is one burst less than the rate needs: with two bursts in 24 s at a
    /// period of 8 s, 0.75 + 0.25 · 2 · 8 / 24 = 0.917.
    pub fn reachable(&self) -> f64 {
        let reads = f64::from(self.constants.read_percent) / 100.0;
        let written = self.bursts() as f64 * self.constants.cycle.as_secs_f64() / self.runtime.as_secs_f64();
        reads + (1.0 - reads) * written
    }

    /// Duration of the load before the first run: the warm-up, or the time for one whole cycle if
    /// that is longer.
    pub fn warm_up_length(&self) -> Span {
        self.constants.warmup.max(self.constants.cycle + Span::from_nanos(1))
    }

    /// Duration of all runs and the warm-up.
    pub fn total(&self) -> Span {
        let warm_up = if self.warm_up { self.warm_up_length() } else { Span::ZERO };
        warm_up + self.runtime * u64::from(self.ladder.runs)
    }

    /// Why the figures cannot be compared with published ones; empty if they can.
    pub fn differences(&self) -> Vec<String> {
        let (now, usual) = (&self.constants, Constants::default());
        let mut found = Vec::new();
        let mut note = |differs: bool, text: String| found.extend(differs.then_some(text));
        note(now.cycle != usual.cycle, format!("a write cycle every {} instead of {}", now.cycle, usual.cycle));
        let usual_run = Span::from_secs(1800);
        note(self.runtime < usual_run, format!("runs of {} instead of 30 minutes", self.runtime));
        note(now.read_percent != usual.read_percent, format!("{} % reads instead of 75 %", now.read_percent));
        note(
            now.writers != usual.writers,
            format!("{} instead of 8", count(now.writers as usize, "writer", "writers")),
        );
        note(
            now.readers != usual.readers,
            format!("{} instead of 128", count(now.readers as usize, "reader", "readers")),
        );
        note(now.journal != usual.journal, format!("a transaction journal of {}/s beside the cycles", now.journal));
        note(now.wij_write != usual.wij_write, format!("journal writes of {} instead of 256 KiB", now.wij_write));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> RampSettings {
        RampSettings {
            ladder: Ladder { min: 75_000, max: 150_000, runs: 10, steps: Steps::AboveMinimum },
            runtime: Span::from_secs(1800),
            wij_file: "/epic/GENIO.WIJ".into(),
            system: "epic-rhel3".into(),
            comment: "Ramp 75-150k".into(),
            warm_up: false,
            accounting: Accounting::True,
            constants: Constants::default(),
            seed: 1,
        }
    }

    #[test]
    fn the_published_ramp_is_in_order_and_comparable() {
        assert_eq!(settings().check(), Ok(()));
        assert_eq!(settings().differences(), Vec::<String>::new());
    }

    /// 22 bursts in 30 minutes, the last after 1760 s: 0.75 + 0.25 · 22 · 80 / 1800. One that would
    /// begin at the end does not.
    #[test]
    fn a_run_reaches_what_its_bursts_write() {
        let reached = |runtime_s, cycle_s| {
            let constants = Constants { cycle: Span::from_secs(cycle_s), ..Constants::default() };
            let settings = RampSettings { runtime: Span::from_secs(runtime_s), constants, ..settings() };
            (settings.bursts(), (settings.reachable() * 1e6).round())
        };
        assert_eq!(reached(1800, 80), (22, 994_444.0));
        assert_eq!(reached(24, 8), (2, 916_667.0));
        assert_eq!(reached(25, 8), (3, 990_000.0));
        assert_eq!(reached(8, 8), (0, 750_000.0));
    }

    #[test]
    fn what_is_out_of_range_says_so() {
        let error = |change: fn(&mut RampSettings)| {
            let mut settings = settings();
            change(&mut settings);
            settings.check().unwrap_err().to_string()
        };
        assert_eq!(error(|s| s.ladder.max = 1), "--maxiops: must not be below --miniops (75000), got 1");
        assert_eq!(error(|s| s.ladder.runs = 0), "--numruns: must be between 1 and 1000, got 0");
        assert_eq!(error(|s| s.constants.writers = 0), "--writers: must be between 1 and 1024, got 0");
        assert_eq!(
            error(|s| s.constants.wij_write = Bytes(1000)),
            "--wij-write: must be a multiple of 8 KiB up to 16 MiB, got 1000 B"
        );
    }

    #[test]
    fn short_cycles_scale_the_limit_and_are_not_comparable() {
        let mut short = settings();
        short.constants.cycle = Span::from_secs(8);
        short.runtime = Span::from_secs(60);
        assert_eq!(short.constants.cycle_limit(), Span::from_millis(4500));
        assert_eq!(short.differences().len(), 2);
        // A whole cycle is longer than the usual minute only at the usual period.
        assert_eq!(short.warm_up_length(), Span::from_secs(60));
        assert_eq!(settings().warm_up_length(), Span::from_secs(80) + Span::from_nanos(1));
    }
}
