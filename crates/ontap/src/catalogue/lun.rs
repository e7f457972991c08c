//! `lun`: block devices inside volumes.

use super::commands;
use crate::value::{LunPath, ObjectName, OsType, PolicyAssignment, Size};

commands! {
    /// Everything that begins with `lun`.
    LunCommand in Lun

    /// Create a LUN
    "lun create" => Create(LunCreate) {
        /// Where the new LUN is to be
        "path" path: LunPath,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Its size
        "size" size: Size,
        /// Operating system that uses it
        "ostype" ostype: OsType = "linux",
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", }

    /// Change a LUN
    "lun modify" => Modify(LunModify) {
        /// LUN
        "path" path: LunPath,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// New size
        "size" size: Option<Size>,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", }

    /// Rename a LUN in its volume and qtree
    "lun move-in-volume" => Move(LunMove) {
        /// LUN
        "path" path: LunPath,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Its new path, in the same volume and qtree
        "new-path" new_path: LunPath,
    }

    /// Delete a LUN
    "lun delete" => Delete(LunDelete) {
        /// LUN
        "path" path: LunPath,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
    }

    shows
    /// Display LUNs
    "lun show" => Show by { "vserver", "path" } {
        /// Path
        "path",
        /// SVM
        "vserver",
        /// Volume
        "volume",
        /// Qtree
        "qtree",
        /// Name
        "lun",
        /// Size
        "size",
        /// Operating system
        "ostype",
        /// State
        "state",
        /// Mapped to hosts or not
        "mapped",
        /// Identifier
        "uuid",
        /// Fixed policy group
        "qos-policy-group",
        /// Adaptive policy group
        "qos-adaptive-policy-group",
    }
}
