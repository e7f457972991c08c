//! Detects when a job's figures have become steady, round by round.

use block::{Span, Time};
use stats::Tape;
use stats::job::{SteadyReport, confidence, excursion, line_rise};
use workload::job::{SteadyCheck, SteadyFigure, SteadyLimit, SteadyRule};

/// Totals of a job so far; the figures of a round are the difference of two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) ops: u64,
    pub(crate) bytes: u64,
    pub(crate) lat_sum: Span,
}

impl Totals {
    /// The totals of all directions of a tape.
    pub(crate) fn of(tape: &Tape) -> Totals {
        tape.directions().fold(Totals::default(), |sum, (_, track)| Totals {
            ops: sum.ops + track.ops,
            bytes: sum.bytes + track.bytes,
            lat_sum: sum.lat_sum + track.response.sum(),
        })
    }
}

/// The rounds of one job.
pub(crate) struct Steadiness {
    rule: SteadyRule,
    rounds: Vec<f64>,
    /// Number of rounds that are judged together.
    window: usize,
    start: Time,
    began: Time,
    before: Totals,
    reached: Option<Span>,
}

impl Steadiness {
    /// Rounds that begin after `start` (the end of the job's ramp) and the rule's own ramp.
    pub(crate) fn new(rule: SteadyRule, start: Time) -> Steadiness {
        let window = (rule.duration.as_nanos() / rule.round.as_nanos().max(1)).max(2) as usize;
        let began = start + rule.ramp;
        Steadiness { rule, rounds: Vec::new(), window, start, began, before: Totals::default(), reached: None }
    }

    /// End of the current round.
    pub(crate) fn next_look(&self) -> Time {
        self.began + self.rule.round
    }

    /// Adds a round if one is over; returns whether the figures are steady by now.
    pub(crate) fn look(&mut self, now: Time, totals: Totals) -> bool {
        if now < self.began {
            self.before = totals;
            return false;
        }
        if self.reached.is_some() || now < self.next_look() {
            return self.reached.is_some();
        }
        let seconds = now.since(self.began).as_secs_f64();
        let ops = totals.ops - self.before.ops;
        self.rounds.push(match self.rule.figure {
            SteadyFigure::Iops => ops as f64 / seconds,
            SteadyFigure::Throughput => (totals.bytes - self.before.bytes) as f64 / seconds,
            SteadyFigure::Latency => {
                totals.lat_sum.saturating_sub(self.before.lat_sum).as_nanos() as f64 / ops.max(1) as f64
            }
        });
        (self.began, self.before) = (now, totals);
        if self.is_steady() {
            self.reached = Some(now.since(self.start));
        }
        self.reached.is_some()
    }

    /// The report at the end of the job.
    pub(crate) fn report(&self) -> SteadyReport {
        let rounds = self.last().to_vec();
        let mean = confidence(&rounds);
        let rise = line_rise(&rounds) * (rounds.len().max(1) - 1) as f64;
        SteadyReport {
            reached: self.reached.is_some(),
            at: self.reached,
            excursion_percent: excursion(&rounds),
            slope_percent: mean.filter(|mean| mean.mean != 0.0).map_or(0.0, |mean| rise / mean.mean * 100.0),
            mean,
            rounds,
            rule: self.in_words(),
        }
    }

    fn last(&self) -> &[f64] {
        &self.rounds[self.rounds.len().saturating_sub(self.window)..]
    }

    fn is_steady(&self) -> bool {
        let rounds = self.last();
        if rounds.len() < self.window {
            return false;
        }
        let mean = rounds.iter().sum::<f64>() / rounds.len() as f64;
        let within = |value: f64, limit| match limit {
            SteadyLimit::Percent(percent) => value.abs() <= mean.abs() * percent / 100.0,
            SteadyLimit::Absolute(most) => value.abs() <= most,
        };
        match self.rule.check {
            SteadyCheck::Deviation(limit) => rounds.iter().all(|round| within(round - mean, limit)),
            SteadyCheck::Slope(limit) => within(line_rise(rounds), limit),
            SteadyCheck::Snia { excursion_percent, slope_percent } => {
                let rise = line_rise(rounds) * (rounds.len() - 1) as f64;
                excursion(rounds) <= excursion_percent && rise.abs() <= mean.abs() * slope_percent / 100.0
            }
        }
    }

    fn in_words(&self) -> String {
        let figure = match self.rule.figure {
            SteadyFigure::Iops => "IOPS",
            SteadyFigure::Throughput => "bytes a second",
            SteadyFigure::Latency => "mean response time",
        };
        let limit = |limit| match limit {
            SteadyLimit::Percent(percent) => format!("{percent} %"),
            SteadyLimit::Absolute(most) => format!("{most}"),
        };
        let check = match self.rule.check {
            SteadyCheck::Deviation(most) => format!("within {} of the mean", limit(most)),
            SteadyCheck::Slope(most) => format!("with a slope of at most {} a round", limit(most)),
            SteadyCheck::Snia { excursion_percent, slope_percent } => {
                format!("with an excursion of at most {excursion_percent} % and a slope of at most {slope_percent} %")
            }
        };
        format!("{figure} {check} over {} rounds of {}", self.window, self.rule.round.spoken())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds one-second rounds with these numbers of operations; returns the second at which they
    /// became steady.
    fn steady_at(rounds: &[u64]) -> Option<u64> {
        let mut steadiness = Steadiness::new(SteadyRule::snia(SteadyFigure::Iops, Span::SECOND), Time::ZERO);
        let mut totals = Totals::default();
        for (index, ops) in rounds.iter().enumerate() {
            totals.ops += ops;
            if steadiness.look(Time::ZERO + Span::from_secs(index as u64 + 1), totals) {
                return Some(index as u64 + 1);
            }
        }
        None
    }

    #[test]
    fn five_rounds_must_agree_in_both_ways() {
        assert_eq!(steady_at(&[1000, 1050, 980, 1020, 1000]), Some(5));
        // The first is far off: 5 rounds without it.
        assert_eq!(steady_at(&[5000, 1000, 1050, 980, 1020, 1000]), Some(6));
        // Excursion 19 % of 1000, but the line rises by 19 %.
        assert_eq!(steady_at(&[905, 950, 1000, 1050, 1095]), None);
        // No slope, but an excursion of 30 %.
        assert_eq!(steady_at(&[1000, 1000, 1300, 1000, 1000]), None);
        assert_eq!(steady_at(&[1000; 4]), None, "four rounds are too few");
    }
}
