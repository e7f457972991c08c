//! Where a pool's maps, blocks and log are: files in its folder, or files and block devices that
//! its settings name.
//!
//! ```text
//!   in the folder    DIR/maps/blocks, DIR/maps/log: from byte 0 on
//!   named            label, a block of 64 KiB    0        4         8        12       16               24
//!                                                ├─ SWDV ──┼ version ┼─ crc ──┼─ role ─┼─ pool ─────────┤
//!                                                24       28       32               40               48
//!                                                ├ number ┼ count ─┼─ room ─────────┼─ segment ──────┤
//!                    then the same as in the folder
//! ```
//! The label says whose it is: a pool does not use another pool's device, nor one of its own for
//! another role. The checksum is CRC-32C of what follows it, up to byte 24 in version 1 and 48 in
//! version 2. Roles: 0 data, 1 log, 2 second level of the cache (of no pool: its number is 0).
//! Numbers are little-endian. Version 1 ends at byte 24; it is used for the log, and for data with
//! a single member. Version 2 adds the member's number, the number of members, and the member's
//! room for segments in bytes; 0 means that it grows.

use super::MapError;
use super::files::REGIONS;
use super::members::{Members, SEGMENT};
use crc32c::crc32c;
use map::{BLOCK, Region};
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 4] = b"SWDV";
/// The newest known format of the label; newer ones are refused. Anything but one of several
/// members gets version 1, so that older programs can read it.
const FORMAT: u32 = 2;
pub(super) const LABEL: usize = 4096;
/// Limit on the members of a pool's data: each takes descriptors, and a flush goes to all of them.
pub(crate) const MEMBERS_MAX: usize = 32;

/// Files and block devices that a pool's settings name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// For the blocks: none, one, or several that share them.
    pub data: Vec<PathBuf>,
    /// For the log.
    pub log: Option<PathBuf>,
}

impl Named {
    /// All of them.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.data.iter().chain(&self.log)
    }
}

/// The labels of a newly created pool, for removing them if it is given up while empty.
#[derive(Clone, Debug)]
pub struct Marks {
    paths: Vec<PathBuf>,
    pool: u64,
}

impl Marks {
    /// The labels of the pool with that number.
    pub(crate) fn of(pool: u64, paths: Vec<PathBuf>) -> Marks {
        Marks { paths, pool }
    }

    /// Removes the labels, and files that contain nothing else.
    pub fn take_away(&self) {
        for path in &self.paths {
            let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else { continue };
            if !matches!(Label::read(&file), Ok(Found::Label(label)) if label.pool == self.pool) {
                continue;
            }
            // A failure can only be reported, and the caller reports the one that led here.
            let _ = match file.metadata() {
                Ok(about) if about.is_file() => fs::remove_file(path),
                _ => file.write_all_at(&[0; LABEL], 0).and_then(|()| file.sync_all()),
            };
        }
    }
}

/// The places of all regions.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    maps: PathBuf,
    /// The members of its data are in order.
    named: Named,
    /// The layout of the data on its members.
    members: Members,
}

impl Places {
    /// For a pool that is being created: the members of the data are numbered as they are named.
    pub(crate) fn fresh(dir: &Path, named: Named) -> Result<Places, MapError> {
        let members = match named.data.len() {
            0 | 1 => Members::new(&[None]),
            _ => Members::new(&named.data.iter().map(|path| room(path)).collect::<Result<Vec<_>, _>>()?),
        };
        Ok(Places { maps: dir.join("maps"), named, members })
    }

    /// For an existing pool: its members may be named in any order, but must all be named.
    pub(crate) fn new(dir: &Path, mut named: Named) -> Result<Places, MapError> {
        let labels: Result<Vec<_>, _> = named.data.iter().map(|path| member(path)).collect();
        let mut found: Vec<(Label, PathBuf)> = labels?.into_iter().zip(std::mem::take(&mut named.data)).collect();
        found.sort_by_key(|(label, _)| label.number);
        if let Some((first, _)) = found.first() {
            let has = |number: u32| found.iter().any(|(label, _)| label.number == number);
            let missing: Vec<String> =
                (0..first.count).filter(|number| !has(*number)).map(|n| (n + 1).to_string()).collect();
            if !missing.is_empty() {
                return Err(MapError::Missing {
                    maps: dir.join("maps"),
                    numbers: missing.join(", "),
                    count: first.count,
                });
            }
            if let Some((_, other)) =
                found.iter().find(|(label, _)| (label.pool, label.count) != (first.pool, first.count))
            {
                return Err(MapError::OfAnother(other.clone()));
            }
            if let Some(twice) = found.windows(2).find(|two| two[0].0.number == two[1].0.number) {
                return Err(MapError::OfAnother(twice[1].1.clone()));
            }
        }
        let rooms: Vec<Option<u64>> = found.iter().map(|(label, _)| label.room).collect();
        let members = Members::new(if rooms.len() > 1 { &rooms } else { &[None] });
        named.data = found.into_iter().map(|(_, path)| path).collect();
        Ok(Places { maps: dir.join("maps"), named, members })
    }

