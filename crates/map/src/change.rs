//! Writes: in place where the block is the tree's alone, into a copy where it is shared.
//!
//! ```text
//!   page valid, block unshared     write in place                                      no change of the map
//!   page zero, block unshared      write in place, then the page becomes valid         Set (mask)
//!   hole                           take a block, no page valid; then as above          Set, Set
//!   block shared                   take a block, copy what stays valid, lay the
//!                                  data over it, then point at the copy                Set (place), a drop
//! ```
//! The map changes when the data is written, never before; the record of it goes to the log after a
//! flush of the data.
//!
//! **Locks.** Writes of whole pages hold their blocks together, side by side. One that must copy,
//! or read what surrounds its bytes, holds its block alone. A lock is held only while its own
//! command is at the disk, and nobody waits for one while holding another, so all come free.

use crate::ask::Ask;
use crate::command::{Command, Patch, Source, Token};
use crate::core::{Core, Job};
use crate::entry::{self, BLOCK, PAGE, covered, hull, touched};
use crate::refusal::MapRefusal;
use block::Fault;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;

/// The part of an op that lies in one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub op: u32,
    pub tree: u32,
    /// First byte in the tree.
    pub at: u64,
    pub len: u64,
    /// First byte within the client's data; `None` lays zeroes.
    pub from: Option<u32>,
}

/// A piece that holds its block alone.
#[derive(Clone, Copy)]
pub(crate) struct Alone {
    piece: Piece,
    /// Where it is written.
    place: u64,
    /// That is a copy that nothing points at yet.
    is_copy: bool,
}

/// Who holds a block, and who waits for it.
#[derive(Default)]
pub(crate) struct Lock {
    together: u32,
    alone: bool,
    waiting: VecDeque<Piece>,
}

/// A write in place that may grow by the next block.
#[derive(Clone, Copy)]
struct Open {
    at: u64,
    len: u64,
    from: u32,
    to: u64,
}

impl Piece {
    fn block(&self) -> u64 {
        self.at / BLOCK
    }

    /// Its bytes within its block.
    fn within(&self) -> (u64, u64) {
        (self.at % BLOCK, self.at % BLOCK + self.len)
    }

    fn key(&self) -> u64 {
        key(self.tree, self.block())
    }
}

/// A tree's block as one number: blocks of a tree of [`crate::SIZE_MAX`] bytes fit 31 bits.
pub(crate) fn key(tree: u32, block: u64) -> u64 {
    u64::from(tree) << 32 | block
}

impl Core {
    /// Begins a write: its pieces, those in place that follow each other on the disk as one
    /// command.
    pub(crate) fn write(&mut self, op: u32) {
        let ask = self.ops.get(op).ask;
        let (mut here, end) = (ask.at, ask.at + ask.len);
        let mut open = None;
        while here < end {
            let len = (BLOCK - here % BLOCK).min(end - here);
            let piece = Piece { op, tree: ask.tree, at: here, len, from: Some((here - ask.at) as u32) };
            self.ops.get_mut(op).left += 1;
            self.start(piece, &mut open);
            here += len;
        }
        self.close(op, open);
        self.piece_ended(op, None);
    }

    /// Begins one piece by itself.
    pub(crate) fn start_alone(&mut self, piece: Piece) {
        let mut open = None;
        self.start(piece, &mut open);
        self.close(piece.op, open);
    }

    /// Lets pieces go on that waited for a block that came free.
    pub(crate) fn resume(&mut self) {
        while let Some(piece) = self.resumed.pop_front() {
            self.start_alone(piece);
        }
    }

    /// Lets pieces try again that waited for space, if there may be some.
    pub(crate) fn feed(&mut self) {
        if !self.starved.is_empty() {
            self.resumed.append(&mut self.starved);
        }
    }

