//! The criteria, in operations or bytes per second; each failure says what failed, where, and with
//! which seed.

use std::ops::Range;

use block::{Span, Time};
use simtest::{Dispatch, Track, Windows};

/// A limit in operations or bytes.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    Iops(u64),
    /// Bytes per second, and the largest request: a window may hold one more.
    Bytes {
        rate: u64,
        largest: u64,
    },
}

impl Limit {
    pub fn rate(self) -> u64 {
        match self {
            Limit::Iops(rate) | Limit::Bytes { rate, .. } => rate,
        }
    }

    /// One request.
    pub fn one(self) -> u64 {
        match self {
            Limit::Iops(_) => 1,
            Limit::Bytes { largest, .. } => largest,
        }
    }

    pub fn of(self, windows: Windows) -> u64 {
        match self {
            Limit::Iops(_) => windows.operations,
            Limit::Bytes { .. } => windows.bytes,
        }
    }
}

/// No sliding second of these dispatches within the time holds more than 1.01 × the limit and one
/// request.
pub fn never_above(what: &str, seen: &[Dispatch], limit: Limit, within: Range<Time>) {
    let seen: Vec<Dispatch> = seen.iter().filter(|dispatch| within.contains(&dispatch.at)).copied().collect();
    let fullest = limit.of(Windows::fullest(&seen, Span::SECOND));
    let most = limit.rate() * 101 / 100 + limit.one();
    assert!(fullest <= most, "{what}: {fullest} in a sliding second under {limit:?}, at most {most}");
}

/// While there is a backlog, the mean is at least 0.99 × the limit, and so is every whole second
/// but for one request, the first included.
pub fn reached(what: &str, seen: &[Dispatch], limit: Limit, within: Range<Time>) {
    let seconds = within.end.since(within.start).as_nanos() / 1_000_000_000;
    let whole = limit.of(Windows::whole(seen, within.start, within.end));
    let least = (limit.rate() * 99 * seconds / 100).saturating_sub(limit.one() / 2);
    assert!(whole >= least, "{what}: {whole} in {seconds} s under {limit:?}, at least {least}");
    for s in 0..seconds {
        let start = within.start + Span::from_secs(s);
        let counted = limit.of(Windows::whole(seen, start, start + Span::SECOND));
        let least = (limit.rate() * 99 / 100).saturating_sub(limit.one());
        assert!(counted >= least, "{what}: {counted} in second {s} under {limit:?}, at least {least}");
    }
}

/// The floor holds in every second of the range: 99 % of it, and below 100 a second all but one
/// operation.
pub fn floor_held(what: &str, track: &Track, floor: u64, seconds: Range<u64>) {
    let counts = track.per_second(Time::ZERO + Span::from_secs(seconds.end));
    let held = &counts[seconds.start as usize..];
    let least = (floor * 99 / 100).min(floor.saturating_sub(1));
    assert!(held.iter().all(|&count| count >= least), "{what}: floor {floor}, by second {counts:?}");
}

/// The two differ by at most this many percent of the larger.
pub fn alike(what: &str, (a, b): (f64, f64), percent: f64) {
    let apart = (a - b).abs() / a.max(b).max(1.0) * 100.0;
    assert!(apart <= percent, "{what}: {a:.1} and {b:.1} are {apart:.2} % apart, at most {percent} %");
}
