//! Taking turns (start-time fair queueing): who waits at a desk, in which order they are served,
//! what a turn costs.
//!
//! ```text
//!   a desk stands before a node or a shared group        least tag first
//!   ┌──────────────────────────────────────────┐
//!   │ (tag 17, child A) (tag 18, child C) …    │ ──►    serve A: now = 17, A's tag += cost of its request
//!   └──────────────────────────────────────────┘        a child that comes: tag = max(tag, now − slack)
//! ```
//!
//! Every child is one entry whatever it has queued, so depth buys nothing. Who leaves before its
//! turn (its queue was cancelled, its own limit closed) stays in the heap and is dropped when it
//! comes to the top: leaving costs nothing, and no position must be kept. Tags only grow, so an old
//! key is never too late.

use crate::heap::Heap;

/// A tag's units for one operation.
pub(crate) const OPERATION: u64 = 256;

/// What a request costs in turns, in 1/256 operations: as the limit counts, so that equal turns are
/// equal shares of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Price {
    /// A request of no bytes.
    least: u64,
    /// Per byte, in 2⁻³² of 1/256 operations.
    per_byte: u64,
}

impl Default for Price {
    /// Where no limit says otherwise, an operation, or 16 KiB: about what costs a device one
    /// operation's time.
    fn default() -> Price {
        Price { least: OPERATION, per_byte: (OPERATION << 32) >> 14 }
    }
}

impl Price {
    /// Operations alone count alike whatever their size. Bytes alone count as bytes, 4 KiB for an
    /// operation. Both: the one that uses more of its limit.
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

    /// The cost of a request that moves so many bytes; a gigabyte's at most, so that tags last for
    /// centuries.
    pub fn cost(self, bytes: u64) -> u64 {
        if self.per_byte == 0 {
            return self.least;
        }
        let size = (u128::from(bytes) * u128::from(self.per_byte)) >> 32;
        (size.min(u128::from(OPERATION << 18)) as u64).max(self.least)
    }
}

/// One child's place in the turns of one desk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seat {
    /// Its start tag.
    pub tag: u64,
    /// The number of its entry in the desk's heap.
    pub seq: u32,
    /// It waits here.
    pub waiting: bool,
    /// The desk's heap has an entry for it, waiting or not.
    pub listed: bool,
}

/// One service to be charged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub bytes: u64,
    /// How far behind its equals a child that paused may come back.
    pub slack: u64,
    /// Whether it was its turn, or a floor went ahead.
    pub by_turn: bool,
}

/// The waiting room before a node or a group.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// Entries of those who wait and of some who did.
    pub heap: Heap,
    /// The start tag served last.
    pub now: u64,
    /// What a request costs here: as the limit of the desk's owner counts.
    pub price: Price,
    /// How many wait.
    pub waiting: u32,
    /// The place of the requests addressed to the desk's own node.
    pub own: Seat,
}

/// How far beyond its turn service by floor may carry a tag, in operations: a floor above the fair
/// share is not paid back for long once it is gone.
const FLOOR_LEAD: u64 = 32 * OPERATION;

impl Desk {
    /// The tag with which a child starts to wait.
    pub fn tag_on_arrival(&self, tag: u64, slack: u64) -> u64 {
        tag.max(self.now.saturating_sub(slack))
    }

    /// Charges a child, and puts it to its new place if it was first: whoever looks for the next in
    /// turn need not look at those served before.
    #[inline]
    pub fn serve(&mut self, seat: &mut Seat, turn: Turn, seq: &mut u32) {
        self.charge(seat, turn);
        if self.heap.peek().is_some_and(|first| first.seq == seat.seq) {
            *seq = seq.wrapping_add(1);
            seat.seq = *seq;
            self.heap.postpone(seat.tag, seat.seq);
        }
    }

    /// Charges a child for a request. By its turn, or by another way past this desk: its tag moves
    /// on. By a floor, ahead of its turn: its tag moves on up to a bound, and those whose turn it
    /// is are not passed over.
    #[inline]
    pub fn charge(&mut self, seat: &mut Seat, turn: Turn) {
        if !seat.waiting {
            seat.tag = self.tag_on_arrival(seat.tag, turn.slack);
        } else if turn.by_turn {
            self.now = self.now.max(seat.tag);
        }
        let most = if turn.by_turn { u64::MAX } else { seat.tag.max(self.now + FLOOR_LEAD) };
        seat.tag = (seat.tag + self.price.cost(turn.bytes)).min(most);
    }
}
