//! A floor by latency: half of its owner's requests are answered within a span, counted from their
//! arrival at the gate. Where the device can do it, their mean is within the span too.
//!
//! The rate of a closed loop is its depth over the mean. A device that is held to a budget by
//! slices of time answers most requests at once and the others after the slice, so its median says
//! nothing about its mean. Slices are long, so the mean is taken over two tenths of a second at one
//! size of the window, and once it decides, the window waits for it before each step. A mean that
//! the device nearly achieves is held to what it does; one far from that is given up alone.
//!
//! Requests are counted by how long they took in relation to the span, in steps of an eighth of an
//! octave. Whether one is within the span is exact, and the median is good to a few percent.
//!
//! ```text
//!   span / 16 ├┬┬┬┬┬┬┬┬┼┬┬┬┬┬┬┬┬┼─ … ─┼┬┬┬┬┬┬┬┬┤ span ├┬┬┬┬┬┬┬┬┼─ … ─┤ 16 × span      the ends hold what lies beyond
//! ```

use block::{Span, Time};

use super::constants::mean;
use super::gauge::kept;

/// Steps in an octave, and octaves around the span.
const STEPS: usize = 8;
const OCTAVES: usize = 8;
const BINS: usize = STEPS * OCTAVES;
/// The span itself as a scaled number: four octaves above the first step.
const SPAN_BITS: u32 = 10;
const LEAST_BITS: u32 = SPAN_BITS - OCTAVES as u32 / 2;

/// How long a request may take, and how long requests took.
#[derive(Debug)]
pub(crate) struct Latency {
    pub most: Span,
    /// Counts since the last tick, and since the last account.
    tick: [u32; BINS],
    account: [u32; BINS],
    /// Counts that fade within the floor's memory, and within a second.
    recent: Counts,
    second: Counts,
    /// The least median of a second in which the others were held back, in spans; 0 if none.
    best: f64,
    /// When one of its requests last went: the next is due from then on.
    went: Time,
    mean: Mean,
}

/// The mean response time at one size of the window.
#[derive(Debug)]
struct Mean {
    /// Since the last tick.
    tick: Stretch,
    now: Stretch,
    before: Option<Stretch>,
    /// The mean of the last two full stretches, in spans.
    seen: Option<f64>,
    /// The window's size meanwhile.
    size: f64,
    place: Place,
    /// What it is held to, in spans.
    goal: f64,
    /// The least mean that was seen since the goal last changed.
    least: f64,
    /// How often it was far from the goal with the others held back as far as they are.
    far: u32,
}

/// What part the mean plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// None so far: the median decides.
    #[default]
    Watched,
    /// The median was held and the mean was not: the mean decides.
    Decides,
    /// The device cannot do it.
    GivenUp,
}

/// What became of a mean that was short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeanEnd {
    /// It is held to less, or measured again.
    Eased,
    GivenUp,
}

/// Answers within a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// Seconds.
    time: f64,
    count: u64,
    /// The sum of their times, in nanoseconds.
    sum: u64,
}

/// Fading counts.
#[derive(Clone, Debug)]
struct Counts([f32; BINS]);

impl Latency {
    pub fn new(most: Span) -> Latency {
        Latency {
            most,
            tick: [0; BINS],
            account: [0; BINS],
            recent: Counts::NONE,
            second: Counts::NONE,
            best: 0.0,
            went: Time::ZERO,
            mean: Mean::new(),
        }
    }

    /// Counts a completed request of its owner's that took so long from its arrival on.
    pub fn count(&mut self, response: Span) {
        let scaled = (u128::from(response.as_nanos()) << SPAN_BITS) / u128::from(self.most.as_nanos().max(1));
        let bin = bin(u64::try_from(scaled).unwrap_or(u64::MAX));
        self.tick[bin] = self.tick[bin].saturating_add(1);
        self.account[bin] = self.account[bin].saturating_add(1);
        self.mean.tick.count += 1;
        self.mean.tick.sum = self.mean.tick.sum.saturating_add(response.as_nanos());
    }

    /// A tick of so many seconds is over, with a window of this size.
    pub fn fold(&mut self, time: f64, memory: f64, size: f64) {
        let tick = std::mem::replace(&mut self.tick, [0; BINS]);
        self.recent.add(&tick, kept(time, memory));
        self.second.add(&tick, kept(time, 1.0));
        self.mean.fold(time, size, self.most);
    }

