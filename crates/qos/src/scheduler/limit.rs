//! One ceiling: up to four clocks that must all be open, and what passed them.

use block::{Cause, LimitKind, ObjectId, Span, Time};

use super::node::Entity;
use super::trace::Trace;
use super::turn::Price;
use crate::account::{Bin, Passed, Tally};
use crate::clock::Clock;
use crate::edit::{Burst, Ceiling, GroupId};
use crate::heap::Heap;
use crate::slab::NONE;

/// Whose ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A node's: its number, and the object's.
    Node(u32, ObjectId),
    /// A shared group's: its number, and the registry's.
    Group(u32, GroupId),
}

/// A ceiling's state. Without burst a kind has one clock with the common tolerance; with burst it has two: the base
/// rate with the credit's capacity as tolerance, and the peak rate with the common one.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Limit {
    // The first line has what most requests look at, the second what they add to.
    /// From when the next request may go: the latest of the clocks.
    pub until: Time,
    ops: Clock,
    /// Requests in flight at most, and now, for nodes whose children take turns without a rate.
    pub depth_max: u32,
    pub flying: u32,
    /// Whether requests are counted in operations, in bytes, and whether a burst is allowed.
    has_ops: bool,
    has_bytes: bool,
    has_burst: bool,
    /// The kind of the clock that opens last.
    binding: LimitKind,
    retired: bool,
    /// It is among those that something passed since the account.
    pub listed: bool,
    /// The traces' bin of the last request, and what passed in it.
    bin: u64,
    in_bin: Tally,
    /// What passed before it since the account.
    tally: Tally,
    /// For when the timer that is meant was set; others are stale.
    pub timer_at: Time,
    /// Floors that were due and found it closed, the one due first on top.
    pub floors: Heap,
    trace: Option<Box<Trace>>,
    bytes: Clock,
    ops_peak: Clock,
    bytes_peak: Clock,
    /// Requests taken on before this are not counted in `flying`.
    pub since: u32,
    pub owner: Owner,
    /// What a request costs in the turns of those who wait here.
    pub price: Price,
}

impl Limit {
    /// A limit that limits nothing yet.
    pub fn new(owner: Owner) -> Limit {
        Limit {
            until: Time::ZERO,
            binding: LimitKind::Iops,
            has_ops: false,
            has_bytes: false,
            has_burst: false,
            retired: false,
            depth_max: u32::MAX,
            flying: 0,
            since: 0,
            timer_at: Time::MAX,
            price: Price::default(),
            ops: Clock::default(),
            bytes: Clock::default(),
            listed: false,
            bin: u64::MAX,
            in_bin: Tally::default(),
            tally: Tally::default(),
            trace: None,
            floors: Heap::default(),
            owner,
            ops_peak: Clock::default(),
            bytes_peak: Clock::default(),
        }
    }

    /// Sets the rates from now on; credit and debt stay in operations and bytes.
    pub fn set(&mut self, now: Time, ceiling: Ceiling, tolerance: Span) {
        let burst = ceiling.burst.filter(|b| b.percent > 0 && b.duration > Span::ZERO);
        let iops = ceiling.iops.map(|r| r.0);
        let bytes = ceiling.bytes.map(|r| r.0);
        let credit = |least: Span| burst.map_or(least, |b| capacity(b).max(least));
        self.ops.set(now, iops, credit(patience(iops, tolerance)));
        self.bytes.set(now, bytes, credit(tolerance));
        self.ops_peak.set(now, iops.and_then(|r| burst.map(|b| peak(r, b))), tolerance);
        self.bytes_peak.set(now, bytes.and_then(|r| burst.map(|b| peak(r, b))), tolerance);
        (self.has_ops, self.has_bytes, self.has_burst) = (iops.is_some(), bytes.is_some(), burst.is_some());
        self.price = Price::of(iops, bytes);
        self.bind();
    }

    /// Starts to keep a trace.
    pub fn start_trace(&mut self) {
        self.trace.get_or_insert_default();
    }

    /// Whether it keeps a trace.
    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// A charge for this moment, and no later one, leaves no clock behind where it would be.
    pub fn latest(&self, now: Time) -> Time {
        let clocks = [&self.ops, &self.ops_peak, &self.bytes, &self.bytes_peak];
        let tolerance = clocks.into_iter().filter(|clock| clock.is_on()).map(Clock::tolerance).min();
        self.until.max(now) + tolerance.unwrap_or(Span::MAX)
    }

    /// Whether any rate is set.
    pub fn has_rate(&self) -> bool {
        self.has_ops || self.has_bytes
    }

    /// Whether children of its node take turns within a number of requests in flight.
    pub fn has_depth(&self) -> bool {
        self.depth_max != u32::MAX
    }

