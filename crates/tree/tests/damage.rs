//! Damage to the log of a volume's files: a bit of any record is changed, at every kind of place.
//! Then either the files are refused, or nothing is missing. Only the last record, before the mark
//! of the end is behind it, may look as if it had never been written.

use block::{Fault, Span};
use std::collections::BTreeMap;
use tree::{FileTree, NewNode, NodeId, NodeKind, TreeCommand, TreeError, TreeMedia};

const PAGE: usize = 4096;
/// The pages of both logs.
const LOGS: std::ops::Range<u64> = (4 << 20) / PAGE as u64..(20 << 20) / PAGE as u64;

#[derive(Default)]
struct Disk(BTreeMap<u64, Vec<u8>>);

impl TreeMedia for Disk {
    fn read(&mut self, at: u64, buf: &mut [u8]) -> Result<(), Fault> {
        for (number, part) in buf.chunks_mut(PAGE).enumerate() {
            match self.0.get(&(at / PAGE as u64 + number as u64)) {
                Some(page) => part.copy_from_slice(&page[..part.len()]),
                None => part.fill(0),
            }
        }
        Ok(())
    }
}

impl Disk {
    fn write(&mut self, at: u64, bytes: &[u8]) {
        for (number, page) in bytes.chunks(PAGE).enumerate() {
            self.0.insert(at / PAGE as u64 + number as u64, page.to_vec());
        }
    }

    /// The records of the logs, in order: their sequences and pages.
    fn records(&self) -> Vec<(u64, Vec<u64>)> {
        let mut records = BTreeMap::<u64, Vec<u64>>::new();
        let mut current = None;
        for (number, page) in self.0.range(LOGS) {
            match &page[..4] {
                b"SWTR" => current = Some(u64::from_le_bytes(page[8..16].try_into().unwrap())),
                b"SWTM" => {}
                _ => current = None,
            }
            records.entry(current.unwrap_or(0)).or_default().push(*number);
        }
        records.remove(&0);
        records.into_iter().collect()
    }

    /// What is read while this bit of a page is another one.
    fn read_damaged(&mut self, page: u64, bit: usize) -> Result<FileTree, TreeError> {
        let flip = |disk: &mut Disk| disk.0.get_mut(&page).unwrap()[bit / 8] ^= 1 << (bit % 8);
        flip(self);
        let read = FileTree::recover(self);
        flip(self);
        read
    }
}

struct Volume {
    disk: Disk,
    tree: FileTree,
    made: u64,
}

impl Volume {
    fn new() -> Volume {
        Volume { disk: Disk::default(), tree: FileTree::empty(), made: 0 }
    }

    fn work(&mut self) {
        self.tree.advance();
        while let Some(command) = self.tree.next_command() {
            let token = match command {
                TreeCommand::Write { token, at, bytes, .. } => {
                    self.disk.write(at, &bytes);
                    token
                }
                TreeCommand::Zero { token, .. } | TreeCommand::Flush { token } => token,
            };
            self.tree.done(token, Ok(()));
            self.tree.advance();
        }
    }

    /// Makes so many links with long targets, removes older ones, and waits for the record of it.
    fn change(&mut self, links: u64) {
        for _ in 0..links {
            let target = [b'x'; 3000];
            let new = NewNode { kind: NodeKind::Link, mode: 0o777, uid: 0, gid: 0, verifier: 0, target: &target };
            self.tree.make(Span::SECOND, NodeId::ROOT, self.made.to_string().as_bytes(), &new).unwrap();
            if let Some(old) = self.made.checked_sub(8) {
                self.tree.remove(Span::SECOND, NodeId::ROOT, old.to_string().as_bytes()).unwrap();
            }
            self.made += 1;
        }
        let record = self.tree.want();
        self.work();
        assert!(self.tree.durable() >= record);
    }

    fn tick(&mut self) {
        self.tree.tick();
        self.work();
    }
}

fn names(tree: &FileTree) -> Vec<Vec<u8>> {
    tree.list(NodeId::ROOT, 0).unwrap().map(|entry| entry.name.to_vec()).collect()
}

/// Bits of a page to change: each byte of the heads, the first and last ones of what follows.
fn bits() -> impl Iterator<Item = usize> {
    (0..40).chain([500, 1000, 2047, 4000, 4095]).map(|byte| byte * 8 + byte % 8)
}

