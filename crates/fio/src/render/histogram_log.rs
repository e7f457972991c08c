//! fio's log of histograms: one row for each interval and direction, with a count for each of fio's
//! 1856 buckets.
//!
//! fio has 64 buckets per octave; the first 64 are one nanosecond each. Seawall has 128 per octave,
//! two for each of fio's, so nothing is lost. A coarser log has fewer columns, because neighbours
//! are added in pairs.

use super::log::direction_number;
use stats::Histogram;
use stats::job::HistogramRow;
use std::fmt::Write as _;

const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;

/// 29 octaves of 64 buckets. The last bucket takes everything longer (17 s).
const BUCKETS: usize = 29 << SUB_BITS;

/// The whole log. `coarseness` is how often neighbours are added in pairs. `ahead_ms` is added to
/// all times.
pub fn text(rows: &[HistogramRow], coarseness: u32, ahead_ms: u64) -> String {
    let mut text = String::new();
    for row in rows {
        let end = ahead_ms + row.end.as_nanos() / 1_000_000;
        // Writing into a string cannot fail.
        let _ = write!(text, "{end}, {}, {}", direction_number(row.direction), row.block);
        for sum in counts(&row.clat).chunks(1 << coarseness.min(SUB_BITS)).map(|pair| pair.iter().sum::<u64>()) {
            let _ = write!(text, ", {sum}");
        }
        text.push('\n');
    }
    text
}

fn counts(latencies: &Histogram) -> Vec<u64> {
    let mut counts = vec![0; BUCKETS];
    for (middle, count) in latencies.bins() {
        counts[bucket_of(middle.as_nanos())] += count;
    }
    counts
}

/// fio's bucket of a latency: its octave above the first 64 values, times 64, plus the six bits
/// below its leading one.
fn bucket_of(ns: u64) -> usize {
    let leading = 63 - (ns | 1).leading_zeros();
    if leading <= SUB_BITS {
        return ns as usize;
    }
    let dropped = leading - SUB_BITS;
    let index = (u64::from(dropped + 1) << SUB_BITS) + ((ns >> dropped) & (SUB - 1));
    (index as usize).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Span;
    use stats::Direction;

    #[test]
    fn buckets_are_fios() {
        // The first 128 values have a bucket each, then the steps are 2, 4, 8 …
        for (ns, bucket) in
            [(0, 0), (63, 63), (64, 64), (127, 127), (128, 128), (129, 128), (130, 129), (256, 192), (260, 193)]
        {
            assert_eq!(bucket_of(ns), bucket, "{ns}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_row_has_fios_columns_and_all_counts() {
        let mut clat = Histogram::new();
        for ns in [28, 28, 130, 1_000_000] {
            clat.record(Span::from_nanos(ns));
        }
        let row = HistogramRow { end: Span::from_millis(1001), direction: Direction::Write, block: 4096, clat };
        for (coarseness, columns) in [(0, 1856), (1, 928), (6, 29)] {
            let text = text(std::slice::from_ref(&row), coarseness, 0);
            let cells: Vec<u64> = text.trim_end().split(", ").map(|cell| cell.parse().unwrap()).collect();
            assert_eq!((cells[0], cells[1], cells[2], cells.len()), (1001, 1, 4096, columns + 3));
            assert_eq!(cells[3..].iter().sum::<u64>(), 4);
            assert_eq!(cells[3 + (28 >> coarseness)], 2);
        }
    }
}
