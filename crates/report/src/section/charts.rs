//! Charts with headings and captions: over time, or of one figure as a function of another.

use crate::chart::{Chart, Look, Strips};
use crate::sheet::Sheet;

/// A section of charts.
#[derive(Clone, Debug, Default)]
pub struct Charts {
    /// The heading.
    pub heading: String,
    /// Introduction.
    pub lead: String,
    /// The charts.
    pub figures: Vec<Figure>,
    /// Whether they are small, and side by side if there is room.
    pub small: bool,
}

/// A chart with its texts.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its heading; empty for none.
    pub heading: String,
    /// The colour of the heading, if it is that of something in the chart.
    pub look: Option<Look>,
    /// The drawing.
    pub drawing: Drawing,
    /// The text below it.
    pub caption: String,
    /// The legend: class and text.
    pub key: Vec<(&'static str, String)>,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub enum Drawing {
    /// A chart.
    Chart(Chart),
    /// Rows of cells.
    Strips(Strips),
}

impl Figure {
    /// A chart without a heading.
    pub fn of(chart: Chart) -> Figure {
        Figure { drawing: Drawing::Chart(chart), ..Figure::of_strips(Strips::default()) }
    }

    /// Rows of cells without a heading.
    pub fn of_strips(strips: Strips) -> Figure {
        Figure {
            heading: String::new(),
            look: None,
            drawing: Drawing::Strips(strips),
            caption: String::new(),
            key: Vec::new(),
        }
    }

    /// Sets the heading.
    pub fn headed(self, heading: impl Into<String>) -> Figure {
        Figure { heading: heading.into(), ..self }
    }

    /// Sets the caption.
    pub fn captioned(self, caption: impl Into<String>) -> Figure {
        Figure { caption: caption.into(), ..self }
    }
}

impl Charts {
    pub(super) fn draw(&self, sheet: &mut Sheet) {
        if self.figures.is_empty() {
            return;
        }
        sheet.section("", &self.heading, |sheet| {
            sheet.paragraph("lead", &self.lead);
            if self.small {
                sheet.out.open("div", &[("class", "small")]);
            }
            self.figures.iter().for_each(|figure| sheet.figure(figure, self.small));
            if self.small {
                sheet.out.close("div");
            }
        });
    }
}
