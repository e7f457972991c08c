//! A plan's commands, played in order on an administration without storage before anything is made.
//! A command that names a volume, an SVM or a policy that does not exist is found before volumes
//! are filled.

use crate::cached::Memory;
use crate::{registry_settings, set_up};
use admin::Administration;
use anyhow::{Result, anyhow, bail};
use block::{ObjectId, Time};
use qos::RegistrySettings;
use std::collections::HashMap;
use workload::Plan;
use workload::plan::{Volume, unfold};

/// An administration without storage.
pub struct Rehearsal {
    administration: Administration,
    /// The bytes in use of each LUN.
    used: HashMap<ObjectId, u64>,
}

impl Rehearsal {
    /// One without any SVM.
    pub fn new(settings: RegistrySettings) -> Rehearsal {
        Rehearsal { administration: Administration::new(settings), used: HashMap::new() }
    }

    /// Says that so many bytes of a LUN are in use.
    pub fn uses(&mut self, svm: &str, path: &str, bytes: u64) {
        let registry = &self.administration.registry;
        let lun = registry.find_svm(svm).and_then(|svm| registry.find_lun(svm, path));
        self.used.extend(lun.map(|lun| (lun, bytes)));
    }

    /// Plays a command.
    ///
    /// # Errors
    /// It is refused.
    pub fn play(&mut self, line: &str) -> Result<()> {
        let used = |lun: ObjectId| self.used.get(&lun).copied().unwrap_or(0);
        self.administration.execute(line, Time::ZERO, &used).map(drop).map_err(|error| anyhow!("{error}"))
    }

    /// Plays commands in order, each given behind its place in the plan.
    ///
    /// # Errors
    /// Commands are refused; one line for each with its place. A command that is refused alike
    /// again and again has one line.
    pub fn play_all<'c>(&mut self, commands: impl IntoIterator<Item = (String, &'c str)>) -> Result<()> {
        let mut refused: Vec<String> = Vec::new();
        for (place, command) in commands {
            for line in unfold(command) {
                let said = self.play(&line).err().map(|error| format!("{place}: {line}: {error:#}"));
                refused.extend(said.filter(|said| !refused.contains(said)));
            }
        }
        if refused.is_empty() { Ok(()) } else { bail!("{}", refused.join("\n")) }
    }
}

/// Commands that are run together.
#[derive(Clone, Copy, Debug)]
pub struct Rehearsed<'p> {
    /// What they are run before, for messages.
    pub before: &'p str,
    /// The phase or arm in the plan.
    pub phase: &'p str,
    /// The commands.
    pub commands: &'p [String],
}

/// Plays commands in order, on volumes as they are after a fill.
///
/// # Errors
/// Commands are refused; one line for each with its place in the plan.
pub fn rehearse<'p>(plan: &Plan, all: impl IntoIterator<Item = Rehearsed<'p>>) -> Result<()> {
    let mut rehearsal = Rehearsal::new(registry_settings(plan));
    rehearsal.administration.partitions.memory = plan.settings.cache.map(Memory::told);
    let served = || plan.volumes.iter().enumerate().filter(|(_, volume)| volume.is_served());
    for line in set_up(plan, served().map(|(_, volume)| volume)) {
        // If the volumes themselves are impossible, making them gives the better message.
        if rehearsal.play(&line).is_err() {
            return Ok(());
        }
    }
    for (index, volume) in served() {
        rehearsal.uses(&plan.svm, &volume.path(), filled(plan, index, volume));
    }
    rehearsal.play_all(all.into_iter().flat_map(|Rehearsed { before, phase, commands }| {
        let place = move |command| format!("{}: before {before:?}", plan.at_command(phase, command));
        commands.iter().map(move |command| (place(command), command.as_str()))
    }))
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
        let phases = plan.phases.iter();
        let phases =
            phases.map(|phase| Rehearsed { before: &phase.name, phase: &phase.name, commands: &phase.commands });
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
            let why = line.strip_prefix(&format!("p.toml:18: before \"two\": {command}: "));
            assert!(why.is_some_and(|why| why.contains(name)), "{line}");
        }
    }

    #[test]
    fn every_command_that_will_be_refused_is_told() {
        let volumes =
            ["a", "zz", "a"].map(|name| format!("volume modify -vserver s -volume {name} -qos-policy-group g"));
        let text = format!(
            "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"a\"\n[[workload]]\nname = \"w\"\n\
             volume = \"a\"\ndepth = 1\n[[phase]]\nname = \"one\"\ncommands = [\n{:?},\n{:?},\n]\n[[phase]]\n\
             name = \"two\"\ncommands = [{:?}]\n",
            volumes[0], volumes[1], volumes[2]
        );
        let plan = Plan::read(&text, "p.toml").and_then(|plan| plan.sized(Bytes::mib(64)));
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
        let phases = plan.phases.iter();
        let phases =
            phases.map(|phase| Rehearsed { before: &phase.name, phase: &phase.name, commands: &phase.commands });
        let error = rehearse(&plan, phases).unwrap_err().to_string();
        let places: Vec<&str> = error.lines().filter_map(|line| line.split(": ").next()).collect();
        assert_eq!(places, ["p.toml:13", "p.toml:14", "p.toml:18"], "{error}");
    }
}
