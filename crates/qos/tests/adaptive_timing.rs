//! When an adaptive policy follows its object: at once on assignment and on a change of the policy,
//! within five minutes of a change in size, not at all for less than 10 IOPS.

use block::{Bytes, Iops, ObjectId, Span, Time};
use qos::{
    AdaptiveChange, AdaptivePolicy, BlockSize, Burst, BurstKnobs, Change, Density, Edit, NewGroup, PeakMode, Policy,
    PolicyChange, Registry, RegistrySettings, Size,
};

const GB: u64 = 1_000_000_000;
const FIVE_MINUTES: Span = Span::from_secs(300);

/// One volume under 1000 to 2000 IOPS per TB, both of used space: one IOPS expected and two at the
/// peak per GB.
struct Setup {
    registry: Registry,
    volume: ObjectId,
}

fn setup(used_gb: u64) -> Setup {
    let mut registry = Registry::new(RegistrySettings::default());
    let (svm, _) = registry.add_svm("svm").unwrap();
    let (volume, _) = registry.add_volume(svm, "vol", size(used_gb)).unwrap();
    let policy = AdaptivePolicy {
        expected_allocation: qos::Allocation::Used,
        ..AdaptivePolicy::new(Density::per_tb(1000), Density::per_tb(2000))
    };
    let _ = registry.create_group(NewGroup { name: "g", svm, uuid: 1, policy: Policy::Adaptive(policy) }).unwrap();
    Setup { registry, volume }
}

fn size(used_gb: u64) -> Size {
    Size { allocated: Bytes(10_000 * GB), used: Bytes(used_gb * GB) }
}

