//! The recorder: what an actor's requests did, class by class, whatever kind of work it is.
//!
//! ```text
//!   due ──lateness──► made ──submission──► handed over ──service──► end
//!    └────────────────────────── response ───────────────────────────┘
//! ```
//! In a closed loop a request is due when it is made. In an open loop it is due by the schedule, so
//! that a stalled device cannot hide: what waits for its turn has a response time that grows.
//!
//! Every tape has the classes read, write, trim and flush, in this order; what else its owner does
//! has classes behind them. Nothing is allocated for a request but a class's histograms, with its
//! first.

mod punctuality;
mod track;

pub use punctuality::Punctuality;
pub use track::{Longest, TapeSecond, TapeSlice, Track};

use crate::run::{Class, Minute};
use crate::{Direction, Histogram};
use block::{Completion, Span, Time};
use std::ops::{Index, IndexMut};
use track::{Running, Times};

/// One request that ended well.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The number of its class.
    pub class: usize,
    /// When it was due.
    pub due: Time,
    /// When it was made.
    pub made: Time,
    /// When the storage got it.
    pub handed: Time,
    /// When it ended.
    pub end: Time,
    /// What it waited in queues of ours between `made` and `handed`.
    pub gate: Span,
    /// What it moved, in bytes.
    pub bytes: u64,
}

/// What is noted beside counts, response and service times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Slices of this length; `None` for none.
    pub slices: Option<Span>,
    /// From made to handed over: requests are handed over to something that works on them while
    /// their owner goes on.
    pub submission: bool,
    /// From due to made.
    pub lateness: bool,
    /// What waited in a gate.
    pub gate: bool,
    /// The longest times of each slice.
    pub longest: bool,
    /// Requests that moved less than asked are told apart from others that failed.
    pub short: bool,
}

/// Records what the requests of one actor do.
#[derive(Clone, Debug, PartialEq)]
pub struct Tape {
    noted: Noted,
    start: Time,
    classes: Vec<Running>,
    /// The slice in progress.
    slice_began: Time,
    slice_end: Time,
    second_began: Time,
    /// A slice ended since the owner last looked.
    has_rolled: bool,
    /// How long requests of all parts together took, in each second that had some.
    seconds: Vec<TapeSecond>,
    /// The same in each minute.
    minutes: Vec<Minute>,
    /// How well a schedule was kept.
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
    /// The first class that a tape's owner adds; the others follow.
    pub const OWN: usize = 4;

    /// An empty one that begins at `start`.
    pub fn new(start: Time, noted: Noted) -> Tape {
        let classes = [Class::READ, Class::WRITE, Class::TRIM, Class::FLUSH];
        Tape {
            noted,
            start,
            classes: classes.into_iter().map(Running::new).collect(),
            slice_began: start,
            second_began: start,
            slice_end: noted.slices.map_or(Time::MAX, |length| start + length),
            has_rolled: false,
            seconds: Vec::new(),
            minutes: Vec::new(),
            punctuality: Punctuality::default(),
        }
    }

    /// Another class, behind those that are there; its number.
    pub fn add(&mut self, class: Class) -> usize {
        self.classes.push(Running::new(class));
        self.classes.len() - 1
    }

    /// An empty one with the same classes, which notes the same from `start` on.
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

    /// What it notes.
    pub fn noted(&self) -> Noted {
        self.noted
    }

    /// Counts a request of an open loop that is made at `now`; `held` where it was due while as
    /// many as allowed were in flight.
    #[inline]
    pub fn made(&mut self, due: Time, now: Time, held: bool) {
        self.punctuality.count(now.since(due), held);
    }

    /// Counts a request that ended well. What ends exactly with a slice belongs to it.
    ///
    /// It is the way of every I/O: a call costs a tenth of what is done here.
    #[inline(always)]
    pub fn ended(&mut self, ended: &Ended) {
        if ended.end > self.slice_end {
            self.end_slices_before(ended.end);
        }
        self.classes[ended.class].count(ended, &self.noted);
    }

    /// Counts a request that failed; `short` where it moved less than asked.
    pub fn failed(&mut self, class: usize, short: bool) {
        let track = &mut self.classes[class].track;
        track.failed += 1;
        track.short += u64::from(short);
    }

    /// Ends the slices that are over at `now`; whether one ended since the last call.
    pub fn roll(&mut self, now: Time) -> bool {
        if now >= self.slice_end {
            self.end_slices_before(Time::from_nanos(now.as_nanos().saturating_add(1)));
        }
        std::mem::take(&mut self.has_rolled)
    }

    /// Ends it at `end`. `loaded` is when the load was over: what stalls until then counts as time,
    /// and not as a shorter run. A class whose requests began behind that, as reads that only check
    /// what was written, is measured from its first.
    pub fn finish(&mut self, loaded: Time, end: Time) {
        self.roll(end);
        if self.noted.slices.is_some() && end > self.slice_began {
            self.end_slices(end);
        }
        if self.noted.slices.is_some() && end > self.second_began {
            self.end_second(end);
        }
        self.classes.iter_mut().for_each(|running| running.finish(self.start, loaded));
    }

    /// Hands out what was recorded until `now`, as a tape of its own without slices, and starts
    /// anew.
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

    /// The class of that name.
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

    /// How long requests of all parts together took, in each second that had some.
    pub fn seconds(&self) -> &[TapeSecond] {
        &self.seconds
    }

    /// How long requests of all parts together took in each minute, counted from the start of the
    /// tape.
    pub fn minutes(&self) -> &[Minute] {
        &self.minutes
    }

    /// Operations of all parts together.
    pub fn ops(&self) -> u64 {
        self.parts().map(|track| track.ops).sum()
    }

    /// Times of all parts together.
    pub fn merged(&self, of: fn(&Track) -> &Histogram) -> Histogram {
        let mut sum = Histogram::new();
        self.parts().for_each(|track| sum.merge(of(track)));
        sum
    }

    /// Takes in what another did at the same time: counts add up, lengths are the longest, slices
    /// that begin together become one.
    pub fn absorb(&mut self, other: &Tape) {
        // Percentiles do not add up.
        self.seconds.clear();
        self.minutes.clear();
        self.each_of(other, Track::absorb);
    }

    /// Takes in what was done after it: counts and lengths add up. What is never sent by the end is
    /// what the later one says.
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

    /// Ends all slices that end before `time`.
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
        let mut whole: Option<Times> = None;
        for running in &mut self.classes {
            let times = running.end_second(began, since_start).filter(|_| running.track.class.is_part());
            whole = match (whole, times) {
                (Some(whole), Some(times)) => Some(whole.and(&times)),
                (whole, times) => whole.or(times),
            };
        }
        if whole.is_some() || !self.minutes.is_empty() {
            Minute::add(&mut self.minutes, Span::ZERO, began, whole.as_ref().map(|whole| &whole.response));
        }
        self.seconds.extend(whole.map(|whole| whole.second(since_start)));
        self.second_began = end;
    }
}

impl Ended {
    /// A completion of a class, of a target that tells how long it waited in a gate and in the
    /// device.
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
