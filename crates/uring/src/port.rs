//! A client of the worker's I/O: it pushes jobs, and reaps their completions from its own queue.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::io::Shared;
use crate::job::{Done, Job};

/// Names a port, uniquely among all that its [`crate::Io`] ever had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub(crate) u64);

/// One client's end. Dropping it cancels what waits for a peer, lets disk requests end, and gives
/// all buffers back.
pub struct Port {
    shared: Rc<Shared>,
    queue: Rc<Queue>,
}

/// A port's queue of completions.
pub(crate) struct Queue {
    pub(crate) id: PortId,
    done: RefCell<Vec<Done>>,
    /// Jobs in flight.
    pub(crate) flights: Cell<u32>,
    /// The port was dropped: nobody will reap.
    pub(crate) dead: Cell<bool>,
    /// It is in the list of ready ports.
    pub(crate) listed: Cell<bool>,
}

impl Queue {
    pub(crate) fn new(id: PortId) -> Rc<Queue> {
        let (flights, dead, listed) = (Cell::new(0), Cell::new(false), Cell::new(false));
        Rc::new(Queue { id, done: RefCell::default(), flights, dead, listed })
    }

    pub(crate) fn push(&self, done: Done) {
        self.done.borrow_mut().push(done);
    }
}

impl Port {
    pub(crate) fn new(shared: Rc<Shared>) -> Port {
        let queue = Queue::new(shared.next_port());
        Port { shared, queue }
    }

    /// Its name in [`crate::Io::ready_ports`].
    pub fn id(&self) -> PortId {
        self.queue.id
    }

    /// Takes a job, or hands it back if the in-flight table is full. Never makes a system call: the
    /// next [`block::Driver::turn`] submits the job. Exactly one [`Done`] with this token will
    /// come.
    ///
    /// # Panics
    /// If a buffer in it is not out of this worker's slab, or is in use.
    #[allow(clippy::result_large_err, reason = "the job itself comes back, and copying it costs less than a box")]
    pub fn push(&self, token: u64, job: Job) -> Result<(), Job> {
        self.shared.push(&self.queue, token, job)
    }

    /// Moves all completions to the end of `out`. Never blocks.
    pub fn reap(&self, out: &mut Vec<Done>) {
        let mut done = self.queue.done.borrow_mut();
        if !done.is_empty() {
            self.shared.reaped(done.len());
            match out.is_empty() {
                // Both keep their memory, and nothing is copied.
                true => std::mem::swap(out, &mut done),
                false => out.append(&mut done),
            }
        }
    }

    /// Whether [`Port::reap`] would find something.
    pub fn is_ready(&self) -> bool {
        !self.queue.done.borrow().is_empty()
    }

    /// Jobs that were pushed and have not ended.
    pub fn in_flight(&self) -> u32 {
        self.queue.flights.get()
    }

    /// Asks to end the job with this token early, best effort. Its one [`Done`] still comes.
    pub fn cancel(&self, token: u64) {
        self.shared.cancel(|flight| Rc::ptr_eq(&flight.queue, &self.queue) && flight.token == token);
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.queue.dead.set(true);
        self.shared.unlist(&self.queue);
        let unreaped = self.queue.done.take();
        self.shared.reaped(unreaped.len());
        unreaped.into_iter().for_each(|done| self.shared.discard(done));
        if self.queue.flights.get() > 0 {
            self.shared.cancel(|flight| Rc::ptr_eq(&flight.queue, &self.queue) && flight.job.waits_for_a_peer());
        }
    }
}
