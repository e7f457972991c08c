//! A minute of slices, or of rows of a gate, as one compressed string, column by column.
//!
//! ```text
//!   block    version (1), then deflated: number of rows, columns
//!   column   0                                          no row has a value
//!            1, values                                  every row has one
//!            2, a byte a row (1: has one), values       some have
//!   values   0, the least of them, then each less the least
//!            1, the first, then each less the one before it    (times)
//! ```
//! Numbers are those of `packed.rs`; differences have their sign in the lowest bit. Percentiles are middles of a
//! histogram's buckets: their columns hold the bucket, and what the value is beside its middle, which is nearly always 0.

use crate::packed::{push, take};
use block::Span;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use stats::run::{GateRow, Slice, Spread, Times};
use stats::{FloorFared, HeldBy, Histogram, Waits};

/// Of this build's blocks.
const VERSION: u8 = 1;
/// How hard is tried: beyond it a block takes twice the time and shrinks by a hundredth.
const EFFORT: u8 = 6;
/// The most that a block is believed to hold.
const UNPACKED_MAX: usize = 1 << 20;
/// The most rows that a block is believed to hold.
const ROWS_MAX: u64 = 4096;

pub(crate) type Column = Vec<Option<u64>>;

/// The slices of a block.
pub(crate) fn pack_slices(slices: &[Slice]) -> Vec<u8> {
    let column = |of: &dyn Fn(&Slice) -> Option<u64>| -> Column { slices.iter().map(of).collect() };
    let mut out = Vec::new();
    push(&mut out, slices.len() as u64);
    put_steps(&mut out, &column(&|slice| Some(slice.start.as_nanos())));
    put(&mut out, &column(&|slice| Some(slice.length.as_nanos())));
    let ops = column(&|slice| Some(slice.ops));
    put(&mut out, &ops);
    put_multiple(&mut out, &column(&|slice| slice.bytes), &ops);
    put(&mut out, &column(&|slice| slice.failed));
    for times in [|slice: &Slice| slice.response, |slice: &Slice| slice.service] {
        put_multiple(&mut out, &column(&|slice| times(slice).map(|times| times.count)), &ops);
        put(&mut out, &column(&|slice| times(slice).map(|times| times.mean.as_nanos())));
        for part in [|spread: Spread| spread.p50, |spread: Spread| spread.p99, |spread: Spread| spread.p999] {
            put_buckets(&mut out, &column(&|slice| Some(part(times(slice)?.spread?).as_nanos())));
        }
        put(&mut out, &column(&|slice| Some(times(slice)?.max?.as_nanos())));
    }
    put(&mut out, &column(&|slice| slice.outstanding.map(u64::from)));
    compressed(&out)
}

/// What [`pack_slices`] packed; `None` when the bytes are something else.
pub(crate) fn unpack_slices(bytes: &[u8]) -> Option<Vec<Slice>> {
    let unpacked = uncompressed(bytes)?;
    let mut rest = &unpacked[..];
    let rows = row_count(&mut rest)?;
    let [start, length, ops] = [get(&mut rest, rows)?, get(&mut rest, rows)?, get(&mut rest, rows)?];
    let bytes = get_multiple(&mut rest, &ops)?;
    let failed = get(&mut rest, rows)?;
    let mut times = || {
        let (count, mean) = (get_multiple(&mut rest, &ops)?, get(&mut rest, rows)?);
        let spread = [get_buckets(&mut rest, rows)?, get_buckets(&mut rest, rows)?, get_buckets(&mut rest, rows)?];
        let max = get(&mut rest, rows)?;
        let row = |row: usize| {
            let [p50, p99, p999] = [&spread[0], &spread[1], &spread[2]].map(|column| column[row].map(Span::from_nanos));
            let spread = p50.zip(p99).zip(p999).map(|((p50, p99), p999)| Spread { p50, p99, p999 });
            let max = max[row].map(Span::from_nanos);
            Some(Times { count: count[row]?, mean: Span::from_nanos(mean[row]?), spread, max })
        };
        Some((0..rows).map(row).collect::<Vec<_>>())
    };
    let (response, service) = (times()?, times()?);
    let outstanding = get(&mut rest, rows)?;
    let slice = |row: usize| {
        Some(Slice {
            start: Span::from_nanos(start[row]?),
            length: Span::from_nanos(length[row]?),
            ops: ops[row]?,
            bytes: bytes[row],
            failed: failed[row],
            response: response[row],
            service: service[row],
            outstanding: outstanding[row].map(|number| number as u32),
        })
    };
    (0..rows).map(slice).collect()
}

