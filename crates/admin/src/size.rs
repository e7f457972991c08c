//! Sizes as adaptive policies see them: allocated sizes are known here, used sizes are asked of the
//! pool.

use super::{AdminError, Administration, At, Errand, Obstacle, whole};
use block::{Bytes, ObjectId, Time};
use ontap::show::size as size_text;
use ontap::value::{NewSize, SIZE_BLOCK, SizeUnits};
use qos::{Edit, Object, ObjectKind, Registry};

/// The largest volume: 300 TiB, as the largest of ONTAP's (a FlexVol since 9.12.1).
const VOLUME_MAX: u64 = 300 << 40;

/// The largest LUN or file: 128 TiB.
pub const LEAF_BYTES_MAX: u64 = 128 << 40;
/// Size of a volume's tree for clients' files: it occupies only what is written.
pub const FILES_BYTES: u64 = LEAF_BYTES_MAX;

/// The size of a volume as typed, in bytes.
pub(super) fn volume_bytes(size: ontap::value::UnitSize, units: SizeUnits) -> Result<u64, AdminError> {
    new_volume_bytes(size.into(), 0, units)
}

/// The size of a LUN or file as typed, in bytes.
pub(super) fn leaf_bytes(size: ontap::value::UnitSize, units: SizeUnits) -> Result<u64, AdminError> {
    new_leaf_bytes(size.into(), 0, units)
}

/// The same for a size that may be relative to the present one, `was`.
pub(super) fn new_volume_bytes(size: NewSize, was: u64, units: SizeUnits) -> Result<u64, AdminError> {
    new_bytes(size, was, units, VOLUME_MAX, "a volume has")
}

/// The same for a LUN or file.
pub(super) fn new_leaf_bytes(size: NewSize, was: u64, units: SizeUnits) -> Result<u64, AdminError> {
    new_bytes(size, was, units, LEAF_BYTES_MAX, "a LUN or file has")
}

/// A typed size in bytes, rounded up to whole blocks.
fn new_bytes(size: NewSize, was: u64, units: SizeUnits, max: u64, who: &str) -> Result<u64, AdminError> {
    let bytes = size.bytes(was, units).and_then(|bytes| bytes.checked_next_multiple_of(SIZE_BLOCK));
    bytes.filter(|bytes| (SIZE_BLOCK..=max).contains(bytes)).ok_or_else(|| {
        let from = if matches!(size, NewSize::Is(_)) { String::new() } else { format!(" of {was} bytes now") };
        let text = format!("size {size}{from}: {who} from 1 byte up to {} TiB ({max} bytes)", max >> 40);
        Obstacle::SizeRange.told(text).given(size).into()
    })
}

/// A typed size and what it became, if rounding up to whole blocks added so much that three digits
/// show it: `500B, rounded up to 4096B`.
pub(super) fn rounded_up(size: NewSize, bytes: u64, units: SizeUnits) -> Option<String> {
    let NewSize::Is(typed) = size else { return None };
    let added = bytes.checked_sub(typed.bytes(units)?)?;
    (added >= bytes.div_ceil(1000)).then(|| format!("{typed}, rounded up to {bytes}B"))
}

impl Administration {
    /// Measures every object under an adaptive policy and evaluates the policies that are due. To
    /// be called regularly; the edits are for the scheduler.
    #[must_use = "the edits must reach the scheduler"]
    pub fn follow_sizes(&mut self, now: Time, used: &dyn Fn(ObjectId) -> u64) -> Vec<Edit> {
        let adaptive: Vec<ObjectId> =
            self.registry.objects().filter(|object| is_adaptive(&self.registry, object)).map(Object::id).collect();
        for object in adaptive {
            take_in(&mut self.registry, object, now, used);
        }
        let mut edits = Vec::new();
        // Each evaluation is bounded in number, so repeat until none is due; otherwise the last of
        // many objects would wait for minutes.
        while self.registry.next_evaluation().is_some_and(|at| at <= now) {
            edits.extend(self.registry.evaluate(now).edits);
        }
        edits
    }

    /// Bytes that an object and everything in it use. `used` returns those of a LUN or file, and
    /// those of clients' files for a volume.
    pub fn used_in(&self, object: ObjectId, used: &dyn Fn(ObjectId) -> u64) -> u64 {
        used_in(&self.registry, object, used)
    }

