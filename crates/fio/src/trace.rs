//! Recorded traces of the requests that a real system made of its storage. fio's iolog (versions 2
//! and 3), a CSV table and blktrace's dump become the same events.
//!
//! ```text
//!   text of an iolog ─► Iolog    ─┐
//!                                 ├─► Event, Event, … ─► Trace (in the order of their times) ─► paced
//!   bytes of a dump  ─► Blktrace ─┘
//! ```
//! Both readers are iterators over their input, so that a long trace is not held in memory twice.

mod blktrace;
mod csv;
mod iolog;

pub use blktrace::Blktrace;
pub use iolog::Iolog;

use block::{Span, Time};

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its time, from the start of the trace.
    pub due: Time,
    /// The file or device: an index into the trace's names.
    pub file: u32,
    /// The action.
    pub action: Action,
    /// Its first byte; zero for a flush.
    pub at: u64,
    /// Its length in bytes; zero for a flush.
    pub len: u32,
}

/// The action of a request in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Discards data.
    Trim,
    /// Makes all written data durable. `data_only` excludes the file's metadata.
    Flush {
        /// `fdatasync` instead of `fsync`.
        data_only: bool,
    },
}

/// A whole trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Files or devices in order of first occurrence. In a dump they are `major:minor`.
    pub files: Vec<String>,
    /// Ordered by time; events of the same time are in the order of the trace.
    pub events: Vec<Event>,
}

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    /// fio's `replay_no_stall`: all requests in order, without waiting for their times.
    pub no_stall: bool,
    /// fio's `replay_time_scale`: 200 is twice as fast. Above zero.
    pub speed_percent: u32,
    /// fio's `replay_scale`: offsets are divided by this. Above zero.
    pub scale: u64,
    /// fio's `replay_align`: offsets are then rounded down to a multiple of this; 0 leaves them.
    pub align: u64,
    /// fio's `replay_skip`: kinds that are left out.
    pub skip: Skips,
}

/// A kind of request that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Flushes.
    Flush,
}

/// Kinds of requests that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skips([bool; 4]);

impl Skips {
    /// Adds a kind.
    pub fn with(mut self, kind: Skip) -> Skips {
        self.0[kind as usize] = true;
        self
    }

    /// Whether a request is left out.
    pub fn has(self, action: Action) -> bool {
        let kind = match action {
            Action::Read => Skip::Read,
            Action::Write => Skip::Write,
            Action::Trim => Skip::Trim,
            Action::Flush { .. } => Skip::Flush,
        };
        self.0[kind as usize]
    }
}

/// Why a trace cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The beginning is not that of any known format.
    #[error(
        "no trace that is known: it begins neither with \"fio version 2 iolog\" or \"fio version 3 iolog\" nor with \"time_us,file,action,offset,length\" nor with blktrace's number; a blktrace recording is made one with blkparse -d"
    )]
    Unknown,
    /// A line of an iolog is wrong.
    #[error("line {line}: {rule}")]
    Line {
        /// Counted from 1.
        line: u32,
        /// What is wrong, and what would be right.
        rule: String,
    },
    /// A record of a dump is wrong.
    #[error("byte {at}: {rule}")]
    Record {
        /// Byte offset of the record.
        at: u64,
        /// What is wrong.
        rule: &'static str,
    },
}

impl Default for ReplayOptions {
    /// As recorded.
    fn default() -> ReplayOptions {
        ReplayOptions { no_stall: false, speed_percent: 100, scale: 1, align: 0, skip: Skips::default() }
    }
}

