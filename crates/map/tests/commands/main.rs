//! What goes to the disk, and in which order. The test looks at the commands themselves and ends
//! them one by one.

mod durable;
mod trees;

use block::Fault;
use map::{
    Agreed, Ask, Command, Core, Damage, Ended, MapRefusal, Media, PAGE, Region, Run, Settings, Steps, What, check,
    format, format_end, recover,
};
use std::collections::BTreeMap;

const LOG: u64 = 64 << 10;

/// The files of a pool in memory. All writes take effect at once.
#[derive(Clone, Default)]
struct Files(BTreeMap<Region, Vec<u8>>);

impl Files {
    fn new() -> Files {
        let log = (Region::Log, vec![0; LOG as usize]);
        let tables = [0, 1].map(|turn| (Region::Table(turn), format(1, LOG)));
        Files(BTreeMap::from([
            tables[0].clone(),
            tables[1].clone(),
            (Region::End, format_end(1, Agreed::default())),
            log,
        ]))
    }

    fn write(&mut self, region: Region, at: u64, bytes: &[u8]) {
        let file = self.0.entry(region).or_default();
        let end = at as usize + bytes.len();
        file.resize(file.len().max(end), 0);
        file[at as usize..end].copy_from_slice(bytes);
    }
}

impl Media for &Files {
    fn read(&mut self, region: Region, at: u64, buf: &mut [u8]) -> Result<usize, Fault> {
        let empty = Vec::new();
        let file = self.0.get(&region).unwrap_or(&empty);
        let from = (at as usize).min(file.len());
        let len = buf.len().min(file.len() - from);
        buf[..len].copy_from_slice(&file[from..from + len]);
        Ok(len)
    }

    fn settle(&mut self, _: Region) -> Result<(), Fault> {
        Ok(())
    }
}

struct Bench {
    core: Core,
    files: Files,
    next: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Settings { capacity: 100, ..Settings::default() })
    }

    fn with(settings: Settings) -> Bench {
        let files = Files::new();
        let core = recover(&mut &files, settings).unwrap();
        let mut bench = Bench { core, files, next: 0 };
        bench.ask(1, 0, 1 << 20, What::Create { size: 1 << 20 }, false);
        bench.run();
        bench
    }

    fn ask(&mut self, tree: u32, at: u64, len: u64, what: What, fua: bool) -> u64 {
        self.next += 1;
        self.core.submit(Ask { id: self.next, tree, at, len, what, fua, aligned: true });
        self.next
    }

    fn write(&mut self, at: u64, len: u64, fua: bool) -> u64 {
        self.ask(1, at, len, What::Write, fua)
    }

    /// The waiting commands, each as a word with its token.
    fn commands(&mut self) -> Vec<(String, Command)> {
        self.work();
        self.core.advance();
        std::iter::from_fn(|| self.core.next_command()).map(|command| (word(&command), command)).collect()
    }

    /// Does all work that is done in steps.
    fn work(&mut self) {
        while self.core.has_work() {
            self.core.step(&mut Steps::new(1));
        }
    }

    /// Carries out a command.
    fn end(&mut self, command: Command, result: Result<(), Fault>) {
        let token = match command {
            Command::Write { token, .. }
            | Command::Patch { token, .. }
            | Command::Flush { token, .. }
            | Command::Discard { token, .. } => token,
            Command::Store { token, region, at, bytes, .. } => {
                self.files.write(region, at, &bytes);
                token
            }
        };
        self.core.done(token, result);
    }

    /// Carries out everything; returns the words in order.
    fn run(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        loop {
            let commands = self.commands();
            if commands.is_empty() {
                return words;
            }
            for (word, command) in commands {
                words.push(word);
                self.end(command, Ok(()));
            }
        }
    }

    fn answers(&mut self) -> Vec<(u64, Result<(), MapRefusal>)> {
        let mut events = Vec::new();
        self.core.take_events(&mut events);
        events.into_iter().map(|Ended { id, result }| (id, result)).collect()
    }
}

