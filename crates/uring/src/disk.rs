//! Opening files and block devices for direct I/O, and learning about them first.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use block::Bytes;

use crate::failure::reason;

/// Whether I/O goes through the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caching {
    /// `O_DIRECT`: past the page cache.
    #[default]
    Direct,
    /// Through the page cache.
    Page,
}

/// Whether to create the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Create {
    /// It must exist.
    #[default]
    Never,
    /// It is created if it does not exist.
    IfMissing,
    /// It must not exist.
    New,
}

/// What is durable when a write to an open file returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durable {
    /// Nothing.
    #[default]
    Nothing,
    /// The data, and what is needed to find it (`O_DSYNC`).
    Data,
    /// The data and all metadata (`O_SYNC`).
    All,
}

/// How to open a file or device.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// Whether to use the page cache.
    pub cache: Caching,
    /// Whether to open it for writing, too.
    pub write: bool,
    /// Whether to create it.
    pub create: Create,
    /// Permissions of a created file, less the umask.
    pub mode: u32,
    /// What is durable when a write returns.
    pub durable: Durable,
    /// Whether it is to be a device without an end ([`is_endless`]), and nothing else.
    pub endless: bool,
}

impl Default for Opening {
    /// Direct, for reading, an existing file. If it is created, only its owner has access.
    fn default() -> Opening {
        Opening {
            cache: Caching::Direct,
            write: false,
            create: Create::Never,
            mode: 0o600,
            durable: Durable::Nothing,
            endless: false,
        }
    }
}

/// An open file or block device.
#[derive(Debug)]
pub struct Disk {
    /// The file, for [`crate::Io::register`].
    pub file: File,
    /// Its size when it was opened.
    pub size: Bytes,
    /// Offsets, lengths and memory addresses of direct I/O must be multiples of this many bytes; 1
    /// through the page cache.
    pub align: u32,
    /// Whether it is a block device.
    pub is_device: bool,
}

/// Why a file or device could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file system does not support direct I/O.
    #[error("{}: its file system has no direct I/O (O_DIRECT); use the page cache or another file system", .0.display())]
    NoDirect(PathBuf),
    /// It is a folder, a pipe or the like.
    #[error("{}: neither a file nor a block device", .0.display())]
    Kind(PathBuf),
    /// The system refused.
    #[error("{}: {}", path.display(), reason(cause))]
    Os {
        /// The path to open.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
}

/// Checks that `path` is a file, a block device, or absent. Anything else must not even be opened:
/// a pipe would block, and opening a device node may have side effects.
///
/// # Errors
/// It is neither a file nor a block device.
pub fn check_kind(path: &Path) -> Result<(), OpenError> {
    match std::fs::metadata(path) {
        Ok(found) if !(found.is_file() || found.file_type().is_block_device()) => Err(OpenError::Kind(path.into())),
        _ => Ok(()),
    }
}

/// Whether `path` is `/dev/null` or `/dev/zero`: a device that takes every write and keeps none.
/// They are known by their numbers (`Documentation/admin-guide/devices.txt` of Linux), whatever the
/// name.
pub fn is_endless(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| is_endless_device(&about))
}

fn is_endless_device(about: &Metadata) -> bool {
    const NUMBERS: [(u32, u32); 2] = [(1, 3), (1, 5)];
    about.file_type().is_char_device()
        && NUMBERS.iter().any(|&(major, minor)| about.rdev() == libc::makedev(major, minor))
}

/// Opens a file or block device, or a device without an end, whose size is 0 here.
pub fn open(path: &Path, opening: Opening) -> Result<Disk, OpenError> {
    let failed = |cause| OpenError::Os { path: path.into(), cause };
    match opening.endless {
        true if is_endless(path) => {}
        true => return Err(OpenError::Kind(path.into())),
        false => check_kind(path)?,
    }
    let (file, made) = open_or_make(path, opening).map_err(failed)?;
    if opening.cache == Caching::Direct && !go_direct(&file) {
        if made {
            // The file was created just now and is empty. If it cannot be removed, the error below
            // is still the one to report.
            let _ = std::fs::remove_file(path);
        }
        return Err(OpenError::NoDirect(path.into()));
    }
    let about = file.metadata().map_err(failed)?;
    if opening.endless && !is_endless_device(&about) {
        return Err(OpenError::Kind(path.into()));
    }
    let is_device = about.file_type().is_block_device();
    let size = if is_device { device_size(&file).map_err(failed)? } else { Bytes(about.len()) };
    let align = match opening.cache {
        Caching::Page => 1,
        Caching::Direct => {
            direct_alignment(&file, is_device, about.blksize()).ok_or_else(|| OpenError::NoDirect(path.into()))?
        }
    };
    Ok(Disk { file, size, align, is_device })
}

/// Whether something on this machine holds a block device exclusively: a mount in any namespace,
/// swap, RAID, LVM, the device mapper, or a program that asked for it. The test is to claim it for
/// a moment, for reading only.
pub fn is_held(device: &Path) -> io::Result<bool> {
    /// A concurrent caller claims it too, and releases it at once.
    const TRIES: u32 = 200;
    for _ in 0..TRIES {
        match OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device) {
            Ok(_) => return Ok(false),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The alignment that direct I/O to files in a folder needs, found by an unnamed temporary file.
/// `None` if the file system has no such files or no direct I/O; then only a file itself can tell.
pub fn alignment_in(folder: &Path) -> Option<u32> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).custom_flags(libc::O_TMPFILE).mode(0o600).open(folder).ok()?;
    let block = file.metadata().ok()?.blksize();
    if go_direct(&file) { direct_alignment(&file, false, block) } else { None }
}

