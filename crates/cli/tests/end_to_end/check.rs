//! `seawall check` as a person runs it.

use crate::running::{run, seawall};
use crate::scratch::Scratch;
use crate::server::Server;

/// Exit code 0 and one line for a pool that is whole, 2 while it is served and where there is none, 1 and a line for each
/// thing that is wrong; a repair wants a copy and leaves a pool that is whole.
#[test]
fn a_pool_is_checked_and_mended() {
    let scratch = Scratch::new();
    let check = |arguments: &[&str]| run(seawall(scratch.path()).arg("check").args(arguments));
    let none = check(&["pool"]);
    assert_eq!((none.code, none.out.as_str()), (Some(2), ""));
    assert!(none.err.starts_with("seawall: pool: no pool there"), "{}", none.err);
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(scratch.join("pool/seawall.toml"), "cache = \"page\"\nlayout = \"maps\"\n").unwrap();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    server.tell(&["volume snapshot create vol1 -snapshot nightly"]);
    let busy = check(&["pool"]);
    assert_eq!(busy.err, "seawall: pool: the pool is in use by another server (its file `lock` is held)\n");
    assert_eq!(busy.code, Some(2));
    server.stop();
    let clean = check(&["pool"]);
    assert_eq!((clean.code, clean.err.as_str()), (Some(0), ""));
    assert_eq!(clean.out, "pool: LUNs and files: 1, snapshots: 1, data: 0 B; nothing is wrong\n");
    // The maps of another pool, in which there is nothing.
    std::fs::create_dir(scratch.join("other")).unwrap();
    std::fs::copy(scratch.join("pool/seawall.toml"), scratch.join("other/seawall.toml")).unwrap();
    Server::start_on(&scratch, "other").stop();
    for name in ["blocks", "log", "nodes", "table.0", "table.1"] {
        std::fs::copy(scratch.join("other/maps").join(name), scratch.join("pool/maps").join(name)).unwrap();
    }
    let damaged = check(&["pool"]);
    assert_eq!(damaged.code, Some(1));
    assert!(
        damaged.out.starts_with("LUN svm01:/vol/vol1/lun1 (number 3): the maps have nothing of it\n"),
        "{}",
        damaged.out
    );
    assert!(damaged.out.ends_with("; 2 things are wrong\n"), "{}", damaged.out);
    assert_eq!(check(&["pool", "--repair"]).code, Some(2), "without a copy");
    let repaired = check(&["pool", "--repair", "--copy", "before"]);
    assert_eq!(repaired.code, Some(0), "{}{}", repaired.out, repaired.err);
    assert!(repaired.out.contains("repair: the metadata as it was is in before\n"), "{}", repaired.out);
    assert!(repaired.out.ends_with("snapshots: 0, data: 0 B; nothing is wrong\n"), "{}", repaired.out);
    assert!(scratch.join("before/catalogue.db").exists() && scratch.join("before/maps/log").exists());
    Server::start(&scratch).stop();
}

/// One of the two tables of the maps that is damaged is named, although the pool is served without it: a checkpoint that was
/// cut off leaves one so, and the next one writes it anew. One that is gone has to be made by a repair.
#[test]
fn a_table_that_the_other_stands_in_for_is_missed() {
    let scratch = Scratch::new();
    let check = |arguments: &[&str]| run(seawall(scratch.path()).arg("check").args(arguments));
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(scratch.join("pool/seawall.toml"), "cache = \"page\"\nlayout = \"maps\"\n").unwrap();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    server.stop();
    let is_clean = || assert!(check(&["pool"]).out.starts_with("pool: "), "nothing is named");
    let table = |turn: u8| scratch.join("pool/maps").join(format!("table.{turn}"));
    let line = |turn: u8| {
        let other = 1 - turn;
        format!("maps: table.{turn} or one of its nodes is damaged; table.{other} and the log still suffice")
    };
    let counts = "pool: LUNs and files: 1, snapshots: 0, data: 0 B";
    is_clean();
    for turn in [1, 0] {
        std::fs::write(table(turn), [0x5a; 4096]).unwrap();
        let found = check(&["pool"]);
        assert_eq!((found.code, found.err.as_str()), (Some(0), ""));
        let told = format!("{}; it goes when the pool is served again\n{counts}; nothing is wrong\n", line(turn));
        assert_eq!(found.out, told);
        Server::start(&scratch).stop();
        is_clean();
    }
    std::fs::remove_file(table(1)).unwrap();
    let found = check(&["pool"]);
    assert_eq!((found.code, found.out), (Some(1), format!("{}\n{counts}; 1 thing is wrong\n", line(1))));
    let repaired = check(&["pool", "--repair", "--copy", "before"]);
    assert_eq!(repaired.code, Some(0), "{}{}", repaired.out, repaired.err);
    assert!(repaired.out.contains("repair: maps: both tables are written anew\n"), "{}", repaired.out);
    Server::start(&scratch).stop();
    is_clean();
}

/// A flush that failed when the pool was served last is told by the check until the next start has told it, or a repair.
#[test]
fn a_failed_flush_is_told() {
    let scratch = Scratch::new();
    let check = |arguments: &[&str]| run(seawall(scratch.path()).arg("check").args(arguments));
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(scratch.join("pool/seawall.toml"), "cache = \"page\"\n").unwrap();
    Server::start(&scratch).stop();
    let fail = || std::fs::write(scratch.join("pool/flush-failed"), "").unwrap();
    fail();
    let told = check(&["pool"]);
    assert_eq!((told.code, told.err.as_str()), (Some(1), ""));
    assert!(
        told.out.starts_with("a flush failed: writes since the last one that did not may be lost\n"),
        "{}",
        told.out
    );
    let repaired = check(&["pool", "--repair", "--copy", "before"]);
    assert_eq!(repaired.code, Some(0), "{}{}", repaired.out, repaired.err);
    fail();
    Server::start(&scratch).stop();
    assert_eq!(check(&["pool"]).code, Some(0));
}
