//! `vserver`: storage virtual machines (SVMs), which own volumes and policy groups.

use super::commands;
use crate::value::{ObjectName, PolicyAssignment};

commands! {
    /// Everything that begins with `vserver`.
    VserverCommand in Vserver

    /// Create a storage virtual machine
    "vserver create" => Create(VserverCreate) {
        /// Name of the new SVM
        "vserver" vserver: ObjectName,
        /// Aggregate that its volumes come from
        "aggregate" aggregate: Option<ObjectName>,
        /// Policy group that limits the whole SVM
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
    } refused {
        "qos-adaptive-policy-group" "an SVM takes no adaptive policy group; the one that new volumes get is set by `vserver modify -qos-adaptive-policy-group-template`",
    }

    /// Change a storage virtual machine
    "vserver modify" => Modify(VserverModify) {
        /// Name of the SVM
        "vserver" vserver: ObjectName,
        /// Policy group that limits the whole SVM
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group that volumes made or moved here from now on get
        "qos-adaptive-policy-group-template" qos_adaptive_policy_group_template: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group-template", } refused {
        "qos-adaptive-policy-group" "an SVM takes no adaptive policy group; the one that new volumes get is \"-qos-adaptive-policy-group-template\"",
    }

    /// Rename a storage virtual machine
    "vserver rename" => Rename(VserverRename) {
        /// Name of the SVM
        "vserver" vserver: ObjectName,
        /// Its new name
        "newname" new_name: ObjectName,
    }

    /// Delete a storage virtual machine
    "vserver delete" => Delete(VserverDelete) {
        /// Name of the SVM
        "vserver" vserver: ObjectName,
    }

    shows
    /// Display storage virtual machines
    "vserver show" => Show by { "vserver" } {
        /// SVM
        "vserver",
        /// Identifier
        "uuid",
        /// Type of the SVM
        "type",
        /// Subtype of the SVM
        "subtype",
        /// State that was asked for
        "admin-state",
        /// State that it is in
        "operational-state",
        /// Root volume
        "rootvolume",
        /// Aggregate that its volumes come from
        "aggregate",
        /// Policy group
        "qos-policy-group",
        /// Adaptive policy group for new volumes
        "qos-adaptive-policy-group-template",
    }
}
