//! The catalogue's rows: writing, reading, and their checksums.

use super::{Changes, Contents, Kind, ObjectRow, PolicyRow, SnapshotLeafRow, SnapshotRow};
use crate::catalogue::CatalogueId;
use crc32c::crc32c_append;
use rusqlite::{Connection, Row, Transaction, params};
use std::collections::BTreeMap;

/// A partition of the server's cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRow {
    /// Its number, from 1 on. The default partition has no row.
    pub id: CatalogueId,
    /// Its name, unique in the pool.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The volumes whose pages it caches, in order. A volume is in at most one partition.
    pub volumes: Vec<CatalogueId>,
    /// Whether its evicted pages stay out of the second level.
    pub memory_only: bool,
}

/// Reads all rows.
pub(super) fn read(db: &Connection) -> rusqlite::Result<Contents> {
    let mut query = db.prepare(
        "SELECT id, kind, parent, name, size, policy, template, fair, offline, os_type, created, junction, origin,
                origin_snapshot, node, generation, placed FROM object",
    )?;
    let objects =
        query.query_map([], |row| object_of(row).map(|object| (object.id, object)))?.collect::<Result<_, _>>()?;
    let mut query = db.prepare("SELECT id, svm, name, uuid, settings FROM policy_group")?;
    let policies =
        query.query_map([], |row| policy_of(row).map(|policy| (policy.id, policy)))?.collect::<Result<_, _>>()?;
    let of_pool = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (fair, last_object) = db.query_row("SELECT fair, last_object FROM pool", [], of_pool)?;
    let (snapshots, partitions) = (read_snapshots(db)?, read_partitions(db)?);
    Ok(Contents { objects, policies, snapshots, partitions, fair, last_object })
}

fn read_snapshots(db: &Connection) -> rusqlite::Result<BTreeMap<CatalogueId, SnapshotRow>> {
    let mut query = db.prepare("SELECT id, volume, name, created, comment FROM snapshot")?;
    let mut snapshots: BTreeMap<CatalogueId, SnapshotRow> = query
        .query_map([], |row| snapshot_of(row).map(|snapshot| (snapshot.id, snapshot)))?
        .collect::<Result<_, _>>()?;
    let mut query =
        db.prepare("SELECT snapshot, tree, kind, qtree, name, size, os_type FROM snapshot_leaf ORDER BY tree")?;
    let leaves = query.query_map([], |row| Ok((row.get::<_, u32>(0)?, leaf_of(row)?)))?;
    for leaf in leaves {
        let (snapshot, leaf) = leaf?;
        if let Some(snapshot) = snapshots.get_mut(&snapshot) {
            snapshot.leaves.push(leaf);
        }
    }
    Ok(snapshots)
}

fn read_partitions(db: &Connection) -> rusqlite::Result<BTreeMap<CatalogueId, PartitionRow>> {
    let mut query = db.prepare("SELECT id, name, size, memory_only FROM cache_partition")?;
    let partitions = query.query_map([], |row| {
        let size: i64 = row.get(2)?;
        let (id, name, memory_only) = (row.get(0)?, row.get(1)?, row.get(3)?);
        Ok(PartitionRow { id, name, size: size as u64, volumes: Vec::new(), memory_only })
    })?;
    let mut partitions: BTreeMap<CatalogueId, PartitionRow> =
        partitions.map(|row| row.map(|row| (row.id, row))).collect::<Result<_, _>>()?;
    let mut query = db.prepare("SELECT partition, volume FROM cache_volume ORDER BY volume")?;
    for pair in query.query_map([], |row| Ok((row.get::<_, u32>(0)?, row.get(1)?)))? {
        let (partition, volume) = pair?;
        if let Some(partition) = partitions.get_mut(&partition) {
            partition.volumes.push(volume);
        }
    }
    Ok(partitions)
}

/// Writes a partition; its volumes must have no rows yet.
pub(super) fn write_partition(change: &Transaction<'_>, row: &PartitionRow) -> rusqlite::Result<()> {
    let PartitionRow { id, name, size, volumes, memory_only } = row;
    let sql = "INSERT INTO cache_partition (id, name, size, memory_only) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (id) DO UPDATE SET name = excluded.name, size = excluded.size,
                   memory_only = excluded.memory_only";
    change.execute(sql, params![id, name, *size as i64, memory_only])?;
    for volume in volumes {
        change.execute("INSERT INTO cache_volume (volume, partition) VALUES (?1, ?2)", params![volume, id])?;
    }
    Ok(())
}

