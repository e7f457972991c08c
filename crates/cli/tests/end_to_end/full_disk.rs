//! A file system that fills up under the server.

use crate::error_texts::told;
use crate::nfs_client::Client;
use crate::requires::{client, requires, skip};
use crate::running::{Ended, Running, run, seawall, succeed, until};
use crate::scratch::Scratch;
use nfs::{Call, CreateHow, Entry, SetAttributes, Stable, Status};
use std::process::Command;

/// A server on a file system of its own.
struct Small {
    scratch: Scratch,
    server: Running,
}

impl Small {
    /// A pool of 24 MiB with the volume `vol1`; `None`, with its reason, where that cannot be had.
    fn new() -> Option<Small> {
        Small::beside(0)
    }

    /// The same with so many MiB of somebody else's in `other`.
    fn beside(other: u32) -> Option<Small> {
        let scratch = Scratch::new();
        if run(Command::new("unshare").args(["--mount", "true"])).code != Some(0) {
            skip("not allowed to mount a file system");
            return None;
        }
        std::fs::create_dir(scratch.join("disk")).unwrap();
        let script = format!(
            "mount -t tmpfs -o size=24m none disk && head -c {other}M /dev/zero > disk/other && mkdir disk/pool && \
             printf 'cache = \"page\"\n' > disk/pool/seawall.toml && exec \"$0\" serve --pool disk/pool --create \
             --listen unix:nbd.sock --nfs 127.0.0.1:0"
        );
        let mut command = Command::new("unshare");
        command.current_dir(scratch.path()).args(["--mount", "sh", "-c", &script]);
        let mut server = Running::start({
            command.arg(seawall(scratch.path()).get_program());
            command
        });
        server.wait_for("commands: ");
        let small = Small { scratch, server };
        small.tell("vserver create -vserver svm01");
        small.tell("volume create -vserver svm01 -volume vol1 -size 1GB");
        Some(small)
    }

    /// A program that sees the file system.
    fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--mount", "--target", &self.server.id().to_string()])
            .arg(format!("--wdns={}", self.scratch.path().display()));
        command
    }

    fn command(&self, line: &str) -> Command {
        let mut inside = self.inside();
        inside.arg(seawall(self.scratch.path()).get_program()).args(["shell", "--pool", "disk/pool", "-c", line]);
        inside
    }

    fn tell(&self, line: &str) -> String {
        succeed(&mut self.command(line))
    }

    fn ask(&self, line: &str) -> Ended {
        run(&mut self.command(line))
    }

    /// The address of NFS.
    fn nfs(&self) -> String {
        let line = self.server.seen.iter().find(|line| line.ends_with("(NFS)")).expect("it serves NFS");
        line.replace("listening on ", "").replace(" (NFS)", "")
    }

    fn uri(&self, lun: &str) -> String {
        let socket = self.scratch.join("nbd.sock");
        format!("nbd+unix:///svm01:%2Fvol%2Fvol1%2F{lun}?socket={}", socket.display())
    }

    fn io(&self, lun: &str, commands: &[&str]) -> Ended {
        let mut command = client("qemu-io");
        command.args(["-f", "raw", "-t", "none"]);
        commands.iter().for_each(|line| {
            command.args(["-c", line]);
        });
        run(command.arg(self.uri(lun)))
    }

    /// Commands that must all go well.
    fn good(&self, lun: &str, commands: &[&str]) {
        let ended = self.io(lun, commands);
        assert!(ended.code == Some(0) && !ended.out.contains("failed"), "{lun}: {ended:?}");
    }

    /// A command that must find no room.
    fn full(&self, lun: &str, command: &str) {
        let ended = self.io(lun, &[command]);
        assert!(format!("{}{}", ended.out, ended.err).contains("No space left on device"), "{ended:?}");
    }
}

