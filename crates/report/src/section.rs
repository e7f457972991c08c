//! What a page is built of. Each section draws itself; where several runs make sense beside each
//! other, it takes several and draws them on the same axes.

mod charts;
mod cycles;
mod heat;
mod host;
mod knee;
mod matrix;
mod percentiles;
mod table;
mod verdict;
mod words;

pub use charts::{Charts, Drawing, Figure};
pub use cycles::{CycleChart, CycleParts, CycleRun, Cycles};
pub use heat::{Heat, HeatMap, HeatSlice};
pub use host::{Host, HostFigures, Series};
pub use knee::{Knee, KneeRun};
pub use matrix::{Grid, Matrix};
pub use percentiles::{Curve, PercentileChart, Percentiles, curve};
pub use table::{Group, Table, TableCell, TableRow, Tables, Tone};
pub use verdict::{Answer, RunVerdict};
pub use words::{Fact, Facts, Notes, PhaseLine, Phases, Preformatted};

use crate::sheet::Sheet;

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Section {
    /// Whether what was asked of the run held.
    RunVerdict(RunVerdict),
    /// What to know when reading.
    Notes(Notes),
    /// Charts over time, or of one figure against another.
    Charts(Charts),
    /// The phases, with what was done at their starts.
    Phases(Phases),
    /// Response times by percentile.
    Percentiles(Percentiles),
    /// How response times were spread, over time.
    HeatMap(HeatMap),
    /// A figure over two axes.
    Matrix(Matrix),
    /// Throughput and latency as the load grows.
    Knee(Knee),
    /// Write cycles.
    Cycles(Cycles),
    /// What the host did meanwhile.
    Host(Host),
    /// Figures in rows and columns.
    Tables(Tables),
    /// The machine, and where a run comes from.
    Facts(Facts),
    /// A plan, or the command that repeats a run.
    Preformatted(Preformatted),
}

impl Section {
    pub(crate) fn draw(&self, sheet: &mut Sheet) {
        match self {
            Section::RunVerdict(section) => section.draw(sheet),
            Section::Notes(section) => section.draw(sheet),
            Section::Charts(section) => section.draw(sheet),
            Section::Phases(section) => section.draw(sheet),
            Section::Percentiles(section) => section.charts().draw(sheet),
            Section::HeatMap(section) => section.draw(sheet),
            Section::Matrix(section) => section.draw(sheet),
            Section::Knee(section) => section.charts().draw(sheet),
            Section::Cycles(section) => section.charts().draw(sheet),
            Section::Host(section) => section.charts().draw(sheet),
            Section::Tables(section) => section.draw(sheet),
            Section::Facts(section) => section.draw(sheet),
            Section::Preformatted(section) => section.draw(sheet),
        }
    }
}

/// Sections become parts of a page by themselves.
macro_rules! part {
    ($($name:ident),+) => {
        $(
            impl From<$name> for Section {
                fn from(section: $name) -> Section {
                    Section::$name(section)
                }
            }
        )+
    };
}
part!(RunVerdict, Notes, Charts, Phases, Percentiles, HeatMap, Matrix, Knee, Cycles, Host, Tables, Facts, Preformatted);
