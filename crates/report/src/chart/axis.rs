//! An axis: maps figures to positions in the drawing, with ticks at round numbers.

use crate::text;
use block::Span;

/// Tick distances in seconds that suit times, up to a day.
const CLOCK_STEPS: [f64; 20] = [
    0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0,
    21_600.0, 43_200.0, 86_400.0,
];
/// The percentiles that have a tick.
const PERCENTILES: [f64; 8] = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];
/// Number of steps for rounding up the end of a vertical axis.
const STEPS_UP: u32 = 5;
/// Number of steps for rounding the ends of a horizontal axis of figures.
const STEPS_ACROSS: u32 = 8;

/// A range of figures.
#[derive(Clone, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    scale: Scale,
    unit: String,
    say: fn(f64) -> String,
}

/// The scale of an axis.
#[derive(Clone, Debug, PartialEq)]
enum Scale {
    /// Equal steps.
    Linear,
    /// Seconds, with labels like a clock.
    Clock,
    /// Logarithmic.
    Log,
    /// Percentages; each further nine is equally wide.
    Nines,
    /// One position for each name.
    Places(Vec<String>),
}

impl Axis {
    /// From zero to the first round number at or above `most`.
    pub fn from_zero(most: f64) -> Axis {
        let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
        let step = round_step(most / f64::from(STEPS_UP));
        Axis::of(0.0, (most / step).ceil() * step, Scale::Linear, text::short)
    }

    /// From zero, unless all figures from `least` to `most` would be at the right end.
    pub fn around(least: f64, most: f64) -> Axis {
        if !(least > most * 0.4 && least < most) {
            let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
            let step = round_step(most / f64::from(STEPS_ACROSS));
            return Axis::of(0.0, (most / step).ceil() * step, Scale::Linear, text::short);
        }
        let step = round_step((most - least) / f64::from(STEPS_ACROSS));
        // A spare step on either side keeps points off the frame.
        let (low, high) = ((least / step).ceil() * step - step, (most / step).floor() * step + step);
        Axis::of(low, high, Scale::Linear, text::short)
    }

    /// Seconds from zero to exactly `most`, with ticks that suit times.
    pub fn seconds(most: f64) -> Axis {
        Axis::of(0.0, if most > 0.0 { most } else { 1.0 }, Scale::Clock, text::short)
    }

    /// Logarithmic, over the whole decades that contain `least` to `most`.
    pub fn decades(least: f64, most: f64) -> Axis {
        let least = if least > 0.0 && least.is_finite() { least } else { 1.0 };
        let low = 10f64.powf(least.log10().floor());
        let high = 10f64.powf(most.max(least).log10().ceil()).max(low * 10.0);
        Axis::of(low, high, Scale::Log, text::short)
    }

    /// [`Axis::decades`] for times in milliseconds, with labels in suitable units.
    pub fn milliseconds(least: f64, most: f64) -> Axis {
        Axis { say: tick_of_millis, ..Axis::decades(least, most) }
    }

    /// Percentages from 0 to `most`, at most 99.9999; 90 % to 99 % is as wide as 99 % to 99.9 %.
    pub fn percentiles(most: f64) -> Axis {
        Axis::of(0.0, most.clamp(99.0, 99.9999), Scale::Nines, say_percent)
    }

    /// One position for each name, from left to right; number `n` is from `n` to `n + 1`.
    pub fn places(names: Vec<String>) -> Axis {
        Axis::of(0.0, names.len().max(1) as f64, Scale::Places(names), text::short)
    }

    /// Sets the unit.
    pub fn unit(self, unit: impl Into<String>) -> Axis {
        Axis { unit: unit.into(), ..self }
    }

    /// Sets the format of tick labels.
    pub fn said(self, say: fn(f64) -> String) -> Axis {
        Axis { say, ..self }
    }

    fn of(low: f64, high: f64, scale: Scale, say: fn(f64) -> String) -> Axis {
        Axis { low, high, scale, unit: String::new(), say }
    }

    /// The lowest figure.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The highest figure.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// The unit.
    pub(super) fn counts(&self) -> &str {
        &self.unit
    }

    /// Whether it is time.
    pub(super) fn is_time(&self) -> bool {
        self.scale == Scale::Clock
    }

    /// The position of a figure on the axis, from 0 to 1; `None` if it is outside.
    pub(super) fn part(&self, figure: f64) -> Option<f64> {
        // Tolerates rounding errors.
        let slack = (self.high - self.low) * 1e-9;
        if !(self.low - slack..=self.high + slack).contains(&figure) {
            return None;
        }
        let nines = |percent: f64| -(1.0 - percent.min(99.9999) / 100.0).log10();
        Some(match self.scale {
            Scale::Log => (figure / self.low).log10() / (self.high / self.low).log10(),
            Scale::Nines => nines(figure) / nines(self.high),
            _ => (figure - self.low) / (self.high - self.low),
        })
    }

