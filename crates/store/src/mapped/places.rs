//! Where a pool's maps, blocks and log are: files in its folder, or files and block devices that its settings name.
//!
//! ```text
//!   in the folder    DIR/maps/blocks, DIR/maps/log: from byte 0 on
//!   named            label, a block of 64 KiB    0        4         8        12       16               24
//!                                                ├─ SWDV ──┼ version ┼─ crc ──┼─ role ─┼─ pool ─────────┤
//!                    then the same as in the folder
//! ```
//! The label says whose it is: a pool does not take another's device for its own, nor one of its own for the other. The
//! checksum is CRC-32C of what follows it, to byte 24. Roles: 0 data, 1 log. Numbers are little-endian.

use super::MapError;
use super::files::REGIONS;
use map::{BLOCK, Region};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 4] = b"SWDV";
/// The format of the label that this program writes. A newer one is refused.
const FORMAT: u32 = 1;
const LABEL: usize = 4096;

/// Files and block devices that a pool's settings name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// For the blocks.
    pub data: Option<PathBuf>,
    /// For the log.
    pub log: Option<PathBuf>,
}

/// Where everything is.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    maps: PathBuf,
    named: Named,
}

impl Places {
    pub(crate) fn new(dir: &Path, named: Named) -> Places {
        Places { maps: dir.join("maps"), named }
    }

    /// The folder of those that nothing else is said of.
    pub(crate) fn maps(&self) -> &Path {
        &self.maps
    }

    /// The file or device of a region.
    pub(crate) fn path(&self, region: Region) -> PathBuf {
        self.named(region).cloned().unwrap_or_else(|| {
            self.maps.join(match region {
                Region::Data => "blocks",
                Region::Log => "log",
                Region::Nodes => "nodes",
                Region::Table(0) => "table.0",
                Region::Table(_) => "table.1",
            })
        })
    }

    /// The path that the settings name for a region.
    pub(crate) fn named(&self, region: Region) -> Option<&PathBuf> {
        match region {
            Region::Data => self.named.data.as_ref(),
            Region::Log => self.named.log.as_ref(),
            Region::Nodes | Region::Table(_) => None,
        }
    }

    /// The byte of its file or device where a region begins.
    pub(crate) fn base(&self, region: Region) -> u64 {
        if self.named(region).is_some() { BLOCK } else { 0 }
    }

    /// The bases in the order of [`REGIONS`].
    pub(crate) fn bases(&self) -> [u64; 5] {
        REGIONS.map(|region| self.base(region))
    }

    /// Opens a file or device that is to be written anew, and marks it as this pool's where it is named. One that is not
    /// empty, and carries a pool's label, is left alone; whether anything else is on it was looked at before.
    pub(crate) fn make(&self, region: Region, pool: u64) -> Result<File, MapError> {
        let path = self.path(region);
        let failed = |cause| MapError::File { path: path.clone(), cause };
        let Some(_) = self.named(region) else {
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
            return file.map_err(failed);
        };
        let is_device = fs::metadata(&path).is_ok_and(|about| about.file_type().is_block_device());
        let file = OpenOptions::new().read(true).write(true).create(!is_device).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(failed)?;
        if read_label(&file).map_err(failed)?.is_some() {
            return Err(MapError::Labelled(path));
        }
        file.write_all_at(&label(region, pool), 0).map_err(failed)?;
        Ok(file)
    }

    /// Whether a named file or device is this pool's, and nobody else has it. What comes back holds its lock: a
    /// description of its own, since a ring lets go of its files only some time after its process has died.
    pub(crate) fn claim(&self, region: Region, pool: u64) -> Result<Option<File>, MapError> {
        let Some(path) = self.named(region) else { return Ok(None) };
        let failed = |cause| MapError::File { path: path.clone(), cause };
        let file = File::open(path).map_err(failed)?;
        match read_label(&file).map_err(failed)? {
            Some(found) if found == (region == Region::Log, pool) => {}
            _ => return Err(MapError::OfAnother(path.clone())),
        }
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Err(MapError::InUse(path.clone())),
            Err(fs::TryLockError::Error(cause)) => Err(failed(cause)),
        }
    }
}

fn label(region: Region, pool: u64) -> [u8; LABEL] {
    let mut bytes = [0; LABEL];
    bytes[..4].copy_from_slice(MAGIC);
    bytes[4..8].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[12..16].copy_from_slice(&u32::from(region == Region::Log).to_le_bytes());
    bytes[16..24].copy_from_slice(&pool.to_le_bytes());
    let crc = map::crc32c(&bytes[12..24]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Whether it is a log, and whose; `None` without a label. One of a later format is nobody's of ours.
fn read_label(file: &File) -> std::io::Result<Option<(bool, u64)>> {
    let mut bytes = [0; 24];
    match file.read_exact_at(&mut bytes, 0) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    if &bytes[..4] != MAGIC {
        return Ok(None);
    }
    let whole = word(4) == FORMAT && word(8) == map::crc32c(&bytes[12..24]);
    let pool = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
    Ok(Some(if whole { (word(12) == 1, pool) } else { (false, 0) }))
}