    /// Whether a request may pass now.
    #[inline]
    pub fn is_open(&self, now: Time) -> bool {
        self.until <= now && self.flying < self.depth_max
    }

    /// Whether anything passed since the last account.
    pub fn has_passed(&self) -> bool {
        self.listed
    }

    /// Its slot is free: no timer of it is meant any more, nobody reports it.
    pub fn retire(&mut self) {
        (self.timer_at, self.until) = (Time::MAX, Time::ZERO);
        self.retired = true;
    }

    /// The node and object whose it is; no node if it is a group's or its slot is free.
    pub fn node(&self) -> (u32, ObjectId) {
        match self.owner {
            Owner::Node(node, object) if !self.retired => (node, object),
            _ => (NONE, ObjectId(NONE)),
        }
    }

    /// Whose it is.
    pub fn entity(&self) -> Entity {
        match self.owner {
            Owner::Node(n, _) => Entity::Node(n),
            Owner::Group(g, _) => Entity::Group(g),
        }
    }

    /// Charges the clocks for a request that goes at `now` or, by appointment, later.
    #[inline]
    pub fn reserve(&mut self, now: Time, bytes: u64) {
        if self.has_ops {
            self.ops.charge_one(now);
        }
        if self.has_bytes || self.has_burst {
            self.charge_more(now, bytes);
        } else {
            self.until = self.ops.opens();
        }
    }

    /// Counts a request that goes, in this bin of the traces. Tells whether it is the first since the account.
    #[inline]
    pub fn record(&mut self, bin: u64, bytes: u64) -> bool {
        let first = bin != self.bin && self.turn_to(bin);
        self.in_bin.add(bytes);
        first
    }

    #[cold]
    fn turn_to(&mut self, bin: u64) -> bool {
        let (old, tally) = (self.bin, std::mem::take(&mut self.in_bin));
        self.bin = bin;
        if tally.ops > 0 {
            self.tally.ops += tally.ops;
            self.tally.bytes = self.tally.bytes.saturating_add(tally.bytes);
            if let Some(trace) = &mut self.trace {
                trace.record(Bin { at: old, tally });
            }
        }
        !std::mem::replace(&mut self.listed, true)
    }

    fn charge_more(&mut self, now: Time, bytes: u64) {
        if bytes > 0 {
            self.bytes.charge(now, bytes);
            self.bytes_peak.charge(now, bytes);
        }
        self.ops_peak.charge_one(now);
        self.bind();
    }

    /// What a request says that waited for this limit.
    pub fn cause(&self) -> Cause {
        match self.owner {
            Owner::Node(_, object) => Cause::Ceiling(object, self.binding),
            Owner::Group(_, group) => Cause::Shared(group.0, self.binding),
        }
    }

    /// What passed since the last call.
    pub fn take_passed(&mut self) -> Passed {
        // The bin of this moment comes to an end, and once more if more passes in it.
        self.turn_to(u64::MAX);
        self.listed = false;
        let trace = self.trace.as_mut().map(|t| t.take()).unwrap_or_default();
        Passed { tally: std::mem::take(&mut self.tally), trace }
    }

    fn bind(&mut self) {
        let mut ops = self.ops.opens();
        let mut bytes = self.bytes.opens();
        if self.has_burst {
            ops = ops.max(self.ops_peak.opens());
            bytes = bytes.max(self.bytes_peak.opens());
        }
        self.binding = if bytes > ops { LimitKind::Throughput } else { LimitKind::Iops };
        self.until = ops.max(bytes);
    }
}

/// A slow limit's tolerance: a nanosecond less than one operation, where that is longer than the common tolerance.
/// An operation that waited its turn at another limit for longer than the tolerance goes late, and its own limit must
/// not lose the time: 8/s beside others in a group of 42/s passed 7/s. A second still holds at most `rate` operations
/// and one more, because less than one is saved: ⌊rate × (1 s + tolerance)⌋ = rate.
fn patience(iops: Option<u64>, tolerance: Span) -> Span {
    iops.map_or(tolerance, |rate| tolerance.max((Span::SECOND / rate.max(1)).saturating_sub(Span::from_nanos(1))))
}

/// A burst's credit as time at the base rate: S / rate, with S = rate × percent/100 × duration.
fn capacity(burst: Burst) -> Span {
    let nanos = u128::from(burst.duration.as_nanos()) * u128::from(burst.percent) / 100;
    Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The rate at the peak of a burst.
fn peak(rate: u64, burst: Burst) -> u64 {
    let peak = u128::from(rate) * (100 + u128::from(burst.percent)) / 100;
    u64::try_from(peak).unwrap_or(u64::MAX)
}
