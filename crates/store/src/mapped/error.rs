//! Why a pool of maps cannot be opened, created or served.

use std::path::PathBuf;

/// Why a pool's maps could not be created or opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The folder has maps already.
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
    /// A file or device that the pool is to use belongs to a pool already.
    #[error("{}: carries the data of a pool; write zeroes over its first 64 KiB if that is not needed any more", .0.display())]
    Labelled(PathBuf),
    /// A file or device is not the one that belongs to this pool.
    #[error("{}: is not this pool's; the settings name another file or device than when the pool was made", .0.display())]
    OfAnother(PathBuf),
    /// Another server uses it.
    #[error("{}: is in use by another server", .0.display())]
    InUse(PathBuf),
    /// The settings do not name all members of the data.
    #[error(
        "{}: the pool's data lies on {count} files or devices, and `[pool] data` does not name number {numbers} of them; \
         without it nothing is served",
        .maps.display()
    )]
    Missing {
        /// The folder.
        maps: PathBuf,
        /// The members that are not named, counted from 1.
        numbers: String,
        /// The number of members.
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
    /// It was written by a later program.
    #[error("{}: its label has format {found}, this program knows up to {known}; use a newer seawall", .path.display())]
    TooNew {
        /// The file or device.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest known format.
        known: u32,
    },
    /// A device is too small.
    #[error("{}: is too small for a part of a pool's data; a device needs at least 2 MiB", .0.display())]
    TooSmall(PathBuf),
    /// A file or device of the data is too short for the blocks that the maps refer to.
    #[error("{}: has {found} bytes, and blocks up to byte {needed} are in use; it was cut off", .path.display())]
    Short {
        /// The file or device.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length that it needs.
        needed: u64,
    },
    /// A file cannot be opened for I/O.
    #[error(transparent)]
    Open(#[from] uring::disk::OpenError),
    /// The contents of the files cannot be served.
    #[error("{}: {cause}", .path.display())]
    Recover {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: map::RecoverError,
    },
}

/// The system's description of an error, without the number that the standard library adds.
pub(super) fn reason(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(reason, _)| reason.to_owned())
}
