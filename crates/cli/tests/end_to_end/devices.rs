//! Pools whose blocks and log are files or block devices that the settings name.

use crate::requires::{find, skip};
use crate::running::{Ended, run, seawall};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes a pool's settings.
fn settings(scratch: &Scratch, pool: &str, text: &str) {
    std::fs::create_dir_all(scratch.join(pool)).unwrap();
    std::fs::write(scratch.join(pool).join("seawall.toml"), text).unwrap();
}

fn serve(scratch: &Scratch, pool: &str) -> Ended {
    run(seawall(scratch.path()).args(["serve", "--pool", pool, "--create", "--listen", "unix:other.sock"]))
}

/// Writes a byte all over the LUN's first block, in two servers' lives, and reads it back.
fn goes_on(scratch: &Scratch) {
    let bytes = vec![0x5a; 64 << 10];
    let server = Server::start(scratch);
    server.make_lun("8MiB");
    let mut client = crate::raw_client::Client::connect(&server.socket(), LUN);
    assert!(client.write(1, 0, &bytes, true) && !client.answer().unwrap().failed);
    server.kill();
    let checked = run(seawall(scratch.path()).args(["check", "pool"]));
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    let server = Server::start(scratch);
    let mut client = crate::raw_client::Client::connect(&server.socket(), LUN);
    assert_eq!(client.read(0, 64 << 10), bytes);
    server.tell(&["volume snapshot create vol1 -snapshot s"]);
    server.stop();
}

/// A server that made its pool and then cannot listen takes everything back, the labels on files
/// elsewhere as well: the same command goes when it can.
#[test]
fn a_server_that_cannot_start_leaves_no_label() {
    let scratch = Scratch::new();
    let (data, log) = (scratch.join("data.img"), scratch.join("log.img"));
    settings(&scratch, "pool", &format!("cache = \"page\"\n[pool]\ndata = {data:?}\nlog = {log:?}\n"));
    let listen = ["serve", "--pool", "pool", "--create", "--listen", "unix:no/such/folder/sock"];
    let refused = run(seawall(scratch.path()).args(listen));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("no/such/folder"), "{refused:?}");
    assert!(!data.exists() && !log.exists() && !scratch.join("pool/maps").exists());
    Server::start(&scratch).stop();
}

/// A crash while a pool was made, after its labels were written and before its catalogue: the same
/// command makes it.
#[test]
fn a_pool_that_was_begun_can_be_made_anew() {
    let scratch = Scratch::new();
    let (data, log) = (scratch.join("data.img"), scratch.join("log.img"));
    settings(&scratch, "pool", &format!("cache = \"page\"\n[pool]\ndata = {data:?}\nlog = {log:?}\n"));
    let named = store::Named { data: vec![data.clone()], log: Some(log.clone()) };
    let begun = store::MapSettings { named, cache: store::Cache::Page, ..store::MapSettings::default() };
    drop(store::MappedPool::create(&scratch.join("pool"), 7, begun).unwrap());
    assert!(data.exists() && log.exists());
    let words = ["serve", "--pool", "pool", "--listen", "unix:other.sock"];
    let refused = run(seawall(scratch.path()).args(words));
    let says = "a pool was begun here and not finished; `seawall serve --pool DIR --create` makes it anew";
    assert_eq!((refused.code, refused.err), (Some(2), format!("seawall: --pool pool: {says}\n")));
    goes_on(&scratch);
}