/// The rows of a gate's block.
pub(crate) fn pack_gate(rows: &[GateRow]) -> Vec<u8> {
    let column = |of: &dyn Fn(&GateRow) -> Option<u64>| -> Column { rows.iter().map(of).collect() };
    let mut out = Vec::new();
    push(&mut out, rows.len() as u64);
    put_steps(&mut out, &column(&|row| Some(row.start.as_nanos())));
    put(&mut out, &column(&|row| Some(row.length.as_nanos())));
    for wait in [|w: Waits| w.ceiling, |w: Waits| w.floors, |w: Waits| w.turn, |w: Waits| w.device] {
        put(&mut out, &column(&|row| Some(wait(row.waits).as_nanos())));
    }
    put(&mut out, &column(&|row| HELD_BY.iter().position(|by| *by == row.held_by).map(|place| place as u64)));
    put(&mut out, &column(&|row| row.held_at.map(u64::from)));
    put(&mut out, &column(&|row| FLOORS.iter().position(|key| *key == row.floor.key().0).map(|place| place as u64)));
    put(&mut out, &column(&|row| row.floor.key().1));
    compressed(&out)
}

/// What [`pack_gate`] packed; `None` when the bytes are something else.
pub(crate) fn unpack_gate(bytes: &[u8]) -> Option<Vec<GateRow>> {
    let unpacked = uncompressed(bytes)?;
    let mut rest = &unpacked[..];
    let rows = row_count(&mut rest)?;
    let columns: Vec<Column> = (0..10).map(|_| get(&mut rest, rows)).collect::<Option<_>>()?;
    let row = |row: usize| {
        let span = |column: usize| columns[column][row].map(Span::from_nanos);
        let waits = Waits { ceiling: span(2)?, floors: span(3)?, turn: span(4)?, device: span(5)? };
        let held_by = *HELD_BY.get(usize::try_from(columns[6][row]?).ok()?)?;
        let floor = FLOORS.get(usize::try_from(columns[8][row]?).ok()?)?;
        let floor = FloorFared::from_key(floor, columns[9][row])?;
        let held_at = columns[7][row].map(|number| number as u32);
        Some(GateRow { start: span(0)?, length: span(1)?, waits, held_by, held_at, floor })
    };
    (0..rows).map(row).collect()
}

/// By number in the block; new ones go to the end.
const HELD_BY: [HeldBy; 11] = [
    HeldBy::Nothing,
    HeldBy::CeilingIops,
    HeldBy::CeilingThroughput,
    HeldBy::SharedIops,
    HeldBy::SharedThroughput,
    HeldBy::Floors,
    HeldBy::Disk,
    HeldBy::Cpu,
    HeldBy::Depth,
    HeldBy::Pace,
    HeldBy::Stalled,
];

/// By number in the block; new ones go to the end.
const FLOORS: [&str; 6] = ["not_set", "met", "needs_outstanding", "overcommitted", "ceiling_above", "adjusting"];

pub(crate) fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![VERSION];
    out.extend(compress_to_vec(bytes, EFFORT));
    out
}

pub(crate) fn uncompressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let (version, packed) = bytes.split_first()?;
    (*version == VERSION).then(|| decompress_to_vec_with_limit(packed, UNPACKED_MAX).ok()).flatten()
}

pub(crate) fn row_count(rest: &mut &[u8]) -> Option<usize> {
    take(rest).filter(|rows| *rows <= ROWS_MAX).map(|rows| rows as usize)
}

/// Which rows have a value; then those values follow.
fn put_presence(out: &mut Vec<u8>, column: &Column) {
    let some = column.iter().filter(|value| value.is_some()).count();
    match some {
        0 => out.push(0),
        _ if some == column.len() => out.push(1),
        _ => {
            out.push(2);
            out.extend(column.iter().map(|value| u8::from(value.is_some())));
        }
    }
}

