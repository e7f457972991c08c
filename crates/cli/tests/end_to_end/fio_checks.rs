//! Checking data across jobs and runs, and what else a fio user types that once went wrong.

use crate::fio_command::{ours, report};
use crate::fio_likeness::theirs;
use crate::requires::{client, requires};
use crate::running::{Running, seawall, succeed};
use crate::scratch::{Scratch, damage};
use serde_json::Value;
use std::path::Path;

/// fio's surface scan: one job writes, another one of its own name reads and checks, in the same
/// run and in a later one, in any order. Damage is found with its place; exit code 1.
#[test]
fn a_job_checks_what_another_wrote() {
    let scratch = Scratch::new();
    let jobs = "[global]\nfilename=s\nsize=1m\nbs=4k\nverify=md5\n[write]\nrw=write\ndo_verify=0\n[scan]\nstonewall\nrw=read\n";
    std::fs::write(scratch.join("scan.fio"), jobs).unwrap();
    let json = report(&scratch, &["scan.fio"]);
    assert_eq!(json["jobs"][1]["seawall"]["verify"]["blocks"].as_u64(), Some(256), "{json}");
    let later = ["--name=later", "--filename=s", "--size=1m", "--bs=4k", "--rw=randread", "--verify=md5"];
    assert_eq!(ours(&scratch, &later).code, Some(0));
    damage(&scratch.join("s"));
    let ended = ours(&scratch, &later);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("s: at 40960: expected a block of offset 40960, found damaged data"), "{}", ended.err);
}

/// fio takes the same two jobs for right too.
#[test]
fn fio_checks_across_jobs_too() {
    requires!("fio");
    let scratch = Scratch::new();
    let jobs = "[global]\nfilename=s\nsize=1m\nbs=4k\nverify=md5\n[write]\nrw=write\ndo_verify=0\n[scan]\nstonewall\nrw=read\n";
    std::fs::write(scratch.join("scan.fio"), jobs).unwrap();
    succeed(client("fio").current_dir(scratch.path()).arg("scan.fio"));
}

/// Passes of writing and reading back have as many requests as in fio, where holes, pieces, an
/// amount or an offset make a pass shorter or longer than the region.
#[test]
fn passes_are_checked_as_by_fio() {
    requires!("fio");
    let scratch = Scratch::new();
    for options in [
        ["--rw=write:12k", "--offset=16k", "--loops=1"],
        ["--rw=write:4k", "--offset=16k", "--io_size=128k"],
        ["--rw=write", "--io_size=128k", "--loops=1"],
        ["--rw=write", "--io_size=200k", "--loops=2"],
        ["--rw=randwrite", "--io_size=128k", "--loops=1"],
        ["--rw=write:12k", "--offset=16k", "--verify_backlog=3"],
        ["--rw=write:12k", "--offset=16k", "--filesize=96k"],
        ["--rw=write:4k", "--offset=20k", "--filesize=96k"],
        ["--rw=write:12k", "--number_ios=5", "--loops=1"],
        ["--zonemode=strided", "--zonesize=16k", "--zoneskip=16k"],
        ["--zonemode=strided", "--zonesize=24k", "--zoneskip=24k"],
    ] {
        let line = [&["--rw=write", "--bs=4k", "--size=64k", "--verify=crc32c"][..], &options[..]].concat();
        let counts = |json: &Value| ["read", "write"].map(|way| json["jobs"][0][way]["total_ios"].as_u64());
        let fio = counts(&theirs(&scratch, &[&["--name=theirs"], &line[..]].concat()));
        let own = counts(&report(&scratch, &[&["--name=own"], &line[..]].concat()));
        assert_eq!(own, fio, "{options:?}");
        for file in ["theirs.0.0", "own.0.0"] {
            std::fs::remove_file(scratch.join(file)).unwrap();
        }
    }
}

/// Every kind of sum writes, reads back, and finds a byte that was changed.
#[test]
fn every_sum_finds_damage() {
    let scratch = Scratch::new();
    for sum in [
        "crc32c",
        "xxhash",
        "crc7",
        "crc16",
        "crc32",
        "crc64",
        "md5",
        "sha1",
        "sha256",
        "sha512",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "pattern",
        "pattern_hdr",
    ] {
        let (name, verify) = (format!("--name={sum}"), format!("--verify={sum}"));
        let line = [&name, &verify, "--rw=randwrite", "--size=256k", "--bs=4k", "--verify_pattern=0xabcdef"];
        let json = report(&scratch, &line);
        assert_eq!(json["jobs"][0]["seawall"]["verify"]["blocks"].as_u64(), Some(64), "{sum}");
        damage(&scratch.join(&format!("{sum}.0.0")));
        let ended = ours(&scratch, &[&line[..], &["--verify_only"]].concat());
        assert_eq!(ended.code, Some(1), "{sum}: {ended:?}");
        assert!(ended.err.contains("at 40960: "), "{sum}: {}", ended.err);
    }
}

/// timeout(1) sends its signal twice at once; the report is whole all the same.
#[test]
fn a_signal_that_comes_twice_asks_once() {
    let scratch = Scratch::new();
    let mut command = seawall(scratch.path());
    let endless = ["fio", "--name=n", "--ioengine=null", "--size=1m", "--time_based", "--runtime=3600", "--eta=always"];
    command.args(endless).args(["--output-format=json", "--output=report.json"]);
    let mut running = Running::start(command);
    running.wait_for("IOPS");
    let id = running.id().to_string();
    succeed(client("sh").args(["-c", &format!("kill -INT {id}; kill -INT {id}")]));
    let (status, lines) = running.end();
    assert_eq!(status.code(), Some(2), "{lines:?}");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(scratch.join("report.json")).unwrap()).unwrap();
    assert!(json["jobs"][0]["read"]["total_ios"].as_u64() > Some(0));
}

