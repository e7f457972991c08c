//! The published noisy-neighbour set-up from the administrator's side: the edits that each line
//! leads to.

use block::{Bytes, BytesPerSecond, Iops, ObjectId, Span};
use qos::{
    Burst, Ceiling, Change, DefaultBurst, Edit, FixedChange, FixedPolicy, Floor, GroupId, Limits, NewGroup, Note,
    ObjectKind, Policy, PolicyChange, Rates, Registry, RegistrySettings, Size,
};

const MB: u64 = 1_000_000;

struct Setup {
    registry: Registry,
    svm: ObjectId,
    volumes: Vec<ObjectId>,
}

fn three_volumes(settings: RegistrySettings) -> Setup {
    let mut registry = Registry::new(settings);
    let (svm, change) = registry.add_svm("svm01").unwrap();
    assert_eq!(change.edits, [Edit::AddObject { object: svm, parent: None }]);
    let size = Size { allocated: Bytes::gib(100), used: Bytes(0) };
    let volumes = ["vol1", "vol2", "vol3"]
        .map(|name| {
            let (volume, change) = registry.add_volume(svm, name, size).unwrap();
            assert_eq!(change.edits, [Edit::AddObject { object: volume, parent: Some(svm) }]);
            let _ = registry.add_lun(svm, &format!("/vol/{name}/lun1"), size).unwrap();
            volume
        })
        .to_vec();
    Setup { registry, svm, volumes }
}

impl Setup {
    fn create(&mut self, name: &str, ceiling: Rates, shared: bool) -> Change {
        let policy = Policy::Fixed(FixedPolicy { ceiling, shared, ..FixedPolicy::default() });
        self.registry.create_group(NewGroup { name, svm: self.svm, uuid: 7, policy }).unwrap()
    }

    fn modify(&mut self, name: &str, ceiling: Rates) -> Change {
        let change = FixedChange { ceiling: Some(ceiling), ..FixedChange::default() };
        self.registry.modify_group(name, &PolicyChange::Fixed(change)).unwrap()
    }
}

fn most(iops: u64, bytes: u64) -> Limits {
    let ceiling = Ceiling { iops: Some(Iops(iops)), bytes: Some(BytesPerSecond(bytes)), burst: None };
    Limits { ceiling, floor: Floor::default() }
}

#[test]
fn the_published_lines_lead_to_these_edits() {
    let mut setup = three_volumes(RegistrySettings::default());
    let [vol1, vol2] = [setup.volumes[0], setup.volumes[1]];

    assert_eq!(setup.create("policy1", Rates::both(10_000, 300 * MB), false), Change::default());
    let attached = setup.registry.attach(vol1, Some("policy1")).unwrap();
    assert_eq!(attached.edits, [Edit::SetLimits { object: vol1, limits: most(10_000, 300 * MB) }]);
    for iops in [1000, 2000] {
        let modified = setup.modify("policy1", Rates::both(iops, 200 * MB));
        assert_eq!(modified.edits, [Edit::SetLimits { object: vol1, limits: most(iops, 200 * MB) }]);
    }
    let own = setup.registry.attach(vol2, Some("policy1")).unwrap();
    assert_eq!(own.edits, [Edit::SetLimits { object: vol2, limits: most(2000, 200 * MB) }]);

    let created = setup.create("policy1-shared", Rates::both(3000, 200 * MB), true);
    let group = setup.registry.group("policy1-shared").unwrap().id();
    assert_eq!(created.edits, [Edit::AddGroup { group, limits: most(3000, 200 * MB) }]);
    for volume in [vol1, vol2] {
        let moved = setup.registry.attach(volume, Some("policy1-shared")).unwrap();
        let join = Edit::Join { object: volume, group: Some(group) };
        assert_eq!(moved.edits, [join, Edit::SetLimits { object: volume, limits: Limits::default() }]);
        assert!(
            matches!(&moved.notes[..], [Note::Replaced { was, now, .. }] if was == "policy1" && now == "policy1-shared")
        );
    }
    let modified = setup.modify("policy1-shared", Rates::iops(4000));
    let limits = Limits { ceiling: Ceiling { iops: Some(Iops(4000)), ..Ceiling::default() }, ..Limits::default() };
    assert_eq!(modified.edits, [Edit::SetGroup { group, limits }]);

    let detached = setup.registry.attach(vol1, None).unwrap();
    assert_eq!(detached.edits, [Edit::Join { object: vol1, group: None }]);
}

#[test]
fn a_lun_is_under_the_limits_of_its_volume() {
    let mut setup = three_volumes(RegistrySettings::default());
    let _ = setup.create("policy1", Rates::both(2000, 200 * MB), false);
    let _ = setup.registry.attach(setup.volumes[0], Some("policy1")).unwrap();
    let lun = setup.registry.find_lun(setup.svm, "/vol/vol1/lun1").unwrap();
    assert_eq!(setup.registry.object(lun).map(|object| object.kind()), Some(ObjectKind::Lun));
    let in_force = setup.registry.limits_in_force(lun).unwrap();
    let (iops, level) = in_force.ceiling_iops().unwrap();
    assert_eq!((iops, level.object), (Iops(2000), setup.volumes[0]));
    let other = setup.registry.find_lun(setup.svm, "/vol/vol2/lun1").unwrap();
    assert!(setup.registry.limits_in_force(other).unwrap().levels.is_empty());
}

#[test]
fn the_default_burst_is_none_or_that_of_ontap() {
    for (default, burst) in [(DefaultBurst::None, None), (DefaultBurst::Ontap, Some(Burst::percent(50, Span::SECOND)))]
    {
        let mut setup = three_volumes(RegistrySettings { burst: default, ..RegistrySettings::default() });
        let created = setup.create("shared", Rates::iops(3000), true);
        let [Edit::AddGroup { group: GroupId(4), limits }] = created.edits[..] else { panic!("{created:?}") };
        assert_eq!(limits.ceiling.burst, burst);
    }
}
