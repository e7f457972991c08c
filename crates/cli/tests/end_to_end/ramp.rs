//! `seawall ramp`: its outputs, and what it refuses.

use crate::loop_device::LoopDevice;
use crate::loop_mount::LoopMount;
use crate::running::{Ended, Running, run, seawall, succeed, until};
use crate::scratch::Scratch;
use crate::server::Server;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

fn ramp(folder: &Path, words: &str) -> Ended {
    run(seawall(folder).arg("ramp").args(words.split_whitespace()))
}

/// A mount with data, of which a quarter is left free.
fn filled() -> Option<LoopMount> {
    let mount = LoopMount::new(300)?;
    let ended =
        run(seawall(mount.point()).args(["dgen", "--quiet", "--directory", ".", "--jobs", "2", "--pctfull", "70"]));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    Some(mount)
}

/// Sectors that the mount's block device has read and written.
fn sectors(mount: &Path) -> (u64, u64) {
    let device = std::fs::metadata(mount).unwrap().dev();
    // Small numbers: the major one is in the second byte, the minor one in the first.
    let stat = format!("/sys/dev/block/{}:{}/stat", device >> 8 & 0xfff, device & 0xff);
    let words: Vec<u64> =
        std::fs::read_to_string(stat).unwrap().split_whitespace().map(|word| word.parse().unwrap()).collect();
    (words[2], words[6])
}

fn column(summary: &str, name: &str) -> Vec<String> {
    let mut lines = summary.lines();
    let place = lines.next().unwrap().split(',').position(|column| column == name).unwrap();
    lines.map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
}

/// A short ramp writes its rows and cycles, the next one continues their numbers, and its reads
/// agree with the block layer's counters within 0.5 %. Afterwards every block is still valid.
#[test]
fn a_short_ramp_leaves_what_the_block_layer_counted() {
    let Some(mount) = filled() else { return };
    let line = "-miniops 400 --maxiops 800 --numruns 2 --runtime 4s --cycle 1s --disable-warmup --wijfile GENIO.WIJ \
                --system me --output ../out --results ../results.db --comment a short one";
    let first = ramp(mount.point(), line);
    assert!(first.has_verdict(), "{}", first.err);
    assert!(first.out.lines().filter(|line| line.ends_with("not comparable")).count() == 2, "{}", first.out);
    assert!(first.out.lines().all(|line| line.chars().count() <= 80 || line.contains(": ")), "{}", first.out);
    assert!(first.err.contains("not comparable with published figures"), "{}", first.err);
    assert!(first.err.contains("2 runs of 4 s, 8 s in all; a number without a unit at --runtime is minutes"));

    let before = sectors(mount.point());
    ramp(mount.point(), line);
    let after = sectors(mount.point());
    let summary = std::fs::read_to_string(mount.beside().join("out/summary.csv")).unwrap();
    assert_eq!(column(&summary, "Run"), ["0", "1", "2", "3"]);
    assert_eq!(column(&summary, "Target IOPS"), ["600", "800", "600", "800"]);
    assert_eq!(column(&summary, "Comment"), ["a short one"; 4]);
    let reads: u64 = column(&summary, "Reads")[2..].iter().map(|reads| reads.parse::<u64>().unwrap()).sum();
    let counted = (after.0 - before.0) as f64 / 16.0;
    assert!((counted / reads as f64 - 1.0).abs() < 0.005, "{counted} counted, {reads} said");

    let cycles = std::fs::read_to_string(mount.beside().join("out/cycles.csv")).unwrap();
    let blocks: u64 = column(&cycles, "Blocks").iter().map(|blocks| blocks.parse::<u64>().unwrap()).sum();
    assert!(
        blocks > 0 && column(&cycles, "Blocks").iter().all(|blocks| blocks == "150" || blocks == "200"),
        "{cycles}"
    );
    assert!((after.1 - before.1) > 0, "cycles write");
    let verified = run(seawall(mount.point()).args(["dgen", "--directory", ".", "--verify"]));
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
    assert!(mount.beside().join("results.db").is_file());
    let page = std::fs::read_to_string(mount.beside().join("out/page.html")).unwrap();
    assert!(page.contains("Every write cycle") && page.contains("Not comparable"), "{page}");
}

