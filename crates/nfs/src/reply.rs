//! The results of the procedures (RFC 1813, section 3). Those of READDIR and READDIRPLUS are in
//! `listing`.

use crate::attributes::{Attributes, Moment, Post, Wcc, put_post, read_post};
use crate::call::{Procedure, Stable};
use crate::handle::FileHandle;
use crate::limits::{DATA_BYTES_MAX, TARGET_BYTES_MAX};
use crate::listing::Listing;
use crate::status::Status;
use crate::xdr::{Reader, XdrError, put_flag, put_opaque, put_option, put_u32, put_u64};

/// Identifies the run of a server from its start to its end. If it changes, data that was not
/// committed may be lost.
pub type Verifier = [u8; 8];

/// The result of a READ; `len` bytes follow, with their padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadDone {
    /// Bytes that were read.
    pub count: u32,
    /// Whether the file ends after them.
    pub eof: bool,
    /// Bytes that follow, at most [`DATA_BYTES_MAX`]; a correct server sets `count` to the same.
    pub len: u32,
}

/// The result of a WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes that were written, possibly fewer than were sent.
    pub count: u32,
    /// How durable they are.
    pub stable: Stable,
    /// Which run of the server has them.
    pub verifier: Verifier,
}

/// The space of a file system, in bytes and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsStat {
    /// Total bytes.
    pub bytes: u64,
    /// Free bytes.
    pub free: u64,
    /// Bytes free for this caller.
    pub available: u64,
    /// Total files.
    pub files: u64,
    /// Free files.
    pub files_free: u64,
    /// Files free for this caller.
    pub files_available: u64,
    /// Seconds for which these values will not change; 0 if unknown.
    pub steady_seconds: u32,
}

/// The limits of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsInfo {
    /// Limit on the bytes of a READ.
    pub read_most: u32,
    /// Preferred bytes of a READ.
    pub read_best: u32,
    /// Suggested multiple for them.
    pub read_multiple: u32,
    /// Limit on the bytes of a WRITE.
    pub write_most: u32,
    /// Preferred bytes of a WRITE.
    pub write_best: u32,
    /// Suggested multiple for them.
    pub write_multiple: u32,
    /// Preferred bytes of a READDIR.
    pub listing_best: u32,
    /// Limit on the bytes of a file.
    pub file_most: u64,
    /// The resolution of times.
    pub time_step: Moment,
    /// Bits `FSF3_*` of RFC 1813.
    pub properties: u32,
}

impl FsInfo {
    /// The server supports hard links (`FSF3_LINK`).
    pub const LINKS: u32 = 1;
    /// It supports symbolic links (`FSF3_SYMLINK`).
    pub const SYMBOLIC_LINKS: u32 = 2;
    /// PATHCONF is the same for all files (`FSF3_HOMOGENEOUS`).
    pub const HOMOGENEOUS: u32 = 8;
    /// Times can be set (`FSF3_CANSETTIME`).
    pub const SETS_TIMES: u32 = 16;
}

/// Limits on names and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathConf {
    /// Limit on the names of a file.
    pub links_most: u32,
    /// Limit on the bytes of a name.
    pub name_most: u32,
    /// Longer names are refused rather than truncated.
    pub no_truncation: bool,
    /// Only root may change owners.
    pub owner_restricted: bool,
    /// Names are compared without regard to case.
    pub case_insensitive: bool,
    /// Names keep their case.
    pub case_preserving: bool,
}

