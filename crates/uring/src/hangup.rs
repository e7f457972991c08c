//! Waiting for SIGHUP, by which administrators make a server read its files again.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// SIGHUP as a descriptor; it no longer ends the process.
#[derive(Debug)]
pub struct Hangup(OwnedFd);

impl Hangup {
    /// From now on, SIGHUP does not end the process and is waited for here. Call it before any
    /// other thread is started, since new threads inherit the signals that their parent has
    /// blocked.
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch() -> io::Result<Hangup> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigemptyset` fills the set, which the other calls then change and read; none of
        // them keeps it.
        let descriptor = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGHUP);
            let blocked = libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            if blocked != 0 {
                return Err(io::Error::from_raw_os_error(blocked));
            }
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC)
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above just made this descriptor, and nobody else knows it.
        Ok(Hangup(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Waits for the next one.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait(&self) -> io::Result<()> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        loop {
            let len = size_of::<libc::signalfd_siginfo>();
            // SAFETY: `info` has room for `len` bytes; what is in it afterwards is not looked at.
            let got = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), len) };
            match got {
                0.. => return Ok(()),
                _ => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A signal to this thread alone is waited for and does not end the process.
    #[test]
    fn a_hangup_is_waited_for() {
        let hangup = Hangup::watch().unwrap();
        // SAFETY: no memory is passed; the signal is blocked in this thread, so it stays until it
        // is read.
        assert_eq!(unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGHUP) }, 0);
        hangup.wait().unwrap();
    }
}
