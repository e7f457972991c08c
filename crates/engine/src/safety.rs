//! Whether a load may write somewhere: a load tool must not destroy data.
//!
//! A file may be overwritten when this program made it (it carries a mark), or when it is empty. A block device may be
//! when nothing uses it and nothing on it looks like data: no mount, no swap, no partitions, no RAID or LVM above it, no
//! signature of a file system, a volume manager or a partition table. Everything that speaks against it is said at once.

mod devices;
mod signature;

pub use signature::{Window, signatures};

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// What speaks against writing to `path`, in words; empty if nothing does. What is not there has nothing to lose.
///
/// # Errors
/// It cannot be looked at.
pub fn objections(path: &Path) -> std::io::Result<Vec<String>> {
    let about = match std::fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    if about.file_type().is_block_device() {
        let file = File::open(path)?;
        let mut found = devices::Kernel::here().uses(about.rdev());
        found.extend(signature::of_device(&file)?.into_iter().map(|what| format!("it carries {what}")));
        return Ok(found);
    }
    if !about.is_file() {
        return Ok(vec!["it is neither a file nor a block device".into()]);
    }
    let file = File::open(path)?;
    let mut found = Vec::new();
    if about.len() > 0 && !uring::mark::is_set(&file)? {
        found.push(format!("it is a file of {} that seawall did not lay out", block::Bytes(about.len())));
    }
    let kernel = devices::Kernel::here();
    if kernel.is_swap(path) {
        found.push("it is in use as swap".into());
    }
    found.extend(kernel.loops_on(path).map(|device| format!("it is the backing file of {device}")));
    Ok(found)
}
