//! One class of a tape.

use super::{Ended, Noted};
use crate::job::{Confidence, Spread, confidence};
use crate::run::{Class, Minute};
use crate::{Histogram, Summary};
use block::{Span, Time};

/// Results of the requests of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// The class.
    pub class: Class,
    /// Successful requests.
    pub ops: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests that transferred less than asked; they also count as failed.
    pub short: u64,
    /// Failed requests.
    pub failed: u64,
    /// Measured time.
    pub measured: Span,
    /// From made to handed over; the same for all requests of a batch.
    pub submission: Histogram,
    /// From handed over to the end.
    pub service: Histogram,
    /// From due to the end.
    pub response: Histogram,
    /// From due to made.
    pub lateness: Histogram,
    /// Time in our own queues.
    pub gate: Histogram,
    /// Figures over time, in order and without gaps, from the first slice with a request on.
    pub slices: Vec<TapeSlice>,
    /// Latencies of each second with requests; a second is as many slices as fit into one, at least
    /// one.
    pub seconds: Vec<TapeSecond>,
    /// Latencies of each minute of these seconds, counted from the start of the tape.
    pub minutes: Vec<Minute>,
}

/// Latencies of the requests of a class in about a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapeSecond {
    /// Its end, counted from the start of the tape.
    pub end: Span,
    /// From due to the end.
    pub response: Summary,
    /// From handed over to the end.
    pub service: Summary,
}

/// Results of a class over a short time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapeSlice {
    /// Its end, counted from the start of the tape.
    pub end: Span,
    /// Its length.
    pub length: Span,
    /// Completed requests.
    pub ops: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of the times from made to handed over.
    pub submission_sum: Span,
    /// Sum of the times from handed over to the end.
    pub service_sum: Span,
    /// Sum of the times from due to the end.
    pub response_sum: Span,
    /// Maxima of these three, if they are recorded; otherwise zero.
    pub longest: Longest,
}

/// Maxima of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longest {
    /// From made to handed over.
    pub submission: Span,
    /// From handed over to the end.
    pub service: Span,
    /// From due to the end.
    pub response: Span,
}

/// Latencies of requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    pub(super) response: Histogram,
    service: Histogram,
}

impl Times {
    /// Adds the latencies of another class.
    pub(super) fn and(mut self, other: &Times) -> Times {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self
    }

    /// Those that are not among the `earlier` ones.
    fn since(&self, earlier: &Times) -> Times {
        Times { response: self.response.since(&earlier.response), service: self.service.since(&earlier.service) }
    }

    /// The record of a second that ended at `end`.
    pub(super) fn second(&self, end: Span) -> TapeSecond {
        TapeSecond { end, response: self.response.summary(), service: self.service.summary() }
    }
}

/// A class while it is recorded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Running {
    pub(super) track: Track,
    /// The figures at the start of the slice.
    before: TapeSlice,
    longest: Longest,
    /// Response and service times at the start of the second.
    times_before: Times,
    /// The same at the start of the last second with requests.
    times_earlier: Times,
    first_made: Option<Time>,
    last_end: Time,
}

impl Running {
    pub(super) fn new(class: Class) -> Running {
        Running {
            track: Track::new(class),
            before: TapeSlice::default(),
            longest: Longest::default(),
            times_before: Times::default(),
            times_earlier: Times::default(),
            first_made: None,
            last_end: Time::ZERO,
        }
    }

    #[inline(always)]
    pub(super) fn count(&mut self, ended: &Ended, noted: &Noted) {
        let Ended { due, made, handed, end, gate, bytes, .. } = *ended;
        let track = &mut self.track;
        track.ops += 1;
        track.bytes += bytes;
        let (service, response) = (end.since(handed), end.since(due));
        track.service.record(service);
        track.response.record(response);
        if noted.submission {
            track.submission.record(handed.since(made));
        }
        if noted.lateness {
            track.lateness.record(made.since(due));
        }
        if noted.gate {
            track.gate.record(gate);
        }
        if noted.longest {
            let submission = handed.since(made);
            self.longest = self.longest.max(Longest { submission, service, response });
        }
        self.first_made.get_or_insert(made);
        self.last_end = end;
    }

    pub(super) fn end_slice(&mut self, end: Span, length: Span) {
        let Running { track, before, longest, .. } = self;
        if track.ops == 0 && track.slices.is_empty() {
            // A class without requests has no slices.
            return;
        }
        let now = TapeSlice {
            end,
            length,
            ops: track.ops,
            bytes: track.bytes,
            submission_sum: track.submission.sum(),
            service_sum: track.service.sum(),
            response_sum: track.response.sum(),
            longest: std::mem::take(longest),
        };
        track.slices.push(TapeSlice {
            ops: now.ops - before.ops,
            bytes: now.bytes - before.bytes,
            submission_sum: now.submission_sum.saturating_sub(before.submission_sum),
            service_sum: now.service_sum.saturating_sub(before.service_sum),
            response_sum: now.response_sum.saturating_sub(before.response_sum),
            ..now
        });
        *before = now;
    }

    /// Ends a second from `start` to `end`; returns its latencies, if it had requests.
    pub(super) fn end_second(&mut self, start: Span, end: Span) -> Option<Times> {
        let Running { track, times_before, .. } = self;
        if track.response.count() == times_before.response.count() {
            if !track.minutes.is_empty() {
                Minute::add(&mut track.minutes, Span::ZERO, start, None);
            }
            return None;
        }
        let times = Times { response: track.response.clone(), service: track.service.clone() };
        self.times_earlier = std::mem::replace(times_before, times);
        let fresh = times_before.since(&self.times_earlier);
        track.seconds.push(fresh.second(end));
        Minute::add(&mut track.minutes, Span::ZERO, start, Some(&fresh.response));
        Some(fresh)
    }

