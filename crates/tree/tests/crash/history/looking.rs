//! The power failure, and the comparison afterwards.

use super::*;
use tree::TreeMedia as _;

impl History {
    pub(super) fn lose_power(&mut self) {
        assert_eq!(self.tree.check(), [], "while it is served");
        for work in std::mem::take(&mut self.work) {
            match work {
                Work::Own(TreeCommand::Write { at, bytes, .. }) => self.disk.tear(at, &bytes, &mut self.rng),
                Work::Own(TreeCommand::Zero { at, len, .. }) => {
                    self.disk.tear_zeroes(at, len, &mut self.rng);
                }
                Work::Own(TreeCommand::Flush { .. }) => {}
                Work::Write(write) => {
                    self.disk.tear(write.piece.at, &bytes_of(write.stamp, write.piece.len), &mut self.rng);
                }
            }
        }
        // If the server alone dies, the system still has what it wrote, and a start makes that
        // durable before it builds on it.
        if self.pick(4) == 0 {
            self.totals.deaths += 1;
            self.disk.flush();
        } else {
            self.totals.losses += 1;
            self.disk.crash(&mut self.rng);
        }
        self.tree = FileTree::recover(&mut self.disk).unwrap();
        self.tree.set_limit(LIMIT);
        assert_eq!(self.tree.check(), []);
        let durable = self.tree.durable();
        assert!(durable >= self.answered, "{durable} is there, {} were answered", self.answered);
        let latest = *self.records.keys().next_back().unwrap();
        self.totals.lost_records += u64::from(latest > durable);
        let (_, expected) = self.records.range(..=durable).next_back().unwrap();
        let expected = expected.clone();
        self.compare_names(&expected);
        (self.names, self.answered) = (expected, durable);
        self.compare_contents();
        self.records = BTreeMap::from([(durable, self.names.clone())]);
        (self.dirty, self.syncs, self.waits) = Default::default();
    }

    /// All names refer to what the model has, and there are no others.
    fn compare_names(&self, expected: &Names) {
        let (mut entries, mut next) = (BTreeMap::new(), vec![NodeId::ROOT]);
        while let Some(folder) = next.pop() {
            let mut last = 2;
            for entry in self.tree.list(folder, 0).unwrap() {
                assert!(entry.cookie > last);
                last = entry.cookie;
                entries.insert((folder, entry.name.to_vec()), entry.node);
                assert_eq!(self.tree.look_up(folder, entry.name), Ok(entry.node));
                if entry.info.kind == NodeKind::Folder {
                    assert_eq!(self.tree.parent(entry.node), Ok(folder));
                    next.push(entry.node);
                }
            }
        }
        assert_eq!(entries, expected.entries);
        assert_eq!(self.tree.nodes(), expected.things.len() as u64);
        for (node, thing) in &expected.things {
            let info = self.tree.info(*node).unwrap();
            assert_eq!((info.kind, info.links, info.mode), (thing.kind, thing.links, thing.mode), "{node:?}");
            // An image may have a size that is not in a record yet.
            let later = self.content.get(node).is_some_and(|content| content.sizes.contains(&info.size));
            assert!(info.size == thing.size || later, "{node:?}: {} and {thing:?}", info.size);
        }
    }

    /// Every sector of every file has what was last written there, or was written since.
    fn compare_contents(&mut self) {
        let mut contents = BTreeMap::new();
        for node in self.names.files() {
            let size = self.tree.info(node).unwrap().size;
            let mut content = self.content.remove(&node).unwrap_or_default();
            let mut at = 0;
            while at < size {
                let piece = self.tree.place_read(node, at, size - at).unwrap();
                for offset in (0..piece.len).step_by(SECTOR as usize) {
                    let sector = (at + offset) / SECTOR;
                    let stamp = self.stamp_at(piece.at + offset);
                    let may = content.may(sector);
                    assert!(may.contains(&stamp), "{node:?}, sector {sector}: {stamp} and not one of {may:?}");
                    content.sectors.insert(sector, vec![stamp]);
                }
                at += piece.len;
            }
            // What is beyond the end within the page may appear later; beyond that are zeroes.
            let behind = size.div_ceil(SECTOR)..size.next_multiple_of(PAGE_BYTES) / SECTOR;
            let stale = behind.map(|sector| (sector, content.may(sector))).collect();
            content.sectors.retain(|sector, _| *sector < size.div_ceil(SECTOR));
            self.names.thing(node).size = size;
            contents.insert(node, Content { size, sizes: vec![size], stale, sectors: content.sectors });
        }
        self.content = contents;
    }

    fn stamp_at(&mut self, at: u64) -> u64 {
        let mut sector = [0; SECTOR as usize];
        self.disk.read(at, &mut sector).unwrap();
        let (stamp, rest) = sector.split_first_chunk().unwrap();
        assert!(rest.iter().all(|byte| *byte == 0));
        u64::from_le_bytes(*stamp)
    }
}
