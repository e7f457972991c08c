//! Limits of a single object, given without a policy group. A group of its own, which nobody
//! shares, is made for them and deleted with them.

use super::{AdminError, Errand, ObjectDetails};
use crate::uuid_text;
use block::{BytesPerSecond, Iops, ObjectId};
use ontap::value::OwnLimits;
use qos::{FixedChange, FixedPolicy, Group, NewGroup, Object, Policy, PolicyChange, Rates};

/// Longest part of the object's name in the group's name: with the rest it stays below the 127
/// characters of a name.
const NAME_MAX: usize = 60;

impl Errand<'_> {
    /// Gives an object limits of its own, or changes them. A policy group of another kind is
    /// detached.
    pub(super) fn assign_own(&mut self, object: ObjectId, limits: OwnLimits) -> Result<(), AdminError> {
        let own = self.own_group(object);
        let now = own.as_deref().and_then(|name| fixed_of(self.registry.group(name)?));
        let ceiling = over(now.map(|policy| policy.ceiling), limits.max_iops, limits.max_bytes);
        let floor = over(now.map(|policy| policy.floor), limits.min_iops, limits.min_bytes);
        if ceiling == Rates::default() && floor == Rates::default() {
            // No limits at all is the state without such a group. Limits of a shared group cannot
            // be removed this way.
            return if own.is_some() { self.attach(object, None) } else { Ok(()) };
        }
        if let Some(name) = own {
            let change = FixedChange { ceiling: Some(ceiling), floor: Some(floor), ..FixedChange::default() };
            return self.modify_group(&name, &PolicyChange::Fixed(change)).map(drop);
        }
        let Some(svm) = self.registry.svm_of(object) else { return Ok(()) };
        let uuid = self.at.world.uuid();
        let name = self.own_name(object, uuid);
        let policy = Policy::Fixed(FixedPolicy {
            ceiling,
            floor,
            shared: false,
            auto_generated: true,
            ..FixedPolicy::default()
        });
        let change = self.registry.create_group(NewGroup { name: &name, svm, uuid, policy })?;
        self.take(change);
        self.attach(object, Some(&name))
    }

    /// The group that was made for this object alone, if it is in one.
    pub(super) fn own_group(&self, object: ObjectId) -> Option<String> {
        let membership = self.registry.object(object).and_then(Object::membership)?;
        let group = self.registry.group_of(membership.group)?;
        fixed_of(group)?.auto_generated.then(|| group.name().to_owned())
    }

    /// Deletes a group that was made for one object and has no members any more.
    pub(super) fn drop_groups(&mut self, left: Option<String>) -> Result<(), AdminError> {
        let Some(name) = left else { return Ok(()) };
        if self.registry.group(&name).is_some_and(|group| group.members().len() == 0) {
            let change = self.registry.delete_group(&name, false)?;
            self.take(change);
        }
        Ok(())
    }

    /// Deletes an object, and the group that was made for it.
    pub(super) fn remove_object(&mut self, object: ObjectId) -> Result<(), AdminError> {
        if self.own_group(object).is_some() {
            self.attach(object, None)?;
        }
        let change = self.registry.remove_object(object)?;
        self.take(change);
        self.set_details(object, ObjectDetails::default());
        Ok(())
    }

    /// `vol1_auto_gen_policy_63ab2b0a_…`: characters that a policy group's name may not have are
    /// left out.
    fn own_name(&self, object: ObjectId, uuid: u128) -> String {
        let name = self.registry.object(object).map(Object::name).unwrap_or_default();
        let mut plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect();
        plain.truncate(NAME_MAX);
        let plain = plain.trim_start_matches(['_', '-']);
        let plain = if plain.is_empty() { "object" } else { plain };
        format!("{plain}_auto_gen_policy_{}", uuid_text(uuid).replace('-', "_"))
    }
}

fn fixed_of(group: &Group) -> Option<&FixedPolicy> {
    match group.policy() {
        Policy::Fixed(policy) => Some(policy),
        Policy::Adaptive(_) => None,
    }
}

/// The given limits on top of the present ones; zero removes a limit.
fn over(now: Option<Rates>, iops: Option<u64>, bytes: Option<u64>) -> Rates {
    let now = now.unwrap_or_default();
    Rates {
        iops: iops.map(Iops).or(now.iops).filter(|rate| rate.0 > 0),
        bytes: bytes.map(BytesPerSecond).or(now.bytes).filter(|rate| rate.0 > 0),
    }
}

#[cfg(test)]
mod tests {
    use crate::world::Told;
    use crate::{AdminError, Administration, At};
    use block::Time;
    use ontap::Command;
    use ontap::catalogue::{VolumeCommand, VolumeModify};
    use ontap::value::{OwnLimits, PolicyAssignment, Query};

    fn modify(administration: &mut Administration, limits: OwnLimits) -> Result<(), AdminError> {
        let command = Command::Volume(VolumeCommand::Modify(VolumeModify {
            volume: Query::exact("v"),
            vserver: None,
            size: None,
            user: None,
            group: None,
            unix_permissions: None,
            qos_policy_group: Some(PolicyAssignment::Own(limits)),
            qos_adaptive_policy_group: None,
        }));
        let at = At { now: Time::ZERO, began: 0, world: &Told(&|_| 0) };
        administration.run(command, &at).map(drop)
    }

    fn shown(administration: &mut Administration) -> String {
        let line = "qos policy-group show -fields throughput-policy,is-auto-generated,num-workloads";
        administration.execute(line, Time::ZERO, &|_| 0).unwrap().answer.text()
    }

    /// A volume's own limits make a group, change it, and delete it: when they are removed, when
    /// the volume joins another group, and when it is deleted.
    #[test]
    fn limits_of_a_volume_alone_are_a_group_that_comes_and_goes_with_them() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        let lines =
            ["vserver create s", "volume create v -size 1GB", "qos policy-group create p -max-throughput 5IOPS"];
        let run = |administration: &mut Administration, line: &str| {
            let _ = administration.execute(line, Time::ZERO, &|_| 0).unwrap();
        };
        lines.iter().for_each(|line| run(&mut administration, line));
        let without = administration.clone();
        let limits = |max_iops| OwnLimits { max_iops: Some(max_iops), ..OwnLimits::default() };
        modify(&mut administration, limits(1000)).unwrap();
        modify(&mut administration, OwnLimits { max_bytes: Some(3_000_000), ..OwnLimits::default() }).unwrap();
        let found = shown(&mut administration);
        assert!(found.contains("v_auto_gen_policy_") && found.contains("0-1000IOPS,3MB/s"), "{found}");
        modify(&mut administration, OwnLimits { max_bytes: Some(0), ..limits(0) }).unwrap();
        assert_eq!(shown(&mut administration), shown(&mut without.clone()));
        for end in ["volume modify v -qos-policy-group p", "volume delete v"] {
            modify(&mut administration, limits(7)).unwrap();
            run(&mut administration, end);
            assert!(!shown(&mut administration).contains("auto_gen"), "{end}");
        }
    }

    /// A limit that no policy may have is refused, and leaves no group behind.
    #[test]
    fn limits_that_cannot_be_leave_nothing() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        for line in ["vserver create s", "volume create v -size 1GB"] {
            let _ = administration.execute(line, Time::ZERO, &|_| 0).unwrap();
        }
        let before = administration.clone();
        let wrong = OwnLimits { max_iops: Some(1), min_iops: Some(2), ..OwnLimits::default() };
        assert!(modify(&mut administration, wrong).unwrap_err().to_string().contains("floor"));
        assert_eq!(administration, before);
    }
}
