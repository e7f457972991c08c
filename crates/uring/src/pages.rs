//! Memory for a cache: numbered pages of one size. It is ordinary memory and not pinned. A page
//! takes memory when it is first written, and none after it was given back.
//!
//! A buffer can be a view of pages ([`crate::Io::show`]); they are then sent from where they are.
//! If such a page is written meanwhile, it moves to another frame. The old frame is released with
//! the last buffer that shows it, so what is being sent does not change.
//!
//! ```text
//!   page   0    1    2           a frame each
//!          │    │    └────────┐
//!   frame  0    1    2        3    4    ◄─ spare: for pages that are changed while frame 2 is shown
//!                    ▲
//!                  buffer
//! ```

use crate::IoError;
use crate::operation::Memory;
use crate::region::Region;
use block::Bytes;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::rc::Rc;

/// Pages of one size. A reader borrows all of them, so nobody writes what another reads.
pub struct Pages {
    frames: Rc<Frames>,
    /// The frame of each page.
    places: Vec<u32>,
}

/// The memory behind the pages.
struct Frames {
    region: Region,
    size: usize,
    /// The uses of each frame.
    uses: Vec<Cell<Use>>,
    /// Frames that belong to no page and are not shown. They take no memory.
    spare: RefCell<Vec<u32>>,
    /// Frames shown, counted once per view. There are never more than there were spare frames at
    /// first, so every page that is shown can still be written.
    shown: Cell<u32>,
    shown_max: u32,
}

#[derive(Clone, Copy, Default)]
struct Use {
    /// Views that show the frame.
    views: u16,
    /// Its page has moved to another frame.
    is_left: bool,
}

/// Consecutive frames that a view shows. They do not change until it is dropped.
pub(crate) struct Shown {
    frames: Rc<Frames>,
    first: u32,
    count: u32,
}

impl Pages {
    /// Reserves addresses for `pages` pages and for `spare` more frames, which pages use that are
    /// written while buffers show them. Memory is taken as the pages are written.
    ///
    /// # Errors
    /// The system does not grant the addresses.
    ///
    /// # Panics
    /// If the page size is not a multiple of 4 KiB, or if there are 4 G pages or more.
    pub fn map(pages: u32, page: Bytes, spare: u32) -> Result<Pages, IoError> {
        assert!(page.0 > 0 && page.0.is_multiple_of(4096), "pages are of whole frames");
        let all = pages.checked_add(spare).expect("fewer than 4 G pages");
        let size = page.0 as usize;
        let frames = Frames {
            region: Region::map(all as usize * size)?,
            size,
            uses: vec![Cell::default(); all as usize],
            spare: RefCell::new((pages..all).rev().collect()),
            shown: Cell::new(0),
            shown_max: spare,
        };
        Ok(Pages { frames: Rc::new(frames), places: (0..pages).collect() })
    }

    /// A page's bytes; zeroes if it was never written.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn read(&self, number: u32) -> &[u8] {
        let start = self.frames.start(self.frame(number));
        // SAFETY: the frame lies inside the region, which is mapped and initialised. Only `write`
        // and `give_back` change frames of pages, and they borrow all of `self` alone.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.frames.size) }
    }

    /// A page's bytes, for writing. Buffers that show the page do not change.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn write(&mut self, number: u32) -> &mut [u8] {
        let before = self.frame(number);
        let frame = self.own(number);
        let (start, size) = (self.frames.start(frame), self.frames.size);
        if frame != before {
            let old = self.frames.start(before);
            // SAFETY: both are whole frames inside the region, and not the same. Nobody has a
            // reference to the new one, which was spare, and nobody writes the old one.
            unsafe { std::ptr::copy_nonoverlapping(old.as_ptr(), start.as_ptr(), size) };
        }
        // SAFETY: as in `read`; `self` is borrowed alone and no view shows this frame, which `own`
        // saw to, so the slice is the only way to it.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), size) }
    }

    /// Returns a page's memory to the system, at once or when no buffer shows it any more. The page
    /// reads as zeroes at once.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn give_back(&mut self, number: u32) {
        let before = self.frame(number);
        if self.own(number) == before {
            self.frames.give_back(before);
        }
    }

    /// Holds `len` bytes of pages in this order, from byte `first` of the first page on. `add` gets
    /// the frames, the offset in them and the number of bytes; pages that are adjacent in memory
    /// come together. False if too many frames are shown already: then what `add` got so far is of
    /// no use.
    ///
    /// # Panics
    /// If there is no such page, or if there are fewer bytes.
    pub(crate) fn show(
        &self,
        numbers: &[u32],
        first: usize,
        len: usize,
        mut add: impl FnMut(Shown, usize, usize),
    ) -> bool {
        let size = self.frames.size;
        assert!(first + len <= numbers.len() * size, "{} pages have no {len} bytes from {first}", numbers.len());
        let (mut from, mut left, mut at) = (first, len, 0);
        while left > 0 {
            let (mut shown, start) = (Shown::none(&self.frames, self.frame(numbers[at])), at);
            while at < numbers.len() && self.frame(numbers[at]) == shown.first + shown.count {
                if !shown.grow() {
                    return false;
                }
                at += 1;
            }
            let part = left.min((at - start) * size - from);
            add(shown, from, part);
            (from, left) = (0, left - part);
        }
        true
    }

    /// Moves a page to a frame that is not shown, unless it is in one; returns that frame.
    fn own(&mut self, number: u32) -> u32 {
        let frame = self.frame(number);
        let used = self.frames.uses[frame as usize].get();
        if used.views == 0 {
            return frame;
        }
        let next = self.frames.spare.borrow_mut().pop().expect("there is a spare frame for each that is shown");
        self.frames.uses[frame as usize].set(Use { is_left: true, ..used });
        self.places[number as usize] = next;
        next
    }

    fn frame(&self, number: u32) -> u32 {
        *self.places.get(number as usize).unwrap_or_else(|| panic!("page {number} is none of these"))
    }
}

