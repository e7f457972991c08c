//! Opening a pool: the newest valid table, the nodes that it names, and the records of the log that
//! follow it.

use crate::check::{Damage, Walk};
use crate::checkpoint::Checkpoint;
use crate::command::Region;
use crate::commit::Commit;
use crate::core::{Core, Settings, TREES_MAX, Tree};
use crate::end::{Agreed, Anchor, END_FORMAT, END_SIZE, End};
use crate::entry::{BLOCK, PAGE};
use crate::giving::Giving;
use crate::group::Groups;
use crate::limbo::Limbo;
use crate::record::{self, Action, Head, RECORD_ALIGN, Ring};
use crate::slots::{ByNumber, Slots};
use crate::space::Space;
use crate::table::{FORMAT, TABLE_HEADER, Table, TreeRow};
use crate::tree::{FANOUT, Nodes, Root, Words};
use block::Fault;
use crc32c::crc32c;
use std::collections::VecDeque;

/// The source from which a pool is opened or checked.
pub trait Media {
    /// Fills the buffer from byte `at` of a region, up to the region's end; returns the number of
    /// bytes.
    ///
    /// # Errors
    /// The disk failed.
    fn read(&mut self, region: Region, at: u64, buf: &mut [u8]) -> Result<usize, Fault>;

    /// Makes the contents of a region durable: what a server wrote before it died may only be in
    /// the page cache.
    ///
    /// # Errors
    /// The disk failed.
    fn settle(&mut self, region: Region) -> Result<(), Fault>;
}

/// Why a pool cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoverError {
    /// It was written by a later program.
    #[error("the maps have format {found}, this program knows up to {known}; use a newer seawall")]
    TooNew {
        /// Its format.
        found: u32,
        /// The latest known format.
        known: u32,
    },
    /// It was written by an earlier program.
    #[error("the maps have format {found}, this program needs {FORMAT}; copy the LUNs with the seawall that made them")]
    TooOld {
        /// Its format.
        found: u32,
    },
    /// It is damaged.
    #[error("{first}{}", and_more(*more))]
    Damaged {
        /// The first damage found.
        first: Damage,
        /// How many more there are.
        more: usize,
    },
    /// What was read cannot be made durable.
    #[error("what a server left behind cannot be made durable: the disk fails")]
    Unsettled(Fault),
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}

/// The contents of both tables of a new pool, with its number and a log of `log_size` bytes, a
/// multiple of 4 KiB and at least 64 KiB. The log must be filled with zeroes, the end written as by
/// [`format_end`], and all made durable; the other regions are empty.
pub fn format(pool: u64, log_size: u64) -> Vec<u8> {
    assert!(log_size.is_multiple_of(RECORD_ALIGN) && log_size >= 16 * RECORD_ALIGN, "a log of {log_size} bytes");
    Table { sequence: 0, pool, log_head: 0, log_size, end: 0, trees: Vec::new(), homes: Vec::new() }.encode()
}

/// The first bytes of the end of a new pool with that catalogue.
pub fn format_end(pool: u64, agreed: Agreed) -> Vec<u8> {
    End { count: 0, pool, sequence: 0, agreed }.encode()
}

/// Opens a pool.
///
/// What is relied on must not disappear later. If a record were read and then lost, it would damage
/// others: blocks that it freed would be reused although the durable map still refers to them, and
/// later records would prove that one is missing.
///
/// # Errors
/// It has a later format, or is damaged, or what was read cannot be made durable. Nothing is
/// written in any case.
pub fn recover(media: &mut impl Media, settings: Settings) -> Result<Core, RecoverError> {
    let Loaded { core, mut damages, .. } = load(media, settings)?;
    if !damages.is_empty() {
        let first = damages.remove(0);
        return Err(RecoverError::Damaged { first, more: damages.len() });
    }
    let core = core.ok_or(RecoverError::Damaged { first: Damage::NoTable, more: 0 })?;
    for region in [Region::Log, Region::Nodes, Region::Table(0), Region::Table(1), Region::End] {
        media.settle(region).map_err(RecoverError::Unsettled)?;
    }
    Ok(core)
}

