//! A plan's commands, played in order on an administration without storage before anything is made.
//! A command that names a volume, an SVM or a policy that does not exist is found before volumes
//! are filled.

use crate::cached::Memory;
use crate::{registry_settings, set_up};
use admin::Administration;
use anyhow::{Context as _, Result, anyhow};
use block::{ObjectId, Time};
use std::collections::HashMap;
use workload::Plan;
use workload::plan::{Volume, unfold};

/// Plays the commands of phases, given with the phases' names, in the plan's order and on volumes
/// as they are after a fill.
///
/// # Errors
/// A command is refused; one line with its phase.
pub fn rehearse<'p>(plan: &Plan, phases: impl IntoIterator<Item = (&'p str, &'p [String])>) -> Result<()> {
    let mut administration = Administration::new(registry_settings(plan));
    administration.partitions.memory = plan.settings.cache.map(Memory::told);
    let mut used: HashMap<ObjectId, u64> = HashMap::new();
    let served = || plan.volumes.iter().enumerate().filter(|(_, volume)| volume.is_served());
    for line in set_up(plan, served().map(|(_, volume)| volume)) {
        // If the volumes themselves are impossible, whoever makes them says more about it.
        if play(&mut administration, &used, &line).is_err() {
            return Ok(());
        }
    }
    for (index, volume) in served() {
        let registry = &administration.registry;
        let lun = registry.find_svm(&plan.svm).and_then(|svm| registry.find_lun(svm, &volume.path()));
        used.extend(lun.map(|lun| (lun, filled(plan, index, volume))));
    }
    for (name, commands) in phases {
        for line in commands.iter().flat_map(|line| unfold(line)) {
            let about = || format!("{}: before {name:?}: {line}", plan.file);
            play(&mut administration, &used, &line).with_context(about)?;
        }
    }
    Ok(())
}

fn play(administration: &mut Administration, used: &HashMap<ObjectId, u64>, line: &str) -> Result<()> {
    let used = |lun: ObjectId| used.get(&lun).copied().unwrap_or(0);
    administration.execute(line, Time::ZERO, &used).map(drop).map_err(|error| anyhow!("{error}"))
}

/// The bytes of a volume's LUN that are in use after a fill.
pub(crate) fn filled(plan: &Plan, index: usize, volume: &Volume) -> u64 {
    let size = if volume.thin { plan.used(index).size } else { volume.size };
    size.unwrap_or_default().0
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Bytes;

    fn refused(commands: &str) -> Option<String> {
        let text = format!(
            "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"a\"\n[[volume]]\nname = \"b\"\n\
             place = \"null:1GiB\"\n[[workload]]\nname = \"w\"\nvolume = \"a\"\ndepth = 1\n[[phase]]\nname = \"one\"\n\
             commands = [\"qos policy-group create g -vserver s -max-throughput 100IOPS\"]\n[[phase]]\n\
             name = \"two\"\ncommands = [{commands:?}]\n"
        );
        let plan = Plan::read(&text, "p.toml").and_then(|plan| plan.sized(Bytes::mib(64)));
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
        let phases = plan.phases.iter().map(|phase| (phase.name.as_str(), phase.commands.as_slice()));
        rehearse(&plan, phases).err().map(|error| format!("{error:#}"))
    }

    /// What an earlier phase made exists, and what nothing made does not.
    #[test]
    fn a_command_that_will_be_refused_is_found_before_anything_is_made() {
        assert_eq!(refused("volume modify -vserver s -volume a -qos-policy-group g"), None);
        for (command, name) in [
            ("volume modify -vserver s -volume zz -qos-policy-group g", "zz"),
            ("volume modify -vserver s -volume a -qos-policy-group nope", "nope"),
            ("volume modify -vserver other -volume a -qos-policy-group g", "other"),
            // A place has no policies.
            ("volume modify -vserver s -volume b -qos-policy-group g", "b"),
        ] {
            let line = refused(command).unwrap_or_default();
            let why = line.strip_prefix(&format!("p.toml: before \"two\": {command}: "));
            assert!(why.is_some_and(|why| why.contains(name)), "{line}");
        }
    }
}
