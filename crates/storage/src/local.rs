//! Storage of this machine as [`block::Target`]s: files and devices by io_uring, the same by plain
//! system calls, and storage that does nothing.
//!
//! A target serves several files. A request's object is the number of the file, in the order in
//! which they were given.

mod calls;
mod lock;
mod nothing;
mod ring;

pub(crate) use calls::CallTarget;
pub(crate) use lock::Lock;
pub use nothing::NullTarget;
pub(crate) use ring::RingTarget;

use block::Bytes;

/// A file or block device that a local target serves.
#[derive(Debug)]
pub(crate) struct LocalFile {
    /// Opened for reading, or also for writing if that is needed.
    pub(crate) file: std::fs::File,
    /// Its size.
    pub(crate) size: Bytes,
    /// Offsets and lengths must be multiples of this.
    pub(crate) align: u32,
}
