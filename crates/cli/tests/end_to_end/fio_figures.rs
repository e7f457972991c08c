//! Figures, lengths and rows that a script would compare, beside fio's own of the same job.

use crate::fio_command::{ours, report};
use crate::fio_likeness::theirs;
use crate::fio_options::both;
use crate::requires::{client, requires};
use crate::running::succeed;
use crate::scratch::Scratch;
use serde_json::Value;
use std::os::unix::fs::MetadataExt as _;

/// Submission is told where a request is handed over, and of no call that blocks; the log of it is
/// empty then.
#[test]
fn submission_is_told_where_requests_are_handed_over() {
    requires!("fio");
    let scratch = Scratch::new();
    for engine in [
        &["--ioengine=psync"][..],
        &["--ioengine=pvsync2"],
        &["--ioengine=null"],
        &["--ioengine=null", "--iodepth=4"],
        &["--ioengine=libaio", "--iodepth=4"],
    ] {
        let job = ["--name=s", "--size=64k", "--rw=read", "--write_lat_log=l"];
        let line = [&job[..], engine].concat();
        let counts = |json: Value| {
            let side = &json["jobs"][0]["read"];
            let log = std::fs::read_to_string(scratch.join("l_slat.1.log")).unwrap();
            (["slat_ns", "clat_ns", "lat_ns"].map(|kind| side[kind]["N"].as_u64()), log.lines().count())
        };
        let fio = counts(theirs(&scratch, &[&line[..], &["--filename=theirs"]].concat()));
        assert_eq!(counts(report(&scratch, &[&line[..], &["--filename=own"]].concat())), fio, "{engine:?}");
    }
}

/// 125 requests at 200 a second end at 620 ms: of intervals of 250 ms two are whole, which
/// bandwidth and IOPS are told of; latencies are told of the third too.
#[test]
fn averaged_logs_have_fios_rows() {
    requires!("fio");
    let scratch = Scratch::new();
    let job = ["--name=l", "--ioengine=null", "--rw=read", "--bs=4k", "--size=500k", "--rate_iops=200"];
    let logs = ["--log_avg_msec=250", "--write_bw_log=l", "--write_iops_log=l", "--write_lat_log=l"];
    let rows = || {
        let rows = |kind| std::fs::read_to_string(scratch.join(&format!("l_{kind}.1.log"))).unwrap().lines().count();
        ["bw", "iops", "lat", "clat", "slat"].map(rows)
    };
    theirs(&scratch, &[&job[..], &logs].concat());
    let fio = rows();
    report(&scratch, &[&job[..], &logs].concat());
    assert_eq!((rows(), fio), ([2, 2, 3, 3, 0], [2, 2, 3, 3, 0]));
}

/// Length and space of a file that only writes fill, before and after: by whether it has a length
/// and space ahead. The list of its parts, and our mark, may take a block of the file system each:
/// 8 of 512 bytes.
#[test]
fn files_are_as_long_as_fallocate_says() {
    requires!("fio");
    let scratch = Scratch::new();
    for ahead in ["none", "keep", "truncate", "native", "posix"] {
        for more in ["--create_only=1", "--io_size=64k", "--io_size=1m"] {
            let file = format!("{ahead}{}", &more[2..6]);
            let fallocate = format!("--fallocate={ahead}");
            let job = ["--name=f", "--rw=write", "--size=1m", "--bs=16k", &fallocate, more];
            let about = |name: String| {
                let about = std::fs::metadata(scratch.join(&name)).unwrap();
                std::fs::remove_file(scratch.join(&name)).unwrap();
                (about.len(), about.blocks())
            };
            theirs(&scratch, &[&job[..], &[&format!("--filename={file}.theirs")]].concat());
            report(&scratch, &[&job[..], &[&format!("--filename={file}.own")]].concat());
            let (fio, own) = (about(format!("{file}.theirs")), about(format!("{file}.own")));
            assert!(own.0 == fio.0 && own.1.abs_diff(fio.1) <= 16, "{ahead} {more}: {own:?} against {fio:?}");
        }
    }
    // Who reads what such a job writes finds all of it, whether the size is said or taken from
    // there.
    for size in ["", "size=256k\n"] {
        let file = "[w]\nrw=write\nfallocate=none\nfilename=f\nsize=256k\n";
        std::fs::write(scratch.join("j.fio"), format!("{file}[r]\nstonewall\nrw=read\nfilename=f\n{size}")).unwrap();
        let json = report(&scratch, &["j.fio"]);
        assert_eq!(json["jobs"][1]["read"]["io_bytes"].as_u64(), Some(256 << 10), "{size}");
        std::fs::remove_file(scratch.join("f")).unwrap();
    }
}

/// Lengths by whether a request is in order or at a random place: the same requests where chance
/// has no say, and the same share of long ones where it has. Of some 900 of each a share deviates
/// by 1.2 percent points at most.
#[test]
fn lengths_may_go_by_the_order() {
    requires!("fio");
    let scratch = Scratch::new();
    // fio's map of places, of blocks of both sizes, would cut some of them.
    let job = ["--ioengine=null", "--size=16m", "--bs=4k,32k", "--bs_is_seq_rand=1", "--norandommap"];
    let share = |requests: &[String]| {
        let long = requests.iter().filter(|request| request.ends_with(" 32768")).count();
        assert!(requests.iter().all(|request| request.ends_with(" 32768") || request.ends_with(" 4096")));
        long as f64 * 100.0 / requests.len() as f64
    };
    for (kind, percent, expected) in [
        ("--rw=write", "--percentage_random=100", 0.0),
        ("--rw=randread", "--percentage_random=100", 100.0),
        ("--rw=randread", "--percentage_random=50", 50.0),
    ] {
        let [fio, own] = both(&scratch, &[&job[..], &[kind, percent]].concat()).map(|requests| share(&requests));
        assert!((fio - expected).abs() < 6.0 && (own - expected).abs() < 6.0, "{kind}: fio {fio:.1}, ours {own:.1}");
        std::fs::remove_file(scratch.join("theirs.log")).unwrap();
    }
    let said = ours(&scratch, &["--name=b", "--rw=randread", "--parse-only", job[1], job[2], job[3]]);
    assert!(said.out.contains("4 KiB in order and 32 KiB at random places"), "{}", said.out);
}

