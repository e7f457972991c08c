//! Buffers whose bytes stay elsewhere: in the page cache, or in pages of Seawall's own cache
//! ([`crate::pages`]). A send copies them from there to the socket, which makes one copy instead of
//! two.
//!
//! ```text
//!   file   ├────── 256 MiB ──────┼────── 256 MiB ──────┤      each mapped once for reading, the last few kept
//!                ▲ at, len
//!   slot ────────┘                                            its own memory is not touched
//! ```
//! Only the kernel ever reads a mapping of a file, and only within a call that copies out of it. So
//! no Rust reference to memory that others change exists here. A page that cannot be read (a
//! failing disk, a truncated file) is an `EFAULT` of that call instead of a signal.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::rc::Rc;

use block::Buf;

use crate::operation::Memory;
use crate::pages::{Pages, Shown};
use crate::{Errno, Failure, FileId};

/// Bytes of a file in one mapping. It is large, because a page that was found once costs nothing
/// the next time.
const MAPPING: u64 = 256 << 20;
/// Mappings that are kept. They cover 4 GiB, for which the kernel's page tables take up to 8 MiB.
const MAPPINGS_MAX: usize = 16;
/// Bytes in a page of the page cache.
const PAGE: usize = 4096;

/// A part of a file, or of cache pages, that a buffer is a view of.
pub(crate) struct View {
    source: Source,
    /// First byte in the mapping, or in the pages.
    at: usize,
    len: u32,
    /// Offset in the slot at which the bytes would be.
    pub(crate) start: u32,
    /// Unique among all views, including earlier ones of the same slot.
    pub(crate) number: u64,
}

enum Source {
    /// The bytes may be overwritten with another's; they must be copied before.
    File(Rc<Mapping>),
    /// The bytes do not change while they are shown.
    Pages(Shown),
}

/// Mappings of files, the most recently used at the end.
#[derive(Default)]
pub(crate) struct Mappings {
    kept: VecDeque<Rc<Mapping>>,
    views: u64,
    /// A scratch list: a byte for each page that is asked about.
    resident: Vec<u8>,
}

struct Mapping {
    file: FileId,
    /// Which part of the file, counted in [`MAPPING`]s.
    part: u64,
    start: NonNull<libc::c_void>,
    /// The same file, kept open while a buffer is a view of a part of it.
    fd: OwnedFd,
}

impl Mappings {
    /// A view of `len` bytes from `at` of a file on, for a slot's bytes from `start` on, if all of
    /// them are in the page cache.
    pub(crate) fn view(&mut self, file: (FileId, RawFd), at: u64, len: u32, start: u32) -> Option<View> {
        let end = at.checked_add(len.into())?;
        if len == 0 || at / MAPPING != (end - 1) / MAPPING || end > length(file.1)? {
            return None;
        }
        let mapping = self.mapping(file, at / MAPPING)?;
        let at = (at % MAPPING) as usize;
        if !mapping.is_resident(at, len as usize, &mut self.resident) {
            return None;
        }
        Some(View { source: Source::File(mapping), at, len, start, number: self.number() })
    }

    /// Appends views of pages in this order, from byte `first` of the first page on, as long as
    /// `buf`. Appends nothing and returns false if no more pages may be shown.
    pub(crate) fn of_pages(
        &mut self,
        pages: &Pages,
        (numbers, first): (&[u32], u32),
        buf: &Buf,
        views: &mut Vec<View>,
    ) -> bool {
        let (number, mut start, before) = (self.number(), buf.start(), views.len());
        let is_shown = pages.show(numbers, first as usize, buf.len() as usize, |shown, at, len| {
            let (len, source) = (len as u32, Source::Pages(shown));
            views.push(View { source, at, len, start, number });
            start += len;
        });
        if !is_shown {
            views.truncate(before);
        }
        is_shown
    }

    fn number(&mut self) -> u64 {
        self.views += 1;
        self.views
    }

    /// A file is closed: its mappings are unmapped with the last of their views.
    pub(crate) fn forget(&mut self, file: FileId) {
        self.kept.retain(|mapping| mapping.file != file);
    }

    fn mapping(&mut self, (file, fd): (FileId, RawFd), part: u64) -> Option<Rc<Mapping>> {
        let found = self.kept.iter().rposition(|mapping| mapping.file == file && mapping.part == part);
        let mapping = match found {
            Some(last) if last + 1 == self.kept.len() => return self.kept.back().cloned(),
            Some(place) => self.kept.remove(place)?,
            None => {
                if self.kept.len() == MAPPINGS_MAX {
                    self.kept.pop_front();
                }
                Rc::new(Mapping::map(file, fd, part)?)
            }
        };
        self.kept.push_back(Rc::clone(&mapping));
        Some(mapping)
    }
}

impl View {
    /// The end of the view's bytes in the slot.
    pub(crate) fn end(&self) -> u32 {
        self.start + self.len
    }

