//! What is kept of a day of samples, in which resolution and in how much memory.

use block::{Bytes, ObjectId, Span, Time};
use history::{Figures, History, HistorySettings};

/// A second of a busy object with a ceiling: reads and writes, and waits for three reasons.
fn second(object: u32, number: u64) -> Figures {
    let ops = 500 + u64::from(object) % 100 + number % 50;
    Figures {
        read_ops: ops * 7 / 10,
        write_ops: ops - ops * 7 / 10,
        read_bytes: ops * 7 / 10 * 8192,
        write_bytes: (ops - ops * 7 / 10) * 8192,
        completed: ops,
        qos_max_us: 900_000 + number % 1000,
        store_us: 4000,
        disk_us: ops * 120,
        ..Figures::default()
    }
}

fn at(second: u64) -> Time {
    Time::ZERO + Span::from_secs(second)
}

fn played(objects: u32, seconds: u64, memory: Bytes) -> History {
    let mut history = History::new(HistorySettings { memory });
    for number in 1..=seconds {
        let objects = (1..=objects).map(|object| (ObjectId(object), second(object, number)));
        history.add(at(number), Span::SECOND, objects);
        assert!(history.memory() <= memory, "{} of {}", history.memory().0, memory.0);
    }
    history
}

/// Width, number of slots and covered time, in seconds, newest first.
fn told(history: &History) -> Vec<(u64, usize, u64)> {
    let seconds = |span: Span| span.as_nanos() / 1_000_000_000;
    history.resolution().iter().map(|part| (seconds(part.width), part.slots, seconds(part.covered))).collect()
}

const DAY: u64 = 24 * 3600;

/// With enough memory: the last ten minutes by the second, back to a whole quarter minute, and the
/// day by 15 s. Older slots are gone.
#[test]
fn a_day_is_kept_by_15_s_and_ten_minutes_by_the_second() {
    let history = played(3, DAY + 3600, HistorySettings::default().memory);
    let parts = told(&history);
    assert_eq!(parts.len(), 2, "{parts:?}");
    let ((1, fine, _), (15, coarse, _)) = (parts[0], parts[1]) else { panic!("{parts:?}") };
    assert!((600..=616).contains(&fine), "{fine}");
    let (whole, covered) = (fine as u64 + coarse as u64 * 15, DAY);
    assert!((covered - 15..=covered + 15).contains(&whole), "{whole}");
}

/// However slots were merged, the sums over all of them stay what was added, for every object.
#[test]
fn sums_stay_what_they_were() {
    let seconds = 7200;
    let history = played(40, seconds, Bytes::mib(1));
    assert!(told(&history).iter().any(|(width, _, _)| *width > 15), "memory ran out: {:?}", told(&history));
    for object in [1, 17, 40] {
        let mut expected = Figures::default();
        (1..=seconds).for_each(|number| expected.add(&second(object, number)));
        let mut found = Figures::default();
        let slots = history.slots();
        slots.iter().filter_map(|slot| slot.figures(ObjectId(object))).for_each(|figures| found.add(&figures));
        assert_eq!(found, expected);
        assert!(slots.windows(2).all(|pair| pair[0].to() <= pair[1].from()), "in order, none twice");
    }
    assert!(history.slots().iter().all(|slot| slot.figures(ObjectId(41)).is_none()));
}

/// Idle objects take no space, and an interval without samples does not count as zero activity: it
/// is in no slot's length.
#[test]
fn idle_objects_take_nothing_and_pauses_are_no_time() {
    let mut history = History::new(HistorySettings::default());
    for number in (1..=20).chain(1000..=1600) {
        let active = (number % 2 == 0).then(|| (ObjectId(9), second(9, number)));
        history.add(at(number), Span::SECOND, active.into_iter());
    }
    let slots = history.slots();
    let covered: u64 = slots.iter().map(|slot| slot.length().as_nanos() / 1_000_000_000).sum();
    assert_eq!(covered, 20 + 601);
    let first = &slots[0];
    assert_eq!((first.from(), first.length()), (at(0), Span::from_secs(15)));
    assert_eq!(first.objects().count(), 1);
}

/// The documented resolutions. They depend on the memory for each active object. So a day of 100
/// objects is played with the memory that 100 of the documented number would have. The memory of
/// the slots themselves does not depend on the number of objects; here its part is larger, so the
/// result is not too good.
#[test]
fn the_resolution_of_a_day_is_the_documented_one() {
    let memory = HistorySettings::default().memory;
    let of = |objects: u64| told(&played(100, DAY, Bytes(memory.0 * 100 / objects)));
    let documented = include_str!("../../../docs/metrics.md");
    let mut missing = Vec::new();
    for objects in [100, 1000, 10_000] {
        let parts = of(objects);
        let spoken = |(width, _, covered): &(u64, usize, u64)| match width {
            1 => format!("{:.0} min by 1 s", *covered as f64 / 60.0),
            width if *width < 60 => format!("{:.1} h by {width} s", *covered as f64 / 3600.0),
            width if *covered >= 3600 => format!("{:.1} h by {} min", *covered as f64 / 3600.0, width / 60),
            width => format!("{:.0} min by {} min", *covered as f64 / 60.0, width / 60),
        };
        let line = format!("| {objects} | {} |", parts.iter().map(spoken).collect::<Vec<_>>().join(", "));
        if !documented.contains(&line) {
            missing.push(line);
        }
    }
    assert!(missing.is_empty(), "docs/metrics.md has not:\n{}", missing.join("\n"));
}
