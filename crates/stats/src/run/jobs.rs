//! Load jobs as a run: each job is an actor, each stage of a job file a point.

use super::{Event, Point, Run, Taped};
use crate::job::{JobOutcome, Losses};
use block::Span;

impl Point {
    /// The point of stage `number` of `of` stages, counted from 0.
    pub fn stage(number: usize, of: usize) -> Point {
        let name = if of == 1 { "run".to_owned() } else { format!("stage {}", number + 1) };
        Point { name, ..Point::default() }
    }
}

impl Run {
    /// Adds the outcomes of a stage to the last point. The jobs are the actors from `first` on, and
    /// their outcomes count from the start of the run.
    pub fn add_stage(&mut self, first: u32, outcomes: &[JobOutcome]) {
        let number = (self.points.len() as u32).saturating_sub(1);
        let Some(point) = self.points.last_mut() else { return };
        (point.start, point.end) = (Span::ZERO, Span::ZERO);
        // A job that never began does not contribute to its stage's time.
        let began = || outcomes.iter().filter(|outcome| outcome.elapsed > Span::ZERO);
        if let Some(start) = began().map(|outcome| outcome.start).min() {
            let end = began().map(|outcome| outcome.start + outcome.elapsed).max();
            (point.start, point.end) = (start, end.unwrap_or(start));
        }
        for (actor, outcome) in (first..).zip(outcomes) {
            self.add_outcome(number, actor, outcome);
        }
    }

    /// Adds an actor's outcome to a point and continues its series. `outcome` counts from the start
    /// of the run.
    pub fn add_outcome(&mut self, point: u32, actor: u32, outcome: &JobOutcome) {
        let start = outcome.start + outcome.elapsed.saturating_sub(outcome.measured);
        let whole = self.add_tape(&outcome.tape, Taped { point, actor, start, measured: outcome.measured });
        // Blocks that were read successfully but did not verify are failures too.
        whole.failed = Some(outcome.errors.total());
        self.add_events(point, actor, outcome);
        self.add_losses(point, actor, outcome.start + outcome.elapsed, &outcome.losses);
        self.note_of(&outcome.name, &outcome.notes);
    }

    /// Adds the connections that an actor lost in a point, with the time `at` when that became
    /// known.
    pub fn add_losses(&mut self, point: u32, actor: u32, at: Span, losses: &Losses) {
        if losses.any() {
            self.events.push(Event {
                point: Some(point),
                actor: Some(actor),
                at,
                kind: "connections_lost".into(),
                name: losses.lines().join("; "),
                number: Some(losses.lost as f64),
            });
        }
    }

    /// Adds notes about an actor, each once.
    pub fn note_of(&mut self, name: &str, lines: &[String]) {
        for line in lines {
            let note = format!("{name}: {line}");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Events at the end of a job: its error and the mismatches that were found.
    fn add_events(&mut self, point: u32, actor: u32, outcome: &JobOutcome) {
        let at = outcome.start + outcome.elapsed;
        let mut add = |kind: &str, name: String, number: f64| {
            let event = Event { point: Some(point), actor: Some(actor), at, kind: kind.into(), name, number: None };
            self.events.push(Event { number: Some(number), ..event });
        };
        if let Some(error) = &outcome.error {
            add("failure", error.text.clone(), f64::from(error.number));
        }
        if let Some(verify) = outcome.verify.as_ref().filter(|verify| verify.wrong > 0) {
            let first = verify.mismatches.first().map_or(String::new(), |mismatch| {
                format!("{} at {}: {} instead of {}", mismatch.file, mismatch.at, mismatch.found, mismatch.expected)
            });
            add("mismatch", first, verify.wrong as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job;
    use crate::run::{Class, Kind, RunActor};
    use crate::{Ended, Punctuality, Tape};
    use block::Time;

    fn job(class: usize, ops: u64) -> JobOutcome {
        let mut tape = Tape::default();
        for n in 1..=ops {
            let (end, gate) = (Time::ZERO + Span::from_millis(n), Span::ZERO);
            let due = end - Span::from_micros(100);
            tape.ended(&Ended { class, due, made: due, handed: due, end, gate, bytes: 4096 });
        }
        let (elapsed, measured) = (Span::from_secs(3), Span::from_secs(2));
        JobOutcome { name: "j".into(), start: Span::from_secs(2), elapsed, measured, tape, ..JobOutcome::default() }
    }

    #[test]
    fn each_stage_is_a_point_and_each_job_an_actor() {
        let mut open = job(Tape::READ, 10);
        open.tape.punctuality = Punctuality { scheduled: true, never_sent: 16, ..Punctuality::default() };
        open.errors.count(job::ErrorKind::Verify, None);
        let mut run = Run::default();
        for (number, outcome) in [job(Tape::READ, 10), open].into_iter().enumerate() {
            run.actors.push(RunActor::default());
            run.points.push(Point::stage(number, 2));
            run.add_stage(number as u32, &[outcome]);
        }
        let all = |point, actor| run.cell(point, actor, &Class::ALL).unwrap();
        assert_eq!((all(0, 0).late, all(0, 0).never_sent), (None, None));
        assert_eq!((all(1, 1).late, all(1, 1).never_sent, all(1, 1).failed), (Some(0), Some(16), Some(1)));
        assert_eq!((run.points.len(), run.actors.len(), run.points[1].start), (2, 2, Span::from_secs(2)));
        assert_eq!(all(0, 0).latency(Kind::Response).unwrap().count(), 10);
        // As a recording it has the same operations and response times.
        let tally = &run.recording().workloads[0].tallies[0];
        assert_eq!(
            (tally.counts.reads, tally.response.count(), tally.response.mean()),
            (10, 10, Span::from_micros(100))
        );
    }

    /// Trims count with their length, as in fio: ten of 4096 bytes.
    #[test]
    fn trims_have_bytes() {
        let mut run = Run::default();
        run.actors.push(RunActor::default());
        run.points.push(Point::stage(0, 1));
        run.add_stage(0, &[job(Tape::TRIM, 10)]);
        let counts = run.recording().workloads[0].tallies[0].counts;
        assert_eq!((counts.other, counts.bytes(), counts.has_bytes()), (10, 40_960, true));
    }
}
