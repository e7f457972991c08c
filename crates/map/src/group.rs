//! Atomic changes of structure of several trees: either all are done or none, and no write comes in
//! between.
//!
//! ```text
//!   tree A   write ─ write ─┐                       ┌─ write        a snapshot of a volume: had the writer of the one LUN
//!   tree B   write ─────────┤ all are held: shared ─┤               waited for the other, so does the snapshot
//!   tree C   (idle) ────────┘                       └─ write
//! ```
//! Each tree that is changed or shared is held as for a single change that runs alone. Only one
//! group at a time requests its trees, and trees are granted in order of request, so two groups
//! never wait for each other. All actions are in one record of the log: after a crash either all
//! are there or none.
//!
//! A volume may have ten thousand LUNs, so all of this is done in steps (see [`crate::steps`]):
//! *asking* for the trees, *checking* again what was changed by others meanwhile, *doing* it, and
//! *leaving* the trees. Between checking and doing, no other change of structure and no commit
//! starts; that makes it atomic. Reads pass: one beside a restore may find one tree restored and
//! the next not yet.

use crate::ask::{Ask, What};
use crate::core::{Core, Op, TREES_MAX};
use crate::refusal::MapRefusal;
use crate::slots::{Mix, Slots};
use crate::steps::Steps;
use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasherDefault;

/// Steps that one tree counts as: a few look-ups in distant memory.
const STEPS_EACH: u32 = 8;

/// A group in progress.
pub(crate) struct Group {
    /// The op that is answered for the whole group.
    op: u32,
    /// The id of its ask.
    id: u64,
    /// The changes, in order.
    changes: Vec<(u32, What)>,
    /// Ops that hold a tree, or wait for one.
    holders: Vec<u32>,
    /// Their trees.
    trees: HashSet<u32, BuildHasherDefault<Mix>>,
    /// Number of holders that wait.
    missing: usize,
    refusal: Option<MapRefusal>,
    phase: Phase,
    /// Progress within the phase.
    at: usize,
}

impl Group {
    /// The current change, as a single ask.
    fn ask(&self) -> Option<Ask> {
        self.changes.get(self.at).map(|change| ask_of(self.id, *change))
    }
}

fn ask_of(id: u64, (tree, what): (u32, What)) -> Ask {
    Ask { id, tree, at: 0, len: 0, what, fua: true, aligned: true }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Asking,
    /// Waits for some of its trees.
    Waiting,
    Checking,
    Doing,
    Leaving,
}

/// All groups.
#[derive(Default)]
pub(crate) struct Groups {
    all: Slots<Group>,
    /// Groups that request trees; the first one does so now.
    asking: VecDeque<u32>,
    /// Groups that hold all their trees.
    ready: VecDeque<u32>,
    /// The group that is checking or doing.
    acting: Option<u32>,
    leaving: VecDeque<u32>,
    /// Other changes of structure that were postponed.
    put_off: VecDeque<u32>,
}

impl Core {
    /// Accepts an atomic group of changes of trees (share, restore, delete), which are made in this
    /// order. One answer with the number `id` is for all of them. Trees that are deleted must not
    /// be shared or restored in the same group, and none may be created twice. It proceeds in
    /// steps: see [`Core::step`].
    ///
    /// # Panics
    /// If a change is of another kind, or if there are none.
    pub fn submit_together(&mut self, id: u64, changes: Vec<(u32, What)>) {
        let fits = |(_, what): &(u32, What)| matches!(what, What::Share { .. } | What::Restore { .. } | What::Delete);
        assert!(!changes.is_empty() && changes.iter().all(fits), "only changes of structure go together");
        let op = self.ops.add(Op::new(ask_of(id, changes[0])));
        let holders = Vec::with_capacity(changes.len());
        let trees = HashSet::with_capacity_and_hasher(changes.len(), BuildHasherDefault::default());
        let phase = Phase::Asking;
        let group = Group { op, id, changes, holders, trees, missing: 0, refusal: None, phase, at: 0 };
        let number = self.groups.all.add(group);
        self.groups.asking.push_back(number);
    }

    /// Whether a group is being done, during which no commit and no other change of structure
    /// starts.
    pub(crate) fn is_grouping(&self) -> bool {
        self.groups.acting.is_some()
    }

    pub(crate) fn has_groups_to_do(&self) -> bool {
        let Groups { asking, ready, acting, leaving, .. } = &self.groups;
        acting.is_some() || !asking.is_empty() || !ready.is_empty() || !leaving.is_empty()
    }

    /// Postpones a change of structure until the group is done.
    pub(crate) fn put_off(&mut self, op: u32) {
        self.groups.put_off.push_back(op);
    }

