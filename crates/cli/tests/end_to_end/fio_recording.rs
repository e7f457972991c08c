//! Recordings, both ways: what we record fio runs again, what fio records we run again, and a dump
//! of blktrace becomes the same requests in both.

use crate::fio_command::{ours, report};
use crate::requires::{client, requires};
use crate::running::{RESULTS, seawall, succeed};
use crate::scratch::Scratch;
use serde_json::Value;
use std::path::Path;

/// What fio did, as its JSON.
fn fio(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = client("fio");
    let out = succeed(command.current_dir(folder).arg("--output-format=json").args(arguments));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// Direction, offset and length of each request of an iolog, in order.
fn requests(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let words = |line: &str| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
    let is_request = |line: &&str| [" read ", " write ", " trim "].iter().any(|action| line.contains(action));
    text.lines().filter(is_request).map(words).collect()
}

/// The same of a log of latencies with offsets, which fio writes of a recording that it plays (it
/// records none of that): milliseconds, nanoseconds, direction, length, offset, priority.
fn logged(path: &Path) -> Vec<String> {
    let of_row = |line: &str| {
        let words: Vec<&str> = line.split(", ").collect();
        let way = ["read", "write", "trim"][words[2].parse::<usize>().unwrap()];
        format!("{way} {} {}", words[4], words[3])
    };
    std::fs::read_to_string(path).unwrap().lines().map(of_row).collect()
}

fn counts(json: &Value) -> [Option<u64>; 2] {
    ["read", "write"].map(|way| json["jobs"][0][way]["total_ios"].as_u64())
}

/// Our recording of a random mix has a line for each request; fio reads it and makes the same ones,
/// and so do we.
#[test]
fn what_we_record_fio_runs_again() {
    requires!("fio");
    let scratch = Scratch::new();
    let load = ["--rw=randrw", "--bs=4k", "--size=1m", "--ioengine=io_uring", "--iodepth=8", "--fsync=16"];
    let first = report(&scratch, &[&["--name=r", "--filename=f", "--write_iolog=trace"], &load[..]].concat());
    let asked = requests(&scratch.join("trace"));
    let [reads, writes] = ["read", "write"].map(|way| asked.iter().filter(|line| line.starts_with(way)).count() as u64);
    assert_eq!(counts(&first), [Some(reads), Some(writes)]);
    // Each of 256 blocks once.
    assert_eq!(reads + writes, 256);
    let play = ["--name=again", "--read_iolog=trace", "--replay_no_stall=1", "--write_lat_log=again", "--log_offset=1"];
    let by_fio = fio(scratch.path(), &play);
    assert_eq!(counts(&by_fio), [Some(reads), Some(writes)]);
    // fio may log a sync of a recording as a request of no length.
    let again: Vec<String> =
        logged(&scratch.join("again_lat.1.log")).into_iter().filter(|row| !row.ends_with(" 0")).collect();
    assert_eq!(again, asked, "in the same order, at the same places");
    let by_us = report(&scratch, &["--name=us", "--read_iolog=trace", "--write_iolog=ours", "--replay_no_stall=1"]);
    assert_eq!(counts(&by_us), [Some(reads), Some(writes)]);
    assert_eq!(requests(&scratch.join("ours")), asked);
}

/// What fio recorded, in its version 3 and written by hand in its version 2, we run with the same
/// requests in the same order; kinds that are skipped are left out.
#[test]
fn what_fio_records_we_run_again() {
    requires!("fio");
    let scratch = Scratch::new();
    let record = ["--name=r", "--filename=f", "--rw=randrw", "--size=1m", "--bsrange=4k-16k", "--write_iolog=v3"];
    fio(scratch.path(), &[&record[..], &["--number_ios=64"]].concat());
    let recorded = std::fs::read_to_string(scratch.join("v3")).unwrap();
    assert!(recorded.starts_with("fio version 3 iolog\n"), "{recorded}");
    let asked = requests(&scratch.join("v3"));
    // Version 2 has no times in front.
    let older = recorded.lines().skip(1).map(|line| line.split_once(' ').map_or("", |(_, rest)| rest));
    let older = format!("fio version 2 iolog\n{}\n", older.collect::<Vec<_>>().join("\n"));
    std::fs::write(scratch.join("v2"), older).unwrap();
    for version in ["v2", "v3"] {
        let read = format!("--read_iolog={version}");
        // The file is fio's, so writing to it needs leave.
        let line = ["--name=u", &read, "--write_iolog=again", "--destroy-data=f", "--iodepth=4", "--ioengine=io_uring"];
        let json = report(&scratch, &[&line[..], &["--replay_no_stall=1"]].concat());
        assert_eq!(requests(&scratch.join("again")), asked, "{version}");
        let reads = asked.iter().filter(|line| line.starts_with("read")).count() as u64;
        assert_eq!(counts(&json), [Some(reads), Some(64 - reads)]);
        let json = report(&scratch, &[&["--name=s", &read, "--replay_skip=write,sync"], &line[2..]].concat());
        assert_eq!(counts(&json), [Some(reads), Some(0)]);
    }
}

/// A recording runs at its own times or faster, and the report says how late its requests were. The
/// last of 11 requests, 20 ms apart, is due after 200 ms; at four times the speed after 50.
#[test]
fn a_recording_runs_faster_and_tells_its_drift() {
    let scratch = Scratch::new();
    let lines = (0..11).map(|index| format!("{} f read {} 4096\n", index * 20_000, index * 4096));
    let text = format!("fio version 3 iolog\n0 f add\n0 f open\n{}220000 f close\n", lines.collect::<String>());
    std::fs::write(scratch.join("trace"), text).unwrap();
    for (speed, least_ms) in [("100", 200), ("400", 50)] {
        let speed = format!("--replay_time_scale={speed}");
        let json = report(&scratch, &["--name=r", "--read_iolog=trace", &speed, "--ioengine=io_uring", "--iodepth=4"]);
        let job = &json["jobs"][0];
        assert_eq!(job["read"]["total_ios"].as_u64(), Some(11));
        let runtime = job["job_runtime"].as_u64().unwrap();
        assert!(runtime >= least_ms, "{runtime} ms; nothing is made before it is due");
        let schedule = &job["seawall"]["schedule"];
        assert_eq!(schedule["open_loop"], true);
        // How late they were is the machine's; that it is told is ours.
        assert!(schedule["late"].is_u64() && schedule["late_max_ns"].is_u64(), "{schedule}");
    }
}

/// What an earlier stage records a later one runs again, in the same run as in fio: the same
/// requests, on the same file or elsewhere, without those that are skipped, and in virtual time
/// too. An older file of that name is not what runs.
#[test]
fn what_an_earlier_stage_records_runs_again() {
    requires!("fio");
    let scratch = Scratch::new();
    let file = |name: &str, more: &str| {
        format!(
            "[rec]\nrw=randwrite\nsize=256k\nbs=4k\nio_size=128k\nfilename={name}\nwrite_iolog={name}.log\n\
             [play]\nstonewall\nread_iolog={name}.log\nreplay_no_stall=1\n{more}\n"
        )
    };
    for more in ["", "numjobs=2", "replay_redirect=elsewhere", "ioengine=null"] {
        let mut told = Vec::new();
        for name in ["theirs", "own"] {
            std::fs::write(scratch.join("j.fio"), file(name, more)).unwrap();
            let json = if name == "own" { report(&scratch, &["j.fio"]) } else { fio(scratch.path(), &["j.fio"]) };
            let jobs = json["jobs"].as_array().unwrap().iter();
            let ios = |job: &Value| ["read", "write"].map(|way| job[way]["total_ios"].as_u64());
            told.push(jobs.map(ios).collect::<Vec<_>>());
            // fio puts its requests behind those of an earlier run.
            let asked = requests(&scratch.join(&format!("{name}.log")));
            assert_eq!(asked.len(), 32, "{name}");
            std::fs::remove_file(scratch.join(&format!("{name}.log"))).unwrap();
            let _ = std::fs::remove_file(scratch.join("elsewhere"));
        }
        assert_eq!(told[1], told[0], "{more}");
        assert_eq!(told[1][1], [Some(0), Some(32)]);
    }
    // Of the older recording's one request nothing is run.
    std::fs::write(scratch.join("own.log"), "fio version 3 iolog\n0 f add\n0 f open\n1 f read 0 4096\n").unwrap();
    std::fs::write(scratch.join("j.fio"), file("own", "")).unwrap();
    assert_eq!(report(&scratch, &["j.fio"])["jobs"][1]["write"]["total_ios"].as_u64(), Some(32));
    let virtually = ["simulate", "fio", "--device=disk", "j.fio", "--output-format=json"];
    let json: Value = serde_json::from_str(&succeed(seawall(scratch.path()).args(virtually))).unwrap();
    assert_eq!(json["jobs"][1]["write"]["total_ios"].as_u64(), Some(32));
    // Where all of it is skipped nothing is left to run, and that fails the job, not the run.
    std::fs::write(scratch.join("j.fio"), file("own", "replay_skip=write")).unwrap();
    let ended = ours(&scratch, &["j.fio"]);
    assert!(ended.code == Some(1) && ended.err.contains("play: read_iolog=own.log: it has no requests"), "{ended:?}");
}

/// A record of blktrace's dump: `struct blk_io_trace` of the kernel's
/// `include/uapi/linux/blktrace_api.h`.
fn trace_record(time_ns: u64, sector: u64, bytes: u32, kind: u32) -> Vec<u8> {
    const MAGIC: u32 = 0x6561_7407;
    const QUEUE: u32 = 1;
    let device: u32 = 7 << 20;
    let mut record = Vec::new();
    record.extend(MAGIC.to_le_bytes());
    record.extend(1u32.to_le_bytes());
    record.extend(time_ns.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend((kind << 16 | QUEUE).to_le_bytes());
    record.extend(42u32.to_le_bytes());
    record.extend(device.to_le_bytes());
    // Processor, error, and no further bytes.
    record.extend([0; 8]);
    record
}

/// The same dump in blktrace's format is read by fio and by us, and both make the same requests of
/// it.
#[test]
fn a_dump_of_blktrace_is_what_fio_makes_of_it() {
    requires!("fio");
    let scratch = Scratch::new();
    let (read, write) = (1 << 0, 1 << 1);
    let mut dump = Vec::new();
    for index in 0..200u64 {
        // Places scattered over 1 MiB, 100 µs apart, every third a write of two blocks.
        let (kind, bytes) = if index % 3 == 0 { (write, 8192) } else { (read, 4096) };
        dump.extend(trace_record(5_000 + index * 100_000, index * 37 % 254 * 8, bytes, kind));
    }
    std::fs::write(scratch.join("dump"), dump).unwrap();
    std::fs::write(scratch.join("theirs"), vec![0; 1 << 20]).unwrap();
    let play = ["--read_iolog=dump", "--replay_no_stall=1"];
    let theirs = ["--name=f", "--replay_redirect=theirs", "--write_lat_log=f", "--log_offset=1"];
    let by_fio = fio(scratch.path(), &[&theirs[..], &play].concat());
    let by_us = report(&scratch, &[&["--name=u", "--replay_redirect=own", "--write_iolog=u.log"], &play[..]].concat());
    assert_eq!(counts(&by_us), [Some(133), Some(67)]);
    assert_eq!(counts(&by_us), counts(&by_fio));
    assert_eq!(requests(&scratch.join("u.log")), logged(&scratch.join("f_lat.1.log")));
    let cut = std::fs::read(scratch.join("dump")).unwrap();
    std::fs::write(scratch.join("cut"), &cut[..cut.len() - 5]).unwrap();
    let ended = ours(&scratch, &["--name=c", "--replay_redirect=own", "--read_iolog=cut"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("the last record is cut off"), "{}", ended.err);
}

/// A recording comes by the standard input as well, once.
#[test]
fn a_recording_comes_by_the_standard_input() {
    let scratch = Scratch::new();
    let first = report(&scratch, &["--name=a", "--rw=randread", "--size=64k", "--write_iolog=x.log"]);
    let play = |more: &[&str]| {
        let mut command = seawall(scratch.path());
        command.stdin(std::fs::File::open(scratch.join("x.log")).unwrap());
        command.args(["fio", "--output-format=json", "--name=a", "--read_iolog=-"]).args(more).output().unwrap()
    };
    let again: Value = serde_json::from_slice(&play(&[]).stdout).unwrap();
    assert_eq!((counts(&again), counts(&first)), ([Some(16), Some(0)], [Some(16), Some(0)]));
    let twice = play(&["--numjobs=2"]);
    let said = String::from_utf8(twice.stderr).unwrap();
    assert!(twice.status.code() == Some(2) && said.contains("can be read once only; leave numjobs out"), "{said}");
}

/// A recording may come from a Unix socket, as with fio: it is what the server there sends.
#[test]
fn a_socket_sends_a_recording() {
    let scratch = Scratch::new();
    let socket = std::os::unix::net::UnixListener::bind(scratch.join("s")).unwrap();
    let server = std::thread::spawn(move || {
        let (mut client, _) = socket.accept().unwrap();
        std::io::Write::write_all(&mut client, b"fio version 2 iolog\nf add\nf open\nf read 0 4096\nf read 8192 512\n")
    });
    let json = report(&scratch, &["--name=r", "--ioengine=null", "--read_iolog=s"]);
    server.join().unwrap().unwrap();
    assert_eq!(counts(&json), [Some(2), Some(0)]);
    // Nobody listens any more.
    let ended = ours(&scratch, &["--name=r", "--ioengine=null", "--read_iolog=s"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("r: read_iolog=s: Connection refused"), "{}", ended.err);
}

/// Each of two jobs makes 100 requests a second for 10 s: together 200 a second, and 100 one after
/// another, in stages or within one.
#[test]
fn the_list_divides_by_the_time_in_which_jobs_ran() {
    let scratch = Scratch::new();
    let jobs = |second: &str| {
        format!(
            "[global]\nrw=randread\nbs=4k\nsize=1g\nioengine=io_uring\nrate_iops=100\ntime_based\nruntime=10\n[a]\n[b]\n{second}"
        )
    };
    let seawall = |arguments: &[&str]| {
        let mut command = seawall(scratch.path());
        succeed(command.env(RESULTS, scratch.join("r.sqlite")).args(arguments))
    };
    for second in ["", "stonewall", "wait_for=a", "startdelay=15"] {
        std::fs::write(scratch.join("jobs.fio"), jobs(second)).unwrap();
        seawall(&["simulate", "fio", "--device", "flash", "jobs.fio"]);
    }
    let listed = seawall(&["results", "list"]);
    let rates: Vec<&str> = listed.lines().skip(1).map(|line| line.split_whitespace().nth(4).unwrap()).collect();
    assert_eq!(rates, ["200", "100", "100", "100"], "{listed}");
}
