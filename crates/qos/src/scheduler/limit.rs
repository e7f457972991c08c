//! One ceiling: up to four clocks that must all be open, and what passed them.

use block::{LimitKind, Span, Time};

use super::node::{Entity, Waiter};
use super::report::Interval;
use super::trace::Trace;
use super::turns::Price;
use crate::account::{Bin, Passed, Tally};
use crate::clock::Clock;
use crate::edit::{Burst, Ceiling};
use crate::heap::{Entry, Heap};
use crate::slab::NONE;

/// A ceiling's state. Without burst a kind has one clock with the common tolerance; with burst it
/// has two: the base rate with the credit's capacity as tolerance, and the peak rate with the
/// common one.
///
/// One cache line, and the rest only while it is in use or needs more clocks: an idle object's
/// limit on operations costs no more.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Limit {
    /// When the next request may go: the latest of the clocks.
    pub until: Time,
    ops: Clock,
    rest: Option<Box<Rest>>,
    /// Floors that were due and found it closed, the one due first on top.
    pub floors: Parked,
    /// Its node or group as a waiter's bits; [`NONE`] once its slot is free.
    owner: u32,
    /// It has more clocks than the one for operations.
    has_more: bool,
    /// The requests in flight beneath its node are as many as `depth_max`.
    is_full: bool,
    has_depth: bool,
    traced: bool,
}

/// What only a limit needs that is in use, or is on more than operations. Most requests add to the
/// first cache line alone.
#[derive(Debug)]
#[repr(C, align(64))]
struct Rest {
    /// The trace bin of the last request, and what passed in it.
    bin: u64,
    in_bin: Tally,
    /// What passed since the last account, without that bin.
    tally: Tally,
    /// The time that the valid timer was set for; timers for other times are stale.
    timer_at: Time,
    /// Requests in flight at most, and now, for nodes whose children take turns without a rate.
    depth_max: u32,
    in_flight: u32,
    /// Requests accepted before this epoch are not counted in `in_flight`.
    since: u32,
    /// For how long in an account's interval it was open and its waiters were not let go, and which
    /// interval that is.
    late: Span,
    interval: u32,
    /// For how many more accounts it stays in the list of limits that passed something.
    listed: u8,
    bytes: Clock,
    ops_peak: Clock,
    bytes_peak: Clock,
    trace: Trace,
}

impl Default for Rest {
    fn default() -> Rest {
        Rest {
            bin: u64::MAX,
            in_bin: Tally::default(),
            tally: Tally::default(),
            timer_at: Time::MAX,
            depth_max: u32::MAX,
            in_flight: 0,
            since: 0,
            late: Span::ZERO,
            interval: 0,
            listed: 0,
            bytes: Clock::default(),
            ops_peak: Clock::default(),
            bytes_peak: Clock::default(),
            trace: Trace::default(),
        }
    }
}

/// Floors parked at a closed limit. The heap is allocated with the first of them, so that a limit
/// without any costs one word.
#[derive(Debug, Default)]
pub(crate) struct Parked(Option<Box<Heap>>);

impl Parked {
    /// A floor that was due found the limit closed.
    pub fn push(&mut self, entry: Entry) {
        self.0.get_or_insert_default().push(entry);
    }

    /// The one that is due first.
    pub fn pop(&mut self) -> Option<Entry> {
        self.0.as_mut()?.pop()
    }

    /// Whether no floor is parked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|floors| floors.is_empty())
    }
}

impl Limit {
    /// A limit that limits nothing yet; `traced` if it is to keep a trace.
    pub fn new(owner: Entity, traced: bool) -> Limit {
        let owner = match owner {
            Entity::Node(n) => Waiter::Node(n),
            Entity::Group(g) => Waiter::Group(g),
        };
        Limit {
            until: Time::ZERO,
            ops: Clock::default(),
            rest: None,
            floors: Parked::default(),
            owner: owner.to_bits(),
            has_more: false,
            is_full: false,
            has_depth: false,
            traced,
        }
    }

    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// Sets the rates from now on; credit and debt are kept in operations and bytes.
    pub fn set(&mut self, now: Time, ceiling: Ceiling, tolerance: Span) {
        let burst = ceiling.burst.filter(|b| b.ppm > 0 && b.duration > Span::ZERO);
        let iops = ceiling.iops.map(|r| r.0);
        let bytes = ceiling.bytes.map(|r| r.0);
        let credit = |least: Span| burst.map_or(least, |b| capacity(b).max(least));
        self.ops.set(now, iops, credit(patience(iops, tolerance)));
        self.has_more = bytes.is_some() || burst.is_some();
        if self.has_more || self.rest.is_some() {
            let rest = self.rest();
            rest.bytes.set(now, bytes, credit(tolerance));
            rest.ops_peak.set(now, iops.and_then(|r| burst.map(|b| peak(r, b))), tolerance);
            rest.bytes_peak.set(now, bytes.and_then(|r| burst.map(|b| peak(r, b))), tolerance);
        }
        self.bind();
    }

