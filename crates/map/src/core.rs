//! The state machine: asks come in, commands go to the disk, their results come back, events go
//! out.
//!
//! ```text
//!   submit ──► queue of the tree ──► begin ──► pieces ──► commands … done ──► leave the tree ──► event
//!                (behind one that                                   └─ wants durability ─► commit ─┘
//!                 must be alone)
//! ```
//! Writes to one tree run concurrently. What affects many blocks at once (trim, zero, clone,
//! delete, restore, resize) runs *alone*: it waits for the tree's changes in progress, and later
//! changes wait for it, in order. Reads never wait.

mod operations;
mod runs;

use crate::ask::{Ask, Ended, What};
use crate::change::{Alone, Lock, Piece};
use crate::checkpoint::Checkpoint;
use crate::clearing::Cut;
use crate::command::{Command, Run, Token};
use crate::commit::Commit;
use crate::end::Anchor;
use crate::entry::{BLOCK, Entry, PAGE};
use crate::giving::Giving;
use crate::group::Groups;
use crate::limbo::{Limbo, Pin};
use crate::record::{Action, Ring};
use crate::refusal::MapRefusal;
use crate::slots::{ByNumber, Slots};
use crate::space::Space;
use crate::steps::{Owned, Steps};
use crate::table::Home;
use crate::tree::{Drop, Nodes, Root};
use block::{Extent, Fault};
use runs::runs_of;
use std::collections::VecDeque;

/// Limit on the trees of a pool; it bounds the table and the time to open.
pub const TREES_MAX: usize = 1 << 16;

/// Bytes that one answer to a status request covers; it bounds the blocks that are examined.
const STATUS_MAX: u64 = 16 << 30;

/// The settings with which a pool is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Capacity for data, in blocks.
    pub capacity: u64,
    /// Offsets and lengths of the disk's I/O must be multiples of this many bytes, a power of two
    /// up to 4 KiB.
    pub align: u32,
    /// Limit on changes of the maps that wait for a flush. Beyond it, a commit starts by itself.
    pub pending_max: usize,
    /// Limit on changed nodes that wait for a checkpoint. Beyond it, the next commit starts one.
    pub dirty_max: usize,
    /// Limit on nodes in memory. When it is reached, no block is allocated that needs another node,
    /// as if the pool were full. It may be exceeded by clearing parts of shared trees, and by what
    /// one change needs.
    pub nodes_max: u64,
    /// No command of the data crosses a multiple of this many bytes, a power of two from 64 KiB:
    /// the data may continue elsewhere there.
    pub segment: u64,
}

impl Default for Settings {
    fn default() -> Self {
        // 64 Ki changes make a record of 1.5 MiB; 4096 nodes are 16 MiB of copies.
        Settings {
            capacity: u64::MAX >> 20,
            align: 4096,
            pending_max: 1 << 16,
            dirty_max: 4096,
            nodes_max: u64::MAX,
            segment: 1 << 63,
        }
    }
}

/// How much of a pool is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes that trees refer to, each counted once.
    pub used: u64,
    /// Capacity in bytes.
    pub capacity: u64,
    /// Bytes of nodes in memory.
    pub nodes: u64,
    /// Limit on the bytes of nodes.
    pub nodes_max: u64,
    /// Bytes of the log that a recovery would read at present.
    pub log: u64,
}

pub(crate) struct Tree {
    pub root: Root,
    pub size: u64,
    pub frozen: bool,
    /// Blocks that are not holes.
    pub blocks: u64,
    /// Changes in progress.
    pub running: u32,
    /// The change in progress runs alone.
    pub alone: bool,
    /// Changes that wait, the first of them to run alone.
    pub queue: VecDeque<u32>,
}

impl Tree {
    pub(crate) fn new(root: Root, size: u64, frozen: bool, blocks: u64) -> Tree {
        Tree { root, size, frozen, blocks, running: 0, alone: false, queue: VecDeque::new() }
    }
}

pub(crate) struct Op {
    pub ask: Ask,
    /// Pieces in progress, plus one while pieces are still being created.
    pub left: u32,
    pub refusal: Option<MapRefusal>,
    /// Its commands are durable by themselves, and the maps that they rely on were durable when the
    /// commands were created.
    pub durable: bool,
    /// It changed a map.
    pub changed: bool,
    /// The group that it belongs to.
    pub group: Option<u32>,
}

