//! The instrument on the device: notes every request that the device takes.

use std::cell::RefCell;
use std::rc::Rc;

use block::{Completion, ObjectId, OpKind, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};

/// A target that notes what its inner target takes.
#[derive(Debug)]
pub struct Probe<T> {
    inner: T,
    seen: Rc<RefCell<Vec<Dispatch>>>,
}

/// A request that a device took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// When.
    pub at: Time,
    /// Whose.
    pub object: ObjectId,
    /// Its kind.
    pub kind: OpKind,
    /// Bytes.
    pub len: u64,
}

impl<T: Target> Probe<T> {
    /// A probe on `inner`, and where it notes.
    pub fn on(inner: T) -> (Probe<T>, Rc<RefCell<Vec<Dispatch>>>) {
        let seen = Rc::new(RefCell::new(Vec::new()));
        (Probe { inner, seen: seen.clone() }, seen)
    }
}

impl<T: Target> Target for Probe<T> {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let dispatch = Dispatch { at: now, object: request.object, kind: request.op.kind(), len: request.len };
        let submitted = self.inner.submit(now, request);
        if matches!(submitted, Submitted::Taken(_)) {
            self.seen.borrow_mut().push(dispatch);
        }
        submitted
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        self.inner.poll(now, out);
    }

    fn next_wakeup(&self) -> Wakeup {
        self.inner.next_wakeup()
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.inner.cancel(now, ticket);
    }
}
