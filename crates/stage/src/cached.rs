//! The server's cache in virtual time, above a plan's simulated device: the same policy and
//! partitions, without the pages.
//!
//! ```text
//!   read ──► all pages there? ── yes ──► ends after HIT
//!                 │ no       └── in memory or on the second level ──► ends after SECOND_HIT
//!                 └────────────► the device; they are there for the next that asks
//! ```
//! What memory evicts goes to the second level by the server's rules, but writing takes no time.
//! Writes, trims and zeroes go to the device and leave the cached pages as they are, since the
//! server updates them in place.

use admin::{Administration, CacheMemory, CacheSeen, Effect};
use anyhow::{Result, bail};
use block::{Bytes, Completion, ObjectId, OpKind, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup};
use cache::{Cache, Evicted, Eviction, Key, PartitionId, SecondLevel, SecondSettings};
use stats::run::Hits;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use workload::plan::CACHE_PAGE;

/// The time of a read of pages in memory: some turns of a server's thread.
const HIT: Span = Span::from_micros(20);

/// The time of a read from the second level: that of a fast flash device.
const SECOND_HIT: Span = Span::from_micros(120);

/// Tickets of reads that are answered from the cache have this bit.
const OURS: u64 = 1 << 63;

/// A cache, shared by a device and whoever changes it.
#[derive(Clone)]
pub struct Memory(Rc<RefCell<State>>);

struct State {
    cache: Cache,
    second: Option<SecondLevel>,
    /// Partitions that keep nothing on the second level.
    memory_only: Vec<PartitionId>,
    /// The partition of an object's pages, and the number that they have in the cache.
    places: HashMap<ObjectId, (PartitionId, u64)>,
    next_view: u64,
    asked: HashMap<ObjectId, Hits>,
}

impl Memory {
    /// The largest level that is simulated: each of its pages takes tens of bytes.
    const MOST: Bytes = Bytes::gib(1024);

    /// A cache of so many bytes in memory, above a second level.
    ///
    /// # Errors
    /// A level is larger than one that can be simulated.
    pub fn new(memory: Bytes, second: Option<Bytes>) -> Result<Memory> {
        for (key, size) in [("cache", Some(memory)), ("second_level", second)] {
            if let Some(size) = size.filter(|size| *size > Memory::MOST) {
                bail!("[server]: {key}: must be at most {} in a simulation, got {size}", Memory::MOST);
            }
        }
        let slots = (memory.0 / CACHE_PAGE) as u32;
        let cache = Cache::new(slots, Eviction::default());
        let (memory_only, places, asked) = Default::default();
        let second = second.map(|size| {
            let settings = SecondSettings { size, page: CACHE_PAGE as u32, writes_per_day: Bytes(u64::MAX / 4) };
            SecondLevel::new(Time::ZERO, settings)
        });
        Ok(Memory(Rc::new(RefCell::new(State { cache, second, memory_only, places, next_view: 0, asked }))))
    }

    /// What the administration is told of the memory.
    pub fn told(memory: Bytes) -> CacheMemory {
        CacheMemory { memory, page: Bytes(CACHE_PAGE) }
    }

    /// Carries out the effects of commands.
    pub fn follow(&self, effects: &[Effect], administration: &Administration) {
        let state = &mut *self.0.borrow_mut();
        for effect in effects {
            match *effect {
                Effect::Divide => {
                    let sizes = administration.partitions.sizes().into_iter();
                    let parts = sizes.map(|(id, size)| (PartitionId(id as u8), (size.0 / CACHE_PAGE) as u32));
                    let divided = state.cache.divide(Eviction::default(), &parts.collect::<Vec<_>>());
                    debug_assert!(divided.is_ok(), "the administration checked it: {divided:?}");
                    let memory_only = administration.partitions.memory_only().into_iter();
                    state.keep_to_memory(memory_only.map(|id| PartitionId(id as u8)).collect());
                    let mut freed = Vec::new();
                    while !state.cache.shrink(u32::MAX, &mut freed) {}
                }
                Effect::Place { object, partition } => {
                    let view = state.renewed(object);
                    state.places.insert(object, (PartitionId(partition as u8), view));
                }
                _ => {}
            }
        }
    }

    /// How many pages each object's reads asked for since the last call.
    pub fn take_asked(&self) -> Vec<(ObjectId, Hits)> {
        self.0.borrow_mut().asked.drain().collect()
    }

    /// What each partition did and holds, by its number.
    pub fn seen(&self, administration: &Administration) -> BTreeMap<u32, CacheSeen> {
        let state = self.0.borrow();
        let numbers = std::iter::once(0).chain(administration.partitions.all().map(|partition| partition.id));
        let seen = numbers.filter_map(|id| {
            let (counts, size, resident) = state.cache.statistics(PartitionId(id as u8))?;
            let bytes = |pages: u32| Bytes(u64::from(pages) * CACHE_PAGE);
            Some((id, server::cache_seen(counts, bytes(size), bytes(resident))))
        });
        seen.collect()
    }

