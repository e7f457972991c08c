//! Published adaptive policies: the tables as printed, and every worked example known, computed
//! through the registry or the policy exactly as an administrator's line would be.
//!
//! Sizes written as an administrator types them (`100GB`) are multiplied out by their unit; sizes
//! in bytes go in as they are.

use std::collections::BTreeMap;

use block::{Bytes, BytesPerSecond, Iops, ObjectId};
use qos::{
    AdaptiveChange, AdaptivePolicy, Allocation, BlockSize, Density, Evaluation, Limits, NewGroup, Policy, PolicyChange,
    Registry, RegistrySettings, Rule, Size, SizeUnit, Units,
};

const SETTINGS: &str = include_str!("published/aqos_policy_settings.csv");
const PRESETS: &str = include_str!("published/aqos_default_policies.csv");
const MODIFIED: &str = include_str!("published/aqos_modify_examples.csv");

fn rows(csv: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect())
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

fn typed(number: u64, unit: SizeUnit) -> Bytes {
    Bytes(number * Units::Decimal.bytes(unit))
}

fn gb(number: u64) -> Bytes {
    typed(number, SizeUnit::Gb)
}

fn tb(number: u64) -> Bytes {
    typed(number, SizeUnit::Tb)
}

fn full(size: Bytes) -> Size {
    Size { allocated: size, used: size }
}

fn empty(size: Bytes) -> Size {
    Size { allocated: size, used: Bytes(0) }
}

fn per_tb(expected: u64, peak: u64) -> AdaptivePolicy {
    AdaptivePolicy::new(Density::per_tb(expected), Density::per_tb(peak))
}

fn evaluation(floor: u64, ceiling: u64) -> Evaluation {
    Evaluation { floor: Iops(floor), ceiling: Iops(ceiling) }
}

/// The limits in force for a volume of `size` under `policy`, as the registry gives them.
fn in_force(policy: AdaptivePolicy, size: Size) -> Limits {
    let (mut registry, svm) = epic();
    let (volume, _) = registry.add_volume(svm, "v", size).unwrap();
    let policy = Policy::Adaptive(policy);
    let _ = registry.create_group(NewGroup { name: "g", svm, uuid: 1, policy }).unwrap();
    let _ = registry.attach(volume, Some("g")).unwrap();
    registry.limits_in_force(volume).unwrap().levels[0].limits
}

fn epic() -> (Registry, ObjectId) {
    let mut registry = Registry::new(RegistrySettings::default());
    let (svm, _) = registry.add_svm("epic").unwrap();
    (registry, svm)
}

#[test]
fn the_built_in_groups_are_the_published_ones() {
    let registry = Registry::new(RegistrySettings::default());
    for row in rows(PRESETS) {
        let group = registry.group(row[0]).unwrap();
        let policy = group.policy().adaptive().unwrap();
        assert_eq!(group.members().len() as u64, number(row[2]));
        assert_eq!(policy.expected, Density::per_tb(number(row[3])), "{}", row[0]);
        assert_eq!(policy.peak, Density::per_tb(number(row[4])), "{}", row[0]);
    }
    let minimum = |name: &str| registry.group(name).unwrap().policy().adaptive().unwrap().absolute_min;
    assert_eq!(["extreme", "performance", "value"].map(minimum), [1000, 500, 75].map(|iops| Some(Iops(iops))));
    assert_eq!(registry.groups().len(), 3);
}

#[test]
fn the_published_sizings_meet_the_required_iops() {
    let mut settings: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for row in rows(SETTINGS) {
        settings.entry(row[0]).or_default().insert(row[1], row[2]);
    }
    assert_eq!(settings.len(), 2);
    for (name, values) in settings {
        let value = |key: &str| number(values[key]);
        assert_eq!(values["peak_iops_allocation"], "used space");
        let policy = AdaptivePolicy {
            absolute_min: Some(Iops(value("absolute_minimum_iops"))),
            ..per_tb(value("expected_iops_per_tb"), value("peak_iops_per_tb"))
        };
        assert_eq!(policy.peak_allocation, Allocation::Used);
        let limits = in_force(policy, full(tb(value("volume_size"))));
        assert_eq!(limits.floor.iops, Some(Iops(value("required_iops"))), "{name}");
        // Both tables allow twice the expected rate at the peak: 2 × 75 000.
        assert_eq!(limits.ceiling.iops, Some(Iops(150_000)), "{name}");
    }
}

