//! Replies that wait until the change that they report is durable.

use super::placing::failed;
use crate::session::{Pending, Session, ShardParts};
use crate::volume_files::Until;
use ::nfs::rpc::{self, CallOutcome};
use ::nfs::{Procedure, Status, record};
use block::ObjectId;

/// A reply that waits.
pub(in crate::session) struct Kept {
    pub xid: u32,
    pub procedure: Procedure,
    pub reply: Vec<u8>,
}

/// What a reply waits for; the reply itself is in the scratch buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeptFor {
    pub volume: ObjectId,
    pub until: Until,
    pub xid: u32,
    pub procedure: Procedure,
}

impl Session {
    /// Keeps the written reply until it may be sent.
    pub(super) fn keep(&mut self, kept: KeptFor, claim: u64, shard: &mut ShardParts<'_>) {
        let KeptFor { volume, until, xid, procedure } = kept;
        self.use_object(volume);
        let reply = shard.scratch.clone();
        self.wait_for(volume, until, Kept { xid, procedure, reply }, claim, shard);
    }

    pub(super) fn wait_for(
        &mut self,
        volume: ObjectId,
        until: Until,
        kept: Kept,
        claim: u64,
        shard: &mut ShardParts<'_>,
    ) {
        let request = crate::session::Request::Kept(kept);
        let slot = self.pend(Pending { request, ticket: block::Ticket(u64::MAX), claim }) as u32;
        shard.files.wait(volume, self.index, slot, until);
    }

    /// Sends a kept reply: its change is durable, or has failed.
    pub(crate) fn woken(&mut self, slot: u32, result: Result<(), Status>, shard: &mut ShardParts<'_>) {
        let is_kept = |pending: &mut Pending| matches!(pending.request, crate::session::Request::Kept(_));
        let Some(pending) = self.pending.get_mut(slot as usize).and_then(|place| place.take_if(is_kept)) else {
            debug_assert!(false, "a reply waits once");
            return;
        };
        self.free.push(slot);
        let (claim, crate::session::Request::Kept(kept)) = (pending.claim, pending.request) else { return };
        if self.ending == crate::session::Ending::Broken {
            return self.release_request(claim, shard);
        }
        shard.scratch.clear();
        match result {
            Ok(()) => shard.scratch.extend_from_slice(&kept.reply),
            Err(status) => {
                let start = record::begin(shard.scratch);
                rpc::put_reply(shard.scratch, kept.xid, CallOutcome::Success);
                failed(kept.procedure, status).put(shard.scratch);
                record::end(shard.scratch, start, 0);
            }
        }
        self.send_kept(claim, shard);
    }
}
