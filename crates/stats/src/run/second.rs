//! Adds results to a run second by second, as for a plan: each second of an actor is a tape of its
//! own.

use super::{Cell, Class, GateRow, GateSeries, Kind, Minute, Run, Series, Slice, Taped, Times, tapes, to_four_digits};
use crate::{Histogram, LimitsInForce, ObjectRecord, Tape, Track, Waits};
use block::Span;

/// Position of an actor's second in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Index of the point.
    pub point: u32,
    /// Index of the actor.
    pub actor: u32,
    /// Its start.
    pub start: Span,
    /// Its length.
    pub length: Span,
    /// Requests outstanding at its end.
    pub outstanding: u32,
    /// Whether it counts in the cells of its point; seconds in which queues settle do not.
    pub settled: bool,
}

/// A server's view of an actor's requests in a second.
#[derive(Clone, Copy, Debug)]
pub struct Served<'h> {
    /// Times in its QoS gate.
    pub queued: &'h Histogram,
    /// Times in its device.
    pub device: &'h Histogram,
}

impl Run {
    /// Begins the last point for second-by-second results: each actor gets a cell, even if it stays
    /// empty.
    pub fn begin_cells(&mut self) {
        let number = (self.points.len() as u32).saturating_sub(1);
        let actors = 0..self.actors.len() as u32;
        self.cells.extend(actors.map(|actor| Cell::new(number, actor, Class::ALL, Span::ZERO)));
    }

    /// Removes the last point, in which nothing was done.
    pub fn forget_last_point(&mut self) {
        self.points.pop();
        let points = self.points.len();
        self.cells.retain(|cell| (cell.point as usize) < points);
        self.objects.iter_mut().for_each(|object| object.limits.truncate(points));
    }

    /// Adds the limits in force in the last point, by path of object or group. An object that is
    /// missing has none.
    pub fn in_force(&mut self, limits: &[(String, LimitsInForce)]) {
        for (path, _) in limits {
            self.object(path);
        }
        let before = self.points.len().saturating_sub(1);
        for object in &mut self.objects {
            let in_force = limits.iter().find(|(path, _)| *path == object.path).map(|(_, limits)| limits.clone());
            object.limits.resize(before, LimitsInForce::default());
            object.limits.push(in_force.unwrap_or_default());
        }
    }

    /// Adds an actor's second: a slice of the whole and of each class, and the same to the cells of
    /// its point. If a server served it, times in gate and device are the server's.
    pub fn add_second(&mut self, tape: &Tape, at: Second, served: Option<Served<'_>>) {
        self.add_slices_of(tape, at, served);
        if !at.settled {
            return;
        }
        let Second { point, actor, start, length, .. } = at;
        let mut cells = tapes::cells(tape, Taped { point, actor, start, measured: length });
        // The client's own queueing is known only for the whole, and the server's figure is better.
        cells.iter_mut().for_each(|cell| cell.latencies.retain(|(kind, _)| *kind != Kind::Gate));
        let whole = cells.remove(0);
        cells.insert(
            0,
            match served {
                Some(Served { queued, device }) => whole.with(Kind::Gate, queued).with(Kind::Device, device),
                None => whole.with(Kind::Gate, &tape.merged(|track| &track.gate)),
            },
        );
        cells.into_iter().for_each(|cell| self.append(cell));
        let of_point = |cell: &&mut Cell| (cell.point, cell.actor) == (point, actor);
        let mut cells = self.cells.iter_mut().filter(of_point);
        // A class without requests in a second was still measured in it.
        if let Some(measured) = cells.next().map(|whole| whole.measured) {
            cells.for_each(|cell| cell.measured = measured);
        }
    }

    /// Adds a row of an actor's gate; rows begin with the first that has any information.
    pub fn add_gate_row(&mut self, actor: u32, row: GateRow) {
        let row = GateRow { waits: row.waits.rounded(), ..row };
        match self.gates.iter_mut().find(|gate| gate.actor == actor) {
            Some(gate) => gate.rows.push(row),
            None if (GateRow { start: row.start, length: row.length, ..GateRow::default() }) == row => {}
            None => self.gates.push(GateSeries { actor, rows: vec![row] }),
        }
    }

