//! `volume file`: files of fixed size that hosts use over the network as block devices, like LUNs,
//! and that may have a policy of their own; and policies of clients' files.

use super::commands;
use crate::value::{FilePath, ObjectName, PolicyAssignment, Switch, UnitSize};

commands! {
    /// Everything that begins with `volume file`.
    FileCommand in File

    /// Create a file of a fixed size
    "volume file create" => Create(FileCreate) {
        /// Path of the new file, from the root of its volume
        "file" file: FilePath,
        /// Volume that it is made in
        "volume" volume: ObjectName,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Its size
        "size" size: UnitSize,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", }

    /// Change a file's size or policy
    "volume file modify" => Modify(FileModify) {
        /// Path of the file, from the root of its volume
        "file" file: FilePath,
        /// Volume that it is in
        "volume" volume: ObjectName,
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

    /// Rename a file in its volume and qtree
    "volume file rename" => Rename(FileRename) {
        /// Path of the file, from the root of its volume
        "file" file: FilePath,
        /// Volume that it is in
        "volume" volume: ObjectName,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Its new path, in the same volume and qtree
        "new-path" new_path: FilePath,
    }

    /// Delete a file
    "volume file delete" => Delete(FileDelete) {
        /// Path of the file, from the root of its volume
        "file" file: FilePath,
        /// Volume that it is in
        "volume" volume: ObjectName,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Delete it although clients are connected: their connections end
        "force" force: Switch,
    }

    shows
    /// Display files
    "volume file show" => Show by { "vserver", "volume", "file" } {
        /// Path, from the root of the volume
        "file",
        /// SVM
        "vserver",
        /// Volume
        "volume",
        /// Qtree
        "qtree",
        /// Size
        "size": Size,
        /// Used space
        "used": Size,
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
