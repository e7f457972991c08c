//! The shell around every medium: what makes it a [`Target`].
//!
//! ```text
//!   submit ──► check ──► Medium::arrive ─┐
//!                                        ├─ events, each at its own instant ──► ended ──► poll hands them out
//!   changes of capacity ──► scale ───────┘
//! ```
//!
//! The shell keeps the requests and their tickets; the medium sees only [`Job`]s, which are copies
//! of what matters for time. A request ends exactly once: normally, as [`Fault::Gone`] when it is
//! cancelled before the medium began it, or as a refusal when it was never valid.

use slab::Slab;
use std::collections::VecDeque;

use block::{
    Buf, Bytes, Completion, Extent, Fault, ObjectId, OpKind, Request, Submitted, Target, Ticket, Time, Traits, Wakeup,
};

use crate::device::{Change, DeviceSpec};
use crate::stage::Below;

/// What a medium knows of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Where the shell keeps the request.
    pub(crate) slot: u32,
    pub(crate) kind: OpKind,
    /// First byte.
    pub(crate) at: u64,
    /// Bytes.
    pub(crate) len: u64,
    /// Force unit access.
    pub(crate) fua: bool,
    /// Which of the device's LUNs it belongs to, from 0.
    pub(crate) lun: u16,
}

/// The part of a device that takes time.
pub(crate) trait Medium: std::fmt::Debug {
    /// Takes a job at `now`; what was due by then has been done.
    fn arrive(&mut self, now: Time, job: Job);

    /// The next instant at which something ends or begins without a new job; [`Time::MAX`] where
    /// nothing does.
    fn next_event(&self) -> Time;

    /// No job ends before this instant, unless a new one arrives or the capacity changes: nobody
    /// need ask for completions until then.
    fn next_end(&self) -> Time {
        self.next_event()
    }

    /// Does what is due at `now` and adds the slots of the jobs that ended. Never called later than
    /// [`Medium::next_event`].
    fn step(&mut self, now: Time, ended: &mut Vec<u32>);

    /// Forgets a job that it has not begun; false if it has.
    fn withdraw(&mut self, now: Time, slot: u32) -> bool;

    /// From now on the device has `percent` of its full capacity; 0 begins nothing new.
    fn scale(&mut self, now: Time, percent: u32);
}

impl Medium for Box<dyn Medium> {
    fn arrive(&mut self, now: Time, job: Job) {
        (**self).arrive(now, job);
    }

    fn next_event(&self) -> Time {
        (**self).next_event()
    }

    fn next_end(&self) -> Time {
        (**self).next_end()
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        (**self).step(now, ended);
    }

    fn withdraw(&mut self, now: Time, slot: u32) -> bool {
        (**self).withdraw(now, slot)
    }

    fn scale(&mut self, now: Time, percent: u32) {
        (**self).scale(now, percent);
    }
}

/// An instant in the form of [`Medium::next_event`].
pub(crate) fn or_never(at: Option<Time>) -> Time {
    at.unwrap_or(Time::MAX)
}

/// Removes a job from a queue of those that have not begun; false if it is not there.
pub(crate) fn withdraw(waiting: &mut VecDeque<Job>, slot: u32) -> bool {
    let place = waiting.iter().position(|job| job.slot == slot);
    place.is_some_and(|place| waiting.remove(place).is_some())
}

/// A device: a medium with its shell.
#[derive(Debug)]
pub(crate) struct Simulated<M> {
    medium: Below<M>,
    size: Bytes,
    places: Places,
    queue_limit: usize,
    changes: VecDeque<Change>,
    /// The latest instant seen: a caller's clock that steps back is taken as standing still.
    clock: Time,
    slots: Slab<Pending>,
    taken: u64,
    ended: Vec<Completion>,
    ended_slots: Vec<u32>,
}

/// Where objects lie on the medium: one behind the other, in the order of their first requests. If
/// there are more objects than places, the further ones share them from the first on.
#[derive(Debug, Default)]
struct Places {
    luns: u32,
    taken: u32,
    /// By the object's number; 0 is none yet.
    by_object: Vec<u32>,
}

impl Places {
    /// The object's place, from 0.
    fn of(&mut self, object: ObjectId) -> u64 {
        if self.luns == 1 {
            return 0;
        }
        let index = object.0 as usize;
        if self.by_object.len() <= index {
            self.by_object.resize(index + 1, 0);
        }
        let place = &mut self.by_object[index];
        if *place == 0 {
            *place = self.taken % self.luns + 1;
            self.taken += 1;
        }
        u64::from(*place - 1)
    }
}

#[derive(Debug)]
struct Pending {
    request: Request,
    submitted: Time,
    /// Tells this use of the slot from earlier ones.
    ticket: u32,
}

impl<M: Medium> Simulated<M> {
    /// A device of this description around its medium.
    pub(crate) fn new(medium: M, spec: &DeviceSpec) -> Simulated<M> {
        Simulated {
            medium: Below::new(medium),
            size: spec.size,
            places: Places { luns: spec.luns, ..Places::default() },
            queue_limit: spec.queue_limit.map_or(usize::MAX, |limit| limit as usize),
            changes: spec.changes.clone().into(),
            clock: Time::ZERO,
            slots: Slab::new(),
            taken: 0,
            ended: Vec::new(),
            ended_slots: Vec::new(),
        }
    }

