//! What is left of a run when it is killed, or when the database cannot be written meanwhile.

use crate::requires::{client, requires, skip};
use crate::running::{Ended, RESULTS, Running, run, seawall, succeed};
use crate::scratch::Scratch;
use serde_json::Value;
use std::process::{Command, Stdio};

const FILE: &str = "kept.sqlite";

/// A load on nothing that goes on for so many seconds, two stages of which the second never comes
/// in a short test.
fn load(scratch: &Scratch, seconds: u32) -> Command {
    let mut command = seawall(scratch.path());
    command.env(RESULTS, FILE).args([
        "fio",
        "--eta=never",
        "--ioengine=null",
        "--size=1g",
        "--rw=randrw",
        "--time_based",
    ]);
    command.args(["--rate_iops=500,500", "--name=first", &format!("--runtime={seconds}")]);
    command
}

fn query(command: &mut Command, query: &str) -> Value {
    let ended = run(command.env(RESULTS, FILE).args(["results", "sql", "--json", query]));
    // Before the first run there is no database to ask.
    serde_json::from_str(&ended.out).unwrap_or_default()
}

/// Runs whose processes were killed with SIGKILL keep their state `running` and what was measured:
/// here a stage that runs, beside one that is still to come.
#[test]
fn a_killed_run_leaves_what_it_measured() {
    let scratch = Scratch::new();
    let mut command = load(&scratch, 600);
    command.args(["--name=second", "--stonewall", "--runtime=600"]);
    let mut running = Running::start(command);
    let measured = "SELECT state, max(second) AS second, sum(seconds.ops) AS ops FROM seconds JOIN runs USING (run)
        WHERE run = 1 AND actor_name = 'first' AND class <> 'all'";
    while query(&mut seawall(scratch.path()), measured)[0]["second"].as_f64() < Some(1.0) {
        assert!(running.ended().is_none(), "{:?}", running.seen);
    }
    running.signal("KILL");
    running.end();
    let left = &query(&mut seawall(scratch.path()), measured)[0];
    assert_eq!(left["state"], "running", "{left}");
    // Two seconds at 1000 a second, as far as a busy machine gets.
    assert!(left["ops"].as_u64() > Some(100), "{left}");
    let cells = "SELECT actor_name, ops FROM results WHERE run = 1 AND class = 'all' ORDER BY actor";
    let cells = query(&mut seawall(scratch.path()), cells);
    assert_eq!((&cells[0]["actor_name"], &cells[0]["ops"]), (&Value::from("first"), &left["ops"]), "{cells}");
    assert_eq!((&cells[1]["actor_name"], &cells[1]["ops"]), (&Value::from("second"), &Value::from(0)), "{cells}");
    let results = |words: &[&str]| run(seawall(scratch.path()).env(RESULTS, FILE).arg("results").args(words));
    let shown = results(&["show", "last"]).out;
    assert!(shown.contains(", cut short") && shown.contains("note: it ended without a word"), "{shown}");
    let listed = results(&["list"]).out;
    assert!(listed.contains("(ended without a word)"), "{listed}");
    assert_eq!(results(&["delete", "1"]).code, Some(0));
}

/// A run that goes on says so, and is not deleted; a run whose file is taken away says at its end
/// that it is not kept.
#[test]
fn a_run_that_goes_on_is_told_apart_and_stays() {
    let scratch = Scratch::new();
    let mut running = Running::start(load(&scratch, 600));
    while query(&mut seawall(scratch.path()), "SELECT count(*) AS n FROM runs")[0]["n"] != 1 {
        assert!(running.ended().is_none(), "{:?}", running.seen);
    }
    let results = |words: &[&str]| run(seawall(scratch.path()).env(RESULTS, FILE).arg("results").args(words));
    assert!(results(&["list"]).out.contains("(goes on)"));
    assert!(results(&["show"]).out.contains(", goes on"));
    let refused = results(&["delete", "1", "last"]);
    let said = "seawall: run 1 goes on; stop it first, or delete it when it has ended\n";
    assert_eq!((refused.code, refused.err.as_str()), (Some(2), said));
    let page = run(seawall(scratch.path()).env(RESULTS, FILE).args(["report", "-o", "-"])).out;
    assert!(page.contains("The run goes on: figures are up to ") && !page.contains("Cut short"));
    assert!(!scratch.join("-").exists());
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(scratch.join(&format!("{FILE}{ending}"))).unwrap();
    }
    running.signal("INT");
    let (_, lines) = running.end();
    let told = lines.iter().filter(|line| line.contains("not kept: kept.sqlite was removed or replaced meanwhile"));
    assert_eq!(told.count(), 1, "{lines:?}");
}

