//! One target shared by many lanes: a socket for each, with completions sorted by socket.
//!
//! In the simulator lanes, jobs and hosts share one gate around one device, as they share the
//! server behind NBD.
//!
//! Every lane polls the target whenever anything happens: with a hundred lanes each event causes
//! two hundred polls. So the target's next wake-up is remembered until someone uses the target, and
//! polling one that has nothing to do costs a comparison.

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
    /// The wake-up that the target reported last; `None` if it was used since.
    next: Option<Wakeup>,
}

/// A lane's end of a [`Hub`]. Tags of up to 48 bits pass through unchanged.
#[derive(Debug)]
pub struct Socket<T> {
    hub: Rc<RefCell<Shared<T>>>,
    number: u64,
}

const TAG_BITS: u32 = 48;

impl<T: Target> Hub<T> {
    /// A hub around `target`.
    pub fn new(target: T) -> Hub<T> {
        Hub { inner: Rc::new(RefCell::new(Shared { target, queues: Vec::new(), polled: Vec::new(), next: None })) }
    }

    /// Adds a socket.
    pub fn socket(&self) -> Socket<T> {
        let mut shared = self.inner.borrow_mut();
        shared.queues.push(Vec::new());
        Socket { hub: Rc::clone(&self.inner), number: shared.queues.len() as u64 - 1 }
    }

    /// Gives access to the shared target itself.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut shared = self.inner.borrow_mut();
        shared.next = None;
        work(&mut shared.target)
    }
}

impl<T: Target> Shared<T> {
    /// The target's next wake-up.
    fn next(&mut self) -> Wakeup {
        *self.next.get_or_insert_with(|| self.target.next_wakeup())
    }

    /// Polls the target if it may have something to do.
    fn look(&mut self, now: Time) {
        let has_nothing = match self.next {
            Some(Wakeup::At(at)) => at > now,
            Some(Wakeup::Idle) => true,
            Some(Wakeup::Now | Wakeup::External) | None => false,
        };
        if has_nothing {
            return;
        }
        self.next = None;
        self.target.poll(now, &mut self.polled);
        for mut completion in self.polled.drain(..) {
            let number = completion.tag >> TAG_BITS;
            completion.tag &= (1 << TAG_BITS) - 1;
            self.queues[number as usize].push(completion);
        }
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
        let mut shared = self.hub.borrow_mut();
        shared.next = None;
        match shared.target.submit(now, request) {
            Submitted::Full(request) => Submitted::Full(Request { tag, ..request }),
            taken => taken,
        }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        let mut shared = self.hub.borrow_mut();
        shared.look(now);
        // Asked at once, so that the lanes that poll after this one can skip it.
        shared.next();
        out.append(&mut shared.queues[self.number as usize]);
    }

    fn next_wakeup(&self) -> Wakeup {
        let mut shared = self.hub.borrow_mut();
        match shared.queues[self.number as usize].is_empty() {
            false => Wakeup::Now,
            true => shared.next(),
        }
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        let mut shared = self.hub.borrow_mut();
        shared.next = None;
        shared.target.cancel(now, ticket);
    }
}
