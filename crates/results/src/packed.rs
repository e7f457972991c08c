//! Histograms and dispatch traces as short byte strings.
//!
//! Both are rows of whole numbers, each in seven-bit groups, least first; a byte's top bit says
//! that another follows:
//!
//! ```text
//!   300 = 0b10_0101100  →  1010_1100  0000_0010
//!
//!   histogram   for every filled bucket:  its number less the one before's (the first as it is), its count
//!   trace       for every bin of 10 ms:   operations, bytes
//! ```
//!
//! Numbers of buckets grow and most counts are small, so a filled bucket takes about three bytes
//! and a bin four.

use stats::{DispatchTrace, Histogram};

/// The filled buckets of a histogram.
pub(super) fn pack_buckets(histogram: &Histogram) -> Vec<u8> {
    pack_filled(histogram.filled())
}

/// Filled buckets, by their number, which rises.
pub(super) fn pack_filled(filled: impl Iterator<Item = (u32, u64)>) -> Vec<u8> {
    let (mut out, mut before) = (Vec::new(), 0);
    for (bucket, count) in filled {
        push(&mut out, u64::from(bucket - before));
        push(&mut out, count);
        before = bucket;
    }
    out
}

/// The buckets and the sum of their counts; `None` when the bytes are not what [`pack_buckets`]
/// makes.
pub(super) fn unpack_buckets(mut bytes: &[u8]) -> Option<(Vec<(u32, u64)>, u64)> {
    let (mut buckets, mut bucket, mut total) = (Vec::new(), 0u64, 0u64);
    while !bytes.is_empty() {
        bucket = bucket.checked_add(take(&mut bytes)?)?;
        let count = take(&mut bytes)?;
        total = total.checked_add(count)?;
        buckets.push((u32::try_from(bucket).ok()?, count));
    }
    Some((buckets, total))
}

/// The number of the first bin (0 without any), and the bins.
pub(super) fn pack_trace(trace: &DispatchTrace) -> (u64, Vec<u8>) {
    let first = trace.bins().next().map_or(0, |(number, ..)| number);
    let mut out = Vec::new();
    for (_, ops, bytes) in trace.bins() {
        push(&mut out, u64::from(ops));
        push(&mut out, bytes);
    }
    (first, out)
}

/// The trace; `None` when the bytes are not what [`pack_trace`] makes.
pub(super) fn unpack_trace(first: u64, mut packed: &[u8]) -> Option<DispatchTrace> {
    let (mut trace, mut number) = (DispatchTrace::default(), first);
    while !packed.is_empty() {
        let ops = u32::try_from(take(&mut packed)?).ok()?;
        trace.add_bin(number, ops, take(&mut packed)?);
        number = number.checked_add(1)?;
    }
    Some(trace)
}

pub(super) fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let group = u64::from(byte & 0x7f);
        // The tenth group holds bit 63 alone; more would be lost by the shift.
        if group << shift >> shift != group {
            return None;
        }
        number |= group << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_takes_a_byte_for_every_seven_bits() {
        let packed = |number| {
            let mut out = Vec::new();
            push(&mut out, number);
            out
        };
        assert_eq!(packed(127), [0x7f]);
        assert_eq!(packed(300), [0xac, 0x02]);
        assert_eq!(packed(u64::MAX).len(), 10);
    }

    #[test]
    fn bytes_that_are_no_numbers_are_refused() {
        assert_eq!(take(&mut &[0x80][..]), None, "cut short");
        assert_eq!(take(&mut &[0xff; 11][..]), None, "too long");
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..]), None, "bit 64");
        assert_eq!(unpack_buckets(&[1]), None, "a bucket without its count");
        assert_eq!(unpack_trace(u64::MAX, &[0, 0]), None, "a bin after the last");
    }

    proptest! {
        #[test]
        fn any_number_comes_back(number: u64) {
            let mut out = Vec::new();
            push(&mut out, number);
            let mut bytes = &out[..];
            prop_assert_eq!(take(&mut bytes), Some(number));
            prop_assert!(bytes.is_empty());
        }

        /// Whatever bytes a damaged file holds, reading them ends without a panic.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), first: u64) {
            let _ = unpack_buckets(&bytes);
            let _ = unpack_trace(first, &bytes);
        }
    }
}