/// The same job, printed by both for people: each kind of line that fio prints begins so in ours
/// too.
#[test]
fn lines_for_people_begin_as_fios() {
    requires!("fio");
    let scratch = Scratch::new();
    let job = ["--name=p", "--rw=write", "--size=1m", "--bs=4k", "--fsync=32", "--description=of one"];
    let fio = succeed(client("fio").current_dir(scratch.path()).args(job).arg("--filename=theirs"));
    let own = ours(&scratch, &[&job[..], &["--filename=own"]].concat());
    let kinds = |text: &str| -> Vec<String> {
        let kept =
            text.lines().filter(|line| line.starts_with(' ') && !line.contains('|') && line.contains(['=', ':']));
        // Without figures, and without the unit in which they are told.
        let head = |line: &str| line.split(['=', '(']).next().unwrap_or_default().trim_end().to_owned();
        let mut kinds: Vec<String> = kept.map(head).collect();
        // What is too short for fio to tell, how latencies spread by chance, and which devices are
        // there.
        kinds.retain(|kind| !kind.contains("lat") || kind.contains("clat") || kind.starts_with("     "));
        kinds.retain(|kind| !["   bw", "   iops        : min", "  vda: ios"].contains(&kind.as_str()));
        kinds
    };
    let (fio, own) = (kinds(&fio), kinds(&own.out));
    let missing: Vec<&String> = fio.iter().filter(|kind| !own.contains(kind)).collect();
    assert!(missing.is_empty() && fio.len() > 8, "{missing:?} of {fio:?} in {own:?}");
}

/// In the folder of `--aux-path` stands the state of a verified run and nothing else: logs and
/// outputs are where fio leaves them.
#[test]
fn aux_path_keeps_states_alone() {
    requires!("fio");
    let mut seen = Vec::new();
    for fio in [true, false] {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.join("aux")).unwrap();
        let job = ["--name=a", "--rw=write", "--size=64k", "--verify=crc32c", "--verify_state_save=1"];
        let kept = ["--aux-path=aux", "--output=o", "--write_lat_log=l", "--write_iolog=i", "--bandwidth-log"];
        let line = [&job[..], &kept].concat();
        match fio {
            true => drop(succeed(client("fio").current_dir(scratch.path()).args(line))),
            false => assert_eq!(ours(&scratch, &line).code, Some(0)),
        }
        let names = |folder: &str| -> Vec<String> {
            let entries = std::fs::read_dir(scratch.join(folder)).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
            names.sort_unstable();
            names
        };
        seen.push((names("."), names("aux")));
    }
    assert_eq!(seen[1], seen[0]);
    assert_eq!(seen[1].1, ["local-a-0-verify.state"]);
}

/// `/dev/null` and `/dev/zero`, by which the tool itself is measured, are loaded with the size that
/// is given: 256 requests by either engine. `/dev/null` has nothing to read, and no other character
/// device is opened.
#[test]
fn null_and_zero_are_loaded_as_by_fio() {
    let scratch = Scratch::new();
    let ios = |json: &Value| ["read", "write"].map(|way| json["jobs"][0][way]["total_ios"].as_u64().unwrap());
    for engine in ["--ioengine=psync", "--ioengine=io_uring"] {
        let line = |device, rw| ["--name=n", "--bs=4k", "--size=1m", "--iodepth=4", engine, device, rw];
        let filled = report(&scratch, &line("--filename=/dev/null", "--rw=randwrite"));
        assert_eq!(ios(&filled), [0, 256], "{engine}");
        let read = report(&scratch, &[&line("--filename=/dev/zero", "--rw=read")[..], &["--pre_read=1"]].concat());
        assert_eq!(ios(&read), [256, 0], "{engine}");
        assert_eq!(ios(&report(&scratch, &line("--filename=/dev/zero", "--rw=rw"))).iter().sum::<u64>(), 256);
        let empty =
            ours(&scratch, &[&line("--filename=/dev/null", "--rw=read")[..], &["--output-format=json"]].concat());
        let json: Value = serde_json::from_str(&empty.out).unwrap();
        assert_eq!((empty.code, json["jobs"][0]["error"].as_u64()), (Some(1), Some(5)), "{empty:?}");
        let other = ours(&scratch, &line("--filename=/dev/full", "--rw=write"));
        assert!(other.code == Some(2) && other.err.contains("is neither a file nor a block device"), "{other:?}");
    }
    let job = ["--name=n", "--rw=write", "--size=1m", "--filename=/dev/null"];
    let direct = ours(&scratch, &[&job[..], &["--direct=1"]].concat());
    assert!(direct.code == Some(2) && direct.err.contains("/dev/null"), "{direct:?}");
    report(&scratch, &[&job[..], &["--unlink=1"]].concat());
    assert!(std::path::Path::new("/dev/null").exists(), "a device stays");
    requires!("fio");
    let line = ["--name=n", "--bs=4k", "--size=1m", "--ioengine=psync", "--filename=/dev/null", "--rw=randwrite"];
    assert_eq!(ios(&theirs(&scratch, &line)), [0, 256]);
}