    fn start(&mut self, piece: Piece, open: &mut Option<Open>) {
        let (from, to) = piece.within();
        let root = self.trees[&piece.tree].root;
        let (entry, node_shared) = self.nodes.get(root, piece.block());
        let shared = entry.place().is_some_and(|place| node_shared || self.space.refs(place) > 1);
        let partly = touched(from, to) & !covered(from, to);
        if piece.from.is_none() && entry.mask() & touched(from, to) == 0 {
            // Zeroes over zeroes.
            return self.piece_ended(piece.op, None);
        }
        let whole = self.is_aligned(&piece) && partly & !entry.mask() == 0;
        let alone = shared || !whole || piece.from.is_none();
        if !self.lock(&piece, alone) {
            return;
        }
        if self.failed {
            self.unlock(piece.key(), alone);
            return self.piece_ended(piece.op, Some(MapRefusal::Failed));
        }
        let place = match entry.place().filter(|_| !shared) {
            Some(place) => place,
            None => match self.take_block(piece.tree, piece.block(), self.goal(&piece)) {
                Ok(place) => place,
                Err(refusal) => return self.starve(piece, alone, refusal),
            },
        };
        if entry.is_hole() {
            // Allocated and empty: it reads as zeroes whatever happens next.
            self.set_entry(piece.tree, piece.block(), entry::Entry::new(place, 0));
            self.ops.get_mut(piece.op).changed = true;
        }
        if entry.mask() & touched(from, to) != touched(from, to) {
            // Another write that is under way in this block may be the one that makes the pages
            // valid: then this one changes nothing in the end, and still is not durable before that
            // change is.
            self.ops.get_mut(piece.op).changed = true;
        }
        match alone {
            true => self.start_held(Alone { piece, place, is_copy: shared }, entry),
            false => self.extend(piece, place * BLOCK + from, open),
        }
    }

    /// Whether a piece may go to the disk as it is.
    fn is_aligned(&self, piece: &Piece) -> bool {
        let data = piece.from.map_or(0, u64::from);
        self.ops.get(piece.op).ask.aligned && (piece.at | piece.len | data) & (u64::from(self.settings.align) - 1) == 0
    }

    /// The block after that of the tree's block before, so that what is written in order lies in
    /// order.
    fn goal(&self, piece: &Piece) -> Option<u64> {
        let (before, _) = self.nodes.get(self.trees[&piece.tree].root, piece.block().checked_sub(1)?);
        before.place().map(|place| place + 1)
    }

    /// A piece found no block. Blocks that are about to come free are waited for, and nodes with
    /// them.
    fn starve(&mut self, piece: Piece, alone: bool, refusal: MapRefusal) {
        self.unlock(piece.key(), alone);
        let has_drops = self.commit.has_drops();
        if has_drops || !self.limbo.is_empty() || !self.releasing.is_empty() || self.space.has_lent() {
            // A commit takes the drops; what is in limbo comes free with the read that holds it,
            // what is being given back in some steps, what is lent with its discard.
            self.commit.forced |= has_drops;
            self.starved.push_back(piece);
        } else {
            self.piece_ended(piece.op, Some(refusal));
        }
    }

    /// Writes a piece in place, by the command that is open if it goes on there.
    fn extend(&mut self, piece: Piece, to: u64, open: &mut Option<Open>) {
        let from = piece.from.expect("zeroes are laid alone");
        match open {
            Some(open) if self.goes_on(open, piece.at, to) => {
                open.len += piece.len;
                // The command of the run stands for the piece too.
                self.ops.get_mut(piece.op).left -= 1;
            }
            _ => {
                let before = open.replace(Open { at: piece.at, len: piece.len, from, to });
                self.close(piece.op, before);
            }
        }
    }

    /// Whether the bytes at `at` of a tree, to be written to `to`, follow those of an open write,
    /// in the same segment.
    fn goes_on(&self, open: &Open, at: u64, to: u64) -> bool {
        open.to + open.len == to && open.at + open.len == at && to & (self.settings.segment - 1) != 0
    }

    fn close(&mut self, op: u32, open: Option<Open>) {
        let Some(Open { at, len, from, to }) = open else { return };
        let Ask { id, tree, .. } = self.ops.get(op).ask;
        let durable = self.is_durable(op);
        let token = Token(self.jobs.add(Job::Run { op, tree, at, len }));
        self.commands.push_back(Command::Write { token, id, from, to, len: len as u32, durable });
    }

    /// Whether a command of an op made now can be durable by itself: if the maps as they are now
    /// are. Otherwise the op waits for a commit in the end.
    fn is_durable(&mut self, op: u32) -> bool {
        let clean = self.commit.is_clean();
        let op = self.ops.get_mut(op);
        op.durable &= clean;
        op.durable
    }

    /// A run in place has ended: its pages are valid now.
    pub(crate) fn run_done(&mut self, op: u32, tree: u32, (at, len): (u64, u64), result: Result<(), Fault>) {
        let (mut here, end) = (at, at + len);
        while here < end {
            let block = here / BLOCK;
            let to = end.min((block + 1) * BLOCK);
            if result.is_ok() {
                let (entry, _) = self.nodes.get(self.trees[&tree].root, block);
                let mask = entry.mask() | touched(here - block * BLOCK, to - block * BLOCK);
                if mask != entry.mask() {
                    self.set_entry(tree, block, entry.with_mask(mask));
                    self.ops.get_mut(op).changed = true;
                }
            }
            self.unlock(key(tree, block), false);
            here = to;
        }
        self.write_failed(op, result);
        self.piece_ended(op, result.err().map(MapRefusal::Disk));
    }