    /// The space that each volume uses, by path; `used` is as for [`Administration::used_in`].
    pub fn used_by_volume(&self, used: &dyn Fn(ObjectId) -> u64) -> Vec<(String, Bytes)> {
        let volumes = self.registry.objects().filter(|object| object.kind() == ObjectKind::Volume);
        let told = |volume: &Object| {
            (self.path_of(volume.id()).unwrap_or_default(), Bytes(used_in(&self.registry, volume.id(), used)))
        };
        volumes.map(told).collect()
    }
}

impl Errand<'_> {
    /// Bytes that an object and everything in it use.
    pub(super) fn used_in(&self, object: ObjectId) -> u64 {
        used_in(self.registry, object, &|leaf| self.at.world.used(leaf))
    }

    /// Updates the used size of an object in the registry, for a policy that is attached or changed
    /// now.
    pub(super) fn measure(&mut self, object: ObjectId) {
        let At { now, world, .. } = self.at;
        take_in(self.registry, object, now, &|leaf| world.used(leaf));
    }

    /// The sizes of one message as tables print them; in bytes if two different ones would print
    /// alike.
    pub(super) fn sizes<const N: usize>(&self, bytes: [u64; N]) -> [String; N] {
        let texts = bytes.map(|bytes| size_text(bytes, self.units));
        let looks_same = |a: usize, b: usize| bytes[a] != bytes[b] && texts[a] == texts[b];
        match (0..N).any(|a| (0..a).any(|b| looks_same(a, b))) {
            true => bytes.map(|bytes| format!("{bytes}B")),
            false => texts,
        }
    }

    /// Whether an object's own policy depends on its sizes.
    pub(super) fn follows_size(&self, object: ObjectId) -> bool {
        self.registry.object(object).is_some_and(|object| is_adaptive(self.registry, object))
    }
}

fn take_in(registry: &mut Registry, id: ObjectId, now: Time, used: &dyn Fn(ObjectId) -> u64) {
    let Some(object) = registry.object(id).filter(|object| object.kind().has_size()) else { return };
    let used = used_in(registry, id, used);
    // A clients' file is allocated only what it uses.
    let allocated = if object.kind() == ObjectKind::ClientFile { used } else { object.size().allocated.0 };
    let size = whole(allocated, used);
    registry.set_size(id, size, now).expect("it exists and its kind has a size");
}

fn used_in(registry: &Registry, object: ObjectId, used: &dyn Fn(ObjectId) -> u64) -> u64 {
    match registry.object(object) {
        Some(object) if object.kind().is_leaf() => used(object.id()),
        Some(object) => {
            let own = if object.kind() == ObjectKind::Volume { used(object.id()) } else { 0 };
            // The volume's own tree includes clients' files.
            let counts = |child: &ObjectId| registry.object(*child).is_none_or(|c| c.kind() != ObjectKind::ClientFile);
            own + object.children().filter(counts).map(|child| used_in(registry, child, used)).sum::<u64>()
        }
        None => 0,
    }
}

fn is_adaptive(registry: &Registry, object: &Object) -> bool {
    let group = object.membership().and_then(|membership| registry.group_of(membership.group));
    group.is_some_and(|group| group.policy().adaptive().is_some())
}

#[cfg(test)]
mod tests {
    use crate::{Administration, At, Sample, World};
    use block::{Bytes, ObjectId, Time};
    use qos::{RegistrySettings, Units};
    use std::sync::Arc;

    /// An SVM `s` with an adaptive group `a` of 1000 expected and 1500 peak IOPS per TB, both by
    /// allocated space.
    fn administration(units: Units) -> Administration {
        let mut administration = Administration::new(RegistrySettings { units, ..RegistrySettings::default() });
        for line in [
            "vserver create s",
            "qos adaptive-policy-group create a -expected-iops 1000iops/tb -peak-iops 1500iops/tb \
             -peak-iops-allocation allocated-space -block-size 4k",
        ] {
            run(&mut administration, line);
        }
        administration
    }

    fn run(administration: &mut Administration, line: &str) -> String {
        let outcome = administration.execute(line, Time::ZERO, &|_| 0);
        outcome.unwrap_or_else(|error| panic!("{line}: {error}")).answer.text()
    }

    /// The floor and the ceiling in force for `s:/vol/NAME`.
    fn in_force(administration: &Administration, volume: &str) -> (Option<u64>, Option<u64>) {
        let path = format!("s:/vol/{volume}");
        let found = administration.limits().into_iter().find(|(name, _)| *name == path);
        found.map_or((None, None), |(_, limits)| (limits.floor_iops, limits.ceiling_iops))
    }

