//! The usual picture of such tests as a separate drawing: the IOPS of the volumes over time, with
//! phases as bands and ceilings as dashed lines. Light, 900 wide, without scripts or fonts.

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
