//! The matrix as a sequence: each point is measured, printed and kept.

use super::field::{Field, Watching};
use super::outputs::Outputs;
use crate::interrupt::Stop;
use crate::live::{Live, Stream};
use crate::memory::Kept;
use crate::terminal;
use anyhow::Result;
use block::{Span, Time};
use engine::Scene;
use orion::{MeasuredPoint, Test};
use stats::run::{Point, Run};
use uring::Clock;

/// How often the files are rewritten, so that a killed test leaves its results; but at most for
/// this fraction of the time, because the files grow with the points.
const TELL: Span = Span::SECOND;
const TELL_PART: u64 = 50;

/// A test in progress.
pub struct Matrix<'t> {
    field: &'t Field<'t>,
    test: &'t Test,
    outputs: &'t Outputs,
    stop: &'t Stop,
    live: Live,
    /// The kept run.
    pub kept: Kept,
    /// The measured points.
    pub points: Vec<MeasuredPoint>,
    clock: Clock,
    /// When the files are written next.
    next: Time,
}

impl<'t> Matrix<'t> {
    /// Before the first point.
    pub fn new(field: &'t Field<'t>, test: &'t Test, outputs: &'t Outputs, stop: &'t Stop, kept: Kept) -> Matrix<'t> {
        let clock = Clock::new();
        let mut live = Live::on(Stream::Err, test.simulated, format!("orion {}", test.settings.test_name));
        live.state.phases = test.grid.spots.len();
        Matrix { field, test, outputs, stop, live, kept, points: Vec::new(), next: clock.now() + TELL, clock }
    }
}

impl Scene for Matrix<'_> {
    type Error = anyhow::Error;

    /// In virtual time each point has its own clock, so the points are placed one after the other.
    fn now(&self) -> Time {
        match self.test.simulated {
            true => self.points.last().map_or(Time::ZERO, |last| Time::ZERO + last.start + last.elapsed),
            false => self.clock.now(),
        }
    }

    fn next(&mut self, run: &Run) -> Option<Point> {
        self.test.grid.spots.get(run.points.len()).map(|spot| orion::kept::point(*spot))
    }

    fn play(&mut self, start: Time, run: &mut Run) -> Result<bool> {
        let (spots, begun) = (&self.test.grid.spots, self.now().since(start));
        let spot = spots[run.points.len() - 1];
        self.live.state.phase = run.points.len();
        let name = run.points.last().map_or(String::new(), |point| point.name.clone());
        self.live.begin(name, Some(self.test.settings.load.duration + self.test.settings.load.settle));
        let watching = Watching { stop: self.stop, test: self.test, live: &mut self.live, kept: &mut self.kept, run };
        let point = self.field.play(spot, begun, watching);
        self.live.clear();
        let point = point?;
        if self.test.settings.verbose {
            let lines = orion::point_lines(run.points.len(), spots.len(), &point);
            lines.iter().for_each(|line| terminal::line(line));
        }
        for (name, work) in point.works() {
            work.losses.lines().iter().for_each(|line| terminal::complain(&format!("{name}: {line}")));
        }
        if self.stop.is_asked() && !point.has_begun() {
            return Ok(false);
        }
        orion::kept::add(run, self.test, &point);
        let failed = point.trouble().is_some();
        let backend = point.works().next().map(|(_, work)| work.backend.clone());
        if let Some(backend) = backend.filter(|_| !self.test.simulated) {
            run.machine.backend = backend;
        }
        self.points.push(point);
        run.verdicts = self.test.verdicts(&self.points);
        if failed || self.stop.is_asked() {
            return Ok(false);
        }
        if self.kept.is_due() {
            self.kept.so_far(run.clone());
        }
        self.tell(start)?;
        Ok(true)
    }
}

impl Matrix<'_> {
    /// Writes the files if they are due; the run began at `start`.
    fn tell(&mut self, start: Time) -> Result<()> {
        let now = self.clock.now();
        if self.test.simulated || now < self.next {
            return Ok(());
        }
        self.next = now + TELL.max(now.since(start) / TELL_PART);
        self.outputs.write(self.test, &self.points)
    }
}