/// What was read of a pool.
#[derive(Default)]
pub(crate) struct Loaded {
    /// `None` if no table is valid.
    pub core: Option<Core>,
    /// The damage that prevents it from being opened.
    pub damages: Vec<Damage>,
    /// The table that is invalid, if the other one suffices.
    pub invalid_table: Option<u8>,
}

/// Reads everything, and reports everything that is wrong.
///
/// A table whose write was reported as failed may still be complete on the disk, while the next
/// checkpoint overwrote nodes that it names. Then the other table is valid, and the log goes at
/// least as far from there.
pub(crate) fn load(media: &mut impl Media, settings: Settings) -> Result<Loaded, RecoverError> {
    let (tables, end) = (tables(media)?, read_end(media)?);
    let (count, newest) = (tables.len(), tables.first().map_or(0, |(_, table)| table.sequence));
    let mut first = Loaded { damages: vec![Damage::NoTable], ..Loaded::default() };
    for (index, (turn, table)) in tables.into_iter().enumerate() {
        let (core, damages) = load_from(media, settings, (turn, &table), end.as_ref());
        if damages.is_empty() && core.sequence >= newest {
            // An older table may name nodes that were overwritten since, which is normal.
            let invalid_table = index > 0 || count == 1;
            return Ok(Loaded { core: Some(core), damages, invalid_table: invalid_table.then_some(turn ^ 1) });
        }
        if index == 0 {
            first = Loaded { core: Some(core), damages, invalid_table: None };
        }
    }
    Ok(first)
}

/// The valid tables, newest first, and which of the two each is.
fn tables(media: &mut impl Media) -> Result<Vec<(u8, Table)>, RecoverError> {
    let mut tables = Vec::new();
    for turn in 0..2 {
        tables.extend(read_table(media, turn)?.map(|table| (turn, table)));
    }
    tables.sort_by_key(|(_, table)| std::cmp::Reverse(table.sequence));
    Ok(tables)
}

/// The newest valid table.
pub(crate) fn newest_table(media: &mut impl Media) -> Result<Option<(u8, Table)>, RecoverError> {
    Ok(tables(media)?.into_iter().next())
}

fn load_from(
    media: &mut impl Media,
    settings: Settings,
    (turn, table): (u8, &Table),
    end: Option<&End>,
) -> (Core, Vec<Damage>) {
    let mut damages = Vec::new();
    let mut core = core_of(media, settings, table, &mut damages);
    core.next_table = turn ^ 1;
    if damages.is_empty() {
        let least = replay(media, &mut core, &mut damages).max(table.end);
        if damages.is_empty() {
            damages.extend(core.damage_of(end, least));
        }
    }
    core.anchor = end.cloned().map(Anchor::at).unwrap_or_default();
    (core, damages)
}

/// The newest valid end.
pub(crate) fn read_end(media: &mut impl Media) -> Result<Option<End>, RecoverError> {
    let bytes = read_most(media, Region::End, 0, END_SIZE);
    End::newest(&bytes).map_err(|found| RecoverError::TooNew { found, known: END_FORMAT })
}

/// A table, if it is valid. One that was being written in a power failure is not, but then the
/// other is.
fn read_table(media: &mut impl Media, turn: u8) -> Result<Option<Table>, RecoverError> {
    let mut header = vec![0; PAGE as usize];
    if read_whole(media, Region::Table(turn), 0, &mut header).is_none() {
        return Ok(None);
    }
    let Some((found, len)) = Table::measure(&header[..TABLE_HEADER]) else { return Ok(None) };
    if found > FORMAT {
        return Err(RecoverError::TooNew { found, known: FORMAT });
    }
    if found < FORMAT {
        return Err(RecoverError::TooOld { found });
    }
    let mut bytes = vec![0; len as usize];
    let read = read_whole(media, Region::Table(turn), 0, &mut bytes);
    Ok(read.and_then(|()| Table::decode(&bytes)))
}

fn read_whole(media: &mut impl Media, region: Region, at: u64, buf: &mut [u8]) -> Option<()> {
    (media.read(region, at, buf) == Ok(buf.len())).then_some(())
}

/// The pool in the state of the table.
fn core_of(media: &mut impl Media, settings: Settings, table: &Table, damages: &mut Vec<Damage>) -> Core {
    let nodes = read_nodes(media, table, damages);
    core_of_nodes(nodes, settings, table, damages)
}

