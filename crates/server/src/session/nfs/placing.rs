//! Data requests of clients' files: a READ or WRITE is mapped to the volume's tree when it is
//! submitted. On completion, the changes of a WRITE or COMMIT are applied to the file's attributes,
//! or made durable.

use super::made::Kept;
use super::{Asked, Held, Payload, Session, What, put};
use crate::claims::claim_of;
use crate::session::{Load, ShardParts};
use crate::volume_files::{Until, status_of};
use crate::waiting::Wait;
use ::nfs::{Procedure, Reply, Stable, Status, Wcc};
use block::{ObjectId, Op};
use tree::{FilePiece, NodeId, TreeRefusal};

/// Where a request for a file's data goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// Its first byte in the file.
    at: u64,
    piece: FilePiece,
    /// Keeps its pages from being reused for another file meanwhile.
    ticket: u64,
    /// The reading of the volume's files that it belongs to.
    reading: u64,
}

impl Session {
    /// Maps a request for a client's file; others are left unchanged. `Err` if it was answered
    /// (true) or has to wait (false).
    pub(super) fn place(
        &mut self,
        asked: Asked,
        op: Op,
        claim: u64,
        shard: &mut ShardParts<'_>,
    ) -> Result<(Asked, Op), bool> {
        let Some((volume, node)) = asked.made else { return Ok((asked, op)) };
        let tree = shard.files.tree_mut(volume);
        let (at, len) = (asked.at, u64::from(asked.len));
        let placed = match (tree, asked.what) {
            (Err(status), _) => Err(Ok(status)),
            (Ok(tree), What::Read { .. }) => tree.place_read(node, at, len).map_err(Err),
            (Ok(tree), What::Write(_)) => tree.place_write(node, at, len).map_err(Err),
            (Ok(tree), What::Commit) => match tree.commit(node) {
                Ok(Some(record)) => {
                    self.commit_with(&asked, (volume, node), record, claim, shard);
                    return Err(true);
                }
                Ok(None) => Ok(FilePiece { at: 0, len: 0 }),
                Err(refusal) => Err(Err(refusal)),
            },
        };
        match placed {
            Ok(piece) => self.placed(asked, (volume, node, piece), op, claim, shard),
            Err(Err(TreeRefusal::Busy)) if self.load.requests > 1 || shard.files.is_busy() => {
                self.waits = Some(Wait::Room { starving: false });
                let buf = if let Op::Write(buf) = op { Some(buf) } else { None };
                let Asked { len, .. } = asked;
                let payload = Payload { request: asked, buf, filled: len, claim, since: shard.now };
                Err(self.hold_nfs(Held::Payload(payload)))
            }
            Err(refused) => {
                if let Op::Write(buf) = op {
                    shard.io.give(buf);
                }
                self.answer_asked(&asked, refused.unwrap_or_else(status_of), claim, shard);
                Err(true)
            }
        }
    }

    fn placed(
        &mut self,
        asked: Asked,
        (volume, node, piece): (ObjectId, NodeId, FilePiece),
        op: Op,
        claim: u64,
        shard: &mut ShardParts<'_>,
    ) -> Result<(Asked, Op), bool> {
        let at = asked.at;
        let what = match (asked.what, shard.files.tree(volume)) {
            (What::Read { .. }, Ok(tree)) => {
                What::Read { eof: tree.info(node).is_ok_and(|info| at + piece.len >= info.size) }
            }
            (what, _) => what,
        };
        let len = piece.len as u32;
        let asked = Asked { at: piece.at, len, what, ..asked };
        if len == 0 && matches!(what, What::Read { .. }) {
            // The file has become shorter since it was asked for.
            shard.scratch.clear();
            put(shard.scratch, &asked, Ok(()), (shard.exports.run_verifier(), Wcc::default()));
            self.send_kept(claim, shard);
            return Err(true);
        }
        let op = if let Op::Write(buf) = op { Op::Write(buf.window(0, len)) } else { op };
        let ticket = shard.files.tree_mut(volume).map_or(0, tree::FileTree::begin_request);
        let reading = shard.files.reading(volume);
        Ok((Asked { spot: Some(Spot { at, piece, ticket, reading }), ..asked }, op))
    }

    /// Answers a COMMIT when the record with the file's attributes is durable; the record is
    /// flushed together with the data.
    fn commit_with(
        &mut self,
        asked: &Asked,
        (volume, node): (ObjectId, NodeId),
        record: u64,
        claim: u64,
        shard: &mut ShardParts<'_>,
    ) {
        let after = shard.files.attributes(volume, node);
        let verifier = shard.files.write_verifier(volume, shard.exports.run_verifier());
        shard.scratch.clear();
        put(shard.scratch, asked, Ok(()), (verifier, Wcc { before: None, after }));
        let kept = Kept { xid: asked.xid, procedure: Procedure::Commit, reply: shard.scratch.clone() };
        self.wait_for(volume, Until::Record(record), kept, claim, shard);
    }

