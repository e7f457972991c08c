//! One seed: rounds of random changes, writes and syncs. Each round ends with a power failure, or
//! the server's death, and a comparison of everything.

use crate::disk::{Disk, SECTOR, pick};
use crate::model::{Content, Names, Thing};
use block::{Fault, Span};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use tree::limits::PAGE_BYTES;
use tree::{FilePiece, FileTree, NewNode, NodeId, NodeKind, SetDone, SetNode, TreeCommand, TreeRefusal};

const ROUNDS: u64 = 5;
const STEPS: u64 = 250;
/// Number of nodes from which on more are removed than created.
const MANY: usize = 40;
/// Limit on the files' data: so small that it is reached.
const LIMIT: u64 = 300 * PAGE_BYTES;

/// Counts of what was tried, over all seeds.
#[derive(Debug, Default)]
pub struct Totals {
    changes: u64,
    refused: u64,
    full: u64,
    writes: u64,
    syncs: u64,
    together: u64,
    later: u64,
    reused: u64,
    starved: u64,
    images: u64,
    ends: u64,
    losses: u64,
    deaths: u64,
    lost_records: u64,
}

impl Totals {
    /// Each count with its description.
    fn each(&mut self) -> [(&'static str, &mut u64); 14] {
        let Totals {
            changes,
            refused,
            full,
            writes,
            syncs,
            together,
            later,
            reused,
            starved,
            images,
            ends,
            losses,
            deaths,
            lost_records,
        } = self;
        [
            ("changes", changes),
            ("refusals", refused),
            ("no room", full),
            ("writes", writes),
            ("syncs", syncs),
            ("syncs with a record", together),
            ("tails", later),
            ("pages given out again", reused),
            ("commands without space", starved),
            ("images", images),
            ("marks of the end", ends),
            ("power losses", losses),
            ("deaths of the server", deaths),
            ("records lost", lost_records),
        ]
    }

    pub fn add(&mut self, mut part: Totals) {
        for ((_, all), (_, more)) in self.each().into_iter().zip(part.each()) {
            *all += *more;
        }
    }

    pub fn assert_that_all_was_tried(mut self) {
        let all = format!("{self:?}");
        for (what, count) in self.each() {
            assert!(*count > 50, "{what}: {count} in all, {all}");
        }
    }
}

/// A client's write in flight.
struct Write {
    node: NodeId,
    at: u64,
    piece: FilePiece,
    stamp: u64,
    ticket: u64,
    durable: bool,
}

/// A sync whose flush has been done.
struct Sync {
    node: NodeId,
    mark: u64,
    /// By sector: the stamp that it makes durable.
    floor: Vec<(u64, u64)>,
}

/// Work of the disk.
enum Work {
    Own(TreeCommand),
    Write(Write),
}

/// A change of size that had to wait.
struct Waits {
    number: u64,
    node: NodeId,
    size: u64,
}

pub struct History {
    rng: Xoshiro256PlusPlus,
    disk: Disk,
    tree: FileTree,
    now: Span,
    names: Names,
    /// The names after the record with that number.
    records: BTreeMap<u64, Names>,
    content: BTreeMap<NodeId, Content>,
    dirty: Vec<NodeId>,
    work: Vec<Work>,
    syncs: Vec<Sync>,
    waits: Vec<Waits>,
    /// The last record that was reported as durable.
    answered: u64,
    next_stamp: u64,
    /// Pages that were ever a file's, with that file.
    had: BTreeMap<u64, NodeId>,
    names_made: u64,
    totals: Totals,
}

impl History {
    pub fn new(seed: u64) -> History {
        let mut disk = Disk::default();
        let mut tree = FileTree::recover(&mut disk).unwrap();
        tree.set_limit(LIMIT);
        History {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            disk,
            tree,
            now: Span::from_secs(1_700_000_000),
            names: Names::new(),
            records: BTreeMap::from([(0, Names::new())]),
            content: BTreeMap::new(),
            dirty: Vec::new(),
            work: Vec::new(),
            syncs: Vec::new(),
            waits: Vec::new(),
            answered: 0,
            next_stamp: 0,
            had: BTreeMap::new(),
            names_made: 0,
            totals: Totals::default(),
        }
    }

