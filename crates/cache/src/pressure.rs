//! How much of its memory a cache keeps while the machine is short of memory.
//!
//! Two signs are watched. The first is what is left before the system kills a process. The cache
//! may keep what leaves a reserve; if others took memory since the last look, twice that amount is
//! kept for them. Without swap there are no stalls before that point. The second is the time for
//! which tasks stalled for memory (PSI's `some`, a growing sum): files that are read again and
//! again count as free memory, and stalls are the cost of taking it.
//!
//! ```text
//!   stalled ≥ 10 % of the time ──► an eighth less each look, down to a sixteenth
//!   the reserve would be used  ──► what is missing less, at once, down to a sixteenth
//!   none of both for 10 s      ──► a sixteenth of all more each look, up to all
//! ```
//! Stalls shrink the cache to the minimum in some 20 looks, since the stalled tasks are delayed
//! now. It grows more slowly than it shrinks, so that it does not oscillate.

use block::{Bytes, Span};

/// Memory is short from this percentage of stalled time.
const SHORT_PERCENT: u64 = 10;
/// Memory is sufficient below this percentage.
const ENOUGH_PERCENT: u64 = 1;
/// How long it must be sufficient before the cache grows.
const CALM: Span = Span::from_secs(10);
/// The fraction that is always kept: one part in this many.
const LEAST: u64 = 16;
/// A step of growth: one part in this many.
const STEP: u64 = 16;
/// How many times the amount that others took since the last look is kept for them.
const AHEAD: u64 = 2;
/// The fraction of the memory limit that is left to others, at most [`RESERVE_MOST`].
const RESERVE: u64 = 16;
const RESERVE_MOST: Bytes = Bytes::gib(1);

/// The size of cache that leaves the reserve, if it has `kept` now, and `left` of `all` memory is
/// free.
pub fn room(kept: Bytes, all: Bytes, left: Bytes) -> Bytes {
    Bytes((kept.0 + left.0).saturating_sub(RESERVE_MOST.0.min(all.0 / RESERVE)))
}

/// A limit on the cache that follows stalls for memory and the memory left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    all: Bytes,
    limit: Bytes,
    calm: Span,
    /// The room at the last look.
    room: Bytes,
}

impl Pressure {
    /// A cache of that size, all of which may be kept.
    pub fn new(all: Bytes) -> Pressure {
        Pressure { all, limit: all, calm: CALM, room: Bytes(0) }
    }

    /// How much may be kept now.
    pub fn limit(&self) -> Bytes {
        self.limit
    }

    /// Whether the limit is below the full size: memory is short.
    pub fn is_short(&self) -> bool {
        self.limit < self.all
    }

    /// Tasks stalled for `stalled` of the last `length`, and there is room for a cache of `room`,
    /// computed by [`room`]. Returns the limit if it has changed.
    pub fn look(&mut self, stalled: Span, length: Span, room: Bytes) -> Option<Bytes> {
        let was = self.limit;
        let least = Bytes(self.all.0 / LEAST);
        let percent = stalled.as_nanos().saturating_mul(100) / length.as_nanos().max(1);
        let taken = std::mem::replace(&mut self.room, room).0.saturating_sub(room.0);
        let most = Bytes(room.0.saturating_sub(AHEAD * taken)).max(least);
        self.calm = if percent >= ENOUGH_PERCENT || most < was { Span::ZERO } else { self.calm + length };
        let step = Bytes((was.0 + self.all.0 / STEP).min(self.all.0));
        self.limit = if percent >= SHORT_PERCENT {
            Bytes(was.0 - was.0 / 8).max(least).min(most)
        } else if self.calm >= CALM && most >= step {
            step
        } else {
            was.min(most)
        };
        (self.limit != was).then_some(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_while_tasks_stall_and_taken_again_when_it_is_calm() {
        let mut pressure = Pressure::new(Bytes::mib(1600));
        let look = |pressure: &mut Pressure, ms| pressure.look(Span::from_millis(ms), Span::SECOND, Bytes::gib(9));
        assert_eq!(look(&mut pressure, 99), None, "a tenth is short, less is not");
        assert_eq!(look(&mut pressure, 100), Some(Bytes::mib(1400)));
        // 7/8 to the power of 21 is 0.06: then the minimum of a sixteenth is reached.
        let looks = (0..).find(|_| look(&mut pressure, 1000).is_none()).unwrap();
        assert!((18..=21).contains(&looks) && pressure.limit() == Bytes::mib(100), "{looks} {pressure:?}");
        // 9 calm seconds change nothing, nor do those before another short stall.
        assert!((0..9).all(|_| look(&mut pressure, 9).is_none()));
        assert!(look(&mut pressure, 10).is_none() && (0..9).all(|_| look(&mut pressure, 0).is_none()));
        // From the tenth second on, a sixteenth more each second: 15 seconds to the full size.
        let grown: Vec<Bytes> = (0..20).filter_map(|_| look(&mut pressure, 0)).collect();
        assert_eq!((grown.len(), grown[0], grown[14]), (15, Bytes::mib(200), Bytes::mib(1600)));
    }

    /// 1600 MiB; others take 100 MiB a second until they have 1000; 500 were left.
    #[test]
    fn what_others_take_is_made_room_for_before_they_have_it() {
        let mut pressure = Pressure::new(Bytes::mib(1600));
        let mut look = |others: u64| {
            let kept = pressure.limit();
            // 2100 in all. A sixteenth of it, 131.25, is the reserve.
            let left = Bytes::mib(2100 - others).0.saturating_sub(kept.0);
            assert!(left > 0, "somebody is killed: {others} and {kept:?}");
            pressure.look(Span::ZERO, Span::SECOND, room(kept, Bytes::mib(2100), Bytes(left)));
            pressure.limit().0 as f64 / f64::from(1 << 20)
        };
        let limits: Vec<f64> = [0, 100, 200, 300, 400].map(&mut look).into();
        // After the third step 168 more than the reserve are left: less than the next two need.
        assert_eq!(limits, [1600.0, 1600.0, 1568.75, 1468.75, 1368.75]);
        let last = (5..=10).map(|others| look(100 * others)).last();
        assert_eq!(last, Some(768.75));
        // They have all they want, and nothing more is kept for them. After ten calm seconds there
        // is a step up, then as many as leave the reserve. When they release everything, it
        // continues.
        let after: Vec<f64> = (0..30).map(|_| look(1000)).collect();
        assert_eq!((after[8], after[9], after[29]), (768.75, 868.75, 968.75));
        let back: Vec<f64> = (0..30).map(|_| look(0)).collect();
        assert_eq!((back[0], back[29]), (1068.75, 1600.0));
    }

    /// A cache that is not full yet, on a machine where others use most of the memory: it does not
    /// grow into memory that is not there.
    #[test]
    fn what_is_not_kept_yet_is_no_room() {
        let mut pressure = Pressure::new(Bytes::gib(16));
        let there = room(Bytes::gib(1), Bytes::gib(32), Bytes::gib(8));
        assert_eq!(pressure.look(Span::ZERO, Span::SECOND, there), Some(Bytes::gib(8)));
        assert_eq!(pressure.look(Span::ZERO, Span::SECOND, there), None);
        assert!(pressure.is_short());
        // At least a sixteenth is kept, whatever the room.
        assert_eq!(pressure.look(Span::ZERO, Span::SECOND, Bytes(0)), Some(Bytes::gib(1)));
    }
}
