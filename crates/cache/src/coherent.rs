//! Which pages of which trees may be used, so that no page is older than what was acknowledged. The
//! owner of the memory fills and reads the slots.
//!
//! ```text
//!   read ──► open(tree), find(page) ──► all there: answered from memory
//!        └─► begin_fill ──► the disk reads ──► place(page): a slot, if nothing changed it since it began
//!   change ─► begin_change ──► the disk writes ──► end_change: updates what is there, or takes it out
//! ```
//! **Never stale.** A read fills a page only if no change of that page was in progress between the
//! start and the end of the read. A single write updates its page when it ends. Concurrent writes,
//! trims, zeroes and failed writes remove the page, since their order on the disk is unknown here.
//! While a tree is restored, resized, created or deleted, none of its pages are used. Afterwards it
//! gets a new number, so that all its pages are dropped at once ([`Cache::sweep`] frees the slots).
//! Snapshots and clones are trees of their own.

use crate::index::Key;
use crate::lists::Slot;
use crate::partition::{Eviction, Part, Statistics};
use crate::partitions::{Cache, Evicted, Inserted, PartitionId, PartitionRefusal};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Recent changes are tracked by a hash of the page; a collision prevents a fill now and then.
const MARKS: usize = 1 << 14;
/// A change of more pages than this drops the whole tree.
const WIDE: u64 = 4096;
/// Slots examined, or pages evicted, per step while the cache shrinks.
const STEPS: u32 = 512;

/// A cache of the pages of trees; see the module's documentation.
pub struct Coherent {
    cache: Cache,
    page: u64,
    policy: Eviction,
    trees: HashMap<u32, Tree>,
    /// The present numbers of all trees.
    live: HashSet<u64>,
    next_view: u64,
    marks: Vec<Mark>,
    /// Counts the starts and ends of changes.
    clock: u64,
    /// Trees of changes of structure, by the number of the ask.
    structure: HashMap<u64, Vec<u32>>,
    /// Rounds of a sweep that are left, if one is needed.
    swept: Option<u32>,
    too_large: bool,
    /// Nothing is served from the cache any more.
    is_shut: bool,
    /// A scratch list, kept to save allocations.
    freed: Vec<Slot>,
}

struct Tree {
    /// The number under which its pages are stored.
    view: u64,
    /// Changes in progress that affect all of it.
    closed: u32,
    partition: PartitionId,
    /// Hits and misses of its reads since they were last taken.
    asked: (u64, u64),
}

