//! One connection's share of a workload as a sequence of requests.
//!
//! ```text
//!   worker:  match stream.next(now) {
//!                Issue(draft)      ──► a request with the draft's due time; ask again at once
//!                NotBefore(time)   ──► wait for that time or a completion
//!                WaitForCompletion ──► stream.completed(now) at the next one, then ask again
//!                Done              ──► nothing more to make; what is in flight still ends
//!            }
//! ```
//!
//! A stream is a pure function of specification, lane and times. The same seed makes the same
//! requests in the same order, whenever they are made: arrival times come from a random source of
//! their own. After it is created or reshaped it allocates nothing. Sizes, schedules and random
//! sources are shared with [`JobStream`](crate::job::JobStream); decision 0306 says why there are
//! two kinds of stream.

use crate::chance::Chance;
use crate::due::{Due, Share};
use crate::job::sizes::Sizes;
use crate::job::{BlockSizes, SplitShare};
use crate::pace::Pace;
use crate::spec::{Arrival, BlockShare, Pattern, Spec, SpecError};
use block::{Bytes, OpKind, Time};

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Make this request; it counts as outstanding from now on.
    Issue(Draft),
    /// Nothing is due before this time.
    NotBefore(Time),
    /// As many as allowed are outstanding: ask again after a completion.
    WaitForCompletion,
    /// No further request comes, until a reshape says otherwise.
    Done,
}

/// A request to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draft {
    /// [`OpKind::Read`], [`OpKind::Write`] or [`OpKind::Flush`].
    pub kind: OpKind,
    /// First byte within the target.
    pub at: u64,
    /// Bytes.
    pub len: u64,
    /// When it was due: the schedule's time in an open loop, `now` in a closed one. Response time
    /// counts from here.
    pub due: Time,
}

/// One connection's requests.
#[derive(Clone, Debug)]
pub struct Stream {
    lane: u32,
    target: Bytes,
    /// Its part of an open loop's rate, and the schedule made from it.
    share: Option<Share>,
    /// Number of connections that share the schedule.
    lanes: u64,
    schedule: Option<Due>,
    /// Pace of a closed loop.
    pace: Option<Pace>,
    /// Maximum number of requests in flight: the depth of a closed loop, the cap of an open one.
    most: u32,
    outstanding: u32,
    made: u64,
    /// Number of requests to make in all.
    quota: u64,
    stopped: bool,
    chance: Chance,
    arrival_chance: Chance,
    read_percent: u64,
    /// Number of writes between flushes; `None` never flushes.
    flush_every: Option<u32>,
    written: u32,
    sizes: Sizes,
    place: Place,
    /// Requests that were due by a schedule that a reshape replaced, and were never made.
    unsent: u64,
    /// Whether the cap was reached and the schedule has not caught up since.
    cap_met: bool,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    pattern: Pattern,
    start: u64,
    end: u64,
    /// Where the next sequential request begins.
    cursor: u64,
}

impl Stream {
    /// Lane `lane` (from 0) of `spec` on a target of `target` bytes; its schedule begins at
    /// `start`. A lane beyond the connections of the specification returns [`Next::Done`] from the
    /// beginning.
    pub fn new(spec: &Spec, target: Bytes, lane: u32, start: Time) -> Result<Stream, SpecError> {
        spec.check(target)?;
        let chance = Chance::of_lane(spec.seed, lane);
        let mut stream = Stream {
            lane,
            target,
            share: None,
            lanes: 1,
            schedule: None,
            pace: None,
            most: 0,
            outstanding: 0,
            made: 0,
            quota: 0,
            stopped: false,
            arrival_chance: chance.apart(),
            chance,
            read_percent: 0,
            flush_every: None,
            written: 0,
            sizes: sizes(spec),
            place: Place::of(spec, target, lane),
            unsent: 0,
            cap_met: false,
        };
        stream.take_shape(start, spec);
        Ok(stream)
    }

    /// The next request, or when to ask again.
    #[inline]
    pub fn next(&mut self, now: Time) -> Next {
        if self.made >= self.quota || self.stopped {
            return Next::Done;
        }
        let full = self.outstanding >= self.most;
        let due = match &mut self.schedule {
            None if full => return Next::WaitForCompletion,
            None => {
                if let Some(pace) = &mut self.pace {
                    if pace.free() > now {
                        return Next::NotBefore(pace.free());
                    }
                    pace.take(now);
                }
                now
            }
            Some(schedule) => {
                let due = schedule.due();
                self.cap_met |= full;
                if due > now {
                    self.cap_met = full;
                    return Next::NotBefore(due);
                }
                if full {
                    return Next::WaitForCompletion;
                }
                schedule.advance(self.lanes);
                due
            }
        };
        self.outstanding += 1;
        self.made += 1;
        Next::Issue(self.draft(due))
    }

