//! A random administrator: objects, policy groups and sizes that come, change and go, with odd
//! names and absurd rates.
//!
//! What must hold: a refusal changes nothing and says why in one line; the scheduler accepts every
//! edit of an accepted change; the rules that the registry promises stand; and a restart from its
//! catalogue brings everything back.

use block::{Bytes, BytesPerSecond, Iops, ObjectId, Span, Time};
use qos::{
    AdaptiveChange, AdaptivePolicy, Allocation, BlockSize, BurstChange, BurstKnobs, Change, DefaultBurst, Density, FixedChange, FixedPolicy, Gate,
    Nesting, NewGroup, ObjectKind, PeakMode, Policy, PolicyChange, Rates, Refusal, Registry, RegistrySettings,
    Settings, Size, Units,
};

use crate::input::Input;

/// Plays what the bytes tell.
///
/// # Panics
/// When something that must hold does not.
pub fn registry(data: &[u8]) {
    let mut input = Input::new(data);
    let (settings, later) = (settings(&mut input), settings(&mut input));
    let mut play = Play { registry: Registry::new(settings), gate: Gate::new(Nothing, Settings::default()), now: 0 };
    while !input.is_over() {
        play.act(&mut input);
    }
    play.restart(&play.registry.settings().clone());
    play.restart(&later);
}

fn settings(input: &mut Input<'_>) -> RegistrySettings {
    RegistrySettings {
        nesting: if input.once_in(2) { Nesting::Free } else { Nesting::Ontap },
        units: if input.once_in(2) { Units::Binary } else { Units::Decimal },
        burst: if input.once_in(2) { DefaultBurst::Ontap } else { DefaultBurst::None },
        peak: if input.once_in(2) { PeakMode::Credits } else { PeakMode::Ceiling },
        fair: input.once_in(2).then(|| input.once_in(2)),
        groups_max: 8,
        workloads_max: 12 - input.below(6) as usize,
        ..RegistrySettings::default()
    }
}

/// Nothing is ever asked of it.
struct Nothing;

impl block::Target for Nothing {
    fn traits(&self) -> block::Traits {
        block::Traits { size: Bytes::gib(1), align: 512, longest: 1 << 20, carries_data: false, read_only: false }
    }
    fn submit(&mut self, _now: Time, _request: block::Request) -> block::Submitted {
        unreachable!("no requests here")
    }
    fn poll(&mut self, _now: Time, _out: &mut Vec<block::Completion>) {}
    fn next_wakeup(&self) -> block::Wakeup {
        block::Wakeup::Idle
    }
    fn cancel(&mut self, _now: Time, _ticket: block::Ticket) {}
}

struct Play {
    registry: Registry,
    gate: Gate<Nothing>,
    /// Seconds.
    now: u64,
}

impl Play {
    fn act(&mut self, input: &mut Input<'_>) {
        let before = self.registry.clone();
        match self.perform(input) {
            Ok(change) => {
                for edit in &change.edits {
                    let accepted = self.gate.edit(Time::from_nanos(self.now * 1_000_000_000), edit);
                    accepted.unwrap_or_else(|error| panic!("the scheduler refuses {edit:?}: {error}"));
                }
            }
            Err(refusal) => {
                assert!(self.registry == before, "refused ({refusal}), yet something changed");
                assert!(!refusal.to_string().contains('\n'), "{refusal}");
            }
        }
        self.check();
    }

    fn pick(&self, input: &mut Input<'_>, kind: Option<ObjectKind>) -> ObjectId {
        let fits = |object: &&qos::Object| kind.is_none_or(|kind| object.kind() == kind);
        let all: Vec<ObjectId> = self.registry.objects().filter(fits).map(qos::Object::id).collect();
        let number = input.below(all.len().max(1) as u64) as usize;
        all.get(number).copied().unwrap_or(ObjectId(input.below(40) as u32))
    }

