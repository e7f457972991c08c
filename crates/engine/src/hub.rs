//! One target shared by many lanes of one worker: a plug for each, completions sorted by who asked.
//!
//! In the simulator lanes, jobs and hosts meet at one gate around one device, as on the server they
//! meet behind NBD.
//!
//! Every lane looks at the target whenever anything happens. What it does next is remembered until
//! somebody asks something of it, so that a look at a target with nothing to do costs a comparison:
//! a hundred lanes cost each event two hundred of them.

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
    /// When the target is to be looked at, as it said last; none where something was asked of it
    /// since.
    next: Option<Wakeup>,
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
        Hub { inner: Rc::new(RefCell::new(Shared { target, queues: Vec::new(), polled: Vec::new(), next: None })) }
    }

    /// A new plug.
    pub fn socket(&self) -> Socket<T> {
        let mut shared = self.inner.borrow_mut();
        shared.queues.push(Vec::new());
        Socket { hub: Rc::clone(&self.inner), number: shared.queues.len() as u64 - 1 }
    }

    /// Works on the shared target itself.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut shared = self.inner.borrow_mut();
        shared.next = None;
        work(&mut shared.target)
    }
}

impl<T: Target> Shared<T> {
    /// When the target is to be looked at.
    fn next(&mut self) -> Wakeup {
        *self.next.get_or_insert_with(|| self.target.next_wakeup())
    }

    /// Looks at the target where it may have something to do.
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
        // Asked for at once: the lanes that look after this one need not.
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
