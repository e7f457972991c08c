//! Distribution of response times over time: each column is an interval, each row a range of
//! response times; the darker a box, the more requests it has.

use super::{Charts, Figure};
use crate::chart::{Axis, Cell, Chart, Mark, SHADES};
use crate::sheet::Sheet;
use block::Span;
use stats::Histogram;
use std::collections::BTreeMap;

/// A section of heat maps, all with the same axes and shades.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// The heading.
    pub heading: String,
    /// Introduction.
    pub lead: String,
    /// The maps.
    pub maps: Vec<Heat>,
}

/// A map.
#[derive(Clone, Debug, Default)]
pub struct Heat {
    /// Its owner: a workload or a run.
    pub name: String,
    /// Its slices, in order.
    pub slices: Vec<HeatSlice>,
}

/// An interval, with the response times of the requests that completed in it.
#[derive(Clone, Debug, Default)]
pub struct HeatSlice {
    from: f64,
    to: f64,
    /// Number of requests by row.
    rows: BTreeMap<i32, u64>,
}

/// Number of rows in a decade.
const ROWS_A_DECADE: f64 = 8.0;
/// Maximum number of columns; more slices are joined.
const COLUMNS_MOST: usize = 180;

impl HeatSlice {
    /// A slice from a histogram.
    pub fn of(start: Span, length: Span, histogram: &Histogram) -> HeatSlice {
        let mut rows = BTreeMap::new();
        for (middle, count) in histogram.bins().filter(|(middle, _)| *middle > Span::ZERO) {
            *rows.entry(row_of(middle.as_millis_f64())).or_default() += count;
        }
        HeatSlice { from: start.as_secs_f64(), to: (start + length).as_secs_f64(), rows }
    }

    fn join(&mut self, next: &HeatSlice) {
        self.to = next.to;
        next.rows.iter().for_each(|(row, count)| *self.rows.entry(*row).or_default() += count);
    }

    /// Requests a second in a row, because slices may differ in length.
    fn rate(&self, row: i32) -> f64 {
        let length = self.to - self.from;
        if length > 0.0 { self.rows.get(&row).copied().unwrap_or(0) as f64 / length } else { 0.0 }
    }
}

fn row_of(ms: f64) -> i32 {
    (ms.log10() * ROWS_A_DECADE).floor() as i32
}

/// The lower end of a row in milliseconds.
fn start_of(row: i32) -> f64 {
    10f64.powf(f64::from(row) / ROWS_A_DECADE)
}

impl HeatMap {
    pub(super) fn draw(&self, sheet: &mut Sheet) {
        self.charts().draw(sheet);
    }

    fn charts(&self) -> Charts {
        let maps: Vec<(&str, Vec<HeatSlice>)> =
            self.maps.iter().map(|map| (map.name.as_str(), joined(&map.slices))).collect();
        let slices = || maps.iter().flat_map(|(_, slices)| slices);
        let rows = || slices().flat_map(|slice| slice.rows.keys().copied());
        let (Some(least), Some(most)) = (rows().min(), rows().max()) else { return Charts::default() };
        let end = slices().map(|slice| slice.to).fold(0.0, f64::max);
        let hottest = slices().flat_map(|slice| slice.rows.keys().map(|row| slice.rate(*row))).fold(0.0, f64::max);
        let figure = |(name, slices): &(&str, Vec<HeatSlice>)| {
            let y = Axis::milliseconds(start_of(least) * 1.000_001, start_of(most + 1) * 0.999_999);
            let mut chart = Chart::new(format!("Response times of {name} over time"), Axis::seconds(end), y);
            chart.description = describe(slices);
            chart.marks = vec![Mark::Cells(cells(slices, hottest))];
            let key = (1..SHADES).map(|shade| (SHADE_CLASSES[shade], String::new()));
            let mut figure = Figure::of(chart).headed(*name).captioned("Requests, from few to many: ");
            figure.key = key.collect();
            figure
        };
        Charts {
            heading: self.heading.clone(),
            lead: self.lead.clone(),
            figures: maps.iter().map(figure).collect(),
            small: false,
        }
    }
}

const SHADE_CLASSES: [&str; SHADES] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"];

