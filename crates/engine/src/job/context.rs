//! What a worker provides to its jobs besides storage: a clock, buffers, and a way to submit
//! requests before its turn ends.

use block::{Buf, Driver, Time};
use std::rc::Rc;
use uring::Io;

/// By the wall clock all of it is the worker's ring. In virtual time requests carry no data and
/// nobody waits.
#[derive(Clone)]
pub(crate) enum Context {
    Wall(Io),
    Virtual(Rc<dyn Driver>),
}

impl Context {
    /// Reads the clock.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        match self {
            Context::Wall(io) => io.clock().now(),
            Context::Virtual(driver) => driver.now(),
        }
    }

    /// Spins until `end`. Virtual time returns at once; the caller then waits as long.
    pub(crate) fn spin_until(&self, end: Time) {
        if let Context::Wall(io) = self {
            let clock = io.clock();
            while clock.now() < end {
                std::hint::spin_loop();
            }
        }
    }

    /// Submits the requests made so far.
    #[inline]
    pub(crate) fn submit(&self) {
        if let Context::Wall(io) = self {
            io.submit();
        }
    }

    /// A buffer of `len` bytes; `None` if the slab is exhausted.
    #[inline]
    pub(crate) fn take(&self, len: u32) -> Option<Buf> {
        match self {
            Context::Wall(io) => io.take(len),
            Context::Virtual(_) => Some(Buf::nothing(len)),
        }
    }

    /// Returns a buffer.
    #[inline]
    pub(crate) fn give(&self, buf: Buf) {
        if let Context::Wall(io) = self {
            io.give(buf);
        }
    }

    /// Gives access to the bytes that were read; `None` where requests carry no data.
    #[inline]
    pub(crate) fn with<R>(&self, buf: &Buf, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        match self {
            Context::Wall(io) => Some(io.with(buf, look)),
            Context::Virtual(_) => None,
        }
    }

    /// Changes the bytes to be written, where requests carry data.
    #[inline]
    pub(crate) fn with_mut(&self, buf: &mut Buf, change: impl FnOnce(&mut [u8])) {
        if let Context::Wall(io) = self {
            io.with_mut(buf, change);
        }
    }
}
