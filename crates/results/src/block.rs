//! A minute of slices, or of rows of a gate, as a short byte string, column by column.
//!
//! ```text
//!   block    version (2), then columns as in column.rs; the first has the number of rows
//!   starts   difference to the end of the row before: nearly always 0
//!   times    rank of their first four digits (in 9998, 9999, 10000, 10010 …, counted from 0), and the difference to that
//!            number: 0 for times of a second, which have four digits
//!   percentiles   their bucket, and the difference to its middle: nearly always 0
//!   bytes, counts   difference to the usual multiple of the operations: 0 for a single block size
//! ```
//! Differences have their sign in the lowest bit. Blocks of version 1 can also be read
//! (`deflated.rs`).

mod deflated;

use crate::column::{self, Bits, Column, Written, unzigzag, zigzag};
use block::Span;
use deflated::Deflated;
use stats::run::{Coarse, GateRow, Hits, Minute, Slice, Spread, Times};
use stats::{FloorOutcome, HeldBy, Histogram, Waits};

/// Version of the blocks that are written.
const VERSION: u8 = 2;
/// Maximum number of rows that a block may claim.
const ROWS_MAX: u64 = 4096;

/// Packs slices into a block.
pub(crate) fn pack_slices(slices: &[Slice]) -> Vec<u8> {
    let column = |of: &dyn Fn(&Slice) -> Option<u64>| -> Column { slices.iter().map(of).collect() };
    let mut out = Packer::of(slices.len());
    let length = column(&|slice| Some(slice.length.as_nanos()));
    out.starts(&column(&|slice| Some(slice.start.as_nanos())), &length);
    let ops = column(&|slice| Some(slice.ops));
    out.column(&ops);
    out.multiple(&column(&|slice| slice.bytes), &ops);
    out.column(&column(&|slice| slice.failed));
    for times in [|slice: &Slice| slice.response, |slice: &Slice| slice.service] {
        out.multiple(&column(&|slice| times(slice).map(|times| times.count)), &ops);
        out.digits(&column(&|slice| times(slice).map(|times| times.mean.as_nanos())));
        for part in [|spread: Spread| spread.p50, |spread: Spread| spread.p99, |spread: Spread| spread.p999] {
            out.buckets(&column(&|slice| Some(part(times(slice)?.spread?).as_nanos())));
        }
        out.digits(&column(&|slice| Some(times(slice)?.max?.as_nanos())));
    }
    out.column(&column(&|slice| slice.outstanding.map(u64::from)));
    out.finish()
}

