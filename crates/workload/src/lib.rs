//! Load for storage: specifications, the seeded streams of requests made from them, and plan files.
//!
//! ```text
//!   plan file ──► Plan ──► Spec (one a workload and phase) ──► Stream (one a connection) ──► Draft, Draft, …
//! ```
//!
//! A [`Spec`] says what a workload looks like, a [`Stream`] is one connection's share of it as a
//! sequence of requests, and a [`plan::Plan`] is a whole experiment: volumes, workloads, phases
//! with administrators' commands, criteria.
//!
//! Nothing here does I/O, reads a clock or has a random source of its own: `now` and the seed are
//! arguments.

mod chance;
mod due;
pub mod job;
mod pace;
pub mod plan;

mod spec;
mod stream;

pub use plan::{Plan, PlanError, PlanErrors};

pub use spec::{
    Arrival, BLOCK_MAX, BLOCK_MIN, BLOCK_SIZES_MAX, BlockShare, Blocks, CONNECTIONS_MAX, DEPTH_MAX, Pattern, RATE_MAX,
    Range, Spacing, Spec, SpecError,
};
pub use stream::{Draft, Next, Stream};
