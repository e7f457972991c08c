//! `volume qtree`: directories at the top of a volume that carry a policy of their own.

use super::commands;
use crate::value::{ObjectName, PolicyAssignment};

commands! {
    /// Everything that begins with `volume qtree`.
    QtreeCommand in Qtree

    /// Create a qtree
    "volume qtree create" => Create(QtreeCreate) {
        /// Name of the new qtree
        "qtree" qtree: ObjectName,
        /// Volume that it is made in
        "volume" volume: ObjectName,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
    }

    /// Change a qtree
    "volume qtree modify" => Modify(QtreeModify) {
        /// Qtree
        "qtree" qtree: ObjectName,
        /// Volume that it is in
        "volume" volume: ObjectName,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
    }

    /// Rename a qtree
    "volume qtree rename" => Rename(QtreeRename) {
        /// Qtree
        "qtree" qtree: ObjectName,
        /// Volume that it is in
        "volume" volume: ObjectName,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Its new name
        "newname" new_name: ObjectName,
    }

    /// Delete a qtree
    "volume qtree delete" => Delete(QtreeDelete) {
        /// Qtree
        "qtree" qtree: ObjectName,
        /// Volume that it is in
        "volume" volume: ObjectName,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
    }

    shows
    /// Display qtrees
    "volume qtree show" => Show by { "vserver", "volume", "qtree" } {
        /// Qtree
        "qtree",
        /// SVM
        "vserver",
        /// Volume
        "volume",
        /// Number of the qtree in the pool
        "id": Count,
        /// Status
        "status",
        /// Fixed policy group
        "qos-policy-group",
    }
}
