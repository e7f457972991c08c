//! `volume clone` and `volume file clone`: volumes, LUNs and files that start as copies.

use super::commands;
use crate::value::{FilePath, JunctionPath, ObjectName, PolicyAssignment};

commands! {
    /// Everything that makes clones.
    CloneCommand in Clone

    /// Clone a volume, without policies
    "volume clone create" => Volume(VolumeCloneCreate) {
        /// Name of the new volume
        "flexclone" flexclone: ObjectName,
        /// SVM that owns both; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Volume that is cloned
        "parent-volume" parent_volume: ObjectName,
        /// Snapshot of it; without, the volume as it is
        "parent-snapshot" parent_snapshot: Option<ObjectName>,
        /// Where it appears in the SVM's name space
        "junction-path" junction_path: Option<JunctionPath>,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", }

    /// Clone a LUN or file of a volume
    "volume file clone create" => File(FileCloneCreate) {
        /// Path of the LUN or file, from the root of its volume
        "source-path" source_path: FilePath,
        /// Path of the new one
        "destination-path" destination_path: FilePath,
        /// Volume that they are in
        "volume" volume: ObjectName,
        /// SVM that owns the volume; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Snapshot that has the source; without, as it is now
        "snapshot-name" snapshot_name: Option<ObjectName>,
        /// Fixed policy group
        "qos-policy-group" qos_policy_group: Option<PolicyAssignment>,
        /// Adaptive policy group
        "qos-adaptive-policy-group" qos_adaptive_policy_group: Option<PolicyAssignment>,
    } apart { "qos-policy-group" "qos-adaptive-policy-group", }

    shows
    /// Display volumes that are clones
    "volume clone show" => Show by { "vserver", "flexclone" } {
        /// Volume
        "flexclone",
        /// SVM
        "vserver",
        /// SVM of the volume that it was cloned from
        "parent-vserver",
        /// Volume that it was cloned from
        "parent-volume",
        /// Snapshot that it was cloned from
        "parent-snapshot",
        /// State
        "state": VOLUME_STATE,
        /// Type
        "type": VOLUME_TYPE,
    }
}
