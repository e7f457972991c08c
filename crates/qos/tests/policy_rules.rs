//! Every rule, broken once: the code, the line that an administrator reads, and that nothing changed.

use block::{Bytes, Iops, ObjectId, Span};
use qos::{
    AdaptiveChange, AdaptivePolicy, BlockSize, BurstChange, BurstKnobs, Catalogue, Change, Density, Edit, FixedChange,
    FixedPolicy, Nesting, NewGroup, Note, ObjectKind, PeakMode, Policy, PolicyChange, Rates, Refusal, Registry,
    RegistrySettings, Rule, Size,
};

/// Two SVMs: `a` with volume `v` holding LUN `l`, qtree `q` with LUN `m`, and file `d/f`; `b` with volume `w`.
struct World {
    registry: Registry,
    a: ObjectId,
    v: ObjectId,
    q: ObjectId,
    l: ObjectId,
    m: ObjectId,
    f: ObjectId,
    w: ObjectId,
}

fn world() -> World {
    world_with(RegistrySettings::default())
}

fn world_with(settings: RegistrySettings) -> World {
    let mut registry = Registry::new(settings);
    let size = Size { allocated: Bytes(1_000_000_000_000), used: Bytes(0) };
    let a = registry.add_svm("a").unwrap().0;
    let v = registry.add_volume(a, "v", size).unwrap().0;
    let q = registry.add_qtree(v, "q").unwrap().0;
    let l = registry.add_lun(a, "/vol/v/l", size).unwrap().0;
    let m = registry.add_lun(a, "/vol/v/q/m", size).unwrap().0;
    let f = registry.add_file(v, "/d/f", size).unwrap().0;
    let b = registry.add_svm("b").unwrap().0;
    let w = registry.add_volume(b, "w", size).unwrap().0;
    World { registry, a, v, q, l, m, f, w }
}

fn fixed(ceiling: u64, floor: u64, shared: bool) -> Policy {
    let rates = Rates::iops;
    Policy::Fixed(FixedPolicy { ceiling: rates(ceiling), floor: rates(floor), shared, ..FixedPolicy::default() })
}

fn adaptive(expected: u64, peak: u64) -> Policy {
    Policy::Adaptive(AdaptivePolicy::new(Density::per_tb(expected), Density::per_tb(peak)))
}

impl World {
    fn create(&mut self, name: &str, policy: Policy) -> Result<Change, Refusal> {
        self.registry.create_group(NewGroup { name, svm: self.a, uuid: 1, policy })
    }

    fn with(mut self, name: &str, policy: Policy) -> World {
        let _ = self.create(name, policy).unwrap();
        self
    }

    fn attached(mut self, object: ObjectId, group: &str) -> World {
        let _ = self.registry.attach(object, Some(group)).unwrap();
        self
    }

    /// Runs `act`, which must be refused with this rule and line and change nothing.
    fn refuses<T: std::fmt::Debug>(
        &mut self,
        rule: Rule,
        line: &str,
        act: impl FnOnce(&mut Registry) -> Result<T, Refusal>,
    ) {
        let before = self.registry.clone();
        let refusal = act(&mut self.registry).expect_err(line);
        assert_eq!((refusal.rule, refusal.to_string().as_str()), (rule, line));
        assert!(self.registry == before, "{line}: something changed");
    }
}

fn fixed_change(change: FixedChange) -> PolicyChange {
    PolicyChange::Fixed(change)
}

#[test]
fn names_are_unique_over_both_kinds_and_all_svms() {
    let mut w = world().with("fix", fixed(10, 0, false)).with("ada", adaptive(1, 2));
    let (a, other) = (w.a, w.registry.svm_of(w.w).unwrap());
    let new = |name, svm, policy| NewGroup { name, svm, uuid: 2, policy };
    w.refuses(
        Rule::FixedTaken,
        "policy group fix: a fixed policy group of this name exists: choose another; got fix",
        |r| r.create_group(new("fix", other, fixed(1, 0, true))),
    );
    w.refuses(Rule::NameOfFixed, "policy group fix: a fixed policy group has the name: choose another; got fix", |r| {
        r.create_group(new("fix", a, adaptive(1, 2)))
    });
    w.refuses(
        Rule::NameOfAdaptive,
        "policy group value: an adaptive policy group has the name: choose another; got value",
        |r| r.create_group(new("value", a, fixed(1, 0, true))),
    );
    w.refuses(
        Rule::AdaptiveTaken,
        "policy group ada: an adaptive policy group of this name exists: choose another; got ada",
        |r| r.create_group(new("ada", a, adaptive(1, 2))),
    );
    w.refuses(Rule::NameTaken, "policy group fix: another policy group has the name: choose another; got ada", |r| {
        r.rename_group("fix", "ada")
    });
    w.refuses(
        Rule::GroupName,
        "policy group: a policy group's name has 1 to 127 letters, digits, '_' or '-', the first a letter or digit; \
         got \"-x\"",
        |r| r.rename_group("fix", "-x"),
    );
    assert_eq!(w.registry.rename_group("fix", "fix"), Ok(Change::default()));
    assert_eq!(w.registry.rename_group("fix", "fix2"), Ok(Change::default()));
    assert!(w.registry.group("fix").is_none() && w.registry.group("fix2").is_some());
}

