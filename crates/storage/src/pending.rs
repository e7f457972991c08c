//! A request at a server, and its completion.

use block::{Buf, Completion, Detail, Fault, Op, Request, Time};
use std::sync::Arc;

/// A request, and when it was first handed over: waiting for a lost server counts as service time.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) request: Request,
    pub(crate) since: Time,
}

/// The completion of a request, with a read's data or a write's buffer. If the kernel is still
/// sending that buffer, the completion has none, and it goes back to the slab later.
pub(crate) fn end(pending: Pending, data: Option<Buf>, now: Time, result: Result<(), Fault>) -> Completion {
    let Pending { request, since } = pending;
    let completion = Completion { service: now.since(since), ..Completion::of(&request, now, result) };
    let buf = if let Op::Write(buf) = request.op { Some(buf) } else { data };
    Completion { buf, ..completion }
}

/// Ends a request that a lost server had, or never got, with the reason of the loss.
pub(crate) fn fail(pending: Pending, now: Time, sent: bool, why: &Arc<str>) -> Completion {
    let service = now.since(pending.since);
    let is_unknown = sent && !matches!(pending.request.op, Op::Read);
    let why = match is_unknown {
        true => format!("{why}; whether the request took effect is unknown").into(),
        false => Arc::clone(why),
    };
    Completion {
        service,
        detail: Detail::known(Some(why), None),
        ..Completion::refuse(pending.request, now, Fault::Gone)
    }
}