/// Reverses [`pack_slices`]; `None` if the bytes are invalid.
pub(crate) fn unpack_slices(bytes: &[u8]) -> Option<Vec<Slice>> {
    let mut from = Unpacker::of(bytes)?;
    let (start, length) = from.starts()?;
    let ops = from.column()?;
    let (bytes, failed) = (from.multiple(&ops)?, from.column()?);
    let rows = from.rows;
    let mut times = || {
        let (count, mean) = (from.multiple(&ops)?, from.digits()?);
        let spread = [from.buckets()?, from.buckets()?, from.buckets()?];
        let max = from.digits()?;
        let row = |row: usize| {
            let [p50, p99, p999] = [&spread[0], &spread[1], &spread[2]].map(|column| column[row].map(Span::from_nanos));
            let spread = p50.zip(p99).zip(p999).map(|((p50, p99), p999)| Spread { p50, p99, p999 });
            let max = max[row].map(Span::from_nanos);
            Some(Times { count: count[row]?, mean: Span::from_nanos(mean[row]?), spread, max })
        };
        Some((0..rows).map(row).collect::<Vec<_>>())
    };
    let (response, service) = (times()?, times()?);
    let outstanding = from.column()?;
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

/// Packs rows of a gate into a block.
pub(crate) fn pack_gate(rows: &[GateRow]) -> Vec<u8> {
    let column = |of: &dyn Fn(&GateRow) -> Option<u64>| -> Column { rows.iter().map(of).collect() };
    let mut out = Packer::of(rows.len());
    let length = column(&|row| Some(row.length.as_nanos()));
    out.starts(&column(&|row| Some(row.start.as_nanos())), &length);
    for wait in [|w: Waits| w.ceiling, |w: Waits| w.floors, |w: Waits| w.turn, |w: Waits| w.device] {
        out.digits(&column(&|row| Some(wait(row.waits).as_nanos())));
    }
    out.column(&column(&|row| HeldBy::ALL.iter().position(|by| *by == row.held_by).map(|place| place as u64)));
    out.column(&column(&|row| row.held_at.map(u64::from)));
    out.column(&column(&|row| row.floor.place().map(|place| place as u64)));
    out.column(&column(&|row| row.floor.key().1));
    // Without a cache no hits are stored.
    let kept = |row: &GateRow, count: u64| (row.cached != Hits::default()).then_some(count);
    out.column(&column(&|row| kept(row, row.cached.found)));
    out.column(&column(&|row| kept(row, row.cached.missed)));
    out.finish()
}

/// Reverses [`pack_gate`]; `None` if the bytes are invalid.
pub(crate) fn unpack_gate(bytes: &[u8]) -> Option<Vec<GateRow>> {
    let mut from = Unpacker::of(bytes)?;
    let (start, length) = from.starts()?;
    let waits = [from.digits()?, from.digits()?, from.digits()?, from.digits()?];
    let (held_by, held_at, floor, number) = (from.column()?, from.column()?, from.column()?, from.column()?);
    // Older blocks do not have these columns.
    let (found, missed) = (from.column(), from.column());
    let row = |row: usize| {
        let span = |column: &Column| column[row].map(Span::from_nanos);
        let [ceiling, floors, turn, device] = &waits;
        let waits = Waits { ceiling: span(ceiling)?, floors: span(floors)?, turn: span(turn)?, device: span(device)? };
        let held_by = *HeldBy::ALL.get(usize::try_from(held_by[row]?).ok()?)?;
        let floor = FloorOutcome::ALL.get(usize::try_from(floor[row]?).ok()?)?.with(number[row])?;
        let held_at = held_at[row].map(|number| number as u32);
        let count = |column: &Option<Column>| column.as_ref().and_then(|column| column[row]).unwrap_or(0);
        let cached = Hits { found: count(&found), missed: count(&missed) };
        Some(GateRow { start: span(&start)?, length: span(&length)?, waits, held_by, held_at, floor, cached })
    };
    (0..from.rows).map(row).collect()
}

/// Packs a minute's histogram: a row for each filled bucket.
pub(crate) fn pack_minute(minute: &Minute) -> Vec<u8> {
    let filled = || minute.response.filled();
    let mut out = Packer::of(filled().count());
    out.single(minute.start.as_nanos());
    out.column(&filled().map(|(bucket, _)| Some(bucket.into())).collect::<Column>());
    out.column(&filled().map(|(_, count)| Some(count)).collect::<Column>());
    out.finish()
}

/// Reverses [`pack_minute`]; `None` if the bytes are invalid.
pub(crate) fn unpack_minute(bytes: &[u8]) -> Option<Minute> {
    let mut from = Unpacker::of(bytes)?;
    let start = Span::from_nanos(from.single()?);
    let rows = from.column()?.into_iter().zip(from.column()?);
    let bucket = |(bucket, count): (Option<u64>, Option<u64>)| Some((u32::try_from(bucket?).ok()?, count?));
    let response = Coarse::from_filled(rows.map(bucket).collect::<Option<_>>()?)?;
    Some(Minute { start, response })
}

/// Packs the columns of a block.
pub(crate) struct Packer(Written);

impl Packer {
    /// A block of `rows` rows.
    pub(crate) fn of(rows: usize) -> Packer {
        let mut out = Written::behind(vec![VERSION]);
        column::put(&mut out, &[Some(rows as u64)]);
        Packer(out)
    }

    /// Adds a single figure for the whole block.
    fn single(&mut self, value: u64) {
        self.column(&[Some(value)]);
    }

    /// Adds a column.
    pub(crate) fn column(&mut self, column: &[Option<u64>]) {
        column::put(&mut self.0, column);
    }

    /// Adds the starts and lengths of rows, which are always known.
    pub(crate) fn starts(&mut self, start: &Column, length: &Column) {
        let ends = start.iter().zip(length).map(|(start, length)| start.unwrap_or(0).wrapping_add(length.unwrap_or(0)));
        let beside = |(start, end): (&Option<u64>, u64)| start.map(|start| zigzag(start.wrapping_sub(end)));
        let before = std::iter::once(0).chain(ends);
        self.column(&start.iter().zip(before).map(beside).collect::<Column>());
        self.column(length);
    }

    /// Adds a column that is nearly always the same multiple of another one, such as bytes of
    /// operations. Stores the multiple, and then the difference of each row.
    fn multiple(&mut self, column: &Column, of: &Column) {
        let known = column.iter().zip(of).find_map(|(value, of)| (*value)?.checked_div((*of)?)).unwrap_or(0);
        self.single(known);
        let beside = |(value, of): (&Option<u64>, &Option<u64>)| {
            value.map(|value| zigzag(value.wrapping_sub(known.wrapping_mul(of.unwrap_or(0)))))
        };
        self.column(&column.iter().zip(of).map(beside).collect::<Column>());
    }

    fn digits(&mut self, column: &Column) {
        self.near(column, rank, |rank| from_rank(rank).unwrap_or(0));
    }

    fn buckets(&mut self, column: &Column) {
        self.near(column, |ns| u64::from(Histogram::bucket(Span::from_nanos(ns))), middle);
    }

    /// Adds a column as numbers of nearby values, and the differences to those.
    fn near(&mut self, column: &Column, number: impl Fn(u64) -> u64, near: impl Fn(u64) -> u64) {
        self.column(&column.iter().map(|value| value.map(&number)).collect::<Column>());
        let beside = |value: u64| zigzag(value.wrapping_sub(near(number(value))));
        self.column(&column.iter().map(|value| value.map(beside)).collect::<Column>());
    }

    /// The finished block.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.0.finish()
    }
}

