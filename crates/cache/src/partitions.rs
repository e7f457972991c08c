//! The slots of one budget, divided into partitions.

use crate::index::{Index, Key};
use crate::lists::{Links, Slot};
use crate::partition::{About, Eviction, Fresh, Part, Partition, Statistics};
use std::fmt;
use std::ops::Range;

/// Limit on the partitions: a slot stores the number of its partition in a byte, and nobody assigns
/// volumes to more by hand.
pub const PARTITIONS_MAX: usize = 64;

/// A partition. Number 0 is the default one, which always exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionId(pub u8);

/// Why a division was refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionRefusal {
    /// Together, the partitions would exceed the budget.
    Beyond {
        /// Slots asked for.
        asked: u64,
        /// Slots that exist.
        slots: u32,
    },
    /// The number is that of the default partition, or exceeds [`PARTITIONS_MAX`].
    NoPartition,
    /// A partition without slots.
    Nothing,
}

impl fmt::Display for PartitionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartitionRefusal::Beyond { asked, slots } => {
                write!(f, "the partitions would have {asked} pages, and the cache has {slots}")
            }
            PartitionRefusal::NoPartition => write!(f, "partitions have the numbers 1 to {}", PARTITIONS_MAX - 1),
            PartitionRefusal::Nothing => write!(f, "a partition has one page at least"),
        }
    }
}

/// An evicted page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Which.
    pub key: Key,
    /// It was accessed while it was cached, or had returned soon after an earlier eviction.
    pub was_asked: bool,
}

/// Where an inserted page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// The slot to fill.
    pub slot: Slot,
    /// The page evicted for it, whose bytes are still in that slot.
    pub evicted: Option<Evicted>,
}

/// The slots of a cache; see the crate's documentation.
pub struct Cache {
    index: Index,
    links: Links,
    keys: Vec<Key>,
    abouts: Vec<About>,
    free: Vec<u32>,
    partitions: Vec<Option<Partition>>,
    /// Limit on the slots of all partitions together.
    limit: u32,
    /// Where a sweep continues.
    swept: u32,
}

impl Cache {
    /// A cache of `slots` slots, all of the default partition.
    pub fn new(slots: u32, policy: Eviction) -> Cache {
        let mut partitions = Vec::with_capacity(PARTITIONS_MAX);
        partitions.push(Some(Partition::new(policy, slots)));
        Cache {
            index: Index::new(slots),
            links: Links::new(slots),
            keys: vec![Key::default(); slots as usize],
            abouts: vec![About { partition: FREE, ..About::default() }; slots as usize],
            free: (0..slots).rev().collect(),
            partitions,
            limit: slots,
            swept: 0,
        }
    }

    /// The number of slots.
    pub fn slots(&self) -> u32 {
        self.keys.len() as u32
    }

    /// The slot of a page. Counts as an access by `partition`.
    pub fn get(&mut self, partition: PartitionId, key: Key) -> Option<Slot> {
        let found = self.peek(key);
        self.ask(partition, found, Part::WHOLE);
        found
    }

    /// Counts a request for a part of a page, by what [`Cache::peek`] found, without another
    /// look-up. This is what [`Cache::get`] does for a whole page.
    pub fn ask(&mut self, partition: PartitionId, found: Option<Slot>, part: Part) {
        let Some(asked) = self.partitions.get_mut(usize::from(partition.0)).and_then(Option::as_mut) else { return };
        let Some(slot) = found else {
            asked.statistics.misses += 1;
            return;
        };
        asked.statistics.hits += 1;
        let about = &mut self.abouts[slot.0 as usize];
        let owner = self.partitions[usize::from(about.partition)].as_mut().expect("a slot's partition is there");
        owner.touch(&mut self.links, slot.0, about, part);
    }

    /// The slot of a page; counts and changes nothing.
    pub fn peek(&self, key: Key) -> Option<Slot> {
        self.index.find(&self.keys, key)
    }

