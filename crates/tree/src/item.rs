//! A change, as it is stored in records and images. Each states a result: if changes are replayed
//! twice, or on top of a newer state, the final state is the same, provided that all later ones are
//! replayed too.
//!
//! ```text
//!   kind (1 byte) · numbers (4 or 8 bytes each, little-endian) · name or target with its length (2 bytes)
//! ```

use crate::limits::{DATA_PAGES, NAME_BYTES_MAX, TARGET_BYTES_MAX};
use crate::node::{NodeInfo, NodeKind};
use crate::runs::Run;
use block::Span;

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// A node exists and has these attributes. `next` is a folder's next cookie.
    Node { number: u32, info: NodeInfo, next: u64, target: &'a [u8] },
    /// A node does not exist; its pages are free.
    Gone { number: u32 },
    /// A folder has this entry.
    Entry { folder: u32, cookie: u64, number: u32, name: &'a [u8] },
    /// A folder does not have this entry.
    NoEntry { folder: u32, cookie: u64 },
    /// Pages of a file from `page` on are here.
    Extent { number: u32, page: u64, run: Run },
    /// A file ends before this page; its later pages are free.
    Cut { number: u32, page: u64 },
    /// Pages before this one are reserved: those that belong to no file may have contents.
    Reserve { end: u64 },
}

const NODE: u8 = 1;
const GONE: u8 = 2;
const ENTRY: u8 = 3;
const NO_ENTRY: u8 = 4;
const EXTENT: u8 = 5;
const CUT: u8 = 6;
const RESERVE: u8 = 7;

/// Why bytes cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemError {
    /// They end within the item.
    Short,
    /// They are not a valid item.
    Wrong,
}

impl<'a> Item<'a> {
    /// Appends the encoded item.
    pub fn put(&self, out: &mut Vec<u8>) {
        match *self {
            Item::Node { number, info, next, target } => put_node(out, number, &info, next, target),
            Item::Gone { number } => put(out, GONE, &[number], &[]),
            Item::Entry { folder, cookie, number, name } => {
                put(out, ENTRY, &[folder, number], &[cookie]);
                put_bytes(out, name);
            }
            Item::NoEntry { folder, cookie } => put(out, NO_ENTRY, &[folder], &[cookie]),
            Item::Extent { number, page, run } => put(out, EXTENT, &[number], &[page, run.at, run.pages]),
            Item::Cut { number, page } => put(out, CUT, &[number], &[page]),
            Item::Reserve { end } => put(out, RESERVE, &[], &[end]),
        }
    }

