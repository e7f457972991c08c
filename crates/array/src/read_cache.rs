//! A page cache in an array's memory: reads of cached pages are answered from it, all else goes on
//! to what follows.
//!
//! ```text
//!   read ──► [first level] ─ miss ─► [second level] ─ miss ─► below ──► answered, and its pages are kept
//!                └ hit: `latency`        └ hit: `second_latency`, and its pages go to the first level
//! ```
//! The crate `cache` decides what is evicted, by the same policies as in the server, or by LRU.
//! What the first level evicts goes to the second, so that together they hold as much as both.
//! Writes go through, and what they wrote is kept.
//!
//! A read that misses asks below for its own bytes, and keeps the whole pages around them. With
//! pages larger than requests a cache is warm sooner than a real one, but holds the same in the
//! end. `warm` begins with what the cache holds after a long time of reads without a favourite
//! place: the first pages of the media, as many as fit.
//!
//! With reads spread evenly over W bytes, a cache of C answers `C / W` of them, whatever its
//! policy. With favourites, LRU answers `1 - exp(-rate × T)` of each page's reads, with T such that
//! the expected sum of pages is C (Che, Tung, Wang, 2002).

use block::{Bytes, OpKind, Span, Time};
use cache::{Cache, Eviction, Key, PartitionId};

use crate::agenda::Agenda;
use crate::device::{DeviceError, in_order, none_zero};
use crate::simulated::{Job, Medium};
use crate::stage::Below;
use crate::work::split;

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadCache {
    /// The size of its partition of the memory.
    pub size: Bytes,
    /// The size of the memory, if given: the partition must not be larger.
    pub memory: Option<Bytes>,
    /// The unit that it keeps and evicts.
    pub page: Bytes,
    /// The time until a read of what it has is answered.
    pub latency: Span,
    /// Bytes of a second level, such as NVMe; 0 for none.
    pub second: Bytes,
    /// The time until a read of what the second level has is answered.
    pub second_latency: Span,
    /// Whether it begins full.
    pub warm: bool,
    /// Which page is evicted.
    pub policy: Eviction,
}

impl ReadCache {
    /// Most pages of one level; each takes about 60 bytes of memory.
    pub const PAGES_MAX: u64 = 16 << 20;

    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        none_zero("cache", &[("size", self.size.0), ("page", self.page.0)])?;
        let memory = self.memory.unwrap_or(Bytes(u64::MAX));
        in_order("cache", ("size", self.size), ("memory", memory))?;
        if self.size.max(self.second).0 / self.page.0 > ReadCache::PAGES_MAX {
            return Err(DeviceError::Stages("a cache has more than 16 777 216 pages; make its pages larger"));
        }
        in_order("cache", ("page", self.page), ("size", self.size))
    }
}

impl Default for ReadCache {
    /// 4 GiB in pages of 64 KiB, 50 µs; no second level.
    fn default() -> ReadCache {
        ReadCache {
            size: Bytes::gib(4),
            memory: None,
            page: Bytes::kib(64),
            latency: Span::from_micros(50),
            second: Bytes(0),
            second_latency: Span::from_micros(100),
            warm: false,
            policy: Eviction::default(),
        }
    }
}

const ALL: PartitionId = PartitionId(0);

/// The cache at work.
pub(crate) struct Pages {
    spec: ReadCache,
    first: Cache,
    second: Option<Cache>,
    below: Below,
    answering: Agenda<u32>,
    /// By slot, the requests that went below.
    under: Vec<Option<Job>>,
    ended: Vec<u32>,
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages").field("spec", &self.spec).field("below", &self.below).finish_non_exhaustive()
    }
}

impl Pages {
    /// Creates the cache. A warm one begins with equally many pages of each of the `luns` objects
    /// that lie behind each other in `size`.
    pub(crate) fn new(spec: ReadCache, size: Bytes, luns: u32, below: Box<dyn Medium>) -> Pages {
        let slots = |bytes: Bytes| (bytes.0 / spec.page.0).min(ReadCache::PAGES_MAX) as u32;
        let (first, second) = (slots(spec.size), slots(spec.second));
        let mut pages = Pages {
            first: Cache::new(first, spec.policy),
            second: (second > 0).then(|| Cache::new(second, spec.policy)),
            spec,
            below: Below::new(below),
            answering: Agenda::new(),
            under: Vec::new(),
            ended: Vec::new(),
        };
        if pages.spec.warm {
            let (page, luns) = (pages.spec.page.0, u64::from(luns));
            let (there, each) = (size.0.div_ceil(page), size.0 / luns);
            let room = (u64::from(first) + u64::from(second)).min(there);
            let nth = |n: u64| (n % luns * each).div_ceil(page) + n / luns;
            (0..room).map(nth).filter(|page| *page < there).for_each(|page| pages.keep(page));
        }
        pages
    }

    fn pages(&self, job: &Job) -> std::ops::RangeInclusive<u64> {
        let page = self.spec.page.0;
        split(job.at, page).0..=split(job.at + job.len.max(1) - 1, page).0
    }

    fn key(page: u64) -> Key {
        Key { object: 0, page }
    }

    fn keep(&mut self, page: u64) {
        let inserted = self.first.insert(ALL, Pages::key(page));
        if let Some(second) = &mut self.second {
            second.remove(Pages::key(page));
            if let Some(evicted) = inserted.and_then(|inserted| inserted.evicted) {
                second.insert(ALL, evicted.key);
            }
        }
    }

    /// The time until the read is answered from a level, if all of it is in one of them.
    fn found(&mut self, job: &Job) -> Option<Span> {
        let mut second = false;
        for page in self.pages(job) {
            let key = Pages::key(page);
            if self.first.get(ALL, key).is_some() {
                continue;
            }
            self.second.as_mut()?.get(ALL, key)?;
            second = true;
        }
        if second {
            self.pages(job).for_each(|page| self.keep(page));
        }
        Some(if second { self.spec.second_latency } else { self.spec.latency })
    }
}

impl Medium for Pages {
    fn arrive(&mut self, now: Time, job: Job) {
        let slot = job.slot as usize;
        if self.under.len() <= slot {
            self.under.resize(slot + 1, None);
        }
        let found = if job.kind == OpKind::Read { self.found(&job) } else { None };
        match found {
            Some(latency) => self.answering.note(now + latency, job.slot),
            None => {
                self.under[slot] = Some(job);
                self.below.arrive(now, job);
            }
        }
    }

    fn next_event(&self) -> Time {
        self.answering.next().min(self.below.next_event())
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        while let Some(slot) = self.answering.take_due(now) {
            ended.push(slot);
        }
        if !self.below.is_due(now) {
            return;
        }
        let mut below = std::mem::take(&mut self.ended);
        self.below.step(now, &mut below);
        for slot in below.drain(..) {
            if let Some(job) = self.under[slot as usize].take().filter(|job| job.kind.moves_data()) {
                self.pages(&job).for_each(|page| self.keep(page));
            }
            ended.push(slot);
        }
        self.ended = below;
    }

    fn withdraw(&mut self, now: Time, slot: u32) -> bool {
        self.under[slot as usize].is_some() && self.below.withdraw(now, slot)
    }

    /// Scales the media's speed; the memory's stays.
    fn scale(&mut self, now: Time, percent: u32) {
        self.below.scale(now, percent);
    }
}
