//! What can go wrong with a pool.

use std::path::PathBuf;

/// Why a pool could not do what was asked; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder holds something else.
    #[error("{}: not a pool, and not empty; name a folder that does not exist yet, or a pool", .0.display())]
    NotAPool(PathBuf),
    /// There is nothing.
    #[error("{}: no pool there; `seawall serve --pool DIR --create` makes one", .0.display())]
    Missing(PathBuf),
    /// Somebody has it.
    #[error("{}: the pool is in use by another server (its file `lock` is held)", .0.display())]
    InUse(PathBuf),
    /// Written by a later program.
    #[error("{}: the pool has format {found}, this program knows up to {known}; use a newer seawall", .path.display())]
    TooNew {
        /// The pool.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest that is known.
        known: u32,
    },
    /// A setting in `seawall.toml` is wrong.
    #[error("{}: {reason}", .path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file system refused.
    #[error("{}: {what}: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A data file cannot be opened.
    #[error(transparent)]
    Open(#[from] uring::disk::OpenError),
    /// The device lacks room.
    #[error("{}: {needed} bytes needed, {free} free", .path.display())]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The maps cannot be made or opened.
    #[error(transparent)]
    Maps(#[from] crate::MapError),
    /// Snapshots and clones need maps.
    #[error(
        "{}: snapshots and clones need a pool with maps, and this one has a sparse file for each LUN; a new pool gets maps \
         by `layout = \"maps\"` in its seawall.toml",
        .0.display()
    )]
    NotShared(PathBuf),
    /// Where a copy is to go there is something.
    #[error("{}: exists already; a copy goes to a folder that does not exist yet", .0.display())]
    CopyThere(PathBuf),
    /// What is wrong cannot be mended.
    #[error("{}: {what}; nothing was changed", .path.display())]
    BeyondRepair {
        /// The pool.
        path: PathBuf,
        /// Why.
        what: &'static str,
    },
    /// The maps refused a change.
    #[error(transparent)]
    Refused(#[from] map::Refusal),
    /// The catalogue refused.
    #[error("catalogue: {0}")]
    Catalogue(#[from] rusqlite::Error),
}

impl StoreError {
    /// For `map_err`: `what` was tried on `path`.
    pub fn file(path: impl Into<PathBuf>, what: &'static str) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.into();
        move |source| StoreError::File { path, what, source }
    }
}
