//! Attributes of files: those that replies return, and those that can be set.

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
    /// Nanoseconds; a peer may send a second or more.
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

/// All attributes of a file (RFC 1813, `fattr3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Its kind.
    pub kind: FileKind,
    /// The mode.
    pub mode: u32,
    /// Number of names.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Bytes of storage that it takes.
    pub used: u64,
    /// The major and minor number of a device.
    pub device: (u32, u32),
    /// The file system it is on.
    pub fsid: u64,
    /// Its number on that file system.
    pub fileid: u64,
    /// Time of the last read.
    pub accessed: Moment,
    /// Time of the last write.
    pub modified: Moment,
    /// Time of the last change of any attribute.
    pub changed: Moment,
}

impl Attributes {
    /// Bytes in the encoding.
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

/// Attributes after a procedure, if the server returns them.
pub type Post = Option<Attributes>;

pub(crate) fn read_post(reader: &mut Reader<'_>) -> Result<Post, XdrError> {
    reader.option(Attributes::read)
}

pub(crate) fn put_post(out: &mut Vec<u8>, post: &Post) {
    put_option(out, post.as_ref(), |out, attributes| attributes.put(out));
}

/// Attributes that show whether others have changed a file between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WccAttributes {
    /// Size in bytes.
    pub size: u64,
    /// Time of the last write.
    pub modified: Moment,
    /// Time of the last change of attributes.
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

/// Weak cache consistency data: a file before and after a procedure that changes it.
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

/// How to set a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetMoment {
    /// Leave it unchanged.
    #[default]
    Keep,
    /// Set it to the server's time.
    Now,
    /// Set it to this time.
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

/// Attributes to set (RFC 1813, `sattr3`); `None` leaves one unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttributes {
    /// The mode.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Time of the last read.
    pub accessed: SetMoment,
    /// Time of the last write.
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