impl Op {
    pub(crate) fn new(ask: Ask) -> Op {
        Op { ask, left: 1, refusal: None, durable: false, changed: false, group: None }
    }
}

/// What a command is for.
pub(crate) enum Job {
    /// Bytes of a tree written in place, with a shared hold on their blocks.
    Run {
        op: u32,
        tree: u32,
        at: u64,
        len: u64,
    },
    /// Bytes of one block that is held exclusively.
    Alone(Alone),
    Commit,
    Checkpoint,
    /// A write of the end.
    End,
    /// Discards free blocks before `end`.
    Discard {
        end: u64,
    },
}

/// The maps of a pool; see the crate's documentation.
pub struct Core {
    pub(crate) settings: Settings,
    pub(crate) pool: u64,
    pub(crate) nodes: Nodes,
    pub(crate) space: Space,
    pub(crate) limbo: Limbo,
    /// References that are no longer visible, released in steps.
    pub(crate) releasing: Vec<Drop>,
    pub(crate) trees: ByNumber<u32, Tree>,
    pub(crate) locks: ByNumber<u64, Lock>,
    pub(crate) ops: Slots<Op>,
    pub(crate) groups: Groups,
    /// Trees being shortened, in steps.
    pub(crate) cuts: VecDeque<Cut>,
    pub(crate) jobs: Slots<Job>,
    pub(crate) commands: VecDeque<Command>,
    pub(crate) events: Vec<Ended>,
    /// Pieces that may be tried again.
    pub(crate) resumed: VecDeque<Piece>,
    /// Pieces that wait for blocks to become free.
    pub(crate) starved: VecDeque<Piece>,
    pub(crate) commit: Commit,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) anchor: Anchor,
    pub(crate) giving: Giving,
    pub(crate) ring: Ring,
    /// The sequence of the last durable record.
    pub(crate) sequence: u64,
    /// Where the last checkpoint put each node.
    pub(crate) homes: Vec<Home>,
    /// The table that the next checkpoint writes.
    pub(crate) next_table: u8,
    /// A change could not be made durable.
    pub(crate) failed: bool,
}

impl Core {
    /// Accepts an ask. Its answer comes from [`Core::take_events`], perhaps immediately.
    pub fn submit(&mut self, ask: Ask) {
        let op = self.ops.add(Op::new(ask));
        match self.refuse(&ask) {
            Some(refusal) => self.end(op, Err(refusal)),
            None => match ask.what {
                What::Flush => self.commit.waiting.push(op),
                What::Checkpoint => self.checkpoint.asked.push(op),
                What::Anchor => self.ask_anchor(op),
                What::Create { .. } if self.is_grouping() => self.put_off(op),
                What::Create { size } => self.create(op, size),
                _ => self.queue(op),
            },
        }
    }

    /// Where to read bytes of a tree: appends the runs that cover them. Return the pin when all of
    /// it was read. The last page may be read whole, even if the tree ends within it.
    ///
    /// # Errors
    /// There is no such tree, or it is too short.
    pub fn read(&mut self, tree: u32, at: u64, len: u64, out: &mut Vec<Run>) -> Result<Pin, MapRefusal> {
        let found = self.trees.get(&tree).ok_or(MapRefusal::NoTree(tree))?;
        let last = found.size.next_multiple_of(PAGE);
        let end = at.checked_add(len).filter(|end| *end <= last).ok_or(MapRefusal::Beyond)?;
        let mut here = at;
        while here < end {
            let block = here / BLOCK;
            let (entry, _) = self.nodes.get(found.root, block);
            runs_of(entry, here % BLOCK, end.min((block + 1) * BLOCK) - block * BLOCK, self.settings.segment, out);
            here = (block + 1) * BLOCK;
        }
        Ok(self.limbo.pin())
    }

    /// A read has ended.
    pub fn unpin(&mut self, pin: Pin) {
        self.limbo.unpin(pin);
        if !self.limbo.is_empty() {
            self.settle();
        }
    }

    /// Whether freed blocks wait for reads in progress.
    pub fn holds_back(&self) -> bool {
        !self.limbo.is_empty()
    }

    /// Whether a write waits for blocks that are about to become free.
    pub fn is_starved(&self) -> bool {
        !self.starved.is_empty()
    }