/// The third printed line has a peak below what it expects, and must be refused with the policy
/// left alone.
#[test]
fn the_published_modifications_hold_but_for_the_contradictory_one() {
    let (mut registry, svm) = epic();
    let mut outcomes = Vec::new();
    for row in rows(MODIFIED) {
        assert_eq!(row[4], "used-space");
        let policy = Policy::Adaptive(per_tb(1000, 2000));
        let _ = registry.create_group(NewGroup { name: row[0], svm, uuid: 1, policy }).unwrap();
        let change = AdaptiveChange {
            expected: Some(Density::per_tb(number(row[1]))),
            peak: Some(Density::per_tb(number(row[2]))),
            absolute_min: Some(Iops(number(row[3]))),
            peak_allocation: Some(Allocation::Used),
            ..AdaptiveChange::default()
        };
        let before = registry.clone();
        match registry.modify_group(row[0], &PolicyChange::Adaptive(change)) {
            Ok(_) => outcomes.push(row[0]),
            Err(refusal) => {
                assert_eq!((refusal.rule, refusal.code()), (Rule::ExpectedAbovePeak, 8454274));
                assert_eq!(
                    refusal.to_string(),
                    "policy group aqos-epic-bully: the expected rate must not exceed the peak rate; \
                     got expected 3000 IOPS/TB over peak 2000 IOPS/TB"
                );
                assert_eq!(registry, before);
            }
        }
    }
    assert_eq!(outcomes, ["aqos-epic-prod1", "aqos-epic-prod2"]);
    let policy = registry.group("aqos-epic-prod2").unwrap().policy().adaptive().unwrap();
    assert_eq!((policy.expected, policy.peak), (Density::per_tb(6000), Density::per_tb(20_000)));
    assert_eq!(policy.absolute_min, Some(Iops(5000)));
}

/// `adaptive-policy2`: 1000 and 1500 per TB of allocated space, 4 KiB blocks.
fn adaptive_policy2() -> AdaptivePolicy {
    AdaptivePolicy { peak_allocation: Allocation::Allocated, block_size: BlockSize::K4, ..per_tb(1000, 1500) }
}

#[test]
fn adaptive_policy2_gives_150_iops_to_100gb_and_15000_to_10tb() {
    let limits = in_force(adaptive_policy2(), empty(gb(100)));
    // The minimum was not given: 75 below 2048 per TB, so it does not bind here.
    assert_eq!((limits.floor.iops, limits.ceiling.iops), (Some(Iops(100)), Some(Iops(150))));
    // 150 × 4096 = 614 400 B/s, printed as 0.61 MB/s.
    assert_eq!(limits.ceiling.bytes, Some(BytesPerSecond(614_400)));

    let limits = in_force(adaptive_policy2(), empty(tb(10)));
    assert_eq!((limits.floor.iops, limits.ceiling.iops), (Some(Iops(10_000)), Some(Iops(15_000))));
    // 15 000 × 4096 = 61 440 000 B/s, printed as 61.4 MB/s.
    assert_eq!(limits.ceiling.bytes, Some(BytesPerSecond(61_440_000)));

    let limits = in_force(adaptive_policy2(), empty(tb(1)));
    // 1000 IOPS at 4K: 4 MB/s in the text, 4 096 000 exactly.
    assert_eq!((limits.floor.iops, limits.floor.bytes), (Some(Iops(1000)), Some(BytesPerSecond(4_096_000))));
}

/// `EpicProd`: 15000 and 30000 per TB, minimum 7500.
fn epic_prod() -> AdaptivePolicy {
    AdaptivePolicy { absolute_min: Some(Iops(7500)), ..per_tb(15_000, 30_000) }
}

#[test]
fn epic_prod_holds_75000_on_5tb_however_full() {
    let limits = in_force(epic_prod(), full(tb(5)));
    assert_eq!((limits.floor.iops, limits.ceiling.iops), (Some(Iops(75_000)), Some(Iops(150_000))));
    // × 32 768: 2457.6 and 4915.2 MB/s.
    assert_eq!(limits.floor.bytes, Some(BytesPerSecond(2_457_600_000)));
    assert_eq!(limits.ceiling.bytes, Some(BytesPerSecond(4_915_200_000)));

    // 1 TB used: the peak of 30 000 is below the expected 75 000, which wins.
    let limits = in_force(epic_prod(), Size { allocated: tb(5), used: tb(1) });
    assert_eq!((limits.floor.iops, limits.ceiling.iops), (Some(Iops(75_000)), Some(Iops(75_000))));
}