    /// Counts what ended since the last second in the minute of that second, which began at
    /// `start`; returns its latencies, if there were requests.
    pub(super) fn drained(&mut self, start: Span) -> Option<Times> {
        let Running { track, times_before, .. } = self;
        if track.response.count() == times_before.response.count() {
            return None;
        }
        let fresh = Times { response: track.response.clone(), service: track.service.clone() }.since(times_before);
        Minute::add(&mut track.minutes, Span::ZERO, start, Some(&fresh.response));
        Some(fresh)
    }

    /// Lengthens the last second, which ended at `over`, up to `end`; returns its latencies, if it
    /// had requests.
    pub(super) fn lengthen_second(&mut self, over: Span, end: Span) -> Option<Times> {
        let Running { track, times_before, times_earlier, .. } = self;
        let had_requests = track.seconds.pop_if(|last| last.end == over).is_some();
        let before = if had_requests { times_earlier } else { times_before };
        if track.response.count() == before.response.count() {
            return None;
        }
        let whole = Times { response: track.response.clone(), service: track.service.clone() }.since(before);
        track.seconds.push(whole.second(end));
        Some(whole)
    }

    pub(super) fn finish(&mut self, start: Time, loaded: Time) {
        let first = self.first_made.filter(|made| *made >= loaded);
        let track = &mut self.track;
        let measured = self.last_end.max(loaded).since(first.unwrap_or(start));
        track.measured = if track.ops + track.failed > 0 { measured } else { Span::ZERO };
    }
}

impl Default for Track {
    fn default() -> Track {
        Track::new(Class::ALL)
    }
}

impl Track {
    /// An empty track.
    pub fn new(class: Class) -> Track {
        Track {
            class,
            ops: 0,
            bytes: 0,
            short: 0,
            failed: 0,
            measured: Span::ZERO,
            submission: Histogram::new(),
            service: Histogram::new(),
            response: Histogram::new(),
            lateness: Histogram::new(),
            gate: Histogram::new(),
            slices: Vec::new(),
            seconds: Vec::new(),
            minutes: Vec::new(),
        }
    }

    /// Successful requests a second.
    pub fn iops(&self) -> f64 {
        per_second(self.ops, self.measured)
    }

    /// Bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes, self.measured)
    }

    /// Spread of the bytes a second over the slices.
    pub fn throughput_spread(&self) -> Spread {
        Spread::of(self.full_slices().map(|slice| per_second(slice.bytes, slice.length)))
    }

    /// Spread of the operations a second over the slices.
    pub fn iops_spread(&self) -> Spread {
        Spread::of(self.full_slices().map(|slice| per_second(slice.ops, slice.length)))
    }

    /// Mean operations a second with its 95 % confidence interval, from the slices; `None` for
    /// fewer than two.
    pub fn iops_confidence(&self) -> Option<Confidence> {
        let rates: Vec<f64> = self.full_slices().map(|slice| per_second(slice.ops, slice.length)).collect();
        confidence(&rates)
    }

    /// The slices, without a last one that is too short to compare with the others.
    pub fn full_slices(&self) -> impl Iterator<Item = &TapeSlice> {
        let usual = self.slices.first().map_or(Span::ZERO, |slice| slice.length);
        let only = self.slices.len() == 1;
        self.slices.iter().filter(move |slice| only || slice.length.as_nanos() >= usual.as_nanos() / 2)
    }

    /// Adds a track of the same time: counts add up, lengths are the longest, and slices that begin
    /// together are joined.
    pub fn absorb(&mut self, other: &Track) {
        self.measured = self.measured.max(other.measured);
        // Percentiles cannot be added.
        self.seconds.clear();
        self.minutes.clear();
        for theirs in &other.slices {
            match self.slices.binary_search_by_key(&theirs.start(), TapeSlice::start) {
                Ok(index) => self.slices[index].absorb(theirs),
                Err(index) => self.slices.insert(index, *theirs),
            }
        }
        self.add(other);
    }

    /// Adds a track of a later time: counts and lengths add up.
    pub(super) fn append(&mut self, later: &Track) {
        self.measured += later.measured;
        self.add(later);
    }

    fn add(&mut self, other: &Track) {
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.short += other.short;
        self.failed += other.failed;
        self.submission.merge(&other.submission);
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.lateness.merge(&other.lateness);
        self.gate.merge(&other.gate);
    }
}

impl TapeSlice {
    /// Its start, counted from the start of the tape.
    pub fn start(&self) -> Span {
        self.end.saturating_sub(self.length)
    }

    fn absorb(&mut self, other: &TapeSlice) {
        self.end = self.end.max(other.end);
        self.length = self.length.max(other.length);
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.submission_sum += other.submission_sum;
        self.service_sum += other.service_sum;
        self.response_sum += other.response_sum;
        self.longest = self.longest.max(other.longest);
    }
}

impl Longest {
    /// The maxima of both.
    fn max(self, other: Longest) -> Longest {
        Longest {
            submission: self.submission.max(other.submission),
            service: self.service.max(other.service),
            response: self.response.max(other.response),
        }
    }
}

/// A count divided by a length; zero if the length is zero.
fn per_second(count: u64, length: Span) -> f64 {
    if length == Span::ZERO { 0.0 } else { count as f64 / length.as_secs_f64() }
}
