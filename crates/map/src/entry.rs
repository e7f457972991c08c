//! The units of a map: pages, blocks, and the entry that locates a block of a tree.
//!
//! ```text
//!   a tree (LUN or snapshot)   |  block 0: 64 KiB  |  block 1  | …
//!   a block                    |p0|p1|p2| … |p15|      16 pages of 4 KiB, each valid or zero
//!
//!   entry   63                                16 15            0
//!           ├──────── place + 1 (48 bits) ──────┼─ mask of pages ┤      all zero: a hole
//! ```

/// Bytes in a page, the unit of validity.
pub const PAGE: u64 = 4096;
/// Bytes in a block, the unit of allocation.
pub const BLOCK: u64 = 65536;
/// Pages in a block.
pub const PAGES: u32 = (BLOCK / PAGE) as u32;
/// The longest tree: 128 TiB, the longest LUN that administrators can create.
pub const SIZE_MAX: u64 = 128 << 40;

/// Where a block of a tree is, and which of its pages are valid. A page that is not in the mask
/// reads as zeroes, whatever is on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(u64);

impl Entry {
    /// Nothing is allocated.
    pub const HOLE: Entry = Entry(0);

    /// The block at `place` (counted in blocks from the start of the data), with the pages of
    /// `mask` valid.
    pub const fn new(place: u64, mask: u16) -> Entry {
        Entry(((place + 1) << 16) | mask as u64)
    }

    /// From its 64 bits.
    pub const fn from_bits(bits: u64) -> Entry {
        Entry(bits)
    }

    /// Its 64 bits.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether nothing is allocated.
    pub const fn is_hole(self) -> bool {
        self.0 >> 16 == 0
    }

    /// The block on the disk; `None` for a hole.
    pub const fn place(self) -> Option<u64> {
        (self.0 >> 16).checked_sub(1)
    }

    /// The valid pages.
    pub const fn mask(self) -> u16 {
        self.0 as u16
    }

    /// The same place with other pages valid.
    pub const fn with_mask(self, mask: u16) -> Entry {
        Entry(self.0 & !0xffff | mask as u64)
    }
}

/// The mask of the pages `from..to`.
pub const fn pages(from: u32, to: u32) -> u16 {
    (((1u32 << to) - 1) & !((1u32 << from) - 1)) as u16
}

/// The pages that the bytes `from..to` of a block touch.
pub const fn touched(from: u64, to: u64) -> u16 {
    pages((from / PAGE) as u32, to.div_ceil(PAGE) as u32)
}

/// The pages that the bytes `from..to` of a block cover completely.
pub const fn covered(from: u64, to: u64) -> u16 {
    let (first, last) = (from.div_ceil(PAGE) as u32, (to / PAGE) as u32);
    if first < last { pages(first, last) } else { 0 }
}

/// The smallest range of pages that includes `mask`: its first page and its end. `mask` must not be
/// empty.
pub const fn hull(mask: u16) -> (u32, u32) {
    (mask.trailing_zeros(), 16 - mask.leading_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_place_and_mask_apart() {
        let entry = Entry::new(0, 0);
        assert!(!entry.is_hole() && entry.place() == Some(0) && entry.mask() == 0);
        assert!(Entry::HOLE.is_hole() && Entry::HOLE.place().is_none());
        let far = Entry::new((1 << 47) - 1, 0xffff);
        assert_eq!((far.place(), far.mask()), (Some((1 << 47) - 1), 0xffff));
        assert_eq!(far.with_mask(1), Entry::new((1 << 47) - 1, 1));
        assert_eq!(Entry::from_bits(far.bits()), far);
    }

    #[test]
    fn masks_of_bytes() {
        assert_eq!(touched(0, 1), 1);
        assert_eq!(touched(4095, 4097), 3);
        assert_eq!(covered(4095, 4097), 0);
        assert_eq!(covered(1, 3 * 4096 - 1), 0b10);
        assert_eq!((touched(0, BLOCK), covered(0, BLOCK)), (0xffff, 0xffff));
        assert_eq!(hull(0b0110_0100), (2, 7));
        assert_eq!(hull(0x8000), (15, 16));
    }
}
