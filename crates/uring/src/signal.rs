//! Signals that ask or end: the end of a program whose reader left, a question about a run, and a
//! file that may not become larger.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether SIGUSR1 came since it was last asked.
static STATUS_ASKED: AtomicBool = AtomicBool::new(false);

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

/// From now on a write that would make a file larger than `ulimit -f` lets it is an error like any
/// other, where SIGXFSZ would end the process.
pub fn survive_file_limit() {
    extern "C" fn nothing(_: libc::c_int) {}
    catch(libc::SIGXFSZ, nothing);
}

/// From now on SIGUSR1 ends nothing and is told by [`status_was_asked`].
pub fn watch_status() {
    extern "C" fn note(_: libc::c_int) {
        STATUS_ASKED.store(true, Relaxed);
    }
    catch(libc::SIGUSR1, note);
}

/// Whether SIGUSR1 came since the last call.
pub fn status_was_asked() -> bool {
    STATUS_ASKED.swap(false, Relaxed)
}

/// Has `handler` called at a signal. A handler and not SIG_IGN, which programs that are started
/// would inherit.
fn catch(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: zeroes are a valid `sigaction`: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is whole, and the handlers of this file at most store into an atomic, which
    // is allowed at any moment; no handler of another part of the program is replaced.
    unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_told_once_and_a_file_limit_ends_nothing() {
        watch_status();
        survive_file_limit();
        assert!(!status_was_asked());
        for signal in [libc::SIGUSR1, libc::SIGXFSZ] {
            // SAFETY: no memory is passed; the handlers are set.
            assert_eq!(unsafe { libc::raise(signal) }, 0);
        }
        assert!(status_was_asked() && !status_was_asked());
    }
}