/// The results of a procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Nothing.
    Null,
    /// The attributes.
    GetAttr(Result<Attributes, Status>),
    /// SETATTR, REMOVE, RMDIR: the file or directory that was changed.
    Done(Wcc, Result<(), Status>),
    /// The directory; handle and attributes of the file.
    Lookup(Post, Result<(FileHandle, Post), Status>),
    /// What the caller may do.
    Access(Post, Result<u32, Status>),
    /// The target of a symbolic link.
    ReadLink(Post, Result<&'a [u8], Status>),
    /// Data follows.
    Read(Post, Result<ReadDone, Status>),
    /// The result of a write.
    Write(Wcc, Result<Written, Status>),
    /// CREATE, MKDIR, SYMLINK, MKNOD: the directory; handle and attributes of what was created, if
    /// the server returns them.
    Made(Wcc, Result<(Option<FileHandle>, Post), Status>),
    /// Both directories.
    Rename(Wcc, Wcc, Result<(), Status>),
    /// The file and the directory.
    Link(Post, Wcc, Result<(), Status>),
    /// Names of a directory; for READDIRPLUS with attributes and handles.
    Listing(Post, Result<Listing<'a>, Status>),
    /// The space of the file system.
    FsStat(Post, Result<FsStat, Status>),
    /// The limits of the server.
    FsInfo(Post, Result<FsInfo, Status>),
    /// Limits on names.
    PathConf(Post, Result<PathConf, Status>),
    /// Earlier writes are durable if they had the same verifier.
    Commit(Wcc, Result<Verifier, Status>),
}

impl<'a> Reply<'a> {
    /// The answer to a call with a name or target that is too long for the server; `None` for a
    /// procedure without names.
    pub fn too_long(procedure: Procedure) -> Option<Reply<'static>> {
        let (wcc, refused) = (Wcc::default(), Status::NameTooLong);
        Some(match procedure {
            Procedure::Lookup => Reply::Lookup(None, Err(refused)),
            Procedure::Create | Procedure::MakeDir | Procedure::SymLink | Procedure::MakeNode => {
                Reply::Made(wcc, Err(refused))
            }
            Procedure::Remove | Procedure::RemoveDir => Reply::Done(wcc, Err(refused)),
            Procedure::Rename => Reply::Rename(wcc, wcc, Err(refused)),
            Procedure::Link => Reply::Link(None, wcc, Err(refused)),
            _ => return None,
        })
    }

    /// Reads the results of a procedure. For READ, the data follows them.
    ///
    /// # Errors
    /// They violate the protocol, or are incomplete.
    pub fn read(procedure: Procedure, reader: &mut Reader<'a>) -> Result<Reply<'a>, XdrError> {
        if procedure == Procedure::Null {
            return Ok(Reply::Null);
        }
        let done = Status::read(reader)?;
        Ok(match procedure {
            Procedure::Null => Reply::Null,
            Procedure::GetAttr => Reply::GetAttr(and(done, reader, Attributes::read)?),
            Procedure::SetAttr | Procedure::Remove | Procedure::RemoveDir => Reply::Done(Wcc::read(reader)?, done),
            Procedure::Lookup => match done {
                Ok(()) => {
                    let (handle, post) = (FileHandle::read(reader)?, read_post(reader)?);
                    Reply::Lookup(read_post(reader)?, Ok((handle, post)))
                }
                Err(status) => Reply::Lookup(read_post(reader)?, Err(status)),
            },
            Procedure::Access => Reply::Access(read_post(reader)?, and(done, reader, Reader::u32)?),
            Procedure::ReadLink => Reply::ReadLink(
                read_post(reader)?,
                and(done, reader, |reader| reader.opaque("path", TARGET_BYTES_MAX))?,
            ),
            Procedure::Read => Reply::Read(read_post(reader)?, and(done, reader, read_done)?),
            Procedure::Write => Reply::Write(Wcc::read(reader)?, and(done, reader, written)?),
            Procedure::Create | Procedure::MakeDir | Procedure::SymLink | Procedure::MakeNode => match done {
                Ok(()) => {
                    let made = (reader.option(FileHandle::read)?, read_post(reader)?);
                    Reply::Made(Wcc::read(reader)?, Ok(made))
                }
                Err(status) => Reply::Made(Wcc::read(reader)?, Err(status)),
            },
            Procedure::Rename => Reply::Rename(Wcc::read(reader)?, Wcc::read(reader)?, done),
            Procedure::Link => Reply::Link(read_post(reader)?, Wcc::read(reader)?, done),
            Procedure::ReadDir => {
                Reply::Listing(read_post(reader)?, and(done, reader, |reader| Listing::read(reader, false))?)
            }
            Procedure::ReadDirPlus => {
                Reply::Listing(read_post(reader)?, and(done, reader, |reader| Listing::read(reader, true))?)
            }
            Procedure::FsStat => Reply::FsStat(read_post(reader)?, and(done, reader, read_fs_stat)?),
            Procedure::FsInfo => Reply::FsInfo(read_post(reader)?, and(done, reader, read_fs_info)?),
            Procedure::PathConf => Reply::PathConf(read_post(reader)?, and(done, reader, read_path_conf)?),
            Procedure::Commit => Reply::Commit(Wcc::read(reader)?, and(done, reader, Reader::fixed)?),
        })
    }

    /// Appends the results; for READ, the caller must append the data.
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Reply::Null => {}
            Reply::GetAttr(result) => {
                Status::put(out, result);
                result.iter().for_each(|attributes| attributes.put(out));
            }
            Reply::Done(wcc, result) => {
                Status::put(out, result);
                wcc.put(out);
            }
            Reply::Lookup(directory, result) => {
                Status::put(out, result);
                if let Ok((handle, post)) = result {
                    handle.put(out);
                    put_post(out, post);
                }
                put_post(out, directory);
            }
            Reply::Access(post, result) => put_with(out, post, result, |out, allowed| put_u32(out, *allowed)),
            Reply::ReadLink(post, result) => put_with(out, post, result, |out, path| put_opaque(out, path)),
            Reply::Read(post, result) => put_with(out, post, result, put_done),
            Reply::Write(wcc, result) => {
                Status::put(out, result);
                wcc.put(out);
                result.iter().for_each(|written| put_written(out, written));
            }
            Reply::Made(directory, result) => {
                Status::put(out, result);
                if let Ok((handle, post)) = result {
                    put_option(out, handle.as_ref(), |out, handle| handle.put(out));
                    put_post(out, post);
                }
                directory.put(out);
            }
            Reply::Rename(from, to, result) => {
                Status::put(out, result);
                from.put(out);
                to.put(out);
            }
            Reply::Link(file, directory, result) => {
                Status::put(out, result);
                put_post(out, file);
                directory.put(out);
            }
            Reply::Listing(post, result) => put_with(out, post, result, |out, listing| listing.put(out)),
            Reply::FsStat(post, result) => put_with(out, post, result, put_fs_stat),
            Reply::FsInfo(post, result) => put_with(out, post, result, put_fs_info),
            Reply::PathConf(post, result) => put_with(out, post, result, put_path_conf),
            Reply::Commit(wcc, result) => {
                Status::put(out, result);
                wcc.put(out);
                result.iter().for_each(|verifier| out.extend_from_slice(verifier));
            }
        }
    }
}