pub(super) fn write_snapshot(change: &Transaction<'_>, row: &SnapshotRow) -> rusqlite::Result<()> {
    let SnapshotRow { id, volume, name, created, comment, leaves } = row;
    let sql = "INSERT INTO snapshot (id, volume, name, created, comment) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (id) DO UPDATE SET volume = excluded.volume, name = excluded.name, created = excluded.created,
               comment = excluded.comment";
    change.execute(sql, params![id, volume, name, *created as i64, comment])?;
    change.execute("DELETE FROM snapshot_leaf WHERE snapshot = ?1", [id])?;
    let sql = "INSERT INTO snapshot_leaf (tree, snapshot, kind, qtree, name, size, os_type)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for SnapshotLeafRow { tree, kind, qtree, name, size, os_type } in leaves {
        change.execute(sql, params![tree, id, kind.word(), qtree, name, *size as i64, os_type])?;
    }
    Ok(())
}

pub(super) fn write_object(change: &Transaction<'_>, row: &ObjectRow) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO object (id, kind, parent, name, size, policy, template, fair, offline, os_type, created,
                                   junction, origin, origin_snapshot, node, generation, placed)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
               ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, parent = excluded.parent, name = excluded.name,
               size = excluded.size, policy = excluded.policy, template = excluded.template, fair = excluded.fair,
               offline = excluded.offline, os_type = excluded.os_type, created = excluded.created,
               junction = excluded.junction, origin = excluded.origin, origin_snapshot = excluded.origin_snapshot,
               node = excluded.node, generation = excluded.generation, placed = excluded.placed";
    let ObjectRow {
        id,
        kind,
        parent,
        name,
        size,
        policy,
        template,
        fair,
        offline,
        os_type,
        created,
        junction,
        placed,
        origin,
        origin_snapshot,
        node,
    } = row;
    let (node, generation) = (node.map(|(number, _)| number), node.map(|(_, generation)| generation as i64));
    let (kind, size, created, placed) = (kind.word(), *size as i64, *created as i64, *placed as i64);
    let values = params![
        id,
        kind,
        parent,
        name,
        size,
        policy,
        template,
        fair,
        offline,
        os_type,
        created,
        junction,
        origin,
        origin_snapshot,
        node,
        generation,
        placed
    ];
    change.execute(sql, values)
}

pub(super) fn write_policy(change: &Transaction<'_>, row: &PolicyRow) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO policy_group (id, svm, name, uuid, settings) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (id) DO UPDATE SET svm = excluded.svm, name = excluded.name, uuid = excluded.uuid,
               settings = excluded.settings";
    let PolicyRow { id, svm, name, uuid, settings } = row;
    change.execute(sql, params![id, svm, name, uuid, settings])
}

impl Kind {
    /// The kind's name in the catalogue.
    const fn word(self) -> &'static str {
        match self {
            Kind::Svm => "svm",
            Kind::Volume => "volume",
            Kind::Qtree => "qtree",
            Kind::Lun => "lun",
            Kind::File => "file",
            Kind::ClientFile => "client_file",
        }
    }

    fn of_word(word: &str) -> Option<Kind> {
        let all = [Kind::Svm, Kind::Volume, Kind::Qtree, Kind::Lun, Kind::File, Kind::ClientFile];
        all.into_iter().find(|kind| kind.word() == word)
    }
}

/// Reads the kind from a column.
fn kind_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Kind> {
    let word: String = row.get(column)?;
    Kind::of_word(&word).ok_or(rusqlite::Error::InvalidColumnName(word))
}

fn snapshot_of(row: &Row<'_>) -> rusqlite::Result<SnapshotRow> {
    let created: i64 = row.get(3)?;
    Ok(SnapshotRow {
        id: row.get(0)?,
        volume: row.get(1)?,
        name: row.get(2)?,
        created: created as u64,
        comment: row.get(4)?,
        leaves: Vec::new(),
    })
}

