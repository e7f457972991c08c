//! `seawall ramp` and `seawall advise`: what they leave, and what they refuse.

use crate::loop_mount::LoopMount;
use crate::running::{Ended, run, seawall};
use crate::scratch::Scratch;
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

/// A short ramp leaves its rows and cycles, goes on counting in the next, and asks of the disk what it says: reads to
/// within 0.5 % by the block layer's own count. Afterwards every block still says what it is.
#[test]
fn a_short_ramp_leaves_what_the_block_layer_counted() {
    let Some(mount) = filled() else { return };
    let line = "-miniops 400 --maxiops 800 --numruns 2 --runtime 4s --cycle 1s --disable-warmup --wijfile GENIO.WIJ \
                --system me --output ../out --results ../results.db --comment a short one";
    let first = ramp(mount.point(), line);
    assert!(matches!(first.code, Some(0 | 1)), "{}", first.err);
    assert!(first.out.lines().filter(|line| line.ends_with("not comparable")).count() == 2, "{}", first.out);
    assert!(first.err.contains("not comparable with published figures"), "{}", first.err);

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
    assert!(page.matches("<svg").count() == 3 && page.contains("Not comparable"), "{page}");
}

/// No cycle in the run: nothing can be said, exit code 2, and the row is kept.
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

/// A ramp in the background is asked how it stands, keeps others out of its folder, and ends when it is told to.
#[test]
fn a_ramp_in_the_background_answers_and_stops() {
    /// Far more than it takes; each look is a process of its own.
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
    assert_eq!(ramp(mount.point(), "--stop --output ../out").code, Some(0));
    let gone = (0..LOOKS_MAX).map(|_| stands()).find(|ended| ended.code == Some(2));
    assert!(gone.is_some_and(|ended| ended.err.contains("no ramp is running")));
    let log = std::fs::read_to_string(mount.beside().join("out/ramp.log")).unwrap();
    assert!(log.contains("run 0: stopped before its end"), "{log}");
}

/// What cannot be run is refused in a line, before anything is written.
#[test]
fn what_cannot_be_run_is_refused() {
    let scratch = Scratch::new();
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
    refused("--status", "no ramp is running");
    let Some(mount) = filled() else { return };
    let few = ramp(mount.point(), "--miniops 75000 --maxiops 75000 --wijfile w");
    assert!(few.code == Some(2) && few.err.contains("fewer than the 1500000 of the largest burst"), "{}", few.err);
    // 20 000 blocks are 156 MiB of journal: less than the data, more than is free.
    let full = ramp(mount.point(), "--miniops 1000 --maxiops 1000 --wijfile w");
    assert!(full.code == Some(2) && full.err.contains("a journal of") && full.err.contains("are free"), "{}", full.err);
    std::fs::write(mount.point().join("thesis"), "years of work").unwrap();
    let thesis = ramp(mount.point(), "--miniops 1 --maxiops 1 --wijfile thesis");
    assert!(thesis.code == Some(2) && thesis.err.contains("seawall did not lay out"), "{}", thesis.err);
}

/// 75 000 IOPS on 5 TB: the published 15 000 IOPS/TB let a burst take 80 s; 17 917 do not.
#[test]
fn advice_names_the_policy_that_protects() {
    let scratch = Scratch::new();
    let advise = |words: &str| run(seawall(scratch.path()).arg("advise").args(words.split_whitespace()));
    let ended =
        advise("--iops 75000 --used-space 5TB --policy-group AqosEpicProd --vserver epic --volume epic_rhel1_*");
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    for part in [
        "expected 15000 IOPS/TB, peak 30000 IOPS/TB, absolute minimum 7500 IOPS; a burst takes 80.0 s",
        "(1.194 x): expected 17917 IOPS/TB",
        "volume modify -vserver epic -volume epic_rhel1_* -qos-adaptive-policy-group AqosEpicProd",
    ] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    let sized = advise("--global-references 20156250 --used-space 5");
    assert!(sized.out.starts_with("75000 IOPS (20156250 global references/s)"), "{}", sized.out);
    assert_eq!(advise("--iops 5 --used-space none").code, Some(2));
}
