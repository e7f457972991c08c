//! The status of a procedure (RFC 1813, `nfsstat3`).

use crate::xdr::{Reader, XdrError, put_u32};

macro_rules! statuses {
    ($($name:ident = $number:literal, $words:literal;)+) => {
        /// What a procedure answers that could not be done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        pub enum Status {
            $(
                #[doc = concat!("NFS3ERR ", stringify!($number), ": ", $words, ".")]
                #[error($words)]
                $name,
            )+
        }

        impl Status {
            /// All of them.
            pub const ALL: &[Status] = &[$(Status::$name),+];

            /// Its number on the wire.
            pub const fn number(self) -> u32 {
                match self {
                    $(Status::$name => $number,)+
                }
            }

            fn of(number: u32) -> Option<Status> {
                match number {
                    $($number => Some(Status::$name),)+
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    NotOwner = 1, "the caller is not the owner";
    NoEntry = 2, "there is no such file or directory";
    Io = 5, "the storage failed (I/O error)";
    NoDevice = 6, "there is no such device";
    Access = 13, "permission denied";
    Exists = 17, "it exists already";
    CrossDevice = 18, "it is on another file system";
    NotDevice = 19, "it is no device";
    NotDirectory = 20, "it is no directory";
    IsDirectory = 21, "it is a directory";
    Invalid = 22, "an argument is not valid";
    TooBig = 27, "the file would become too large";
    NoSpace = 28, "no space is left";
    ReadOnly = 30, "the file system may not be written";
    TooManyLinks = 31, "there are too many links to it";
    NameTooLong = 63, "the name is too long";
    NotEmpty = 66, "the directory is not empty";
    Quota = 69, "the quota is used up";
    Stale = 70, "the file handle is of a file that is not there any more";
    Remote = 71, "it is too far away";
    BadHandle = 10001, "the file handle is none of this server";
    NotSync = 10002, "the file has changed meanwhile";
    BadCookie = 10003, "the directory has no such place to go on from";
    NotSupported = 10004, "the server does not do that";
    TooSmall = 10005, "the answer does not fit into the size that was asked for";
    ServerFault = 10006, "the server failed";
    BadType = 10007, "the server has no files of this kind";
    Jukebox = 10008, "it takes longer; ask again";
}

impl Status {
    /// Reads a result's status: success, or why the procedure failed.
    ///
    /// # Errors
    /// There is no such status, or it is incomplete.
    pub fn read(reader: &mut Reader<'_>) -> Result<Result<(), Status>, XdrError> {
        match reader.u32()? {
            0 => Ok(Ok(())),
            got => Status::of(got).map(Err).ok_or(XdrError::Status(got)),
        }
    }

    /// Appends the status of a result.
    pub fn put<T>(out: &mut Vec<u8>, result: &Result<T, Status>) {
        put_u32(out, result.as_ref().err().map_or(0, |status| status.number()));
    }
}
