//! Random administrators: whatever they do, a refusal changes nothing, no rule is broken in what stands, the edits
//! replayed on a plain model of the scheduler's tree give the limits that the registry reports, sizes are followed in
//! time, and a restart from the catalogue brings everything back.

use std::collections::BTreeMap;

use block::{Bytes, Iops, ObjectId, Span, Time};
use proptest::prelude::*;
use qos::{
    AdaptiveChange, AdaptivePolicy, Allocation, BlockSize, BurstChange, BurstKnobs, Change, Density, Edit, FixedChange,
    FixedPolicy, GroupId, GroupRecord, Limits, Nesting, NewGroup, ObjectKind, ObjectRecord, PeakMode, Policy,
    PolicyChange, Rates, Refusal, Registry, RegistrySettings, Size, Undo, Units,
};

/// The scheduler's tree as plain maps; it holds each edit to what the scheduler demands.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    objects: BTreeMap<ObjectId, Node>,
    groups: BTreeMap<GroupId, Limits>,
    fair: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Node {
    parent: Option<ObjectId>,
    limits: Limits,
    group: Option<GroupId>,
    fair: bool,
}

impl Model {
    fn apply(&mut self, edit: &Edit) {
        match *edit {
            Edit::AddObject { object, parent } => {
                assert!(parent.is_none_or(|parent| self.objects.contains_key(&parent)), "{edit:?}");
                let node = Node { parent, ..Node::default() };
                assert!(self.objects.insert(object, node).is_none(), "{edit:?}");
            }
            Edit::RemoveObject { object } => {
                assert!(self.objects.values().all(|node| node.parent != Some(object)), "{edit:?} has children");
                assert!(self.objects.remove(&object).is_some_and(|node| node.group.is_none()), "{edit:?}");
            }
            Edit::SetLimits { object, limits } => {
                assert_sane(&limits);
                assert_ne!(self.node(object).limits, limits, "an edit that changes nothing");
                self.node(object).limits = limits;
            }
            Edit::AddGroup { group, limits } => {
                assert_sane(&limits);
                assert!(self.groups.insert(group, limits).is_none(), "{edit:?}");
            }
            Edit::SetGroup { group, limits } => {
                assert_sane(&limits);
                assert!(self.groups.insert(group, limits).is_some(), "{edit:?}");
            }
            Edit::RemoveGroup { group } => {
                assert!(self.objects.values().all(|node| node.group != Some(group)), "{edit:?} has members");
                assert!(self.groups.remove(&group).is_some(), "{edit:?}");
            }
            Edit::Join { object, group } => {
                assert!(group.is_none_or(|group| self.groups.contains_key(&group)), "{edit:?}");
                self.node(object).group = group;
            }
            Edit::SetFair { object: Some(object), fair } => self.node(object).fair = fair,
            Edit::SetFair { object: None, fair } => self.fair = fair,
        }
    }

    fn node(&mut self, object: ObjectId) -> &mut Node {
        self.objects.get_mut(&object).unwrap_or_else(|| panic!("no {object:?}"))
    }

    /// What holds at each limited level on an object's way up: floor and ceiling of its own, or the shared ceiling.
    fn levels(&self, object: ObjectId) -> Vec<(ObjectId, Limits)> {
        let mut levels = Vec::new();
        let mut at = Some(object);
        while let Some(id) = at {
            let node = &self.objects[&id];
            let mut limits = node.limits;
            if let Some(group) = node.group {
                assert_eq!(limits.ceiling, Default::default(), "a member has no ceiling beside the shared one");
                limits.ceiling = self.groups[&group].ceiling;
            }
            if limits != Limits::default() {
                levels.push((id, limits));
            }
            at = node.parent;
        }
        levels
    }
}

/// What the scheduler's edits promise: rates of 1 to 2^42, a floor not above its ceiling's, a burst that is one.
fn assert_sane(limits: &Limits) {
    let Limits { ceiling, floor } = limits;
    let rates = [
        ceiling.iops.map(|rate| rate.0),
        ceiling.bytes.map(|rate| rate.0),
        floor.iops.map(|rate| rate.0),
        floor.bytes.map(|rate| rate.0),
    ];
    assert!(rates.into_iter().flatten().all(|rate| (1..=1 << 42).contains(&rate)), "{limits:?}");
    assert!(ceiling.iops.zip(floor.iops).is_none_or(|(most, least)| least <= most), "{limits:?}");
    assert!(ceiling.bytes.zip(floor.bytes).is_none_or(|(most, least)| least <= most), "{limits:?}");
    assert!(ceiling.burst.is_none_or(|burst| burst.ppm > 0 && burst.duration > Span::ZERO), "{limits:?}");
}

