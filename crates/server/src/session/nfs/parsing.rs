//! Finds a call at the front of what was received, and has it answered if that is possible at once.

use super::answer::{Answered, Service};
use super::made::KeptFor;
use super::{Asked, too_long};
use ::nfs::limits::RECORD_BYTES_MAX;
use ::nfs::record::{self, MARK_BYTES, Mark};
use ::nfs::rpc::{self, AUTH_BAD_CREDENTIAL, CallOutcome, Called};
use ::nfs::{Reader, XdrError};

/// What the received bytes start with.
pub(super) enum Seen {
    /// An incomplete head.
    More,
    /// A call that has to wait for room in the records of a volume.
    Crowded,
    /// Something that is not a call.
    Broken(String),
    /// A call that was answered at once, with the bytes of its record that are left.
    Answered(u32),
    /// A READ, WRITE or COMMIT, with the bytes of its record that are left.
    Asked(Asked, u32),
    /// A call whose reply is written but has to wait.
    Kept(KeptFor, u32),
}

/// Parses the call at the front of `bytes`, which may hold up to `room`, and answers it into `out`
/// if that is possible at once. Also returns the number of bytes consumed.
pub(super) fn see(
    bytes: &[u8],
    room: u32,
    service: &mut Service<'_>,
    out: &mut Vec<u8>,
) -> Result<(Seen, usize), StreamError> {
    let Some(mark) = Mark::read(bytes)? else { return Ok((Seen::More, 0)) };
    if !mark.last {
        return Err(StreamError::Fragments);
    }
    let record = &bytes[MARK_BYTES as usize..];
    let record = &record[..record.len().min(mark.len as usize)];
    let is_whole = record.len() == mark.len as usize;
    let mut reader = Reader::new(record);
    let seen = match head(&mut reader, record, is_whole, service, out) {
        Err(XdrError::Short) if !is_whole && bytes.len() < room as usize => return Ok((Seen::More, 0)),
        Err(XdrError::Short) if !is_whole => too_long::cut(record, out)?,
        seen => seen?,
    };
    let taken = reader.taken();
    let rest = mark.len - taken as u32;
    debug_assert!(mark.len <= RECORD_BYTES_MAX);
    let seen = match seen {
        Answered::Crowded => return Ok((Seen::Crowded, 0)),
        Answered::Reply => Seen::Answered(rest),
        Answered::Asked(asked) => Seen::Asked(asked, rest),
        Answered::Kept(kept) => Seen::Kept(kept, rest),
    };
    Ok((seen, MARK_BYTES as usize + taken))
}

fn head(
    reader: &mut Reader<'_>,
    record: &[u8],
    is_whole: bool,
    service: &mut Service<'_>,
    out: &mut Vec<u8>,
) -> Result<Answered, XdrError> {
    let head = match rpc::read_call(reader)? {
        Called::Call(head) => head,
        Called::Mismatch { xid } => return Ok(said(out, xid, CallOutcome::RpcMismatch { low: 2, high: 2 })),
        Called::BadCredential { xid } => return Ok(said(out, xid, CallOutcome::AuthError(AUTH_BAD_CREDENTIAL))),
    };
    // Incomplete arguments are waited for; invalid ones are answered.
    match service.answer(&head, reader, record, out) {
        Err(XdrError::Short) if !is_whole => Err(XdrError::Short),
        Err(_) => Ok(said(out, head.xid, CallOutcome::GarbageArguments)),
        Ok(answered) => Ok(answered),
    }
}

/// A reply without results.
pub(super) fn said(out: &mut Vec<u8>, xid: u32, outcome: CallOutcome) -> Answered {
    out.clear();
    let start = record::begin(out);
    rpc::put_reply(out, xid, outcome);
    record::end(out, start, 0);
    Answered::Reply
}

/// Bytes that are not a call of NFS.
#[derive(Debug, thiserror::Error)]
pub(super) enum StreamError {
    #[error(transparent)]
    Record(#[from] record::RecordError),
    #[error(transparent)]
    Xdr(#[from] XdrError),
    /// Not supported, because no known client sends any.
    #[error("a call in several fragments")]
    Fragments,
}