fn dgen(folder: &Path, words: &str) {
    succeed(seawall(folder).args(["dgen", "--quiet"]).args(words.split_whitespace()));
}

fn sum(table: &str, name: &str) -> u64 {
    column(table, name).iter().map(|field| field.parse::<u64>().unwrap()).sum()
}

/// On a raw device, without a file system, the reads and writes that a ramp reports agree with the
/// block layer's counters within 0.5 %: reads of 8 KiB; a cycle of n blocks writes them twice, and
/// the journal's header at its start and end.
#[test]
fn a_ramp_on_a_device_did_what_the_block_layer_counted() {
    let Some(disk) = LoopDevice::new(128) else { return };
    let (folder, name) = (disk.beside().path(), disk.name());
    dgen(folder, &format!("--device {name} --pctfull 80"));
    let line = format!(
        "--miniops 8000 --maxiops 8000 --numruns 2 --runtime 4s --cycle 1s --disable-warmup --device {name} --wijfile {name}"
    );
    // The first run prepares the journal's place.
    ramp(folder, &format!("{line} --output first"));
    let before = disk.sectors();
    let ended = ramp(folder, &format!("{line} --output out"));
    let after = disk.sectors();
    assert!(ended.has_verdict(), "{}", ended.err);
    let [summary, cycles] =
        ["out/summary.csv", "out/cycles.csv"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    let reads = sum(&summary, "Reads");
    // 75 % of 8000 for 4 s, twice, or as much of it as was possible.
    assert!(reads + sum(&summary, "Reads Missed") == 48_000, "{summary}");
    let blocks = column(&cycles, "Blocks");
    assert!(blocks.len() >= 4 && blocks.iter().all(|blocks| blocks == "2000"), "{cycles}");
    let writes = 2 * sum(&cycles, "Blocks") + 2 * blocks.len() as u64;
    for (counted, said) in [((after.0 - before.0) as f64 / 16.0, reads), ((after.1 - before.1) as f64 / 16.0, writes)] {
        assert!((counted / said as f64 - 1.0).abs() < 0.005, "{counted} counted, {said} said");
    }
    let verified = run(seawall(folder).args(["dgen", "--device", &name, "--verify"]));
    assert!(verified.code == Some(0) && verified.out.contains(" 0 wrong"), "{}", verified.out);
}

/// Two exports at once, with the journal after the data of one, and a transaction journal after
/// that: blocks are read and written on both, and are valid afterwards.
#[test]
fn several_exports_are_ramped_at_once() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.tell(&[
        "vserver create -vserver svm01",
        "volume create -vserver svm01 -volume vol1 -size 1GiB",
        "lun create -vserver svm01 -path /vol/vol1/lun1 -size 64MiB",
        "lun create -vserver svm01 -path /vol/vol1/lun2 -size 384MiB",
    ]);
    let (one, two) = (server.uri("svm01:/vol/vol1/lun1"), server.tcp_uri("svm01:/vol/vol1/lun2"));
    dgen(scratch.path(), &format!("--device {one} --device {two} --pctfull 20"));
    let ended = ramp(
        scratch.path(),
        &format!(
            "--miniops 400 --maxiops 400 --numruns 1 --runtime 4s --cycle 1s --disable-warmup --device {one} --device {two} \
             --wijfile {two} --journal-rate 1MiB --output out"
        ),
    );
    assert!(ended.has_verdict(), "{}", ended.err);
    assert!(ended.out.contains("transaction journal: "), "{}", ended.out);
    let summary = std::fs::read_to_string(scratch.join("out/summary.csv")).unwrap();
    // 1 MiB/s are 1.05 MB/s; a busy machine makes it less, nothing makes it more.
    let rate: f64 = column(&summary, "Journal (MB/s)")[0].parse().unwrap();
    assert!((0.3..1.1).contains(&rate), "{summary}");
    for uri in [&one, &two] {
        let verified = run(seawall(scratch.path()).args(["dgen", "--device", uri, "--verify"]));
        assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
        // 100 blocks a cycle on 1638 and 9829 blocks: about one in seven of them goes to the first.
        let rewritten = verified.out.split(" written by cycles since").next().and_then(|out| out.rsplit(' ').next());
        assert!(rewritten.unwrap().parse::<u64>().unwrap() > 0, "{}", verified.out);
    }
}

