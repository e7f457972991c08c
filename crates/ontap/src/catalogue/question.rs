//! The questions that are asked at a terminal before something is destroyed.

use super::{
    Command, FileCommand, LunCommand, PolicyGroupCommand, QtreeCommand, SecurityCommand, SnapshotCommand,
    VolumeCommand, VserverCommand,
};
use crate::value::ObjectName;

impl Command {
    /// The question for confirmation, with what would be lost; `None` for a command that destroys
    /// nothing.
    pub fn question(&self) -> Option<String> {
        let of = |vserver: &Option<ObjectName>| {
            vserver.as_ref().map(|svm| format!(" in Vserver \"{svm}\"")).unwrap_or_default()
        };
        let sure = |what: String| format!("Are you sure you want to {what}?");
        let asked = match self {
            Command::Vserver(VserverCommand::Delete(d)) => sure(format!("delete Vserver \"{}\"", d.vserver)),
            Command::Volume(VolumeCommand::Delete(d)) => {
                sure(format!("delete volume \"{}\"{}", d.volume, of(&d.vserver)))
            }
            Command::Qtree(QtreeCommand::Delete(d)) => {
                sure(format!("delete qtree \"{}\" of volume \"{}\"{}", d.qtree, d.volume, of(&d.vserver)))
            }
            Command::Lun(LunCommand::Delete(d)) => sure(format!("delete LUN \"{}\"{}", d.path, of(&d.vserver))),
            Command::Lun(LunCommand::Offline(o)) => {
                let what = sure(format!("take LUN \"{}\"{} offline", o.path, of(&o.vserver)));
                format!("Clients that are connected lose it. {what}")
            }
            Command::File(FileCommand::Delete(d)) => {
                sure(format!("delete file \"{}\" of volume \"{}\"{}", d.file, d.volume, of(&d.vserver)))
            }
            Command::Snapshot(SnapshotCommand::Delete(d)) => {
                let what =
                    sure(format!("delete snapshot \"{}\" for volume \"{}\"{}", d.snapshot, d.volume, of(&d.vserver)));
                format!("Deleting a snapshot permanently removes data that is stored only in that snapshot. {what}")
            }
            Command::Snapshot(SnapshotCommand::Restore(r)) => {
                let what =
                    sure(format!("restore volume \"{}\"{} from snapshot \"{}\"", r.volume, of(&r.vserver), r.snapshot));
                format!("All that was written since then is lost. {what}")
            }
            Command::Snapshot(SnapshotCommand::RestoreFile(r)) => {
                let what = sure(format!(
                    "restore \"{}\" of volume \"{}\"{} from snapshot \"{}\"",
                    r.path,
                    r.volume,
                    of(&r.vserver),
                    r.snapshot
                ));
                format!("All that was written to it since then is lost. {what}")
            }
            Command::Security(SecurityCommand::Delete(d)) => sure(format!("delete the log-in of user \"{}\"", d.user)),
            Command::PolicyGroup(PolicyGroupCommand::Delete(d)) if d.force.0 => {
                let what = sure(format!("delete QoS policy group \"{}\"", d.policy_group));
                format!("What is attached to it loses its limits. {what}")
            }
            _ => return None,
        };
        Some(asked)
    }
}
