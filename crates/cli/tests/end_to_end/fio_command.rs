//! `seawall fio`: command lines and job files of fio, and what comes out, beside fio itself where
//! it is there.

use crate::requires::{client, find, requires, skip};
use crate::running::{Ended, RESULTS, Running, run, run_by, seawall, succeed, until};
use crate::scratch::{Scratch, damage};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

pub fn ours(scratch: &Scratch, arguments: &[&str]) -> Ended {
    let mut command = seawall(scratch.path());
    command.arg("fio").args(arguments);
    run(&mut command)
}

/// Runs a command line that must succeed; its JSON, which must be all of the output.
pub fn report(scratch: &Scratch, arguments: &[&str]) -> Value {
    let ended = ours(scratch, &[&["--output-format=json"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {}", ended.out))
}

/// The shape of the eight command lines of the first published document: writers leave the files
/// that readers of the same name use; options in any order, a flag's value behind a space.
#[test]
fn readers_use_the_files_that_writers_of_the_same_name_left() {
    let scratch = Scratch::new();
    let directory = format!("--directory={}", scratch.path().display());
    let shape = |kind: &str| {
        let rw = format!("--rw={kind}");
        let options = [
            "--name=1M-write",
            &rw,
            "--time_based",
            "--bs=1M",
            "--ioengine=libaio",
            "--numjobs=2",
            "--direct=1",
            "--iodepth=64",
            "--offset=0",
            "--size=16M",
            &directory,
            "--group_reporting",
            "--runtime",
            "1",
        ];
        report(&scratch, &options)
    };
    let written = shape("write");
    let made: Vec<String> = ["1M-write.0.0", "1M-write.1.0"].map(str::to_owned).to_vec();
    assert_eq!(scratch.listing(), made);
    let bytes = std::fs::read(scratch.join(&made[0])).unwrap();
    assert_eq!(bytes.len(), 16 << 20);
    let read = shape("read");
    assert_eq!(scratch.listing(), made);
    assert!(std::fs::read(scratch.join(&made[0])).unwrap() == bytes, "reading changes nothing");
    for (json, way) in [(&written, "write"), (&read, "read")] {
        let jobs = json["jobs"].as_array().unwrap();
        assert_eq!(jobs.len(), 1, "one entry for the group");
        let side = &jobs[0][way];
        // Each of both jobs moved more than its 64 in flight, in blocks of 1 MiB.
        assert!(side["total_ios"].as_u64().unwrap() >= 128, "{side}");
        assert_eq!(side["io_bytes"].as_u64().unwrap(), side["total_ios"].as_u64().unwrap() << 20);
    }
}

/// The command line of the second published document: the options behind a second `--name` make a
/// job of their own with neither file nor size. The first job runs; the second is named, with what
/// was probably meant.
#[test]
fn an_empty_second_name_is_left_out_with_a_word() {
    let scratch = Scratch::new();
    let line = [
        "--name=fiotest",
        "--filename=testfile",
        "--size=16MB",
        "--rw=randrw",
        "--bs=8K",
        "--direct=1",
        "--ioengine=libaio",
        "--iodepth=256",
        "--numjobs=2",
        "--runtime=1",
        "--time_based",
        "--group_reporting",
        "--name=IOPS-test-job",
        "--eta-newline=1",
    ];
    let ended = ours(&scratch, &line);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("IOPS-test-job: every --name opens a new job"), "{}", ended.err);
    assert_eq!(ended.err.lines().count(), 1, "nothing else is said outside of a terminal: {}", ended.err);
    assert!(ended.out.contains("fiotest: (groupid=0, jobs=2): err= 0"), "{}", ended.out);
    assert_eq!(scratch.listing(), ["testfile"], "all clones share the file that was named");
}

/// What a script finds in fio's JSON it finds in ours: for one command line, every key that fio
/// writes is there, with a value of the same kind.
#[test]
fn every_key_of_fio_is_in_our_report() {
    requires!("fio");
    let scratch = Scratch::new();
    let line = [
        "--name=j",
        "--rw=randrw",
        "--size=2m",
        "--bs=4k",
        "--iodepth=8",
        "--ioengine=io_uring",
        "--fsync=16",
        "--output-format=json",
    ];
    let mut fio = client("fio");
    fio.current_dir(scratch.path()).args(line).arg("--filename=by-fio");
    let theirs: Value = serde_json::from_str(&succeed(&mut fio)).unwrap();
    let ours = report(&scratch, &[&line[..], &["--filename=by-us"]].concat());
    let (theirs, ours) = (keys(&theirs), keys(&ours));
    let missing: Vec<&String> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Every path of keys in a document with the kind of its value; of lists the first element stands
/// for all.
fn keys(json: &Value) -> BTreeSet<String> {
    fn walk(json: &Value, path: &str, found: &mut BTreeSet<String>) {
        let kind = match json {
            Value::Object(members) => {
                members.iter().for_each(|(key, value)| walk(value, &format!("{path}/{key}"), found));
                "object"
            }
            Value::Array(list) => {
                list.iter().take(1).for_each(|value| walk(value, &format!("{path}[]"), found));
                "list"
            }
            Value::String(_) => "text",
            Value::Number(_) => "number",
            Value::Bool(_) | Value::Null => "other",
        };
        found.insert(format!("{path}: {kind}"));
    }
    let mut found = BTreeSet::new();
    walk(json, "", &mut found);
    found
}

/// Corrupted data fails a later check with its place, what was expected and what was found; exit
/// code 1.
#[test]
fn a_check_of_damaged_data_fails() {
    let scratch = Scratch::new();
    let line =
        ["--name=v", "--rw=randwrite", "--size=1m", "--bs=4k", "--iodepth=8", "--ioengine=io_uring", "--verify=crc32c"];
    let json = report(&scratch, &line);
    let (read, written) = (&json["jobs"][0]["read"]["total_ios"], &json["jobs"][0]["write"]["total_ios"]);
    assert_eq!((read.as_u64(), written.as_u64()), (Some(256), Some(256)), "each block is written and read back");
    damage(&scratch.join("v.0.0"));
    let ended = ours(&scratch, &[&line[..], &["--verify_only"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("v.0.0: at 40960: expected a block of offset 40960"), "{}", ended.err);
    assert!(ended.err.contains("found damaged data"), "{}", ended.err);
}

/// A file of somebody else is not overwritten, by a job file either; by name it is. Exit code 2,
/// one line that says what to do.
#[test]
fn data_of_others_is_kept() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("ledger"), "precious").unwrap();
    std::fs::write(scratch.join("job.fio"), "[w]\nrw=write\nfilename=ledger\nsize=64k\n").unwrap();
    let ended = ours(&scratch, &["job.fio"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.err.contains("ledger: will not be written: it is a file of 8 B that seawall did not lay out"));
    assert_eq!(std::fs::read_to_string(scratch.join("ledger")).unwrap(), "precious");
    assert_eq!(ours(&scratch, &["job.fio", "--destroy-data=ledger"]).code, Some(0));
    assert_eq!(std::fs::metadata(scratch.join("ledger")).unwrap().len(), 64 << 10);
}

/// A wrong option names its file, line, section and the nearest that there is; nothing is run.
#[test]
fn a_wrong_option_names_its_place() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("job.fio"), "[global]\nsize=1m\n\n[a]\niodetph=4\n").unwrap();
    let ended = ours(&scratch, &["job.fio"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    for part in ["job.fio", "5", "iodetph", "iodepth"] {
        assert!(ended.err.contains(part), "{part}: {}", ended.err);
    }
    assert_eq!(scratch.listing(), ["job.fio"]);
}

/// Ctrl-C in the middle of an hour: the report is whole and has what was done until then; exit code
/// 2.
#[test]
fn a_stop_keeps_what_was_done() {
    let scratch = Scratch::new();
    let mut command = seawall(scratch.path());
    command.args([
        "fio",
        "--name=n",
        "--ioengine=null",
        "--size=1m",
        "--rw=randread",
        "--time_based",
        "--runtime=3600",
        "--eta=always",
        "--output-format=json",
        "--output=report.json",
    ]);
    let mut running = Running::start(command);
    running.wait_for("IOPS");
    running.signal("INT");
    let (status, lines) = running.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    assert!(lines.last().unwrap().contains("stopped before the end"), "{lines:?}");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(scratch.join("report.json")).unwrap()).unwrap();
    assert!(json["jobs"][0]["read"]["total_ios"].as_u64() > Some(0));
}

/// SIGUSR1 asks how it goes, and the run goes on to its end.
#[test]
fn a_question_is_answered_and_ends_nothing() {
    let scratch = Scratch::new();
    let mut command = seawall(scratch.path());
    command.args(["fio", "--name=n", "--ioengine=null", "--size=1m", "--rw=randread", "--time_based"]);
    command.args(["--runtime=3600", "--eta=always", "--output-format=json", "--output=report.json"]);
    let mut running = Running::start(command);
    running.wait_for("IOPS");
    running.signal("USR1");
    let report = || std::fs::read_to_string(scratch.join("report.json")).unwrap_or_default();
    until("a report in between", || !report().is_empty());
    running.signal("INT");
    running.end();
    let json: Value = serde_json::from_str(&report()).unwrap();
    assert_eq!(json["seawall"]["interim"].as_array().map(Vec::len), Some(1), "{json}");
}

/// A file that may not become as large as it is written fails its job, whose report says so.
#[test]
fn a_limit_of_file_size_fails_the_job_alone() {
    let scratch = Scratch::new();
    let mut shell = Command::new("sh");
    let mut job = seawall(scratch.path());
    shell.args(["-c", "ulimit -f 1024; exec \"$0\" \"$@\""]).arg(job.get_program());
    job.args(["fio", "--name=w", "--rw=write", "--size=4m", "--bs=64k", "--fallocate=none", "--filename=z"]);
    job.args(["--output-format=json", "--output=report.json"]);
    let ended = run(&mut run_by(shell, &job));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(scratch.join("report.json")).unwrap()).unwrap();
    assert_eq!(json["jobs"][0]["error"].as_i64(), Some(28), "{json}");
    assert!(json["jobs"][0]["seawall"]["error"].as_str().unwrap().contains("beyond ulimit -f"), "{json}");
}

/// Logs and recordings are known to be writable before anything is done.
#[test]
fn what_cannot_be_written_at_the_end_is_refused_before() {
    let scratch = Scratch::new();
    for log in ["--write_lat_log=nosub/L", "--write_iolog=nosub/x", "--write_bw_log=nosub/L"] {
        let ended = run(seawall(scratch.path()).args(["fio", "--name=w", "--rw=write", "--size=64k", log]));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains("the log nosub/"), "{ended:?}");
    }
    assert!(scratch.listing().is_empty(), "{:?}", scratch.listing());
}

/// What fio recorded of a run of its own runs again: the same requests on the same places, by our
/// own count.
#[test]
fn a_recording_of_fio_runs_again() {
    requires!("fio");
    let scratch = Scratch::new();
    let mut fio = client("fio");
    fio.current_dir(scratch.path()).args(["--name=r", "--filename=f", "--rw=randrw", "--size=1m", "--bs=4k"]);
    succeed(fio.args(["--number_ios=64", "--write_iolog=trace"]));
    let recorded = std::fs::read_to_string(scratch.join("trace")).unwrap();
    let count = |action: &str| recorded.lines().filter(|line| line.contains(action)).count() as u64;
    let again = ["--name=again", "--read_iolog=trace", "--replay_redirect=g", "--iodepth=4", "--ioengine=io_uring"];
    let json = report(&scratch, &again);
    let job = &json["jobs"][0];
    assert_eq!(job["read"]["total_ios"].as_u64(), Some(count(" read ")), "{recorded}");
    assert_eq!(job["write"]["total_ios"].as_u64(), Some(count(" write ")), "{recorded}");
    let fast = report(&scratch, &[&again[..], &["--replay_no_stall=1"]].concat());
    assert_eq!(fast["jobs"][0]["read"]["total_ios"], job["read"]["total_ios"]);
}

/// In a terminal of 80 columns the line is drawn over itself, never wider than the terminal, with
/// bars, percent and time left; `--eta-newline` leaves one behind now and then. Ctrl-C ends it with
/// the results so far below it.
#[test]
fn a_terminal_has_a_status_line() {
    requires!("script", "stty");
    let scratch = Scratch::new();
    let program = seawall(scratch.path()).get_program().to_string_lossy().into_owned();
    let line = format!(
        "stty cols 80 rows 24; exec {program} fio --name=n --ioengine=null --size=1m --rw=randrw --time_based \
         --runtime=3600 --eta-interval=250 --eta-newline=1"
    );
    let mut command = Command::new(find("script").unwrap());
    command.current_dir(scratch.path()).env(RESULTS, "none").args(["-qefc", &line, "/dev/null"]);
    let mut terminal = Running::start(command);
    // A line of its own comes with --eta-newline only; by then others were drawn over.
    terminal.wait_for(" left");
    let children = format!("/proc/{0}/task/{0}/children", terminal.id());
    let child = std::fs::read_to_string(children).unwrap();
    assert!(run(Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.trim()))).code == Some(0));
    let (_, lines) = terminal.end();
    let drawn: Vec<&str> = lines.iter().flat_map(|line| line.split("\r\x1b[K").skip(1)).collect();
    assert!(drawn.len() >= 3, "{lines:?}");
    for line in drawn.iter().map(|line| line.trim_end_matches("\r")) {
        assert!(line.chars().count() < 80, "{line:?}");
        assert!(line.starts_with("1 job ") && line.contains(" %, "), "{line:?}");
        assert!(line.ends_with(" left") && line.chars().any(|c| ('▁'..='█').contains(&c)), "{line:?}");
    }
    let rest = lines.join("\n");
    assert!(rest.contains("n: (groupid=0, jobs=1): err= 0"), "{rest}");
    assert!(rest.contains("stopped before the end; the report has what was done until then"), "{rest}");
}