#[test]
fn contradictory_policies_are_refused() {
    let mut w = world();
    let a = w.a;
    let create = |policy| move |r: &mut Registry| r.create_group(NewGroup { name: "g", svm: a, uuid: 1, policy });
    w.refuses(
        Rule::FloorAboveCeiling,
        "policy group g: a floor must not exceed the ceiling: lower the floor or raise the ceiling; \
         got floor 200 IOPS over ceiling 100 IOPS",
        create(fixed(100, 200, false)),
    );
    let bytes = |ceiling, floor| {
        let (ceiling, floor) = (Rates::bytes(ceiling), Rates::bytes(floor));
        Policy::Fixed(FixedPolicy { ceiling, floor, ..FixedPolicy::default() })
    };
    w.refuses(
        Rule::FloorAboveCeiling,
        "policy group g: a floor must not exceed the ceiling: lower the floor or raise the ceiling; \
         got floor 2 bytes/s over ceiling 1 bytes/s",
        create(bytes(1, 2)),
    );
    w.refuses(
        Rule::RateRange,
        "policy group g: a limit is at most 2147483647 IOPS and 4398046511104 bytes/s; got a ceiling of 2147483648 IOPS",
        create(fixed(1 << 31, 0, false)),
    );
    w.refuses(
        Rule::RateRange,
        "policy group g: a limit is at most 2147483647 IOPS and 4398046511104 bytes/s; got a ceiling of 4398046511105 bytes/s",
        create(bytes((1 << 42) + 1, 0)),
    );
    w.refuses(
        Rule::AdaptiveZero,
        "policy group g: the rates of an adaptive policy must not be zero; got expected IOPS 0",
        create(adaptive(0, 2)),
    );
    w.refuses(
        Rule::ExpectedAbovePeak,
        "policy group g: the expected rate must not exceed the peak rate; got expected 3 IOPS/TB over peak 2 IOPS/TB",
        create(adaptive(3, 2)),
    );
    let minimum =
        AdaptivePolicy { absolute_min: Some(Iops(0)), ..AdaptivePolicy::new(Density::per_tb(1), Density::per_tb(2)) };
    w.refuses(
        Rule::AdaptiveZero,
        "policy group g: the rates of an adaptive policy must not be zero; got absolute minimum IOPS 0",
        create(Policy::Adaptive(minimum)),
    );
    // 1 per GB is 1000 per TB.
    let mixed = AdaptivePolicy::new(Density::per_gb(1), Density::per_tb(999));
    w.refuses(
        Rule::ExpectedAbovePeak,
        "policy group g: the expected rate must not exceed the peak rate; \
         got expected 1000 IOPS/TB over peak 999 IOPS/TB",
        create(Policy::Adaptive(mixed)),
    );
}