    fn perform(&mut self, input: &mut Input<'_>) -> Result<Change, Refusal> {
        let now = Time::from_nanos(self.now * 1_000_000_000);
        let one = |(_, change): (ObjectId, Change)| change;
        match input.below(20) {
            0 => self.registry.add_svm(&name(input)).map(one),
            1 | 2 => {
                let (svm, name, size) = (self.pick(input, Some(ObjectKind::Svm)), name(input), size(input));
                self.registry.add_volume(svm, &name, size).map(one)
            }
            3 => {
                let (volume, name) = (self.pick(input, Some(ObjectKind::Volume)), name(input));
                self.registry.add_qtree(volume, &name).map(one)
            }
            4 | 5 => {
                let svm = self.pick(input, Some(ObjectKind::Svm));
                let mut path = format!("/vol/{}", name(input));
                for _ in 0..=input.below(3) {
                    path = format!("{path}/{}", name(input));
                }
                let size = size(input);
                self.registry.add_lun(svm, &path, size).map(one)
            }
            6 => {
                let volume = self.pick(input, Some(ObjectKind::Volume));
                let (path, size) = (format!("/{}/{}", name(input), name(input)), size(input));
                self.registry.add_file(volume, &path, size).map(one)
            }
            7 => {
                let (volume, name) = (self.pick(input, Some(ObjectKind::Volume)), name(input));
                self.registry.clone_volume(volume, &name).map(one)
            }
            8 => {
                let (object, name) = (self.pick(input, None), name(input));
                self.registry.rename(object, &name)
            }
            9 => {
                let object = self.pick(input, None);
                self.registry.remove_object(object)
            }
            10..=16 => self.perform_on_groups(input),
            17 => {
                let object = (!input.once_in(4)).then(|| self.pick(input, None));
                self.registry.set_fair(object, input.once_in(2))
            }
            18 => {
                let (object, size) = (self.pick(input, None), size(input));
                self.registry.set_size(object, size, now).map(|()| Change::default())
            }
            _ => {
                self.now += if input.once_in(4) { 0 } else { input.magnitude(12) };
                Ok(self.registry.evaluate(Time::from_nanos(self.now * 1_000_000_000)))
            }
        }
    }

    fn perform_on_groups(&mut self, input: &mut Input<'_>) -> Result<Change, Refusal> {
        match input.below(8) {
            0 | 1 => {
                let (name, svm) = (group_name(input), self.pick(input, Some(ObjectKind::Svm)));
                self.registry.create_group(NewGroup { name: &name, svm, uuid: 9, policy: policy(input) })
            }
            2 => {
                let change = FixedChange {
                    ceiling: input.once_in(2).then(|| rates(input)),
                    floor: input.once_in(3).then(|| rates(input)),
                    shared: input.once_in(4).then(|| input.once_in(2)),
                    burst: burst(input),
                    expected_latency: input.once_in(4).then(|| Span::from_nanos(input.magnitude(36))),
                };
                self.registry.modify_group(&group_name(input), &PolicyChange::Fixed(change))
            }
            _ if input.once_in(8) => {
                let modes = [PeakMode::Ceiling, PeakMode::Credits];
                let change = AdaptiveChange {
                    expected: input.once_in(3).then(|| density(input)),
                    peak: input.once_in(3).then(|| density(input)),
                    peak_mode: input.once_in(2).then(|| modes[input.below(2) as usize]),
                    burst: burst(input),
                    ..AdaptiveChange::default()
                };
                self.registry.modify_group(&group_name(input), &PolicyChange::Adaptive(change))
            }
            3 => {
                let (name, to) = (group_name(input), group_name(input));
                self.registry.rename_group(&name, &to)
            }
            4 => self.registry.delete_group(&group_name(input), input.once_in(2)),
            5 | 6 => {
                let (object, group) = (self.pick(input, None), (!input.once_in(4)).then(|| group_name(input)));
                self.registry.attach(object, group.as_deref())
            }
            _ => {
                let svm = self.pick(input, Some(ObjectKind::Svm));
                let group = (!input.once_in(4)).then(|| group_name(input));
                self.registry.set_template(svm, group.as_deref())
            }
        }
    }

