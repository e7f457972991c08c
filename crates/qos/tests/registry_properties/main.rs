//! Random administrators. Whatever they do, a refusal changes nothing, and the state breaks no
//! rule. The edits replayed on a plain model of the scheduler's tree give the limits that the
//! registry reports, sizes are followed in time, and a restart from the catalogue restores
//! everything.

mod acts;
mod model;

use acts::{Act, act, adaptive, fixed, group_name, settings};
use model::Model;
use std::collections::BTreeMap;

use block::{Bytes, Iops, ObjectId, Span, Time};
use proptest::prelude::*;
use qos::{
    AdaptiveChange, AdaptivePolicy, Allocation, BlockSize, BurstChange, BurstKnobs, Change, Density, Edit, FixedChange,
    FixedPolicy, GroupId, GroupRecord, Limits, Nesting, NewGroup, ObjectKind, ObjectRecord, PeakMode, Policy,
    PolicyChange, Rates, Refusal, Registry, RegistrySettings, Size, Undo, Units,
};

struct World {
    registry: Registry,
    model: Model,
    now: Time,
    /// Since when the size of an object differs from what its adaptive policy was last evaluated
    /// for.
    grown: BTreeMap<ObjectId, Time>,
}

impl World {
    fn new(settings: RegistrySettings) -> World {
        World { registry: Registry::new(settings), model: Model::default(), now: Time::ZERO, grown: BTreeMap::new() }
    }

    fn pick(&self, number: usize, kind: Option<ObjectKind>) -> ObjectId {
        let fits = |id: &ObjectId| kind.is_none_or(|kind| self.registry.object(*id).unwrap().kind() == kind);
        let all: Vec<ObjectId> = self.registry.objects().map(|object| object.id()).filter(fits).collect();
        if all.is_empty() { ObjectId(0) } else { all[number % all.len()] }
    }

    fn act(&mut self, act: &Act) {
        let before = self.registry.clone();
        self.registry.begin();
        let performed = self.perform(act);
        let undo = self.registry.end();
        check_back(&before, &self.registry, undo);
        match performed {
            Ok(change) => change.edits.iter().for_each(|edit| self.model.apply(edit)),
            Err(refusal) => {
                assert!(self.registry == before, "{act:?}: refused with {refusal}, yet something changed");
                assert!(!refusal.to_string().contains('\n'));
            }
        }
        self.check();
    }

    fn perform(&mut self, act: &Act) -> Result<Change, Refusal> {
        let one = |(_, change): (ObjectId, Change)| change;
        match act {
            Act::AddSvm(name) => self.registry.add_svm(&format!("s{name}")).map(one),
            Act::AddVolume { svm, name, size } => {
                let svm = self.pick(*svm, Some(ObjectKind::Svm));
                self.registry.add_volume(svm, &format!("v{name}"), *size).map(one)
            }
            Act::AddQtree { volume, name } => {
                let volume = self.pick(*volume, Some(ObjectKind::Volume));
                self.registry.add_qtree(volume, &format!("n{name}")).map(one)
            }
            Act::AddLun { svm, volume, qtree, name, size } => {
                let svm = self.pick(*svm, Some(ObjectKind::Svm));
                let qtree = qtree.map_or(String::new(), |qtree| format!("n{qtree}/"));
                self.registry.add_lun(svm, &format!("/vol/v{volume}/{qtree}n{name}"), *size).map(one)
            }
            Act::AddFile { volume, folder, name, size } => {
                let volume = self.pick(*volume, Some(ObjectKind::Volume));
                let folder = folder.map_or(String::new(), |folder| format!("n{folder}/"));
                self.registry.add_file(volume, &format!("/{folder}n{name}"), *size).map(one)
            }
            Act::CloneVolume { volume, name } => {
                let volume = self.pick(*volume, Some(ObjectKind::Volume));
                self.registry.clone_volume(volume, &format!("v{name}")).map(one)
            }
            Act::Rename { object, name } => {
                let object = self.pick(*object, None);
                self.registry.rename(object, &format!("n{name}"))
            }
            Act::Remove { object } => {
                let object = self.pick(*object, None);
                let change = self.registry.remove_object(object)?;
                self.grown.retain(|id, _| self.registry.object(*id).is_some());
                Ok(change)
            }
            Act::Attach { .. } | Act::Template { .. } | Act::Fair { .. } | Act::Grow { .. } | Act::Wait { .. } => {
                self.perform_on_members(act)
            }
            _ => self.perform_on_groups(act),
        }
    }