/// What is known of the pages with one hash.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The time, by `clock`, at which a change of one of them last started or ended.
    changed: u64,
    /// Changes in progress.
    running: u32,
    /// There were concurrent changes since the last time without any.
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
    /// An empty cache of `slots` pages of `page` bytes each.
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

    /// Bytes in a page.
    pub fn page(&self) -> u64 {
        self.page
    }

    /// The number under which a tree's pages are stored, and its partition; `None` while its pages
    /// must not be used.
    pub fn open(&mut self, tree: u32) -> Option<(u64, PartitionId)> {
        let is_shut = self.is_shut;
        let tree = self.tree(tree);
        (tree.closed == 0 && !is_shut).then_some((tree.view, tree.partition))
    }

    /// The slot of a page; does not count as an access.
    pub fn find(&self, key: Key) -> Option<Slot> {
        self.cache.peek(key)
    }

    /// The slots of consecutive pages; does not count as an access.
    pub fn find_run(&self, object: u64, pages: Range<u64>) -> impl Iterator<Item = Option<Slot>> {
        self.cache.peek_run(object, pages)
    }

    /// Counts an access, by what [`Coherent::find`] or [`Coherent::find_run`] found.
    pub fn ask(&mut self, partition: PartitionId, found: Option<Slot>, part: Part) {
        self.cache.ask(partition, found, part);
    }

    /// Counts hits and misses of a tree's reads.
    pub fn count(&mut self, tree: u32, there: u64, missed: u64) {
        let told = &mut self.tree(tree).asked;
        *told = (told.0 + there, told.1 + missed);
    }

    /// For each tree, hits and misses of its reads since the last call.
    pub fn take_asked(&mut self) -> Vec<(u32, (u64, u64))> {
        let taken = self.trees.iter_mut().map(|(tree, known)| (*tree, std::mem::take(&mut known.asked)));
        taken.filter(|(_, asked)| *asked != (0, 0)).collect()
    }

    /// A read starts that may fill pages; `is_ahead` for a read-ahead.
    pub fn begin_fill(&mut self, tree: u32, is_ahead: bool) -> Option<Filling> {
        let (view, _) = self.open(tree)?;
        Some(Filling { view, began: self.clock, is_ahead })
    }

    /// The read brought a whole page. Returns the slot for its bytes if they may be kept.
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

    /// Whether the bytes of a page that was just evicted match the disk: its tree has not been
    /// renewed, and no change of the page is in progress.
    pub fn is_settled(&self, key: Key) -> bool {
        self.live.contains(&key.object) && self.marks[mark_of(key)].running == 0
    }

    /// A write, trim or zeroing starts. `changes` gets its pages, unless the whole tree is dropped.
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

    /// The change ended. If it was a successful write, `update` gets the cached pages, to write its
    /// bytes to them; otherwise they are dropped.
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

    /// A change of structure starts, with the number `ask`.
    pub fn begin_structure(&mut self, ask: u64, trees: Vec<u32>) {
        trees.iter().for_each(|tree| self.close(*tree));
        self.structure.insert(ask, trees);
    }

    /// It was answered.
    pub fn end_structure(&mut self, ask: u64) {
        let trees = self.structure.remove(&ask).unwrap_or_default();
        trees.iter().for_each(|tree| self.reopen(*tree));
    }

    /// Moves a tree to a partition; its pages elsewhere are dropped.
    pub fn assign(&mut self, tree: u32, partition: PartitionId) {
        if self.tree(tree).partition != partition {
            self.renew(tree);
            self.tree(tree).partition = partition;
        }
    }

    /// Drops a tree that is no longer served.
    pub fn forget(&mut self, tree: u32) {
        if self.trees.contains_key(&tree) {
            self.renew(tree);
        }
    }

    /// Makes these the only partitions, with that many slots each. Trees of a partition that is
    /// removed stay in it, and none of their pages are cached.
    ///
    /// # Errors
    /// As for [`Cache::divide`].
    pub fn divide(&mut self, parts: &[(PartitionId, u32)]) -> Result<(), PartitionRefusal> {
        self.cache.divide(self.policy, parts)?;
        self.too_large = true;
        Ok(())
    }

    /// Limits the slots of the whole cache, while memory is short or after.
    pub fn limit(&mut self, slots: u32) {
        self.too_large = true;
        self.cache.limit(slots);
    }

    /// As [`Cache::statistics`].
    pub fn statistics(&self, partition: PartitionId) -> Option<(Statistics, u32, u32)> {
        self.cache.statistics(partition)
    }

    /// A flush has failed: the device may have lost earlier writes, which the cache would still
    /// show. From now on nothing is served from the cache, and its memory is released. Returns
    /// whether that was so before.
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

    /// Continues lengthy work: slots of dropped pages go to `freed`, and pages beyond the capacity
    /// to `evicted`.
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

    /// Whether no tree has that number any more.
    pub fn is_dead(&self, object: u64) -> bool {
        !self.live.contains(&object)
    }

    /// The keys of a range, unless there are too many.
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
        // The current round may have passed some of its pages.
        self.swept = Some(2);
    }
}

fn mark_of(key: Key) -> usize {
    // Without the view: a change of a tree that was renewed meanwhile ends at the mark where it
    // began.
    (Key { object: 0, ..key }.hash() as usize) & (MARKS - 1)
}