    /// The slots of consecutive pages of an object, as [`Cache::peek`] would find each. Pages that
    /// were inserted together are usually in adjacent slots, so the slot after the previous one is
    /// tried first.
    pub fn peek_run(&self, object: u64, pages: Range<u64>) -> impl Iterator<Item = Option<Slot>> {
        let mut before: Option<Slot> = None;
        pages.map(move |page| {
            let (key, next) = (Key { object, page }, before.map(|slot| slot.0 + 1));
            let next = next.filter(|next| self.keys.get(*next as usize) == Some(&key) && self.is_used(*next));
            before = next.map(Slot).or_else(|| self.peek(key));
            before
        })
    }

    fn is_used(&self, slot: u32) -> bool {
        self.abouts[slot as usize].partition != FREE
    }

    /// The slot for a page in `partition`, or its present slot if it has one. `None` if the
    /// partition has no slots, or must wait for those of a partition that is shrinking.
    pub fn insert(&mut self, partition: PartitionId, key: Key) -> Option<Inserted> {
        self.bring_in(partition, key, Fresh::Asked)
    }

    /// Does the same for a read-ahead page, which nobody has asked for yet.
    pub fn insert_ahead(&mut self, partition: PartitionId, key: Key) -> Option<Inserted> {
        self.bring_in(partition, key, Fresh::Ahead)
    }

    fn bring_in(&mut self, partition: PartitionId, key: Key, fresh: Fresh) -> Option<Inserted> {
        let hash = key.hash();
        if let Some(slot) = self.index.find_hashed(&self.keys, key, hash) {
            return Some(Inserted { slot, evicted: None });
        }
        let mine = self.partitions.get(usize::from(partition.0))?.as_ref()?;
        if mine.capacity == 0 {
            return None;
        }
        let evicted = if mine.len() >= mine.capacity { Some(self.evict(partition)) } else { None };
        let slot = self.free.pop()?;
        let about = &mut self.abouts[slot as usize];
        about.partition = partition.0;
        self.keys[slot as usize] = key;
        self.index.insert(hash, Slot(slot));
        let mine = self.partitions[usize::from(partition.0)].as_mut().expect("it is there");
        mine.admit(&mut self.links, slot, hash, about, fresh);
        Some(Inserted { slot: Slot(slot), evicted })
    }

    /// Removes a page whose bytes are no longer valid; returns the slot.
    pub fn remove(&mut self, key: Key) -> Option<Slot> {
        let slot = self.peek(key)?;
        self.take_out(slot.0);
        Some(slot)
    }

    /// Examines up to `steps` slots and removes pages of dead objects; appends their slots to
    /// `freed`. Returns whether it has completed a round.
    pub fn sweep(&mut self, steps: u32, is_dead: impl Fn(u64) -> bool, freed: &mut Vec<Slot>) -> bool {
        for _ in 0..steps {
            if self.swept >= self.slots() {
                self.swept = 0;
                return true;
            }
            let slot = self.swept;
            self.swept += 1;
            if self.is_used(slot) && is_dead(self.keys[slot as usize].object) {
                self.take_out(slot);
                freed.push(Slot(slot));
            }
        }
        false
    }

    /// Makes these the only partitions beside the default one, with that many slots each; the
    /// default one gets the rest. A removed partition holds nothing from now on. [`Cache::shrink`]
    /// then evicts what is too much.
    ///
    /// # Errors
    /// They exceed the slots, one has none, or a number is invalid.
    pub fn divide(&mut self, policy: Eviction, parts: &[(PartitionId, u32)]) -> Result<(), PartitionRefusal> {
        if parts.iter().any(|(id, _)| id.0 == 0 || usize::from(id.0) >= PARTITIONS_MAX) {
            return Err(PartitionRefusal::NoPartition);
        }
        if parts.iter().any(|(_, slots)| *slots == 0) {
            return Err(PartitionRefusal::Nothing);
        }
        let asked: u64 = parts.iter().map(|(_, slots)| u64::from(*slots)).sum();
        if asked > self.slots().into() {
            return Err(PartitionRefusal::Beyond { asked, slots: self.slots() });
        }
        for number in 1..self.partitions.len() {
            let is_named = parts.iter().any(|(id, _)| usize::from(id.0) == number);
            if let Some(partition) = self.partitions[number].as_mut().filter(|_| !is_named) {
                partition.close();
            }
        }
        for (id, slots) in parts {
            let number = usize::from(id.0);
            if self.partitions.len() <= number {
                self.partitions.resize_with(number + 1, || None);
            }
            match &mut self.partitions[number] {
                Some(partition) => partition.size = *slots,
                none => *none = Some(Partition::new(policy, *slots)),
            }
        }
        self.apply();
        Ok(())
    }

