//! Trims, zeroes and resizes, which release space. They run alone in their tree.
//!
//! ```text
//!   bytes      |....=====================================....|
//!   pages      |..|::|##|##|##|##|##|##|##|##|##|##|##|::|...|     :: zeroes are laid   ## the page is zero by the mask
//!   blocks     |           |###########|###########|         |     ## the block is a hole: its space comes back
//! ```

use crate::ask::What;
use crate::change::Piece;
use crate::core::Core;
use crate::entry::{BLOCK, Entry, PAGE, PAGES, pages};
use crate::record::Action;
use crate::refusal::MapRefusal;
use crate::steps::Steps;
use crate::tree::{FANOUT, Which};

/// A tree that is being shortened. It is held alone meanwhile.
pub(crate) struct Cut {
    op: u32,
    /// Its new size.
    size: u64,
    /// The block at which to continue.
    next: u64,
    /// It was checked that no data would be lost; now what is allocated beyond the new end is
    /// released.
    looked: bool,
}

impl Core {
    /// Clears an op's whole pages and, with `lay_zeroes`, writes zeroes to the parts of pages at
    /// its ends. A trim leaves those.
    pub(crate) fn clear(&mut self, op: u32, lay_zeroes: bool) {
        let ask = self.ops.get(op).ask;
        let keep = matches!(ask.what, What::Zero { no_hole: true });
        let size = self.trees[&ask.tree].size;
        self.clear_range(op, ask.tree, (ask.at, ask.at + ask.len), size, lay_zeroes, keep);
    }

    /// Resizes a tree. Only holes and zero pages may lie beyond a smaller size, which is checked in
    /// steps.
    pub(crate) fn resize(&mut self, op: u32, size: u64) {
        let number = self.ops.get(op).ask.tree;
        let tree = self.trees.get_mut(&number).expect("checked");
        if size < tree.size {
            self.ops.get_mut(op).left += 1;
            return self.cuts.push_back(Cut { op, size, next: size / BLOCK, looked: false });
        }
        tree.size = size;
        self.nodes.raise(&mut tree.root, size.div_ceil(BLOCK));
        self.commit.note_structure(Action::Resize { tree: number, size });
    }

    /// Continues to shorten trees.
    pub(crate) fn step_cuts(&mut self, steps: &mut Steps) {
        while !steps.are_spent()
            && let Some(mut cut) = self.cuts.pop_front()
        {
            let tree = self.ops.get(cut.op).ask.tree;
            let ended = match cut.looked {
                false => self.look_beyond(tree, &mut cut, steps),
                true => self.clear_beyond(tree, &mut cut, steps),
            };
            match ended {
                Some(refusal) => self.piece_ended(cut.op, refusal),
                None => self.cuts.push_front(cut),
            }
        }
    }

    /// Checks whether a valid page reaches beyond the new end; if one does, the resize is refused.
    fn look_beyond(&self, tree: u32, cut: &mut Cut, steps: &mut Steps) -> Option<Option<MapRefusal>> {
        let (root, at, mut holds) = (self.trees[&tree].root, cut.size, false);
        let next = self.nodes.each_from(root, (cut.next, Which::All), steps, &mut |block, entry| {
            let first = (at.max(block * BLOCK) - block * BLOCK).min(BLOCK) / PAGE;
            holds |= entry.mask() & pages(first as u32, PAGES) != 0;
        });
        cut.looked = next.is_none();
        cut.next = next.unwrap_or(at.div_ceil(BLOCK));
        // Counted as a step, so that this ends even where there is nothing to check.
        steps.spend(1);
        holds.then_some(Some(MapRefusal::HoldsData(at)))
    }

