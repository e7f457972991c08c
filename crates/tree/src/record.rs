//! Records of the log, the mark of its end, and the heads that say where a log begins.
//!
//! ```text
//!   record   0        4       8            16             24     28        32
//!           ├─ SWTR ──┼─ crc ─┼─ sequence ─┼─ generation ─┼ bytes ┼ version ┼ items … ┤ further pages, zeroes at the end
//!   further  0        4        8
//!   page    ├─ SWTM ──┼ number ┼ items … ┤ to byte 4096
//!   end      0        4       8            16
//!           ├─ SWTE ──┼─ crc ─┼─ sequence ─┼─ zeroes to byte 4096 ─┤
//!   head     0        4       8         12     16             24             32             40            48     52     56      64
//!           ├─ SWTH ──┼─ crc ─┼ version ┼─ 0 ──┼─ generation ─┼─ sequence ─┼ image bytes ──┼ image's crc ┼ log ─┼ 0 ───┼ log at ┤
//! ```
//! A checksum (CRC-32C) covers everything after it, to the end of the last page. The image includes
//! all changes up to its head's sequence; the records after that begin in log `log`, at offset `log
//! at`. What clients name never begins a page of a log, so whatever looks like a record or an end
//! there is one.

use crate::limits::PAGE_BYTES;

const PAGE: usize = PAGE_BYTES as usize;
/// Bytes in a record before its items.
pub(crate) const RECORD_HEAD: usize = 32;
/// Bytes in each further page of a record before its items.
const MORE_HEAD: usize = 8;
/// Bytes in a head on the disk.
pub(crate) const HEAD_BYTES: usize = 4096;
const RECORD_MAGIC: &[u8; 4] = b"SWTR";
const MORE_MAGIC: &[u8; 4] = b"SWTM";
const END_MAGIC: &[u8; 4] = b"SWTE";
const HEAD_MAGIC: &[u8; 4] = b"SWTH";
const HEAD_LEN: usize = 64;
/// The only version of these formats. Version 1 had neither ends nor marks on further pages.
pub(crate) const VERSION: u32 = 2;

/// A record with these items, including its padding.
pub(crate) fn record(sequence: u64, generation: u64, items: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(pages_of(items.len()) * PAGE);
    bytes.extend_from_slice(RECORD_MAGIC);
    bytes.extend([0; 4]);
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(generation.to_le_bytes());
    bytes.extend((items.len() as u32).to_le_bytes());
    bytes.extend(VERSION.to_le_bytes());
    let (first, further) = items.split_at(items.len().min(PAGE - RECORD_HEAD));
    bytes.extend_from_slice(first);
    for (number, piece) in further.chunks(PAGE - MORE_HEAD).enumerate() {
        bytes.extend_from_slice(MORE_MAGIC);
        bytes.extend((number as u32 + 1).to_le_bytes());
        bytes.extend_from_slice(piece);
    }
    sealed(bytes)
}

/// The mark behind the last record: that it, and all before it, had become durable.
pub(crate) fn end(sequence: u64) -> Vec<u8> {
    let mut bytes = END_MAGIC.to_vec();
    bytes.extend([0; 4]);
    bytes.extend(sequence.to_le_bytes());
    sealed(bytes)
}

/// Pads to pages, and puts the checksum in.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
    let crc = crc32c::crc32c(&bytes[8..]);
    bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn is_sound(bytes: &[u8]) -> bool {
    u32_at(bytes, 4).is_some_and(|crc| crc == crc32c::crc32c(&bytes[8..]))
}

/// Pages of a record with so many bytes of items.
fn pages_of(items: usize) -> usize {
    1 + items.saturating_sub(PAGE - RECORD_HEAD).div_ceil(PAGE - MORE_HEAD)
}

/// A record that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub sequence: u64,
    /// That of the head that was in force.
    pub generation: u64,
    pub items: Vec<u8>,
}

impl Record {
    /// The record that these bytes, of the length that its head says, are; `None` if they are not
    /// one that was written completely.
    pub fn read(bytes: &[u8]) -> Option<Record> {
        let whole = record_len(bytes) == Some(bytes.len()) && is_sound(bytes) && u32_at(bytes, 28) == Some(VERSION);
        let len = u32_at(bytes, 24).filter(|_| whole)? as usize;
        let (sequence, generation) = (u64_at(bytes, 8)?, u64_at(bytes, 16)?);
        let pages = bytes.chunks(PAGE).enumerate();
        let mut items: Vec<u8> = pages
            .flat_map(|(page, bytes)| &bytes[if page == 0 { RECORD_HEAD } else { MORE_HEAD }..])
            .copied()
            .collect();
        items.truncate(len);
        Some(Record { sequence, generation, items })
    }
}

