//! What random bytes are made to do to quality of service, and what must hold then. A target reads
//! its acts from the bytes until they end, so any bytes are an input; it panics at whatever must
//! not be.
//!
//! libFuzzer drives the targets by `fuzz_targets/`, a seeded generator by `src/bin/soak.rs`.

mod bucket;
mod input;
mod registry;
mod scheduler;

pub use registry::registry;
pub use scheduler::scheduler;
