//! A request that a server has, and its end.

use block::{Buf, Cause, Completion, Fault, Request, Span, Time};

/// A request, and when it was handed over first: what it waits for a lost server counts as service.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) request: Request,
    pub(crate) since: Time,
}

/// The end of a request, a read's data or a write's buffer with it.
pub(crate) fn end(pending: Pending, buf: Option<Buf>, now: Time, result: Result<(), Fault>) -> Completion {
    let Pending { request, since } = pending;
    let Request { tag, object, len, due, .. } = request;
    Completion {
        tag,
        object,
        kind: request.op.kind(),
        len,
        due,
        end: now,
        queued: Span::ZERO,
        service: now.since(since),
        cause: Cause::Nothing,
        result,
        failed_at: None,
        buf,
        extents: Vec::new(),
    }
}

/// Ends a request that a lost server had, or never got.
pub(crate) fn fail(pending: Pending, now: Time) -> Completion {
    let service = now.since(pending.since);
    Completion { service, ..Completion::refuse(pending.request, now, Fault::Gone) }
}