/// Opens through the page cache. Also returns whether the file was created, which only an exclusive
/// creation can tell for certain.
fn open_or_make(path: &Path, opening: Opening) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(opening.write || opening.create != Create::Never).mode(opening.mode);
    options.custom_flags(match opening.durable {
        Durable::Nothing => 0,
        Durable::Data => libc::O_DSYNC,
        Durable::All => libc::O_SYNC,
    });
    if opening.create != Create::Never {
        match options.create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && opening.create == Create::IfMissing => {}
            made => return made.map(|file| (file, true)),
        }
    }
    options.create_new(false).open(path).map(|file| (file, false))
}

/// Turns on direct I/O. An open flag would not do: where direct I/O is refused, the kernel would
/// have created the file all the same.
fn go_direct(file: &File) -> bool {
    let fd = file.as_raw_fd();
    // SAFETY: no memory is passed; the descriptor is open.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        flags >= 0 && libc::fcntl(fd, libc::F_SETFL, flags | libc::O_DIRECT) == 0
    }
}

/// Properties of an open file that matter for its requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About {
    /// Whether it is read through the page cache.
    pub(crate) cached: bool,
    /// The device that it is, or is on; 0 if unknown.
    pub(crate) device: u64,
}

/// The properties of an open file; the default for a socket.
pub(crate) fn about(fd: &OwnedFd) -> About {
    // SAFETY: all-zero is a valid stat answer: numbers only.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and `about` is a valid place for the answer.
    let flags = unsafe {
        if libc::fstat(fd.as_raw_fd(), &raw mut about) != 0 {
            return About::default();
        }
        libc::fcntl(fd.as_raw_fd(), libc::F_GETFL)
    };
    let kind = about.st_mode & libc::S_IFMT;
    let cached = matches!(kind, libc::S_IFREG | libc::S_IFBLK) && flags >= 0 && flags & libc::O_DIRECT == 0;
    About { cached, device: if kind == libc::S_IFBLK { about.st_rdev } else { about.st_dev } }
}

/// The size of a block device. Its metadata has no length, so seek to its end.
fn device_size(file: &File) -> io::Result<Bytes> {
    use std::io::{Seek, SeekFrom};
    let mut file = file;
    let size = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    Ok(Bytes(size))
}

/// What direct I/O must be aligned to: as the file system says (Linux ≥ 6.1), else the device's
/// logical block, else the file system's block. `None` when the file system says that there is no
/// direct I/O.
fn direct_alignment(file: &File, is_device: bool, block: u64) -> Option<u32> {
    if let Some((memory, offset)) = stated_alignment(file) {
        return if offset == 0 { None } else { Some(memory.max(offset)) };
    }
    if is_device && let Some(block) = logical_block(file) {
        return Some(block);
    }
    Some(u32::try_from(block).unwrap_or(4096).clamp(512, 4096).next_power_of_two())
}

/// Alignment of memory and of offsets, if this kernel reports it.
fn stated_alignment(file: &File) -> Option<(u32, u32)> {
    // SAFETY: all-zero is a valid statx answer: numbers only.
    let mut about: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the empty path is a C string, `about` is a valid place for the answer, the descriptor
    // is open.
    let outcome =
        unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN, &mut about) };
    let told = outcome == 0 && about.stx_mask & libc::STATX_DIOALIGN != 0;
    told.then_some((about.stx_dio_mem_align, about.stx_dio_offset_align))
}

fn logical_block(device: &File) -> Option<u32> {
    let mut size: libc::c_int = 0;
    // SAFETY: BLKSSZGET writes one int to `size`; the descriptor is open.
    let outcome = unsafe { libc::ioctl(device.as_raw_fd(), libc::BLKSSZGET, &mut size) };
    if outcome == 0 { u32::try_from(size).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_opened_and_measured() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("volume");
        let missing = open(&path, Opening::default()).unwrap_err().to_string();
        assert_eq!(missing, format!("{}: No such file or directory", path.display()));

        let new = Opening { create: Create::New, cache: Caching::Page, ..Opening::default() };
        open(&path, new).unwrap().file.set_len(123).unwrap();
        assert!(matches!(open(&path, new), Err(OpenError::Os { .. })), "made twice");
        let disk = open(&path, Opening { cache: Caching::Page, ..Opening::default() }).unwrap();
        assert_eq!((disk.size, disk.align, disk.is_device), (Bytes(123), 1, false));
        assert_eq!(disk.file.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn direct_io_states_its_alignment_or_is_refused_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("volume");
        match open(&path, Opening { create: Create::IfMissing, ..Opening::default() }) {
            Ok(disk) => assert!(disk.align.is_power_of_two() && (512..=65536).contains(&disk.align), "{disk:?}"),
            Err(OpenError::NoDirect(_)) => assert!(!path.exists()),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_folder_tells_what_a_file_in_it_tells() {
        let folder = tempfile::tempdir().unwrap();
        let made = open(&folder.path().join("file"), Opening { create: Create::New, ..Opening::default() });
        let Some(align) = alignment_in(folder.path()) else { return };
        assert_eq!(made.unwrap().align, align);
        assert_eq!(alignment_in(&folder.path().join("missing")), None);
    }

    #[test]
    fn what_is_no_disk_is_refused_unopened() {
        for path in ["/", "/dev/null"] {
            let error = open(Path::new(path), Opening::default()).unwrap_err();
            assert_eq!(error.to_string(), format!("{path}: neither a file nor a block device"));
        }
    }
}
