//! Rows of `qos workload show`.

use super::{Cell, Column, Row};
use crate::value::{ExpectedLatency, ThroughputLimits};
use block::Span;
use std::fmt;

/// A workload: one object's I/O, to which a policy applies.
#[derive(Clone, Debug, Default)]
pub struct WorkloadRow {
    /// `<object>-wid<number>`.
    pub workload: String,
    /// `user-defined`, `system-defined` …
    pub class: String,
    /// Its number.
    pub wid: u32,
    /// The policy group that it is in.
    pub policy_group: Option<String>,
    /// The SVM.
    pub vserver: Option<String>,
    /// The volume.
    pub volume: Option<String>,
    /// The LUN.
    pub lun: Option<String>,
    /// The qtree.
    pub qtree: Option<String>,
    /// The file.
    pub file: Option<String>,
    /// The ceiling in force: of the workload alone or, for a shared group, of all its members
    /// together.
    pub max_throughput: Option<ThroughputLimits>,
    /// The floor in force.
    pub min_throughput: Option<ThroughputLimits>,
    /// The median latency that is promised, if any.
    pub expected_latency: Option<ExpectedLatency>,
    /// The burst in force: how far above the ceiling, and for how long.
    pub burst: Option<BurstInForce>,
}

/// How far above its ceiling a workload may go, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstInForce {
    /// The excess, in millionths of the ceiling.
    pub ppm: u64,
    /// How long a full credit lasts.
    pub duration: Span,
    /// Whether it needs credit saved below the ceiling.
    pub on_credit: bool,
}

impl BurstInForce {
    /// The excess in percent of the ceiling.
    pub fn percent(&self) -> f64 {
        self.ppm as f64 / 10_000.0
    }
}

impl fmt::Display for BurstInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.on_credit { ", on credit saved below the ceiling" } else { "" };
        write!(f, "{} % above for {}{mode}", self.percent(), self.duration)
    }
}

impl Row for WorkloadRow {
    const COMMAND: &'static str = "qos workload show";

    const SUMMARY: &'static [Column] = &[
        Column::left("workload", "Workload", 16),
        Column::right("wid", "ID", 5),
        Column::left("policy-group", "Policy Group", 14),
        Column::left("vserver", "Vserver", 8),
        Column::left("volume", "Volume", 9),
        Column::left("lun", "LUN", 7),
        Column::left("qtree", "Qtree", 7),
        Column::left("file", "File", 7),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Workload Name", "workload"),
        ("Workload Class", "class"),
        ("Workload ID", "wid"),
        ("Policy Group Name", "policy-group"),
        ("Vserver", "vserver"),
        ("Volume", "volume"),
        ("LUN Name", "lun"),
        ("Qtree Name", "qtree"),
        ("File Name", "file"),
        ("Maximum Throughput", "max-throughput"),
        ("Minimum Throughput", "min-throughput"),
        ("Expected Latency", "expected-latency"),
        ("Burst", "burst"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "workload" => Cell::Text(self.workload.clone()),
            "class" => Cell::Text(self.class.clone()),
            "wid" => Cell::Count(self.wid.into()),
            "policy-group" => Cell::maybe(self.policy_group.as_ref()),
            "vserver" => Cell::maybe(self.vserver.as_ref()),
            "volume" => Cell::maybe(self.volume.as_ref()),
            "lun" => Cell::maybe(self.lun.as_ref()),
            "qtree" => Cell::maybe(self.qtree.as_ref()),
            "file" => Cell::maybe(self.file.as_ref()),
            "max-throughput" => Cell::Ceiling(self.max_throughput),
            "min-throughput" => Cell::Floor(self.min_throughput),
            "expected-latency" => Cell::Latency(self.expected_latency),
            "burst" => self.burst.map_or(Cell::Absent, Cell::Burst),
            _ => return None,
        })
    }
}