    fn answer_asked(&mut self, asked: &Asked, status: Status, claim: u64, shard: &mut ShardParts<'_>) {
        shard.scratch.clear();
        put(shard.scratch, asked, Err(status), (shard.exports.run_verifier(), Wcc::default()));
        self.send_kept(claim, shard);
    }

    /// Sends the contents of `scratch` as the reply to a request with that claim.
    pub(super) fn send_kept(&mut self, claim: u64, shard: &mut ShardParts<'_>) {
        let keep = claim_of(0).min(claim);
        self.tx.reply(shard.now, shard.scratch, None, keep, claim);
        self.release(Load { bytes: claim - keep, ..Load::default() }, shard);
    }

    /// Replies to a completed WRITE or COMMIT of a client's file, if necessary after the file's
    /// attributes are durable.
    pub(super) fn reply_placed(&mut self, asked: &Asked, spot: &Spot, claim: u64, shard: &mut ShardParts<'_>) {
        let Some((volume, node)) = asked.made else { return self.answer_asked(asked, Status::Stale, claim, shard) };
        let now = shard.exports.since_1970(shard.now);
        let verifier = shard.files.write_verifier(volume, shard.exports.run_verifier());
        let is_same = shard.files.reading(volume) == spot.reading;
        let tree =
            match shard.files.tree_mut(volume).and_then(|tree| if is_same { Ok(tree) } else { Err(Status::Stale) }) {
                Ok(tree) => tree,
                Err(status) => return self.answer_asked(asked, status, claim, shard),
            };
        let is_durable = match asked.what {
            What::Write(stable) => {
                tree.written(now, node, spot.at, spot.piece);
                if !asked.by_root {
                    tree.drop_privilege(node);
                }
                stable != Stable::Unstable
            }
            What::Commit | What::Read { .. } => true,
        };
        let record = match asked.what {
            What::Write(_) if is_durable => tree.commit(node).and_then(|record| match record {
                Some(record) => Ok(Some(record)),
                // The file was truncated meanwhile.
                None => tree.sync(node).map(Some),
            }),
            _ if is_durable => tree.sync(node).map(Some),
            _ => Ok(None),
        };
        let durable = tree.durable();
        let after = shard.files.attributes(volume, node);
        shard.scratch.clear();
        match record {
            // A file that does not exist any more was removed meanwhile.
            Err(refusal) => self.answer_asked(asked, status_of(refusal), claim, shard),
            Ok(record) => {
                put(shard.scratch, asked, Ok(()), (verifier, Wcc { before: None, after }));
                match record.filter(|record| *record > durable) {
                    None => self.send_kept(claim, shard),
                    Some(record) => {
                        let procedure = match asked.what {
                            What::Commit => Procedure::Commit,
                            _ => Procedure::Write,
                        };
                        let reply = shard.scratch.clone();
                        let kept = Kept { xid: asked.xid, procedure, reply };
                        self.wait_for(volume, Until::Record(record), kept, claim, shard);
                    }
                }
            }
        }
    }
}

impl Asked {
    /// Releases what the request held in the tree.
    pub(in crate::session) fn end(&self, shard: &mut ShardParts<'_>) {
        if let (Some(spot), Some((volume, _))) = (&self.spot, self.made)
            && spot.reading == shard.files.reading(volume)
            && let Ok(tree) = shard.files.tree_mut(volume)
        {
            tree.end_request(spot.ticket);
        }
    }
}

impl Asked {
    /// What it claims of the shard's memory, in bytes.
    pub(super) fn claim(&self) -> u64 {
        match self.what {
            // The store reads whole blocks.
            What::Read { .. } => {
                const BLOCK: u64 = 4096;
                let from = self.at - self.at % BLOCK;
                // The position of a client's file in the tree is not known yet.
                let more = if self.made.is_some() { BLOCK } else { 0 };
                claim_of((self.at + u64::from(self.len)).next_multiple_of(BLOCK) - from + more)
            }
            What::Write(_) => claim_of(self.len.into()),
            What::Commit => claim_of(0),
        }
    }
}

/// The reply of a procedure whose change could not be made durable.
pub(super) fn failed(procedure: Procedure, status: Status) -> Reply<'static> {
    let none = Wcc::default();
    match procedure {
        Procedure::Create | Procedure::MakeDir | Procedure::SymLink => Reply::Made(none, Err(status)),
        Procedure::Rename => Reply::Rename(none, none, Err(status)),
        Procedure::Link => Reply::Link(None, none, Err(status)),
        Procedure::Write => Reply::Write(none, Err(status)),
        Procedure::Commit => Reply::Commit(none, Err(status)),
        _ => Reply::Done(none, Err(status)),
    }
}