/// A thin LUN of 64 MiB on a file system of 24 MiB, a small one beside it. Writing 32 MiB fails
/// with "No space left on device"; what was written before reads back, the other LUN goes on, and a
/// LUN can be deleted with nothing free at all, which gives its space to the next.
///
/// The file system is mounted where only the server sees it, so it goes with the server whatever
/// happens.
#[test]
fn a_full_file_system_fails_one_write_and_nothing_else() {
    requires!("qemu-io", "unshare", "nsenter");
    let Some(small) = Small::new() else { return };
    small.tell("lun create -vserver svm01 -path /vol/vol1/big -size 64MiB");
    small.tell("lun create -vserver svm01 -path /vol/vol1/small -size 4MiB");
    small.good("big", &["write -P 0x11 0 1M"]);
    small.good("small", &["write -P 0x22 0 4M", "flush"]);
    small.full("big", "write -P 0x33 1M 32M");
    small.good("big", &["read -P 0x11 0 1M"]);
    small.good("small", &["read -P 0x22 0 4M"]);
    small.good("small", &["write -P 0x44 0 4M"]);
    // Whatever is left of the file system is taken too, before a deletion has to be written down.
    let filled = run(small.inside().args(["sh", "-c", "cat /dev/zero > disk/rest"]));
    assert_ne!(filled.code, Some(0), "{filled:?}");
    small.tell("lun delete -vserver svm01 -path /vol/vol1/big");
    succeed(small.inside().args(["rm", "disk/rest"]));
    small.tell("lun create -vserver svm01 -path /vol/vol1/next -size 16MiB");
    small.good("next", &["write -P 0x55 0 16M", "flush"]);
}

/// The client is told in words that there is no space.
#[test]
fn a_full_file_system_is_told_in_words() {
    requires!("nbdsh", "unshare", "nsenter");
    let Some(small) = Small::new() else { return };
    small.tell("lun create -vserver svm01 -path /vol/vol1/big -size 64MiB");
    let told = told(&small.uri("big"), "pwrite(bytes([7]) * (32 << 20), 0)");
    assert_eq!(told, "write failed: no space is left, or the export ends there\nfailed\n");
}

/// A LUN of 8 MiB with a snapshot, and others that fill the pool to the last block. Writing over
/// the LUN copies blocks until there are none: that write fails with "No space left on device", the
/// LUN holds what it held or what was written, the snapshot what it held, the others go on, and
/// deleting the snapshot makes room. Nothing is wrong with the pool.
#[test]
fn a_pool_that_fills_up_in_the_middle_of_a_copy_fails_that_write_alone() {
    requires!("qemu-io", "unshare", "nsenter");
    let Some(small) = Small::new() else { return };
    for lun in ["lun1", "other"] {
        small.tell(&format!("lun create -vserver svm01 -path /vol/vol1/{lun} -size 8MiB"));
    }
    small.tell("lun create -vserver svm01 -path /vol/vol1/filler -size 64MiB");
    small.good("lun1", &["write -P 0x11 0 8M", "flush"]);
    small.good("other", &["write -P 0x22 0 2M", "flush"]);
    small.tell("volume snapshot create vol1 -snapshot s");
    small.full("filler", "write -P 0x33 0 32M");
    // Of small writes the first that needs a copy fails, and those in place go on.
    small.full("lun1", "write -P 0x44 0 8M");
    small.good("lun1", &["read 0 8M", "flush"]);
    small.good("other", &["read -P 0x22 0 2M"]);
    small.tell("lun delete -vserver svm01 -path /vol/vol1/filler");
    small.tell("volume file clone create -source-path /lun1 -destination-path /was -volume vol1 -snapshot-name s");
    small.good("was", &["read -P 0x11 0 8M"]);
    small.tell("volume snapshot delete vol1 -snapshot s");
    small.good("other", &["write -P 0x55 0 8M", "flush", "read -P 0x55 0 8M"]);
    std::fs::create_dir(small.scratch.join("copy")).unwrap();
    // Of a copy, as the pool is in use and its file system goes with its server.
    let copying = "cp -r disk/pool/catalogue.* disk/pool/maps disk/pool/seawall.toml copy";
    succeed(small.inside().args(["sh", "-c", copying]));
    let checked = run(seawall(small.scratch.path()).args(["check", "copy"]));
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
}

