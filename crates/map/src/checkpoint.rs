//! Checkpoints: changed nodes and a new table are written to the disk, so that the earlier log is
//! no longer needed.
//!
//! ```text
//!   taken with a commit ──► (the commit is durable) ──► nodes to their other slots ──► flush ──► the other table ──► flush
//! ```
//! The images are taken when a commit freezes the pending changes, so a checkpoint contains exactly
//! what the log contains up to that record. It is written beside later commits. Nothing that the
//! previous table names is overwritten, so after a crash in between that table is valid. If a write
//! fails, the log is unchanged and the next commit tries again.
//! of it fails, the log is as it was and the next commit tries again.

use crate::command::{Command, Region, Token};
use crate::core::{Core, Job};
use crate::entry::PAGE;
use crate::refusal::MapRefusal;
use crate::table::{Home, Table, TreeRow};
use block::Fault;
use crc32c::crc32c;

/// Limit on the nodes being written at a time.
const AT_ONCE: u32 = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    /// Its commit is not durable yet.
    Taken,
    Nodes,
    NodesFlush,
    Table,
    TableFlush,
}

/// The checkpoint in progress.
#[derive(Default)]
pub(crate) struct Checkpoint {
    phase: Phase,
    /// The nodes to write, with their pages and contents.
    images: Vec<(u32, u64, Vec<u8>)>,
    next_image: usize,
    under_way: u32,
    fault: Option<Fault>,
    table: Vec<u8>,
    homes: Vec<Home>,
    /// Where the log continues after it.
    head: u64,
    sequence: u64,
    /// Ops that ask for a checkpoint.
    pub asked: Vec<u32>,
    answering: Vec<u32>,
}

impl Checkpoint {
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether one is asked for and none is in progress.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_idle() && !self.asked.is_empty()
    }

    /// Takes out all ops that wait for a checkpoint.
    pub(crate) fn drain(&mut self) -> Vec<u32> {
        let mut ops = std::mem::take(&mut self.asked);
        ops.append(&mut self.answering);
        ops
    }
}

impl Core {
    /// Takes images of all changed nodes. `head` and `sequence` are those of the commit's record.
    pub(crate) fn take_checkpoint(&mut self, head: u64, sequence: u64) {
        let mut homes = self.homes.clone();
        homes.resize(self.nodes.numbers() as usize, Home::default());
        let mut images = Vec::new();
        for number in self.nodes.take_dirty() {
            let Some(words) = self.nodes.words(number) else { continue };
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let home = homes[number as usize].other(crc32c(&bytes));
            homes[number as usize] = home;
            images.extend(home.page(number).map(|page| (number, page, bytes)));
        }
        let row = |(number, tree): (&u32, &crate::core::Tree)| TreeRow {
            tree: *number,
            root: tree.root,
            frozen: tree.frozen,
            size: tree.size,
            blocks: tree.blocks,
        };
        let mut trees: Vec<_> = self.trees.iter().map(row).collect();
        trees.sort_unstable_by_key(|row| row.tree);
        let lives = |(number, home): (usize, &Home)| self.nodes.words(number as u32).map_or(Home::default(), |_| *home);
        let table = Table {
            sequence,
            pool: self.pool,
            log_head: head,
            log_size: self.ring.size,
            end: self.anchor.end.count,
            trees,
            homes: homes.iter().enumerate().map(lives).collect(),
        };
        let asked = std::mem::take(&mut self.checkpoint.asked);
        self.checkpoint = Checkpoint {
            phase: Phase::Taken,
            images,
            table: table.encode(),
            homes,
            head,
            sequence,
            answering: asked,
            ..Checkpoint::default()
        };
    }

    /// Starts to write the images, if there are any.
    pub(crate) fn start_checkpoint(&mut self) {
        if self.checkpoint.phase == Phase::Taken {
            self.checkpoint.phase = Phase::Nodes;
            self.write_nodes();
        }
    }

    /// A command of the checkpoint has ended.
    pub(crate) fn checkpoint_done(&mut self, result: Result<(), Fault>) {
        let checkpoint = &mut self.checkpoint;
        checkpoint.under_way = checkpoint.under_way.saturating_sub(1);
        checkpoint.fault = checkpoint.fault.or(result.err());
        if self.failed {
            return;
        }
        match (checkpoint.phase, checkpoint.fault) {
            (Phase::Nodes, _) => self.write_nodes(),
            (Phase::NodesFlush | Phase::TableFlush, Some(_)) => self.fail(),
            (_, Some(fault)) => self.give_up(fault),
            (Phase::NodesFlush, None) => {
                self.checkpoint.phase = Phase::Table;
                let bytes = std::mem::take(&mut self.checkpoint.table);
                self.store_checkpoint(Region::Table(self.next_table), 0, bytes);
            }
            (Phase::Table, None) => self.flush_checkpoint(Phase::TableFlush, Region::Table(self.next_table)),
            (Phase::TableFlush, None) => self.end_checkpoint(),
            (Phase::Idle | Phase::Taken, _) => unreachable!("no command of a checkpoint is under way"),
        }
    }

    fn write_nodes(&mut self) {
        while self.checkpoint.fault.is_none() && self.checkpoint.under_way < AT_ONCE {
            let at = self.checkpoint.next_image;
            let Some((_, page, bytes)) = self.checkpoint.images.get_mut(at) else { break };
            let (page, bytes) = (*page, std::mem::take(bytes));
            self.checkpoint.next_image += 1;
            self.store_checkpoint(Region::Nodes, page * PAGE, bytes);
        }
        match (self.checkpoint.under_way, self.checkpoint.fault) {
            (0, Some(fault)) => self.give_up(fault),
            (0, None) => self.flush_checkpoint(Phase::NodesFlush, Region::Nodes),
            _ => {}
        }
    }

    fn store_checkpoint(&mut self, region: Region, at: u64, bytes: Vec<u8>) {
        let token = Token(self.jobs.add(Job::Checkpoint));
        self.checkpoint.under_way += 1;
        self.commands.push_back(Command::Store { token, region, at, bytes, durable: false });
    }

    fn flush_checkpoint(&mut self, phase: Phase, region: Region) {
        self.checkpoint.phase = phase;
        let token = Token(self.jobs.add(Job::Checkpoint));
        self.checkpoint.under_way += 1;
        self.commands.push_back(Command::Flush { token, region });
    }

    fn end_checkpoint(&mut self) {
        let done = std::mem::take(&mut self.checkpoint);
        self.checkpoint.asked = done.asked;
        self.homes = done.homes;
        self.next_table ^= 1;
        self.ring.advance(done.head);
        self.checkpointed(done.sequence);
        done.answering.into_iter().for_each(|op| self.end(op, Ok(())));
    }

    fn give_up(&mut self, fault: Fault) {
        let lost = std::mem::take(&mut self.checkpoint);
        self.checkpoint.asked = lost.asked;
        self.nodes.put_back_dirty(lost.images.into_iter().map(|(number, ..)| number));
        lost.answering.into_iter().for_each(|op| self.end(op, Err(MapRefusal::Disk(fault))));
        self.checkpoint_lost();
    }
}
