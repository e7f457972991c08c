//! A small chart: figures over time as lines on a frame, phases as bands behind them, ceilings as dashes over them, and
//! every line named at its end.
//!
//! ```text
//!   title   1 even      2 bully   │ 3 ceiling
//!      ├───────────────┬──────────┼───────────┐
//!      │               │  ╭────── │  vol1 ≤ … │
//!      │               │ ╭╯       │ ─ ─ ─ ─ ─ │ server1
//!      │ ──────────────│─╯        │ ───────── │ server2
//!      └───────────────┴──────────┴───────────┘
//!        0 s              10 s        20 s
//! ```
//!
//! Elements carry classes and no colours; a style sheet says how they look in light, in dark and on paper
//! (see [`crate::palette`]).

mod axis;
pub(crate) mod svg;

pub(crate) use axis::Axis;

use crate::text;
use svg::{Svg, place};

/// Places between the edge of the drawing and the frame.
pub(crate) const MARGIN_LEFT: f64 = 64.0;
const MARGIN_BOTTOM: f64 = 26.0;
/// Width of a character at 12 px, a little more than the usual fonts take on average.
const CHARACTER: f64 = 6.6;
/// Width of a bold one.
const BOLD_CHARACTER: f64 = 7.6;
/// Between the frame and the names at its right.
const NAME_GAP: f64 = 8.0;
/// Height of a line of text.
const LINE: f64 = 15.0;

/// What a chart is: its size in pixels at its natural scale, and what it says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Unlike any other on the page.
    pub id: String,
    /// What it shows, for those who cannot see it, and as its title.
    pub title: String,
    /// The figures in words.
    pub description: String,
    /// What the vertical axis counts; empty where its ticks say so.
    pub unit: String,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    /// Room on the right for the names of the lines.
    pub names: f64,
    /// Room above the frame; the names of the phases and the unit stand in it.
    pub top: f64,
}

/// A stretch of time behind the lines.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    /// Start in seconds.
    pub from: f64,
    /// End in seconds.
    pub to: f64,
    /// Its number, from 1.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// What it shows.
    pub about: String,
}

/// A figure that held for a stretch of time. It is drawn flat over all of it: a line from middle to middle would show a
/// rate above its ceiling before and after every change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Start in seconds.
    pub from: f64,
    /// End in seconds.
    pub to: f64,
    /// The figure; `None` breaks the line.
    pub figure: Option<f64>,
}

/// A chart under way. What is added later lies above.
pub(crate) struct Chart {
    setup: Setup,
    x: Axis,
    y: Axis,
    svg: Svg,
    names: Vec<(f64, String, String)>,
}

impl Chart {
    /// An empty frame with its axes; `tick` says a figure of the vertical one.
    pub(crate) fn new(setup: Setup, x: Axis, y: Axis, bands: &[Band], tick: impl Fn(f64) -> String) -> Chart {
        let (right, bottom) = (setup.width - setup.names, setup.height - MARGIN_BOTTOM);
        let (x, y) = (x.laid(MARGIN_LEFT, right), y.laid(bottom, setup.top));
        let mut chart = Chart { setup, x, y, svg: Svg::default(), names: Vec::new() };
        chart.draw_bands(bands);
        chart.draw_axes(tick);
        chart
    }

    /// A line over the stretches.
    pub(crate) fn line(&mut self, stretches: &[Stretch], class: &str) {
        let mut path = String::new();
        let mut drawing = false;
        for place in stretches.iter().map(|stretch| self.at(stretch)) {
            match &place {
                Some([x1, x2, y]) if drawing => path.push_str(&format!("L{x1} {y}H{x2}")),
                Some([x1, x2, y]) => path.push_str(&format!("M{x1} {y}H{x2}")),
                None => {}
            }
            drawing = place.is_some();
        }
        if !path.is_empty() {
            self.svg.element("path", &[("class", &format!("line {class}")), ("d", &path)]);
        }
    }

    /// The area between two lines over the same stretches, where both are.
    pub(crate) fn area(&mut self, lower: &[Stretch], upper: &[Stretch], class: &str) {
        let pairs: Vec<_> = lower.iter().zip(upper).map(|(low, high)| Some((self.at(low)?, self.at(high)?))).collect();
        let mut path = String::new();
        for run in pairs.split(Option::is_none).filter(|run| !run.is_empty()) {
            let above = run.iter().flatten().map(|(_, [x1, x2, y])| format!("{x1} {y}H{x2}"));
            let below = run.iter().flatten().rev().map(|([x1, x2, y], _)| format!("{x2} {y}H{x1}"));
            path.push_str(&format!("M{}Z", above.chain(below).collect::<Vec<_>>().join("L")));
        }
        if !path.is_empty() {
            self.svg.element("path", &[("class", &format!("area {class}")), ("d", &path)]);
        }
    }

    /// A ceiling over a stretch of time, dashed, with what it says above it where that fits.
    pub(crate) fn ceiling(&mut self, from: f64, to: f64, figure: f64, says: &[String], class: &str) {
        self.level(from, to, figure, says, &format!("ceiling {class}"), true);
    }

