//! Listening sockets passed by the parent process, as by systemd (`sd_listen_fds(3)`): descriptors
//! from 3 on, counted by `LISTEN_FDS`, meant for the process `LISTEN_PID`.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first descriptor that is passed.
const FIRST: RawFd = 3;
/// Descriptors that are accepted at most: no server listens in more places.
const MOST: u32 = 64;

/// Why the sockets cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum InheritedError {
    /// The count is not a valid number.
    #[error("LISTEN_FDS: must be a number from 1 to {MOST}, got {0:?}")]
    Count(String),
    /// A descriptor is not open, or is not a listening socket.
    #[error("LISTEN_FDS: descriptor {0} is no listening socket")]
    NoListener(RawFd),
}

/// Takes over the listening sockets that the parent passed, if any. Call it first in `main`, before
/// anything else is opened. A second call finds none.
///
/// # Errors
/// The environment does not match the open descriptors.
pub fn listeners() -> Result<Vec<OwnedFd>, InheritedError> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let variable = |name| std::env::var(name).unwrap_or_default();
    let count = variable("LISTEN_FDS");
    let is_for_us = variable("LISTEN_PID").parse() == Ok(std::process::id());
    if !is_for_us || count.is_empty() || TAKEN.swap(true, Ordering::AcqRel) {
        return Ok(Vec::new());
    }
    let count = count.parse().ok().filter(|count| (1..=MOST).contains(count)).ok_or(InheritedError::Count(count))?;
    (FIRST..FIRST + count as RawFd).map(take).collect()
}

fn take(descriptor: RawFd) -> Result<OwnedFd, InheritedError> {
    let mut listens: libc::c_int = 0;
    let mut len = size_of_val(&listens) as libc::socklen_t;
    // SAFETY: `listens` has room for `len` bytes, and any number is valid in it; a descriptor that
    // is not open or no socket is an error of the call.
    let got = unsafe {
        libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_ACCEPTCONN, (&raw mut listens).cast(), &mut len)
    };
    if got != 0 || listens != 1 {
        return Err(InheritedError::NoListener(descriptor));
    }
    // SAFETY: no memory is passed; the descriptor was just seen to be open.
    let flagged = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    debug_assert_eq!(flagged, 0, "{}", io::Error::last_os_error());
    // SAFETY: it is open, and by the convention it is ours alone: the parent process passed it to
    // us, and this is the only place that takes it, once.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
