//! A request from its acceptance to its end.

use block::{Cause, OpKind, Request, Ticket, Time};

use crate::gate::OWN;
use crate::slab::NONE;

/// Where a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Ended: the slot is free.
    #[default]
    Ended,
    /// Accepted, and about to be handed over or to wait.
    Open,
    /// In its object's queue.
    Queued,
    /// No policy applies to it, but the backend would not take it.
    Spilled,
    /// In flight in the inner target.
    InFlight,
}

/// One accepted request. A slot is reused without being cleared: each stage sets what it needs on
/// entry. Two cache lines.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Job {
    pub node: u32,
    /// Tells the uses of this slot apart.
    pub age: u32,
    /// The caller's tag, restored in the completion.
    pub tag: u64,
    pub arrived: Time,
    pub started: Time,
    /// The inner target's name for it, while in flight.
    pub ticket: Ticket,
    /// Bytes that count against limits.
    pub bytes: u64,
    pub cause: Cause,
    /// The epoch at which it was accepted: counts that began later leave it out.
    pub epoch: u32,
    pub stage: Stage,
    pub kind: OpKind,
    /// It counts against the window.
    pub best_effort: bool,
    /// Neighbours in its object's queue. The first one's `prev` means nothing: the node knows its
    /// first.
    pub next: u32,
    pub prev: u32,
    /// The request, while the gate holds it.
    pub request: Option<Request>,
}

impl Default for Job {
    fn default() -> Job {
        Job {
            node: NONE,
            age: 0,
            tag: 0,
            arrived: Time::ZERO,
            started: Time::ZERO,
            ticket: Ticket(0),
            bytes: 0,
            cause: Cause::Nothing,
            epoch: 0,
            stage: Stage::Ended,
            kind: OpKind::Read,
            best_effort: false,
            next: NONE,
            prev: NONE,
            request: None,
        }
    }
}

/// The cost of a request to a backend, in 1/256 operations: one operation, or one for every 16 KiB,
/// which takes a device about as long.
#[inline]
pub(crate) fn cost(bytes: u64) -> u64 {
    // 256 units for 16 384 bytes is one unit for 64.
    (bytes >> 6).clamp(256, 1 << 26)
}

/// Bytes of a request that count against limits.
#[inline]
pub(crate) fn counted(request: &Request) -> u64 {
    if request.op.kind().moves_data() { request.len } else { 0 }
}

impl Job {
    /// The greatest age: with it a token has no [`OWN`].
    pub const AGE_MAX: u32 = (OWN >> 32) as u32 - 1;

    /// Whether it is the owner's own, which no object's account has.
    #[inline]
    pub fn is_own(&self) -> bool {
        self.tag & OWN != 0
    }

    /// The tag under which the inner target knows a request, which is also the gate's ticket for
    /// it.
    #[inline]
    pub fn token(slot: u32, age: u32) -> u64 {
        u64::from(age) << 32 | u64::from(slot)
    }

    /// The slot and age of a token.
    #[inline]
    pub fn of_token(token: u64) -> (u32, u32) {
        (token as u32, (token >> 32) as u32)
    }
}
