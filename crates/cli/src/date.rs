//! The date, for runs, reports and snapshots. Measurements use `uring::Clock`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since the beginning of 1970; zero if the clock is set to an earlier date.
#[allow(clippy::disallowed_methods, reason = "a run carries its date; the dates of several hosts are compared")]
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