#[test]
fn contradictory_bursts_are_refused() {
    let mut w = world().with("g", fixed(100, 0, false)).with("ada", adaptive(1, 2));
    let burst = |percent: Option<u32>, duration: Option<u64>, iops: Option<u64>| BurstChange {
        percent,
        duration: duration.map(Span::from_secs),
        iops: iops.map(Iops),
    };
    let set = |burst| fixed_change(FixedChange { burst, ..FixedChange::default() });
    w.refuses(
        Rule::BurstExclusive,
        "policy group g: a burst is given in percent or in IOPS, not both: set one of them to 0; \
         got burst 25 percent 200 IOPS for 5.00 s",
        |r| r.modify_group("g", &set(burst(Some(25), Some(5), Some(200)))),
    );
    w.refuses(
        Rule::BurstRange,
        "policy group g: a burst is at most 1000000 percent or 2147483647 IOPS, for at most 3600 s; got burst 1000001 percent",
        |r| r.modify_group("g", &set(burst(Some(1_000_001), None, None))),
    );
    w.refuses(
        Rule::BurstRange,
        "policy group g: a burst is at most 1000000 percent or 2147483647 IOPS, for at most 3600 s; got burst for 3601 s",
        |r| r.modify_group("g", &set(burst(None, Some(3601), None))),
    );
    let no_iops = FixedPolicy {
        ceiling: Rates::bytes(1000),
        burst: BurstKnobs { iops: Some(Iops(5)), ..BurstKnobs::default() },
        ..FixedPolicy::default()
    };
    let svm = w.a;
    w.refuses(
        Rule::BurstNeedsIops,
        "policy group h: a burst in IOPS needs a ceiling in IOPS: give one, or the burst in percent; got burst 5 IOPS",
        |r| r.create_group(NewGroup { name: "h", svm, uuid: 1, policy: Policy::Fixed(no_iops) }),
    );
    let credits = AdaptiveChange {
        peak_mode: Some(PeakMode::Credits),
        burst: burst(Some(10), None, None),
        ..AdaptiveChange::default()
    };
    w.refuses(
        Rule::BurstWithCredits,
        "policy group ada: where the peak is reached on credits, only the burst's duration can be set; \
         got burst 10 percent",
        |r| r.modify_group("ada", &PolicyChange::Adaptive(credits)),
    );
    // Zeroes take one of the two away again, and all three everything.
    let _ = w.registry.modify_group("g", &set(burst(Some(25), Some(5), None))).unwrap();
    let _ = w.registry.modify_group("g", &set(burst(Some(0), None, Some(200)))).unwrap();
    let knobs = |w: &World| match w.registry.group("g").unwrap().policy() {
        Policy::Fixed(policy) => policy.burst,
        Policy::Adaptive(_) => unreachable!("g is fixed"),
    };
    let five = Some(Span::from_secs(5));
    assert_eq!(knobs(&w), BurstKnobs { percent: None, duration: five, iops: Some(Iops(200)) });
    let _ = w.registry.modify_group("g", &set(burst(Some(0), Some(0), Some(0)))).unwrap();
    assert_eq!(knobs(&w), BurstKnobs::default());
}

#[test]
fn kind_and_sharedness_are_for_life() {
    let mut w = world().with("fix", fixed(10, 0, false)).with("ada", adaptive(1, 2));
    let adaptive_change = PolicyChange::Adaptive(AdaptiveChange::default());
    w.refuses(
        Rule::FixedToAdaptive,
        "policy group fix: a fixed policy group cannot become adaptive: make a new group; got adaptive settings",
        |r| r.modify_group("fix", &adaptive_change),
    );
    w.refuses(
        Rule::AdaptiveToFixed,
        "policy group ada: an adaptive policy group cannot become fixed: make a new group; got fixed settings",
        |r| r.modify_group("ada", &fixed_change(FixedChange::default())),
    );
    let share = |shared| fixed_change(FixedChange { shared: Some(shared), ..FixedChange::default() });
    w.refuses(
        Rule::SharedImmutable,
        "policy group fix: whether a policy group is shared cannot be changed: make a new group; got shared",
        |r| r.modify_group("fix", &share(true)),
    );
    assert_eq!(w.registry.modify_group("fix", &share(false)), Ok(Change::default()));
}

#[test]
fn built_in_groups_cannot_be_changed() {
    let mut w = world();
    let line = |given: &str| {
        format!("policy group value: built-in policy groups cannot be changed: make one of your own; got {given}")
    };
    let mut change = AdaptiveChange::default();
    w.refuses(Rule::Preset, &line("a change of nothing"), |r| {
        r.modify_group("value", &PolicyChange::Adaptive(change.clone()))
    });
    (change.expected, change.peak) = (Some(Density::per_tb(200)), Some(Density::per_gb(3)));
    (change.peak_mode, change.block_size) = (Some(PeakMode::Credits), Some(BlockSize::K8));
    let given = "expected 200 IOPS/TB, peak 3 IOPS/GB, a block size of 8 KiB, the peak on credits";
    w.refuses(Rule::Preset, &line(given), |r| r.modify_group("value", &PolicyChange::Adaptive(change.clone())));
    let fixed =
        FixedChange { ceiling: Some(Rates::both(10, 4096)), floor: Some(Rates::default()), ..FixedChange::default() };
    w.refuses(Rule::Preset, &line("a ceiling of 10 IOPS and 4096 bytes/s, a floor of none"), |r| {
        r.modify_group("value", &fixed_change(fixed))
    });
    w.refuses(Rule::Preset, &line("the new name mine"), |r| r.rename_group("value", "mine"));
    w.refuses(Rule::Preset, &line("its deletion"), |r| r.delete_group("value", true));
    let (v, w2) = (w.v, w.w);
    w.attached(v, "value").attached(w2, "value"); // but they fit every SVM
}