    /// The published examples, exactly, from the command line; and the results of the same commands
    /// if a GB is 2^30 bytes both in sizes and in rates.
    #[test]
    fn a_typed_size_and_a_rate_count_in_the_same_units() {
        // 100/1000 TB: 100 and 150. 100/1024 TB: 97.6 and 146.4, cut. 10 TB is ten of either.
        for (units, hundred) in [(Units::Decimal, (100, 150)), (Units::Binary, (97, 146))] {
            let mut administration = administration(units);
            run(&mut administration, "volume create v -size 100GB -qos-adaptive-policy-group a");
            assert_eq!(in_force(&administration, "v"), (Some(hundred.0), Some(hundred.1)), "{units:?}");
            run(&mut administration, "volume modify v -size 10TB");
            assert_eq!(in_force(&administration, "v"), (Some(10_000), Some(15_000)), "{units:?}");
        }
        // EpicProd: 5 TB at 15000 IOPS/TB is a floor of 75 000.
        let mut administration = administration(Units::Decimal);
        run(
            &mut administration,
            "qos adaptive-policy-group create e -expected-iops 15000 -peak-iops 30000 -block-size any",
        );
        run(&mut administration, "volume create w -size 5TB -qos-adaptive-policy-group e");
        // Nothing is used yet, and the peak counts used space: the ceiling is the floor.
        assert_eq!(in_force(&administration, "w"), (Some(75_000), Some(75_000)));
    }

    /// A size in bytes or in units with an `i` is exact: 100 GiB at 1500 per TB is 161 in decimal
    /// and 146 in binary units.
    #[test]
    fn a_size_in_bytes_is_taken_as_it_is() {
        for (units, ceiling) in [(Units::Decimal, 161), (Units::Binary, 146)] {
            for size in ["107374182400", "100GiB"] {
                let mut administration = administration(units);
                run(&mut administration, &format!("volume create v -size {size} -qos-adaptive-policy-group a"));
                assert_eq!(in_force(&administration, "v").1, Some(ceiling), "{units:?} {size}");
            }
        }
    }

    #[test]
    fn a_size_that_is_none_is_refused() {
        let mut administration = administration(Units::Decimal);
        let mut told = |line: &str| administration.execute(line, Time::ZERO, &|_| 0).map_err(|error| error.to_string());
        // 300 TiB are 329 853 488 332 800 bytes, so 329 TB are a volume and 330 TB are none; of a
        // LUN 140 and 141 TB.
        assert!(told("volume create v -size 329TB").is_ok());
        assert!(told("volume create v2 -size 300TiB").is_ok());
        for size in ["330TB", "999999TB", "5000PB"] {
            let wanted = format!("size {size}: a volume has from 1 byte up to 300 TiB (329853488332800 bytes)");
            assert_eq!(told(&format!("volume create w -size {size}")).unwrap_err(), wanted);
            assert_eq!(told(&format!("volume modify v -size {size}")).unwrap_err(), wanted);
        }
        assert!(told("lun create /vol/v/l -size 140TB").is_ok());
        for line in [
            "lun create /vol/v/m -size 141TB",
            "volume file create /f -volume v -size 141TB",
            "lun modify /vol/v/l -size 141TB",
        ] {
            let wanted = "size 141TB: a LUN or file has from 1 byte up to 128 TiB (140737488355328 bytes)";
            assert_eq!(told(line).unwrap_err(), wanted);
        }
        assert!(told("volume create w -size 0").is_err());
        assert!(told("volume create w -size 18447PB").unwrap_err().contains("18447PB"), "more than 2^64");
    }

    /// The space that LUNs and files use counts for their volume, wherever they are in it; an empty
    /// volume uses nothing.
    #[test]
    fn a_volume_uses_what_is_in_it() {
        let mut administration = administration(Units::Decimal);
        for line in [
            "volume create v -size 1TB",
            "lun create /vol/v/l -size 1GB",
            "volume qtree create q -volume v",
            "lun create /vol/v/q/m -size 1GB",
            "volume create w -size 1TB",
        ] {
            run(&mut administration, line);
        }
        let used = administration.used_by_volume(&|_| 1000);
        assert_eq!(used, [("s:/vol/v".to_owned(), Bytes(3000)), ("s:/vol/w".to_owned(), Bytes(1000))]);
    }

    /// What was asked of the store.
    #[derive(Default)]
    struct Asked(std::cell::RefCell<(u32, u32)>);

