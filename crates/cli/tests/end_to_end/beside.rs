//! A database beside a bully: the goal in virtual time, over several seeds; and for real its shape
//! and that nothing of it stays, whose figures are a matter of the machine.

use crate::requires::{requires, skip};
use crate::results::{phases, recording};
use crate::running::{Ended, RESULTS, Running, run, seawall};
use crate::scratch::Scratch;
use crate::server::read_text;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The bundled plan.
const PLAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/order-entry-beside-a-bully.toml");

/// The plan with the words changed, in a file of this folder.
fn changed(scratch: &Scratch, changes: &[(&str, &str)]) -> PathBuf {
    let mut text = read_text(Path::new(PLAN));
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let file = scratch.join("plan.toml");
    std::fs::write(&file, text).unwrap();
    file
}

/// Played with so many seconds of virtual time to warm up and so many a turn: few tell as much as
/// the plan's 3 and 12, and are sooner over.
fn simulated(scratch: &Scratch, [warm_up, seconds]: [u32; 2], changes: &[(&str, &str)]) -> Ended {
    let (warm_up, seconds) = (format!("warm_up_seconds = {warm_up}"), format!("\nseconds = {seconds}"));
    let short = [("warm_up_seconds = 3", warm_up.as_str()), ("\nseconds = 12", seconds.as_str())];
    let plan = changed(scratch, &[&short, changes].concat());
    run(seawall(scratch.path()).env(RESULTS, "results.sqlite").args(["simulate", "--quiet"]).arg(plan))
}

/// The percentages of an arm's rounds.
fn rounds(said: &str, arm: &str) -> Vec<f64> {
    let behind =
        said.split("Transactions over those of").nth(1).and_then(|text| text.split(&format!("\n{arm}  ")).nth(1));
    let line = behind.and_then(|text| text.split("by round ").nth(1)).and_then(|text| text.split("\n").next());
    line.unwrap_or_default().split(", ").map(|part| part.trim().trim_end_matches(',').parse().unwrap()).collect()
}

/// The bully leaves 5 %, a floor of IOPS above what is asked for 21, the floor by latency 97: each
/// in every round of every seed, with room on the right side.
#[test]
fn users_keep_what_they_had_in_virtual_time() {
    for seed in ["1", "2"] {
        let scratch = Scratch::new();
        let ended = simulated(&scratch, [3, 4], &[("seed = 1", &format!("seed = {seed}"))]);
        assert_eq!(ended.code, Some(0), "seed {seed}: {}\n{}", ended.out, ended.err);
        let said = &ended.out;
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
        for (arm, least, most) in [
            ("bully", 3.0, 15.0),
            ("ceiling", 97.0, 102.0),
            ("floor by IOPS", 14.0, 30.0),
            ("floor by latency", 93.0, 102.0),
        ] {
            let found = rounds(said, arm);
            assert_eq!(found.len(), 5, "{arm}: {said}");
            assert!(found.iter().all(|part| (least..=most).contains(part)), "seed {seed}, {arm}: {found:?}");
        }
    }
}

/// The same plan gives the same words, and its run is kept: a phase for each turn, and the users'
/// figures in each.
#[test]
fn a_simulated_run_repeats_itself_and_is_kept() {
    let scratch = Scratch::new();
    let (one, other) = (simulated(&scratch, [2, 2], &[]), simulated(&Scratch::new(), [2, 2], &[]));
    let result = |ended: &Ended| ended.out.split("\npage ").next().unwrap_or_default().to_owned();
    assert!(result(&one).contains("floor by latency") && result(&one) == result(&other), "{one:?}");
    let sql = |question: &str| {
        let mut command = seawall(scratch.path());
        run(command.env(RESULTS, "results.sqlite").args(["results", "sql", question])).out
    };
    let kept = sql("SELECT COUNT(*) FROM settings WHERE key = 'tpm'");
    assert!(kept.contains("25"), "five arms with five rounds: {kept}");
    let recording = recording(scratch.path());
    assert!(phases(&recording).contains(&"floor by latency, round 5"), "{:?}", phases(&recording));
    let page = scratch.listing().into_iter().find(|name| name.ends_with(".html")).unwrap();
    let page = read_text(&scratch.join(&page));
    for part in
        ["Transactions a minute", "Response times", "What the others had", "Round 1 second by second", "Every turn"]
    {
        assert!(page.contains(part), "{part}");
    }
}

