//! What users did in a point: a warm-up, whose seconds fill the trailing minute, and then the
//! measured window.

use crate::session::{Counts, Failure, Waits};
use crate::transaction::Transaction;
use block::{Span, Time};
use stats::run::Class;
use stats::{Ended, Noted, Tape};

/// A transaction that ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its kind.
    pub what: Transaction,
    /// When it was due; without a schedule, when it began.
    pub due: Time,
    /// When it began.
    pub begun: Time,
    /// When it ended.
    pub end: Time,
    /// Think time within it.
    pub thought: Span,
    /// How long the connection waited.
    pub waits: Waits,
    /// Statements.
    pub counts: Counts,
    /// Whether it is unknown how much of it was committed.
    pub unsure: bool,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
}

/// What ended in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Transactions that were completed.
    pub done: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Completed transactions of each kind.
    pub by: [u64; 9],
    /// The sum of response times of each kind.
    pub took: [Span; 9],
}

/// Everything that happened in a point.
#[derive(Clone, Debug)]
pub struct Ledger {
    start: Time,
    from: Time,
    until: Time,
    pub(crate) tape: Tape,
    pub(crate) seconds: Vec<Second>,
    pub(crate) counts: Counts,
    pub(crate) failures: [u64; 5],
    pub(crate) waits: Waits,
    whole: Counts,
    unsure: u64,
    first_failure: Option<String>,
}

impl Ledger {
    /// The ledger of a point that begins at `start`; transactions that end after `warm_up` are
    /// measured, for the length of `window`.
    pub fn new(start: Time, warm_up: Span, window: Span, scheduled: bool) -> Ledger {
        let from = start + warm_up;
        let mut tape = Tape::new(from, Noted { slices: Some(Span::SECOND), lateness: scheduled, ..Noted::default() });
        Transaction::ALL.iter().for_each(|one| _ = tape.add(Class::named(one.short())));
        Ledger {
            start,
            from,
            until: from + window,
            tape,
            seconds: Vec::new(),
            counts: Counts::default(),
            failures: [0; 5],
            waits: Waits::default(),
            whole: Counts::default(),
            unsure: 0,
            first_failure: None,
        }
    }

    /// Adds a transaction.
    pub fn add(&mut self, done: &Done) {
        self.whole.add(&done.counts);
        self.unsure += u64::from(done.unsure);
        let at = done.end.since(self.start).as_nanos() / Span::SECOND.as_nanos();
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.planned_seconds());
        if at >= self.seconds.len() {
            self.seconds.resize(at + 1, Second::default());
        }
        let (kind, second) = (done.what as usize, &mut self.seconds[at]);
        let measured = done.end >= self.from && done.end < self.until;
        match &done.failure {
            None => {
                second.done += 1;
                second.by[kind] += 1;
                second.took[kind] += done.end.since(done.due).saturating_sub(done.thought);
            }
            Some(failure) => {
                second.failed += 1;
                self.first_failure.get_or_insert_with(|| format!("{}: {failure}", done.what.short()));
                if measured {
                    self.failures[failure.kind()] += 1;
                    self.tape.failed(Tape::OWN + kind, false);
                }
            }
        }
        if measured {
            self.counts.add(&done.counts);
            self.waits.locked += done.waits.locked;
            self.waits.committing += done.waits.committing;
        }
        if measured && done.failure.is_none() {
            // Think time is not part of the response time.
            let (due, made) = (done.due + done.thought, done.begun + done.thought);
            let class = Tape::OWN + kind;
            self.tape.ended(&Ended { class, due, made, handed: made, end: done.end, gate: Span::ZERO, bytes: 0 });
        }
    }

    /// Completes the list of seconds, including those without transactions.
    pub fn roll(&mut self, now: Time) {
        let over = (now.since(self.start).as_nanos() / Span::SECOND.as_nanos()) as usize;
        let over = over.min(self.planned_seconds());
        if over > self.seconds.len() {
            self.seconds.resize(over, Second::default());
        }
    }

    /// Ends the window, or ends it early at `now`.
    pub fn finish(&mut self, now: Time) {
        self.until = self.until.min(now).max(self.from);
        self.tape.finish(self.until, self.until);
    }

    /// When the window begins.
    pub fn from(&self) -> Time {
        self.from
    }

    /// When the window ends or ended.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Length of the window.
    pub fn window(&self) -> Span {
        self.until.since(self.from)
    }

    /// All seconds from the start on.
    pub fn seconds(&self) -> &[Second] {
        &self.seconds
    }

    /// The seconds of the window, as a range of all seconds.
    pub(crate) fn measured_seconds(&self) -> std::ops::Range<usize> {
        let second = |at: Time| (at.since(self.start).as_nanos() / Span::SECOND.as_nanos()) as usize;
        let most = self.seconds.len();
        second(self.from).min(most)..second(self.until).min(most)
    }

    /// Transactions in the minute that ends with that second.
    pub fn tpm(&self, second: usize) -> u64 {
        let until = (second + 1).min(self.seconds.len());
        self.seconds[until.saturating_sub(60).min(until)..until].iter().map(|second| second.done).sum()
    }

    /// Everything that was done, also outside the window: what the database must contain.
    pub fn whole(&self) -> &Counts {
        &self.whole
    }

    /// Failed transactions of which it is unknown what was committed.
    pub fn unsure(&self) -> u64 {
        self.unsure
    }

    /// The first failure, in words.
    pub fn first_failure(&self) -> Option<&str> {
        self.first_failure.as_deref()
    }

    /// Transactions that end after the window are in one more second.
    fn planned_seconds(&self) -> usize {
        (self.until.since(self.start).as_nanos() / Span::SECOND.as_nanos()) as usize
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 90 s of warm-up and window with `tps` transactions in each second, of `ms` each, of which 2
    /// ms are think time.
    pub fn played(tps: impl Fn(u64) -> u64, ms: u64) -> Ledger {
        let start = Time::from_nanos(5_000_000_000);
        let mut ledger = Ledger::new(start, Span::from_secs(60), Span::from_secs(30), false);
        for second in 0..90 {
            for one in 0..tps(second) {
                let end = start + Span::from_millis(second * 1000 + 1 + one * 1000 / tps(second).max(1));
                let due = end - Span::from_millis(ms + 2);
                let counts = Counts { selects: 2, commits: 1, ..Counts::default() };
                ledger.add(&Done {
                    what: Transaction::ALL[(one % 2) as usize],
                    due,
                    begun: due,
                    end,
                    thought: Span::from_millis(2),
                    waits: Waits::default(),
                    counts,
                    unsure: false,
                    failure: (one == 9).then_some(Failure::Timeout),
                });
            }
        }
        ledger.finish(start + Span::from_secs(90));
        ledger
    }

    /// Ten per second of which one fails: nine in a second, 540 in a minute from the 60th second
    /// on, and fewer before.
    #[test]
    fn the_trailing_minute_fills_in_the_warm_up() {
        let ledger = played(|_| 10, 5);
        assert_eq!((ledger.tpm(0), ledger.tpm(29), ledger.tpm(59), ledger.tpm(89)), (9, 270, 540, 540));
        assert_eq!(ledger.measured_seconds(), 60..90);
        assert_eq!((ledger.failures, ledger.counts.commits, ledger.whole().commits), ([0, 0, 30, 0, 0], 300, 900));
        assert_eq!(ledger.first_failure(), Some("UCD: timeout"));
    }
}