/// A server that dies during a ramp ends it with exit code 2 and a message that names it; the rows
/// of earlier runs are kept.
#[test]
fn a_target_that_dies_keeps_the_rows_so_far() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("64MiB");
    let uri = server.uri(crate::server::LUN);
    dgen(scratch.path(), &format!("--device {uri} --pctfull 50"));
    let mut command = seawall(scratch.path());
    let line = format!(
        "ramp --miniops 100 --maxiops 100 --numruns 100 --runtime 2s --cycle 1s --disable-warmup --device {uri} --wijfile \
         {uri} --output out"
    );
    command.args(line.split_whitespace());
    let mut ramp = Running::start(command);
    // Runs 0 to 6 complete, and the server dies in run 7.
    ramp.wait_for("  6    100 ");
    server.kill();
    let (status, lines) = ramp.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("seawall: run ") && last.contains("rows of earlier runs are kept"), "{last}");
    let summary = std::fs::read_to_string(scratch.join("out/summary.csv")).unwrap();
    let rows = column(&summary, "Run").len();
    // On a busy machine the ramp may be a run or two further before the server is gone.
    assert!((7..50).contains(&rows), "{summary}");
    assert_eq!(column(&summary, "Run")[6], "6");
}

/// Unsuitable devices are refused: one that was not filled, a burst larger than its data, a journal
/// without room after the data.
#[test]
fn what_a_device_cannot_carry_is_refused() {
    let scratch = Scratch::new();
    for name in ["empty", "full"] {
        std::fs::File::create(scratch.join(name)).unwrap().set_len(64 << 20).unwrap();
    }
    dgen(scratch.path(), "--device full --destroy-data full --pctfull 100");
    let refused = |words: &str, says: &str| {
        let ended = ramp(scratch.path(), words);
        assert!(ended.code == Some(2) && ended.err.lines().last().unwrap().contains(says), "{words}: {}", ended.err);
    };
    let rate = "--miniops 100 --maxiops 100 --numruns 1";
    refused(&format!("{rate} --device empty --wijfile w"), "--device: empty was not filled by seawall dgen");
    refused(&format!("{rate} --device gone --wijfile w"), "gone: is not there");
    refused(&format!("{rate} --device full --device ./full --wijfile w"), "./full is named twice");
    refused("--miniops 1000 --maxiops 1000 --device full --wijfile w", "fewer than the 20000 of the largest burst");
    // 2000 blocks and a header: 15.6 MiB, and all of it is data.
    refused(&format!("{rate} --device full --wijfile full"), "full has 0 B behind what is on it; fill less of it");
    refused(&format!("{rate} --wijfile nbd://localhost:1/x"), "--device: is needed where the journal is no file");
    refused(&format!("{rate} --device nbd+unix:///x?socket=none --wijfile w"), "unix:none x:");
    std::fs::write(scratch.join("thesis"), vec![7; 64 << 20]).unwrap();
    refused(&format!("{rate} --device full --wijfile thesis"), "seawall did not lay out");
}

