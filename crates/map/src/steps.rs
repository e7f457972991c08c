//! Work that grows with what there is, done a few steps at a time, so that who serves requests
//! beside it is never held up for long.
//!
//! ```text
//!   what is freed ──┐
//!   a group ────────┼──► Core::step, again and again, between the asks ──► Core::has_work: no more
//!   a tree cut ─────┘
//!   Owned::step ─────── for the one who asks: how much a tree holds that no other has
//! ```
//! A step is a word of a node looked at, or a reference given back: some nanoseconds, or three
//! loads from memory that is far away. Nobody here reads a clock: how many steps are a turn's is
//! for the caller to say.

use crate::core::Core;
use crate::entry::BLOCK;
use crate::tree::Which;

/// Steps that may be taken, and those that were.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    left: u32,
    spent: u32,
}

impl Steps {
    /// So many may be taken. One that is begun is ended, so a node more, 512, may be.
    pub const fn new(most: u32) -> Steps {
        Steps { left: most, spent: 0 }
    }

    /// Those that were taken.
    pub const fn spent(&self) -> u32 {
        self.spent
    }

    /// Whether no more may be taken.
    pub const fn are_spent(&self) -> bool {
        self.left == 0
    }

    /// Takes some.
    pub const fn spend(&mut self, steps: u32) {
        self.left = self.left.saturating_sub(steps);
        self.spent = self.spent.saturating_add(steps);
    }
}

impl Core {
    /// Goes on with what is done in steps. To be called between asks as long as [`Core::has_work`].
    pub fn step(&mut self, steps: &mut Steps) {
        self.step_groups(steps);
        self.step_cuts(steps);
        self.step_releases(steps);
    }

    /// Whether [`Core::step`] has something to do. Nothing else makes that get on.
    pub fn has_work(&self) -> bool {
        !self.releasing.is_empty() || !self.cuts.is_empty() || self.has_groups_to_do()
    }

    /// Gives back what nobody can see any more. All that waits is counted as pointed at meanwhile:
    /// it looks shared, and is not given out, so it does not matter how long it waits.
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

/// Counts the bytes that would come free with a tree: blocks that it alone points at.
///
/// Between its steps anything may change. Each block counts as it was when it was looked at, and
/// they are looked at in order, each once: of a snapshot whose LUN is written to meanwhile, what
/// was shared before and is its own behind the place where the walk is stays uncounted. A tree that
/// goes meanwhile has what was counted until then.
#[derive(Clone, Copy, Debug)]
pub struct Owned {
    tree: u32,
    next: u64,
    blocks: u64,
}

impl Owned {
    /// Nothing is counted yet.
    pub const fn of(tree: u32) -> Owned {
        Owned { tree, next: 0, blocks: 0 }
    }

    /// Goes on. Returns the bytes when all is counted; those of a tree that is not there are 0.
    pub fn step(&mut self, core: &Core, steps: &mut Steps) -> Option<u64> {
        let (mut blocks, found) = (0, core.trees.get(&self.tree));
        let next = found.and_then(|found| {
            core.nodes.each_from(found.root, (self.next, Which::Own), steps, &mut |_, entry| {
                blocks += u64::from(entry.place().is_some_and(|place| core.space.refs(place) == 1));
            })
        });
        // The look-up, after the walk, so that it gets on with any number of steps.
        steps.spend(1);
        self.blocks += blocks;
        self.next = next.unwrap_or(self.next);
        next.is_none().then_some(self.blocks * BLOCK)
    }
}
