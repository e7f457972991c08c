//! Simulated storage devices: [`block::Target`]s that take time but carry no data, driven by a
//! virtual clock.
//!
//! ```text
//!   DeviceSpec (plain data)  ── build(seed) ──►  Simulated<medium>     one shell: tickets, refusals, completions
//!                                                  │  parallel servers │ disk │ flash │ cloud volume │ host │ array
//!                                                  └─ each a small event machine in whole nanoseconds
//! ```
//!
//! A medium decides only *when* things begin and end. Everything happens at its own instant,
//! however late the poll: an end at 5 ms is reported as 5 ms by a poll at 7 ms, and what begins
//! after it begins at 5 ms. Hence a run depends on the requests and the seed alone, byte for byte.
//!
//! An [`Array`] is stages, each a medium in front of the next: link, controller, write log, cache,
//! credits, control group, RAID. A RAID has everything that follows it once for each of its
//! members. The media come last.
//!
//! Nothing here reads a clock. [`VirtualClock`] is the driver that jumps to the next event.

mod agenda;
mod array;
mod clock;
mod cloud_volume;
mod control_group;
mod device;
mod disk;
mod flash;
mod host;
mod host_adapters;
mod link;
mod means;
mod parallel_servers;
mod raid;
mod read_cache;
mod simulated;
mod stage;
mod work;
mod write_log;

pub use array::{Array, ArrayStage};
pub use cache::Eviction as CachePolicy;
pub use clock::VirtualClock;
pub use cloud_volume::CloudVolume;
pub use control_group::ControlGroup;
pub use device::{Change, DeviceError, DeviceSpec, Model};
pub use disk::Disk;
pub use flash::{Collection, Flash, Pause};
pub use host::{Absence, Host};
pub use host_adapters::HostAdapters;
pub use link::Link;
pub use means::{DISKS, Flow, IN_PLACE, Mean, Means};
pub use parallel_servers::ParallelServers;
pub use raid::{Level, Raid};
pub use read_cache::ReadCache;
pub use stage::Controller;
pub use write_log::WriteLog;
