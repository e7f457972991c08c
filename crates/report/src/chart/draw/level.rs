//! Draws levels (limits, bounds, means) as horizontal lines, and finds room for their labels.

use super::{Drawing, Entry, Swatch};
use crate::chart::names::LINE;
use crate::chart::{Column, LevelKind, Mark, Threshold, names};

impl Drawing<'_> {
    pub(super) fn level(&mut self, level: &Threshold) {
        let (Some(x1), Some(x2), Some(y)) = (self.x(level.from), self.x(level.to), self.y(level.figure)) else {
            return;
        };
        let class = match level.kind {
            LevelKind::Ceiling => "ceiling binding",
            LevelKind::IdleCeiling => "ceiling idle",
            LevelKind::Floor => "floor",
            LevelKind::Limit => "limit",
        };
        if level.kind == LevelKind::Floor {
            // A line that just meets its floor is hidden by the dots, so each dot has a ring in the
            // colour of the paper.
            self.straight("floor ring", [x1, x2, y, y]);
        }
        self.straight(class, [x1, x2, y, y]);
        let said = match level.kind {
            LevelKind::Limit => self.say_free(level, [x1, x2, y]),
            _ => self.say(level, [x1, x2, y]),
        };
        if !said {
            let band =
                self.chart.bands.iter().find(|band| band.number > 0 && band.from <= level.from && level.from < band.to);
            let before = band.map_or(String::new(), |band| format!("{}: ", band.number));
            let text = before + &level.says.join(" ");
            if !level.says.is_empty() && self.key.iter().all(|entry| entry.text != text) {
                self.key.push(Entry { text, class: class.into(), swatch: Some(Swatch::Line) });
            }
        }
    }

    /// Writes a limit's label above or below one of its ends, where it hides no line; returns
    /// whether there was room.
    fn say_free(&mut self, level: &Threshold, [x1, x2, y]: [f64; 3]) -> bool {
        let says = level.says.join(" ");
        let width = names::width_of(&says);
        if width > x2 - x1 {
            return false;
        }
        let lines: Vec<Vec<(f64, f64)>> = self.chart.marks.iter().filter_map(|mark| self.places(mark)).collect();
        let [_, _, top, bottom] = self.frame;
        let (x, y) = names::free_place(&lines, x1..x2, y, width, top..bottom);
        self.label(x + width / 2.0, y, "says", &says);
        true
    }

    /// The course of a line, or of the upper edge of columns.
    fn places(&self, mark: &Mark) -> Option<Vec<(f64, f64)>> {
        let place = |x: f64, y: f64| Some((self.x(x)?, self.y(y)?));
        match mark {
            Mark::Line { points, on_right: false, .. } => {
                Some(points.iter().filter_map(|(x, y)| place(*x, *y)).collect())
            }
            Mark::Columns { columns, .. } => {
                let edge = |column: &Column| [place(column.from, column.top), place(column.to, column.top)];
                Some(columns.iter().flat_map(edge).flatten().collect())
            }
            _ => None,
        }
    }

    /// Writes the label of a level beside it; returns whether there was room.
    fn say(&mut self, level: &Threshold, [x1, x2, y]: [f64; 3]) -> bool {
        let fits = |line: &String| names::width_of(line) <= x2 - x1;
        let whole = level.says.join(" ");
        // All on one line, or each part on its own line, or only the number if names are at the
        // ends of lines.
        let lines = match &level.says[..] {
            _ if fits(&whole) => vec![whole],
            [.., number] if !level.says.iter().all(fits) && self.measures.names_at_ends => vec![number.clone()],
            says => says.to_vec(),
        };
        if !lines.iter().all(fits) {
            return false;
        }
        let height = LINE * lines.len() as f64;
        let [_, _, top, bottom] = self.frame;
        // On its usual side, unless that is outside the frame.
        let above = match level.kind {
            LevelKind::Floor => y + height > bottom,
            _ => y - height >= top,
        };
        let first = if above { y - 5.0 - (height - LINE) } else { y + LINE };
        for (i, line) in lines.iter().enumerate() {
            self.label((x1 + x2) / 2.0, first + LINE * i as f64, "says", line);
        }
        true
    }
}