    /// The ticks and their labels in ascending order; about `most` of them, if the scale allows a
    /// choice.
    pub(super) fn ticks(&self, most: u32) -> Vec<(f64, String)> {
        let say = |figure| (figure, (self.say)(figure));
        match &self.scale {
            Scale::Linear => {
                steps(self.low, self.high, round_step((self.high - self.low) / f64::from(most))).map(say).collect()
            }
            Scale::Clock => {
                let least = self.high / f64::from(most);
                let step = CLOCK_STEPS.into_iter().find(|step| *step >= least).unwrap_or_else(|| round_step(least));
                steps(0.0, self.high, step).map(|second| (second, clock(second, self.high))).collect()
            }
            Scale::Log => {
                let decades = (self.high / self.low).log10().round() as i32;
                (0..=decades).map(|n| say(self.low * 10f64.powi(n))).collect()
            }
            Scale::Nines => PERCENTILES.into_iter().filter(|percent| *percent <= self.high).map(say).collect(),
            Scale::Places(names) => {
                let step = names.len().div_ceil(most.max(1) as usize).max(1);
                let named = names.iter().enumerate().step_by(step);
                named.map(|(place, name)| (place as f64 + 0.5, name.clone())).collect()
            }
        }
    }
}

/// The multiples of `step` from `low` to `high`.
fn steps(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(move |n| n as f64 * step)
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    // Tolerates a rounding error in the power.
    let fits = |mantissa: &f64| mantissa * power >= least * (1.0 - 1e-9);
    [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0) * power
}

/// A second of a run as a label: `20 s` in short runs, minutes and hours in longer ones.
fn clock(second: f64, whole: f64) -> String {
    if whole < 120.0 && second.fract() == 0.0 {
        format!("{second} s")
    } else if whole < 120.0 {
        format!("{second:.1} s")
    } else {
        text::clock(Span::from_secs_f64(second))
    }
}

/// A power of ten of milliseconds in a suitable unit.
fn tick_of_millis(millis: f64) -> String {
    match millis {
        0.9e3.. => format!("{} s", text::short(millis / 1e3)),
        0.9..0.9e3 => format!("{} ms", text::short(millis)),
        0.0009..0.9 => format!("{} µs", text::short(millis * 1e3)),
        _ => format!("{} ns", text::short(millis * 1e6)),
    }
}

fn say_percent(percent: f64) -> String {
    format!("{percent} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(axis: &Axis, most: u32) -> Vec<f64> {
        axis.ticks(most).into_iter().map(|(figure, _)| figure).collect()
    }

    fn said(axis: &Axis, most: u32) -> Vec<String> {
        axis.ticks(most).into_iter().map(|(_, said)| said).collect()
    }

    #[test]
    fn ticks_are_round_and_the_axis_ends_on_one() {
        assert_eq!(figures(&Axis::from_zero(9_368.0), 5), [0.0, 2000.0, 4000.0, 6000.0, 8000.0, 10_000.0]);
        assert_eq!(figures(&Axis::from_zero(38.4), 5), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(figures(&Axis::from_zero(0.0), 5).len(), 6, "nothing to show is no reason to fail");
        assert_eq!(figures(&Axis::from_zero(f64::INFINITY), 5).len(), 6);
    }

    /// 73 800 to 147 600: the range of 73 800 has steps of 10 000. A single point, or one near
    /// zero, makes the axis begin at zero.
    #[test]
    fn an_axis_begins_at_zero_unless_all_is_far_from_there() {
        let range = |least, most| (Axis::around(least, most).low, Axis::around(least, most).high);
        assert_eq!(range(73_800.0, 147_600.0), (70_000.0, 150_000.0));
        assert_eq!((range(100.0, 100.0), range(10.0, 100.0).0), ((0.0, 100.0), 0.0));
        assert_eq!(figures(&Axis::around(73_800.0, 147_600.0), 4), [80_000.0, 100_000.0, 120_000.0, 140_000.0]);
    }

    #[test]
    fn time_keeps_its_end_and_suits_a_clock() {
        assert_eq!(figures(&Axis::seconds(56.0), 8), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(Axis::seconds(56.0).high(), 56.0);
        assert_eq!(said(&Axis::seconds(56.0), 4), ["0 s", "20 s", "40 s"]);
        assert_eq!(said(&Axis::seconds(600.0), 8)[1], "2:00");
        assert_eq!(figures(&Axis::seconds(7200.0), 8)[1], 1200.0);
        assert_eq!(figures(&Axis::seconds(86_400.0), 8)[1], 21_600.0);
    }

    #[test]
    fn decades_are_equally_wide() {
        let axis = Axis::milliseconds(0.012, 8600.0);
        assert_eq!(said(&axis, 5), ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
        let parts: Vec<f64> = axis.ticks(5).iter().map(|(at, _)| (axis.part(*at).unwrap() * 6.0).round()).collect();
        assert_eq!(parts, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((axis.part(0.009), axis.part(0.0)), (None, None));
        assert_eq!(Axis::decades(10.0, 10.0).ticks(5).len(), 2, "one decade at least");
    }

    /// 90 % is one nine of three, 99 % two.
    #[test]
    fn nines_are_equally_wide() {
        let axis = Axis::percentiles(99.9);
        assert_eq!(said(&axis, 5), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        let part = |percent| (axis.part(percent).unwrap() * 1e6).round() / 1e6;
        assert_eq!((part(0.0), part(90.0), part(99.0), part(99.9)), (0.0, 0.333_333, 0.666_667, 1.0));
    }

    #[test]
    fn names_have_a_place_each_and_some_are_left_out_where_there_are_many() {
        let axis = Axis::places((1..=5).map(|n| n.to_string()).collect());
        assert_eq!(said(&axis, 10), ["1", "2", "3", "4", "5"]);
        assert_eq!((said(&axis, 3), axis.part(2.5)), (vec!["1".into(), "3".into(), "5".into()], Some(0.5)));
    }
}