    /// Records the completion of one of its requests, successful or not. No kind of arrival depends
    /// on the time yet.
    pub fn completed(&mut self, _now: Time) {
        debug_assert!(self.outstanding > 0, "a completion of a request that this stream did not make");
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    /// Changes the load to `spec` on the same target. Requests in flight stay; a lower depth is
    /// reached as they complete. The seed stays the first one.
    ///
    /// A changed arrival (or number of connections that share a rate) begins a new schedule at
    /// `now`. What was overdue is never made and counts in [`Stream::unsent`], so that the backlog
    /// of one phase is not a burst in the next.
    pub fn reshape(&mut self, now: Time, spec: &Spec) -> Result<(), SpecError> {
        spec.check(self.target)?;
        self.take_shape(now, spec);
        Ok(())
    }

    /// Makes no more requests, even after a reshape.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Number of requests in flight.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Number of requests made.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Whether requests are due by a schedule: an open loop in which this lane has a share.
    pub fn is_scheduled(&self) -> bool {
        self.schedule.is_some()
    }

    /// Requests of an open loop that are due by `now` and not made. A run that ends now never sends
    /// them.
    pub fn overdue(&self, now: Time) -> u64 {
        let due = self.schedule.as_ref().map_or(0, |schedule| schedule.due_by(now, self.lanes));
        due.min(self.quota.saturating_sub(self.made))
    }

    /// Whether overdue requests were held by the cap: it was reached, and the schedule has not
    /// caught up since.
    pub fn cap_met(&self) -> bool {
        self.cap_met
    }

    /// Requests that were due by schedules that reshapes replaced, and were never made.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    fn take_shape(&mut self, now: Time, spec: &Spec) {
        self.take_arrival(now, spec);
        self.quota = quota(spec, self.lane);
        self.read_percent = u64::from(spec.read_percent);
        self.flush_every = spec.flush_every;
        self.sizes = sizes(spec);
        let place = Place::of(spec, self.target, self.lane);
        let goes_on = (place.pattern, place.start, place.end) == (self.place.pattern, self.place.start, self.place.end);
        self.place.cursor = if goes_on { self.place.cursor } else { place.cursor };
        self.place = Place { cursor: self.place.cursor, ..place };
    }

    fn take_arrival(&mut self, now: Time, spec: &Spec) {
        self.most = spec.arrival.most();
        let pace = spec.pace.filter(|_| matches!(spec.arrival, Arrival::Closed { .. }));
        if pace != self.pace.map(|pace| pace.rate()) {
            self.pace = pace.map(|rate| Pace::new(now, rate));
        }
        let share = share(spec, self.lane);
        if share == self.share {
            return;
        }
        self.unsent += self.overdue(now);
        self.cap_met = false;
        self.share = share;
        self.lanes = share.map_or(1, |share| u64::from(share.lanes));
        self.schedule = share.map(|share| share.due(now, self.arrival_chance.clone()));
        // Each schedule has its own random source, so that a second one of the same rate differs.
        self.arrival_chance = self.arrival_chance.apart();
    }

    #[inline]
    fn draft(&mut self, due: Time) -> Draft {
        if self.flush_every.is_some_and(|writes| self.written >= writes) {
            self.written = 0;
            return Draft { kind: OpKind::Flush, at: 0, len: 0, due };
        }
        let kind = if self.chance.below(100) < self.read_percent { OpKind::Read } else { OpKind::Write };
        self.written = self.written.wrapping_add(u32::from(kind == OpKind::Write));
        let len = u64::from(self.sizes.draw(&mut self.chance));
        let at = match self.place.pattern {
            Pattern::Random => self.place.jump(len, &mut self.chance),
            Pattern::Sequential => self.place.take(len),
        };
        Draft { kind, at, len, due }
    }
}

impl Place {
    /// The range of `spec`. A sequential lane starts at its own equal part of it, at a multiple of
    /// the largest block.
    fn of(spec: &Spec, target: Bytes, lane: u32) -> Place {
        let (start, range) = (spec.range.offset.0, spec.range_len(target).0);
        let lanes = u64::from(spec.connections.max(lane + 1));
        let block = spec.blocks.largest().0.max(1);
        let part = range / block / lanes * u64::from(lane) * block;
        Place { pattern: spec.pattern, start, end: start + range, cursor: start + part }
    }

    /// Offset of a random block of `len` bytes.
    #[inline]
    fn jump(&self, len: u64, chance: &mut Chance) -> u64 {
        self.start + chance.below((self.end - self.start) / len) * len
    }

    /// Offset of the next `len` bytes; wraps to the start if they do not fit before the end.
    #[inline]
    fn take(&mut self, len: u64) -> u64 {
        let at = if self.end - self.cursor < len { self.start } else { self.cursor };
        self.cursor = at + len;
        at
    }
}

/// The sizes of the requests of `spec`.
fn sizes(spec: &Spec) -> Sizes {
    let share = |share: &BlockShare| SplitShare { size: share.size.0 as u32, weight: share.weight };
    Sizes::new(&match spec.blocks.shares() {
        [only] => BlockSizes::Fixed(only.size.0 as u32),
        several => BlockSizes::Split(several.iter().map(share).collect()),
    })
}

/// The share of lane `lane` in an open loop; `None` for a closed loop, or if it has no connection.
fn share(spec: &Spec, lane: u32) -> Option<Share> {
    match spec.arrival {
        Arrival::Open { rate, spacing, .. } if lane < spec.connections => {
            Some(Share { rate, spacing, lane, lanes: spec.connections })
        }
        _ => None,
    }
}

/// Total number of requests of lane `lane`: an equal share of the workload's, rounded up for the
/// first lanes.
fn quota(spec: &Spec, lane: u32) -> u64 {
    if lane >= spec.connections {
        return 0;
    }
    let lanes = u64::from(spec.connections);
    spec.requests.map_or(u64::MAX, |all| all / lanes + u64::from(u64::from(lane) < all % lanes))
}