#[test]
fn a_shared_floor_is_for_one() {
    let mut w = world().with("g", fixed(100, 50, true)).with("h", fixed(100, 0, true));
    let (v, q) = (w.v, w.q);
    w = w.attached(v, "g");
    w.refuses(
        Rule::SharedFloor,
        "qtree a:/vol/v/q: a shared policy group with a floor has one member at most: make the group non-shared; \
         got a second member for policy group g",
        |r| r.attach(q, Some("g")),
    );
    assert_eq!(w.registry.attach(v, Some("g")), Ok(Change::default()), "the first may stay");
    w = w.attached(v, "h").attached(q, "h");
    let floor = fixed_change(FixedChange { floor: Some(Rates::iops(1)), ..FixedChange::default() });
    w.refuses(
        Rule::SharedFloor,
        "policy group h: a shared policy group with a floor has one member at most: make the group non-shared; \
         got a floor for 2 members",
        |r| r.modify_group("h", &floor),
    );
}

#[test]
fn some_objects_take_no_floor_and_no_adaptive_policy() {
    let mut w = world().with("floor", fixed(100, 50, false)).with("top", fixed(100, 0, false));
    let (a, q) = (w.a, w.q);
    w.refuses(
        Rule::FloorOnSvm,
        "SVM a: an SVM cannot have a floor: attach the group to its volumes; got policy group floor with a floor of \
         50 IOPS",
        |r| r.attach(a, Some("floor")),
    );
    for object in [a, q] {
        let line = format!(
            "{}: an adaptive policy group fits volumes, LUNs and files only; got policy group value",
            w.registry.label(object)
        );
        w.refuses(Rule::AdaptiveKind, &line, |r| r.attach(object, Some("value")));
    }
    w = w.attached(a, "top").attached(q, "floor");
    let floor = fixed_change(FixedChange { floor: Some(Rates::iops(1)), ..FixedChange::default() });
    w.refuses(
        Rule::FloorOnSvm,
        "SVM a: an SVM cannot have a floor: attach the group to its volumes; got policy group top with a floor of \
         1 IOPS",
        |r| r.modify_group("top", &floor),
    );
}

#[test]
fn object_and_group_are_of_one_svm() {
    let mut w = world().with("g", fixed(100, 0, false)).with("ada", adaptive(1, 2));
    let (other, svm) = (w.w, w.registry.svm_of(w.w).unwrap());
    w.refuses(
        Rule::OtherSvm,
        "volume b:w: an object and its policy group must be in the same SVM; got policy group g",
        |r| r.attach(other, Some("g")),
    );
    w.refuses(
        Rule::OtherSvm,
        "SVM b: an object and its policy group must be in the same SVM; got policy group ada",
        |r| r.set_template(svm, Some("ada")),
    );
}

/// As ONTAP: what holds a LUN or file under a policy has none, the other way round too; the upper levels may be nested.
#[test]
fn a_lun_or_file_and_what_holds_it_are_not_both_in_groups() {
    for leaf in [|w: &World| w.m, |w: &World| w.l, |w: &World| w.f] {
        let mut w = world().with("g", fixed(100, 0, false));
        let leaf = leaf(&w);
        let holders: Vec<ObjectId> = w.registry.path(leaf).skip(1).map(|object| object.id()).collect();
        let rule = "a LUN or file and what contains it cannot both be in policy groups: detach one, or set nesting to \
                    free";
        let leaf_label = w.registry.label(leaf);
        for holder in holders {
            let label = w.registry.label(holder);
            w = w.attached(holder, "g");
            w.refuses(Rule::Nested, &format!("{leaf_label}: {rule}; got {label} in policy group g"), |r| {
                r.attach(leaf, Some("g"))
            });
            let _ = w.registry.attach(holder, None).unwrap();
            w = w.attached(leaf, "g");
            w.refuses(Rule::Nested, &format!("{label}: {rule}; got {leaf_label} in policy group g"), |r| {
                r.attach(holder, Some("g"))
            });
            let _ = w.registry.attach(leaf, None).unwrap();
        }
    }
    let w = world().with("g", fixed(100, 0, false));
    let (a, v, q) = (w.a, w.v, w.q);
    w.attached(q, "g").attached(a, "g").attached(v, "g");
}

