//! The order of segments, admission, the daily bound, and random histories against a device that is
//! a table.

use super::*;
use std::collections::BTreeMap;

const PAGE: u32 = 64 << 10;
const P: PartitionId = PartitionId(0);

fn level(segments: u64, per_day: Bytes) -> SecondLevel {
    let size = Bytes(segments * SEGMENT);
    SecondLevel::new(Time::ZERO, SecondSettings { size, page: PAGE, writes_per_day: per_day })
}

fn used(page: u64) -> Evicted {
    Evicted { key: Key { object: 1, page }, was_asked: true }
}

/// Offers a page, and writes a segment at once when it is full.
fn offer(level: &mut SecondLevel, now: Time, page: u64) -> bool {
    let admitted = level.offer(now, P, used(page)).is_some();
    if let Some(sealed) = level.seal() {
        level.written(sealed.segment);
    }
    admitted
}

fn is_there(level: &SecondLevel, page: u64) -> bool {
    level.find(Key { object: 1, page }).is_some()
}

#[test]
fn segments_go_around_and_what_was_found_and_goes_soon_is_written_once_more() {
    let mut level = level(8, Bytes::gib(1));
    // Four pages per segment: 32 fill all. No page of a segment is found before it was written.
    for page in 0..3 {
        level.offer(Time::ZERO, P, used(page)).unwrap();
        assert_eq!((level.seal(), is_there(&level, page)), (None, false));
    }
    assert_eq!(level.offer(Time::ZERO, P, used(3)), Some(Place { slot: Slot(3), within: 3 }));
    assert_eq!(level.seal(), Some(Sealed { segment: 0, at: 0 }));
    assert!(!is_there(&level, 3), "it is being written");
    level.written(0);
    assert!((0..4).all(|page| is_there(&level, page)));
    assert!((4..32).all(|page| offer(&mut level, Time::ZERO, page)));
    assert_eq!((level.of_partition(P), level.statistics().written), ((0, 32), 32));
    // A page that is there is not written again, unless it was found and is in the segment that is
    // overwritten next.
    let found = level.find(Key { object: 1, page: 1 }).unwrap();
    level.hold(P, found, true);
    assert_eq!(level.of_partition(P).0, 0, "nobody asked for it");
    level.release(found);
    level.hold(P, found, false);
    assert_eq!((level.of_partition(P).0, level.statistics().hits), (1, 1));
    assert!(!offer(&mut level, Time::ZERO, 0) && !offer(&mut level, Time::ZERO, 31));
    assert!(!offer(&mut level, Time::ZERO, 100), "its segment is being read");
    assert_eq!(level.statistics().spared, 1);
    level.release(found);
    assert!(offer(&mut level, Time::ZERO, 1));
    assert!((100..103).all(|page| offer(&mut level, Time::ZERO, page)));
    let there: Vec<u64> = (0..200).filter(|page| is_there(&level, *page)).collect();
    assert_eq!(there, [1].into_iter().chain(4..32).chain(100..103).collect::<Vec<_>>());
    let expected = SecondStatistics { hits: 1, written: 36, spared: 1, evicted: 4, ..SecondStatistics::default() };
    assert_eq!(level.statistics(), expected);
}

#[test]
fn a_scan_writes_nothing() {
    let mut level = level(8, Bytes::gib(1));
    for page in 0..1000 {
        assert_eq!(level.offer(Time::ZERO, P, Evicted { was_asked: false, ..used(page) }), None);
    }
    assert_eq!((level.statistics().unused, level.statistics().written), (1000, 0));
}

