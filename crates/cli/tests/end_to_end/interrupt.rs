//! Ctrl-C: a clean stop at any moment, and an end at once for who asks twice.

use crate::plan;
use crate::results::{phases, recording};
use crate::running::{RESULTS, Running, seawall, until};
use crate::scratch::Scratch;
use std::process::ExitStatus;

/// Ctrl-C while 3 × 1 GiB are being filled: exit code 2, one line, no pool, no results.
#[test]
fn a_stop_while_volumes_are_filled_leaves_nothing() {
    let scratch = Scratch::new();
    let mut command = seawall(scratch.path());
    command.args(["demo", "--size", "1GiB"]);
    let mut demo = Running::start(command);
    demo.wait_for("filling");
    demo.signal("INT");
    let (status, lines) = demo.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "seawall: stopped while the volumes were being filled");
    assert_eq!(scratch.listing(), [""; 0]);
}

/// A plan with these criteria, stopped by Ctrl-C in the second of its phases: how it ended, and its
/// lines.
fn stopped_in_a_phase(scratch: &Scratch, criteria: &str) -> (ExitStatus, Vec<String>) {
    // Long enough that nobody waits for its end.
    let text = format!("{}\n{criteria}", plan::PLAN.replace("seconds = 4", "seconds = 600"));
    let mut command = seawall(scratch.path());
    command.arg("run").arg(plan::write(scratch, &text)).args(["--out", "results"]).env(RESULTS, "results.sqlite");
    let mut run = Running::start(command);
    run.wait_for("0:03  server1");
    run.signal("INT");
    run.end()
}

/// Ctrl-C in the second of two phases: exit code 2, no pool, and what was measured kept and marked
/// as cut short.
#[test]
fn a_stop_in_a_phase_keeps_what_was_measured() {
    let scratch = Scratch::new();
    let (status, lines) = stopped_in_a_phase(&scratch, "");
    assert_eq!(status.code(), Some(2), "{lines:?}");
    assert!(lines.last().unwrap().contains("marked as cut short"), "{lines:?}");
    let recording = recording(&scratch.join("results"));
    assert!(recording.origin.cut_short);
    assert_eq!(phases(&recording), ["free", "held"]);
    // The volume of 16 MiB was filled before the run.
    let volume = recording.objects.iter().find(|object| object.path == "svm01:/vol/vol1").unwrap();
    assert!(volume.used_start.is_some_and(|used| used.0 >= 16 << 20) && volume.used_end.is_some(), "{volume:?}");
    // Two seconds of `free` and at least one of `held`.
    assert!(recording.workloads[0].intervals.len() >= 3);
    let pools = scratch.listing().into_iter().filter(|path| path.contains("pool")).collect::<Vec<_>>();
    assert_eq!(pools, [""; 0]);
}

/// What did not hold before Ctrl-C did not hold: exit code 1.
#[test]
fn a_stop_does_not_hide_what_did_not_hold() {
    let scratch = Scratch::new();
    let missed = "[[criterion]]\nkind = \"rate-is\"\nworkloads = [\"server1\"]\nphase = \"free\"\niops = 1\n\
                  tolerance = 0.01\n";
    let (status, lines) = stopped_in_a_phase(&scratch, missed);
    assert_eq!(status.code(), Some(1), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("marked as cut short")), "{lines:?}");
}

/// Ctrl-C in a load job, whose output is a document: it says that it was cut short, for the run and
/// for the job, and has what was done until then.
#[test]
fn a_stop_in_a_load_job_is_in_its_document() {
    let scratch = Scratch::new();
    let mut command = seawall(scratch.path());
    command.args(["fio", "--name=j", "--ioengine=null", "--size=1g", "--time_based", "--runtime=600"]);
    command.args(["--output-format=json", "--output=report", "--eta=always"]);
    let mut job = Running::start(command);
    job.wait_for("1 job (1 running)");
    job.signal("INT");
    let (status, lines) = job.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(scratch.join("report")).unwrap()).unwrap();
    assert_eq!(report["seawall"]["interrupted"], true, "{report}");
    assert_eq!(report["jobs"][0]["seawall"]["interrupted"], true, "{report}");
    assert!(report["jobs"][0]["read"]["total_ios"].as_u64() > Some(0), "{report}");
}

/// Ctrl-C while a load job's file of 3 GiB is laid out: exit code 2, a report of a job that did
/// nothing, and a file that stays short.
#[test]
fn a_stop_while_a_file_is_laid_out_ends_that() {
    let scratch = Scratch::new();
    let mut command = seawall(scratch.path());
    command.args(["fio", "--name=j", "--filename=f", "--size=3g", "--rw=read", "--output-format=json"]);
    command.arg("--output=report");
    let job = Running::start(command);
    until("the file is laid out", || scratch.join("f").exists());
    job.signal("INT");
    let (status, lines) = job.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    assert!(lines.last().unwrap().contains("stopped before the end"), "{lines:?}");
    assert!(std::fs::metadata(scratch.join("f")).unwrap().len() < 3 << 30);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(scratch.join("report")).unwrap()).unwrap();
    assert_eq!(report["jobs"][0]["seawall"]["interrupted"], true, "{report}");
    assert_eq!(report["jobs"][0]["read"]["total_ios"].as_u64(), Some(0), "{report}");
}

/// Ctrl-C while a plan's file of 3 GiB is laid out: exit code 2, and nothing is left that the next
/// run would find too short.
#[test]
fn a_stop_while_a_plans_file_is_laid_out_removes_it() {
    let scratch = Scratch::new();
    let plan = "title = \"t\"\nabout = \"a\"\n[[volume]]\nname = \"v\"\nplace = \"f\"\nsize = \"3GiB\"\n[[workload]]\n\
                name = \"w\"\nvolume = \"v\"\ndepth = 1\n[[phase]]\nname = \"p\"\nabout = \"a\"\n";
    std::fs::write(scratch.join("plan.toml"), plan).unwrap();
    let mut command = seawall(scratch.path());
    command.args(["run", "plan.toml"]);
    let mut run = Running::start(command);
    run.wait_for("laying out f, 3 GiB");
    run.signal("INT");
    let (status, lines) = run.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    let said = "seawall: volume v: f: stopped before it was laid out; what there was of it is removed";
    assert_eq!(lines.last().unwrap(), said);
    assert_eq!(scratch.listing(), ["plan.toml"]);
}

/// Ctrl-C while the machine is measured, before any phase: exit code 2 and nothing is left.
#[test]
fn a_stop_before_the_first_phase_leaves_nothing() {
    let scratch = Scratch::new();
    let mut command = seawall(scratch.path());
    command.args(["demo", "--size", "16MiB"]);
    let mut demo = Running::start(command);
    demo.wait_for("measuring");
    demo.signal("INT");
    let (status, lines) = demo.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "seawall: stopped before the first phase; nothing was measured");
    assert_eq!(scratch.listing(), [""; 0]);
}
