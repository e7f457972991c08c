//! The recorder: records an actor's requests by class, for any kind of work.
//!
//! ```text
//!   due ──lateness──► made ──submission──► handed over ──service──► end
//!    └────────────────────────── response ───────────────────────────┘
//! ```
//! In a closed loop a request is due when it is made. In an open loop it is due by the schedule, so
//! that a stalled device cannot hide: response times include the time until a request can be made.
//!
//! Every tape has the classes read, write, trim and flush, in this order; the owner's own classes
//! follow. Recording allocates only a class's histograms, with its first request.

mod punctuality;
mod track;

pub use punctuality::Punctuality;
pub use track::{Longest, TapeSecond, TapeSlice, Track};

use crate::run::{Class, Minute};
use crate::{Direction, Histogram};
use block::{Completion, Span, Time};
use std::ops::{Index, IndexMut};
use track::{Running, Times};

/// A last second with less load than this is no second of its own, but joined to the one before.
const LOADED_LEAST: Span = Span::from_millis(100);

/// A request that succeeded.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Index of its class.
    pub class: usize,
    /// When it was due.
    pub due: Time,
    /// When it was made.
    pub made: Time,
    /// When it was handed over to the storage.
    pub handed: Time,
    /// When it ended.
    pub end: Time,
    /// Time in our own queues between `made` and `handed`.
    pub gate: Span,
    /// Bytes that it transferred.
    pub bytes: u64,
}

/// What is recorded beside counts, response and service times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Slices of this length; `None` for none.
    pub slices: Option<Span>,
    /// Submission times, from made to handed over, for storage that works asynchronously.
    pub submission: bool,
    /// Lateness, from due to made.
    pub lateness: bool,
    /// Times in a gate.
    pub gate: bool,
    /// Maxima of each slice.
    pub longest: bool,
    /// Requests that transferred less than asked, separately from other failures.
    pub short: bool,
}

/// Records the requests of one actor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tape {
    noted: Noted,
    start: Time,
    classes: Vec<Running>,
    /// Start of the current slice.
    slice_began: Time,
    slice_end: Time,
    second_began: Time,
    /// Start of the last second that ended.
    second_before: Time,
    /// When the last second that is over began to drain: what ended from then on is part of it.
    drain: Option<Span>,
    /// Whether a slice has ended since the owner last asked.
    has_rolled: bool,
    /// Latencies over all parts, for each second with requests.
    seconds: Vec<TapeSecond>,
    /// The same for each minute.
    minutes: Vec<Minute>,
    /// Punctuality of the schedule.
    pub punctuality: Punctuality,
}

impl Default for Tape {
    fn default() -> Tape {
        Tape::new(Time::ZERO, Noted::default())
    }
}

impl Tape {
    /// The class of reads.
    pub const READ: usize = Direction::Read as usize;
    /// The class of writes.
    pub const WRITE: usize = Direction::Write as usize;
    /// The class of trims.
    pub const TRIM: usize = Direction::Trim as usize;
    /// The class of flushes.
    pub const FLUSH: usize = 3;
    /// Index of the first class that a tape's owner adds; the others follow.
    pub const OWN: usize = 4;

    /// An empty tape that begins at `start`.
    pub fn new(start: Time, noted: Noted) -> Tape {
        let classes = [Class::READ, Class::WRITE, Class::TRIM, Class::FLUSH];
        Tape {
            noted,
            start,
            classes: classes.into_iter().map(Running::new).collect(),
            slice_began: start,
            second_began: start,
            second_before: start,
            drain: None,
            slice_end: noted.slices.map_or(Time::MAX, |length| start + length),
            has_rolled: false,
            seconds: Vec::new(),
            minutes: Vec::new(),
            punctuality: Punctuality::default(),
        }
    }

    /// Adds a class; returns its index.
    pub fn add(&mut self, class: Class) -> usize {
        self.classes.push(Running::new(class));
        self.classes.len() - 1
    }

    /// An empty tape with the same classes and settings that begins at `start`.
    #[must_use]
    pub fn anew(&self, start: Time) -> Tape {
        let mut tape = Tape::new(start, self.noted);
        self.classes[tape.classes.len()..].iter().for_each(|running| _ = tape.add(running.track.class.clone()));
        tape.punctuality.scheduled = self.punctuality.scheduled;
        tape
    }

