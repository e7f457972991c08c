//! Examines the target that was named.

use anyhow::{Result, anyhow};
use block::Bytes;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use storage::{Intent, Permit, Place, major_minor};

/// A target that can be read.
#[derive(Clone, Debug)]
pub struct Aimed {
    /// Its place.
    pub place: Place,
    /// Its size.
    pub size: Bytes,
}

/// The named target, if it exists and can be read.
///
/// # Errors
/// It does not exist or cannot be read; one line.
pub fn aim(named: &str) -> Result<Aimed> {
    let place = Place::parse(named).map_err(|line| anyhow!("{line}"))?;
    let permit = Permit::ask(&place, Intent::Read).map_err(|error| anyhow!("{error}"))?;
    Ok(Aimed { size: permit.size(), place })
}

/// The folder in sysfs of the device below a path; for a partition, that of its disk. `None` if
/// there is no device.
pub fn device_of(path: &Path) -> Option<PathBuf> {
    let about = fs::metadata(path).ok()?;
    let device = if about.file_type().is_block_device() { about.rdev() } else { about.dev() };
    let (major, minor) = major_minor(device);
    let folder = Path::new("/sys/dev/block").join(format!("{major}:{minor}")).canonicalize().ok()?;
    if folder.join("partition").exists() { folder.parent().map(Path::to_owned) } else { Some(folder) }
}

/// Whether a path is on a device without rotating media, as far as the system reports.
pub fn on_flash(path: &Path) -> bool {
    let turns = device_of(path).and_then(|device| fs::read_to_string(device.join("queue/rotational")).ok());
    turns.is_some_and(|turns| turns.trim() == "0")
}
