//! Changes of structure of several trees at one moment: all of them are done, or none, and no write comes between.
//!
//! ```text
//!   tree A   write ─ write ─┐                       ┌─ write        a snapshot of a volume: had the writer of the one LUN
//!   tree B   write ─────────┤ all are held: shared ─┤               waited for the other, so does the snapshot
//!   tree C   (idle) ────────┘                       └─ write
//! ```
//! Each tree that is changed or shared is held as for one change that must be alone. All are asked for at once, and trees
//! give way in order of asking, so two groups never wait for each other. The actions stand in one record of the log:
//! after a crash all are there, or none.

use crate::ask::{Ask, What};
use crate::core::{Core, Op};
use crate::refusal::Refusal;

/// A group on its way.
pub(crate) struct Group {
    /// Those that hold a tree.
    holders: Vec<u32>,
    /// Those whose tree another of the group holds.
    others: Vec<u32>,
    /// In order.
    asks: Vec<Ask>,
    /// Holders that wait for their tree.
    missing: usize,
    refusal: Option<Refusal>,
}

impl Core {
    /// Takes asks for [`What::Share`], [`What::Restore`] and [`What::Delete`] that are done at one moment, in this order, or
    /// none of them. Each gets its answer; those of a group that cannot be done get the same. Trees that are deleted
    /// must not be shared or restored in the same group.
    ///
    /// # Panics
    /// With an ask for something else.
    pub fn submit_together(&mut self, asks: Vec<Ask>) {
        let fits = |ask: &Ask| matches!(ask.what, What::Share { .. } | What::Restore { .. } | What::Delete);
        assert!(asks.iter().all(fits), "only changes of structure go together");
        let refusal = self.refuse_group(&asks);
        let number = self.groups.add(Group { holders: vec![], others: vec![], asks: vec![], missing: 0, refusal });
        let mut trees = Vec::new();
        let (mut holders, mut others) = (Vec::new(), Vec::new());
        for ask in &asks {
            let op = self.ops.add(Op { group: Some(number), ..Op::new(*ask) });
            let tree = Core::tree_of(ask);
            let holds = refusal.is_none() && !trees.contains(&tree);
            if holds { &mut holders } else { &mut others }.push(op);
            trees.push(tree);
        }
        let group = self.groups.get_mut(number);
        (group.missing, group.asks, group.others) = (holders.len(), asks, others);
        group.holders.clone_from(&holders);
        if holders.is_empty() {
            return self.complete(number);
        }
        holders.into_iter().for_each(|op| self.queue(op));
    }

    /// A holder has its tree.
    pub(crate) fn arrive(&mut self, number: u32) {
        let group = self.groups.get_mut(number);
        group.missing -= 1;
        if group.missing == 0 {
            self.complete(number);
        }
    }

    /// The tree of a holder is gone before its turn came.
    pub(crate) fn miss(&mut self, number: u32, op: u32, refusal: Refusal) {
        let group = self.groups.get_mut(number);
        group.holders.retain(|holder| *holder != op);
        group.others.push(op);
        group.refusal = Some(refusal);
        self.arrive(number);
    }

    /// All trees are held: does what was asked, or nothing.
    fn complete(&mut self, number: u32) {
        let Group { holders, others, asks, refusal, .. } = self.groups.take(number);
        let refusal = refusal.or_else(|| self.refuse_group(&asks));
        if refusal.is_none() {
            for ask in &asks {
                match ask.what {
                    What::Share { from, frozen } => self.share(ask.tree, from, frozen),
                    What::Restore { from } => self.restore(ask.tree, from),
                    _ => self.delete(ask.tree),
                }
            }
        }
        others.into_iter().for_each(|op| self.settle_op(op, refusal));
        holders.into_iter().for_each(|op| self.piece_ended(op, refusal));
    }

    fn refuse_group(&self, asks: &[Ask]) -> Option<Refusal> {
        asks.iter().find_map(|ask| self.refuse(ask))
    }
}
