//! The picture people know from such tests, as a drawing that stands alone: the IOPS of the volumes
//! over time, with the phases as bands and the ceilings as dashes. Light, 900 wide, without script
//! or font of its own.

use crate::chart::Chart;
use crate::palette::{self, LIGHT};
use crate::run;
use stats::Recording;

/// The picture as an SVG file.
pub fn render(recording: &Recording) -> String {
    of(&run::picture(recording))
}

/// Any chart as an SVG file.
pub fn of(chart: &Chart) -> String {
    chart.file(&palette::chart_style(&LIGHT))
}
