//! Time by two clocks: what a processor spent on this thread, and what passed.

use std::fmt;

/// Both clocks, started.
pub struct Clocks {
    passed: std::time::Instant,
    processor: block::Span,
}

/// What both said.
#[derive(Clone, Copy, Default)]
pub struct Took {
    /// The processor's time, in milliseconds.
    pub processor_ms: f64,
    /// The time that passed, in milliseconds.
    pub passed_ms: f64,
}

impl Clocks {
    /// Starts them.
    #[expect(clippy::disallowed_methods, reason = "a measurement is what this is")]
    pub fn start() -> Clocks {
        Clocks { passed: std::time::Instant::now(), processor: uring::usage::thread_cpu() }
    }

    /// What they say since.
    pub fn stop(&self) -> Took {
        Took {
            processor_ms: uring::usage::thread_cpu().saturating_sub(self.processor).as_nanos() as f64 / 1e6,
            passed_ms: self.passed.elapsed().as_secs_f64() * 1e3,
        }
    }
}

impl Took {
    /// Adds another stretch.
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