fn seconds(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

impl Setup {
    fn floor_and_ceiling(&self) -> (u64, u64) {
        let limits = self.registry.limits_in_force(self.volume).unwrap().levels[0].limits;
        (limits.floor.iops.unwrap().0, limits.ceiling.iops.unwrap().0)
    }
}

#[test]
fn at_once_on_assignment() {
    let Setup { mut registry, volume } = setup(500);
    registry.set_size(volume, size(600), seconds(7)).unwrap();
    assert_eq!(registry.next_evaluation(), None, "nothing follows a size without an adaptive policy");
    let Change { edits, .. } = registry.attach(volume, Some("g")).unwrap();
    let [Edit::SetLimits { object, limits }] = edits[..] else { panic!("{edits:?}") };
    assert_eq!((object, limits.floor.iops, limits.ceiling.iops), (volume, Some(Iops(600)), Some(Iops(1200))));
    assert_eq!(registry.next_evaluation(), None);
}

#[test]
fn within_five_minutes_of_growth() {
    let mut setup = setup(500);
    let _ = setup.registry.attach(setup.volume, Some("g")).unwrap();
    setup.registry.set_size(setup.volume, size(600), seconds(100)).unwrap();
    assert_eq!(setup.floor_and_ceiling(), (500, 1000));
    // Growth that goes on does not push the evaluation away.
    setup.registry.set_size(setup.volume, size(700), seconds(200)).unwrap();
    let due = setup.registry.next_evaluation().unwrap();
    assert!(due > seconds(100) && due < seconds(100) + FIVE_MINUTES, "{due:?}");
    assert_eq!(setup.registry.evaluate(due - Span::from_nanos(1)), Change::default());
    assert_eq!(setup.registry.evaluate(due).edits.len(), 1);
    assert_eq!(setup.floor_and_ceiling(), (700, 1400));
    assert_eq!(setup.registry.next_evaluation(), None);
    assert_eq!(setup.registry.evaluate(Time::MAX), Change::default());
}

#[test]
fn a_clock_that_jumped_ahead_and_back_delays_nothing_for_long() {
    let mut setup = setup(500);
    let _ = setup.registry.attach(setup.volume, Some("g")).unwrap();
    setup.registry.set_size(setup.volume, size(600), seconds(3600)).unwrap();
    setup.registry.set_size(setup.volume, size(700), seconds(10)).unwrap();
    assert!(setup.registry.next_evaluation().unwrap() <= seconds(310));
    assert_eq!(setup.registry.evaluate(seconds(310)).edits.len(), 1);
    assert_eq!(setup.registry.next_evaluation(), None);
}

#[test]
fn shrinking_counts_like_growth() {
    let mut setup = setup(500);
    let _ = setup.registry.attach(setup.volume, Some("g")).unwrap();
    setup.registry.set_size(setup.volume, size(400), seconds(0)).unwrap();
    assert_eq!(setup.registry.evaluate(seconds(300)).edits.len(), 1);
    assert_eq!(setup.floor_and_ceiling(), (400, 800));
}

#[test]
fn less_than_10_iops_are_skipped_until_they_add_up() {
    let mut setup = setup(500);
    let _ = setup.registry.attach(setup.volume, Some("g")).unwrap();
    // 4 GB more: 504 and 1008, both less than 10 away from 500 and 1000.
    setup.registry.set_size(setup.volume, size(504), seconds(0)).unwrap();
    assert_eq!(setup.registry.evaluate(seconds(300)), Change::default());
    assert_eq!(setup.floor_and_ceiling(), (500, 1000));
    // 5 GB: the ceiling is 10 away.
    setup.registry.set_size(setup.volume, size(505), seconds(300)).unwrap();
    assert_eq!(setup.registry.evaluate(seconds(600)).edits.len(), 1);
    assert_eq!(setup.floor_and_ceiling(), (505, 1010));
}

#[test]
fn a_change_of_the_policy_holds_at_once_for_the_present_size() {
    let mut setup = setup(500);
    let _ = setup.registry.attach(setup.volume, Some("g")).unwrap();
    setup.registry.set_size(setup.volume, size(600), seconds(0)).unwrap();
    let change = AdaptiveChange { peak: Some(Density::per_tb(3000)), ..AdaptiveChange::default() };
    let edits = setup.registry.modify_group("g", &PolicyChange::Adaptive(change)).unwrap().edits;
    assert_eq!(edits.len(), 1);
    assert_eq!(setup.floor_and_ceiling(), (600, 1800));
    assert_eq!(setup.registry.next_evaluation(), None, "nothing is left to evaluate");
}

#[test]
fn a_volume_made_under_a_template_starts_with_its_limits() {
    let Setup { mut registry, volume } = setup(500);
    let svm = registry.svm_of(volume).unwrap();
    let _ = registry.set_template(svm, Some("g")).unwrap();
    assert_eq!(registry.object(volume).unwrap().membership(), None, "what was there keeps what it has");
    let (made, change) = registry.add_volume(svm, "made", size(300)).unwrap();
    assert!(matches!(change.edits[..], [Edit::AddObject { .. }, Edit::SetLimits { object, .. }] if object == made));
    let _ = registry.set_template(svm, None).unwrap();
    assert!(registry.object(made).unwrap().membership().is_some(), "taking the template away takes no policy");
    let (plain, _) = registry.add_volume(svm, "plain", size(300)).unwrap();
    assert_eq!(registry.object(plain).unwrap().membership(), None);
}

#[test]
fn one_call_looks_at_a_bounded_number() {
    let Setup { mut registry, volume } = setup(500);
    let svm = registry.svm_of(volume).unwrap();
    let _ = registry.set_template(svm, Some("g")).unwrap();
    let count = Registry::EVALUATIONS_MAX + 1;
    for number in 0..count {
        let (made, _) = registry.add_volume(svm, &format!("v{number}"), size(300)).unwrap();
        registry.set_size(made, size(400), seconds(0)).unwrap();
    }
    assert_eq!(registry.evaluate(seconds(300)).edits.len(), Registry::EVALUATIONS_MAX);
    assert!(registry.next_evaluation().unwrap() <= seconds(300));
    assert_eq!(registry.evaluate(seconds(300)).edits.len(), 1);
    assert_eq!(registry.next_evaluation(), None);
}

/// With credits the expected rate is the ceiling, and a burst leads to the peak: 500 expected, 1000
/// at the peak, 100 %.
#[test]
fn with_credits_the_peak_is_a_burst_above_the_expected_rate() {
    let Setup { mut registry, volume } = setup(500);
    let change = AdaptiveChange {
        peak_mode: Some(PeakMode::Credits),
        block_size: Some(BlockSize::K4),
        ..AdaptiveChange::default()
    };
    let _ = registry.modify_group("g", &PolicyChange::Adaptive(change)).unwrap();
    let _ = registry.attach(volume, Some("g")).unwrap();
    let ceiling = registry.limits_in_force(volume).unwrap().levels[0].limits.ceiling;
    assert_eq!((ceiling.iops, ceiling.bytes.unwrap().0), (Some(Iops(500)), 500 * 4096));
    assert_eq!(ceiling.burst, Some(Burst::percent(100, Span::from_secs(60))));
}

#[test]
fn a_peak_that_is_no_whole_percent_is_met_to_the_operation() {
    let Setup { mut registry, volume } = setup(500);
    // 1000 expected, 1339 at the peak: 33.9 %.
    let change = AdaptiveChange {
        peak: Some(Density::per_tb(1339)),
        peak_mode: Some(PeakMode::Credits),
        burst: qos::BurstChange { duration: Some(Span::from_secs(5)), ..Default::default() },
        ..AdaptiveChange::default()
    };
    let _ = registry.modify_group("g", &PolicyChange::Adaptive(change)).unwrap();
    registry.set_size(volume, size(1000), seconds(0)).unwrap();
    let _ = registry.attach(volume, Some("g")).unwrap();
    let in_force = registry.limits_in_force(volume).unwrap();
    assert_eq!(in_force.burst(), Some(Burst { ppm: 339_000, duration: Span::from_secs(5) }));
    assert_eq!(in_force.levels[0].peak, Some(PeakMode::Credits));
}

#[test]
fn burst_settings_come_to_these_bursts() {
    let burst = |percent: u32, seconds: u64| Some(Burst::percent(percent, Span::from_secs(seconds)));
    let knobs = |percent: Option<u32>, duration: Option<u64>, iops: Option<u64>| BurstKnobs {
        percent,
        duration: duration.map(Span::from_secs),
        iops: iops.map(Iops),
    };
    let cases = [
        (knobs(None, None, None), None),
        (knobs(Some(25), Some(5), None), burst(25, 5)), // the published trace: 2000 IOPS, 25 % for 5 s
        (knobs(Some(25), None, None), burst(25, 1)),
        (knobs(None, Some(5), None), burst(50, 5)),
        (knobs(None, Some(3), Some(2500)), burst(25, 3)), // 2500 in all above 2000
        (knobs(None, None, Some(2000)), None),            // not above the ceiling: no burst
        (knobs(Some(0), None, None), None),
        (knobs(None, Some(0), None), None),
        (knobs(Some(0), Some(0), Some(0)), None), // back to the default, none
    ];
    for (knobs, expected) in cases {
        let mut setup = setup(500);
        let svm = setup.registry.svm_of(setup.volume).unwrap();
        let policy = Policy::Fixed(qos::FixedPolicy {
            ceiling: qos::Rates::iops(2000),
            burst: knobs,
            ..qos::FixedPolicy::default()
        });
        let _ = setup.registry.create_group(NewGroup { name: "f", svm, uuid: 2, policy }).unwrap();
        let _ = setup.registry.attach(setup.volume, Some("f")).unwrap();
        assert_eq!(setup.registry.limits_in_force(setup.volume).unwrap().burst(), expected, "{knobs:?}");
    }
}
