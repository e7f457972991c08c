//! Records on a stream (RFC 5531, section 11): fragments, each with its length and a mark on the
//! last one.
//!
//! ```text
//!   mark   31     30                                  0
//!          ├ last ┼─ bytes of the fragment ───────────┤
//! ```
//! All known clients and servers send a record as one fragment, so that case is handled without
//! copies: [`Mark`] has the length, and the bytes are read in place. A record of several fragments
//! is reassembled by [`Joiner`], within limits.

use crate::limits::{FRAGMENTS_MAX, RECORD_BYTES_MAX};
use crate::xdr::put_u32;

/// Bytes in a mark.
pub const MARK_BYTES: u32 = 4;
const LAST: u32 = 1 << 31;

/// The header of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// It is the last fragment of its record.
    pub last: bool,
    /// Bytes in the fragment.
    pub len: u32,
}

/// The stream cannot be parsed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A record is too long for this protocol.
    #[error("a record must have at most {RECORD_BYTES_MAX} bytes, got {0}")]
    TooLong(u64),
    /// A record has too many fragments.
    #[error("a record must have at most {FRAGMENTS_MAX} fragments")]
    Fragments,
}

impl Mark {
    /// The mark at the start of `bytes`; `None` if it is incomplete.
    ///
    /// # Errors
    /// The fragment alone exceeds the limit on a record.
    pub fn read(bytes: &[u8]) -> Result<Option<Mark>, RecordError> {
        let Some(&[a, b, c, d]) = bytes.get(..4) else { return Ok(None) };
        let word = u32::from_be_bytes([a, b, c, d]);
        let mark = Mark { last: word & LAST != 0, len: word & !LAST };
        if mark.len > RECORD_BYTES_MAX { Err(RecordError::TooLong(mark.len.into())) } else { Ok(Some(mark)) }
    }
}

/// Starts a record of one fragment at the end of `out`; pass the result to [`end`].
pub fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    put_u32(out, 0);
    start
}

/// Ends the record that started at `start`; `behind` more bytes will be sent after `out`.
///
/// # Panics
/// It exceeds the limit on a record.
pub fn end(out: &mut [u8], start: usize, behind: u32) {
    let len = (out.len() - start) as u64 - u64::from(MARK_BYTES) + u64::from(behind);
    assert!(len <= u64::from(RECORD_BYTES_MAX), "a record of {len} bytes");
    let word = LAST | len as u32;
    out[start..start + 4].copy_from_slice(&word.to_be_bytes());
}

/// Reassembles a record of several fragments.
#[derive(Clone, Debug, Default)]
pub struct Joiner {
    record: Vec<u8>,
    /// Bytes missing of the present fragment, and whether it is the last one.
    fragment: Option<(u32, bool)>,
    fragments: u32,
}

impl Joiner {
    /// Starts without any part of a record.
    pub fn new() -> Joiner {
        Joiner::default()
    }

    /// Whether a record is incomplete.
    pub fn has_begun(&self) -> bool {
        self.fragments > 0
    }

    /// Takes bytes from the front of `input`. Returns the record when it is complete;
    /// [`Joiner::clear`] then ends it. `None` if all usable bytes of `input` were taken; less than
    /// a mark may be left.
    ///
    /// # Errors
    /// The record is too long, or has too many fragments.
    pub fn feed(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, RecordError> {
        loop {
            let Some((left, last)) = self.fragment else {
                let Some(mark) = Mark::read(input)? else { return Ok(None) };
                *input = &input[MARK_BYTES as usize..];
                self.fragments += 1;
                let len = self.record.len() as u64 + u64::from(mark.len);
                if len > u64::from(RECORD_BYTES_MAX) {
                    return Err(RecordError::TooLong(len));
                } else if self.fragments > FRAGMENTS_MAX {
                    return Err(RecordError::Fragments);
                }
                self.fragment = Some((mark.len, mark.last));
                continue;
            };
            let here = input.len().min(left as usize);
            self.record.extend_from_slice(&input[..here]);
            *input = &input[here..];
            let left = left - here as u32;
            match (left, last) {
                (0, true) => {
                    self.fragment = None;
                    return Ok(Some(&self.record));
                }
                (0, false) => self.fragment = None,
                (left, last) => {
                    self.fragment = Some((left, last));
                    return Ok(None);
                }
            }
        }
    }

    /// Drops the record. Its memory is kept for the next one, unless the record was long.
    pub fn clear(&mut self) {
        self.record.clear();
        self.record.shrink_to(4096);
        (self.fragment, self.fragments) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(out: &mut Vec<u8>, last: bool, bytes: &[u8]) {
        put_u32(out, if last { LAST } else { 0 } | bytes.len() as u32);
        out.extend_from_slice(bytes);
    }

    #[test]
    fn a_record_of_one_fragment_has_its_length_with_what_is_sent_behind() {
        let mut out = b"before".to_vec();
        let start = begin(&mut out);
        out.extend_from_slice(b"12345678");
        end(&mut out, start, 12);
        assert_eq!(Mark::read(&out[start..]), Ok(Some(Mark { last: true, len: 20 })));
        assert_eq!(Mark::read(&out[start..start + 3]), Ok(None));
    }

    #[test]
    fn fragments_come_together_however_they_are_cut() {
        let mut stream = Vec::new();
        fragment(&mut stream, false, b"abc");
        fragment(&mut stream, false, b"");
        fragment(&mut stream, true, b"defgh");
        fragment(&mut stream, true, b"next");
        for cut in 1..stream.len() {
            let mut joiner = Joiner::new();
            let (mut records, mut kept) = (Vec::new(), Vec::new());
            for chunk in stream.chunks(cut) {
                kept.extend_from_slice(chunk);
                let mut input = &kept[..];
                while let Some(record) = joiner.feed(&mut input).unwrap() {
                    records.push(record.to_vec());
                    joiner.clear();
                }
                kept = input.to_vec();
            }
            assert_eq!(records, [&b"abcdefgh"[..], b"next"], "cut by {cut}");
        }
    }

    #[test]
    fn fragments_without_end_are_refused() {
        let long = (RECORD_BYTES_MAX + 1) | LAST;
        assert_eq!(Mark::read(&long.to_be_bytes()), Err(RecordError::TooLong(u64::from(RECORD_BYTES_MAX) + 1)));
        let mut joiner = Joiner::new();
        let empty = [0; 4];
        for _ in 0..FRAGMENTS_MAX {
            assert_eq!(joiner.feed(&mut &empty[..]), Ok(None));
        }
        assert_eq!(joiner.feed(&mut &empty[..]), Err(RecordError::Fragments));
        let mut joiner = Joiner::new();
        let half = vec![0; RECORD_BYTES_MAX as usize / 2 + 1];
        let mut stream = Vec::new();
        fragment(&mut stream, false, &half);
        fragment(&mut stream, false, &half);
        assert_eq!(joiner.feed(&mut &stream[..]), Err(RecordError::TooLong(half.len() as u64 * 2)));
    }
}
