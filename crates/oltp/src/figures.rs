//! The published metrics of a point, from its ledger.

use crate::ledger::Ledger;
use crate::session::{Counts, Waits};
use crate::transaction::Transaction;
use block::Span;
use stats::{Histogram, Tape};

/// The metrics of a point.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Number of users.
    pub users: u32,
    /// Length of the window.
    pub window: Span,
    /// Completed transactions.
    pub done: u64,
    /// Failed transactions, by kind of failure.
    pub failures: [u64; 5],
    /// Completed transactions per second, over the window.
    pub avg_tps: f64,
    /// The most transactions in one second of the window.
    pub max_tps: u64,
    /// The most transactions in 60 s that end in the window.
    pub max_tpm: u64,
    /// Whether a whole minute had passed by the end of the window; otherwise `max_tpm` is too low.
    pub minute_was_full: bool,
    /// The mean response time of all transactions, without think time.
    pub response: Span,
    /// The transactions of each kind that was run.
    pub lines: Vec<Line>,
    /// Statements in the window.
    pub counts: Counts,
    /// What connections waited for in the window.
    pub waits: Waits,
    /// Sum of all response times in the window.
    pub worked: Span,
}

/// A kind of transaction.
#[derive(Clone, Debug)]
pub struct Line {
    /// The kind.
    pub what: Transaction,
    /// Failed transactions.
    pub failed: u64,
    /// Response times of the completed ones.
    pub response: Histogram,
}

impl Figures {
    /// The metrics of a finished ledger.
    pub fn of(ledger: &Ledger, users: u32) -> Figures {
        let lines: Vec<Line> = Transaction::ALL
            .into_iter()
            .map(|what| (what, &ledger.tape[Tape::OWN + what as usize]))
            .filter(|(_, track)| track.ops + track.failed > 0)
            .map(|(what, track)| Line { what, failed: track.failed, response: track.response.clone() })
            .collect();
        let mut all = Histogram::new();
        lines.iter().for_each(|line| all.merge(&line.response));
        let (seconds, window) = (ledger.measured_seconds(), ledger.window());
        let per_second = window.as_secs_f64().max(f64::MIN_POSITIVE);
        Figures {
            users,
            window,
            done: all.count(),
            failures: ledger.failures,
            avg_tps: all.count() as f64 / per_second,
            max_tps: ledger.seconds[seconds.clone()].iter().map(|second| second.done).max().unwrap_or(0),
            max_tpm: seconds.clone().map(|second| ledger.tpm(second)).max().unwrap_or(0),
            minute_was_full: seconds.end >= 60,
            response: all.mean(),
            lines,
            counts: ledger.counts,
            waits: ledger.waits,
            worked: all.sum(),
        }
    }

    /// The most in a minute, for tables of several loads: `–` if no minute was full.
    pub fn max_tpm_said(&self) -> String {
        if self.minute_was_full { report::text::thousands(self.max_tpm) } else { "–".into() }
    }

    /// Failed transactions of all kinds.
    pub fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::played;

    /// 8 a second, in the 80th 20: of these one fails. 239 + 20 - 8... over 30 s: 29 × 8 + 19 = 251
    /// are done, the best minute has 59 × 8 + 19 = 491, the best second 19; none took other than
    /// 5 ms.
    #[test]
    fn metrics_are_as_published() {
        let figures = Figures::of(&played(|second| if second == 80 { 20 } else { 8 }, 5), 4);
        assert_eq!((figures.done, figures.max_tps, figures.max_tpm), (251, 19, 491));
        assert!((figures.avg_tps - 251.0 / 30.0).abs() < 1e-9);
        assert_eq!(figures.response, Span::from_millis(5));
        assert!(figures.minute_was_full && figures.failed() == 1);
        assert_eq!(figures.max_tpm_said(), "491");
        assert_eq!(Figures { minute_was_full: false, ..figures.clone() }.max_tpm_said(), "–");
        let max_tpm = figures.max_tpm as f64;
        assert!(figures.avg_tps * 60.0 <= max_tpm * 1.03 && max_tpm <= 60.0 * figures.max_tps as f64);
        assert_eq!(figures.lines.iter().map(|line| line.what.short()).collect::<Vec<_>>(), ["NCR", "UCD"]);
    }
}
