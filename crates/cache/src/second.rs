//! A second level on a device: which pages that memory evicts are written there, where, and how
//! much is written a day.
//!
//! ```text
//!   offer(key) ── used before? in the day's bound? ──► a page of the segment that fills
//!                                                          │ full
//!   segments   [ 4 ][ 5 ][ writing ][ 1 ][ 2 ][ 3 ]        ▼ written as one, where the oldest was
//! ```
//! Segments are written in order and all around, each in one piece, which is what flash wears least
//! by. What comes to lie in the oldest is forgotten; a page that was used again and lies in the
//! eighth that goes next is written once more. A page that is there still is not written when
//! memory evicts it again.
//!
//! **Endurance.** Only pages that were asked for again while memory held them, or soon after it had
//! evicted them, are admitted, so a scan writes nothing. In no 24 h is more written than the bound:
//! half of it at once, the other half in the course of the day.
//!
//! Whoever has the device does the I/O and keeps what it needs to know the bytes again (a checksum
//! a page).

use crate::index::{Index, Key};
use crate::lists::Slot;
use crate::partitions::{Evicted, PARTITIONS_MAX, PartitionId};
use block::{Bytes, Span, Time};

/// Bytes of a segment: long enough to be written at a device's full speed, short enough for memory
/// to hold two.
pub const SEGMENT: u64 = 256 << 10;
/// Segments at least: one fills, one is written, and there is something left.
pub const SEGMENTS_MIN: u32 = 8;

const DAY: Span = Span::from_secs(24 * 3600);

/// How large it is and how much may be written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondSettings {
    /// Bytes on the device; what is no whole segment is not used.
    pub size: Bytes,
    /// Bytes of a page, which divide a segment.
    pub page: u32,
    /// Bytes written in 24 h at most.
    pub writes_per_day: Bytes,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondStatistics {
    /// Pages that memory did not have and that were found.
    pub hits: u64,
    /// Pages that were written.
    pub written: u64,
    /// Pages that were not, because they had been asked for only once.
    pub unused: u64,
    /// Pages that were not, because the day's bound was met or the device behind.
    pub spared: u64,
    /// Pages that went for others.
    pub evicted: u64,
    /// Pages that went because what they held was changed or is gone, or their partition keeps to
    /// memory now.
    pub invalidated: u64,
}

/// A page of the segment that fills, for the bytes of what was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number on the device.
    pub slot: Slot,
    /// Its number within the segment.
    pub within: u32,
}

/// A segment that is full: to be written in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Its number.
    pub segment: u32,
    /// Where it begins on the device, in bytes.
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
    /// Reads of it under way: it is not written over meanwhile.
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

/// See the module's head.
pub struct SecondLevel {
    index: Index,
    keys: Vec<Key>,
    abouts: Vec<About>,
    segments: Vec<Segment>,
    page: u64,
    /// Pages of a segment.
    pages: u32,
    /// The segment that is filled next.
    next: u32,
    /// The one that fills, and how many pages it has.
    filling: Option<(u32, u32)>,
    allowance: Allowance,
    statistics: SecondStatistics,
    /// Pages there, by partition.
    resident: Vec<u32>,
    hits: Vec<u64>,
    swept: u32,
}

impl SecondLevel {
    /// An empty one.
    ///
    /// # Panics
    /// Where it has fewer than [`SEGMENTS_MIN`] segments, or pages do not divide one.
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

    /// Bytes of memory that one of so many pages takes, at most: 8 to 16 of the index and 20 of
    /// each page.
    pub fn memory(size: Bytes, page: u32) -> Bytes {
        let slots = size.0 / u64::from(page.max(1));
        Bytes(slots * 20 + (slots * 2).next_power_of_two() * 4)
    }

    /// Bytes on the device that it uses.
    pub fn size(&self) -> Bytes {
        Bytes(self.segments.len() as u64 * SEGMENT)
    }

