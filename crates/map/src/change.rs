//! Writes: in place if the block belongs to this tree alone, into a copy if it is shared.
//!
//! ```text
//!   page valid, block unshared     write in place                                      no change of the map
//!   page zero, block unshared      write in place, then the page becomes valid         Set (mask)
//!   hole                           take a block, no page valid; then as above          Set, Set
//!   block shared                   take a block, copy what stays valid, lay the
//!                                  data over it, then point at the copy                Set (place), a drop
//! ```
//! The map changes when the data was written, never before. Its record is logged after a flush of
//! the data.
//!
//! **Locks.** Writes of whole pages share their blocks and run concurrently. A write that must
//! copy, or read what surrounds its bytes, holds its block exclusively. A lock is held only while
//! its own command is at the disk, and nobody waits for one while holding another, so there is no
//! deadlock.

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
    /// Offset in the client's data; `None` writes zeroes.
    pub from: Option<u32>,
}

/// A piece that holds its block exclusively.
#[derive(Clone, Copy)]
pub(crate) struct Alone {
    piece: Piece,
    /// The block that it is written to.
    place: u64,
    /// That block is a copy, which nothing refers to yet.
    is_copy: bool,
}

/// The holders of a block, and the pieces that wait for it.
#[derive(Default)]
pub(crate) struct Lock {
    together: u32,
    alone: bool,
    /// A holder has allocated the block, which was a hole.
    made: bool,
    waiting: VecDeque<Piece>,
}

/// A write in place that may be extended by the next block.
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

/// A tree's block as one number: the blocks of a tree of [`crate::SIZE_MAX`] bytes fit 31 bits.
pub(crate) fn key(tree: u32, block: u64) -> u64 {
    u64::from(tree) << 32 | block
}

impl Core {
    /// Starts the pieces of a write. Pieces in place that are adjacent on the disk become one
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

    /// Starts one piece on its own.
    pub(crate) fn start_alone(&mut self, piece: Piece) {
        let mut open = None;
        self.start(piece, &mut open);
        self.close(piece.op, open);
    }

    /// Continues pieces that waited for a lock.
    pub(crate) fn resume(&mut self) {
        while let Some(piece) = self.resumed.pop_front() {
            self.start_alone(piece);
        }
    }

    /// Retries pieces that waited for space, if there may be some.
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
            self.locks.entry(piece.key()).and_modify(|lock| lock.made = true);
        }
        if entry.mask() & touched(from, to) != touched(from, to) {
            // A concurrent write in this block may make the same pages valid. Then this one changes
            // nothing in the end, but it is not durable before that change is.
            self.ops.get_mut(piece.op).changed = true;
        }
        match alone {
            true => self.start_held(Alone { piece, place, is_copy: shared }, entry),
            false => self.extend(piece, place * BLOCK + from, open),
        }
    }

    /// Whether a piece is aligned for the disk.
    fn is_aligned(&self, piece: &Piece) -> bool {
        let data = piece.from.map_or(0, u64::from);
        self.ops.get(piece.op).ask.aligned && (piece.at | piece.len | data) & (u64::from(self.settings.align) - 1) == 0
    }

    /// The place after that of the tree's previous block, so that sequential writes are contiguous
    /// on the disk.
    fn goal(&self, piece: &Piece) -> Option<u64> {
        let (before, _) = self.nodes.get(self.trees[&piece.tree].root, piece.block().checked_sub(1)?);
        before.place().map(|place| place + 1)
    }

    /// A piece found no block or no node. It waits if some are about to become free.
    fn starve(&mut self, piece: Piece, alone: bool, refusal: MapRefusal) {
        self.unlock(piece.key(), alone);
        let has_drops = self.commit.has_drops();
        if has_drops || !self.limbo.is_empty() || !self.releasing.is_empty() || self.space.has_lent() {
            // A commit releases the drops; limbo is released when its reads end; the rest when its
            // steps, or the discard, are done.
            self.commit.forced |= has_drops;
            self.starved.push_back(piece);
        } else {
            self.piece_ended(piece.op, Some(refusal));
        }
    }

    /// Writes a piece in place, by extending the open command if that is possible.
    fn extend(&mut self, piece: Piece, to: u64, open: &mut Option<Open>) {
        let from = piece.from.expect("zeroes are laid alone");
        match open {
            Some(open) if self.goes_on(open, piece.at, to) => {
                open.len += piece.len;
                // The command of the run includes the piece.
                self.ops.get_mut(piece.op).left -= 1;
            }
            _ => {
                let before = open.replace(Open { at: piece.at, len: piece.len, from, to });
                self.close(piece.op, before);
            }
        }
    }

    /// Whether the bytes at `at` of a tree, to be written to `to`, follow those of an open write in
    /// the same segment.
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

    /// Whether a command of an op can be durable by itself, which it can if the maps are durable
    /// now. Otherwise the op waits for a commit at its end.
    fn is_durable(&mut self, op: u32) -> bool {
        let clean = self.commit.is_clean();
        let op = self.ops.get_mut(op);
        op.durable &= clean;
        op.durable
    }

    /// A run in place has ended: its pages become valid.
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

    /// Starts a piece that holds its block exclusively.
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

    /// A piece that held its block exclusively has ended: the map now refers to it.
    pub(crate) fn alone_done(&mut self, alone: Alone, result: Result<(), Fault>) {
        let Alone { piece, place, is_copy } = alone;
        if result.is_ok() {
            let (old, _) = self.nodes.get(self.trees[&piece.tree].root, piece.block());
            let (from, to) = piece.within();
            // Zeroes are written only over parts of valid pages.
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

    /// What surrounds a piece's bytes could not be read: nothing has changed.
    pub(crate) fn not_copied(&mut self, alone: Alone, fault: Fault) {
        let Alone { piece, place, is_copy } = alone;
        if is_copy {
            self.space.give_back(place);
        }
        self.unlock(piece.key(), true);
        self.piece_ended(piece.op, Some(MapRefusal::Disk(fault)));
    }

    /// A durable write that fails may have lost earlier writes, as a failed flush may.
    fn write_failed(&mut self, op: u32, result: Result<(), Fault>) {
        if result == Err(Fault::Io) && self.ops.get(op).durable {
            self.fail();
        }
    }

    /// Locks a piece's block; or queues the piece and returns false.
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
            let Lock { waiting, made, .. } = held.remove();
            if !waiting.is_empty() {
                self.resumed.extend(waiting);
            }
            if made {
                self.give_back_unwritten((key >> 32) as u32, key & u64::from(u32::MAX));
            }
        }
    }

    /// Makes a hole again of a block that writes have allocated, if all of them have failed. As
    /// after a trim, the block is used again only once that is durable; a crash before leaves it
    /// allocated and empty.
    fn give_back_unwritten(&mut self, tree: u32, block: u64) {
        let (entry, _) = self.nodes.get(self.trees[&tree].root, block);
        if entry.mask() == 0 && !self.failed {
            self.set_entry(tree, block, entry::Entry::HOLE);
        }
    }
}