impl Frames {
    fn start(&self, frame: u32) -> NonNull<u8> {
        let from = frame as usize * self.size;
        assert!(from + self.size <= self.region.len(), "frame {frame} is none of these");
        // SAFETY: checked above.
        unsafe { self.region.start().add(from) }
    }

    /// Counts one more view of a frame. False if too many frames are shown already.
    fn hold(&self, frame: u32) -> bool {
        let used = self.uses[frame as usize].get();
        if self.shown.get() == self.shown_max || used.views == u16::MAX {
            return false;
        }
        self.shown.set(self.shown.get() + 1);
        self.uses[frame as usize].set(Use { views: used.views + 1, ..used });
        true
    }

    /// Counts one view less of a frame.
    fn release(&self, frame: u32) {
        let used = self.uses[frame as usize].get();
        let rest = Use { views: used.views - 1, ..used };
        self.shown.set(self.shown.get() - 1);
        if rest.views > 0 || !rest.is_left {
            return self.uses[frame as usize].set(rest);
        }
        self.uses[frame as usize].set(Use::default());
        self.give_back(frame);
        self.spare.borrow_mut().push(frame);
    }

    fn give_back(&self, frame: u32) {
        // SAFETY: called for a page's frame by `Pages::give_back`, which has all pages alone and
        // has seen that no view shows it, and for a frame that is no page's with the end of its
        // last view: nobody has a reference to it, and the kernel is told only of what a view
        // shows. Both ends are multiples of 4 KiB.
        unsafe { self.region.give_back(frame as usize * self.size, self.size) };
    }
}

impl Shown {
    /// No frames yet; they will start with `first`.
    fn none(frames: &Rc<Frames>, first: u32) -> Shown {
        Shown { frames: Rc::clone(frames), first, count: 0 }
    }

    /// Holds one more frame. False if too many frames are shown already.
    fn grow(&mut self) -> bool {
        let is_held = self.frames.hold(self.first + self.count);
        self.count += u32::from(is_held);
        is_held
    }

    /// Its bytes from `at` on, `len` of them, for reading only.
    ///
    /// # Panics
    /// If they lie outside of it.
    pub(crate) fn memory(&self, at: usize, len: u32) -> Memory {
        assert!(at + len as usize <= self.count as usize * self.frames.size, "within what is shown");
        // SAFETY: the frames lie inside the region, and `at` inside the frames.
        let start = unsafe { self.frames.start(self.first).add(at) };
        Memory { start, len, fixed: None }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        (self.first..self.first + self.count).for_each(|frame| self.frames.release(frame));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_what_was_written_until_they_are_given_back() {
        let mut pages = Pages::map(3, Bytes::kib(8), 0).unwrap();
        pages.write(1).fill(7);
        pages.write(2).fill(9);
        assert!(pages.read(0).iter().all(|byte| *byte == 0) && pages.read(1).iter().all(|byte| *byte == 7));
        pages.give_back(1);
        assert!(pages.read(1).iter().all(|byte| *byte == 0) && pages.read(2).iter().all(|byte| *byte == 9));
    }

    #[test]
    #[should_panic(expected = "page 3 is none of these")]
    fn a_page_beyond_the_end_is_refused() {
        Pages::map(3, Bytes::kib(8), 1).unwrap().read(3);
    }

    type Piece = (Shown, usize, usize);

    fn show(pages: &Pages, numbers: &[u32], first: usize, len: usize) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        pages.show(numbers, first, len, |shown, at, len| pieces.push((shown, at, len))).then_some(pieces)
    }

    fn bytes_of((shown, at, len): &Piece) -> &[u8] {
        let memory = shown.memory(*at, *len as u32);
        // SAFETY: the frames stay as they are while they are shown, which the borrow is.
        unsafe { std::slice::from_raw_parts(memory.start.as_ptr(), memory.len as usize) }
    }

    #[test]
    fn what_is_shown_stays_as_it_was_and_its_frame_is_used_again_afterwards() {
        let mut pages = Pages::map(4, Bytes::kib(4), 3).unwrap();
        (0..4).for_each(|page| pages.write(page).fill(page as u8 + 1));
        let shown = show(&pages, &[1, 2, 0], 100, 2 * 4096).unwrap();
        assert_eq!(shown.len(), 2, "the first two lie one behind the other");
        assert!(show(&pages, &[3], 0, 1).is_none(), "three are shown, and three were spare");
        pages.write(1)[0] = 50;
        pages.give_back(2);
        assert_eq!((pages.read(1)[0], pages.read(1)[1], pages.read(2)[0]), (50, 2, 0));
        assert!(bytes_of(&shown[0]) == [vec![2; 4096 - 100], vec![3; 4096]].concat());
        assert!(bytes_of(&shown[1]) == [1; 100]);
        pages.write(1)[1] = 51;
        assert_eq!(pages.frames.spare.borrow().len(), 1, "page 1 is in a frame of its own already");
        drop(shown);
        assert_eq!(pages.frames.spare.borrow().len(), 3);
        assert_eq!((&pages.read(1)[..3], pages.read(0)[0]), (&[50, 51, 2][..], 1));
        let again = show(&pages, &[1, 1], 4095, 2).unwrap();
        assert_eq!((bytes_of(&again[0]), bytes_of(&again[1])), (&[2][..], &[50][..]));
    }
}