/// Bytes of the record at the start of `bytes` including its padding, as its head says.
pub(crate) fn record_len(bytes: &[u8]) -> Option<usize> {
    let items = u32_at(bytes, 24).filter(|_| bytes.starts_with(RECORD_MAGIC))? as usize;
    Some(pages_of(items) * PAGE)
}

/// The sequence that the record at the start of `bytes` has, whether it is complete or not.
pub(crate) fn sequence_of(bytes: &[u8]) -> Option<u64> {
    u64_at(bytes, 8).filter(|_| bytes.starts_with(RECORD_MAGIC))
}

/// Whether these bytes begin with a record of version 1.
pub(crate) fn is_of_version_1(bytes: &[u8]) -> bool {
    bytes.starts_with(RECORD_MAGIC) && u32_at(bytes, 28) == Some(0)
}

/// Up to which record the log was durable, if this page is the mark of its end.
pub(crate) fn read_end(page: &[u8]) -> Option<u64> {
    u64_at(page, 8).filter(|_| page.starts_with(END_MAGIC) && is_sound(page))
}

/// Where an image and the log after it are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// 1 for the first one; before it, the image is empty.
    pub generation: u64,
    /// The last record that the image includes completely.
    pub sequence: u64,
    pub image_len: u64,
    pub image_crc: u32,
    pub log: u32,
    pub log_at: u64,
}

impl Head {
    /// Its encoding on the disk.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        bytes.extend_from_slice(HEAD_MAGIC);
        bytes.extend([0; 4]);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([0; 4]);
        [self.generation, self.sequence, self.image_len].iter().for_each(|long| bytes.extend(long.to_le_bytes()));
        [self.image_crc, self.log, 0, 0].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes[52..56].fill(0);
        bytes.truncate(56);
        bytes.extend(self.log_at.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        bytes.resize(HEAD_BYTES, 0);
        bytes
    }

    /// The head in a slot; `Ok(None)` if none was ever written completely. An `Err` is an unknown
    /// version.
    pub fn read(bytes: &[u8]) -> Result<Option<Head>, u32> {
        let whole = &bytes[..HEAD_LEN.min(bytes.len())];
        let sound = whole.starts_with(HEAD_MAGIC) && u32_at(whole, 4) == Some(crc32c::crc32c(&whole[8..]));
        if !sound {
            return Ok(None);
        }
        let long = |at| u64_at(whole, at).unwrap_or_default();
        let word = |at| u32_at(whole, at).unwrap_or_default();
        if word(8) != VERSION {
            return Err(word(8));
        }
        let (generation, sequence, image_len) = (long(16), long(24), long(32));
        Ok(Some(Head { generation, sequence, image_len, image_crc: word(40), log: word(44) & 1, log_at: long(56) }))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any changed bit of a record, an end or a head is detected, wherever it is.
    #[test]
    fn records_ends_and_heads_are_whole_or_none() {
        // One page; the most that one holds; one byte more; two further pages.
        for (len, pages) in [(0, 1), (5, 1), (PAGE - 32, 1), (PAGE - 31, 2), (2 * PAGE, 3)] {
            let items: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let bytes = record(7, 3, &items);
            assert_eq!((bytes.len(), record_len(&bytes)), (pages * PAGE, Some(pages * PAGE)));
            let further = bytes.chunks(PAGE).skip(1).enumerate();
            further.for_each(|(number, page)| assert_eq!(page[..5], [b'S', b'W', b'T', b'M', number as u8 + 1]));
            assert_eq!(Record::read(&bytes), Some(Record { sequence: 7, generation: 3, items }));
            for bit in (0..bytes.len() * 8).filter(|bit| *bit < 512 || bit % 61 == 0) {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Record::read(&damaged), None, "bit {bit} of {pages} pages");
            }
        }
        let bytes = end(7);
        assert_eq!((bytes.len(), read_end(&bytes)), (PAGE, Some(7)));
        for bit in 0..PAGE * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_end(&damaged), None, "bit {bit}");
        }
        let head = Head { generation: 5, sequence: 9, image_len: 11, image_crc: 13, log: 1, log_at: 8192 };
        let bytes = head.bytes();
        assert_eq!(Head::read(&bytes), Ok(Some(head)));
        for bit in 0..HEAD_LEN * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::read(&damaged), Ok(None), "bit {bit}");
        }
        assert_eq!(Head::read(&[0; HEAD_BYTES]), Ok(None));
    }
}
