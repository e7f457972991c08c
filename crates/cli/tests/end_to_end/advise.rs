//! `seawall advise`: the policy that it names, from figures and from recordings.

use crate::plan;
use crate::running::{Ended, RESULTS, run, seawall, succeed};
use crate::scratch::Scratch;
use crate::server::{Server, read_text};
use std::ffi::OsStr;

fn advise(scratch: &Scratch, words: &str) -> Ended {
    run(seawall(scratch.path()).arg("advise").args(words.split_whitespace()))
}

/// Plays a plan in virtual time and keeps the run in `out.sqlite`.
fn simulate(scratch: &Scratch, plan: impl AsRef<OsStr>, more: &[&str]) {
    let mut command = seawall(scratch.path());
    command.arg("simulate").arg(plan).args(["--out", "out"]).args(more);
    succeed(command.env(RESULTS, "out.sqlite"));
}

/// 75 000 IOPS on 5 TB: the published 15 000 IOPS/TB let a burst take 80 s; 17 917 do not. All but
/// the lines that are to be copied fit into 80 columns.
#[test]
fn advice_names_the_policy_that_protects() {
    let scratch = Scratch::new();
    let ended = advise(
        &scratch,
        "--iops 75000 --used-space 5TB --policy-group AqosEpicProd --vserver epic --volume epic_rhel1_* --page a.html",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    for part in [
        "published                  15,000     30,000     7,500      75,000        80.0 s",
        "cycle-safe, 1.194 x        17,917     35,834     8,959      89,585        45.0 s",
        "At the floor of the published rule a burst takes longer than 45 s",
        "volume modify -vserver epic -volume epic_rhel1_* -qos-adaptive-policy-group AqosEpicProd",
        "   10.000 TB     179,170       358,340  ####################--------------------",
    ] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    let long = |line: &&str| line.chars().count() > 80;
    assert!(ended.out.lines().filter(long).all(|line| line.starts_with("qos ") || line.starts_with("volume ")));
    assert!(read_text(&scratch.join("a.html")).contains("<svg"));
    let sized = advise(&scratch, "--global-references 20156250 --used-space 5");
    assert!(sized.out.starts_with("75,000 IOPS (20,156,250 global references/s)"), "{}", sized.out);
    assert_eq!(advise(&scratch, "--iops 5 --used-space none").code, Some(2));
    let peak = advise(&scratch, "--iops 75000 --used-space 5TB --demand peak");
    assert!(peak.code == Some(2) && peak.err.contains("--demand"), "{peak:?}");
    assert_eq!(advise(&scratch, "--iops 75000 --used-space 5TB --run 3").code, Some(2), "it is of a recording");
}

/// Nothing is attached to what nobody named: no line of the answer says `*`. `75k` is 75 000.
#[test]
fn advice_without_a_volume_attaches_nothing() {
    let scratch = Scratch::new();
    let ended = advise(&scratch, "--iops 75k --used-space 5TB");
    assert!(ended.out.contains("-expected-iops 17917IOPS/TB") && ended.code == Some(0), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("It is attached to no volume yet; --volume NAME"), "{}", ended.out);
    assert!(!ended.out.lines().any(|line| line.starts_with("volume ") || line.contains('*')), "{}", ended.out);
    let wrong = advise(&scratch, "--iops 75x --used-space 5TB");
    assert!(wrong.code == Some(2) && wrong.err.contains("75000, 75k or 1.5M"), "{}", wrong.err);
}

/// On sixteen volumes the absolute minimum is divided by them, so that nothing speaks against it:
/// 89 584 are 5599 for each.
#[test]
fn an_absolute_minimum_is_divided_by_the_volumes() {
    let scratch = Scratch::new();
    let ended = advise(&scratch, "--iops 75k --used-space 5 --volumes 16");
    assert!(ended.code == Some(0) && ended.out.contains("-absolute-min-iops 5599IOPS "), "{ended:?}");
    assert_eq!(advise(&scratch, "--iops 75k --used-space 5 --volumes 0").code, Some(2));
}

/// The lines are given to a running server by the shell, as they were printed, and taken.
#[test]
fn the_shell_takes_the_lines() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.tell(&[
        "vserver create epic",
        "volume create epic_rhel1_db1 -vserver epic -size 64MB",
        "lun create /vol/epic_rhel1_db1/lun1 -vserver epic -size 16MB",
    ]);
    let ended = advise(&scratch, "--iops 100 --used-space 1GB --policy-group P1 --vserver epic --volume epic_rhel1_*");
    let lines: Vec<&str> =
        ended.out.lines().filter(|line| line.starts_with("qos ") || line.starts_with("volume ")).collect();
    assert_eq!(lines.len(), 2, "{}", ended.out);
    server.tell(&lines);
    let shown = server.tell(&["qos adaptive-policy-group show"]);
    // 100 · 1.19444 / 0.001 TB, rounded up.
    assert!(shown.contains("P1") && shown.contains("119445IOPS/TB"), "{shown}");
}

