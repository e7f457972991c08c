//! The procedures of NFS version 3 and their arguments (RFC 1813, section 3).

use crate::attributes::{FileKind, Moment, SetAttributes};
use crate::handle::FileHandle;
use crate::limits::{DATA_BYTES_MAX, NAME_BYTES_MAX, TARGET_BYTES_MAX};
use crate::xdr::{Reader, XdrError, put_flag, put_opaque, put_option, put_u32, put_u64};

macro_rules! procedures {
    ($($name:ident = $number:literal;)+) => {
        /// A procedure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are those of RFC 1813")]
        pub enum Procedure { $($name = $number),+ }

        impl Procedure {
            /// All of them.
            pub const ALL: &[Procedure] = &[$(Procedure::$name),+];

            /// The one of this number.
            pub fn of(number: u32) -> Option<Procedure> {
                Procedure::ALL.get(number as usize).copied()
            }
        }
    };
}

procedures! {
    Null = 0;
    GetAttr = 1;
    SetAttr = 2;
    Lookup = 3;
    Access = 4;
    ReadLink = 5;
    Read = 6;
    Write = 7;
    Create = 8;
    MakeDir = 9;
    SymLink = 10;
    MakeNode = 11;
    Remove = 12;
    RemoveDir = 13;
    Rename = 14;
    Link = 15;
    ReadDir = 16;
    ReadDirPlus = 17;
    FsStat = 18;
    FsInfo = 19;
    PathConf = 20;
    Commit = 21;
}

/// A name in a directory. Names are bytes; the server decides which are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The directory.
    pub directory: FileHandle,
    /// The name.
    pub name: &'a [u8],
}

impl<'a> Entry<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Entry<'a>, XdrError> {
        let directory = FileHandle::read(reader)?;
        Ok(Entry { directory, name: reader.name("name", NAME_BYTES_MAX)? })
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.directory.put(out);
        put_opaque(out, self.name);
    }
}

/// When a write must be durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stable {
    /// After a COMMIT.
    Unstable,
    /// Its data when it is answered.
    Data,
    /// Its data and metadata when it is answered.
    File,
}

impl Stable {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Stable, XdrError> {
        match reader.u32()? {
            0 => Ok(Stable::Unstable),
            1 => Ok(Stable::Data),
            2 => Ok(Stable::File),
            got => Err(XdrError::NoSuch { what: "stability", got }),
        }
    }

    pub(crate) fn put(self, out: &mut Vec<u8>) {
        put_u32(out, self as u32);
    }
}

/// How a file is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateHow {
    /// Create it, or use the existing one.
    Unchecked(SetAttributes),
    /// Fail if it exists.
    Guarded(SetAttributes),
    /// Fail if it exists, unless it was created with this verifier: the reply to an earlier try was
    /// lost.
    Exclusive([u8; 8]),
}

/// What MKNOD creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A device with its major and minor number.
    Device(FileKind, SetAttributes, (u32, u32)),
    /// A socket or a pipe.
    Plain(FileKind, SetAttributes),
    /// Another kind, which MKNOD cannot create.
    Other(FileKind),
}

