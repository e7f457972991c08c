//! The commands that require advanced privilege, as in ONTAP: those that are rare, and detach
//! limits from objects.

use super::{AdaptiveCommand, Command, PolicyGroupCommand, WorkloadCommand};
use crate::value::Privilege;

impl Command {
    /// The privilege that the command requires.
    pub fn privilege(&self) -> Privilege {
        match self {
            Command::PolicyGroup(PolicyGroupCommand::Delete(delete)) if delete.force.0 => Privilege::Advanced,
            Command::Adaptive(AdaptiveCommand::Delete(delete)) if delete.force.0 => Privilege::Advanced,
            Command::Workload(command) if !matches!(command, WorkloadCommand::Show(_)) => Privilege::Advanced,
            _ => Privilege::Admin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ontap_gates_takes_the_advanced_privilege() {
        for (line, privilege) in [
            ("qos policy-group delete p", Privilege::Admin),
            ("qos policy-group delete p -force true", Privilege::Advanced),
            ("qos adaptive-policy-group delete p -force", Privilege::Advanced),
            ("qos settings throughput-floors-v2 -enable true", Privilege::Advanced),
            ("qos workload show", Privilege::Admin),
            ("lun delete /vol/v/l -force", Privilege::Admin),
        ] {
            assert_eq!(crate::parse(line).unwrap().privilege(), privilege, "{line}");
        }
    }
}
