//! Folds a long run in memory: each minute that is over becomes one slice.
//!
//! ```text
//!   seconds   ▕▏▕▏▕▏▕▏▕▏▕▏▕▏▕▏ … ▕▏▕▏▕▏▕▏      a day of 100 workloads: 26 million, 5 GB
//!   folded    ▕  minute ▏▕  minute ▏ … ▕▏▕▏▕▏▕▏      the last hour by seconds
//! ```
//! By then the results database has the seconds, so only the copy in memory is lost.

use super::{GateRow, Hits, Minute, Run, Series, Slice, Spread};
use crate::{Histogram, Waits};
use block::Span;

/// Length of a minute of a gate's rows, counted from the start of the run.
const MINUTE: u64 = 60_000_000_000;

impl Run {
    /// Number of slices in all series.
    pub fn slices(&self) -> usize {
        self.series.iter().map(|series| series.slices.len()).sum()
    }

    /// Whether some of its minutes have been folded.
    pub fn is_folded(&self) -> bool {
        let long = |series: &Series| series.slices.first().is_some_and(|first| first.length > Span::from_secs(30));
        self.series.iter().any(long)
    }

    /// Folds each minute that was over at `until` into one slice and one row of a gate. The slice
    /// gets the percentiles of its minute, within 3.2 %; the minute's histogram becomes empty.
    pub fn fold(&mut self, until: Span) {
        self.series.iter_mut().for_each(|series| series.fold(until));
        for gate in &mut self.gates {
            let over = until.as_nanos() / MINUTE * MINUTE;
            let end = gate.rows.partition_point(|row| row.start.as_nanos() < over);
            let minute = |row: &GateRow| row.start.as_nanos() / MINUTE;
            let (mut folded, mut at) = (0, 0);
            while at < end {
                let this = minute(&gate.rows[at]);
                let to = at + gate.rows[at..end].partition_point(|row| minute(row) == this);
                if let Some(row) = GateRow::together(&gate.rows[at..to]) {
                    gate.rows[folded] = row;
                    folded += 1;
                }
                at = to;
            }
            gate.rows.drain(folded..end);
        }
    }
}

impl Series {
    fn fold(&mut self, until: Span) {
        let Series { slices, minutes, .. } = self;
        let over = minutes.partition_point(|minute| minute.start <= until).saturating_sub(1);
        let Some(end) = minutes.get(over).filter(|_| over > 0).map(|next| next.start) else { return };
        let end = slices.partition_point(|slice| slice.start < end);
        // Minutes that were folded before are one slice each. Everything is moved within its
        // allocation, because newly allocated memory would not reuse all that was freed.
        let is_one = |minute: &usize| {
            let starts = [*minute, minute + 1].map(|at| slices.get(at).map(|slice| slice.start));
            starts == [*minute, minute + 1].map(|at| minutes.get(at).map(|minute| minute.start))
        };
        let before = (0..over).take_while(is_one).count();
        let (mut folded, mut at) = (before, before);
        for minute in before..over {
            let next = minutes[minute + 1].start;
            let to = at + slices[at..end].partition_point(|slice| slice.start < next);
            if let Some(whole) = slices[at..to].iter().copied().reduce(|whole, slice| whole.then(&slice)) {
                let known = minutes[minute].spread();
                let response =
                    whole.response.map(|times| super::Times { spread: known.or(times.spread), ..times }.rounded());
                slices[folded] = Slice { response, ..whole };
                folded += 1;
            }
            minutes[minute].response = Default::default();
            at = to;
        }
        slices.drain(folded..end);
    }
}

impl Minute {
    /// The percentiles of its responses, within 3.2 %; `None` without responses.
    pub fn spread(&self) -> Option<Spread> {
        let buckets: Vec<(u32, u64)> = self.response.buckets().collect();
        let part = |part| Histogram::quantile_of(&buckets, part);
        (!buckets.is_empty()).then(|| Spread { p50: part(0.5), p99: part(0.99), p999: part(0.999) })
    }
}