/// Without storage: a ramp of the generator alone reaches its rate, and the data remains valid.
#[test]
fn nothing_at_all_can_be_ramped() {
    let scratch = Scratch::new();
    let line = "--miniops 2000 --maxiops 2000 --numruns 1 --runtime 3s --cycle 1s --disable-warmup --device null:1GiB \
                --wijfile null:1GiB --output out";
    let ended = ramp(scratch.path(), line);
    assert!(ended.has_verdict(), "{}", ended.err);
    assert!(ended.err.contains("1 GiB of data are less than this machine's memory"), "{}", ended.err);
    let summary = std::fs::read_to_string(scratch.join("out/summary.csv")).unwrap();
    assert_eq!(sum(&summary, "Reads") + sum(&summary, "Reads Missed"), 4500);
    assert!(scratch.listing().iter().all(|name| name.starts_with("out")), "{:?}", scratch.listing());
}

/// Far more reads than one reader can make, on storage that takes no time: most are never made,
/// because of this host, so there is no verdict, with exit code 2 and the number.
#[test]
fn a_load_that_this_host_did_not_put_on_cannot_say() {
    let scratch = Scratch::new();
    let line = "--miniops 50000000 --maxiops 50000000 --numruns 1 --runtime 2s --cycle 1s --disable-warmup --readers 1 \
                --read-percent 99 --device null:64GiB --wijfile null:64GiB --output out";
    let ended = ramp(scratch.path(), line);
    assert_eq!(ended.code, Some(2), "{}", ended.out);
    assert!(ended.out.contains("were due and never made, more than 1 %: this host did not keep up"), "{}", ended.out);
    assert!(ended.err.contains("cannot say"), "{}", ended.err);
    let summary = std::fs::read_to_string(scratch.join("out/summary.csv")).unwrap();
    assert_eq!(column(&summary, "Verdict"), ["cannot say"]);
    assert!(sum(&summary, "Reads Missed") > sum(&summary, "Reads"), "{summary}");
}

/// Where nothing is read, the latencies of reads are unknown, in the output, on the page and in the
/// kept run.
#[test]
fn no_reads_have_no_latency() {
    let scratch = Scratch::new();
    let line = "--miniops 100 --maxiops 100 --numruns 1 --runtime 3s --cycle 1s --disable-warmup --read-percent 0 \
                --device null:1GiB --wijfile null:1GiB --output out --results r.sqlite";
    let ended = ramp(scratch.path(), line);
    let row: Vec<&str> = ended.out.lines().nth(2).unwrap_or_default().split_whitespace().collect();
    assert!(row.get(2) == Some(&"0") && row.get(7..9) == Some(&["-", "-"]), "{ended:?}");
    let page = std::fs::read_to_string(scratch.join("out/page.html")).unwrap();
    assert_eq!(page.matches(">–</td>").count(), 2, "{page}");
    let sql = "SELECT 'figures ' || COUNT(*) FROM settings WHERE key LIKE 'read_%_ms'";
    let kept = run(seawall(scratch.path()).args(["--results", "r.sqlite", "results", "sql", sql]));
    assert!(kept.out.contains("figures 0"), "{kept:?}");
}

/// Without a cycle in the run there is no verdict, exit code 2, and the row is kept.
#[test]
fn a_run_without_a_cycle_cannot_say() {
    let Some(mount) = filled() else { return };
    let ended = ramp(
        mount.point(),
        "--miniops 100 --maxiops 100 --numruns 1 --runtime 1s --disable-warmup --wijfile W --output ../out",
    );
    assert_eq!(ended.code, Some(2), "{}", ended.out);
    assert!(ended.out.contains("no write cycle was seen") && ended.err.contains("cannot say"), "{}", ended.out);
    let summary = std::fs::read_to_string(mount.beside().join("out/summary.csv")).unwrap();
    assert_eq!(column(&summary, "Verdict"), ["cannot say"]);
}

