//! What a user sees during a run: a frame redrawn in place on a terminal, plain lines otherwise.

use crate::interrupt::Stop;
use crate::live::{Live, Stream, forget};
use crate::terminal;
use block::Span;
use engine::RunWatcher;
use report::Paint;
use report::live::{LiveState, LiveWorkload, ScreenSize, lines};
use report::text;
use stats::run::Run;
use std::io::{Write, stdout};

/// Maximum width of a report in the terminal.
pub const REPORT_COLUMNS: usize = 80;

/// Shows a run, and stops it on request.
pub struct Watch {
    stop: Stop,
    live: Live,
    quiet: bool,
    /// Number of announced phases: plain lines print a phase's heading once.
    announced: usize,
}

impl Watch {
    /// A watch on a run of these workloads.
    pub fn new(stop: Stop, title: &str, workloads: &[(String, String)], quiet: bool) -> Watch {
        let mut live = Live::on(Stream::Out, quiet, title);
        live.state.workloads = workloads.iter().map(|(name, volume)| LiveWorkload::new(name, volume)).collect();
        Watch { stop, live, quiet, announced: 0 }
    }

    /// Ends the live view; later output is printed below it.
    pub fn finish(self) {}

    fn show(&mut self) {
        if self.live.is_shown() {
            self.live.draw();
        } else {
            if self.announced != self.live.state.phase {
                self.announced = self.live.state.phase;
                self.announce();
            }
            for line in lines(&self.live.state) {
                terminal::line(&line);
            }
            let _ = stdout().flush();
        }
    }
}

impl Watch {
    /// Prints a phase's heading and the limits in force.
    fn announce(&self) {
        let LiveState { phase, phases, name, about, in_force, .. } = &self.live.state;
        for part in text::wrap(&format!("{phase}/{phases} {name}: {about}"), REPORT_COLUMNS) {
            terminal::line(&part);
        }
        for limit in in_force {
            text::wrap(limit, REPORT_COLUMNS - 4).iter().for_each(|part| terminal::line(&format!("    {part}")));
        }
    }
}

/// A watch with the number of the plan's phases, which the view shows.
pub struct Seen<'a> {
    pub watch: &'a mut Watch,
    pub phases: usize,
}

impl RunWatcher for Seen<'_> {
    fn second(&mut self, run: &Run, phase: usize, passed: Span, whole: Span) -> bool {
        if self.watch.quiet {
            return !self.watch.stop.is_asked();
        }
        let recording = run.latest();
        let now = &recording.phases[phase];
        let state = &mut self.watch.live.state;
        (state.phase, state.phases) = (phase + 1, self.phases);
        (state.name, state.about) = (now.name.clone(), now.about.clone());
        (state.elapsed, state.total) = (passed, whole);
        state.in_force = report::in_force(&recording, phase);
        let of_phase = format!("phase {}: ", now.name);
        state.advice =
            recording.notes.iter().filter_map(|note| note.strip_prefix(&of_phase).map(String::from)).collect();
        for (workload, record) in state.workloads.iter_mut().zip(&recording.workloads) {
            workload.held = report::held_back(&recording, record);
            workload.recent.extend(record.intervals.last());
            forget(&mut workload.recent);
        }
        self.watch.show();
        !self.watch.stop.is_asked()
    }
}

/// Colours if `stream` is a terminal, unless NO_COLOR is set.
pub fn paint(stream: Stream) -> Paint {
    let wanted = stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted { Paint::Ansi } else { Paint::Plain }
}

/// The size of the terminal of a stream; 80 × 24 if there is none.
pub fn size_of(stream: impl std::os::fd::AsFd) -> ScreenSize {
    terminal_size::terminal_size_of(stream).map_or(
        ScreenSize { columns: REPORT_COLUMNS, rows: 24 },
        |(width, height)| ScreenSize { columns: usize::from(width.0), rows: usize::from(height.0) },
    )
}
