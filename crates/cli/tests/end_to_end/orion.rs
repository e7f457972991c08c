//! `seawall orion`: its files, its safety, its bad input, and the same in virtual time.

use crate::relay::Relay;
use crate::running::{Ended, RESULTS, Running, run, seawall, succeed};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};

fn orion(scratch: &Scratch, line: &str) -> Ended {
    run(seawall(scratch.path()).arg("orion").args(line.split_whitespace()))
}

/// Two volumes of 16 and 8 MiB, listed in x.lun.
fn volumes(scratch: &Scratch) {
    for (name, mib) in [("v1", 16), ("v2", 8)] {
        std::fs::write(scratch.join(name), vec![7; mib << 20]).unwrap();
    }
    std::fs::write(scratch.join("x.lun"), "v1\nv2\n").unwrap();
}

/// The test's file of a kind.
fn file(scratch: &Scratch, kind: &str) -> String {
    let ending = format!("_{kind}");
    let name = scratch.listing().into_iter().find(|name| name.starts_with("x_20") && name.ends_with(&ending));
    std::fs::read_to_string(scratch.join(&name.expect(kind))).unwrap()
}

/// A simple run on two files: all files have the name of the test, the matrices have the published
/// shape, the proofs are there, and the run is kept. Whether this machine's device is shared or
/// known, and how fast it is, is not checked.
#[test]
fn a_simple_run_leaves_its_files_and_is_kept() {
    let scratch = Scratch::new();
    volumes(&scratch);
    let mut command = seawall(scratch.path());
    command.env(RESULTS, scratch.join("r.sqlite")).args(["orion", "-run", "simple", "-testname", "x", "-verbose"]);
    let ended = run(command.args(["-num_disks", "1", "-duration", "1", "--page", "x.html"]));
    assert!(ended.has_verdict(), "{ended:?}");
    assert!(ended.out.starts_with("ORION: ORacle IO Numbers -- Version "), "{}", ended.out);
    for part in ["7/7 Small=0 Large=2 large: ", "Maximum Large MBPS=", "Maximum Small IOPS=", "Minimum Small Latency="]
    {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    assert_eq!(["iops.csv", "lat.csv", "mbps.csv"].map(|kind| file(&scratch, kind).len()), [128, 128, 100]);
    let summary = file(&scratch, "summary.txt");
    assert!(summary.contains("\nName: v1  Size: 16777216\nName: v2  Size: 8388608\n2 FILEs found.\n"), "{summary}");
    assert!(summary.contains(": the load was outstanding all the time"), "{summary}");
    assert_eq!(file(&scratch, "percentiles.csv").lines().count(), 8);
    assert!(file(&scratch, "hist.txt").contains("Small Read / Write Latency Histogram @ Small=5 and Large=0\n"));
    assert!(file(&scratch, "trace.txt").contains("\nPoint 7: Small=0 and Large=2\n"));
    let page = std::fs::read_to_string(scratch.join("x.html")).unwrap();
    assert!(page.contains("Small response times") && page.contains("Throughput against response time"));
    let query = "SELECT 'tool=' || tool || ' points=' || points || ' actors=' || actors FROM runs";
    let mut asks = seawall(scratch.path());
    let kept = run(asks.env(RESULTS, scratch.join("r.sqlite")).args(["results", "sql", query]));
    assert!(kept.out.contains("tool=orion points=7 actors=2"), "{kept:?}");
}

/// With the page cache, which holds two small files completely, the run says that it measured a
/// cache, whatever other programs do on the device; if the kernel counts nothing for the files, it
/// says that it cannot say.
#[test]
fn a_cache_that_was_measured_is_told() {
    let scratch = Scratch::new();
    volumes(&scratch);
    let line = "-run advanced -matrix point -num_small 4 -num_large 0 -testname x -duration 1 --page-cache";
    let ended = orion(&scratch, line);
    assert!(file(&scratch, "summary.txt").contains("\nThrough the host's page cache: "), "{ended:?}");
    match ended.code {
        Some(1) => assert!(ended.out.contains(": this measured a cache: "), "{ended:?}"),
        _ => assert!(ended.code == Some(2) && ended.err.contains("the kernel counts nothing for"), "{ended:?}"),
    }
}

/// Data that seawall did not write is not overwritten unless its name is given; then the share of
/// writes is proved.
#[test]
fn volumes_are_written_with_consent_alone() {
    let scratch = Scratch::new();
    volumes(&scratch);
    let line = "-run advanced -matrix point -num_small 2 -num_large 1 -testname x -duration 1 -write 50";
    let refused = orion(&scratch, line);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("v1") && refused.err.contains("--destroy-data=v1"), "{}", refused.err);
    assert!(scratch.listing().iter().all(|name| !name.starts_with("x_")), "no file was begun");
    assert!(std::fs::read(scratch.join("v1")).unwrap().iter().all(|byte| *byte == 7));
    let done = orion(&scratch, &format!("{line} --destroy-data=v1 --destroy-data=v2"));
    assert!(done.has_verdict(), "{done:?}");
    assert!(done.out.contains("\npass: as many requests or streams wrote as asked: 2 of 2"), "{}", done.out);
    assert!(std::fs::read(scratch.join("v2")).unwrap().iter().any(|byte| *byte != 7));
    assert!(file(&scratch, "summary.txt").contains("\nSmall Write Latency: avg="));
}

