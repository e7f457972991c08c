//! What the storage must be able to do for a meaningful experiment.
//!
//! Counted are blocks of 8 KiB transferred per second: reads, blocks to the journal, blocks to the
//! database. While it writes a burst of `B = 0.25 · T · 80` blocks (each twice: journal and
//! database) within `t`, a host at `T` IOPS transfers
//!
//! ```text
//!   0.75 · T + 2 · B / t
//!
//!   low    protected hosts within 36 s, beside the reads of the others
//!   high   every host within 45 s
//! ```
//! Below `low`, floors promise more than the storage can do. Above `high` there is no contention.
//! Between the two some host must miss the limit, and floors decide which.

use crate::ladder::RampLoad;
use crate::settings::Constants;
use block::Span;

/// A host's load in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLoad {
    /// Its target, in total IOPS.
    pub target: u64,
    /// Whether floors should protect it.
    pub protected: bool,
}

/// Both bounds, in blocks per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// What protected hosts need to write their bursts in time, beside the reads of the others.
    pub low: f64,
    /// What all hosts need to write theirs within the limit.
    pub high: f64,
    /// The time in which protected hosts should write a burst.
    pub drain: Span,
    /// The limit for every host.
    pub limit: Span,
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WindowError {
    /// The storage does too little.
    #[error(
        "the storage moved {capacity:.0} blocks/s while all hosts wrote; the protected hosts alone need {low:.0} beside \
         the others' reads to write a burst within {drain}, so no floor could have held"
    )]
    Little {
        /// What it did.
        capacity: f64,
        /// The minimum.
        low: f64,
        /// The time in which a burst should be written.
        drain: Span,
    },
    /// The storage does so much that there is no contention.
    #[error(
        "the storage moved {capacity:.0} blocks/s while all hosts wrote; all of them together need {high:.0} to write \
         their bursts within {limit}, so nobody was in anybody's way"
    )]
    Much {
        /// What it did.
        capacity: f64,
        /// The maximum.
        high: f64,
        /// The limit for a burst.
        limit: Span,
    },
}

impl Window {
    /// The target position in the window: a third of the way up. Hosts without floors share by the
    /// number of requests in flight, and near the upper bound even an equal share is enough for the
    /// smaller ones. The distance from the lower bound allows for storage that does a twelfth less
    /// than measured.
    const AIM: f64 = 1.0 / 3.0;

    /// The bounds for these hosts; `drain` is for a period of 80 s, and scales like the limit.
    pub fn of(hosts: &[HostLoad], constants: &Constants, drain: Span) -> Window {
        let limit = constants.cycle_limit();
        let scaled = drain.as_secs_f64() / Constants::CYCLE.as_secs_f64() * constants.cycle.as_secs_f64();
        let drain = Span::from_secs_f64(scaled);
        let load = |host: &HostLoad| RampLoad::of(host.target, constants);
        let moved = |host: &HostLoad, within: Span| {
            let load = load(host);
            load.reads_per_second() + 2.0 * load.burst as f64 / within.as_secs_f64()
        };
        let low = hosts.iter().map(|host| match host.protected {
            true => moved(host, drain),
            false => load(host).reads_per_second(),
        });
        Window { low: low.sum(), high: hosts.iter().map(|host| moved(host, limit)).sum(), drain, limit }
    }

    /// What the storage should do for these loads.
    pub fn aim(&self) -> f64 {
        self.low + (self.high - self.low) * Window::AIM
    }

    /// The factor on these loads that fits storage of this capacity.
    pub fn factor(&self, capacity: f64) -> f64 {
        capacity / self.aim()
    }

    /// Checks that a storage that does `capacity` does no more than all hosts need.
    ///
    /// # Errors
    /// It does more; with the figures.
    pub fn check_high(&self, capacity: f64) -> Result<(), WindowError> {
        match capacity > self.high {
            true => Err(WindowError::Much { capacity, high: self.high, limit: self.limit }),
            false => Ok(()),
        }
    }

    /// Checks that a storage that does `capacity` can do what the protected hosts need.
    ///
    /// # Errors
    /// It cannot; with the figures.
    pub fn check_low(&self, capacity: f64) -> Result<(), WindowError> {
        match capacity < self.low {
            true => Err(WindowError::Little { capacity, low: self.low, drain: self.drain }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published() -> Vec<HostLoad> {
        let host = |target, protected| HostLoad { target, protected };
        vec![host(75_000, true), host(75_000, true), host(150_000, false)]
    }

    /// Protected: 56 250 reads and 2 · 1.5 M / 36 s = 83 333 blocks, twice, beside 112 500 reads:
    /// 391 667. All within 45 s: 2 · (56 250 + 66 667) + 112 500 + 133 333 = 491 667. A third of
    /// the way: 425 000.
    #[test]
    fn the_published_hosts_need_this_much() {
        let window = Window::of(&published(), &Constants::default(), Span::from_secs(36));
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1.0, "{found}, not {wanted}");
        near(window.low, 391_666.7);
        near(window.high, 491_666.7);
        near(window.aim(), 425_000.0);
        assert!((window.factor(42_500.0) - 0.1).abs() < 1e-6);
    }

    /// A period of 8 s has a tenth of the burst in a tenth of the time: the same rates.
    #[test]
    fn a_short_period_keeps_the_bounds() {
        let usual = Window::of(&published(), &Constants::default(), Span::from_secs(36));
        let short = Constants { cycle: Span::from_secs(8), ..Constants::default() };
        let short = Window::of(&published(), &short, Span::from_secs(36));
        assert!((short.low / usual.low - 1.0).abs() < 1e-9 && (short.high / usual.high - 1.0).abs() < 1e-9);
        assert_eq!((short.drain, short.limit), (Span::from_millis(3600), Span::from_millis(4500)));
    }

    #[test]
    fn outside_of_the_window_nothing_can_be_said_and_the_numbers_say_why() {
        let window = Window::of(&published(), &Constants::default(), Span::from_secs(36));
        let check = |capacity| window.check_low(capacity).and_then(|()| window.check_high(capacity));
        assert_eq!((check(391_667.0), check(491_666.0)), (Ok(()), Ok(())));
        let error = |capacity| check(capacity).unwrap_err().to_string();
        assert!(error(391_666.0).contains("moved 391666 blocks/s") && error(391_666.0).contains("need 391667"));
        assert!(error(491_667.0).contains("need 491667 to write their bursts within 45.0 s"), "{}", error(491_667.0));
    }
}