    impl World for Asked {
        fn used(&self, _: ObjectId) -> u64 {
            self.0.borrow_mut().0 += 1;
            1 << 20
        }

        fn owned(&self, trees: &mut dyn Iterator<Item = ObjectId>) -> u64 {
            self.0.borrow_mut().1 += 1;
            trees.count() as u64 * (1 << 20)
        }

        fn connections(&self, _: ObjectId) -> u64 {
            0
        }

        fn sample(&self) -> Arc<Sample> {
            Arc::default()
        }

        fn uuid(&self) -> u128 {
            1
        }
    }

    /// Two volumes, with two LUNs and one, and a snapshot of each. Counts the LUNs whose used space
    /// is asked for, and the snapshots whose own space is.
    #[test]
    fn sizes_are_measured_only_for_rows_and_rules_that_need_them() {
        let mut administration = administration(Units::Decimal);
        for line in [
            "volume create v -size 1TB",
            "lun create /vol/v/l -size 1GB",
            "lun create /vol/v/m -size 1GB",
            "volume create w -size 1TB",
            "lun create /vol/w/l -size 1GB",
            "volume snapshot create v -snapshot s",
            "volume snapshot create w -snapshot s",
        ] {
            run(&mut administration, line);
        }
        let mut asked = |line: &str| {
            let asked = Asked::default();
            let at = At { now: Time::ZERO, began: 0, world: &asked };
            let outcome = administration.run(ontap::parse(line).unwrap(), &at);
            let (used, owned) = asked.0.take();
            (outcome.unwrap_or_else(|error| panic!("{line}: {error}")).answer.text(), used, owned)
        };
        for (line, used, owned) in [
            ("help", 0, 0),
            ("lun show", 0, 0),
            ("volume show", 5, 0),
            ("volume show v", 3, 0),
            ("volume show -fields size,uuid", 0, 0),
            ("volume show -used >1GB -volume w", 2, 0),
            ("volume show x", 0, 0),
            ("volume snapshot show", 0, 2),
            ("volume snapshot show -volume w", 0, 1),
            ("volume snapshot show -fields create-time", 0, 0),
            ("volume snapshot show -size <1GB -snapshot t", 0, 0),
            ("volume modify v -size 2TB", 0, 0),
            ("qos policy-group create f -max-throughput 5iops", 0, 0),
            ("volume modify v -qos-policy-group f", 0, 0),
            ("volume modify w -qos-adaptive-policy-group a", 2, 0),
            ("volume modify w -size 2TB", 2, 0),
        ] {
            let (answer, found_used, found_owned) = asked(line);
            assert_eq!((found_used, found_owned), (used, owned), "{line}\n{answer}");
        }
        let (answer, ..) = asked("volume snapshot show -volume v -instance");
        // Three trees of 1 MiB, as the volume has one of its own: 3 145 728 bytes.
        assert!(answer.contains("Snapshot Size: 3.15MB"), "{answer}");
    }

    /// Growth of used space is followed after four minutes, not before, and a change of less than
    /// 10 IOPS is ignored.
    #[test]
    fn what_is_used_is_followed_in_time() {
        let mut administration = administration(Units::Decimal);
        let lines = [
            "qos adaptive-policy-group modify a -peak-iops-allocation used-space",
            "volume create v -size 1TB -qos-adaptive-policy-group a",
            "lun create /vol/v/l -size 1TB",
        ];
        for line in lines {
            run(&mut administration, line);
        }
        assert_eq!(in_force(&administration, "v").1, Some(1000), "nothing used: the floor");
        let mut follow = |seconds: u64, used: u64| {
            // The volume's number is 2, and no client has made a file on it.
            let used = |object: ObjectId| if object == ObjectId(2) { 0 } else { used };
            let edits = administration.follow_sizes(Time::from_nanos(seconds * 1_000_000_000), &used);
            (edits.len(), in_force(&administration, "v").1)
        };
        // 0.8 TB used at 1500 a TB: 1200.
        assert_eq!(follow(10, 800_000_000_000), (0, Some(1000)));
        assert_eq!(follow(249, 800_000_000_000), (0, Some(1000)));
        assert_eq!(follow(251, 800_000_000_000), (1, Some(1200)));
        // 0.806 TB: 1209.
        assert_eq!(follow(260, 806_000_000_000), (0, Some(1200)));
        assert_eq!(follow(520, 806_000_000_000), (0, Some(1200)));
    }
}