#[test]
fn what_cannot_be_loaded_is_said_in_one_line() {
    let scratch = Scratch::new();
    volumes(&scratch);
    std::fs::create_dir(scratch.join("folder")).unwrap();
    for (name, text) in [("empty", "\n"), ("dir", "folder\n"), ("gone", "v1\nnowhere\n"), ("twice", "v1\nv1\n")] {
        std::fs::write(scratch.join(&format!("{name}.lun")), text).unwrap();
    }
    for (line, part) in [
        ("-run simple -testname none", "none.lun: is not there; it lists the volumes, a path on each line"),
        ("-run simple -testname x.lun", "x.lun.lun: is not there; .lun is added to -testname, so say -testname x"),
        ("-run simple -testname empty", "empty.lun: is empty; it lists the volumes"),
        ("-run simple -testname dir", "folder: is a folder; a volume is a device or a file"),
        ("-run simple -testname gone", "nowhere"),
        ("-run simple -testname twice", "twice.lun line 2: v1 is volume 1 already"),
        ("-run simple -testname x --small-levels 1,2-", "--small-levels: must be numbers from 0 to 4096 and ranges"),
        ("-run normal -testname x -num_disks 100", "-num_disks: a run has at most 10000 points, and this one 100700"),
        ("-run simple -testname x -size_large 20480", "v1: has 16 MiB, and a request needs 20 MiB"),
        ("-run simple -testname x -size 3", "-size: there is no such option"),
        ("-testname x", "-run: is missing"),
    ] {
        let ended = orion(&scratch, line);
        assert_eq!(ended.code, Some(2), "{line}: {ended:?}");
        assert!(ended.err.contains(part) && ended.err.lines().count() == 1, "{line}: {}", ended.err);
    }
    assert!(scratch.listing().iter().all(|name| !name.contains("_20")), "{:?}", scratch.listing());
}

/// The exit code of a run without failed proofs: on a busy machine it may be unknown whether the
/// load was constant.
fn code_of(out: &str) -> i32 {
    if out.contains("\ncannot say: the load was outstanding") { 2 } else { 0 }
}

/// An export without data may be written from the first point to the last, without consent.
#[test]
fn an_export_is_calibrated() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    std::fs::write(scratch.join("x.lun"), server.uri(LUN)).unwrap();
    let line = "-run simple -testname x -duration 1 -write 100 --small-levels 4 --large-levels 2";
    let random = orion(&scratch, line);
    assert_eq!(random.code, Some(code_of(&random.out)), "{random:?}");
    assert!(random.out.contains("\npass: as many requests or streams wrote as asked: 2 of 2"), "{}", random.out);
    assert!(!random.out.contains("the devices moved"), "{}", random.out);
    let line = "-run advanced -matrix point -num_small 1 -num_large 2 -testname x -duration 1 -type seq -cache_size 4";
    let streams = orion(&scratch, line);
    assert_eq!(streams.code, Some(code_of(&streams.out)), "{streams:?}");
    assert!(streams.out.contains("Cache warming moved 4 MiB"), "{}", streams.out);
}

/// Files that cannot be written are reported before the first point, and the files of an earlier
/// test of the same minute stay.
#[test]
fn files_are_begun_before_the_first_point_and_never_lost() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("x.lun"), "null:1GiB\n").unwrap();
    let line = "-run advanced -matrix point -num_small 1 -num_large 0 -testname x -duration 1 --settle 0";
    let refused = orion(&scratch, &format!("{line} --page no/p.html"));
    assert!(refused.code == Some(2) && refused.err.contains("--page"), "{refused:?}");
    assert!(!refused.out.contains("Maximum"), "{}", refused.out);
    let files = |scratch: &Scratch| scratch.listing().iter().filter(|name| name.ends_with("_summary.txt")).count();
    let before = files(&scratch);
    assert_eq!((orion(&scratch, line).code, orion(&scratch, line).code), (Some(0), Some(0)));
    assert_eq!(files(&scratch), before + 2);
}

