//! The classic tools on a server that does not answer, or that dies: what they say, and what is
//! left.

use crate::fio_nbd::Foreign;
use crate::requires::requires;
use crate::running::{RESULTS, Running, run, seawall};
use crate::scratch::Scratch;
use std::process::Command;

/// nbdkit with these arguments behind its socket.
fn nbdkit(scratch: &Scratch, more: &[&str]) -> Foreign {
    let socket = scratch.join("s");
    let words = ["--foreground", "--exit-with-parent", "--unix", socket.to_str().unwrap()];
    Foreign::start("nbdkit", &[&words[..], more].concat(), &socket)
}

/// An export whose reads take ten minutes.
fn stalled(scratch: &Scratch) -> Foreign {
    nbdkit(scratch, &["--filter=delay", "memory", "2M", "rdelay=600"])
}

/// Runs a command until it says what is outstanding, and ends it by one Ctrl-C: its exit code is 2,
/// and its run is kept as cut short. Returns what it said.
fn told_and_ended(scratch: &Scratch, mut command: Command, outstanding: &str) -> Vec<String> {
    command.env(RESULTS, "r.sqlite").env("XDG_STATE_HOME", scratch.join("state"));
    let mut running = Running::start(command);
    let said = running.wait_for(" outstanding for ");
    assert!(said.contains(outstanding) && said.ends_with("; waiting for the storage (Ctrl-C ends now)"), "{said}");
    running.signal("INT");
    let (status, lines) = running.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    let sql = "SELECT 'is ' || state FROM runs";
    let kept = run(seawall(scratch.path()).env(RESULTS, "r.sqlite").args(["results", "sql", sql]));
    assert!(kept.out.contains("is cut_short"), "{kept:?}");
    lines
}

#[test]
fn orion_ends_without_its_answers() {
    requires!("nbdkit");
    let scratch = Scratch::new();
    let server = stalled(&scratch);
    std::fs::write(scratch.join("t.lun"), &server.uri).unwrap();
    let mut command = seawall(scratch.path());
    let point = "orion -run advanced -testname t -matrix point -num_small 4 -num_large 0 -duration 1 --settle 0";
    command.args(point.split(' '));
    let lines = told_and_ended(&scratch, command, "4 requests outstanding");
    assert!(lines.iter().any(|line| line == "0 of 1 points were measured"), "{lines:?}");
    assert!(scratch.listing().iter().any(|name| name.ends_with("_summary.txt")), "{:?}", scratch.listing());
}

#[test]
fn ranread_ends_without_its_answers() {
    requires!("nbdkit");
    let scratch = Scratch::new();
    let server = stalled(&scratch);
    let mut command = seawall(scratch.path());
    command.args(["ranread", "run", &server.uri, "2", "--seconds", "1"]);
    let lines = told_and_ended(&scratch, command, "2 requests outstanding");
    assert!(lines.iter().any(|line| line == "Random read background jobs finished."), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("was not answered when the run was ended")), "{lines:?}");
}

/// An export that dies with the first write of more than 8 KiB that are not all zeroes: that of a
/// load, as a journal's room is made with zeroes.
fn mortal(scratch: &Scratch) -> Foreign {
    let pwrite = "pwrite=[ $3 -gt 8192 ] && [ $(tr -d '\\0' | wc -c) -gt 0 ] && kill -9 $PPID; :";
    nbdkit(scratch, &["eval", "get_size=echo 1G", "pread=head -c $3 /dev/zero", pwrite, "flush=:"])
}

/// The reason why a server was lost, as the client of NBD has it.
const LOST: &str = "the server closed the connection";

#[test]
fn a_ramp_says_why_a_request_failed() {
    requires!("nbdkit");
    let scratch = Scratch::new();
    let server = mortal(&scratch);
    let line = "ramp --miniops 100 --maxiops 100 --numruns 1 --runtime 60s --cycle 1s --disable-warmup --device \
                null:1GiB --output out --wijfile";
    let ended = run(seawall(scratch.path()).args(line.split_whitespace()).arg(&server.uri));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains(" s after its start: ") && ended.err.contains(LOST), "{ended:?}");
}

#[test]
fn a_plan_says_why_requests_failed() {
    requires!("nbdkit");
    let scratch = Scratch::new();
    let server = mortal(&scratch);
    let plan = format!(
        "title = \"t\"\n[[volume]]\nname = \"v\"\nplace = {:?}\n[[workload]]\nname = \"w\"\nvolume = \"v\"\n\
         depth = 2\nread_percent = 0\nblock = \"64k\"\n[[phase]]\nname = \"p\"\nseconds = 60\n",
        server.uri
    );
    std::fs::write(scratch.join("plan.toml"), plan).unwrap();
    let ended = run(seawall(scratch.path()).args(["run", "plan.toml", "--out", "out"]));
    let told = format!(" failed: {LOST}");
    assert!(ended.code == Some(2) && ended.err.contains("w on volume v: ") && ended.err.contains(&told), "{ended:?}");
}
