//! Rows of `qos adaptive-policy-group show`.

use super::{BurstRow, Cell, Column, Row};
use crate::value::{AdaptiveRate, Allocation, BlockSize, ExpectedLatency, PeakMode};

/// An adaptive policy group.
#[derive(Clone, Debug)]
pub struct AdaptiveRow {
    /// Its name.
    pub policy_group: String,
    /// The SVM that owns it; for built-in groups the cluster.
    pub vserver: String,
    /// Its identifier.
    pub uuid: String,
    /// `user-defined` or `preset`.
    pub class: String,
    /// Its number.
    pub pgid: u32,
    /// Floor per TB or GB.
    pub expected_iops: AdaptiveRate,
    /// Ceiling per TB or GB.
    pub peak_iops: AdaptiveRate,
    /// The space that the floor depends on.
    pub expected_iops_allocation: Allocation,
    /// The space that the ceiling depends on.
    pub peak_iops_allocation: Allocation,
    /// The least floor, for small spaces, in IOPS.
    pub absolute_min_iops: u64,
    /// The median latency that is promised, if any.
    pub expected_latency: Option<ExpectedLatency>,
    /// The operation size that turns IOPS into a byte limit.
    pub block_size: BlockSize,
    /// How the peak is reached.
    pub peak_mode: PeakMode,
    /// Number of attached objects.
    pub num_workloads: u32,
    /// Its burst, if one is in force.
    pub burst: Option<BurstRow>,
}

impl Row for AdaptiveRow {
    const COMMAND: &'static str = "qos adaptive-policy-group show";

    const SUMMARY: &'static [Column] = &[
        Column::left("policy-group", "Name", 16),
        Column::left("vserver", "Vserver", 11),
        Column::left("num-workloads", "Wklds", 5),
        Column::left("expected-iops", "IOPS", 12).under("Expected"),
        Column::left("peak-iops", "IOPS", 12).under("Peak"),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Policy Group Name", "policy-group"),
        ("Vserver", "vserver"),
        ("Uuid", "uuid"),
        ("Policy Group Class", "class"),
        ("Policy Group ID", "pgid"),
        ("Expected IOPS", "expected-iops"),
        ("Peak IOPS", "peak-iops"),
        ("Absolute Minimum IOPS", "absolute-min-iops"),
        ("Expected Latency", "expected-latency"),
        ("Expected IOPS Allocation", "expected-iops-allocation"),
        ("Peak IOPS Allocation", "peak-iops-allocation"),
        ("Block Size", "block-size"),
        ("Peak Mode", "peak-mode"),
        ("Number of Workloads", "num-workloads"),
        ("Burst Percent", "burst-percent"),
        ("Burst IOPS", "burst-iops"),
        ("Burst Duration", "burst-duration"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "policy-group" => Cell::Text(self.policy_group.clone()),
            "vserver" => Cell::Text(self.vserver.clone()),
            "uuid" => Cell::Text(self.uuid.clone()),
            "class" => Cell::Text(self.class.clone()),
            "pgid" => Cell::Count(self.pgid.into()),
            "expected-iops" => Cell::Rate(self.expected_iops),
            "peak-iops" => Cell::Rate(self.peak_iops),
            "expected-iops-allocation" => Cell::Text(self.expected_iops_allocation.to_string()),
            "peak-iops-allocation" => Cell::Text(self.peak_iops_allocation.to_string()),
            "absolute-min-iops" => Cell::Iops(self.absolute_min_iops),
            "expected-latency" => Cell::Latency(self.expected_latency),
            "block-size" => Cell::BlockSize(self.block_size),
            "peak-mode" => Cell::Text(self.peak_mode.to_string()),
            "num-workloads" => Cell::Count(self.num_workloads.into()),
            other => return BurstRow::cell(self.burst, other),
        })
    }
}