/// Changes bits of all records from this one on. Returns the records whose damage took something
/// away without being noticed, and how often it was noticed.
fn damage(volume: &mut Volume, from: usize) -> (Vec<u64>, u64) {
    let expected = names(&volume.tree);
    let (mut lost, mut noticed) = (Vec::new(), 0);
    for (sequence, pages) in volume.disk.records().into_iter().skip(from) {
        for (page, bit) in pages.into_iter().flat_map(|page| bits().map(move |bit| (page, bit))) {
            match volume.disk.read_damaged(page, bit) {
                Err(_) => noticed += 1,
                Ok(tree) if names(&tree) == expected => {}
                Ok(_) => lost.push(sequence),
            }
        }
    }
    lost.dedup();
    (lost, noticed)
}

/// Before the mark of the end only the last record can vanish. With it, none can.
#[test]
fn a_damaged_record_is_noticed() {
    let mut volume = Volume::new();
    for links in [1, 1, 2, 9, 1, 3] {
        volume.change(links);
    }
    let last = volume.tree.durable();
    // 1 + 1 + 2 + 7 + 1 + 3 pages: a link takes some 3100 bytes.
    let pages: usize = volume.disk.records().iter().map(|(_, pages)| pages.len()).sum();
    let (lost, noticed) = damage(&mut volume, 0);
    assert_eq!(lost, [last]);
    assert!(noticed > 0);
    assert!(volume.tree.is_loose(), "the mark is missing");
    volume.tick();
    volume.tick();
    assert!(!volume.tree.is_loose());
    assert_eq!(volume.tree.durable(), last);
    assert_eq!(damage(&mut volume, 0), (vec![], (pages * bits().count()) as u64));
    // It takes no place in the log, and damage to the mark itself takes nothing away.
    let mark = *volume.disk.0.iter().rfind(|(_, page)| page.starts_with(b"SWTE")).unwrap().0;
    for bit in bits() {
        let tree = volume.disk.read_damaged(mark, bit).unwrap();
        assert_eq!(names(&tree), names(&volume.tree));
    }
    volume.change(1);
    assert!(volume.disk.0[&mark].starts_with(b"SWTR"));
    let restarted = FileTree::recover(&mut volume.disk).unwrap();
    assert_eq!((names(&restarted), restarted.durable()), (names(&volume.tree), last + 1));
}

/// The error names the first record that is lost, and the latest of which something is known.
#[test]
fn the_error_names_the_record() {
    let mut volume = Volume::new();
    (0..5).for_each(|_| volume.change(1));
    let records = volume.disk.records();
    let (sequence, pages) = &records[records.len() - 3];
    let found = volume.disk.read_damaged(pages[0], 138 * 8).err();
    assert_eq!(found, Some(TreeError::Lost { record: *sequence, latest: sequence + 2 }));
    // A page of zeroes in the place of one is the same.
    volume.disk.0.remove(&pages[0]);
    assert_eq!(FileTree::recover(&mut volume.disk).err(), found);
}

/// Images are written and both logs are used again and again: what is left of earlier records is no
/// sign of later ones, damage to records behind the head is noticed, and that to older ones does
/// no harm. A damaged head is noticed, or the older one and the records behind it suffice.
#[test]
fn old_records_are_no_sign_of_later_ones() {
    let mut volume = Volume::new();
    let mut heads = 0;
    for round in 0..2600 {
        let before = [0, 16].map(|page| volume.disk.0.get(&page).cloned());
        volume.change(1 + round % 3);
        let is_new = before != [0, 16].map(|page| volume.disk.0.get(&page).cloned());
        heads += u32::from(is_new);
        if is_new || round % 97 == 0 {
            let tree = FileTree::recover(&mut volume.disk).unwrap();
            assert_eq!((names(&tree), tree.durable()), (names(&volume.tree), volume.tree.durable()));
            for head in [0, 16].into_iter().take(heads.min(2) as usize) {
                let head = if heads == 1 { 16 } else { head };
                match volume.disk.read_damaged(head, 200) {
                    Ok(tree) => assert_eq!(names(&tree), names(&volume.tree)),
                    Err(TreeError::Head(_) | TreeError::Heads | TreeError::Lost { .. } | TreeError::Image(_)) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }
    // Some 5200 links of 3 KiB: both logs of 8 MiB are full, or nearly.
    assert!(heads > 20 && volume.disk.0.range(LOGS).count() > 3500, "{heads}");
    let records = volume.disk.records().len();
    let (lost, noticed) = damage(&mut volume, records - 12);
    assert!(noticed > 0);
    assert_eq!(lost, [volume.tree.durable()]);
}
