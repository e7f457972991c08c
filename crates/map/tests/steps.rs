//! Work that grows with the pool is done in steps: neither a tree of 1 TiB nor ten thousand LUNs
//! delay anybody. It is counted without a clock: how many steps a call takes, how much it really
//! does, and that the calls come to an end.

use block::Fault;
use map::{
    Agreed, Ask, BLOCK, Command, Core, Ended, Media, Owned, Region, Settings, Steps, What, format, format_end, recover,
};

const LOG: u64 = 8 << 20;
const GIB: u64 = 1 << 30;
/// Steps per turn, as in the server.
const TURN: u32 = 2048;
/// Steps beyond that, since started work is completed: the words of a node.
const MORE: u32 = 512;

/// A new pool, which does not store what is written.
struct New;

impl Media for New {
    fn read(&mut self, region: Region, at: u64, buf: &mut [u8]) -> Result<usize, Fault> {
        let bytes = match region {
            Region::Table(_) => format(1, LOG),
            Region::End => format_end(1, Agreed::default()),
            Region::Log => vec![0; LOG as usize],
            Region::Data | Region::Nodes => Vec::new(),
        };
        let from = (at as usize).min(bytes.len());
        let len = buf.len().min(bytes.len() - from);
        buf[..len].copy_from_slice(&bytes[from..from + len]);
        Ok(len)
    }

    fn settle(&mut self, _: Region) -> Result<(), Fault> {
        Ok(())
    }
}

struct Bench {
    core: Core,
    next: u64,
    /// Turns in which work was done in steps.
    turns: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench { core: recover(&mut New, Settings::default()).unwrap(), next: 0, turns: 0 }
    }

    fn submit(&mut self, tree: u32, at: u64, len: u64, what: What) -> u64 {
        self.next += 1;
        self.core.submit(Ask { id: self.next, tree, at, len, what, fua: false, aligned: true });
        self.next
    }

    /// One turn; the steps are also counted by their effects. Returns the numbers that were
    /// answered.
    fn turn(&mut self) -> Vec<u64> {
        if self.core.has_work() {
            self.turns += 1;
            let (mut steps, used) = (Steps::new(TURN), self.core.usage().used);
            self.core.step(&mut steps);
            assert!(steps.spent() > 0 && steps.spent() <= TURN + MORE, "{steps:?}");
            let freed = used.saturating_sub(self.core.usage().used) / BLOCK;
            assert!(freed <= u64::from(TURN + MORE), "{freed} blocks came free in one turn");
        }
        self.core.advance();
        while let Some(command) = self.core.next_command() {
            let token = match command {
                Command::Write { token, .. }
                | Command::Patch { token, .. }
                | Command::Flush { token, .. }
                | Command::Discard { token, .. }
                | Command::Store { token, .. } => token,
            };
            self.core.done(token, Ok(()));
        }
        let mut events = Vec::new();
        self.core.take_events(&mut events);
        events.into_iter().map(|Ended { id, result }| result.map(|()| id).unwrap()).collect()
    }

    /// Asks, and takes turns until it is answered and nothing is left to do. In each turn a client
    /// of another LUN writes and is answered. Returns the turns in which work was done in steps.
    fn ask(&mut self, tree: u32, len: u64, what: What) -> u64 {
        let id = self.submit(tree, 0, len, what);
        self.until(id)
    }

    fn until(&mut self, id: u64) -> u64 {
        let (before, mut answered) = (self.turns, false);
        while !answered || self.core.has_work() || self.core.is_busy() {
            answered |= self.turn().contains(&id);
        }
        self.turns - before
    }

    /// Allocates blocks of a new tree, which read as zeroes.
    fn fill(&mut self, tree: u32, size: u64) {
        self.ask(tree, 0, What::Create { size });
        for at in (0..size).step_by(32 * GIB as usize) {
            let id = self.submit(tree, at, (size - at).min(32 * GIB), What::Zero { no_hole: true });
            self.until(id);
        }
        let id = self.submit(0, 0, 0, What::Flush);
        self.until(id);
    }

    /// Counts what a tree owns while another LUN, 99, is written to; returns the bytes and the
    /// turns.
    fn owned(&mut self, tree: u32) -> (u64, u64) {
        let mut owned = Owned::of(tree);
        for turns in 1.. {
            let mut steps = Steps::new(TURN);
            let found = owned.step(&self.core, &mut steps);
            assert!(steps.spent() > 0 && steps.spent() <= TURN + MORE, "{steps:?}");
            if let Some(bytes) = found {
                return (bytes, turns);
            }
            let write = self.submit(99, turns % 8 * BLOCK, 4096, What::Write);
            assert!(self.turn().contains(&write), "it is answered in its turn");
        }
        unreachable!("it ends or goes on")
    }
}

