//! Rows of coloured cells that show states over time. A mark at the bottom of a cell says that
//! something was missed.
//!
//! ```text
//!   server1 │▒▒▒▒▒▒▒▒████████████████│
//!   server2 │░░░░░░░░░░▁▁░░░░░░░░░░░░│   ▁ missed
//! ```

use super::{Axis, Look, Width, names};
use crate::markup::{Markup, place};
use crate::text;

/// Height of a row, and of its cells.
const ROW: f64 = 24.0;
const CELL: f64 = 18.0;
/// Height of the mark.
const MARK: f64 = 5.0;
/// Height of a name above its row.
const NAME: f64 = 16.0;

/// A drawing of strips.
#[derive(Clone, Debug)]
pub struct Strips {
    /// Its title.
    pub title: String,
    /// The same axis as in the charts around it.
    pub x: Axis,
    /// The rows.
    pub rows: Vec<Strip>,
    /// See [`super::Chart::room`].
    pub room: usize,
}

/// A row of cells.
#[derive(Clone, Debug)]
pub struct Strip {
    /// Its name.
    pub name: String,
    /// The colour of its name.
    pub look: Look,
    /// Its cells.
    pub cells: Vec<StripCell>,
}

/// A cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct StripCell {
    /// Left end on the horizontal axis.
    pub from: f64,
    /// Right end.
    pub to: f64,
    /// The class that sets its colour.
    pub class: &'static str,
    /// Its tooltip.
    pub title: String,
    /// Whether it has the mark.
    pub missed: bool,
}

impl Default for Strips {
    fn default() -> Strips {
        Strips { title: String::new(), x: Axis::seconds(0.0), rows: Vec::new(), room: 0 }
    }
}

impl Strips {
    /// The drawing as SVG.
    pub(crate) fn svg(&self, id: &str, width: Width) -> String {
        let (left, right) = (width.left(), width.right(self.room));
        let x = |figure: f64| Some(left + self.x.part(figure)? * (right - left));
        // Names are above the rows if there is no room beside them.
        let above = if width.names_at_ends() { 0.0 } else { NAME };
        let size = [place(width.pixels()), place((ROW + above) * self.rows.len() as f64)];
        let view = format!("0 0 {} {}", size[0], size[1]);
        let class = format!("chart strips {}", width.class());
        let mut svg = Markup::default();
        let attributes = [("class", &*class), ("id", id), ("role", "img"), ("aria-label", &self.title)];
        let sizes = [("viewBox", &*view), ("width", &size[0]), ("height", &size[1])];
        svg.open("svg", &[&attributes[..], &sizes].concat());
        for (index, row) in self.rows.iter().enumerate() {
            let top = (ROW + above) * index as f64 + above;
            for cell in &row.cells {
                let (Some(x1), Some(x2)) = (x(cell.from), x(cell.to.min(self.x.high()))) else { continue };
                rect(&mut svg, cell.class, [x1, x2, top, CELL], &cell.title);
                if cell.missed {
                    rect(&mut svg, "missed", [x1, x2, top + CELL - MARK, MARK], &cell.title);
                }
            }
            let class = format!("name {}", row.look.class());
            let (at, y, room) = match width.names_at_ends() {
                true => (right + names::NAME_GAP, top + CELL - 4.0, names::characters_in(width.pixels() - right)),
                false => (left, top - 4.0, names::characters_in(width.pixels() - left)),
            };
            svg.text("text", &[("class", &class), ("x", &place(at)), ("y", &place(y))], &text::fit(&row.name, room));
        }
        svg.close("svg");
        svg.finish()
    }
}

fn rect(svg: &mut Markup, class: &str, [x1, x2, y, height]: [f64; 4], title: &str) {
    let numbers = [place(x1), place(y), place(x2 - x1), place(height)];
    let [x, y, width, height] = &numbers;
    svg.open("rect", &[("class", class), ("x", x), ("y", y), ("width", width), ("height", height)]);
    svg.text("title", &[], title);
    svg.close("rect");
}
