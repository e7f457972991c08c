//! When a job makes requests: depth, rates, think time and latency targets.

use super::Triple;
use block::Span;
use workload::job::{LatencySearch, Think};

/// Depth, rates, pauses.
#[derive(Clone, Debug, PartialEq)]
pub struct PaceOptions {
    /// `iodepth`.
    pub depth: u32,
    /// `iodepth_batch`; 0 means the depth.
    pub submit_batch: u32,
    /// `iodepth_batch_complete_min`.
    pub complete_least: u32,
    /// `iodepth_low`.
    pub refill_below: Option<u32>,
    /// `rate`, in bytes per second.
    pub rate: Triple<u64>,
    /// `rate_iops`.
    pub rate_iops: Triple<u64>,
    /// `rate_min`.
    pub rate_min: Triple<u64>,
    /// `rate_iops_min`.
    pub rate_iops_min: Triple<u64>,
    /// `rate_cycle`.
    pub rate_cycle: Span,
    /// `rate_process=poisson`.
    pub poisson: bool,
    /// `thinktime` and related options; no effect while its time is zero.
    pub think: Think,
    /// `latency_target` and related options; no effect while its target is zero.
    pub search: LatencySearch,
    /// `max_latency`.
    pub latency_most: Option<Span>,
    /// `flow`; 0 means none.
    pub flow: u32,
    /// `flow_id`.
    pub flow_id: u32,
    /// `flow_sleep`.
    pub flow_sleep: Span,
}

impl Default for PaceOptions {
    fn default() -> PaceOptions {
        PaceOptions {
            depth: 1,
            submit_batch: 1,
            complete_least: 1,
            refill_below: None,
            rate: Triple::default(),
            rate_iops: Triple::default(),
            rate_min: Triple::default(),
            rate_iops_min: Triple::default(),
            rate_cycle: Span::SECOND,
            poisson: false,
            think: Think {
                time: Span::ZERO,
                spin: Span::ZERO,
                every: 1,
                work_time: Span::ZERO,
                by_issue: false,
                forgets_rate: false,
            },
            search: LatencySearch { target: Span::ZERO, window: Span::ZERO, percent: 100.0, goes_on: false },
            latency_most: None,
            flow: 0,
            flow_id: 0,
            flow_sleep: Span::ZERO,
        }
    }
}
