//! Reads a volume's tree through the data thread, for the administration: to find the files of a
//! clone or of a restored volume.

use super::requests::{Job, Way};
use super::{AllFiles, NoSpaceForFiles, Settled};
use crate::order::Order;
use crate::shard::Shard;
use admin::{FilesSeen, Top};
use block::{Fault, ObjectId, Op, Request, Span, Time};
use qos::Gate;
use std::sync::mpsc::{Sender, channel};
use store::Served;
use tree::{NodeId, NodeInfo, SetNode, TreeMedia};

/// Bytes per read.
const PIECE: usize = 256 << 10;

/// Reads a volume's tree.
pub(crate) struct ShardReader<'a> {
    pub shard: &'a Shard,
    pub volume: ObjectId,
}

impl TreeMedia for ShardReader<'_> {
    fn read(&mut self, at: u64, buf: &mut [u8]) -> Result<(), Fault> {
        for (number, part) in buf.chunks_mut(PIECE).enumerate() {
            let (answer, read) = channel();
            let at = at + (number * PIECE) as u64;
            let order = Order::ReadTree { volume: self.volume, at, len: part.len() as u64, answer };
            self.shard.order(order).map_err(|_| Fault::Gone)?;
            part.copy_from_slice(&read.recv().map_err(|_| Fault::Gone)??);
        }
        Ok(())
    }
}

impl AllFiles {
    /// Reads bytes of a volume's tree for an order.
    pub(crate) fn read(
        &mut self,
        now: Time,
        (volume, at, len): (ObjectId, u64, u64),
        answer: Sender<Result<Vec<u8>, Fault>>,
        gate: &mut Gate<Served>,
    ) {
        let tag = self.add(Job::Read(answer));
        self.hand_over(now, Request { tag, object: volume, at, len, op: Op::Read, fua: false, due: now }, gate);
    }
}

impl AllFiles {
    /// Makes all changes of clients on a volume durable, and answers when they are, or cannot be.
    /// Requests for it that wait in the gate are taken past it.
    pub(crate) fn settle(&mut self, now: Time, volume: ObjectId, answer: Sender<Settled>, gate: &mut Gate<Served>) {
        // A volume without a tree has nothing to wait for.
        let Ok(tree) = self.tree_mut(volume) else {
            let _ = answer.send(Ok(()));
            return;
        };
        let record = tree.tick();
        self.settling.push((volume, record, answer));
        for job in self.jobs.values_mut() {
            if let Job::Command { volume: of, way, .. } = job
                && let Way::Gate(ticket) = *way
                && *of == volume
            {
                *way = Way::Recalled(ticket);
                gate.recall(now, ticket);
            }
        }
    }

    /// Whether an administrator's command waits for a volume's records.
    pub(super) fn is_settling(&self, volume: ObjectId) -> bool {
        self.settling.iter().any(|(of, ..)| *of == volume)
    }

    /// Answers those whose records are durable, have failed, or find no space.
    pub(super) fn end_settling(&mut self) {
        let volumes = &self.volumes;
        self.settling.retain(|(volume, record, answer)| {
            let tree = volumes.get(volume).and_then(|found| found.tree.as_ref());
            let tree = tree.filter(|tree| tree.durable() < *record && !tree.has_failed());
            let is_full = tree.is_some_and(|tree| tree.lacks_space());
            let ends = tree.is_none() || is_full;
            if ends {
                let _ = answer.send(if is_full { Err(NoSpaceForFiles) } else { Ok(()) });
            }
            !ends
        });
    }

    /// Figures of clients' files on a volume; for a qtree only their number.
    pub(crate) fn seen(&self, volume: ObjectId) -> FilesSeen {
        if let Some(count) = self.in_qtree(volume) {
            return FilesSeen { count, ..FilesSeen::default() };
        }
        let qtrees = self.qtrees(volume).len() as u64;
        let tree = self.get(volume).and_then(|found| found.tree.as_ref());
        tree.map_or_else(FilesSeen::default, |tree| {
            let top = tree.info(NodeId::ROOT).ok();
            let top = top.map(|NodeInfo { uid: user, gid: group, mode, .. }| Top { user, group, mode });
            // The top folder and those of qtrees are not clients'.
            FilesSeen { count: tree.nodes() - 1 - qtrees, bytes: tree.space().1, top }
        })
    }

    /// Sets owner and mode of a volume's top folder.
    pub(crate) fn set_top(&mut self, now: Span, volume: ObjectId, set: &SetNode) {
        let done = self.tree_mut(volume).and_then(|tree| tree.set(now, NodeId::ROOT, set).map_err(super::status_of));
        if let Err(error) = done {
            tracing::error!(volume = volume.0, %error, "the permissions of a volume's top were not changed");
        }
    }
}
