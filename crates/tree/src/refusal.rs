//! Why something is not done.

/// Why a question or a change is refused; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeRefusal {
    /// There is no entry of that name.
    #[error("there is no such file or folder")]
    NoEntry,
    /// The node is not there any more.
    #[error("the file or folder is not there any more")]
    Stale,
    /// There is an entry of that name.
    #[error("there is a file or folder of that name already")]
    Exists,
    /// It has to be a folder.
    #[error("it is no folder")]
    NotFolder,
    /// It must not be a folder.
    #[error("it is a folder")]
    IsFolder,
    /// The folder has entries.
    #[error("the folder is not empty")]
    NotEmpty,
    /// A name that cannot be, a folder into itself, data of what is no file.
    #[error("that cannot be")]
    Invalid,
    /// More than [`crate::limits::NAME_BYTES_MAX`].
    #[error("the name is longer than 255 bytes")]
    NameTooLong,
    /// The volume has no room for it, or as many nodes as it may.
    #[error("the volume has no room left")]
    NoSpace,
    /// More than [`crate::limits::LINKS_MAX`].
    #[error("it has too many names")]
    TooManyLinks,
    /// More than [`crate::limits::FILE_BYTES_MAX`].
    #[error("the file would be longer than 16 TiB")]
    TooBig,
    /// It belongs to somebody else.
    #[error("only its owner may do that")]
    NotOwner,
    /// The mode forbids it.
    #[error("permission denied")]
    Forbidden,
    /// It would go from one realm to another.
    #[error("it cannot be moved or linked from one qtree to another")]
    OtherRealm,
    /// Too much is under way; the same may be asked again.
    #[error("too much is under way; try again")]
    Busy,
    /// Something could not be made durable, so nothing is changed any more.
    #[error("a change could not be made durable, so nothing is changed until the server is started anew")]
    Failed,
}
