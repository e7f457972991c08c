//! A server in a control group whose memory is taken by others.

use crate::requires::{client, requires, skip};
use crate::running::{Running, run_by, succeed, until};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What all in the group may have.
const LIMIT: u64 = 384 << 20;
/// What the cache is given.
const CACHE: u64 = 128 << 20;

/// A control group with a limit, of version 2, or of version 1 of the controller of memory; removed
/// once nobody is in it.
struct Group(PathBuf);

impl Group {
    /// `None`, with its reason, where that cannot be had.
    fn new() -> Option<Group> {
        let name = format!("seawall-{}", std::process::id());
        let places = [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
        let group = places.into_iter().find_map(|(place, limit)| {
            let group = Group(Path::new(place).join(&name));
            std::fs::create_dir(&group.0).ok()?;
            let limit = std::fs::OpenOptions::new().write(true).open(group.0.join(limit));
            write!(limit.ok()?, "{LIMIT}").ok().map(|()| group)
        });
        if group.is_none() {
            skip("not allowed to make a control group of memory");
        }
        group
    }

    /// A command that is in the group from its beginning.
    fn with(&self, command: &Command) -> Command {
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        inside.arg(command.get_program());
        run_by(inside, command)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Who was killed is in it for a moment.
        until("nobody is in the group", || std::fs::remove_dir(&self.0).is_ok());
    }
}

/// What `memory show` says of the cache: what it may have now, and has, in bytes.
fn cache(server: &Server) -> (u64, u64) {
    let shown = server.tell(&["memory show -output json"]);
    let answer: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let row = answer["records"].as_array().unwrap().iter().find(|row| row["part"] == "cache").unwrap();
    (row["allowed"].as_u64().unwrap(), row["used"].as_u64().unwrap())
}

/// 384 MiB for a server with a cache of 128, which is full, and for a neighbour that takes 16 MiB
/// at a time until half of the cache is gone. Without swap nothing stalls before somebody is
/// killed, so the cache goes as the neighbour comes. Nobody is killed, clients read what they
/// wrote; and once the neighbour is gone the cache grows again.
#[test]
fn a_cache_gives_way_before_anybody_is_killed() {
    requires!("python3", "qemu-io");
    let Some(group) = Group::new() else { return };
    let scratch = Scratch::new();
    std::fs::write(scratch.join("server.toml"), "[cache]\nmemory = \"128MiB\"\n[limits]\nmemory = \"16MiB\"\n")
        .unwrap();
    let mut server = Server::start_within(&scratch, &["--config", "server.toml"], |command| group.with(command));
    server.make_lun("160MiB");
    let ask = |server: &Server, words: [&str; 2]| {
        let mut qemu = client("qemu-io");
        qemu.args(["-f", "raw", "-c", words[0], "-c", words[1]]).arg(server.uri(LUN));
        succeed(&mut qemu)
    };
    ask(&server, ["write -P 90 0 80M", "write -P 91 80M 80M"]);
    let reads = ["read -P 90 0 80M", "read -P 91 80M 80M"];
    ask(&server, reads);
    until("the cache is full", || cache(&server) == (CACHE, CACHE));
    let mut neighbour = client("python3");
    // A line, 16 MiB more.
    let script = "import sys\nheld = []\nfor line in sys.stdin:\n held.append(b'x' * (16 << 20))\n print('has', len(held), flush=True)";
    neighbour.args(["-c", script]);
    let mut neighbour = group.with(&neighbour);
    neighbour.stdin(Stdio::piped());
    let mut neighbour = Running::start(neighbour);
    let mut steps = 0;
    while cache(&server).0 > CACHE / 2 {
        until("there is room for more", || uring::memory::of_group(&group.0).unwrap().left.0 >= 18 << 20);
        steps += 1;
        neighbour.say("");
        neighbour.wait_for(&format!("has {steps}"));
    }
    let is_given_back = || {
        let (allowed, used) = cache(&server);
        used <= allowed
    };
    until("the cache keeps what it may", is_given_back);
    let allowed = cache(&server).0;
    let all = ask(&server, reads);
    assert!(!all.contains("failed"), "{all}");
    assert!(server.running().ended().is_none(), "the server goes on");
    // It ends with its input.
    drop(neighbour);
    until("the cache grows again", || cache(&server).0 > allowed);
    let events = server.tell(&["event log show -severity *"]);
    assert!(events.contains("memory is short"), "{events}");
    assert!(server.stop().0.success());
}
