//! A second level on a device: which pages evicted from memory are written to it, where, and how
//! much is written per day.
//!
//! ```text
//!   offer(key) ── used before? in the day's bound? ──► a page of the segment that fills
//!                                                          │ full
//!   segments   [ 4 ][ 5 ][ writing ][ 1 ][ 2 ][ 3 ]        ▼ written as one, where the oldest was
//! ```
//! Segments are written in order, each as one write, and the oldest is overwritten next: this
//! causes the least wear of flash. The pages of the oldest segment are dropped. A page that was
//! used again and is in the eighth that is overwritten next is written once more. A page that is
//! still there is not written again when memory evicts it.
//!
//! **Endurance.** A page is admitted only if it was accessed again while it was in memory, or soon
//! after its eviction, so a scan writes nothing. In no 24 h is more written than the bound: half of
//! it may be written at once, the other half spread over the day.
//!
//! The owner of the device does the I/O, and keeps a checksum of each page to verify it.

use crate::index::{Index, Key};
use crate::lists::Slot;
use crate::partitions::{Evicted, PARTITIONS_MAX, PartitionId};
use block::{Bytes, Span, Time};

/// Bytes in a segment: large enough for the device's full speed, small enough to keep two in
/// memory.
pub const SEGMENT: u64 = 256 << 10;
/// The least number of segments: one is filled, one is written, and some remain.
pub const SEGMENTS_MIN: u32 = 8;

const DAY: Span = Span::from_secs(24 * 3600);

/// The size of a second level, and the limit on writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondSettings {
    /// Bytes on the device; an incomplete segment at the end is not used.
    pub size: Bytes,
    /// Bytes in a page; must divide a segment.
    pub page: u32,
    /// Limit on the bytes written in 24 h.
    pub writes_per_day: Bytes,
}

/// The statistics of a second level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondStatistics {
    /// Pages that were missing in memory and found here.
    pub hits: u64,
    /// Pages that were written.
    pub written: u64,
    /// Pages that were rejected because they had been accessed only once.
    pub unused: u64,
    /// Pages that were rejected because of the limit on writes, or because the device fell behind.
    pub spared: u64,
    /// Pages that were overwritten by others.
    pub evicted: u64,
    /// Pages that were removed because their contents changed or were deleted, or because their
    /// partition no longer uses the second level.
    pub invalidated: u64,
}

/// The place of an admitted page in the segment being filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its slot on the device.
    pub slot: Slot,
    /// Its index in the segment.
    pub within: u32,
}

/// A full segment, to be written as one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Its number.
    pub segment: u32,
    /// Offset on the device in bytes.
    pub at: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Empty,
    Filling,
    Writing,
    Ready,
}

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    state: State,
    /// Reads in progress, during which it is not overwritten.
    readers: u32,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
struct About {
    partition: u8,
    is_there: bool,
    /// Found since it was written.
    was_found: bool,
}

/// A second level; see the module's documentation.
pub struct SecondLevel {
    index: Index,
    keys: Vec<Key>,
    abouts: Vec<About>,
    segments: Vec<Segment>,
    page: u64,
    /// Pages per segment.
    pages: u32,
    /// The segment to fill next.
    next: u32,
    /// The segment being filled, and how many pages it has.
    filling: Option<(u32, u32)>,
    allowance: Allowance,
    statistics: SecondStatistics,
    /// Resident pages by partition.
    resident: Vec<u32>,
    hits: Vec<u64>,
    swept: u32,
}

impl SecondLevel {
    /// An empty second level.
    ///
    /// # Panics
    /// If it has fewer than [`SEGMENTS_MIN`] segments, or if the page size does not divide a
    /// segment.
    pub fn new(now: Time, settings: SecondSettings) -> SecondLevel {
        assert!(settings.page > 0 && SEGMENT.is_multiple_of(settings.page.into()), "pages divide a segment");
        let pages = (SEGMENT / u64::from(settings.page)) as u32;
        let segments = (settings.size.0 / SEGMENT).min(u64::from(u32::MAX / 2 / pages)) as u32;
        assert!(segments >= SEGMENTS_MIN, "a second level has {SEGMENTS_MIN} segments at least");
        let slots = segments * pages;
        SecondLevel {
            index: Index::new(slots),
            keys: vec![Key::default(); slots as usize],
            abouts: vec![About::default(); slots as usize],
            segments: vec![Segment::default(); segments as usize],
            page: settings.page.into(),
            pages,
            next: 0,
            filling: None,
            allowance: Allowance::new(now, settings.writes_per_day.0),
            statistics: SecondStatistics::default(),
            resident: vec![0; PARTITIONS_MAX],
            hits: vec![0; PARTITIONS_MAX],
            swept: 0,
        }
    }