/// A ramp in the background reports its status, keeps others out of its folder, and stops on
/// request.
#[test]
fn a_ramp_in_the_background_answers_and_stops() {
    /// Far more than needed; each check is a separate process.
    const LOOKS_MAX: usize = 5_000;
    let Some(mount) = filled() else { return };
    let line =
        "--miniops 100 --maxiops 100 --numruns 1 --runtime 1h --cycle 1s --disable-warmup --wijfile W --output ../out";
    let begun = ramp(mount.point(), &format!("{line} --background"));
    assert!(begun.code == Some(0) && begun.out.contains("in the background"), "{}", begun.err);
    let stands = || ramp(mount.point(), "--status --output ../out");
    let running = (0..LOOKS_MAX).map(|_| stands()).find(|ended| ended.out.contains("run 1 of 1, 100 IOPS"));
    assert!(running.is_some(), "{}", std::fs::read_to_string(mount.beside().join("out/ramp.log")).unwrap());
    let second = ramp(mount.point(), line);
    assert!(second.code == Some(2) && second.err.contains("is running in ../out"), "{}", second.err);
    // Nor does one write to its journal from another folder.
    let elsewhere = ramp(mount.point(), &line.replace("../out", "../other"));
    let words = "W: another process has it locked, to write its journal there";
    assert!(elsewhere.code == Some(2) && elsewhere.err.contains(words), "{}", elsewhere.err);
    assert_eq!(ramp(mount.point(), "--stop --output ../out").code, Some(0));
    let gone = (0..LOOKS_MAX).map(|_| stands()).find(|ended| ended.code == Some(2));
    let stopped = "--status: the ramp is over: run 1 of 1: stopped before its end";
    assert!(gone.is_some_and(|ended| ended.err.contains(stopped)));
    // What it has open would keep the file system from being unmounted.
    let process = begun.out.split_whitespace().nth(1).unwrap();
    let has_files = || std::fs::read_dir(format!("/proc/{process}/fd")).is_ok_and(|mut files| files.next().is_some());
    assert!((0..LOOKS_MAX).any(|_| stands().code == Some(2) && !has_files()), "it does not end");
    let log = std::fs::read_to_string(mount.beside().join("out/ramp.log")).unwrap();
    assert!(log.contains("run 1 of 1: stopped before its end"), "{log}");
}

/// The page of a ramp that is stopped in its second run says so.
#[test]
fn the_page_of_a_stopped_ramp_says_how_far_it_came() {
    let scratch = Scratch::new();
    let line = "--miniops 200 --maxiops 400 --numruns 2 --runtime 4s --cycle 1s --disable-warmup --device null:1GiB \
                --wijfile null:1GiB --output out";
    let mut command = seawall(scratch.path());
    command.arg("ramp").args(line.split_whitespace());
    let mut ramp = Running::start(command);
    ramp.wait_for("not comparable");
    until("the first run is over", || scratch.join("out/summary.csv").exists());
    ramp.signal("INT");
    let (status, said) = ramp.end();
    assert_eq!(status.code(), Some(2), "{said:?}");
    let page = std::fs::read_to_string(scratch.join("out/page.html")).unwrap();
    assert!(page.contains("Cut short: stopped in run 2 of 2, figures are up to there"), "{said:?}");
}

/// After the end of a ramp --status prints its verdict, with the exit code: pass, fail and too
/// little to say.
#[test]
fn the_verdict_is_told_after_the_end() {
    let Some(mount) = filled() else { return };
    let line = |output: &str, words: &str| {
        let fixed = "--miniops 100 --maxiops 100 --numruns 1 --cycle 1s --disable-warmup --wijfile W";
        ramp(mount.point(), &format!("{fixed} --output {output} {words}"))
    };
    // No storage is within the first limit, and any is within the second.
    for (name, bound) in [("strict", "0.000001"), ("mild", "1000000")] {
        let text = format!("[[criterion]]\nfigure = \"effective-write-latency\"\nbelow = {bound}\n");
        std::fs::write(mount.beside().join(name), text).unwrap();
    }
    let stands = || ramp(mount.point(), "--status --output ../told");
    for (criteria, runtime, code) in [("../mild", "3s", 0), ("../strict", "3s", 1), ("2021", "1s", 2)] {
        let ended = line("../told", &format!("--runtime {runtime} --criteria {criteria}"));
        assert_eq!(ended.code, Some(code), "{}{}", ended.out, ended.err);
        let told = stands();
        assert_eq!(told.code, Some(code), "{}{}", told.out, told.err);
        match code {
            0 => assert_eq!(told.out, "over, verdict pass, 1 of 1 run passed\n"),
            1 => assert_eq!(told.out, "over, verdict fail, 0 of 1 run passed\n"),
            _ => assert!(told.err.contains("the ramp is over: cannot say: a run saw too little"), "{}", told.err),
        }
    }
}

