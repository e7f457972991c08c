//! What a limit may have let pass, told apart from how the scheduler computes it: a bucket that
//! fills at the limit's rate up to its credit, in exact fractions.

use qos::{Burst, Ceiling};

const SECOND: u128 = 1_000_000_000;

/// The least that is in a bucket of `rate` a second, in units × nanoseconds per second, after all
/// that passed.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: u64,
    /// At most so much is in it.
    most: i128,
    level: i128,
    at: u64,
    on: bool,
}

/// How the scheduler's clocks may run behind: the common tolerance.
const TOLERANCE_NS: u128 = 5_000_000;

impl Bucket {
    /// No limit yet.
    pub fn new() -> Bucket {
        Bucket { rate: 0, most: 0, level: 0, at: 0, on: false }
    }

    /// A new rate, or none. What was in it stays, up to what the new credit holds: an edit gives
    /// nothing away.
    pub fn set(&mut self, now: u64, rate: Option<u64>, burst: Option<Burst>, counts_operations: bool) {
        self.fill(now);
        if !std::mem::replace(&mut self.on, rate.is_some()) {
            self.level = self.level.min(0);
        }
        let Some(rate) = rate else { return };
        let burst = burst.filter(|burst| burst.ppm > 0 && burst.duration.as_nanos() > 0);
        let credit_ns = burst.map_or(0, |b| u128::from(b.ppm) * u128::from(b.duration.as_nanos()) / 1_000_000);
        // A slow limit on operations lets just under one be saved.
        let operation_ns = if counts_operations { SECOND / u128::from(rate) } else { 0 };
        let most = u128::from(rate).saturating_mul(credit_ns.max(TOLERANCE_NS).max(operation_ns));
        let most = i128::try_from(most).unwrap_or(i128::MAX / 4).min(i128::MAX / 4);
        self.level = self.level.min(most);
        (self.rate, self.most) = (rate, most);
    }

    fn fill(&mut self, now: u64) {
        let passed = i128::from(now.saturating_sub(self.at));
        self.at = self.at.max(now);
        if self.rate > 0 {
            // Off, debt is paid and nothing is saved.
            let most = if self.on { self.most } else { 0 };
            let filled = self.level.saturating_add(passed.saturating_mul(i128::from(self.rate)));
            self.level = filled.min(most.max(self.level));
        }
    }

    /// So many units pass; `late` of them may have been counted earlier (appointments), `largest`
    /// is one request's. Says what is wrong, if anything.
    pub fn pass(&mut self, now: u64, units: u64, late: u64, largest: u64) -> Result<(), String> {
        self.fill(now);
        if !self.on {
            return Ok(());
        }
        self.level = self.level.saturating_sub((u128::from(units) * SECOND) as i128);
        // One request begins where anything is left, so the level may go below nothing by one; and
        // rounding by 2^-32 ns.
        let slack = (u128::from(largest) * SECOND).saturating_mul(u128::from(late) + 2) + u128::from(self.rate) * 2;
        if self.level < -(slack as i128) {
            return Err(format!(
                "at {now} ns a limit of {}/s is overdrawn by {} units",
                self.rate,
                -self.level / SECOND as i128
            ));
        }
        Ok(())
    }
}

/// The two of a ceiling.
#[derive(Clone, Debug)]
pub struct Buckets {
    operations: Bucket,
    bytes: Bucket,
}

impl Buckets {
    /// No limit yet.
    pub fn new() -> Buckets {
        Buckets { operations: Bucket::new(), bytes: Bucket::new() }
    }

    /// A new ceiling.
    pub fn set(&mut self, now: u64, ceiling: Ceiling) {
        self.operations.set(now, ceiling.iops.map(|rate| rate.0), ceiling.burst, true);
        self.bytes.set(now, ceiling.bytes.map(|rate| rate.0), ceiling.burst, false);
    }

    /// A request of so many bytes passes.
    pub fn pass(&mut self, now: u64, bytes: u64, late: u64, largest: u64) -> Result<(), String> {
        self.operations.pass(now, 1, late, 1)?;
        self.bytes.pass(now, bytes, late, largest)
    }
}
