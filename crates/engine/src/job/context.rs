//! What a job has of its worker besides storage: a clock, memory for what it writes, and a way to
//! hand requests over before the worker's turn ends.

use block::{Buf, Driver, Time};
use std::rc::Rc;
use uring::Io;

/// On the wall clock all of it is the worker's ring; in virtual time nothing carries data and
/// nobody waits.
#[derive(Clone)]
pub(crate) enum Context {
    Wall(Io),
    Virtual(Rc<dyn Driver>),
}

impl Context {
    /// A new reading of the clock.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        match self {
            Context::Wall(io) => io.clock().now(),
            Context::Virtual(driver) => driver.now(),
        }
    }

    /// Burns processor time until then; virtual time has none to burn, and the wait that follows is
    /// as long.
    pub(crate) fn spin_until(&self, end: Time) {
        if let Context::Wall(io) = self {
            let clock = io.clock();
            while clock.now() < end {
                std::hint::spin_loop();
            }
        }
    }

    /// Hands over what was made so far.
    #[inline]
    pub(crate) fn submit(&self) {
        if let Context::Wall(io) = self {
            io.submit();
        }
    }

    /// A buffer of `len` bytes; `None` when the slab has none left.
    #[inline]
    pub(crate) fn take(&self, len: u32) -> Option<Buf> {
        match self {
            Context::Wall(io) => io.take(len),
            Context::Virtual(_) => Some(Buf::nothing(len)),
        }
    }

    /// The way back.
    #[inline]
    pub(crate) fn give(&self, buf: Buf) {
        if let Context::Wall(io) = self {
            io.give(buf);
        }
    }

    /// Looks at what was read; `None` where nothing carries data.
    #[inline]
    pub(crate) fn with<R>(&self, buf: &Buf, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        match self {
            Context::Wall(io) => Some(io.with(buf, look)),
            Context::Virtual(_) => None,
        }
    }

    /// Changes what is to be written, where something carries data.
    #[inline]
    pub(crate) fn with_mut(&self, buf: &mut Buf, change: impl FnOnce(&mut [u8])) {
        if let Context::Wall(io) = self {
            io.with_mut(buf, change);
        }
    }
}
