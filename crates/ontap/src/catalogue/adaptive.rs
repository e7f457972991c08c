//! `qos adaptive-policy-group`: policy groups whose limits grow with the size or the used space of
//! their members.

use super::commands;
use crate::value::{
    AbsoluteMinimum, AdaptiveRate, Allocation, BlockSize, Count, ExpectedLatency, ObjectName, PeakMode, PolicyName,
    Switch,
};

commands! {
    /// Everything that begins with `qos adaptive-policy-group`.
    AdaptiveCommand in Adaptive

    /// Create an adaptive policy group
    "qos adaptive-policy-group create" => Create(AdaptiveCreate) {
        /// Name of the new policy group
        "policy-group" policy_group: PolicyName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Floor for every TB or GB
        "expected-iops" expected_iops: AdaptiveRate,
        /// Ceiling for every TB or GB
        "peak-iops" peak_iops: AdaptiveRate,
        /// Space that the floor counts
        "expected-iops-allocation" expected_iops_allocation: Allocation = "allocated-space",
        /// Space that the ceiling counts
        "peak-iops-allocation" peak_iops_allocation: Allocation = "used-space",
        /// Floor however small the space is
        "absolute-min-iops" absolute_min_iops: Option<AbsoluteMinimum>,
        /// Half of the requests are answered within this
        "expected-latency" expected_latency: Option<ExpectedLatency>,
        /// Operation size that makes a byte limit of the IOPS
        "block-size" block_size: BlockSize = "32K",
        /// The ceiling is always the peak, or reaches it only on credit saved below the floor's
        /// rate
        "peak-mode" peak_mode: Option<PeakMode>,
        /// How far a burst may exceed the ceiling, in percent
        "burst-percent" burst_percent: Option<Count>,
        /// The rate of a burst, in IOPS
        "burst-iops" burst_iops: Option<Count>,
        /// How long a burst may last, in seconds
        "burst-duration" burst_duration: Option<Count>,
    }

    /// Change an adaptive policy group
    "qos adaptive-policy-group modify" => Modify(AdaptiveModify) {
        /// Policy group
        "policy-group" policy_group: PolicyName,
        /// Floor for every TB or GB
        "expected-iops" expected_iops: Option<AdaptiveRate>,
        /// Ceiling for every TB or GB
        "peak-iops" peak_iops: Option<AdaptiveRate>,
        /// Space that the floor counts
        "expected-iops-allocation" expected_iops_allocation: Option<Allocation>,
        /// Space that the ceiling counts
        "peak-iops-allocation" peak_iops_allocation: Option<Allocation>,
        /// Floor however small the space is
        "absolute-min-iops" absolute_min_iops: Option<AbsoluteMinimum>,
        /// Half of the requests are answered within this; none takes it away
        "expected-latency" expected_latency: Option<ExpectedLatency>,
        /// Operation size that makes a byte limit of the IOPS
        "block-size" block_size: Option<BlockSize>,
        /// The ceiling is always the peak, or reaches it only on credit saved below the floor's
        /// rate
        "peak-mode" peak_mode: Option<PeakMode>,
        /// How far a burst may exceed the ceiling, in percent
        "burst-percent" burst_percent: Option<Count>,
        /// The rate of a burst, in IOPS
        "burst-iops" burst_iops: Option<Count>,
        /// How long a burst may last, in seconds
        "burst-duration" burst_duration: Option<Count>,
    }

    /// Rename an adaptive policy group
    "qos adaptive-policy-group rename" => Rename(AdaptiveRename) {
        /// Policy group
        "policy-group" policy_group: PolicyName,
        /// Its new name
        "new-name" new_name: PolicyName,
    }

    /// Delete an adaptive policy group
    "qos adaptive-policy-group delete" => Delete(AdaptiveDelete) {
        /// Policy group
        "policy-group" policy_group: PolicyName,
        /// Also if objects are attached
        "force" force: Switch,
    }

    shows
    /// Display adaptive policy groups
    "qos adaptive-policy-group show" => Show by { "policy-group" } {
        /// Policy group
        "policy-group",
        /// SVM, or the cluster for built-in groups
        "vserver",
        /// Identifier
        "uuid",
        /// Class: user-defined or preset
        "class": QOS_CLASS,
        /// Number of the policy group
        "pgid": Count,
        /// Floor for every TB or GB
        "expected-iops": Rate,
        /// Ceiling for every TB or GB
        "peak-iops": Rate,
        /// Space that the floor counts
        "expected-iops-allocation",
        /// Space that the ceiling counts
        "peak-iops-allocation",
        /// Floor however small the space is
        "absolute-min-iops": Iops,
        /// Half of the requests are answered within this
        "expected-latency": Latency,
        /// Operation size that makes a byte limit of the IOPS
        "block-size",
        /// How the peak is reached
        "peak-mode",
        /// Number of attached objects
        "num-workloads": Count,
        /// How far a burst may exceed the ceiling, in percent
        "burst-percent": Count,
        /// The rate of a burst, in IOPS
        "burst-iops": Count,
        /// How long a burst may last, in seconds
        "burst-duration": Count,
    }
}