    fn add_slices_of(&mut self, tape: &Tape, at: Second, served: Option<Served<'_>>) {
        let Second { actor, start, length, outstanding, .. } = at;
        let response = tape.merged(|track| &track.response);
        let sum = |of: fn(&Track) -> u64| tape.parts().map(of).sum::<u64>();
        let whole = Slice {
            start,
            length,
            ops: sum(|track| track.ops),
            bytes: Some(sum(|track| track.bytes)),
            failed: Some(tape.tracks().map(|track| track.failed).sum()),
            response: Times::of(&response.summary()),
            service: match served {
                Some(served) => Times::of(&served.device.summary()),
                None => Times::of(&tape.merged(|track| &track.service).summary()),
            },
            outstanding: Some(outstanding),
        };
        self.push_slice(actor, &Class::ALL, whole, &response);
        for track in tape.tracks() {
            // A class has slices from its first request on.
            if track.ops + track.failed == 0 && self.series(actor, &track.class).is_none() {
                continue;
            }
            let slice = Slice {
                start,
                length,
                ops: track.ops,
                bytes: track.class.moves_data().then_some(track.bytes),
                failed: Some(track.failed),
                response: Times::of(&track.response.summary()),
                service: Times::of(&track.service.summary()),
                outstanding: None,
            };
            self.push_slice(actor, &track.class, slice, &track.response);
        }
    }

    fn push_slice(&mut self, actor: u32, class: &Class, slice: Slice, response: &Histogram) {
        let same = |series: &Series| (series.actor, &series.class) == (actor, class);
        let at = self.series.iter().position(same).unwrap_or_else(|| {
            self.series.push(Series { actor, class: class.clone(), slices: Vec::new(), minutes: Vec::new() });
            self.series.len() - 1
        });
        let series = &mut self.series[at];
        Minute::add(&mut series.minutes, Span::ZERO, slice.start, Some(response));
        series.slices.push(slice);
    }

    /// Adds to the cell of its class; a new cell is inserted after the others of its actor and
    /// point.
    fn append(&mut self, cell: Cell) {
        let key = |cell: &Cell| (cell.point, cell.actor);
        let of_point = |other: &Cell| key(other) == key(&cell);
        match self.cells.iter_mut().find(|other| of_point(other) && other.class == cell.class) {
            Some(earlier) => earlier.append(&cell),
            None => {
                let last = self.cells.iter().rposition(of_point);
                self.cells.insert(last.map_or(self.cells.len(), |last| last + 1), cell);
            }
        }
    }

    /// The object with this path, which is added if it is new.
    pub fn object(&mut self, path: &str) -> &mut ObjectRecord {
        let number = self.object_number(path);
        &mut self.objects[number]
    }

    /// The index in [`Run::objects`] of the object with this path, which is added if it is new.
    pub fn object_number(&mut self, path: &str) -> usize {
        let found = self.objects.iter().position(|object| object.path == path);
        found.unwrap_or_else(|| {
            self.objects.push(ObjectRecord { path: path.into(), ..ObjectRecord::default() });
            self.objects.len() - 1
        })
    }
}

impl Cell {
    /// Adds results of a later time: counts and lengths add up. `never_sent` becomes that of the
    /// later cell, because requests that were overdue before may have been sent since.
    pub fn append(&mut self, later: &Cell) {
        let sum = |a: Option<u64>, b: Option<u64>| a.map_or(b, |a| Some(a + b.unwrap_or(0)));
        self.measured += later.measured;
        self.ops += later.ops;
        self.bytes = sum(self.bytes, later.bytes);
        self.failed = sum(self.failed, later.failed);
        self.short = sum(self.short, later.short);
        self.late = sum(self.late, later.late);
        self.late_max = self.late_max.max(later.late_max);
        self.held = sum(self.held, later.held);
        self.never_sent = later.never_sent.or(self.never_sent);
        for (kind, histogram) in &later.latencies {
            match self.latencies.iter_mut().find(|(known, _)| known == kind) {
                Some((_, sum)) => sum.merge(histogram),
                None => self.latencies.push((*kind, histogram.clone())),
            }
        }
    }
}

impl Waits {
    /// Rounded to four digits, like all times of a second.
    fn rounded(self) -> Waits {
        let Waits { ceiling, floors, turn, device } = self;
        let [ceiling, floors, turn, device] = [ceiling, floors, turn, device].map(to_four_digits);
        Waits { ceiling, floors, turn, device }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Point, RunActor};
    use super::*;
    use crate::{Ended, Noted, Punctuality};
    use block::Time;

