//! The results of one process in a batch. Response times are kept as a histogram, because averages
//! cannot say whether a limit was ever exceeded.

use crate::grammar::Effort;
use block::Span;
use stats::job::JobOutcome;
use stats::{Direction, Histogram};

/// One process of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRow {
    /// When the batch began, in seconds since 1970, UTC.
    pub started_unix_s: u64,
    /// Its target, as named.
    pub database: String,
    /// Processes in the batch.
    pub processes: u32,
    /// Its number, from 1.
    pub job: u32,
    /// How much each process was to do.
    pub effort: Effort,
    /// Bytes of a request.
    pub block: u32,
    /// Percentage of requests that read.
    pub read_percent: u32,
    /// Reads that succeeded.
    pub reads: u64,
    /// Writes that succeeded.
    pub writes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes that were transferred.
    pub bytes: u64,
    /// From the first request to the end of the last, without the wait for the other processes to
    /// start.
    pub elapsed: Span,
    /// How it ended.
    pub state: ProcessState,
    /// Response times of all of its requests.
    pub lat: Histogram,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It did everything that was requested.
    Whole,
    /// It was stopped or failed; its figures cover what it had done.
    Stopped,
    /// Unknown: it was recorded while running, and nothing was recorded after that.
    Running,
}

impl ProcessState {
    /// Its name in kept runs.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            ProcessState::Whole => "whole",
            ProcessState::Stopped => "stopped",
            ProcessState::Running => "running",
        }
    }

    /// The state with that name; an unknown name means that the end is not known.
    pub(crate) fn from_key(key: &str) -> ProcessState {
        [ProcessState::Whole, ProcessState::Stopped]
            .into_iter()
            .find(|state| state.key() == key)
            .unwrap_or(ProcessState::Running)
    }
}

impl ProcessRow {
    /// A row with the values that a batch's processes share, before anything was done.
    pub fn blank(started_unix_s: u64, database: String, processes: u32, load: &crate::Load) -> ProcessRow {
        ProcessRow {
            started_unix_s,
            database,
            processes,
            job: 0,
            effort: load.effort.unwrap_or(Effort::Iterations(0)),
            block: load.block,
            read_percent: load.read_percent,
            reads: 0,
            writes: 0,
            failed: 0,
            bytes: 0,
            elapsed: Span::ZERO,
            state: ProcessState::Running,
            lat: Histogram::new(),
        }
    }

    /// The row of process `job` (from 1) with this outcome.
    pub fn of(&self, job: u32, state: ProcessState, outcome: &JobOutcome) -> ProcessRow {
        let (reads, writes) = (&outcome.tape[Direction::Read], &outcome.tape[Direction::Write]);
        let mut lat = reads.response.clone();
        lat.merge(&writes.response);
        let state = if outcome.interrupted || !outcome.is_good() { ProcessState::Stopped } else { state };
        ProcessRow {
            job,
            reads: reads.ops,
            writes: writes.ops,
            failed: reads.failed + writes.failed,
            bytes: reads.bytes + writes.bytes,
            elapsed: outcome.measured,
            state,
            lat,
            ..self.clone()
        }
    }

    /// Requests that succeeded.
    pub fn done(&self) -> u64 {
        self.reads + self.writes
    }

    /// Elapsed time divided by completed requests, in milliseconds; `None` if there were none.
    pub fn response_ms(&self) -> Option<f64> {
        (self.done() > 0).then(|| self.elapsed.as_millis_f64() / self.done() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> ProcessRow {
        let mut lat = Histogram::new();
        (1..=1000).for_each(|us| lat.record(Span::from_micros(us * 7)));
        ProcessRow {
            started_unix_s: 1_464_012_480,
            database: "/d/".into(),
            processes: 20,
            job: 4,
            effort: Effort::Iterations(1000),
            block: 8192,
            read_percent: 50,
            reads: 600,
            writes: 400,
            failed: 1,
            bytes: 8_192_000,
            elapsed: Span::from_millis(7176),
            state: ProcessState::Whole,
            lat,
        }
    }

    /// 7176 ms for 1000 requests; without requests there is no response time, however much time
    /// passed.
    #[test]
    fn response_time_divides_by_what_was_done() {
        assert_eq!(row().response_ms(), Some(7.176));
        assert_eq!(ProcessRow { reads: 0, writes: 500, ..row() }.response_ms(), Some(14.352));
        assert_eq!(ProcessRow { reads: 0, writes: 0, ..row() }.response_ms(), None);
    }
}
