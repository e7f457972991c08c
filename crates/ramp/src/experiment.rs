//! Several databases on one storage, protected ones beside a neighbour: the calculations of the
//! experiment, its verdict, and how it is shown. The caller plays it and provides the rows.
//!
//! ```text
//!   loads ──► Window: what the storage must be able to do for the experiment to say anything ──► one factor
//!   rows of each host, with floors and without ──► Verdict ──► tables side by side, page
//! ```

mod capacity;
mod judged;
mod page;
mod table;
mod verdict;
mod window;

pub use capacity::{Busy, busy, busy_by_cycle};
pub use page::experiment_page;
pub use table::experiment_table;
pub use verdict::{Answered, experiment_verdict};
pub use window::{HostLoad, Window, WindowError};

use crate::settings::Constants;
use crate::summary::RampRow;
use block::Span;

/// One half of the experiment: all hosts at once, with floors or without.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arm {
    /// How it differs: `with floors`.
    pub name: String,
    /// The hosts, in the experiment's order.
    pub hosts: Vec<HostRows>,
    /// What the storage did while all hosts wrote: for each run, in the period of each cycle, in
    /// order.
    pub busy: Vec<Vec<Option<Busy>>>,
}

/// The results of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRows {
    /// Its name.
    pub name: String,
    /// Whether floors should protect it.
    pub protected: bool,
    /// Its runs, in order.
    pub rows: Vec<RampRow>,
    /// The durations of each run's cycles, by the period in which each was due; the first is one
    /// period after the run's start. `None` if there was no cycle.
    pub cycles: Vec<Vec<Option<Span>>>,
}

/// A whole experiment, as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its title.
    pub title: String,
    /// What it demonstrates.
    pub about: String,
    /// The test's numbers.
    pub constants: Constants,
    /// What the storage must be able to do, run by run; at least one.
    pub windows: Vec<Window>,
    /// The factor on the published rates.
    pub factor: f64,
    /// With floors, then without.
    pub arms: [Arm; 2],
    /// Whether it ended before all runs were played; what was measured until then is in it.
    pub cut_short: bool,
    /// Notes for the reader: why it is not comparable, the hosts' clocks, warnings.
    pub notes: Vec<String>,
}

impl Experiment {
    /// What the storage must be able to do in the last run, in which every host has its highest
    /// target.
    ///
    /// # Panics
    /// There is no run.
    pub fn window(&self) -> &Window {
        self.windows.last().expect("an experiment has runs")
    }

    /// The limit of a write cycle.
    pub fn limit(&self) -> Span {
        self.constants.cycle_limit()
    }
}
