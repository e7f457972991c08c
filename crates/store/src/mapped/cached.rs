//! Pages of the LUNs in memory, never older than what was acknowledged.
//!
//! ```text
//!   read ──► all pages there? ── yes ──► copied, or sent from here if it is long; ended; no I/O
//!                            └── no ───► read whole pages ──► filled, if nothing changed them since it began
//!   write ─► disk ──► ended well ──► what is here is updated, then it is answered
//! ```
//! What may be shown and when is [`cache::Coherent`]'s; here are the bytes. What is evicted may go
//! on to a second level on a device (`second.rs`).

use super::second::{Second, SecondFile, SecondRun};
use block::{Buf, Bytes, Time};
pub(super) use cache::Filling;
use cache::{Coherent, Evicted, Eviction, Key, Part, PartitionId, PartitionRefusal, Slot, Statistics};
use uring::{Io, IoError, Pages};

/// Pages of a read from the second level at most.
const SECOND_MAX: u64 = 64;
/// Pages of the second level looked at a step, for those of trees that are gone.
const STEPS: u32 = 512;
/// A read of at least so many bytes is sent from the pages. For fewer the list of their places
/// costs what the copy costs.
const SHOWN_MIN: u64 = 32 << 10;
/// A reply that is sent from pages keeps whole ones, which may be one part in so many more than its
/// bytes. Its bytes are what is claimed, and seven eighths of the memory for buffers may be: so the
/// pages of all replies stay below that memory.
const KEPT_MORE: u64 = 8;

/// A cache in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// What it takes at most.
    pub memory: Bytes,
    /// Bytes of a page: a power of two from 4 KiB to 64 KiB.
    pub page: u32,
    /// Who is evicted.
    pub policy: Eviction,
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
    /// Pages that memory did not have and the second level did.
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
    /// Partitions of which nothing goes there, and nothing is looked for there.
    memory_only: Vec<PartitionId>,
    /// Rounds in which it is still looked at for what such partitions have there.
    rounds: u32,
    /// Where the pages of a read are; kept for its memory.
    found: Vec<Option<Slot>>,
    /// The same as numbers of pages.
    numbers: Vec<u32>,
}

/// A read that the second level has pages of.
pub(super) struct SecondWay {
    pub filling: Filling,
    /// Where the buffer begins in the tree.
    pub from: u64,
    /// What is to be read, the next last.
    pub runs: Vec<SecondRun>,
    /// With the pages that memory has.
    pub buf: Buf,
}

impl Cached {
    pub(super) fn new(io: &Io, settings: &CacheSettings) -> Result<Cached, IoError> {
        let page = u64::from(settings.page);
        let pages_of = |bytes: Bytes| u32::try_from(bytes.0 / page).unwrap_or(u32::MAX / 2);
        let slots = pages_of(settings.memory);
        Ok(Cached {
            kept: Coherent::new(slots, page, settings.policy),
            // What replies show takes no other memory of their buffers: both together are bounded.
            pages: Pages::map(slots, Bytes(page), pages_of(io.memory()))?,
            page,
            second: None,
            memory_only: Vec::new(),
            rounds: 0,
            found: Vec::new(),
            numbers: Vec::new(),
        })
    }

    /// A buffer with what is asked for, or that stands for it, if all of it is here.
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

    /// Has a buffer stand for the bytes from `first` of these pages on, if they are many, and most
    /// of the pages'.
    fn show(&mut self, io: &Io, found: &[Option<Slot>], first: u64, buf: &Buf) -> bool {
        let (len, kept) = (u64::from(buf.len()), found.len() as u64 * self.page);
        if len < SHOWN_MIN || kept > len + len / KEPT_MORE {
            return false;
        }
        self.numbers.clear();
        self.numbers.extend(found.iter().flatten().map(|slot| slot.0));
        io.show(&self.pages, &self.numbers, first as u32, buf)
    }