/// In a pipe nothing is said of a run that succeeds, though a file is laid out and there are notes:
/// they are in the JSON. `--parse-only` prints the plan, and there is a status line if it is asked
/// for.
#[test]
fn a_pipe_is_quiet() {
    let scratch = Scratch::new();
    let null = ["--name=n", "--ioengine=null", "--size=1m", "--rw=read", "--time_based", "--runtime=2"];
    let quiet = ours(&scratch, &null);
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""));
    let file = ["--name=f", "--ioengine=libaio", "--size=64k", "--rw=read"];
    let laid = ours(&scratch, &[&file[..], &["--output-format=json"]].concat());
    assert_eq!((laid.code, laid.err.as_str()), (Some(0), ""));
    let json: Value = serde_json::from_str(&laid.out).unwrap();
    let planned = ours(&scratch, &[&file[..], &["--parse-only"]].concat());
    assert_eq!((planned.code, planned.err.as_str()), (Some(0), ""));
    let lines = |key: &str| json["seawall"][key].as_array().unwrap().clone();
    assert!(!lines("notes").is_empty(), "{json}");
    let said: Vec<String> = planned.out.lines().map(str::to_owned).collect();
    assert_eq!(said[0], lines("plan")[0].as_str().unwrap());
    assert_eq!(said[1], format!("note: {}", lines("notes")[0].as_str().unwrap()));
    let asked = ours(&scratch, &[&null[..], &["--eta=always"]].concat());
    assert!(asked.err.contains("1 job (1 running)"), "{}", asked.err);
}

