//! Rows of `qos policy-group show`.

use super::{Cell, Column, Row};
use crate::value::{ExpectedLatency, ThroughputLimits};

/// A fixed policy group.
#[derive(Clone, Debug, Default)]
pub struct PolicyGroupRow {
    /// Its name.
    pub policy_group: String,
    /// The SVM that owns it.
    pub vserver: String,
    /// Its identifier.
    pub uuid: String,
    /// `user-defined`, `preset` …
    pub class: String,
    /// Its number.
    pub pgid: u32,
    /// Its ceiling, if it has one.
    pub max_throughput: Option<ThroughputLimits>,
    /// Its floor, if it has one.
    pub min_throughput: Option<ThroughputLimits>,
    /// The median latency that is promised, if any.
    pub expected_latency: Option<ExpectedLatency>,
    /// Number of attached objects.
    pub num_workloads: u32,
    /// Whether all members share its limits.
    pub is_shared: bool,
    /// Whether the system made it for a single object, if that is known.
    pub is_auto_generated: Option<bool>,
    /// Its burst, if one is in force.
    pub burst: Option<BurstRow>,
}

/// The burst of a policy group.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurstRow {
    /// How far above the ceiling, in percent.
    pub percent: u32,
    /// The highest rate, in IOPS; 0 if the percentage applies.
    pub iops: u64,
    /// How long, in seconds.
    pub duration_s: u32,
}

impl BurstRow {
    /// The value of a `burst-…` field.
    pub(super) fn cell(burst: Option<BurstRow>, field: &str) -> Option<Cell> {
        let figure = |read: fn(BurstRow) -> u64| burst.map_or(Cell::Absent, |b| Cell::Count(read(b)));
        Some(match field {
            "burst-percent" => figure(|b| b.percent.into()),
            "burst-iops" => figure(|b| b.iops),
            "burst-duration" => figure(|b| b.duration_s.into()),
            _ => return None,
        })
    }
}

impl Row for PolicyGroupRow {
    const COMMAND: &'static str = "qos policy-group show";

    const SUMMARY: &'static [Column] = &[
        Column::left("policy-group", "Name", 16),
        Column::left("vserver", "Vserver", 11),
        Column::left("class", "Class", 12),
        Column::left("num-workloads", "Wklds", 5),
        Column::left("throughput-policy", "Throughput", 22),
        Column::left("is-shared", "Is Shared", 9),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Policy Group Name", "policy-group"),
        ("Vserver", "vserver"),
        ("Uuid", "uuid"),
        ("Policy Group Class", "class"),
        ("Policy Group ID", "pgid"),
        ("Maximum Throughput", "max-throughput"),
        ("Minimum Throughput", "min-throughput"),
        ("Number of Workloads", "num-workloads"),
        ("Throughput Policy", "throughput-policy"),
        ("Is Shared", "is-shared"),
        ("Is Policy Auto Generated", "is-auto-generated"),
        ("Expected Latency", "expected-latency"),
        ("Burst Percent", "burst-percent"),
        ("Burst IOPS", "burst-iops"),
        ("Burst Duration", "burst-duration"),
    ];

    /// As in published output, although the longest label has 24.
    const LABEL_WIDTH: usize = 31;

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "policy-group" => Cell::Text(self.policy_group.clone()),
            "vserver" => Cell::Text(self.vserver.clone()),
            "uuid" => Cell::Text(self.uuid.clone()),
            "class" => Cell::Text(self.class.clone()),
            "pgid" => Cell::Count(self.pgid.into()),
            "max-throughput" => Cell::Ceiling(self.max_throughput),
            "min-throughput" => Cell::Floor(self.min_throughput),
            "expected-latency" => Cell::Latency(self.expected_latency),
            "num-workloads" => Cell::Count(self.num_workloads.into()),
            "throughput-policy" => Cell::Throughput { floor: self.min_throughput, ceiling: self.max_throughput },
            "is-shared" => Cell::Flag(self.is_shared),
            "is-auto-generated" => self.is_auto_generated.map_or(Cell::Absent, Cell::Flag),
            other => return BurstRow::cell(self.burst, other),
        })
    }
}