/// A ramp's folder: 75 reads a second, and 100 blocks in each fourth second, are 100 IOPS over any
/// cycle of 4 s. The data of 2.5 GB counts to the byte.
#[test]
fn a_ramp_says_what_it_needed() {
    let scratch = Scratch::new();
    let folder = scratch.join("ramp");
    std::fs::create_dir(&folder).unwrap();
    let mut text = String::from("Run,Second,Reads,Writes,Journal Blocks,In Cycle (sec),Comparable\n");
    for second in 0..40 {
        let (writes, journal) = if second % 4 == 3 { (100, 100) } else { (0, 0) };
        text += &format!("0,{second},75,{writes},{journal},0,yes\n");
    }
    std::fs::write(folder.join("seconds.csv"), text).unwrap();
    std::fs::write(folder.join("about.txt"), "used space in bytes: 2500000000\nwrite cycle in ms: 4000\n").unwrap();
    let ended = advise(&scratch, "--recording ramp");
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let words = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("p95 100 IOPS, peak 100 IOPS; the busiest second had 175. Required is the p95."), "{words}");
    assert!(words.contains("75 % of what was recorded are reads; what follows assumes 75 %"), "{words}");
    assert!(words.contains("100 IOPS (26,875 global references/s) on 2.500 GB"), "{words}");
    assert!(words.contains("recorded with a write cycle every 4.00 s; the advice is for 80.0 s"), "{words}");
    assert!(
        ended
            .out
            .lines()
            .filter(|line| !line.starts_with("qos ") && !line.starts_with("volume "))
            .all(|l| l.len() <= 80)
    );
    for (words, says) in [
        ("--recording ramp --run 7", "--run 7: ramp has no such run"),
        ("--recording nowhere", "--recording nowhere: is not there"),
        ("--recording .", "--recording .: is no folder of a ramp's outputs"),
        ("--recording ramp --workload w", "--workload: ramp is a ramp's folder"),
    ] {
        let ended = advise(&scratch, words);
        assert!(ended.code == Some(2) && ended.err.contains(says), "{words}: {}", ended.err);
    }
}

/// A run of the results database: the figures are those of its workloads, by name.
#[test]
fn a_run_says_what_it_needed() {
    let scratch = Scratch::new();
    let plan = plan::write(&scratch, plan::PLAN);
    simulate(&scratch, plan, &[]);
    let one = advise(&scratch, "--recording out.sqlite --used-space 5TB --demand peak");
    assert!(one.out.contains("Required is the") && matches!(one.code, Some(0 | 1)), "{one:?}");
    // The plan has one volume of 16 MiB, all of it used in a simulation.
    let space = advise(&scratch, "--recording out.sqlite");
    assert!(space.out.contains("16.777 MB of data"), "{}{}", space.out, space.err);
    let wrong = advise(&scratch, "--recording out.sqlite --used-space 5 --workload nobody");
    assert!(wrong.code == Some(2) && wrong.err.contains("it has "), "{}", wrong.err);
}

