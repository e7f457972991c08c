//! The state machine: asks come in, commands go to the disk, their ends come back, events go out.
//!
//! ```text
//!   submit ──► queue of the tree ──► begin ──► pieces ──► commands … done ──► leave the tree ──► event
//!                (behind one that                                   └─ wants durability ─► commit ─┘
//!                 must be alone)
//! ```
//! Writes of one tree run side by side. What concerns many blocks at once (trim, zero, clone,
//! delete, restore, resize) runs *alone*: it waits for the tree's changes under way, and later ones
//! wait for it, in order. Reads pass always.

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

/// Trees that a pool may have: it bounds the table and the time of opening.
pub const TREES_MAX: usize = 1 << 16;

/// Bytes that one answer to a status covers: it bounds the blocks that are looked at.
const STATUS_MAX: u64 = 16 << 30;

/// What a pool is opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Blocks of the data that may be taken.
    pub capacity: u64,
    /// Offsets and lengths of the disk's I/O must be multiples of this many bytes: a power of two
    /// up to 4 KiB.
    pub align: u32,
    /// Changes of the maps that wait for a flush at most; with more a commit begins by itself.
    pub pending_max: usize,
    /// Changed nodes that wait for a checkpoint at most; with more the next commit begins one.
    pub dirty_max: usize,
    /// Nodes in memory at most: with as many no block is taken that needs another, as if the pool
    /// were full. Those of what is cut out of shared trees come on top, and what one change makes.
    pub nodes_max: u64,
    /// No command of the data reaches over a multiple of this many bytes, a power of two from
    /// 64 KiB: there the data may go on elsewhere.
    pub segment: u64,
}

impl Default for Settings {
    fn default() -> Self {
        // 64 Ki changes are a record of 1.5 MiB; 4096 nodes are 16 MiB of copies.
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

/// What is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes that some tree points at, each once.
    pub used: u64,
    /// Bytes that may be taken in all.
    pub capacity: u64,
    /// Bytes of nodes in memory.
    pub nodes: u64,
    /// Bytes of nodes that there may be.
    pub nodes_max: u64,
    /// Bytes of the log that a recovery would read now.
    pub log: u64,
}

pub(crate) struct Tree {
    pub root: Root,
    pub size: u64,
    pub frozen: bool,
    /// Blocks that are no holes.
    pub blocks: u64,
    /// Changes under way.
    pub running: u32,
    /// The one under way must be alone.
    pub alone: bool,
    /// Those that wait for one that must be alone, it first.
    pub queue: VecDeque<u32>,
}

impl Tree {
    pub(crate) fn new(root: Root, size: u64, frozen: bool, blocks: u64) -> Tree {
        Tree { root, size, frozen, blocks, running: 0, alone: false, queue: VecDeque::new() }
    }
}

pub(crate) struct Op {
    pub ask: Ask,
    /// Pieces under way, and one while pieces are being made.
    pub left: u32,
    pub refusal: Option<MapRefusal>,
    /// Its commands are durable by themselves, and the maps that they rely on were when they were
    /// made.
    pub durable: bool,
    /// It changed a map.
    pub changed: bool,
    /// It is done together with others.
    pub group: Option<u32>,
}

impl Op {
    pub(crate) fn new(ask: Ask) -> Op {
        Op { ask, left: 1, refusal: None, durable: false, changed: false, group: None }
    }
}

/// What a command is for.
pub(crate) enum Job {
    /// Bytes of a tree written in place, its blocks held together.
    Run {
        op: u32,
        tree: u32,
        at: u64,
        len: u64,
    },
    /// Bytes of one block, which is held alone.
    Alone(Alone),
    Commit,
    Checkpoint,
    /// The end.
    End,
    /// Free blocks before `end` given back.
    Discard {
        end: u64,
    },
}

/// The maps of a pool. See the crate's head.
pub struct Core {
    pub(crate) settings: Settings,
    pub(crate) pool: u64,
    pub(crate) nodes: Nodes,
    pub(crate) space: Space,
    pub(crate) limbo: Limbo,
    /// References that nobody can see any more, given back in steps.
    pub(crate) releasing: Vec<Drop>,
    pub(crate) trees: ByNumber<u32, Tree>,
    pub(crate) locks: ByNumber<u64, Lock>,
    pub(crate) ops: Slots<Op>,
    pub(crate) groups: Groups,
    /// Trees that become smaller, in steps.
    pub(crate) cuts: VecDeque<Cut>,
    pub(crate) jobs: Slots<Job>,
    pub(crate) commands: VecDeque<Command>,
    pub(crate) events: Vec<Ended>,
    /// Pieces that may try again.
    pub(crate) resumed: VecDeque<Piece>,
    /// Pieces that wait for blocks to come free.
    pub(crate) starved: VecDeque<Piece>,
    pub(crate) commit: Commit,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) anchor: Anchor,
    pub(crate) giving: Giving,
    pub(crate) ring: Ring,
    /// The last durable record.
    pub(crate) sequence: u64,
    /// Where the last checkpoint has each node.
    pub(crate) homes: Vec<Home>,
    /// The table that the next checkpoint writes.
    pub(crate) next_table: u8,
    /// Something could not be made durable.
    pub(crate) failed: bool,
}

