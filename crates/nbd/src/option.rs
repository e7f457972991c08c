//! The encoding of options and their replies, in both directions.
//!
//! ```text
//! option   8 OPTION_MAGIC        4 option   4 length            data
//! reply    8 OPTION_REPLY_MAGIC  4 option   4 type   4 length   data
//! ```

use crate::text::cut;
use crate::values::{OPTION_MAGIC, OPTION_REPLY_MAGIC, info, opt, rep};
use crate::wire::{Cursor, Put};

/// Bytes of an option before its data.
pub(crate) const OPTION_HEADER_BYTES: usize = 16;
/// Bytes of an option reply before its data.
pub(crate) const REPLY_HEADER_BYTES: usize = 20;

/// The head of an option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionHead {
    pub magic: u64,
    pub option: u32,
    pub len: u32,
}

impl OptionHead {
    pub fn parse(bytes: &[u8]) -> Option<OptionHead> {
        let mut c = Cursor(bytes);
        Some(OptionHead { magic: c.u64()?, option: c.u32()?, len: c.u32()? })
    }
}

/// The head of an option reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyHead {
    pub magic: u64,
    pub option: u32,
    pub kind: u32,
    pub len: u32,
}

impl ReplyHead {
    pub fn parse(bytes: &[u8]) -> Option<ReplyHead> {
        let mut c = Cursor(bytes);
        Some(ReplyHead { magic: c.u64()?, option: c.u32()?, kind: c.u32()?, len: c.u32()? })
    }
}

/// Appends an option with the data that `data` writes.
pub(crate) fn put_option(out: &mut Vec<u8>, option: u32, data: impl FnOnce(&mut Vec<u8>)) {
    out.put_u64(OPTION_MAGIC);
    out.put_u32(option);
    put_with_length(out, data);
}

/// Appends an option reply with the data that `data` writes.
pub(crate) fn put_reply(out: &mut Vec<u8>, option: u32, kind: u32, data: impl FnOnce(&mut Vec<u8>)) {
    out.put_u64(OPTION_REPLY_MAGIC);
    out.put_u32(option);
    out.put_u32(kind);
    put_with_length(out, data);
}

/// Appends `NBD_REP_ACK`.
pub(crate) fn put_ack(out: &mut Vec<u8>, option: u32) {
    put_reply(out, option, rep::ACK, |_| ());
}

/// Appends an error reply. Protocol text: "All error replies MAY have some data set, in which case
/// that data is an error message string suitable for display to the user".
pub(crate) fn put_error(out: &mut Vec<u8>, option: u32, code: u32, message: &str) {
    put_reply(out, option, code, |out| out.extend_from_slice(cut(message).as_bytes()));
}

/// Data of `INFO` and `GO`: a name and the kinds of information wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InfoQuery<'a> {
    pub name: &'a [u8],
    wanted: &'a [u8],
}

impl<'a> InfoQuery<'a> {
    /// `None` if the inner lengths contradict the data's length.
    pub fn parse(data: &'a [u8]) -> Option<InfoQuery<'a>> {
        let mut c = Cursor(data);
        let name = c.counted()?;
        let count = c.u16()?;
        let wanted = c.take(usize::from(count) * 2)?;
        c.is_empty().then_some(InfoQuery { name, wanted })
    }

    pub fn wants(&self, kind: u16) -> bool {
        self.wanted.chunks_exact(2).any(|pair| pair == kind.to_be_bytes())
    }

    pub fn put(out: &mut Vec<u8>, name: &str, wanted: &[u16]) {
        out.put_counted(name.as_bytes());
        out.put_u16(wanted.len() as u16);
        for kind in wanted {
            out.put_u16(*kind);
        }
    }
}

/// Data of `LIST_META_CONTEXT` and `SET_META_CONTEXT`: an export's name and queries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetaQuery<'a> {
    pub name: &'a [u8],
    queries: Cursor<'a>,
    pub count: u32,
}

impl<'a> MetaQuery<'a> {
    /// `None` if the inner lengths contradict the data's length.
    pub fn parse(data: &'a [u8]) -> Option<MetaQuery<'a>> {
        let mut c = Cursor(data);
        let name = c.counted()?;
        let count = c.u32()?;
        let query = MetaQuery { name, queries: c, count };
        // Each query takes at least 4 bytes, so the loop is bounded by the data, not by `count`.
        for _ in 0..count {
            c.counted()?;
        }
        c.is_empty().then_some(query)
    }

    pub fn queries(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut c = self.queries;
        std::iter::from_fn(move || c.counted())
    }

    pub fn put(out: &mut Vec<u8>, name: &str, queries: &[&str]) {
        out.put_counted(name.as_bytes());
        out.put_u32(queries.len() as u32);
        for query in queries {
            out.put_counted(query.as_bytes());
        }
    }
}

/// The protocol's name for an option, for messages.
pub(crate) fn option_name(option: u32) -> &'static str {
    match option {
        opt::EXPORT_NAME => "EXPORT_NAME",
        opt::ABORT => "ABORT",
        opt::LIST => "LIST",
        opt::STARTTLS => "STARTTLS",
        opt::INFO => "INFO",
        opt::GO => "GO",
        opt::STRUCTURED_REPLY => "STRUCTURED_REPLY",
        opt::LIST_META_CONTEXT => "LIST_META_CONTEXT",
        opt::SET_META_CONTEXT => "SET_META_CONTEXT",
        opt::EXTENDED_HEADERS => "EXTENDED_HEADERS",
        _ => "an unknown option",
    }
}

/// Appends `NBD_INFO_EXPORT`. Protocol text: "*length* MUST be 12".
pub(crate) fn put_info_export(out: &mut Vec<u8>, option: u32, size: u64, flags: u16) {
    put_reply(out, option, rep::INFO, |out| {
        out.put_u16(info::EXPORT);
        out.put_u64(size);
        out.put_u16(flags);
    });
}

/// Appends `NBD_INFO_NAME` or `NBD_INFO_DESCRIPTION`.
pub(crate) fn put_info_text(out: &mut Vec<u8>, option: u32, kind: u16, text: &str) {
    put_reply(out, option, rep::INFO, |out| {
        out.put_u16(kind);
        out.extend_from_slice(cut(text).as_bytes());
    });
}

/// Appends `NBD_INFO_BLOCK_SIZE`. Protocol text: "The *length* MUST be 14".
pub(crate) fn put_info_block_size(out: &mut Vec<u8>, option: u32, sizes: [u32; 3]) {
    put_reply(out, option, rep::INFO, |out| {
        out.put_u16(info::BLOCK_SIZE);
        for size in sizes {
            out.put_u32(size);
        }
    });
}

/// Appends a 32-bit length and the data that `data` writes.
fn put_with_length(out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.put_u32(0);
    data(out);
    // A name, a description and a few numbers: far below 2^32.
    let len = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
}
