//! One ceiling: up to four clocks that must all be open, and what passed them.

use block::{Cause, LimitKind, ObjectId, Span, Time};

use super::node::Entity;
use super::trace::Trace;
use super::turn::Price;
use crate::account::{Passed, Tally};
use crate::clock::Clock;
use crate::edit::{Ceiling, GroupId};
use crate::heap::Heap;

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
pub(crate) struct Limit {
    /// From when the next request may go: the latest of the clocks.
    pub until: Time,
    /// The kind of the clock that opens last.
    binding: LimitKind,
    /// Requests in flight at most, for nodes whose children take turns without a rate.
    pub depth_max: u32,
    /// When the agenda's entry for this limit is due; later or other entries are stale.
    pub timer_at: Time,
    pub owner: Owner,
    /// Floors that were due and found it closed, the one due first on top.
    pub floors: Heap,
    /// What a request costs in the turns of those who wait here.
    pub price: Price,
    ops: Clock,
    ops_peak: Clock,
    bytes: Clock,
    bytes_peak: Clock,
    tally: Tally,
    trace: Option<Box<Trace>>,
    retired: bool,
}

impl Limit {
    /// A limit that limits nothing yet.
    pub fn new(owner: Owner) -> Limit {
        Limit {
            until: Time::ZERO,
            binding: LimitKind::Iops,
            depth_max: u32::MAX,
            timer_at: Time::MAX,
            owner,
            floors: Heap::default(),
            price: Price::default(),
            ops: Clock::default(),
            ops_peak: Clock::default(),
            bytes: Clock::default(),
            bytes_peak: Clock::default(),
            tally: Tally::default(),
            trace: None,
            retired: false,
        }
    }

    /// Sets the rates from now on; credit and debt stay in operations and bytes.
    pub fn set(&mut self, now: Time, ceiling: Ceiling, tolerance: Span) {
        let burst = ceiling.burst.filter(|b| b.percent > 0 && b.duration > Span::ZERO);
        // Capacity S = rate × percent/100 × duration; as the base clock's tolerance, S / rate.
        let saved = burst.map(|b| (b.duration / 100) * u64::from(b.percent));
        let peak = |rate: u64| {
            let above = |b: crate::edit::Burst| u128::from(rate) * (100 + u128::from(b.percent)) / 100;
            burst.map(|b| u64::try_from(above(b)).unwrap_or(u64::MAX))
        };
        let iops = ceiling.iops.map(|r| r.0);
        let bytes = ceiling.bytes.map(|r| r.0);
        let base_tolerance = |least: Span| saved.map_or(least, |s| s.max(least));
        self.ops.set(now, iops, base_tolerance(patience(iops, tolerance)));
        self.ops_peak.set(now, iops.and_then(peak), tolerance);
        self.bytes.set(now, bytes, base_tolerance(tolerance));
        self.bytes_peak.set(now, bytes.and_then(peak), tolerance);
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
        self.ops.is_on() || self.bytes.is_on()
    }

    /// Whether anything passed since the last account.
    pub fn has_passed(&self) -> bool {
        self.tally.ops > 0
    }

    /// Its slot is free: no timer of it is meant any more, nobody reports it.
    pub fn retire(&mut self) {
        self.timer_at = Time::MAX;
        self.retired = true;
    }

    /// Whether its slot is free.
    pub fn is_retired(&self) -> bool {
        self.retired
    }

    /// Whose it is.
    pub fn entity(&self) -> Entity {
        match self.owner {
            Owner::Node(n, _) => Entity::Node(n),
            Owner::Group(g, _) => Entity::Group(g),
        }
    }

    /// Charges a request that goes at `now`.
    pub fn charge(&mut self, now: Time, bytes: u64) {
        self.reserve(now, bytes);
        self.record(now, bytes);
    }

    /// Charges the clocks for a request that goes at `now` or, by appointment, later.
    pub fn reserve(&mut self, now: Time, bytes: u64) {
        self.ops.charge(now, 1);
        self.ops_peak.charge(now, 1);
        if bytes > 0 {
            self.bytes.charge(now, bytes);
            self.bytes_peak.charge(now, bytes);
        }
        self.bind();
    }

    /// Counts a request that goes at `now`.
    pub fn record(&mut self, now: Time, bytes: u64) {
        self.tally.add(bytes);
        if let Some(trace) = &mut self.trace {
            trace.record(now, bytes);
        }
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
        let trace = self.trace.as_mut().map(|t| t.take()).unwrap_or_default();
        Passed { tally: std::mem::take(&mut self.tally), trace }
    }

    fn bind(&mut self) {
        let ops = self.ops.opens().max(self.ops_peak.opens());
        let bytes = self.bytes.opens().max(self.bytes_peak.opens());
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