/// 512 pages one after the other, twenty times: a cache of 1 MiB never has the next one, one of
/// 2 MiB has all but the first round, 95 %, by the curve and played through. Pages that are read
/// once are worth no memory.
#[test]
fn the_size_of_a_cache_is_told_from_a_trace() {
    let scratch = Scratch::new();
    let mut table = String::from("time_us,file,action,offset,length\n");
    for read in 0..512 * 20u64 {
        table += &format!(
            "{},db,read,{},4096\n{},log,write,{},4096\n",
            read * 10,
            read % 512 * 4096,
            read * 10,
            read * 4096
        );
    }
    std::fs::write(scratch.join("t.csv"), &table).unwrap();
    let ended = advise(&scratch, "cache --trace t.csv --file db --page a.html --svg a.svg");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    for part in [
        "10,240 reads of db in 0 s; 10,240 pages of 4 KiB",
        "     1 MiB   0.0 %    +0.0 %\n",
        "     2 MiB  95.0 %   +95.0 %  ######################################\n",
        "2 MiB is worth its memory",
        "Played through a cache of the server\n(S3-FIFO) of that size: 95.0 %.",
        "cache partition create -partition NAME -size 2MiB -volumes VOLUME",
    ] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80), "{}", ended.out);
    assert!(read_text(&scratch.join("a.html")).contains("<svg"));
    // Every size has its place, and the best one is marked there.
    let picture = read_text(&scratch.join("a.svg"));
    for part in [">1 MiB</text>", ">2 MiB</text>", "2 MiB is worth its memory"] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    let once: String = (0..4096u64).map(|page| format!("{page} f read {} 4096\n", page * 4096)).collect();
    std::fs::write(scratch.join("once.log"), format!("fio version 3 iolog\n0 f add\n{once}")).unwrap();
    let none = advise(&scratch, "cache --trace once.log");
    assert!(none.code == Some(1) && none.out.contains("No size is worth its memory"), "{}{}", none.out, none.err);
    for (words, why) in [
        ("cache --trace t.csv --file dc", "--file dc: is not in it; it has db, log"),
        ("cache --trace t.csv --file log", "--trace t.csv: reads nothing of these"),
        ("cache --trace a.html", "no trace that is known"),
        ("cache --trace none", "--trace none: "),
        ("cache", "<--trace <FILE>|--recording <PATH>>"),
        ("cache --trace t.csv --run 3", "cannot be used with"),
        ("cache --trace t.csv --volume dc", "--volume dc: is not in it; it has db, log"),
        ("cache --trace t.csv --recording t.csv", "cannot be used with"),
        ("cache --trace t.csv --page-kib 5", "--page-kib"),
    ] {
        let wrong = advise(&scratch, words);
        assert!(wrong.code == Some(2) && wrong.err.contains(why), "{words}: {}", wrong.err);
    }
}

/// A database of 20 MiB is read all over, a scan of 28 MiB again and again: of the first a cache
/// has the part that it is large, of the second all or nothing. The reads of a run are those that
/// it made.
#[test]
fn the_size_of_a_cache_is_told_from_a_run() {
    let scratch = Scratch::new();
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/cache-partitions.toml");
    simulate(&scratch, plan, &["--phase-seconds", "4"]);
    let database = advise(&scratch, "cache --recording out.sqlite --volume database --page a.html");
    let scan = advise(&scratch, "cache --recording out.sqlite --file scan --page-kib 64");
    for (ended, parts) in [
        (&database, ["reads of database in 20 s", "     8 MiB  39", "32 MiB is worth its memory", "-size 32MiB"]),
        (&scan, ["448 distinct", "    16 MiB   0.0 %", "    32 MiB  99.9 %", "32 MiB is worth its memory"]),
    ] {
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        parts.iter().for_each(|part| assert!(ended.out.contains(part), "{part}: {}", ended.out));
    }
    // As many as the run did: all of the actor's requests are reads.
    let sql = "SELECT sum(ops) FROM seconds WHERE actor_name = 'database' AND class = 'all'";
    let told = succeed(seawall(scratch.path()).env(RESULTS, "out.sqlite").args(["results", "sql", "--csv", sql]));
    let did: u64 = told.lines().last().unwrap().trim().parse().unwrap();
    let (first, _) = database.out.split_once(" reads of").unwrap();
    let made = first.rsplit(' ').next().unwrap().replace(',', "");
    assert_eq!(made, did.to_string());
    for (words, why) in [
        ("--run 7", "--run: out.sqlite: no run is called \"7\""),
        ("--volume databases", "--volume databases: is not in it; it has database, scan"),
    ] {
        let wrong = advise(&scratch, &format!("cache --recording out.sqlite {words}"));
        assert!(wrong.code == Some(2) && wrong.err.contains(why), "{words}: {}", wrong.err);
    }
    let fio = "fio --name=a --ioengine=null --size=1m --bs=4k";
    succeed(seawall(scratch.path()).env(RESULTS, "out.sqlite").args(fio.split(' ')));
    let wrong = advise(&scratch, "cache --recording out.sqlite");
    assert!(wrong.code == Some(2) && wrong.err.contains("it is of fio; record a trace"), "{}", wrong.err);
}
