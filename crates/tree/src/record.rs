//! Records of the log, and the heads that say where a log begins.
//!
//! ```text
//!   record   0        4       8            16             24     28     32
//!           ├─ SWTR ──┼─ crc ─┼─ sequence ─┼─ generation ─┼ length ┼ 0 ──┼ items … ┼─ zeroes to a multiple of 4 KiB ─┤
//!   head     0        4       8         12     16             24           32             40            48     52     56      64
//!           ├─ SWTH ──┼─ crc ─┼ version ┼─ 0 ──┼─ generation ─┼─ sequence ─┼ image bytes ──┼ image's crc ┼ log ─┼ 0 ───┼ log at ┤
//! ```
//! A checksum (CRC-32C) covers everything after it. The image includes all changes up to its head's
//! sequence; the records after that begin in log `log`, at offset `log at`.

use crate::limits::PAGE_BYTES;

/// Bytes in a record before its items.
pub(crate) const RECORD_HEAD: usize = 32;
/// Bytes in a head on the disk.
pub(crate) const HEAD_BYTES: usize = 4096;
const RECORD_MAGIC: &[u8; 4] = b"SWTR";
const HEAD_MAGIC: &[u8; 4] = b"SWTH";
const HEAD_LEN: usize = 64;
/// The only version of these formats.
const VERSION: u32 = 1;

/// A record with these items, including its padding.
pub(crate) fn record(sequence: u64, generation: u64, items: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((RECORD_HEAD + items.len()).next_multiple_of(PAGE_BYTES as usize));
    bytes.extend_from_slice(RECORD_MAGIC);
    bytes.extend([0; 4]);
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(generation.to_le_bytes());
    bytes.extend((items.len() as u32).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend_from_slice(items);
    let crc = crc32c::crc32c(&bytes[8..]);
    bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(PAGE_BYTES as usize), 0);
    bytes
}

/// The items of the record at the start of `bytes`, if it is complete and has this sequence.
pub(crate) fn read_record(bytes: &[u8], sequence: u64) -> Option<&[u8]> {
    let len = u32_at(bytes, 24)? as usize;
    let whole = bytes.get(..RECORD_HEAD.checked_add(len)?)?;
    let fits = whole.starts_with(RECORD_MAGIC)
        && u64_at(whole, 8) == Some(sequence)
        && u32_at(whole, 4) == Some(crc32c::crc32c(&whole[8..]));
    fits.then(|| &whole[RECORD_HEAD..])
}

/// Bytes of the record at the start of `bytes` including its padding, as its head says.
pub(crate) fn record_len(bytes: &[u8]) -> Option<usize> {
    let len = u32_at(bytes, 24).filter(|_| bytes.starts_with(RECORD_MAGIC))? as usize;
    Some((RECORD_HEAD + len).next_multiple_of(PAGE_BYTES as usize))
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

    /// Any changed bit of a record or head is detected.
    #[test]
    fn records_and_heads_are_whole_or_none() {
        let bytes = record(7, 3, b"items");
        assert_eq!((bytes.len(), record_len(&bytes)), (4096, Some(4096)));
        assert_eq!((read_record(&bytes, 7), read_record(&bytes, 8)), (Some(&b"items"[..]), None));
        for bit in 0..(RECORD_HEAD + 5) * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_record(&damaged, 7), None, "bit {bit}");
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