    fn perform_on_groups(&mut self, act: &Act) -> Result<Change, Refusal> {
        match act {
            Act::Create { name, svm, policy } => {
                let svm = self.pick(*svm, Some(ObjectKind::Svm));
                let name = &group_name(*name);
                self.registry.create_group(NewGroup { name, svm, uuid: 9, policy: policy.clone() })
            }
            Act::ModifyFixed { name, change } => {
                self.registry.modify_group(&group_name(*name), &PolicyChange::Fixed(change.clone()))
            }
            Act::ModifyAdaptive { name, change } => {
                let name = group_name(*name);
                let change = self.registry.modify_group(&name, &PolicyChange::Adaptive(change.clone()))?;
                for member in self.registry.group(&name).unwrap().members() {
                    self.grown.remove(&member);
                }
                Ok(change)
            }
            Act::RenameGroup { name, to } => self.registry.rename_group(&group_name(*name), &group_name(*to)),
            Act::DeleteGroup { name, force } => self.registry.delete_group(&group_name(*name), *force),
            _ => unreachable!("not about groups: {act:?}"),
        }
    }

    fn perform_on_members(&mut self, act: &Act) -> Result<Change, Refusal> {
        match act {
            Act::Attach { object, group } => {
                let object = self.pick(*object, None);
                let change = self.registry.attach(object, group.map(group_name).as_deref())?;
                self.grown.remove(&object);
                Ok(change)
            }
            Act::Template { svm, group } => {
                let svm = self.pick(*svm, Some(ObjectKind::Svm));
                self.registry.set_template(svm, group.map(group_name).as_deref())
            }
            Act::Fair { object, fair } => {
                let object = object.map(|object| self.pick(object, None));
                self.registry.set_fair(object, *fair)
            }
            Act::Grow { object, size } => {
                let object = self.pick(*object, None);
                let before = self.registry.object(object).map(|object| object.size());
                self.registry.set_size(object, *size, self.now)?;
                if before != Some(*size) {
                    self.grown.entry(object).or_insert(self.now);
                }
                Ok(Change::default())
            }
            Act::Wait { seconds } => {
                self.now += Span::from_secs(*seconds);
                let interval = self.registry.settings().evaluation_interval;
                self.grown.retain(|_, since| *since + interval > self.now);
                Ok(self.registry.evaluate(self.now))
            }
            _ => unreachable!("not about members: {act:?}"),
        }
    }

    fn check(&self) {
        self.check_limits();
        self.check_rules();
        self.check_sizes();
    }

    /// The replayed edits and the registry agree on every object.
    fn check_limits(&self) {
        assert_eq!(self.model.objects.len(), self.registry.objects().len());
        for object in self.registry.objects() {
            assert_eq!(self.model.objects[&object.id()].parent, object.parent());
            let in_force = self.registry.limits_in_force(object.id()).unwrap();
            let levels: Vec<_> = in_force
                .levels
                .iter()
                .map(|level| (level.object, level.limits))
                .filter(|(_, limits)| *limits != Limits::default())
                .collect();
            assert_eq!(self.model.levels(object.id()), levels, "{}", self.registry.label(object.id()));
            let tightest = levels.iter().filter_map(|(_, limits)| limits.ceiling.iops).min();
            assert_eq!(in_force.ceiling_iops().map(|(iops, _)| iops), tightest);
        }
    }

    /// The state breaks no rule.
    fn check_rules(&self) {
        let registry = &self.registry;
        let members: usize = registry.groups().map(|group| group.members().len()).sum();
        assert_eq!(registry.workloads(), members);
        assert!(members <= registry.settings().workloads_max);
        for group in registry.groups() {
            assert!(group.policy().check("x", registry.settings()).is_ok());
            assert!(!(group.policy().shared() && group.policy().has_floor()) || group.members().len() <= 1);
            for member in group.members() {
                let object = registry.object(member).unwrap();
                assert_eq!(object.membership().map(|membership| membership.group), Some(group.id()));
                assert!(group.svm().is_none() || group.svm() == registry.svm_of(member));
                assert!(group.policy().adaptive().is_none() || object.kind().has_size());
                assert!(object.kind() != ObjectKind::Svm || !group.policy().has_floor());
                if registry.settings().nesting == Nesting::Ontap && object.kind().is_leaf() {
                    assert!(registry.path(member).skip(1).all(|above| above.membership().is_none()));
                }
            }
        }
        for object in registry.objects() {
            assert!(object.template().is_none() || object.membership().is_none());
        }
    }