/// Without protection in its own arm the goal is missed, and where nobody bullies nothing is said.
#[test]
fn a_goal_that_is_missed_is_a_no() {
    let scratch = Scratch::new();
    let missed =
        simulated(&scratch, [2, 2], &[("-volume db -qos-policy-group latency", "-volume db -qos-policy-group floor")]);
    assert_eq!(missed.code, Some(1), "{missed:?}");
    let quiet = simulated(
        &scratch,
        [2, 2],
        &[("depth = 64", "depth = 1"), ("read_percent = 70", "read_percent = 70\npace = 50")],
    );
    // "bully" leaves nearly all, which is a no, and so the floor proves nothing.
    assert!(quiet.code == Some(1) && quiet.out.contains("nothing to protect from"), "{quiet:?}");
    let few = simulated(&scratch, [2, 2], &[("rounds = 5", "rounds = 4")]);
    assert!(few.code == Some(2) && few.err.contains("4 rounds is too few"), "{few:?}");
}

#[test]
fn bad_input_has_one_line() {
    for (command, changes, says) in [
        ("simulate", &[("volume = \"db\"", "volume = \"dc\"")][..], "volume: no volume is called \"dc\""),
        ("simulate", &[("arm = \"bully\"", "arm = \"bulli\"")], "arm: no arm is called \"bulli\"; did you mean bully?"),
        (
            "simulate",
            &[("size = \"4GiB\"", "size = \"1GiB\"")],
            "volume db: 2 GiB are needed, the database and 1 GiB of log",
        ),
        ("simulate", &[("-expected-latency", "-expected-latincy")], "expected-latincy"),
        ("run", &[("bottleneck = \"cgroup\"", "bottleneck = \"wire\"")], "bottleneck: must be cgroup or delay or none"),
    ] {
        let scratch = Scratch::new();
        let plan = changed(&scratch, changes);
        let ended = run(seawall(scratch.path()).arg(command).arg(plan));
        assert!(ended.code == Some(2) && ended.err.contains(says), "{says}: {ended:?}");
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    }
    let scratch = Scratch::new();
    let ended = run(seawall(scratch.path()).args(["simulate", PLAN, "--phase-seconds", "4"]));
    assert!(ended.code == Some(2) && ended.err.contains("has arms and no phases"), "{ended:?}");
}

/// Who is not root is told so before anything is made.
#[test]
fn without_root_it_is_skipped() {
    requires!("setpriv");
    let scratch = Scratch::new();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--clear-groups"]).arg(env!("CARGO_BIN_EXE_seawall"));
    command.args(["run", PLAN, "--results", "none", "--out", "/tmp"]).current_dir("/tmp");
    let ended = run(&mut command);
    if ended.err.contains("setpriv") {
        return skip("setpriv cannot become another user here");
    }
    assert!(ended.code == Some(2) && ended.err.contains("cannot say: the run was skipped"), "{ended:?}");
    assert!(scratch.listing().is_empty());
}