    /// When it began.
    pub fn start(&self) -> Time {
        self.start
    }

    /// What it records.
    pub fn noted(&self) -> Noted {
        self.noted
    }

    /// Counts a request of an open loop that is made at `now`; `held` if it was due while the cap
    /// was reached.
    #[inline]
    pub fn made(&mut self, due: Time, now: Time, held: bool) {
        self.punctuality.count(now.since(due), held);
    }

    /// Records a request that succeeded. A completion exactly at the end of a slice belongs to it.
    ///
    /// This is on the path of every I/O, and a function call would be a tenth of its cost.
    #[inline(always)]
    pub fn ended(&mut self, ended: &Ended) {
        if ended.end > self.slice_end {
            self.end_slices_before(ended.end);
        }
        self.classes[ended.class].count(ended, &self.noted);
    }

    /// Counts a request that failed; `short` if it transferred less than asked.
    pub fn failed(&mut self, class: usize, short: bool) {
        let track = &mut self.classes[class].track;
        track.failed += 1;
        track.short += u64::from(short);
    }

    /// Closes the slices that are over at `now`; returns whether one was closed since the last
    /// call.
    pub fn roll(&mut self, now: Time) -> bool {
        if now >= self.slice_end {
            self.end_slices_before(Time::from_nanos(now.as_nanos().saturating_add(1)));
        }
        std::mem::take(&mut self.has_rolled)
    }

    /// Ends the tape at `end`. `loaded` is the end of the load: a stall up to then counts as
    /// measured time and does not shorten the run. A class whose requests began later, such as
    /// reads that only verify, is measured from its first request.
    pub fn finish(&mut self, loaded: Time, end: Time) {
        self.roll(end);
        if self.noted.slices.is_some() && end > self.slice_began {
            self.end_slices(end);
        }
        if self.noted.slices.is_some() && end > self.second_began {
            // The requests in flight at the end of the load end within a moment, and divided by
            // that moment they would be a rate that never was.
            let began = self.second_began;
            if began > self.start && loaded.since(began) < LOADED_LEAST {
                self.drain = Some(began.since(self.start));
                self.lengthen_second(end);
            } else {
                self.end_second(end);
            }
        }
        self.classes.iter_mut().for_each(|running| running.finish(self.start, loaded));
    }

    /// Returns what was recorded until `now`, as a tape without slices, and starts anew.
    #[must_use]
    pub fn take(&mut self, now: Time) -> Tape {
        let anew = self.anew(now);
        let mut taken = std::mem::replace(self, anew);
        taken.classes.iter_mut().for_each(|running| running.track.measured = now.since(taken.start));
        taken
    }

    /// All classes.
    pub fn tracks(&self) -> impl Iterator<Item = &Track> {
        self.classes.iter().map(|running| &running.track)
    }

    /// The class with that name.
    pub fn track(&self, class: &Class) -> Option<&Track> {
        self.tracks().find(|track| track.class == *class)
    }

    /// Reads, writes and trims.
    pub fn directions(&self) -> impl Iterator<Item = (Direction, &Track)> {
        Direction::ALL.into_iter().map(|direction| (direction, &self[direction]))
    }

    /// The classes that are parts of the whole.
    pub fn parts(&self) -> impl Iterator<Item = &Track> {
        self.tracks().filter(|track| track.class.is_part())
    }

    /// Latencies over all parts, for each second with requests.
    pub fn seconds(&self) -> &[TapeSecond] {
        &self.seconds
    }

    /// From when on, counted from the start of the tape, slices belong to the second before; `None`
    /// if the last second is one of its own.
    pub fn drain(&self) -> Option<Span> {
        self.drain
    }

    /// Latencies over all parts for each minute, counted from the start of the tape.
    pub fn minutes(&self) -> &[Minute] {
        &self.minutes
    }

    /// Operations of all parts.
    pub fn ops(&self) -> u64 {
        self.parts().map(|track| track.ops).sum()
    }

    /// Histogram over all parts.
    pub fn merged(&self, of: fn(&Track) -> &Histogram) -> Histogram {
        let mut sum = Histogram::new();
        self.parts().for_each(|track| sum.merge(of(track)));
        sum
    }