    /// Which parts of a tree's bytes are allocated: at most `limit` runs, so it may not cover all.
    /// With `sharing`, also which of them another tree shares; what was removed only by a change
    /// that is not durable yet still counts.
    ///
    /// # Errors
    /// There is no such tree, or it is too short.
    pub fn status(&self, tree: u32, at: u64, len: u64, limit: usize, sharing: bool) -> Result<Vec<Extent>, MapRefusal> {
        let found = self.trees.get(&tree).ok_or(MapRefusal::NoTree(tree))?;
        let end = at.checked_add(len).filter(|end| *end <= found.size).ok_or(MapRefusal::Beyond)?.min(at + STATUS_MAX);
        let (mut runs, mut extents, mut here) = (Vec::new(), Vec::<Extent>::new(), at);
        while here < end && extents.len() <= limit {
            let base = here / BLOCK * BLOCK;
            let (entry, node_shared) = self.nodes.get(found.root, here / BLOCK);
            let shared = sharing && entry.place().is_some_and(|place| node_shared || self.space.refs(place) > 1);
            runs_of(entry, here - base, end.min(base + BLOCK) - base, self.settings.segment, &mut runs);
            for run in runs.drain(..) {
                let (hole, zero) = (entry.is_hole(), run.at.is_none());
                match extents.last_mut().filter(|last| (last.hole, last.zero, last.shared) == (hole, zero, shared)) {
                    Some(last) => last.len += run.len,
                    None => extents.push(Extent { len: run.len, hole, zero, shared }),
                }
            }
            here = base + BLOCK;
        }
        extents.truncate(limit);
        Ok(extents)
    }

    /// A command has ended.
    pub fn done(&mut self, token: Token, result: Result<(), Fault>) {
        match self.jobs.take(token.0) {
            Job::Run { op, tree, at, len } => self.run_done(op, tree, (at, len), result),
            Job::Alone(alone) => self.alone_done(alone, result),
            Job::Commit => self.commit_done(result),
            Job::Checkpoint => self.checkpoint_done(result),
            Job::End => self.end_written(result),
            Job::Discard { end } => self.discard_done(end, result),
        }
        self.resume();
    }

    /// The read of a patch failed. Nothing was written, so nothing else is in doubt.
    pub fn not_read(&mut self, token: Token, fault: Fault) {
        match self.jobs.take(token.0) {
            Job::Alone(alone) => self.not_copied(alone, fault),
            _ => unreachable!("only patches read"),
        }
        self.resume();
    }

    /// Starts the commits that are due. Call it after a round of asks and results, so that all
    /// flushes of the round share one commit.
    pub fn advance(&mut self) {
        self.resume();
        self.start_commit();
    }

    /// Whether there are changes that are not durable.
    pub fn has_changes(&self) -> bool {
        !self.commit.is_clean()
    }

    /// Makes the next [`Core::advance`] commit, even if nobody waits for it.
    pub fn commit(&mut self) {
        self.commit.forced = true;
    }

    /// The next command for the disk.
    pub fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// Moves the answers to the end of `out`.
    pub fn take_events(&mut self, out: &mut Vec<Ended>) {
        out.append(&mut self.events);
    }

    /// Whether an ask was not answered, or a command has not ended.
    pub fn is_busy(&self) -> bool {
        self.ops.len() + self.jobs.len() > 0
    }

    /// Whether a failure to make something durable has stopped all changes.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// The pool's own number.
    pub fn pool(&self) -> u64 {
        self.pool
    }

    /// Sets the limit on nodes in memory; nodes beyond it are kept.
    pub fn bound_nodes(&mut self, most: u64) {
        self.settings.nodes_max = most;
    }

    /// How much is used at present.
    pub fn usage(&self) -> Usage {
        Usage {
            used: self.space.used() * BLOCK,
            capacity: self.space.capacity().saturating_mul(BLOCK),
            nodes: self.nodes.in_use() * PAGE,
            nodes_max: self.settings.nodes_max.saturating_mul(PAGE),
            log: self.ring.used(),
        }
    }

    /// Allocates a block for a block of a tree, preferably the one at `goal`. It is refused if none
    /// is free, or if there is no memory for the nodes that refer to it.
    pub(crate) fn take_block(&mut self, tree: u32, block: u64, goal: Option<u64>) -> Result<u64, MapRefusal> {
        if self.nodes.in_use() >= self.settings.nodes_max && !self.nodes.is_laid(self.trees[&tree].root, block) {
            return Err(MapRefusal::Crowded);
        }
        self.space.take(goal).ok_or(MapRefusal::Full)
    }

