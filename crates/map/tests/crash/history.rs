//! One seed: rounds of random asks. Each round ends with a power failure (or a clean close),
//! recovery, and a comparison of everything.

mod cached;
mod reading;
mod requests;

use crate::catalogue::{Catalogue, Damaged};
use crate::disk::{Disk, Faults, Outcome, SECTOR, pick};
use crate::model::{Content, Known, Times};
use crate::totals::Totals;
use cached::Cached;
use map::{
    Agreed, Ask, BLOCK, Core, Ended, MapRefusal, PAGE, Pin, Region, Run, Settings, Steps, What, check, format,
    format_end, recover,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The size of the log: small, so that it wraps around and checkpoints are frequent.
const LOG: u64 = 128 << 10;
const POOL: u64 = 0x5eed;
/// Added to the numbers of the catalogue's asks.
const OF_CATALOGUE: u64 = 1 << 62;
/// Limit on concurrent asks.
const DEPTH: usize = 12;

/// A tree in the model.
#[derive(Clone, Default)]
struct Model {
    content: Content,
    size: u64,
    frozen: bool,
    /// Everything that had ended at this time is durable.
    floor: u64,
    /// A change of structure is in progress: nothing else is asked of it.
    busy: bool,
}

/// An ask in progress.
struct Under {
    ask: Ask,
    times: Rc<Times>,
    /// The stamp of a write.
    stamp: u64,
    /// The contents of a clone, or of a restored tree.
    copy: Option<Model>,
}

/// A read in progress.
struct Reading {
    tree: u32,
    at: u64,
    runs: Vec<Run>,
    pin: Pin,
    begun: u64,
    filling: Option<cache::Filling>,
}

pub struct History {
    rng: Xoshiro256PlusPlus,
    disk: Disk,
    core: Core,
    settings: Settings,
    trees: BTreeMap<u32, Model>,
    under: BTreeMap<u64, Under>,
    catalogue: Catalogue,
    readings: Vec<Reading>,
    cached: Cached,
    /// The asks of each group, and the trees that they create. The number of the first is that of
    /// the group.
    groups: Vec<Vec<(u64, u32)>>,
    clock: u64,
    next: u64,
    next_tree: u32,
    /// Everything that had ended at this time is durable, in any tree.
    floor: u64,
    totals: Totals,
}

impl History {
    pub fn new(seed: u64) -> History {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Every second seed has its data on several members, in small segments, so that runs reach
        // their ends.
        let members = [1, 1, 2, 3][pick(&mut rng, 4) as usize];
        let segment = BLOCK << pick(&mut rng, 3);
        let mut disk = Disk::new(members, segment);
        disk.plant(Region::Table(0), &format(POOL, LOG));
        disk.plant(Region::Table(1), &format(POOL, LOG));
        disk.plant(Region::End, &format_end(POOL, Agreed::default()));
        disk.plant(Region::Log, &vec![0; LOG as usize]);
        let settings = Settings {
            capacity: [24, 60, 400][pick(&mut rng, 3) as usize],
            align: [512, 4096][pick(&mut rng, 2) as usize],
            pending_max: [8, 1000][pick(&mut rng, 2) as usize],
            dirty_max: [3, 1000][pick(&mut rng, 2) as usize],
            // Derived from the seed rather than drawn, so that the histories of known seeds stay
            // the same.
            nodes_max: if seed % 8 == 7 { 6 } else { u64::MAX },
            segment,
        };
        let core = recover(&mut disk, settings).unwrap();
        let cached = [4, 40, 400][seed as usize % 3];
        let (trees, under) = (BTreeMap::new(), BTreeMap::new());
        History {
            rng,
            disk,
            core,
            settings,
            trees,
            under,
            catalogue: Catalogue::new(),
            readings: Vec::new(),
            cached: Cached::new(cached),
            groups: Vec::new(),
            clock: 0,
            next: 0,
            next_tree: 1,
            floor: 0,
            totals: Totals { several_members: u64::from(members > 1), ..Totals::default() },
        }
    }

    pub fn run(mut self) -> Totals {
        for _ in 0..3 {
            // In one of four rounds the disk has faults.
            if self.below(4) == 0 {
                let (writes, flushes, reads) = (self.below(30), self.below(15), self.below(100));
                self.disk.faults = Faults { writes, flushes, reads, ..Faults::default() };
            }
            if self.below(3) == 0 {
                self.disk.faults.shorts = self.below(500);
            }
            if self.below(4) == 0 {
                let parts = self.disk.parts();
                self.disk.faults.slow = Some(parts[self.below(parts.len() as u64) as usize]);
            }
            for _ in 0..self.below(600) {
                self.step();
            }
            if self.below(4) == 0 {
                self.settle();
                self.look(Known::Ended(self.clock));
                self.look_at_cached(Known::Ended(self.clock));
            }
            // After a failed flush, the system may show what it has lost: nothing helps but to keep
            // the pool closed until the machine restarts.
            if self.below(3) == 0 && !self.disk.has_lost {
                self.die();
                for _ in 0..self.below(200) {
                    self.step();
                }
            }
            self.crash();
        }
        self.empty();
        let seen = self.disk.seen;
        (self.totals.short_writes, self.totals.slow) = (seen.shorts, seen.slow);
        (self.totals.discards, self.totals.unread) = (seen.discards, seen.unread);
        self.totals
    }

    fn below(&mut self, limit: u64) -> u64 {
        pick(&mut self.rng, limit)
    }

    fn step(&mut self) {
        self.clock += 1;
        match self.below(11) {
            10 => self.step_catalogue(),
            0..=3 if self.under.len() < DEPTH => self.ask_something(),
            4 if self.readings.len() < 4 => self.begin_reading(),
            5 if !self.readings.is_empty() => self.end_reading(),
            6 => {
                // A turn has few steps, and sometimes many, so that everything else happens between
                // the steps.
                let most = [0, 1, 1, 7, 2000][self.below(5) as usize];
                self.core.step(&mut Steps::new(most));
                self.core.advance();
                // Rarely, so that there is something to do.
                if self.below(8) == 0 {
                    self.core.give_back();
                }
            }
            _ => self.work(),
        }
        self.take_events();
        self.cached.step();
    }

    /// Continues a change of the catalogue, or records in the end how far the log goes.
    fn step_catalogue(&mut self) {
        match self.below(6) {
            0 => return self.core.anchor(),
            1 => return self.submit(0, 0, 0, What::Anchor, false),
            _ => {}
        }
        let chance = self.rng.next_u64();
        if let Some(agreed) = self.catalogue.step(chance) {
            self.next += 1;
            self.core.agree(self.next | OF_CATALOGUE, agreed);
        }
    }

    /// The disk progresses, and everything that follows from that.
    fn work(&mut self) {
        self.hand_over();
        match self.disk.step(&mut self.rng) {
            Some((token, Outcome::Done(result))) => self.core.done(token, result),
            Some((token, Outcome::Unread(fault))) => self.core.not_read(token, fault),
            None => {}
        }
    }

    fn hand_over(&mut self) {
        while let Some(command) = self.core.next_command() {
            let under = &self.under;
            self.disk.start(command, |id| {
                let Under { ask, stamp, .. } = &under[&id];
                stamp.to_le_bytes().repeat(ask.len as usize / 8)
            });
        }
    }

    /// Lets everything in progress end.
    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 100_000, "it never ends: {} under way", self.under.len());
            self.clock += 1;
            self.core.step(&mut Steps::new(100));
            self.core.advance();
            self.work();
            self.take_events();
            if !self.readings.is_empty() {
                self.end_reading();
            }
            if self.disk.is_idle() && !self.core.is_busy() && !self.core.has_work() {
                break;
            }
        }
        assert_eq!(self.core.audit(), []);
    }

    fn take_events(&mut self) {
        let mut events = Vec::new();
        self.core.take_events(&mut events);
        if self.core.has_failed() {
            self.cached.shut();
        }
        for Ended { id, result } in events {
            if id & OF_CATALOGUE != 0 {
                let Faults { flushes, .. } = self.disk.faults;
                assert!(result.is_ok() || flushes > 0, "{result:?}");
                self.catalogue.kept(result.is_ok());
                self.totals.editions += u64::from(result.is_ok());
                continue;
            }
            // The answer to a group is for all of it.
            let group = self.groups.iter().find(|group| group.first().is_some_and(|(first, _)| *first == id));
            let answered = group.map_or(vec![id], |group| group.iter().map(|(id, _)| *id).collect());
            for id in answered {
                let under = self.under.remove(&id).expect("an answer to something asked");
                self.cached.end(&under.ask, under.stamp, result.is_ok());
                match result {
                    Ok(()) => self.succeeded(under),
                    Err(refusal) => self.refused(&under, refusal),
                }
            }
        }
    }

    fn succeeded(&mut self, under: Under) {
        let Under { ask, times, copy, .. } = under;
        times.ended.set(Some(self.clock));
        times.durable.set(ask.fua);
        match ask.what {
            What::Write => self.totals.writes += 1,
            What::Trim => self.totals.trims += 1,
            What::Zero { .. } => self.totals.zeroes += 1,
            What::Flush => {
                self.totals.flushes += 1;
                self.floor = self.floor.max(times.begun - 1);
            }
            What::Checkpoint => self.totals.checkpoints += 1,
            What::Anchor => {}
            What::Delete => {
                self.totals.deletes += 1;
                self.trees.remove(&ask.tree);
            }
            What::Resize { size } => {
                self.totals.resizes += 1;
                let known = self.trees.get_mut(&ask.tree).expect("it was resized");
                known.content.cut(size.div_ceil(SECTOR));
                (known.size, known.busy) = (size, false);
            }
            What::Create { .. } | What::Share { .. } | What::Restore { .. } => {
                let mut copy = copy.expect("made with the ask");
                (copy.floor, copy.busy) = (self.clock, false);
                self.trees.insert(ask.tree, copy);
                match ask.what {
                    What::Share { .. } => self.totals.clones += 1,
                    What::Restore { from } => {
                        self.totals.restores += 1;
                        self.lend(from, false);
                    }
                    _ => {}
                }
            }
        }
    }

    fn refused(&mut self, under: &Under, refusal: MapRefusal) {
        let Faults { writes, flushes, reads, .. } = self.disk.faults;
        let faulty = writes + flushes + reads > 0;
        match refusal {
            MapRefusal::Full | MapRefusal::Crowded => self.totals.full += 1,
            MapRefusal::Failed => {
                assert!(faulty && self.core.has_failed(), "{under:?}", under = under.ask);
                self.totals.failed += 1;
            }
            MapRefusal::Disk(_) => assert!(faulty, "{:?}", under.ask),
            MapRefusal::HoldsData(_) => {}
            MapRefusal::Frozen(tree) => assert!(self.trees[&tree].frozen),
            // It was deleted while this waited.
            MapRefusal::NoTree(_) | MapRefusal::Beyond => {}
            other => panic!("{:?}: {other}", under.ask),
        }
        // A change of structure that failed for lack of durability may or may not be there: only a
        // crash can follow.
        if refusal != MapRefusal::Failed {
            match under.ask.what {
                What::Delete | What::Resize { .. } => self.lend(under.ask.tree, false),
                What::Restore { from } => [under.ask.tree, from].iter().for_each(|tree| self.lend(*tree, false)),
                _ => {}
            }
        } else if under.copy.is_some() || !matches!(under.ask.what, What::Write | What::Trim | What::Zero { .. }) {
            let (ask, times) = (under.ask, Rc::clone(&under.times));
            self.under.insert(ask.id | 1 << 63, Under { ask, times, stamp: 0, copy: under.copy.clone() });
        }
    }

    /// The power fails. What comes back must be allowed, and becomes the known state.
    fn crash(&mut self) {
        self.totals.crashes += 1;
        self.hand_over();
        self.disk.crash(&mut self.rng);
        self.start_again();
    }

    /// The server dies, and another one opens the pool.
    fn die(&mut self) {
        self.totals.deaths += 1;
        self.hand_over();
        self.disk.orphan(&mut self.rng);
        self.start_again();
    }

    fn start_again(&mut self) {
        self.disk.faults = Faults::default();
        self.readings.clear();
        self.cached = Cached::new([4, 40, 400][self.below(3) as usize]);
        let report = check(&mut self.disk, self.settings).unwrap();
        assert_eq!(report.damages, []);
        self.totals.editions_cut_off += u64::from(self.catalogue.look(&report.agreed));
        if let Some(mut damaged) = Damaged::last_record(&mut self.disk, &report) {
            self.totals.damaged_logs += 1;
            assert!(recover(&mut damaged, self.settings).is_err(), "record {} is gone unnoticed", report.sequence);
        }
        self.core = recover(&mut self.disk, self.settings).unwrap();
        assert_eq!(self.core.audit(), []);
        assert_eq!(self.core.usage().used, report.used);
        self.totals.replayed += u64::from(self.core.usage().log > 0);
        if self.below(2) == 0 {
            // It is unknown after opening what the disk keeps for free blocks.
            self.core.suspect(self.settings.capacity * BLOCK);
        }
        let allowed = self.allowed();
        let found: Vec<(u32, bool)> = self.core.trees();
        for group in std::mem::take(&mut self.groups) {
            let is_under = |id: u64| self.under.contains_key(&id) || self.under.contains_key(&(id | 1 << 63));
            let there = group.iter().filter(|(_, tree)| self.core.tree(*tree).is_some()).count();
            let whole = there == 0 || there == group.len();
            assert!(whole || !group.iter().all(|(id, _)| is_under(*id)), "{there} trees of the group {group:?}");
        }
        let mut trees = BTreeMap::new();
        for (tree, frozen) in found {
            let values = self.all_of(tree);
            let choices = allowed.get(&tree).unwrap_or_else(|| panic!("tree {tree} came from nowhere"));
            let (size, _) = self.core.tree(tree).unwrap();
            let fits = |choice: &Option<(Model, Known)>| match choice {
                Some((expected, _)) if (expected.size, expected.frozen) != (size, frozen) => Some("size".to_owned()),
                Some((expected, known)) => mismatch(expected, &values, *known),
                None => Some("gone".to_owned()),
            };
            let reasons: Vec<_> = choices.iter().map(fits).collect();
            assert!(reasons.iter().any(Option::is_none), "tree {tree} after the crash: {reasons:?}");
            let mut known = Model { size, frozen, ..Model::default() };
            let written = values.iter().enumerate().filter(|(_, value)| **value != 0);
            written.for_each(|(sector, value)| known.content.fix(sector as u64, *value));
            trees.insert(tree, known);
        }
        for (tree, choices) in allowed {
            let may_be_gone = choices.iter().any(Option::is_none);
            assert!(may_be_gone || trees.contains_key(&tree), "tree {tree} is gone");
        }
        self.trees = trees;
        self.under.clear();
    }

    /// What each tree may be after a power failure now; `None` among the choices means that it may
    /// be missing.
    fn allowed(&self) -> BTreeMap<u32, Vec<Option<(Model, Known)>>> {
        let mut allowed: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for (tree, known) in &self.trees {
            let floor = self.floor.max(known.floor);
            allowed.entry(*tree).or_default().push(Some((known.clone(), Known::Durable(floor))));
        }
        for Under { ask, copy, .. } in self.under.values() {
            let choices = allowed.entry(ask.tree).or_default();
            match (ask.what, copy) {
                (What::Create { .. } | What::Share { .. }, Some(copy)) => {
                    choices.extend([None, Some((copy.clone(), Known::Ended(self.clock)))]);
                }
                (What::Restore { .. }, Some(copy)) => {
                    choices.push(Some((copy.clone(), Known::Ended(self.clock))));
                }
                (What::Delete, _) => choices.push(None),
                (What::Resize { size }, _) => {
                    let mut resized = self.trees[&ask.tree].clone();
                    resized.content.cut(size.div_ceil(SECTOR));
                    resized.size = size;
                    choices.push(Some((resized, Known::Durable(self.floor.max(self.trees[&ask.tree].floor)))));
                }
                _ => {}
            }
        }
        allowed.remove(&0);
        allowed
    }

    /// Deletes all trees; all space must become free.
    fn empty(&mut self) {
        for tree in self.trees.keys().copied().collect::<Vec<_>>() {
            self.submit(tree, 0, 0, What::Delete, false);
        }
        self.settle();
        assert_eq!(self.trees.len(), 0);
        assert_eq!(self.core.usage().used, 0);
        self.crash();
        assert_eq!(self.core.usage().used, 0);
    }
}

/// The first sector that is not allowed.
fn mismatch(expected: &Model, values: &[u64], known: Known) -> Option<String> {
    let (sector, value) = expected.content.first_wrong(values, known)?;
    let choices = expected.content.choices(sector, known);
    Some(format!("sector {sector} holds {value:#x}, allowed are {choices:x?}"))
}
