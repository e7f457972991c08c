//! Pages of a directory: the results of READDIR and READDIRPLUS.
//!
//! ```text
//!   verifier │ 1 │ fileid │ name │ cookie [│ attributes │ handle] │ 1 │ … │ 0 │ end of the directory │
//! ```

use crate::attributes::{Post, put_post, read_post};
use crate::handle::FileHandle;
use crate::limits::NAME_BYTES_MAX;
use crate::reply::Verifier;
use crate::xdr::{Reader, XdrError, filling, put_flag, put_opaque, put_option, put_u64};

/// A page, in its encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<'a> {
    /// The directory's verifier, which belongs to its cookies.
    pub verifier: Verifier,
    /// Whether the directory ends with this page.
    pub eof: bool,
    /// Whether entries have attributes and handles.
    plus: bool,
    entries: std::borrow::Cow<'a, [u8]>,
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// The file's number.
    pub fileid: u64,
    /// Its name.
    pub name: &'a [u8],
    /// For continuing after this entry.
    pub cookie: u64,
    /// Only in READDIRPLUS.
    pub attributes: Post,
    /// Only in READDIRPLUS.
    pub handle: Option<FileHandle>,
}

impl<'a> Listing<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>, plus: bool) -> Result<Listing<'a>, XdrError> {
        let verifier = reader.fixed()?;
        let start = reader.clone();
        while reader.option(|reader| Listed::read(reader, plus))?.is_some() {}
        let len = reader.taken() - start.taken() - 4;
        let entries = start.rest()[..len].into();
        Ok(Listing { verifier, eof: reader.flag()?, plus, entries })
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.verifier);
        out.extend_from_slice(&self.entries);
        put_flag(out, false);
        put_flag(out, self.eof);
    }

    /// Its entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = Listed<'_>> {
        let (mut reader, plus) = (Reader::new(&self.entries), self.plus);
        std::iter::from_fn(move || {
            (reader.left() > 0).then(|| {
                let entry = reader.option(|reader| Listed::read(reader, plus));
                entry.ok().flatten().expect("entries were read or written whole")
            })
        })
    }
}

impl<'a> Listed<'a> {
    fn read(reader: &mut Reader<'a>, plus: bool) -> Result<Listed<'a>, XdrError> {
        let (fileid, name) = (reader.u64()?, reader.opaque("name", NAME_BYTES_MAX)?);
        let cookie = reader.u64()?;
        let (attributes, handle) =
            if plus { (read_post(reader)?, reader.option(FileHandle::read)?) } else { (None, None) };
        Ok(Listed { fileid, name, cookie, attributes, handle })
    }

    /// Bytes that count as names, for which READDIRPLUS has a separate limit.
    fn name_bytes(&self) -> u32 {
        let name = self.name.len() as u32;
        // Marker, fileid, length, name, cookie.
        4 + 8 + 4 + name + filling(name) + 8
    }
}

/// Assembles a page.
#[derive(Clone, Debug)]
pub struct Pager {
    plus: bool,
    names_left: u32,
    left: u32,
    entries: Vec<u8>,
}

impl Pager {
    /// Bytes in an empty page: status, attributes of the directory, verifier, end of the list, end
    /// of the directory.
    pub const EMPTY_BYTES: u32 = 4 + 4 + crate::Attributes::BYTES + 8 + 4 + 4;

    /// A page of READDIR of at most `count` bytes.
    pub fn names(count: u32) -> Pager {
        let left = count.saturating_sub(Pager::EMPTY_BYTES);
        Pager { plus: false, names_left: left, left, entries: Vec::new() }
    }

    /// A page of READDIRPLUS of at most `count` bytes, with at most `names` bytes of names.
    pub fn plus(names: u32, count: u32) -> Pager {
        Pager { plus: true, names_left: names, left: count.saturating_sub(Pager::EMPTY_BYTES), entries: Vec::new() }
    }

    /// Adds an entry. Returns false, without adding it, if it does not fit.
    pub fn add(&mut self, entry: &Listed<'_>) -> bool {
        let start = self.entries.len();
        put_flag(&mut self.entries, true);
        put_u64(&mut self.entries, entry.fileid);
        put_opaque(&mut self.entries, entry.name);
        put_u64(&mut self.entries, entry.cookie);
        if self.plus {
            put_post(&mut self.entries, &entry.attributes);
            put_option(&mut self.entries, entry.handle.as_ref(), |out, handle| handle.put(out));
        }
        let (names, bytes) = (entry.name_bytes(), (self.entries.len() - start) as u32);
        if names > self.names_left || bytes > self.left {
            self.entries.truncate(start);
            return false;
        }
        self.names_left -= names;
        self.left -= bytes;
        true
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The page.
    pub fn finish(self, verifier: Verifier, eof: bool) -> Listing<'static> {
        Listing { verifier, eof, plus: self.plus, entries: self.entries.into() }
    }
}
