//! `seawall check` as a person runs it.

use crate::running::{run, seawall};
use crate::scratch::Scratch;
use crate::server::Server;
use std::path::Path;

/// Exit code 0 and one line for a pool that is whole, 2 while it is served and where there is none,
/// 1 and a line for each thing that is wrong; a repair wants a copy and leaves a pool that is
/// whole.
#[test]
fn a_pool_is_checked_and_mended() {
    let scratch = Scratch::new();
    let check = |arguments: &[&str]| run(seawall(scratch.path()).arg("check").args(arguments));
    let none = check(&["pool"]);
    assert_eq!((none.code, none.out.as_str()), (Some(2), ""));
    assert!(none.err.starts_with("seawall: pool: no pool there"), "{}", none.err);
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(scratch.join("pool/seawall.toml"), "cache = \"page\"\n").unwrap();
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
    let right = Aside::of(&scratch.join("pool/maps"));
    // The maps of another pool, in which there is nothing.
    std::fs::create_dir(scratch.join("other")).unwrap();
    std::fs::copy(scratch.join("pool/seawall.toml"), scratch.join("other/seawall.toml")).unwrap();
    Server::start_on(&scratch, "other").stop();
    Aside::of(&scratch.join("other/maps")).put_to(&scratch.join("pool/maps"));
    let damaged = check(&["pool"]);
    assert_eq!(damaged.code, Some(1));
    assert!(damaged.out.starts_with("catalogue: is of pool "), "{}", damaged.out);
    assert!(damaged.out.ends_with("; 1 thing is wrong\n"), "{}", damaged.out);
    let refused = serve(&scratch);
    assert!(refused.starts_with("seawall: pool: catalogue: is of pool ") && refused.ends_with(TELLS_ALL), "{refused}");
    assert_eq!(check(&["pool", "--repair"]).code, Some(2), "without a copy");
    let beyond = check(&["pool", "--repair", "--copy", "before"]);
    assert_eq!(beyond.code, Some(2));
    assert_eq!(
        beyond.err,
        "seawall: pool: the catalogue is another pool's, and only its own one helps; nothing was changed\n"
    );
    right.put_to(&scratch.join("pool/maps"));
    assert_eq!(check(&["pool"]).out, clean.out);
    // What says which catalogue belongs to the maps is gone: a repair keeps a copy and says what it
    // made anew.
    std::fs::remove_file(scratch.join("pool/maps/end")).unwrap();
    let repaired = check(&["pool", "--repair", "--copy", "before"]);
    assert_eq!(repaired.code, Some(0), "{}{}", repaired.out, repaired.err);
    assert!(repaired.out.contains("repair: the metadata as it was is in before\n"), "{}", repaired.out);
    assert!(repaired.out.ends_with("snapshots: 1, data: 0 B; nothing is wrong\n"), "{}", repaired.out);
    assert!(scratch.join("before/catalogue.db").exists() && scratch.join("before/maps/log").exists());
    Server::start(&scratch).stop();
}

const TELLS_ALL: &str = "; nothing was changed, and `seawall check` tells all\n";

/// The one line of a server that does not start.
fn serve(scratch: &Scratch) -> String {
    let refused =
        run(seawall(scratch.path()).args(["serve", "--pool", "pool", "--create", "--listen", "unix:refused"]));
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{}", refused.err);
    assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
    refused.err
}

/// The files of a folder.
struct Aside(Vec<(std::ffi::OsString, Vec<u8>)>);

impl Aside {
    fn of(folder: &Path) -> Aside {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        Aside(entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect())
    }

    fn put_to(&self, folder: &Path) {
        self.0.iter().for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes).unwrap());
    }
}

