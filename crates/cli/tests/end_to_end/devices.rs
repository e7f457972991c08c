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

/// Data and log in files outside the folder. They carry the pool's label, so that another pool does not take them, and
/// the pool does not take another's; a file with something in it is left alone.
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
        ("layout = \"files\"\n[pool]\ndata = \"/dev/null\"\n", "need layout = \"maps\""),
        ("[pool]\ndata = \"/dev/null\"\n", "neither a file nor a block device"),
        ("[pool]\ndata = \"/tmp/x\"\nlog = \"/tmp/x\"\n", "must not be the same"),
        ("[pool]\ndisk = \"/dev/sdb\"\n", "disk"),
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

/// Data on one block device and log on another, past the page cache, as it is meant. A device with a file system on it is
/// left alone.
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