    /// Upper bound of the memory for its index: 20 bytes per page, and 8 to 16 for the table.
    pub fn memory(size: Bytes, page: u32) -> Bytes {
        let slots = size.0 / u64::from(page.max(1));
        Bytes(slots * 20 + (slots * 2).next_power_of_two() * 4)
    }

    /// Bytes on the device that it uses.
    pub fn size(&self) -> Bytes {
        Bytes(self.segments.len() as u64 * SEGMENT)
    }

    /// Its statistics.
    pub fn statistics(&self) -> SecondStatistics {
        self.statistics
    }

    /// Hits of a partition, and its resident pages.
    pub fn of_partition(&self, partition: PartitionId) -> (u64, u32) {
        let at = usize::from(partition.0);
        (self.hits.get(at).copied().unwrap_or(0), self.resident.get(at).copied().unwrap_or(0))
    }

    /// Hits by partition number.
    pub fn hits(&self) -> &[u64] {
        &self.hits
    }

    /// Resets the hits of partitions that no longer exist, so that a reused number starts at zero.
    pub fn forget_partitions(&mut self, is_there: impl Fn(PartitionId) -> bool) {
        let gone = (0..).zip(&mut self.hits).filter(|(number, _)| !is_there(PartitionId(*number)));
        gone.for_each(|(_, hits)| *hits = 0);
    }

    /// Memory has evicted a page. Returns the place for its bytes if it is admitted; then call
    /// [`SecondLevel::seal`].
    pub fn offer(&mut self, now: Time, partition: PartitionId, evicted: Evicted) -> Option<Place> {
        let known = self.index.find(&self.keys, evicted.key);
        match known {
            Some(slot) if !(self.goes_soon(slot) && self.abouts[slot.0 as usize].was_found) => return None,
            None if !evicted.was_asked => {
                self.statistics.unused += 1;
                return None;
            }
            _ => {}
        }
        let Some((segment, filled)) = self.filling.or_else(|| self.begin(now)) else {
            self.statistics.spared += 1;
            return None;
        };
        // If it was in the segment that was just begun, it is gone already.
        if let Some(slot) = self.index.find(&self.keys, evicted.key) {
            self.take_out(slot.0);
        }
        self.filling = Some((segment, filled + 1));
        let slot = segment * self.pages + filled;
        self.keys[slot as usize] = evicted.key;
        self.abouts[slot as usize] = About { partition: partition.0, is_there: true, was_found: false };
        self.resident[usize::from(partition.0)] += 1;
        self.index.insert(evicted.key.hash(), Slot(slot));
        self.statistics.written += 1;
        Some(Place { slot: Slot(slot), within: filled })
    }

    /// An evicted page was not even offered, since earlier segments are still being written.
    pub fn fell_behind(&mut self) {
        self.statistics.spared += 1;
    }

    /// The segment to be written now, if one is full. The next one is begun when a page is
    /// admitted.
    pub fn seal(&mut self) -> Option<Sealed> {
        let (segment, _) = self.filling.filter(|(_, filled)| *filled == self.pages)?;
        self.filling = None;
        self.segments[segment as usize].state = State::Writing;
        Some(Sealed { segment, at: u64::from(segment) * SEGMENT })
    }

    /// A segment was written: its pages may be found.
    pub fn written(&mut self, segment: u32) {
        self.segments[segment as usize].state = State::Ready;
    }

    /// The slot of a page; does not count as an access, and does not hold it.
    pub fn find(&self, key: Key) -> Option<Slot> {
        let slot = self.index.find(&self.keys, key)?;
        (self.segments[self.segment_of(slot)].state == State::Ready).then_some(slot)
    }

    /// Offset of a page on the device, in bytes.
    pub fn at(&self, slot: Slot) -> u64 {
        u64::from(slot.0) * self.page
    }