#[test]
fn with_free_nesting_every_level_may_carry_one() {
    let settings = RegistrySettings { nesting: Nesting::Free, ..RegistrySettings::default() };
    let mut w = world_with(settings);
    for (number, object) in [w.a, w.v, w.q, w.m].into_iter().enumerate() {
        let name = format!("g{number}");
        w = w.with(&name, fixed(100 - number as u64, 0, false)).attached(object, &name);
    }
    let in_force = w.registry.limits_in_force(w.m).unwrap();
    assert_eq!(in_force.levels.len(), 4);
    // The tightest binds: 97 on the LUN itself. After it is detached, 98 on the qtree.
    assert_eq!(in_force.ceiling_iops().map(|(iops, level)| (iops, level.object)), Some((Iops(97), w.m)));
    let _ = w.registry.attach(w.m, None).unwrap();
    let in_force = w.registry.limits_in_force(w.m).unwrap();
    assert_eq!(in_force.ceiling_iops().map(|(iops, level)| (iops, level.object)), Some((Iops(98), w.q)));
}

#[test]
fn a_floor_above_a_ceiling_further_up_is_pointed_out() {
    let mut w = world().with("low", fixed(100, 0, false)).with("floor", fixed(0, 200, false));
    let (v, q) = (w.v, w.q);
    w = w.attached(q, "floor");
    let in_force = |w: &World| w.registry.limits_in_force(q).unwrap();
    assert_eq!(in_force(&w).floor(q).iops, Some(Iops(200)));
    assert_eq!(in_force(&w).floor_blocked_by(q), None);
    w = w.attached(v, "low");
    assert_eq!(in_force(&w).floor_blocked_by(q).map(|level| level.object), Some(v));
}

#[test]
fn limits_on_numbers_are_settings() {
    let settings = RegistrySettings { groups_max: 1, workloads_max: 1, ..RegistrySettings::default() };
    let mut w = world_with(settings).with("g", fixed(100, 0, false));
    let (a, v, q) = (w.a, w.v, w.q);
    w.refuses(
        Rule::GroupsMax,
        "policy group h: the number of policy groups is at its limit: delete one or raise the limit in the settings; \
         got 2 with a limit of 1",
        |r| r.create_group(NewGroup { name: "h", svm: a, uuid: 1, policy: fixed(1, 0, true) }),
    );
    w = w.attached(v, "g").attached(v, "value"); // from one group to another is still one workload
    w.refuses(
        Rule::WorkloadsMax,
        "qtree a:/vol/v/q: the number of workloads (objects in a policy group) is at its limit: detach one or raise \
         the limit in the settings; got 2 with a limit of 1",
        |r| r.attach(q, Some("g")),
    );
    let _ = w.registry.set_template(a, Some("value")).unwrap();
    w.refuses(
        Rule::WorkloadsMax,
        "volume x: the number of workloads (objects in a policy group) is at its limit: detach one or raise the limit \
         in the settings; got 2 with a limit of 1",
        |r| r.add_volume(a, "x", Size::default()),
    );
    assert_eq!(w.registry.workloads(), 1);
}

#[test]
fn templates_are_adaptive_and_exclude_a_policy_of_the_svm() {
    let mut w = world().with("g", fixed(100, 0, false));
    let (a, v) = (w.a, w.v);
    w.refuses(
        Rule::TemplateKind,
        "SVM a: an SVM's template is an adaptive policy group; got fixed policy group g",
        |r| r.set_template(a, Some("g")),
    );
    w.refuses(Rule::WrongKind, "volume a:v: the operation does not fit this kind of object; got a template", |r| {
        r.set_template(v, Some("value"))
    });
    let _ = w.registry.set_template(a, Some("value")).unwrap();
    let line = "SVM a: an SVM has a template or is in a policy group, not both: take one away; got";
    w.refuses(Rule::TemplateAndPolicy, &format!("{line} template value"), |r| r.attach(a, Some("g")));
    let _ = w.registry.set_template(a, None).unwrap();
    w = w.attached(a, "g");
    w.refuses(Rule::TemplateAndPolicy, &format!("{line} policy group g"), |r| r.set_template(a, Some("value")));
}

