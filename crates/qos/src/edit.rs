//! What the scheduler is told: limits as plain numbers on numbered objects. Names and rules belong
//! to the registry; by the time an edit exists, the policy behind it has been checked.

use block::{BytesPerSecond, Iops, ObjectId, Span};

/// A shared policy group: one budget for its members, wherever they are in the tree. The registry
/// gives the number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// The most that may pass. `None` is no limit of that kind; a zero rate never occurs (the registry
/// reads it as none).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// Operations per second.
    pub iops: Option<Iops>,
    /// Bytes per second, reads and writes together.
    pub bytes: Option<BytesPerSecond>,
    /// What may pass above it for a while, on credit saved below it.
    pub burst: Option<Burst>,
}

/// Credit saved below a ceiling and spent above it: at most `ppm` above the ceiling, at most for
/// `duration`.
///
/// The credit's capacity is `ceiling × ppm / 10⁶ × duration`; a full credit lasts exactly
/// `duration` at the peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Millionths of the ceiling above it at the peak: what an absolute height comes to is seldom a
    /// whole percent.
    pub ppm: u64,
    /// How long a full credit lasts at the peak.
    pub duration: Span,
}

impl Burst {
    /// So many percent above the ceiling for this long.
    pub const fn percent(percent: u32, duration: Span) -> Burst {
        Burst { ppm: percent as u64 * 10_000, duration }
    }
}

/// The least that must pass while its owner asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Operations per second.
    pub iops: Option<Iops>,
    /// Bytes per second.
    pub bytes: Option<BytesPerSecond>,
    /// Half of the requests are answered within this, in addition to any rate.
    pub latency: Option<Span>,
}

/// One object's own limits, or one shared group's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The most.
    pub ceiling: Ceiling,
    /// The least.
    pub floor: Floor,
}

/// One change to the scheduler's tree, applied whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A new object under `parent` (under the backend itself when `None`), without limits.
    AddObject {
        /// Its number, unused so far.
        object: ObjectId,
        /// Its parent.
        parent: Option<ObjectId>,
    },
    /// Removes an object, which must have no children. Its waiting requests complete with
    /// [`block::Fault::Gone`].
    RemoveObject {
        /// Which.
        object: ObjectId,
    },
    /// The object's own limits from now on. Credit already saved is kept in operations, never
    /// refilled by an edit.
    SetLimits {
        /// Which.
        object: ObjectId,
        /// All of them; the default takes every limit away.
        limits: Limits,
    },
    /// A new shared group without members.
    AddGroup {
        /// Its number, unused so far.
        group: GroupId,
        /// Its budget.
        limits: Limits,
    },
    /// A shared group's budget from now on.
    SetGroup {
        /// Which.
        group: GroupId,
        /// All of it.
        limits: Limits,
    },
    /// Removes a shared group, which must have no members.
    RemoveGroup {
        /// Which.
        group: GroupId,
    },
    /// Puts the object into this shared group, or into none.
    Join {
        /// Which.
        object: ObjectId,
        /// Its group.
        group: Option<GroupId>,
    },
    /// Whether the children of an object (of the backend itself when `None`) take turns even where
    /// no limit binds.
    SetFair {
        /// Whose children.
        object: Option<ObjectId>,
        /// Default is false: no queueing is added where no policy applies.
        fair: bool,
    },
}

/// Why an edit was refused; the tree is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// No such object.
    #[error("no object {}", .0.0)]
    NoObject(ObjectId),
    /// The number is taken.
    #[error("object {} exists already", .0.0)]
    ObjectExists(ObjectId),
    /// It still has children.
    #[error("object {} still has children", .0.0)]
    HasChildren(ObjectId),
    /// No such group.
    #[error("no policy group {}", .0.0)]
    NoGroup(GroupId),
    /// The number is taken.
    #[error("policy group {} exists already", .0.0)]
    GroupExists(GroupId),
    /// It still has members.
    #[error("policy group {} still has members", .0.0)]
    HasMembers(GroupId),
    /// A rate outside 1 ..= 2^42 per second.
    #[error("a rate must be between 1 and 2^42 per second, got {0}")]
    Rate(u64),
    /// A latency of less than a microsecond.
    #[error("a floor by latency is at least 1 us, got {0}")]
    Latency(Span),
    /// The tree is deeper than the scheduler's limit.
    #[error("objects nest at most {0} levels deep")]
    TooDeep(usize),
}
