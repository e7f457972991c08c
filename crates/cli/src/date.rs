//! The date: what runs, reports and snapshots carry. What is measured goes by `uring::Clock`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Since the beginning of 1970; a clock before that is a clock that nobody set.
#[allow(clippy::disallowed_methods, reason = "a run carries its date; the dates of several hosts are compared")]
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