fn word(command: &Command) -> String {
    match command {
        Command::Write { durable, .. } => if *durable { "write durably" } else { "write" }.into(),
        Command::Patch { patch, .. } => if patch.read.is_some() { "copy" } else { "patch" }.into(),
        Command::Flush { region, .. } => format!("flush {region:?}"),
        Command::Store { region, .. } => format!("store {region:?}"),
        Command::Discard { at, len, .. } => format!("discard {} at {}", len >> 16, at >> 16),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_write_that_failed_changes_no_map() {
    let mut bench = Bench::new();
    bench.write(0, 65536, false);
    bench.run();
    bench.ask(2, 0, 0, What::Share { from: 1, frozen: true }, false);
    bench.run();
    bench.answers();
    for fault in [Fault::Io, Fault::NoSpace] {
        let write = bench.write(4096, 512, false);
        let (copies, command) = bench.commands().remove(0);
        assert_eq!(copies, "copy");
        bench.end(command, Err(fault));
        assert_eq!(bench.answers(), [(write, Err(MapRefusal::Disk(fault)))]);
        assert_eq!((bench.core.usage().used, bench.core.audit()), (65536, vec![]), "the copy's block is free again");
    }
    bench.write(4096, 512, false);
    assert_eq!(bench.run(), ["copy"]);
    assert_eq!(bench.core.usage().used, 2 * 65536);
}

/// Blocks that a failed write has allocated are free after the next commit, and the others of the
/// tree stay: a block that has data, and one that was allocated without data on purpose.
#[test]
fn a_write_that_failed_takes_no_space() {
    let mut bench = Bench::new();
    bench.write(0, 4096, true);
    bench.ask(1, 65536, 65536, What::Zero { no_hole: true }, true);
    bench.run();
    bench.answers();
    let before = bench.core.usage().used;
    assert_eq!(before, 2 * 65536);
    for fault in [Fault::Io, Fault::NoSpace] {
        let write = bench.write(0, 4 * 65536, false);
        for (_, command) in bench.commands() {
            bench.end(command, Err(fault));
        }
        assert_eq!(bench.answers(), [(write, Err(MapRefusal::Disk(fault)))]);
        assert_eq!(bench.core.tree(1), Some((1 << 20, before)), "{fault:?}");
        bench.ask(0, 0, 0, What::Flush, true);
        bench.run();
        bench.answers();
        assert_eq!((bench.core.usage().used, bench.core.audit()), (before, vec![]), "{fault:?}");
        let again = recover(&mut &bench.files, Settings::default()).unwrap();
        assert_eq!((again.usage().used, again.tree(1)), (before, Some((1 << 20, before))), "{fault:?}");
    }
}

/// Two writes in a new block at the same time: it stays if one of them has data in it, whichever
/// ends first, and goes with the second if both have failed.
#[test]
fn a_new_block_goes_with_the_last_of_its_failed_writes() {
    for (first, second) in [(true, false), (false, true), (false, false)] {
        let mut bench = Bench::new();
        bench.write(0, 4096, false);
        bench.write(8192, 4096, false);
        let commands = bench.commands();
        assert_eq!(commands.len(), 2);
        for ((_, command), succeeds) in commands.into_iter().zip([first, second]) {
            assert_eq!(bench.core.tree(1), Some((1 << 20, 65536)), "the other is under way");
            bench.end(command, if succeeds { Ok(()) } else { Err(Fault::Io) });
        }
        let left = if first || second { 65536 } else { 0 };
        assert_eq!((bench.core.tree(1), bench.core.audit()), (Some((1 << 20, left)), vec![]));
    }
}

#[test]
fn writes_side_by_side_are_one_command_as_long_as_their_blocks_are() {
    let mut bench = Bench::new();
    bench.write(0, 1 << 20, false);
    assert_eq!(bench.run(), ["write"], "16 new blocks, one after the other");
    bench.ask(1, 65536, 65536, What::Trim, true);
    bench.run();
    bench.write(10 * PAGE, 8 * PAGE, false);
    assert_eq!(bench.run(), ["write"], "the block that came free is taken again");
}

#[test]
fn the_log_goes_round_and_what_it_held_is_in_the_tables() {
    let mut bench = Bench::new();
    // 64 KiB of log hold 16 records of a page; a checkpoint starts at half of it.
    let mut checkpoints = 0;
    for round in 0..100 {
        bench.write(round % 16 * 65536, 4096, true);
        checkpoints += bench.run().iter().filter(|word| word.starts_with("flush Table")).count();
        bench.ask(1, round % 16 * 65536, 65536, What::Trim, true);
        checkpoints += bench.run().iter().filter(|word| word.starts_with("flush Table")).count();
        assert!(bench.core.usage().log <= LOG);
    }
    // 200 records, with a checkpoint every 8 to 16 of them.
    assert!((200 / 16..=200 / 8).contains(&checkpoints), "{checkpoints}");
    bench.write(0, 4096, true);
    bench.run();
    let again = recover(&mut &bench.files, Settings::default()).unwrap();
    assert_eq!((again.audit(), again.usage().used), (vec![], 65536));
    assert_eq!(again.tree(1), Some((1 << 20, 65536)));
}

#[test]
fn damage_is_named_and_such_a_pool_is_not_opened() {
    let mut bench = Bench::new();
    // So many records that those after the older table are gone when the newer one is written.
    for round in 0..100 {
        bench.write(round % 16 * 65536, 4096, true);
        bench.run();
        bench.ask(1, round % 16 * 65536, 65536, What::Trim, round < 99);
        bench.run();
    }
    bench.write(0, 1 << 20, true);
    bench.run();
    for _ in 0..2 {
        bench.ask(0, 0, 0, What::Checkpoint, false);
        bench.run();
        bench.ask(1, 0, 65536, What::Trim, true);
        bench.run();
    }
    let report = check(&mut &bench.files, Settings::default()).unwrap();
    assert_eq!((report.damages, report.used, report.trees), (vec![], 15 * 65536, 1));
    let named = |files: &Files| -> Vec<String> {
        let damages = check(&mut &*files, Settings::default()).unwrap().damages;
        assert_eq!(damages.is_empty(), recover(&mut &*files, Settings::default()).is_ok());
        damages.iter().map(ToString::to_string).collect()
    };
    // Without a log, everything is as at the newer table; without that table, as at the older one,
    // if the log is there.
    let mut lost = bench.files.clone();
    lost.write(Region::Log, 0, &[0; LOG as usize]);
    assert_eq!(named(&lost), Vec::<String>::new());
    for table in 0..2 {
        let mut damaged = bench.files.clone();
        damaged.0.get_mut(&Region::Table(table)).unwrap()[20] ^= 1;
        assert_eq!(named(&damaged), Vec::<String>::new());
        // It can be opened, but the damage is reported.
        let spare = |files: &Files| check(&mut &*files, Settings::default()).unwrap().spare;
        assert_eq!((spare(&bench.files), spare(&damaged)), (None, Some(Damage::Table { turn: table })));
    }
    let both = |page: usize| {
        let mut damaged = lost.clone();
        damaged.0.get_mut(&Region::Nodes).unwrap()[page * 4096 + 9] ^= 1;
        named(&damaged)
    };
    let (first, second) = (both(0), both(1));
    let found = if first.is_empty() { second } else { first };
    assert!(found[0].starts_with("node 0 (page ") && found[1].starts_with("tree 1 points at node 0"), "{found:?}");
    // Three records after the newer table, the middle one damaged: the last one must not be lost
    // silently.
    bench.ask(0, 0, 0, What::Checkpoint, false);
    bench.run();
    let mut records = Vec::new();
    for block in 5..8 {
        bench.ask(1, block * 65536, 65536, What::Trim, true);
        let before = bench.files.0[&Region::Log].clone();
        bench.run();
        let after = &bench.files.0[&Region::Log];
        records.push(before.iter().zip(after).position(|(before, after)| before != after).unwrap() / 4096 * 4096);
    }
    assert_eq!(named(&bench.files), Vec::<String>::new());
    bench.files.write(Region::Log, records[1] as u64 + 100, &[7]);
    let found = named(&bench.files);
    assert!(found.len() == 1 && found[0].starts_with("the log holds record "), "{found:?}");
}

/// Blocks go back to the disk when the record that frees them is durable and no read can see them,
/// and they are not allocated while they are on their way there.
#[test]
fn what_comes_free_is_discarded_after_its_record_and_after_the_reads() {
    let mut bench = Bench::new();
    bench.write(0, 4 << 16, false);
    bench.run();
    let mut runs = Vec::new();
    let pin = bench.core.read(1, 0, 4 << 16, &mut runs).unwrap();
    let first = runs[0].at.unwrap() >> 16;
    bench.ask(1, 0, 4 << 16, What::Trim, false);
    bench.run();
    bench.core.give_back();
    assert_eq!((bench.core.stale(), bench.run()), (0, words(&[])), "nothing is durable yet");
    bench.ask(0, 0, 0, What::Flush, false);
    assert_eq!(bench.run(), ["flush Data", "store Log"]);
    bench.core.give_back();
    assert_eq!((bench.core.stale(), bench.run()), (0, words(&[])), "it is being read");
    bench.core.unpin(pin);
    bench.work();
    assert_eq!(bench.core.stale(), 4 << 16);
    bench.core.give_back();
    let mut commands = bench.commands();
    assert_eq!(commands.len(), 1);
    let (said, discard) = commands.remove(0);
    assert_eq!(said, format!("discard 4 at {first}"));
    // Meanwhile the blocks are free, but not allocated.
    assert_eq!(bench.core.usage().used, 0);
    bench.write(0, 1 << 20, false);
    for (_, command) in bench.commands() {
        if let Command::Write { to, len, .. } = command {
            assert!(to >> 16 >= first + 4 || (to + u64::from(len) - 1) >> 16 < first, "block {} is lent", to >> 16);
        }
        bench.end(command, Ok(()));
    }
    bench.end(discard, Ok(()));
    assert_eq!((bench.core.stale(), bench.core.audit()), (0, vec![]));
}

/// If only lent blocks are left in a pool, a write waits for them; a disk that cannot discard is
/// asked once.
#[test]
fn a_discard_makes_nobody_fail_and_one_that_cannot_be_is_not_tried_again() {
    let mut bench = Bench::new();
    bench.core.set_capacity(2);
    bench.write(0, 2 << 16, false);
    bench.run();
    bench.ask(1, 0, 2 << 16, What::Trim, false);
    bench.ask(0, 0, 0, What::Flush, false);
    bench.run();
    bench.core.give_back();
    let (said, discard) = bench.commands().remove(0);
    assert_eq!(said, "discard 1 at 0", "never more than half of what is free");
    bench.answers();
    let write = bench.write(0, 2 << 16, false);
    let written = bench.commands();
    assert_eq!(written.len(), 1, "one block is there");
    written.into_iter().for_each(|(_, command)| bench.end(command, Ok(())));
    assert_eq!((bench.answers(), bench.commands().len()), (vec![], 0), "and one is waited for");
    bench.end(discard, Err(Fault::Unsupported));
    assert_eq!(bench.run(), ["write"]);
    assert_eq!(bench.answers(), [(write, Ok(()))]);
    bench.ask(1, 0, 2 << 16, What::Trim, false);
    bench.ask(0, 0, 0, What::Flush, false);
    bench.run();
    bench.core.give_back();
    assert_eq!((bench.core.stale(), bench.run()), (0, words(&[])));
}

/// Copying a shared block needs its old contents. If those cannot be read, the write fails, with
/// FUA or not, and nothing else does: no byte was written, so none is in doubt.
#[test]
fn a_block_that_cannot_be_read_fails_the_write_that_copies_it_alone() {
    let mut bench = Bench::new();
    bench.write(0, 65536, false);
    bench.ask(2, 0, 0, What::Share { from: 1, frozen: true }, false);
    bench.run();
    let used = bench.core.usage().used;
    bench.answers();
    let write = bench.write(0, 512, true);
    let (said, command) = bench.commands().remove(0);
    assert_eq!(said, "copy");
    let Command::Patch { token, .. } = command else { panic!("{command:?}") };
    bench.core.not_read(token, Fault::Io);
    assert_eq!(bench.answers(), [(write, Err(MapRefusal::Disk(Fault::Io)))]);
    assert!(!bench.core.has_failed());
    assert_eq!((bench.core.usage().used, bench.core.audit()), (used, vec![]));
    let again = bench.write(65536, 4096, true);
    bench.run();
    assert_eq!(bench.answers(), [(again, Ok(()))]);
}

/// With data in segments, no command crosses the end of one.
#[test]
fn no_command_reaches_over_the_end_of_a_segment() {
    let mut bench = Bench::new();
    let settings = Settings { capacity: 100, segment: 2 << 16, ..Settings::default() };
    bench.core = recover(&mut &bench.files, settings).unwrap();
    bench.write(0, 5 << 16, false);
    assert_eq!(bench.run(), ["write", "write", "write"], "2 + 2 + 1 blocks");
    let mut runs = Vec::new();
    let pin = bench.core.read(1, 0, 5 << 16, &mut runs).unwrap();
    assert_eq!(runs.iter().map(|run| run.len >> 16).collect::<Vec<_>>(), [2, 2, 1]);
    bench.core.unpin(pin);
    bench.ask(1, 0, 5 << 16, What::Trim, false);
    bench.ask(0, 0, 0, What::Flush, false);
    bench.run();
    bench.core.give_back();
    assert_eq!(bench.run(), ["discard 2 at 0", "discard 2 at 2", "discard 1 at 4"]);
}
