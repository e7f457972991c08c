//! A small graph: lines over a frame, each named at its end, and a limit across. Heights begin at zero; so does what lies
//! across, unless all of it is far away from there.

use std::ops::Range;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 130.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 42.0;
/// Height of a line of text.
const TEXT: f64 = 15.0;

/// What is drawn.
pub(crate) struct Graph<'a> {
    /// What the horizontal axis counts.
    pub x: &'a str,
    /// What the vertical axis counts.
    pub y: &'a str,
    /// The lines, three at most: there are three colours.
    pub lines: Vec<Line<'a>>,
    /// A value not to be passed, and what it is called.
    pub limit: Option<(f64, String)>,
    /// A height that must have room, so that graphs beside each other have one scale; zero where there is only one.
    pub room: f64,
}

/// A line.
pub(crate) struct Line<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Its points are few, and each is shown; else each is a level that holds until the next.
    pub dots: bool,
}

impl Graph<'_> {
    /// The drawing.
    pub(crate) fn svg(&self) -> String {
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let most = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(0.0, f64::max);
        let least = all().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let (x_low, x_top, x_step) = range(least, most(|point| point.0));
        let limit = self.limit.as_ref().map_or(0.0, |(limit, _)| *limit);
        let (y_top, y_step) = scale(most(|point| point.1).max(limit * 1.05).max(self.room));
        let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * (value - x_low) / (x_top - x_low);
        let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / y_top;
        let (right, bottom) = (x(x_top), y(0.0));
        let mut svg =
            format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img aria-label=\"{} by {}\">", self.y, self.x);
        for value in ticks(y_top, y_step) {
            let at = y(value);
            svg += &format!("<line class=grid x1={LEFT} x2={right:.1} y1={at:.1} y2={at:.1} />");
            svg += &text(LEFT - 8.0, at + 4.0, "end", "", &number(value, y_step));
        }
        for value in ticks(x_top - x_low, x_step).map(|value| value + x_low) {
            svg += &text(x(value), bottom + 17.0, "middle", "", &number(value, x_step));
        }
        let (width, height) = (right - LEFT, bottom - TOP);
        svg += &format!("<rect class=frame x={LEFT} y={TOP} width={width:.1} height={height:.1} />");
        svg += &text(LEFT, TOP - 8.0, "start", "", self.y);
        svg += &text((LEFT + right) / 2.0, HEIGHT - 6.0, "middle", "", self.x);
        if let Some((value, _)) = &self.limit {
            let at = y(*value);
            svg += &format!("<line class=limit x1={LEFT} x2={right:.1} y1={at:.1} y2={at:.1} />");
        }
        self.draw_lines(&mut svg, x, y);
        if let Some((value, name)) = &self.limit {
            let drawn: Vec<_> = self.lines.iter().map(|line| places(line, x, y)).collect();
            let (left, baseline) = free_place(&drawn, LEFT..right, y(*value), 7.0 * name.chars().count() as f64);
            // Above all lines, if it has to be read where one crosses it.
            svg += &text(left, baseline, "start", "over", name);
        }
        svg + "</svg>"
    }

    fn draw_lines(&self, svg: &mut String, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) {
        let mut names: Vec<(f64, usize, &str)> = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let Some(last) = line.points.last() else { continue };
            let places = places(line, &x, &y);
            let places: Vec<String> = places.iter().map(|place| format!("{:.1},{:.1}", place.0, place.1)).collect();
            let dashes = if line.dots { " dots" } else { "" };
            *svg += &format!("<polyline class=\"l{number}{dashes}\" points=\"{}\" />", places.join(" "));
            if line.dots {
                for point in &line.points {
                    *svg += &format!("<circle class=l{number} cx={:.1} cy={:.1} r=3 />", x(point.0), y(point.1));
                }
            }
            names.push((y(last.1), number, line.name));
        }
        // From the top down, each at least a line below the one before.
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = TOP;
        let room = HEIGHT - BOTTOM - TEXT * names.len() as f64;
        for (index, (at, number, name)) in names.into_iter().enumerate() {
            let at = at.min(room + TEXT * (index + 1) as f64).max(free);
            free = at + TEXT;
            *svg += &text(WIDTH - RIGHT + 8.0, at + 4.0, "start", &format!("l{number}"), name);
        }
    }
}

fn text(x: f64, y: f64, anchor: &str, class: &str, says: &str) -> String {
    format!("<text x={x:.1} y={y:.1} text-anchor={anchor} class=\"{class}\">{says}</text>")
}

/// Where a line goes in the drawing.
fn places(line: &Line<'_>, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let points = if line.dots { line.points.clone() } else { steps(&line.points) };
    points.into_iter().map(|point| (x(point.0), y(point.1))).collect()
}

/// The left end and the baseline of a name `width` long for the height `at`: above or below it, at the left or the right end
/// of `across`, the first of these where no line goes; above at the left if there is none.
fn free_place(lines: &[Vec<(f64, f64)>], across: Range<f64>, at: f64, width: f64) -> (f64, f64) {
    const GAP: f64 = 6.0;
    let (left, right) = (across.start + GAP, across.end - GAP - width);
    let (above, below) = (at - 5.0, at + TEXT);
    let is_free = |place: &(f64, f64)| {
        let (x, y) = (place.0..place.0 + width, place.1 - TEXT..place.1 + 3.0);
        let mut pairs = lines.iter().flat_map(|line| line.windows(2));
        !pairs.any(|pair| touches((pair[0], pair[1]), x.clone(), y.clone()))
    };
    let found = [(left, above), (right, above), (left, below), (right, below)].into_iter().find(is_free);
    found.unwrap_or((left, above))
}

