//! The two ways of carrying out operations, behind one set of calls.

use std::os::fd::OwnedFd;

use block::Bytes;

use crate::files::Closed;
use crate::operation::{Key, Operation, Outcome, Wait};
use crate::pool::Pool;
use crate::region::Region;
use crate::ring::Ring;
use crate::{Backend, Choice, Clock, IoError, IoSettings, Waker};

#[allow(clippy::large_enum_variant, reason = "there is one a worker, and it never moves")]
pub(crate) enum Engine {
    Ring(Ring),
    Pool(Pool),
}

/// An engine, and the backend that it turned out to be.
pub(crate) struct Opened {
    pub(crate) engine: Engine,
    pub(crate) backend: Backend,
    /// Bytes of the region, from its start, that are registered with the engine.
    pub(crate) registered: usize,
}

impl Engine {
    /// Opens the engine of the settings' choice.
    ///
    /// # Safety
    /// The region must outlive the engine.
    pub(crate) unsafe fn open(
        settings: &IoSettings,
        clock: Clock,
        waker: &Waker,
        region: &Region,
    ) -> Result<Opened, IoError> {
        let why = if settings.backend == Choice::Threads {
            "asked for".to_owned()
        } else {
            match Ring::open(settings, clock, waker.clone()) {
                Ok(mut ring) => {
                    // SAFETY: the caller keeps the region for the engine's life, hence the ring's.
                    let registered = unsafe { ring.register(region, settings.registered.0) };
                    let backend = Backend::Uring { task_work: ring.task_work(), registered: Bytes(registered as u64) };
                    return Ok(Opened { engine: Engine::Ring(ring), backend, registered });
                }
                Err(error) if settings.backend == Choice::Uring => return Err(error),
                Err(error) => error.to_string(),
            }
        };
        let pool = Pool::open(settings.threads, clock, waker.clone())?;
        Ok(Opened { engine: Engine::Pool(pool), backend: Backend::Threads { why }, registered: 0 })
    }

    /// Adds a file under `index`; returns whether the engine registered it.
    pub(crate) fn add_file(&mut self, index: u32, fd: &OwnedFd) -> bool {
        match self {
            Engine::Ring(ring) => ring.add_file(index, fd),
            Engine::Pool(_) => false,
        }
    }

    /// Removes a file without requests, which is about to be closed.
    pub(crate) fn drop_file(&mut self, file: &Closed) {
        if let Engine::Ring(ring) = self {
            ring.drop_file(file);
        }
    }

    /// Prepares an operation; the next enter starts it. Never makes a system call.
    ///
    /// # Safety
    /// The file, the memory and the lists that the operation points to must stay valid, and its
    /// memory must be nobody else's, until the outcome for `key` has been reaped.
    pub(crate) unsafe fn start(&mut self, key: Key, operation: Operation) {
        match self {
            // SAFETY: the same promise.
            Engine::Ring(ring) => unsafe { ring.start(key, &operation) },
            // SAFETY: the same promise.
            Engine::Pool(pool) => unsafe { pool.start(key, operation) },
        }
    }

    /// Asks to end an operation early; its outcome still comes.
    pub(crate) fn cancel(&mut self, key: Key) {
        match self {
            Engine::Ring(ring) => ring.cancel(key),
            Engine::Pool(pool) => pool.cancel(key),
        }
    }

    /// Whether fewer reads than are wanted may be at a disk. The pool takes reads as they come.
    pub(crate) fn break_lockstep(&mut self, may: bool) {
        if let Engine::Ring(ring) = self {
            ring.break_lockstep(may);
        }
    }

    /// Reads of cached files that were not tried yet.
    pub(crate) fn untried(&self) -> usize {
        match self {
            Engine::Ring(ring) => ring.untried(),
            Engine::Pool(_) => 0,
        }
    }

    /// Starts what is prepared, without waiting. The pool starts it at the next enter.
    pub(crate) fn submit(&mut self) {
        if let Engine::Ring(ring) = self {
            ring.submit();
        }
    }

    /// Starts what is prepared, and waits for an outcome or a wake-up. May return early. With
    /// `rest`, a send that succeeds at once need not end the wait.
    pub(crate) fn enter(&mut self, wait: Wait, rest: bool) {
        match self {
            Engine::Ring(ring) => ring.enter(wait, rest),
            Engine::Pool(pool) => pool.enter(wait),
        }
    }

    /// Appends all outcomes.
    pub(crate) fn reap(&mut self, out: &mut Vec<Outcome>) {
        match self {
            Engine::Ring(ring) => ring.reap(out),
            Engine::Pool(pool) => pool.reap(out),
        }
    }
}