    fn in_flight(&self) -> usize {
        self.slots.len()
    }

    /// Lets everything due until `now` happen, each at its own instant.
    fn advance(&mut self, now: Time) {
        let mut ended = std::mem::take(&mut self.ended_slots);
        loop {
            let at = self.medium.next_event().min(self.next_change());
            if at > now || at == Time::MAX {
                break;
            }
            self.clock = self.clock.max(at);
            let promised = if cfg!(debug_assertions) { self.medium.next_end().min(self.next_change()) } else { at };
            if let Some(change) = self.changes.front().copied().filter(|change| change.at <= at) {
                self.changes.pop_front();
                self.medium.scale(at, change.percent);
            }
            self.medium.step(at, &mut ended);
            debug_assert!(ended.is_empty() || at >= promised, "an end at {at:?}, not before {promised:?}");
            for slot in ended.drain(..) {
                self.finish(slot, at, Ok(()));
            }
        }
        self.ended_slots = ended;
        self.clock = self.clock.max(now);
    }

    /// When the capacity changes next.
    fn next_change(&self) -> Time {
        or_never(self.changes.front().map(|change| change.at))
    }

    /// Completes a request; a medium ends each job once.
    fn finish(&mut self, slot: u32, end: Time, result: Result<(), Fault>) {
        let pending = self.slots.remove(slot as usize);
        let service = end.since(pending.submitted);
        let mut completion = match result {
            Ok(()) => answer(pending.request, end),
            Err(fault) => Completion::refuse(pending.request, end, fault),
        };
        completion.service = service;
        self.ended.push(completion);
    }

    /// Which rule the request breaks, if any.
    fn fault(&self, request: &Request) -> Option<Fault> {
        let kind = request.op.kind();
        if kind.moves_data() && request.len > u64::from(u32::MAX) {
            return Some(Fault::Invalid);
        }
        let inside = request.at.checked_add(request.len).is_some_and(|end| end <= self.size.0);
        match kind {
            _ if inside => None,
            OpKind::Write | OpKind::Zero => Some(Fault::NoSpace),
            _ => Some(Fault::Invalid),
        }
    }
}

/// A device that carries no data gives a read memory without memory behind it, and says that
/// everything is allocated.
fn answer(request: Request, end: Time) -> Completion {
    let mut completion = Completion::of(&request, end, Ok(()));
    match request.op {
        block::Op::Read => completion.buf = Some(Buf::nothing(request.len as u32)),
        block::Op::Write(buf) => completion.buf = Some(buf),
        block::Op::Status { .. } => {
            completion.extents.push(Extent { len: request.len, hole: false, zero: false, shared: false });
        }
        _ => {}
    }
    completion
}

impl<M: Medium> Target for Simulated<M> {
    fn traits(&self) -> Traits {
        Traits { size: self.size, align: 1, longest: u32::MAX, carries_data: false, read_only: false }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        self.advance(now);
        let now = self.clock;
        if self.in_flight() >= self.queue_limit {
            return Submitted::Full(request);
        }
        let fault = self.fault(&request);
        let (kind, at, len, fua) = (request.op.kind(), request.at, request.len, request.fua);
        let object = request.object;
        self.taken += 1;
        // 32 bits of the count suffice: a slot would have to be reused 2^32 times while a caller
        // keeps its old ticket.
        let ticket = self.taken as u32;
        let slot = self.slots.insert(Pending { request, submitted: now, ticket }) as u32;
        match fault {
            Some(fault) => self.finish(slot, now, Err(fault)),
            None => {
                let lun = self.places.of(object);
                let at = at + lun * self.size.0;
                self.medium.arrive(now, Job { slot, kind, at, len, fua, lun: lun as u16 });
            }
        }
        Submitted::Taken(Ticket(u64::from(ticket) << 32 | u64::from(slot)))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        self.advance(now);
        out.append(&mut self.ended);
    }

    /// `Now` with completions to hand out, otherwise when the next may be. A change of capacity
    /// with nothing in flight wakes nobody: it takes effect when the next request comes.
    fn next_wakeup(&self) -> Wakeup {
        if !self.ended.is_empty() {
            return Wakeup::Now;
        }
        if self.in_flight() == 0 {
            return Wakeup::Idle;
        }
        match self.medium.next_end().min(self.next_change()) {
            Time::MAX => Wakeup::Idle,
            at => Wakeup::At(at),
        }
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.advance(now);
        let (slot, ticket) = (ticket.0 as u32, (ticket.0 >> 32) as u32);
        let pending = self.slots.get(slot as usize);
        if pending.is_some_and(|pending| pending.ticket == ticket) && self.medium.withdraw(self.clock, slot) {
            self.finish(slot, self.clock, Err(Fault::Gone));
        }
    }
}
