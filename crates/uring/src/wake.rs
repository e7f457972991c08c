//! Waking a worker from another thread.
//!
//! It uses an eventfd that the engine always reads. `pending` limits a burst of wake-ups to one
//! system call: only the first after a turn writes.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::IoError;

/// Makes the worker's current or next turn return. Whatever the waking thread wrote before is
/// visible to the worker after that turn.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Bell>);

#[derive(Debug)]
struct Bell {
    event: OwnedFd,
    pending: AtomicBool,
}

impl Waker {
    pub(crate) fn open() -> Result<Waker, IoError> {
        // SAFETY: no memory is passed. It is blocking on purpose: a read by io_uring must wait and
        // not fail with EAGAIN.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if event < 0 {
            return Err(IoError::last("eventfd"));
        }
        // SAFETY: the call above just made this descriptor, and nobody else knows it.
        let event = unsafe { OwnedFd::from_raw_fd(event) };
        Ok(Waker(Arc::new(Bell { event, pending: AtomicBool::new(false) })))
    }

    /// Wakes. Cheap when a wake is pending already.
    pub fn wake(&self) {
        if !self.0.pending.swap(true, Ordering::AcqRel) {
            self.ring();
        }
    }

    /// Writes to the eventfd, whether a wake is pending or not.
    pub(crate) fn ring(&self) {
        let one = 1u64;
        // SAFETY: eight bytes are read from `one`, which outlives the call. It cannot block: the
        // counter would have to be one below 2^64. A failure is not possible for an open eventfd,
        // and there is nobody to tell.
        unsafe { libc::write(self.event(), (&raw const one).cast(), 8) };
    }

    /// The worker has seen the wake. The exchange (not a store) makes what the waking thread wrote
    /// visible.
    pub(crate) fn seen(&self) {
        self.0.pending.swap(false, Ordering::AcqRel);
    }

    pub(crate) fn event(&self) -> RawFd {
        self.0.event.as_raw_fd()
    }
}
