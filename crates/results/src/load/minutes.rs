//! Loads a long run by its minutes: enough detail to draw, without reading its seconds.

use super::super::block::{unpack_gate, unpack_minute};
use super::{Loader, SeriesFound};
use crate::Failure;
use crate::cells::{Cells, rows};
use block::Span;
use rusqlite::Result;
use stats::run::{GateRow, GateSeries, Minute, Series, Slice, Times};

/// A row of a minute: its number, actor, class and slice, and its response times if they are valid.
type Row = (i64, u32, String, Option<Slice>);

impl Loader<'_> {
    /// Number of slices of the run.
    pub(super) fn slices(&self) -> Result<u64> {
        let sql = "SELECT coalesce(sum(slices), 0) FROM minute WHERE run = ?1";
        Ok(self.rows(sql, |cells| cells.number())?.into_iter().sum())
    }

    /// The series with a slice for each minute, without histograms. If `parts` is false,
    /// percentiles of the classes that are parts of a whole are left out, whose histograms are two
    /// thirds of what is read.
    pub(super) fn series_by_minute(&self, parts: bool) -> Result<Vec<Series>, Failure> {
        // Sorted here, because SQLite would sort the bytes of all histograms along.
        let sql = "SELECT minute.id, actor, class, start_ns, length_ns, ops, bytes, failed, response_mean_ns, response_max_ns,
                service_mean_ns, service_max_ns, times.response
            FROM minute LEFT JOIN times ON times.minute = minute.id AND (?2 OR class = 'all')
            WHERE run = ?1";
        let mut rows: Vec<Row> = rows(self.connection, sql, (self.run, parts), |cells| {
            let (number, actor, class) = (cells.next()?, cells.next()?, cells.next()?);
            Ok((number, actor, class, minute(cells)?))
        })?;
        rows.sort_by_key(|(number, ..)| *number);
        let mut found = SeriesFound::default();
        for (_, actor, class, slice) in rows {
            found.of(actor, class).slices.push(slice.ok_or(Failure::Damaged("the times of a minute"))?);
        }
        Ok(found.all)
    }

    /// The rows of the gates, one for each minute.
    pub(super) fn gates_by_minute(&self) -> Result<Vec<GateSeries>, Failure> {
        let sql = "SELECT actor, rows FROM gate WHERE run = ?1 ORDER BY id";
        let found: Vec<(u32, Vec<u8>)> = self.rows(sql, |cells| Ok((cells.next()?, cells.next()?)))?;
        let mut gates: Vec<GateSeries> = Vec::new();
        for (actor, packed) in found {
            let row = GateRow::together(&unpack_gate(&packed).ok_or(Failure::Damaged("a gate's minute"))?);
            match gates.iter_mut().find(|known| known.actor == actor) {
                Some(known) => known.rows.extend(row),
                None => gates.push(GateSeries { actor, rows: row.into_iter().collect() }),
            }
        }
        Ok(gates)
    }
}

/// A minute as a slice, with the percentiles of its histogram; `None` if that is damaged.
fn minute(cells: &mut Cells<'_>) -> Result<Option<Slice>> {
    let (start, length) = (cells.span()?, cells.span()?);
    let (ops, bytes, failed) = (cells.number()?, cells.optional()?, cells.optional()?);
    let mut span = || -> Result<_> { Ok(cells.optional()?.map(Span::from_nanos)) };
    let [mean, max, service_mean, service_max] = [span()?, span()?, span()?, span()?];
    let spread = match cells.next::<Option<Vec<u8>>>()? {
        None => None,
        Some(packed) => match unpack_minute(&packed) {
            None => return Ok(None),
            Some(minute) => Minute::spread(&minute),
        },
    };
    let times = |mean: Option<Span>, max, spread| Some(Times { count: ops.max(1), mean: mean?, spread, max });
    let (response, service) = (times(mean, max, spread), times(service_mean, service_max, None));
    Ok(Some(Slice { start, length, ops, bytes, failed, response, service, ..Slice::default() }))
}
