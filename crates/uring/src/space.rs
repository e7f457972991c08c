//! Space of file systems and files: how much is free, allocating it ahead, and which parts of a
//! file are allocated.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use block::{Bytes, Extent};

/// A file system's space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Its size.
    pub total: Bytes,
    /// Free space, including what is reserved for root.
    pub free: Bytes,
    /// What this user may still use.
    pub available: Bytes,
}

/// The space of the file system that `path` is on.
pub fn space(path: &Path) -> io::Result<Space> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all-zero is a valid statvfs answer: numbers only.
    let mut about: libc::statvfs64 = unsafe { std::mem::zeroed() };
    // SAFETY: `path` is a C string and `about` a valid place for the answer.
    check(unsafe { libc::statvfs64(path.as_ptr(), &mut about) })?;
    let bytes = |blocks: u64| Bytes(blocks.saturating_mul(about.f_frsize));
    Ok(Space { total: bytes(about.f_blocks), free: bytes(about.f_bfree), available: bytes(about.f_bavail) })
}

/// Allocates a range ahead, so that writing to it cannot run out of space. The file grows to
/// include it. Existing data stays; new space reads as zeroes.
pub fn allocate(file: &File, at: u64, len: u64) -> io::Result<()> {
    take(file, 0, at, len)
}

/// Turns off the system's read-ahead for this descriptor.
pub fn read_no_further(file: &File) -> io::Result<()> {
    // SAFETY: no memory is passed; the descriptor is open. Length 0 is the whole file.
    let error = unsafe { libc::posix_fadvise64(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Allocates a range ahead without making the file longer: space beyond its end is kept for later.
pub fn reserve(file: &File, at: u64, len: u64) -> io::Result<()> {
    take(file, libc::FALLOC_FL_KEEP_SIZE, at, len)
}

fn take(file: &File, mode: i32, at: u64, len: u64) -> io::Result<()> {
    loop {
        match change_space(file, mode, at, len) {
            // Large ranges take long enough to be interrupted by a signal.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Asks the system to drop a file from the page cache; what is not yet on the disk stays.
pub fn drop_cache(file: &File) -> io::Result<()> {
    // SAFETY: no memory is passed; the descriptor is open. Length 0 is the whole file.
    let error = unsafe { libc::posix_fadvise64(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Whether the file system can release a part of this file. It is tried beyond the file's end,
/// where no data can be lost. For files only, not for block devices.
pub fn can_punch(file: &File) -> io::Result<bool> {
    let beyond = file.metadata()?.len().next_multiple_of(4096);
    match change_space(file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, beyond, 4096) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Releases the space of a range; it reads as zeroes afterwards.
pub fn punch(file: &File, at: u64, len: u64) -> io::Result<()> {
    change_space(file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, at, len)
}

/// Which parts of `at..at + len` are allocated, in order and without gaps. It returns at most
/// `limit` runs, so the answer may cover less. If the file system does not tell, the answer is one
/// run of data. Beyond the end of the file, all is hole.
pub fn extents(file: &File, at: u64, len: u64, limit: usize) -> io::Result<Vec<Extent>> {
    let end = at.saturating_add(len);
    let mut runs = Vec::new();
    let mut here = at;
    while here < end && runs.len() < limit {
        let data = seek(file, here, libc::SEEK_DATA)?.unwrap_or(end).min(end);
        let (next, hole) = match data > here {
            true => (data, true),
            false => (seek(file, here, libc::SEEK_HOLE)?.unwrap_or(end).min(end), false),
        };
        runs.push(Extent { len: next - here, hole, zero: hole, shared: false });
        here = next;
    }
    Ok(runs)
}

/// The next data or hole (`kind`) at or after `at`; `None` if there is none before the end of the
/// file.
fn seek(file: &File, at: u64, kind: libc::c_int) -> io::Result<Option<u64>> {
    let at = i64::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
    // SAFETY: no memory is passed. The file's position moves, which does not matter: all our I/O
    // names its offset.
    let place = unsafe { libc::lseek64(file.as_raw_fd(), at, kind) };
    if let Ok(place) = u64::try_from(place) {
        return Ok(Some(place));
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ENXIO) { Ok(None) } else { Err(error) }
}

/// Makes creations, renames and removals in a folder durable.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Takes the file's lock for this process, until the last copy of the descriptor is closed. False
/// if it is held. The lock belongs to the open file, not to the process: another descriptor in this
/// process is another holder.
pub fn try_lock(file: &File) -> io::Result<bool> {
    // SAFETY: no memory is passed; the descriptor is open.
    match check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

fn change_space(file: &File, mode: libc::c_int, at: u64, len: u64) -> io::Result<()> {
    let number = |n| i64::try_from(n).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG));
    let (at, len) = (number(at)?, number(len)?);
    // SAFETY: no memory is passed; the descriptor is open.
    check(unsafe { libc::fallocate64(file.as_raw_fd(), mode, at, len) })
}

fn check(outcome: libc::c_int) -> io::Result<()> {
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn there_is_some_space_and_no_more_than_all() {
        let space = space(&std::env::temp_dir()).unwrap();
        assert!(space.available <= space.free && space.free <= space.total && space.total.0 > 0, "{space:?}");
        assert!(super::space(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn allocated_space_is_taken_and_given_back() {
        let file = tempfile::tempfile().unwrap();
        allocate(&file, 0, 1 << 20).unwrap();
        let about = file.metadata().unwrap();
        assert_eq!(about.len(), 1 << 20);
        assert!(about.blocks() * 512 >= 1 << 20);
        file.write_all_at(&[7; 4096], 0).unwrap();
        can_punch(&file).unwrap();
        let mut still = [0; 4096];
        file.read_exact_at(&mut still, 0).unwrap();
        assert!(still.iter().all(|&byte| byte == 7), "asking changes nothing");
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
    }

    /// 1 MiB with data at 256..320 KiB only. A file system that does not report holes has one run
    /// of data.
    #[test]
    fn extents_cover_the_range_and_find_the_data() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_all_at(&[7; 64 << 10], 256 << 10).unwrap();
        let run = |len, hole| Extent { len, hole, zero: hole, shared: false };
        let all = extents(&file, 0, 1 << 20, 100).unwrap();
        if all == [run(1 << 20, false)] {
            return;
        }
        assert_eq!(all, [run(256 << 10, true), run(64 << 10, false), run(704 << 10, true)]);
        assert_eq!(extents(&file, 300 << 10, 40 << 10, 100).unwrap(), [run(20 << 10, false), run(20 << 10, true)]);
        assert_eq!(extents(&file, 0, 1 << 20, 2).unwrap().len(), 2);
        assert_eq!(extents(&file, 1 << 20, 4096, 2).unwrap(), [run(4096, true)], "beyond the end");
        assert_eq!(extents(&file, 0, 0, 2).unwrap(), []);
    }

    #[test]
    fn a_lock_is_one_holders() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let (one, two) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        assert!(try_lock(&one).unwrap());
        assert!(!try_lock(&two).unwrap());
        drop(one);
        assert!(try_lock(&two).unwrap());
        sync_folder(folder.path()).unwrap();
    }
}
