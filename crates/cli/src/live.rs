//! The live view of a running command: a frame that is redrawn in place if the output is a
//! terminal. A command provides its title, state and rows; [`report::live`] lays them out, with the
//! same names as in the final tables.

use crate::watch::{paint, size_of};
use block::{Span, Time};
use engine::job::JobProgress;
use report::Paint;
use report::live::{LiveState, LiveWorkload, RECENT, Screen, ScreenSize, painted_frame};
use report::text;
use stats::{Counts, Interval};
use std::collections::VecDeque;
use std::io::{IsTerminal as _, Result, Write, stderr, stdout};
use std::sync::{Mutex, PoisonError};
use uring::Clock;
use workload::job::{Direction, PerDirection};

/// Interval for redrawing a bar that is updated for every block.
const EVERY: Span = Span::from_millis(200);

/// The stream on which a frame is drawn.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Standard output: for plans, whose results follow in the same place.
    Out,
    /// Standard error: for tools whose output is read by programs.
    Err,
}

impl Stream {
    /// Whether the stream is a terminal.
    pub fn is_terminal(self) -> bool {
        match self {
            Stream::Out => stdout().is_terminal(),
            Stream::Err => stderr().is_terminal(),
        }
    }

    fn size(self) -> ScreenSize {
        match self {
            Stream::Out => size_of(stdout()),
            Stream::Err => size_of(stderr()),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Stream::Out => stdout().write(bytes),
            Stream::Err => stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Stream::Out => stdout().flush(),
            Stream::Err => stderr().flush(),
        }
    }
}

/// A view. Dropping it leaves its last frame on the terminal.
#[derive(Debug)]
pub struct Live {
    stream: Stream,
    screen: Option<Screen<Stream>>,
    paint: Paint,
    /// The state that is drawn next.
    pub state: LiveState,
}

impl Live {
    /// A view with this title. Nothing is drawn if the stream is not a terminal or `quiet` is set.
    pub fn on(stream: Stream, quiet: bool, title: impl Into<String>) -> Live {
        let screen = (!quiet && stream.is_terminal()).then(|| Screen::new(stream));
        Live { stream, screen, paint: paint(stream), state: LiveState { title: title.into(), ..LiveState::default() } }
    }

    /// Whether there is a terminal to draw on.
    pub fn is_shown(&self) -> bool {
        self.screen.is_some()
    }

    /// Begins another part of the same command, which takes `total` if that is known; its rows are
    /// new.
    pub fn begin(&mut self, name: impl Into<String>, total: Option<Span>) {
        let state = &mut self.state;
        (state.name, state.total, state.elapsed) = (name.into(), total.unwrap_or_default(), Span::ZERO);
        state.workloads.clear();
        state.in_force.clear();
    }

    /// Draws the current state.
    pub fn draw(&mut self) {
        let Some(screen) = &mut self.screen else { return };
        let size = self.stream.size();
        // A lost terminal is no reason to lose the run.
        let _ = screen.draw(size, &painted_frame(size.columns, &self.state, self.paint));
    }

    /// Removes the frame from the terminal; what is printed next takes its place.
    pub fn clear(&mut self) {
        if let Some(screen) = &mut self.screen {
            let _ = screen.clear(self.stream.size());
        }
    }
}

/// Drops the seconds of a row that are no longer shown.
pub fn forget(recent: &mut VecDeque<Interval>) {
    let old = recent.len().saturating_sub(RECENT);
    recent.drain(..old);
}

/// The progress of work of known size, updated by any number of threads.
#[derive(Debug)]
pub struct Progress {
    whole: u64,
    unit: Unit,
    clock: Clock,
    begun: Time,
    bar: Mutex<Bar>,
}

/// The unit of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Parts of a whole without a unit.
    Parts,
}

#[derive(Debug)]
struct Bar {
    live: Live,
    done: u64,
    what: String,
    due: Time,
}

impl Progress {
    /// Progress of `whole`, starting at zero.
    pub fn new(live: Live, whole: u64, unit: Unit) -> Progress {
        let clock = Clock::new();
        let begun = clock.now();
        Progress { whole, unit, clock, begun, bar: Mutex::new(Bar { live, done: 0, what: String::new(), due: begun }) }
    }

    /// Sets how much is done.
    pub fn set(&self, done: u64) {
        self.change(|bar| bar.done = done);
    }

    /// Adds to what is done.
    pub fn add(&self, more: u64) {
        self.change(|bar| bar.done += more);
    }

    /// Sets how much is done, and the current step.
    pub fn set_to(&self, done: u64, what: &str) {
        self.change(|bar| {
            bar.done = done;
            what.clone_into(&mut bar.what);
        });
    }

    /// How much is done.
    pub fn done(&self) -> u64 {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).done
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Span {
        self.clock.now().since(self.begun)
    }

