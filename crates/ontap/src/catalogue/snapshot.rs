//! `volume snapshot`: a volume as it was at one moment.

use super::commands;
use crate::value::{Comment, FilePath, ObjectName, Switch};

commands! {
    /// Everything that begins with `volume snapshot`.
    SnapshotCommand in Snapshot

    /// Create a snapshot of a volume
    "volume snapshot create" => Create(SnapshotCreate) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Name of the new snapshot
        "snapshot" snapshot: ObjectName,
        /// A note about it, up to 255 characters
        "comment" comment: Option<Comment>,
    }

    /// Modify a snapshot
    "volume snapshot modify" => Modify(SnapshotModify) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Snapshot
        "snapshot" snapshot: ObjectName,
        /// A note about it, up to 255 characters; "" removes it
        "comment" comment: Comment,
    }

    /// Rename a snapshot
    "volume snapshot rename" => Rename(SnapshotRename) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Snapshot
        "snapshot" snapshot: ObjectName,
        /// New name
        "new-name" new_name: ObjectName,
    }

    /// Restore a volume from a snapshot
    "volume snapshot restore" => Restore(SnapshotRestore) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Snapshot
        "snapshot" snapshot: ObjectName,
        /// Restore although clients are connected: their connections end
        "force" force: Switch,
    }

    /// Restore one LUN or file
    "volume snapshot restore-file" => RestoreFile(SnapshotRestoreFile) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Snapshot
        "snapshot" snapshot: ObjectName,
        /// Path of the LUN or file, from the root of the volume
        "path" path: FilePath,
        /// Restore although clients are connected: their connections end
        "force" force: Switch,
    }

    /// Delete a snapshot
    "volume snapshot delete" => Delete(SnapshotDelete) {
        /// Volume
        "volume" volume: ObjectName,
        /// SVM that owns it; may be left out where there is only one
        "vserver" vserver: Option<ObjectName>,
        /// Snapshot
        "snapshot" snapshot: ObjectName,
    }

    shows
    /// Display snapshots
    "volume snapshot show" => Show by { "vserver", "volume", "snapshot" } {
        /// Volume
        "volume",
        /// SVM
        "vserver",
        /// Snapshot
        "snapshot",
        /// Time of creation, in UTC
        "create-time": Time,
        /// Space that would come free with it
        "size": Size,
        /// The same in percent of the volume's size
        "total-percent": Percent,
        /// The note about it
        "comment",
    }
}