    /// A holder has got its tree.
    pub(crate) fn arrive(&mut self, number: u32) {
        let group = self.groups.all.get_mut(number);
        group.missing -= 1;
        if group.missing == 0 && group.phase == Phase::Waiting {
            self.groups.ready.push_back(number);
        }
    }

    /// A holder's tree was deleted before its turn.
    pub(crate) fn miss(&mut self, number: u32, op: u32, refusal: MapRefusal) {
        self.ops.take(op);
        let group = self.groups.all.get_mut(number);
        group.holders.retain(|holder| *holder != op);
        group.refusal = Some(refusal);
        self.arrive(number);
    }

    pub(crate) fn step_groups(&mut self, steps: &mut Steps) {
        while !steps.are_spent() {
            let Groups { asking, ready, acting, leaving, .. } = &mut self.groups;
            if acting.is_none() {
                *acting = ready.pop_front();
            }
            let Some(number) = acting.or(leaving.front().copied()).or(asking.front().copied()) else { return };
            steps.spend(STEPS_EACH);
            match self.groups.all.get(number).phase {
                Phase::Asking => self.ask_next(number),
                Phase::Waiting => self.begin_check(number),
                Phase::Checking => self.check_next(number),
                Phase::Doing => self.do_next(number),
                Phase::Leaving => self.leave_next(number),
            }
        }
    }

    /// Requests the next tree.
    fn ask_next(&mut self, number: u32) {
        let group = self.groups.all.get_mut(number);
        let ask = group.ask().filter(|_| group.refusal.is_none());
        let Some(ask) = ask else {
            group.phase = Phase::Waiting;
            let is_whole = group.missing == 0;
            self.groups.asking.pop_front();
            self.groups.ready.extend(is_whole.then_some(number));
            return;
        };
        group.at += 1;
        if let Some(refusal) = self.refuse(&ask) {
            self.groups.all.get_mut(number).refusal = Some(refusal);
            return;
        }
        let group = self.groups.all.get_mut(number);
        if group.trees.insert(Core::tree_of(&ask)) {
            let holder = self.ops.add(Op { group: Some(number), ..Op::new(ask) });
            group.holders.push(holder);
            group.missing += 1;
            self.queue(holder);
        }
    }

    fn begin_check(&mut self, number: u32) {
        let group = self.groups.all.get_mut(number);
        let new = group.changes.iter().filter(|(_, what)| matches!(what, What::Share { .. })).count();
        if self.trees.len() + new > TREES_MAX {
            group.refusal = group.refusal.or(Some(MapRefusal::TooMany(TREES_MAX)));
        }
        (group.phase, group.at) = (Phase::Checking, 0);
    }

    fn check_next(&mut self, number: u32) {
        let group = self.groups.all.get(number);
        let (at, refusal) = (group.at, group.refusal);
        match group.ask().filter(|_| refusal.is_none()) {
            Some(ask) => {
                let refusal = self.refuse(&ask);
                let group = self.groups.all.get_mut(number);
                (group.at, group.refusal) = (at + 1, refusal);
            }
            None if refusal.is_some() => self.end_group(number),
            None => {
                let group = self.groups.all.get_mut(number);
                (group.phase, group.at) = (Phase::Doing, 0);
            }
        }
    }

    fn do_next(&mut self, number: u32) {
        let group = self.groups.all.get_mut(number);
        let Some(ask) = group.ask() else { return self.end_group(number) };
        group.at += 1;
        match ask.what {
            What::Share { from, frozen } => self.share(ask.tree, from, frozen),
            What::Restore { from } => self.restore(ask.tree, from),
            _ => self.delete(ask.tree),
        }
    }

    /// All is done, or nothing: continues what was postponed, and leaves the trees.
    fn end_group(&mut self, number: u32) {
        let group = self.groups.all.get_mut(number);
        group.phase = Phase::Leaving;
        let (op, refusal) = (group.op, group.refusal);
        self.groups.acting = None;
        self.groups.leaving.push_back(number);
        self.settle_op(op, refusal);
        for op in std::mem::take(&mut self.groups.put_off) {
            let ask = self.ops.get(op).ask;
            match (ask.what, self.refuse(&ask)) {
                (What::Create { size }, None) => self.create(op, size),
                (What::Create { .. }, Some(refusal)) => self.end(op, Err(refusal)),
                _ => self.begin_late(op),
            }
        }
    }

    fn leave_next(&mut self, number: u32) {
        match self.groups.all.get_mut(number).holders.pop() {
            Some(holder) => {
                let Op { ask, .. } = self.ops.take(holder);
                self.leave(Core::tree_of(&ask));
            }
            None => {
                self.groups.leaving.pop_front();
                self.groups.all.take(number);
            }
        }
    }
}
