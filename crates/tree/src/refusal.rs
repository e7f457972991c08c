//! Why something is refused.

/// Why a query or a change is refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeRefusal {
    /// There is no entry of that name.
    #[error("there is no such file or folder")]
    NoEntry,
    /// The node does not exist any more.
    #[error("the file or folder is not there any more")]
    Stale,
    /// The name is in use.
    #[error("there is a file or folder of that name already")]
    Exists,
    /// A folder is needed.
    #[error("it is no folder")]
    NotFolder,
    /// A folder is not allowed.
    #[error("it is a folder")]
    IsFolder,
    /// The folder has entries.
    #[error("the folder is not empty")]
    NotEmpty,
    /// An invalid name, a folder moved into itself, or data of something that is not a file.
    #[error("that cannot be")]
    Invalid,
    /// More than [`crate::limits::NAME_BYTES_MAX`].
    #[error("the name is longer than 255 bytes")]
    NameTooLong,
    /// The volume has no room for it, or its number of nodes is at its limit.
    #[error("the volume has no room left")]
    NoSpace,
    /// More than [`crate::limits::LINKS_MAX`].
    #[error("it has too many names")]
    TooManyLinks,
    /// More than [`crate::limits::FILE_BYTES_MAX`].
    #[error("the file would be longer than 16 TiB")]
    TooBig,
    /// Only its owner may do that.
    #[error("only its owner may do that")]
    NotOwner,
    /// The mode forbids it.
    #[error("permission denied")]
    Forbidden,
    /// It would go from one realm to another.
    #[error("it cannot be moved or linked from one qtree to another")]
    OtherRealm,
    /// Too much is in progress; it may be tried again.
    #[error("too much is under way; try again")]
    Busy,
    /// A change could not be made durable, so no more changes are accepted.
    #[error("a change could not be made durable, so nothing is changed until the server is started anew")]
    Failed,
}