/// Whether the straight line between two places, the first not right of the second, goes through a box.
fn touches((from, to): ((f64, f64), (f64, f64)), x: Range<f64>, y: Range<f64>) -> bool {
    if to.0 < x.start || from.0 > x.end {
        return false;
    }
    let height = |at: f64| from.1 + (to.1 - from.1) * (at - from.0) / (to.0 - from.0);
    let (first, last) = match to.0 > from.0 {
        true => (height(from.0.max(x.start)), height(to.0.min(x.end))),
        false => (from.1, to.1),
    };
    first.min(last) <= y.end && first.max(last) >= y.start
}

/// Each point as a level up to where the next begins.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut found = Vec::with_capacity(points.len() * 2);
    for (index, point) in points.iter().enumerate() {
        found.push(*point);
        found.extend(points.get(index + 1).map(|next| (next.0, point.1)));
    }
    found
}

/// The beginning, end and step of an axis from `least` to `most`: from zero, unless what is shown would lie in its right
/// part alone.
fn range(least: f64, most: f64) -> (f64, f64, f64) {
    if !(least > most * 0.4 && least < most) {
        let (top, step) = scale(most);
        return (0.0, top, step);
    }
    let (_, step) = scale(most - least);
    // A step to spare on either side, so that no point lies on the frame.
    ((least / step).ceil() * step - step, (most / step).floor() * step + step, step)
}

/// The end of an axis that begins at zero and holds `most`, and the step of its ticks: 1, 2 or 5 times a power of ten,
/// five to ten steps.
fn scale(most: f64) -> (f64, f64) {
    if !(most > 0.0 && most.is_finite()) {
        return (1.0, 0.2);
    }
    let rough = most / 8.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(power * 10.0);
    ((most / step).ceil() * step, step)
}

fn ticks(top: f64, step: f64) -> impl Iterator<Item = f64> {
    (0..=(top / step).round() as usize).map(move |number| number as f64 * step)
}

/// With as many decimals as the step has, in thousands from 10 000 on.
fn number(value: f64, step: f64) -> String {
    if step >= 1000.0 && value != 0.0 {
        let decimals = usize::from(step % 1000.0 != 0.0);
        return format!("{:.decimals$}k", value / 1000.0);
    }
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limit at height 100 across 0 to 400, its name 60 wide: above it at y 80 to 98, below at 100 to 118.
    #[test]
    fn a_limits_name_hides_no_line_if_it_can() {
        let place = |lines: &[Vec<(f64, f64)>]| free_place(lines, 0.0..400.0, 100.0, 60.0);
        let (above, below) = (95.0, 100.0 + TEXT);
        let left_above = vec![(20.0, 90.0), (200.0, 50.0)];
        let right_above = vec![(300.0, 50.0), (350.0, 50.0), (350.0, 120.0), (400.0, 120.0)];
        assert_eq!(place(&[]), (6.0, above));
        assert_eq!(place(&[vec![(0.0, 70.0), (400.0, 70.0)]]), (6.0, above), "a line above the name");
        assert_eq!(place(std::slice::from_ref(&left_above)), (334.0, above));
        assert_eq!(place(&[left_above.clone(), right_above.clone()]), (6.0, below));
        assert_eq!(
            place(&[left_above, right_above, vec![(0.0, 110.0), (100.0, 110.0)]]),
            (6.0, above),
            "nowhere is room"
        );
    }

    #[test]
    fn an_axis_holds_its_values_in_round_steps() {
        for (most, top, step) in [(73.66, 80.0, 10.0), (147_633.0, 160_000.0, 20_000.0), (0.13, 0.14, 0.02)] {
            let found = scale(most);
            assert!((found.0 - top).abs() < 1e-9 * top && (found.1 - step).abs() < 1e-9 * step, "{most}: {found:?}");
        }
        assert_eq!(scale(0.0), (1.0, 0.2));
        // 73 800 to 147 600: the range of 73 800 has steps of 10 000. One run alone, or one near zero, begins at zero.
        assert_eq!(range(73_800.0, 147_600.0), (70_000.0, 150_000.0, 10_000.0));
        assert_eq!(range(100.0, 100.0), (0.0, 100.0, 20.0));
        assert_eq!(range(10.0, 100.0).0, 0.0);
        assert_eq!(steps(&[(0.0, 5.0), (1.0, 7.0)]), [(0.0, 5.0), (1.0, 5.0), (1.0, 7.0)]);
        assert_eq!(ticks(80.0, 10.0).count(), 9);
        assert_eq!((number(20_000.0, 20_000.0), number(0.02, 0.02)), ("20k".to_owned(), "0.02".to_owned()));
        assert_eq!((number(0.0, 1000.0), number(2500.0, 2500.0)), ("0".to_owned(), "2.5k".to_owned()));
    }
}
