//! Clones of a plan: each is made by a command of a phase, and no load uses it before.

use anyhow::{Result, bail};
use ontap::Command;
use ontap::catalogue::CloneCommand;
use workload::Plan;
use workload::plan::{PlanStep, unfold};

/// Checks that a phase makes every clone of the plan, from the volume that the plan says, and that
/// no load uses it before.
///
/// # Errors
/// A clone breaks this; one line says what is missing.
pub fn check(plan: &Plan) -> Result<()> {
    for (index, volume) in plan.volumes.iter().enumerate() {
        let Some(parent) = volume.clone_of.map(|parent| plan.volumes[parent].name.as_str()) else { continue };
        let (name, svm) = (&volume.name, &plan.svm);
        let at = || plan.at_volume(name, "clone_of");
        let Some((made, of)) = made_in(plan, name) else {
            bail!(
                "{}: volume {name}: no phase makes it; give one the command \
                 \"volume clone create -vserver {svm} -flexclone {name} -parent-volume {parent}\"",
                at()
            );
        };
        if of != parent {
            bail!("{}: volume {name}: clone_of is {parent}, and phase {:?} clones {of}", at(), plan.phases[made].name);
        }
        for (number, load) in plan.workloads.iter().enumerate().filter(|(_, load)| load.volumes.contains(&index)) {
            if let Some(phase) = plan.phases[..made].iter().find(|phase| phase.specs[number].connections > 0) {
                let (load, made) = (&load.name, &plan.phases[made].name);
                bail!(
                    "{}: workload {load}: uses volume {name} in phase {:?}, which phase {made:?} makes; say \
                     {load} = {{ connections = 0 }} there",
                    plan.at(&[PlanStep::Phase(&phase.name), PlanStep::Key(load)]),
                    phase.name
                );
            }
        }
    }
    Ok(())
}

/// The first phase whose commands make a clone of that name, and the volume that it is of.
fn made_in(plan: &Plan, name: &str) -> Option<(usize, String)> {
    plan.phases.iter().enumerate().find_map(|(index, phase)| {
        let lines = phase.commands.iter().flat_map(|line| unfold(line));
        let made = lines.filter_map(|line| match ontap::parse(&line) {
            Ok(Command::Clone(CloneCommand::Volume(create))) if create.flexclone.as_str() == name => {
                Some(create.parent_volume.as_str().to_owned())
            }
            _ => None,
        });
        made.into_iter().next().map(|of| (index, of))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Production, two clones that the second phase makes by `command`, and a load on them that
    /// begins with phase `from`.
    fn plan(command: &str, from: usize) -> Plan {
        let silent = "devs = { connections = 0 }";
        let phases = ["one", "two"].iter().enumerate().map(|(index, name)| {
            let load = if index == 0 && from > 0 { silent } else { "devs = { connections = 2 }" };
            let commands = if index == 1 { format!("commands = [{command:?}]") } else { String::new() };
            format!("[[phase]]\nname = \"{name}\"\n{load}\n{commands}\n")
        });
        let text = format!(
            "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"prod\"\nsize = \"1MiB\"\n[[volume]]\n\
             name = \"dev{{1..2}}\"\nclone_of = \"prod\"\n[[workload]]\nname = \"devs\"\nvolume = \"dev{{1..2}}\"\n\
             depth = 1\n{}",
            phases.collect::<String>()
        );
        Plan::read(&text, "p.toml").unwrap_or_else(|errors| panic!("{errors}"))
    }

    #[test]
    fn what_makes_a_clone_is_found_and_its_lack_is_named() {
        let create = "volume clone create -vserver s -flexclone dev{1..2} -parent-volume prod";
        check(&plan(create, 1)).unwrap();
        let refused = |command: &str, from| check(&plan(command, from)).unwrap_err().to_string();
        assert_eq!(
            refused(create, 0),
            "p.toml:16: workload devs: uses volume dev1 in phase \"one\", which phase \"two\" makes; say devs = { connections = \
             0 } there"
        );
        assert_eq!(
            refused("volume clone create -vserver s -flexclone dev1 -parent-volume prod", 1),
            "p.toml:9: volume dev2: no phase makes it; give one the command \"volume clone create -vserver s -flexclone dev2 \
             -parent-volume prod\""
        );
        assert!(
            refused("volume clone create -vserver s -flexclone dev{1..2} -parent-volume x", 1).contains("clones x")
        );
    }
}