    fn check(&self) {
        let registry = &self.registry;
        let members: usize = registry.groups().map(|group| group.members().len()).sum();
        assert_eq!(registry.workloads(), members);
        assert!(members <= registry.settings().workloads_max);
        for group in registry.groups() {
            assert!(!(group.policy().shared() && group.policy().has_floor()) || group.members().len() <= 1);
        }
        for object in registry.objects() {
            let in_force = registry.limits_in_force(object.id()).expect("it is there");
            for level in &in_force.levels {
                let (ceiling, floor) = (level.limits.ceiling, level.limits.floor);
                assert!(ceiling.iops.zip(floor.iops).is_none_or(|(most, least)| least <= most), "{level:?}");
                assert!(ceiling.bytes.zip(floor.bytes).is_none_or(|(most, least)| least <= most), "{level:?}");
            }
        }
        assert_eq!(self.gate.status().objects, registry.objects().len() as u64);
    }

    /// What was written down is what comes back, whatever the settings are by then, and a fresh
    /// scheduler accepts it.
    fn restart(&self, settings: &RegistrySettings) {
        let now = Time::from_nanos(self.now * 1_000_000_000);
        let mut kept = self.registry.catalogue();
        let (again, change) = Registry::restore(settings.clone(), &kept).expect("its own catalogue");
        kept.fair = settings.fair.unwrap_or(kept.fair);
        assert_eq!(again.catalogue(), kept);
        assert!(change.notes.is_empty() || settings != self.registry.settings(), "{:?}", change.notes);
        let mut gate = Gate::new(Nothing, Settings::default());
        for edit in &change.edits {
            gate.edit(now, edit)
                .unwrap_or_else(|error| panic!("after a restart the scheduler refuses {edit:?}: {error}"));
        }
        assert_eq!(gate.status().objects, self.registry.objects().len() as u64);
    }
}

fn name(input: &mut Input<'_>) -> String {
    match input.below(40) {
        0 => String::new(),
        1 => "a b".into(),
        2 => "ü".into(),
        3 => "x".repeat(input.below(300) as usize),
        4 => "..".into(),
        _ => format!("n{}", input.below(5)),
    }
}

fn group_name(input: &mut Input<'_>) -> String {
    let names = ["extreme", "performance", "value", "g3", "g4", "g5", "g6", "g7", "-bad", ""];
    names[input.below(names.len() as u64) as usize].into()
}

fn number(input: &mut Input<'_>) -> u64 {
    match input.below(16) {
        0 | 1 => 0,
        2 => u64::MAX,
        3 => 1_000_000_000,
        4 => 2_147_483_647,
        _ => input.magnitude(31),
    }
}

fn size(input: &mut Input<'_>) -> Size {
    let mut bytes = || Bytes(if input.once_in(10) { u64::MAX } else { input.magnitude(50) });
    Size { allocated: bytes(), used: bytes() }
}

fn rates(input: &mut Input<'_>) -> Rates {
    Rates {
        iops: input.once_in(2).then(|| Iops(number(input))),
        bytes: input.once_in(2).then(|| BytesPerSecond(number(input))),
    }
}

fn burst(input: &mut Input<'_>) -> BurstChange {
    BurstChange {
        percent: input.once_in(5).then(|| number(input) as u32),
        duration: input.once_in(5).then(|| Span::from_nanos(number(input).saturating_mul(1_000_000_000))),
        iops: input.once_in(5).then(|| Iops(number(input))),
    }
}

fn density(input: &mut Input<'_>) -> Density {
    if input.once_in(3) { Density::per_gb(number(input)) } else { Density::per_tb(number(input)) }
}

fn policy(input: &mut Input<'_>) -> Policy {
    if input.once_in(2) {
        let BurstChange { percent, duration, iops } = burst(input);
        let (ceiling, floor) = (rates(input), if input.once_in(2) { rates(input) } else { Rates::default() });
        let burst = BurstKnobs { percent, duration, iops };
        return Policy::Fixed(FixedPolicy { ceiling, floor, shared: input.once_in(2), burst, ..FixedPolicy::default() });
    }
    Policy::Adaptive(AdaptivePolicy {
        expected_allocation: if input.once_in(2) { Allocation::Used } else { Allocation::Allocated },
        block_size: if input.once_in(2) { BlockSize::K128 } else { BlockSize::Any },
        peak_mode: input.once_in(2).then(|| if input.once_in(2) { PeakMode::Credits } else { PeakMode::Ceiling }),
        burst: BurstKnobs { duration: input.once_in(4).then(|| Span::from_secs(number(input) % 4000)), ..BurstKnobs::default() },
        ..AdaptivePolicy::new(density(input), density(input))
    })
}