/// Joins slices to at most [`COLUMNS_MOST`].
fn joined(slices: &[HeatSlice]) -> Vec<HeatSlice> {
    let step = slices.len().div_ceil(COLUMNS_MOST).max(1);
    let join = |chunk: &[HeatSlice]| {
        let mut whole = chunk.first()?.clone();
        chunk[1..].iter().for_each(|next| whole.join(next));
        Some(whole)
    };
    slices.chunks(step).filter_map(join).collect()
}

/// The boxes with requests; equal adjacent ones are merged. Shades grow with the logarithm, so that
/// a single request is visible.
fn cells(slices: &[HeatSlice], hottest: f64) -> Vec<Cell> {
    let shade = |rate: f64| 1 + ((rate.ln_1p() / hottest.ln_1p()) * (SHADES - 1) as f64 * 0.999) as usize;
    let mut cells = Vec::new();
    let mut open: BTreeMap<i32, Cell> = BTreeMap::new();
    for slice in slices {
        let mut next = BTreeMap::new();
        for row in slice.rows.keys() {
            let shade = shade(slice.rate(*row));
            let y = (start_of(*row), start_of(row + 1));
            let before = open.remove(row);
            let goes_on = |cell: &Cell| cell.shade == shade && (cell.x.1 - slice.from).abs() < 1e-6;
            match before {
                Some(cell) if goes_on(&cell) => next.insert(*row, Cell { x: (cell.x.0, slice.to), ..cell }),
                before => {
                    cells.extend(before);
                    next.insert(*row, Cell { x: (slice.from, slice.to), y, shade })
                }
            };
        }
        cells.extend(open.into_values());
        open = next;
    }
    cells.extend(open.into_values());
    cells
}

/// The most frequent range of the whole time, and the slowest.
fn describe(slices: &[HeatSlice]) -> String {
    let mut all: BTreeMap<i32, u64> = BTreeMap::new();
    slices.iter().flat_map(|slice| &slice.rows).for_each(|(row, count)| *all.entry(*row).or_default() += count);
    let range = |row: i32| {
        let say = crate::text::significant;
        format!("{} to {} ms", say(start_of(row)), say(start_of(row + 1)))
    };
    let fullest = all.iter().max_by_key(|(_, count)| **count).map(|(row, _)| range(*row));
    let slowest = all.keys().next_back().map(|row| range(*row));
    match (fullest, slowest) {
        (Some(fullest), Some(slowest)) => format!("Most requests took {fullest}; the slowest {slowest}."),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(second: u64, times_ms: &[(u64, u64)]) -> HeatSlice {
        let mut histogram = Histogram::new();
        times_ms.iter().for_each(|(ms, count)| histogram.record_many(Span::from_millis(*ms), *count));
        HeatSlice::of(Span::from_secs(second), Span::SECOND, &histogram)
    }

    /// 2 ms is row 8 · log10 2 = 2.4, from 1.78 to 2.37 ms. Two equal seconds are one box, the
    /// third is darker; a single request at 110 ms is visible.
    #[test]
    fn equal_boxes_that_touch_are_one() {
        let slices = [slice(0, &[(2, 100)]), slice(1, &[(2, 100), (110, 1)]), slice(2, &[(2, 10_000)])];
        let cells = cells(&slices, 10_000.0);
        assert_eq!(cells.len(), 3, "{cells:?}");
        let at = |x| cells.iter().find(|cell| cell.x == x).unwrap();
        assert!(at((0.0, 2.0)).shade < at((2.0, 3.0)).shade && at((2.0, 3.0)).shade == SHADES - 1, "{cells:?}");
        assert!(at((1.0, 2.0)).shade == 1 && (at((1.0, 2.0)).y.0 - 100.0).abs() < 1e-6, "{cells:?}");
        let (low, high) = at((0.0, 2.0)).y;
        assert!((low - 1.778).abs() < 0.001 && (high - 2.371).abs() < 0.001);
    }

    #[test]
    fn many_slices_share_columns_and_none_is_lost() {
        let slices: Vec<HeatSlice> = (0..1000).map(|second| slice(second, &[(1 + second % 3, 5)])).collect();
        let columns = joined(&slices);
        assert!(columns.len() <= COLUMNS_MOST && columns.last().unwrap().to == 1000.0);
        assert_eq!(columns.iter().flat_map(|slice| slice.rows.values()).sum::<u64>(), 5000);
    }
}
