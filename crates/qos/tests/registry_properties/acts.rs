//! What random administrators do, with which policies and settings.

use super::*;

/// One thing an administrator, or a filling disk, does. Numbers pick among what exists at the time.
#[derive(Clone, Debug)]
pub enum Act {
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

pub fn group_name(number: u8) -> String {
    ["extreme", "performance", "value", "g3", "g4", "g5", "g6", "g7", "-bad"][usize::from(number)].into()
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
        let burst = BurstKnobs { percent, duration, iops };
        Policy::Fixed(FixedPolicy { ceiling, floor, shared, burst, ..FixedPolicy::default() })
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
        .prop_map(|(ceiling, floor, shared, burst)| FixedChange {
            ceiling,
            floor,
            shared,
            burst,
            ..FixedChange::default()
        })
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

pub fn act() -> impl Strategy<Value = Act> {
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

pub fn fixed(iops: u64, shared: bool) -> Policy {
    Policy::Fixed(FixedPolicy { ceiling: Rates::iops(iops), shared, ..FixedPolicy::default() })
}

pub fn adaptive(expected: u64, peak: u64) -> Policy {
    Policy::Adaptive(AdaptivePolicy::new(Density::per_tb(expected), Density::per_tb(peak)))
}

pub fn settings() -> impl Strategy<Value = RegistrySettings> {
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