#[test]
fn no_day_has_more_written_than_the_bound() {
    // 40 segments a day: 20 at once, and 20 during the following day.
    let bound = Bytes(40 * SEGMENT);
    let mut level = level(64, bound);
    let (mut page, mut writes) = (0, Vec::new());
    for minute in 0..3 * 24 * 60 {
        let now = Time::ZERO + Span::from_secs(60) * minute;
        for _ in 0..8 {
            page += 1;
            let before = level.statistics().written;
            offer(&mut level, now, page);
            writes.extend((level.statistics().written > before).then_some(minute));
        }
    }
    let at_once = writes.iter().filter(|minute| **minute < 12).count();
    assert_eq!(at_once, 80, "half of it: 20 segments of 4 pages, as fast as they come");
    for start in 0..2 * 24 * 60 {
        let pages = writes.iter().filter(|minute| (start..start + 24 * 60).contains(*minute)).count();
        assert!(pages as u64 * u64::from(PAGE) <= bound.0, "{pages} pages in the day from minute {start}");
    }
    // And nothing of it is wasted: 20 segments, and 20 more for each of three days, except for
    // rounding.
    let segments = writes.len() / 4;
    assert!((78..=80).contains(&segments), "{segments}");
}

/// A small random generator (xorshift).
fn below(state: &mut u64, n: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % n
}

/// A device that records, by slot, the contents of a segment when it was written. What is found is
/// always what was offered last, changed pages are never found, and slots being read are not
/// overwritten.
#[test]
fn what_is_found_is_what_was_written_last() {
    for seed in 1..40u64 {
        let mut chance = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut level = level(8 + seed % 5, Bytes::gib(1));
        let mut staging: Vec<(u32, Key, u64)> = Vec::new();
        let mut device: BTreeMap<u32, (Key, u64)> = BTreeMap::new();
        let (mut writing, mut reading) = (Vec::new(), Vec::new());
        let mut truth: BTreeMap<u64, u64> = BTreeMap::new();
        for step in 0..4000u64 {
            let page = below(&mut chance, 90);
            let key = Key { object: 1, page };
            match below(&mut chance, 10) {
                0..=4 => {
                    let version = *truth.entry(page).or_insert(step);
                    if let Some(place) = level.offer(Time::ZERO, P, used(page)) {
                        staging.push((place.slot.0, key, version));
                    }
                    if let Some(sealed) = level.seal() {
                        writing.push((sealed.segment, std::mem::take(&mut staging)));
                    }
                }
                5 => {
                    level.remove(key);
                    truth.insert(page, step);
                }
                6 => {
                    for (segment, pages) in writing.drain(..) {
                        device.extend(pages.into_iter().map(|(slot, key, version)| (slot, (key, version))));
                        level.written(segment);
                    }
                }
                7 => reading.drain(..).for_each(|(slot, then): (Slot, (Key, u64))| {
                    assert_eq!(device[&slot.0], then, "seed {seed}: written over while it was read");
                    level.release(slot);
                }),
                _ => {
                    if let Some(slot) = level.find(key) {
                        assert_eq!(device[&slot.0], (key, truth[&page]), "seed {seed}, step {step}");
                        level.hold(P, slot, false);
                        reading.push((slot, device[&slot.0]));
                    }
                }
            }
        }
        let statistics = level.statistics();
        assert!(statistics.hits > 50 && statistics.evicted > 0 && statistics.invalidated > 20, "{statistics:?}");
        let there = (0..90).filter(|page| level.index.find(&level.keys, Key { object: 1, page: *page }).is_some());
        assert_eq!(there.count() as u32, level.of_partition(P).1);
        while !level.sweep(7, |_, _| true) {}
        assert_eq!(level.of_partition(P).1, 0);
    }
}

/// The inflow between two looks is never lost, however frequent they are: a day's inflow is exactly
/// that of the bound, to the byte.
#[test]
fn the_bound_fills_alike_however_often_it_is_asked_for() {
    let per_day = 2 * 86_399;
    let mut often = Allowance::new(Time::ZERO, per_day);
    assert!(often.take(Time::ZERO, per_day / 2), "what it begins with");
    let given = (1..=864_000u64).filter(|tick| often.take(Time::from_nanos(tick * 100_000_000), 1)).count();
    assert_eq!(given as u64, per_day / 2);
}