    /// Evicts up to `steps` pages of partitions that exceed their capacity; appends the slots to
    /// `freed`. Returns whether there is nothing left to do.
    pub fn shrink(&mut self, steps: u32, freed: &mut Vec<Slot>) -> bool {
        self.shrink_each(steps, |slot, _, _| freed.push(slot))
    }

    /// Does the same, and passes the partition and page of each slot.
    pub fn shrink_each(&mut self, steps: u32, mut freed: impl FnMut(Slot, PartitionId, Evicted)) -> bool {
        let mut left = steps;
        for number in 0..self.partitions.len() {
            if self.partitions[number].as_ref().is_some_and(|partition| partition.is_closed && partition.len() == 0) {
                self.partitions[number] = None;
            }
            while self.partitions[number].as_ref().is_some_and(|partition| partition.len() > partition.capacity) {
                if left == 0 {
                    return false;
                }
                left -= 1;
                let partition = PartitionId(number as u8);
                let evicted = self.evict(partition);
                self.free.last().into_iter().for_each(|slot| freed(Slot(*slot), partition, evicted));
            }
        }
        true
    }

    /// Limits the slots of all partitions together, while memory is short or after. The default
    /// partition is reduced first; when it has none, the others are reduced in proportion, but each
    /// keeps a slot. [`Cache::shrink`] then evicts what is too much.
    pub fn limit(&mut self, slots: u32) {
        self.limit = slots;
        self.apply();
    }

    /// A partition's statistics, capacity and occupancy, in pages; `None` if it does not exist.
    pub fn statistics(&self, partition: PartitionId) -> Option<(Statistics, u32, u32)> {
        let found = self.partitions.get(usize::from(partition.0))?.as_ref().filter(|found| !found.is_closed)?;
        Some((found.statistics, found.capacity, found.len()))
    }

    /// Slots assigned to partitions other than the default one.
    fn assigned(&self) -> u32 {
        self.partitions[1..].iter().flatten().map(|partition| partition.size).sum()
    }

    /// Sets the present capacity of each partition.
    fn apply(&mut self) {
        let assigned = self.assigned();
        let limit = self.limit.min(self.slots());
        let rest = self.slots() - assigned;
        let [default, others @ ..] = &mut self.partitions[..] else { return };
        // The others are closed, and stay so.
        let mut open: Vec<_> = others.iter_mut().flatten().filter(|partition| partition.size > 0).collect();
        // One slot each, and as much of the rest as the limit allows.
        let least = open.len() as u32;
        let (beyond, left) = (u64::from(assigned - least).max(1), u64::from(limit.saturating_sub(least)));
        for partition in &mut open {
            let part = 1 + (u64::from(partition.size - 1) * left / beyond) as u32;
            partition.resize(if assigned <= limit { partition.size } else { part });
        }
        let default = default.as_mut().expect("it is always there");
        default.size = rest;
        default.resize(rest.min(limit.saturating_sub(assigned)));
    }

    fn evict(&mut self, partition: PartitionId) -> Evicted {
        let mine = self.partitions[usize::from(partition.0)].as_mut().expect("it is there");
        let slot = mine.evict(&mut self.links, &self.keys, &mut self.abouts);
        let about = &mut self.abouts[slot as usize];
        let evicted = Evicted { key: self.keys[slot as usize], was_asked: about.was_used };
        about.partition = FREE;
        self.index.remove(&self.keys, evicted.key.hash(), Slot(slot));
        self.free.push(slot);
        evicted
    }