/// Does the same with nodes that were read already.
pub(crate) fn core_of_nodes(
    nodes: Vec<Option<Words>>,
    settings: Settings,
    table: &Table,
    damages: &mut Vec<Damage>,
) -> Core {
    let mut walk = Walk::new(table.homes.len());
    for row in &table.trees {
        walk.root(row.tree, row.root, row.size, row.blocks, &|number| nodes[number as usize].as_deref());
    }
    let mut space = Space::new(settings.capacity);
    for (place, refs) in walk.places() {
        (0..refs).for_each(|_| space.retain(place));
    }
    damages.append(&mut walk.damages);
    let counted = nodes.into_iter().enumerate().map(|(number, words)| Some((words?, walk.node_refs[number])));
    // Sized for the maximum: growing a table with ten thousand entries later would take a
    // millisecond.
    let mut trees = ByNumber::with_capacity_and_hasher(TREES_MAX, Default::default());
    let tree = |row: &TreeRow| (row.tree, Tree::new(row.root, row.size, row.frozen, row.blocks));
    trees.extend(table.trees.iter().map(tree));
    Core {
        settings,
        pool: table.pool,
        nodes: Nodes::load(counted.collect()),
        space,
        limbo: Limbo::default(),
        releasing: Vec::new(),
        trees,
        locks: ByNumber::default(),
        ops: Slots::default(),
        groups: Groups::default(),
        cuts: VecDeque::new(),
        jobs: Slots::default(),
        commands: VecDeque::new(),
        events: Vec::new(),
        resumed: VecDeque::new(),
        starved: VecDeque::new(),
        commit: Commit::default(),
        checkpoint: Checkpoint::default(),
        anchor: Anchor::default(),
        giving: Giving::default(),
        ring: Ring::at(table.log_size, table.log_head),
        sequence: table.sequence,
        homes: table.homes.clone(),
        next_table: 0,
        failed: false,
    }
}

/// Pages of nodes that are read at a time: a large pool has tens of thousands, close together.
const PAGES_AT_ONCE: u64 = 256;

pub(crate) fn read_nodes(media: &mut impl Media, table: &Table, damages: &mut Vec<Damage>) -> Vec<Option<Words>> {
    let mut nodes = Vec::with_capacity(table.homes.len());
    // The pages from `first` on that could be read.
    let (mut pages, mut first) = (Vec::new(), u64::MAX);
    for (number, home) in table.homes.iter().enumerate() {
        let Some(page) = home.page(number as u32) else {
            nodes.push(None);
            continue;
        };
        if page / PAGES_AT_ONCE * PAGES_AT_ONCE != first {
            first = page / PAGES_AT_ONCE * PAGES_AT_ONCE;
            pages = read_most(media, Region::Nodes, first * PAGE, PAGES_AT_ONCE * PAGE);
        }
        let at = ((page - first) * PAGE) as usize;
        let bytes = pages.get(at..at + PAGE as usize).filter(|bytes| crc32c(bytes) == home.crc);
        let Some(bytes) = bytes else {
            damages.push(Damage::Node { node: number as u32, page });
            nodes.push(None);
            continue;
        };
        let mut words = Box::new([0; FANOUT]);
        for (word, eight) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*eight);
        }
        nodes.push(Some(words));
    }
    nodes
}

/// The bytes of a range, up to the end of its region. A page that cannot be read becomes zeroes,
/// which is neither a node nor a record.
fn read_most(media: &mut impl Media, region: Region, at: u64, len: u64) -> Vec<u8> {
    let mut bytes = vec![0; len as usize];
    if let Ok(read) = media.read(region, at, &mut bytes) {
        bytes.truncate(read);
        return bytes;
    }
    for (page, bytes) in bytes.chunks_mut(PAGE as usize).enumerate() {
        if media.read(region, at + page as u64 * PAGE, bytes).is_err() {
            bytes.fill(0);
        }
    }
    bytes
}

