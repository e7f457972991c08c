//! The end of a program whose reader left.

/// Ends the process as the system ends one that writes to a pipe or a socket without a reader: by
/// SIGPIPE, which Rust programs ignore from their start on so that such a write is an error like
/// any other.
pub fn end_by_broken_pipe() -> ! {
    // SAFETY: the default action is a valid disposition, and no handler of this program's is
    // replaced.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    // SAFETY: it touches no memory of the program's.
    unsafe { libc::raise(libc::SIGPIPE) };
    // The parent process may have blocked the signal; this is what a shell makes of it.
    std::process::exit(128 + libc::SIGPIPE)
}
