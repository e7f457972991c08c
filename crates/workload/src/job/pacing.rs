//! When a job asks: depth, rate, pauses.

use super::PerDirection;
use crate::spec::Spacing;
use block::{Bytes, Iops, Span};

/// When a job asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacing {
    /// Requests in flight; in an open loop the cap on them. At least 1.
    pub depth: u32,
    /// After the depth was reached, new requests are made only when so many places are free; at
    /// least 1. Requests that are ready together always go to the kernel together.
    pub submit_batch: u32,
    /// Ends are awaited until so many have come, or all that are in flight; 0 only looks.
    pub complete_least: u32,
    /// After the depth was reached, new requests are made only when no more than this are in
    /// flight; the depth when `None`.
    pub refill_below: Option<u32>,
    /// Makes an open loop: requests of the direction are due at this rate, and response time counts
    /// from then. A rate is each job's own.
    pub rate: PerDirection<Option<Pace>>,
    /// How an open loop's requests are spread over time.
    pub spacing: Spacing,
    /// What it must reach, or it fails.
    pub floor: PerDirection<Option<Floor>>,
    /// Pauses.
    pub think: Option<Think>,
    /// Looks for the highest depth that keeps a latency.
    pub latency_search: Option<LatencySearch>,
    /// A request that takes longer ends the job as failed.
    pub latency_most: Option<Span>,
    /// Its share of what several jobs make together.
    pub flow: Option<FlowShare>,
}

impl Default for Pacing {
    fn default() -> Pacing {
        Pacing {
            depth: 1,
            submit_batch: 1,
            complete_least: 1,
            refill_below: None,
            rate: PerDirection::default(),
            spacing: Spacing::Uniform,
            floor: PerDirection::default(),
            think: None,
            latency_search: None,
            latency_most: None,
            flow: None,
        }
    }
}

/// A rate of one direction; above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Bytes a second. A request is due when the bytes before it have had their time.
    Throughput(Bytes),
    /// Requests a second.
    Iops(Iops),
}

impl Pace {
    /// What the rate counts, bytes or requests, a second.
    pub(super) fn units_a_second(self) -> u64 {
        match self {
            Pace::Throughput(bytes) => bytes.0,
            Pace::Iops(iops) => iops.0,
        }
    }

    /// What a request of so many bytes counts.
    pub(super) fn units(self, bytes: u32) -> u64 {
        match self {
            Pace::Throughput(_) => u64::from(bytes),
            Pace::Iops(_) => 1,
        }
    }
}

/// A rate that must be kept over every window, or the job fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// The rate.
    pub pace: Pace,
    /// Length of the windows.
    pub window: Span,
}

/// A pause after some requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// Its length.
    pub time: Span,
    /// How much of it burns processor time.
    pub spin: Span,
    /// After so many requests; at least 1.
    pub every: u32,
    /// Requests go on for so long between pauses, and `every` counts from there; zero for no such
    /// rule.
    pub work_time: Span,
    /// Counted when they are made, not when they end.
    pub by_issue: bool,
    /// What a rate missed in a pause is not made up for.
    pub forgets_rate: bool,
}

/// A job's part in a flow: jobs that make requests in proportion to their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowShare {
    /// Jobs with the same number share.
    pub id: u32,
    /// Its part of the sum of all weights; above zero.
    pub weight: u32,
    /// A job that is ahead of its share looks again after so long; zero looks as soon as the others
    /// have caught up.
    pub sleep: Span,
}

/// A search for the highest depth, from 1 to [`Pacing::depth`], that keeps a latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencySearch {
    /// Service times must be at most this.
    pub target: Span,
    /// Each depth is tried for so long.
    pub window: Span,
    /// So many of a hundred requests must keep the target.
    pub percent: f64,
    /// Goes on at the depth that was found until the job ends; without, the job ends with the
    /// search.
    pub goes_on: bool,
}
