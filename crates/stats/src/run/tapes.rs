//! Converts a tape to cells of a point and series of seconds. There is no other way from a recorder
//! to a run.

use super::series::added_up;
use super::{Cell, Class, Kind, Minute, Run, Series, Slice, Times};
use crate::{Punctuality, Summary, Tape, TapeSecond, TapeSlice, Track};
use block::Span;

/// Minimum length of a slice in a run; shorter ones of a tape are joined.
const SLICE: Span = Span::SECOND;

/// Position of a tape in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taped {
    /// Index of the point.
    pub point: u32,
    /// Index of the actor.
    pub actor: u32,
    /// When the tape began, from the start of the run.
    pub start: Span,
    /// Measured time of the whole.
    pub measured: Span,
}

impl Run {
    /// Adds an actor's results in a point and continues its series. Returns the cell of the whole,
    /// for what only the owner of the tape knows.
    pub fn add_tape(&mut self, tape: &Tape, at: Taped) -> &mut Cell {
        let first = self.cells.len();
        self.cells.extend(cells(tape, at));
        let drain = tape.drain().map(|drain| at.start + drain);
        let taken = |track: &Track| seconds(track.slices.iter().map(|slice| slice_of(track, slice, at.start)), drain);
        let series = tape.tracks().map(|track| (track, taken(track)));
        let series: Vec<_> = series.filter(|(_, slices)| slices.iter().any(|slice| slice.ops > 0)).collect();
        let parts = series.iter().filter(|(track, _)| track.class.is_part());
        let parts: Vec<&[Slice]> = parts.map(|(_, slices)| &slices[..]).collect();
        if !parts.is_empty() {
            let mut slices: Vec<Slice> = added_up(&parts).into_values().collect();
            spread(&mut slices, tape.seconds(), at.start);
            let minutes = minutes(tape.minutes(), at.start);
            self.add_slices(Series { actor: at.actor, class: Class::ALL, slices, minutes });
        }
        for (track, mut slices) in series {
            spread(&mut slices, &track.seconds, at.start);
            let minutes = minutes(&track.minutes, at.start);
            self.add_slices(Series { actor: at.actor, class: track.class.clone(), slices, minutes });
        }
        &mut self.cells[first]
    }

    fn add_slices(&mut self, more: Series) {
        let same = |series: &&mut Series| (series.actor, &series.class) == (more.actor, &more.class);
        match self.series.iter_mut().find(same) {
            Some(series) => {
                series.slices.extend(more.slices);
                series.minutes.extend(more.minutes);
            }
            None => self.series.push(more),
        }
    }
}

/// The minutes of a tape that began at `start`.
fn minutes(minutes: &[Minute], start: Span) -> Vec<Minute> {
    minutes.iter().map(|minute| Minute { start: start + minute.start, response: minute.response.clone() }).collect()
}

/// Adds the percentiles of seconds to the slices that end with them.
fn spread(slices: &mut [Slice], seconds: &[TapeSecond], start: Span) {
    for second in seconds {
        let at = slices.binary_search_by_key(&(start + second.end), |slice| slice.start + slice.length);
        if let Some(slice) = at.ok().map(|at| &mut slices[at]) {
            slice.response = known(slice.response, &second.response);
            slice.service = known(slice.service, &second.service);
        }
    }
}

/// The cells of a tape in a point: the whole first, then the classes that had requests.
pub(super) fn cells(tape: &Tape, at: Taped) -> Vec<Cell> {
    let used = |track: &&Track| track.ops + track.failed > 0;
    let mut cells: Vec<Cell> = tape.tracks().filter(used).map(|track| cell(track, tape, at)).collect();
    cells.insert(0, whole(tape, at).summed(&cells));
    cells
}

/// The cell of the whole, with the punctuality of the schedule, which is not known by class.
fn whole(tape: &Tape, at: Taped) -> Cell {
    let sum = |of: fn(&Track) -> u64| tape.parts().map(of).sum::<u64>();
    let Punctuality { scheduled, late, late_most, held, never_sent } = tape.punctuality;
    Cell {
        ops: sum(|track| track.ops),
        bytes: Some(sum(|track| track.bytes)),
        failed: Some(tape.tracks().map(|track| track.failed).sum()),
        short: tape.noted().short.then(|| sum(|track| track.short)),
        late: scheduled.then_some(late),
        late_max: scheduled.then_some(late_most),
        held: scheduled.then_some(held),
        never_sent: scheduled.then_some(never_sent),
        ..Cell::new(at.point, at.actor, Class::ALL, at.measured)
    }
}

