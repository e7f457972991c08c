//! Pages of the LUNs in memory, never older than what was acknowledged.
//!
//! ```text
//!   read ──► all pages there? ── yes ──► copied, ended; no I/O
//!                            └── no ───► read whole pages ──► filled, if nothing changed them since it began
//!   write ─► disk ──► ended well ──► what is here is updated, then it is answered
//! ```
//! **Never stale.** A page is filled from a read only if no change of it was under way at any time between the read's
//! begin and end. A write alone on its page updates it when it ends; two at a time, a trim, zeroes, or a write that
//! failed take it out, because nobody knows here in which order the disk had them. While a tree is restored, resized, made or deleted
//! nothing of it is answered from here, and it goes on under another number, so that all of it is forgotten at once
//! ([`cache::Cache::sweep`] finds the places). Snapshots and clones are trees of their own.

use block::{Buf, Bytes};
use cache::{Cache, Key, PartitionId, Policy, Refusal, Slot, Statistics};
use std::collections::{HashMap, HashSet};
use uring::{Io, IoError, Pages};

/// Pages are told apart by a hash when it is asked whether they changed: two that fall together cost a fill now and then.
const MARKS: usize = 1 << 14;
/// A change of more pages forgets the tree as a whole.
const WIDE: u64 = 4096;
/// Slots looked at, or pages evicted, a poll, where the cache has to become smaller.
const STEPS: u32 = 512;

/// A cache in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// What it takes at most.
    pub memory: Bytes,
    /// Bytes of a page: a power of two from 4 KiB to 64 KiB.
    pub page: u32,
    /// Who is evicted.
    pub policy: Policy,
}

/// What a partition holds and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionState {
    /// Its counts, in pages.
    pub counts: Statistics,
    /// Bytes that it may hold.
    pub size: Bytes,
    /// Bytes that it holds.
    pub resident: Bytes,
}

/// The pages, and what they may show.
pub(super) struct Cached {
    cache: Cache,
    pages: Pages,
    pub(super) page: u64,
    policy: Policy,
    trees: HashMap<u32, Tree>,
    /// Numbers that trees go by now.
    live: HashSet<u64>,
    next_view: u64,
    marks: Vec<Mark>,
    /// Counts begins and ends of changes.
    clock: u64,
    /// Trees of changes of structure, by the number of the ask.
    structure: HashMap<u64, Vec<u32>>,
    /// Something is to be swept.
    swept: Option<u32>,
    too_large: bool,
    /// Nothing is answered from here any more.
    is_shut: bool,
    freed: Vec<Slot>,
    /// Where the pages of a read are; kept for its memory.
    found: Vec<Option<Slot>>,
}

struct Tree {
    /// The number that its pages go by.
    view: u64,
    /// Changes under way that concern all of it.
    closed: u32,
    partition: PartitionId,
    /// Pages asked for that were there, and that were not, since it was last told.
    asked: (u64, u64),
}

/// What is known of the pages with one hash.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// When one of them began or ended to change last.
    changed: u64,
    /// Changes under way.
    running: u32,
    /// Two were at a time since there were none.
    mixed: bool,
}

/// A read that may fill pages when it ends.
#[derive(Clone, Copy)]
pub(super) struct Filling {
    view: u64,
    began: u64,
}

impl Cached {
    pub(super) fn new(settings: &CacheSettings) -> Result<Cached, IoError> {
        let slots = u32::try_from(settings.memory.0 / u64::from(settings.page)).unwrap_or(u32::MAX - 1);
        Ok(Cached {
            cache: Cache::new(slots, settings.policy),
            pages: Pages::map(slots, Bytes(settings.page.into()))?,
            page: settings.page.into(),
            policy: settings.policy,
            trees: HashMap::new(),
            live: HashSet::new(),
            next_view: 0,
            marks: vec![Mark::default(); MARKS],
            clock: 0,
            structure: HashMap::new(),
            swept: None,
            too_large: false,
            is_shut: false,
            freed: Vec::new(),
            found: Vec::new(),
        })
    }