/// Data and log in files outside the folder. They carry the pool's label, so that another pool does
/// not take them, and the pool does not take another's; a file with something in it is left alone.
#[test]
fn data_and_log_may_be_files_of_their_own() {
    let scratch = Scratch::new();
    let (data, log) = (scratch.join("data.img"), scratch.join("log.img"));
    let named = |data: &Path, log: &Path| format!("cache = \"page\"\n[pool]\ndata = {data:?}\nlog = {log:?}\n");
    settings(&scratch, "pool", &named(&data, &log));
    goes_on(&scratch);
    assert!(!scratch.join("pool/maps/blocks").exists() && data.metadata().unwrap().len() > 64 << 10);
    let before = std::fs::read(&data).unwrap();

    // Another pool on the same files, and on a file that somebody filled.
    settings(&scratch, "second", &named(&data, &scratch.join("log2.img")));
    let refused = serve(&scratch, "second");
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("data.img: it is a file of") && refused.err.contains("nothing was changed"),
        "{refused:?}"
    );
    std::fs::write(scratch.join("thesis"), "years of work").unwrap();
    settings(&scratch, "third", &named(&scratch.join("thesis"), &scratch.join("log3.img")));
    let refused = serve(&scratch, "third");
    assert!(refused.err.contains("thesis: it is a file of"), "{refused:?}");
    assert_eq!(std::fs::read(scratch.join("thesis")).unwrap(), b"years of work");

    // The settings name something else than when the pool was made: log and data changed about.
    settings(&scratch, "pool", &named(&log, &data));
    let refused = serve(&scratch, "pool");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(refused.err.lines().count(), 1, "{refused:?}");
    assert!(std::fs::read(&data).unwrap() == before, "nothing was written");

    // Two folders, one device: whoever comes second is refused.
    settings(&scratch, "pool", &named(&data, &log));
    let server = Server::start(&scratch);
    let copy = run(Command::new("cp").args(["-r", "pool", "twin"]).current_dir(scratch.path()));
    assert_eq!(copy.code, Some(0), "{copy:?}");
    let refused = serve(&scratch, "twin");
    assert!(refused.err.contains("is in use by another server"), "{refused:?}");
    server.stop();
}

/// What the settings may not say, in a line each.
#[test]
fn wrong_names_are_refused() {
    let scratch = Scratch::new();
    for (text, words) in [
        ("[pool]\ndata = \"../outside\"\n", "must be an absolute path"),
        ("layout = \"files\"\n", "line 1: layout: there is no such key; here it is one of cache, pool, qos"),
        ("[pool]\ndata = \"/dev/null\"\n", "neither a file nor a block device"),
        ("[pool]\ndata = \"/tmp/x\"\nlog = \"/tmp/x\"\n", "must not be the same"),
        ("[pool]\ndisk = \"/dev/sdb\"\n", "disk"),
        ("[pool]\ndata = []\n", "must name 1 to 32 files or devices, got 0"),
        ("[pool]\ndata = [\"/tmp/x\", \"y\"]\n", "must be an absolute path"),
        ("[pool]\ndata = [\"/tmp/x\", \"/tmp/x\"]\n", "is named twice"),
        ("[pool]\ndata = [\"/tmp/x\", \"/tmp/y\"]\nlog = \"/tmp/y\"\n", "must not be the same"),
        ("[pool]\ndata = 7\n", "line 2: pool.data: must be a path, or a list of paths"),
        ("[pool]\ngive_back = \"yes\"\n", "line 2: pool.give_back: must be true or false, got \"yes\""),
        ("[qos]\nfair = 3\n", "line 2: qos.fair: must be true or false, got 3"),
        ("\n[qos]\npeak = \"high\"\n", "line 3: qos.peak: must be one of ceiling, credits, got \"high\""),
    ] {
        settings(&scratch, "pool", text);
        let refused = serve(&scratch, "pool");
        assert_eq!((refused.code, refused.err.lines().count()), (Some(2), 1), "{refused:?}");
        assert!(refused.err.contains(words), "{text}: {refused:?}");
        assert_eq!(scratch.listing(), ["pool", "pool/seawall.toml"], "nothing was made");
    }
}

/// A loop device over a file, detached when this is dropped.
struct LoopDevice(PathBuf);

