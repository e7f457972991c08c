//! The gate: a target around a target that enforces policies. It hands requests on when the
//! scheduler says so.
//!
//! ```text
//!   submit ──► scheduler: may it go? ── yes ──► inner.submit      the request carries the gate's own tag inwards;
//!                  │ no                                           the caller's tag comes back in the completion
//!                  ▼ it waits, without a buffer if it is a read
//!   poll   ──► inner.poll, completions counted ──► scheduler: who goes now? ──► inner.submit, a bounded number of steps
//! ```

use std::cell::Cell;

use block::{Completion, Fault, ObjectId, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};

use crate::account::{GateStatus, GroupAccount, ObjectAccount};
use crate::edit::{Edit, EditError};
use crate::scheduler::{Admission, Pick, Scheduler};
use crate::tuning::Settings;

/// The ticket of a request that was refused at once: there is nothing to cancel.
const REFUSED: Ticket = Ticket(u64::MAX);

/// The bit that tags of the owner's own requests have, and no other's: objects' accounts leave them
/// out, whether they pass the gate or go through it as their object's.
pub const OWN: u64 = 1 << 63;

/// Quality of service around a target. Many objects, one scheduler, one backend: requests carry
/// their object, and the inner target routes them.
///
/// Completions that come back tell the time waited here (`queued`), the time in the inner target
/// (`service`) and what held the request back last (`cause`). A request for an object that the gate
/// does not know ends with [`Fault::Invalid`]. One whose tag has the bit [`OWN`] is held and
/// charged like any other, and objects' accounts leave it out.
///
/// Work is bounded: a `submit` is one step, a `poll` at most [`Settings::steps_per_poll`] of them
/// besides what the inner target does; if more is to be done, [`Target::next_wakeup`] says
/// [`Wakeup::Now`].
#[derive(Debug)]
pub struct Gate<T: Target> {
    inner: T,
    scheduler: Scheduler,
    /// When the scheduler next has something to do; `None` once that may have changed.
    due: Cell<Option<Wakeup>>,
}

impl<T: Target> Gate<T> {
    /// A gate without objects, which serves no requests yet.
    pub fn new(inner: T, settings: Settings) -> Gate<T> {
        Gate { inner, scheduler: Scheduler::new(settings), due: Cell::new(None) }
    }

    /// Changes objects, limits or groups from now on, while requests wait and are in flight;
    /// applied whole or not at all.
    ///
    /// # Errors
    /// What the edit names does not exist, exists already or is still in use, or a rate is out of
    /// range.
    pub fn edit(&mut self, now: Time, edit: &Edit) -> Result<(), EditError> {
        self.advance(now);
        self.scheduler.edit(edit)
    }

    /// The target behind the gate.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The target behind the gate, for what is not a request. Requests go through the gate, the
    /// owner's own by [`Gate::pass`].
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Hands a request of the owner's own straight to the target behind the gate: no policy holds
    /// it, and no account counts it. Its completion comes like all others, and the ticket is the
    /// target's own. Its tag has the bit [`OWN`], which tells the two kinds of completions apart.
    pub fn pass(&mut self, now: Time, request: Request) -> Submitted {
        assert!(request.tag & OWN != 0, "the tag of a request that passes has the owner's bit");
        self.inner.submit(now, request)
    }

    /// Cancels a request that waits: it ends with [`Fault::Gone`]. One in flight is left alone.
    pub fn recall(&mut self, now: Time, ticket: Ticket) {
        self.advance(now);
        let _was_in_flight = self.scheduler.cancel(ticket);
    }

    /// Appends what happened to each object since the last call; objects without requests are left
    /// out.
    pub fn account(&mut self, now: Time, out: &mut Vec<ObjectAccount>) {
        while !self.account_some(now, usize::MAX, out) {}
    }

    /// Appends what happened to `most` objects since each was last reported. Further calls append
    /// the rest; true once none is left. So an account of many objects need not keep requests
    /// waiting.
    pub fn account_some(&mut self, now: Time, most: usize, out: &mut Vec<ObjectAccount>) -> bool {
        self.advance(now);
        self.scheduler.account(most, out)
    }