/// While another program holds the database, a run begins and goes on; all of it is written once
/// the lock is gone.
#[test]
fn a_run_outlives_a_lock() {
    requires!("python3");
    let scratch = Scratch::new();
    succeed(&mut load(&scratch, 1));
    let mut holder = client("python3");
    let hold = "import sqlite3; c = sqlite3.connect('kept.sqlite', isolation_level=None); c.execute('BEGIN IMMEDIATE'); \
        print('held', flush=True); input()";
    holder.current_dir(scratch.path()).args(["-c", hold]).stdin(Stdio::piped());
    let mut holder = Running::start(holder);
    holder.wait_for("held");
    let mut running = Running::start(load(&scratch, 3));
    let said = running.wait_for("not kept for now");
    assert!(said.contains("database is locked"), "{said}");
    holder.say("");
    holder.end();
    let (status, lines) = running.end();
    assert_eq!(status.code(), Some(0), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("kept")).count(), 1, "{lines:?}");
    let runs = query(&mut seawall(scratch.path()), "SELECT state, ops > 0 AS some FROM runs WHERE run = 2");
    assert_eq!(runs, serde_json::json!([{ "state": "ended", "some": 1 }]));
}

/// A file system of its own, which ends with its first program.
struct Disk {
    scratch: Scratch,
    holder: Running,
}

impl Disk {
    /// Of 4 MiB; `None`, with its reason, where that cannot be had.
    fn new() -> Option<Disk> {
        let scratch = Scratch::new();
        if run(Command::new("unshare").args(["--mount", "true"])).code != Some(0) {
            skip("not allowed to mount a file system");
            return None;
        }
        std::fs::create_dir(scratch.join("disk")).unwrap();
        let mut command = Command::new("unshare");
        let script = "mount -t tmpfs -o size=4m none disk && echo mounted && read word";
        command.current_dir(scratch.path()).args(["--mount", "sh", "-c", script]).stdin(Stdio::piped());
        let mut holder = Running::start(command);
        holder.wait_for("mounted");
        Some(Disk { scratch, holder })
    }

    /// A program of ours or another that sees it as its folder.
    fn within(&self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        let folder = self.scratch.join("disk");
        inside.args(["--mount", "--target", &self.holder.id().to_string(), &format!("--wdns={}", folder.display())]);
        inside.arg(command.get_program()).args(command.get_args()).env(RESULTS, FILE).stdin(Stdio::null());
        inside
    }

    fn sh(&self, script: &str) -> Ended {
        let mut command = Command::new("sh");
        run(&mut self.within(command.args(["-c", script])))
    }

    fn query(&self, text: &str) -> Value {
        query(&mut self.within(&seawall(self.scratch.path())), text)
    }
}

/// The disk fills up in the middle of a run: it goes on and ends as it would have, one line says
/// what is wrong and one that the end is not kept; what was written before is there.
#[test]
fn a_full_disk_ends_no_run_and_takes_nothing_back() {
    let Some(disk) = Disk::new() else { return };
    let measured = "SELECT state, ops FROM runs WHERE run = 1";
    let mut running = Running::start(disk.within(&load(&disk.scratch, 8)));
    while disk.query(measured)[0]["ops"].as_u64().is_none_or(|ops| ops == 0) {
        assert!(running.ended().is_none(), "{:?}", running.seen);
    }
    disk.sh("dd if=/dev/zero of=fill bs=4k");
    let said = running.wait_for("the run goes on, but is not kept for now");
    assert!(said.contains("there is no space left for it"), "{said}");
    let (status, lines) = running.end();
    assert_eq!(status.code(), Some(0), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("not all of the run is kept")).count(), 1, "{lines:?}");
    assert_eq!(disk.sh("rm fill").code, Some(0));
    let left = disk.query(measured);
    assert!(left[0]["state"] == "running" && left[0]["ops"].as_u64() > Some(0), "{left}");
    // And the file is as good as ever.
    succeed(&mut disk.within(&load(&disk.scratch, 1)));
    assert_eq!(disk.query("SELECT state FROM runs ORDER BY run")[1]["state"], "ended");
}

