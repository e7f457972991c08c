//! Pages of the LUNs in memory, never older than what was acknowledged.
//!
//! ```text
//!   read ──► all pages there? ── yes ──► copied, or sent from here if it is long; ended; no I/O
//!                            └── no ───► read whole pages ──► filled, if nothing changed them since it began
//!   write ─► disk ──► ended well ──► what is here is updated, then it is answered
//! ```
//! [`cache::Coherent`] decides what may be shown and when; the bytes are here. Evicted pages may go
//! to a second level on a device (`second.rs`).

use super::second::{Second, SecondFile, SecondRun};
use block::{Buf, Bytes, Time};
pub(super) use cache::Filling;
use cache::{Coherent, Evicted, Eviction, Key, Part, PartitionId, PartitionRefusal, Slot, Statistics};
use uring::{Io, IoError, Pages};

/// Limit on the pages of one read from the second level.
const SECOND_MAX: u64 = 64;
/// Of what a partition may hold, the part that is read ahead at once for a stream: one in this
/// many. One window and a half may wait to be asked for, and what was not asked for twice has a
/// tenth where the rest is in use.
const AHEAD_PART: u32 = 16;
/// Pages of the second level that a step examines, to find those of deleted trees.
const STEPS: u32 = 512;
/// Reads of at least this many bytes are sent from the pages. For fewer, the list of addresses
/// costs as much as a copy.
const SHOWN_MIN: u64 = 32 << 10;
/// A reply that is sent from pages holds whole pages, which may exceed its bytes by one part in
/// this many. A reply claims only its own bytes, and claims may reach seven eighths of the buffer
/// memory. So the pages of all replies stay below that memory.
const KEPT_MORE: u64 = 8;

/// The settings of a cache in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Its size.
    pub memory: Bytes,
    /// Bytes in a page: a power of two from 4 KiB to 64 KiB.
    pub page: u32,
    /// The eviction policy.
    pub policy: Eviction,
}

/// The state of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionState {
    /// Its counts, in pages.
    pub counts: Statistics,
    /// Its size in bytes.
    pub size: Bytes,
    /// Bytes that it holds.
    pub resident: Bytes,
    /// Pages that were not in memory but in the second level.
    pub second_hits: u64,
    /// Bytes that it has in the second level.
    pub second_resident: Bytes,
}

/// The pages, and what they may show.
pub(super) struct Cached {
    kept: Coherent,
    pages: Pages,
    pub(super) page: u64,
    pub(super) second: Option<Second>,
    /// Partitions that do not use the second level.
    memory_only: Vec<PartitionId>,
    /// Rounds left of the search for such partitions' pages in the second level.
    rounds: u32,
    /// The slots of a read's pages; kept to save allocations.
    found: Vec<Option<Slot>>,
    /// The same as page numbers.
    numbers: Vec<u32>,
}

/// A read of which the second level has pages.
pub(super) struct SecondWay {
    pub filling: Filling,
    /// Where the buffer begins in the tree.
    pub from: u64,
    /// What is to be read, the next last.
    pub runs: Vec<SecondRun>,
    /// Already has the pages that were in memory.
    pub buf: Buf,
}

impl Cached {
    pub(super) fn new(io: &Io, settings: &CacheSettings) -> Result<Cached, IoError> {
        let page = u64::from(settings.page);
        let pages_of = |bytes: Bytes| u32::try_from(bytes.0 / page).unwrap_or(u32::MAX / 2);
        let slots = pages_of(settings.memory);
        Ok(Cached {
            kept: Coherent::new(slots, page, settings.policy),
            // Replies that show pages do not use their buffers' memory, so both together are
            // bounded.
            pages: Pages::map(slots, Bytes(page), pages_of(io.memory()))?,
            page,
            second: None,
            memory_only: Vec::new(),
            rounds: 0,
            found: Vec::new(),
            numbers: Vec::new(),
        })
    }