    /// Copies what is asked for into `buf`, if all of it is here.
    pub(super) fn read(&mut self, io: &Io, (tree, at, len): (u32, u64, u64)) -> Option<Buf> {
        let (view, partition) = self.open_tree(tree)?;
        let pages = at / self.page..(at + len).div_ceil(self.page);
        let mut found = std::mem::take(&mut self.found);
        found.extend(pages.clone().map(|page| self.cache.peek(Key { object: view, page })));
        let (all, there) = (found.len(), found.iter().flatten().count());
        let mut buf = if there == all { Some(io.take(len as u32)?) } else { None };
        for (page, slot) in pages.zip(found.drain(..)) {
            self.cache.ask(partition, slot);
            let (Some(slot), Some(buf)) = (slot, &mut buf) else { continue };
            let (from, to) = (at.max(page * self.page), (at + len).min((page + 1) * self.page));
            let bytes = &self.pages.read(slot.0)[(from - page * self.page) as usize..(to - page * self.page) as usize];
            io.with_mut(buf, |whole| whole[(from - at) as usize..(to - at) as usize].copy_from_slice(bytes));
        }
        let told = &mut self.tree(tree).asked;
        *told = (told.0 + there as u64, told.1 + (all - there) as u64);
        self.found = found;
        buf
    }

    /// What each tree's reads asked for since this was last called: pages found, and missed.
    pub(super) fn take_asked(&mut self) -> Vec<(u32, (u64, u64))> {
        let taken = self.trees.iter_mut().map(|(tree, known)| (*tree, std::mem::take(&mut known.asked)));
        taken.filter(|(_, asked)| *asked != (0, 0)).collect()
    }

    /// A read begins that goes to the disk.
    pub(super) fn begin_fill(&mut self, tree: u32) -> Option<Filling> {
        let (view, _) = self.open_tree(tree)?;
        Some(Filling { view, began: self.clock })
    }

    /// It ended with these bytes, from `at` on, the start of a page; `end` is the tree's.
    pub(super) fn fill(&mut self, tree: u32, filling: Filling, (at, end): (u64, u64), bytes: &[u8]) {
        match self.open_tree(tree) {
            Some((view, _)) if view == filling.view => {}
            _ => return,
        }
        let partition = self.trees[&tree].partition;
        for (number, bytes) in bytes.chunks(self.page as usize).enumerate() {
            let page = at / self.page + number as u64;
            let is_whole = bytes.len() as u64 == self.page || page * self.page + bytes.len() as u64 >= end;
            let key = Key { object: filling.view, page };
            let mark = &self.marks[mark_of(key)];
            if !is_whole || mark.running > 0 || mark.changed > filling.began {
                continue;
            }
            let Some(inserted) = self.cache.insert(partition, key) else { continue };
            let whole = self.pages.write(inserted.slot.0);
            whole[..bytes.len()].copy_from_slice(bytes);
            whole[bytes.len()..].fill(0);
        }
    }

    /// A write, trim or zeroing begins.
    pub(super) fn begin_change(&mut self, tree: u32, at: u64, len: u64) {
        self.clock += 1;
        let clock = self.clock;
        match self.narrow(tree, at, len) {
            Some(keys) => keys.for_each(|key| {
                let mark = &mut self.marks[mark_of(key)];
                mark.mixed |= mark.running > 0;
                (mark.changed, mark.running) = (clock, mark.running + 1);
            }),
            None => self.close(tree),
        }
    }

    /// It has ended: `data` are the bytes of a write that ended well, else nothing of it is kept.
    pub(super) fn end_change(&mut self, tree: u32, (at, len): (u64, u64), data: Option<&[u8]>) {
        self.clock += 1;
        let clock = self.clock;
        let Some(keys) = self.narrow(tree, at, len) else { return self.reopen(tree) };
        for key in keys {
            let mark = &mut self.marks[mark_of(key)];
            (mark.changed, mark.running) = (clock, mark.running - 1);
            let mixed = mark.mixed;
            mark.mixed &= mark.running > 0;
            let Some(slot) = self.cache.peek(key) else { continue };
            let Some(data) = data.filter(|_| !mixed) else {
                self.cache.remove(key);
                continue;
            };
            let start = key.page * self.page;
            let (from, to) = (at.max(start), (at + len).min(start + self.page));
            let part = &data[(from - at) as usize..(to - at) as usize];
            self.pages.write(slot.0)[(from - start) as usize..][..part.len()].copy_from_slice(part);
        }
    }

    /// A change of structure begins, asked for by that number.
    pub(super) fn begin_structure(&mut self, ask: u64, trees: Vec<u32>) {
        trees.iter().for_each(|tree| self.close(*tree));
        self.structure.insert(ask, trees);
    }

    /// It was answered.
    pub(super) fn end_structure(&mut self, ask: u64) {
        let trees = self.structure.remove(&ask).unwrap_or_default();
        trees.iter().for_each(|tree| self.reopen(*tree));
    }

