//! The picture people know from such tests, as a drawing that stands alone: the IOPS of the volumes over time, with the
//! phases as bands and the ceilings as dashes. Light, 900 by 420, without script or font of its own.

use crate::figures::{self, Size};
use crate::palette::{self, LIGHT};
use stats::Recording;

const SIZE: Size = Size { width: 900.0, height: 420.0 };

/// The picture as an SVG file.
pub fn render(recording: &Recording) -> String {
    figures::iops(recording, SIZE).finish(Some(&palette::chart_style(&LIGHT)))
}