    /// The goal of the mean over the mean, in place of the median's part, where the mean decides.
    /// `None` where it does not; `Some(None)` until it is known at this size of the window.
    pub fn mean_part(&self) -> Option<Option<f64>> {
        (self.mean.place == Place::Decides).then(|| self.mean.seen.map(|mean| self.mean.goal / mean))
    }

    /// The median is held: from now on the mean decides, if that is too long.
    pub fn look_at_mean(&mut self) {
        if self.mean.place == Place::Watched && self.mean.seen.is_some_and(|mean| mean > 1.0) {
            self.mean.place = Place::Decides;
        }
    }

    /// The others are held back as far as they are, and something is short. If it is the mean, its
    /// goal is eased, it is measured again, or it is given up.
    pub fn give_up_mean(&mut self) -> Option<MeanEnd> {
        (self.mean.place == Place::Decides).then(|| self.mean.give_up())
    }

    /// Forgets what was before a large change of the window.
    pub fn forget(&mut self) {
        self.tick = [0; BINS];
        self.recent = Counts::NONE;
    }

    /// Forgets the mean of that time too.
    pub fn forget_mean(&mut self) {
        self.mean.forget();
    }

    /// How many requests were counted of late, and within the last second.
    pub fn recent_count(&self) -> f64 {
        self.recent.total()
    }

    pub fn second_count(&self) -> f64 {
        self.second.total()
    }

    /// The part of its floor that it got: the span over the median. Infinite if nothing was
    /// counted.
    pub fn recent_part(&self) -> f64 {
        1.0 / self.recent.median()
    }

    pub fn second_part(&self) -> f64 {
        1.0 / self.second.median()
    }

    /// Notes the median if it is the best so far with the others held back.
    pub fn note_best(&mut self) {
        let median = self.recent.median();
        if median > 0.0 && (self.best == 0.0 || median < self.best) {
            self.best = median;
        }
    }

    /// It is tried again: what it could get before says nothing.
    pub fn try_again(&mut self) {
        self.best = 0.0;
        self.mean.try_again();
    }

    /// The least median that was seen, if there is one.
    pub fn best(&self) -> Option<Span> {
        (self.best > 0.0).then(|| self.of_spans(self.best))
    }

    /// The median since the last account; `None` without requests.
    pub fn take_median(&mut self) -> Option<Span> {
        let account = std::mem::replace(&mut self.account, [0; BINS]);
        let mut counts = Counts::NONE;
        counts.add(&account, 0.0);
        (counts.total() > 0.0).then(|| self.of_spans(counts.median()))
    }

    fn of_spans(&self, spans: f64) -> Span {
        Span::from_secs_f64(self.most.as_secs_f64() * spans)
    }

    /// Notes that one of its requests goes.
    pub fn charge(&mut self, now: Time) {
        self.went = now;
    }

    /// When its next request is due: at once, but after other floors' that have waited longer.
    pub fn due(&self) -> Time {
        self.went
    }
}

impl Mean {
    fn new() -> Mean {
        Mean {
            tick: Stretch::default(),
            now: Stretch::default(),
            before: None,
            seen: None,
            size: 0.0,
            place: Place::Watched,
            goal: 1.0,
            least: f64::INFINITY,
            far: 0,
        }
    }

    fn give_up(&mut self) -> MeanEnd {
        let next = mean::SLACK * self.least.max(self.goal);
        if next <= mean::NEARLY {
            self.goal = next;
        } else if self.far + 1 < mean::LOOKS {
            self.far += 1;
        } else {
            self.place = Place::GivenUp;
        }
        self.least = f64::INFINITY;
        self.forget();
        if self.place == Place::GivenUp { MeanEnd::GivenUp } else { MeanEnd::Eased }
    }

    /// Begins the mean anew.
    fn forget(&mut self) {
        (self.now, self.before, self.seen) = (Stretch::default(), None, None);
    }

    fn try_again(&mut self) {
        (self.goal, self.least, self.far) = (1.0, f64::INFINITY, 0);
        if self.place == Place::GivenUp {
            self.place = Place::Watched;
        }
    }

