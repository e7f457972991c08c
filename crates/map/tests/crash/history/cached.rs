//! A cache over the maps, as in the store: what it shows is checked against the same model as what
//! the disk shows.

use super::*;
use cache::{Coherent, Eviction, Filling, Key};

/// Sectors in a page of the cache.
const SECTORS: u64 = PAGE / SECTOR;

/// [`Coherent`] decides which pages may be shown; here is one word for each sector of each slot.
pub(super) struct Cached {
    kept: Coherent,
    slots: Vec<[u64; SECTORS as usize]>,
}

impl Cached {
    pub(super) fn new(slots: u32) -> Cached {
        Cached {
            kept: Coherent::new(slots, PAGE, Eviction::default()),
            slots: vec![[0; SECTORS as usize]; slots as usize],
        }
    }

    /// An ask starts.
    pub(super) fn begin(&mut self, ask: &Ask) {
        match ask.what {
            What::Write | What::Trim | What::Zero { .. } => self.kept.begin_change(ask.tree, ask.at, ask.len, |_| {}),
            What::Flush | What::Checkpoint | What::Anchor => {}
            _ => self.kept.begin_structure(ask.id, vec![ask.tree]),
        }
    }

    /// Several trees are created in one group.
    pub(super) fn begin_together(&mut self, first: u64, trees: Vec<u32>) {
        self.kept.begin_structure(first, trees);
    }

    /// It was answered; a write has this stamp in each of its sectors.
    pub(super) fn end(&mut self, ask: &Ask, stamp: u64, is_good: bool) {
        match ask.what {
            What::Write | What::Trim | What::Zero { .. } => {
                let (slots, is_write) = (&mut self.slots, ask.what == What::Write);
                self.kept.end_change(ask.tree, (ask.at, ask.len), is_good && is_write, |key, slot| {
                    let first = key.page * SECTORS;
                    let part = (ask.at / SECTOR).max(first)..((ask.at + ask.len) / SECTOR).min(first + SECTORS);
                    part.for_each(|sector| slots[slot.0 as usize][(sector - first) as usize] = stamp);
                });
            }
            What::Flush | What::Checkpoint | What::Anchor => {}
            _ => self.kept.end_structure(ask.id),
        }
    }

    /// The sectors of a read, if all of them are cached.
    pub(super) fn read(&mut self, tree: u32, at: u64, len: u64) -> Option<Vec<u64>> {
        let (object, _) = self.kept.open(tree)?;
        let sectors = at / SECTOR..(at + len) / SECTOR;
        let word = |sector: u64| {
            let slot = self.kept.find(Key { object, page: sector / SECTORS })?;
            Some(self.slots[slot.0 as usize][(sector % SECTORS) as usize])
        };
        sectors.map(word).collect()
    }

    pub(super) fn begin_fill(&mut self, tree: u32, is_ahead: bool) -> Option<Filling> {
        self.kept.begin_fill(tree, is_ahead)
    }

    /// A read has returned these sectors from `at` on; the tree ends at `end`.
    pub(super) fn fill(&mut self, (tree, filling): (u32, Filling), at: u64, end: u64, values: &[u64]) {
        let (first, last) = (at / SECTOR, at / SECTOR + values.len() as u64);
        for page in first.div_ceil(SECTORS)..last.div_ceil(SECTORS) {
            let sectors = page * SECTORS..((page + 1) * SECTORS).min(end / SECTOR);
            if sectors.is_empty() || sectors.end > last {
                continue;
            }
            let Some((_, inserted)) = self.kept.place(tree, filling, page) else { continue };
            let slot = &mut self.slots[inserted.slot.0 as usize];
            *slot = [0; SECTORS as usize];
            sectors.for_each(|sector| slot[(sector % SECTORS) as usize] = values[(sector - first) as usize]);
        }
    }

    pub(super) fn step(&mut self) {
        self.kept.step(|_, _, _| {}, |_| {});
    }

    /// A flush has failed.
    pub(super) fn shut(&mut self) {
        self.kept.shut();
    }
}

impl History {
    /// Whether the cache has answered a read; checks the answer.
    pub(super) fn read_cached(&mut self, tree: u32, at: u64, len: u64) -> bool {
        let Some(values) = self.cached.read(tree, at, len) else { return false };
        self.totals.hits += 1;
        let known = &self.trees[&tree];
        if known.floor < self.clock {
            for (index, value) in values.into_iter().enumerate() {
                let sector = at / SECTOR + index as u64;
                let good = known.content.may_hold(sector, value, Known::Ended(self.clock - 1));
                assert!(good, "the cache shows {value:#x} of tree {tree}, sector {sector}");
            }
        }
        true
    }

    /// Checks all that is cached of idle trees.
    pub(super) fn look_at_cached(&mut self, known: Known) {
        for (tree, expected) in self.trees.clone() {
            if expected.busy {
                continue;
            }
            let mut values = self.all_of(tree);
            for sector in 0..values.len() as u64 {
                if let Some(cached) = self.cached.read(tree, sector * SECTOR, SECTOR) {
                    values[sector as usize] = cached[0];
                }
            }
            assert_eq!(mismatch(&expected, &values, known), None, "tree {tree}, as the cache shows it");
        }
    }
}