/// What cannot be run is refused in one line, before anything is written.
#[test]
fn what_cannot_be_run_is_refused() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("a_file"), "x = 1").unwrap();
    let refused = |words: &str, says: &str| {
        let before = scratch.listing();
        let ended = ramp(scratch.path(), words);
        assert!(ended.code == Some(2) && ended.err.contains(says), "{words}: {}", ended.err);
        assert_eq!(scratch.listing(), before, "{words}");
    };
    refused("--miniops 2 --maxiops 1 --wijfile w", "--maxiops: must not be below --miniops (2), got 1");
    refused("--miniops 1 --maxiops 1 --disable -warmup", "--disable-warmup is written without the space");
    refused("--miniops 1 --maxiops 1 --wijfile w --directory .", "--directory: . was not filled by seawall dgen");
    refused("--miniops 1 --maxiops 1 --wijfile w --criteria x", "--criteria: must be 2021, read-percentile or a file");
    refused("--miniops 1 --maxiops 1 --wijfile w --criteria a_file", "a_file: line 1: x: there is no such key");
    refused("--miniops 1 --maxiops 1 --wijfile w --output a_file", "--output: a_file is a file; name a folder");
    refused("--miniops 1 --maxiops 1 --wijfile w --background --output a_file", "--output: a_file is a file");
    refused("--miniops 1 --maxiops 1 --wijfile w --results a_file", "--results a_file: ");
    refused("--miniops 1 --maxiops 1 --wijfile w --results no/db", "--results: no is no folder; make it first");
    refused("--miniops 1 --maxiops 1 --wijfile w --numruns 0", "--numruns: must be between 1 and 1000, got 0");
    refused("--miniops 0 --maxiops 1 --wijfile w", "--miniops: must be a whole number above 0, such as 75000");
    refused("--miniops 1 --maxiops 101M --wijfile w", "--maxiops: must be between 1 and 100000000 IOPS, got 101M");
    refused("--status", "--status: no ramp is running");
    refused("--stop", "--stop: no ramp is running");
    let Some(mount) = filled() else { return };
    let few = ramp(mount.point(), "--miniops 75000 --maxiops 75000 --wijfile w");
    assert!(few.code == Some(2) && few.err.contains("fewer than the 1500000 of the largest burst"), "{}", few.err);
    // A background process has no terminal: errors are printed before the command ends.
    let behind = ramp(mount.point(), "--miniops 75000 --maxiops 75000 --wijfile w --background --output ../behind");
    assert!(behind.code == Some(2) && behind.err.contains("fewer than the 1500000"), "{behind:?}");
    let folder = ramp(mount.point(), "--miniops 1 --maxiops 1 --wijfile dir01");
    assert!(folder.code == Some(2) && folder.err.contains("dir01 is a directory; name a file in it"), "{}", folder.err);
    // 20 000 blocks are 156 MiB of journal: less than the data, more than is free.
    let full = ramp(mount.point(), "--miniops 1000 --maxiops 1000 --wijfile w");
    assert!(full.code == Some(2) && full.err.contains("a journal of") && full.err.contains("are free"), "{}", full.err);
    std::fs::write(mount.point().join("thesis"), "years of work").unwrap();
    let thesis = ramp(mount.point(), "--miniops 1 --maxiops 1 --wijfile thesis");
    assert!(thesis.code == Some(2) && thesis.err.contains("seawall did not lay out"), "{}", thesis.err);
}
