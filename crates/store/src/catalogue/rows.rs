//! The catalogue's rows: written and read, and what they come to.

use super::{Contents, Kind, ObjectRow, PolicyRow, SnapshotLeafRow, SnapshotRow};
use crate::catalogue::CatalogueId;
use crc32c::crc32c_append;
use rusqlite::{Connection, Row, Transaction, params};
use std::collections::BTreeMap;

/// All of them.
pub(super) fn read(db: &Connection) -> rusqlite::Result<Contents> {
    let mut query = db.prepare("SELECT id, kind, parent, name, size, policy, template, fair, offline FROM object")?;
    let objects =
        query.query_map([], |row| object_of(row).map(|object| (object.id, object)))?.collect::<Result<_, _>>()?;
    let mut query = db.prepare("SELECT id, svm, name, uuid, settings FROM policy_group")?;
    let policies =
        query.query_map([], |row| policy_of(row).map(|policy| (policy.id, policy)))?.collect::<Result<_, _>>()?;
    let fair = db.query_row("SELECT fair FROM pool", [], |row| row.get(0))?;
    Ok(Contents { objects, policies, snapshots: read_snapshots(db)?, fair })
}

fn read_snapshots(db: &Connection) -> rusqlite::Result<BTreeMap<CatalogueId, SnapshotRow>> {
    let mut query = db.prepare("SELECT id, volume, name, created FROM snapshot")?;
    let mut snapshots: BTreeMap<CatalogueId, SnapshotRow> = query
        .query_map([], |row| snapshot_of(row).map(|snapshot| (snapshot.id, snapshot)))?
        .collect::<Result<_, _>>()?;
    let mut query = db.prepare("SELECT snapshot, tree, kind, qtree, name, size FROM snapshot_leaf ORDER BY tree")?;
    let leaves = query.query_map([], |row| Ok((row.get::<_, u32>(0)?, leaf_of(row)?)))?;
    for leaf in leaves {
        let (snapshot, leaf) = leaf?;
        if let Some(snapshot) = snapshots.get_mut(&snapshot) {
            snapshot.leaves.push(leaf);
        }
    }
    Ok(snapshots)
}

pub(super) fn write_snapshot(change: &Transaction<'_>, row: &SnapshotRow) -> rusqlite::Result<()> {
    let SnapshotRow { id, volume, name, created, leaves } = row;
    let sql = "INSERT INTO snapshot (id, volume, name, created) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (id) DO UPDATE SET volume = excluded.volume, name = excluded.name, created = excluded.created";
    change.execute(sql, params![id, volume, name, *created as i64])?;
    change.execute("DELETE FROM snapshot_leaf WHERE snapshot = ?1", [id])?;
    let sql = "INSERT INTO snapshot_leaf (tree, snapshot, kind, qtree, name, size) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    for SnapshotLeafRow { tree, kind, qtree, name, size } in leaves {
        change.execute(sql, params![tree, id, kind.word(), qtree, name, *size as i64])?;
    }
    Ok(())
}

pub(super) fn write_object(change: &Transaction<'_>, row: &ObjectRow) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO object (id, kind, parent, name, size, policy, template, fair, offline)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
               ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, parent = excluded.parent, name = excluded.name,
               size = excluded.size, policy = excluded.policy, template = excluded.template, fair = excluded.fair,
               offline = excluded.offline";
    let ObjectRow { id, kind, parent, name, size, policy, template, fair, offline } = row;
    change.execute(sql, params![id, kind.word(), parent, name, *size as i64, policy, template, fair, offline])
}

pub(super) fn write_policy(change: &Transaction<'_>, row: &PolicyRow) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO policy_group (id, svm, name, uuid, settings) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (id) DO UPDATE SET svm = excluded.svm, name = excluded.name, uuid = excluded.uuid,
               settings = excluded.settings";
    let PolicyRow { id, svm, name, uuid, settings } = row;
    change.execute(sql, params![id, svm, name, uuid, settings])
}

impl Kind {
    /// The word in the catalogue.
    const fn word(self) -> &'static str {
        match self {
            Kind::Svm => "svm",
            Kind::Volume => "volume",
            Kind::Qtree => "qtree",
            Kind::Lun => "lun",
            Kind::File => "file",
        }
    }

    fn of_word(word: &str) -> Option<Kind> {
        [Kind::Svm, Kind::Volume, Kind::Qtree, Kind::Lun, Kind::File].into_iter().find(|kind| kind.word() == word)
    }
}

/// The kind in a column.
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
    })
}

fn object_of(row: &Row<'_>) -> rusqlite::Result<ObjectRow> {
    let kind = kind_of(row, 1)?;
    let size: i64 = row.get(4)?;
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
    })
}

fn policy_of(row: &Row<'_>) -> rusqlite::Result<PolicyRow> {
    Ok(PolicyRow { id: row.get(0)?, svm: row.get(1)?, name: row.get(2)?, uuid: row.get(3)?, settings: row.get(4)? })
}

/// A checksum of everything that a catalogue says: any bit of it that changes is noticed, whatever SQLite makes of it.
pub(crate) fn digest(pool: u64, generation: u64, contents: &Contents) -> u32 {
    let mut sum = Digest { crc: 0, bytes: Vec::new() };
    let Contents { objects, policies, snapshots, fair } = contents;
    sum.numbers(&[pool, generation, objects.len() as u64, policies.len() as u64, snapshots.len() as u64]);
    sum.numbers(&[u64::from(*fair)]);
    for ObjectRow { id, kind, parent, name, size, policy, template, fair, offline } in objects.values() {
        sum.numbers(&[u64::from(*id), *size, u64::from(*fair), u64::from(*offline)]);
        [parent, policy, template].into_iter().for_each(|other| sum.maybe(*other));
        sum.texts(&[kind.word(), name]);
    }
    for PolicyRow { id, svm, name, uuid, settings } in policies.values() {
        sum.numbers(&[u64::from(*id), u64::from(*svm)]);
        sum.texts(&[name, uuid, settings]);
    }
    for SnapshotRow { id, volume, name, created, leaves } in snapshots.values() {
        sum.numbers(&[u64::from(*id), u64::from(*volume), *created, leaves.len() as u64]);
        sum.texts(&[name]);
        // The order in which they were made is not kept.
        let leaves: BTreeMap<u32, &SnapshotLeafRow> = leaves.iter().map(|leaf| (leaf.tree, leaf)).collect();
        for SnapshotLeafRow { tree, kind, qtree, name, size } in leaves.into_values() {
            sum.numbers(&[u64::from(*tree), *size, u64::from(qtree.is_some())]);
            sum.texts(&[kind.word(), qtree.as_deref().unwrap_or_default(), name]);
        }
    }
    sum.end()
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

    /// Each with its length, so that none runs into the next.
    fn texts(&mut self, texts: &[&str]) {
        for text in texts {
            self.numbers(&[text.len() as u64]);
            self.bytes.extend(text.as_bytes());
        }
        self.crc = crc32c_append(self.crc, &self.bytes);
        self.bytes.clear();
    }

    fn end(self) -> u32 {
        crc32c_append(self.crc, &self.bytes)
    }
}
