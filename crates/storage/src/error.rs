//! Why storage cannot be opened.

use crate::nbd_target::ConnectError;
use crate::nfs_target::NfsError;
use block::{Bytes, Fault};
use uring::disk;

/// Why a place cannot be opened as intended: one line, which begins with the place.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The place does not exist.
    #[error("{place}: is not there; {advice}")]
    Missing {
        /// The place.
        place: String,
        /// What to do.
        advice: &'static str,
    },
    /// It exists, but this user may not open it.
    #[error("{place}: may not be opened ({cause}); run this as a user who may")]
    NotPermitted {
        /// The place.
        place: String,
        /// The system's answer.
        cause: std::io::Error,
    },
    /// It is a folder.
    #[error("{0}: is a folder; name a file in it, or concat:{0} for its files as one")]
    Folder(String),
    /// A folder that stands for its files has none.
    #[error("{0}: has no file of 4 KiB or more")]
    NoFiles(String),
    /// The same place occurs twice among those that are joined.
    #[error("{0}: is named twice")]
    Twice(String),
    /// More places are joined than files may be open.
    #[error("at most {most} places together, got {given}")]
    TooMany {
        /// The limit.
        most: usize,
        /// The number that was named.
        given: usize,
    },
    /// One of several joined places does not exist.
    #[error("{0}: is not there, and a file that is made is a volume alone; make it first")]
    MissingMember(String),
    /// Joined places are smaller than one stripe or block.
    #[error("{0} has 0 B together, as the smallest has no whole stripe or block; leave it out")]
    NothingTogether(String),
    /// A stripe that is not a multiple of the block size.
    #[error("stripe: must be a whole multiple of {align}, which the places take, got {stripe}")]
    Stripe {
        /// The stripe asked for.
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
    /// Writing would destroy something.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The export is read-only.
    #[error("{0}: is exported read-only; make it writable at its server")]
    ReadOnly(String),
    /// It changed after it was examined.
    #[error("{0}: is not what it was a moment ago; see who changes it")]
    Changed(String),
    /// Its contents cannot be read.
    #[error("{place}: cannot be looked at: {cause}")]
    Look {
        /// The place.
        place: String,
        /// Why not.
        cause: std::io::Error,
    },
    /// An export whose beginning or end cannot be read.
    #[error("{place}: cannot be looked at: the server answered that {}", words(*fault))]
    Unread {
        /// Its URI.
        place: String,
        /// The server's answer.
        fault: Fault,
    },
    /// The export cannot be opened.
    #[error(transparent)]
    Export(#[from] ConnectError),
    /// The file of an NFS server cannot be opened.
    #[error(transparent)]
    Nfs(#[from] NfsError),
    /// The file or device cannot be opened.
    #[error(transparent)]
    Disk(#[from] disk::OpenError),
    /// The ring cannot be created.
    #[error("I/O cannot begin: {0}")]
    Ring(std::io::Error),
}

/// Why a place will not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: will not be {}: {}; {advice}", verb.0, found.join("; "))]
pub struct Refusal {
    /// The place.
    pub place: String,
    /// What was intended, and its effect.
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
        Fault::Denied => "permission was denied",
        Fault::NoSpace => "no space is left",
        Fault::Io => "the storage failed (I/O error)",
        Fault::Unsupported => "it cannot do that",
        Fault::NoMemory => "there is no memory for it",
        Fault::Gone => "it went away",
    }
}

/// The error for a failed look at `place`.
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

/// Creates a folder and its parents if they are missing.
///
/// # Errors
/// It would be in `/dev`, or the system refuses.
pub fn make_folder(path: &std::path::Path) -> Result<(), OpenError> {
    let place = path.display().to_string();
    if !path.exists() && is_for_devices(&place) {
        return Err(of_system(&place, std::io::ErrorKind::NotFound.into()));
    }
    std::fs::create_dir_all(path).map_err(|error| of_system(&place, error))
}

/// Whether a path is in `/dev`, where no files are created.
pub(crate) fn is_for_devices(path: &str) -> bool {
    let path = std::path::Path::new(path);
    path.starts_with("/dev") && !path.starts_with("/dev/shm")
}