/// Reads what follows a status of success.
fn and<'a, T>(
    done: Result<(), Status>,
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, XdrError>,
) -> Result<Result<T, Status>, XdrError> {
    match done {
        Ok(()) => read(reader).map(Ok),
        Err(status) => Ok(Err(status)),
    }
}

fn put_with<T>(out: &mut Vec<u8>, post: &Post, result: &Result<T, Status>, put: impl FnOnce(&mut Vec<u8>, &T)) {
    Status::put(out, result);
    put_post(out, post);
    if let Ok(value) = result {
        put(out, value);
    }
}

fn read_done(reader: &mut Reader<'_>) -> Result<ReadDone, XdrError> {
    Ok(ReadDone { count: reader.u32()?, eof: reader.flag()?, len: reader.length("data", DATA_BYTES_MAX)? })
}

fn put_done(out: &mut Vec<u8>, done: &ReadDone) {
    put_u32(out, done.count);
    put_flag(out, done.eof);
    put_u32(out, done.len);
}

fn put_written(out: &mut Vec<u8>, written: &Written) {
    put_u32(out, written.count);
    written.stable.put(out);
    out.extend_from_slice(&written.verifier);
}

fn written(reader: &mut Reader<'_>) -> Result<Written, XdrError> {
    Ok(Written { count: reader.u32()?, stable: Stable::read(reader)?, verifier: reader.fixed()? })
}

fn read_fs_stat(reader: &mut Reader<'_>) -> Result<FsStat, XdrError> {
    Ok(FsStat {
        bytes: reader.u64()?,
        free: reader.u64()?,
        available: reader.u64()?,
        files: reader.u64()?,
        files_free: reader.u64()?,
        files_available: reader.u64()?,
        steady_seconds: reader.u32()?,
    })
}

fn put_fs_stat(out: &mut Vec<u8>, stat: &FsStat) {
    for word in [stat.bytes, stat.free, stat.available, stat.files, stat.files_free, stat.files_available] {
        put_u64(out, word);
    }
    put_u32(out, stat.steady_seconds);
}

fn read_fs_info(reader: &mut Reader<'_>) -> Result<FsInfo, XdrError> {
    Ok(FsInfo {
        read_most: reader.u32()?,
        read_best: reader.u32()?,
        read_multiple: reader.u32()?,
        write_most: reader.u32()?,
        write_best: reader.u32()?,
        write_multiple: reader.u32()?,
        listing_best: reader.u32()?,
        file_most: reader.u64()?,
        time_step: Moment::read(reader)?,
        properties: reader.u32()?,
    })
}

fn put_fs_info(out: &mut Vec<u8>, info: &FsInfo) {
    let reads = [info.read_most, info.read_best, info.read_multiple];
    let writes = [info.write_most, info.write_best, info.write_multiple];
    reads.into_iter().chain(writes).for_each(|word| put_u32(out, word));
    put_u32(out, info.listing_best);
    put_u64(out, info.file_most);
    info.time_step.put(out);
    put_u32(out, info.properties);
}

fn read_path_conf(reader: &mut Reader<'_>) -> Result<PathConf, XdrError> {
    Ok(PathConf {
        links_most: reader.u32()?,
        name_most: reader.u32()?,
        no_truncation: reader.flag()?,
        owner_restricted: reader.flag()?,
        case_insensitive: reader.flag()?,
        case_preserving: reader.flag()?,
    })
}

fn put_path_conf(out: &mut Vec<u8>, conf: &PathConf) {
    put_u32(out, conf.links_most);
    put_u32(out, conf.name_most);
    for flag in [conf.no_truncation, conf.owner_restricted, conf.case_insensitive, conf.case_preserving] {
        put_flag(out, flag);
    }
}