/// What is said of a full disk waits until RanRead's line of dots has ended.
#[test]
fn a_full_disk_does_not_break_a_line() {
    let Some(disk) = Disk::new() else { return };
    let mut command = seawall(disk.scratch.path());
    command.args(["ranread", "run", "null:1GiB", "1", "--seconds", "4"]);
    let mut inside = disk.within(&command);
    inside.env("XDG_STATE_HOME", disk.scratch.join("state"));
    let mut running = Running::start(inside);
    while disk.query("SELECT state FROM runs WHERE run = 1")[0]["state"] != "running" {
        assert!(running.ended().is_none(), "{:?}", running.seen);
    }
    disk.sh("dd if=/dev/zero of=fill bs=4k");
    let (status, lines) = running.end();
    assert_eq!(status.code(), Some(0), "{lines:?}");
    let dots = lines.iter().position(|line| line.starts_with("Waiting for jobs to finish")).expect("it began");
    assert_eq!(lines[dots].trim_end_matches('.'), "Waiting for jobs to finish", "{lines:?}");
    assert!(lines[dots..].iter().any(|line| line.contains("not all of the run is kept")), "{lines:?}");
}

/// On a file system that is mounted for reading only, one line says so and the run is what it is;
/// the file stays as it was.
#[test]
fn a_database_that_may_not_be_written_is_left_alone() {
    let Some(disk) = Disk::new() else { return };
    succeed(&mut disk.within(&load(&disk.scratch, 1)));
    assert_eq!(disk.sh("mount -o remount,ro .").code, Some(0));
    let ended = run(&mut disk.within(&load(&disk.scratch, 1)));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(ended.err.lines().filter(|line| line.contains("not kept: ")).count(), 1, "{}", ended.err);
    // Who reads needs nothing written beside it.
    assert_eq!(disk.query("SELECT state FROM runs"), serde_json::json!([{ "state": "ended" }]));
    let shown = succeed(&mut disk.within(seawall(disk.scratch.path()).args(["results", "show", "last"])));
    assert!(shown.contains("run 1: "), "{shown}");
    assert_eq!(disk.sh("mount -o remount,rw .").code, Some(0));
    assert_eq!(disk.query("SELECT state FROM runs"), serde_json::json!([{ "state": "ended" }]));
}

/// What the partitions of a plan's cache did is kept with the run and on its page: a database of
/// 1 MiB is read all over from a partition of 2 MiB and loses nothing.
#[test]
fn what_partitions_did_is_kept() {
    const PLAN: &str = r#"
title = "A partition"
[server]
svm = "svm01"
cache = "4MiB"
[[volume]]
name = "database"
size = "1MiB"
[[workload]]
name = "database"
lun = "/vol/database/lun1"
pattern = "sequential"
block = "64k"
depth = 1
[[phase]]
name = "read"
seconds = 2
commands = ["cache partition create -partition own -size 2MiB -volumes svm01:database"]
"#;
    let scratch = Scratch::new();
    std::fs::write(scratch.join("plan.toml"), PLAN).unwrap();
    let ended = run(seawall(scratch.path()).env(RESULTS, FILE).args(["run", "plan.toml", "--out", "out", "--quiet"]));
    assert!(ended.has_verdict(), "{ended:?}");
    let rows = query(&mut seawall(scratch.path()), "SELECT * FROM partitions ORDER BY partition_name DESC");
    let (own, default) = (&rows[0], &rows[1]);
    assert_eq!((&own["partition_name"], &own["size_bytes"]), (&Value::from("own"), &Value::from(2 << 20)), "{rows}");
    assert_eq!((&own["resident_bytes"], &own["evicted"]), (&Value::from(1 << 20), &Value::from(0)), "{rows}");
    // 256 pages come in, once each, and are found from then on.
    assert!(own["missed"].as_u64() <= Some(256) && own["hit_share"].as_f64() > Some(0.5), "{rows}");
    assert_eq!((&default["partition_name"], &default["found"]), (&Value::from("default"), &Value::from(0)), "{rows}");
    let mut files = std::fs::read_dir(scratch.join("out")).unwrap().map(|entry| entry.unwrap().path());
    let page = files.find(|path| path.extension().is_some_and(|ext| ext == "html")).unwrap();
    assert!(std::fs::read_to_string(page).unwrap().contains("The cache by partition"));
}