/// The server is killed, and something is lost or older: nothing is served and nothing written,
/// whatever is asked, and with it put back the LUN is there.
#[test]
fn a_pool_that_lost_something_is_refused_until_it_is_put_back() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(scratch.join("pool/seawall.toml"), "cache = \"page\"\n").unwrap();
    let server = Server::start(&scratch);
    let (pool, empty) = (scratch.join("pool"), std::fs::read(scratch.join("pool/catalogue.db")).unwrap());
    server.make_lun("8MiB");
    server.kill();
    let files = ["catalogue.db", "maps/table.1", "maps/end", "maps/log"];
    let right = files.map(|name| std::fs::read(pool.join(name)).unwrap());
    let refused = |why: &str| {
        let line = serve(&scratch);
        assert!(line.contains(why), "{why}: {line}");
        let checked = run(seawall(scratch.path()).args(["check", "pool"]));
        assert!(matches!(checked.code, Some(1 | 2)), "{}{}", checked.out, checked.err);
        for (name, right) in files.iter().zip(&right) {
            std::fs::write(pool.join(name), right).unwrap();
        }
        assert_eq!(run(seawall(scratch.path()).args(["check", "pool"])).code, Some(0));
    };
    std::fs::remove_file(pool.join("catalogue.db")).unwrap();
    refused("catalogue.db: the pool's catalogue is not there; put the right one back");
    std::fs::write(pool.join("catalogue.db"), "").unwrap();
    refused("catalogue.db: the pool's catalogue is empty; put the right one back");
    std::fs::write(pool.join("catalogue.db"), empty).unwrap();
    refused("catalogue: is edition 0, and the data belongs to edition ");
    std::fs::remove_file(pool.join("maps/table.1")).unwrap();
    refused("maps/table.1: ");
    std::fs::remove_file(pool.join("maps/end")).unwrap();
    refused("maps/end: ");
    std::fs::rename(pool.join("maps"), scratch.join("maps")).unwrap();
    let line = serve(&scratch);
    assert!(line.contains("pool/maps: is not there, and the catalogue says that the pool's data is in it"), "{line}");
    assert!(!pool.join("data").exists());
    let repair = run(seawall(scratch.path()).args(["check", "pool", "--repair", "--copy", "copy"]));
    assert_eq!(repair.code, Some(2), "{}{}", repair.out, repair.err);
    std::fs::rename(scratch.join("maps"), pool.join("maps")).unwrap();
    let server = Server::start(&scratch);
    assert!(server.tell(&["lun show"]).contains("/vol/vol1/lun1"));
    server.stop();
}

/// What a server would not start with is no pool in order: each rule of its settings is the
/// check's, too, and both say the same.
#[test]
fn settings_that_are_refused_are_refused_by_the_check() {
    let scratch = Scratch::new();
    let settings = scratch.join("pool/seawall.toml");
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(&settings, "cache = \"page\"\n").unwrap();
    Server::start(&scratch).stop();
    for wrong in
        ["[qos]\nunits = \"x\"", "[qos]\ngroups_max = -1", "[qos]\ncapacity_iops = 0", "[pool]\nmaps_memory = \"abc\""]
    {
        std::fs::write(&settings, format!("cache = \"page\"\n{wrong}\n")).unwrap();
        let checked = run(seawall(scratch.path()).args(["check", "pool"]));
        assert_eq!((checked.code, checked.out.as_str()), (Some(2), ""), "{wrong}: {}", checked.err);
        assert!(
            serve(&scratch).contains(checked.err.trim().trim_start_matches("seawall: ")),
            "{wrong}: {}",
            checked.err
        );
    }
}

/// One of the two tables of the maps that is damaged is named, although the pool is served without
/// it: a checkpoint that was cut off leaves one so, and the next one writes it anew. One that is
/// gone has to be made by a repair.
#[test]
fn a_table_that_the_other_stands_in_for_is_missed() {
    let scratch = Scratch::new();
    let check = |arguments: &[&str]| run(seawall(scratch.path()).arg("check").args(arguments));
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(scratch.join("pool/seawall.toml"), "cache = \"page\"\n").unwrap();
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
        let told = format!("{}; it goes when the pool is served again\n", line(turn));
        assert!(found.out.starts_with(&told) && found.out.ends_with(&format!("{counts}; nothing is wrong\n")));
        Server::start(&scratch).stop();
        is_clean();
    }
    std::fs::remove_file(table(1)).unwrap();
    let found = check(&["pool"]);
    assert_eq!(found.code, Some(1));
    assert!(found.out.starts_with(&format!("{}\n", line(1))), "{}", found.out);
    assert!(found.out.ends_with(&format!("{counts}; 1 thing is wrong\n")), "{}", found.out);
    let repaired = check(&["pool", "--repair", "--copy", "before"]);
    assert_eq!(repaired.code, Some(0), "{}{}", repaired.out, repaired.err);
    assert!(repaired.out.contains("repair: maps: both tables are written anew\n"), "{}", repaired.out);
    Server::start(&scratch).stop();
    is_clean();
}

/// A flush that failed when the pool was served last is told by the check until the next start has
/// told it, or a repair.
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

/// A plan is no pool: the commands that check one are named.
#[test]
fn who_wants_a_plan_checked_is_told_how() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("plan.toml"), "title = \"t\"\n").expect("a file can be written");
    let ended = run(seawall(scratch.path()).args(["check", "plan.toml"]));
    assert!(ended.code == Some(2) && ended.err.contains("seawall simulate"), "{ended:?}");
}

#[test]
fn help_is_a_word_too() {
    let scratch = Scratch::new();
    for (words, option) in [(&["help", "run"][..], &["run", "--help"][..]), (&["help"], &["--help"])] {
        let [said, wanted] = [words, option].map(|words| run(seawall(scratch.path()).args(words)));
        assert_eq!((said.code, &said.out), (Some(0), &wanted.out));
    }
}