/// A short run for real, of two arms; or why it cannot be had here.
fn short(scratch: &Scratch) -> Option<Command> {
    if database::Private::programs().is_none() {
        skip("PostgreSQL is not installed");
        return None;
    }
    let tools = ["losetup", "mkfs.ext4"].map(|tool| Path::new("/usr/sbin").join(tool));
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    if !is_root || tools.iter().any(|tool| !tool.is_file()) || !Path::new("/dev/fuse").exists() {
        skip("that needs root, FUSE and a loop device");
        return None;
    }
    let text = read_text(&changed(
        scratch,
        &[
            ("rounds = 5", "rounds = 1"),
            ("warm_up_seconds = 3", "warm_up_seconds = 2"),
            ("\nseconds = 12", "\nseconds = 2"),
            ("scale = 0.05", "scale = 0.0005"),
            ("users = 4 ", "users = 2 "),
            ("bottleneck = \"cgroup\"", "bottleneck = \"none\""),
            ("size = \"512MiB\"", "size = \"16MiB\""),
        ],
    ));
    // Two arms are enough: without and with the bully.
    let (head, rest) = text.split_once("[[arm]]\nname = \"ceiling\"").unwrap();
    let (_, criteria) = rest.split_once("# Otherwise").unwrap();
    let (kept, _) = criteria.split_once("[[criterion]]\nkind = \"tpm-kept\"").unwrap();
    let file = scratch.join("plan.toml");
    std::fs::write(&file, format!("{head}# Otherwise{kept}")).unwrap();
    let mut command = seawall(scratch.path());
    command.env("TMPDIR", "/tmp").env(RESULTS, scratch.join("results.sqlite"));
    command.arg("run").arg(file).args(["--dir", "pool", "--out", "out"]);
    Some(command)
}

/// What a run leaves mounted, attached or in a control group: names with the process's number.
fn left(id: u32) -> Vec<String> {
    let mounts = read_text(Path::new("/proc/mounts"));
    let point = format!("/tmp/seawall-database-{id}");
    let mut left: Vec<String> = mounts.lines().filter(|line| line.contains(&point)).map(str::to_owned).collect();
    left.extend(Path::new(&point).exists().then_some(point));
    let group = format!("/sys/fs/cgroup/blkio/seawall-{id}");
    left.extend(Path::new(&group).exists().then_some(group));
    left
}

/// Both arms have their turn on a real PostgreSQL: their figures are there and kept, one round says
/// nothing, and nothing stays but the page.
#[test]
fn a_real_database_has_its_turns_and_leaves_nothing() {
    requires!("nbdfuse");
    let scratch = Scratch::new();
    let Some(command) = short(&scratch) else { return };
    let running = Running::start(command);
    let id = running.id();
    let (status, lines) = running.end();
    let said = lines.join("\n");
    assert_eq!(status.code(), Some(2), "one round is too few to say: {said}");
    assert!(said.contains("1 round is too few"), "{said}");
    for arm in ["alone", "bully"] {
        let line =
            lines.iter().find(|line| line.starts_with("  round 1 ") && line.contains(&format!("{arm} "))).unwrap();
        let tpm: f64 = line.split(" TPM").next().unwrap().rsplit(' ').next().unwrap().replace(',', "").parse().unwrap();
        assert!(tpm > 0.0, "{line}");
    }
    assert!(said.contains("each turn begins with its data restored"), "{said}");
    // What its requests took alone is what the plan's latency is measured by.
    let took = said.split("its requests took ").nth(1).and_then(|rest| rest.split(" each").next());
    assert!(took.is_some_and(|took| took.ends_with("s")) && said.contains("latencies in policies are"), "{said}");
    assert_eq!(left(id), Vec::<String>::new());
    assert!(!scratch.join("pool").exists());
    assert_eq!(phases(&recording(scratch.path())), ["alone, round 1", "bully, round 1"]);
}

/// Ctrl-C in a turn: what was mounted is taken down all the same.
#[test]
fn a_real_run_that_is_stopped_leaves_nothing() {
    requires!("nbdfuse");
    let scratch = Scratch::new();
    let Some(command) = short(&scratch) else { return };
    let mut running = Running::start(command);
    let id = running.id();
    running.wait_for("2 arms by turns");
    running.signal("INT");
    let (status, lines) = running.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    assert_eq!(left(id), Vec::<String>::new());
    assert!(!scratch.join("pool").exists());
}