/// A LUN fills the pool to the last block. A file that a client then makes on another volume has no
/// room for its record: the call is answered so, and so are a command that waits for the record and
/// a COMMIT, while other commands go on. Nothing is lost by it: with the LUN deleted, the file and
/// what follows become durable.
#[test]
fn a_full_pool_refuses_files_and_keeps_nobody_waiting() {
    requires!("qemu-io", "unshare", "nsenter");
    let Some(small) = Small::new() else { return };
    small.tell("volume create -vserver svm01 -volume files -size 1GB -junction-path /files");
    small.tell("lun create -vserver svm01 -path /vol/vol1/filler -size 64MiB");
    small.full("filler", "write -P 0x33 0 32M");
    let pieces: Vec<String> = (0..512).map(|at| format!("write -q -P 0x33 {}k 64k", at * 64)).collect();
    small.io("filler", &pieces.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut client, top) = Client::connect(&small.nfs(), b"/files");
    let how = CreateHow::Guarded(SetAttributes::default());
    let make = |client: &mut Client, name: &[u8]| {
        client.call(&Call::Create { entry: Entry { directory: top, name }, how }, &[]).unwrap()
    };
    assert_eq!(make(&mut client, b"one"), Err(Status::NoSpace));
    let refused = small.ask("volume snapshot create -volume files -snapshot s");
    assert!(
        refused.code == Some(1) && refused.err.contains("the pool has no space left for what clients"),
        "{refused:?}"
    );
    small.tell("volume show");
    small.tell("lun delete -vserver svm01 -path /vol/vol1/filler");
    // A file whose record found no space may be there all the same, so each try has its own name.
    let mut names = (0..).map(|number| format!("two-{number}"));
    until("there is space", || make(&mut client, names.next().unwrap().as_bytes()).is_ok());
    small.tell("volume snapshot create -volume files -snapshot s");
    let found = |client: &mut Client, name: &[u8]| {
        client.call(&Call::Lookup(Entry { directory: top, name }), &[]).unwrap().unwrap().unwrap()
    };
    let one = found(&mut client, b"one");
    let write = Call::Write { handle: one, at: 0, count: 5, stable: Stable::File, len: 5 };
    assert_eq!(client.call(&write, b"there").unwrap(), Ok(None));
    assert_eq!(client.read(one), b"there");
}

/// Half of the file system is somebody else's: the pool has the rest, says so of itself and of its
/// thin volume, and when that is written, is full and says that, too. What the other gives back is
/// the pool's soon, without a new start.
#[test]
fn a_pool_has_what_others_leave_of_the_file_system() {
    requires!("qemu-io", "unshare", "nsenter");
    let Some(small) = Small::beside(12) else { return };
    small.tell("lun create -vserver svm01 -path /vol/vol1/lun -size 20MiB");
    let available = |of: &str| -> u64 {
        let shown = small.tell(&format!("{of} show -fields available -output json"));
        let (_, value) = shown.split_once("\"available\":").expect(&shown);
        value.trim_start().split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).expect(&shown)
    };
    let (pool, volume) = ("storage aggregate", "volume");
    let left = available(pool);
    assert!((6 << 20..12 << 20).contains(&left), "{left}");
    assert_eq!(available(volume), left, "a volume of 1 GB");
    let pieces: Vec<String> = (0..320).map(|at| format!("write -q -P 0x11 {}k 64k", at * 64)).collect();
    let filled = small.io("lun", &pieces.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(format!("{}{}", filled.out, filled.err).contains("No space left on device"), "{filled:?}");
    assert!(available(pool) < 64 << 10 && available(volume) < 64 << 10);
    let told = |name: &str| small.tell("event log show -severity *").contains(name);
    // Space is looked at every ten seconds.
    until("aggr.full", || told("aggr.full"));
    succeed(small.inside().args(["rm", "disk/other"]));
    until("space again", || told("aggr.space.available"));
    small.good("lun", &["write -P 0x22 0 20M", "flush", "read -P 0x22 0 20M"]);
}

/// A results database on a file system without a free byte is listed, shown and queried. Changing
/// it is refused in a line that says why. SQLite cannot make room for its index beside it.
#[test]
fn results_on_a_full_file_system_are_read() {
    requires!("unshare");
    let scratch = Scratch::new();
    if run(Command::new("unshare").args(["--mount", "true"])).code != Some(0) {
        return skip("not allowed to mount a file system");
    }
    std::fs::create_dir(scratch.join("disk")).unwrap();
    let jobs = ["simulate", "fio", "--name=kept", "--rw=randread", "--size=1M", "--number_ios=10"];
    succeed(seawall(scratch.path()).args(["--results", "r.sqlite"]).args(jobs));
    let fill = "mount -t tmpfs -o size=4m none disk && cp r.sqlite disk/ && ! cat /dev/zero > disk/rest 2> /dev/null";
    let on_full = |words: &str| {
        let mut command = Command::new("unshare");
        let script = format!("{fill} && \"$0\" results {words} --results disk/r.sqlite");
        command.current_dir(scratch.path()).args(["--mount", "sh", "-c", &script]);
        run(command.arg(seawall(scratch.path()).get_program()))
    };
    for words in ["list", "show last", "sql 'select title from results'", "export last"] {
        let ended = on_full(words);
        assert!(ended.code == Some(0) && ended.out.contains("kept"), "{words}: {ended:?}");
    }
    let refused = on_full("delete last");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("disk/r.sqlite: cannot be changed, because it or its folder cannot be written"),
        "{refused:?}"
    );
}