/// A run stopped after its first points: the files have these, and say that they are incomplete.
#[test]
fn a_stopped_run_leaves_what_it_measured() {
    let scratch = Scratch::new();
    volumes(&scratch);
    let mut command = seawall(scratch.path());
    command.args(["orion", "-run", "oltp", "-testname", "x", "-duration", "1", "-verbose"]);
    let mut running = Running::start(command);
    running.wait_for("1/20 Small=2 Large=0 small: ");
    running.signal("INT");
    let (status, lines) = running.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("the files have the ")), "{lines:?}");
    let rows = file(&scratch, "percentiles.csv");
    // The point that was cut has a row, too.
    let measured = rows.lines().skip(1).filter(|row| !row.ends_with(",yes")).count();
    assert!((1..20).contains(&measured) && rows.contains("\n2,0,small,all,"), "{rows}");
    assert!(file(&scratch, "summary.txt").contains(&format!("{measured} of 20 points were measured")));
}

/// A run killed in the middle: the results until a second before are in the files and in the
/// database.
#[test]
fn a_killed_run_leaves_what_it_measured() {
    let scratch = Scratch::new();
    volumes(&scratch);
    let mut command = seawall(scratch.path());
    command.env(RESULTS, scratch.join("r.sqlite"));
    command.args(["orion", "-run", "oltp", "-testname", "x", "-duration", "1", "-verbose"]);
    let mut running = Running::start(command);
    running.wait_for("2/20 Small=4 Large=0 small: ");
    running.signal("KILL");
    running.end();
    assert!(file(&scratch, "percentiles.csv").contains("\n2,0,small,all,"));
    let query = "SELECT 'tool=' || tool || ' state=' || state FROM runs WHERE points > 0";
    let mut asks = seawall(scratch.path());
    let kept = run(asks.env(RESULTS, scratch.join("r.sqlite")).args(["results", "sql", query]));
    assert!(kept.out.contains("tool=orion state=running"), "{kept:?}");
}

/// A run killed within its first point, which lasts a minute: the partial point is in the database.
#[test]
fn a_point_is_kept_while_it_goes_on() {
    let scratch = Scratch::new();
    volumes(&scratch);
    let mut command = seawall(scratch.path());
    command.env(RESULTS, scratch.join("r.sqlite"));
    command.args(["orion", "-run", "oltp", "-testname", "x", "-duration", "60"]);
    let mut running = Running::start(command);
    let query = "SELECT 'points=' || points || ' state=' || state FROM runs WHERE ops > 0";
    let kept = || {
        let mut asks = seawall(scratch.path());
        run(asks.env(RESULTS, scratch.join("r.sqlite")).args(["results", "sql", query])).out
    };
    while !kept().contains("points=1") {
        assert!(running.ended().is_none(), "{:?}", running.seen);
    }
    running.signal("KILL");
    running.end();
    assert!(kept().contains("points=1 state=running"), "{}", kept());
}

/// In virtual time no list is needed and results are repeatable, byte for byte. With 16 servers of
/// 1 ms five requests in flight are 5000 per second, and two large ones 2000 MB.
#[test]
fn the_same_calibration_in_virtual_time() {
    let device = "[device]\nkind = \"parallel-servers\"\nservers = 16\nservice = \"1ms\"\n";
    let played = || {
        let scratch = Scratch::new();
        std::fs::write(scratch.join("device.toml"), device).unwrap();
        let words = "simulate orion --device device.toml -run normal -testname x --page x.html";
        let out = succeed(seawall(scratch.path()).args(words.split_whitespace()));
        let kinds = ["iops.csv", "mbps.csv", "lat.csv", "hist.txt", "percentiles.csv"];
        (out, kinds.map(|kind| file(&scratch, kind)), std::fs::read_to_string(scratch.join("x.html")).unwrap())
    };
    let (out, files, page) = played();
    assert!(out.contains("Maximum Large MBPS=2000.00 @ Small=0 and Large=2\n"), "{out}");
    assert!(out.contains("Maximum Small IOPS=5000 @ Small=5 and Large=0\n"), "{out}");
    assert!(page.contains("no storage was measured"), "the page says that it was virtual");
    assert_eq!(played().1, files);
}

/// A connection to an NFS server is cut in the middle of a point: the point ends with its verdict,
/// and the loss is reported with the kind of load.
#[test]
fn a_lost_connection_of_nfs_is_told() {
    let scratch = Scratch::new();
    let server = Server::start_with(&scratch, &["--nfs", "127.0.0.1:0"]);
    server.make_lun("16MiB");
    let relay = Relay::start(&server.nfs(), 1 << 20);
    std::fs::write(scratch.join("x.lun"), format!("nfs://{}/vol1/lun1?reconnect=600\n", relay.address)).unwrap();
    let line = "-run advanced -matrix point -num_small 4 -num_large 0 -testname x -duration 1 --settle 0";
    let ended = orion(&scratch, line);
    assert!(ended.has_verdict(), "{ended:?}");
    let told = |line: &&str| line.contains("small: connections lost: 1, made again: 1, away for ");
    assert_eq!(ended.err.lines().filter(told).count(), 1, "{ended:?}");
    assert!(ended.err.contains("small: sent again: "), "{ended:?}");
}
