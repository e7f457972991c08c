//! `volume`: volumes.

use super::commands;
use crate::value::{
    Count, JunctionPath, NewSize, ObjectName, PolicyAssignment, Query, Switch, UnitSize, UnixPermissions,
};

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
        "size" size: Option<UnitSize>,
        /// Where it appears in the SVM's name space
        "junction-path" junction_path: Option<JunctionPath>,
        /// Owner of the folder at its top, by number
        "user" user: Option<Count>,
        /// Group of the folder at its top, by number
        "group" group: Option<Count>,
        /// Permissions of the folder at its top
        "unix-permissions" unix_permissions: Option<UnixPermissions>,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", } refused {
        "aggr-list" "a FlexGroup spreads over several aggregates, and there is one here; create a volume in it, without -aggr-list",
        "aggr-list-multiplier" "it is for FlexGroups, of which there are none here; create a volume, without it",
        "auto-provision-as" "it makes FlexGroups, of which there are none here; create a volume, without it",
    }

    /// Change volumes
    "volume modify" => Modify(VolumeModify) {
        /// Volume, or a pattern such as epic_*
        "volume" volume: Query,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// New size, or what each grows or shrinks by: +500MB
        "size" size: Option<NewSize>,
        /// Owner of the folder at its top, by number
        "user" user: Option<Count>,
        /// Group of the folder at its top, by number
        "group" group: Option<Count>,
        /// Permissions of the folder at its top
        "unix-permissions" unix_permissions: Option<UnixPermissions>,
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
        /// Delete what clients made on it, too, also while they are connected
        "force" force: Switch,
    }

    /// Display or change the size of a volume
    "volume size" => Size(VolumeSize) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// New size, or what it grows or shrinks by: +500MB; without it the size is shown
        "new-size" new_size: Option<NewSize>,
    }

    /// Give a volume a place in its SVM's name space, for NFS clients to mount
    "volume mount" => Mount(VolumeMount) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Where it appears
        "junction-path" junction_path: JunctionPath,
    }

    /// Take a volume's place in the name space away
    "volume unmount" => Unmount(VolumeUnmount) {
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
        "state": VOLUME_STATE,
        /// Type
        "type": VOLUME_TYPE,
        /// Size
        "size": Size,
        /// Free space
        "available": Size,
        /// Used space
        "used": Size,
        /// Used space in percent
        "percent-used": Percent,
        /// Place in the SVM's name space
        "junction-path",
        /// Owner of the folder at its top
        "user": Count,
        /// Group of the folder at its top
        "group": Count,
        /// Permissions of the folder at its top
        "unix-permissions",
        /// Fixed policy group
        "qos-policy-group",
        /// Adaptive policy group
        "qos-adaptive-policy-group",
    }

    shows
    /// Display the space of volumes in KB
    "df" => Df by { "vserver", "volume" } {
        /// Volume
        "volume",
        /// SVM
        "vserver",
        /// Path of the volume
        "filesystem",
        /// Size
        "kbytes": Count,
        /// Used space
        "used": Count,
        /// Free space
        "avail": Count,
        /// Used space in percent
        "capacity": Percent,
        /// Place in the SVM's name space
        "mounted-on",
    }
}
