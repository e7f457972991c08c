//! `volume file`: files that carry a policy of their own.

use super::commands;
use crate::value::{FilePath, ObjectName, PolicyAssignment};

commands! {
    /// Everything that begins with `volume file`.
    FileCommand in File

    /// Change a file's policy
    "volume file modify" => Modify(FileModify) {
        /// Path of the file, from the root of its volume
        "file" file: FilePath,
        /// Volume that it is in
        "volume" volume: ObjectName,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", }
}