    /// Sets the capacity in blocks.
    pub fn set_capacity(&mut self, blocks: u64) {
        self.space.set_capacity(blocks);
        self.feed();
    }

    /// The size of a tree and the bytes of its blocks, shared ones included; `None` if there is no
    /// such tree.
    pub fn tree(&self, tree: u32) -> Option<(u64, u64)> {
        self.trees.get(&tree).map(|tree| (tree.size, tree.blocks * BLOCK))
    }

    /// Bytes that deleting a tree would free: blocks that only it refers to. It walks everything
    /// that the tree does not share; use [`Owned`] while serving requests.
    pub fn own(&self, tree: u32) -> u64 {
        let mut owned = Owned::of(tree);
        std::iter::repeat_with(|| owned.step(self, &mut Steps::new(u32::MAX))).find_map(|found| found).unwrap_or(0)
    }

    /// The trees' numbers, in order, and whether each is a snapshot.
    pub fn trees(&self) -> Vec<(u32, bool)> {
        let mut trees: Vec<_> = self.trees.iter().map(|(number, tree)| (*number, tree.frozen)).collect();
        trees.sort_unstable();
        trees
    }

    pub(crate) fn create(&mut self, op: u32, size: u64) {
        let number = self.ops.get(op).ask.tree;
        let root = Root { node: 0, height: Root::height_for(size.div_ceil(BLOCK)) };
        self.trees.insert(number, Tree::new(root, size, false, 0));
        self.commit.note_structure(Action::Create { tree: number, size });
        self.commit.waiting.push(op);
    }

    pub(crate) fn share(&mut self, number: u32, from: u32, frozen: bool) {
        let source = &self.trees[&from];
        let tree = Tree::new(source.root, source.size, frozen, source.blocks);
        self.nodes.share(tree.root);
        self.trees.insert(number, tree);
        self.commit.note_structure(Action::Share { tree: number, from, frozen });
    }

    pub(crate) fn restore(&mut self, number: u32, from: u32) {
        let source = &self.trees[&from];
        let (root, size, blocks) = (source.root, source.size, source.blocks);
        self.nodes.share(root);
        let tree = self.trees.get_mut(&number).expect("checked");
        let old = std::mem::replace(&mut tree.root, root);
        (tree.size, tree.blocks) = (size, blocks);
        self.drop_root(old);
        self.commit.note_structure(Action::Restore { tree: number, from });
    }

    pub(crate) fn delete(&mut self, number: u32) {
        let tree = self.trees.remove(&number).expect("checked");
        self.drop_root(tree.root);
        self.commit.note_structure(Action::Delete { tree: number });
        for op in tree.queue {
            let gone = MapRefusal::NoTree(number);
            match self.ops.get(op).group {
                Some(group) => self.miss(group, op, gone),
                None => self.end(op, Err(gone)),
            }
        }
    }

    /// Releases what is no longer visible, in steps.
    pub(crate) fn settle(&mut self) {
        self.releasing.append(&mut self.limbo.settle());
        if self.releasing.is_empty() {
            // Pieces that waited for blocks may have waited in vain.
            self.feed();
        }
    }

    fn drop_root(&mut self, root: Root) {
        let node = root.node.checked_sub(1);
        self.commit.pending.drops.extend(node.map(|node| Drop::Node(node, root.height)));
    }

    /// Sets an entry and records the change for the log.
    pub(crate) fn set_entry(&mut self, number: u32, block: u64, entry: Entry) -> bool {
        let tree = self.trees.get_mut(&number).expect("a tree stays while a change is under way");
        let (old, _) = self.nodes.get(tree.root, block);
        if old == entry {
            return false;
        }
        self.nodes.set(&mut tree.root, block, entry, &mut self.space);
        tree.blocks += u64::from(!entry.is_hole());
        tree.blocks -= u64::from(!old.is_hole());
        let gone = old.place().filter(|_| old.place() != entry.place());
        self.commit.pending.drops.extend(gone.map(Drop::Block));
        self.commit.note_set(number, block, entry);
        true
    }
}
