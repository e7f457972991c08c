//! Why storage cannot be opened.

use crate::nbd_target::ConnectError;
use crate::nfs_target::NfsError;
use block::{Bytes, Fault};
use uring::disk;

/// Why a place cannot be opened as it was meant; one line, which begins with the place.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is there.
    #[error("{place}: is not there; {advice}")]
    Missing {
        /// What was to be opened.
        place: String,
        /// What to do.
        advice: &'static str,
    },
    /// It is there, and the system lets this user not have it.
    #[error("{place}: may not be opened ({cause}); run this as a user who may")]
    NotPermitted {
        /// What was to be opened.
        place: String,
        /// The system's answer.
        cause: std::io::Error,
    },
    /// It is a folder.
    #[error("{0}: is a folder; name a file in it, or concat:{0} for its files as one")]
    Folder(String),
    /// A folder whose files were meant has none.
    #[error("{0}: has no file of 4 KiB or more")]
    NoFiles(String),
    /// The same place among those that are joined.
    #[error("{0}: is named twice")]
    Twice(String),
    /// More places are joined than files can be open.
    #[error("at most {most} places together, got {given}")]
    TooMany {
        /// So many may be.
        most: usize,
        /// So many were named.
        given: usize,
    },
    /// One of several places that are joined is not there.
    #[error("{0}: is not there, and a file that is made is a volume alone; make it first")]
    MissingMember(String),
    /// Places that are joined have no whole stripe or block.
    #[error("{0} has 0 B together, as the smallest has no whole stripe or block; leave it out")]
    NothingTogether(String),
    /// A stripe that ends within a block.
    #[error("stripe: must be a whole multiple of {align}, which the places take, got {stripe}")]
    Stripe {
        /// What was asked for.
        stripe: Bytes,
        /// The largest alignment of the places.
        align: Bytes,
    },
    /// It is a pipe, a terminal or the like.
    #[error("{0}: is neither a file nor a block device")]
    Kind(String),
    /// A device without a medium, or with nothing behind it.
    #[error("{0}: its size is not known: it is a device of 0 bytes, with no medium or nothing behind it")]
    NoSize(String),
    /// It would destroy something.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The server lets nobody write.
    #[error("{0}: is exported read-only; make it writable at its server")]
    ReadOnly(String),
    /// It became something else after it was looked at.
    #[error("{0}: is not what it was a moment ago; see who changes it")]
    Changed(String),
    /// What it carries cannot be read.
    #[error("{place}: cannot be looked at: {cause}")]
    Look {
        /// What was to be looked at.
        place: String,
        /// Why not.
        cause: std::io::Error,
    },
    /// An export whose beginning or end cannot be read.
    #[error("{place}: cannot be looked at: the server answered that {}", words(*fault))]
    Unread {
        /// Its URI.
        place: String,
        /// What it answered.
        fault: Fault,
    },
    /// The export cannot be had.
    #[error(transparent)]
    Export(#[from] ConnectError),
    /// The file of an NFS server cannot be had.
    #[error(transparent)]
    Nfs(#[from] NfsError),
    /// The file or device cannot be had.
    #[error(transparent)]
    Disk(#[from] disk::OpenError),
    /// There is no ring.
    #[error("I/O cannot begin: {0}")]
    Ring(std::io::Error),
}

/// What speaks against writing somewhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: will not be {}: {}; {advice}", verb.0, found.join("; "))]
pub struct Refusal {
    /// Where to.
    pub place: String,
    /// What is meant, and what it does.
    pub(crate) verb: (&'static str, &'static str),
    /// What was found there.
    pub found: Vec<String>,
    /// What to do.
    pub advice: String,
}

/// A fault in words.
pub fn words(fault: Fault) -> &'static str {
    match fault {
        Fault::Invalid => "the request was not valid there",
        Fault::ReadOnly => "it may not be written",
        Fault::NoSpace => "no space is left",
        Fault::Io => "the storage failed (I/O error)",
        Fault::Unsupported => "it cannot do that",
        Fault::NoMemory => "there is no memory for it",
        Fault::Gone => "it went away",
    }
}

/// What a failed look at `place` means.
pub(crate) fn of_system(place: &str, cause: std::io::Error) -> OpenError {
    let place = place.to_owned();
    match cause.kind() {
        std::io::ErrorKind::NotFound if is_for_devices(&place) => {
            OpenError::Missing { place, advice: "no files are made in /dev; check the device's name" }
        }
        std::io::ErrorKind::NotFound => OpenError::Missing { place, advice: "check its name, or make it first" },
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            OpenError::NotPermitted { place, cause }
        }
        _ => OpenError::Look { place, cause },
    }
}

/// Makes a folder where there is none, with those above it that are missing.
///
/// # Errors
/// It would be among devices, or the system refuses.
pub fn make_folder(path: &std::path::Path) -> Result<(), OpenError> {
    let place = path.display().to_string();
    if !path.exists() && is_for_devices(&place) {
        return Err(of_system(&place, std::io::ErrorKind::NotFound.into()));
    }
    std::fs::create_dir_all(path).map_err(|error| of_system(&place, error))
}

/// Whether a path is one where devices are and no files are made.
pub(crate) fn is_for_devices(path: &str) -> bool {
    let path = std::path::Path::new(path);
    path.starts_with("/dev") && !path.starts_with("/dev/shm")
}
