//! SQL functions that give queries access to blocks and histograms.
//!
//! ```text
//!   slices(block)             a JSON array of slices, each an array of 18 values, NULL where not known
//!   gate_rows(block)          a JSON array of rows of a gate, each an array of 10 values
//!   host_rows(block)          a JSON array of rows of the host, each an array of 19 values, NULL where not known
//!   device_rows(block)        a JSON array of rows of a device, each an array of 10 values
//!   times_buckets(times)      the response times of a minute, as buckets of a histogram
//!   merge(buckets)            of many rows (an aggregate): their histograms as one, as buckets
//!   percentile_ns(buckets, p) the p-th percentile (0 to 100) of a histogram's buckets, in nanoseconds
//! ```
//! All of them return NULL for NULL, and fail for invalid bytes.

use super::block::{unpack_gate, unpack_minute, unpack_slices};
use super::host::{Figures, unpack};
use super::packed::{pack_filled, unpack_buckets};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, Error, Result};
use stats::Histogram;
use stats::run::{DeviceRow, GateRow, HostRow, Slice, Times};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Registers the functions for queries of this connection.
pub(super) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("slices", 1, flags, |context| {
        unpacked(context, |bytes| Some(json(&unpack_slices(bytes)?, slice)))
    })?;
    connection.create_scalar_function("gate_rows", 1, flags, |context| {
        unpacked(context, |bytes| Some(json(&unpack_gate(bytes)?, gate_row)))
    })?;
    connection.create_scalar_function("host_rows", 1, flags, |context| {
        unpacked(context, |bytes| Some(json(&unpack::<HostRow>(bytes)?, figures)))
    })?;
    connection.create_scalar_function("device_rows", 1, flags, |context| {
        unpacked(context, |bytes| Some(json(&unpack::<DeviceRow>(bytes)?, figures)))
    })?;
    connection.create_scalar_function("times_buckets", 1, flags, |context| {
        let Some(bytes) = context.get::<Option<Vec<u8>>>(0)? else { return Ok(None) };
        let minute = unpack_minute(&bytes).ok_or_else(|| damaged("the times of a minute"))?;
        Ok(Some(pack_filled(minute.response.buckets())))
    })?;
    connection.create_aggregate_function("merge", 1, flags, Merge)?;
    connection.create_scalar_function("percentile_ns", 2, flags, |context| {
        let Some(bytes) = context.get::<Option<Vec<u8>>>(0)? else { return Ok(None) };
        let percent: f64 = context.get(1)?;
        let (buckets, count) = unpack_buckets(&bytes).ok_or_else(|| damaged("buckets of a histogram"))?;
        let known = count > 0 && (0.0..=100.0).contains(&percent);
        Ok(known.then(|| Histogram::quantile_of(&buckets, percent / 100.0).as_nanos() as i64))
    })
}

/// Aggregate that merges histograms.
struct Merge;

impl Aggregate<BTreeMap<u32, u64>, Option<Vec<u8>>> for Merge {
    fn init(&self, _context: &mut Context<'_>) -> Result<BTreeMap<u32, u64>> {
        Ok(BTreeMap::new())
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut BTreeMap<u32, u64>) -> Result<()> {
        let Some(bytes) = context.get::<Option<Vec<u8>>>(0)? else { return Ok(()) };
        let (buckets, _) = unpack_buckets(&bytes).ok_or_else(|| damaged("buckets of a histogram"))?;
        for (bucket, count) in buckets {
            let whole = sum.entry(bucket).or_default();
            *whole = whole.saturating_add(count);
        }
        Ok(())
    }

    fn finalize(&self, _context: &mut Context<'_>, sum: Option<BTreeMap<u32, u64>>) -> Result<Option<Vec<u8>>> {
        Ok(sum.filter(|sum| !sum.is_empty()).map(|sum| pack_filled(sum.into_iter())))
    }
}

fn unpacked(context: &Context<'_>, unpack: impl FnOnce(&[u8]) -> Option<String>) -> Result<Option<String>> {
    let Some(bytes) = context.get::<Option<Vec<u8>>>(0)? else { return Ok(None) };
    unpack(&bytes).map(Some).ok_or_else(|| damaged("a block"))
}

fn damaged(what: &str) -> Error {
    Error::UserFunctionError(format!("not {what}, or a damaged one").into())
}

fn json<T>(rows: &[T], row: impl Fn(&T, &mut Array)) -> String {
    let mut text = String::from("[");
    for (index, one) in rows.iter().enumerate() {
        text.push_str(if index == 0 { "[" } else { ",[" });
        let mut array = Array { text, empty: true };
        row(one, &mut array);
        text = array.text;
        text.push(']');
    }
    text.push(']');
    text
}

/// Builds a JSON array.
struct Array {
    text: String,
    empty: bool,
}

impl Array {
    fn number(&mut self, value: Option<u64>) {
        self.separate();
        match value {
            // As a signed 64-bit number, like in the tables.
            Some(value) => write!(self.text, "{}", value as i64).unwrap_or_default(),
            None => self.text.push_str("null"),
        }
    }

    /// A word from this program, which needs no escaping.
    fn word(&mut self, word: &str) {
        self.separate();
        write!(self.text, "\"{word}\"").unwrap_or_default();
    }

    fn separate(&mut self) {
        if !std::mem::replace(&mut self.empty, false) {
            self.text.push(',');
        }
    }
}

fn slice(slice: &Slice, out: &mut Array) {
    let times = |times: Option<Times>, out: &mut Array| {
        let spread = times.and_then(|times| times.spread);
        out.number(times.map(|times| times.count));
        out.number(times.map(|times| times.mean.as_nanos()));
        for part in [spread.map(|spread| spread.p50), spread.map(|spread| spread.p99), spread.map(|s| s.p999)] {
            out.number(part.map(|span| span.as_nanos()));
        }
        out.number(times.and_then(|times| times.max).map(|span| span.as_nanos()));
    };
    for value in
        [Some(slice.start.as_nanos()), Some(slice.length.as_nanos()), Some(slice.ops), slice.bytes, slice.failed]
    {
        out.number(value);
    }
    times(slice.response, out);
    times(slice.service, out);
    out.number(slice.outstanding.map(u64::from));
}

fn gate_row(row: &GateRow, out: &mut Array) {
    let waits = [row.waits.ceiling, row.waits.floors, row.waits.turn, row.waits.device];
    for span in [row.start, row.length].into_iter().chain(waits) {
        out.number(Some(span.as_nanos()));
    }
    let (floor, number) = row.floor.key();
    out.word(row.held_by.key());
    out.number(row.held_at.map(u64::from));
    out.word(floor);
    out.number(number);
}

fn figures<R: Figures>(row: &R, out: &mut Array) {
    row.figures().into_iter().for_each(|figure| out.number(figure));
}