    /// Whether its bytes may change while a buffer is a view of them.
    pub(crate) fn may_change(&self) -> bool {
        matches!(self.source, Source::File(_))
    }

    /// Where the kernel finds the bytes from byte `place` of the slot on: up to `most`, and no
    /// further than the view goes. `None` if that byte is not in the view.
    pub(crate) fn memory(&self, place: u32, most: u32) -> Option<Memory> {
        let skip = place.checked_sub(self.start).filter(|skip| *skip < self.len)?;
        let (at, len) = (self.at + skip as usize, most.min(self.len - skip));
        Some(match &self.source {
            Source::File(mapping) => {
                // SAFETY: `Mappings::view` checked that `at` and the view's length lie inside the
                // mapping, and `skip` lies inside the view.
                let start = unsafe { mapping.start.cast::<u8>().add(at) };
                Memory { start, len, fixed: None }
            }
            Source::Pages(shown) => shown.memory(at, len),
        })
    }

    /// Copies all its bytes to `to`, their place in the slot's memory.
    ///
    /// # Safety
    /// `to` must be valid for the view's length and nobody else's during the call.
    pub(crate) unsafe fn copy(&self, to: NonNull<u8>) -> Result<(), Failure> {
        match &self.source {
            // SAFETY: the same promise.
            Source::File(mapping) => unsafe { mapping.copy(self.at, self.len as usize, to) },
            Source::Pages(shown) => {
                let from = shown.memory(self.at, self.len);
                // SAFETY: `shown` has so many bytes there, which nobody writes while they are
                // shown; `to` is valid for as many, as the caller promises, and is a slot's.
                unsafe { std::ptr::copy_nonoverlapping(from.start.as_ptr(), to.as_ptr(), self.len as usize) };
                Ok(())
            }
        }
    }
}

impl Mapping {
    fn map(file: FileId, fd: RawFd, part: u64) -> Option<Mapping> {
        let offset = i64::try_from(part.checked_mul(MAPPING)?).ok()?;
        // SAFETY: no memory is passed; a descriptor that is none is an error.
        let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
        if copy < 0 {
            return None;
        }
        // SAFETY: the call above just made this descriptor, and nobody else knows it.
        let fd = unsafe { OwnedFd::from_raw_fd(copy) };
        let (len, access, kind) = (MAPPING as usize, libc::PROT_READ, libc::MAP_SHARED | libc::MAP_NORESERVE);
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory of ours.
        // What lies beyond the end of the file is never accessed.
        let start = unsafe { libc::mmap64(std::ptr::null_mut(), len, access, kind, copy, offset) };
        if start == libc::MAP_FAILED {
            return None;
        }
        Some(Mapping { file, part, start: NonNull::new(start)?, fd })
    }

    /// Copies `len` bytes from `at` of the mapping on.
    ///
    /// `to` must be valid for them, with no other user during the call.
    /// `to` must be valid for them and nobody else's during the call.
    unsafe fn copy(&self, at: usize, len: usize, to: NonNull<u8>) -> Result<(), Failure> {
        let (mut done, at) = (0, self.part * MAPPING + at as u64);
        while done < len {
            // SAFETY: `done` < `len`, for which `to` is valid, as the caller promises.
            let to = unsafe { to.add(done) };
            // SAFETY: the same; the descriptor is open as long as the mapping.
            let got = unsafe {
                libc::pread64(self.fd.as_raw_fd(), to.as_ptr().cast(), len - done, (at + done as u64) as i64)
            };
            match got {
                1.. => done += got as usize,
                0 => return Err(Failure::UnexpectedEnd),
                _ => match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EINTR) => {}
                    error => return Err(Failure::Os(Errno(error.unwrap_or(libc::EIO)))),
                },
            }
        }
        Ok(())
    }

    /// Whether these bytes are in the page cache. They may be evicted later; a copy then waits for
    /// the disk.
    fn is_resident(&self, at: usize, len: usize, pages: &mut Vec<u8>) -> bool {
        let from = at / PAGE * PAGE;
        let count = (at + len - from).div_ceil(PAGE);
        pages.clear();
        pages.resize(count, 0);
        // SAFETY: the range lies inside the mapping, and the kernel writes a byte for each of its
        // pages to `pages`.
        let outcome = unsafe { libc::mincore(self.start.byte_add(from).as_ptr(), at + len - from, pages.as_mut_ptr()) };
        outcome == 0 && pages.iter().all(|page| page & 1 == 1)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` mapped. Nobody has a view of it any more, so no call of the
        // kernel looks at it.
        unsafe { libc::munmap(self.start.as_ptr(), MAPPING as usize) };
    }
}

/// A regular file's length; `None` for everything else.
fn length(fd: RawFd) -> Option<u64> {
    // SAFETY: all-zero is a valid `stat64`: numbers only.
    let mut about: libc::stat64 = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes to `about`; a descriptor that is none is an error.
    let outcome = unsafe { libc::fstat64(fd, &raw mut about) };
    (outcome == 0 && about.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(about.st_size as u64)
}