fn cell(track: &Track, tape: &Tape, at: Taped) -> Cell {
    let moves = track.class.moves_data();
    let measured = if track.measured > Span::ZERO { track.measured } else { at.measured };
    let counted = Cell {
        ops: track.ops,
        bytes: moves.then_some(track.bytes),
        failed: Some(track.failed),
        short: (moves && tape.noted().short).then_some(track.short),
        ..Cell::new(at.point, at.actor, track.class.clone(), measured)
    };
    let kinds = [
        (Kind::Response, &track.response),
        (Kind::Service, &track.service),
        (Kind::Submission, &track.submission),
        (Kind::Lateness, &track.lateness),
        (Kind::Gate, &track.gate),
    ];
    kinds.into_iter().fold(counted, |cell, (kind, histogram)| cell.with(kind, histogram))
}

/// A slice of a tape that began at `start`.
fn slice_of(track: &Track, slice: &TapeSlice, start: Span) -> Slice {
    // In a tape zero means not recorded.
    let longest = |span: Span| (span > Span::ZERO).then_some(span);
    Slice {
        start: start + slice.start(),
        length: slice.length,
        ops: slice.ops,
        bytes: track.class.moves_data().then_some(slice.bytes),
        response: Times::of_sum(slice.ops, slice.response_sum, longest(slice.longest.response)),
        service: Times::of_sum(slice.ops, slice.service_sum, longest(slice.longest.service)),
        ..Slice::default()
    }
}

/// Adds the percentiles of the same second; a maximum that was recorded is exact and stays.
fn known(noted: Option<Times>, second: &Summary) -> Option<Times> {
    let times = Times::of(second)?;
    Some(Times { max: noted.and_then(|noted| noted.max).or(times.max), ..times })
}