    /// A buffer with the bytes of a read, or a view of them, if all are in memory.
    pub(super) fn read(&mut self, io: &Io, (tree, at, len): (u32, u64, u64)) -> Option<Buf> {
        let (view, partition) = self.kept.open(tree)?;
        let pages = at / self.page..(at + len).div_ceil(self.page);
        let mut found = std::mem::take(&mut self.found);
        found.extend(self.kept.find_run(view, pages.clone()));
        let (all, there) = (found.len(), found.iter().flatten().count());
        let mut buf = if there == all { Some(io.take(len as u32)?) } else { None };
        let is_shown = buf.as_ref().is_some_and(|buf| self.show(io, &found, at % self.page, buf));
        for (page, slot) in pages.zip(found.drain(..)) {
            let (from, to) = (at.max(page * self.page), (at + len).min((page + 1) * self.page));
            let (first, end) = (from - page * self.page, to - page * self.page);
            self.kept.ask(partition, slot, Part::of(self.page, first, end));
            let (Some(slot), Some(buf), false) = (slot, &mut buf, is_shown) else { continue };
            let bytes = &self.pages.read(slot.0)[first as usize..end as usize];
            io.with_mut(buf, |whole| whole[(from - at) as usize..(to - at) as usize].copy_from_slice(bytes));
        }
        self.kept.count(tree, there as u64, (all - there) as u64);
        self.found = found;
        buf
    }

    /// Makes a buffer a view of these pages from byte `first` on, if it is long and needs most of
    /// their bytes.
    fn show(&mut self, io: &Io, found: &[Option<Slot>], first: u64, buf: &Buf) -> bool {
        let (len, kept) = (u64::from(buf.len()), found.len() as u64 * self.page);
        if len < SHOWN_MIN || kept > len + len / KEPT_MORE {
            return false;
        }
        self.numbers.clear();
        self.numbers.extend(found.iter().flatten().map(|slot| slot.0));
        io.show(&self.pages, &self.numbers, first as u32, buf)
    }

    /// How many bytes may be read ahead at once for a stream in a tree, so that pages are not
    /// evicted before they are asked for; nothing if that is less than two pages.
    pub(super) fn ahead_most(&mut self, tree: u32) -> u64 {
        let partition = self.kept.open(tree).map(|(_, partition)| partition);
        let slots = partition.and_then(|partition| self.kept.statistics(partition)).map_or(0, |(_, slots, _)| slots);
        let pages = u64::from(slots / AHEAD_PART);
        if pages < 2 { 0 } else { pages * self.page }
    }

    /// Whether memory has all pages of a part of a tree; does not count as an access.
    pub(super) fn has_all(&mut self, tree: u32, at: u64, len: u64) -> bool {
        let Some((object, _)) = self.kept.open(tree) else { return false };
        let pages = at / self.page..(at + len).div_ceil(self.page);
        self.kept.find_run(object, pages).all(|slot| slot.is_some())
    }

    /// Adds a second level, to which evicted pages go from now on.
    pub(super) fn add_second(&mut self, io: &Io, opened: SecondFile) -> bool {
        self.second = Second::new(io, opened, self.page);
        self.second.is_some()
    }

