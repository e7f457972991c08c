//! Times by two clocks: processor time of this thread, and elapsed time.

use std::fmt;

/// Both clocks at a start.
pub struct Clocks {
    passed: std::time::Instant,
    processor: block::Span,
}

/// The readings of both.
#[derive(Clone, Copy, Default)]
pub struct Took {
    /// Processor time in milliseconds.
    pub processor_ms: f64,
    /// Elapsed time in milliseconds.
    pub passed_ms: f64,
}

impl Clocks {
    /// Starts the clocks.
    #[expect(clippy::disallowed_methods, reason = "a measurement is what this is")]
    pub fn start() -> Clocks {
        Clocks { passed: std::time::Instant::now(), processor: uring::usage::thread_cpu() }
    }

    /// Time since the start.
    pub fn stop(&self) -> Took {
        Took {
            processor_ms: uring::usage::thread_cpu().saturating_sub(self.processor).as_nanos() as f64 / 1e6,
            passed_ms: self.passed.elapsed().as_secs_f64() * 1e3,
        }
    }
}

impl Took {
    /// Adds another interval.
    pub fn add(&mut self, more: Took) {
        self.processor_ms += more.processor_ms;
        self.passed_ms += more.passed_ms;
    }
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8.1} ms of the processor, {:>8.1} by the clock", self.processor_ms, self.passed_ms)
    }
}
