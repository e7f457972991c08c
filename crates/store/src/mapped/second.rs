//! The second level of the cache: a file or device with pages that were evicted from memory, for as
//! long as the server runs.
//!
//! ```text
//!   memory evicts ──► cache::SecondLevel admits? ──► laid into a segment in memory ──► written in one piece
//!   memory misses ──► all pages of the read in memory or here? ──► read, compared with their checksums, answered
//! ```
//! It starts empty each time, so nothing is ever read from it that this process has not written. A
//! page is removed from it before any change of it begins, and none is added while a change is in
//! progress. So its pages are what a read of the disk would return (decision 0404). If a read or
//! write of it fails, or a checksum is wrong, it is turned off until the next start, and the disk
//! serves the read.

use super::error::reason;
use super::places::{Found, LABEL, Label};
use block::{Buf, Bytes, Driver, Time};
use cache::{Evicted, PartitionId, SEGMENT, SEGMENTS_MIN, Sealed, SecondLevel, SecondSettings, SecondStatistics, Slot};
use crc32c::crc32c;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use uring::disk::{self, Create, OpenError, Opening};
use uring::{FileId, Io};

/// Segments begin here, after the label.
const BASE: u64 = map::BLOCK;
/// Segments in memory: one is filled while another is written.
const STAGED: usize = 2;

/// Where a second level is, and how much may be written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondPlace {
    /// A file, which is created if it is missing, or a block device.
    pub path: PathBuf,
    /// Its capacity.
    pub size: Bytes,
    /// Limit on the bytes written to it in 24 h.
    pub writes_per_day: Bytes,
}

/// Why a second level cannot be opened. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum SecondError {
    /// It cannot be opened for direct I/O.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The system refused.
    #[error("{}: {}", .path.display(), reason(.cause))]
    File {
        /// The file or device.
        path: PathBuf,
        /// The system's answer.
        #[source]
        cause: std::io::Error,
    },
    /// It contains something else.
    #[error(
        "{}: holds something that is not a second level of a cache; name a file that is not there yet, or write zeroes over \
         the device's first 4 KiB",
        .0.display()
    )]
    Foreign(PathBuf),
    /// Its folder does not exist.
    #[error("{}: must be a file in a folder that is there, or a device", .0.display())]
    NoFolder(PathBuf),
    /// Another server or the system uses it.
    #[error("{}: is in use, by another server or mounted", .0.display())]
    InUse(PathBuf),
    /// It is a device that is too small.
    #[error("{}: has {found} bytes; the second level of {wanted} bytes needs {BASE} more than that", .path.display())]
    Short {
        /// The device.
        path: PathBuf,
        /// Its size.
        found: u64,
        /// The size that was given.
        wanted: u64,
    },
}

/// An open second level, empty. It may be sent to the thread that uses it.
#[derive(Debug)]
pub struct SecondFile {
    file: File,
    /// A separate open file, since a ring releases its files only some time after its process has
    /// died.
    lock: File,
    place: SecondPlace,
}

impl SecondPlace {
    /// The smallest size.
    pub const SIZE_MIN: Bytes = Bytes(SEGMENT * SEGMENTS_MIN as u64);
    /// Slab memory that it takes while in use.
    pub const BUFFERS: Bytes = Bytes(SEGMENT * STAGED as u64);

    /// Checks, without writing, whether it could be opened: whether it is a second level or empty,
    /// or is missing but has a folder.
    ///
    /// # Errors
    /// It could not be opened.
    pub fn check(&self) -> Result<(), SecondError> {
        let path = &self.path;
        disk::check_kind(path)?;
        if path.exists() {
            return must_be_ours(path);
        }
        match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) if !folder.is_dir() => Err(SecondError::NoFolder(path.clone())),
            _ => Ok(()),
        }
    }

    /// Opens it for direct I/O. If it has other data, it is left alone.
    ///
    /// # Errors
    /// It contains something else, is in use or too small, or the system refuses.
    pub fn open(&self) -> Result<SecondFile, SecondError> {
        let path = &self.path;
        let failed = |cause| SecondError::File { path: path.clone(), cause };
        self.check()?;
        let opening = Opening { write: true, create: Create::IfMissing, ..Opening::default() };
        let disk = disk::open(path, opening)?;
        let lock = File::open(path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(SecondError::InUse(path.clone())),
            Err(fs::TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        if disk.is_device {
            if disk.size.0 < BASE.saturating_add(self.size.0) {
                return Err(SecondError::Short { path: path.clone(), found: disk.size.0, wanted: self.size.0 });
            }
            if disk::is_held(path).map_err(failed)? {
                return Err(SecondError::InUse(path.clone()));
            }
        }
        // The label goes through the page cache: it is not aligned, and is written only once.
        let labelled = fs::OpenOptions::new().write(true).open(path);
        let labelled = labelled.and_then(|file| file.write_all_at(&Label::SECOND.encode(), 0).and(file.sync_all()));
        labelled.map_err(failed)?;
        Ok(SecondFile { file: disk.file, lock, place: self.clone() })
    }
}

/// Allows only zeroes, an empty file or an earlier second level to be overwritten.
fn must_be_ours(path: &Path) -> Result<(), SecondError> {
    let failed = |cause| SecondError::File { path: path.into(), cause };
    let about = fs::metadata(path).map_err(failed)?;
    let foreign = Err(SecondError::Foreign(path.into()));
    if about.is_file() && about.len() == 0 {
        return Ok(());
    }
    let file = File::open(path).map_err(failed)?;
    match Label::read(&file).map_err(failed)? {
        Found::Label(label) if label == Label::SECOND => return Ok(()),
        Found::Nothing if !about.is_file() => {}
        _ => return foreign,
    }
    let mut begin = [0; LABEL];
    file.read_exact_at(&mut begin, 0).map_err(failed)?;
    if begin == [0; LABEL] { Ok(()) } else { foreign }
}

/// The properties and the state of a second level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondState {
    /// The file or device.
    pub path: PathBuf,
    /// Why it was turned off, if it was.
    pub failed: Option<String>,
    /// Its capacity in bytes.
    pub size: Bytes,
    /// Memory for its index, in bytes.
    pub memory: Bytes,
    /// Its counts, in pages.
    pub counts: SecondStatistics,
}