    /// How to read what memory has only a part of, if the second level has the rest.
    pub(super) fn read_second(
        &mut self,
        io: &Io,
        (tree, at, len): (u32, u64, u64),
        is_ahead: bool,
    ) -> Option<SecondWay> {
        let (view, partition) = self.kept.open(tree)?;
        let filling = self.kept.begin_fill(tree, is_ahead)?;
        let second = self.second.as_mut().filter(|_| !self.memory_only.contains(&partition))?;
        let pages = at / self.page..(at + len).div_ceil(self.page);
        if pages.end - pages.start > SECOND_MAX {
            return None;
        }
        let mut runs: Vec<SecondRun> = Vec::new();
        for (number, page) in pages.clone().enumerate() {
            let key = Key { object: view, page };
            if self.kept.find(key).is_some() {
                continue;
            }
            let (slot, into) = (second.find(key)?, number as u32 * self.page as u32);
            match runs.last_mut() {
                Some(SecondRun { into: at, slot: Slot(first), pages })
                    if *first + *pages == slot.0 && *at + *pages * self.page as u32 == into =>
                {
                    *pages += 1;
                }
                _ => runs.push(SecondRun { into, slot, pages: 1 }),
            }
        }
        if runs.is_empty() {
            return None;
        }
        let (from, whole) = (pages.start * self.page, (pages.end - pages.start) * self.page);
        let mut buf = io.take(whole as u32)?;
        for (number, slot) in self.kept.find_run(view, pages).enumerate() {
            let Some(slot) = slot else { continue };
            let bytes = self.pages.read(slot.0);
            io.with_mut(&mut buf, |whole| whole[number * bytes.len()..][..bytes.len()].copy_from_slice(bytes));
        }
        second.hold(partition, runs.iter().flat_map(SecondRun::slots), is_ahead);
        runs.reverse();
        Some(SecondWay { filling, from, runs, buf })
    }

    /// For each tree, pages found and missed by its reads since the last call.
    pub(super) fn take_asked(&mut self) -> Vec<(u32, (u64, u64))> {
        self.kept.take_asked()
    }

    /// Starts a read from the disk; `is_ahead` for a read-ahead.
    pub(super) fn begin_fill(&mut self, tree: u32, is_ahead: bool) -> Option<Filling> {
        self.kept.begin_fill(tree, is_ahead)
    }

    /// The read ended with these bytes, from `at` on, which is the start of a page. `end` is the
    /// tree's.
    pub(super) fn fill(
        &mut self,
        (io, now): (&Io, Time),
        (tree, filling): (u32, Filling),
        (at, end): (u64, u64),
        bytes: &[u8],
    ) {
        for (number, bytes) in bytes.chunks(self.page as usize).enumerate() {
            let page = at / self.page + number as u64;
            let is_whole = bytes.len() as u64 == self.page || page * self.page + bytes.len() as u64 >= end;
            if !is_whole {
                continue;
            }
            let Some((partition, inserted)) = self.kept.place(tree, filling, page) else { continue };
            if let Some(evicted) = inserted.evicted {
                self.hand_on((io, now), partition, evicted, inserted.slot);
            }
            let whole = self.pages.write(inserted.slot.0);
            whole[..bytes.len()].copy_from_slice(bytes);
            whole[bytes.len()..].fill(0);
        }
    }

    /// A write, trim or zeroing starts.
    pub(super) fn begin_change(&mut self, tree: u32, at: u64, len: u64) {
        let second = &mut self.second;
        self.kept.begin_change(tree, at, len, |key| second.iter_mut().for_each(|second| second.remove(key)));
    }

    /// It has ended. `data` has the bytes of a successful write; otherwise its pages are dropped.
    pub(super) fn end_change(&mut self, tree: u32, (at, len): (u64, u64), data: Option<&[u8]>) {
        let (page, pages) = (self.page, &mut self.pages);
        self.kept.end_change(tree, (at, len), data.is_some(), |key, slot| {
            let start = key.page * page;
            let (from, to) = (at.max(start), (at + len).min(start + page));
            let part = &data.unwrap_or_default()[(from - at) as usize..(to - at) as usize];
            pages.write(slot.0)[(from - start) as usize..][..part.len()].copy_from_slice(part);
        });
    }

    /// A change of structure starts, with the number `ask`.
    pub(super) fn begin_structure(&mut self, ask: u64, trees: Vec<u32>) {
        self.kept.begin_structure(ask, trees);
    }

    /// It was answered.
    pub(super) fn end_structure(&mut self, ask: u64) {
        self.kept.end_structure(ask);
    }

