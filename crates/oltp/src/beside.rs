//! A database beside other workloads: arms take turns, and the transactions of each are compared
//! with those of the baseline arm round by round. Computes the verdict and how it is shown; the
//! caller plays the turns.
//!
//! ```text
//!   round 1   alone ─ bully ─ ceiling ─ floor      TPM of each, over TPM alone in the same round
//!   round 2   ceiling ─ floor ─ alone ─ bully      …            median of these ratios, with its interval
//! ```
//! The speed of a machine changes within minutes. Ratios within a round compensate for that, and
//! the spread of the baseline itself shows how much it changed: if its turns lie too far apart,
//! there is no verdict.

mod page;
mod table;
mod verdict;

pub use page::beside_page;
pub use table::beside_table;
pub use verdict::beside_verdicts;

use crate::figures::Figures;
use crate::ledger::Ledger;
use block::Span;
use stats::run::{Run, Setting, Taped, Value};
use stats::{Histogram, Median};
use workload::plan::Goal;

/// A database beside others, as it is shown.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Its title.
    pub title: String,
    /// What it demonstrates.
    pub about: String,
    /// Number of users of the database.
    pub users: u32,
    /// Measured length of each turn.
    pub window: Span,
    /// The arms, in the plan's order; at least one.
    pub arms: Vec<BesideArm>,
    /// The goals.
    pub goals: Vec<Goal>,
    /// Whether it ended before every arm had all its turns.
    pub cut_short: bool,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// An arm and its turns.
#[derive(Clone, Debug, Default)]
pub struct BesideArm {
    /// Its name.
    pub name: String,
    /// How it differs from the others.
    pub about: String,
    /// Its turns by round; `None` if a turn was not played.
    pub turns: Vec<Option<Turn>>,
}

/// An arm's turn in a round.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// Transactions completed per minute, over the window.
    pub tpm: f64,
    /// Response times of all transactions.
    pub response: Histogram,
    /// Transactions completed in each second of the window.
    pub seconds: Vec<u64>,
    /// Failed transactions.
    pub failed: u64,
    /// What the other workloads did meanwhile, in operations per second.
    pub others_iops: f64,
}

impl Turn {
    /// The turn of a finished ledger.
    pub fn of(ledger: &Ledger, users: u32, others_iops: f64) -> Turn {
        let figures = Figures::of(ledger, users);
        let mut response = Histogram::new();
        figures.lines.iter().for_each(|line| response.merge(&line.response));
        Turn {
            tpm: figures.avg_tps * 60.0,
            response,
            seconds: ledger.seconds()[ledger.measured_seconds()].iter().map(|second| second.done).collect(),
            failed: figures.failed(),
            others_iops,
        }
    }

    /// Adds the turn to the last point of a run, whose first actor is the users; the window began
    /// at `start` of the run.
    pub fn add(&self, run: &mut Run, ledger: &Ledger, start: Span, round: u32) {
        let Some(point) = run.points.len().checked_sub(1) else { return };
        let at = Taped { point: point as u32, actor: 0, start, measured: ledger.window() };
        run.add_tape(&ledger.tape, at);
        (run.points[point].start, run.points[point].end) = (start, start + ledger.window());
        let numbers = [
            ("round", f64::from(round)),
            ("tpm", self.tpm),
            ("p50_ms", self.response.quantile(0.5).as_millis_f64()),
            ("p99_ms", self.response.quantile(0.99).as_millis_f64()),
            ("failed", self.failed as f64),
            ("others_iops", self.others_iops),
        ];
        run.settings.extend(numbers.map(|(key, number)| Setting {
            point: Some(point as u32),
            actor: Some(0),
            key: key.into(),
            value: Value::Number(number),
        }));
    }
}

impl BesideArm {
    fn played(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter().flatten()
    }

    /// The median of a figure over its turns.
    pub fn median(&self, of: impl Fn(&Turn) -> f64) -> Option<Median> {
        Median::of(&self.played().map(of).collect::<Vec<_>>())
    }

    /// Response times over all of its turns.
    pub fn response(&self) -> Histogram {
        let mut all = Histogram::new();
        self.played().for_each(|turn| all.merge(&turn.response));
        all
    }
}

impl Beside {
    /// The baseline arm: that of the first goal, or the first arm.
    pub fn baseline(&self) -> usize {
        self.goals.first().map_or(0, |goal| goal.baseline)
    }

    /// The transactions of an arm as a ratio to those of another, round by round.
    pub fn ratio(&self, arm: usize, baseline: usize) -> Option<Median> {
        let (arm, baseline) = (&self.arms[arm], &self.arms[baseline]);
        let rounds = arm.turns.iter().zip(&baseline.turns);
        let ratios =
            rounds.filter_map(|(one, other)| Some(one.as_ref()?.tpm / other.as_ref()?.tpm.max(f64::MIN_POSITIVE)));
        Median::of(&ratios.collect::<Vec<_>>())
    }
}

/// The run before its first point: the users, and their settings.
pub fn beside_run(mut run: Run, database: &str, users: u32) -> Run {
    let place = run.place(stats::run::RunPlace { kind: "database".into(), name: database.into(), size: None });
    run.add_actor("users", Some(place));
    run.set(Some(0), "users", f64::from(users));
    run
}