    /// A tree's pages go to that partition from now on; what is elsewhere is forgotten.
    pub(super) fn assign(&mut self, tree: u32, partition: PartitionId) {
        if self.tree(tree).partition != partition {
            self.renew(tree);
            self.tree(tree).partition = partition;
        }
    }

    /// A tree is served no more.
    pub(super) fn forget(&mut self, tree: u32) {
        if self.trees.contains_key(&tree) {
            self.renew(tree);
        }
    }

    /// Has these partitions be there and no others; trees of one that is not stay with it, and have nothing kept of them.
    pub(super) fn divide(&mut self, parts: &[(PartitionId, Bytes)]) -> Result<(), Refusal> {
        let parts: Vec<_> = parts.iter().map(|(id, size)| (*id, self.slots_of(*size))).collect();
        self.cache.divide(self.policy, &parts)?;
        self.too_large = true;
        Ok(())
    }

    /// Has all of it keep that much at most: memory is short, or no longer.
    pub(super) fn limit(&mut self, size: Bytes) {
        self.too_large = true;
        self.cache.limit(self.slots_of(size));
    }

    pub(super) fn state(&self, partition: PartitionId) -> Option<PartitionState> {
        let (counts, slots, held) = self.cache.statistics(partition)?;
        let bytes = |slots: u32| Bytes(u64::from(slots) * self.page);
        Some(PartitionState { counts, size: bytes(slots), resident: bytes(held) })
    }

    /// A flush has failed: the device may have lost what was written before, and what is here would show it all the same. From
    /// now on all reads go to the device, and the memory is given back.
    pub(super) fn shut(&mut self) {
        if !std::mem::replace(&mut self.is_shut, true) {
            self.live.clear();
            self.swept = Some(2);
        }
    }

    pub(super) fn has_work(&self) -> bool {
        self.swept.is_some() || self.too_large
    }

    /// Goes on with what takes long: pages of no tree go, and those that are too many; their memory is given back.
    pub(super) fn step(&mut self) {
        if self.too_large {
            self.too_large = !self.cache.shrink(STEPS, &mut self.freed);
        }
        if let Some(left) = &mut self.swept {
            let live = &self.live;
            let round = self.cache.sweep(STEPS, |view| !live.contains(&view), &mut self.freed);
            *left = left.saturating_sub(u32::from(round));
            self.swept = self.swept.filter(|left| *left > 0);
        }
        for slot in self.freed.drain(..) {
            self.pages.give_back(slot.0);
        }
    }

    fn slots_of(&self, size: Bytes) -> u32 {
        u32::try_from(size.0 / self.page).unwrap_or(u32::MAX)
    }

    /// The keys of a range, if they are few enough.
    fn narrow(&mut self, tree: u32, at: u64, len: u64) -> Option<impl Iterator<Item = Key> + use<>> {
        let pages = at / self.page..(at + len).div_ceil(self.page);
        let object = self.tree(tree).view;
        (pages.end - pages.start <= WIDE).then(|| pages.map(move |page| Key { object, page }))
    }

    fn tree(&mut self, tree: u32) -> &mut Tree {
        let (next, live) = (&mut self.next_view, &mut self.live);
        self.trees.entry(tree).or_insert_with(|| {
            *next += 1;
            live.insert(*next);
            Tree { view: *next, closed: 0, partition: PartitionId::default(), asked: (0, 0) }
        })
    }

    /// The number and partition of a tree whose pages may be used.
    fn open_tree(&mut self, tree: u32) -> Option<(u64, PartitionId)> {
        let is_shut = self.is_shut;
        let tree = self.tree(tree);
        (tree.closed == 0 && !is_shut).then_some((tree.view, tree.partition))
    }

    fn close(&mut self, tree: u32) {
        self.tree(tree).closed += 1;
    }

    fn reopen(&mut self, tree: u32) {
        self.tree(tree).closed -= 1;
        self.renew(tree);
    }

    fn renew(&mut self, tree: u32) {
        self.next_view += 1;
        let next = self.next_view;
        let was = std::mem::replace(&mut self.tree(tree).view, next);
        self.live.remove(&was);
        self.live.insert(next);
        // The round that is under way may have passed some of its pages.
        self.swept = Some(2);
    }
}

fn mark_of(key: Key) -> usize {
    // Not by the view: a change of a tree that was renewed meanwhile ends where it began.
    (Key { object: 0, ..key }.hash() as usize) & (MARKS - 1)
}