    /// An adaptive policy is at most 10 IOPS behind its object, or is due within five minutes of
    /// the change in size.
    fn check_sizes(&self) {
        for object in self.registry.objects() {
            let Some(membership) = object.membership() else { continue };
            let Some(policy) = self.registry.group_of(membership.group).unwrap().policy().adaptive() else { continue };
            let wanted = policy.evaluate(object.size(), self.registry.settings().units);
            if wanted.differs(membership.evaluation) {
                let due = self.registry.next_evaluation().expect("an evaluation is due");
                let since = self.grown[&object.id()];
                assert!(due <= since + Span::from_secs(300), "{} waits too long", self.registry.label(object.id()));
            }
        }
    }
}

/// Changes can be undone, and nothing else was touched.
fn check_back(before: &Registry, after: &Registry, undo: Undo) {
    let touched = undo.touched();
    let (old, new) = (before.catalogue(), after.catalogue());
    let changed = |record: &ObjectRecord| !old.objects.contains(record) || !new.objects.contains(record);
    let mut objects = old.objects.iter().chain(&new.objects).filter(|record| changed(record));
    assert!(objects.all(|record| touched.objects.contains(&record.id)), "{touched:?}");
    let changed = |record: &GroupRecord| !old.groups.contains(record) || !new.groups.contains(record);
    let mut groups = old.groups.iter().chain(&new.groups).filter(|record| changed(record));
    assert!(groups.all(|record| touched.groups.contains(&record.id)), "{touched:?}");
    let mut back = after.clone();
    back.take_back(undo);
    assert!(back == *before, "taken back to {back:#?}, which was {before:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_administrators_do(settings in settings(), acts in prop::collection::vec(act(), 1..120)) {
        let mut world = World::new(settings.clone());
        let policies = [fixed(100, false), fixed(100, true), adaptive(1000, 2000)];
        let groups = (3..).zip(policies).map(|(name, policy)| Act::Create { name, svm: 0, policy });
        let volumes = (0..3).map(|name| Act::AddVolume { svm: 0, name, size: Size::default() });
        for act in [Act::AddSvm(0)].into_iter().chain(volumes).chain(groups).chain(acts) {
            world.act(&act);
        }

        // Once all evaluations are done nothing lags behind its size.
        while let Some(due) = world.registry.next_evaluation() {
            world.now = world.now.max(due);
            let change = world.registry.evaluate(world.now);
            change.edits.iter().for_each(|edit| world.model.apply(edit));
        }
        world.grown.clear();
        world.check();

        // A restart brings the same objects, groups and members back under the same numbers, with
        // limits as evaluated afresh.
        let catalogue = world.registry.catalogue();
        let (registry, change) = Registry::restore(settings, &catalogue).unwrap();
        prop_assert_eq!(&registry.catalogue(), &catalogue);
        let mut restored = World { registry, model: Model::default(), now: Time::ZERO, grown: BTreeMap::new() };
        change.edits.iter().for_each(|edit| restored.model.apply(edit));
        restored.check();
        prop_assert_eq!(restored.model.fair, world.model.fair);
        for object in restored.registry.objects() {
            let (id, before) = (object.id(), world.registry.object(object.id()).unwrap());
            prop_assert_eq!(restored.model.objects[&id].fair, world.model.objects[&id].fair);
            prop_assert_eq!((object.name(), object.template()), (before.name(), before.template()));
            let (now, then) = (object.membership(), before.membership());
            prop_assert_eq!(now.map(|m| m.group), then.map(|m| m.group));
            prop_assert!(now.zip(then).is_none_or(|(now, then)| !now.evaluation.differs(then.evaluation)));
        }
    }
}
