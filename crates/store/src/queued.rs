//! A request that a pool has accepted and that has not ended.

use crate::line::Waits;
use block::{Buf, Completion, Detail, Fault, Op, Request, Ticket, Time};

pub(crate) struct Queued {
    pub ticket: Ticket,
    pub taken: Time,
    /// Its LUN, so that all requests of a LUN can be taken out of the queue.
    pub lun: u32,
    pub request: Request,
}

impl Waits for Queued {
    fn ticket(&self) -> Ticket {
        self.ticket
    }
    fn lun(&self) -> u32 {
        self.lun
    }
}

impl Queued {
    /// Ends it, and gives its buffer back.
    pub(crate) fn end(mut self, now: Time, result: Result<(), Fault>) -> Completion {
        let mut completion = Completion::of(&self.request, now, result);
        completion.service = now.since(self.taken);
        completion.buf = self.take_data();
        completion
    }

    /// Ends a read that failed after `good` of its bytes were read into `buf`, from its byte `skip`
    /// on. Returns the buffer if it is of no use to the client.
    pub(crate) fn end_in_the_middle(
        self,
        now: Time,
        fault: Fault,
        buf: Buf,
        (skip, good): (u32, u32),
    ) -> (Completion, Option<Buf>) {
        let (at, len) = (self.request.at, self.request.len);
        let mut completion = self.end(now, Err(fault));
        // Whole blocks are read, so the failure may lie beyond what was asked for.
        match u64::from(good) {
            0 => return (completion, Some(buf)),
            all if all >= len => completion.result = Ok(()),
            some => completion.detail = Detail::known(None, Some(at + some)),
        }
        completion.buf = Some(buf.window(skip, good.min(len as u32)));
        (completion, None)
    }

    /// Takes out a write's buffer, if the request has it.
    pub(crate) fn take_data(&mut self) -> Option<Buf> {
        match &mut self.request.op {
            Op::Write(buf) if !buf.is_nothing() => Some(std::mem::replace(buf, Buf::nothing(self.request.len as u32))),
            _ => None,
        }
    }
}