    fn take_out(&mut self, slot: u32) {
        let about = self.abouts[slot as usize];
        let owner = self.partitions[usize::from(about.partition)].as_mut().expect("a slot's partition is there");
        owner.withdraw(&mut self.links, slot, about);
        owner.statistics.invalidated += 1;
        self.abouts[slot as usize].partition = FREE;
        self.index.remove(&self.keys, self.keys[slot as usize].hash(), Slot(slot));
        self.free.push(slot);
    }
}

/// Marks a free slot in place of a partition.
const FREE: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    const P: PartitionId = PartitionId(0);
    const PAGE: u64 = 64 << 10;
    const REQUEST: u64 = 4 << 10;

    /// Reads pages sequentially in small requests; each page is inserted by its first request, or
    /// by a read-ahead. Returns how many evicted pages counted as accessed again, and how many were
    /// evicted.
    fn scan(policy: Eviction, passes: u32, is_ahead: bool) -> (u64, u64) {
        let (mut cache, mut asked, mut evicted) = (Cache::new(32, policy), 0, 0);
        for page in 0..1000 {
            let key = Key { object: 1, page };
            let inserted = if is_ahead { cache.insert_ahead(P, key) } else { cache.insert(P, key) }.unwrap();
            if let Some(gone) = inserted.evicted {
                (asked, evicted) = (asked + u64::from(gone.was_asked), evicted + 1);
            }
            for pass in 0..passes {
                // The request that inserts a page does not find it yet.
                let first = if is_ahead || pass > 0 { 0 } else { REQUEST };
                for at in (first..PAGE).step_by(REQUEST as usize) {
                    cache.ask(P, Some(inserted.slot), Part::of(PAGE, at, at + REQUEST));
                }
            }
        }
        assert!(evicted >= 900, "{evicted}");
        (asked, evicted)
    }

    /// A page that is read once, in however many requests, counts as accessed once; a second pass
    /// accesses it again.
    #[test]
    fn a_scan_asks_for_no_page_again() {
        for policy in [Eviction::S3Fifo, Eviction::TwoQ, Eviction::Sieve, Eviction::Lru] {
            for is_ahead in [false, true] {
                assert_eq!(scan(policy, 1, is_ahead).0, 0, "{policy:?}, ahead: {is_ahead}");
                let (asked, evicted) = scan(policy, 2, is_ahead);
                assert_eq!(asked, evicted, "{policy:?}, ahead: {is_ahead}");
            }
        }
    }

    /// Small requests at random places of a page, and requests for whole pages, count each time.
    #[test]
    fn what_is_asked_for_at_random_is_asked_for_again() {
        for parts in [[(12, 16), (4, 8)], [(0, 64), (0, 64)]] {
            let mut cache = Cache::new(1, Eviction::Lru);
            let slot = cache.insert(P, Key { object: 1, page: 1 }).unwrap().slot;
            for (from, end) in parts {
                cache.ask(P, Some(slot), Part::of(PAGE, from << 10, end << 10));
            }
            let gone = cache.insert(P, Key { object: 1, page: 2 }).unwrap().evicted.unwrap();
            assert!(gone.was_asked, "{parts:?}");
        }
    }

    /// Pages are inserted, removed and evicted at random: a run is found just as its pages are
    /// individually.
    #[test]
    fn a_run_is_found_as_its_pages_are() {
        let (mut cache, mut chance) = (Cache::new(40, Eviction::S3Fifo), 1u64);
        let mut below = |n: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % n
        };
        let mut found = 0;
        for _ in 0..3000 {
            let (object, first, len) = (below(2), below(60), 1 + below(8));
            let key = |page| Key { object, page };
            match below(4) {
                0 => (first..first + len).for_each(|page| _ = cache.insert(P, key(page))),
                1 => _ = cache.remove(key(first)),
                _ => {
                    let one_by_one: Vec<_> = (first..first + len).map(|page| cache.peek(key(page))).collect();
                    found += one_by_one.iter().flatten().count();
                    assert_eq!(cache.peek_run(object, first..first + len).collect::<Vec<_>>(), one_by_one);
                }
            }
        }
        assert!(found > 500, "{found}");
    }
}
