//! The load engine: drives workloads' streams at targets, on the wall clock or a virtual one, and
//! records.
//!
//! ```text
//!   Stream ──next──► Worker ──submit──► Target (NBD export, or a gate around a simulated device)
//!      ▲                │ ◄──poll─────────┘
//!      └──completed─────┤
//!                       ▼
//!                   Recorder ──collect──► one Second a workload ──► Conductor ──► Recording
//! ```
//!
//! It does not know which tool asked. One worker is one thread with one driver; what waits is the
//! driver, never a target. [`play`] plays the points of an experiment on a [`Scene`]; the conductor
//! is the one of a plan's phases, on a [`Stage`] which is the real server or the simulator.

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
