//! An NBD connection in transmission: what was negotiated, and the request that is held back.

use super::{Filling, Phase, Session, ShardParts};
use block::{Buf, ObjectId, Op, Span, Time};
use nbd::{Admitted, NbdRequest, Rules};

/// An NBD connection in transmission.
pub(super) struct Link {
    pub rules: Rules,
    pub object: ObjectId,
    /// Block size of the store, in bytes.
    pub align: u32,
    /// The request that is held back; it goes before any other.
    pub held: Option<Held>,
}

pub(super) enum Held {
    /// A parsed request that waits for a limit or for memory.
    Parsed(NbdRequest),
    /// A request that the gate had no room for.
    Refused(block::Request),
    /// A write whose data has not arrived completely.
    Payload(Payload<NbdRequest>),
}

/// A write whose data is arriving.
pub(super) struct Payload<R> {
    pub request: R,
    /// Where the data goes. `None` while the kernel fills it, or if the request was refused and its
    /// data is discarded.
    pub buf: Option<Buf>,
    /// Bytes that have arrived.
    pub filled: u32,
    /// What the request claims, in bytes.
    pub claim: u64,
    /// When the data began to arrive.
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

    /// The write whose data is arriving, if any.
    pub(super) fn payload(&self) -> Option<&Payload<NbdRequest>> {
        match &self.held {
            Some(Held::Payload(payload)) => Some(payload),
            _ => None,
        }
    }
}

impl ShardParts<'_> {
    /// Accounts for the time that a request waited for the link limit, as time in the network.
    pub(super) fn tell_wait(&mut self, object: ObjectId, waited: Span) {
        if waited > Span::ZERO {
            self.replies.add(object, waited);
        }
    }
}

impl Session {
    /// Drops the held request. A write whose buffer the kernel is filling stays until the buffer is
    /// back.
    pub(super) fn drop_held(&mut self, shard: &mut ShardParts<'_>) {
        let link = match &mut self.phase {
            Phase::Transmission(link) => link,
            Phase::Nfs(_) => return self.drop_held_call(shard),
            Phase::Handshake(_) => return,
        };
        match link.held.take() {
            Some(Held::Payload(payload)) if self.receiving == Some(Filling::Payload) => {
                link.held = Some(Held::Payload(payload));
            }
            Some(Held::Payload(Payload { buf, claim, .. })) => self.drop_payload(buf, claim, shard),
            Some(Held::Refused(request)) => self.drop_refused(request, shard),
            Some(Held::Parsed(_)) | None => {}
        }
    }

    /// Releases the buffer and the claim of a write whose data was arriving.
    pub(super) fn drop_payload(&mut self, buf: Option<Buf>, claim: u64, shard: &mut ShardParts<'_>) {
        buf.into_iter().for_each(|buf| shard.io.give(buf));
        // A refused write was answered already and claims nothing.
        if claim > 0 {
            self.release_request(claim, shard);
        }
    }

    /// Releases what a request holds that the gate had no room for.
    pub(super) fn drop_refused(&mut self, request: block::Request, shard: &mut ShardParts<'_>) {
        let slot = request.tag as u32;
        if let Op::Write(buf) = request.op {
            shard.io.give(buf);
        }
        if let Some(pending) = self.pending[slot as usize].take() {
            if let super::Request::Nfs(asked) = &pending.request {
                asked.end(shard);
            }
            self.free.push(slot);
            self.release_request(pending.claim, shard);
        }
    }
}
