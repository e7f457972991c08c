//! The load engine: drives the request streams of workloads at targets, by the wall clock or in
//! virtual time, and records the results.
//!
//! ```text
//!   Stream ──next──► Worker ──submit──► Target (NBD export, or a gate around a simulated device)
//!      ▲                │ ◄──poll─────────┘
//!      └──completed─────┤
//!                       ▼
//!                     Tape ──collect──► one WorkloadSecond a workload ──► Conductor ──► Run
//! ```
//!
//! The engine does not know which tool uses it. One worker is one thread with one driver; only the
//! driver waits, never a target. [`play`] plays the points of an experiment on a [`Scene`]. The
//! conductor is the scene that plays a plan's phases, on a [`Stage`]: the real server or the
//! simulator.

mod conductor;
mod course;
mod devices;
mod host;
mod hub;
pub mod job;
mod memory;
mod remote;
mod worker;

pub use conductor::{Conductor, LinkWaits, ObjectSecond, RunWatcher, Second, Stage};
pub use course::{Managed, Scene, StageError, passed, play};
pub use host::HostWatch;
pub use hub::{Hub, Socket};
pub use memory::RandomMemory;
pub use remote::{Late, Player, RemoteWorker, WorkerError};
pub use worker::{Lane, Memory, NoMemory, Worker, WorkloadSecond};