fn leaf_of(row: &Row<'_>) -> rusqlite::Result<SnapshotLeafRow> {
    let size: i64 = row.get(5)?;
    Ok(SnapshotLeafRow {
        tree: row.get(1)?,
        kind: kind_of(row, 2)?,
        qtree: row.get(3)?,
        name: row.get(4)?,
        size: size as u64,
        os_type: row.get(6)?,
    })
}

fn object_of(row: &Row<'_>) -> rusqlite::Result<ObjectRow> {
    let kind = kind_of(row, 1)?;
    let (size, created, placed): (i64, i64, i64) = (row.get(4)?, row.get(10)?, row.get(16)?);
    Ok(ObjectRow {
        id: row.get(0)?,
        kind,
        parent: row.get(2)?,
        name: row.get(3)?,
        size: size as u64,
        policy: row.get(5)?,
        template: row.get(6)?,
        fair: row.get(7)?,
        offline: row.get(8)?,
        os_type: row.get(9)?,
        created: created as u64,
        junction: row.get(11)?,
        placed: placed as u64,
        origin: row.get(12)?,
        origin_snapshot: row.get(13)?,
        node: row.get::<_, Option<u32>>(14)?.zip(row.get::<_, Option<i64>>(15)?.map(|generation| generation as u64)),
    })
}

fn policy_of(row: &Row<'_>) -> rusqlite::Result<PolicyRow> {
    Ok(PolicyRow { id: row.get(0)?, svm: row.get(1)?, name: row.get(2)?, uuid: row.get(3)?, settings: row.get(4)? })
}

/// The sum of the checksums of all rows. It does not depend on their order, so a change subtracts
/// the old rows and adds the new ones, however many others there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum(u32);

impl Sum {
    /// The sum of all rows of a catalogue.
    pub(super) fn of(contents: &Contents) -> Sum {
        let objects = contents.objects.values().map(ObjectRow::checksum);
        let policies = contents.policies.values().map(PolicyRow::checksum);
        let snapshots = contents.snapshots.values().map(SnapshotRow::checksum);
        let partitions = contents.partitions.values().map(PartitionRow::checksum);
        Sum(objects.chain(policies).chain(snapshots).chain(partitions).fold(0, u32::wrapping_add))
    }

    /// The sum after a change: `was` has the previous rows, `contents` the present ones.
    pub(super) fn after(self, was: &Changes, contents: &Contents) -> Sum {
        let mut sum = self;
        sum.replace(&was.objects, &contents.objects, ObjectRow::checksum);
        sum.replace(&was.policies, &contents.policies, PolicyRow::checksum);
        sum.replace(&was.snapshots, &contents.snapshots, SnapshotRow::checksum);
        sum.replace(&was.partitions, &contents.partitions, PartitionRow::checksum);
        sum
    }

    fn replace<T>(
        &mut self,
        was: &BTreeMap<CatalogueId, Option<T>>,
        is: &BTreeMap<CatalogueId, T>,
        checksum: impl Fn(&T) -> u32,
    ) {
        for (id, was) in was {
            let (was, is) = (was.as_ref().map_or(0, &checksum), is.get(id).map_or(0, &checksum));
            self.0 = self.0.wrapping_sub(was).wrapping_add(is);
        }
    }
}

/// A checksum of all contents of a catalogue; `sum` is that of its rows. Any changed bit is
/// detected, no matter how SQLite handles it.
pub(crate) fn digest(pool: u64, generation: u64, contents: &Contents, sum: Sum) -> u32 {
    let mut head = Digest { crc: 0, bytes: Vec::new() };
    let Contents { objects, policies, snapshots, partitions, fair, last_object } = contents;
    let rows = [objects.len(), policies.len(), snapshots.len(), partitions.len()];
    head.numbers(&[pool, generation]);
    head.numbers(&rows.map(|rows| rows as u64));
    head.numbers(&[u64::from(*fair), u64::from(*last_object), u64::from(sum.0)]);
    head.end()
}

/// Identifies a row's table, so that a row cannot be mistaken for one of another table.
const OBJECT: u64 = 1;
const POLICY: u64 = 2;
const SNAPSHOT: u64 = 3;
const PARTITION: u64 = 4;

