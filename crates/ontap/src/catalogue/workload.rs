//! `qos workload` and `qos settings`: the workloads that policies apply to, and how floors are
//! enforced.

use super::commands;

commands! {
    /// Everything that begins with `qos workload` and `qos settings`.
    WorkloadCommand in Workload

    /// Choose how floors are kept when the storage is at its limit
    "qos settings throughput-floors-v2" => ThroughputFloors(ThroughputFloors) {
        /// Keep floors even then, at the price of latency for the rest
        "enable" enable: bool,
    }

    shows
    /// Display workloads
    "qos workload show" => Show by { "workload" } {
        /// Workload
        "workload",
        /// Class: user-defined, system-defined ...
        "class": QOS_CLASS,
        /// Number of the workload
        "wid": Count,
        /// Policy group
        "policy-group",
        /// SVM
        "vserver",
        /// Volume
        "volume",
        /// LUN
        "lun",
        /// Qtree
        "qtree",
        /// File
        "file",
        /// The ceiling that its policy group comes to now
        "max-throughput": Ceiling,
        /// The floor that its policy group comes to now
        "min-throughput": Floor,
        /// Half of the requests are answered within this
        "expected-latency": Latency,
        /// The burst that its policy group comes to now
        "burst",
    }
}