    /// The layout of the data on its members.
    pub(crate) fn members(&self) -> &Members {
        &self.members
    }

    /// Number of members of the data, at least one.
    pub(crate) fn count(&self) -> usize {
        self.named.data.len().max(1)
    }

    /// The file or device of a member.
    pub(crate) fn member(&self, number: usize) -> PathBuf {
        self.named.data.get(number).cloned().unwrap_or_else(|| self.maps.join("blocks"))
    }

    /// The folder of the regions that the settings do not name.
    pub(crate) fn maps(&self) -> &Path {
        &self.maps
    }

    /// The file or device of a region; for the data, that of its first member.
    pub(crate) fn path(&self, region: Region) -> PathBuf {
        match (region, &self.named.log) {
            (Region::Data, _) => self.member(0),
            (Region::Log, Some(log)) => log.clone(),
            (Region::Log, None) => self.maps.join("log"),
            (Region::Nodes, _) => self.maps.join("nodes"),
            (Region::Table(0), _) => self.maps.join("table.0"),
            (Region::Table(_), _) => self.maps.join("table.1"),
            (Region::End, _) => self.maps.join("end"),
        }
    }

    /// Offset at which a region begins in its file or device.
    pub(crate) fn base(&self, region: Region) -> u64 {
        let is_named = match region {
            Region::Data => !self.named.data.is_empty(),
            Region::Log => self.named.log.is_some(),
            Region::Nodes | Region::Table(_) | Region::End => false,
        };
        if is_named { BLOCK } else { 0 }
    }

    /// These offsets in the order of [`REGIONS`].
    pub(crate) fn bases(&self) -> [u64; 6] {
        REGIONS.map(|region| self.base(region))
    }

    /// Records, durably, that a pool is being created, and what gets its label.
    pub(crate) fn begin(&self, pool: u64) -> std::io::Result<()> {
        crate::unfinished::begin(&self.maps, pool, &self.named)
    }

    /// Checks that nothing that is named has a pool's label.
    pub(crate) fn must_be_free(&self) -> Result<(), MapError> {
        for path in self.named.paths().filter(|path| path.exists()) {
            let found = File::open(path).and_then(|file| Label::read(&file));
            if found.map_err(|cause| MapError::File { path: path.clone(), cause })? != Found::Nothing {
                return Err(MapError::Labelled(path.clone()));
            }
        }
        Ok(())
    }

    /// The labels of the pool.
    pub(crate) fn marks(&self, pool: u64) -> Marks {
        Marks { paths: self.named.paths().cloned().collect(), pool }
    }

    /// Removes the traces of a pool that could not be created.
    pub(crate) fn put_back(&self, pool: u64) {
        self.marks(pool).take_away();
        // It need not exist.
        let _ = fs::remove_file(self.path(Region::Table(0)));
    }

    /// Creates or opens what is to be written anew for a region, including all members of the data,
    /// and labels what is named. A file or device that has a pool's label is refused; the caller
    /// has checked for any other contents.
    pub(crate) fn make(&self, region: Region, pool: u64) -> Result<Vec<(PathBuf, File)>, MapError> {
        let named = self.labels(region, pool);
        if named.is_empty() {
            let path = self.path(region);
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
            return match file {
                Ok(file) => Ok(vec![(path, file)]),
                Err(cause) => Err(MapError::File { path, cause }),
            };
        }
        named.into_iter().map(|(path, label)| mark(path, &label)).collect()
    }

    /// Checks that what is named belongs to this pool, and locks it. The locks use open files of
    /// their own, since a ring releases its files only some time after its process has died.
    pub(crate) fn claim(&self, pool: u64) -> Result<Vec<File>, MapError> {
        let named = [Region::Data, Region::Log].into_iter().flat_map(|region| self.labels(region, pool));
        named.map(|(path, label)| claim(path, &label)).collect()
    }

    /// What is named for a region, with the labels.
    fn labels(&self, region: Region, pool: u64) -> Vec<(&PathBuf, Label)> {
        let paths: &[PathBuf] = match region {
            Region::Data => &self.named.data,
            Region::Log => self.named.log.as_slice(),
            Region::Nodes | Region::Table(_) | Region::End => &[],
        };
        let label = |number: usize| Label {
            role: if region == Region::Log { Role::Log } else { Role::Data },
            pool,
            number: number as u32,
            count: paths.len() as u32,
            room: self.members.room(number).filter(|_| region == Region::Data),
        };
        paths.iter().enumerate().map(|(number, path)| (path, label(number))).collect()
    }
}

fn mark(path: &Path, label: &Label) -> Result<(PathBuf, File), MapError> {
    let failed = |cause| MapError::File { path: path.into(), cause };
    let is_device = fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device());
    let file = OpenOptions::new().read(true).write(true).create(!is_device).truncate(false).mode(0o600).open(path);
    let file = file.map_err(failed)?;
    if Label::read(&file).map_err(failed)? != Found::Nothing {
        return Err(MapError::Labelled(path.into()));
    }
    // Whatever is written after it is recognised as this pool's, even after a power failure.
    file.write_all_at(&label.encode(), 0).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok((path.into(), file))
}

