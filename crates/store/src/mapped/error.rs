//! Why a pool of maps cannot be opened, made or served.

use std::path::PathBuf;

/// Why a pool's maps could not be made or opened; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// There are some already.
    #[error("{}: holds maps already", .0.display())]
    Exists(PathBuf),
    /// The file system refused.
    #[error("{}: {cause}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        #[source]
        cause: std::io::Error,
    },
    /// A file or device that is to be this pool's is a pool's already.
    #[error("{}: carries the data of a pool; write zeroes over its first 64 KiB if that is not needed any more", .0.display())]
    Labelled(PathBuf),
    /// A file or device is not what the settings say.
    #[error("{}: is not this pool's; the settings name another file or device than when the pool was made", .0.display())]
    OfAnother(PathBuf),
    /// Somebody has it.
    #[error("{}: is in use by another server", .0.display())]
    InUse(PathBuf),
    /// The settings name fewer members of the data than there are.
    #[error(
        "{}: the pool's data lies on {count} files or devices, and `[pool] data` does not name number {numbers} of them; \
         without it nothing is served",
        .maps.display()
    )]
    Missing {
        /// The folder.
        maps: PathBuf,
        /// Those that are not named, counted from 1.
        numbers: String,
        /// How many there are.
        count: u32,
    },
    /// A member of the data cannot be opened.
    #[error("{}: {}; it holds a part of the pool's data, and without it nothing is served", .path.display(), reason(.cause))]
    Member {
        /// The file or device.
        path: PathBuf,
        /// The system's answer.
        #[source]
        cause: std::io::Error,
    },
    /// Written by a later program.
    #[error("{}: its label has format {found}, this program knows up to {known}; use a newer seawall", .path.display())]
    TooNew {
        /// The file or device.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest that is known.
        known: u32,
    },
    /// There is no room on a device.
    #[error("{}: is too small for a part of a pool's data; a device needs at least 2 MiB", .0.display())]
    TooSmall(PathBuf),
    /// A file or device of the data ends before what the maps show of it.
    #[error("{}: has {found} bytes, and blocks up to byte {needed} are in use; it was cut off", .path.display())]
    Short {
        /// The file or device.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// What it must have.
        needed: u64,
    },
    /// A file cannot be opened for I/O.
    #[error(transparent)]
    Open(#[from] uring::disk::OpenError),
    /// What is in the files cannot be served.
    #[error("{}: {cause}", .path.display())]
    Recover {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        #[source]
        cause: map::RecoverError,
    },
}

/// What went wrong in the system's words, without the number that the standard library adds.
pub(super) fn reason(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(reason, _)| reason.to_owned())
}
