//! Rules on policies and their groups: names, numbers, bursts, and what can never change.

use super::*;

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
        "policy group ada: where the peak is reached on credits, only the burst's duration can be set: leave out \
         percent and IOPS; got burst 10 percent",
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
    w.refuses(Rule::Preset, &line("delete"), |r| r.delete_group("value", true));
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
fn a_ratio_that_makes_no_sense_is_noted_not_refused() {
    let mut w = world();
    let both = |iops, bytes| Policy::Fixed(FixedPolicy { ceiling: Rates::both(iops, bytes), ..FixedPolicy::default() });
    // The vendor's own sample, 5000IOPS,500KB/s: 100 bytes an operation.
    let notes = w.create("sample", both(5000, 500_000)).unwrap().notes;
    assert_eq!(notes, [Note::OddRatio { bytes_per_operation: 100 }]);
    assert_eq!(w.create("sane", both(10_000, 300_000_000)).unwrap().notes, []);
}
