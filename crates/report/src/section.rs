//! The sections of a page. Each draws itself; those for which it makes sense take several runs and
//! draw them on the same axes.

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
    /// The verdict on the run.
    RunVerdict(RunVerdict),
    /// Notes for the reader.
    Notes(Notes),
    /// Charts over time, or of one figure as a function of another.
    Charts(Charts),
    /// The phases, with the commands at their starts.
    Phases(Phases),
    /// Response times by percentile.
    Percentiles(Percentiles),
    /// Distribution of response times over time.
    HeatMap(HeatMap),
    /// A figure as a function of two others.
    Matrix(Matrix),
    /// Throughput and latency as the load grows.
    Knee(Knee),
    /// Write cycles.
    Cycles(Cycles),
    /// Statistics of the host.
    Host(Host),
    /// Figures in rows and columns.
    Tables(Tables),
    /// The machine, and the origin of the run.
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

/// Converts each kind of section.
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
