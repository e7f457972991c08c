//! Reads of a history, compared with what every sector may contain at that time.

use super::*;

impl History {
    pub(super) fn begin_reading(&mut self) {
        let Some(chosen) = (!self.trees.is_empty()).then(|| self.below(self.trees.len() as u64)) else { return };
        let (&tree, known) = self.trees.iter().nth(chosen as usize).expect("one of them");
        let (sectors, busy) = (known.size / SECTOR, known.busy);
        if sectors == 0 || busy {
            return;
        }
        let at = self.below(sectors) * SECTOR;
        let len = (1 + self.below(300)).min(sectors - at / SECTOR) * SECTOR;
        if self.read_cached(tree, at, len) {
            return;
        }
        let filling = self.cached.begin_fill(tree, false);
        let mut runs = Vec::new();
        let pin = self.core.read(tree, at, len, &mut runs).expect("a read of what is there");
        assert_eq!(runs.iter().map(|run| run.len).sum::<u64>(), len);
        self.readings.push(Reading { tree, at, runs, pin, begun: self.clock, filling });
    }

    pub(super) fn end_reading(&mut self) {
        let chosen = self.below(self.readings.len() as u64) as usize;
        let Reading { tree, at, runs, pin, begun, filling } = self.readings.swap_remove(chosen);
        let values = self.values(&runs);
        self.core.unpin(pin);
        self.totals.reads += 1;
        if let (Some(filling), Some((size, _))) = (filling, self.core.tree(tree)) {
            self.cached.fill((tree, filling), at, size, &values);
        }
        // A tree that was deleted or restored meanwhile may have changed.
        let Some(known) = self.trees.get(&tree).filter(|known| !known.busy && known.floor < begun) else { return };
        for (index, value) in values.into_iter().enumerate() {
            let sector = at / SECTOR + index as u64;
            let good = known.content.may_hold(sector, value, Known::Ended(begun - 1)) || sector * SECTOR >= known.size;
            assert!(good, "read {value:#x} from tree {tree}, sector {sector}");
        }
    }

    pub(super) fn values(&self, runs: &[Run]) -> Vec<u64> {
        let mut values = Vec::new();
        for run in runs {
            for sector in 0..run.len / SECTOR {
                values.push(run.at.map_or(0, |at| {
                    let data = self.disk.sector(Region::Data, at / SECTOR + sector);
                    let words = data.as_chunks::<8>().0;
                    assert!(words.iter().all(|word| word == &words[0]), "a sector is one write's");
                    u64::from_le_bytes(words[0])
                }));
            }
        }
        values
    }

    /// The present contents of a whole tree.
    pub(super) fn all_of(&mut self, tree: u32) -> Vec<u64> {
        let (size, _) = self.core.tree(tree).expect("a tree that is there");
        let mut runs = Vec::new();
        let pin = self.core.read(tree, 0, size, &mut runs).unwrap();
        self.core.unpin(pin);
        self.values(&runs)
    }

    /// Compares everything with the model.
    pub(super) fn look(&mut self, known: Known) {
        for (tree, expected) in self.trees.clone() {
            if !expected.busy {
                let values = self.all_of(tree);
                assert_eq!(mismatch(&expected, &values, known), None, "tree {tree}");
            }
        }
    }
}
