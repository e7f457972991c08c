//! The protocol's error numbers.

use std::fmt;

/// Why a request failed. Protocol text, "Error values".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NbdErrno {
    /// `NBD_EPERM`: not permitted, above all a write to a read-only export.
    Permission,
    /// `NBD_EIO`: the medium failed.
    Io,
    /// `NBD_ENOMEM`: no memory was available for it.
    NoMemory,
    /// `NBD_EINVAL`: the request is invalid.
    Invalid,
    /// `NBD_ENOSPC`: beyond the end, or no space left.
    NoSpace,
    /// `NBD_EOVERFLOW`: too long to be answered in one piece.
    Overflow,
    /// `NBD_ENOTSUP`: a fast zero request that would not be fast.
    NotSupported,
    /// `NBD_ESHUTDOWN`: the server is shutting down.
    Shutdown,
}

impl NbdErrno {
    /// The number on the wire.
    pub const fn wire(self) -> u32 {
        match self {
            NbdErrno::Permission => 1,
            NbdErrno::Io => 5,
            NbdErrno::NoMemory => 12,
            NbdErrno::Invalid => 22,
            NbdErrno::NoSpace => 28,
            NbdErrno::Overflow => 75,
            NbdErrno::NotSupported => 95,
            NbdErrno::Shutdown => 108,
        }
    }

    /// The error with a nonzero number.
    pub const fn from_wire(number: u32) -> NbdErrno {
        match number {
            1 => NbdErrno::Permission,
            5 => NbdErrno::Io,
            12 => NbdErrno::NoMemory,
            28 => NbdErrno::NoSpace,
            75 => NbdErrno::Overflow,
            95 => NbdErrno::NotSupported,
            108 => NbdErrno::Shutdown,
            // Protocol text, "Error values": "The client SHOULD treat an unexpected error value as
            // if it had been NBD_EINVAL, rather than disconnecting".
            _ => NbdErrno::Invalid,
        }
    }
}

impl fmt::Display for NbdErrno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NbdErrno::Permission => "operation not permitted (EPERM)",
            NbdErrno::Io => "input/output error (EIO)",
            NbdErrno::NoMemory => "out of memory (ENOMEM)",
            NbdErrno::Invalid => "invalid argument (EINVAL)",
            NbdErrno::NoSpace => "no space left (ENOSPC)",
            NbdErrno::Overflow => "value too large (EOVERFLOW)",
            NbdErrno::NotSupported => "not supported (ENOTSUP)",
            NbdErrno::Shutdown => "server is shutting down (ESHUTDOWN)",
        })
    }
}
