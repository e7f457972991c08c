//! `lun`: block devices inside volumes.

use super::commands;
use crate::value::{LunPath, NewSize, ObjectName, OsType, PolicyAssignment, Query, Switch, UnitSize};

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
        "size" size: UnitSize,
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
        "size" size: Option<UnitSize>,
        /// Make it smaller although clients are connected: their connections end
        "force" force: Switch,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", }

    /// Make a LUN larger or smaller
    "lun resize" => Resize(LunResize) {
        /// LUN
        "path" path: LunPath,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// New size, or what it grows or shrinks by: +500MB
        "size" size: NewSize,
        /// Make it smaller although clients are connected: their connections end
        "force" force: Switch,
    }

    /// Rename a LUN in its volume and qtree
    "lun move-in-volume" => Move(LunMove) {
        /// LUN
        "path" path: LunPath,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Its new path, in the same volume and qtree
        "new-path" new_path: LunPath,
    }

    /// Take LUNs away from clients and keep them
    "lun offline" => Offline(LunOffline) {
        /// LUN, or a pattern such as /vol/vol1/*
        "path" path: Query,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
    }

    /// Let clients have LUNs again
    "lun online" => Online(LunOnline) {
        /// LUN, or a pattern such as /vol/vol1/*
        "path" path: Query,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
    }

    /// Delete a LUN
    "lun delete" => Delete(LunDelete) {
        /// LUN
        "path" path: LunPath,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Delete it although clients are connected: their connections end
        "force" force: Switch,
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
        "size": Size,
        /// Operating system
        "ostype": OS_TYPE,
        /// State
        "state": LUN_STATE,
        /// Whether clients are connected: mapped, unmapped
        "mapped": MAPPED,
        /// Connections of clients
        "connections": Count,
        /// Identifier
        "uuid",
        /// Fixed policy group
        "qos-policy-group",
        /// Adaptive policy group
        "qos-adaptive-policy-group",
    }
}