#[test]
fn the_minimum_of_epic_prod_applies_below_half_a_terabyte() {
    let floor = |size| epic_prod().evaluate(full(size), Units::Decimal).floor;
    assert_eq!(floor(gb(499)), Iops(7500)); // 15 × 499 = 7485
    assert_eq!(floor(gb(500)), Iops(7500));
    assert_eq!(floor(gb(501)), Iops(7515));
}

#[test]
fn the_sized_and_the_built_in_performance_on_75tb() {
    let sized = AdaptivePolicy { absolute_min: Some(Iops(500)), ..per_tb(1000, 2000) };
    assert_eq!(sized.evaluate(full(tb(75)), Units::Decimal), evaluation(75_000, 150_000));
    let (mut registry, svm) = epic();
    let (volume, _) = registry.add_volume(svm, "v", full(tb(75))).unwrap();
    let _ = registry.attach(volume, Some("performance")).unwrap();
    let limits = registry.limits_in_force(volume).unwrap().levels[0].limits;
    assert_eq!((limits.floor.iops, limits.ceiling.iops), (Some(Iops(153_600)), Some(Iops(307_200))));
}

#[test]
fn the_built_in_groups_on_small_and_empty_volumes() {
    let registry = Registry::new(RegistrySettings::default());
    let of =
        |name: &str, size| registry.group(name).unwrap().policy().adaptive().unwrap().evaluate(size, Units::Decimal);
    assert_eq!(of("performance", empty(tb(1))), evaluation(2048, 2048));
    // Filling, the peak takes over at half: 4096 × 0.75 = 3072.
    assert_eq!(of("performance", Size { allocated: tb(1), used: gb(750) }), evaluation(2048, 3072));
    assert_eq!(of("performance", full(tb(1))), evaluation(2048, 4096));
    assert_eq!(of("performance", full(gb(20))), evaluation(500, 500));
    assert_eq!(of("value", full(gb(10))), evaluation(75, 75));
}

#[test]
fn the_default_minimum_follows_the_expected_rate() {
    let minimum = |expected| AdaptivePolicy::new(expected, expected).minimum(Units::Decimal);
    for (rate, iops) in [(1, 75), (2047, 75), (2048, 500), (6143, 500), (6144, 1000), (100_000, 1000)] {
        assert_eq!(minimum(Density::per_tb(rate)), Iops(iops), "{rate}/TB");
    }
    // Per GB a thousand times as much: 2/GB is 2000/TB, 3/GB is 3000/TB, 7/GB is 7000/TB.
    assert_eq!([2, 3, 7].map(|rate| minimum(Density::per_gb(rate))), [75, 500, 1000].map(Iops));
    // In binary units 2/GB is 2048/TB.
    let two = Density::per_gb(2);
    assert_eq!(AdaptivePolicy::new(two, two).minimum(Units::Binary), Iops(500));
}

/// The table of the readings of one published size, each truncated. If the size is typed and
/// computed in the same units, the published figures come out; a size in bytes is divided by the TB
/// of the units.
#[test]
fn each_reading_of_a_size_gives_its_figure() {
    use Units::{Binary, Decimal};
    // (number, unit, rate per TB) → all decimal, all binary, typed binary on decimal rates
    let cases = [
        (100, SizeUnit::Gb, 1500, [150, 146, 161]),         // 146.48, 161.06
        (100, SizeUnit::Gb, 1000, [100, 97, 107]),          // 97.66, 107.37
        (10, SizeUnit::Tb, 1500, [15_000, 15_000, 16_492]), // 16 492.67
        (10, SizeUnit::Tb, 1000, [10_000, 10_000, 10_995]), // 10 995.12
        (10, SizeUnit::Gb, 12_800, [128, 125, 137]),        // a hundred times 128/TB: 1.28, 1.25, 1.37
    ];
    for (number, unit, rate, figures) in cases {
        let of = |typed: Units, rates| Density::per_tb(rate).at(Bytes(number * typed.bytes(unit)), rates).0;
        assert_eq!([of(Decimal, Decimal), of(Binary, Binary), of(Binary, Decimal)], figures, "{number} × {rate}");
    }
}

#[test]
fn the_byte_limit_of_6144_iops_at_32k_is_192_mib() {
    let extreme = per_tb(6144, 6144);
    let limits = in_force(extreme, full(tb(1)));
    assert_eq!(limits.ceiling.bytes, Some(BytesPerSecond(192 << 20)));
    let any = AdaptivePolicy { block_size: BlockSize::Any, ..per_tb(6144, 6144) };
    assert_eq!(in_force(any, full(tb(1))).ceiling.bytes, None);
}
