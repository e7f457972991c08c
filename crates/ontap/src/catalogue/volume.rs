//! `volume`: volumes.

use super::commands;
use crate::value::{JunctionPath, ObjectName, PolicyAssignment, Query, Size};

commands! {
    /// Everything that begins with `volume`, but for its qtrees and files.
    VolumeCommand in Volume

    /// Create a volume
    "volume create" => Create(VolumeCreate) {
        /// Name of the new volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Aggregate that it is made in
        "aggregate" aggregate: Option<ObjectName>,
        /// Its size
        "size" size: Option<Size>,
        /// Where it appears in the SVM's name space
        "junction-path" junction_path: Option<JunctionPath>,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", }

    /// Change volumes
    "volume modify" => Modify(VolumeModify) {
        /// Volume, or a pattern such as epic_*
        "volume" volume: Query,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// New size
        "size" size: Option<Size>,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", }

    /// Rename a volume
    "volume rename" => Rename(VolumeRename) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Its new name
        "newname" new_name: ObjectName,
    }

    /// Delete a volume
    "volume delete" => Delete(VolumeDelete) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
    }

    shows
    /// Display volumes
    "volume show" => Show by { "vserver", "volume" } {
        /// Volume
        "volume",
        /// SVM
        "vserver",
        /// Aggregate
        "aggregate",
        /// Identifier
        "uuid",
        /// State
        "state",
        /// Type
        "type",
        /// Size
        "size",
        /// Free space
        "available",
        /// Used space
        "used",
        /// Used space in percent
        "percent-used",
        /// Place in the SVM's name space
        "junction-path",
        /// Fixed policy group
        "qos-policy-group",
        /// Adaptive policy group
        "qos-adaptive-policy-group",
    }
}