/// Joins shorter slices to seconds, and those from `drain` on to the one before; longer ones stay.
fn seconds(slices: impl Iterator<Item = Slice>, drain: Option<Span>) -> Vec<Slice> {
    let mut seconds: Vec<Slice> = Vec::new();
    for slice in slices {
        let drains = drain.is_some_and(|drain| slice.start >= drain);
        match seconds.last_mut() {
            Some(last) if drains || last.length + slice.length <= SLICE => *last = last.then(&slice),
            _ => seconds.push(slice),
        }
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ended, Noted};
    use block::Time;

    fn ms(at: u64) -> Time {
        Time::from_nanos(at * 1_000_000)
    }

    /// A tape with 100 reads of 100 µs in each half of two seconds, and a flush.
    fn taped(noted: Noted) -> Tape {
        let mut tape = Tape::new(ms(1000), Noted { slices: Some(Span::from_millis(500)), ..noted });
        for n in 0..400u64 {
            let end = ms(1000 + 5 * (n + 1));
            let due = end - Span::from_micros(100);
            let class = Tape::READ;
            tape.ended(&Ended { class, due, made: due, handed: due, end, gate: Span::ZERO, bytes: 4096 });
        }
        let end = ms(2500);
        tape.ended(&Ended { class: Tape::FLUSH, due: end, made: end, handed: end, end, gate: Span::ZERO, bytes: 0 });
        tape.finish(ms(3000), ms(3000));
        tape
    }

    const AT: Taped = Taped { point: 0, actor: 0, start: Span::from_millis(3000), measured: Span::from_millis(2000) };

    /// 200 reads of 100 µs in each of two seconds; 5 more, in flight at the end of the load,
    /// take 3 ms longer. They are counted in the last second and its percentiles, of which they
    /// are the slowest, and are no second of 1667 a second.
    #[test]
    fn what_drains_after_the_load_is_part_of_the_last_second() {
        let mut tape = Tape::new(ms(0), Noted { slices: Some(Span::from_millis(500)), ..Noted::default() });
        let ended = |end: Time, took: Span| {
            let due = end - took;
            Ended { class: Tape::READ, due, made: due, handed: due, end, gate: Span::ZERO, bytes: 4096 }
        };
        (0..400).for_each(|n| tape.ended(&ended(ms(5 * (n + 1)), Span::from_micros(100))));
        (0..5).for_each(|_| tape.ended(&ended(ms(2003), Span::from_micros(3100))));
        tape.finish(ms(2000) + Span::from_micros(20), ms(2003));
        let mut run = Run::default();
        run.add_tape(&tape, Taped { measured: Span::from_millis(2003), ..AT });
        for class in [Class::ALL, Class::READ] {
            let series = run.series(0, &class).unwrap();
            let told: Vec<_> = series.slices.iter().map(|slice| (slice.length, slice.ops)).collect();
            assert_eq!(told, [(Span::SECOND, 200), (Span::from_millis(1003), 205)]);
            let times = series.slices[1].response.unwrap();
            let [p50, p99] = [times.p50(), times.p99()].map(|span| span.unwrap().as_micros_f64());
            assert_eq!(times.count, 205);
            assert!((p50 / 100.0 - 1.0).abs() < 0.004 && (p99 / 3100.0 - 1.0).abs() < 0.004, "{p50} {p99}");
            assert_eq!(series.minutes.iter().map(|minute| minute.response.count()).collect::<Vec<_>>(), [405]);
        }
        assert_eq!(run.cell(0, 0, &Class::ALL).map(|cell| cell.ops), Some(405));
    }

    #[test]
    fn half_seconds_become_seconds_from_where_the_tape_began() {
        let mut run = Run::default();
        run.add_tape(&taped(Noted::default()), AT);
        let reads = run.series(0, &Class::READ).unwrap();
        let told: Vec<_> = reads.slices.iter().map(|slice| (slice.start, slice.length, slice.ops)).collect();
        assert_eq!(told, [(Span::from_secs(3), Span::SECOND, 200), (Span::from_secs(4), Span::SECOND, 200)]);
    }

    /// 200 reads of 100 µs a second, and 100 writes of 500 µs in the first second: a third of the
    /// requests is slow.
    #[test]
    fn the_whole_has_percentiles_over_its_classes() {
        let mut tape = Tape::new(ms(0), Noted { slices: Some(Span::SECOND), ..Noted::default() });
        for n in 0..400u64 {
            let end = ms(5 * (n + 1));
            for (class, us) in [(Tape::READ, 100), (Tape::WRITE, 500)] {
                let due = end - Span::from_micros(us);
                if class == Tape::READ || n < 100 {
                    tape.ended(&Ended { class, due, made: due, handed: due, end, gate: Span::ZERO, bytes: 4096 });
                }
            }
        }
        tape.finish(ms(2000), ms(2000));
        let mut run = Run::default();
        // An earlier point with only reads.
        run.add_tape(&taped(Noted::default()), Taped { start: Span::ZERO, ..AT });
        run.add_tape(&tape, AT);
        let whole = run.whole(0, Span::ZERO);
        assert_eq!(whole.iter().map(|slice| slice.ops).collect::<Vec<_>>(), [200, 200, 300, 200]);
        let p50: Vec<f64> = whole.iter().map(|slice| slice.response.unwrap().p50().unwrap().as_micros_f64()).collect();
        assert!(p50.iter().all(|us| (us / 100.0 - 1.0).abs() < 0.004), "{p50:?}");
        let p99 = |at: usize| whole[at].response.unwrap().p99().unwrap().as_micros_f64();
        assert!((p99(2) / 500.0 - 1.0).abs() < 0.004 && (p99(3) / 100.0 - 1.0).abs() < 0.004);
        assert_eq!(whole[2].response.unwrap().count, 300);
        assert_eq!(run.whole(0, Span::from_secs(3)).len(), 2);
    }

    /// The reads of the second half of the first second take 300 µs, those of the others 100 µs.
    #[test]
    fn a_second_has_the_percentiles_of_its_own_requests() {
        let mut tape = Tape::new(ms(0), Noted { slices: Some(Span::from_millis(500)), ..Noted::default() });
        for n in 0..400u64 {
            let end = ms(5 * (n + 1));
            let due = end - Span::from_micros(if (100..200).contains(&n) { 300 } else { 100 });
            tape.ended(&Ended { class: Tape::READ, due, made: due, handed: due, end, gate: Span::ZERO, bytes: 4096 });
        }
        tape.finish(ms(2000), ms(2000));
        let mut run = Run::default();
        run.add_tape(&tape, AT);
        let slices = &run.series(0, &Class::READ).unwrap().slices;
        let near = |found: Option<Span>, us: u64| found.unwrap().as_micros_f64() / us as f64 - 1.0;
        let [first, second] = [0, 1].map(|at| slices[at].response.unwrap());
        assert_eq!((first.count, first.mean, second.mean), (200, Span::from_micros(200), Span::from_micros(100)));
        for (found, us) in
            [(first.p50(), 100), (first.p99(), 300), (first.max, 300), (second.p99(), 100), (second.max, 100)]
        {
            assert!(near(found, us).abs() < 0.004, "{found:?} for {us}");
        }
    }

    #[test]
    fn flushes_are_told_beside_the_whole_and_what_is_not_noted_is_unknown() {
        let mut run = Run::default();
        run.add_tape(&taped(Noted::default()), AT);
        let [all, reads, flushes] = &run.cells[..] else { panic!("{:?}", run.cells) };
        assert_eq!((all.ops, all.bytes, reads.ops), (400, Some(400 * 4096), 400));
        assert_eq!((&flushes.class, flushes.ops, flushes.bytes), (&Class::FLUSH, 1, None));
        assert_eq!((all.late, all.never_sent, all.short), (None, None, None), "a closed loop, and no short transfers");
        assert_eq!(all.latency(Kind::Response).map(crate::Histogram::count), Some(400));
        assert_eq!([all.latency(Kind::Submission), all.latency(Kind::Gate)], [None, None]);
        let mut open = taped(Noted { short: true, submission: true, ..Noted::default() });
        open.punctuality = Punctuality { scheduled: true, never_sent: 16, ..Punctuality::default() };
        let all = run.add_tape(&open, Taped { actor: 1, ..AT });
        assert_eq!((all.late, all.never_sent, all.short), (Some(0), Some(16), Some(0)));
        assert!(all.latency(Kind::Submission).is_some());
    }
}
