//! Calls with a name or link target that is longer than the server accepts. They are valid calls,
//! so they get an error of their own; their unread part is skipped.

use super::answer::Answered;
use super::said;
use ::nfs::rpc::{self, CallOutcome, Called};
use ::nfs::{Procedure, Reader, Reply, XdrError, record};

/// Answers such a call.
pub(super) fn answered(xid: u32, procedure: Procedure, out: &mut Vec<u8>) -> Answered {
    let Some(reply) = Reply::too_long(procedure) else { return said(out, xid, CallOutcome::GarbageArguments) };
    let start = record::begin(out);
    rpc::put_reply(out, xid, CallOutcome::Success);
    reply.put(out);
    record::end(out, start, 0);
    Answered::Reply
}

/// Answers a call whose head does not fit the receive buffer. With a buffer of 4 KiB, a link target
/// may be too long for it.
///
/// # Errors
/// It is not a call of NFS, or not even its credential has arrived.
pub(super) fn cut(record: &[u8], out: &mut Vec<u8>) -> Result<Answered, XdrError> {
    match rpc::read_call(&mut Reader::new(record))? {
        Called::Call(head) if (head.program, head.version) == (::nfs::PROGRAM, ::nfs::VERSION) => {
            let procedure = Procedure::of(head.procedure).ok_or(XdrError::Short)?;
            Ok(answered(head.xid, procedure, out))
        }
        _ => Err(XdrError::Short),
    }
}
