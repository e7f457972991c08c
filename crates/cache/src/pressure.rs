//! How much of its memory a cache keeps while the machine is short of it.
//!
//! What is watched is the time that tasks stood still for memory (PSI's `some`, a sum that only
//! grows). Free memory says little: the system fills it with its own cache and takes it back at no
//! cost. A stall is what it costs.
//!
//! ```text
//!   stalled ≥ 10 % of the time ──► an eighth less each look, down to a sixteenth
//!   below 1 % for 10 s         ──► a sixteenth of all more each look, up to all
//! ```
//! Down in some 20 looks, because whoever stalls is held up now; up slower than down, so that it
//! does not swing.

use block::{Bytes, Span};

/// Stalled so long of a time, in percent, memory is short.
const SHORT_PERCENT: u64 = 10;
/// Below this it is not.
const ENOUGH_PERCENT: u64 = 1;
/// It is enough for so long before more is taken.
const CALM: Span = Span::from_secs(10);
/// What is always kept: one in so many parts.
const LEAST: u64 = 16;

/// A limit that follows how long tasks stood still for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressure {
    all: Bytes,
    limit: Bytes,
    calm: Span,
}

impl Pressure {
    /// A cache of that size, of which all may be kept.
    pub fn new(all: Bytes) -> Pressure {
        Pressure { all, limit: all, calm: CALM }
    }

    /// What may be kept now.
    pub fn limit(&self) -> Bytes {
        self.limit
    }

    /// Whether less than all may be kept: memory is short.
    pub fn is_short(&self) -> bool {
        self.limit < self.all
    }

    /// Tasks stood still for `stalled` of the last `length`. The limit, if it has become another.
    pub fn look(&mut self, stalled: Span, length: Span) -> Option<Bytes> {
        let was = self.limit;
        let percent = stalled.as_nanos().saturating_mul(100) / length.as_nanos().max(1);
        if percent >= SHORT_PERCENT {
            self.calm = Span::ZERO;
            self.limit = Bytes((was.0 - was.0 / 8).max(self.all.0 / LEAST));
        } else if percent >= ENOUGH_PERCENT {
            self.calm = Span::ZERO;
        } else {
            self.calm += length;
            if self.calm >= CALM {
                self.limit = Bytes((was.0 + self.all.0 / 16).min(self.all.0));
            }
        }
        (self.limit != was).then_some(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_while_tasks_stall_and_taken_again_when_it_is_calm() {
        let mut pressure = Pressure::new(Bytes::mib(1600));
        let look = |pressure: &mut Pressure, ms| pressure.look(Span::from_millis(ms), Span::SECOND);
        assert_eq!(look(&mut pressure, 99), None, "a tenth is short, less is not");
        assert_eq!(look(&mut pressure, 100), Some(Bytes::mib(1400)));
        // 7/8 to the 21st power is 0.06: then a sixteenth is left, and no less.
        let looks = (0..).find(|_| look(&mut pressure, 1000).is_none()).unwrap();
        assert!((18..=21).contains(&looks) && pressure.limit() == Bytes::mib(100), "{looks} {pressure:?}");
        // 9 calm seconds change nothing, nor do those before another short stall.
        assert!((0..9).all(|_| look(&mut pressure, 9).is_none()));
        assert!(look(&mut pressure, 10).is_none() && (0..9).all(|_| look(&mut pressure, 0).is_none()));
        // And from the tenth on a sixteenth more each second: 15 seconds to all of it.
        let grown: Vec<Bytes> = (0..20).filter_map(|_| look(&mut pressure, 0)).collect();
        assert_eq!((grown.len(), grown[0], grown[14]), (15, Bytes::mib(200), Bytes::mib(1600)));
    }
}