/// What we say was done is what the block layer counted, to a thousandth: a loop device of this
/// test's own, with direct I/O. Requests that were merged into others are added back; requests of
/// 1 MiB on a device that takes 128 KiB at once are split, eight for each. `--destroy-data` keeps
/// the safety check from reading the device as well.
#[test]
fn counts_are_those_of_the_block_layer() {
    requires!("losetup");
    let scratch = Scratch::new();
    let backing = scratch.join("backing");
    std::fs::File::create(&backing).and_then(|file| file.set_len(64 << 20)).unwrap();
    let losetup = || Command::new(find("losetup").unwrap());
    let made = run(losetup().args(["--find", "--show", "--direct-io=on"]).arg(&backing));
    if made.code != Some(0) {
        return skip("a loop device cannot be made here");
    }
    let device = made.out.trim().to_owned();
    let name = device.trim_start_matches("/dev/").to_owned();
    let most = format!("/sys/block/{name}/queue/max_sectors_kb");
    let usual = std::fs::read_to_string(&most).unwrap();
    std::fs::write(&most, "128").unwrap();
    let (filename, destroy) = (format!("--filename={device}"), format!("--destroy-data={device}"));
    let fixed = ["--output-format=json", &destroy, "--name=d", &filename, "--direct=1", "--ioengine=io_uring"];
    // Block size, options, and requests of the device for one of ours.
    let loads: [(u64, &[&str], u64); 2] = [
        (4096, &["--rw=randrw", "--bs=4k", "--iodepth=16", "--size=32m"], 1),
        (1 << 20, &["--rw=rw", "--bs=1m", "--iodepth=4", "--size=64m", "--io_size=256m"], 8),
    ];
    let mut seen = Vec::new();
    for (block, options, split) in loads {
        let before = counted(&name);
        let ended = ours(&scratch, &[&fixed[..], options].concat());
        seen.push((block, split, before, counted(&name), ended));
    }
    // Back as it was, whatever the checks below say.
    let _ = std::fs::write(&most, usual);
    run(losetup().args(["--detach", &device]));
    for (block, split, before, after, ended) in seen {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let json: Value = serde_json::from_str(&ended.out).unwrap();
        for (side, way) in [(0, "read"), (1, "write")] {
            let ours = &json["jobs"][0][way];
            let done = ours["total_ios"].as_u64().unwrap();
            assert!(done > 50, "{way}: {done}");
            assert_eq!(ours["io_bytes"].as_u64().unwrap(), done * block);
            let [ios, sectors] = [0, 1].map(|what| after[side][what] - before[side][what]);
            let same = |found: u64, expected: u64| found.abs_diff(expected) * 1000 <= expected;
            assert!(same(sectors * 512, done * block), "{way}: {sectors} sectors of {done} × {block}");
            assert!(same(ios, done * split), "{way}: {ios} requests of {done} × {split}");
        }
        let disk = json["disk_util"].as_array().unwrap().iter().find(|disk| disk["name"] == name.as_str()).unwrap();
        assert_eq!(disk["read_sectors"].as_u64(), Some(after[0][1] - before[0][1]), "the report says so too");
    }
}

/// Requests (with those that were merged into others) and sectors, of reads and of writes, from
/// `/proc/diskstats`.
fn counted(device: &str) -> [[u64; 2]; 2] {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap();
    let line = text.lines().find(|line| line.split_whitespace().nth(2) == Some(device)).expect("the device is counted");
    let number = |at: usize| line.split_whitespace().nth(at).unwrap().parse::<u64>().unwrap();
    [[number(3) + number(4), number(5)], [number(7) + number(8), number(9)]]
}
