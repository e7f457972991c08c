//! Memory for a cache: pages of one size, by number. Ordinary memory, not pinned: a page takes some
//! when it is first written, and none once it was given back.

use crate::IoError;
use crate::region::Region;
use block::Bytes;

/// Pages of one size. Who looks at one borrows all, so nobody writes what another reads.
pub struct Pages {
    region: Region,
    page: usize,
}

impl Pages {
    /// Reserves addresses for so many pages; memory is taken as they are written.
    ///
    /// # Errors
    /// The system does not give so many addresses.
    ///
    /// # Panics
    /// When a page is not a multiple of 4 KiB.
    pub fn map(pages: u32, page: Bytes) -> Result<Pages, IoError> {
        assert!(page.0 > 0 && page.0.is_multiple_of(4096), "pages are of whole frames");
        let page = page.0 as usize;
        Ok(Pages { region: Region::map(pages as usize * page)?, page })
    }

    /// A page's bytes; zeroes if it was never written.
    ///
    /// # Panics
    /// When there is no such page.
    pub fn read(&self, number: u32) -> &[u8] {
        let start = self.start(number);
        // SAFETY: `start` checked that the page lies inside the region, which is mapped and
        // initialised. Only `write` and `give_back` change it, and they borrow all of `self` alone.
        unsafe { std::slice::from_raw_parts(start, self.page) }
    }

    /// A page's bytes, to write.
    ///
    /// # Panics
    /// When there is no such page.
    pub fn write(&mut self, number: u32) -> &mut [u8] {
        let start = self.start(number);
        // SAFETY: as in `read`; and `self` is borrowed alone, so the slice is the only one.
        unsafe { std::slice::from_raw_parts_mut(start, self.page) }
    }

    /// Gives a page's memory back to the system; it reads as zeroes.
    ///
    /// # Panics
    /// When there is no such page.
    pub fn give_back(&mut self, number: u32) {
        let _ = self.start(number);
        // SAFETY: `self` is borrowed alone, so nobody has a slice of it, and the kernel is never
        // told of its addresses; both ends are multiples of 4 KiB.
        unsafe { self.region.give_back(number as usize * self.page, self.page) };
    }

    fn start(&self, number: u32) -> *mut u8 {
        let from = number as usize * self.page;
        assert!(from + self.page <= self.region.len(), "page {number} is none of these");
        // SAFETY: checked above.
        unsafe { self.region.start().add(from) }.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_what_was_written_until_they_are_given_back() {
        let mut pages = Pages::map(3, Bytes::kib(8)).unwrap();
        pages.write(1).fill(7);
        pages.write(2).fill(9);
        assert!(pages.read(0).iter().all(|byte| *byte == 0) && pages.read(1).iter().all(|byte| *byte == 7));
        pages.give_back(1);
        assert!(pages.read(1).iter().all(|byte| *byte == 0) && pages.read(2).iter().all(|byte| *byte == 9));
    }

    #[test]
    #[should_panic(expected = "page 3 is none of these")]
    fn a_page_beyond_the_end_is_refused() {
        Pages::map(3, Bytes::kib(8)).unwrap().read(3);
    }
}