impl GateRow {
    /// Joins consecutive rows: waits are averaged, hits and misses added, and cause and state of
    /// the floor are the most frequent ones.
    pub fn together(rows: &[GateRow]) -> Option<GateRow> {
        let (first, last) = (rows.first()?, rows.last()?);
        let mean = |of: fn(&Waits) -> Span| {
            rows.iter().map(|row| of(&row.waits)).fold(Span::ZERO, |a, b| a + b) / rows.len() as u64
        };
        let (held_by, held_at) = most(rows.iter().map(|row| (row.held_by, row.held_at)))?;
        let fared = most(rows.iter().map(|row| row.floor.key().0))?;
        let floor = rows.iter().map(|row| row.floor).find(|floor| floor.key().0 == fared)?;
        Some(GateRow {
            start: first.start,
            length: (last.start + last.length).saturating_sub(first.start),
            waits: Waits {
                ceiling: mean(|waits| waits.ceiling),
                floors: mean(|waits| waits.floors),
                turn: mean(|waits| waits.turn),
                device: mean(|waits| waits.device),
            },
            held_by,
            held_at,
            floor,
            cached: rows.iter().fold(Hits::default(), |mut sum, row| {
                sum += row.cached;
                sum
            }),
        })
    }
}

/// The most frequent item; the first one of several.
fn most<T: PartialEq>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut counted: Vec<(T, usize)> = Vec::new();
    for one in all {
        match counted.iter_mut().find(|(known, _)| *known == one) {
            Some((_, count)) => *count += 1,
            None => counted.push((one, 1)),
        }
    }
    counted.into_iter().rev().max_by_key(|(_, count)| *count).map(|(one, _)| one)
}

#[cfg(test)]
mod tests {
    use super::super::{Class, Point, RunActor, Second};
    use super::*;
    use crate::{Ended, HeldBy, Tape};
    use block::Time;

    /// Ten minutes of 60 reads a second, of 1 ms in even minutes and 5 ms in odd ones, held back by
    /// the disk except for a second. Folded up to the middle of the sixth minute, five minutes are
    /// slices with their sums and percentiles, and the rest is unchanged. A second fold changes
    /// nothing.
    #[test]
    fn minutes_that_are_over_are_slices() {
        let (actors, points) = (vec![RunActor::default()], vec![Point::default()]);
        let mut run = Run { actors, points, ..Run::default() };
        run.begin_cells();
        for second in 0..600 {
            let mut tape = Tape::default();
            for n in 1..=60 {
                let (class, end, gate) = (Tape::READ, Time::from_nanos(n * 9_000_000), Span::ZERO);
                let due = end - Span::from_millis(if second / 60 % 2 == 0 { 1 } else { 5 });
                tape.ended(&Ended { class, due, made: due, handed: due, end, gate, bytes: 4096 });
            }
            let (start, length) = (Span::from_secs(second), Span::SECOND);
            run.add_second(&tape, Second { start, length, settled: true, ..Second::default() }, None);
            let held_by = if second == 7 { HeldBy::Cpu } else { HeldBy::Disk };
            run.add_gate_row(0, GateRow { start, length, held_by, ..GateRow::default() });
        }
        let whole = run.clone();
        run.fold(Span::from_secs(330));
        for class in [Class::ALL, Class::READ] {
            let (folded, seconds) = (&run.series(0, &class).unwrap().slices, &whole.series(0, &class).unwrap().slices);
            assert_eq!((folded.len(), &folded[5..]), (305, &seconds[300..]));
            for (minute, slice) in folded[..5].iter().enumerate() {
                assert_eq!((slice.start, slice.length), (Span::from_secs(60 * minute as u64), Span::from_secs(60)));
                assert_eq!((slice.ops, slice.bytes), (3600, Some(3600 * 4096)));
                let times = slice.response.unwrap();
                let ms = if minute % 2 == 0 { 1.0 } else { 5.0 };
                assert!((times.p99().unwrap().as_millis_f64() / ms - 1.0).abs() < 0.032, "{times:?}");
                assert!((times.mean.as_millis_f64() / ms - 1.0).abs() < 0.001, "{times:?}");
            }
        }
        let rows = &run.gates[0].rows;
        assert_eq!((rows.len(), rows[0].held_by, rows[0].length), (305, HeldBy::Disk, Span::from_secs(60)));
        assert_eq!((run.slices(), &run.cells), (610, &whole.cells));
        let again = run.clone();
        run.fold(Span::from_secs(330));
        assert_eq!(run, again);
    }
}
