//! Blocks of version 1, which are deflated, as in older files.
//!
//! ```text
//!   block    version (1), then deflated: number of rows, columns
//!   column   0                                          no row has a value
//!            1, values                                  every row has one
//!            2, a byte a row (1: has one), values       some have
//!   values   0, the least of them, then each less the least
//!            1, the first, then each less the one before it    (times)
//! ```
//! Numbers are encoded as in `packed.rs`.

use crate::column::{Column, unzigzag};
use crate::packed::take;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// Version of these blocks.
pub(super) const VERSION: u8 = 1;
/// Maximum size of an unpacked block.
const UNPACKED_MAX: usize = 1 << 20;

/// A block being read.
pub(super) struct Deflated {
    bytes: Vec<u8>,
    at: usize,
}

impl Deflated {
    /// A reader for the bytes after the version.
    pub(super) fn of(packed: &[u8]) -> Option<Deflated> {
        decompress_to_vec_with_limit(packed, UNPACKED_MAX).ok().map(|bytes| Deflated { bytes, at: 0 })
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut rest = &self.bytes[self.at..];
        let number = take(&mut rest);
        self.at = self.bytes.len() - rest.len();
        number
    }

    pub(super) fn column(&mut self, rows: usize) -> Option<Column> {
        let has: Vec<bool> = match self.byte()? {
            0 => return Some(vec![None; rows]),
            1 => vec![true; rows],
            2 => (0..rows).map(|_| self.byte().map(|byte| byte == 1)).collect::<Option<_>>()?,
            _ => return None,
        };
        let steps = match self.byte()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let mut base = if steps { 0 } else { self.number()? };
        let mut value = |has: bool| {
            Some(match has {
                false => None,
                true if steps => {
                    base = base.wrapping_add(unzigzag(self.number()?));
                    Some(base)
                }
                true => Some(base.wrapping_add(self.number()?)),
            })
        };
        has.into_iter().map(&mut value).collect()
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::unpack_slices;
    use super::*;
    use block::Span;
    use stats::run::{Slice, Spread, Times};

    pub(crate) fn compressed(bytes: &[u8]) -> Vec<u8> {
        [&[VERSION][..], &miniz_oxide::deflate::compress_to_vec(bytes, 6)[..]].concat()
    }

    /// Two seconds as packed by version 1: 100 and 120 reads of 4 KiB, the second with a response
    /// of 1 ms and its median in bucket 100 (100 ns).
    #[test]
    fn a_block_of_version_1_is_read() {
        let all = |values: &[u8]| [&[1, 0][..], values].concat();
        let (none, second) = (vec![0], [0x80, 0x94, 0xeb, 0xdc, 0x03]);
        let mut bytes = vec![2, 1, 1, 0];
        bytes.extend([0x80, 0xa8, 0xd6, 0xb9, 0x07]);
        bytes.extend(all(&second));
        bytes.extend([0, 0]);
        bytes.extend(all(&[100, 0, 20]));
        bytes.extend([&[0x80, 0x20][..], &all(&[0, 0, 0])].concat());
        bytes.extend(&none);
        let second_row = |values: &[u8]| [&[2, 0, 1, 0][..], values].concat();
        bytes.push(1);
        bytes.extend(second_row(&[0, 0]));
        bytes.extend(second_row(&[0xc0, 0x84, 0x3d, 0]));
        for _ in 0..3 {
            bytes.extend([second_row(&[100, 0]), second_row(&[0, 0])].concat());
        }
        bytes.extend(&none);
        // Neither service times nor outstanding requests.
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let slices = unpack_slices(&compressed(&bytes)).unwrap();
        let at = Span::from_nanos(100);
        let times = Times {
            count: 120,
            mean: Span::from_millis(1),
            spread: Some(Spread { p50: at, p99: at, p999: at }),
            max: None,
        };
        let slice = |second, ops, response| Slice {
            start: Span::from_secs(second),
            length: Span::SECOND,
            ops,
            bytes: Some(ops * 4096),
            response,
            ..Slice::default()
        };
        assert_eq!(slices, [slice(0, 100, None), slice(1, 120, Some(times))]);
    }
}
