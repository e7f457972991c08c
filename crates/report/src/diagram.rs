//! A drawing of what something consists of: boxes below each other with arrows between them;
//! several boxes of a kind are a pile with their number.

use crate::markup::{Markup, place};
use crate::palette::LIGHT;
use crate::text;

/// A box.
pub struct Part {
    /// Its heading.
    pub title: String,
    /// Its lines of text.
    pub lines: Vec<String>,
    /// How many of it there are.
    pub copies: u64,
}

const WIDTH: f64 = 640.0;
const LEFT: f64 = 24.0;
const BOX_WIDTH: f64 = 560.0;
const LINE: f64 = 18.0;
const GAP: f64 = 30.0;
/// Characters in a line of a box.
const COLUMNS: usize = 78;
/// Characters in the heading, and its height.
const HEADING_COLUMNS: usize = 70;
const HEADING_LINE: f64 = 20.0;
/// Offset of the boxes in a pile.
const STEP: f64 = 5.0;

/// The drawing as an SVG file.
pub fn render(title: &str, parts: &[Part]) -> String {
    let laid: Vec<(&Part, Vec<String>)> =
        parts.iter().map(|part| (part, text::wrap(&part.lines.join("  ·  "), COLUMNS))).collect();
    let heights: Vec<f64> = laid.iter().map(|(_, lines)| 34.0 + LINE * lines.len() as f64).collect();
    let heading = text::wrap(title, HEADING_COLUMNS);
    let head = 32.0 + HEADING_LINE * heading.len() as f64;
    let height = head + heights.iter().map(|height| height + GAP).sum::<f64>();
    let mut svg = Markup::default();
    let view = format!("0 0 {} {}", place(WIDTH), place(height));
    svg.open(
        "svg",
        &[
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("viewBox", &view),
            ("width", &place(WIDTH)),
            ("height", &place(height)),
            ("font-family", "system-ui, sans-serif"),
            ("font-size", "12"),
            ("role", "img"),
        ],
    );
    svg.text("title", &[], title);
    svg.element("rect", &[("width", "100%"), ("height", "100%"), ("fill", LIGHT.paper)]);
    for (row, words) in heading.iter().enumerate() {
        let y = place(30.0 + HEADING_LINE * row as f64);
        svg.text("text", &[("x", &place(LEFT)), ("y", &y), ("font-size", "15"), ("fill", LIGHT.ink)], words);
    }
    let mut top = head - 2.0;
    for (index, ((part, lines), height)) in laid.iter().zip(&heights).enumerate() {
        if index > 0 {
            arrow(&mut svg, top - GAP + 2.0, top - 3.0);
        }
        draw(&mut svg, part, lines, top, *height);
        top += height + GAP;
    }
    svg.close("svg");
    svg.finish()
}

fn draw(svg: &mut Markup, part: &Part, lines: &[String], top: f64, height: f64) {
    let pile = if part.copies > 1 { 2 } else { 0 };
    for step in (0..=pile).rev() {
        let away = STEP * f64::from(step);
        svg.element(
            "rect",
            &[
                ("x", &place(LEFT + away)),
                ("y", &place(top + away)),
                ("width", &place(BOX_WIDTH)),
                ("height", &place(height)),
                ("rx", "6"),
                ("fill", LIGHT.shade),
                ("stroke", LIGHT.muted),
            ],
        );
    }
    let x = place(LEFT + 12.0);
    let line = |svg: &mut Markup, row: usize, weight: &str, colour: &str, words: &str| {
        let y = place(top + 22.0 + LINE * row as f64);
        svg.text("text", &[("x", &x), ("y", &y), ("font-weight", weight), ("fill", colour)], words);
    };
    let title = if part.copies > 1 { format!("{}  × {}", part.title, part.copies) } else { part.title.clone() };
    line(svg, 0, "600", LIGHT.ink, &text::fit(&title, COLUMNS));
    lines.iter().enumerate().for_each(|(row, words)| line(svg, row + 1, "400", LIGHT.muted, words));
}

fn arrow(svg: &mut Markup, from: f64, to: f64) {
    let x = LEFT + BOX_WIDTH / 2.0;
    let path = format!("M{0} {1}V{2}m-5 -7l5 7l5 -7", place(x), place(from), place(to));
    svg.element("path", &[("d", &path), ("fill", "none"), ("stroke", LIGHT.ink), ("stroke-width", "1.5")]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_drawn_and_several_are_a_pile() {
        let part = |title: &str, copies| Part { title: title.into(), lines: vec!["a < b".into()], copies };
        let svg = render("two & two", &[part("link", 1), part("disk", 8)]);
        // The paper, one box, and three for the pile.
        assert_eq!(svg.matches("<rect").count(), 1 + 1 + 3);
        assert_eq!(svg.matches("<path").count(), 1, "an arrow between two");
        assert!(svg.contains("disk  × 8") && svg.contains("two &amp; two") && svg.contains("a &lt; b"), "{svg}");
    }
}
