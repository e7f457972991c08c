//! What a run records, and the figures that criteria are about.

use block::{Cause, Fault, ObjectId, Span, Time};

use crate::probe::Dispatch;

/// What a run records.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Everything the device took, in order.
    pub dispatches: Vec<Dispatch>,
    /// By client: how its requests ended, in order.
    pub tracks: Vec<Track>,
    /// How long it lasted.
    pub until: Time,
}

/// The completions of one client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// In order.
    pub ends: Vec<Ended>,
}

/// The end of a request, as its client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at: Time,
    /// Since it was due.
    pub response: Span,
    /// In the device.
    pub service: Span,
    /// Bytes.
    pub len: u64,
    /// What held it back last.
    pub cause: Cause,
    /// Its result.
    pub result: Result<(), Fault>,
}

/// The fullest window of a sequence of dispatches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The most operations in any window of the length asked for.
    pub operations: u64,
    /// The most bytes that reads and writes moved in any.
    pub bytes: u64,
}

impl Recording {
    /// The dispatches of these objects, in order.
    pub fn of(&self, objects: &[ObjectId]) -> Vec<Dispatch> {
        self.dispatches.iter().filter(|dispatch| objects.contains(&dispatch.object)).copied().collect()
    }

    /// All completions within `from <= end < until`, per second: what the device did in total.
    pub fn total_rate(&self, from: Time, until: Time) -> f64 {
        self.tracks.iter().map(|track| track.rate(from, until)).sum()
    }

    /// Everything as text, one event a line, for comparing runs byte for byte.
    pub fn trace(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for d in &self.dispatches {
            writeln!(text, "{} {} {:?} {}", d.at.as_nanos(), d.object.0, d.kind, d.len).expect("a string takes all");
        }
        for (client, track) in self.tracks.iter().enumerate() {
            for e in &track.ends {
                let (at, response, service) = (e.at.as_nanos(), e.response.as_nanos(), e.service.as_nanos());
                writeln!(text, "{client}: {at} {response} {service} {} {:?} {:?}", e.len, e.cause, e.result)
                    .expect("a string takes all");
            }
        }
        text
    }
}

impl Track {
    /// How many requests ended within each whole second of the run, from the first on.
    pub fn per_second(&self, until: Time) -> Vec<u64> {
        let mut counts = vec![0; (until.as_nanos() / 1_000_000_000) as usize];
        for ended in &self.ends {
            if let Some(count) = counts.get_mut((ended.at.as_nanos() / 1_000_000_000) as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// Completions per second within `from <= end < until`.
    pub fn rate(&self, from: Time, until: Time) -> f64 {
        let count = self.ends.iter().filter(|ended| (from..until).contains(&ended.at)).count();
        count as f64 / until.since(from).as_secs_f64()
    }

    /// Bytes per second within `from <= end < until`.
    pub fn byte_rate(&self, from: Time, until: Time) -> f64 {
        let within = self.ends.iter().filter(|ended| (from..until).contains(&ended.at));
        within.map(|ended| ended.len).sum::<u64>() as f64 / until.since(from).as_secs_f64()
    }

    /// The response time that `percent` of the completions within `from <= end < until` did not
    /// exceed.
    pub fn percentile(&self, percent: f64, from: Time, until: Time) -> Span {
        let within = self.ends.iter().filter(|ended| (from..until).contains(&ended.at));
        let mut responses: Vec<Span> = within.map(|ended| ended.response).collect();
        if responses.is_empty() {
            return Span::ZERO;
        }
        let place = ((responses.len() as f64 * percent / 100.0).ceil() as usize).clamp(1, responses.len()) - 1;
        *responses.select_nth_unstable(place).1
    }
}

impl Windows {
    /// The fullest window `[t, t + length)` of these dispatches, over every t and not only a grid:
    /// the fullest one begins at a dispatch.
    pub fn fullest(dispatches: &[Dispatch], length: Span) -> Windows {
        let (mut operations, mut bytes, mut moved, mut first) = (0, 0, 0, 0);
        for (place, dispatch) in dispatches.iter().enumerate() {
            moved += data(dispatch);
            while dispatches[first].at + length <= dispatch.at {
                moved -= data(&dispatches[first]);
                first += 1;
            }
            operations = operations.max((place + 1 - first) as u64);
            bytes = bytes.max(moved);
        }
        Windows { operations, bytes }
    }

    /// All of the dispatches within `from <= at < until`.
    pub fn whole(dispatches: &[Dispatch], from: Time, until: Time) -> Windows {
        let within = dispatches.iter().filter(|dispatch| (from..until).contains(&dispatch.at));
        within.fold(Windows { operations: 0, bytes: 0 }, |sum, dispatch| Windows {
            operations: sum.operations + 1,
            bytes: sum.bytes + data(dispatch),
        })
    }
}

fn data(dispatch: &Dispatch) -> u64 {
    if dispatch.kind.moves_data() { dispatch.len } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::OpKind;

    fn at(ms: u64) -> Dispatch {
        Dispatch { at: Time::ZERO + Span::from_millis(ms), object: ObjectId(0), kind: OpKind::Read, len: 10 }
    }

    #[test]
    fn the_fullest_window_excludes_its_end() {
        // 400 … 1399 holds four; 0 … 999 three, because 1000 is its end.
        let seen = [at(0), at(400), at(500), at(1000), at(1399), at(1400), at(5000)];
        assert_eq!(Windows::fullest(&seen, Span::SECOND), Windows { operations: 4, bytes: 40 });
    }

    #[test]
    fn percentiles_are_the_smallest_that_cover_enough() {
        let ended = |ms| Ended {
            at: Time::ZERO,
            response: Span::from_millis(ms),
            service: Span::ZERO,
            len: 0,
            cause: Cause::Nothing,
            result: Ok(()),
        };
        let track = Track { ends: (1..=100).rev().map(ended).collect() };
        assert_eq!(track.percentile(50.0, Time::ZERO, Time::MAX), Span::from_millis(50));
        assert_eq!(track.percentile(99.0, Time::ZERO, Time::MAX), Span::from_millis(99));
    }
}