    /// Bounds the requests in flight beneath its node, or lifts the bound. Only those accepted
    /// since an epoch are counted.
    pub fn set_depth(&mut self, depth_max: Option<u32>, since: u32) {
        self.has_depth = depth_max.is_some();
        let rest = self.rest();
        (rest.depth_max, rest.in_flight, rest.since) = (depth_max.unwrap_or(u32::MAX), 0, since);
        self.is_full = false;
    }

    /// What a request costs in turns in its owner's turn queue.
    pub fn price(&self) -> Price {
        Price::of(self.ops.rate(), self.rest.as_ref().and_then(|rest| rest.bytes.rate()))
    }

    /// Whether it keeps a trace.
    pub fn is_traced(&self) -> bool {
        self.traced
    }

    /// The latest time that a charge may be dated without any clock losing rate by it.
    pub fn latest(&self, now: Time) -> Time {
        let more = self.rest.iter().flat_map(|rest| [&rest.ops_peak, &rest.bytes, &rest.bytes_peak]);
        let clocks = std::iter::once(&self.ops).chain(more);
        let tolerance = clocks.filter(|clock| clock.is_on()).map(Clock::tolerance).min();
        self.until.max(now) + tolerance.unwrap_or(Span::MAX)
    }

    /// Whether any rate is set.
    pub fn has_rate(&self) -> bool {
        self.ops.is_on() || self.has_more
    }

    /// Whether the requests in flight beneath its node are bounded.
    #[inline]
    pub fn has_depth(&self) -> bool {
        self.has_depth
    }

    /// Whether a request may pass now.
    #[inline]
    pub fn is_open(&self, now: Time) -> bool {
        self.until <= now && !self.is_full
    }

    /// Counts a request more (or less) in flight, if it was accepted since the epoch from which
    /// they are counted.
    pub fn count_in_flight(&mut self, epoch: u32, change: i32) {
        let rest = self.rest();
        if epoch >= rest.since {
            rest.in_flight = rest.in_flight.saturating_add_signed(change);
        }
        self.is_full = rest.in_flight >= rest.depth_max;
    }