    /// Adds requests of a class that take `micros` each.
    fn add(tape: &mut Tape, class: usize, requests: u64, micros: u64) {
        for n in 0..requests {
            let end = Time::from_nanos(1_000_000 * (n + 1));
            let due = end - Span::from_micros(micros);
            let bytes = if class == Tape::FLUSH { 0 } else { 4096 };
            tape.ended(&Ended { class, due, made: due, handed: due, end, gate: Span::ZERO, bytes });
        }
    }

    fn second(number: u64, settled: bool) -> Second {
        Second { start: Span::from_secs(number), length: Span::SECOND, outstanding: 3, settled, ..Second::default() }
    }

    fn begun() -> Run {
        let (actors, points) = (vec![RunActor::default()], vec![Point::default()]);
        let mut run = Run { actors, points, ..Run::default() };
        run.begin_cells();
        run
    }

    /// Seconds that settle are only in the series. A class that begins late has the measured time
    /// of the whole.
    #[test]
    fn settled_seconds_are_counted_in_the_cells_of_all_classes() {
        let mut run = begun();
        for number in 0..4 {
            let mut tape = Tape::new(Time::ZERO, Noted { gate: true, ..Noted::default() });
            add(&mut tape, Tape::READ, 100, 100);
            if number == 2 {
                add(&mut tape, Tape::WRITE, 50, 300);
                add(&mut tape, Tape::FLUSH, 1, 5_000);
            }
            run.add_second(&tape, second(number, number > 0), None);
        }
        let told: Vec<_> = run.cells.iter().map(|cell| (cell.class.name(), cell.ops, cell.measured)).collect();
        let three = Span::from_secs(3);
        assert_eq!(told, [("all", 350, three), ("read", 300, three), ("write", 50, three), ("flush", 1, three)]);
        assert_eq!(run.recording().workloads[0].tallies[0].flushes, 1);
        let mean = |class: &Class| run.cell(0, 0, class).unwrap().latency(Kind::Response).unwrap().mean();
        assert_eq!([mean(&Class::READ), mean(&Class::WRITE)], [100, 300].map(Span::from_micros));
        let counts = |class: &Class| {
            run.series(0, class).map(|of| of.slices.iter().map(|slice| slice.ops).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(counts(&Class::ALL), [100, 100, 150, 100]);
        assert_eq!((counts(&Class::WRITE), counts(&Class::FLUSH)), (vec![50, 0], vec![1, 0]));
        let slices = &run.series(0, &Class::WRITE).unwrap().slices;
        assert_eq!((slices[0].start, slices[1].response), (Span::from_secs(2), None), "no request, no times");
        assert!(slices[0].response.unwrap().spread.is_some(), "a second of a plan has percentiles");
    }

    #[test]
    fn a_server_knows_better_where_requests_waited() {
        let (mut queued, mut device) = (Histogram::new(), Histogram::new());
        queued.record(Span::from_micros(70));
        device.record(Span::from_micros(30));
        let mut tape = Tape::new(Time::ZERO, Noted { gate: true, ..Noted::default() });
        add(&mut tape, Tape::READ, 1, 120);
        let mut run = begun();
        run.add_second(&tape, second(0, true), Some(Served { queued: &queued, device: &device }));
        let [all, reads] = &run.cells[..] else { panic!("{:?}", run.cells) };
        assert_eq!((all.latency(Kind::Gate), all.latency(Kind::Device)), (Some(&queued), Some(&device)));
        assert_eq!((reads.latency(Kind::Gate), reads.latency(Kind::Device)), (None, None));
        assert_eq!(run.series(0, &Class::ALL).unwrap().slices[0].service.unwrap().mean, Span::from_micros(30));
    }

    #[test]
    fn what_is_overdue_at_the_end_was_never_sent() {
        let mut run = begun();
        for (number, never_sent) in [(0, 900), (1, 16)] {
            let mut tape = Tape::default();
            tape.punctuality = Punctuality { scheduled: true, late: 2, never_sent, ..Punctuality::default() };
            run.add_second(&tape, second(number, true), None);
        }
        assert_eq!((run.cells[0].late, run.cells[0].never_sent), (Some(4), Some(16)));
    }
}
