//! The system calls of the data thread for cache hits, as seen by `strace`: one call a turn and no
//! other. So nothing is read from the disk or the page cache (`preadv2`), and nothing is sent or
//! received except by the ring.
//!
//! The traced process is a separate one: the test runs itself again under `strace`, which only
//! needs permission to trace its own children.

use crate::support::{Client, Server, limits, program_or_skip, skip};
use block::Bytes;
use cache::Eviction;
use nbd::{Command as Nbd, NbdRequest};
use server::{Front, Latency};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use store::CacheSettings;
use uring::{Backend, Choice, Io, IoSettings};

/// Set in the traced process: the folder for its output.
const TRACED: &str = "SEAWALL_TRACED";
/// A call of the client with such a name marks the beginning of a part in the trace.
const MARK: &str = "/seawall-mark/";

const REQUESTS: u64 = 200;
const DEEP: u64 = 32;
const PAGE: u64 = 4096;

/// Number of calls of one part, by name.
type Calls = BTreeMap<String, u64>;

#[test]
fn hits_take_one_call_a_turn_and_no_other() {
    if let Ok(folder) = std::env::var(TRACED) {
        return be_traced(Path::new(&folder));
    }
    if !matches!(Io::open(&IoSettings::default()).unwrap().backend(), Backend::Uring { .. }) {
        return skip("no io_uring here");
    }
    let Some(strace) = program_or_skip("strace") else { return };
    let dir = tempfile::tempdir().unwrap();
    if !Command::new(&strace).args(["-o", "/dev/null", "true"]).status().unwrap().success() {
        return skip("strace may not trace here");
    }
    let trace = dir.path().join("trace");
    let done = Command::new(&strace)
        .args(["-f", "-qq", "-s", "0", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "calls::hits_take_one_call_a_turn_and_no_other"])
        .env(TRACED, dir.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    let said = std::fs::read_to_string(dir.path().join("said")).unwrap();
    let (thread, turns) = said.split_once(' ').unwrap();
    let turns: Vec<u64> = turns.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let parts = of_thread(&std::fs::read_to_string(&trace).unwrap(), thread);
    for (what, turns) in [("one", turns[0]), ("deep", turns[1]), ("long", turns[2])] {
        let mut calls = parts[what].clone();
        println!("{what}: {turns} turns, {calls:?}");
        let enters = calls.remove("io_uring_enter").unwrap_or(0);
        assert!((1..=turns).contains(&enters), "{what}: {enters} calls in {turns} turns");
        // Some turns are not due to a request or its reply: periodic checks, and the test's own
        // accounts.
        assert!(turns <= REQUESTS + REQUESTS / 4, "{what}: {turns} turns for {REQUESTS} requests");
        // If a single client is quick, one turn in eight looks at whether it has replies to read
        // (`owner/holding.rs`).
        let looks = calls.remove("ioctl").unwrap_or(0);
        assert!(looks <= if what == "deep" { turns } else { turns / 8 + 1 }, "{what}: {looks} looks");
        // The account that was asked for before may be answered a moment later.
        assert!(calls.remove("clock_gettime").unwrap_or(0) <= 1, "{what}: the time without a call");
        // If more replies are gathered than before, their message grows.
        let of_memory = ["mprotect", "brk", "mmap", "munmap", "madvise"].map(|name| calls.remove(name).unwrap_or(0));
        assert!(of_memory.iter().sum::<u64>() <= REQUESTS / 20, "{what}: {of_memory:?}");
        assert_eq!(calls, Calls::new(), "{what}: no other call, in {turns} turns");
    }
}

/// The calls of a thread, split into parts by the marks of other threads.
fn of_thread(trace: &str, thread: &str) -> BTreeMap<String, Calls> {
    let (mut parts, mut part) = (BTreeMap::<String, Calls>::new(), None);
    for (who, call) in trace.lines().filter_map(|line| line.split_once(' ')) {
        let call = call.trim_start();
        if let Some((_, name)) = call.split_once(MARK) {
            part = name.split('"').next().filter(|name| *name != "end").map(str::to_owned);
        } else if let (Some(part), true, Some((name, _))) = (&part, who == thread, call.split_once('(')) {
            // The second half of an interrupted call begins with `<...`.
            if !name.starts_with('<') {
                *parts.entry(part.clone()).or_default().entry(name.to_owned()).or_default() += 1;
            }
        }
    }
    parts
}

/// A server and its client: hits one at a time, 32 at a time, and long ones, which are sent from
/// the pages.
fn be_traced(folder: &Path) {
    let cache = CacheSettings { memory: Bytes::mib(2), page: PAGE as u32, policy: Eviction::default() };
    let front = Front { cache: Some(cache), latency: Latency::Normal, ..Front::default() };
    let server = Server::start_behind(Choice::Auto, limits(), front);
    let mut client = server.connect();
    client.write(0, &vec![7; 1 << 20]).unwrap();
    client.read(0, 1 << 20).unwrap();
    let parts = [("one", 1, PAGE), ("deep", DEEP, PAGE), ("long", 1, 64 << 10)];
    // Once to allocate memory, and once to be traced.
    parts.iter().for_each(|(_, depth, len)| read(&mut client, *depth, *len));
    let turns = parts.map(|(name, depth, len)| {
        server.account();
        let mark = |name: &str| drop(std::fs::metadata(format!("{MARK}{name}")));
        mark(name);
        read(&mut client, depth, len);
        mark("end");
        server.account().turns.to_string()
    });
    std::fs::write(folder.join("said"), format!("{} {}", data_thread(), turns.join(" "))).unwrap();
}

/// That many requests at that queue depth.
fn read(client: &mut Client, depth: u64, len: u64) {
    let at = |cookie: u64| cookie * 37 * PAGE % (512 << 10);
    let ask = |client: &mut Client, cookie| client.ask(NbdRequest::new(cookie, Nbd::Read, at(cookie), len), &[]);
    (0..depth).for_each(|cookie| ask(client, cookie));
    for number in 0..REQUESTS {
        let (_, bytes) = client.answer(|cookie| (at(cookie), len as u32)).expect("it is answered");
        assert!(bytes.unwrap() == vec![7; len as usize]);
        if number + depth < REQUESTS {
            ask(client, number + depth);
        }
    }
}

/// The number of the thread of that name.
fn data_thread() -> String {
    let mut threads = std::fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap());
    let is_shard = |name: std::io::Result<String>| name.unwrap().trim() == "shard";
    let shard = threads.find(|thread| is_shard(std::fs::read_to_string(thread.path().join("comm"))));
    shard.expect("a data thread").file_name().into_string().unwrap()
}
