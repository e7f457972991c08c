//! The second level of the cache: a file or device that has what memory evicted, as long as the
//! server runs.
//!
//! ```text
//!   memory evicts ──► cache::SecondLevel admits? ──► laid into a segment in memory ──► written in one piece
//!   memory misses ──► all pages of the read in memory or here? ──► read, compared with their checksums, answered
//! ```
//! It begins empty each time, so nothing on it is ever read that this process has not written. A
//! page goes from it before any change of it begins, and nothing is laid there while a change is
//! under way, so what is on it is what a read of the disk would bring (decision 0404). A read or
//! write that fails, or bytes that are not those that were written, turn it off until the server
//! starts again; the read goes to the disk.

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
/// Segments in memory: one fills while one is written.
const STAGED: usize = 2;

/// Where a second level is, and how much may be written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondPlace {
    /// A file, which is made if it is not there, or a block device.
    pub path: PathBuf,
    /// What it may hold.
    pub size: Bytes,
    /// Bytes written to it in 24 h at most.
    pub writes_per_day: Bytes,
}

/// Why a second level cannot be opened; nothing was written.
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
    /// Something else is on it.
    #[error(
        "{}: holds something that is not a second level of a cache; name a file that is not there yet, or write zeroes over \
         the device's first 4 KiB",
        .0.display()
    )]
    Foreign(PathBuf),
    /// It would be made in a folder that is not there.
    #[error("{}: must be a file in a folder that is there, or a device", .0.display())]
    NoFolder(PathBuf),
    /// Another server has it, or the system.
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

/// An open one, empty; it may be sent to the thread that uses it.
#[derive(Debug)]
pub struct SecondFile {
    file: File,
    /// A description of its own, since a ring lets go of its files only some time after its process
    /// has died.
    lock: File,
    place: SecondPlace,
}

impl SecondPlace {
    /// Bytes that one has at least.
    pub const SIZE_MIN: Bytes = Bytes(SEGMENT * SEGMENTS_MIN as u64);
    /// What it takes of the slab as long as it is used.
    pub const BUFFERS: Bytes = Bytes(SEGMENT * STAGED as u64);

    /// Looks whether it could be opened, as far as that is seen without writing: what is there is a
    /// second level or holds nothing, or its folder is there.
    ///
    /// # Errors
    /// It could not.
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

    /// Opens it past the page cache. What has data of anything else is left alone.
    ///
    /// # Errors
    /// It holds something else, is in use or too small, or the system refuses.
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
        // The label goes through the page cache: it is not aligned, and written once.
        let labelled = fs::OpenOptions::new().write(true).open(path);
        let labelled = labelled.and_then(|file| file.write_all_at(&Label::SECOND.encode(), 0).and(file.sync_all()));
        labelled.map_err(failed)?;
        Ok(SecondFile { file: disk.file, lock, place: self.clone() })
    }
}

/// Nothing is written over but zeroes, an empty file and what was a second level.
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

/// What a second level is and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondState {
    /// The file or device.
    pub path: PathBuf,
    /// Why it was turned off, where it was.
    pub failed: Option<String>,
    /// Bytes that it may hold.
    pub size: Bytes,
    /// Bytes of memory that say what is on it.
    pub memory: Bytes,
    /// Its counts, in pages.
    pub counts: SecondStatistics,
}

/// Pages of a read that lie one after the other here.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecondRun {
    /// Where they go in the read's buffer.
    pub into: u32,
    pub slot: Slot,
    pub pages: u32,
}

impl SecondRun {
    /// All of its pages.
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
    /// The segment that fills.
    filling: Option<Buf>,
    spare: Vec<Buf>,
    /// Segments that are full and not handed to the kernel yet.
    sealed: Vec<(Sealed, Buf)>,
    /// Buffers out of the slab, those that the kernel has among them.
    buffers: usize,
    /// Checksums of the pages, by slot (CRC-32C).
    sums: Vec<u32>,
    failed: Option<String>,
    /// Nobody has heard of the failure yet.
    is_news: bool,
    last: (Bytes, SecondStatistics),
}