    /// A tick is over.
    fn fold(&mut self, time: f64, size: f64, span: Span) {
        let tick = std::mem::take(&mut self.tick);
        // While it only watches, measurements at other sizes will do.
        if self.place == Place::Decides && (size - self.size).abs() > mean::SAME * self.size {
            self.forget();
            self.size = size;
        }
        self.now.add(Stretch { time, ..tick });
        let enough = self.now.count >= mean::SAMPLES && self.now.time >= mean::STRETCH;
        if enough || self.now.time >= mean::WAIT {
            if let Some(mut both) = self.before.replace(self.now) {
                both.add(self.now);
                let seen = both.sum as f64 / both.count.max(1) as f64 / span.as_nanos().max(1) as f64;
                self.seen = Some(seen);
                self.least = self.least.min(seen);
                if seen <= self.goal {
                    self.far = 0;
                }
            }
            self.now = Stretch::default();
        }
    }
}

impl Stretch {
    fn add(&mut self, more: Stretch) {
        self.time += more.time;
        self.count += more.count;
        self.sum = self.sum.saturating_add(more.sum);
    }
}

impl Counts {
    const NONE: Counts = Counts([0.0; BINS]);

    fn add(&mut self, tick: &[u32; BINS], keep: f64) {
        for (sum, &new) in self.0.iter_mut().zip(tick) {
            *sum = *sum * keep as f32 + new as f32;
        }
    }

    fn total(&self) -> f64 {
        self.0.iter().map(|&count| f64::from(count)).sum()
    }

    /// In spans; 0 if nothing was counted.
    fn median(&self) -> f64 {
        let half = self.total() / 2.0;
        if half <= 0.0 {
            return 0.0;
        }
        let mut below = 0.0;
        for (bin, &count) in self.0.iter().enumerate() {
            let count = f64::from(count);
            if below + count >= half && count > 0.0 {
                let (from, until) = (edge(bin), edge(bin + 1));
                return from + (until - from) * (half - below) / count;
            }
            below += count;
        }
        edge(BINS)
    }
}

fn bin(scaled: u64) -> usize {
    let scaled = scaled.max(1 << LEAST_BITS);
    let bits = 63 - scaled.leading_zeros();
    let step = (scaled >> (bits - STEPS.trailing_zeros())) as usize & (STEPS - 1);
    ((bits - LEAST_BITS) as usize * STEPS + step).min(BINS - 1)
}

/// Where a bin begins, in spans.
fn edge(bin: usize) -> f64 {
    let octave = (bin / STEPS) as i32 - (OCTAVES as i32 / 2);
    f64::powi(2.0, octave) * (1.0 + (bin % STEPS) as f64 / STEPS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn of(responses: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::new(Span::from_millis(1));
        responses.into_iter().for_each(|ns| latency.count(Span::from_nanos(ns)));
        latency.fold(0.02, 0.05, 1.0);
        latency
    }

    /// The median of evenly spread times is right to half a step, where a step is 9 to 12 %.
    #[test]
    fn the_median_is_good_to_half_a_step() {
        for middle in [70_000, 400_000, MS, 3 * MS, 12 * MS] {
            let latency = of((0..1001).map(|k| middle / 2 + middle * k / 1000));
            let seen = 1.0 / latency.recent_part();
            assert!((seen / (middle as f64 / MS as f64) - 1.0).abs() < 0.06, "{middle}: {seen}");
        }
    }

    /// What is within the span and what is past it are told apart to the nanosecond.
    #[test]
    fn the_span_is_an_edge() {
        assert!(of(vec![MS - 1; 100]).recent_part() > 1.0);
        assert!(of(vec![MS; 100]).recent_part() < 1.0);
        assert!(of([vec![MS - 1; 51], vec![9 * MS; 49]].concat()).recent_part() > 1.0);
        assert!(of([vec![MS - 1; 49], vec![MS; 51]].concat()).recent_part() < 1.0);
    }

    #[test]
    fn ends_hold_what_lies_beyond_and_nothing_is_no_miss() {
        assert!(of([0, 1]).recent_part() >= 12.0 && of([u64::MAX]).recent_part() <= 1.0 / 15.0);
        assert!(of([]).recent_part().is_infinite());
        assert_eq!(of([]).take_median(), None);
    }
}