impl Trace {
    /// Reads a trace of any known format.
    ///
    /// # Errors
    /// See [`TraceError`]; the first error found.
    pub fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
        let mut trace = Trace::default();
        if let Some(mut dump) = Blktrace::new(bytes) {
            trace.events = dump.by_ref().collect::<Result<_, _>>()?;
            trace.files = dump.into_files();
        } else {
            let text = std::str::from_utf8(bytes).map_err(|_| TraceError::Unknown)?;
            if let Some(table) = csv::read(text) {
                (trace.files, trace.events) = table?;
                trace.events.sort_by_key(|event| event.due);
                return Ok(trace);
            }
            let mut log = Iolog::new(text)?;
            trace.events = log.by_ref().collect::<Result<_, _>>()?;
            trace.files = log.into_files();
        }
        trace.events.sort_by_key(|event| event.due);
        Ok(trace)
    }

    /// The events to be replayed.
    pub fn replayed(&self, how: ReplayOptions) -> impl Iterator<Item = Event> + '_ {
        self.events.iter().filter(move |event| !how.skip.has(event.action)).map(move |event| how.turn(*event))
    }

    /// Its length as recorded: from its start to its last request.
    pub fn length(&self) -> Span {
        self.events.last().map_or(Span::ZERO, |event| event.due.since(Time::ZERO))
    }
}

impl ReplayOptions {
    fn turn(self, event: Event) -> Event {
        let due = match (self.no_stall, u128::from(self.speed_percent.max(1))) {
            (true, _) => 0,
            // This is at most 100 times what 64 bits hold, so the product fits. A lower speed ends
            // at the latest time.
            (false, speed) => u64::try_from(u128::from(event.due.as_nanos()) * 100 / speed).unwrap_or(u64::MAX),
        };
        let at = event.at / self.scale.max(1);
        let at = at - at.checked_rem(self.align).unwrap_or(0);
        Event { due: Time::from_nanos(due), at, ..event }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(us: u64, action: Action, at: u64, len: u32) -> Event {
        Event { due: Time::from_nanos(us * 1000), file: 0, action, at, len }
    }

    #[test]
    fn a_trace_is_played_faster_and_elsewhere() {
        let events = vec![event(1000, Action::Read, 81_920, 4096), event(3000, Action::Write, 12_288, 4096)];
        let trace = Trace { files: vec!["f".into()], events };
        assert_eq!(trace.length(), Span::from_millis(3));
        let twice = ReplayOptions { speed_percent: 200, ..ReplayOptions::default() };
        assert_eq!(trace.replayed(twice).map(|event| event.due.as_nanos()).collect::<Vec<_>>(), [500_000, 1_500_000]);
        // 81 920 / 10 = 8192; 12 288 / 10 = 1228, rounded down to 0.
        let smaller = ReplayOptions { no_stall: true, scale: 10, align: 4096, ..ReplayOptions::default() };
        let played: Vec<_> = trace.replayed(smaller).map(|event| (event.due, event.at)).collect();
        assert_eq!(played, [(Time::ZERO, 8192), (Time::ZERO, 0)]);
        let reads =
            ReplayOptions { skip: Skips::default().with(Skip::Write).with(Skip::Flush), ..ReplayOptions::default() };
        assert_eq!(trace.replayed(reads).map(|event| event.action).collect::<Vec<_>>(), [Action::Read]);
    }

    proptest! {
        /// Reading arbitrary bytes ends without a panic, and times do not decrease.
        #[test]
        fn any_bytes_can_be_given(head in 0usize..4, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let heads: [&[u8]; 4] = [b"", b"fio version 2 iolog\n", b"fio version 3 iolog\n", &[0x07, 0x74, 0x61, 0x65]];
            if let Ok(trace) = Trace::read(&[heads[head], &bytes].concat()) {
                prop_assert!(trace.events.is_sorted_by_key(|event| event.due));
                prop_assert!(trace.events.iter().all(|event| (event.file as usize) < trace.files.len()));
            }
        }

        /// Lines that resemble those of an iolog.
        #[test]
        fn any_words_can_be_given(version in 2..4, lines in prop::collection::vec("(-?[0-9]{1,20} )?(a|b)( (add|open|close|read|write|sync|trim|wait))?( [0-9]{1,12}){0,3}", 0..20)) {
            let _ = Trace::read(format!("fio version {version} iolog\na add\n0 a add\n{}", lines.join("\n")).as_bytes());
        }
    }
}
