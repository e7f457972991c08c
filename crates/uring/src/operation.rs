//! One request as the kernel sees it: a file, addresses, lengths. Both engines carry it out and
//! return the result of the system call, or a negative error number.

use std::os::fd::RawFd;
use std::ptr::NonNull;

/// Names a request between the in-flight table and the engine.
pub(crate) type Key = u32;

/// A file as an engine needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    pub(crate) fd: RawFd,
    /// Its index among the ring's registered files.
    pub(crate) fixed: Option<u32>,
    /// Whether it is read through the page cache.
    pub(crate) cached: bool,
    /// The device that it is, or is on.
    pub(crate) device: u64,
}

/// Memory that the kernel may read or write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) start: NonNull<u8>,
    pub(crate) len: u32,
    /// The ring's registered buffer that it lies in.
    pub(crate) fixed: Option<u16>,
}

/// What to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Read {
        file: Handle,
        at: u64,
        memory: Memory,
    },
    Write {
        file: Handle,
        at: u64,
        memory: Memory,
        durable: bool,
    },
    Sync {
        file: Handle,
        data_only: bool,
    },
    Allocate {
        file: Handle,
        mode: i32,
        at: u64,
        len: u64,
    },
    Accept {
        file: Handle,
    },
    Receive {
        file: Handle,
        memory: Memory,
    },
    Discard {
        file: Handle,
        len: u32,
    },
    /// With `attempt`, it may end before all is sent, and then reports that. With `stays`, an
    /// engine that can wait for room by itself must not.
    Send {
        file: Handle,
        memory: Memory,
        attempt: bool,
        stays: bool,
    },
    /// Does the same with several parts, of `len` bytes in all.
    SendMany {
        file: Handle,
        header: NonNull<libc::msghdr>,
        len: u32,
        attempt: bool,
        stays: bool,
    },
    Shutdown {
        file: Handle,
        how: i32,
    },
    PollIn {
        file: Handle,
    },
    /// Waits until a socket has room for more.
    PollOut {
        file: Handle,
    },
}

/// The end of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) key: Key,
    /// The system call's result; an error as its negative number.
    pub(crate) result: i32,
}

/// How long an engine may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    Look,
    /// For an outcome or a wake-up, at most until this time.
    Until(block::Time),
    /// Does the same, but no receive is submitted: what peers send gathers in their sockets.
    Hold(block::Time),
    /// For an outcome or a wake-up, without a bound.
    Forever,
}

impl From<Option<block::Time>> for Wait {
    fn from(until: Option<block::Time>) -> Wait {
        until.map_or(Wait::Forever, Wait::Until)
    }
}

/// Flags of every send: no signal if the peer is gone, and wait for room while the socket's buffer
/// is full.
pub(crate) const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
