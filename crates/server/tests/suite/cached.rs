//! A server with `[cache]` over NBD. A client reads what was written, whatever administrators do
//! meanwhile to LUNs, snapshots and partitions. Also tests the partitions and their commands.

mod second;

use crate::support::{BACKENDS, Chance, Client, LUN, LUN_BYTES, Server, limits};
use block::{Bytes, Span};
use cache::Eviction;
use nbd::{Command, NbdRequest, Wishes};
use server::{Audit, Front, Latency, MemorySigns};
use std::collections::BTreeMap;
use std::path::Path;
use store::{CacheSettings, SecondError, SecondPlace};
use uring::disk::OpenError;

const PAGE: u64 = 4096;
const MEMORY: Bytes = Bytes::mib(2);

fn with(memory: Bytes) -> Front {
    let cache = CacheSettings { memory, page: PAGE as u32, policy: Eviction::default() };
    Front { cache: Some(cache), ..Front::default() }
}

fn server() -> Server {
    Server::start_behind(BACKENDS[0], limits(), with(MEMORY))
}

/// A second level in that folder; `None` if the file system has no direct I/O.
fn second_level(dir: &Path) -> Option<SecondPlace> {
    let place = SecondPlace { path: dir.join("second"), size: Bytes::mib(8), writes_per_day: Bytes::gib(4) };
    match place.open() {
        Ok(_) => Some(place),
        Err(SecondError::Open(OpenError::NoDirect(_))) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Restarts the server with that much memory for the cache.
fn restart(server: Server, memory: Option<Bytes>) -> Server {
    server.restart_behind(limits(), memory.map_or_else(Front::default, with))
}

fn run(server: &mut Server, line: &str) -> String {
    server.control.execute(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refused(server: &mut Server, line: &str) -> String {
    let before = (partitions(server), server.control.execute("cache partition show -fields size,volumes").unwrap());
    let error = server.control.execute(line).expect_err(line).to_string();
    let after = (partitions(server), server.control.execute("cache partition show -fields size,volumes").unwrap());
    assert_eq!(before, after, "{line}: nothing is half done");
    assert!(!error.contains('\n'), "{error}");
    error
}

/// The partitions and their sizes on the data thread.
fn partitions(server: &Server) -> Vec<(u32, u64)> {
    server.account().cache.iter().map(|(id, seen)| (*id, seen.size.0)).collect()
}

/// The expected contents of one history: bytes of LUNs and of snapshots, by path.
#[derive(Default)]
struct Model {
    luns: BTreeMap<String, Vec<u8>>,
    snapshots: BTreeMap<(String, String), BTreeMap<String, Vec<u8>>>,
    clients: BTreeMap<String, Client>,
    made: u32,
}

impl Model {
    fn of_volume(&self, volume: &str) -> BTreeMap<String, Vec<u8>> {
        let prefix = format!("/vol/{volume}/");
        self.luns.iter().filter(|(path, _)| path.starts_with(&prefix)).map(|(p, b)| (p.clone(), b.clone())).collect()
    }

    fn pick(&self, chance: &mut Chance) -> String {
        self.luns.keys().nth(chance.below(self.luns.len() as u64) as usize).unwrap().clone()
    }

    /// One request of a client, checked against the model.
    fn ask(&mut self, server: &Server, chance: &mut Chance) {
        let path = self.pick(chance);
        let size = self.luns[&path].len() as u64;
        let unit = [512, PAGE, 64 << 10][chance.below(3) as usize];
        let at = chance.below(size / unit) * unit;
        let len = (unit * (1 + chance.below(24))).min(size - at);
        let client =
            self.clients.entry(path.clone()).or_insert_with(|| Client::connect(&server.socket, Wishes::plain(&path)));
        let bytes = self.luns.get_mut(&path).unwrap();
        let part = at as usize..(at + len) as usize;
        match chance.below(10) {
            0..=2 => {
                let byte = chance.below(256) as u8;
                client.write(at, &vec![byte; len as usize]).unwrap();
                bytes[part].fill(byte);
            }
            3 => {
                client.call(NbdRequest::new(3, Command::WriteZeroes, at, len), &[]).unwrap();
                bytes[part].fill(0);
            }
            4 => {
                client.call(NbdRequest::new(4, Command::Trim, at, len), &[]).unwrap();
                // Only whole pages of the maps become zeroes.
                let end = if at + len == size { size } else { (at + len) / PAGE * PAGE };
                let pages = at.next_multiple_of(PAGE) as usize..end as usize;
                if !pages.is_empty() {
                    bytes[pages].fill(0);
                }
            }
            _ => {
                // Twice: the second time from memory, if it fits.
                for round in 0..2 {
                    assert!(client.read(at, len).unwrap() == bytes[part.clone()], "{path}: {len} at {at}, {round}");
                }
            }
        }
    }

    /// One act of an administrator.
    fn administer(&mut self, server: &mut Server, chance: &mut Chance) {
        self.clients.clear();
        server.until("everybody is gone", |account| account.connections == 0);
        let path = self.pick(chance);
        let volume = path.split('/').nth(2).unwrap().to_owned();
        self.made += 1;
        let name = format!("n{}", self.made);
        match chance.below(8) {
            0 | 1 => {
                run(server, &format!("volume snapshot create {volume} -snapshot {name}"));
                self.snapshots.insert((volume.clone(), name), self.of_volume(&volume));
            }
            2 | 3 => {
                let Some(((of, snapshot), then)) = self.snapshots.iter().find(|((of, _), _)| *of == volume) else {
                    return;
                };
                run(server, &format!("volume snapshot restore {of} -snapshot {snapshot} -force"));
                let (then, prefix) = (then.clone(), format!("/vol/{volume}/"));
                self.luns.retain(|path, _| !path.starts_with(&prefix));
                self.luns.extend(then);
            }
            4 if self.luns.len() < 6 => {
                run(server, &format!("volume clone create {name} -parent-volume {volume}"));
                let cloned = self.of_volume(&volume).into_iter();
                let renamed = cloned.map(|(path, bytes)| (path.replacen(&volume, &name, 1), bytes));
                self.luns.extend(renamed.collect::<Vec<_>>());
            }
            5 => {
                let size = (1 + chance.below(16)) << 19;
                let done = server.control.execute(&format!("lun modify {path} -size {size} -force"));
                // A LUN with data beyond a smaller size is not resized.
                if done.is_ok() {
                    self.luns.get_mut(&path).unwrap().resize(size as usize, 0);
                }
            }
            6 => {
                let size = (1 + chance.below(3)) * 256;
                run(server, &format!("cache partition modify p -size {size}KiB"));
            }
            _ => {
                run(server, "cache partition modify p -volumes none");
                run(server, &format!("cache partition modify p -volumes {volume}"));
            }
        }
    }
}

/// Five histories of 600 requests and some 40 acts of administration, with a restart in the middle,
/// in a cache of 2 MiB for up to 48 MiB of LUNs. Every second one has a second level of 8 MiB, and
/// three of them busy-poll.
#[test]
fn a_client_reads_what_was_written_whatever_becomes_of_luns_and_partitions() {
    for seed in 0..5 {
        let mut chance = Chance(seed);
        let behind = tempfile::tempdir().unwrap();
        let place = if seed % 2 == 1 { second_level(behind.path()) } else { None };
        let front = || {
            let second_level = place.clone();
            let latency = if seed < 3 { Latency::Low } else { Latency::default() };
            Front { second_level, latency, ..with(MEMORY) }
        };
        let mut server = Server::start_behind(BACKENDS[0], limits(), front());
        run(&mut server, "volume create w -size 64MiB");
        run(&mut server, "lun create /vol/w/l -size 4MiB");
        run(&mut server, "cache partition create p -size 512KiB -volumes w");
        let mut model = Model::default();
        model.luns.insert(LUN.into(), vec![0; LUN_BYTES as usize]);
        model.luns.insert("/vol/w/l".into(), vec![0; 4 << 20]);
        for step in 0..600 {
            if step == 300 {
                model.clients.clear();
                server = server.restart_behind(limits(), front());
            }
            match chance.below(15) {
                0 => model.administer(&mut server, &mut chance),
                _ => model.ask(&server, &mut chance),
            }
        }
        model.clients.clear();
        for (path, bytes) in &model.luns {
            let pieces = bytes.chunks(1 << 19).enumerate();
            let is_same = |client: &mut Client| {
                let same =
                    |(n, piece): (usize, &[u8])| client.read((n as u64) << 19, piece.len() as u64).unwrap() == piece;
                pieces.map(same).fold(true, |all, same| all & same)
            };
            assert!(server.with(path, is_same), "seed {seed}: {path}");
        }
        let seen = server.account().cache;
        assert!(seen.values().map(|seen| seen.hits).sum::<u64>() > 100, "seed {seed}: {seen:?}");
        let shown = run(&mut server, "cache second-level show -output json");
        if front().second_level.is_some() {
            let found = seen.values().map(|seen| seen.second_hits).sum::<u64>();
            assert!(found > 0 && shown.contains("\"state\":\"on\""), "seed {seed}: {found}, {shown}");
        }
    }
}

#[test]
fn partitions_are_made_changed_shown_and_kept() {
    let mut server = server();
    run(&mut server, "volume create db -size 64MiB");
    run(&mut server, "lun create /vol/db/l -size 1MiB");
    run(&mut server, "cache partition create fast -size 1MiB -volumes db");
    assert_eq!(partitions(&server), [(0, 1 << 20), (1, 1 << 20)]);
    for _ in 0..3 {
        server.with("/vol/db/l", |client| client.read(0, 64 << 10).unwrap());
    }
    let shown = run(&mut server, "cache partition show");
    let row: Vec<&str> = shown.lines().find(|line| line.starts_with("fast")).unwrap().split_whitespace().collect();
    // 16 pages were missed once and found twice.
    assert_eq!(row, ["fast", "1.05MB", "65.54KB", "67%", "0", "svm01:db"], "{shown}");
    let json = run(&mut server, "cache partition show -output json -partition fast -instance");
    assert!(json.contains("\"hits\":32") && json.contains("\"misses\":16"), "{json}");
    // LUNs that are made later are in it too, its size changes while it is in use, and its volume
    // may be renamed.
    run(&mut server, "lun create /vol/db/m -size 1MiB");
    run(&mut server, "volume rename db -newname data");
    run(&mut server, "cache partition modify fast -size 32KiB -new-name small");
    server.with("/vol/data/m", |client| client.read(0, 64 << 10).unwrap());
    server.until("it is no larger than it may", |account| account.cache[&1].resident == Bytes::kib(32));
    assert!(run(&mut server, "cache partition show small").contains("svm01:data"));
    let mut server = restart(server, Some(MEMORY));
    assert_eq!(partitions(&server), [(0, (2 << 20) - (32 << 10)), (1, 32 << 10)]);
    server.with("/vol/data/m", |client| client.read(0, 4096).unwrap());
    assert_eq!(server.account().cache[&1].misses, 1, "the volume is in it again");
    // A server without a cache keeps the partitions; with less memory they are reduced in
    // proportion, and what has no partition counts as one of their mean size.
    let mut server = {
        run(&mut server, "cache partition create large -size 1984KiB");
        restart(server, None)
    };
    assert_eq!(partitions(&server), []);
    assert!(run(&mut server, "cache partition show -fields size").contains("large"));
    assert!(refused(&mut server, "cache partition create x -size 1MiB").contains("this server has no cache"));
    let mut server = restart(server, Some(Bytes::mib(1)));
    // 32 and 1984 KiB, and 1008 for the others: 10.8, 671.9 and 341.3 KiB of 1024, in whole pages
    // of 4 KiB. What is left over is for the others.
    assert_eq!(partitions(&server), [(0, 348 << 10), (1, 8 << 10), (2, 668 << 10)]);
    let shown = run(&mut server, "cache partition show large -fields size,allowed -output json");
    assert!(shown.contains("\"size\":2031616") && shown.contains("\"allowed\":684032"), "{shown}");
    run(&mut server, "cache partition delete large");
    assert_eq!(partitions(&server), [(0, 992 << 10), (1, 32 << 10)]);
    // A deleted volume leaves its partition.
    run(&mut server, "lun delete /vol/data/l");
    run(&mut server, "lun delete /vol/data/m");
    run(&mut server, "volume delete data");
    run(&mut server, "cache partition delete small");
    assert_eq!(partitions(&server), [(0, 1 << 20)]);
}

#[test]
fn what_cannot_be_is_refused_in_a_line_and_changes_nothing() {
    let mut server = server();
    run(&mut server, "volume create db -size 64MiB");
    run(&mut server, "cache partition create one -size 1MiB -volumes db");
    let no = |line: &str, server: &mut Server| refused(server, line);
    for (line, words) in [
        (
            "cache partition create two -size 2MiB",
            "size 2MiB: the other partitions leave 1.05MB of the cache's 2.10MB; give less, or make one of them smaller",
        ),
        ("cache partition create two -size 0", "size 0B: a partition has a page of 4096 bytes at least"),
        ("cache partition modify one -size 0KB", "size 0KB: a partition has a page of 4096 bytes at least"),
        (
            "cache partition modify one -size 3MiB",
            "size 3MiB: the other partitions leave 2.10MB of the cache's 2.10MB; give less, or make one of them smaller",
        ),
        (
            "cache partition create two -size 4KiB -volumes vol1,db",
            "volume svm01:db is in partition one, and in one at most; take it out there first with `cache partition \
             modify one -remove-volumes svm01:db`",
        ),
        ("cache partition create two -size 4KiB -volumes vol1,svm01:vol1", "volume svm01:vol1 is named twice"),
        ("cache partition create two -size 4KiB -volumes vol9", "SVM svm01 has no volume vol9; it has: db, vol1"),
        ("cache partition create one -size 4KiB", "there is a partition one already"),
        ("cache partition create default -size 4KiB", "there is a partition default already"),
        ("cache partition modify default -size 4KiB", "the default partition has what the others leave; change those"),
        ("cache partition modify two -size 4KiB", "there is no partition two; there are: one"),
        ("cache partition modify one -size 4KiB -remove-volumes vol1", "partition one has no volume svm01:vol1"),
        (
            "cache partition delete one",
            "partition one: is in use by svm01:db; take them out with -remove-volumes, or give -force",
        ),
        ("cache partition delete default", "the default partition has what the others leave; change those"),
    ] {
        assert_eq!(no(line, &mut server), words, "{line}");
    }
    assert!(no("cache partition create two -size 4KiB -volumes a,,b", &mut server).contains("names no volume"));
    run(&mut server, "cache partition delete one -force");
    for number in 1..64 {
        run(&mut server, &format!("cache partition create p{number} -size 4KiB"));
    }
    let words = "there are 64 partitions, which is the most; delete one first";
    assert_eq!(no("cache partition create p64 -size 4KiB", &mut server), words);
}

/// The kernel's stall count is a file of the test. It grows by more than a tenth of the time at
/// each look, however long that takes: the cache gives up pages, those of the default partition
/// first, until a sixteenth is left.
#[test]
fn memory_is_given_back_while_tasks_stand_still_for_it() {
    let mut server = server();
    run(&mut server, "cache partition create one -size 512KiB -volumes vol1");
    server.with(LUN, |client| (0..8).for_each(|part| drop(client.read(part << 20, 1 << 20).unwrap())));
    server.until("it is full", |account| account.cache[&1].resident == Bytes::kib(512));
    let group = server.dir.path().join("group");
    std::fs::create_dir(&group).unwrap();
    server.control.watch_memory(MemorySigns::of_group(&group));
    let mut microseconds = 0;
    let mut look = |server: &mut Server| {
        // An hour, which is longer than the time between any two looks.
        microseconds += 3_600_000_000u64;
        let stalled = format!("some avg10=0.00 total={microseconds}\n");
        std::fs::write(group.join("memory.pressure"), stalled).unwrap();
        server.control.look_at_memory().unwrap();
        partitions(server)
    };
    assert_eq!(look(&mut server), [(0, 1536 << 10), (1, 512 << 10)], "nothing to compare with yet");
    assert_eq!(look(&mut server), [(0, 1280 << 10), (1, 512 << 10)], "an eighth of 2 MiB less");
    let last = (0..30).map(|_| look(&mut server)).last().unwrap();
    assert_eq!(last, [(0, 0), (1, 128 << 10)], "a sixteenth of 2 MiB is left");
    let shown = run(&mut server, "cache partition show one -instance");
    assert!(shown.contains("Size: 524.3KB") && shown.contains("Allowed Now: 131.1KB"), "{shown}");
    server.until("it is given back", |account| account.cache[&1].resident == Bytes::kib(128));
    let shown = run(&mut server, "memory show");
    let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["cache", "2.10MB", "131.1KB", "131.1KB"]), "{shown}");
    assert!(rows.contains(&vec!["buffers", "16.78MB", "16.78MB", "0B"]), "{shown}");
    let names: Vec<&str> = rows.iter().skip(2).map(|row| row[0]).collect();
    assert_eq!(names[..5], ["cache", "buffers", "maps", "statistics", "all"], "{shown}");
    // Half of what the process may use.
    let maps = rows.iter().find(|row| row[0] == "maps").unwrap();
    assert!(maps[1] == maps[2] && maps[1].ends_with("GB") && maps[3] == "0B", "{shown}");
    // A partition that is made meanwhile gets its part of what is left.
    run(&mut server, "cache partition create two -size 512KiB");
    assert_eq!(partitions(&server), [(0, 0), (1, 64 << 10), (2, 64 << 10)]);
}

#[test]
fn the_trail_tells_of_partitions() {
    let mut server = server();
    let path = server.dir.path().join("audit.jsonl");
    server.control.keep_trail(Audit::open(&path).unwrap());
    run(&mut server, "cache partition create one -size 1MiB -volumes vol1");
    run(&mut server, "cache partition modify one -size 64KiB");
    run(&mut server, "cache partition delete one -force");
    let trail = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = trail.lines().collect();
    let made = r#"{"name":"one","second_level":true,"size":1048576,"volumes":["svm01:/vol/vol1"]}"#;
    let small = r#"{"name":"one","second_level":true,"size":65536,"volumes":["svm01:/vol/vol1"]}"#;
    for (line, before, after) in [(lines[0], "null", made), (lines[1], made, small), (lines[2], small, "null")] {
        let change = format!(r#""kind":"cache partition","name":"one","before":{before},"after":{after}"#);
        assert!(line.contains(&change), "{line}");
    }
}

/// Receives are held for a client that has replies to read, so that several requests arrive at
/// once. A client that reads each reply before its next request never waits for that.
#[test]
fn receives_are_held_for_a_client_with_replies_to_read_alone() {
    let server = server();
    let mut client = server.connect();
    client.write(0, &[7; PAGE as usize]).unwrap();
    let holds = || server.account().holds;
    for _ in 0..2000 {
        client.read(0, 512).unwrap();
    }
    assert_eq!(holds(), 0, "it has read all");
    let mut cookies = 0..;
    let mut ask = |client: &mut Client| {
        let request = NbdRequest::new(cookies.next().unwrap(), Command::Read, 0, 512);
        client.ask(request, &[]);
    };
    for round in 0..1000 {
        // That many replies fit into the socket. The client reads none meanwhile, and sends the
        // second half slowly, so that requests arrive one by one.
        (0..50).for_each(|_| ask(&mut client));
        for _ in 0..50 {
            (0..500).for_each(|_| std::hint::spin_loop());
            ask(&mut client);
        }
        for _ in 0..100 {
            let answer = client.answer(|_| (0, 512)).expect("it is answered");
            assert_eq!(answer.1, Ok(vec![7; 512]));
        }
        if holds() > 0 {
            return;
        }
        assert!(round < 999, "receives were never held");
    }
}

/// With `latency = "low"` the thread busy-polls for a client in ping-pong, with `"normal"` it never
/// does.
#[test]
fn it_is_waited_awake_as_the_latency_says() {
    let waits = |latency, most: u32| {
        let server = Server::start_behind(BACKENDS[0], limits(), Front { latency, ..with(MEMORY) });
        let mut client = server.connect();
        client.write(0, &[7; PAGE as usize]).unwrap();
        (0..most).any(|_| {
            (0..100).for_each(|_| drop(client.read(0, 512).unwrap()));
            server.account().awake > Span::ZERO
        })
    };
    assert!(waits(Latency::Low, 1000));
    assert!(!waits(Latency::Normal, 20));
}
