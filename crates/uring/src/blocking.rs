//! Operations as plain system calls, for the engine without io_uring. Disk operations block; socket
//! operations return `EAGAIN` instead.

use std::io;
use std::os::fd::RawFd;

use crate::operation::{Handle, Memory, Operation, SEND_FLAGS};

/// Whether it blocks on a disk, so that it needs a thread.
pub(crate) fn is_for_disks(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Read { .. } | Operation::Write { .. } | Operation::Sync { .. } | Operation::Allocate { .. }
    )
}

/// What to poll for before a socket operation is tried again.
pub(crate) fn readiness(operation: &Operation) -> (RawFd, i16) {
    match operation {
        Operation::Send { file, .. } | Operation::SendMany { file, .. } | Operation::PollOut { file } => {
            (file.fd, libc::POLLOUT)
        }
        Operation::Accept { file }
        | Operation::Receive { file, .. }
        | Operation::Discard { file, .. }
        | Operation::PollIn { file } => (file.fd, libc::POLLIN),
        _ => unreachable!("{operation:?} does not wait"),
    }
}

/// Carries out an operation; returns the result as io_uring would.
///
/// # Safety
/// What the operation points to must be valid, and its memory nobody else's, during the call.
pub(crate) unsafe fn attempt(operation: &Operation) -> i32 {
    // SAFETY: for all calls below, the caller promises that the descriptor is open and that the
    // memory is valid for `len` bytes and nobody else's; `header` and all that it lists likewise.
    // No call keeps a pointer.
    unsafe {
        match *operation {
            Operation::Read { file, at, memory } => {
                outcome(libc::pread64(file.fd, memory.start.as_ptr().cast(), memory.len as usize, at as i64))
            }
            Operation::Write { file, at, memory, durable } => write(file, at, memory, durable),
            Operation::Sync { file, data_only: true } => outcome(libc::fdatasync(file.fd) as isize),
            Operation::Sync { file, data_only: false } => outcome(libc::fsync(file.fd) as isize),
            Operation::Allocate { file, mode, at, len } => {
                outcome(libc::fallocate64(file.fd, mode, at as i64, len as i64) as isize)
            }
            Operation::Accept { file } => accept(file.fd),
            Operation::Receive { file, memory } => {
                outcome(libc::recv(file.fd, memory.start.as_ptr().cast(), memory.len as usize, libc::MSG_DONTWAIT))
            }
            Operation::Discard { file, len } => {
                outcome(libc::recv(file.fd, std::ptr::null_mut(), len as usize, libc::MSG_TRUNC | libc::MSG_DONTWAIT))
            }
            Operation::Send { file, memory, .. } => outcome(libc::send(
                file.fd,
                memory.start.as_ptr().cast(),
                memory.len as usize,
                SEND_FLAGS | libc::MSG_DONTWAIT,
            )),
            Operation::SendMany { file, header, .. } => {
                outcome(libc::sendmsg(file.fd, header.as_ptr(), SEND_FLAGS | libc::MSG_DONTWAIT))
            }
            Operation::Shutdown { file, how } => outcome(libc::shutdown(file.fd, how) as isize),
            Operation::PollIn { file } => poll(file.fd, libc::POLLIN),
            Operation::PollOut { file } => poll(file.fd, libc::POLLOUT),
        }
    }
}

/// Reads from the page cache without waiting for a disk. Returns `EAGAIN` if nothing is there, and
/// fewer bytes than asked for if only some are.
///
/// # Safety
/// As [`attempt`].
pub(crate) unsafe fn read_cached(file: Handle, at: u64, memory: Memory) -> i32 {
    let bytes = libc::iovec { iov_base: memory.start.as_ptr().cast(), iov_len: memory.len as usize };
    // SAFETY: one list element, valid during the call; the bytes as the caller promises.
    outcome(unsafe { libc::preadv2(file.fd, &raw const bytes, 1, at as i64, libc::RWF_NOWAIT) })
}

/// # Safety
/// As [`attempt`].
unsafe fn write(file: Handle, at: u64, memory: Memory, durable: bool) -> i32 {
    let bytes = libc::iovec { iov_base: memory.start.as_ptr().cast(), iov_len: memory.len as usize };
    let flags = if durable { libc::RWF_DSYNC } else { 0 };
    // SAFETY: one list element, valid during the call; the bytes as the caller promises.
    outcome(unsafe { libc::pwritev2(file.fd, &raw const bytes, 1, at as i64, flags) })
}

/// Accepts a connection. The listener is made non-blocking first: a connection that goes away
/// between the poll and this call must not block the worker.
fn accept(fd: RawFd) -> i32 {
    set_blocking(fd, false);
    // SAFETY: no memory is passed (the peer's address is not asked for), and a closed `fd` is an
    // error only.
    outcome(unsafe { libc::accept4(fd, std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC) } as isize)
}

/// Sets whether calls on a descriptor block. A closed descriptor is ignored.
pub(crate) fn set_blocking(fd: RawFd, is_blocking: bool) {
    // SAFETY: no memory is passed, and a closed `fd` is an error only.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        if flags >= 0 && (flags & libc::O_NONBLOCK == 0) != is_blocking {
            libc::fcntl(fd, libc::F_SETFL, flags ^ libc::O_NONBLOCK);
        }
    }
}

fn poll(fd: RawFd, events: i16) -> i32 {
    let mut poll = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: one element, valid during the call.
    match unsafe { libc::poll(&raw mut poll, 1, 0) } {
        0 => -libc::EAGAIN,
        1 if poll.revents & libc::POLLNVAL != 0 => -libc::EBADF,
        1 => i32::from(poll.revents),
        failed => outcome(failed as isize),
    }
}

/// Converts a call's return value to what io_uring would return.
fn outcome(returned: isize) -> i32 {
    match returned {
        // Lengths stay below 2 GiB: a slot has at most 64 MiB, and the kernel moves less than 2 GiB
        // in a call.
        0.. => returned as i32,
        _ => -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
    }
}