    /// Removes the bar from the terminal.
    pub fn clear(&self) {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).live.clear();
    }

    fn change(&self, change: impl FnOnce(&mut Bar)) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut bar);
        if !bar.live.is_shown() {
            return;
        }
        let now = self.clock.now();
        if now < bar.due {
            return;
        }
        bar.due = now + EVERY;
        let elapsed = now.since(self.begun);
        let part = bar.done as f64 / self.whole.max(1) as f64;
        let about = progress_text(self.unit, bar.done, self.whole, elapsed);
        let what = if bar.what.is_empty() { String::new() } else { format!("{}, ", bar.what) };
        let state = &mut bar.live.state;
        (state.elapsed, state.done, state.about) = (elapsed, Some(part), what + &about);
        bar.live.draw();
    }
}

/// `1.50 GiB of 6.00 GiB, 812 MB/s, 0:05 left`.
fn progress_text(unit: Unit, done: u64, whole: u64, elapsed: Span) -> String {
    let passed = elapsed.as_secs_f64().max(1e-3);
    let left = match done {
        0 => String::new(),
        done => {
            let left = passed * whole.saturating_sub(done) as f64 / done as f64;
            format!("{} left", text::clock(Span::from_secs_f64(left.ceil())))
        }
    };
    let moved = match unit {
        Unit::Parts => String::new(),
        Unit::Bytes => {
            let rate = text::megabytes(done as f64 / passed);
            format!("{} of {}, {rate} {}", block::Bytes(done), block::Bytes(whole), report::MEGABYTES)
        }
    };
    [moved, left].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The rows of load jobs, one for each direction in which they moved anything, from cumulative
/// counts.
#[derive(Debug, Default)]
pub struct JobRows {
    passed: Span,
    counted: PerDirection<(u64, u64)>,
}

impl JobRows {
    /// Updates the rows from the state of all jobs `passed` after their start, and sets how many
    /// jobs run and what is in flight.
    pub fn take(&mut self, state: &mut LiveState, passed: Span, jobs: &[JobProgress]) {
        let counted = PerDirection::from_fn(|direction| {
            jobs.iter().map(|job| job.counts[direction]).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        });
        let length = passed.saturating_sub(self.passed);
        for direction in Direction::ALL.into_iter().filter(|&direction| counted[direction].0 > 0) {
            let (now, before) = (counted[direction], self.counted[direction]);
            // Counts restart after a ramp.
            let (ops, bytes) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
            let counts = match direction {
                Direction::Read => Counts { reads: ops, read_bytes: bytes, ..Counts::default() },
                Direction::Write => Counts { writes: ops, write_bytes: bytes, ..Counts::default() },
                Direction::Trim => Counts { other: ops, other_bytes: bytes, ..Counts::default() },
            };
            let name = direction.name();
            let at = state.workloads.iter().position(|row| row.name == name).unwrap_or_else(|| {
                state.workloads.push(LiveWorkload::new(name, ""));
                state.workloads.len() - 1
            });
            state.workloads[at].push(Interval { start: self.passed, length, counts, ..Interval::default() });
        }
        (self.passed, self.counted, state.elapsed) = (passed, counted, passed);
        let running = jobs.iter().filter(|job| job.began.is_some() && !job.ended).count();
        let in_flight: u32 = jobs.iter().map(|job| job.in_flight).sum();
        state.in_force = vec![format!("{running} of {} running, {in_flight} in flight", jobs.len())];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter is done after 15 s: 45 s are left, at 800 MB/s.
    #[test]
    fn a_bar_says_how_much_how_fast_and_how_long() {
        let (done, whole) = (12_000_000_000, 48_000_000_000);
        let line = progress_text(Unit::Bytes, done, whole, Span::from_secs(15));
        assert_eq!(line, "11.18 GiB of 44.70 GiB, 800.0 MB/s, 0:45 left");
        assert_eq!(progress_text(Unit::Parts, 250, 1000, Span::from_secs(15)), "0:45 left");
        assert_eq!(progress_text(Unit::Parts, 0, 1000, Span::ZERO), "", "before anything is done nothing is known");
    }

    /// 50 000 reads in the first second, none and 100 writes in the second one; the counts during a
    /// ramp are dropped.
    #[test]
    fn a_row_is_what_a_second_added() {
        let (mut rows, mut state) = (JobRows::default(), LiveState::default());
        let mut job = JobProgress { began: Some(Span::ZERO), ended: false, counts: Default::default(), in_flight: 32 };
        job.counts.read = (50_000, 50_000 * 4096);
        rows.take(&mut state, Span::SECOND, std::slice::from_ref(&job));
        job.counts.write = (100, 409_600);
        rows.take(&mut state, Span::from_secs(2), std::slice::from_ref(&job));
        let iops: Vec<_> =
            state.workloads.iter().map(|row| row.recent.iter().map(Interval::iops).collect::<Vec<_>>()).collect();
        assert_eq!(iops, [vec![50_000.0, 0.0], vec![100.0]]);
        assert_eq!(state.in_force, ["1 of 1 running, 32 in flight"]);
        job.counts.read = (10, 40_960);
        rows.take(&mut state, Span::from_secs(3), std::slice::from_ref(&job));
        assert_eq!(state.workloads[0].recent.back().map(Interval::iops), Some(0.0));
    }
}