/// One thing an administrator, or a filling disk, does. Numbers pick among what exists at the time.
#[derive(Clone, Debug)]
enum Act {
    AddSvm(u8),
    AddVolume { svm: usize, name: u8, size: Size },
    AddQtree { volume: usize, name: u8 },
    AddLun { svm: usize, volume: u8, qtree: Option<u8>, name: u8, size: Size },
    AddFile { volume: usize, folder: Option<u8>, name: u8, size: Size },
    CloneVolume { volume: usize, name: u8 },
    Rename { object: usize, name: u8 },
    Remove { object: usize },
    Create { name: u8, svm: usize, policy: Policy },
    ModifyFixed { name: u8, change: FixedChange },
    ModifyAdaptive { name: u8, change: AdaptiveChange },
    RenameGroup { name: u8, to: u8 },
    DeleteGroup { name: u8, force: bool },
    Attach { object: usize, group: Option<u8> },
    Template { svm: usize, group: Option<u8> },
    Fair { object: Option<usize>, fair: bool },
    Grow { object: usize, size: Size },
    Wait { seconds: u64 },
}

fn group_name(number: u8) -> String {
    ["extreme", "performance", "value", "g3", "g4", "g5", "g6", "g7", "-bad"][usize::from(number)].into()
}

struct World {
    registry: Registry,
    model: Model,
    now: Time,
    /// Since when the size of an object differs from what its adaptive policy was last evaluated for.
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

    /// No rule is broken in what stands.
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

    /// An adaptive policy is at most 10 IOPS behind its object, or is due within five minutes of the change in size.
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

/// What was changed can be taken back, and nothing else was touched.
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

fn size() -> impl Strategy<Value = Size> {
    let bytes = prop_oneof![Just(0), 0..20_000_000_000_000u64, Just(u64::MAX)];
    (bytes.clone(), bytes).prop_map(|(allocated, used)| Size { allocated: Bytes(allocated), used: Bytes(used) })
}

fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(0), 8 => 1..1000u64, 1 => Just(2_147_483_647), 1 => Just(u64::MAX)]
}

fn rates() -> impl Strategy<Value = Rates> {
    prop_oneof![
        rate().prop_map(Rates::iops),
        rate().prop_map(Rates::bytes),
        (rate(), rate()).prop_map(|(iops, bytes)| Rates::both(iops, bytes))
    ]
}

fn burst() -> impl Strategy<Value = BurstChange> {
    let percent = prop::option::weighted(0.2, prop_oneof![Just(0), 0..200u32, Just(u32::MAX)]);
    let duration = prop::option::weighted(0.2, prop_oneof![Just(0), 0..20u64, Just(u64::MAX)]);
    let iops = prop::option::weighted(0.2, rate());
    (percent, duration, iops).prop_map(|(percent, duration, iops)| BurstChange {
        percent,
        duration: duration.map(Span::from_secs),
        iops: iops.map(Iops),
    })
}

fn fixed_policy() -> impl Strategy<Value = Policy> {
    let floor = prop_oneof![3 => Just(Rates::default()), 1 => rates()];
    (rates(), floor, any::<bool>(), burst()).prop_map(|(ceiling, floor, shared, burst)| {
        let BurstChange { percent, duration, iops } = burst;
        Policy::Fixed(FixedPolicy { ceiling, floor, shared, burst: BurstKnobs { percent, duration, iops } })
    })
}

fn density() -> impl Strategy<Value = Density> {
    prop_oneof![8 => (1..50_000u64).prop_map(Density::per_tb), 2 => (0..50u64).prop_map(Density::per_gb)]
}

fn allocation() -> impl Strategy<Value = Allocation> {
    prop_oneof![Just(Allocation::Allocated), Just(Allocation::Used)]
}

fn block_size() -> impl Strategy<Value = BlockSize> {
    prop_oneof![Just(BlockSize::Any), Just(BlockSize::K4), Just(BlockSize::K128)]
}

fn peak_mode() -> impl Strategy<Value = PeakMode> {
    prop_oneof![Just(PeakMode::Ceiling), Just(PeakMode::Credits)]
}

fn adaptive_policy() -> impl Strategy<Value = Policy> {
    (density(), density(), allocation(), prop::option::of(block_size()), prop::option::of(peak_mode())).prop_map(
        |(expected, peak, expected_allocation, block_size, peak_mode)| {
            Policy::Adaptive(AdaptivePolicy {
                expected_allocation,
                block_size: block_size.unwrap_or_default(),
                peak_mode,
                ..AdaptivePolicy::new(expected, peak)
            })
        },
    )
}

