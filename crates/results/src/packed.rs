//! Histograms and dispatch traces as short byte strings.
//!
//! Both are sequences of whole numbers, each in groups of seven bits, lowest first; the top bit of
//! a byte says that another group follows:
//!
//! ```text
//!   300 = 0b10_0101100  →  1010_1100  0000_0010
//!
//!   histogram   for every filled bucket:  its number less the one before's (the first as it is), its count
//!   trace       for every bin of 10 ms:   operations, bytes
//! ```
//!
//! Bucket numbers ascend and most counts are small, so a filled bucket takes about three bytes and
//! a bin four.

use stats::{DispatchTrace, Histogram};

/// Packs the filled buckets of a histogram.
pub(super) fn pack_buckets(histogram: &Histogram) -> Vec<u8> {
    pack_filled(histogram.filled())
}

/// Packs filled buckets, given in ascending order.
pub(super) fn pack_filled(filled: impl Iterator<Item = (u32, u64)>) -> Vec<u8> {
    let (mut out, mut before) = (Vec::new(), 0);
    for (bucket, count) in filled {
        push(&mut out, u64::from(bucket - before));
        push(&mut out, count);
        before = bucket;
    }
    out
}

/// The buckets and the sum of their counts; `None` if the bytes are invalid.
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

/// Packs a trace: the number of its first bin (0 if there is none), and the bins.
pub(super) fn pack_trace(trace: &DispatchTrace) -> (u64, Vec<u8>) {
    let first = trace.bins().next().map_or(0, |(number, ..)| number);
    let mut out = Vec::new();
    for (_, ops, bytes) in trace.bins() {
        push(&mut out, u64::from(ops));
        push(&mut out, bytes);
    }
    (first, out)
}

/// Restores a trace; `None` if the bytes are invalid.
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
        // The tenth group holds only bit 63; a larger value would lose bits in the shift.
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

        /// Reading arbitrary bytes, as from a damaged file, never panics.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), first: u64) {
            let _ = unpack_buckets(&bytes);
            let _ = unpack_trace(first, &bytes);
        }
    }
}