    /// How long a read takes if all of its pages are cached, `None` if one is not; from now on they
    /// are.
    fn read(&self, now: Time, request: &Request) -> Option<Span> {
        let state = &mut *self.0.borrow_mut();
        let (partition, view) = match state.places.get(&request.object) {
            Some(place) => *place,
            None => {
                let place = (PartitionId::default(), state.renewed(request.object));
                state.places.insert(request.object, place);
                place
            }
        };
        let pages = request.at / CACHE_PAGE..(request.at + request.len).div_ceil(CACHE_PAGE);
        let (mut found, mut missed, mut takes) = (0, 0, Some(HIT));
        for page in pages {
            let key = Key { object: view, page };
            if state.cache.get(partition, key).is_some() {
                found += 1;
                continue;
            }
            missed += 1;
            takes = takes.and(state.find_second(partition, key));
            let inserted = state.cache.insert(partition, key);
            if let Some(evicted) = inserted.and_then(|inserted| inserted.evicted) {
                state.offer(now, partition, evicted);
            }
        }
        let asked = state.asked.entry(request.object).or_default();
        (asked.found, asked.missed) = (asked.found + found, asked.missed + missed);
        takes
    }
}

impl State {
    /// Makes these partitions, and no others, keep nothing on the second level.
    fn keep_to_memory(&mut self, partitions: Vec<PartitionId>) {
        self.memory_only = partitions;
        let is_dead = |partition, _| self.memory_only.contains(&partition);
        self.second.iter_mut().for_each(|second| while !second.sweep(u32::MAX, is_dead) {});
    }

    /// The second level, if the partition may use it.
    fn second_of(&mut self, partition: PartitionId) -> Option<&mut SecondLevel> {
        self.second.as_mut().filter(|_| !self.memory_only.contains(&partition))
    }

    /// How long a read of a page takes that the second level has.
    fn find_second(&mut self, partition: PartitionId, key: Key) -> Option<Span> {
        let second = self.second_of(partition)?;
        let slot = second.find(key)?;
        second.hold(partition, slot, false);
        second.release(slot);
        Some(SECOND_HIT)
    }

    /// Offers a page that memory evicted to the second level.
    fn offer(&mut self, now: Time, partition: PartitionId, evicted: Evicted) {
        let Some(second) = self.second_of(partition) else { return };
        if second.offer(now, partition, evicted).is_some()
            && let Some(sealed) = second.seal()
        {
            second.written(sealed.segment);
        }
    }

    /// Gives an object's pages a new number; those under the old one are removed.
    fn renewed(&mut self, object: ObjectId) -> u64 {
        if let Some((_, was)) = self.places.get(&object) {
            let (was, mut freed) = (*was, Vec::new());
            while !self.cache.sweep(u32::MAX, |view| view == was, &mut freed) {}
            self.second.iter_mut().for_each(|second| while !second.sweep(u32::MAX, |_, view| view == was) {});
        }
        self.next_view += 1;
        self.next_view
    }
}

/// A device behind the cache.
pub struct Cached {
    inner: Box<dyn Target>,
    memory: Memory,
    /// Reads that end from the cache, in the order of their ends.
    ready: VecDeque<(Time, Completion)>,
    tickets: u64,
}

impl Cached {
    /// This device behind that cache.
    pub fn new(inner: Box<dyn Target>, memory: Memory) -> Cached {
        Cached { inner, memory, ready: VecDeque::new(), tickets: OURS }
    }
}

impl Target for Cached {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let takes = if request.op.kind() == OpKind::Read { self.memory.read(now, &request) } else { None };
        let Some(takes) = takes else { return self.inner.submit(now, request) };
        let end = now + takes;
        let place = self.ready.partition_point(|(other, _)| *other <= end);
        self.ready.insert(place, (end, Completion { service: takes, ..Completion::of(&request, end, Ok(())) }));
        self.tickets += 1;
        Submitted::Taken(Ticket(self.tickets))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        while self.ready.front().is_some_and(|(end, _)| *end <= now) {
            out.extend(self.ready.pop_front().map(|(_, completion)| completion));
        }
        self.inner.poll(now, out);
    }

    fn next_wakeup(&self) -> Wakeup {
        let own = self.ready.front().map_or(Wakeup::Idle, |(end, _)| Wakeup::At(*end));
        own.sooner(self.inner.next_wakeup())
    }

    /// Does nothing for what ends from the cache: it ends soon by itself.
    fn cancel(&mut self, now: Time, ticket: Ticket) {
        if ticket.0 & OURS == 0 {
            self.inner.cancel(now, ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Op;

    /// What a partition had on the second level is not found once it keeps to memory, nor later,
    /// when it may use that level again.
    #[test]
    fn a_partition_that_keeps_to_memory_finds_nothing_on_the_second_level() {
        let memory = Memory::new(Bytes(8 * CACHE_PAGE), Some(Bytes::mib(2))).unwrap();
        let read = |page: u64| {
            let (at, len, due) = (page * CACHE_PAGE, CACHE_PAGE, Time::ZERO);
            memory.read(due, &Request { tag: 0, object: ObjectId(1), at, len, op: Op::Read, fua: false, due })
        };
        // Each page twice: the second time from memory, so that it was used before it is evicted.
        // Of 256 pages at least three segments of 64 are written.
        let pass = || (0..256).filter(|page| [read(*page), read(*page)][0] == Some(SECOND_HIT)).count();
        assert_eq!(pass(), 0);
        assert!(pass() >= 192);
        let keep = |partitions: &[u32]| {
            let partitions = partitions.iter().map(|id| PartitionId(*id as u8)).collect();
            memory.0.borrow_mut().keep_to_memory(partitions);
        };
        keep(&[0]);
        assert_eq!(pass(), 0);
        keep(&[]);
        // What memory had, 8 pages, goes there and is asked for in the same pass.
        assert!(pass() <= 8);
        assert!(pass() >= 192);
    }
}
