//! The error numbers that the protocol knows.

use std::fmt;

/// Why a request failed. Protocol text, "Error values".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Errno {
    /// `NBD_EPERM`: not permitted, above all a write to a read-only export.
    Permission,
    /// `NBD_EIO`: the medium failed.
    Io,
    /// `NBD_ENOMEM`: no memory for it.
    NoMemory,
    /// `NBD_EINVAL`: the request makes no sense here.
    Invalid,
    /// `NBD_ENOSPC`: past the end, or the space is used up.
    NoSpace,
    /// `NBD_EOVERFLOW`: longer than can be answered in one piece.
    Overflow,
    /// `NBD_ENOTSUP`: a fast zero that would not be fast.
    NotSupported,
    /// `NBD_ESHUTDOWN`: the server is going away.
    Shutdown,
}

impl Errno {
    /// The number on the wire.
    pub const fn wire(self) -> u32 {
        match self {
            Errno::Permission => 1,
            Errno::Io => 5,
            Errno::NoMemory => 12,
            Errno::Invalid => 22,
            Errno::NoSpace => 28,
            Errno::Overflow => 75,
            Errno::NotSupported => 95,
            Errno::Shutdown => 108,
        }
    }

    /// The error behind a nonzero number.
    pub const fn from_wire(number: u32) -> Errno {
        match number {
            1 => Errno::Permission,
            5 => Errno::Io,
            12 => Errno::NoMemory,
            28 => Errno::NoSpace,
            75 => Errno::Overflow,
            95 => Errno::NotSupported,
            108 => Errno::Shutdown,
            // Protocol text, "Error values": "The client SHOULD treat an unexpected error value as
            // if it had been NBD_EINVAL, rather than disconnecting".
            _ => Errno::Invalid,
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Errno::Permission => "operation not permitted (EPERM)",
            Errno::Io => "input/output error (EIO)",
            Errno::NoMemory => "out of memory (ENOMEM)",
            Errno::Invalid => "invalid argument (EINVAL)",
            Errno::NoSpace => "no space left (ENOSPC)",
            Errno::Overflow => "value too large (EOVERFLOW)",
            Errno::NotSupported => "not supported (ENOTSUP)",
            Errno::Shutdown => "server is shutting down (ESHUTDOWN)",
        })
    }
}
