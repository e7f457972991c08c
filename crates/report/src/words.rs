//! The names of figures: the same in the table, on the page and in the live view.

/// Operations per second.
pub(crate) const IOPS: &str = "IOPS";
/// Throughput, in 10^6 bytes per second.
pub const MEGABYTES: &str = "MB/s";
/// The mean response time.
pub(crate) const MEAN: &str = "mean";
/// The median of the response time.
pub(crate) const P50: &str = "p50";
/// The 99th percentile of the response time.
pub(crate) const P99: &str = "p99";
/// The 99.9th percentile of the response time.
pub(crate) const P999: &str = "p99.9";
/// The longest response time.
pub(crate) const LONGEST: &str = "longest";
/// The mean wait in the QoS gate.
pub(crate) const IN_QOS: &str = "in QoS";
/// The mean time in the disk, or in whatever else is below the gate.
pub(crate) const IN_DISK: &str = "in disk";
/// What held a workload back.
pub(crate) const HELD_BACK_BY: &str = "held back by";
/// State of the floor that covers a workload.
pub(crate) const FLOOR: &str = "floor";
