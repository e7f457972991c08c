//! Load jobs as a run: each job is an actor, each stage of a job file a point.

use super::{Actor, Cell, Class, Event, Kind, Point, Run, Series, Slice, Times};
use crate::Direction;
use crate::job::{self, DirectionOutcome, JobOutcome};
use block::Span;

/// What a slice of a run is at least: shorter ones that jobs noted become one.
const SLICE: Span = Span::SECOND;

impl Run {
    /// Adds jobs, each with the number of its stage; stages become points.
    pub fn add_jobs<'j>(&mut self, jobs: impl Iterator<Item = (&'j JobOutcome, usize)>) {
        for (outcome, stage) in jobs {
            while self.points.len() <= stage {
                let name = format!("stage {}", self.points.len() + 1);
                self.points.push(Point { name, start: Span::from_nanos(u64::MAX), ..Point::default() });
            }
            let point = &mut self.points[stage];
            point.start = point.start.min(outcome.start);
            point.end = point.end.max(outcome.start + outcome.elapsed);
            self.add_job(stage as u32, outcome);
        }
        // A stage that no job reached.
        self.points.iter_mut().filter(|point| point.end < point.start).for_each(|point| point.start = point.end);
        if let [only] = &mut self.points[..] {
            only.name = "run".into();
        }
    }

    fn add_job(&mut self, point: u32, outcome: &JobOutcome) {
        let actor = self.actors.len() as u32;
        self.actors.push(Actor { name: outcome.name.clone(), group: Some(outcome.group), ..Actor::default() });
        self.add_outcome(point, actor, outcome);
    }

    /// Adds what an actor did in a point; its series go on. `outcome` counts from the start of the run.
    pub fn add_outcome(&mut self, point: u32, actor: u32, outcome: &JobOutcome) {
        let first = self.cells.len();
        let measuring = outcome.start + outcome.elapsed.saturating_sub(outcome.measured);
        for direction in Direction::ALL {
            let done = &outcome.directions[direction];
            if done.ops + done.failed == 0 {
                continue;
            }
            let class = Class::named(direction.name());
            self.cells.push(moved(point, actor, class.clone(), done));
            let slices = seconds(done.slices.iter().map(|slice| of_job(slice, measuring)));
            if !slices.is_empty() {
                let known = self.series.iter_mut().find(|series| (series.actor, &series.class) == (actor, &class));
                match known {
                    Some(series) => series.slices.extend(slices),
                    None => self.series.push(Series { actor, class, slices }),
                }
            }
        }
        if outcome.sync.ops > 0 {
            let flushes = Cell { ops: outcome.sync.ops, ..Cell::new(point, actor, Class::FLUSH, outcome.measured) };
            self.cells.push(flushes.with(Kind::Response, &outcome.sync.lat));
        }
        let whole = whole(point, actor, outcome).summed(&self.cells[first..]);
        self.cells.insert(first, whole);
        self.add_events(point, actor, outcome);
        for note in &outcome.notes {
            let note = format!("{}: {note}", outcome.name);
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// What ended a job, what its connections lost, what its checks found: all told at its end.
    fn add_events(&mut self, point: u32, actor: u32, outcome: &JobOutcome) {
        let at = outcome.start + outcome.elapsed;
        let mut add = |kind: &str, name: String, number: f64| {
            let event = Event { point: Some(point), actor: Some(actor), at, kind: kind.into(), name, number: None };
            self.events.push(Event { number: Some(number), ..event });
        };
        if let Some(error) = &outcome.error {
            add("failure", error.text.clone(), f64::from(error.number));
        }
        if outcome.losses.any() {
            add("connections_lost", outcome.losses.lines().join("; "), outcome.losses.lost as f64);
        }
        if let Some(verify) = outcome.verify.as_ref().filter(|verify| verify.wrong > 0) {
            let first = verify.mismatches.first().map_or(String::new(), |mismatch| {
                format!("{} at {}: {} instead of {}", mismatch.file, mismatch.at, mismatch.found, mismatch.expected)
            });
            add("mismatch", first, verify.wrong as f64);
        }
    }
}

/// All that a job did, and how well its schedule was kept, which is not told by direction.
fn whole(point: u32, actor: u32, outcome: &JobOutcome) -> Cell {
    let sum = |of: fn(&DirectionOutcome) -> u64| outcome.directions.iter().map(|(_, done)| of(done)).sum::<u64>();
    let job::Punctuality { scheduled, late, late_most, held, never_sent } = outcome.punctuality;
    Cell {
        ops: sum(|done| done.ops),
        bytes: Some(sum(|done| done.bytes)),
        failed: Some(outcome.errors.total()),
        short: Some(sum(|done| done.short)),
        late: scheduled.then_some(late),
        late_max: scheduled.then_some(late_most),
        held: scheduled.then_some(held),
        never_sent: scheduled.then_some(never_sent),
        ..Cell::new(point, actor, Class::ALL, outcome.measured)
    }
}

fn moved(point: u32, actor: u32, class: Class, done: &DirectionOutcome) -> Cell {
    let counted = Cell {
        ops: done.ops,
        bytes: Some(done.bytes),
        failed: Some(done.failed),
        short: Some(done.short),
        ..Cell::new(point, actor, class, done.measured)
    };
    counted.with(Kind::Response, &done.lat).with(Kind::Service, &done.clat).with(Kind::Submission, &done.slat)
}

/// A slice of a job, of which measuring began at `measuring`.
fn of_job(slice: &job::Slice, measuring: Span) -> Slice {
    // Zero stands for not noted there.
    let longest = |span: Span| (span > Span::ZERO).then_some(span);
    Slice {
        start: measuring + slice.end.saturating_sub(slice.length),
        length: slice.length,
        ops: slice.ops,
        bytes: Some(slice.bytes),
        response: Times::of_sum(slice.ops, slice.lat_sum, longest(slice.most.lat)),
        service: Times::of_sum(slice.ops, slice.clat_sum, longest(slice.most.clat)),
        ..Slice::default()
    }
}

/// Shorter slices put together to seconds; longer ones stay.
fn seconds(slices: impl Iterator<Item = Slice>) -> Vec<Slice> {
    let mut seconds: Vec<Slice> = Vec::new();
    for slice in slices {
        match seconds.last_mut() {
            Some(last) if last.length + slice.length <= SLICE => *last = last.then(&slice),
            _ => seconds.push(slice),
        }
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(ops: u64) -> JobOutcome {
        let mut outcome = JobOutcome {
            name: "j".into(),
            start: Span::from_secs(2),
            elapsed: Span::from_secs(3),
            measured: Span::from_secs(2),
            ..JobOutcome::default()
        };
        let reads = &mut outcome.directions.read;
        (reads.ops, reads.bytes, reads.measured) = (ops, ops * 4096, Span::from_secs(2));
        (0..ops).for_each(|_| reads.lat.record(Span::from_micros(100)));
        let half = |number: u64| job::Slice {
            end: Span::from_millis(500 * (number + 1)),
            length: Span::from_millis(500),
            ops: ops / 4,
            bytes: ops / 4 * 4096,
            lat_sum: Span::from_micros(100) * (ops / 4),
            ..job::Slice::default()
        };
        reads.slices = (0..4).map(half).collect();
        outcome
    }

    #[test]
    fn half_seconds_become_seconds_behind_the_ramp() {
        let mut run = Run::default();
        run.add_jobs([(&job(400), 0)].into_iter());
        let reads = run.series(0, &Class::READ).unwrap();
        // It starts at 2 s and measures from 3 s on; two halves of 100 are a second of 200.
        let told: Vec<_> = reads.slices.iter().map(|slice| (slice.start, slice.length, slice.ops)).collect();
        assert_eq!(told, [(Span::from_secs(3), Span::SECOND, 200), (Span::from_secs(4), Span::SECOND, 200)]);
        let times = reads.slices[0].response.unwrap();
        assert_eq!((times.mean, times.spread, times.max), (Span::from_micros(100), None, None));
    }

    #[test]
    fn what_a_closed_loop_does_not_know_is_not_zero() {
        let mut open = job(10);
        open.punctuality = job::Punctuality { scheduled: true, never_sent: 16, ..job::Punctuality::default() };
        let mut run = Run::default();
        run.add_jobs([(&job(10), 0), (&open, 1)].into_iter());
        let all = |point, actor| run.cell(point, actor, &Class::ALL).unwrap();
        assert_eq!((all(0, 0).late, all(0, 0).never_sent), (None, None));
        assert_eq!((all(1, 1).late, all(1, 1).never_sent), (Some(0), Some(16)));
        assert_eq!(run.points.len(), 2);
        // As a recording it has the same operations and the same response times.
        let tally = &run.recording().workloads[0].tallies[0];
        assert_eq!(
            (tally.counts.reads, tally.response.count(), tally.response.mean()),
            (10, 10, Span::from_micros(100))
        );
    }
}