    /// A floor over a stretch of time, dotted, with what it says below it where that fits. A line that just meets its
    /// floor lies beneath the dots, so each has a ring of paper around it.
    pub(crate) fn floor(&mut self, from: f64, to: f64, figure: f64, says: &[String]) {
        self.level(from, to, figure, &[], "floor ring", false);
        self.level(from, to, figure, says, "floor", false);
    }

    fn level(&mut self, from: f64, to: f64, figure: f64, says: &[String], class: &str, above: bool) {
        let (Some(x1), Some(x2), Some(y)) = (self.x.place(from), self.x.place(to), self.y.place(figure)) else {
            return;
        };
        let line = [("x1", place(x1)), ("x2", place(x2)), ("y1", place(y)), ("y2", place(y))];
        let mut attributes: Vec<(&str, &str)> = line.iter().map(|(key, value)| (*key, value.as_str())).collect();
        attributes.push(("class", class));
        self.svg.element("line", &attributes);
        let fits = |line: &String| says_width(line) <= x2 - x1;
        let whole = says.join(" ");
        // All in one line, or each part in its own, or the number alone.
        let lines = match says {
            _ if fits(&whole) => vec![whole],
            [.., number] if !says.iter().all(fits) => vec![number.clone()],
            _ => says.to_vec(),
        };
        let height = LINE * lines.len() as f64;
        let (bottom, _) = self.y.places();
        // On its own side, unless that leaves the frame.
        let is_above = if above { y - height >= self.setup.top } else { y + height > bottom };
        let first = if is_above { y - 5.0 - (height - LINE) } else { y + LINE };
        if lines.iter().all(fits) {
            for (i, line) in lines.iter().enumerate() {
                self.label((x1 + x2) / 2.0, first + LINE * i as f64, "says", line);
            }
        }
    }

    /// Names a line at its right end, at the height of `figure`.
    pub(crate) fn name(&mut self, figure: f64, name: impl Into<String>, class: impl Into<String>) {
        if let Some(y) = self.y.place(figure) {
            self.names.push((y, name.into(), class.into()));
        }
    }

    /// The whole drawing; `style` is put inside, for a drawing that stands alone.
    pub(crate) fn finish(mut self, style: Option<&str>) -> String {
        self.draw_names();
        let Setup { id, title, description, width, height, .. } = &self.setup;
        let ((x1, x2), (y1, y2)) = (self.x.places(), self.y.places());
        let size = [place(*width), place(*height)];
        let view = format!("0 0 {} {}", size[0], size[1]);
        let (title_id, description_id) = (format!("{id}-title"), format!("{id}-description"));
        let mut svg = Svg::default();
        let range = [place(x1), place(x2), format!("{}", self.x.high())];
        svg.open(
            "svg",
            &[
                ("xmlns", "http://www.w3.org/2000/svg"),
                ("class", "chart"),
                ("id", id),
                ("role", "img"),
                ("aria-labelledby", &title_id),
                ("aria-describedby", &description_id),
                ("viewBox", &view),
                ("width", &size[0]),
                ("height", &size[1]),
                ("data-from", &range[0]),
                ("data-to", &range[1]),
                ("data-seconds", &range[2]),
            ],
        );
        svg.text("title", &[("id", &title_id)], title);
        svg.text("desc", &[("id", &description_id)], description);
        if let Some(style) = style {
            svg.raw(&format!("<style>{style}</style>\n"));
            svg.element("rect", &[("class", "paper"), ("width", &size[0]), ("height", &size[1])]);
        }
        svg.raw(&self.svg.finish());
        if style.is_none() {
            // Where the page's script shows which second it tells of.
            let cross = [("class", "cross"), ("x1", "-9"), ("x2", "-9"), ("y1", &place(y2)), ("y2", &place(y1))];
            svg.element("line", &cross);
        }
        svg.close("svg");
        svg.finish()
    }

    /// Its left and right end and its height.
    fn at(&self, stretch: &Stretch) -> Option<[String; 3]> {
        let places = [self.x.place(stretch.from)?, self.x.place(stretch.to)?, self.y.place(stretch.figure?)?];
        Some(places.map(place))
    }

    fn label(&mut self, x: f64, y: f64, class: &str, text: &str) {
        self.svg.text("text", &[("class", class), ("x", &place(x)), ("y", &place(y))], text);
    }

    fn draw_bands(&mut self, bands: &[Band]) {
        let (bottom, top) = self.y.places();
        for band in bands {
            let (Some(x1), Some(x2)) = (self.x.place(band.from), self.x.place(band.to)) else { continue };
            let class = if band.number % 2 == 0 { "band even" } else { "band odd" };
            let numbers = [place(x1), place(top), place(x2 - x1), place(bottom - top)];
            let [x, y, width, height] = &numbers;
            let attributes = [("class", class), ("x", x), ("y", y), ("width", width), ("height", height)];
            self.svg.open("rect", &attributes);
            let about = if band.about.is_empty() { String::new() } else { format!(": {}", band.about) };
            self.svg.text("title", &[], &format!("{} {}{about}", band.number, band.name));
            self.svg.close("rect");
            if self.setup.top >= LINE * 2.0 {
                self.draw_band_name(band, (x1 + x2) / 2.0, x2 - x1);
            }
        }
    }

