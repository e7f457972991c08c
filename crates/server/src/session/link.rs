//! A connection in transmission: what was agreed, and the request that could not go on.

use super::{Around, Filling, Phase, Session};
use block::{Buf, ObjectId, Op, Span, Time};
use nbd::{Admitted, NbdRequest, Rules};

/// A connection in transmission.
pub(super) struct Link {
    pub rules: Rules,
    pub object: ObjectId,
    /// What the store reads and writes in, in bytes.
    pub align: u32,
    /// What could not go on: it goes first.
    pub held: Option<Held>,
}

pub(super) enum Held {
    /// A parsed request that a limit or the lack of memory holds back.
    Parsed(NbdRequest),
    /// A request that the gate was too full for.
    Refused(block::Request),
    /// A write whose bytes are still coming.
    Payload(Payload<NbdRequest>),
}

/// A write's bytes on their way in.
pub(super) struct Payload<R> {
    pub request: R,
    /// Where the bytes go. `None` while the kernel fills it, and when the request was refused and
    /// the bytes only have to be taken off the stream.
    pub buf: Option<Buf>,
    /// Bytes that are here.
    pub filled: u32,
    /// What the request claims, in bytes.
    pub claim: u64,
    /// When they began to come.
    pub since: Time,
}

impl Link {
    pub(super) fn new(admitted: &Admitted) -> Link {
        Link {
            rules: Rules::of_server(admitted),
            object: ObjectId(admitted.export.id as u32),
            align: admitted.export.block.minimum,
            held: None,
        }
    }

    /// The write whose bytes are coming, if any.
    pub(super) fn payload(&self) -> Option<&Payload<NbdRequest>> {
        match &self.held {
            Some(Held::Payload(payload)) => Some(payload),
            _ => None,
        }
    }
}

impl Around<'_> {
    /// A request waited so long for the link, which is time in the network.
    pub(super) fn tell_wait(&mut self, object: ObjectId, waited: Span) {
        if waited > Span::ZERO {
            self.replies.add(object, waited);
        }
    }
}

impl Session {
    /// Nothing more comes of the held request. One whose bytes the kernel is filling in stays until
    /// they are back.
    pub(super) fn drop_held(&mut self, around: &mut Around<'_>) {
        let link = match &mut self.phase {
            Phase::Transmission(link) => link,
            Phase::Nfs(_) => return self.drop_held_call(around),
            Phase::Handshake(_) => return,
        };
        match link.held.take() {
            Some(Held::Payload(payload)) if self.receiving == Some(Filling::Payload) => {
                link.held = Some(Held::Payload(payload));
            }
            Some(Held::Payload(Payload { buf, claim, .. })) => self.drop_payload(buf, claim, around),
            Some(Held::Refused(request)) => self.drop_refused(request, around),
            Some(Held::Parsed(_)) | None => {}
        }
    }

    /// Gives back what a write's bytes went to.
    pub(super) fn drop_payload(&mut self, buf: Option<Buf>, claim: u64, around: &mut Around<'_>) {
        buf.into_iter().for_each(|buf| around.io.give(buf));
        // A refused one was answered already and claims nothing.
        if claim > 0 {
            self.release_request(claim, around);
        }
    }

    /// Gives back what a request holds that the gate was too full for.
    pub(super) fn drop_refused(&mut self, request: block::Request, around: &mut Around<'_>) {
        let slot = request.tag as u32;
        if let Op::Write(buf) = request.op {
            around.io.give(buf);
        }
        if let Some(pending) = self.pending[slot as usize].take() {
            if let super::Request::Nfs(asked) = &pending.request {
                asked.end(around);
            }
            self.free.push(slot);
            self.release_request(pending.claim, around);
        }
    }
}
