//! A rented volume: a fixed time through the network, and the provider's own limits on operations
//! and bytes with credit for bursts. Requests over the limits wait at the provider, first come
//! first served.
//!
//! ```text
//!   ──► queue ──► [operations] [bytes] ──► latency + jitter ──►        head passes when both meters are out of debt
//! ```

use std::collections::VecDeque;

use block::{Bytes, OpKind, Span, Time};
use qos::{CreditLimit, CreditMeter};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::agenda::Agenda;
use crate::simulated::{Job, Medium, or_never, withdraw};

/// A network volume that throttles itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudVolume {
    /// The limit in operations per second; every kind of request counts.
    pub operations: CreditLimit,
    /// The limit in bytes per second; reads and writes count.
    pub bytes: CreditLimit,
    /// A read or write of more bytes than this counts as several operations, `ceil(len / io_unit)`.
    pub io_unit: Bytes,
    /// From passing the limits until the answer, for reads and writes.
    pub latency: Span,
    /// Each answer takes up to this much longer, evenly spread, by the seed.
    pub jitter: Span,
    /// The same for a flush. The volume is durable by itself, so forced unit access costs nothing
    /// more.
    pub flush: Span,
    /// The same for a trim or zeroing, and for a status request.
    pub trim: Span,
}

/// The volume at work.
#[derive(Debug)]
pub(crate) struct Throttled {
    spec: CloudVolume,
    operations: CreditMeter,
    bytes: CreditMeter,
    waiting: VecDeque<Job>,
    /// When the head may pass; `None` with nothing waiting, or while nothing ever may.
    opens: Option<Time>,
    answering: Agenda<u32>,
    chance: Xoshiro256PlusPlus,
}

impl Throttled {
    pub(crate) fn new(spec: CloudVolume, seed: u64) -> Throttled {
        Throttled {
            operations: CreditMeter::new(spec.operations),
            bytes: CreditMeter::new(spec.bytes),
            spec,
            waiting: VecDeque::new(),
            opens: None,
            answering: Agenda::new(),
            chance: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Passes the requests that may at `now`, and notes when the next may.
    fn pass(&mut self, now: Time) {
        self.opens = None;
        while let Some(job) = self.waiting.front().copied() {
            let operations = self.operations.opens(now);
            let moves = job.kind.moves_data();
            let bytes = if moves { self.bytes.opens(now) } else { Some(now) };
            self.opens = operations.zip(bytes).map(|(operations, bytes)| operations.max(bytes));
            if self.opens != Some(now) {
                return;
            }
            self.waiting.pop_front();
            let units = if moves { job.len.div_ceil(self.spec.io_unit.0).max(1) } else { 1 };
            self.operations.charge(now, units);
            if moves {
                self.bytes.charge(now, job.len);
            }
            let end = now + self.takes(job.kind);
            self.answering.note(end, job.slot);
            self.opens = None;
        }
    }

    fn takes(&mut self, kind: OpKind) -> Span {
        let fixed = match kind {
            OpKind::Read | OpKind::Write | OpKind::Cache => self.spec.latency,
            OpKind::Flush => self.spec.flush,
            OpKind::Trim | OpKind::Zero | OpKind::Status => self.spec.trim,
        };
        match self.spec.jitter.as_nanos() {
            0 => fixed,
            // The remainder favours small values by less than jitter / 2^64.
            jitter => fixed + Span::from_nanos(self.chance.next_u64() % jitter.saturating_add(1)),
        }
    }
}

impl Medium for Throttled {
    fn arrive(&mut self, now: Time, job: Job) {
        self.waiting.push_back(job);
        if self.waiting.len() == 1 {
            self.pass(now);
        }
    }

    fn next_event(&self) -> Time {
        or_never(self.opens).min(self.answering.next())
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        if self.opens.is_some_and(|opens| opens <= now) {
            self.pass(now);
        }
        while let Some(slot) = self.answering.take_due(now) {
            ended.push(slot);
        }
    }

    fn withdraw(&mut self, now: Time, slot: u32) -> bool {
        let found = withdraw(&mut self.waiting, slot);
        // What follows a cancelled head may be allowed sooner: a flush needs no bytes.
        self.pass(now);
        found
    }

    /// Scales the provider's limits; the time through the network stays.
    fn scale(&mut self, now: Time, percent: u32) {
        self.operations.scale(now, percent);
        self.bytes.scale(now, percent);
        self.pass(now);
    }
}