pub(crate) fn put(out: &mut Vec<u8>, column: &Column) {
    put_presence(out, column);
    let values = || column.iter().flatten();
    let Some(least) = values().min() else { return };
    out.push(0);
    push(out, *least);
    values().for_each(|value| push(out, value - least));
}

/// What grows by steps of about the same size.
pub(crate) fn put_steps(out: &mut Vec<u8>, column: &Column) {
    put_presence(out, column);
    if column.iter().all(Option::is_none) {
        return;
    }
    out.push(1);
    let mut before = 0u64;
    for value in column.iter().flatten() {
        push(out, zigzag(value.wrapping_sub(before)));
        before = *value;
    }
}

/// What is nearly always the same multiple of another column: bytes of operations. Kept as what it is beside that
/// multiple, in front of which the multiple stands.
fn put_multiple(out: &mut Vec<u8>, column: &Column, of: &Column) {
    let known = column.iter().zip(of).find_map(|(value, of)| (*value)?.checked_div((*of)?)).unwrap_or(0);
    push(out, known);
    let beside = |(value, of): (&Option<u64>, &Option<u64>)| {
        value.map(|value| zigzag(value.wrapping_sub(known.wrapping_mul(of.unwrap_or(0)))))
    };
    put(out, &column.iter().zip(of).map(beside).collect());
}

fn put_buckets(out: &mut Vec<u8>, column: &Column) {
    let bucket = |ns: u64| u64::from(Histogram::bucket(Span::from_nanos(ns)));
    put(out, &column.iter().map(|value| value.map(bucket)).collect());
    let beside = |ns: u64| zigzag(ns.wrapping_sub(Histogram::middle(bucket(ns) as u32).as_nanos()));
    put(out, &column.iter().map(|value| value.map(beside)).collect());
}

pub(crate) fn get(rest: &mut &[u8], rows: usize) -> Option<Column> {
    let has: Vec<bool> = match byte(rest)? {
        0 => return Some(vec![None; rows]),
        1 => vec![true; rows],
        2 => (0..rows).map(|_| byte(rest).map(|byte| byte == 1)).collect::<Option<_>>()?,
        _ => return None,
    };
    let steps = match byte(rest)? {
        0 => false,
        1 => true,
        _ => return None,
    };
    let mut base = if steps { 0 } else { take(rest)? };
    let mut value = |has: bool| {
        Some(match has {
            false => None,
            true if steps => {
                base = base.wrapping_add(unzigzag(take(rest)?));
                Some(base)
            }
            true => Some(base.wrapping_add(take(rest)?)),
        })
    };
    has.into_iter().map(&mut value).collect()
}

fn get_multiple(rest: &mut &[u8], of: &Column) -> Option<Column> {
    let known = take(rest)?;
    let beside = get(rest, of.len())?;
    let value = |(beside, of): (Option<u64>, &Option<u64>)| {
        beside.map(|beside| unzigzag(beside).wrapping_add(known.wrapping_mul(of.unwrap_or(0))))
    };
    Some(beside.into_iter().zip(of).map(value).collect())
}

fn get_buckets(rest: &mut &[u8], rows: usize) -> Option<Column> {
    let (buckets, beside) = (get(rest, rows)?, get(rest, rows)?);
    let value = |(bucket, beside): (Option<u64>, Option<u64>)| {
        let middle = Histogram::middle(u32::try_from(bucket?).ok()?);
        Some(middle.as_nanos().wrapping_add(unzigzag(beside?)))
    };
    Some(buckets.into_iter().zip(beside).map(value).collect())
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}

/// A difference as a number: 0, -1, 1, -2 … become 0, 1, 2, 3 …
fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn differences_keep_their_sign() {
        for (difference, number) in [(0i64, 0u64), (-1, 1), (1, 2), (-2, 3), (i64::MIN, u64::MAX)] {
            assert_eq!((zigzag(difference as u64), unzigzag(number)), (number, difference as u64));
        }
    }

    proptest! {
        /// Whatever bytes a damaged file holds, reading them ends without a panic.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (unpack_slices(&bytes), unpack_gate(&bytes));
            let deflated = compressed(&bytes);
            let _ = (unpack_slices(&deflated), unpack_gate(&deflated));
        }
    }
}
