//! The memory behind a slab: one anonymous mapping, zeroed, aligned to a huge page, never moved.

use std::ptr::NonNull;

use crate::IoError;

/// Huge pages are 2 MiB on common machines; aligning to that costs address space only.
pub(crate) const ALIGN: usize = 2 << 20;

/// Mapped memory. It owns the address range; who uses which byte is recorded in `Slab`.
pub(crate) struct Region {
    start: NonNull<u8>,
    len: usize,
    /// The whole mapping, including the slack for alignment.
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

    /// Gives the kernel advice: a child process must not share pages that the kernel writes to, and
    /// huge pages make pinning and bookkeeping cheaper. A kernel without either works all the same,
    /// so the result is ignored.
    fn advise(&self, advice: libc::c_int) {
        // SAFETY: the range is ours, page-aligned, and neither advice changes its contents for this
        // process.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.len, advice) };
    }
}

impl Region {
    /// Returns the memory of a part to the system. The part reads as zeroes from now on, and takes
    /// memory again when it is written.
    ///
    /// # Safety
    /// Nobody may have a reference to the part or use it meanwhile, including the kernel. Both ends
    /// must be aligned to 4 KiB.
    pub(crate) unsafe fn give_back(&self, from: usize, len: usize) {
        assert!(from <= self.len && len <= self.len - from, "a part of the region");
        // SAFETY: checked above.
        let start = unsafe { self.start.add(from) };
        // SAFETY: the part is ours and unused, as the caller promises. It is private and anonymous,
        // so it reads as zeroes afterwards. If the kernel refuses (locked memory), it keeps the
        // memory.
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