    /// Decodes one item and removes it from `bytes`.
    pub fn take(bytes: &mut &'a [u8]) -> Result<Item<'a>, ItemError> {
        let mut rest = Rest(bytes);
        let kind = rest.take(1)?[0];
        let item = match kind {
            NODE => take_node(&mut rest)?,
            GONE => Item::Gone { number: rest.u32()? },
            ENTRY => {
                let (folder, number, cookie) = (rest.u32()?, rest.u32()?, rest.u64()?);
                Item::Entry { folder, cookie, number, name: rest.bytes(NAME_BYTES_MAX)? }
            }
            NO_ENTRY => Item::NoEntry { folder: rest.u32()?, cookie: rest.u64()? },
            EXTENT => Item::Extent { number: rest.u32()?, page: rest.u64()?, run: rest.run()? },
            CUT => Item::Cut { number: rest.u32()?, page: rest.u64()? },
            RESERVE => match rest.u64()? {
                end if end <= DATA_PAGES.1 => Item::Reserve { end },
                _ => return Err(ItemError::Wrong),
            },
            _ => return Err(ItemError::Wrong),
        };
        *bytes = rest.0;
        Ok(item)
    }
}

fn put(out: &mut Vec<u8>, kind: u8, words: &[u32], longs: &[u64]) {
    out.push(kind);
    words.iter().for_each(|word| out.extend(word.to_le_bytes()));
    longs.iter().for_each(|long| out.extend(long.to_le_bytes()));
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u16).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_node(out: &mut Vec<u8>, number: u32, info: &NodeInfo, next: u64, target: &[u8]) {
    let NodeInfo { generation, kind, mode, uid, gid, links, parent, size, accessed, modified, changed, verifier } =
        *info;
    let times = [accessed, modified, changed].map(Span::as_nanos);
    put(out, NODE, &[number, kind as u32, mode, uid, gid, links, parent], &[generation, size, verifier, next]);
    times.iter().for_each(|time| out.extend(time.to_le_bytes()));
    put_bytes(out, target);
}

fn take_node<'a>(rest: &mut Rest<'a>) -> Result<Item<'a>, ItemError> {
    let number = rest.u32()?;
    let kind = match rest.u32()? {
        0 => NodeKind::File,
        1 => NodeKind::Folder,
        2 => NodeKind::Link,
        _ => return Err(ItemError::Wrong),
    };
    let (mode, uid, gid, links, parent) = (rest.u32()?, rest.u32()?, rest.u32()?, rest.u32()?, rest.u32()?);
    let (generation, size, verifier, next) = (rest.u64()?, rest.u64()?, rest.u64()?, rest.u64()?);
    let mut time = || rest.u64().map(Span::from_nanos);
    let (accessed, modified, changed) = (time()?, time()?, time()?);
    let info =
        NodeInfo { generation, kind, mode, uid, gid, links, parent, size, accessed, modified, changed, verifier };
    Ok(Item::Node { number, info, next, target: rest.bytes(TARGET_BYTES_MAX)? })
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ItemError> {
        let (found, rest) = self.0.split_at_checked(count).ok_or(ItemError::Short)?;
        self.0 = rest;
        Ok(found)
    }

    fn u32(&mut self) -> Result<u32, ItemError> {
        self.take(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four were taken")))
    }

    fn u64(&mut self) -> Result<u64, ItemError> {
        self.take(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight were taken")))
    }

    fn run(&mut self) -> Result<Run, ItemError> {
        let run = Run { at: self.u64()?, pages: self.u64()? };
        let (first, end) = DATA_PAGES;
        let fits = run.at >= first && run.pages > 0 && run.at.checked_add(run.pages).is_some_and(|last| last <= end);
        if fits { Ok(run) } else { Err(ItemError::Wrong) }
    }

    fn bytes(&mut self, most: usize) -> Result<&'a [u8], ItemError> {
        let len = usize::from(u16::from_le_bytes(self.take(2)?.try_into().expect("two were taken")));
        if len <= most { self.take(len) } else { Err(ItemError::Wrong) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each is decoded as it was encoded, and too short if it is cut anywhere.
    #[test]
    fn items_are_read_as_they_were_written() {
        let nanos = Span::from_nanos;
        let info = NodeInfo {
            generation: 1 << 60,
            kind: NodeKind::Link,
            mode: 0o1644,
            uid: 1,
            gid: 2,
            links: 3,
            parent: 4,
            size: 5,
            accessed: nanos(6),
            modified: nanos(7),
            changed: nanos(8),
            verifier: 9,
        };
        let run = Run { at: DATA_PAGES.0 + 7, pages: 3 };
        let items = [
            Item::Node { number: 77, info, next: 11, target: b"../elsewhere" },
            Item::Gone { number: 1 },
            Item::Entry { folder: 1, cookie: 3, number: 2, name: b"\xff\xfe" },
            Item::NoEntry { folder: 1, cookie: 3 },
            Item::Extent { number: 5, page: 9, run },
            Item::Cut { number: 5, page: 1 },
            Item::Reserve { end: DATA_PAGES.0 + 9 },
        ];
        for item in items {
            let mut bytes = Vec::new();
            item.put(&mut bytes);
            for cut in 0..bytes.len() {
                assert_eq!(Item::take(&mut &bytes[..cut]), Err(ItemError::Short), "{item:?} at {cut}");
            }
            let mut rest = &bytes[..];
            assert_eq!((Item::take(&mut rest), rest.len()), (Ok(item), 0));
        }
        assert_eq!(Item::take(&mut &[99][..]), Err(ItemError::Wrong));
    }
}