    /// Begins a piece that holds its block alone.
    fn start_held(&mut self, alone: Alone, old: entry::Entry) {
        let (piece, place) = (alone.piece, alone.place);
        let (from, to) = piece.within();
        let (touched, covered) = (touched(from, to), covered(from, to));
        let kept = if alone.is_copy { old.mask() & !covered } else { old.mask() & touched & !covered };
        let needed = kept | touched;
        let (id, durable) = (self.ops.get(piece.op).ask.id, self.is_durable(piece.op));
        let direct = kept == 0 && touched == covered && self.is_aligned(&piece);
        let token = Token(self.jobs.add(Job::Alone(alone)));
        if let (true, Some(data)) = (direct, piece.from) {
            let to = place * BLOCK + from;
            self.commands.push_back(Command::Write { token, id, from: data, to, len: piece.len as u32, durable });
            return;
        }
        let (first, last) = hull(needed);
        let source = old.place().filter(|_| kept != 0).map(|place| {
            let (low, high) = hull(kept);
            let bytes = |pages: u32| pages * PAGE as u32;
            Source { at: place * BLOCK + u64::from(bytes(low)), into: bytes(low - first), len: bytes(high - low) }
        });
        let patch = Patch {
            to: place * BLOCK + u64::from(first) * PAGE,
            len: (last - first) * PAGE as u32,
            read: source,
            clear: !(kept | covered) >> first,
            into: (from - u64::from(first) * PAGE) as u32,
            bytes: piece.len as u32,
            from: piece.from,
            durable,
        };
        self.commands.push_back(Command::Patch { token, id, patch });
    }

    /// A piece that held its block alone has ended: the map shows it now.
    pub(crate) fn alone_done(&mut self, alone: Alone, result: Result<(), Fault>) {
        let Alone { piece, place, is_copy } = alone;
        if result.is_ok() {
            let (old, _) = self.nodes.get(self.trees[&piece.tree].root, piece.block());
            let (from, to) = piece.within();
            // Zeroes are laid only over parts of valid pages.
            let mask = if piece.from.is_some() { old.mask() | touched(from, to) } else { old.mask() };
            let changed = self.set_entry(piece.tree, piece.block(), entry::Entry::new(place, mask));
            self.ops.get_mut(piece.op).changed |= changed;
        } else if is_copy {
            self.space.give_back(place);
        }
        self.unlock(piece.key(), true);
        self.write_failed(piece.op, result);
        self.piece_ended(piece.op, result.err().map(MapRefusal::Disk));
    }

    /// What surrounds a piece's bytes could not be read: all is as before.
    pub(crate) fn not_copied(&mut self, alone: Alone, fault: Fault) {
        let Alone { piece, place, is_copy } = alone;
        if is_copy {
            self.space.give_back(place);
        }
        self.unlock(piece.key(), true);
        self.piece_ended(piece.op, Some(MapRefusal::Disk(fault)));
    }

    /// A durable write that fails may have lost what was written before it, like a flush.
    fn write_failed(&mut self, op: u32, result: Result<(), Fault>) {
        if result == Err(Fault::Io) && self.ops.get(op).durable {
            self.fail();
        }
    }

    /// Holds a piece's block, or has the piece wait for it.
    fn lock(&mut self, piece: &Piece, alone: bool) -> bool {
        let lock = self.locks.entry(piece.key()).or_default();
        if lock.alone || alone && lock.together > 0 || !lock.waiting.is_empty() {
            lock.waiting.push_back(*piece);
            return false;
        }
        match alone {
            true => lock.alone = true,
            false => lock.together += 1,
        }
        true
    }

    fn unlock(&mut self, key: u64, alone: bool) {
        let Entry::Occupied(mut held) = self.locks.entry(key) else { unreachable!("it was held") };
        let lock = held.get_mut();
        match alone {
            true => lock.alone = false,
            false => lock.together -= 1,
        }
        if !lock.alone && lock.together == 0 {
            let Lock { waiting, .. } = held.remove();
            if !waiting.is_empty() {
                self.resumed.extend(waiting);
            }
        }
    }
}
