//! Sending: messages of many calls, one at a time at the kernel.

use super::{Asked, Link, SEND, SLOTS};
use crate::connections::Carrier as _;
use block::{Buf, Op};
use nfs::record;
use nfs::rpc::{self, CallHead};
use nfs::xdr::filling;
use nfs::{Call, Stable};
use uring::{Job, Message};

/// A message, and the calls in it, in order.
#[derive(Default)]
pub(super) struct Outgoing {
    pub(super) message: Message,
    pub(super) calls: Vec<Aboard>,
}

/// A call in a message.
#[derive(Clone, Copy)]
pub(super) struct Aboard {
    xid: u32,
    /// For a write: the start and length of its request's whole data in its slot.
    data: Option<(u32, u32)>,
}

impl Outgoing {
    pub(super) fn is_empty(&self) -> bool {
        self.message.is_empty()
    }
}

impl Link {
    /// Appends the call for the rest of a request to the next message; returns how many bytes it
    /// asks for.
    pub(super) fn put(&mut self, xid: u32, asked: &mut Asked) -> u32 {
        let found = &self.found;
        let request = &mut asked.pending.request;
        let (handle, at) = (found.handle, request.at + u64::from(asked.done));
        // The target takes no request of 4 GiB.
        let left = request.len as u32 - asked.done;
        let stable = if request.fua { Stable::File } else { Stable::Unstable };
        let (call, step) = match &request.op {
            Op::Read => {
                let count = left.min(found.read_most);
                (Call::Read { handle, at, count }, count)
            }
            Op::Write(_) => {
                let count = left.min(found.write_most);
                (Call::Write { handle, at, count, stable, len: count }, count)
            }
            // Everything: the writes may lie anywhere.
            _ => (Call::Commit { handle, at: 0, count: 0 }, 0),
        };
        let behind = if matches!(call, Call::Write { .. }) { step + filling(step) } else { 0 };
        let procedure = call.procedure() as u32;
        let credential = found.caller.credential();
        let head = CallHead { xid, program: nfs::PROGRAM, version: nfs::VERSION, procedure, credential };
        self.scratch.clear();
        let start = record::begin(&mut self.scratch);
        rpc::put_call(&mut self.scratch, &head);
        call.put(&mut self.scratch);
        record::end(&mut self.scratch, start, behind);
        self.next.message.header(&self.scratch);
        let mut whole = None;
        if let Op::Write(data) = &mut request.op {
            let data = std::mem::replace(data, Buf::nothing(request.len as u32));
            whole = Some((data.start(), data.len()));
            let first = data.start() + asked.done;
            self.next.message.data(data.window(first, step));
            if filling(step) > 0 {
                self.next.message.header(&[0; 3][..filling(step) as usize]);
            }
        }
        self.next.calls.push(Aboard { xid, data: whole });
        step
    }

    /// Returns the data of a message's writes to those without a reply, or else to the slab.
    pub(super) fn give_back(&mut self, message: &mut Message, calls: &[Aboard]) {
        let writes = calls.iter().filter_map(|aboard| Some((aboard.xid, aboard.data?)));
        for ((xid, (start, len)), buf) in writes.zip(message.unload()) {
            let slot = xid as usize % SLOTS;
            let in_flight = self.in_flight.get_mut(slot).filter(|in_flight| in_flight.xid == xid);
            match in_flight.map(|in_flight| (&mut in_flight.asked.pending.request.op, &mut in_flight.again)) {
                Some((Op::Write(data), again)) => {
                    *data = buf.window(start, len);
                    if std::mem::take(again) {
                        self.again(slot as u32);
                    }
                }
                _ => self.io.give(buf),
            }
        }
    }

    pub(super) fn send(&mut self) {
        if self.sending || self.is_lost() || self.next.is_empty() {
            return;
        }
        let Outgoing { message, calls } = std::mem::replace(&mut self.next, std::mem::take(&mut self.spare));
        match self.port.push(SEND, Job::Send { socket: self.socket, message }) {
            Ok(()) => {
                self.sending = true;
                for Aboard { xid, .. } in &calls {
                    if let Some(in_flight) = self.in_flight.get_mut(*xid as usize % SLOTS) {
                        in_flight.sent |= in_flight.xid == *xid;
                    }
                }
                self.going = calls;
            }
            // The table of requests in flight is full: try again later.
            Err(Job::Send { message, .. }) => {
                self.spare = std::mem::replace(&mut self.next, Outgoing { message, calls });
            }
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }
}
