//! What the gate reports about its objects and groups: what each got, what held it back, and
//! whether its floor was met.

use block::{Bytes, Cause, LimitKind, ObjectId, Span};

use crate::edit::GroupId;

/// Operations and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Operations.
    pub ops: u64,
    /// Bytes of the kinds that move data ([`block::OpKind::moves_data`]).
    pub bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.ops += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Durations added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// Their sum.
    pub total: Span,
    /// The longest.
    pub max: Span,
}

impl Spans {
    pub(crate) fn add(&mut self, span: Span) {
        self.total += span;
        self.max = self.max.max(span);
    }
}

/// Dispatches within one bin of absolute time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Which bin: it covers the times `[at, at + 1) ×` [`Bin::WIDTH`]. Bins without dispatches are
    /// left out.
    pub at: u64,
    /// What was dispatched.
    pub tally: Tally,
}

impl Bin {
    /// 10 ms.
    pub const WIDTH: Span = Span::from_millis(10);
}

/// What passed one ceiling or group, however many objects it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Everything dispatched since the last account.
    pub tally: Tally,
    /// The same by 10 ms, oldest first. Kept for the first [`crate::Settings::traces_max`] ceilings
    /// and groups, for 2.56 s; accounts taken further apart lose the older bins.
    pub trace: Vec<Bin>,
}

/// The state of an object's floor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FloorState {
    /// It has none.
    #[default]
    NotSet,
    /// It got at least its floor, or everything it asked for.
    Met,
    /// It got less.
    Short {
        /// What it got, per second.
        served: u64,
        /// Its floor, per second.
        wanted: u64,
        /// Of which kind.
        kind: LimitKind,
        /// Why.
        why: Shortage,
    },
    /// It got its rate, or was promised none, and half of its requests took longer than its floor
    /// allows.
    Slow {
        /// The time within which half of them ended.
        median: Span,
        /// Its floor.
        wanted: Span,
        /// Why.
        why: Shortage,
    },
}

/// Why a floor was not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// The client keeps too few requests outstanding: by Little's law at least this many are
    /// needed, at the latency the device has at its best, and more than it has at most.
    NeedsOutstanding(u64),
    /// The floors together are more than the backend can do: each is held at this many thousandths
    /// of itself.
    Overcommitted {
        /// 1000 × the common scale of the floors.
        phi_per_mille: u32,
    },
    /// A ceiling on the object, above it, or of its group is in the way: ceilings win.
    CeilingAbove,
    /// Its latency is out of reach: half of its requests take this long where the others are held
    /// back most.
    TakesAtBest(Span),
    /// Holding the others back cost much throughput and did not help, so nobody is held back for
    /// now; it is tried again later.
    NotHelped,
    /// The scheduler is still making room for it.
    Adjusting,
}

impl Shortage {
    /// Whether the storage is at fault: not if the client keeps too few requests outstanding, or a
    /// ceiling is in the way.
    pub fn is_of_storage(self) -> bool {
        !matches!(self, Shortage::NeedsOutstanding(_) | Shortage::CeilingAbove)
    }
}

/// What happened to one object since the last account. Its counts are of requests addressed to the
/// object itself; `passed` counts those of everything beneath it as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectAccount {
    /// Which.
    pub object: ObjectId,
    /// Reads dispatched.
    pub reads: Tally,
    /// Writes dispatched.
    pub writes: Tally,
    /// Everything else dispatched.
    pub others: Tally,
    /// Requests that ended, faults included.
    pub completed: u64,
    /// Requests that ended with a fault.
    pub faults: u64,
    /// Time that the ended requests waited in the gate.
    pub queued: Spans,
    /// Time that the ended requests spent in the inner target.
    pub service: Spans,
    /// Time that requests waited within this interval, by cause, summed over requests, those still
    /// waiting included; longest first.
    pub waited: Vec<(Cause, Span)>,
    /// What held it back most: the first of `waited`.
    pub held_by: Cause,
    /// Whether any request waited in the gate: if not, what held the object back was its own depth
    /// or the device.
    pub ever_queued: bool,
    /// Requests waiting in the gate now.
    pub queued_now: u32,
    /// Requests outstanding (waiting or in flight) at most.
    pub outstanding_max: u32,
    /// Thousandths of requests outstanding on average over the interval.
    pub outstanding_mean_milli: u64,
    /// The state of its floor.
    pub floor: FloorState,
    /// For how long something was asked of the floor: [`FloorState::Short`] has rates over this
    /// time.
    pub asked: Span,
    /// What passed its own ceiling, from it and everything beneath it; `None` without a ceiling of
    /// its own.
    pub passed: Option<Passed>,
}

impl ObjectAccount {
    /// Everything dispatched for requests addressed to the object itself.
    pub fn dispatched(&self) -> Tally {
        Tally {
            ops: self.reads.ops + self.writes.ops + self.others.ops,
            bytes: self.reads.bytes.saturating_add(self.writes.bytes),
        }
    }
}

/// What passed one shared group since the last account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupAccount {
    /// Which.
    pub group: GroupId,
    /// Its members now.
    pub members: u32,
    /// What its members dispatched.
    pub passed: Passed,
}

/// The gate as a whole, at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateStatus {
    /// Requests waiting in the gate.
    pub queued: u64,
    /// Requests in flight in the inner target.
    pub in_flight: u64,
    /// Objects, the backend itself not counted.
    pub objects: u64,
    /// Shared groups.
    pub groups: u64,
    /// Cost of best-effort work that may be in flight, in thousandths of requests; `None` while no
    /// floor is set.
    pub window_milli: Option<u64>,
    /// Thousandths of every floor that are held: below 1000 the floors together are more than the
    /// backend can do.
    pub phi_per_mille: u32,
    /// The most operations per second that the backend has completed over 2 s.
    pub best_iops: u64,
    /// The most bytes per second that the backend has moved over 2 s.
    pub best_bytes: Bytes,
    /// The sum of the floors in operations per second.
    pub floors_iops: u64,
    /// The sum of the floors in bytes per second.
    pub floors_bytes: Bytes,
    /// Whether the floors together are near the best that the backend did (more than 80 % of it)
    /// while more was asked of it: advice, not a refusal.
    pub floors_near_best: bool,
}
