//! The random requests of a history, and what each may have changed.

use super::*;

impl History {
    pub(super) fn ask_something(&mut self) {
        let kind = self.below(100);
        let many = self.trees.len() as u64;
        match kind {
            _ if many == 0 => return self.create(),
            0..=1 if many < 8 => return self.create(),
            2..=9 => return self.submit(0, 0, 0, What::Flush, false),
            10 => return self.submit(0, 0, 0, What::Checkpoint, false),
            _ => {}
        }
        let chosen = self.below(many) as usize;
        let (&tree, known) = self.trees.iter().nth(chosen).expect("one of many");
        let (size, frozen, busy) = (known.size, known.frozen, known.busy);
        match kind {
            _ if busy => {}
            11..=13 if many < 8 => self.share(tree),
            14..=15 if many < 8 => self.share_together(),
            // A group that has not got the tree yet would copy another's data.
            16..=25 if self.is_in_a_group(tree) => {}
            16..=18 => self.submit(tree, 0, 0, What::Delete, false),
            19..=21 => self.restore(tree),
            22..=25 => {
                let size = self.size();
                self.submit(tree, 0, 0, What::Resize { size }, false);
            }
            _ if frozen || size == 0 => {}
            _ => self.change(tree, size, kind),
        }
    }

    pub(super) fn change(&mut self, tree: u32, size: u64, kind: u64) {
        // Few blocks, so that asks overlap: some whole pages, some whole blocks, some of any
        // sectors.
        let unit = [SECTOR, PAGE, BLOCK, SECTOR][self.below(4) as usize];
        let at = self.below(size / unit + 1) * unit;
        let longest = [4 * SECTOR, 3 * PAGE, 3 * BLOCK][self.below(3) as usize];
        let len = ((self.below(longest / unit + 1) + 1) * unit).min(size.saturating_sub(at));
        if len == 0 {
            return;
        }
        let fua = self.below(8) == 0;
        let what = match kind {
            26..=35 => What::Trim,
            36..=45 => What::Zero { no_hole: self.below(3) == 0 },
            _ => What::Write,
        };
        self.submit(tree, at, len, what, fua);
    }

    /// Sizes from nothing to a few leaves, so that trees grow higher.
    pub(super) fn size(&mut self) -> u64 {
        match self.below(6) {
            0 => self.below(40) * SECTOR,
            1 => (512 + self.below(40)) * BLOCK,
            _ => (1 + self.below(20)) * BLOCK + self.below(3) * SECTOR,
        }
    }

    pub(super) fn create(&mut self) {
        let size = self.size();
        self.next_tree += 1;
        self.submit(self.next_tree, 0, 0, What::Create { size }, false);
    }

    pub(super) fn share(&mut self, from: u32) {
        self.next_tree += 1;
        let frozen = self.below(2) == 0;
        self.submit(self.next_tree, 0, 0, What::Share { from, frozen }, false);
    }

    /// An atomic snapshot of some trees.
    pub(super) fn share_together(&mut self) {
        let idle: Vec<u32> =
            self.trees.iter().filter(|(_, known)| !known.busy).map(|(tree, _)| *tree).take(3).collect();
        let asks: Vec<Ask> = idle
            .into_iter()
            .map(|from| {
                self.next_tree += 1;
                self.prepare(self.next_tree, 0, 0, What::Share { from, frozen: true }, false)
            })
            .collect();
        let Some(first) = asks.first() else { return };
        let changes: Vec<(u32, What)> = asks.iter().map(|ask| (ask.tree, ask.what)).collect();
        self.cached.begin_together(first.id, changes.iter().map(|(tree, _)| *tree).collect());
        self.core.submit_together(first.id, changes);
        self.groups.push(asks.iter().map(|ask| (ask.id, ask.tree)).collect());
        self.totals.groups += 1;
    }

    pub(super) fn restore(&mut self, tree: u32) {
        let snapshots: Vec<u32> =
            self.trees.iter().filter(|(_, known)| known.frozen && !known.busy).map(|(number, _)| *number).collect();
        if !snapshots.is_empty() && !self.trees[&tree].frozen {
            let from = snapshots[self.below(snapshots.len() as u64) as usize];
            self.submit(tree, 0, 0, What::Restore { from }, false);
        }
    }

    pub(super) fn submit(&mut self, tree: u32, at: u64, len: u64, what: What, fua: bool) {
        let ask = self.prepare(tree, at, len, what, fua);
        self.cached.begin(&ask);
        self.core.submit(ask);
    }

    /// Records what will be asked.
    pub(super) fn prepare(&mut self, tree: u32, at: u64, len: u64, what: What, fua: bool) -> Ask {
        self.next += 1;
        let (id, stamp) = (self.next, if what == What::Write { self.next } else { 0 });
        let times = Rc::new(Times { begun: self.clock, ended: Cell::new(None), durable: Cell::new(false) });
        let ask = Ask { id, tree, at, len, what, fua, aligned: self.below(8) > 0 };
        let mut copy = None;
        match what {
            What::Write | What::Zero { .. } => self.note(tree, (at, at + len), stamp, &times),
            What::Trim => {
                let size = self.trees[&tree].size;
                let last = if at + len == size { size } else { (at + len) / PAGE * PAGE };
                self.note(tree, (at.next_multiple_of(PAGE), last), 0, &times);
            }
            What::Create { size } => copy = Some(Model { size, ..Model::default() }),
            What::Share { from, frozen } => copy = Some(Model { frozen, ..self.trees[&from].clone() }),
            What::Restore { from } => {
                // The snapshot stays while it is restored from.
                self.lend(from, true);
                copy = Some(Model { frozen: false, busy: false, ..self.trees[&from].clone() });
            }
            _ => {}
        }
        if matches!(what, What::Restore { .. } | What::Delete | What::Resize { .. }) {
            self.lend(tree, true);
        }
        self.under.insert(id, Under { ask, times, stamp, copy });
        ask
    }

    pub(super) fn lend(&mut self, tree: u32, busy: bool) {
        if let Some(known) = self.trees.get_mut(&tree) {
            known.busy = busy;
        }
    }

    pub(super) fn note(&mut self, tree: u32, (from, to): (u64, u64), value: u64, times: &Rc<Times>) {
        let known = self.trees.get_mut(&tree).expect("asked of a tree that is there");
        (from / SECTOR..to / SECTOR).for_each(|sector| known.content.write(sector, value, times));
        // The copy of a group that has not got this tree yet may or may not include this change.
        let perhaps = Rc::new(Times { begun: self.clock, ended: Cell::new(None), durable: Cell::new(false) });
        for id in self.in_groups(tree) {
            let Some(Under { copy: Some(copy), .. }) = self.under.get_mut(&id) else { continue };
            (from / SECTOR..to / SECTOR).for_each(|sector| copy.content.write(sector, value, &perhaps));
        }
    }

    /// The asks of groups in progress that share a tree, and may not have got it yet.
    pub(super) fn in_groups(&self, tree: u32) -> Vec<u64> {
        if !self.core.has_work() {
            return Vec::new();
        }
        let shares = |id: &u64| {
            self.under.get(id).is_some_and(|under| matches!(under.ask.what, What::Share { from, .. } if from == tree))
        };
        self.groups.iter().flatten().map(|(id, _)| *id).filter(shares).collect()
    }

    pub(super) fn is_in_a_group(&self, tree: u32) -> bool {
        !self.in_groups(tree).is_empty()
    }
}
