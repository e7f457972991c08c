//! Calls with a name or a link's target that is longer than the server takes. They are no nonsense,
//! so they have an answer of their own; what of them is not read is skipped.

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

/// Answers a call whose head does not fit the receive buffer: with one of 4 KiB a link's target may
/// be what is too long for it.
///
/// # Errors
/// It is no call of NFS, or not even its credential is here.
pub(super) fn cut(record: &[u8], out: &mut Vec<u8>) -> Result<Answered, XdrError> {
    match rpc::read_call(&mut Reader::new(record))? {
        Called::Call(head) if (head.program, head.version) == (::nfs::PROGRAM, ::nfs::VERSION) => {
            let procedure = Procedure::of(head.procedure).ok_or(XdrError::Short)?;
            Ok(answered(head.xid, procedure, out))
        }
        _ => Err(XdrError::Short),
    }
}
