//! A request that a server has, and its end.

use block::{Buf, Completion, Fault, Op, Request, Time};

/// A request, and when it was handed over first: what it waits for a lost server counts as service.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) request: Request,
    pub(crate) since: Time,
}

/// The end of a request, a read's data with it, or a write's buffer: without memory where the
/// kernel still sends it, and then it goes to the slab from there.
pub(crate) fn end(pending: Pending, data: Option<Buf>, now: Time, result: Result<(), Fault>) -> Completion {
    let Pending { request, since } = pending;
    let completion = Completion { service: now.since(since), ..Completion::of(&request, now, result) };
    let buf = if let Op::Write(buf) = request.op { Some(buf) } else { data };
    Completion { buf, ..completion }
}

/// Ends a request that a lost server had, or never got.
pub(crate) fn fail(pending: Pending, now: Time) -> Completion {
    let service = now.since(pending.since);
    Completion { service, ..Completion::refuse(pending.request, now, Fault::Gone) }
}