impl Second {
    /// `None` where the slab has no room for two segments.
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
        let last = (level.size(), SecondStatistics::default());
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

    /// Buffers that are out of the slab for it.
    pub(super) fn buffers(&self) -> usize {
        self.buffers
    }

    /// Memory has evicted a page with these bytes.
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

    /// A segment to be written, with its byte in the file.
    pub(super) fn take_sealed(&mut self) -> Option<(u32, u64, Buf)> {
        let (sealed, buf) = self.sealed.pop()?;
        Some((sealed.segment, BASE + sealed.at, buf))
    }

    /// It was written, or not.
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

    /// A page changes, or is gone.
    pub(super) fn remove(&mut self, key: cache::Key) {
        self.level.iter_mut().for_each(|level| level.remove(key));
    }

    /// Where a page is.
    pub(super) fn find(&self, key: cache::Key) -> Option<Slot> {
        self.level.as_ref()?.find(key)
    }

    /// Reads of these begin.
    pub(super) fn hold(&mut self, partition: PartitionId, slots: impl Iterator<Item = Slot>) {
        let Some(level) = &mut self.level else { return };
        slots.for_each(|slot| level.hold(partition, slot));
    }

    /// They have ended.
    pub(super) fn release(&mut self, slots: impl Iterator<Item = Slot>) {
        let Some(level) = &mut self.level else { return };
        slots.for_each(|slot| level.release(slot));
    }

    /// The byte of the file where a page begins.
    pub(super) fn at(&self, slot: Slot) -> u64 {
        BASE + u64::from(slot.0) * self.page
    }

    /// Whether these are the bytes that were written from a page on.
    pub(super) fn are_right(&self, first: Slot, bytes: &[u8]) -> bool {
        let sums = self.sums.get(first.0 as usize..).unwrap_or_default();
        let mut pages = bytes.chunks(self.page as usize).zip(sums);
        pages.len() * self.page as usize >= bytes.len() && pages.all(|(page, sum)| crc32c(page) == *sum)
    }

    /// Looks at some pages and takes out those that are dead. Whether it has been all the way
    /// around.
    pub(super) fn sweep(&mut self, steps: u32, is_dead: impl Fn(PartitionId, u64) -> bool) -> bool {
        self.level.as_mut().is_none_or(|level| level.sweep(steps, is_dead))
    }

    /// Turns it off: nothing is written or found any more.
    pub(super) fn fail(&mut self, io: &Io, why: &str) {
        let Some(level) = self.level.take() else { return };
        self.last = (level.size(), level.statistics());
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

    /// Counts anew for the partitions that are there no more.
    pub(super) fn forget_partitions(&mut self, is_there: impl Fn(PartitionId) -> bool) {
        self.level.iter_mut().for_each(|level| level.forget_partitions(&is_there));
    }

    /// Pages found for a partition, and bytes that it has here.
    pub(super) fn of_partition(&self, partition: PartitionId) -> (u64, Bytes) {
        let (hits, pages) = self.level.as_ref().map_or((0, 0), |level| level.of_partition(partition));
        (hits, Bytes(u64::from(pages) * self.page))
    }

    pub(super) fn state(&self) -> SecondState {
        let (size, counts) = self.level.as_ref().map_or(self.last, |level| (level.size(), level.statistics()));
        let memory = self.level.as_ref().map_or(Bytes(0), |_| SecondPlace::memory(size, self.page as u32));
        SecondState { path: self.place.path.clone(), failed: self.failed.clone(), size, memory, counts }
    }
}

impl SecondPlace {
    /// Bytes of memory that say what is on one of that size, beside its buffers.
    pub fn memory(size: Bytes, page: u32) -> Bytes {
        let sums = size.0 / u64::from(page.max(1)) * 4;
        Bytes(SecondLevel::memory(size, page).0 + sums)
    }
}