/// Reads the columns of a block in the order in which they were packed.
pub(crate) struct Unpacker<'b> {
    from: From<'b>,
    /// Number of rows.
    pub(crate) rows: usize,
}

enum From<'b> {
    Bits(Bits<'b>),
    Deflated(Deflated),
}

impl<'b> Unpacker<'b> {
    /// A reader for a block; `None` if it is invalid.
    pub(crate) fn of(block: &'b [u8]) -> Option<Unpacker<'b>> {
        let (version, packed) = block.split_first()?;
        let (from, rows) = match *version {
            deflated::VERSION => {
                let mut from = Deflated::of(packed)?;
                let rows = from.number()?;
                (From::Deflated(from), rows)
            }
            VERSION => {
                let mut bits = Bits::of(packed);
                let rows = column::get(&mut bits, 1)?[0]?;
                (From::Bits(bits), rows)
            }
            _ => return None,
        };
        (rows <= ROWS_MAX).then_some(Unpacker { from, rows: rows as usize })
    }

    /// Reads a single figure for the whole block.
    fn single(&mut self) -> Option<u64> {
        match &mut self.from {
            From::Bits(bits) => column::get(bits, 1)?[0],
            From::Deflated(deflated) => deflated.number(),
        }
    }

    /// Reads a column.
    pub(crate) fn column(&mut self) -> Option<Column> {
        match &mut self.from {
            From::Bits(bits) => column::get(bits, self.rows),
            From::Deflated(deflated) => deflated.column(self.rows),
        }
    }

    /// Reads starts and lengths.
    pub(crate) fn starts(&mut self) -> Option<(Column, Column)> {
        let (start, length) = (self.column()?, self.column()?);
        if let From::Deflated(_) = self.from {
            return Some((start, length));
        }
        let mut end = 0u64;
        let whole = |(beside, length): (&Option<u64>, &Option<u64>)| {
            let start = unzigzag((*beside)?).wrapping_add(end);
            end = start.wrapping_add((*length)?);
            Some(Some(start))
        };
        Some((start.iter().zip(&length).map(whole).collect::<Option<_>>()?, length))
    }

    fn multiple(&mut self, of: &Column) -> Option<Column> {
        let known = self.single()?;
        let beside = self.column()?;
        let value = |(beside, of): (Option<u64>, &Option<u64>)| {
            beside.map(|beside| unzigzag(beside).wrapping_add(known.wrapping_mul(of.unwrap_or(0))))
        };
        Some(beside.into_iter().zip(of).map(value).collect())
    }

    fn digits(&mut self) -> Option<Column> {
        match self.from {
            From::Bits(_) => self.near(from_rank),
            // Version 1 stored them directly.
            From::Deflated(_) => self.column(),
        }
    }

    fn buckets(&mut self) -> Option<Column> {
        self.near(|bucket| u32::try_from(bucket).ok().map(|bucket| middle(bucket.into())))
    }

    fn near(&mut self, near: impl Fn(u64) -> Option<u64>) -> Option<Column> {
        let (numbers, beside) = (self.column()?, self.column()?);
        let value = |(number, beside): (Option<u64>, Option<u64>)| match number {
            Some(number) => Some(Some(near(number)?.wrapping_add(unzigzag(beside?)))),
            None => Some(None),
        };
        numbers.into_iter().zip(beside).map(value).collect()
    }
}

/// The middle of a histogram's bucket; of the last one if the number is beyond it.
fn middle(bucket: u64) -> u64 {
    Histogram::middle(u32::try_from(bucket).unwrap_or(u32::MAX)).as_nanos()
}

/// Numbers of four digits followed by zeros are ranked in ascending order from 0; a rank below this
/// is the number itself.
const FOUR: u64 = 10_000;
const A_ZERO_MORE: u64 = 9_000;

/// The rank of the highest such number that is not above `value`.
fn rank(value: u64) -> u64 {
    let zeros = u64::from(value.checked_ilog10().unwrap_or(0).saturating_sub(3));
    let first = value / 10u64.pow(zeros as u32);
    if zeros == 0 { first } else { FOUR + (zeros - 1) * A_ZERO_MORE + (first - FOUR / 10) }
}

/// The number with this rank; `None` if it exceeds 64 bits.
fn from_rank(rank: u64) -> Option<u64> {
    let Some(above) = rank.checked_sub(FOUR) else { return Some(rank) };
    let zeros = u32::try_from(above / A_ZERO_MORE + 1).ok()?;
    10u64.checked_pow(zeros)?.checked_mul(above % A_ZERO_MORE + FOUR / 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_digits_have_a_number() {
        for (value, number, four) in [
            (0, 0, 0),
            (9_999, 9_999, 9_999),
            (10_000, 10_000, 10_000),
            (10_019, 10_001, 10_010),
            (99_999, 18_999, 99_990),
        ] {
            assert_eq!((rank(value), from_rank(number)), (number, Some(four)), "{value}");
        }
        assert_eq!(from_rank(rank(u64::MAX)), Some(18_440_000_000_000_000_000));
        assert_eq!(from_rank(u64::MAX), None);
    }

    proptest! {
        /// Reading arbitrary bytes, as from a damaged file, never panics.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for block in [bytes.clone(), [&[VERSION], &bytes[..]].concat(), deflated::tests::compressed(&bytes)] {
                let _ = (unpack_slices(&block), unpack_gate(&block), unpack_minute(&block));
            }
        }
    }
}
