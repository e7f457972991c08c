//! One target shared by many lanes of one worker: a plug for each, completions sorted by who asked.
//!
//! In the simulator lanes, jobs and hosts meet at one gate around one device, as on the server they
//! meet behind NBD.

use block::{Completion, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};
use std::cell::RefCell;
use std::rc::Rc;

/// A target with a completion queue for every [`Socket`].
#[derive(Debug)]
pub struct Hub<T> {
    inner: Rc<RefCell<Shared<T>>>,
}

#[derive(Debug)]
struct Shared<T> {
    target: T,
    queues: Vec<Vec<Completion>>,
    polled: Vec<Completion>,
}

/// A lane's plug in a [`Hub`]. Tags of up to 48 bits pass through unchanged.
#[derive(Debug)]
pub struct Socket<T> {
    hub: Rc<RefCell<Shared<T>>>,
    number: u64,
}

const TAG_BITS: u32 = 48;

impl<T: Target> Hub<T> {
    /// Around `target`.
    pub fn new(target: T) -> Hub<T> {
        Hub { inner: Rc::new(RefCell::new(Shared { target, queues: Vec::new(), polled: Vec::new() })) }
    }

    /// A new plug.
    pub fn socket(&self) -> Socket<T> {
        let mut shared = self.inner.borrow_mut();
        shared.queues.push(Vec::new());
        Socket { hub: Rc::clone(&self.inner), number: shared.queues.len() as u64 - 1 }
    }

    /// Works on the shared target itself.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.inner.borrow_mut().target)
    }
}

impl<T: Target> Target for Socket<T> {
    fn traits(&self) -> Traits {
        self.hub.borrow().target.traits()
    }

    fn submit(&mut self, now: Time, mut request: Request) -> Submitted {
        let tag = request.tag;
        assert!(tag >> TAG_BITS == 0, "a tag through a hub has at most {TAG_BITS} bits");
        request.tag = tag | self.number << TAG_BITS;
        match self.hub.borrow_mut().target.submit(now, request) {
            Submitted::Full(request) => Submitted::Full(Request { tag, ..request }),
            taken => taken,
        }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        let mut shared = self.hub.borrow_mut();
        let Shared { target, queues, polled } = &mut *shared;
        target.poll(now, polled);
        for mut completion in polled.drain(..) {
            let number = completion.tag >> TAG_BITS;
            completion.tag &= (1 << TAG_BITS) - 1;
            queues[number as usize].push(completion);
        }
        out.append(&mut queues[self.number as usize]);
    }

    fn next_wakeup(&self) -> Wakeup {
        let shared = self.hub.borrow();
        match shared.queues[self.number as usize].is_empty() {
            false => Wakeup::Now,
            true => shared.target.next_wakeup(),
        }
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.hub.borrow_mut().target.cancel(now, ticket);
    }
}
