//! The LUNs of a pool, of whichever layout it is, as one [`Target`].

use crate::{DataFile, MappedVolumes, Volumes};
use block::{Completion, ObjectId, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};
use map::{Agreed, Ended, Owned, Steps, What};

/// The LUNs of a pool.
pub enum Served {
    /// Each in a sparse file of its own.
    Files(Box<Volumes>),
    /// All in one file of blocks.
    Maps(Box<MappedVolumes>),
}

impl Served {
    /// Serves `object`: from its file, if the pool has one for each, of which it takes `size` bytes.
    pub fn open(&mut self, now: Time, object: ObjectId, data: Option<DataFile>, size: u64) {
        match (self, data) {
            (Served::Files(volumes), Some(data)) => volumes.open(now, object, data, size),
            (Served::Maps(volumes), None) => volumes.open(object),
            (Served::Files(_), None) | (Served::Maps(_), Some(_)) => {
                debug_assert!(false, "{object:?} is of another layout than its pool");
            }
        }
    }

    /// Stops serving `object`: what waits completes as gone, what is under way completes as usual.
    pub fn close(&mut self, now: Time, object: ObjectId) {
        match self {
            Served::Files(volumes) => volumes.close(now, object),
            Served::Maps(volumes) => volumes.close(now, object),
        }
    }

    /// The size in bytes from now on. Maps know it by themselves.
    pub fn resize(&mut self, object: ObjectId, size: u64) {
        match self {
            Served::Files(volumes) => volumes.resize(object, size),
            Served::Maps(_) => {}
        }
    }

    /// Whether work waits for memory: poll again when buffers were given back.
    pub fn lacks_memory(&self) -> bool {
        match self {
            Served::Files(volumes) => volumes.lacks_memory(),
            Served::Maps(volumes) => volumes.lacks_memory(),
        }
    }

    /// Requests that were taken and have not begun.
    pub fn backlog(&self) -> usize {
        match self {
            Served::Files(volumes) => volumes.backlog(),
            Served::Maps(volumes) => volumes.backlog(),
        }
    }

    /// Buffers that are out of the slab as long as this lives.
    pub fn own_buffers(&self) -> usize {
        match self {
            Served::Files(_) => 0,
            Served::Maps(volumes) => volumes.own_buffers(),
        }
    }

    /// Asks for a change of an object's tree and returns the number of its answer; `None` where there are no maps.
    pub fn administer(&mut self, object: ObjectId, what: What) -> Option<u64> {
        match self {
            Served::Files(_) => None,
            Served::Maps(volumes) => Some(volumes.administer(object, what)),
        }
    }

    /// Asks for changes of several trees at one moment; `None` where there are no maps.
    pub fn administer_together(&mut self, changes: Vec<(ObjectId, What)>) -> Option<u64> {
        match self {
            Served::Files(_) => None,
            Served::Maps(volumes) => Some(volumes.administer_together(changes)),
        }
    }

    /// Has the maps keep what is known of the catalogue; `None` where there are no maps.
    pub fn agree(&mut self, agreed: Agreed) -> Option<u64> {
        match self {
            Served::Files(_) => None,
            Served::Maps(volumes) => Some(volumes.agree(agreed)),
        }
    }

    /// Whether something goes on in steps.
    pub fn has_work(&self) -> bool {
        match self {
            Served::Files(_) => false,
            Served::Maps(volumes) => volumes.core().has_work(),
        }
    }

    /// Moves the answers to what was administered to the end of `out`.
    pub fn take_answers(&mut self, out: &mut Vec<Ended>) {
        if let Served::Maps(volumes) = self {
            volumes.take_answers(out);
        }
    }

    /// Bytes of blocks that an object's tree points at; `None` where there are no maps.
    pub fn used(&self, object: ObjectId) -> Option<u64> {
        match self {
            Served::Files(_) => None,
            Served::Maps(volumes) => volumes.core().tree(object.0).map(|(_, used)| used),
        }
    }
}

impl Served {
    /// Goes on counting what would come free with a tree; the bytes when all is counted. Nothing where there are no maps.
    pub fn count_owned(&self, owned: &mut Owned, steps: &mut Steps) -> Option<u64> {
        match self {
            Served::Files(_) => Some(0),
            Served::Maps(volumes) => owned.step(volumes.core(), steps),
        }
    }
}

impl Target for Served {
    fn traits(&self) -> Traits {
        match self {
            Served::Files(volumes) => volumes.traits(),
            Served::Maps(volumes) => volumes.traits(),
        }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        match self {
            Served::Files(volumes) => volumes.submit(now, request),
            Served::Maps(volumes) => volumes.submit(now, request),
        }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        match self {
            Served::Files(volumes) => volumes.poll(now, out),
            Served::Maps(volumes) => volumes.poll(now, out),
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        match self {
            Served::Files(volumes) => volumes.next_wakeup(),
            Served::Maps(volumes) => volumes.next_wakeup(),
        }
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        match self {
            Served::Files(volumes) => volumes.cancel(now, ticket),
            Served::Maps(volumes) => volumes.cancel(now, ticket),
        }
    }
}