    /// A read of a page by `partition` starts; its segment is not overwritten until
    /// [`SecondLevel::release`]. What nobody asked for yet, a read-ahead, is no hit.
    pub fn hold(&mut self, partition: PartitionId, slot: Slot, is_ahead: bool) {
        let segment = self.segment_of(slot);
        self.segments[segment].readers += 1;
        self.abouts[slot.0 as usize].was_found = true;
        let hits = u64::from(!is_ahead);
        self.statistics.hits += hits;
        self.hits[usize::from(partition.0)] += hits;
    }

    /// The read has ended.
    pub fn release(&mut self, slot: Slot) {
        let segment = self.segment_of(slot);
        self.segments[segment].readers -= 1;
    }

    /// The contents of a page changed or were deleted.
    pub fn remove(&mut self, key: Key) {
        if let Some(slot) = self.index.find(&self.keys, key) {
            self.take_out(slot.0);
            self.statistics.invalidated += 1;
        }
    }

    /// Examines up to `steps` pages and removes dead ones, judged by their partition and object.
    /// Returns whether it has completed a round.
    pub fn sweep(&mut self, steps: u32, is_dead: impl Fn(PartitionId, u64) -> bool) -> bool {
        for _ in 0..steps {
            if self.swept as usize >= self.keys.len() {
                self.swept = 0;
                return true;
            }
            let slot = self.swept;
            self.swept += 1;
            let About { partition, is_there, .. } = self.abouts[slot as usize];
            if is_there && is_dead(PartitionId(partition), self.keys[slot as usize].object) {
                self.take_out(slot);
                self.statistics.invalidated += 1;
            }
        }
        false
    }

    /// Empties the oldest segment to fill it, if it may be overwritten now.
    fn begin(&mut self, now: Time) -> Option<(u32, u32)> {
        let segment = self.next;
        let Segment { state, readers } = self.segments[segment as usize];
        if state == State::Writing || readers > 0 || !self.allowance.take(now, SEGMENT) {
            return None;
        }
        for slot in segment * self.pages..(segment + 1) * self.pages {
            if self.abouts[slot as usize].is_there {
                self.take_out(slot);
                self.statistics.evicted += 1;
            }
        }
        self.segments[segment as usize].state = State::Filling;
        self.next = (segment + 1) % self.segments.len() as u32;
        Some((segment, 0))
    }

    /// Whether a page is in the eighth of the segments that is overwritten next.
    fn goes_soon(&self, slot: Slot) -> bool {
        let (count, segment) = (self.segments.len() as u32, self.segment_of(slot) as u32);
        let ahead = (segment + count - self.next) % count;
        self.segments[segment as usize].state == State::Ready && ahead < count.div_ceil(8)
    }

    fn segment_of(&self, slot: Slot) -> usize {
        (slot.0 / self.pages) as usize
    }

    fn take_out(&mut self, slot: u32) {
        let about = &mut self.abouts[slot as usize];
        about.is_there = false;
        self.resident[usize::from(about.partition)] -= 1;
        self.index.remove(&self.keys, self.keys[slot as usize].hash(), Slot(slot));
    }
}

/// The bytes that may be written: a token bucket of half the daily bound, which fills in a day. So
/// any 24 h get at most its initial contents and its inflow, each of which is half the bound.
struct Allowance {
    half: u64,
    left: u64,
    /// The fraction of a byte in the inflow, times a day's nanoseconds.
    rest: u128,
    /// The time up to which the inflow is included.
    counted: Time,
}

impl Allowance {
    fn new(now: Time, per_day: u64) -> Allowance {
        Allowance { half: per_day / 2, left: per_day / 2, rest: 0, counted: now }
    }

    /// Takes all of `bytes` or nothing.
    fn take(&mut self, now: Time, bytes: u64) -> bool {
        let (day, passed) = (u128::from(DAY.as_nanos()), u128::from(now.since(self.counted).as_nanos()));
        let came = u128::from(self.half) * passed + self.rest;
        let all = u128::from(self.left) + came / day;
        (self.left, self.rest) = match all < self.half.into() {
            true => (all as u64, came % day),
            false => (self.half, 0),
        };
        self.counted = now;
        let enough = self.left >= bytes;
        self.left -= if enough { bytes } else { 0 };
        enough
    }
}

#[cfg(test)]
mod tests;
