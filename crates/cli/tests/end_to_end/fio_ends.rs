//! How jobs of fio's end each other and what they say at their end, beside fio itself.

use crate::fio_command::{ours, report};
use crate::fio_likeness::theirs;
use crate::requires::{find, requires, skip};
use crate::running::{RESULTS, run, seawall};
use crate::scratch::Scratch;
use serde_json::Value;
use std::process::Command;

/// One job with exitall makes the end of each job end its own group, as in fio.
#[test]
fn exitall_of_one_job_holds_for_all() {
    requires!("fio");
    let scratch = Scratch::new();
    let common = "[global]\nioengine=null\nsize=1g\nrw=read\ntime_based\nrate_iops=100\n";
    for (jobs, seconds) in [
        ("[a]\nruntime=1\n[b]\nruntime=3\nexitall\n", &[1, 1][..]),
        ("[a]\nruntime=1\n[b]\nruntime=3\n[c]\nnew_group\nruntime=2\nexitall\n", &[1, 1, 2]),
        ("[a]\nruntime=1\n[b]\nruntime=2\n", &[1, 2]),
    ] {
        std::fs::write(scratch.join("e.fio"), format!("{common}{jobs}")).unwrap();
        let ran = |json: &Value| -> Vec<u64> {
            let jobs = json["jobs"].as_array().unwrap();
            // A busy machine may take a while to end a job.
            jobs.iter().map(|job| job["job_runtime"].as_u64().unwrap() / 950).collect()
        };
        assert_eq!(
            (ran(&theirs(&scratch, &["e.fio"])), ran(&report(&scratch, &["e.fio"]))),
            (seconds.into(), seconds.into()),
            "{jobs}"
        );
    }
}

/// A latency that cannot be kept does not end a job; it goes on one request at a time and says so.
#[test]
fn a_latency_that_cannot_be_kept_ends_nothing() {
    let scratch = Scratch::new();
    let line = "--name=l --rw=randread --size=4m --bs=4k --ioengine=io_uring --iodepth=16 --time_based --runtime=2 \
                --latency_target=1ns --latency_window=50ms --latency_percentile=99";
    let line = line.replace("=1ns", "=1us");
    let job = report(&scratch, &line.split_whitespace().collect::<Vec<_>>())["jobs"][0].clone();
    assert!(job["job_runtime"].as_u64().unwrap() >= 1990, "{job}");
    assert_eq!(job["latency_depth"].as_u64(), Some(1));
    assert!(job["seawall"].to_string().contains("was not kept at any of"), "{}", job["seawall"]);
}

/// A part of nothing is no size.
#[test]
fn a_part_of_a_missing_file_is_no_size() {
    let scratch = Scratch::new();
    let ended = ours(&scratch, &["--name=j", "--rw=read", "--size=100%", "--filename=missing"]);
    assert!(ended.code == Some(2) && ended.err.contains("needs size=… in bytes"), "{ended:?}");
    assert!(!scratch.join("missing").exists());
}

/// Values that fio takes; and a list of what is allowed has no empty place.
#[test]
fn small_values_are_taken_as_by_fio() {
    let scratch = Scratch::new();
    let job = ["--name=s", "--ioengine=null", "--size=64k"];
    for more in ["--loops=0", "--create_fsync=0"] {
        let json = report(&scratch, &[&job[..], &[more]].concat());
        assert_eq!(json["jobs"][0]["read"]["total_ios"].as_u64(), Some(16), "{more}");
    }
    let ended = ours(&scratch, &[&job[..], &["--continue_on_error=reads"]].concat());
    assert!(ended.code == Some(2) && !ended.err.contains(", ,") && !ended.err.contains(", ;"), "{}", ended.err);
    std::fs::write(scratch.join("n.fio"), "[global]\nname=all\nioengine=null\nsize=64k\n[a]\n").unwrap();
    let json = report(&scratch, &["n.fio"]);
    assert_eq!(json["global options"]["name"].as_str(), Some("all"));
    assert_eq!(json["jobs"][0]["jobname"].as_str(), Some("a"));
}

/// With `sync` a write is one system call on a file that was opened for it, as in fio.
#[test]
fn a_durable_write_is_one_call() {
    requires!("fio");
    let Some(strace) = find("strace") else { return skip("strace is not installed") };
    let scratch = Scratch::new();
    let line = "--name=d --rw=write --bs=4k --size=64k --ioengine=psync --filename=";
    for (sync, flag) in [("--sync=1", "O_SYNC"), ("--sync=dsync", "O_DSYNC")] {
        for (name, mut traced) in [("theirs", Command::new("fio")), ("own", seawall(scratch.path()))] {
            let mut command = Command::new(&strace);
            command.current_dir(scratch.path()).env(RESULTS, "none").args(["-f", "-o", "trace", "-e"]);
            command.arg("trace=openat,pwrite64,fdatasync,fsync").arg(traced.get_program());
            if name == "own" {
                command.arg("fio");
            }
            traced.current_dir(scratch.path());
            let ended = run(command
                .args(line.split(' ').map(|word| match word.starts_with("--filename") {
                    true => format!("{word}{name}"),
                    false => word.to_owned(),
                }))
                .arg(sync));
            if ended.err.contains("ptrace") {
                return skip("strace may not trace here");
            }
            assert_eq!(ended.code, Some(0), "{ended:?}");
            let trace = std::fs::read_to_string(scratch.join("trace")).unwrap();
            let opened = trace.lines().any(|line| line.contains(&format!("{name}\"")) && line.contains(flag));
            assert!(opened, "{name} {sync}: {trace}");
            // A call that another thread interrupts has its result in a line of its own.
            let writes = trace.lines().filter(|line| line.contains("pwrite64") && line.contains("= 4096")).count();
            assert_eq!(writes, 16, "{name} {sync}: {trace}");
            assert_eq!(trace.matches("fdatasync(").count(), 0, "{name} {sync}: {trace}");
        }
    }
}
