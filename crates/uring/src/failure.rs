//! How a request failed: small enough to copy, and convertible to a [`Fault`].

use std::fmt;
use std::io;

use block::Fault;

/// An error number of the operating system, always positive.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// The file ended before the buffer was full.
    #[error("the file ended early")]
    UnexpectedEnd,
    /// It was cancelled, by its owner or because its file or port was closed. Part of it may have
    /// taken effect.
    #[error("cancelled")]
    Canceled,
    /// The [`crate::FileId`] had been closed before the request was made.
    #[error("the file is closed")]
    Closed,
    /// The kernel refused.
    #[error("{0}")]
    Os(Errno),
}

impl Failure {
    /// The failure behind a negative result of the kernel.
    pub(crate) fn of_result(result: i32) -> Failure {
        match -result {
            libc::ECANCELED => Failure::Canceled,
            number => Failure::Os(Errno(number)),
        }
    }

    /// The fault that a block target reports for it.
    pub fn fault(self) -> Fault {
        let Failure::Os(Errno(number)) = self else {
            return if self == Failure::UnexpectedEnd { Fault::Io } else { Fault::Gone };
        };
        match number {
            // EFBIG: the limit of a file's size, of the process or the file system.
            libc::ENOSPC | libc::EDQUOT | libc::EFBIG => Fault::NoSpace,
            libc::EROFS => Fault::ReadOnly,
            libc::EPERM | libc::EACCES => Fault::Denied,
            libc::EINVAL => Fault::Invalid,
            libc::EOPNOTSUPP | libc::ENOSYS | libc::ENOTTY => Fault::Unsupported,
            libc::ENOMEM | libc::ENOBUFS => Fault::NoMemory,
            libc::ENODEV | libc::ENXIO => Fault::Gone,
            _ => Fault::Io,
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&reason(&io::Error::from_raw_os_error(self.0)))
    }
}

/// The system's description of an error, without the number that the standard library adds.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Errno({self})")
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        match failure {
            Failure::Os(Errno(number)) => io::Error::from_raw_os_error(number),
            Failure::UnexpectedEnd => io::Error::new(io::ErrorKind::UnexpectedEof, failure),
            Failure::Canceled | Failure::Closed => io::Error::other(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_kernel_become_faults_of_the_seam() {
        let fault = |number: i32| Failure::of_result(-number).fault();
        assert_eq!(fault(libc::ENOSPC), Fault::NoSpace);
        assert_eq!(fault(libc::EIO), Fault::Io);
        assert_eq!((fault(libc::EROFS), fault(libc::EACCES)), (Fault::ReadOnly, Fault::Denied));
        assert_eq!(fault(libc::EOPNOTSUPP), Fault::Unsupported);
        assert_eq!(fault(libc::ECANCELED), Fault::Gone);
        assert_eq!(Failure::UnexpectedEnd.fault(), Fault::Io);
    }
}
