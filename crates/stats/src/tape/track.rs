//! One class of a tape.

use super::{Ended, Noted};
use crate::job::{Confidence, Spread, confidence};
use crate::run::{Class, Minute};
use crate::{Histogram, Summary};
use block::{Span, Time};

/// What the requests of one class did.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Which.
    pub class: Class,
    /// Requests that ended well.
    pub ops: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests that moved less than asked; counted among those that failed.
    pub short: u64,
    /// Requests that failed.
    pub failed: u64,
    /// For how long they were measured.
    pub measured: Span,
    /// From made to handed over; the same for all that went together.
    pub submission: Histogram,
    /// From handed over to the end.
    pub service: Histogram,
    /// From due to the end.
    pub response: Histogram,
    /// From due to made.
    pub lateness: Histogram,
    /// In queues of ours.
    pub gate: Histogram,
    /// Figures over time, without gaps, in order, from the first slice with a request on.
    pub slices: Vec<TapeSlice>,
    /// How long requests took in each second that had some; a second is as many slices as fit into
    /// one, at least one.
    pub seconds: Vec<TapeSecond>,
    /// How long requests took in each minute of these seconds, counted from the start of the tape.
    pub minutes: Vec<Minute>,
}

/// How long the requests of a class took in about a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapeSecond {
    /// Its end, counted from the start of the tape.
    pub end: Span,
    /// From due to the end.
    pub response: Summary,
    /// From handed over to the end.
    pub service: Summary,
}

/// A class over a short time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapeSlice {
    /// Its end, counted from the start of the tape.
    pub end: Span,
    /// Its length.
    pub length: Span,
    /// Requests that ended in it.
    pub ops: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their times from made to handed over.
    pub submission_sum: Span,
    /// Sum of their times from handed over to the end.
    pub service_sum: Span,
    /// Sum of their times from due to the end.
    pub response_sum: Span,
    /// The longest of these three, where that was to be noted; zero otherwise.
    pub longest: Longest,
}

/// The longest times of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longest {
    /// From made to handed over.
    pub submission: Span,
    /// From handed over to the end.
    pub service: Span,
    /// From due to the end.
    pub response: Span,
}

/// How long requests took.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Times {
    pub(super) response: Histogram,
    service: Histogram,
}

impl Times {
    /// These and those of another class.
    pub(super) fn and(mut self, other: &Times) -> Times {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self
    }

    /// As those of the second that ended at `end`.
    pub(super) fn second(&self, end: Span) -> TapeSecond {
        TapeSecond { end, response: self.response.summary(), service: self.service.summary() }
    }
}

/// A class that is recorded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Running {
    pub(super) track: Track,
    /// The figures at the start of the slice.
    before: TapeSlice,
    longest: Longest,
    /// Response and service times at the start of the second.
    times_before: Times,
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

    /// Ends a second from `start` to `end`; its times, where it had requests.
    pub(super) fn end_second(&mut self, start: Span, end: Span) -> Option<Times> {
        let Running { track, times_before, .. } = self;
        if track.response.count() == times_before.response.count() {
            if !track.minutes.is_empty() {
                Minute::add(&mut track.minutes, Span::ZERO, start, None);
            }
            return None;
        }
        let times = Times { response: track.response.clone(), service: track.service.clone() };
        let before = std::mem::replace(times_before, times);
        let fresh = Times {
            response: times_before.response.since(&before.response),
            service: times_before.service.since(&before.service),
        };
        track.seconds.push(fresh.second(end));
        Minute::add(&mut track.minutes, Span::ZERO, start, Some(&fresh.response));
        Some(fresh)
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
    /// Nothing yet.
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

    /// Requests that ended well, a second.
    pub fn iops(&self) -> f64 {
        per_second(self.ops, self.measured)
    }

    /// Bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes, self.measured)
    }

    /// How bytes a second varied from slice to slice.
    pub fn throughput_spread(&self) -> Spread {
        Spread::of(self.full_slices().map(|slice| per_second(slice.bytes, slice.length)))
    }

    /// How operations a second varied from slice to slice.
    pub fn iops_spread(&self) -> Spread {
        Spread::of(self.full_slices().map(|slice| per_second(slice.ops, slice.length)))
    }

    /// Where the mean of operations a second lies with 95 % confidence, from the slices; `None` of
    /// fewer than two.
    pub fn iops_confidence(&self) -> Option<Confidence> {
        let rates: Vec<f64> = self.full_slices().map(|slice| per_second(slice.ops, slice.length)).collect();
        confidence(&rates)
    }

    /// The slices without a last one that is too short to say something beside the others.
    pub fn full_slices(&self) -> impl Iterator<Item = &TapeSlice> {
        let usual = self.slices.first().map_or(Span::ZERO, |slice| slice.length);
        let only = self.slices.len() == 1;
        self.slices.iter().filter(move |slice| only || slice.length.as_nanos() >= usual.as_nanos() / 2)
    }

    /// Takes in what another did at the same time: counts add up, lengths are the longest, slices
    /// that begin together become one.
    pub fn absorb(&mut self, other: &Track) {
        self.measured = self.measured.max(other.measured);
        // Percentiles do not add up.
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

    /// Takes in what was done after it: counts and lengths add up.
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
    /// The longer one of each.
    fn max(self, other: Longest) -> Longest {
        Longest {
            submission: self.submission.max(other.submission),
            service: self.service.max(other.service),
            response: self.response.max(other.response),
        }
    }
}

/// A count over a length as a rate; zero for no length.
fn per_second(count: u64, length: Span) -> f64 {
    if length == Span::ZERO { 0.0 } else { count as f64 / length.as_secs_f64() }
}