    /// Adds a tape of the same time: counts add up, lengths are the longest, and slices that begin
    /// together are joined.
    pub fn absorb(&mut self, other: &Tape) {
        // Percentiles cannot be added.
        self.seconds.clear();
        self.minutes.clear();
        self.drain = self.drain.max(other.drain);
        self.each_of(other, Track::absorb);
    }

    /// Adds a tape of a later time: counts and lengths add up. `never_sent` becomes that of the
    /// later tape.
    pub fn append(&mut self, later: &Tape) {
        let never_sent = later.punctuality.never_sent;
        self.each_of(later, Track::append);
        self.punctuality.never_sent = never_sent;
    }

    fn each_of(&mut self, other: &Tape, join: fn(&mut Track, &Track)) {
        for theirs in other.tracks() {
            let mine = self.classes.iter().position(|running| running.track.class == theirs.class);
            let mine = mine.unwrap_or_else(|| self.add(theirs.class.clone()));
            join(&mut self.classes[mine].track, theirs);
        }
        self.punctuality.add(&other.punctuality);
    }

    /// Closes all slices that end before `time`.
    #[cold]
    fn end_slices_before(&mut self, time: Time) {
        let Some(length) = self.noted.slices else { return };
        while self.slice_end < time {
            self.end_slices(self.slice_end);
            if self.slice_end.since(self.second_began) + length > Span::SECOND {
                self.end_second(self.slice_end);
            }
            self.slice_end += length.max(Span::from_nanos(1));
        }
    }

    fn end_slices(&mut self, end: Time) {
        let (length, since_start) = (end.since(self.slice_began), end.since(self.start));
        self.classes.iter_mut().for_each(|running| running.end_slice(since_start, length));
        self.slice_began = end;
        self.has_rolled = true;
    }

    fn end_second(&mut self, end: Time) {
        let (began, since_start) = (self.second_began.since(self.start), end.since(self.start));
        let whole = self.whole_of(|running| running.end_second(began, since_start));
        if whole.is_some() || !self.minutes.is_empty() {
            Minute::add(&mut self.minutes, Span::ZERO, began, whole.as_ref().map(|whole| &whole.response));
        }
        self.seconds.extend(whole.map(|whole| whole.second(since_start)));
        self.second_before = std::mem::replace(&mut self.second_began, end);
    }

    /// Lengthens the last second that is over up to `end`.
    fn lengthen_second(&mut self, end: Time) {
        let (began, over) = (self.second_before.since(self.start), self.second_began.since(self.start));
        let drained = self.whole_of(|running| running.drained(began));
        if let Some(drained) = &drained {
            Minute::add(&mut self.minutes, Span::ZERO, began, Some(&drained.response));
        }
        let since_start = end.since(self.start);
        let whole = self.whole_of(|running| running.lengthen_second(over, since_start));
        self.seconds.pop_if(|last| last.end == over);
        self.seconds.extend(whole.map(|whole| whole.second(since_start)));
        self.second_began = end;
    }

    /// The latencies that each class returns, joined over all parts.
    fn whole_of(&mut self, mut of: impl FnMut(&mut Running) -> Option<Times>) -> Option<Times> {
        let mut whole: Option<Times> = None;
        for running in &mut self.classes {
            let times = of(running).filter(|_| running.track.class.is_part());
            whole = match (whole, times) {
                (Some(whole), Some(times)) => Some(whole.and(&times)),
                (whole, times) => whole.or(times),
            };
        }
        whole
    }
}

impl Ended {
    /// The record of a completion from a target that reports times in gate and device.
    #[inline]
    pub fn of(class: usize, completion: &Completion) -> Ended {
        let Completion { due, end, queued, service, len, .. } = *completion;
        let handed = end - service;
        Ended { class, due, made: handed - queued, handed, end, gate: queued, bytes: len }
    }
}

impl Index<usize> for Tape {
    type Output = Track;

    fn index(&self, class: usize) -> &Track {
        &self.classes[class].track
    }
}

impl Index<Direction> for Tape {
    type Output = Track;

    fn index(&self, direction: Direction) -> &Track {
        &self[direction as usize]
    }
}

impl IndexMut<usize> for Tape {
    fn index_mut(&mut self, class: usize) -> &mut Track {
        &mut self.classes[class].track
    }
}

impl IndexMut<Direction> for Tape {
    fn index_mut(&mut self, direction: Direction) -> &mut Track {
        &mut self[direction as usize]
    }
}

#[cfg(test)]
mod tests;