#[test]
fn a_group_in_use_is_deleted_only_by_force() {
    let mut w = world().with("g", fixed(100, 0, true)).with("ada", adaptive(1, 2));
    let (a, v, q) = (w.a, w.v, w.q);
    w = w.attached(v, "g").attached(q, "g");
    w.refuses(
        Rule::GroupInUse,
        "policy group g: a policy group in use cannot be deleted: detach its members or force it; \
         got volume a:v and 1 more",
        |r| r.delete_group("g", false),
    );
    let change = w.registry.delete_group("g", true).unwrap();
    assert_eq!(change.edits.len(), 3, "two members leave and the budget goes: {change:?}");
    let labels: Vec<String> = change.notes.iter().map(Note::to_string).collect();
    assert_eq!(
        labels,
        ["volume a:v left policy group g, which is deleted", "qtree a:/vol/v/q left policy group g, which is deleted"]
    );
    assert_eq!((w.registry.workloads(), w.registry.group("g")), (0, None));

    let _ = w.registry.set_template(a, Some("ada")).unwrap();
    w.refuses(
        Rule::GroupInUse,
        "policy group ada: a policy group in use cannot be deleted: detach its members or force it; got SVM a",
        |r| r.delete_group("ada", false),
    );
    let change = w.registry.delete_group("ada", true).unwrap();
    assert_eq!(change.notes, [Note::NoTemplate { svm: "SVM a".into(), group: "ada".into() }]);
    assert_eq!(change.notes[0].to_string(), "SVM a has no template any more: policy group ada is deleted");
    assert_eq!(w.registry.object(a).unwrap().template(), None);
}

#[test]
fn what_is_not_there_is_named() {
    let mut w = world();
    let (a, v, nobody) = (w.a, w.v, ObjectId(99));
    w.refuses(Rule::NoGroup, "volume a:v: there is no such policy group; got policy group \"gold\"", |r| {
        r.attach(v, Some("gold"))
    });
    w.refuses(Rule::NoGroup, "SVM a: there is no such policy group; got policy group \"gold\"", |r| {
        r.set_template(a, Some("gold"))
    });
    w.refuses(Rule::NoGroup, "policy group gold: there is no such policy group; got \"gold\"", |r| {
        r.delete_group("gold", true)
    });
    w.refuses(Rule::NoObject, "object 99: there is no such object; got 99", |r| r.attach(nobody, Some("value")));
    w.refuses(Rule::NoObject, "object 99: there is no such object; got 99", |r| r.remove_object(nobody));
    w.refuses(Rule::NoObject, "LUN \"/vol/x/l\" of SVM a: there is no such object; got volume \"x\"", |r| {
        r.add_lun(a, "/vol/x/l", Size::default())
    });
    assert_eq!(w.registry.limits_in_force(nobody), None);
}

#[test]
fn objects_have_their_place_and_name() {
    let mut w = world();
    let (a, v, q, l, f) = (w.a, w.v, w.q, w.l, w.f);
    w.refuses(Rule::ObjectTaken, "volume v of SVM a: the name is in use there: choose another; got v", |r| {
        r.add_volume(a, "v", Size::default())
    });
    w.refuses(Rule::ObjectTaken, "qtree d of volume a:v: the name is in use there: choose another; got d/f", |r| {
        r.add_qtree(v, "d")
    });
    w.refuses(Rule::ObjectTaken, "file l/x of volume a:v: the name is in use there: choose another; got l", |r| {
        r.add_file(v, "/l/x", Size::default())
    });
    w.refuses(
        Rule::ObjectName,
        "volume of SVM a: names of SVMs, volumes and qtrees have 1 to 203 letters, digits, '_', '-' or '.', the first \
         a letter, digit or '_'; got \"a b\"",
        |r| r.add_volume(a, "a b", Size::default()),
    );
    w.refuses(
        Rule::LunPath,
        "LUN \"lun1\" of SVM a: a LUN's path is /vol/VOLUME/LUN or /vol/VOLUME/QTREE/LUN, without control characters; \
         got \"lun1\"",
        |r| r.add_lun(a, "lun1", Size::default()),
    );
    w.refuses(
        Rule::FilePath,
        "volume a:v: a file's path is /NAME or /FOLDER/…/NAME inside its volume, without '.', '..' and control \
         characters; got \"f\"",
        |r| r.rename(f, "f"),
    );
    w.refuses(
        Rule::Moves,
        "LUN a:/vol/v/l: a rename cannot move an object to another volume or qtree: make it anew there; \
         got /vol/v/q/l",
        |r| r.rename(l, "/vol/v/q/l"),
    );
    w.refuses(
        Rule::WrongKind,
        "qtree a:/vol/v/q: the operation does not fit this kind of object; got a new volume",
        |r| r.add_volume(q, "x", Size::default()),
    );
    w.refuses(Rule::WrongKind, "qtree a:/vol/v/q: the operation does not fit this kind of object; got a size", |r| {
        r.set_size(q, Size::default(), block::Time::ZERO)
    });
    w.refuses(
        Rule::ObjectInUse,
        "SVM a: an SVM goes last: remove its volumes and its policy groups first; got volume a:v",
        |r| r.remove_object(a),
    );
    w.refuses(
        Rule::WrongKind,
        "volume a:v: the operation does not fit this kind of object; got a policy group of its own",
        |r| r.create_group(NewGroup { name: "g", svm: v, uuid: 1, policy: fixed(1, 0, true) }),
    );
    let _ = w.registry.remove_object(v).unwrap();
    w = w.with("g", fixed(1, 0, true));
    w.refuses(
        Rule::ObjectInUse,
        "SVM a: an SVM goes last: remove its volumes and its policy groups first; got policy group g",
        |r| r.remove_object(a),
    );
    let _ = w.registry.delete_group("g", false).unwrap();
    let _ = w.registry.remove_object(a).unwrap();
    assert_eq!(w.registry.find_svm("a"), None);
}