/// Pages of a read that are adjacent in the second level.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecondRun {
    /// Where they go in the read's buffer.
    pub into: u32,
    pub slot: Slot,
    pub pages: u32,
}

impl SecondRun {
    /// The slots of all its pages.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (self.slot.0..self.slot.0 + self.pages).map(Slot)
    }
}

/// A second level in use.
pub(super) struct Second {
    /// `None` once it is turned off.
    level: Option<SecondLevel>,
    pub file: FileId,
    _lock: File,
    place: SecondPlace,
    page: u64,
    /// The segment that is being filled.
    filling: Option<Buf>,
    spare: Vec<Buf>,
    /// Full segments that were not submitted yet.
    sealed: Vec<(Sealed, Buf)>,
    /// Buffers out of the slab, including those at the kernel.
    buffers: usize,
    /// Checksums of the pages, by slot (CRC-32C).
    sums: Vec<u32>,
    failed: Option<String>,
    /// The failure was not reported yet.
    is_news: bool,
    /// Size, counts, and hits by partition number at the failure.
    last: (Bytes, SecondStatistics, Vec<u64>),
}

impl Second {
    /// `None` if the slab has no room for its segments.
    pub(super) fn new(io: &Io, opened: SecondFile, page: u64) -> Option<Second> {
        let SecondFile { file, lock, place } = opened;
        let spare: Vec<Buf> = std::iter::from_fn(|| io.take(SEGMENT as u32)).take(STAGED).collect();
        if spare.len() < STAGED {
            spare.into_iter().for_each(|buf| io.give(buf));
            return None;
        }
        let settings = SecondSettings { size: place.size, page: page as u32, writes_per_day: place.writes_per_day };
        let level = SecondLevel::new(io.now(), settings);
        let sums = vec![0; (level.size().0 / page) as usize];
        let last = (level.size(), SecondStatistics::default(), Vec::new());
        let (file, buffers) = (io.register(file), spare.len());
        let (filling, sealed) = (None, Vec::with_capacity(STAGED));
        let (failed, is_news) = (None, false);
        let level = Some(level);
        Some(Second {
            level,
            file,
            _lock: lock,
            place,
            page,
            filling,
            spare,
            sealed,
            buffers,
            sums,
            failed,
            is_news,
            last,
        })
    }

    /// Buffers that it takes from the slab.
    pub(super) fn buffers(&self) -> usize {
        self.buffers
    }

    /// Offers a page that memory has evicted, with its bytes.
    pub(super) fn offer(&mut self, (io, now): (&Io, Time), partition: PartitionId, evicted: Evicted, bytes: &[u8]) {
        let Some(level) = &mut self.level else { return };
        if self.filling.is_none() && self.spare.is_empty() {
            return level.fell_behind();
        }
        let Some(place) = level.offer(now, partition, evicted) else { return };
        let mut buf = self.filling.take().or_else(|| self.spare.pop()).expect("it was looked");
        let at = place.within as usize * self.page as usize;
        io.with_mut(&mut buf, |segment| segment[at..at + bytes.len()].copy_from_slice(bytes));
        self.sums[place.slot.0 as usize] = crc32c(bytes);
        match level.seal() {
            Some(sealed) => self.sealed.push((sealed, buf)),
            None => self.filling = Some(buf),
        }
    }

    /// A full segment to be written, with its offset in the file.
    pub(super) fn take_sealed(&mut self) -> Option<(u32, u64, Buf)> {
        let (sealed, buf) = self.sealed.pop()?;
        Some((sealed.segment, BASE + sealed.at, buf))
    }

