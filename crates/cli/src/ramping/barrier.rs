//! Hosts that begin together: before each run a ramp says that it is ready and waits for the word of whoever started it.
//!
//! ```text
//!   ramp ──► "barrier: ready"        on standard output
//!        ◄── "clock"                 any number of times
//!   ramp ──► "barrier: clock NS"     nanoseconds since 1970, so that clocks can be compared
//!        ◄── "go"
//! ```

use anyhow::{Context as _, Result, bail};
use std::io::BufRead as _;

use crate::{date, terminal};

/// It is ready.
pub const READY: &str = "barrier: ready";
/// Its clock says.
pub const TIME: &str = "barrier: clock ";
/// What does its clock say?
pub const CLOCK: &str = "clock";
/// It may begin.
pub const GO: &str = "go";

/// Waits until it may begin.
///
/// # Errors
/// Whoever holds the barrier is gone, or says something else.
pub fn wait() -> Result<()> {
    terminal::line(READY);
    let mut line = String::new();
    loop {
        line.clear();
        let read = std::io::stdin().lock().read_line(&mut line).context("--barrier: standard input")?;
        match line.trim() {
            GO => return Ok(()),
            CLOCK => terminal::line(&format!("{TIME}{}", unix_ns())),
            _ if read == 0 => bail!("--barrier: whoever was to say when to begin is gone"),
            other => bail!("--barrier: must be told {CLOCK:?} or {GO:?}, got {other:?}"),
        }
    }
}

/// The date, in nanoseconds since 1970.
pub fn unix_ns() -> u64 {
    date::since_1970().as_nanos() as u64
}