    /// Whether memory has all of a part of a tree; nothing is counted.
    pub(super) fn has_all(&mut self, tree: u32, at: u64, len: u64) -> bool {
        let Some((object, _)) = self.kept.open(tree) else { return false };
        let pages = at / self.page..(at + len).div_ceil(self.page);
        self.kept.find_run(object, pages).all(|slot| slot.is_some())
    }

    /// Has what is evicted go there from now on.
    pub(super) fn add_second(&mut self, io: &Io, opened: SecondFile) -> bool {
        self.second = Second::new(io, opened, self.page);
        self.second.is_some()
    }

    /// The way of a read that memory has not all pages of, if the second level has the others.
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
        second.hold(partition, runs.iter().flat_map(SecondRun::slots));
        runs.reverse();
        Some(SecondWay { filling, from, runs, buf })
    }

    /// What each tree's reads asked for since this was last called: pages found, and missed.
    pub(super) fn take_asked(&mut self) -> Vec<(u32, (u64, u64))> {
        self.kept.take_asked()
    }

    /// A read begins that goes to the disk; `is_ahead` where nobody has asked for it yet.
    pub(super) fn begin_fill(&mut self, tree: u32, is_ahead: bool) -> Option<Filling> {
        self.kept.begin_fill(tree, is_ahead)
    }

    /// It ended with these bytes, from `at` on, the start of a page; `end` is the tree's.
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

    /// A write, trim or zeroing begins.
    pub(super) fn begin_change(&mut self, tree: u32, at: u64, len: u64) {
        let second = &mut self.second;
        self.kept.begin_change(tree, at, len, |key| second.iter_mut().for_each(|second| second.remove(key)));
    }

    /// It has ended: `data` are the bytes of a write that ended well, else nothing of it is kept.
    pub(super) fn end_change(&mut self, tree: u32, (at, len): (u64, u64), data: Option<&[u8]>) {
        let (page, pages) = (self.page, &mut self.pages);
        self.kept.end_change(tree, (at, len), data.is_some(), |key, slot| {
            let start = key.page * page;
            let (from, to) = (at.max(start), (at + len).min(start + page));
            let part = &data.unwrap_or_default()[(from - at) as usize..(to - at) as usize];
            pages.write(slot.0)[(from - start) as usize..][..part.len()].copy_from_slice(part);
        });
    }

    /// A change of structure begins, asked for by that number.
    pub(super) fn begin_structure(&mut self, ask: u64, trees: Vec<u32>) {
        self.kept.begin_structure(ask, trees);
    }

    /// It was answered.
    pub(super) fn end_structure(&mut self, ask: u64) {
        self.kept.end_structure(ask);
    }

    /// A tree's pages go to that partition from now on; what is elsewhere is forgotten.
    pub(super) fn assign(&mut self, tree: u32, partition: PartitionId) {
        self.kept.assign(tree, partition);
    }

    /// A tree is served no more.
    pub(super) fn forget(&mut self, tree: u32) {
        self.kept.forget(tree);
    }

    /// Has these partitions be there and no others; nothing of `memory_only` goes to a second level
    /// or is found there, and what they have there is forgotten.
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
            // The round that is under way may have passed some of their pages.
            self.rounds = 2;
        }
        self.memory_only = memory_only.to_vec();
        Ok(())
    }

    /// Has all of it keep that much at most: memory is short, or no longer.
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

    /// Goes on with what takes long; memory of pages that went is given back.
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
        // What trees that are gone have there goes when it is written over: no haste. What is of a
        // partition that keeps to memory goes now: it may use the second level again.
        let is_dead = |partition, view| self.kept.is_dead(view) || self.memory_only.contains(&partition);
        let is_around = self.second.as_mut().is_none_or(|second| second.sweep(STEPS, is_dead));
        self.rounds = self.rounds.saturating_sub(u32::from(is_around));
    }

    /// What was evicted, and is in its slot still, goes to the second level, where its partition
    /// has one.
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
