//! Converts the registry's records to rows of the catalogue and back. The settings of a policy
//! group are stored as JSON, with types of this file: the core's types do not know how they are
//! stored.

use admin::{
    Administration, CachePartition, CloneOrigin, FileNode, ObjectDetails, Partitions, Snapshot, SnapshotLeaf,
    Snapshots, Touched, uuid_text,
};
use block::{Bytes, BytesPerSecond, Iops, ObjectId, Span};
use qos::{
    AdaptivePolicy, Allocation, BlockSize, BurstKnobs, Catalogue, Density, FixedPolicy, GroupId, GroupRecord,
    ObjectKind, ObjectRecord, PeakMode, Per, Policy, Rates, Registry, RegistrySettings, Size,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use store::{Changes, Contents, Kind, ObjectRow, PartitionRow, PolicyRow, SnapshotLeafRow, SnapshotRow};

const _: () =
    assert!(store::BUILT_IN_POLICIES == qos::BUILT_IN_GROUPS, "groups without rows are those that are built in");

/// A row that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("catalogue: policy group {name}: {reason}")]
pub struct UnreadablePolicy {
    name: String,
    reason: String,
}

/// The rows to write for what a command touched, in the administration's present state.
pub(crate) fn changes_of(administration: &Administration, touched: &Touched) -> Changes {
    let Administration { registry, snapshots, partitions, .. } = administration;
    let Touched { objects, groups, snapshots: numbers, partitions: parts } = touched;
    let object = |id: &ObjectId| registry.object_record(*id).map(|record| object_row(&record, administration));
    let policy = |id: &GroupId| registry.group_record(*id).as_ref().map(policy_row);
    Changes {
        objects: objects.iter().map(|id| (id.0, object(id))).collect(),
        policies: groups.iter().map(|id| (id.0, policy(id))).collect(),
        snapshots: numbers.iter().map(|id| (*id, snapshots.get(*id).map(snapshot_row))).collect(),
        partitions: parts.iter().map(|id| (*id, partitions.get(*id).map(partition_row))).collect(),
        fair: Some(registry.fair()),
    }
}

/// The records that the registry is restored from. `used` returns the bytes that an object uses.
pub(crate) fn records_of(contents: &Contents, used: impl Fn(&ObjectRow) -> u64) -> Result<Catalogue, UnreadablePolicy> {
    Ok(Catalogue {
        objects: contents.objects.values().map(|row| object_record(row, used(row))).collect(),
        groups: contents.policies.values().map(group_record).collect::<Result<_, _>>()?,
        fair: contents.fair,
        last_object: contents.last_object,
    })
}

/// Checks that a server would accept a catalogue.
///
/// # Errors
/// In one line, the rule that it breaks.
pub fn check_catalogue(contents: &Contents) -> Result<(), String> {
    let records = records_of(contents, |_| 0).map_err(|error| error.to_string())?;
    let restored = Registry::restore(RegistrySettings::default(), &records);
    restored.map(|_| ()).map_err(|refusal| format!("catalogue: {refusal}"))
}

/// The snapshots in the catalogue.
pub(crate) fn snapshots_of(contents: &Contents) -> Snapshots {
    Snapshots::new(contents.snapshots.values().map(snapshot))
}

/// The offline LUNs in the catalogue.
pub(crate) fn offline_of(contents: &Contents) -> BTreeSet<ObjectId> {
    contents.objects.values().filter(|row| row.offline).map(|row| ObjectId(row.id)).collect()
}

/// The cache partitions in the catalogue.
pub(crate) fn partitions_of(contents: &Contents) -> Partitions {
    Partitions::new(contents.partitions.values().map(|row| CachePartition {
        id: row.id,
        name: row.name.clone(),
        size: row.size,
        volumes: row.volumes.iter().copied().map(ObjectId).collect(),
        memory_only: row.memory_only,
    }))
}

fn partition_row(partition: &CachePartition) -> PartitionRow {
    let CachePartition { id, name, size, volumes, memory_only } = partition;
    let volumes = volumes.iter().map(|volume| volume.0).collect();
    PartitionRow { id: *id, name: name.clone(), size: *size, volumes, memory_only: *memory_only }
}

/// The details of objects beyond sizes and policies. An operating system type that this version
/// does not know is read as the default: hosts see a plain block device in any case.
pub(crate) fn details_of(contents: &Contents) -> BTreeMap<ObjectId, ObjectDetails> {
    let details = |row: &ObjectRow| ObjectDetails {
        os_type: row.os_type.as_ref().and_then(|word| word.parse().ok()).unwrap_or_default(),
        created: row.created,
        junction: row.junction.as_ref().and_then(|path| path.parse().ok()),
        placed: row.placed,
        origin: row
            .origin
            .map(|volume| CloneOrigin { volume: ObjectId(volume), snapshot: row.origin_snapshot.clone() }),
        node: row.node.map(|(number, generation)| FileNode { number, generation }),
    };
    let all = contents.objects.values().map(|row| (ObjectId(row.id), details(row)));
    all.filter(|(_, details)| *details != ObjectDetails::default()).collect()
}

fn snapshot_row(snapshot: &Snapshot) -> SnapshotRow {
    let leaf = |leaf: &SnapshotLeaf| SnapshotLeafRow {
        tree: leaf.tree.0,
        kind: kind_of(leaf.kind),
        qtree: leaf.qtree.clone(),
        name: leaf.name.clone(),
        size: leaf.size,
        os_type: (leaf.kind == ObjectKind::Lun).then(|| leaf.os_type.to_string()),
    };
    SnapshotRow {
        id: snapshot.id,
        volume: snapshot.volume.0,
        name: snapshot.name.clone(),
        created: snapshot.created,
        comment: snapshot.comment.clone(),
        leaves: snapshot.leaves.iter().map(leaf).collect(),
    }
}

fn snapshot(row: &SnapshotRow) -> Snapshot {
    let leaf = |leaf: &SnapshotLeafRow| SnapshotLeaf {
        tree: ObjectId(leaf.tree),
        kind: object_kind_of(leaf.kind),
        qtree: leaf.qtree.clone(),
        name: leaf.name.clone(),
        size: leaf.size,
        os_type: leaf.os_type.as_ref().and_then(|word| word.parse().ok()).unwrap_or_default(),
    };
    Snapshot {
        id: row.id,
        volume: ObjectId(row.volume),
        name: row.name.clone(),
        created: row.created,
        comment: row.comment.clone(),
        leaves: row.leaves.iter().map(leaf).collect(),
    }
}

fn kind_of(kind: ObjectKind) -> Kind {
    match kind {
        ObjectKind::Svm => Kind::Svm,
        ObjectKind::Volume => Kind::Volume,
        ObjectKind::Qtree => Kind::Qtree,
        ObjectKind::Lun => Kind::Lun,
        ObjectKind::File => Kind::File,
        ObjectKind::ClientFile => Kind::ClientFile,
    }
}

fn object_kind_of(kind: Kind) -> ObjectKind {
    match kind {
        Kind::Svm => ObjectKind::Svm,
        Kind::Volume => ObjectKind::Volume,
        Kind::Qtree => ObjectKind::Qtree,
        Kind::Lun => ObjectKind::Lun,
        Kind::File => ObjectKind::File,
        Kind::ClientFile => ObjectKind::ClientFile,
    }
}

fn object_row(record: &ObjectRecord, administration: &Administration) -> ObjectRow {
    let kind = kind_of(record.kind);
    let ObjectDetails { os_type, created, junction, placed, origin, node } = administration.details(record.id);
    let (origin, origin_snapshot) = origin.map_or((None, None), |origin| (Some(origin.volume.0), origin.snapshot));
    ObjectRow {
        id: record.id.0,
        kind,
        parent: record.parent.map(|parent| parent.0),
        name: record.name.clone(),
        size: record.size.allocated.0,
        policy: record.group.map(|group| group.0),
        template: record.template.map(|group| group.0),
        fair: record.fair,
        offline: administration.offline.contains(&record.id),
        os_type: (kind == Kind::Lun).then(|| os_type.to_string()),
        created,
        junction: junction.map(|path| path.to_string()),
        placed,
        origin,
        origin_snapshot,
        node: node.map(|FileNode { number, generation }| (number, generation)),
    }
}

fn object_record(row: &ObjectRow, used: u64) -> ObjectRecord {
    let kind = object_kind_of(row.kind);
    ObjectRecord {
        id: ObjectId(row.id),
        kind,
        parent: row.parent.map(ObjectId),
        name: row.name.clone(),
        size: Size { allocated: Bytes(row.size), used: Bytes(used) },
        group: row.policy.map(GroupId),
        template: row.template.map(GroupId),
        fair: row.fair,
    }
}

fn policy_row(record: &GroupRecord) -> PolicyRow {
    let settings = match &record.policy {
        Policy::Fixed(policy) => Settings::Fixed(policy.into()),
        Policy::Adaptive(policy) => Settings::Adaptive(policy.into()),
    };
    PolicyRow {
        id: record.id.0,
        svm: record.svm.0,
        name: record.name.clone(),
        uuid: uuid_text(record.uuid),
        settings: serde_json::to_string(&settings).expect("plain numbers and words"),
    }
}

fn group_record(row: &PolicyRow) -> Result<GroupRecord, UnreadablePolicy> {
    let unreadable = |reason: String| UnreadablePolicy { name: row.name.clone(), reason };
    let settings: Settings = serde_json::from_str(&row.settings).map_err(|error| unreadable(error.to_string()))?;
    let uuid = u128::from_str_radix(&row.uuid.replace('-', ""), 16);
    Ok(GroupRecord {
        id: GroupId(row.id),
        name: row.name.clone(),
        uuid: uuid.map_err(|_| unreadable(format!("{:?} is no UUID", row.uuid)))?,
        svm: ObjectId(row.svm),
        policy: match settings {
            Settings::Fixed(fixed) => Policy::Fixed(fixed.into()),
            Settings::Adaptive(adaptive) => Policy::Adaptive(adaptive.policy().map_err(unreadable)?),
        },
    })
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Settings {
    Fixed(Fixed),
    Adaptive(Adaptive),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixed {
    max_iops: Option<u64>,
    max_bytes: Option<u64>,
    min_iops: Option<u64>,
    min_bytes: Option<u64>,
    #[serde(default)]
    latency_ns: Option<u64>,
    shared: bool,
    burst: Knobs,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    auto_generated: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Adaptive {
    expected: Rate,
    peak: Rate,
    expected_on_used: bool,
    peak_on_used: bool,
    absolute_min: Option<u64>,
    #[serde(default)]
    latency_ns: Option<u64>,
    block_kib: Option<u64>,
    burst: Knobs,
    peak_on_credit: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    iops: u64,
    per_gb: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Knobs {
    percent: Option<u32>,
    duration_ns: Option<u64>,
    iops: Option<u64>,
}

impl From<&FixedPolicy> for Fixed {
    fn from(policy: &FixedPolicy) -> Fixed {
        Fixed {
            max_iops: policy.ceiling.iops.map(|rate| rate.0),
            max_bytes: policy.ceiling.bytes.map(|rate| rate.0),
            min_iops: policy.floor.iops.map(|rate| rate.0),
            min_bytes: policy.floor.bytes.map(|rate| rate.0),
            latency_ns: policy.expected_latency.map(Span::as_nanos),
            shared: policy.shared,
            burst: policy.burst.into(),
            auto_generated: policy.auto_generated,
        }
    }
}

impl From<Fixed> for FixedPolicy {
    fn from(fixed: Fixed) -> FixedPolicy {
        let rates =
            |iops: Option<u64>, bytes: Option<u64>| Rates { iops: iops.map(Iops), bytes: bytes.map(BytesPerSecond) };
        FixedPolicy {
            ceiling: rates(fixed.max_iops, fixed.max_bytes),
            floor: rates(fixed.min_iops, fixed.min_bytes),
            expected_latency: fixed.latency_ns.map(Span::from_nanos),
            shared: fixed.shared,
            burst: fixed.burst.into(),
            auto_generated: fixed.auto_generated,
        }
    }
}

const BLOCK_SIZES: [(BlockSize, Option<u64>); 7] = [
    (BlockSize::Any, None),
    (BlockSize::K4, Some(4)),
    (BlockSize::K8, Some(8)),
    (BlockSize::K16, Some(16)),
    (BlockSize::K32, Some(32)),
    (BlockSize::K64, Some(64)),
    (BlockSize::K128, Some(128)),
];

impl From<&AdaptivePolicy> for Adaptive {
    fn from(policy: &AdaptivePolicy) -> Adaptive {
        let rate = |density: Density| Rate { iops: density.iops.0, per_gb: density.per == Per::Gb };
        let block = BLOCK_SIZES.iter().find(|(size, _)| *size == policy.block_size);
        Adaptive {
            expected: rate(policy.expected),
            peak: rate(policy.peak),
            expected_on_used: policy.expected_allocation == Allocation::Used,
            peak_on_used: policy.peak_allocation == Allocation::Used,
            absolute_min: policy.absolute_min.map(|rate| rate.0),
            latency_ns: policy.expected_latency.map(Span::as_nanos),
            block_kib: block.and_then(|(_, kib)| *kib),
            burst: policy.burst.into(),
            peak_on_credit: policy.peak_mode.map(|mode| mode == PeakMode::Credits),
        }
    }
}

impl Adaptive {
    /// The policy, or what this version does not understand in it.
    fn policy(self) -> Result<AdaptivePolicy, String> {
        let adaptive = self;
        let density = |rate: Rate| Density { iops: Iops(rate.iops), per: if rate.per_gb { Per::Gb } else { Per::Tb } };
        let allocation = |used| if used { Allocation::Used } else { Allocation::Allocated };
        let block = BLOCK_SIZES.iter().find(|(_, kib)| *kib == adaptive.block_kib);
        let (block_size, _) = *block.ok_or_else(|| {
            let kib = adaptive.block_kib.unwrap_or_default();
            format!("its block_kib is {kib}; there are none and 4, 8, 16, 32, 64 and 128")
        })?;
        Ok(AdaptivePolicy {
            expected: density(adaptive.expected),
            peak: density(adaptive.peak),
            expected_allocation: allocation(adaptive.expected_on_used),
            peak_allocation: allocation(adaptive.peak_on_used),
            absolute_min: adaptive.absolute_min.map(Iops),
            expected_latency: adaptive.latency_ns.map(Span::from_nanos),
            block_size,
            burst: adaptive.burst.into(),
            peak_mode: adaptive.peak_on_credit.map(|c| if c { PeakMode::Credits } else { PeakMode::Ceiling }),
        })
    }
}

impl From<BurstKnobs> for Knobs {
    fn from(burst: BurstKnobs) -> Knobs {
        Knobs {
            percent: burst.percent,
            duration_ns: burst.duration.map(Span::as_nanos),
            iops: burst.iops.map(|rate| rate.0),
        }
    }
}

impl From<Knobs> for BurstKnobs {
    fn from(knobs: Knobs) -> BurstKnobs {
        BurstKnobs {
            percent: knobs.percent,
            duration: knobs.duration_ns.map(Span::from_nanos),
            iops: knobs.iops.map(Iops),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_comes_back_as_it_was_kept() {
        let fixed = FixedPolicy {
            ceiling: Rates { iops: Some(Iops(10_000)), bytes: Some(BytesPerSecond(300_000_000)) },
            floor: Rates { iops: Some(Iops(100)), bytes: None },
            expected_latency: Some(Span::from_micros(400)),
            shared: true,
            burst: BurstKnobs { percent: Some(50), duration: Some(Span::SECOND), iops: None },
            auto_generated: true,
        };
        let adaptive = AdaptivePolicy {
            expected: Density { iops: Iops(3), per: Per::Gb },
            peak: Density::per_tb(4096),
            expected_allocation: Allocation::Used,
            peak_allocation: Allocation::Allocated,
            absolute_min: Some(Iops(75)),
            expected_latency: Some(Span::from_millis(17)),
            block_size: BlockSize::K4,
            burst: BurstKnobs { iops: Some(Iops(9000)), ..BurstKnobs::default() },
            peak_mode: Some(PeakMode::Credits),
        };
        for policy in [Policy::Fixed(fixed), Policy::Adaptive(adaptive)] {
            let uuid = 0x63ab_2b0a_1111_2222_3333_4444_5555_6666;
            let record = GroupRecord { id: GroupId(7), name: "p".into(), uuid, svm: ObjectId(1), policy };
            assert_eq!(group_record(&policy_row(&record)).unwrap(), record);
        }
    }

    /// The contents of the catalogue after some commands, stored one after the other.
    fn kept(lines: &[&str]) -> (Administration, Contents) {
        let (mut administration, mut contents) =
            (Administration::new(RegistrySettings::default()), Contents::default());
        for line in lines {
            let outcome = administration.execute(line, block::Time::ZERO, &|_| 0).unwrap();
            let mut changes = changes_of(&administration, &outcome.undo.touched());
            changes.leave_out_what_is_so(&contents);
            contents.apply(changes);
        }
        (administration, contents)
    }

    #[test]
    fn whether_svms_take_turns_is_kept() {
        for fair in [false, true] {
            let (_, contents) = kept(&[&format!("qos fairness modify -enable {fair}")]);
            assert_eq!(records_of(&contents, |_| 0).unwrap().fair, fair);
        }
    }

    #[test]
    fn which_luns_are_offline_is_kept() {
        let (administration, contents) = kept(&[
            "vserver create s",
            "volume create v -size 1GB",
            "lun create /vol/v/a -size 1MB",
            "lun create /vol/v/b -size 1MB",
            "lun offline /vol/v/b",
        ]);
        assert_eq!(administration.offline.len(), 1);
        assert_eq!(offline_of(&contents), administration.offline);
    }

    #[test]
    fn a_row_that_is_no_policy_is_named() {
        let row = PolicyRow { name: "p1".into(), settings: "{}".into(), ..PolicyRow::default() };
        assert!(group_record(&row).unwrap_err().to_string().starts_with("catalogue: policy group p1: "));
    }

    #[test]
    fn a_block_size_that_there_is_none_of_is_named() {
        let policy = Policy::Adaptive(AdaptivePolicy::new(Density::per_tb(1), Density::per_tb(2)));
        let mut row = policy_row(&GroupRecord { id: GroupId(1), name: "p1".into(), uuid: 1, svm: ObjectId(1), policy });
        assert!(row.settings.contains("\"block_kib\":32"), "{}", row.settings);
        row.settings = row.settings.replace("\"block_kib\":32", "\"block_kib\":33");
        assert_eq!(
            group_record(&row).unwrap_err().to_string(),
            "catalogue: policy group p1: its block_kib is 33; there are none and 4, 8, 16, 32, 64 and 128"
        );
    }
}
