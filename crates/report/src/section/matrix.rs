//! A figure as a function of two others, in a table whose cells are darker for higher figures.

use crate::chart::SHADES;
use crate::sheet::Sheet;
use crate::text;

/// A section of matrices, all with the same shades.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// The heading.
    pub heading: String,
    /// Introduction.
    pub lead: String,
    /// The matrices.
    pub grids: Vec<Grid>,
}

/// A matrix.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// The figure with its unit, and its owner if there are several.
    pub caption: String,
    /// What the columns stand for.
    pub across: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// What the rows stand for.
    pub down: String,
    /// The names of the rows.
    pub rows: Vec<String>,
    /// The figures, row by row; `None` if not measured.
    pub figures: Vec<Vec<Option<f64>>>,
}

impl Matrix {
    pub(super) fn draw(&self, sheet: &mut Sheet) {
        let figures = || self.grids.iter().flat_map(|grid| grid.figures.iter().flatten()).flatten().copied();
        let (least, most) = (figures().fold(f64::INFINITY, f64::min), figures().fold(f64::NEG_INFINITY, f64::max));
        sheet.section("", &self.heading, |sheet| {
            sheet.paragraph("lead", &self.lead);
            sheet.out.open("div", &[("class", "abreast")]);
            for grid in &self.grids {
                sheet.wide(&grid.caption, |sheet| grid.draw(sheet, least, most));
            }
            sheet.out.close("div");
        });
    }
}

impl Grid {
    fn draw(&self, sheet: &mut Sheet, least: f64, most: f64) {
        let out = &mut sheet.out;
        out.open("table", &[("class", "matrix")]);
        out.text("caption", &[], &self.caption);
        out.open("thead", &[]);
        out.open("tr", &[]);
        out.text("th", &[("scope", "col"), ("class", "l")], &format!("{}\u{a0}↓ {}\u{a0}→", self.down, self.across));
        self.columns.iter().for_each(|name| out.text("th", &[("scope", "col")], name));
        out.close("tr");
        out.close("thead");
        out.open("tbody", &[]);
        for (name, figures) in self.rows.iter().zip(&self.figures) {
            out.open("tr", &[]);
            out.text("th", &[("scope", "row"), ("class", "l")], name);
            for figure in figures {
                match figure {
                    Some(figure) => {
                        let class = format!("h{}", shade(*figure, least, most));
                        out.text("td", &[("class", &class)], &text::significant(*figure));
                    }
                    None => out.text("td", &[], "–"),
                }
            }
            out.close("tr");
        }
        out.close("tbody");
        out.close("table");
    }
}

/// The shade of a figure between minimum and maximum.
fn shade(figure: f64, least: f64, most: f64) -> usize {
    let part = if most > least { (figure - least) / (most - least) } else { 0.0 };
    ((part * SHADES as f64) as usize).min(SHADES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_the_least_to_the_most() {
        let shades = [10.0, 50.0, 100.0].map(|figure| shade(figure, 10.0, 100.0));
        assert_eq!(shades, [0, 4, SHADES - 1]);
        assert_eq!(shade(5.0, 5.0, 5.0), 0, "one figure alone is neither high nor low");
    }
}