impl Core {
    /// Takes an ask. Its answer comes by [`Core::take_events`], perhaps at once.
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

    /// Where to read bytes of a tree: appends runs that cover them. Give the pin back when all of
    /// it is read. The last page may be read whole, even where the tree ends within it.
    ///
    /// # Errors
    /// There is no such tree, or it ends before.
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

    /// Whether freed blocks wait for reads that are under way.
    pub fn holds_back(&self) -> bool {
        !self.limbo.is_empty()
    }

    /// Whether a write waits for blocks that are about to come free.
    pub fn is_starved(&self) -> bool {
        !self.starved.is_empty()
    }

    /// Which parts of a tree's bytes are allocated: at most `limit` runs, so perhaps not all of it.
    /// With `sharing` also which of them another tree has, too; what only a change that is not
    /// durable yet took away counts as had.
    ///
    /// # Errors
    /// There is no such tree, or it ends before.
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

    /// What a patch had to read could not be read: nothing of it was written, so nothing else is in
    /// doubt.
    pub fn not_read(&mut self, token: Token, fault: Fault) {
        match self.jobs.take(token.0) {
            Job::Alone(alone) => self.not_copied(alone, fault),
            _ => unreachable!("only patches read"),
        }
        self.resume();
    }

    /// Begins commits that are due. Call it after a round of asks and ends: all flushes of the
    /// round share one.
    pub fn advance(&mut self) {
        self.resume();
        self.start_commit();
    }

    /// Whether some change of the maps is not durable yet.
    pub fn has_changes(&self) -> bool {
        !self.commit.is_clean()
    }

    /// Has the next [`Core::advance`] make what has changed durable, though nobody waits for it.
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

    /// Whether something is asked and not answered, or a command not done.
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

    /// Has maps take so many pages at most from now on; those there are beyond it stay.
    pub fn bound_nodes(&mut self, most: u64) {
        self.settings.nodes_max = most;
    }

    /// What is taken now.
    pub fn usage(&self) -> Usage {
        Usage {
            used: self.space.used() * BLOCK,
            capacity: self.space.capacity().saturating_mul(BLOCK),
            nodes: self.nodes.in_use() * PAGE,
            nodes_max: self.settings.nodes_max.saturating_mul(PAGE),
            log: self.ring.used(),
        }
    }

    /// Takes a block for that of a tree, the one at `goal` if it is free; a refusal if there is
    /// none, or no memory for the nodes that point at it.
    pub(crate) fn take_block(&mut self, tree: u32, block: u64, goal: Option<u64>) -> Result<u64, MapRefusal> {
        if self.nodes.in_use() >= self.settings.nodes_max && !self.nodes.is_laid(self.trees[&tree].root, block) {
            return Err(MapRefusal::Crowded);
        }
        self.space.take(goal).ok_or(MapRefusal::Full)
    }

    /// Blocks that may be taken, from now on.
    pub fn set_capacity(&mut self, blocks: u64) {
        self.space.set_capacity(blocks);
        self.feed();
    }

    /// The size of a tree and the bytes of its blocks, shared ones included; `None` if there is no
    /// such tree.
    pub fn tree(&self, tree: u32) -> Option<(u64, u64)> {
        self.trees.get(&tree).map(|tree| (tree.size, tree.blocks * BLOCK))
    }

    /// Bytes that would come free with a tree: blocks that it alone points at. It walks all that
    /// the tree does not share; beside requests that is [`Owned`]'s to do.
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

    /// What nobody can see any more comes back, in steps.
    pub(crate) fn settle(&mut self) {
        self.releasing.append(&mut self.limbo.settle());
        if self.releasing.is_empty() {
            // Who waited for blocks may have waited in vain.
            self.feed();
        }
    }

    fn drop_root(&mut self, root: Root) {
        let node = root.node.checked_sub(1);
        self.commit.pending.drops.extend(node.map(|node| Drop::Node(node, root.height)));
    }

    /// Gives an entry its value, and the log a record of it.
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
