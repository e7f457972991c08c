//! The contents of the replies to one option, kept until its end.

use super::Listed;
use super::handshake::Gathered;
use crate::contexts::Context;
use crate::error::HandshakeError;
use crate::export::{BlockSizes, TransmissionFlags};
use crate::text::{lossy, text};
use crate::values::{info, opt};
use crate::wire::Cursor;

/// Bytes of memory for a list entry, without its strings.
const ENTRY_BYTES: usize = size_of::<Listed>();

/// `NBD_REP_META_CONTEXT`. A context that was not asked for is ignored.
pub(super) fn keep_context(data: &[u8], gathered: &mut Gathered) -> Result<(), HandshakeError> {
    let mut c = Cursor(data);
    let option = opt::SET_META_CONTEXT;
    let id = c.u32().ok_or(HandshakeError::Violation { option, rule: "a context must have an id" })?;
    if let Some(context) = Context::ALL.into_iter().find(|context| context.is_named(c.0)) {
        gathered.contexts = gathered.contexts.with(context, id);
    }
    Ok(())
}

/// `NBD_REP_SERVER`, with a limit of `limit` bytes for the whole list.
pub(super) fn keep_listed(data: &[u8], gathered: &mut Gathered, limit: usize) -> Result<(), HandshakeError> {
    let mut c = Cursor(data);
    // Protocol text: "length of name (unsigned); MUST be no larger than the reply packet header
    // length - 4".
    let name = c.counted().and_then(|name| text(name).ok()).ok_or(HandshakeError::Violation {
        option: opt::LIST,
        rule: "a listed export must have a name of at most 4096 bytes of UTF-8",
    })?;
    gathered.listed_bytes += data.len() + ENTRY_BYTES;
    if gathered.listed_bytes > limit {
        return Err(HandshakeError::ListTooLong(limit));
    }
    gathered.listed.push(Listed { name: name.to_owned(), description: lossy(c.0) });
    Ok(())
}

/// `NBD_REP_INFO`. "A client … MUST ignore information types that it does not recognize".
pub(super) fn keep_info(option: u32, data: &[u8], gathered: &mut Gathered) -> Result<(), HandshakeError> {
    let violation = |rule| HandshakeError::Violation { option, rule };
    let mut c = Cursor(data);
    let agreed = &mut gathered.agreed;
    match c.u16().ok_or(violation("information must have a type"))? {
        info::EXPORT => {
            let (Some(size), Some(flags), true) = (c.u64(), c.u16(), c.is_empty()) else {
                return Err(violation("INFO_EXPORT must have 12 bytes"));
            };
            agreed.size = size;
            agreed.flags = TransmissionFlags(flags);
            gathered.described = true;
        }
        info::NAME => {
            let name = text(c.0).map_err(|_| violation("INFO_NAME must be at most 4096 bytes of UTF-8"))?;
            agreed.name = Some(name.to_owned());
        }
        info::DESCRIPTION => agreed.description = Some(lossy(c.0)),
        info::BLOCK_SIZE => {
            let (Some(minimum), Some(preferred), Some(maximum), true) = (c.u32(), c.u32(), c.u32(), c.is_empty())
            else {
                return Err(violation("INFO_BLOCK_SIZE must have 14 bytes"));
            };
            agreed.block = Some(BlockSizes::new(minimum, preferred, maximum)?);
        }
        _ => {}
    }
    Ok(())
}

/// The server's message in an error reply.
pub(super) fn error_message(data: &[u8]) -> String {
    lossy(data)
}