/// A procedure with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// Does nothing; shows that the server answers.
    Null,
    /// Asks for the attributes of a file.
    GetAttr(FileHandle),
    /// Sets attributes; with `guard` only if the file was last changed at that time.
    SetAttr {
        /// The file.
        handle: FileHandle,
        /// The attributes to set.
        set: SetAttributes,
        /// Its time of change as the caller knows it.
        guard: Option<Moment>,
    },
    /// Looks up a name.
    Lookup(Entry<'a>),
    /// Asks which of these the caller may do: bits `ACCESS3_*` of RFC 1813.
    Access {
        /// The file.
        handle: FileHandle,
        /// The permissions asked about.
        wanted: u32,
    },
    /// Reads the target of a symbolic link.
    ReadLink(FileHandle),
    /// Reads data.
    Read {
        /// The file.
        handle: FileHandle,
        /// First byte.
        at: u64,
        /// Most bytes to read.
        count: u32,
    },
    /// Writes data; `len` bytes of it follow the arguments, with their padding.
    Write {
        /// The file.
        handle: FileHandle,
        /// First byte.
        at: u64,
        /// Bytes to write.
        count: u32,
        /// When it must be durable.
        stable: Stable,
        /// Bytes that follow, at most [`DATA_BYTES_MAX`].
        len: u32,
    },
    /// Creates a file.
    Create {
        /// Its directory and name.
        entry: Entry<'a>,
        /// How.
        how: CreateHow,
    },
    /// Creates a directory.
    MakeDir {
        /// Its directory and name.
        entry: Entry<'a>,
        /// Its attributes.
        set: SetAttributes,
    },
    /// Creates a symbolic link.
    SymLink {
        /// Its directory and name.
        entry: Entry<'a>,
        /// Its attributes.
        set: SetAttributes,
        /// Its target.
        path: &'a [u8],
    },
    /// Creates a device, socket or pipe.
    MakeNode {
        /// Its directory and name.
        entry: Entry<'a>,
        /// What to create.
        node: Node,
    },
    /// Removes a name of a file.
    Remove(Entry<'a>),
    /// Removes an empty directory.
    RemoveDir(Entry<'a>),
    /// Renames a file or directory.
    Rename {
        /// Old.
        from: Entry<'a>,
        /// New.
        to: Entry<'a>,
    },
    /// Adds a name of a file.
    Link {
        /// The file.
        handle: FileHandle,
        /// The name.
        to: Entry<'a>,
    },
    /// Lists names of a directory.
    ReadDir {
        /// The directory.
        handle: FileHandle,
        /// The entry to continue after; 0 for the beginning.
        cookie: u64,
        /// The directory's verifier that came with the cookie.
        verifier: [u8; 8],
        /// Limit on the bytes of the answer.
        count: u32,
    },
    /// Lists names with attributes and handles.
    ReadDirPlus {
        /// The directory.
        handle: FileHandle,
        /// The entry to continue after; 0 for the beginning.
        cookie: u64,
        /// The directory's verifier that came with the cookie.
        verifier: [u8; 8],
        /// Limit on the bytes of names and cookies.
        names: u32,
        /// Limit on the bytes of the answer.
        count: u32,
    },
    /// Asks for the space of the file system.
    FsStat(FileHandle),
    /// Asks for the limits of the server.
    FsInfo(FileHandle),
    /// Asks for limits on names and the like.
    PathConf(FileHandle),
    /// Makes written data durable; 0 bytes means up to the end.
    Commit {
        /// The file.
        handle: FileHandle,
        /// First byte.
        at: u64,
        /// Bytes.
        count: u32,
    },
}

impl<'a> Call<'a> {
    /// Which procedure it is.
    pub fn procedure(&self) -> Procedure {
        match self {
            Call::Null => Procedure::Null,
            Call::GetAttr(_) => Procedure::GetAttr,
            Call::SetAttr { .. } => Procedure::SetAttr,
            Call::Lookup(_) => Procedure::Lookup,
            Call::Access { .. } => Procedure::Access,
            Call::ReadLink(_) => Procedure::ReadLink,
            Call::Read { .. } => Procedure::Read,
            Call::Write { .. } => Procedure::Write,
            Call::Create { .. } => Procedure::Create,
            Call::MakeDir { .. } => Procedure::MakeDir,
            Call::SymLink { .. } => Procedure::SymLink,
            Call::MakeNode { .. } => Procedure::MakeNode,
            Call::Remove(_) => Procedure::Remove,
            Call::RemoveDir(_) => Procedure::RemoveDir,
            Call::Rename { .. } => Procedure::Rename,
            Call::Link { .. } => Procedure::Link,
            Call::ReadDir { .. } => Procedure::ReadDir,
            Call::ReadDirPlus { .. } => Procedure::ReadDirPlus,
            Call::FsStat(_) => Procedure::FsStat,
            Call::FsInfo(_) => Procedure::FsInfo,
            Call::PathConf(_) => Procedure::PathConf,
            Call::Commit { .. } => Procedure::Commit,
        }
    }

    /// Reads the arguments of a procedure. For WRITE, the data follows them.
    ///
    /// # Errors
    /// They violate the protocol, or are incomplete. [`XdrError::NameTooLong`] is not a violation:
    /// NFS has no limit on names, and [`Reply::too_long`](crate::Reply::too_long) is the answer.
    pub fn read(procedure: Procedure, reader: &mut Reader<'a>) -> Result<Call<'a>, XdrError> {
        Ok(match procedure {
            Procedure::Null => Call::Null,
            Procedure::GetAttr => Call::GetAttr(FileHandle::read(reader)?),
            Procedure::SetAttr => Call::SetAttr {
                handle: FileHandle::read(reader)?,
                set: SetAttributes::read(reader)?,
                guard: reader.option(Moment::read)?,
            },
            Procedure::Lookup => Call::Lookup(Entry::read(reader)?),
            Procedure::Access => Call::Access { handle: FileHandle::read(reader)?, wanted: reader.u32()? },
            Procedure::ReadLink => Call::ReadLink(FileHandle::read(reader)?),
            Procedure::Read => {
                Call::Read { handle: FileHandle::read(reader)?, at: reader.u64()?, count: reader.u32()? }
            }
            Procedure::Write => Call::Write {
                handle: FileHandle::read(reader)?,
                at: reader.u64()?,
                count: reader.u32()?,
                stable: Stable::read(reader)?,
                len: reader.length("data", DATA_BYTES_MAX)?,
            },
            Procedure::Create => Call::Create { entry: Entry::read(reader)?, how: read_how(reader)? },
            Procedure::MakeDir => Call::MakeDir { entry: Entry::read(reader)?, set: SetAttributes::read(reader)? },
            Procedure::SymLink => Call::SymLink {
                entry: Entry::read(reader)?,
                set: SetAttributes::read(reader)?,
                path: reader.name("target", TARGET_BYTES_MAX)?,
            },
            Procedure::MakeNode => Call::MakeNode { entry: Entry::read(reader)?, node: read_node(reader)? },
            Procedure::Remove => Call::Remove(Entry::read(reader)?),
            Procedure::RemoveDir => Call::RemoveDir(Entry::read(reader)?),
            Procedure::Rename => Call::Rename { from: Entry::read(reader)?, to: Entry::read(reader)? },
            Procedure::Link => Call::Link { handle: FileHandle::read(reader)?, to: Entry::read(reader)? },
            Procedure::ReadDir => Call::ReadDir {
                handle: FileHandle::read(reader)?,
                cookie: reader.u64()?,
                verifier: reader.fixed()?,
                count: reader.u32()?,
            },
            Procedure::ReadDirPlus => Call::ReadDirPlus {
                handle: FileHandle::read(reader)?,
                cookie: reader.u64()?,
                verifier: reader.fixed()?,
                names: reader.u32()?,
                count: reader.u32()?,
            },
            Procedure::FsStat => Call::FsStat(FileHandle::read(reader)?),
            Procedure::FsInfo => Call::FsInfo(FileHandle::read(reader)?),
            Procedure::PathConf => Call::PathConf(FileHandle::read(reader)?),
            Procedure::Commit => {
                Call::Commit { handle: FileHandle::read(reader)?, at: reader.u64()?, count: reader.u32()? }
            }
        })
    }

    /// Appends the arguments; for WRITE, the caller must append the data.
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Call::Null => {}
            Call::GetAttr(handle)
            | Call::ReadLink(handle)
            | Call::FsStat(handle)
            | Call::FsInfo(handle)
            | Call::PathConf(handle) => handle.put(out),
            Call::SetAttr { handle, set, guard } => {
                handle.put(out);
                set.put(out);
                put_option(out, guard.as_ref(), |out, moment| moment.put(out));
            }
            Call::Lookup(entry) | Call::Remove(entry) | Call::RemoveDir(entry) => entry.put(out),
            Call::Access { handle, wanted } => {
                handle.put(out);
                put_u32(out, *wanted);
            }
            Call::Read { handle, at, count } | Call::Commit { handle, at, count } => {
                handle.put(out);
                put_u64(out, *at);
                put_u32(out, *count);
            }
            Call::Write { handle, at, count, stable, len } => {
                handle.put(out);
                put_u64(out, *at);
                put_u32(out, *count);
                stable.put(out);
                put_u32(out, *len);
            }
            Call::Create { entry, how } => {
                entry.put(out);
                put_how(out, how);
            }
            Call::MakeDir { entry, set } => put_entry(out, entry, set),
            Call::SymLink { entry, set, path } => {
                put_entry(out, entry, set);
                put_opaque(out, path);
            }
            Call::MakeNode { entry, node } => {
                entry.put(out);
                put_node(out, node);
            }
            Call::Rename { from, to } => {
                from.put(out);
                to.put(out);
            }
            Call::Link { handle, to } => {
                handle.put(out);
                to.put(out);
            }
            Call::ReadDir { handle, cookie, verifier, count } => put_page(out, handle, *cookie, verifier, &[*count]),
            Call::ReadDirPlus { handle, cookie, verifier, names, count } => {
                put_page(out, handle, *cookie, verifier, &[*names, *count]);
            }
        }
    }
}

fn put_entry(out: &mut Vec<u8>, entry: &Entry<'_>, set: &SetAttributes) {
    entry.put(out);
    set.put(out);
}

fn put_page(out: &mut Vec<u8>, handle: &FileHandle, cookie: u64, verifier: &[u8; 8], counts: &[u32]) {
    handle.put(out);
    put_u64(out, cookie);
    out.extend_from_slice(verifier);
    counts.iter().for_each(|&count| put_u32(out, count));
}

fn read_how(reader: &mut Reader<'_>) -> Result<CreateHow, XdrError> {
    match reader.u32()? {
        0 => SetAttributes::read(reader).map(CreateHow::Unchecked),
        1 => SetAttributes::read(reader).map(CreateHow::Guarded),
        2 => reader.fixed().map(CreateHow::Exclusive),
        got => Err(XdrError::NoSuch { what: "way to make a file", got }),
    }
}

fn put_how(out: &mut Vec<u8>, how: &CreateHow) {
    match how {
        CreateHow::Unchecked(set) => {
            put_u32(out, 0);
            set.put(out);
        }
        CreateHow::Guarded(set) => {
            put_flag(out, true);
            set.put(out);
        }
        CreateHow::Exclusive(verifier) => {
            put_u32(out, 2);
            out.extend_from_slice(verifier);
        }
    }
}

fn read_node(reader: &mut Reader<'_>) -> Result<Node, XdrError> {
    let kind = FileKind::read(reader)?;
    Ok(match kind {
        FileKind::Block | FileKind::Character => {
            Node::Device(kind, SetAttributes::read(reader)?, (reader.u32()?, reader.u32()?))
        }
        FileKind::Socket | FileKind::Pipe => Node::Plain(kind, SetAttributes::read(reader)?),
        FileKind::Regular | FileKind::Directory | FileKind::Link => Node::Other(kind),
    })
}

fn put_node(out: &mut Vec<u8>, node: &Node) {
    match node {
        Node::Device(kind, set, device) => {
            kind.put(out);
            set.put(out);
            put_u32(out, device.0);
            put_u32(out, device.1);
        }
        Node::Plain(kind, set) => {
            kind.put(out);
            set.put(out);
        }
        Node::Other(kind) => kind.put(out),
    }
}
