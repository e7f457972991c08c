//! An axis: from a figure to a place on the drawing, with ticks at round numbers.

/// Steps in seconds that suit a clock, up to a day.
const CLOCK_STEPS: [f64; 20] = [
    0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0,
    21_600.0, 43_200.0, 86_400.0,
];

/// A range of figures laid along a range of places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    step: Step,
    start: f64,
    end: f64,
}

/// How ticks follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Each is so much more than the one before.
    Add(f64),
    /// Each is ten times the one before.
    TimesTen,
}

impl Axis {
    /// From zero to the first tick at or above `most`, with steps of 1, 2 or 5 times a power of ten and at most
    /// `ticks` of them.
    pub(crate) fn from_zero(most: f64, ticks: u32) -> Axis {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most / f64::from(ticks));
        Axis { low: 0.0, high: (most / step).ceil() * step, step: Step::Add(step), start: 0.0, end: 1.0 }
    }

    /// Seconds from zero to exactly `most`, with ticks that suit a clock above a minute.
    pub(crate) fn seconds(most: f64, ticks: u32) -> Axis {
        let most = if most > 0.0 { most } else { 1.0 };
        let least = most / f64::from(ticks);
        let step = CLOCK_STEPS.into_iter().find(|step| *step >= least).unwrap_or_else(|| round_step(least));
        Axis { low: 0.0, high: most, step: Step::Add(step), start: 0.0, end: 1.0 }
    }

    /// Logarithmic, over the whole decades that hold `least` to `most`.
    pub(crate) fn decades(least: f64, most: f64) -> Axis {
        let least = if least > 0.0 { least } else { 1.0 };
        let low = 10f64.powf(least.log10().floor());
        let high = 10f64.powf(most.max(least).log10().ceil()).max(low * 10.0);
        Axis { low, high, step: Step::TimesTen, start: 0.0, end: 1.0 }
    }

    /// The same, laid from the place `start` (of its low end) to `end`.
    pub(crate) fn laid(self, start: f64, end: f64) -> Axis {
        Axis { start, end, ..self }
    }

    /// The place of a figure; `None` when it lies outside.
    pub(crate) fn place(&self, figure: f64) -> Option<f64> {
        // A hair's breadth of rounding does not put a figure outside.
        let slack = (self.high - self.low) * 1e-9;
        if !(self.low - slack..=self.high + slack).contains(&figure) {
            return None;
        }
        let part = match self.step {
            Step::Add(_) => (figure - self.low) / (self.high - self.low),
            Step::TimesTen => (figure / self.low).log10() / (self.high / self.low).log10(),
        };
        Some(self.start + part * (self.end - self.start))
    }

    /// Where it is laid: the place of its low end, and of its high end.
    pub(crate) fn places(&self) -> (f64, f64) {
        (self.start, self.end)
    }

    /// The highest figure.
    pub(crate) fn high(&self) -> f64 {
        self.high
    }

    /// The figures with a tick, from low to high.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let count = match self.step {
            Step::Add(step) => ((self.high - self.low) / step + 1e-9).floor(),
            Step::TimesTen => (self.high / self.low).log10().round(),
        };
        let tick = |n: i32| match self.step {
            Step::Add(step) => self.low + f64::from(n) * step,
            Step::TimesTen => self.low * 10f64.powi(n),
        };
        (0..=count as i32).map(tick).collect()
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    // A hair's breadth of rounding in the power does not ask for the next step.
    let fits = |mantissa: &f64| mantissa * power >= least * (1.0 - 1e-9);
    [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_the_axis_ends_on_one() {
        assert_eq!(Axis::from_zero(9_368.0, 5).ticks(), [0.0, 2000.0, 4000.0, 6000.0, 8000.0, 10_000.0]);
        assert_eq!(Axis::from_zero(38.4, 5).ticks(), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(Axis::from_zero(0.0, 5).ticks().len(), 6, "nothing to show is no reason to fail");
    }

    #[test]
    fn time_keeps_its_end_and_suits_a_clock() {
        assert_eq!(Axis::seconds(56.0, 8).ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(Axis::seconds(56.0, 8).high(), 56.0);
        assert_eq!(Axis::seconds(600.0, 8).ticks()[1], 120.0);
        assert_eq!(Axis::seconds(7200.0, 8).ticks()[1], 1200.0);
        assert_eq!(Axis::seconds(86_400.0, 8).ticks()[1], 21_600.0);
    }

    #[test]
    fn decades_are_equally_wide() {
        let axis = Axis::decades(12.0, 8600.0).laid(300.0, 0.0);
        assert_eq!(axis.ticks(), [10.0, 100.0, 1000.0, 10_000.0]);
        let places = axis.ticks().into_iter().map(|tick| axis.place(tick).unwrap().round()).collect::<Vec<_>>();
        assert_eq!(places, [300.0, 200.0, 100.0, 0.0]);
        assert_eq!((axis.place(9.0), axis.place(0.0)), (None, None));
        assert_eq!(Axis::decades(10.0, 10.0).ticks(), [10.0, 100.0], "one decade at least");
    }

    #[test]
    fn a_figure_has_its_place() {
        let axis = Axis::from_zero(100.0, 5).laid(200.0, 0.0);
        assert_eq!([0.0, 50.0, 100.0].map(|figure| axis.place(figure)), [Some(200.0), Some(100.0), Some(0.0)]);
        assert_eq!(axis.place(100.1), None);
    }
}