impl LoopDevice {
    fn new(scratch: &Scratch, name: &str, mib: u64) -> Option<LoopDevice> {
        let losetup = ["/usr/sbin/losetup", "/sbin/losetup"].iter().map(PathBuf::from).find(|path| path.is_file());
        let Some(losetup) = losetup.or_else(|| find("losetup")) else {
            skip("losetup is not installed");
            return None;
        };
        std::fs::File::create(scratch.join(name)).unwrap().set_len(mib << 20).unwrap();
        let made = run(Command::new(losetup).args(["--find", "--show"]).arg(scratch.join(name)));
        if made.code != Some(0) {
            skip("a loop device cannot be made here (that needs root)");
            return None;
        }
        Some(LoopDevice(made.out.trim().into()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// Data on one block device and log on another, past the page cache, as it is meant. A device with
/// a file system on it is left alone.
#[test]
fn data_and_log_may_be_block_devices() {
    let scratch = Scratch::new();
    let Some(data) = LoopDevice::new(&scratch, "data.img", 64) else { return };
    let Some(log) = LoopDevice::new(&scratch, "log.img", 16) else { return };
    settings(&scratch, "pool", &format!("[pool]\ndata = {:?}\nlog = {:?}\n", data.0, log.0));
    goes_on(&scratch);
    let Some(taken) = LoopDevice::new(&scratch, "taken.img", 16) else { return };
    // The magic of ext4 stands at byte 0x38 of its superblock, which begins at byte 1024.
    let mut bytes = vec![0; 2048];
    bytes[1080..1082].copy_from_slice(&[0x53, 0xef]);
    std::fs::write(&taken.0, &bytes).unwrap();
    settings(&scratch, "second", &format!("[pool]\ndata = {:?}\n", taken.0));
    let refused = serve(&scratch, "second");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("it carries") && refused.err.contains("nothing was changed"), "{refused:?}");
    // And one that another pool has.
    settings(&scratch, "third", &format!("[pool]\ndata = {:?}\n", data.0));
    let refused = serve(&scratch, "third");
    assert!(refused.err.contains("carries the data of a pool"), "{refused:?}");
}

/// Three files of data and a log of its own. All take part; in whatever order they are named the
/// pool is found; without one of them it is not served, and the line says which. A check names what
/// is wrong, and a repair keeps the log, too.
#[test]
fn a_pool_on_several_files_is_served_checked_and_mended() {
    let scratch = Scratch::new();
    let named = |names: &[&str]| {
        let data: Vec<PathBuf> = names.iter().map(|name| scratch.join(name)).collect();
        settings(
            &scratch,
            "pool",
            &format!("cache = \"page\"\n[pool]\ndata = {data:?}\nlog = {:?}\n", scratch.join("log")),
        );
    };
    let check = |arguments: &[&str]| run(seawall(scratch.path()).arg("check").arg("pool").args(arguments));
    named(&["one", "two", "three"]);
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let bytes: Vec<u8> = (0..6u32 << 20).map(|n| (n >> 9) as u8 | 1).collect();
    let mut client = crate::raw_client::Client::connect(&server.socket(), LUN);
    assert_eq!(client.written(0, &bytes, true), Ok(()));
    server.kill();
    // Two segments of 1 MiB each, behind the label.
    for name in ["one", "two", "three"] {
        assert_eq!(scratch.join(name).metadata().unwrap().len(), (2 << 20) + (64 << 10), "{name}");
    }
    named(&["three", "one", "two"]);
    assert_eq!(check(&[]).code, Some(0));
    let server = Server::start(&scratch);
    assert!(crate::raw_client::Client::connect(&server.socket(), LUN).read(0, 6 << 20) == bytes);
    server.kill();

    named(&["three", "one"]);
    let refused = serve(&scratch, "pool");
    assert_eq!((refused.code, refused.err.lines().count()), (Some(2), 1), "{refused:?}");
    assert!(
        refused.err.contains("lies on 3 files or devices, and `[pool] data` does not name number 2"),
        "{refused:?}"
    );
    named(&["three", "one", "two"]);
    std::fs::rename(scratch.join("two"), scratch.join("elsewhere")).unwrap();
    let refused = serve(&scratch, "pool");
    assert!(refused.err.contains("two: No such file or directory; it holds a part of the pool's data"), "{refused:?}");
    assert_eq!(refused.err.lines().count(), 1, "{refused:?}");
    assert_eq!(check(&[]).code, Some(1), "it says so too");
    std::fs::rename(scratch.join("elsewhere"), scratch.join("two")).unwrap();

    // A file that was cut off, and all records of the log gone: the LUN is not in the maps.
    std::fs::File::options().write(true).open(scratch.join("three")).unwrap().set_len(1 << 20).unwrap();
    let found = check(&[]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.out.contains("three: has 1048576 bytes, and blocks up to byte 2162688 are in use"), "{found:?}");
    let whole = std::fs::read(scratch.join("log")).unwrap();
    let mut log = whole.clone();
    log[64 << 10..].fill(0);
    std::fs::write(scratch.join("log"), &log).unwrap();
    // No checkpoint was made: nothing but the log knew of the LUN.
    let broken = check(&[]);
    assert!(broken.out.starts_with("maps: the log ends with record 0, and record "), "{broken:?}");
    let refused = serve(&scratch, "pool");
    assert_eq!((refused.code, refused.err.lines().count()), (Some(2), 1), "{refused:?}");
    let repaired = check(&["--repair", "--copy", "before"]);
    assert_eq!(repaired.code, Some(1), "a LUN of zeroes is made only where it is given up: {repaired:?}");
    assert!(repaired.out.contains("svm01:/vol/vol1/lun1: is left as it is"), "{repaired:?}");
    assert!(std::fs::read(scratch.join("before/maps/log")).unwrap() == log, "label and records");
    let volume = ["--give-up", "svm01:/vol/vol1"];
    let given = check(&["--repair", "--copy", "second", "--give-up", "svm01:/vol/vol1/lun1", volume[0], volume[1]]);
    assert_eq!(given.code, Some(0), "{given:?}");
    assert!(given.out.contains("LUN svm01:/vol/vol1/lun1: its data is lost"), "{given:?}");
    Server::start(&scratch).stop();
    // The copy is all that is needed to be where it was: with it and the old log the data is there
    // again.
    std::fs::write(scratch.join("log"), &whole).unwrap();
    std::fs::File::options().write(true).open(scratch.join("three")).unwrap().set_len((2 << 20) + (64 << 10)).unwrap();
    for file in ["nodes", "table.0", "table.1", "end"] {
        std::fs::copy(scratch.join("before/maps").join(file), scratch.join("pool/maps").join(file)).unwrap();
    }
    for file in ["catalogue.db", "catalogue.db-wal"].iter().filter(|file| scratch.join("before").join(file).exists()) {
        std::fs::copy(scratch.join("before").join(file), scratch.join("pool").join(file)).unwrap();
    }
    let server = Server::start(&scratch);
    let read = crate::raw_client::Client::connect(&server.socket(), LUN).try_read(0, 1 << 20);
    assert!(read == Ok(bytes[..1 << 20].to_vec()));
    server.stop();
}

/// Two block devices of unequal size: all of both is used, and a pool is not laid over either
/// again.
#[test]
fn a_pool_on_several_devices_uses_all_of_them() {
    let scratch = Scratch::new();
    let Some(small) = LoopDevice::new(&scratch, "small.img", 16) else { return };
    let Some(large) = LoopDevice::new(&scratch, "large.img", 32) else { return };
    settings(&scratch, "pool", &format!("[pool]\ndata = [{:?}, {:?}]\n", small.0, large.0));
    let server = Server::start(&scratch);
    server.make_lun("64MiB");
    let mut client = crate::raw_client::Client::connect(&server.socket(), LUN);
    // Behind the labels 15 and 31 whole segments of 1 MiB.
    let mut written = 0;
    let full = loop {
        match client.written(written << 20, &[written as u8 | 1; 1 << 20], false) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((written, full), (46, 28), "then there is no space left");
    for at in 0..written {
        assert!(client.read(at << 20, 1 << 20) == vec![at as u8 | 1; 1 << 20], "{at}");
    }
    // What is trimmed is there for others, and the devices are told.
    assert!(client.trim(1, 0, 40 << 20) && !client.answer().unwrap().failed);
    assert_eq!(client.flushed(), Ok(()));
    assert_eq!(client.written(50 << 20, &[9; 1 << 20], true), Ok(()));
    server.stop();
    let checked = run(seawall(scratch.path()).args(["check", "pool"]));
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    settings(&scratch, "second", &format!("[pool]\ndata = [{:?}, {:?}]\n", scratch.join("new"), large.0));
    let refused = serve(&scratch, "second");
    assert!(refused.err.contains("carries the data of a pool"), "{refused:?}");
    assert!(!scratch.join("second/catalogue.db").exists());
}
