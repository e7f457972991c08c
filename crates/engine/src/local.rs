//! Storage of this machine as [`block::Target`]s: files and devices by io_uring, the same by plain system calls, and
//! nothing at all.
//!
//! A target serves several files: a request's object is the number of the file, in the order they were given.

mod calls;
mod nothing;
mod ring;

pub use calls::CallTarget;
pub use nothing::NullTarget;
pub use ring::RingTarget;

use block::Bytes;

/// A file or block device that a local target serves.
#[derive(Debug)]
pub struct LocalFile {
    /// Open for what is going to be asked.
    pub file: std::fs::File,
    /// Its size.
    pub size: Bytes,
    /// Offsets and lengths must be multiples of this.
    pub align: u32,
}
