//! What is known of a file, what may be set, and what replies tell of it beside their results.

use crate::xdr::{Reader, XdrError, put_flag, put_option, put_u32, put_u64};

/// The kind of a file (RFC 1813, `ftype3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A file with data.
    Regular,
    /// A directory.
    Directory,
    /// A block device.
    Block,
    /// A character device.
    Character,
    /// A symbolic link.
    Link,
    /// A socket.
    Socket,
    /// A named pipe.
    Pipe,
}

impl FileKind {
    const ALL: [FileKind; 7] = [
        FileKind::Regular,
        FileKind::Directory,
        FileKind::Block,
        FileKind::Character,
        FileKind::Link,
        FileKind::Socket,
        FileKind::Pipe,
    ];

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<FileKind, XdrError> {
        let got = reader.u32()?;
        let kind = (got as usize).checked_sub(1).and_then(|index| FileKind::ALL.get(index));
        kind.copied().ok_or(XdrError::NoSuch { what: "kind of file", got })
    }

    pub(crate) fn put(self, out: &mut Vec<u8>) {
        put_u32(out, self as u32 + 1);
    }
}

/// Seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Seconds.
    pub seconds: u32,
    /// Nanoseconds; a peer may say more than a second's.
    pub nanos: u32,
}

impl Moment {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Moment, XdrError> {
        Ok(Moment { seconds: reader.u32()?, nanos: reader.u32()? })
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_u32(out, self.seconds);
        put_u32(out, self.nanos);
    }
}

/// All that is known of a file (RFC 1813, `fattr3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Its kind.
    pub kind: FileKind,
    /// Permissions.
    pub mode: u32,
    /// Names that it has.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes.
    pub size: u64,
    /// Bytes of storage that it takes.
    pub used: u64,
    /// Of a device, its two numbers.
    pub device: (u32, u32),
    /// The file system it is on.
    pub fsid: u64,
    /// Its number on it.
    pub fileid: u64,
    /// Last read.
    pub accessed: Moment,
    /// Last written.
    pub modified: Moment,
    /// Last change of any of these.
    pub changed: Moment,
}

impl Attributes {
    /// Bytes on the wire.
    pub const BYTES: u32 = 84;

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Attributes, XdrError> {
        Ok(Attributes {
            kind: FileKind::read(reader)?,
            mode: reader.u32()?,
            links: reader.u32()?,
            uid: reader.u32()?,
            gid: reader.u32()?,
            size: reader.u64()?,
            used: reader.u64()?,
            device: (reader.u32()?, reader.u32()?),
            fsid: reader.u64()?,
            fileid: reader.u64()?,
            accessed: Moment::read(reader)?,
            modified: Moment::read(reader)?,
            changed: Moment::read(reader)?,
        })
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        self.kind.put(out);
        for word in [self.mode, self.links, self.uid, self.gid] {
            put_u32(out, word);
        }
        put_u64(out, self.size);
        put_u64(out, self.used);
        put_u32(out, self.device.0);
        put_u32(out, self.device.1);
        put_u64(out, self.fsid);
        put_u64(out, self.fileid);
        self.accessed.put(out);
        self.modified.put(out);
        self.changed.put(out);
    }
}

/// Attributes after a procedure, where the server tells them.
pub type Post = Option<Attributes>;

pub(crate) fn read_post(reader: &mut Reader<'_>) -> Result<Post, XdrError> {
    reader.option(Attributes::read)
}

pub(crate) fn put_post(out: &mut Vec<u8>, post: &Post) {
    put_option(out, post.as_ref(), |out, attributes| attributes.put(out));
}

/// What tells whether a file was changed by others between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WccAttributes {
    /// Bytes.
    pub size: u64,
    /// Last written.
    pub modified: Moment,
    /// Last change of attributes.
    pub changed: Moment,
}

impl WccAttributes {
    fn read(reader: &mut Reader<'_>) -> Result<WccAttributes, XdrError> {
        Ok(WccAttributes { size: reader.u64()?, modified: Moment::read(reader)?, changed: Moment::read(reader)? })
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.size);
        self.modified.put(out);
        self.changed.put(out);
    }
}

/// Weak cache consistency: a file before and after a procedure that changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wcc {
    /// Before.
    pub before: Option<WccAttributes>,
    /// After.
    pub after: Post,
}

impl Wcc {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Wcc, XdrError> {
        Ok(Wcc { before: reader.option(WccAttributes::read)?, after: read_post(reader)? })
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_option(out, self.before.as_ref(), |out, attributes| attributes.put(out));
        put_post(out, &self.after);
    }
}

/// What a time is to be set to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetMoment {
    /// It stays.
    #[default]
    Keep,
    /// The server's own time.
    Now,
    /// This.
    To(Moment),
}

impl SetMoment {
    fn read(reader: &mut Reader<'_>) -> Result<SetMoment, XdrError> {
        match reader.u32()? {
            0 => Ok(SetMoment::Keep),
            1 => Ok(SetMoment::Now),
            2 => Moment::read(reader).map(SetMoment::To),
            got => Err(XdrError::NoSuch { what: "way to set a time", got }),
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            SetMoment::Keep => put_u32(out, 0),
            SetMoment::Now => put_u32(out, 1),
            SetMoment::To(moment) => {
                put_u32(out, 2);
                moment.put(out);
            }
        }
    }
}

/// What is to be set of a file (RFC 1813, `sattr3`); `None` stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// Permissions.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Bytes.
    pub size: Option<u64>,
    /// Last read.
    pub accessed: SetMoment,
    /// Last written.
    pub modified: SetMoment,
}

impl SetAttributes {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<SetAttributes, XdrError> {
        Ok(SetAttributes {
            mode: reader.option(Reader::u32)?,
            uid: reader.option(Reader::u32)?,
            gid: reader.option(Reader::u32)?,
            size: reader.option(Reader::u64)?,
            accessed: SetMoment::read(reader)?,
            modified: SetMoment::read(reader)?,
        })
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        for word in [self.mode, self.uid, self.gid] {
            put_option(out, word.as_ref(), |out, word| put_u32(out, *word));
        }
        put_flag(out, self.size.is_some());
        self.size.into_iter().for_each(|size| put_u64(out, size));
        self.accessed.put(out);
        self.modified.put(out);
    }
}
