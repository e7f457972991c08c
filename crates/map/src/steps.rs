//! Work that grows with the size of the pool is done in bounded steps, so that requests served
//! beside it are never delayed for long.
//!
//! ```text
//!   what is freed ──┐
//!   a group ────────┼──► Core::step, again and again, between the asks ──► Core::has_work: no more
//!   a tree cut ─────┘
//!   Owned::step ─────── for the one who asks: how much a tree holds that no other has
//! ```
//! A step is one examined word of a node, or one released reference. It takes some nanoseconds, or
//! three loads from distant memory. Nothing here reads a clock: the caller decides how many steps a
//! turn may take.

use crate::core::Core;
use crate::entry::BLOCK;
use crate::tree::Which;

/// A budget of steps, and how many were taken.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    left: u32,
    spent: u32,
}

impl Steps {
    /// A budget of `most` steps. Work that has started is completed, so it may be exceeded by one
    /// node, 512 steps.
    pub const fn new(most: u32) -> Steps {
        Steps { left: most, spent: 0 }
    }

    /// The steps that were taken.
    pub const fn spent(&self) -> u32 {
        self.spent
    }

    /// Whether the budget is used up.
    pub const fn are_spent(&self) -> bool {
        self.left == 0
    }

    /// Takes steps from the budget.
    pub const fn spend(&mut self, steps: u32) {
        self.left = self.left.saturating_sub(steps);
        self.spent = self.spent.saturating_add(steps);
    }
}

impl Core {
    /// Continues all work that is done in steps. Call it between asks while [`Core::has_work`] says
    /// so.
    pub fn step(&mut self, steps: &mut Steps) {
        self.step_groups(steps);
        self.step_cuts(steps);
        self.step_releases(steps);
    }

    /// Whether [`Core::step`] has something to do; nothing else advances that work.
    pub fn has_work(&self) -> bool {
        !self.releasing.is_empty() || !self.cuts.is_empty() || self.has_groups_to_do()
    }

    /// Releases references that are no longer visible. Until then they are counted: the blocks look
    /// shared and are not reused, so a delay does no harm.
    fn step_releases(&mut self, steps: &mut Steps) {
        let used = self.space.used();
        while !steps.are_spent()
            && let Some(drop) = self.releasing.pop()
        {
            steps.spend(self.nodes.release_one(drop, &mut self.space, &mut self.releasing));
        }
        if self.space.used() < used || self.releasing.is_empty() {
            self.feed();
            self.resume();
        }
    }
}

/// Counts the bytes that deleting a tree would free: blocks that only it refers to.
///
/// Anything may change between the steps. Blocks are examined in order, and each is counted as it
/// was at that time. For example, if the LUN of a snapshot is written to meanwhile, blocks that
/// become the snapshot's own behind the current position are not counted. If the tree is deleted,
/// the result is what was counted before.
#[derive(Clone, Copy, Debug)]
pub struct Owned {
    tree: u32,
    next: u64,
    blocks: u64,
}

impl Owned {
    /// Starts with the first block.
    pub const fn of(tree: u32) -> Owned {
        Owned { tree, next: 0, blocks: 0 }
    }

    /// Continues. Returns the bytes when the count is complete; 0 for a tree that does not exist.
    pub fn step(&mut self, core: &Core, steps: &mut Steps) -> Option<u64> {
        let (mut blocks, found) = (0, core.trees.get(&self.tree));
        let next = found.and_then(|found| {
            core.nodes.each_from(found.root, (self.next, Which::Own), steps, &mut |_, entry| {
                blocks += u64::from(entry.place().is_some_and(|place| core.space.refs(place) == 1));
            })
        });
        // The look-up is counted after the walk, so that any number of steps makes progress.
        steps.spend(1);
        self.blocks += blocks;
        self.next = next.unwrap_or(self.next);
        next.is_none().then_some(self.blocks * BLOCK)
    }
}
