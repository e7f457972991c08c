//! Draws a chart as SVG at one of its widths.

mod level;

use super::names::{self, KEY_ROW, LINE, NAME_GAP, SWATCH};
use super::{Axis, Band, Cell, Chart, Column, Look, Mark, Stretch, Width};
use crate::markup::{Markup, place};
use crate::text;

/// Maximum number of characters for names at the right.
const NAME_MOST: usize = 28;
/// Distance between the frame and tick labels.
const TICK_GAP: f64 = 8.0;
/// Extra width of six digits in fonts where digits are wider than average text.
const WIDE_DIGITS: f64 = 4.0;
/// Radius of a point.
const DOT: f64 = 3.0;

/// Sizes in pixels at a drawing's natural scale.
struct Measures {
    width: f64,
    left: f64,
    /// Factor for the height of the wide drawing, and minimum height.
    height: (f64, f64),
    ticks: u32,
    /// Whether names are at the ends of their lines.
    names_at_ends: bool,
}

impl Width {
    fn measures(self) -> Measures {
        match self {
            Width::Wide => Measures { width: 900.0, left: 64.0, height: (1.0, 0.0), ticks: 10, names_at_ends: true },
            Width::Narrow => {
                Measures { width: 360.0, left: 52.0, height: (0.7, 170.0), ticks: 5, names_at_ends: false }
            }
        }
    }

    /// Width of the drawing.
    pub(crate) fn pixels(self) -> f64 {
        self.measures().width
    }

    /// Left edge of a chart's frame, if tick labels have their usual length.
    pub(crate) fn left(self) -> f64 {
        self.measures().left
    }

    /// Right edge of the frame, with room for names of `room` characters.
    pub(crate) fn right(self, room: usize) -> f64 {
        let Measures { width, names_at_ends, .. } = self.measures();
        width - if names_at_ends { names::room_for(room.min(NAME_MOST)) } else { 10.0 }
    }

    pub(crate) fn names_at_ends(self) -> bool {
        self.measures().names_at_ends
    }

    pub(crate) fn class(self) -> &'static str {
        match self {
            Width::Wide => "wide",
            Width::Narrow => "narrow",
        }
    }
}

/// An entry of the key below the drawing.
struct Entry {
    text: String,
    class: String,
    swatch: Option<Swatch>,
}

enum Swatch {
    Line,
    Box,
}

/// A drawing in progress.
struct Drawing<'c> {
    chart: &'c Chart,
    measures: Measures,
    /// Left, right, top and bottom of the frame.
    frame: [f64; 4],
    svg: Markup,
    names: Vec<(f64, String, String)>,
    key: Vec<Entry>,
}

pub(super) fn draw(chart: &Chart, id: &str, width: Width, style: Option<&str>) -> String {
    let mut measures = width.measures();
    measures.names_at_ends &= chart.right.is_none();
    let frame = frame(chart, &measures);
    let mut drawing = Drawing { chart, measures, frame, svg: Markup::default(), names: Vec::new(), key: Vec::new() };
    drawing.bands();
    drawing.axes();
    chart.marks.iter().for_each(|mark| drawing.mark(mark));
    drawing.names();
    drawing.finish(id, width, style)
}

/// Left, right, top and bottom of the frame.
fn frame(chart: &Chart, measures: &Measures) -> [f64; 4] {
    let widest = |axis: &Axis| axis.ticks(5).iter().map(|(_, said)| names::width_of(said)).fold(0.0, f64::max);
    let longest = chart.marks.iter().filter_map(name_of).map(text::width).max().unwrap_or(0);
    let right = match &chart.right {
        Some(axis) => widest(axis) + 6.0,
        None if measures.names_at_ends && longest.max(chart.room) > 0 => {
            names::room_for(longest.max(chart.room).min(NAME_MOST))
        }
        None => 10.0,
    };
    let top = match () {
        () if !chart.bands.is_empty() => 34.0,
        () if !chart.y.counts().is_empty() => 26.0,
        () => 12.0,
    };
    let height = (chart.height * measures.height.0).max(measures.height.1.min(chart.height));
    let below = 26.0 + if chart.x.counts().is_empty() { 0.0 } else { LINE };
    [measures.left.max(widest(&chart.y) + WIDE_DIGITS), measures.width - right, top, height - below]
}

fn name_of(mark: &Mark) -> Option<&str> {
    match mark {
        Mark::Steps { name, .. } | Mark::Line { name, .. } | Mark::Columns { name, .. } | Mark::Area { name, .. } => {
            Some(name)
        }
        Mark::Cells(_) | Mark::Level(_) => None,
    }
}

