//! The course of an operation: it is checked, queued behind what it may not overtake, run, and
//! ended.

use super::{Core, TREES_MAX, Tree};
use crate::ask::{Ask, Ended, What};
use crate::entry::SIZE_MAX;
use crate::refusal::MapRefusal;

impl Core {
    /// Why an ask must be refused, as far as that is known without running it.
    pub(crate) fn refuse(&self, ask: &Ask) -> Option<MapRefusal> {
        let size_fits =
            |size: u64| (size <= SIZE_MAX && size.is_multiple_of(512)).then_some(()).ok_or(MapRefusal::Size(size));
        let exists = |tree: u32| self.trees.get(&tree).ok_or(MapRefusal::NoTree(tree));
        let is_free = |tree: u32| match (self.trees.contains_key(&tree), self.trees.len() < TREES_MAX) {
            (true, _) => Err(MapRefusal::Exists(tree)),
            (_, false) => Err(MapRefusal::TooMany(TREES_MAX)),
            _ => Ok(()),
        };
        let thaw = |tree: &Tree| if tree.frozen { Err(MapRefusal::Frozen(ask.tree)) } else { Ok(()) };
        let within = |tree: &Tree| {
            let end = ask.at.checked_add(ask.len).filter(|end| *end <= tree.size);
            end.map(|_| ()).ok_or(MapRefusal::Beyond)
        };
        let fits = match ask.what {
            _ if self.failed => Err(MapRefusal::Failed),
            What::Flush | What::Checkpoint | What::Anchor => Ok(()),
            What::Create { size } => size_fits(size).and_then(|()| is_free(ask.tree)),
            What::Share { from, .. } => exists(from).and_then(|_| is_free(ask.tree)),
            What::Delete => exists(ask.tree).map(|_| ()),
            What::Resize { size } => exists(ask.tree).and_then(thaw).and_then(|()| size_fits(size)),
            What::Restore { from } => exists(ask.tree).and_then(thaw).and_then(|()| match exists(from)?.frozen {
                true => Ok(()),
                false => Err(MapRefusal::NotFrozen(from)),
            }),
            What::Write | What::Trim | What::Zero { .. } => {
                exists(ask.tree).and_then(|tree| thaw(tree).and_then(|()| within(tree)))
            }
        };
        fits.err()
    }

    /// The tree whose changes an op must wait for.
    pub(crate) fn tree_of(ask: &Ask) -> u32 {
        match ask.what {
            What::Share { from, .. } => from,
            _ => ask.tree,
        }
    }

    /// Starts an op, or queues it.
    pub(crate) fn queue(&mut self, op: u32) {
        let ask = self.ops.get(op).ask;
        let Some(tree) = self.trees.get_mut(&Core::tree_of(&ask)) else {
            return self.end(op, Err(MapRefusal::NoTree(ask.tree)));
        };
        let alone = ask.what != What::Write;
        if tree.alone || !tree.queue.is_empty() || alone && tree.running > 0 {
            tree.queue.push_back(op);
            return;
        }
        tree.running += 1;
        tree.alone = alone;
        if ask.what.is_structure() && self.ops.get(op).group.is_none() && self.is_grouping() {
            return self.put_off(op);
        }
        self.begin(op, ask);
    }

    /// Starts an op that was queued, perhaps behind a change that makes it impossible.
    pub(crate) fn begin_late(&mut self, op: u32) {
        let ask = self.ops.get(op).ask;
        if ask.what.is_structure() && self.ops.get(op).group.is_none() && self.is_grouping() {
            return self.put_off(op);
        }
        if let Some(refusal) = self.refuse(&ask).filter(|_| self.ops.get(op).group.is_none()) {
            self.ops.get_mut(op).refusal = Some(refusal);
            return self.piece_ended(op, None);
        }
        self.begin(op, ask);
    }

    pub(super) fn begin(&mut self, op: u32, ask: Ask) {
        if let Some(group) = self.ops.get(op).group {
            return self.arrive(group);
        }
        // A write decides this again when its commands are created; for others it is decided now.
        self.ops.get_mut(op).durable = ask.fua && (ask.what == What::Write || self.commit.is_clean());
        match ask.what {
            What::Write => return self.write(op),
            What::Trim => self.clear(op, false),
            What::Zero { .. } => self.clear(op, true),
            What::Share { from, frozen } => self.share(ask.tree, from, frozen),
            What::Restore { from } => self.restore(ask.tree, from),
            What::Delete => self.delete(ask.tree),
            What::Resize { size } => self.resize(op, size),
            What::Flush | What::Create { .. } | What::Checkpoint | What::Anchor => {
                unreachable!("not about a tree that is there")
            }
        }
        self.piece_ended(op, None);
    }

    /// A piece of an op, or the creation of its pieces, has ended. The last one ends the op in its
    /// tree.
    pub(crate) fn piece_ended(&mut self, number: u32, refusal: Option<MapRefusal>) {
        let op = self.ops.get_mut(number);
        op.refusal = op.refusal.or(refusal);
        op.left -= 1;
        if op.left > 0 {
            return;
        }
        let (ask, refusal) = (op.ask, op.refusal);
        self.settle_op(number, refusal);
        self.leave(Core::tree_of(&ask));
    }

    /// An op is done: it is answered, or waits for a commit.
    pub(crate) fn settle_op(&mut self, number: u32, refusal: Option<MapRefusal>) {
        let op = self.ops.get(number);
        let wants_commit = op.ask.what.is_structure() || op.ask.fua && (op.changed || !op.durable);
        match refusal {
            Some(refusal) => self.end(number, Err(refusal)),
            None if self.failed && wants_commit => self.end(number, Err(MapRefusal::Failed)),
            None if wants_commit => self.commit.waiting.push(number),
            None => self.end(number, Ok(())),
        }
    }

    /// A change of a tree has ended; those that waited for it continue.
    pub(crate) fn leave(&mut self, number: u32) {
        let Some(tree) = self.trees.get_mut(&number) else { return };
        tree.running -= 1;
        tree.alone = false;
        if tree.queue.is_empty() {
            return;
        }
        while let Some(tree) = self.trees.get_mut(&number) {
            let Some(&op) = tree.queue.front() else { return };
            let alone = self.ops.get(op).ask.what != What::Write;
            if tree.alone || alone && tree.running > 0 {
                return;
            }
            tree.queue.pop_front();
            tree.running += 1;
            tree.alone = alone;
            self.begin_late(op);
        }
    }

    /// Answers an op.
    pub(crate) fn end(&mut self, op: u32, result: Result<(), MapRefusal>) {
        let op = self.ops.take(op);
        self.events.push(Ended { id: op.ask.id, result });
    }
}