    /// Whether anything passed since the last account.
    pub fn has_passed(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.tally.ops + rest.in_bin.ops > 0)
    }

    /// An account was taken. False if nothing passed since the one before either: then `rest` is
    /// freed if nothing else needs it.
    pub fn is_in_use(&mut self, now: Time) -> bool {
        let Some(rest) = &mut self.rest else { return false };
        rest.listed = rest.listed.saturating_sub(1);
        if rest.listed > 0 {
            return true;
        }
        let clocks = [&rest.bytes, &rest.ops_peak, &rest.bytes_peak];
        if !self.has_depth && rest.timer_at == Time::MAX && clocks.iter().all(|clock| clock.is_blank(now)) {
            self.rest = None;
        }
        false
    }

    /// Reads a word of each of its cache lines, to bring them near before they are needed.
    #[inline]
    pub fn fetch(&self) -> u64 {
        self.until.as_nanos() ^ self.rest.as_ref().map_or(0, |rest| rest.bin)
    }

    /// Its slot is freed: its timers are stale, and it has no owner.
    pub fn retire(&mut self) {
        (self.rest, self.until, self.owner) = (None, Time::ZERO, NONE);
        (self.has_more, self.is_full, self.has_depth) = (false, false, false);
    }

    /// When to set a timer for, if it is closed and has no timer for then or earlier. The timer
    /// counts as set.
    pub fn needs_timer(&mut self, now: Time) -> Option<Time> {
        let until = self.until;
        if until <= now || self.rest.as_ref().is_some_and(|rest| rest.timer_at <= until) {
            return None;
        }
        self.rest().timer_at = until;
        Some(until)
    }

    /// Whether the timer for that time is the valid one; it is over now.
    pub fn end_timer(&mut self, at: Time) -> bool {
        match &mut self.rest {
            Some(rest) if rest.timer_at == at => {
                rest.timer_at = Time::MAX;
                true
            }
            _ => false,
        }
    }

    /// Notes that it was open for so long, with work behind it, before it was acted on.
    #[cold]
    pub fn note_late(&mut self, interval: &Interval, span: Span) {
        let rest = self.rest();
        let before = if rest.interval == interval.number { rest.late } else { Span::ZERO };
        (rest.late, rest.interval) = (before + span, interval.number);
    }

    /// For how long this was so in the interval that ends now, a delay that is not over yet
    /// included.
    pub fn late(&self, interval: &Interval, now: Time, tolerance: Span) -> Span {
        let Some(rest) = &self.rest else { return Span::ZERO };
        let noted = if rest.interval == interval.number { rest.late } else { Span::ZERO };
        let is_late = rest.timer_at < now && now.since(rest.timer_at) > tolerance;
        noted + if is_late { now.since(rest.timer_at.max(interval.since)) } else { Span::ZERO }
    }

    /// Its owner; `None` if its slot is free.
    pub fn entity(&self) -> Option<Entity> {
        match Waiter::from_bits(self.owner) {
            _ if self.owner == NONE => None,
            Waiter::Node(n) | Waiter::Own(n) => Some(Entity::Node(n)),
            Waiter::Group(g) => Some(Entity::Group(g)),
        }
    }

    /// The kind of the clock that opens last.
    #[inline]
    pub fn binding(&self) -> LimitKind {
        if self.has_more { self.binding_of_all() } else { LimitKind::Iops }
    }

    #[cold]
    fn binding_of_all(&self) -> LimitKind {
        let bytes = |rest: &Rest| rest.bytes.opens().max(rest.bytes_peak.opens());
        let ops = |rest: &Rest| self.ops.opens().max(rest.ops_peak.opens());
        match &self.rest {
            Some(rest) if bytes(rest) > ops(rest) => LimitKind::Throughput,
            _ => LimitKind::Iops,
        }
    }

    /// Charges the clocks for a request that goes at `now` or, by appointment, later.
    #[inline]
    pub fn reserve(&mut self, now: Time, bytes: u64) {
        self.ops.charge_one(now);
        if self.has_more {
            self.charge_more(now, bytes);
        } else {
            self.until = self.ops.opens();
        }
    }

    fn charge_more(&mut self, now: Time, bytes: u64) {
        let rest = self.rest();
        if bytes > 0 {
            rest.bytes.charge(now, bytes);
            rest.bytes_peak.charge(now, bytes);
        }
        rest.ops_peak.charge_one(now);
        self.bind();
    }

    /// Counts a request that goes, in this trace bin. True if nothing passed for a while: the limit
    /// has to be listed.
    #[inline]
    pub fn record(&mut self, bin: u64, bytes: u64) -> bool {
        if let Some(rest) = &mut self.rest
            && rest.bin == bin
        {
            rest.in_bin.add(bytes);
            return false;
        }
        self.record_in_new(bin, bytes)
    }

    #[inline(never)]
    fn record_in_new(&mut self, bin: u64, bytes: u64) -> bool {
        self.end_bin();
        let rest = self.rest();
        rest.bin = bin;
        rest.in_bin.add(bytes);
        std::mem::replace(&mut rest.listed, 2) == 0
    }

    fn end_bin(&mut self) {
        let traced = self.traced;
        let Some(rest) = &mut self.rest else { return };
        let old = Bin { at: rest.bin, tally: std::mem::take(&mut rest.in_bin) };
        rest.bin = u64::MAX;
        if old.tally.ops > 0 {
            rest.tally.ops += old.tally.ops;
            rest.tally.bytes = rest.tally.bytes.saturating_add(old.tally.bytes);
            if traced {
                rest.trace.record(old);
            }
        }
    }

    /// What passed since the last call.
    pub fn take_passed(&mut self) -> Passed {
        // Ends the bin of this moment. If more passes in it, the bin is recorded a second time.
        self.end_bin();
        match &mut self.rest {
            Some(rest) => Passed { tally: std::mem::take(&mut rest.tally), trace: rest.trace.take() },
            None => Passed::default(),
        }
    }

    fn bind(&mut self) {
        self.until = self.ops.opens();
        if let Some(rest) = &self.rest {
            let more = rest.ops_peak.opens().max(rest.bytes.opens()).max(rest.bytes_peak.opens());
            self.until = self.until.max(more);
        }
    }
}

/// A slow limit's tolerance: a nanosecond less than one operation, where that is longer than the
/// common tolerance. An operation that waited its turn at another limit for longer than the
/// tolerance goes late, and its own limit must not lose the time: 8/s beside others in a group of
/// 42/s passed 7/s. A second still holds at most `rate` operations and one more, because less than
/// one is saved: ⌊rate × (1 s + tolerance)⌋ = rate.
fn patience(iops: Option<u64>, tolerance: Span) -> Span {
    iops.map_or(tolerance, |rate| tolerance.max((Span::SECOND / rate.max(1)).saturating_sub(Span::from_nanos(1))))
}

/// A burst's credit as time at the base rate: S / rate, with S = rate × ppm / 10⁶ × duration.
fn capacity(burst: Burst) -> Span {
    let nanos = u128::from(burst.duration.as_nanos()) * u128::from(burst.ppm) / 1_000_000;
    Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The rate at the peak of a burst.
fn peak(rate: u64, burst: Burst) -> u64 {
    let peak = u128::from(rate) * (1_000_000 + u128::from(burst.ppm)) / 1_000_000;
    u64::try_from(peak).unwrap_or(u64::MAX)
}
