//! Several databases on one storage, protected ones beside a neighbour: the experiment's
//! arithmetic, its verdict, and how it is shown. The player brings the rows.
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
    /// What is different in it: `with floors`.
    pub name: String,
    /// The hosts, in the experiment's order.
    pub hosts: Vec<HostRows>,
    /// What the storage did while all hosts wrote: of each run, in the period of each cycle, in
    /// order.
    pub busy: Vec<Vec<Option<Busy>>>,
}

/// What a host left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRows {
    /// Its name.
    pub name: String,
    /// Whether floors are meant to protect it.
    pub protected: bool,
    /// Its runs, in order.
    pub rows: Vec<RampRow>,
    /// How long the cycles of each run took, by the period in which each was due, the first one
    /// period after the run's start; `None` where none was.
    pub cycles: Vec<Vec<Option<Span>>>,
}

/// A whole experiment, for those who show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// What it is called.
    pub title: String,
    /// What it shows.
    pub about: String,
    /// The test's numbers.
    pub constants: Constants,
    /// What the storage must be able to do, run by run; at least one.
    pub windows: Vec<Window>,
    /// Times the published rates.
    pub factor: f64,
    /// With floors, then without.
    pub arms: [Arm; 2],
    /// Whether it ended before all runs were played; what was measured until then is in it.
    pub cut_short: bool,
    /// Lines that a reader must know: why it is not comparable, the hosts' clocks, warnings.
    pub notes: Vec<String>,
}

impl Experiment {
    /// What the storage must be able to do in the last run, when every host asks for most.
    ///
    /// # Panics
    /// There is none.
    pub fn window(&self) -> &Window {
        self.windows.last().expect("an experiment has runs")
    }

    /// The limit of a write cycle.
    pub fn limit(&self) -> Span {
        self.constants.cycle_limit()
    }
}
