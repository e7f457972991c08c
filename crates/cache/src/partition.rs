//! A share of the budget with its queues, and the choice of the next page to evict.
//!
//! - **S3-FIFO** (Yang and others, SOSP 2023): a small queue of a tenth, which pages that are
//!   accessed only once pass through, and a main queue in which a page is reinserted as often as it
//!   was accessed, at most three times.
//! - **2Q** (Johnson and Shasha, VLDB 1994): a FIFO of a quarter, a ghost of half, and an LRU for
//!   pages that return after they left.
//! - **SIEVE** (Zhang and others, NSDI 2024): one queue, and a hand that spares pages that were
//!   accessed since it last passed.
//! - **LRU**: one queue, in which an accessed page moves to the front. For simulated arrays, and
//!   for comparison with theory.
//!   what theory says of it.

use crate::ghost::Ghost;
use crate::index::Key;
use crate::lists::{Links, NONE, Queue};

/// The eviction policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eviction {
    /// S3-FIFO.
    #[default]
    S3Fifo,
    /// 2Q.
    TwoQ,
    /// SIEVE.
    Sieve,
    /// Least recently used.
    Lru,
}

/// Maximum of a page's access count.
const ASKED_MAX: u8 = 3;
/// Accesses that move a page from the small queue to the main one (S3-FIFO).
const PROMOTED: u8 = 2;

/// The statistics of a partition since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Accesses to pages that were cached.
    pub hits: u64,
    /// Accesses to pages that were not cached.
    pub misses: u64,
    /// Pages that were inserted.
    pub inserted: u64,
    /// Pages that were evicted for others, or because the partition shrank.
    pub evicted: u64,
    /// Pages that were removed because their contents changed or were deleted.
    pub invalidated: u64,
}

/// What is known of a slot besides its key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About {
    pub partition: u8,
    pub in_main: bool,
    pub asked: u8,
    /// It was accessed since it was inserted, or it returned soon after its eviction.
    pub was_used: bool,
    pub fresh: Fresh,
    /// Where the last request for it ended.
    pub end: u8,
}

/// Whether a page was accessed since it was inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fresh {
    #[default]
    No,
    /// Not yet; the request that inserted it was an access.
    Asked,
    /// Not yet; it was inserted by a read-ahead.
    Ahead,
}

/// The part of a page that a request covers, in 256ths of the page. A page that is read from
/// beginning to end by many requests counts as accessed once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    from: u8,
    end: u8,
}

impl Part {
    /// The whole page.
    pub const WHOLE: Part = Part { from: 0, end: 0 };

    /// The bytes `from..end` of a page of `page` bytes.
    pub fn of(page: u64, from: u64, end: u64) -> Part {
        let scaled = |at: u64| (at * 256 / page.max(1)) as u8;
        Part { from: scaled(from), end: scaled(end) }
    }
}

impl About {
    /// Records a request, and returns whether it counts as another access. The first request for a
    /// read-ahead page does not, nor does one that continues where the previous one ended.
    fn is_asked_again(&mut self, part: Part) -> bool {
        let before = std::mem::replace(&mut self.end, part.end);
        let goes_on = part.from != 0 && part.from == before;
        match std::mem::take(&mut self.fresh) {
            Fresh::Ahead => false,
            // It is unknown how far the request that inserted it went.
            Fresh::Asked => part.from == 0,
            Fresh::No => !goes_on,
        }
    }
}

pub(crate) struct Partition {
    pub policy: Eviction,
    /// Slots that were assigned to it.
    pub size: u32,
    /// Slots that it may use at present: fewer while memory is short.
    pub capacity: u32,
    pub statistics: Statistics,
    /// It was removed; its pages are being evicted.
    pub is_closed: bool,
    small: Queue,
    main: Queue,
    /// The position of SIEVE's hand.
    hand: u32,
    ghost: Ghost,
}

impl Partition {
    pub(crate) fn new(policy: Eviction, capacity: u32) -> Partition {
        let (small, main) = Default::default();
        let ghost = Ghost::new(ghosts(policy, capacity));
        Partition {
            policy,
            size: capacity,
            capacity,
            statistics: Statistics::default(),
            is_closed: false,
            small,
            main,
            hand: NONE,
            ghost,
        }
    }

    /// Changes the capacity. A removed partition that still has pages starts anew.
    pub(crate) fn resize(&mut self, capacity: u32) {
        if std::mem::take(&mut self.is_closed) {
            // The remaining pages count as inserted, so that the counts add up.
            self.statistics = Statistics { inserted: self.len().into(), ..Statistics::default() };
        }
        if capacity == self.capacity {
            return;
        }
        self.capacity = capacity;
        self.ghost.resize(ghosts(self.policy, capacity));
    }

    pub(crate) fn close(&mut self) {
        self.size = 0;
        self.resize(0);
        self.is_closed = true;
    }