/// Replays the records that follow the table. Returns the count of the end that was durable before
/// the last of them.
pub(crate) fn replay(media: &mut impl Media, core: &mut Core, damages: &mut Vec<Damage>) -> u64 {
    let log = read_most(media, Region::Log, 0, core.ring.size);
    let mut end = 0;
    while let Some((at, head, actions)) = next_record(&log, core) {
        core.sequence += 1;
        end = head.end;
        for action in actions {
            if core.replay(action).is_none() {
                damages.push(Damage::Record { sequence: core.sequence });
                return end;
            }
        }
        core.ring.push(at, head.len);
        let batch = std::mem::take(&mut core.commit).pending;
        core.nodes.release(batch.drops, &mut core.space);
    }
    // A valid record further on proves that one before it, or a newer table, is damaged: a record
    // is written only when the previous one is durable.
    let places = (0..core.ring.size).step_by(RECORD_ALIGN as usize);
    let ahead =
        places.filter_map(|at| record_at(&log, core, at, core.sequence + 1).map(|(head, _)| head.sequence)).max();
    damages.extend(ahead.map(|found| Damage::Ahead { found, last: core.sequence }));
    end
}

/// The record after the last one, at the position where it would have been put.
fn next_record(log: &[u8], core: &Core) -> Option<(u64, Head, Vec<Action>)> {
    [core.ring.head, 0].into_iter().find_map(|at| {
        let (head, actions) = record_at(log, core, at, core.sequence + 1)?;
        (head.sequence == core.sequence + 1).then_some((at, head, actions))
    })
}

/// The valid record at a position of the ring, if its sequence is at least `least`.
fn record_at(log: &[u8], core: &Core, at: u64, least: u64) -> Option<(Head, Vec<Action>)> {
    let from = log.get(at as usize..)?;
    let head = record::head(core.pool, from.get(..RECORD_ALIGN as usize)?)?;
    if head.sequence < least {
        return None;
    }
    Some((head, record::decode(from.get(..head.len as usize)?)?))
}

impl Core {
    /// Damage of the end, or of a log that does not reach it. `least` is the count of an end that
    /// was durable.
    fn damage_of(&self, end: Option<&End>, least: u64) -> Option<Damage> {
        match end {
            None => Some(Damage::NoEnd),
            Some(end) if end.pool != self.pool => Some(Damage::OthersEnd),
            Some(end) if end.count < least => Some(Damage::OldEnd { found: end.count, least }),
            Some(end) if end.sequence > self.sequence => {
                Some(Damage::Short { found: end.sequence, last: self.sequence })
            }
            Some(_) => None,
        }
    }

    /// Replays an action; `None` if it is impossible.
    fn replay(&mut self, action: Action) -> Option<()> {
        match action {
            Action::Set { tree, block, entry } => {
                let found = self.trees.get(&tree).filter(|found| block < Root::reach(found.root.height))?;
                let (old, _) = self.nodes.get(found.root, block);
                let new = entry.place().filter(|_| entry.place() != old.place());
                new.into_iter().for_each(|place| self.space.retain(place));
                self.set_entry(tree, block, entry);
            }
            Action::Clear { tree, from, to } => {
                let found = self.trees.get_mut(&tree)?;
                let drops = &mut self.commit.pending.drops;
                found.blocks -= self.nodes.clear(&mut found.root, from, to, &mut self.space, drops);
            }
            Action::Create { tree, size } => {
                let root = Root { node: 0, height: Root::height_for(size.div_ceil(BLOCK)) };
                self.trees.insert(tree, Tree::new(root, size, false, 0)).is_none().then_some(())?;
            }
            Action::Share { tree, from, frozen } => {
                self.trees.contains_key(&from).then_some(())?;
                (!self.trees.contains_key(&tree)).then(|| self.share(tree, from, frozen))?;
            }
            Action::Restore { tree, from } => {
                let both = self.trees.contains_key(&tree) && self.trees.contains_key(&from);
                both.then(|| self.restore(tree, from))?;
            }
            Action::Delete { tree } => self.trees.contains_key(&tree).then(|| self.delete(tree))?,
            Action::Resize { tree, size } => {
                let found = self.trees.get_mut(&tree)?;
                found.size = size;
                self.nodes.raise(&mut found.root, size.div_ceil(BLOCK));
            }
        }
        Some(())
    }
}
