//! Group commit: changes of the maps become durable, first the data, then the log.
//!
//! ```text
//!   pending ──► in flight:  flush of the data ──► record to the log ──► drops are worked off, waiting asks are answered
//!      ▲                                          └ no room in the ring: a checkpoint in its place
//!      └ what changes meanwhile goes with the next
//! ```
//! One commit is in progress at a time, so records are in order, and all flushes that arrive
//! meanwhile share the next one. If nothing is pending, a flush is one flush of the data. A failure
//! is final for the pool: after a failed flush it is unknown what the disk has lost, and the next
//! flush may falsely succeed.

use crate::change::key;
use crate::command::{Command, Region, Token};
use crate::core::{Core, Job};
use crate::entry::Entry;
use crate::record::{self, Action};
use crate::refusal::MapRefusal;
use crate::slots::ByNumber;
use crate::tree::Drop;
use block::Fault;

/// Changes of the maps that become durable together.
#[derive(Default)]
pub(crate) struct Batch {
    pub actions: Vec<Action>,
    /// References that the durable map loses by them.
    pub drops: Vec<Drop>,
}

/// The progress of the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Flushing,
    Logging,
    /// A checkpoint replaces the record.
    Checkpoint,
}

/// A record and its position in the ring.
struct Record {
    at: u64,
    len: u64,
    bytes: Vec<u8>,
}

pub(crate) struct Commit {
    phase: Phase,
    pub pending: Batch,
    /// The index, in the pending actions, of the last `Set` of a block.
    sets: ByNumber<u64, usize>,
    in_flight: Batch,
    /// Ops that want what ended before them to be durable.
    pub waiting: Vec<u32>,
    answering: Vec<u32>,
    /// The record of the batch in flight; `None` if there is nothing to record, or no room.
    record: Option<Record>,
    /// A request waits for blocks that a commit frees.
    pub forced: bool,
}

impl Default for Commit {
    fn default() -> Self {
        Commit {
            phase: Phase::Idle,
            pending: Batch::default(),
            sets: ByNumber::default(),
            in_flight: Batch::default(),
            waiting: Vec::new(),
            answering: Vec::new(),
            record: None,
            forced: false,
        }
    }
}

impl Commit {
    /// Records a new value of an entry. Only the last one since the last change of structure is
    /// kept.
    pub(crate) fn note_set(&mut self, tree: u32, block: u64, entry: Entry) {
        let action = Action::Set { tree, block, entry };
        match self.sets.entry(key(tree, block)) {
            std::collections::hash_map::Entry::Occupied(at) => self.pending.actions[*at.get()] = action,
            std::collections::hash_map::Entry::Vacant(at) => {
                at.insert(self.pending.actions.len());
                self.pending.actions.push(action);
            }
        }
    }

    /// Records a change of structure, which keeps its order relative to all other actions.
    pub(crate) fn note_structure(&mut self, action: Action) {
        self.sets.clear();
        self.pending.actions.push(action);
    }

    /// Whether there are no changes that are not durable.
    pub(crate) fn is_clean(&self) -> bool {
        self.pending.actions.is_empty() && self.in_flight.actions.is_empty()
    }

    /// Whether a commit will release references.
    pub(crate) fn has_drops(&self) -> bool {
        !self.pending.drops.is_empty() || !self.in_flight.drops.is_empty()
    }

    /// References that are still counted but no longer exist, for the check.
    pub(crate) fn drops(&self) -> impl Iterator<Item = &Drop> {
        self.pending.drops.iter().chain(&self.in_flight.drops)
    }
}