    /// Moves a tree to a partition; its pages in other partitions are dropped.
    pub(super) fn assign(&mut self, tree: u32, partition: PartitionId) {
        self.kept.assign(tree, partition);
    }

    /// Drops a tree that is no longer served.
    pub(super) fn forget(&mut self, tree: u32) {
        self.kept.forget(tree);
    }

    /// Makes these the only partitions. Those in `memory_only` do not use the second level, and
    /// what they have there is dropped.
    pub(super) fn divide(
        &mut self,
        parts: &[(PartitionId, Bytes)],
        memory_only: &[PartitionId],
    ) -> Result<(), PartitionRefusal> {
        let parts: Vec<_> = parts.iter().map(|(id, size)| (*id, self.slots_of(*size))).collect();
        self.kept.divide(&parts)?;
        let is_there = |id| id == PartitionId::default() || parts.iter().any(|(part, _)| *part == id);
        self.second.iter_mut().for_each(|second| second.forget_partitions(is_there));
        if memory_only.iter().any(|id| !self.memory_only.contains(id)) {
            // The current round may have passed some of their pages.
            self.rounds = 2;
        }
        self.memory_only = memory_only.to_vec();
        Ok(())
    }

    /// Limits the size of the whole cache, while memory is short or after.
    pub(super) fn limit(&mut self, size: Bytes) {
        self.kept.limit(self.slots_of(size));
    }

    pub(super) fn state(&self, partition: PartitionId) -> Option<PartitionState> {
        let (counts, slots, held) = self.kept.statistics(partition)?;
        let bytes = |slots: u32| Bytes(u64::from(slots) * self.page);
        let second = self.second.as_ref().map(|second| second.of_partition(partition));
        let (second_hits, second_resident) = second.unwrap_or_default();
        Some(PartitionState { counts, size: bytes(slots), resident: bytes(held), second_hits, second_resident })
    }

    /// A flush has failed: from now on all reads go to the device.
    pub(super) fn shut(&mut self, io: &Io) {
        if !self.kept.shut() {
            self.second.iter_mut().for_each(|second| second.fail(io, "a flush of the pool failed"));
        }
    }

    pub(super) fn has_work(&self) -> bool {
        self.kept.has_work() || self.rounds > 0
    }

    /// Continues lengthy work, and returns the memory of dropped pages.
    pub(super) fn step(&mut self, io: &Io, now: Time) {
        let mut gone: Vec<(Slot, Option<(PartitionId, Evicted)>)> = Vec::new();
        let mut freed = Vec::new();
        self.kept
            .step(|slot, partition, evicted| gone.push((slot, Some((partition, evicted)))), |slot| freed.push(slot));
        for (slot, evicted) in gone.into_iter().chain(freed.into_iter().map(|slot| (slot, None))) {
            if let Some((partition, evicted)) = evicted {
                self.hand_on((io, now), partition, evicted, slot);
            }
            self.pages.give_back(slot.0);
        }
        // Pages of deleted trees disappear when they are overwritten: there is no hurry. Those of a
        // memory-only partition go now, since it may use the second level again.
        let is_dead = |partition, view| self.kept.is_dead(view) || self.memory_only.contains(&partition);
        let is_around = self.second.as_mut().is_none_or(|second| second.sweep(STEPS, is_dead));
        self.rounds = self.rounds.saturating_sub(u32::from(is_around));
    }

    /// Offers an evicted page, whose bytes are still in its slot, to the second level, if its
    /// partition uses that.
    fn hand_on(&mut self, at: (&Io, Time), partition: PartitionId, evicted: Evicted, slot: Slot) {
        if let Some(second) = &mut self.second
            && self.kept.is_settled(evicted.key)
            && !self.memory_only.contains(&partition)
        {
            second.offer(at, partition, evicted, self.pages.read(slot.0));
        }
    }

    fn slots_of(&self, size: Bytes) -> u32 {
        u32::try_from(size.0 / self.page).unwrap_or(u32::MAX)
    }
}