    fn pick(&mut self, below: u64) -> u64 {
        pick(&mut self.rng, below)
    }

    fn one_of<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[pick(&mut self.rng, of.len() as u64) as usize].clone())
    }

    pub fn run(mut self) -> Totals {
        for _ in 0..ROUNDS {
            for _ in 0..STEPS {
                self.step();
            }
            self.lose_power();
        }
        self.totals
    }

    fn step(&mut self) {
        let passed = 1 + self.pick(1000);
        self.now += Span::from_micros(passed);
        match self.pick(10) {
            0..=2 => self.change(),
            3 | 4 => self.write(),
            5 => self.sync(),
            6 if self.pick(6) == 0 => self.tick(),
            6 if self.pick(3) == 0 => drop(self.tree.mark_end()),
            _ => {
                for _ in 0..=self.pick(6) {
                    self.do_work();
                }
            }
        }
        self.advance();
    }

    fn tick(&mut self) {
        for node in std::mem::take(&mut self.dirty) {
            self.put_size(node);
        }
        self.tree.tick();
        self.note();
    }

    /// Puts the size that clients see into the next record.
    fn put_size(&mut self, node: NodeId) {
        self.dirty.retain(|dirty| *dirty != node);
        if let (Some(content), Some(thing)) = (self.content.get(&node), self.names.things.get_mut(&node)) {
            thing.size = content.size;
        }
    }

    /// Records that the names are durable with what is pending now.
    fn note(&mut self) {
        let mark = self.tree.want();
        self.records.insert(mark, self.names.clone());
    }

    fn advance(&mut self) {
        self.tree.advance();
        let mut ended = Vec::new();
        self.tree.take_ended(&mut ended);
        for end in ended {
            let place = self.waits.iter().position(|wait| wait.number == end.number).unwrap();
            let Waits { node, size, .. } = self.waits.remove(place);
            if end.result.is_ok() {
                self.shortened(node, size);
                self.note();
            }
        }
        while let Some(command) = self.tree.next_command() {
            let is_head = matches!(&command, TreeCommand::Write { at, .. } if *at < 128 << 10);
            self.totals.images += u64::from(is_head);
            let is_end = matches!(&command, TreeCommand::Write { bytes, .. } if bytes.starts_with(b"SWTE"));
            self.totals.ends += u64::from(is_end);
            self.work.push(Work::Own(command));
        }
        self.answered = self.tree.durable();
        self.end_syncs();
    }

    /// The disk does one piece of work, in any order.
    fn do_work(&mut self) {
        if self.work.is_empty() {
            return;
        }
        let place = self.pick(self.work.len() as u64) as usize;
        match self.work.swap_remove(place) {
            Work::Own(command) => self.do_own(command),
            Work::Write(write) => self.do_write(&write),
        }
    }

    fn do_own(&mut self, command: TreeCommand) {
        let fails = self.pick(60) == 0;
        let result = if fails { Err(Fault::NoSpace) } else { Ok(()) };
        self.totals.starved += u64::from(fails);
        let token = match command {
            TreeCommand::Write { token, at, bytes, durable } => {
                if !fails {
                    self.disk.write(at, &bytes, durable);
                }
                token
            }
            TreeCommand::Zero { token, at, len, durable } => {
                if !fails {
                    self.disk.zero(at, len, durable);
                }
                token
            }
            TreeCommand::Flush { token } => {
                if !fails {
                    self.disk.flush();
                }
                token
            }
        };
        self.tree.done(token, result);
    }

    fn do_write(&mut self, write: &Write) {
        let Write { node, at, piece, stamp, ticket, durable } = *write;
        self.disk.write(piece.at, &bytes_of(stamp, piece.len), durable);
        self.tree.end_request(ticket);
        let before = self.tree.info(node).ok().map(|info| info.size);
        self.tree.written(self.now, node, at, piece);
        if let (Some(before), Ok(info)) = (before, self.tree.info(node)) {
            assert!(info.size == before || info.size == at + piece.len);
            let content = self.content.get_mut(&node).unwrap();
            content.resize(info.size);
            // It is the latest there, unless the file was cut meanwhile.
            for offset in (0..piece.len).step_by(SECTOR as usize) {
                let found = self.tree.place_read(node, at + offset, SECTOR);
                if found.is_ok_and(|found| found.len > 0 && found.at == piece.at + offset) {
                    content.may_be((at + offset) / SECTOR, stamp);
                }
            }
            self.dirty.retain(|dirty| *dirty != node);
            self.dirty.push(node);
        }
    }

    fn write(&mut self) {
        let files = self.names.files();
        let Some(node) = self.one_of(&files) else { return };
        let at = self.pick(120) * SECTOR + if self.pick(8) == 0 { 1 << 20 } else { 0 };
        let len = (1 + self.pick(40)) * SECTOR;
        match self.tree.place_write(node, at, len) {
            Ok(piece) => {
                assert!(piece.len > 0 && piece.len <= len);
                self.totals.writes += 1;
                self.next_stamp += 1;
                let stamp = self.next_stamp;
                let pages = piece.at / PAGE_BYTES..(piece.at + piece.len).div_ceil(PAGE_BYTES);
                for page in pages {
                    let was = self.had.insert(page, node);
                    self.totals.reused += u64::from(was.is_some_and(|was| was != node));
                }
                let content = self.content.get_mut(&node).unwrap();
                for sector in at / SECTOR..(at + piece.len) / SECTOR {
                    content.may_be(sector, stamp);
                }
                let (ticket, durable) = (self.tree.begin_request(), self.pick(4) == 0);
                self.work.push(Work::Write(Write { node, at, piece, stamp, ticket, durable }));
            }
            Err(TreeRefusal::NoSpace) => self.totals.full += 1,
            Err(TreeRefusal::Busy) => self.totals.refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }

    /// What a COMMIT does: makes the data and the attributes of the file durable, together or in
    /// sequence.
    fn sync(&mut self) {
        let files = self.names.files();
        let Some(node) = self.one_of(&files) else { return };
        let is_dirty = self.dirty.contains(&node);
        match self.tree.commit(node) {
            Ok(Some(_)) => self.totals.together += 1,
            Ok(None) => {
                self.disk.flush();
                let Ok(_) = self.tree.sync(node) else { return };
            }
            Err(_) => return,
        }
        if is_dirty {
            self.put_size(node);
        }
        self.note();
        // What is in flight is not covered: the latest stamp on the disk is.
        let under_way = |sector: u64, stamp: u64| {
            self.work.iter().any(|work| {
                matches!(work, Work::Write(write) if write.node == node && write.stamp == stamp
                    && (write.at / SECTOR..(write.at + write.piece.len) / SECTOR).contains(&sector))
            })
        };
        let is_waiting = self.waits.iter().any(|wait| wait.node == node);
        let content = &self.content[&node];
        let floor = content.sectors.iter().filter_map(|(sector, stamps)| {
            // Writes in flight may end in any order, so nothing is known of their sectors.
            let is_loose = is_waiting || stamps.iter().any(|stamp| under_way(*sector, *stamp));
            (!is_loose).then(|| (*sector, stamps[stamps.len() - 1]))
        });
        let (floor, mark) = (floor.collect(), self.tree.want());
        self.totals.syncs += 1;
        self.syncs.push(Sync { node, mark, floor });
    }

    /// What an answered sync covered cannot be older any more.
    fn end_syncs(&mut self) {
        let durable = self.tree.durable();
        for Sync { node, floor, .. } in self.syncs.extract_if(.., |sync| sync.mark <= durable) {
            let Some(content) = self.content.get_mut(&node) else { continue };
            for (sector, stamp) in floor {
                if let Some(stamps) = content.sectors.get_mut(&sector)
                    && let Some(place) = stamps.iter().position(|found| *found == stamp)
                {
                    stamps.drain(..place);
                    content.stale.remove(&sector);
                }
            }
        }
    }
}

mod changes;
mod looking;

/// The bytes of a write: its stamp in every sector.
fn bytes_of(stamp: u64, len: u64) -> Vec<u8> {
    let mut bytes = vec![0; len as usize];
    for sector in bytes.chunks_exact_mut(SECTOR as usize) {
        sector[..8].copy_from_slice(&stamp.to_le_bytes());
    }
    bytes
}