impl Core {
    /// Starts a commit if one is due and none is in progress.
    pub(crate) fn start_commit(&mut self) {
        if self.failed {
            self.refuse_waiting();
            return;
        }
        if self.is_grouping() {
            // A group must be in one record.
            return;
        }
        let commit = &self.commit;
        let due = commit.forced
            || !commit.waiting.is_empty()
            || commit.pending.actions.len() >= self.settings.pending_max
            || self.checkpoint.is_asked();
        if commit.phase != Phase::Idle || !due {
            return;
        }
        let (actions, idle) = (commit.pending.actions.len(), self.checkpoint.is_idle());
        let len = if actions == 0 { 0 } else { record::record_len(actions) };
        let place = self.ring.place(len);
        if place.is_none() && !idle {
            // The checkpoint in progress will make room.
            return;
        }
        self.freeze(place.filter(|_| len > 0));
        let is_long = self.ring.used() + len > self.ring.size / 2 || self.nodes.dirty() > self.settings.dirty_max;
        if idle && (place.is_none() || is_long || self.checkpoint.is_asked()) {
            let head = place.map_or(self.ring.head, |place| place + len);
            let head = if len == 0 { self.ring.head } else { head };
            self.take_checkpoint(head, self.sequence + u64::from(len > 0));
        }
        let token = Token(self.jobs.add(Job::Commit));
        self.commands.push_back(Command::Flush { token, region: Region::Data });
    }

    /// Puts the pending batch in flight, as it is now. All data that it describes has been
    /// written.
    fn freeze(&mut self, place: Option<u64>) {
        let (pool, sequence, end) = (self.pool, self.sequence + 1, self.anchor.end.count);
        let commit = &mut self.commit;
        commit.forced = false;
        commit.in_flight = std::mem::take(&mut commit.pending);
        commit.answering = std::mem::take(&mut commit.waiting);
        commit.sets.clear();
        commit.record = place.map(|at| {
            let bytes = record::encode(pool, sequence, end, &commit.in_flight.actions);
            Record { at, len: bytes.len() as u64, bytes }
        });
        commit.phase = Phase::Flushing;
    }

    /// A command of the commit has ended.
    pub(crate) fn commit_done(&mut self, result: Result<(), Fault>) {
        if result.is_err() {
            self.fail();
        }
        match self.commit.phase {
            _ if self.failed => self.commit.phase = Phase::Idle,
            Phase::Flushing => match &mut self.commit.record {
                Some(record) => {
                    let (at, bytes) = (record.at, std::mem::take(&mut record.bytes));
                    let token = Token(self.jobs.add(Job::Commit));
                    self.commands.push_back(Command::Store { token, region: Region::Log, at, bytes, durable: true });
                    self.commit.phase = Phase::Logging;
                }
                None if !self.commit.in_flight.actions.is_empty() => {
                    self.commit.phase = Phase::Checkpoint;
                    self.start_checkpoint();
                }
                None => {
                    self.start_checkpoint();
                    self.committed();
                }
            },
            Phase::Logging => {
                let record = self.commit.record.take().expect("it was just written");
                self.ring.push(record.at, record.len);
                self.sequence += 1;
                self.start_checkpoint();
                self.committed();
            }
            Phase::Idle | Phase::Checkpoint => unreachable!("no command of a commit is under way"),
        }
    }

    /// A checkpoint is durable. If it replaces a record, the record's batch is durable, too.
    pub(crate) fn checkpointed(&mut self, sequence: u64) {
        if self.commit.phase == Phase::Checkpoint {
            self.sequence = sequence;
            self.committed();
        }
    }

    /// A checkpoint could not be written. The log is unchanged, so only a batch without a record is
    /// lost.
    pub(crate) fn checkpoint_lost(&mut self) {
        if self.commit.phase == Phase::Checkpoint {
            self.fail();
        }
    }

    /// The batch is durable: its drops are released, and waiting ops are answered.
    fn committed(&mut self) {
        self.commit.phase = Phase::Idle;
        let Batch { drops, .. } = std::mem::take(&mut self.commit.in_flight);
        self.limbo.push(drops);
        self.settle();
        for op in std::mem::take(&mut self.commit.answering) {
            self.end(op, Ok(()));
        }
    }

    /// Something could not be made durable: no change and no flush is accepted from here on.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
        self.commit.phase = Phase::Idle;
        self.refuse_waiting();
    }

    fn refuse_waiting(&mut self) {
        let lists = [&mut self.commit.answering, &mut self.commit.waiting];
        let mut ops: Vec<u32> = lists.into_iter().flat_map(std::mem::take).collect();
        ops.append(&mut self.checkpoint.drain());
        ops.into_iter().for_each(|op| self.end(op, Err(MapRefusal::Failed)));
        for piece in std::mem::take(&mut self.starved) {
            self.piece_ended(piece.op, Some(MapRefusal::Failed));
        }
    }
}