    /// The write of a segment ended, successfully or not.
    pub(super) fn written(&mut self, io: &Io, segment: u32, buf: Buf, result: Result<(), String>) {
        match (&mut self.level, result) {
            (Some(level), Ok(())) => {
                level.written(segment);
                self.spare.push(buf.window(0, SEGMENT as u32));
            }
            (_, result) => {
                self.buffers -= 1;
                io.give(buf);
                result.err().into_iter().for_each(|why| self.fail(io, &format!("write: {why}")));
            }
        }
    }

    /// Removes a page that changes or is deleted.
    pub(super) fn remove(&mut self, key: cache::Key) {
        self.level.iter_mut().for_each(|level| level.remove(key));
    }

    /// The slot of a page.
    pub(super) fn find(&self, key: cache::Key) -> Option<Slot> {
        self.level.as_ref()?.find(key)
    }

    /// Protects slots while they are read; `is_ahead` for a read-ahead.
    pub(super) fn hold(&mut self, partition: PartitionId, slots: impl Iterator<Item = Slot>, is_ahead: bool) {
        let Some(level) = &mut self.level else { return };
        slots.for_each(|slot| level.hold(partition, slot, is_ahead));
    }

    /// Ends the protection.
    pub(super) fn release(&mut self, slots: impl Iterator<Item = Slot>) {
        let Some(level) = &mut self.level else { return };
        slots.for_each(|slot| level.release(slot));
    }

    /// Offset of a page in the file.
    pub(super) fn at(&self, slot: Slot) -> u64 {
        BASE + u64::from(slot.0) * self.page
    }

    /// Whether these bytes are the ones that were written from slot `first` on.
    pub(super) fn are_right(&self, first: Slot, bytes: &[u8]) -> bool {
        let sums = self.sums.get(first.0 as usize..).unwrap_or_default();
        let mut pages = bytes.chunks(self.page as usize).zip(sums);
        pages.len() * self.page as usize >= bytes.len() && pages.all(|(page, sum)| crc32c(page) == *sum)
    }

    /// Looks at some pages and removes dead ones. Returns whether it has completed a round.
    pub(super) fn sweep(&mut self, steps: u32, is_dead: impl Fn(PartitionId, u64) -> bool) -> bool {
        self.level.as_mut().is_none_or(|level| level.sweep(steps, is_dead))
    }

    /// Turns it off: nothing is written or found any more.
    pub(super) fn fail(&mut self, io: &Io, why: &str) {
        let Some(level) = self.level.take() else { return };
        self.last = (level.size(), level.statistics(), level.hits().to_vec());
        self.sums = Vec::new();
        let sealed = self.sealed.drain(..).map(|(_, buf)| buf);
        for buf in self.filling.take().into_iter().chain(self.spare.drain(..)).chain(sealed) {
            self.buffers -= 1;
            io.give(buf);
        }
        (self.failed, self.is_news) = (Some(why.into()), true);
    }

    /// The failure, the first time that it is asked for.
    pub(super) fn take_failure(&mut self) -> Option<(PathBuf, String)> {
        let is_news = std::mem::take(&mut self.is_news);
        Some((self.place.path.clone(), self.failed.clone().filter(|_| is_news)?))
    }

    /// Drops the counts of partitions that no longer exist.
    pub(super) fn forget_partitions(&mut self, is_there: impl Fn(PartitionId) -> bool) {
        self.level.iter_mut().for_each(|level| level.forget_partitions(&is_there));
        let gone = (0..).zip(&mut self.last.2).filter(|(number, _)| !is_there(PartitionId(*number)));
        gone.for_each(|(_, hits)| *hits = 0);
    }

    /// Pages found for a partition, and bytes that it has here.
    pub(super) fn of_partition(&self, partition: PartitionId) -> (u64, Bytes) {
        let (_, _, hits) = &self.last;
        let last = || (hits.get(usize::from(partition.0)).copied().unwrap_or(0), 0);
        let (hits, pages) = self.level.as_ref().map_or_else(last, |level| level.of_partition(partition));
        (hits, Bytes(u64::from(pages) * self.page))
    }

    pub(super) fn state(&self) -> SecondState {
        let (size, counts, _) = &self.last;
        let (size, counts) = self.level.as_ref().map_or((*size, *counts), |level| (level.size(), level.statistics()));
        let memory = self.level.as_ref().map_or(Bytes(0), |_| SecondPlace::memory(size, self.page as u32));
        SecondState { path: self.place.path.clone(), failed: self.failed.clone(), size, memory, counts }
    }
}

impl SecondPlace {
    /// Memory for the index of a second level of that size, without its buffers.
    pub fn memory(size: Bytes, page: u32) -> Bytes {
        let sums = size.0 / u64::from(page.max(1)) * 4;
        Bytes(SecondLevel::memory(size, page).0 + sums)
    }
}
