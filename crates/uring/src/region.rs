//! The memory behind a slab: one anonymous mapping, zeroed, aligned to a huge page, never moved.

use std::ptr::NonNull;

use crate::IoError;

/// Huge pages are 2 MiB on the machines we know; alignment to it costs address space only.
pub(crate) const ALIGN: usize = 2 << 20;

/// Mapped memory. It owns the address range and knows nothing of who uses which byte: `Slab` does.
pub(crate) struct Region {
    start: NonNull<u8>,
    len: usize,
    /// What was mapped, alignment included.
    mapped: NonNull<libc::c_void>,
    mapped_len: usize,
}

impl Region {
    /// Maps `len` bytes, all zero.
    pub(crate) fn map(len: usize) -> Result<Region, IoError> {
        let mapped_len = len + ALIGN;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no memory
        // of ours.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), mapped_len, access, kind, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(IoError::last("mmap of the buffers"));
        }
        let mapped = NonNull::new(mapped).expect("the kernel never maps address zero unasked");
        let gap = mapped.as_ptr().align_offset(ALIGN);
        // SAFETY: `gap` < ALIGN and the mapping is ALIGN longer than `len`, so the result and the
        // `len` bytes after it lie inside the mapping.
        let start = unsafe { mapped.cast::<u8>().add(gap) };
        let region = Region { start, len, mapped, mapped_len };
        region.advise(libc::MADV_DONTFORK);
        if len >= ALIGN {
            region.advise(libc::MADV_HUGEPAGE);
        }
        Ok(region)
    }

    /// The first byte. Aligned to 2 MiB; `len` bytes from here stay readable and writable as long
    /// as the region lives.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Advice only: a child process must not share pages the kernel writes to, and huge pages make
    /// pinning and the kernel's bookkeeping cheaper. A kernel that has neither works all the same,
    /// so the outcome is not looked at.
    fn advise(&self, advice: libc::c_int) {
        // SAFETY: the range is ours, page-aligned, and neither advice changes its contents for this
        // process.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.len, advice) };
    }
}

impl Region {
    /// Gives the memory of a part back to the system: it reads as zeroes from now on, and takes
    /// memory again when it is written.
    ///
    /// # Safety
    /// Nobody may have a reference to the part or use it meanwhile, the kernel included. Both ends
    /// must be aligned to 4 KiB.
    pub(crate) unsafe fn give_back(&self, from: usize, len: usize) {
        assert!(from <= self.len && len <= self.len - from, "a part of the region");
        // SAFETY: checked above.
        let start = unsafe { self.start.add(from) };
        // SAFETY: the part is ours and nobody's, as the caller promises; private and anonymous, so
        // that it reads as zeroes afterwards. Where the kernel refuses (locked memory), it keeps
        // what it has.
        unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_DONTNEED) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` mapped. The only users are slices, which borrow the slab or
        // the pages that own this region; views of pages, which own it too; and the kernel, whose
        // requests `Io` has waited for before it drops the slab and with it all views.
        unsafe { libc::munmap(self.mapped.as_ptr(), self.mapped_len) };
    }
}