#[test]
fn renamed_objects_are_found_by_their_new_names() {
    let mut w = world();
    let (a, v, l, m, f) = (w.a, w.v, w.l, w.m, w.f);
    for (object, name) in [(l, "/vol/v/l2"), (m, "/vol/v/q/m2"), (f, "/e/f2"), (v, "v2"), (a, "a2")] {
        assert_eq!(w.registry.rename(object, name), Ok(Change::default()));
    }
    let r = &w.registry;
    assert_eq!((r.find_svm("a"), r.find_svm("a2"), r.find_volume(a, "v2")), (None, Some(a), Some(v)));
    assert_eq!((r.find_lun(a, "/vol/v2/l2"), r.find_lun(a, "/vol/v2/q/m2")), (Some(l), Some(m)));
    assert_eq!((r.find_file(v, "/e/f2"), r.find_file(v, "/d/f")), (Some(f), None));
    assert_eq!((r.label(m).as_str(), r.label(f).as_str()), ("LUN a2:/vol/v2/q/m2", "file a2:/vol/v2/e/f2"));
}

#[test]
fn clones_do_not_inherit() {
    let mut w = world().with("g", fixed(100, 0, false));
    let (a, v, l) = (w.a, w.v, w.l);
    w = w.attached(v, "g");
    let (copy, change) = w.registry.clone_volume(v, "c").unwrap();
    assert_eq!(change.edits.len(), 5, "a volume, a qtree, two LUNs and a file, and no limit: {change:?}");
    let inside = w.registry.find_lun(a, "/vol/c/q/m").unwrap();
    for object in [copy, inside] {
        assert!(w.registry.limits_in_force(object).unwrap().levels.is_empty());
    }
    let _ = w.registry.attach(v, None).unwrap();
    w = w.attached(l, "g");
    let (copy, _) = w.registry.clone_lun(l, "/vol/v/l2").unwrap();
    let copy = w.registry.object(copy).unwrap();
    assert_eq!((copy.kind(), copy.membership()), (ObjectKind::Lun, None));
    w.refuses(
        Rule::WrongKind,
        "LUN a:/vol/v/l: the operation does not fit this kind of object; got a volume clone",
        |r| r.clone_volume(l, "x"),
    );
    w.refuses(Rule::WrongKind, "volume a:v: the operation does not fit this kind of object; got a LUN clone", |r| {
        r.clone_lun(v, "/vol/v/x")
    });
}

#[test]
fn a_ratio_that_makes_no_sense_is_noted_not_refused() {
    let mut w = world();
    let both = |iops, bytes| Policy::Fixed(FixedPolicy { ceiling: Rates::both(iops, bytes), ..FixedPolicy::default() });
    // The vendor's own sample, 5000IOPS,500KB/s: 100 bytes an operation.
    let notes = w.create("sample", both(5000, 500_000)).unwrap().notes;
    assert_eq!(notes, [Note::OddRatio { bytes_per_operation: 100 }]);
    assert_eq!(w.create("sane", both(10_000, 300_000_000)).unwrap().notes, []);
}