    /// Number and name, or the number alone, or nothing, as there is room.
    fn draw_band_name(&mut self, band: &Band, middle: f64, width: f64) {
        let number = band.number.to_string();
        let whole = format!("{number} {}", band.name);
        let Some(text) = [whole, number].into_iter().find(|text| says_width(text) <= width) else { return };
        self.label(middle, self.setup.top - 8.0, "phase", &text);
    }

    fn draw_axes(&mut self, tick: impl Fn(f64) -> String) {
        let ((left, right), (bottom, top)) = (self.x.places(), self.y.places());
        for figure in self.y.ticks() {
            let Some(y) = self.y.place(figure) else { continue };
            let line = [place(left), place(right), place(y)];
            self.svg.element(
                "line",
                &[("class", "grid"), ("x1", &line[0]), ("x2", &line[1]), ("y1", &line[2]), ("y2", &line[2])],
            );
            self.label(left - 8.0, y + 4.0, "tick y", &tick(figure));
        }
        for second in self.x.ticks() {
            let Some(x) = self.x.place(second) else { continue };
            let line = [place(x), place(bottom), place(bottom + 5.0)];
            self.svg.element(
                "line",
                &[("class", "grid"), ("x1", &line[0]), ("x2", &line[0]), ("y1", &line[1]), ("y2", &line[2])],
            );
            self.label(x, bottom + 19.0, "tick x", &clock(second, self.x.high()));
        }
        if !self.setup.unit.is_empty() {
            let unit = self.setup.unit.clone();
            self.label(left - 8.0, top - 12.0, "unit", &unit);
        }
    }

    /// The names at the right, moved apart where they would overlap.
    fn draw_names(&mut self) {
        let mut names = std::mem::take(&mut self.names);
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (bottom, top) = self.y.places();
        let wanted: Vec<f64> = names.iter().map(|name| name.0).collect();
        let (_, right) = self.x.places();
        let room = ((self.setup.names - NAME_GAP) / BOLD_CHARACTER) as usize;
        for (y, (_, name, class)) in apart(&wanted, LINE, top, bottom).into_iter().zip(names) {
            self.label(right + NAME_GAP, y + 4.0, &format!("name {class}"), &text::fit(&name, room));
        }
    }
}

/// How much room at the right a name of so many characters needs.
pub(crate) fn room_for_name(characters: usize) -> f64 {
    (NAME_GAP + BOLD_CHARACTER * characters as f64).ceil()
}

/// Places at least `gap` apart and within `low..=high` where that has room for all, near the wanted ones (ascending).
fn apart(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    // Groups of touching names, each as high as its members need, centred on the mean of what they want.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for &place in wanted {
        let mut group = (place, 1);
        loop {
            let half = gap * (group.1 - 1) as f64 / 2.0;
            group.0 = group.0.min(high - half).max(low + half);
            match groups.last() {
                Some(&(mean, count)) if group.0 - mean < gap * (count + group.1) as f64 / 2.0 => {
                    groups.pop();
                    let total = mean * count as f64 + group.0 * group.1 as f64;
                    group = (total / (count + group.1) as f64, count + group.1);
                }
                _ => break,
            }
        }
        groups.push(group);
    }
    let members =
        |(mean, count): (f64, usize)| (0..count).map(move |i| mean + gap * (i as f64 - (count - 1) as f64 / 2.0));
    groups.into_iter().flat_map(members).collect()
}

/// The second of a run as its axis says it: `20 s` in short runs, minutes and hours in longer ones.
fn clock(second: f64, whole: f64) -> String {
    if whole < 120.0 && second.fract() == 0.0 {
        format!("{second} s")
    } else if whole < 120.0 {
        format!("{second:.1} s")
    } else {
        text::clock(block::Span::from_secs_f64(second))
    }
}

fn says_width(text: &str) -> f64 {
    text::width(text) as f64 * CHARACTER + 8.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_do_not_touch_stay_where_they_are() {
        assert_eq!(apart(&[10.0, 40.0], 15.0, 0.0, 100.0), [10.0, 40.0]);
        // 50 and 52 are moved apart around their middle, 51.
        assert_eq!(apart(&[10.0, 50.0, 52.0], 15.0, 0.0, 100.0), [10.0, 43.5, 58.5]);
    }

    proptest! {
        /// With room for all, names are in order, at least a gap apart, and inside the frame.
        #[test]
        fn names_never_overlap(mut wanted in prop::collection::vec(0.0..200.0f64, 1..10)) {
            wanted.sort_by(f64::total_cmp);
            let places = apart(&wanted, 15.0, 0.0, 200.0);
            prop_assert_eq!(places.len(), wanted.len());
            prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 15.0 - 1e-6), "{:?}", places);
            prop_assert!(places.iter().all(|place| (-1e-6..=200.0 + 1e-6).contains(place)), "{:?}", places);
        }
    }
}