impl Drawing<'_> {
    fn x(&self, figure: f64) -> Option<f64> {
        let [left, right, ..] = self.frame;
        Some(left + self.chart.x.part(figure)? * (right - left))
    }

    fn y(&self, figure: f64) -> Option<f64> {
        self.up(&self.chart.y, figure)
    }

    fn up(&self, axis: &Axis, figure: f64) -> Option<f64> {
        let [.., top, bottom] = self.frame;
        Some(bottom - axis.part(figure)? * (bottom - top))
    }

    fn label(&mut self, x: f64, y: f64, class: &str, text: &str) {
        self.svg.text("text", &[("class", class), ("x", &place(x)), ("y", &place(y))], text);
    }

    fn straight(&mut self, class: &str, [x1, x2, y1, y2]: [f64; 4]) {
        let [x1, x2, y1, y2] = [x1, x2, y1, y2].map(place);
        self.svg.element("line", &[("class", class), ("x1", &x1), ("x2", &x2), ("y1", &y1), ("y2", &y2)]);
    }

    fn bands(&mut self) {
        let [left, right, top, bottom] = self.frame;
        let bands = &self.chart.bands;
        let whole = |band: &Band| match band.number {
            0 => band.name.clone(),
            number => format!("{number}: {}", band.name),
        };
        let places = |drawing: &Self, band: &Band| {
            Some((drawing.x(band.from)?, drawing.x(band.to.min(drawing.chart.x.high()))?))
        };
        let all: Vec<_> = bands.iter().filter_map(|band| Some((band, places(self, band)?))).collect();
        let fits = |(band, (x1, x2)): &(&Band, (f64, f64))| names::width_of(&whole(band)) <= x2 - x1;
        let all_fit = all.iter().all(fits);
        for (index, (band, (x1, x2))) in all.into_iter().enumerate() {
            let class = if index % 2 == 0 { "band odd" } else { "band even" };
            let numbers = [place(x1), place(top), place(x2 - x1), place(bottom - top)];
            let [x, y, width, height] = &numbers;
            self.svg.open("rect", &[("class", class), ("x", x), ("y", y), ("width", width), ("height", height)]);
            let about = if band.about.is_empty() { String::new() } else { format!(": {}", band.about) };
            self.svg.text("title", &[], &format!("{}{about}", whole(band)));
            self.svg.close("rect");
            let above = match band.number {
                _ if all_fit => whole(band),
                // Without a number that of the name is used: `9` for `run 9`.
                0 => band
                    .name
                    .rsplit(' ')
                    .next()
                    .filter(|word| word.parse::<u64>().is_ok())
                    .unwrap_or_default()
                    .to_owned(),
                number => number.to_string(),
            };
            if !above.is_empty() && names::width_of(&above) - 8.0 <= x2 - x1 {
                self.label(((x1 + x2) / 2.0).clamp(left, right), top - 8.0, "phase", &above);
            }
            if !all_fit && band.number > 0 {
                self.key.push(Entry { text: whole(band), class: "phase-key".into(), swatch: None });
            }
        }
    }

    fn axes(&mut self) {
        let [left, right, top, bottom] = self.frame;
        let chart = self.chart;
        for (figure, says) in chart.y.ticks(5) {
            let Some(y) = self.y(figure) else { continue };
            self.straight("grid", [left, right, y, y]);
            self.label(left - TICK_GAP, y + 4.0, "tick y", &says);
        }
        for (figure, says) in chart.right.iter().flat_map(|axis| axis.ticks(5)) {
            let Some(y) = chart.right.as_ref().and_then(|axis| self.up(axis, figure)) else { continue };
            self.label(right + TICK_GAP, y + 4.0, "tick", &says);
        }
        let mut free = f64::NEG_INFINITY;
        for (figure, says) in chart.x.ticks(self.measures.ticks) {
            let Some(x) = self.x(figure).filter(|_| !says.is_empty()) else { continue };
            self.straight("grid", [x, x, bottom, bottom + 5.0]);
            // Labels that would touch the one before, or extend beyond the drawing, are left out.
            let half = names::width_of(&says) / 2.0;
            if x - half >= free && x - half >= 0.0 && x + half - 4.0 <= self.measures.width {
                self.label(x, bottom + 19.0, "tick x", &says);
                free = x + half;
            }
        }
        let unit = chart.y.counts();
        if !unit.is_empty() {
            // Above the tick labels, if it is short enough.
            match names::width_of(unit) + 16.0 <= left {
                true => self.label(left - 8.0, top - 12.0, "unit", unit),
                false => self.label(2.0, top - 12.0, "unit long", unit),
            }
        }
        if let Some(unit) = chart.right.as_ref().map(Axis::counts) {
            self.label(self.measures.width - 4.0, top - 12.0, "unit", unit);
        }
        if !chart.x.counts().is_empty() {
            let below = if free.is_finite() { 35.0 } else { 20.0 };
            self.label((left + right) / 2.0, bottom + below, "unit x", chart.x.counts());
        }
    }

    fn mark(&mut self, mark: &Mark) {
        match mark {
            Mark::Steps { name, stretches, look } => {
                let class = look.class();
                self.steps(stretches, &class);
                let last = stretches.iter().rev().find_map(|stretch| stretch.figure).and_then(|figure| self.y(figure));
                self.name(last, name, &class, Swatch::Line);
            }
            Mark::Area { lower, upper, name, look } => {
                // An area with a name stands for itself; one without is the spread of a line.
                let full = if name.is_empty() { "" } else { " full" };
                self.area(lower, upper, &format!("{}{full}", look.class()));
                let middle = |(low, high): (&Stretch, &Stretch)| Some((low.figure? + high.figure?) / 2.0);
                let last = lower.iter().zip(upper).rev().find_map(middle).and_then(|figure| self.y(figure));
                self.name(last, name, &look.class(), Swatch::Box);
            }
            Mark::Line { name, points, look, dots, on_right } => self.line(name, points, *look, *dots, *on_right),
            Mark::Columns { name, columns, look } => {
                columns.iter().for_each(|column| self.column(column, *look));
                let last = columns.last().and_then(|column| self.y((column.base + column.top) / 2.0));
                self.name(last, name, &look.class(), Swatch::Box);
            }
            Mark::Cells(cells) => cells.iter().for_each(|cell| self.cell(cell)),
            Mark::Level(level) => self.level(level),
        }
    }

    /// Puts a name at the right of the frame at height `at`, or into the key below the drawing.
    fn name(&mut self, at: Option<f64>, name: &str, class: &str, swatch: Swatch) {
        match at {
            _ if name.is_empty() => {}
            Some(y) if self.measures.names_at_ends => self.names.push((y, name.into(), class.into())),
            Some(_) => self.key.push(Entry { text: name.into(), class: class.into(), swatch: Some(swatch) }),
            None => {}
        }
    }

    /// Left end, right end and height of a figure's line.
    fn at(&self, stretch: &Stretch) -> Option<[String; 3]> {
        Some([self.x(stretch.from)?, self.x(stretch.to.min(self.chart.x.high()))?, self.y(stretch.figure?)?].map(place))
    }

    fn steps(&mut self, stretches: &[Stretch], class: &str) {
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

    fn area(&mut self, lower: &[Stretch], upper: &[Stretch], class: &str) {
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

    fn line(&mut self, name: &str, points: &[(f64, f64)], look: Look, dots: bool, on_right: bool) {
        let chart = self.chart;
        let axis = chart.right.as_ref().filter(|_| on_right).unwrap_or(&chart.y);
        let places: Vec<(f64, f64)> =
            points.iter().filter_map(|(x, y)| Some((self.x(*x)?, self.up(axis, *y)?))).collect();
        let class = look.class();
        if places.len() > 1 {
            let path: Vec<String> = places.iter().map(|(x, y)| format!("{} {}", place(*x), place(*y))).collect();
            self.svg.element("path", &[("class", &format!("line {class}")), ("d", &format!("M{}", path.join("L")))]);
        }
        for (x, y) in places.iter().filter(|_| dots || places.len() == 1) {
            let [x, y, radius] = [*x, *y, DOT].map(place);
            self.svg.element("circle", &[("class", &format!("dot {class}")), ("cx", &x), ("cy", &y), ("r", &radius)]);
        }
        self.name(places.last().map(|(_, y)| *y), name, &class, Swatch::Line);
    }

    fn column(&mut self, column: &Column, look: Look) {
        let places = [self.x(column.from), self.x(column.to), self.y(column.base), self.y(column.top)];
        let [Some(x1), Some(x2), Some(low), Some(high)] = places else { return };
        // Boxes are never too small to be seen.
        let numbers = [x1, high, (x2 - x1).max(0.5), (low - high).max(0.5)].map(place);
        let ([x, y, width, height], class) = (&numbers, format!("column {}", look.class()));
        let attributes = [("class", class.as_str()), ("x", x), ("y", y), ("width", width), ("height", height)];
        if column.title.is_empty() {
            return self.svg.element("rect", &attributes);
        }
        self.svg.open("rect", &attributes);
        self.svg.text("title", &[], &column.title);
        self.svg.close("rect");
    }

    fn cell(&mut self, cell: &Cell) {
        let places = [self.x(cell.x.0), self.x(cell.x.1), self.y(cell.y.0), self.y(cell.y.1)];
        let [Some(x1), Some(x2), Some(low), Some(high)] = places else { return };
        let numbers = [x1, high, x2 - x1, low - high].map(place);
        let ([x, y, width, height], class) = (&numbers, format!("h{}", cell.shade.min(super::SHADES - 1)));
        self.svg.element("rect", &[("class", &class), ("x", x), ("y", y), ("width", width), ("height", height)]);
    }

    /// Draws the names at the right, moved apart if they would overlap.
    fn names(&mut self) {
        let mut names = std::mem::take(&mut self.names);
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [_, right, top, bottom] = self.frame;
        let wanted: Vec<f64> = names.iter().map(|name| name.0).collect();
        let room = names::characters_in(self.measures.width - right);
        for (y, (_, name, class)) in names::apart(&wanted, LINE, top, bottom).into_iter().zip(names) {
            self.label(right + NAME_GAP, y + 4.0, &format!("name {class}"), &text::fit(&name, room));
        }
    }

    /// Draws the key and returns the total height.
    fn key(&mut self) -> f64 {
        let [left, _, _, bottom] = self.frame;
        let end = bottom + 26.0 + if self.chart.x.counts().is_empty() { 0.0 } else { LINE };
        let key = std::mem::take(&mut self.key);
        let left = if self.measures.names_at_ends || self.measures.width > 400.0 { left } else { 4.0 };
        let most = ((self.measures.width - left - SWATCH) / 6.6) as usize;
        let texts: Vec<_> = key.iter().map(|entry| (text::fit(&entry.text, most), entry.swatch.is_some())).collect();
        let places = names::in_rows(&texts, left, self.measures.width);
        let rows = places.iter().map(|(_, row)| row + 1).max().unwrap_or(0);
        for (entry, ((says, _), (x, row))) in key.iter().zip(texts.iter().zip(places)) {
            let y = end + 12.0 + KEY_ROW * row as f64;
            let mut at = x;
            match entry.swatch {
                Some(Swatch::Line) => {
                    let class = match entry.class.as_str() {
                        class @ ("ceiling binding" | "ceiling idle" | "limit" | "floor") => class.to_owned(),
                        class => format!("line {class}"),
                    };
                    self.straight(&class, [x, x + 14.0, y - 4.0, y - 4.0]);
                    at += SWATCH;
                }
                Some(Swatch::Box) => {
                    let ([x, y], class) = ([x, y - 10.0].map(place), format!("column {}", entry.class));
                    let attributes =
                        [("class", class.as_str()), ("x", &x), ("y", &y), ("width", "14"), ("height", "12")];
                    self.svg.element("rect", &attributes);
                    at += SWATCH;
                }
                None => {}
            }
            self.label(at, y, if entry.swatch.is_some() { "key" } else { "key phase-key" }, says);
        }
        if rows == 0 { end } else { end + KEY_ROW * rows as f64 + 4.0 }
    }

    /// The complete drawing; `style` is embedded in a drawing that stands alone.
    fn finish(mut self, id: &str, width: Width, style: Option<&str>) -> String {
        let [left, right, top, bottom] = self.frame;
        let size = [place(self.measures.width), place(self.key())];
        let view = format!("0 0 {} {}", size[0], size[1]);
        let (title, description) = (format!("{id}-title"), format!("{id}-description"));
        let class = if style.is_some() { "chart".into() } else { format!("chart {}", width.class()) };
        let range = [place(left), place(right), self.chart.x.high().to_string()];
        let mut attributes = vec![
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("class", &class),
            ("id", id),
            ("role", "img"),
            ("aria-labelledby", &title),
            ("aria-describedby", &description),
            ("viewBox", &view),
            ("width", &size[0]),
            ("height", &size[1]),
        ];
        if self.chart.x.is_time() {
            attributes.extend([("data-from", &*range[0]), ("data-to", &range[1]), ("data-seconds", &range[2])]);
        }
        let mut svg = Markup::default();
        svg.open("svg", &attributes);
        svg.text("title", &[("id", &title)], &self.chart.title);
        svg.text("desc", &[("id", &description)], &self.chart.description);
        if let Some(style) = style {
            svg.raw(&format!("<style>{style}</style>\n"));
            svg.element("rect", &[("class", "paper"), ("width", &size[0]), ("height", &size[1])]);
        } else if self.chart.x.is_time() {
            // A line by which the page's script marks the second that it shows.
            self.straight("cross", [-9.0, -9.0, top, bottom]);
        }
        svg.raw(&self.svg.finish());
        svg.close("svg");
        svg.finish()
    }
}