    /// Appends what passed each shared group since the last call.
    pub fn groups(&mut self, now: Time, out: &mut Vec<GroupAccount>) {
        self.advance(now);
        self.scheduler.account_groups(0, usize::MAX, out);
    }

    /// Appends what passed `most` shared groups since each was last reported, from the number
    /// `from` on: at first 0, then what the call before returned.
    pub fn groups_some(&mut self, now: Time, from: u32, most: usize, out: &mut Vec<GroupAccount>) -> Option<u32> {
        self.advance(now);
        self.scheduler.account_groups(from, most, out)
    }

    /// Whether a floor is set on this object or above it, due or not.
    pub fn has_floor(&self, object: ObjectId) -> bool {
        self.scheduler.has_floor(object)
    }

    /// Whether a floor on this object or above it is due, so that its next request goes before all
    /// that have none. A caller that keeps a queue of its own before the gate asks this to decide
    /// whom to let in first.
    pub fn is_floor_due(&mut self, now: Time, object: ObjectId) -> bool {
        self.advance(now);
        self.scheduler.is_due(object)
    }

    /// Whether anything has a floor. Costs nothing, unlike [`Gate::status`].
    pub fn has_floors(&self) -> bool {
        self.scheduler.has_floors()
    }

    /// The gate as a whole, at this moment.
    pub fn status(&self) -> GateStatus {
        self.scheduler.status()
    }

    /// Moves the scheduler's time on, for calls that may change what is due.
    fn advance(&mut self, now: Time) -> Time {
        self.due.set(None);
        self.scheduler.advance(now)
    }

    fn hand_over(&mut self, now: Time, pick: Pick) {
        let Some(request) = self.scheduler.take_request(pick.job) else { return };
        match self.inner.submit(now, request) {
            Submitted::Taken(ticket) => self.scheduler.started(pick, ticket),
            Submitted::Full(request) => self.scheduler.refused(pick, request),
        }
    }

    fn go_at_once(&mut self, now: Time, pick: Pick, mut request: Request) {
        request.tag = self.scheduler.token(pick.job);
        match self.inner.submit(now, request) {
            Submitted::Taken(ticket) => self.scheduler.started(pick, ticket),
            Submitted::Full(request) => self.scheduler.refused(pick, request),
        }
    }
}

impl<T: Target> Target for Gate<T> {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let now = self.advance(now);
        let job = match self.scheduler.admit(&request) {
            Admission::Unknown => {
                self.scheduler.refuse(request, Fault::Invalid);
                return Submitted::Taken(REFUSED);
            }
            Admission::Full => return Submitted::Full(request),
            Admission::Go(node, reason) => {
                let job = self.scheduler.open(node, &request);
                self.go_at_once(now, self.scheduler.go(job, reason), request);
                job
            }
            Admission::Wait(node) => {
                let job = self.scheduler.open(node, &request);
                self.scheduler.wait(job, request, false);
                job
            }
            Admission::Spill(node) => {
                let job = self.scheduler.open(node, &request);
                self.scheduler.wait(job, request, true);
                job
            }
        };
        Submitted::Taken(Ticket(self.scheduler.token(job)))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        let now = self.scheduler.advance(now);
        let first = out.len();
        self.inner.poll(now, out);
        if out.len() == first && self.due.get().is_some_and(|due| self.scheduler.sleeps_until(due)) {
            return;
        }
        self.due.set(None);
        self.scheduler.begin_poll();
        for completion in out[first..].iter_mut().filter(|completion| completion.tag & OWN == 0) {
            self.scheduler.finish(completion);
        }
        while let Some(pick) = self.scheduler.pick() {
            self.hand_over(now, pick);
        }
        self.scheduler.drain_ended(out);
    }

    fn next_wakeup(&self) -> Wakeup {
        let due = self.due.get().unwrap_or_else(|| self.scheduler.next_wakeup());
        self.due.set(Some(due));
        due.sooner(self.inner.next_wakeup())
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        let now = self.advance(now);
        if let Some(inner) = self.scheduler.cancel(ticket) {
            self.inner.cancel(now, inner);
        }
    }
}