    /// What came of it.
    pub fn statistics(&self) -> SecondStatistics {
        self.statistics
    }

    /// A partition's pages found, and how many are there.
    pub fn of_partition(&self, partition: PartitionId) -> (u64, u32) {
        let at = usize::from(partition.0);
        (self.hits.get(at).copied().unwrap_or(0), self.resident.get(at).copied().unwrap_or(0))
    }

    /// Has what is found be counted anew for the partitions that are there no more: whoever gets
    /// their numbers begins with nothing.
    pub fn forget_partitions(&mut self, is_there: impl Fn(PartitionId) -> bool) {
        let gone = (0..).zip(&mut self.hits).filter(|(number, _)| !is_there(PartitionId(*number)));
        gone.for_each(|(_, hits)| *hits = 0);
    }

    /// Memory has evicted a page; where its bytes are to be laid, if it is admitted. After each
    /// that is, ask [`SecondLevel::seal`].
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
        // Where it lay in the segment that was just begun, it is gone already.
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

    /// A page that memory has evicted is not even offered: segments before it are not on the device
    /// yet.
    pub fn fell_behind(&mut self) {
        self.statistics.spared += 1;
    }

    /// The segment that is to be written now, if one is full. No other begins to fill before the
    /// next page is admitted.
    pub fn seal(&mut self) -> Option<Sealed> {
        let (segment, _) = self.filling.filter(|(_, filled)| *filled == self.pages)?;
        self.filling = None;
        self.segments[segment as usize].state = State::Writing;
        Some(Sealed { segment, at: u64::from(segment) * SEGMENT })
    }

    /// It is on the device: its pages may be found.
    pub fn written(&mut self, segment: u32) {
        self.segments[segment as usize].state = State::Ready;
    }

    /// Where a page is that memory has not; nothing is counted or held.
    pub fn find(&self, key: Key) -> Option<Slot> {
        let slot = self.index.find(&self.keys, key)?;
        (self.segments[self.segment_of(slot)].state == State::Ready).then_some(slot)
    }

    /// Where a page begins on the device, in bytes.
    pub fn at(&self, slot: Slot) -> u64 {
        u64::from(slot.0) * self.page
    }

    /// A read of a page on behalf of `partition` begins; its segment stays as it is until
    /// [`SecondLevel::release`].
    pub fn hold(&mut self, partition: PartitionId, slot: Slot) {
        let segment = self.segment_of(slot);
        self.segments[segment].readers += 1;
        self.abouts[slot.0 as usize].was_found = true;
        self.statistics.hits += 1;
        self.hits[usize::from(partition.0)] += 1;
    }

    /// It has ended.
    pub fn release(&mut self, slot: Slot) {
        let segment = self.segment_of(slot);
        self.segments[segment].readers -= 1;
    }

    /// What a page holds is changed or gone.
    pub fn remove(&mut self, key: Key) {
        if let Some(slot) = self.index.find(&self.keys, key) {
            self.take_out(slot.0);
            self.statistics.invalidated += 1;
        }
    }

    /// Looks at up to `steps` pages and takes out those that are dead, by the partition that they
    /// came from and their object. Whether it has been all the way around.
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

    /// Empties the oldest segment to be filled, where it may be written now.
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

    /// Whether a page lies in the eighth of the segments that are filled next.
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

/// Bytes that may be written: a bucket of half the day's bound, which fills in a day. So whatever
/// 24 h are looked at, it gives what it held and what came in, each half the bound at most.
struct Allowance {
    half: u64,
    left: u64,
    /// What came in beside whole bytes, times a day's nanoseconds.
    rest: u128,
    /// Until when what came in is in `left` and `rest`.
    counted: Time,
}

impl Allowance {
    fn new(now: Time, per_day: u64) -> Allowance {
        Allowance { half: per_day / 2, left: per_day / 2, rest: 0, counted: now }
    }

    /// Takes so much or nothing.
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
