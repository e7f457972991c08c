//! Signals: SIGPIPE to end a program whose reader has gone, SIGUSR1 to ask for the status of a run,
//! and SIGXFSZ for a file that may not grow.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether SIGUSR1 came since it was last asked.
static STATUS_ASKED: AtomicBool = AtomicBool::new(false);

/// Ends the process by SIGPIPE, as the system ends one that writes to a pipe or socket without a
/// reader. Rust programs ignore that signal from the start, so that such a write is an ordinary
/// error.
pub fn end_by_broken_pipe() -> ! {
    // SAFETY: the default action is a valid disposition, and no handler of this program's is
    // replaced.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    // SAFETY: it touches no memory of the program's.
    unsafe { libc::raise(libc::SIGPIPE) };
    // The parent process may have blocked the signal; this is the exit code of a shell.
    std::process::exit(128 + libc::SIGPIPE)
}

/// From now on, a write that would exceed `ulimit -f` is an ordinary error. Otherwise SIGXFSZ would
/// end the process.
pub fn survive_file_limit() {
    extern "C" fn nothing(_: libc::c_int) {}
    catch(libc::SIGXFSZ, nothing);
}

/// From now on, SIGUSR1 does not end the process; [`status_was_asked`] reports it.
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

/// Calls `handler` on a signal. It is a handler because started programs would inherit SIG_IGN.
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
