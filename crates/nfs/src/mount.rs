//! MOUNT version 3 (RFC 1813, appendix I): converts the path of an export to its root handle.

use crate::handle::FileHandle;
use crate::limits::{LIST_MAX, NAME_BYTES_MAX, PATH_BYTES_MAX};
use crate::xdr::{Reader, XdrError, put_flag, put_opaque, put_u32};

/// The number of the program.
pub const PROGRAM: u32 = 100_005;
/// The supported version.
pub const VERSION: u32 = 3;
/// RFC 5531, `AUTH_SYS`: the flavour that our server accepts.
pub const FLAVOUR_SYS: u32 = 1;

/// A procedure with its arguments. Numbers are those of RFC 1813.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountCall<'a> {
    /// 0: does nothing; shows that the server answers.
    Null,
    /// 1: mounts a path, which returns its handle.
    Mount(&'a [u8]),
    /// 2: lists the mounts of all clients.
    Dump,
    /// 3: ends the mount of this path.
    Unmount(&'a [u8]),
    /// 4: ends all mounts of this client.
    UnmountAll,
    /// 5: lists the exports.
    Exports,
}

impl<'a> MountCall<'a> {
    /// Its number.
    pub fn procedure(&self) -> u32 {
        match self {
            MountCall::Null => 0,
            MountCall::Mount(_) => 1,
            MountCall::Dump => 2,
            MountCall::Unmount(_) => 3,
            MountCall::UnmountAll => 4,
            MountCall::Exports => 5,
        }
    }

    /// Reads the arguments of a procedure; `None` if there is no such procedure.
    ///
    /// # Errors
    /// They violate the protocol, or are incomplete.
    pub fn read(procedure: u32, reader: &mut Reader<'a>) -> Result<Option<MountCall<'a>>, XdrError> {
        Ok(Some(match procedure {
            0 => MountCall::Null,
            1 => MountCall::Mount(reader.opaque("path", PATH_BYTES_MAX)?),
            2 => MountCall::Dump,
            3 => MountCall::Unmount(reader.opaque("path", PATH_BYTES_MAX)?),
            4 => MountCall::UnmountAll,
            5 => MountCall::Exports,
            _ => return Ok(None),
        }))
    }

    /// Appends the arguments.
    pub fn put(&self, out: &mut Vec<u8>) {
        if let MountCall::Mount(path) | MountCall::Unmount(path) = self {
            put_opaque(out, path);
        }
    }
}

/// Why a path cannot be mounted (RFC 1813, `mountstat3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MountStatus {
    /// 1
    #[error("the caller is not the owner")]
    NotOwner,
    /// 2
    #[error("there is no such export")]
    NoEntry,
    /// 5
    #[error("the storage failed (I/O error)")]
    Io,
    /// 13
    #[error("this client may not mount it")]
    Access,
    /// 20
    #[error("it is no directory")]
    NotDirectory,
    /// 22
    #[error("the path is not valid")]
    Invalid,
    /// 63
    #[error("the path is too long")]
    NameTooLong,
    /// 10004
    #[error("the server does not do that")]
    NotSupported,
    /// 10006
    #[error("the server failed")]
    ServerFault,
}

const STATUSES: [(u32, MountStatus); 9] = [
    (1, MountStatus::NotOwner),
    (2, MountStatus::NoEntry),
    (5, MountStatus::Io),
    (13, MountStatus::Access),
    (20, MountStatus::NotDirectory),
    (22, MountStatus::Invalid),
    (63, MountStatus::NameTooLong),
    (10004, MountStatus::NotSupported),
    (10006, MountStatus::ServerFault),
];

/// The result of MNT: the handle, and the flavours that the server accepts.
pub type Mounted = Result<(FileHandle, Vec<u32>), MountStatus>;

/// Reads the result of MNT.
///
/// # Errors
/// It violates the protocol, or is incomplete.
pub fn read_mounted(reader: &mut Reader<'_>) -> Result<Mounted, XdrError> {
    let got = reader.u32()?;
    if got != 0 {
        let known = STATUSES.iter().find(|(number, _)| *number == got).map(|(_, status)| Err(*status));
        return known.ok_or(XdrError::NoSuch { what: "status of a mount", got });
    }
    let handle = FileHandle::read(reader)?;
    let count = reader.length("flavours", LIST_MAX)?;
    let flavours = (0..count).map(|_| reader.u32()).collect::<Result<Vec<u32>, XdrError>>()?;
    Ok(Ok((handle, flavours)))
}

/// Appends the result of MNT.
pub fn put_mounted(out: &mut Vec<u8>, mounted: &Mounted) {
    match mounted {
        Err(status) => {
            let number = STATUSES.iter().find(|(_, known)| known == status).map_or(10006, |(number, _)| *number);
            put_u32(out, number);
        }
        Ok((handle, flavours)) => {
            put_u32(out, 0);
            handle.put(out);
            put_u32(out, flavours.len() as u32);
            flavours.iter().for_each(|&flavour| put_u32(out, flavour));
        }
    }
}

/// An export, and who may mount it; an empty list means everybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its path.
    pub path: Vec<u8>,
    /// Names or addresses of clients.
    pub groups: Vec<Vec<u8>>,
}

/// Reads the result of EXPORT.
///
/// # Errors
/// It violates the protocol, or is incomplete.
pub fn read_exports(reader: &mut Reader<'_>) -> Result<Vec<Exported>, XdrError> {
    list(reader, "exports", |reader| {
        let path = reader.opaque("path", PATH_BYTES_MAX)?.to_vec();
        let groups = list(reader, "groups", |reader| Ok(reader.opaque("group", NAME_BYTES_MAX)?.to_vec()))?;
        Ok(Exported { path, groups })
    })
}

/// Appends the result of EXPORT.
pub fn put_exports(out: &mut Vec<u8>, exports: &[Exported]) {
    for export in exports {
        put_flag(out, true);
        put_opaque(out, &export.path);
        for group in &export.groups {
            put_flag(out, true);
            put_opaque(out, group);
        }
        put_flag(out, false);
    }
    put_flag(out, false);
}

/// Appends the result of DUMP: clients and their mounts.
pub fn put_mounts<'a>(out: &mut Vec<u8>, mounts: impl Iterator<Item = (&'a [u8], &'a [u8])>) {
    for (client, path) in mounts {
        put_flag(out, true);
        put_opaque(out, client);
        put_opaque(out, path);
    }
    put_flag(out, false);
}

/// A linked list in XDR: a boolean before each member says that there is one.
fn list<'a, T>(
    reader: &mut Reader<'a>,
    what: &'static str,
    member: impl Fn(&mut Reader<'a>) -> Result<T, XdrError>,
) -> Result<Vec<T>, XdrError> {
    let mut all = Vec::new();
    while let Some(one) = reader.option(&member)? {
        if all.len() as u32 >= LIST_MAX {
            return Err(XdrError::TooLong { what, most: LIST_MAX, got: LIST_MAX + 1 });
        }
        all.push(one);
    }
    Ok(all)
}
