//! A request from the moment it is taken until it ended.

use block::{Cause, OpKind, Request, Ticket, Time};

use super::turn::Price;
use crate::slab::NONE;

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// In its object's queue.
    Queued,
    /// No policy holds it, but the backend would not take it.
    Spilled,
    /// In the inner target.
    Flying,
    /// Ended: the slot is free.
    Ended,
}

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Job {
    pub node: u32,
    /// Which use of this slot.
    pub age: u32,
    /// Neighbours in its object's queue.
    pub next: u32,
    pub prev: u32,
    pub stage: Stage,
    pub kind: OpKind,
    /// Bytes that count against limits.
    pub bytes: u64,
    /// What it costs the backend, in 1/256 operations.
    pub cost: u32,
    /// It counts against the window.
    pub best_effort: bool,
    /// The caller's tag, restored in the completion.
    pub tag: u64,
    pub arrived: Time,
    pub started: Time,
    pub cause: Cause,
    /// The inner target's name for it, while in flight.
    pub ticket: Ticket,
    /// The request, while the gate holds it.
    pub request: Option<Request>,
}

impl Job {
    pub fn new(now: Time, node: u32, age: u32, request: &Request) -> Job {
        let kind = request.op.kind();
        let bytes = if kind.moves_data() { request.len } else { 0 };
        Job {
            node,
            age,
            next: NONE,
            prev: NONE,
            stage: Stage::Queued,
            kind,
            bytes,
            cost: Price::default().cost(bytes) as u32,
            best_effort: false,
            tag: request.tag,
            arrived: now,
            started: now,
            cause: Cause::Nothing,
            ticket: Ticket(0),
            request: None,
        }
    }

    /// The tag under which the inner target knows it, and the gate's ticket for it.
    pub fn token(slot: u32, age: u32) -> u64 {
        u64::from(age) << 32 | u64::from(slot)
    }

    /// The slot and age of a token.
    pub fn of_token(token: u64) -> (u32, u32) {
        (token as u32, (token >> 32) as u32)
    }
}