impl ObjectRow {
    fn checksum(&self) -> u32 {
        let ObjectRow {
            id,
            kind,
            parent,
            name,
            size,
            policy,
            template,
            fair,
            offline,
            os_type,
            created,
            junction,
            placed,
            origin,
            origin_snapshot,
            node,
        } = self;
        let mut sum = Digest { crc: 0, bytes: Vec::new() };
        sum.numbers(&[OBJECT, u64::from(*id), *size, u64::from(*fair), u64::from(*offline), *created, *placed]);
        [parent, policy, template, origin].into_iter().for_each(|other| sum.maybe(*other));
        sum.maybe(node.map(|(number, _)| number));
        sum.numbers(&[node.map_or(0, |(_, generation)| generation)]);
        sum.texts(&[kind.word(), name]);
        // None of these is ever an empty string.
        sum.texts(&[os_type, junction, origin_snapshot].map(|text| text.as_deref().unwrap_or_default()));
        sum.mixed()
    }
}

impl PolicyRow {
    fn checksum(&self) -> u32 {
        let PolicyRow { id, svm, name, uuid, settings } = self;
        let mut sum = Digest { crc: 0, bytes: Vec::new() };
        sum.numbers(&[POLICY, u64::from(*id), u64::from(*svm)]);
        sum.texts(&[name, uuid, settings]);
        sum.mixed()
    }
}

impl SnapshotRow {
    fn checksum(&self) -> u32 {
        let SnapshotRow { id, volume, name, created, comment, leaves } = self;
        let mut sum = Digest { crc: 0, bytes: Vec::new() };
        sum.numbers(&[SNAPSHOT, u64::from(*id), u64::from(*volume), *created, leaves.len() as u64]);
        sum.texts(&[name, comment]);
        // The order of creation is not stored.
        let leaves: BTreeMap<u32, &SnapshotLeafRow> = leaves.iter().map(|leaf| (leaf.tree, leaf)).collect();
        for SnapshotLeafRow { tree, kind, qtree, name, size, os_type } in leaves.into_values() {
            sum.numbers(&[u64::from(*tree), *size, u64::from(qtree.is_some())]);
            sum.texts(&[
                kind.word(),
                qtree.as_deref().unwrap_or_default(),
                name,
                os_type.as_deref().unwrap_or_default(),
            ]);
        }
        sum.mixed()
    }
}

impl PartitionRow {
    fn checksum(&self) -> u32 {
        let PartitionRow { id, name, size, volumes, memory_only } = self;
        let mut sum = Digest { crc: 0, bytes: Vec::new() };
        sum.numbers(&[PARTITION, u64::from(*id), *size, u64::from(*memory_only), volumes.len() as u64]);
        volumes.iter().for_each(|volume| sum.numbers(&[u64::from(*volume)]));
        sum.texts(&[name]);
        sum.mixed()
    }
}

struct Digest {
    crc: u32,
    bytes: Vec<u8>,
}

impl Digest {
    fn numbers(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.bytes.extend(number.to_le_bytes()));
    }

    fn maybe(&mut self, number: Option<u32>) {
        self.numbers(&[number.map_or(0, |number| u64::from(number) + 1)]);
    }

    /// Adds texts, each with its length, so that they cannot run together.
    fn texts(&mut self, texts: &[&str]) {
        for text in texts {
            self.numbers(&[text.len() as u64]);
            self.bytes.extend(text.as_bytes());
        }
        self.crc = crc32c_append(self.crc, &self.bytes);
        self.bytes.clear();
    }

    /// The checksum after mixing. CRCs are linear: the same bit changed in two rows would change
    /// their sum by related amounts. This is the finaliser of MurmurHash3, which is a bijection.
    fn mixed(self) -> u32 {
        let mut sum = self.end();
        sum = (sum ^ sum >> 16).wrapping_mul(0x85eb_ca6b);
        sum = (sum ^ sum >> 13).wrapping_mul(0xc2b2_ae35);
        sum ^ sum >> 16
    }

    fn end(self) -> u32 {
        crc32c_append(self.crc, &self.bytes)
    }
}
