//! Which pages of which trees may be shown, so that nothing is older than what was acknowledged;
//! whoever has the memory fills and reads the slots.
//!
//! ```text
//!   read ──► open(tree), find(page) ──► all there: answered from memory
//!        └─► begin_fill ──► the disk reads ──► place(page): a slot, if nothing changed it since it began
//!   change ─► begin_change ──► the disk writes ──► end_change: updates what is there, or takes it out
//! ```
//! **Never stale.** A page is filled from a read only if no change of it was under way at any time
//! between the read's begin and end. A write alone on its page updates it when it ends; two at a
//! time, a trim, zeroes, or a write that failed take it out, because in which order the disk had
//! them is not known here. While a tree is restored, resized, made or deleted nothing of it is
//! answered from here, and it goes on under another number, so that all of it is forgotten at once
//! ([`Cache::sweep`] finds the places). Snapshots and clones are trees of their own.

use crate::index::Key;
use crate::lists::Slot;
use crate::partition::{Eviction, Part, Statistics};
use crate::partitions::{Cache, Evicted, Inserted, PartitionId, PartitionRefusal};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Pages are told apart by a hash when it is asked whether they changed: two that fall together
/// cost a fill now and then.
const MARKS: usize = 1 << 14;
/// A change of more pages forgets the tree as a whole.
const WIDE: u64 = 4096;
/// Slots looked at, or pages evicted, a step, where the cache has to become smaller.
const STEPS: u32 = 512;

/// A cache of the pages of trees; see the module's head.
pub struct Coherent {
    cache: Cache,
    page: u64,
    policy: Eviction,
    trees: HashMap<u32, Tree>,
    /// Numbers that trees go by now.
    live: HashSet<u64>,
    next_view: u64,
    marks: Vec<Mark>,
    /// Counts begins and ends of changes.
    clock: u64,
    /// Trees of changes of structure, by the number of the ask.
    structure: HashMap<u64, Vec<u32>>,
    /// Something is to be swept: rounds that are left.
    swept: Option<u32>,
    too_large: bool,
    /// Nothing is answered from here any more.
    is_shut: bool,
    /// Kept for its memory.
    freed: Vec<Slot>,
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
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    view: u64,
    began: u64,
    is_ahead: bool,
}

impl Coherent {
    /// An empty one of so many pages of `page` bytes each.
    pub fn new(slots: u32, page: u64, policy: Eviction) -> Coherent {
        Coherent {
            cache: Cache::new(slots, policy),
            page,
            policy,
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
        }
    }

    /// Bytes of a page.
    pub fn page(&self) -> u64 {
        self.page
    }

    /// The object that a tree's pages go by, and its partition; `None` while its pages may not be
    /// used.
    pub fn open(&mut self, tree: u32) -> Option<(u64, PartitionId)> {
        let is_shut = self.is_shut;
        let tree = self.tree(tree);
        (tree.closed == 0 && !is_shut).then_some((tree.view, tree.partition))
    }

    /// Where a page is; nothing is counted.
    pub fn find(&self, key: Key) -> Option<Slot> {
        self.cache.peek(key)
    }

    /// Where pages are, one after the other; nothing is counted.
    pub fn find_run(&self, object: u64, pages: Range<u64>) -> impl Iterator<Item = Option<Slot>> {
        self.cache.peek_run(object, pages)
    }

    /// Counts what [`Coherent::find`] or [`Coherent::find_run`] has found for a read.
    pub fn ask(&mut self, partition: PartitionId, found: Option<Slot>, part: Part) {
        self.cache.ask(partition, found, part);
    }

    /// Counts pages of a tree's read that were there, and that were not.
    pub fn count(&mut self, tree: u32, there: u64, missed: u64) {
        let told = &mut self.tree(tree).asked;
        *told = (told.0 + there, told.1 + missed);
    }

    /// What each tree's reads asked for since this was last called: pages found, and missed.
    pub fn take_asked(&mut self) -> Vec<(u32, (u64, u64))> {
        let taken = self.trees.iter_mut().map(|(tree, known)| (*tree, std::mem::take(&mut known.asked)));
        taken.filter(|(_, asked)| *asked != (0, 0)).collect()
    }

    /// A read of a tree begins that may fill pages; `is_ahead` where nobody has asked for them yet.
    pub fn begin_fill(&mut self, tree: u32, is_ahead: bool) -> Option<Filling> {
        let (view, _) = self.open(tree)?;
        Some(Filling { view, began: self.clock, is_ahead })
    }

    /// It has ended and brought a whole page: where its bytes go, if they may be kept.
    pub fn place(&mut self, tree: u32, filling: Filling, page: u64) -> Option<(PartitionId, Inserted)> {
        let (view, partition) = self.open(tree).filter(|(view, _)| *view == filling.view)?;
        let key = Key { object: view, page };
        let mark = &self.marks[mark_of(key)];
        if mark.running > 0 || mark.changed > filling.began {
            return None;
        }
        let inserted = match filling.is_ahead {
            true => self.cache.insert_ahead(partition, key),
            false => self.cache.insert(partition, key),
        };
        Some((partition, inserted?))
    }