    /// Releases what is allocated beyond the new end and has no valid page, a leaf's blocks at a
    /// time; finally sets the tree's size. In this order, a tree never has blocks beyond its end,
    /// even after a power failure.
    fn clear_beyond(&mut self, number: u32, cut: &mut Cut, steps: &mut Steps) -> Option<Option<MapRefusal>> {
        let root = self.trees[&number].root;
        let mut first = None;
        let mut look = Steps::new(FANOUT as u32);
        let next = self.nodes.each_from(root, (cut.next, Which::All), &mut look, &mut |block, _| {
            first = first.or(Some(block));
        });
        steps.spend(look.spent());
        if let Some(first) = first {
            let end = (first / FANOUT as u64 + 1) * FANOUT as u64;
            self.clear_blocks(cut.op, number, first, end);
            cut.next = end;
            steps.spend(FANOUT as u32);
            return None;
        }
        if let Some(next) = next {
            cut.next = next;
            return None;
        }
        let tree = self.trees.get_mut(&number).expect("a tree stays while a change is under way");
        tree.size = cut.size;
        self.commit.note_structure(Action::Resize { tree: number, size: cut.size });
        Some(None)
    }

    fn clear_range(&mut self, op: u32, number: u32, range: (u64, u64), size: u64, lay_zeroes: bool, keep: bool) {
        let (from, to) = range;
        let first = from.div_ceil(PAGE);
        // The last page may be cut short by the tree's end.
        let last = if to == size { to.div_ceil(PAGE) } else { to / PAGE };
        if lay_zeroes {
            let head = (from, to.min(first * PAGE));
            let tail = ((last * PAGE).max(head.1), to);
            for (from, to) in [head, tail] {
                self.lay_zeroes(op, number, from, to);
            }
        }
        if first < last {
            self.clear_pages(op, number, first, last, keep);
        }
    }

    fn lay_zeroes(&mut self, op: u32, tree: u32, from: u64, to: u64) {
        if from < to {
            self.ops.get_mut(op).left += 1;
            self.start_alone(Piece { op, tree, at: from, len: to - from, from: None });
        }
    }

    /// Makes pages zero, and makes holes of blocks without a valid page.
    fn clear_pages(&mut self, op: u32, number: u32, from: u64, to: u64, keep: bool) {
        let each = u64::from(PAGES);
        let (first, last) = (from.div_ceil(each), to / each);
        if first > last {
            return self.clear_in_block(op, number, first - 1, ((from % each) as u32, (to % each) as u32), keep);
        }
        if !from.is_multiple_of(each) {
            self.clear_in_block(op, number, first - 1, ((from % each) as u32, PAGES), keep);
        }
        if !to.is_multiple_of(each) {
            self.clear_in_block(op, number, last, (0, (to % each) as u32), keep);
        }
        match keep {
            false => self.clear_blocks(op, number, first, last),
            true => (first..last).for_each(|block| self.keep_block(op, number, block)),
        }
    }

    fn clear_in_block(&mut self, op: u32, number: u32, block: u64, (from, to): (u32, u32), keep: bool) {
        let (entry, _) = self.nodes.get(self.trees[&number].root, block);
        let mask = entry.mask() & !pages(from, to);
        if mask == 0 && keep {
            return self.keep_block(op, number, block);
        }
        let cleared = if mask == 0 { Entry::HOLE } else { entry.with_mask(mask) };
        let changed = self.set_entry(number, block, cleared);
        self.ops.get_mut(op).changed |= changed;
    }

    /// Makes a block zero but keeps it allocated, for this tree alone.
    fn keep_block(&mut self, op: u32, number: u32, block: u64) {
        let (entry, shared) = self.nodes.get(self.trees[&number].root, block);
        let own = entry.place().filter(|place| !shared && self.space.refs(*place) == 1);
        let place = match own.map_or_else(|| self.take_block(number, block, None), Ok) {
            Ok(place) => place,
            Err(refusal) => {
                self.ops.get_mut(op).refusal = Some(refusal);
                return;
            }
        };
        let changed = self.set_entry(number, block, Entry::new(place, 0));
        self.ops.get_mut(op).changed |= changed;
    }

    fn clear_blocks(&mut self, op: u32, number: u32, from: u64, to: u64) {
        let tree = self.trees.get_mut(&number).expect("a tree stays while a change is under way");
        let gone = self.nodes.clear(&mut tree.root, from, to, &mut self.space, &mut self.commit.pending.drops);
        tree.blocks -= gone;
        if gone > 0 {
            self.commit.note_structure(Action::Clear { tree: number, from, to });
            self.ops.get_mut(op).changed = true;
        }
    }
}
