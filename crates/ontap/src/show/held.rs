//! What held a workload back, and how its floor fared: the two columns of
//! `qos statistics … held show`.

use super::figure;
use block::LimitKind;
use serde_json::{Value, json};
use std::fmt;

/// What held a workload or volume back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HeldBy {
    /// Nothing: it was idle, or the cause is unknown.
    #[default]
    Nothing,
    /// Its own ceiling.
    OwnCeiling(LimitKind),
    /// The ceiling of an object that contains it, by name.
    CeilingOf(String, LimitKind),
    /// The shared limits of a policy group, by name.
    Shared(String, LimitKind),
    /// The floors of others.
    Floors,
    /// Fairness: it was not its turn.
    Turn,
    /// The backend: the storage itself.
    Backend,
    /// A stall: the server did not get the processor.
    Stalled,
    /// Its own queue depth.
    OwnDepth,
}

/// How a floor fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FloorStatus {
    /// There is no floor.
    #[default]
    NotSet,
    /// It was met.
    Met,
    /// Missed: this many requests would have to be outstanding.
    NeedsOutstanding(u64),
    /// Missed: all floors together exceed what the storage can do, and are scaled down to this
    /// percentage.
    CutTo(u64),
    /// Missed: a ceiling is below it.
    CeilingAbove,
    /// Missed: a request takes this many nanoseconds even if the others are held back most.
    TakesAtBest(u64),
    /// Missed: holding the others back did not help; it will be tried again later.
    NotHelped,
    /// Missed for now: the scheduler is still making room.
    Adjusting,
}

impl fmt::Display for HeldBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeldBy::Nothing => f.write_str("-"),
            HeldBy::OwnCeiling(kind) => write!(f, "its ceiling ({})", unit(*kind)),
            HeldBy::CeilingOf(name, kind) => write!(f, "ceiling of {name} ({})", unit(*kind)),
            HeldBy::Shared(group, kind) => write!(f, "shared {group} ({})", unit(*kind)),
            HeldBy::Floors => f.write_str("others' floors"),
            HeldBy::Turn => f.write_str("its turn"),
            HeldBy::Backend => f.write_str("the backend"),
            HeldBy::Stalled => f.write_str("a stalled server"),
            HeldBy::OwnDepth => f.write_str("its own depth"),
        }
    }
}

impl fmt::Display for FloorStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FloorStatus::NotSet => f.write_str("-"),
            FloorStatus::Met => f.write_str("met"),
            FloorStatus::NeedsOutstanding(number) => write!(f, "needs {number} outstanding"),
            FloorStatus::CutTo(percent) => write!(f, "floors cut to {percent} %"),
            FloorStatus::CeilingAbove => f.write_str("a ceiling is below it"),
            FloorStatus::TakesAtBest(ns) => write!(f, "takes {} alone", figure::latency(*ns)),
            FloorStatus::NotHelped => f.write_str("others made no room"),
            FloorStatus::Adjusting => f.write_str("making room"),
        }
    }
}

impl HeldBy {
    /// `cause` in one word; with `limit` and `of` if it is a ceiling.
    pub(super) fn json(&self) -> Value {
        let cause = |word: &str| json!({ "cause": word });
        let limit = |word: &str, of: Option<&String>, kind: LimitKind| {
            let limit = if kind == LimitKind::Iops { "iops" } else { "throughput" };
            json!({ "cause": word, "limit": limit, "of": of })
        };
        match self {
            HeldBy::Nothing => Value::Null,
            HeldBy::OwnCeiling(kind) => limit("ceiling", None, *kind),
            HeldBy::CeilingOf(name, kind) => limit("ceiling", Some(name), *kind),
            HeldBy::Shared(group, kind) => limit("shared", Some(group), *kind),
            HeldBy::Floors => cause("floors"),
            HeldBy::Turn => cause("turn"),
            HeldBy::Backend => cause("backend"),
            HeldBy::Stalled => cause("stalled"),
            HeldBy::OwnDepth => cause("depth"),
        }
    }
}

impl FloorStatus {
    /// `state` in one word, and its figure.
    pub(super) fn json(self) -> Value {
        match self {
            FloorStatus::NotSet => Value::Null,
            FloorStatus::Met => json!({ "state": "met" }),
            FloorStatus::NeedsOutstanding(number) => json!({ "state": "depth", "needs_outstanding": number }),
            FloorStatus::CutTo(percent) => json!({ "state": "overcommitted", "cut_to_percent": percent }),
            FloorStatus::CeilingAbove => json!({ "state": "ceiling" }),
            FloorStatus::TakesAtBest(ns) => json!({ "state": "latency", "takes_at_best_ns": ns }),
            FloorStatus::NotHelped => json!({ "state": "not_helped" }),
            FloorStatus::Adjusting => json!({ "state": "adjusting" }),
        }
    }
}

fn unit(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Iops => "IOPS",
        LimitKind::Throughput => "MB/s",
    }
}