    /// Whether the bytes of a page that was evicted just now are those of the disk: its tree is as
    /// it was, and no change of it is under way.
    pub fn is_settled(&self, key: Key) -> bool {
        self.live.contains(&key.object) && self.marks[mark_of(key)].running == 0
    }

    /// A write, trim or zeroing begins; `changes` has its pages, unless all of the tree is
    /// forgotten.
    pub fn begin_change(&mut self, tree: u32, at: u64, len: u64, mut changes: impl FnMut(Key)) {
        self.clock += 1;
        let clock = self.clock;
        match self.narrow(tree, at, len) {
            Some(keys) => keys.for_each(|key| {
                changes(key);
                let mark = &mut self.marks[mark_of(key)];
                mark.mixed |= mark.running > 0;
                (mark.changed, mark.running) = (clock, mark.running + 1);
            }),
            None => self.close(tree),
        }
    }

    /// It has ended. Where it is a write that ended well, `update` has the pages that are there, to
    /// be given its bytes; else nothing of it is kept.
    pub fn end_change(&mut self, tree: u32, (at, len): (u64, u64), is_good: bool, mut update: impl FnMut(Key, Slot)) {
        self.clock += 1;
        let clock = self.clock;
        let Some(keys) = self.narrow(tree, at, len) else { return self.reopen(tree) };
        for key in keys {
            let mark = &mut self.marks[mark_of(key)];
            (mark.changed, mark.running) = (clock, mark.running - 1);
            let mixed = mark.mixed;
            mark.mixed &= mark.running > 0;
            let Some(slot) = self.cache.peek(key) else { continue };
            if is_good && !mixed {
                update(key, slot);
            } else {
                self.cache.remove(key);
            }
        }
    }

    /// A change of structure begins, asked for by that number.
    pub fn begin_structure(&mut self, ask: u64, trees: Vec<u32>) {
        trees.iter().for_each(|tree| self.close(*tree));
        self.structure.insert(ask, trees);
    }

    /// It was answered.
    pub fn end_structure(&mut self, ask: u64) {
        let trees = self.structure.remove(&ask).unwrap_or_default();
        trees.iter().for_each(|tree| self.reopen(*tree));
    }

    /// A tree's pages go to that partition from now on; what is elsewhere is forgotten.
    pub fn assign(&mut self, tree: u32, partition: PartitionId) {
        if self.tree(tree).partition != partition {
            self.renew(tree);
            self.tree(tree).partition = partition;
        }
    }

    /// A tree is served no more.
    pub fn forget(&mut self, tree: u32) {
        if self.trees.contains_key(&tree) {
            self.renew(tree);
        }
    }

    /// Has these partitions be there and no others, with so many slots each; trees of one that is
    /// not stay with it, and have nothing kept of them.
    ///
    /// # Errors
    /// As [`Cache::divide`] has it.
    pub fn divide(&mut self, parts: &[(PartitionId, u32)]) -> Result<(), PartitionRefusal> {
        self.cache.divide(self.policy, parts)?;
        self.too_large = true;
        Ok(())
    }

    /// Has all of it keep so many slots at most: memory is short, or no longer.
    pub fn limit(&mut self, slots: u32) {
        self.too_large = true;
        self.cache.limit(slots);
    }

    /// As [`Cache::statistics`].
    pub fn statistics(&self, partition: PartitionId) -> Option<(Statistics, u32, u32)> {
        self.cache.statistics(partition)
    }

    /// A flush has failed: the device may have lost what was written before, and what is here would
    /// show it all the same. From now on nothing is answered from here, and the memory is given
    /// back. Whether it was so before.
    pub fn shut(&mut self) -> bool {
        let was = std::mem::replace(&mut self.is_shut, true);
        if !was {
            self.live.clear();
            self.swept = Some(2);
        }
        was
    }

    /// Whether [`Coherent::step`] has something to do.
    pub fn has_work(&self) -> bool {
        self.swept.is_some() || self.too_large
    }

    /// Goes on with what takes long: pages of no tree go to `freed`, and those that are too many to
    /// `evicted`.
    pub fn step(&mut self, evicted: impl FnMut(Slot, PartitionId, Evicted), freed: impl FnMut(Slot)) {
        if self.too_large {
            self.too_large = !self.cache.shrink_each(STEPS, evicted);
        }
        if let Some(left) = &mut self.swept {
            let live = &self.live;
            let round = self.cache.sweep(STEPS, |view| !live.contains(&view), &mut self.freed);
            *left = left.saturating_sub(u32::from(round));
            self.swept = self.swept.filter(|left| *left > 0);
        }
        self.freed.drain(..).for_each(freed);
    }

    /// Whether no tree goes by that number any more.
    pub fn is_dead(&self, object: u64) -> bool {
        !self.live.contains(&object)
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
