//! Taking turns (start-time fair queueing): who waits in a turn queue, in which order they are
//! served, what a turn costs.
//!
//! ```text
//!   a turn queue stands before a node or a shared group        least tag first
//!   ┌──────────────────────────────────────────┐
//!   │ (tag 17, child A) (tag 18, child C) …    │ ──►    serve A: now = 17, A's tag += cost of its request
//!   └──────────────────────────────────────────┘        a child that comes: tag = max(tag, now − slack)
//! ```
//!
//! Every child is one entry whatever it has queued, so queue depth buys nothing. A child that
//! leaves before its turn (its queue was cancelled, its own limit closed) keeps its entry until
//! that comes to the top: leaving costs nothing, and no position in the heap has to be tracked.
//! Tags only grow, so an old key is never too late.

use crate::heap::Heap;

/// One operation in units of a tag.
pub(crate) const OPERATION: u64 = 256;

/// What a request costs in turns, in 1/256 operations: counted as the turn queue's limit counts, so
/// that equal turns are equal shares of the limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Price {
    /// A request of no bytes.
    least: u64,
    /// Per byte, in 2⁻³² of 1/256 operations.
    per_byte: u64,
}

impl Default for Price {
    /// Without a limit: one operation, or one for every 16 KiB, which takes a device about as long.
    fn default() -> Price {
        Price { least: OPERATION, per_byte: (OPERATION << 32) >> 14 }
    }
}

impl Price {
    /// A limit on operations alone counts every request alike. A limit on bytes alone counts bytes,
    /// 4 KiB as one operation. With both, the one that the request uses more of counts.
    pub fn of(iops: Option<u64>, bytes: Option<u64>) -> Price {
        match (iops, bytes) {
            (None, None) => Price::default(),
            (Some(_), None) => Price { least: OPERATION, per_byte: 0 },
            (None, Some(_)) => Price { least: OPERATION / 8, per_byte: (OPERATION << 32) >> 12 },
            (Some(iops), Some(bytes)) => {
                let per_byte = u128::from(OPERATION << 32) * u128::from(iops) / u128::from(bytes.max(1));
                Price { least: OPERATION, per_byte: u64::try_from(per_byte).unwrap_or(u64::MAX) }
            }
        }
    }

    /// The cost of a request that moves so many bytes; 2¹⁸ operations at most, so that tags last
    /// for centuries.
    pub fn cost(self, bytes: u64) -> u64 {
        if self.per_byte == 0 {
            return self.least;
        }
        let size = (u128::from(bytes) * u128::from(self.per_byte)) >> 32;
        (size.min(u128::from(OPERATION << 18)) as u64).max(self.least)
    }
}

/// One child's position in a turn queue: its place in the turns there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    /// Its start tag.
    pub tag: u64,
    /// The number of its entry in the turn queue's heap.
    pub seq: u32,
    /// It waits here.
    pub waiting: bool,
    /// The turn queue's heap has an entry for it, waiting or not.
    pub listed: bool,
}

/// A request served, to be charged to a position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub bytes: u64,
    /// How far behind the others a child that paused may rejoin, in units of a tag.
    pub slack: u64,
    /// Whether it went by its turn; otherwise a floor sent it ahead.
    pub by_turn: bool,
}

/// The queue in front of a node or a group.
#[derive(Debug, Default)]
pub(crate) struct TurnQueue {
    /// Entries of those who wait, and stale ones of some who left.
    pub heap: Heap,
    /// The start tag served last.
    pub now: u64,
    /// What a request costs here, as the limit of the turn queue's owner counts.
    pub price: Price,
    /// How many wait.
    pub waiting: u32,
    /// The position of the requests addressed to the turn queue's own node.
    pub own: Position,
}

/// How far service by a floor may carry a tag beyond its turn, in units of a tag. Without a bound,
/// a client whose floor was above its fair share would wait for long once the floor is gone.
const FLOOR_LEAD: u64 = 32 * OPERATION;

impl TurnQueue {
    /// The tag with which a child starts to wait.
    pub fn tag_on_arrival(&self, tag: u64, slack: u64) -> u64 {
        tag.max(self.now.saturating_sub(slack))
    }

    /// Charges a child and, if it is first, moves it to its new position at once, so that a search
    /// for the next in turn does not have to pass over those already served.
    #[inline]
    pub fn serve(&mut self, position: &mut Position, turn: Turn, seq: &mut u32) {
        self.charge(position, turn);
        if self.heap.peek().is_some_and(|first| first.seq == position.seq) {
            *seq = seq.wrapping_add(1);
            position.seq = *seq;
            self.heap.postpone(position.tag, position.seq);
        }
    }

    /// Charges a child for a request. By its turn, or by another way past this turn queue: its tag
    /// moves on by the cost. By a floor, ahead of its turn: its tag moves on up to a bound, and the
    /// turn queue's own tag stays, so that those in turn are not passed over.
    #[inline]
    pub fn charge(&mut self, position: &mut Position, turn: Turn) {
        if !position.waiting {
            position.tag = self.tag_on_arrival(position.tag, turn.slack);
        } else if turn.by_turn {
            self.now = self.now.max(position.tag);
        }
        let most = if turn.by_turn { u64::MAX } else { position.tag.max(self.now + FLOOR_LEAD) };
        position.tag = (position.tag + self.price.cost(turn.bytes)).min(most);
    }
}
