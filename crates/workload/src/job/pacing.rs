//! When a job makes requests: depth, rate, pauses.

use super::PerDirection;
use crate::spec::Spacing;
use block::{Bytes, Iops, Span};

/// When a job makes requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacing {
    /// Requests in flight, at least 1. In an open loop the maximum.
    pub depth: u32,
    /// After the depth was reached, new requests are made only once this many slots are free; at
    /// least 1. Requests that are ready together are always submitted together.
    pub submit_batch: u32,
    /// Number of completions to wait for, or all that are in flight if fewer; 0 only polls.
    pub complete_least: u32,
    /// After the depth was reached, new requests are made only once at most this many are in
    /// flight; the depth when `None`.
    pub refill_below: Option<u32>,
    /// Makes an open loop: requests of the direction are due at this rate, and response time counts
    /// from when they are due. Each job has the rate for itself.
    pub rate: PerDirection<Option<Pace>>,
    /// How an open loop's requests are spread over time.
    pub spacing: Spacing,
    /// Minimum rates; the job fails if it misses one.
    pub floor: PerDirection<Option<Floor>>,
    /// Pauses.
    pub think: Option<Think>,
    /// Searches for the highest depth that keeps a latency limit.
    pub latency_search: Option<LatencySearch>,
    /// Maximum latency; a request that takes longer ends the job as failed.
    pub latency_most: Option<Span>,
    /// Its share in a flow of several jobs.
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
    /// The rate in its own unit, bytes or requests, a second.
    pub(super) fn units_a_second(self) -> u64 {
        match self {
            Pace::Throughput(bytes) => bytes.0,
            Pace::Iops(iops) => iops.0,
        }
    }

    /// What a request of this many bytes counts in that unit.
    pub(super) fn units(self, bytes: u32) -> u64 {
        match self {
            Pace::Throughput(_) => u64::from(bytes),
            Pace::Iops(_) => 1,
        }
    }
}

/// A rate that must be kept in every window, or the job fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// The rate.
    pub pace: Pace,
    /// Length of the windows.
    pub window: Span,
}

/// A pause after a number of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// Its length.
    pub time: Span,
    /// The part of it that burns processor time.
    pub spin: Span,
    /// Number of requests between pauses; at least 1.
    pub every: u32,
    /// Minimum time of work between pauses; `every` counts after it. Zero for none.
    pub work_time: Span,
    /// Counts requests when they are made, not when they complete.
    pub by_issue: bool,
    /// What the rate misses in a pause is not made up for.
    pub forgets_rate: bool,
}

/// A job's share in a flow: jobs that make requests in proportion to their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowShare {
    /// Number of the flow; jobs with the same number share it.
    pub id: u32,
    /// Its weight relative to the sum of all; above zero.
    pub weight: u32,
    /// How long a job waits when it is ahead of its share; zero waits until the others have caught
    /// up.
    pub sleep: Span,
}

/// A search for the highest depth, from 1 to [`Pacing::depth`], that keeps a latency limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencySearch {
    /// The limit for service times.
    pub target: Span,
    /// How long each depth is tried.
    pub window: Span,
    /// Percentage of requests that must keep the limit.
    pub percent: f64,
    /// Continues at the depth that was found until the job ends; otherwise the job ends with the
    /// search.
    pub goes_on: bool,
}