fn claim(path: &Path, label: &Label) -> Result<File, MapError> {
    let failed = |cause| MapError::File { path: path.into(), cause };
    let file = File::open(path).map_err(failed)?;
    match Label::read(&file).map_err(failed)? {
        Found::Label(found) if found == *label => {}
        Found::Newer(found) => return Err(MapError::TooNew { path: path.into(), found, known: FORMAT }),
        _ => return Err(MapError::OfAnother(path.into())),
    }
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(MapError::InUse(path.into())),
        Err(fs::TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

/// Bytes for segments of a file or device when a pool is created on it; `None` if it grows.
fn room(path: &Path) -> Result<Option<u64>, MapError> {
    let is_device = fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device());
    if !is_device {
        return Ok(None);
    }
    let mut file = File::open(path).map_err(|cause| MapError::File { path: path.into(), cause })?;
    let size = file.seek(SeekFrom::End(0)).map_err(|cause| MapError::File { path: path.into(), cause })?;
    match size.saturating_sub(BLOCK) / SEGMENT * SEGMENT {
        0 => Err(MapError::TooSmall(path.into())),
        room => Ok(Some(room)),
    }
}

/// The label of a member of the data.
fn member(path: &Path) -> Result<Label, MapError> {
    let label = File::open(path).and_then(|file| Label::read(&file));
    match label.map_err(|cause| MapError::Member { path: path.into(), cause })? {
        Found::Label(label) if label.role == Role::Data => Ok(label),
        Found::Newer(found) => Err(MapError::TooNew { path: path.into(), found, known: FORMAT }),
        _ => Err(MapError::OfAnother(path.into())),
    }
}

/// The header of a file or device that the settings name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    role: Role,
    pool: u64,
    /// The member's number in the data, from 0.
    number: u32,
    count: u32,
    /// Bytes for segments; `None` if it grows. Only used for one of several members.
    room: Option<u64>,
}

/// The role of a file or device with a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Data = 0,
    Log = 1,
    Second = 2,
}

/// What was found in place of a label.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Label(Label),
    Newer(u32),
    /// A label with a wrong checksum.
    Damaged,
}

impl Label {
    /// The label of a second level of the cache.
    pub(super) const SECOND: Label = Label { role: Role::Second, pool: 0, number: 0, count: 1, room: None };

    pub(super) fn encode(&self) -> [u8; LABEL] {
        let mut bytes = [0; LABEL];
        let (format, end) = if self.count > 1 { (2u32, 48) } else { (1, 24) };
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4..8].copy_from_slice(&format.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.role as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.pool.to_le_bytes());
        if self.count > 1 {
            bytes[24..28].copy_from_slice(&self.number.to_le_bytes());
            bytes[28..32].copy_from_slice(&self.count.to_le_bytes());
            bytes[32..40].copy_from_slice(&self.room.unwrap_or(0).to_le_bytes());
            bytes[40..48].copy_from_slice(&SEGMENT.to_le_bytes());
        }
        let crc = crc32c(&bytes[12..end]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn read(file: &File) -> std::io::Result<Found> {
        let mut bytes = [0; 48];
        match file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(Found::Nothing),
            read => read?,
        }
        Ok(Label::decode(&bytes))
    }

    fn decode(bytes: &[u8; 48]) -> Found {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let end = match word(4) {
            _ if &bytes[..4] != MAGIC => return Found::Nothing,
            1 => 24,
            2 => 48,
            newer => return Found::Newer(newer),
        };
        if word(8) != crc32c(&bytes[12..end]) {
            return Found::Damaged;
        }
        let role = [Role::Data, Role::Log, Role::Second].into_iter().find(|role| *role as u32 == word(12));
        let (Some(role), pool) = (role, long(16)) else { return Found::Damaged };
        let (number, count) = if end == 48 { (word(24), word(28)) } else { (0, 1) };
        let fits = end == 24 || number < count && count as usize <= MEMBERS_MAX && long(40) == SEGMENT;
        let room = Some(long(32)).filter(|room| end == 48 && *room > 0);
        if fits { Found::Label(Label { role, pool, number, count, room }) } else { Found::Damaged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_as_it_was_written_and_damage_is_noticed() {
        let one = Label { role: Role::Log, pool: 77, number: 0, count: 1, room: None };
        let several = Label { role: Role::Data, pool: 77, number: 2, count: 3, room: Some(5 * SEGMENT) };
        for (label, end) in [(one, 24), (Label::SECOND, 24), (several, 48), (Label { room: None, ..several }, 48)] {
            let bytes: [u8; 48] = label.encode()[..48].try_into().unwrap();
            assert_eq!(Label::decode(&bytes), Found::Label(label));
            for at in 8..end {
                let mut damaged = bytes;
                damaged[at] ^= 4;
                assert_eq!(Label::decode(&damaged), Found::Damaged, "byte {at}");
            }
            let mut newer = bytes;
            newer[4] = 3;
            assert_eq!(Label::decode(&newer), Found::Newer(3));
        }
        assert_eq!(Label::decode(&[0; 48]), Found::Nothing);
    }
}
