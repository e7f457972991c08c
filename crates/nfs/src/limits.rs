//! Limits on what a peer may send. Exceeding one ends the connection or is answered with an error.

/// Bytes of a file handle (RFC 1813, `NFS3_FHSIZE`).
pub const HANDLE_BYTES_MAX: u32 = 64;
/// Bytes in a name in a directory, as in Linux file systems.
pub const NAME_BYTES_MAX: u32 = 255;
/// Bytes of a path in MOUNT (RFC 1813, `MNTPATHLEN`).
pub const PATH_BYTES_MAX: u32 = 1024;
/// Bytes in the target of a symbolic link, as in Linux file systems.
pub const TARGET_BYTES_MAX: u32 = 4095;
/// Bytes of a credential or verifier (RFC 5531, `opaque_auth`).
pub const CREDENTIAL_BYTES_MAX: u32 = 400;
/// Bytes of a client's name in a credential (RFC 5531, appendix A).
pub const MACHINE_BYTES_MAX: u32 = 255;
/// Groups of a user beside the first (RFC 5531, appendix A).
pub const GROUPS_MAX: u32 = 16;
/// Bytes of data in one READ or WRITE: the largest that Linux' client asks for.
pub const DATA_BYTES_MAX: u32 = 1 << 20;
/// Bytes in a call or reply without the data of a READ or WRITE. A credential, a handle, a name, a
/// link's target and attributes take less than 6 KiB. Pages of a directory are the largest; the
/// client sets their size.
pub const HEAD_BYTES_MAX: u32 = 128 << 10;
/// Bytes in one record, including all its fragments.
pub const RECORD_BYTES_MAX: u32 = DATA_BYTES_MAX + HEAD_BYTES_MAX;
/// Fragments of one record: enough for a peer that sends a MiB in pieces of 1 KiB.
pub const FRAGMENTS_MAX: u32 = 1024;
/// Members of a list: exports of a server, groups of an export, flavours of a mount.
pub const LIST_MAX: u32 = 4096;
