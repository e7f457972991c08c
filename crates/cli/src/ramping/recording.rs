//! A ramp as a recording, which tables and pages are made from: each of its runs is a phase.

use ramp::RunOutcome;
use stats::{Machine, Origin, Recording};

/// A ramp's runs, in order, as one recording.
pub fn recording(origin: Origin, machine: Machine, system: &str, folders: &str, runs: &[RunOutcome]) -> Recording {
    Recording { origin, machine, ..ramp::kept(system, folders, runs).recording() }
}