    pub(crate) fn len(&self) -> u32 {
        self.small.len + self.main.len
    }

    /// The small queue's share of the capacity.
    fn small_max(&self) -> u32 {
        match self.policy {
            Eviction::S3Fifo => (self.capacity / 10).max(1),
            Eviction::TwoQ => (self.capacity / 4).max(1),
            Eviction::Sieve | Eviction::Lru => 0,
        }
    }

    /// Records an access to a cached page.
    pub(crate) fn touch(&mut self, links: &mut Links, slot: u32, about: &mut About, part: Part) {
        if !about.is_asked_again(part) {
            return;
        }
        about.was_used = true;
        match self.policy {
            Eviction::S3Fifo => about.asked = (about.asked + 1).min(ASKED_MAX),
            Eviction::Sieve => about.asked = 1,
            Eviction::TwoQ | Eviction::Lru if about.in_main => {
                links.unlink(&mut self.main, slot);
                links.push(&mut self.main, slot);
            }
            Eviction::TwoQ | Eviction::Lru => {}
        }
    }

    /// Inserts a page.
    pub(crate) fn admit(&mut self, links: &mut Links, slot: u32, hash: u64, about: &mut About, fresh: Fresh) {
        let known = self.ghost.take(hash);
        let filling =
            self.policy == Eviction::S3Fifo && self.statistics.evicted == 0 && self.small.len >= self.small_max();
        let one_queue = matches!(self.policy, Eviction::Sieve | Eviction::Lru);
        let (in_main, partition) = (one_queue || known || filling, about.partition);
        *about = About { partition, in_main, asked: 0, was_used: known, fresh, end: 0 };
        links.push(if about.in_main { &mut self.main } else { &mut self.small }, slot);
        self.statistics.inserted += 1;
    }

    /// Takes a page out of its queue that is removed without being evicted.
    pub(crate) fn withdraw(&mut self, links: &mut Links, slot: u32, about: About) {
        if self.hand == slot {
            self.hand = links.newer(slot);
        }
        links.unlink(if about.in_main { &mut self.main } else { &mut self.small }, slot);
    }

    /// Chooses the page to evict and takes it out of its queue. There must be one.
    pub(crate) fn evict(&mut self, links: &mut Links, keys: &[Key], abouts: &mut [About]) -> u32 {
        self.statistics.evicted += 1;
        match self.policy {
            Eviction::S3Fifo => self.evict_s3(links, keys, abouts),
            Eviction::TwoQ => self.evict_2q(links, keys),
            Eviction::Sieve => self.evict_sieve(links, abouts),
            Eviction::Lru => {
                let slot = self.main.tail;
                links.unlink(&mut self.main, slot);
                slot
            }
        }
    }

    fn evict_s3(&mut self, links: &mut Links, keys: &[Key], abouts: &mut [About]) -> u32 {
        let main_max = self.capacity - self.small_max().min(self.capacity);
        while self.small.len > 0 && (self.main.len <= main_max || self.main.len == 0) {
            let slot = self.small.tail;
            links.unlink(&mut self.small, slot);
            let about = &mut abouts[slot as usize];
            if about.asked < PROMOTED {
                self.ghost.push(keys[slot as usize].hash());
                return slot;
            }
            (about.in_main, about.asked) = (true, 0);
            links.push(&mut self.main, slot);
        }
        loop {
            // This terminates: each round decrements the count of a page, and counts are at most
            // three.
            let slot = self.main.tail;
            links.unlink(&mut self.main, slot);
            match &mut abouts[slot as usize].asked {
                0 => return slot,
                asked => *asked -= 1,
            }
            links.push(&mut self.main, slot);
        }
    }

    fn evict_2q(&mut self, links: &mut Links, keys: &[Key]) -> u32 {
        if self.small.len > self.small_max() || self.main.len == 0 {
            let slot = self.small.tail;
            links.unlink(&mut self.small, slot);
            self.ghost.push(keys[slot as usize].hash());
            return slot;
        }
        let slot = self.main.tail;
        links.unlink(&mut self.main, slot);
        slot
    }

    fn evict_sieve(&mut self, links: &mut Links, abouts: &mut [About]) -> u32 {
        let mut slot = if self.hand == NONE { self.main.tail } else { self.hand };
        while abouts[slot as usize].asked > 0 {
            abouts[slot as usize].asked = 0;
            let newer = links.newer(slot);
            slot = if newer == NONE { self.main.tail } else { newer };
        }
        self.hand = links.newer(slot);
        links.unlink(&mut self.main, slot);
        slot
    }
}

/// The number of evicted keys that a policy remembers.
fn ghosts(policy: Eviction, capacity: u32) -> u32 {
    match policy {
        Eviction::S3Fifo => capacity - capacity / 10,
        Eviction::TwoQ => capacity / 2,
        Eviction::Sieve | Eviction::Lru => 0,
    }
}