/// A device's name that was mistyped makes no file in /dev, as fio does for root.
#[test]
fn no_file_is_made_among_devices() {
    let scratch = Scratch::new();
    let name = "/dev/seawall-has-no-such-disk";
    for rw in ["--rw=read", "--rw=write"] {
        let ended = ours(&scratch, &["--name=d", &format!("--filename={name}"), rw, "--size=1m"]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains("no files are made in /dev; check the device's name"), "{}", ended.err);
        assert!(!Path::new(name).exists());
    }
}

/// Hyphens and underscores of long options are mixed up easily; both are taken.
#[test]
fn hyphens_stand_for_underscores() {
    let scratch = Scratch::new();
    let line = ["--name=h", "--ioengine=null", "--size=64k", "--continue-on-error=io", "--output_format=json"];
    let json = report(&scratch, &line);
    assert_eq!(json["jobs"][0]["job options"]["continue_on_error"], "io", "{json}");
}

/// Where a job's memory and threads are changes nothing of what it does: the data that is read back
/// is right.
#[test]
fn placement_and_polling_leave_the_data_alone() {
    let scratch = Scratch::new();
    let line = ["--rw=randwrite", "--size=1m", "--bs=4k", "--iodepth=8", "--ioengine=io_uring", "--verify=crc32c"];
    for (name, more) in [
        ("--name=poll", &["--sqthread_poll", "--sqthread_poll_cpu=0"][..]),
        ("--name=node", &["--numa_cpu_nodes=0", "--numa_mem_policy=local"]),
        ("--name=near", &["--direct=1"]),
    ] {
        let json = report(&scratch, &[&[name], &line[..], more].concat());
        let job = &json["jobs"][0];
        assert_eq!(job["seawall"]["verify"]["blocks"].as_u64(), Some(256), "{job}");
        assert_eq!((job["read"]["total_ios"].as_u64(), job["write"]["total_ios"].as_u64()), (Some(256), Some(256)));
    }
    let ended = ours(&scratch, &["--name=n", "--size=64k", "--numa_cpu_nodes=4000"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("numa_cpu_nodes: node 4000: "), "{}", ended.err);
}

/// A plain pattern runs through a block with the block's offset, whatever the interval: fio and we
/// write the same file.
#[test]
fn a_pattern_has_the_offset_of_its_block() {
    requires!("fio");
    let scratch = Scratch::new();
    let line = "--name=p --rw=write --size=64k --bs=4k --ioengine=psync --verify=pattern --verify_pattern=%o \
                --verify_interval=512";
    let words: Vec<&str> = line.split_whitespace().collect();
    theirs(&scratch, &[&words[..], &["--filename=theirs"]].concat());
    report(&scratch, &[&words[..], &["--filename=own"]].concat());
    let [theirs, own] = ["theirs", "own"].map(|name| std::fs::read(scratch.join(name)).unwrap());
    assert!(own == theirs, "{:?} against {:?}", &own[4096..4624], &theirs[4096..4624]);
}

/// What is wrong is left in files with fio's names: what was read, and what was expected where that
/// is known: by the number of its write, if the header still says that of the same data.
#[test]
fn wrong_data_is_dumped_as_by_fio() {
    let scratch = Scratch::new();
    let line = "--name=d --filename=vf --rw=write --size=64k --bs=16k --ioengine=psync --verify_interval=4k";
    for (verify, damaged, is_known) in [
        ("--verify=crc32c", 9000, true),
        ("--verify=crc32c --verify_offset=1024 --buffer_compress_percentage=50", 9000, true),
        ("--verify=crc32c", 8200, false),
        ("--verify=crc32c --dedupe_percentage=20", 9000, false),
        ("--verify=pattern_hdr --verify_pattern=0xabcd", 9000, true),
    ] {
        let place = damaged - 8192..damaged - 8188;
        let words: Vec<&str> = line.split(' ').chain(verify.split(' ')).collect();
        report(&scratch, &words);
        let file = std::fs::OpenOptions::new().write(true).open(scratch.join("vf")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"XXXX", damaged as u64).unwrap();
        let ended =
            ours(&scratch, &[&words[..], &["--verify_only", "--verify_dump=1", "--output-format=json"]].concat());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let read = |what: &str| std::fs::read(scratch.join(&format!("vf.8192.{what}"))).ok();
        let received = read("received").unwrap();
        assert_eq!((received.len(), &received[place.clone()]), (4096, &b"XXXX"[..]));
        assert!(ended.out.contains("received data dumped as vf.8192.received"), "{}", ended.out);
        let expected = read("expected");
        assert_eq!(expected.is_some(), is_known, "{verify} {damaged}");
        if let Some(mut expected) = expected {
            assert_ne!(expected, received);
            expected[place].copy_from_slice(b"XXXX");
            assert_eq!(expected, received, "nothing else is wrong");
        }
        for name in ["vf", "vf.8192.received", "vf.8192.expected"] {
            let _ = std::fs::remove_file(scratch.join(name));
        }
    }
}