/// 16 Mi blocks in 32 Ki leaves. Visiting all takes a step for each block and inner word, so
/// slightly more than 16 Mi, in turns of 2048: a little over 8192 turns. What is shared costs
/// nothing to visit.
#[test]
fn a_tree_of_a_tebibyte_is_measured_and_given_back_in_turns() {
    let (size, all) = (1024 * GIB, 1024 * GIB / BLOCK / u64::from(TURN));
    let mut bench = Bench::new();
    bench.ask(99, 0, What::Create { size: GIB });
    bench.fill(1, size);
    assert_eq!((bench.core.tree(1), bench.core.usage().used), (Some((size, size)), size));
    let about = |turns: u64| (all..all + all / 64).contains(&turns);
    let (bytes, turns) = bench.owned(1);
    assert!(bytes == size && about(turns), "{bytes} in {turns} of {all}");
    bench.ask(2, 0, What::Share { from: 1, frozen: true });
    assert_eq!((bench.owned(1), bench.owned(2)), ((0, 1), (0, 1)));
    let kept = bench.core.usage().used - size;
    assert_eq!(bench.ask(1, 0, What::Delete), 1, "it gives a reference back");
    assert_eq!(bench.owned(2).0, size);
    // At first nothing is released, as nothing is durable; then all of it, in turns.
    let turns = bench.ask(2, 0, What::Delete);
    assert!(about(turns), "{turns} of {all}");
    assert_eq!((bench.core.usage().used, bench.core.tree(2)), (kept, None));
    assert_eq!(bench.core.audit(), []);
}

/// A tree of 64 GiB whose blocks are all allocated and empty is halved. 512 Ki blocks are visited,
/// and released leaf by leaf: each is visited and cleared, and its reference is finally released.
#[test]
fn a_tree_becomes_smaller_in_turns() {
    let mut bench = Bench::new();
    bench.fill(1, 64 * GIB);
    let half = 32 * GIB / BLOCK / u64::from(TURN);
    let turns = bench.ask(1, 0, What::Resize { size: 32 * GIB });
    assert!((3 * half..5 * half).contains(&turns), "{turns} of {half}");
    assert_eq!((bench.core.tree(1), bench.core.usage().used), (Some((32 * GIB, 32 * GIB)), 32 * GIB));
    assert_eq!(bench.core.audit(), []);
    // Data beyond the new end is found, and nothing is changed.
    let last = bench.submit(1, 32 * GIB - 4096, 4096, What::Write);
    bench.until(last);
    let refused = bench.submit(1, 0, 0, What::Resize { size: GIB });
    let mut events = Vec::new();
    while events.is_empty() {
        bench.core.step(&mut Steps::new(TURN));
        bench.core.advance();
        bench.core.take_events(&mut events);
    }
    let refusal = map::MapRefusal::HoldsData(GIB);
    assert_eq!(events, [Ended { id: refused, result: Err(refusal) }]);
    assert_eq!(bench.core.tree(1), Some((32 * GIB, 32 * GIB)));
}

/// A snapshot of ten thousand LUNs. Each is requested, checked, shared and left: four times eight
/// steps, so 256 per turn and some 157 turns. Writes to another LUN are answered in each turn;
/// those to the LUNs when they are left. In the log it is a single record.
#[test]
fn ten_thousand_luns_are_shared_restored_and_deleted_at_one_moment_in_turns() {
    const LUNS: u32 = 10_000;
    let mut bench = Bench::new();
    bench.ask(20_000, 0, What::Create { size: GIB });
    let mut last = 0;
    for lun in 1..=LUNS {
        bench.submit(lun, 0, 0, What::Create { size: GIB });
        last = bench.submit(lun, 0, 4096, What::Write);
    }
    bench.until(last);
    let expected = u64::from(LUNS) * 4 * 8 / u64::from(TURN);
    let mut together = |change: &dyn Fn(u32) -> (u32, What)| {
        bench.next += 1;
        let id = bench.next;
        bench.core.submit_together(id, (1..=LUNS).map(change).collect());
        let (mut turns, mut made, mut largest, mut is_answered) = (0, bench.core.trees().len(), 0, false);
        while bench.core.has_work() || !is_answered {
            let write = bench.submit(20_000, 0, 4096, What::Write);
            let before = bench.turns;
            let answered = bench.turn();
            assert!(answered.contains(&write), "it is answered in its turn");
            is_answered |= answered.contains(&id);
            turns += bench.turns - before;
            let now = bench.core.trees().len();
            (largest, made) = (largest.max(now.abs_diff(made)), now);
        }
        (turns, largest)
    };
    let (turns, largest) = together(&|lun| (30_000 + lun, What::Share { from: lun, frozen: true }));
    assert!(
        (expected..expected + 10).contains(&turns) && (1..=257).contains(&largest),
        "{turns} turns, {largest} trees"
    );
    let (turns, largest) = together(&|lun| (lun, What::Restore { from: 30_000 + lun }));
    // Each releases its former root: one step more.
    assert!((expected..expected + 20).contains(&turns) && largest == 0, "{turns} turns, {largest} trees");
    let (turns, largest) = together(&|lun| (lun, What::Delete));
    assert!(
        (expected..expected + 20).contains(&turns) && (1..=257).contains(&largest),
        "{turns} turns, {largest} trees"
    );
    assert_eq!(bench.core.trees().len(), 1 + LUNS as usize);
    assert_eq!(bench.core.audit(), []);
}
