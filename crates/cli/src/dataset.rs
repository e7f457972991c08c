//! Directories of data on this machine: finding, filling and checking them.

mod check;
mod fill;
mod open;

pub use check::{Checked, check};
pub use fill::{Filling, fill};
pub use open::{Found, find, find_above};

use anyhow::{Context as _, Result};
use ramp::Room;
use std::path::Path;

/// Bytes of one read or write when a directory is filled or checked.
const CHUNK: usize = 1 << 20;

/// A buffer for direct I/O: `len` bytes that begin at a multiple of 4 KiB.
struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    fn new(len: usize) -> Aligned {
        let bytes = vec![0; len + 4096];
        let start = bytes.as_ptr().align_offset(4096).min(4096);
        Aligned { bytes, start, len }
    }

    fn all(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

/// The room of the file system that holds `folder`.
pub fn room(folder: &Path) -> Result<Room> {
    let space = uring::space::space(folder).with_context(|| format!("{}: its space", folder.display()))?;
    Ok(Room { total: space.total.0, free: space.free.0, available: space.available.0 })
}

/// Opens a file past the page cache, or through it where the file system has no other way.
fn open(path: &Path, write: bool) -> Result<std::fs::File> {
    let create = if write { uring::disk::Create::IfMissing } else { uring::disk::Create::Never };
    let opening = |cache| uring::disk::Opening { cache, write, create, mode: 0o644 };
    let direct = uring::disk::open(path, opening(uring::disk::Cache::Direct));
    let disk = match direct {
        Ok(disk) if disk.align as u64 <= 4096 => Ok(disk),
        Err(uring::disk::OpenError::NoDirect(_)) | Ok(_) => uring::disk::open(path, opening(uring::disk::Cache::Page)),
        Err(error) => Err(error),
    }?;
    Ok(disk.file)
}