fn fixed_change() -> impl Strategy<Value = FixedChange> {
    (
        prop::option::of(rates()),
        prop::option::weighted(0.3, rates()),
        prop::option::weighted(0.2, any::<bool>()),
        burst(),
    )
        .prop_map(|(ceiling, floor, shared, burst)| FixedChange { ceiling, floor, shared, burst })
}

fn adaptive_change() -> impl Strategy<Value = AdaptiveChange> {
    let minimum = prop::option::of(rate().prop_map(Iops));
    (prop::option::of(density()), prop::option::of(density()), prop::option::of(allocation()), minimum, burst())
        .prop_map(|(expected, peak, peak_allocation, absolute_min, burst)| AdaptiveChange {
            expected,
            peak,
            peak_allocation,
            absolute_min,
            burst,
            ..AdaptiveChange::default()
        })
}

fn act() -> impl Strategy<Value = Act> {
    let (name, which, group) = (|| 0..4u8, || 0..64usize, || 0..9u8);
    let user_group = || 3..8u8;
    prop_oneof![
        1 => name().prop_map(Act::AddSvm),
        4 => (which(), name(), size()).prop_map(|(svm, name, size)| Act::AddVolume { svm, name, size }),
        3 => (which(), name()).prop_map(|(volume, name)| Act::AddQtree { volume, name }),
        4 => (which(), name(), prop::option::of(name()), name(), size())
            .prop_map(|(svm, volume, qtree, name, size)| Act::AddLun { svm, volume, qtree, name, size }),
        3 => (which(), prop::option::of(name()), name(), size())
            .prop_map(|(volume, folder, name, size)| Act::AddFile { volume, folder, name, size }),
        1 => (which(), name()).prop_map(|(volume, name)| Act::CloneVolume { volume, name }),
        1 => (which(), name()).prop_map(|(object, name)| Act::Rename { object, name }),
        1 => which().prop_map(|object| Act::Remove { object }),
        4 => (group(), which(), prop_oneof![3 => fixed_policy(), 2 => adaptive_policy()])
            .prop_map(|(name, svm, policy)| Act::Create { name, svm, policy }),
        3 => (user_group(), fixed_change()).prop_map(|(name, change)| Act::ModifyFixed { name, change }),
        3 => (user_group(), adaptive_change()).prop_map(|(name, change)| Act::ModifyAdaptive { name, change }),
        1 => (group(), group()).prop_map(|(name, to)| Act::RenameGroup { name, to }),
        1 => (group(), any::<bool>()).prop_map(|(name, force)| Act::DeleteGroup { name, force }),
        12 => (which(), prop::option::weighted(0.9, prop_oneof![group(), 3..6u8])).prop_map(|(object, group)| Act::Attach { object, group }),
        1 => (which(), prop::option::of(group())).prop_map(|(svm, group)| Act::Template { svm, group }),
        1 => (prop::option::of(which()), any::<bool>()).prop_map(|(object, fair)| Act::Fair { object, fair }),
        6 => (which(), size()).prop_map(|(object, size)| Act::Grow { object, size }),
        4 => (0..400u64).prop_map(|seconds| Act::Wait { seconds }),
    ]
}

fn fixed(iops: u64, shared: bool) -> Policy {
    Policy::Fixed(FixedPolicy { ceiling: Rates::iops(iops), shared, ..FixedPolicy::default() })
}

fn adaptive(expected: u64, peak: u64) -> Policy {
    Policy::Adaptive(AdaptivePolicy::new(Density::per_tb(expected), Density::per_tb(peak)))
}

fn settings() -> impl Strategy<Value = RegistrySettings> {
    (any::<bool>(), any::<bool>(), any::<bool>(), peak_mode(), prop_oneof![Just(3usize), Just(40_000)]).prop_map(
        |(free, binary, burst, peak, workloads_max)| RegistrySettings {
            nesting: if free { Nesting::Free } else { Nesting::Ontap },
            units: if binary { Units::Binary } else { Units::Decimal },
            burst: if burst { qos::DefaultBurst::Ontap } else { qos::DefaultBurst::None },
            peak,
            workloads_max,
            groups_max: 6,
            ..RegistrySettings::default()
        },
    )
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

        // A restart brings the same objects, groups and members back under the same numbers, with limits as evaluated
        // afresh.
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
