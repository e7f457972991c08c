//! The table of seconds: what a ramp did in each second of each run, which shows peaks and
//! simultaneous load afterwards.

use crate::BLOCK;
use crate::machine::RampOutcome;
use block::Span;
use stats::TapeSlice;
use stats::run::Class;

/// The first line of `seconds.csv`.
pub const SECONDS_HEADER: &str = "Run,Second,Reads,Writes,Journal Blocks,In Cycle (sec),Comparable\n";

/// A second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimelineSecond {
    /// Number of the run.
    pub run: u64,
    /// From the run's start, from 0.
    pub second: u64,
    /// Reads that completed in it.
    pub reads: u64,
    /// Blocks written to the database.
    pub writes: u64,
    /// Blocks written to the journal.
    pub journal: u64,
    /// The part of it, in seconds, in which a write cycle was in progress.
    pub cycle: f64,
}

impl TimelineSecond {
    /// Blocks transferred: read, written to the database, written to the journal.
    pub fn blocks(&self) -> u64 {
        self.reads + self.writes + self.journal
    }

    /// The seconds of a run.
    pub fn of(run: u64, outcome: &RampOutcome) -> Vec<TimelineSecond> {
        let slices = outcome.tape.tracks().flat_map(|track| &track.slices);
        let count = slices.map(|slice| number(slice) + 1).max().unwrap_or(0);
        let second = |second: u64| {
            let from = Span::SECOND * second;
            let to = from + Span::SECOND;
            let within = |cycle: &crate::cycle::Cycle| {
                let end = (cycle.start + cycle.cycle).min(to);
                end.saturating_sub(cycle.start.max(from)).as_secs_f64()
            };
            let cycle = outcome.cycles.iter().map(within).sum();
            TimelineSecond { run, second, cycle, ..TimelineSecond::default() }
        };
        let mut seconds: Vec<TimelineSecond> = (0..count).map(second).collect();
        for track in outcome.tape.tracks() {
            for slice in &track.slices {
                let second = &mut seconds[number(slice) as usize];
                if track.class == Class::READ {
                    second.reads = slice.ops;
                } else if track.class == Class::WRITE {
                    second.writes = slice.ops;
                } else if track.class == Class::JOURNAL {
                    second.journal = slice.bytes / BLOCK;
                }
            }
        }
        seconds
    }
}

/// The second of a run that a slice belongs to.
fn number(slice: &TapeSlice) -> u64 {
    slice.end.as_nanos().saturating_sub(1) / Span::SECOND.as_nanos()
}

/// The seconds of a run as lines of the table; `comparable` is whether they can be compared with
/// published figures.
pub fn seconds_csv(seconds: &[TimelineSecond], comparable: bool) -> String {
    let stamp = if comparable { "yes" } else { "not comparable" };
    let line = |at: &TimelineSecond| {
        format!("{},{},{},{},{},{:.3},{stamp}\n", at.run, at.second, at.reads, at.writes, at.journal, at.cycle)
    };
    seconds.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::Cycle;
    use crate::reading::read_seconds;
    use stats::Tape;

    /// A cycle from 1.25 s to 3.5 s is in progress for 0.75, 1 and 0.5 s of the seconds 1, 2 and 3.
    #[test]
    fn each_second_says_what_it_held() {
        let mut tape = Tape::default();
        let journal = tape.add(Class::JOURNAL);
        for (class, ops, bytes) in [(Tape::READ, 30, 0), (Tape::WRITE, 4, 0), (journal, 1, 3 * BLOCK)] {
            let slice = |end| TapeSlice { end: Span::from_secs(end), ops, bytes, ..TapeSlice::default() };
            tape[class].slices = (1..=5).map(slice).collect();
        }
        let cycle = Cycle { start: Span::from_millis(1250), cycle: Span::from_millis(2250), ..Cycle::default() };
        let outcome = RampOutcome { tape, cycles: vec![cycle], ..RampOutcome::default() };
        let seconds = TimelineSecond::of(7, &outcome);
        assert_eq!(seconds.iter().map(|second| second.cycle).collect::<Vec<_>>(), [0.0, 0.75, 1.0, 0.5, 0.0]);
        assert_eq!((seconds[2].blocks(), seconds[2].second, seconds[2].run), (37, 2, 7));
        let text = SECONDS_HEADER.to_owned() + &seconds_csv(&seconds, false);
        assert!(text.ends_with("7,3,30,4,3,0.500,not comparable\n7,4,30,4,3,0.000,not comparable\n"), "{text}");
        assert_eq!(read_seconds(&text), Ok(seconds));
    }
}
