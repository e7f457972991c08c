//! What goes to the disk, and in which order: said by the commands themselves, ended one by one by the test.

use block::Fault;
use map::{
    Agreed, Ask, Command, Core, Damage, Ended, Media, PAGE, Refusal, Region, Run, Settings, Steps, What, check, format,
    format_end, recover,
};
use std::collections::BTreeMap;

const LOG: u64 = 64 << 10;

/// The files of a pool in memory. Everything that is written is there at once.
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
        let files = Files::new();
        let core = recover(&mut &files, Settings { capacity: 100, ..Settings::default() }).unwrap();
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

    /// The commands that wait, in a word each, with their tokens.
    fn commands(&mut self) -> Vec<(String, Command)> {
        self.work();
        self.core.advance();
        std::iter::from_fn(|| self.core.next_command()).map(|command| (word(&command), command)).collect()
    }

    /// All that goes in steps, one after the other.
    fn work(&mut self) {
        while self.core.has_work() {
            self.core.step(&mut Steps::new(1));
        }
    }

    /// Carries a command out.
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

    /// Carries everything out; the words in order.
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

    fn answers(&mut self) -> Vec<(u64, Result<(), Refusal>)> {
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
fn data_is_flushed_before_the_record_that_speaks_of_it() {
    let mut bench = Bench::new();
    bench.answers();
    let write = bench.write(0, 8192, false);
    assert_eq!(bench.run(), ["write"]);
    assert_eq!(bench.answers(), [(write, Ok(()))], "a write that is not FUA waits for nothing");
    let flush = bench.ask(0, 0, 0, What::Flush, false);
    assert_eq!(bench.run(), ["flush Data", "store Log"]);
    assert_eq!(bench.answers(), [(flush, Ok(()))]);
    // Nothing has changed in the map since: one flush of the data.
    bench.write(0, 8192, false);
    bench.ask(0, 0, 0, What::Flush, false);
    assert_eq!(bench.run(), ["write", "flush Data"]);
}

#[test]
fn fua_is_one_durable_write_in_place_and_a_commit_where_the_map_changes() {
    let mut bench = Bench::new();
    bench.write(0, 4096, true);
    assert_eq!(bench.run(), ["write", "flush Data", "store Log"]);
    bench.write(0, 4096, true);
    assert_eq!(bench.run(), ["write durably"]);
    // The page beside it was written and not committed: a durable write there relies on a map that is not durable.
    bench.write(4096, 4096, false);
    bench.run();
    bench.write(4096, 4096, true);
    assert_eq!(bench.run(), ["write", "flush Data", "store Log"]);
    // A trim of what is trimmed already, and durably so, has nothing to do.
    bench.ask(1, 65536, 65536, What::Trim, true);
    assert_eq!(bench.run(), words(&[]));
}

/// Two writes of the same new page at once: the one with FUA ends last and changes no map, but is not durable before the
/// change of the other one is.
#[test]
fn fua_waits_for_the_map_of_a_write_beside_it() {
    let mut bench = Bench::new();
    bench.write(0, 4096, true);
    bench.run();
    bench.answers();
    let (plain, fua) = (bench.write(4096, 4096, false), bench.write(4096, 4096, true));
    let commands = bench.commands();
    assert_eq!(commands.len(), 2);
    commands.into_iter().for_each(|(_, command)| bench.end(command, Ok(())));
    assert_eq!(bench.answers(), [(plain, Ok(()))]);
    assert_eq!(bench.run(), ["flush Data", "store Log"]);
    assert_eq!(bench.answers(), [(fua, Ok(()))]);
}

#[test]
fn flushes_that_come_during_a_flush_share_the_next() {
    let mut bench = Bench::new();
    bench.answers();
    let first = bench.ask(0, 0, 0, What::Flush, false);
    let (_, command) = bench.commands().remove(0);
    let later: Vec<u64> = (0..50).map(|_| bench.ask(0, 0, 0, What::Flush, false)).collect();
    assert!(bench.commands().is_empty());
    bench.end(command, Ok(()));
    assert_eq!(bench.answers(), [(first, Ok(()))]);
    assert_eq!(bench.run(), ["flush Data"]);
    assert_eq!(bench.answers(), later.iter().map(|id| (*id, Ok(()))).collect::<Vec<_>>());
}

#[test]
fn after_a_flush_that_failed_nothing_is_called_durable() {
    let mut bench = Bench::new();
    bench.answers();
    bench.write(0, 4096, false);
    bench.run();
    let flush = bench.ask(0, 0, 0, What::Flush, false);
    let (_, command) = bench.commands().remove(0);
    bench.end(command, Err(Fault::Io));
    let next = bench.ask(0, 0, 0, What::Flush, false);
    let write = bench.write(0, 4096, false);
    assert!(bench.commands().is_empty() && bench.core.has_failed());
    let expected = [(1 + 1, Ok(())), (flush, Err(Refusal::Failed)), (next, Err(Refusal::Failed))];
    assert_eq!(bench.answers(), [&expected[..], &[(write, Err(Refusal::Failed))]].concat());
    let mut runs = Vec::new();
    let pin = bench.core.read(1, 0, 4096, &mut runs).unwrap();
    assert_eq!(runs, [Run { at: Some(0), len: 4096 }], "reads go on");
    bench.core.unpin(pin);
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
        assert_eq!(bench.answers(), [(write, Err(Refusal::Disk(fault)))]);
        assert_eq!((bench.core.usage().used, bench.core.audit()), (65536, vec![]), "the copy's block is free again");
    }
    bench.write(4096, 512, false);
    assert_eq!(bench.run(), ["copy"]);
    assert_eq!(bench.core.usage().used, 2 * 65536);
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
    // 64 KiB of log hold 16 records of a page; half of it begins a checkpoint.
    let mut checkpoints = 0;
    for round in 0..100 {
        bench.write(round % 16 * 65536, 4096, true);
        checkpoints += bench.run().iter().filter(|word| word.starts_with("flush Table")).count();
        bench.ask(1, round % 16 * 65536, 65536, What::Trim, true);
        checkpoints += bench.run().iter().filter(|word| word.starts_with("flush Table")).count();
        assert!(bench.core.usage().log <= LOG);
    }
    // 200 records; one checkpoint at each 8 to 16 of them.
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
    // Without any log all is as at the newer table; without that as at the older, if the log is there.
    let mut lost = bench.files.clone();
    lost.write(Region::Log, 0, &[0; LOG as usize]);
    assert_eq!(named(&lost), Vec::<String>::new());
    for table in 0..2 {
        let mut damaged = bench.files.clone();
        damaged.0.get_mut(&Region::Table(table)).unwrap()[20] ^= 1;
        assert_eq!(named(&damaged), Vec::<String>::new());
        // It can be opened, and is not as it was.
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
    // Three records after the newer table, the middle one of them damaged: the last must not be lost in silence.
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

/// A write of tree 1 is at the disk when trees 1 and 2 are shared together; a write of tree 2 that comes later waits for
/// both copies. So neither copy holds the later write, though tree 2 was idle.
#[test]
fn trees_that_are_shared_together_are_shared_at_one_moment() {
    let mut bench = Bench::new();
    bench.ask(2, 0, 0, What::Create { size: 1 << 20 }, false);
    bench.run();
    bench.answers();
    bench.write(0, 4096, false);
    let first = bench.commands();
    assert_eq!(first.len(), 1);
    let share = |from: u32| (from + 10, What::Share { from, frozen: true });
    bench.core.submit_together(100, vec![share(1), share(2)]);
    bench.work();
    let later = bench.ask(2, 0, 4096, What::Write, false);
    assert_eq!(bench.commands().len(), 0, "all wait for the write that is at the disk");
    assert_eq!((bench.core.tree(11), bench.core.tree(12)), (None, None));
    first.into_iter().for_each(|(_, command)| bench.end(command, Ok(())));
    bench.run();
    let answered: Vec<u64> = bench.answers().into_iter().map(|(id, result)| result.map(|()| id).unwrap()).collect();
    assert!([100, later].iter().all(|id| answered.contains(id)), "{answered:?}");
    let mut runs = Vec::new();
    for tree in [11, 12] {
        let pin = bench.core.read(tree, 0, 4096, &mut runs).unwrap();
        bench.core.unpin(pin);
    }
    assert!(runs[0].at.is_some() && runs[1].at.is_none(), "{runs:?}");
    // What each holds alone: nothing, until its blocks are written over.
    assert_eq!((bench.core.own(1), bench.core.own(11)), (0, 0));
    bench.write(0, 4096, true);
    bench.run();
    assert_eq!((bench.core.own(1), bench.core.own(11), bench.core.own(12)), (65536, 65536, 0));
    assert_eq!(bench.core.audit(), []);
}

/// One tree of the group is deleted while the group waits for it: none is shared, that is told, and nothing stays held.
#[test]
fn a_group_that_cannot_be_done_whole_is_not_done() {
    let mut bench = Bench::new();
    bench.ask(2, 0, 0, What::Create { size: 1 << 20 }, false);
    bench.run();
    bench.answers();
    bench.ask(2, 0, 4096, What::Write, false);
    let write = bench.commands();
    let deleted = bench.ask(2, 0, 0, What::Delete, false);
    let share = |from: u32| (from + 10, What::Share { from, frozen: true });
    bench.core.submit_together(100, vec![share(1), share(2)]);
    bench.work();
    write.into_iter().for_each(|(_, command)| bench.end(command, Ok(())));
    bench.run();
    let answers: BTreeMap<_, _> = bench.answers().into_iter().collect();
    assert_eq!(answers[&deleted], Ok(()));
    assert_eq!(answers[&100], Err(Refusal::NoTree(2)));
    let after = bench.write(0, 4096, true);
    bench.run();
    assert_eq!(bench.answers(), [(after, Ok(()))], "tree 1 is not held");
    assert_eq!(bench.core.trees(), [(1, false)]);
    // A group that is refused on its face: tree 9 does not exist.
    bench.core.submit_together(102, vec![share(1), share(9)]);
    bench.run();
    assert_eq!(bench.answers(), [(102, Err(Refusal::NoTree(9)))]);
    assert_eq!(bench.core.trees(), [(1, false)]);
}

/// One client asks for a flush after each of its 100 writes, without waiting; another writes and flushes once in the middle.
/// While one flush is at the disk all others wait for the next, which is one for all of them: two in all, and the second
/// client is answered with it. Nobody's write waits for a flush.
#[test]
fn a_storm_of_flushes_is_two_flushes_and_holds_nobody_up() {
    let mut bench = Bench::new();
    bench.ask(2, 0, 0, What::Create { size: 1 << 20 }, false);
    bench.run();
    // Both have their blocks: an overwrite changes no map.
    bench.ask(1, 0, 1 << 20, What::Write, true);
    bench.ask(2, 0, 1 << 20, What::Write, true);
    bench.run();
    bench.answers();
    bench.ask(0, 0, 0, What::Flush, false);
    let first = bench.commands();
    assert_eq!(first.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>(), ["flush Data"]);
    let (mut flushes, mut second) = (Vec::new(), 0);
    for round in 0..100 {
        bench.write(round % 256 * 4096, 4096, false);
        if round == 50 {
            bench.ask(2, 0, 4096, What::Write, false);
        }
        // The write goes to the disk at once, beside the flush that is there.
        for (word, command) in bench.commands() {
            assert_eq!(word, "write");
            bench.end(command, Ok(()));
        }
        flushes.push(bench.ask(0, 0, 0, What::Flush, false));
        if round == 50 {
            second = bench.ask(0, 0, 0, What::Flush, false);
        }
        assert_eq!(bench.commands().len(), 0, "one flush is at the disk");
    }
    bench.answers();
    first.into_iter().for_each(|(_, command)| bench.end(command, Ok(())));
    assert_eq!(bench.run(), words(&["flush Data"]), "one for all that came meanwhile");
    let answered: Vec<u64> = bench.answers().into_iter().map(|(id, result)| result.map(|()| id).unwrap()).collect();
    assert!(answered.contains(&second) && flushes.iter().all(|flush| answered.contains(flush)));
    assert_eq!(answered.len(), 1 + 100 + 1, "the first flush, the storm, the second client's");
}

/// Blocks go back to the disk when the record that frees them is durable and no read can see them, and nobody is given one
/// that is on its way there.
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
    // While it is under way the blocks are free, and not given out.
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

/// Of a pool with only lent blocks left a write waits for them; a disk that cannot discard is asked once.
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

/// A copy of a shared block needs what was there. If that cannot be read the write fails, FUA or not, and nothing else
/// does: no byte was written, so none is in doubt.
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
    assert_eq!(bench.answers(), [(write, Err(Refusal::Disk(Fault::Io)))]);
    assert!(!bench.core.has_failed());
    assert_eq!((bench.core.usage().used, bench.core.audit()), (used, vec![]));
    let again = bench.write(65536, 4096, true);
    bench.run();
    assert_eq!(bench.answers(), [(again, Ok(()))]);
}

/// With its data in segments no command reaches over the end of one.
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

/// Clones of clones to any depth: the last of a thousand reads what the first was written with, by the same block, takes no
/// space, and they go in any order. The limit is the number of trees of a pool, and it says so.
#[test]
fn clones_go_as_deep_as_there_may_be_trees() {
    const DEEP: u32 = 1000;
    let mut bench = Bench::new();
    bench.write(0, 65536, false);
    bench.run();
    let (used, nodes) = (bench.core.usage().used, bench.core.usage().nodes);
    let place = |bench: &mut Bench, tree: u32| {
        let mut runs = Vec::new();
        let pin = bench.core.read(tree, 0, 4096, &mut runs).unwrap();
        bench.core.unpin(pin);
        runs
    };
    let first = place(&mut bench, 1);
    for tree in 2..=DEEP {
        bench.ask(tree, 0, 0, What::Share { from: tree - 1, frozen: tree % 2 == 0 }, false);
    }
    bench.run();
    assert_eq!((bench.core.usage().used, bench.core.usage().nodes, place(&mut bench, DEEP)), (used, nodes, first));
    // 7 and 1000 have no common factor: each once, in an order that is neither up nor down, the last one stays.
    for step in 1..DEEP {
        bench.ask(step * 7 % DEEP, 0, 0, What::Delete, false);
    }
    bench.run();
    assert_eq!((bench.core.trees(), bench.core.usage().used), (vec![(DEEP, true)], used));
    bench.answers();
    for tree in 1..map::TREES_MAX as u32 {
        bench.ask(if tree < DEEP { tree } else { tree + 1 }, 0, 0, What::Share { from: DEEP, frozen: true }, false);
    }
    bench.run();
    assert!(bench.answers().iter().all(|(_, result)| result.is_ok()));
    let more = bench.ask(200_000, 0, 0, What::Share { from: DEEP, frozen: true }, false);
    assert_eq!(bench.answers(), [(more, Err(Refusal::TooMany(65_536)))]);
    assert_eq!((bench.core.trees().len(), bench.core.audit()), (65_536, vec![]));
}
