//! `qos policy-group`: fixed policy groups, with a ceiling and a floor.

use super::commands;
use crate::value::{Count, ExpectedLatency, MinThroughput, ObjectName, PolicyName, Switch, Throughput};

commands! {
    /// Everything that begins with `qos policy-group`.
    PolicyGroupCommand in PolicyGroup

    /// Create a policy group
    "qos policy-group create" => Create(PolicyGroupCreate) {
        /// Name of the new policy group
        "policy-group" policy_group: PolicyName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Ceiling
        "max-throughput" max_throughput: Option<Throughput>,
        /// Floor
        "min-throughput" min_throughput: Option<MinThroughput>,
        /// Half of the requests are answered within this
        "expected-latency" expected_latency: Option<ExpectedLatency>,
        /// One budget for all members together
        "is-shared" is_shared: bool = "true",
        /// How far a burst may exceed the ceiling, in percent
        "burst-percent" burst_percent: Option<Count>,
        /// The rate of a burst, in IOPS
        "burst-iops" burst_iops: Option<Count>,
        /// How long a burst may last, in seconds
        "burst-duration" burst_duration: Option<Count>,
    }

    /// Change a policy group
    "qos policy-group modify" => Modify(PolicyGroupModify) {
        /// Policy group
        "policy-group" policy_group: PolicyName,
        /// Ceiling
        "max-throughput" max_throughput: Option<Throughput>,
        /// Floor
        "min-throughput" min_throughput: Option<MinThroughput>,
        /// Half of the requests are answered within this; none takes it away
        "expected-latency" expected_latency: Option<ExpectedLatency>,
        /// One budget for all members together; only as it is already
        "is-shared" is_shared: Option<bool>,
        /// How far a burst may exceed the ceiling, in percent
        "burst-percent" burst_percent: Option<Count>,
        /// The rate of a burst, in IOPS
        "burst-iops" burst_iops: Option<Count>,
        /// How long a burst may last, in seconds
        "burst-duration" burst_duration: Option<Count>,
    }

    /// Rename a policy group
    "qos policy-group rename" => Rename(PolicyGroupRename) {
        /// Policy group
        "policy-group" policy_group: PolicyName,
        /// Its new name
        "new-name" new_name: PolicyName,
    }

    /// Delete a policy group
    "qos policy-group delete" => Delete(PolicyGroupDelete) {
        /// Policy group
        "policy-group" policy_group: PolicyName,
        /// Also if objects are attached
        "force" force: Switch,
    }

    shows
    /// Display policy groups
    "qos policy-group show" => Show by { "policy-group" } {
        /// Policy group
        "policy-group",
        /// SVM
        "vserver",
        /// Identifier
        "uuid",
        /// Class: user-defined, preset ...
        "class": QOS_CLASS,
        /// Number of the policy group
        "pgid": Count,
        /// Ceiling
        "max-throughput": Ceiling,
        /// Floor
        "min-throughput": Floor,
        /// Half of the requests are answered within this
        "expected-latency": Latency,
        /// Number of attached objects
        "num-workloads": Count,
        /// Floor and ceiling together
        "throughput-policy": Throughput,
        /// One budget for all members together
        "is-shared": Truth,
        /// Made by the system for a single object
        "is-auto-generated": Truth,
        /// How far a burst may exceed the ceiling, in percent
        "burst-percent": Count,
        /// The rate of a burst, in IOPS
        "burst-iops": Count,
        /// How long a burst may last, in seconds
        "burst-duration": Count,
    }
}