#[test]
fn a_catalogue_that_contradicts_itself_is_refused() {
    let w = world().with("g", fixed(100, 0, false));
    let (q, v) = (w.q, w.v);
    let w = w.attached(q, "g");
    let restore = |catalogue: &Catalogue| Registry::restore(RegistrySettings::default(), catalogue).map(|_| ());
    let good = w.registry.catalogue();
    assert_eq!(restore(&good), Ok(()));
    let broken = |change: &dyn Fn(&mut Catalogue)| {
        let mut catalogue = good.clone();
        change(&mut catalogue);
        restore(&catalogue).unwrap_err().rule
    };
    assert_eq!(broken(&|c| c.objects.push(c.objects[0].clone())), Rule::Catalogue);
    assert_eq!(broken(&|c| c.groups.push(c.groups[0].clone())), Rule::Catalogue);
    assert_eq!(broken(&|c| c.groups.clear()), Rule::Catalogue, "a member of nothing");
    assert_eq!(broken(&|c| c.groups[0].id = qos::GroupId(1)), Rule::Catalogue, "a built-in group's number");
    assert_eq!(broken(&|c| c.objects.retain(|object| object.id != v)), Rule::NoObject);
    assert_eq!(broken(&|c| c.objects[2].kind = ObjectKind::Volume), Rule::WrongKind);
}

/// What other settings allowed stays in force, is named, and survives being kept once more; what is new is refused.
#[test]
fn what_no_longer_fits_is_kept_and_named() {
    let free = RegistrySettings { nesting: Nesting::Free, ..RegistrySettings::default() };
    let mut w = world_with(free.clone()).with("g", fixed(100, 0, false)).with("f", fixed(50, 0, false));
    let burst = BurstKnobs { percent: Some(50), ..BurstKnobs::default() };
    let bursting =
        Policy::Adaptive(AdaptivePolicy { burst, ..AdaptivePolicy::new(Density::per_tb(1), Density::per_tb(2)) });
    let _ = w.create("burst", bursting).unwrap();
    let (v, l, ww) = (w.v, w.l, w.w);
    let w = w.attached(v, "g").attached(l, "f");
    let kept = w.registry.catalogue();
    assert_eq!(Registry::restore(free.clone(), &kept).unwrap().1.notes, []);

    let tight = RegistrySettings { peak: PeakMode::Credits, workloads_max: 1, ..RegistrySettings::default() };
    let (mut registry, change) = Registry::restore(tight.clone(), &kept).unwrap();
    let notes: Vec<String> = change.notes.iter().map(Note::to_string).collect();
    assert_eq!(
        notes,
        [
            "policy group burst: where the peak is reached on credits, only the burst's duration can be set; got burst \
             50 percent; it is kept and in force as it was",
            "LUN a:/vol/v/l: the number of workloads (objects in a policy group) is at its limit: detach one or raise \
             the limit in the settings; got 2 with a limit of 1; it is kept and in force as it was",
        ]
    );
    let limits = registry.limits_in_force(l).unwrap();
    assert_eq!(limits.ceiling_iops().map(|(rate, level)| (rate, level.object)), Some((Iops(50), l)));
    assert_eq!(registry.catalogue(), kept);
    // From here on the settings of today hold.
    assert_eq!(registry.attach(ww, Some("value")).unwrap_err().rule, Rule::WorkloadsMax);

    let (mut registry, change) = Registry::restore(RegistrySettings::default(), &kept).unwrap();
    assert_eq!(change.notes.len(), 1, "a LUN and its volume");
    let note = change.notes[0].to_string();
    assert!(note.starts_with("LUN a:/vol/v/l: a LUN or file and what contains it cannot both"), "{note}");
    let _ = registry.attach(l, None).unwrap();
    assert_eq!(registry.attach(l, Some("f")).unwrap_err().rule, Rule::Nested);
}

#[test]
fn whether_svms_take_turns_is_the_settings_or_as_it_was_kept() {
    let fair = |set: Option<bool>, kept: bool| {
        let settings = RegistrySettings { fair: set, ..RegistrySettings::default() };
        let catalogue = Catalogue { fair: kept, ..Catalogue::default() };
        let (registry, change) = Registry::restore(settings, &catalogue).unwrap();
        assert_eq!(change.edits.contains(&Edit::SetFair { object: None, fair: true }), registry.fair());
        registry.fair()
    };
    assert_eq!([fair(None, false), fair(None, true)], [false, true]);
    assert_eq!([fair(Some(true), false), fair(Some(false), true)], [true, false]);
}

/// The page for administrators lists every rule under its code.
#[test]
fn every_code_is_documented() {
    let page = include_str!("../../../docs/qos/policies.md");
    for rule in Rule::ALL {
        let row = format!("| {} | {} |", rule.code(), rule.text());
        assert!(page.contains(&row), "missing from docs/qos/policies.md: {row}");
    }
}
