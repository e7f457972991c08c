//! fio's options beyond the first subset, each beside fio itself where both can be compared.

use crate::fio_command::{ours, report};
use crate::loop_mount::LoopMount;
use crate::requires::{client, requires};
use crate::running::{Running, run, seawall, succeed};
use crate::scratch::Scratch;
use serde_json::Value;
use std::path::Path;

/// Direction, offset and length of each request of an iolog, in order.
fn requests(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let words = |line: &str| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
    let is_request = |line: &&str| [" read ", " write ", " trim "].iter().any(|action| line.contains(action));
    text.lines().filter(is_request).map(words).collect()
}

/// Runs the same options by fio and by us, each on a file of its own; what each of them asked for.
pub fn both(scratch: &Scratch, options: &[&str]) -> [Vec<String>; 2] {
    let theirs = ["--name=j", "--filename=theirs", "--write_iolog=theirs.log", "--minimal"];
    succeed(client("fio").current_dir(scratch.path()).args(theirs).args(options));
    report(scratch, &[&["--name=j", "--filename=own", "--write_iolog=own.log"], options].concat());
    [requests(&scratch.join("theirs.log")), requests(&scratch.join("own.log"))]
}

/// The region piece by piece: 16 KiB in each 64, and 64 left out; and pieces that are gone through
/// twice.
#[test]
fn a_region_is_used_piece_by_piece() {
    requires!("fio");
    let scratch = Scratch::new();
    for sizes in [
        ["--zonesize=16k", "--zonerange=64k", "--zoneskip=64k"],
        ["--zonesize=128k", "--zonerange=64k", "--zoneskip=0"],
        ["--zonesize=64k", "--zonerange=64k", "--zoneskip=192k"],
        ["--zonesize=24k", "--zonerange=24k", "--zoneskip=300k"],
    ] {
        let options = [&["--rw=read", "--size=1m", "--bs=4k", "--zonemode=strided"], &sizes[..]].concat();
        let [theirs, own] = both(&scratch, &options);
        assert_eq!(own, theirs, "{sizes:?}");
        std::fs::remove_file(scratch.join("theirs.log")).unwrap();
    }
}

/// Appending begins behind what is there, for fio and for us.
#[test]
fn a_job_appends() {
    requires!("fio");
    let scratch = Scratch::new();
    let write = ["--rw=write", "--size=64k", "--bs=4k"];
    let [theirs, own] = both(&scratch, &write);
    assert_eq!(own, theirs);
    std::fs::remove_file(scratch.join("theirs.log")).unwrap();
    let [theirs, own] = both(&scratch, &[&write[..], &["--file_append=1"]].concat());
    assert_eq!(own, theirs);
    assert_eq!(own[0], "write 65536 4096");
    let sizes = ["theirs", "own"].map(|name| std::fs::metadata(scratch.join(name)).unwrap().len());
    assert_eq!(sizes, [128 << 10; 2]);
}

/// Writing until there is no space left, on a file system of 16 MiB: no failure, and the file has
/// all there was. Without the option the same is a failure with its kind, exit code 1.
#[test]
fn a_device_is_filled() {
    let Some(mount) = LoopMount::new(16) else { return };
    let file = format!("--filename={}", mount.point().join("f").display());
    let write = ["--name=j", "--rw=write", "--bs=64k", &file];
    let json = report(mount.beside(), &[&write[..], &["--fill_device=1", "--end_fsync=1"]].concat());
    let written = json["jobs"][0]["write"]["io_bytes"].as_u64().unwrap();
    let len = std::fs::metadata(mount.point().join("f")).unwrap().len();
    // Whole requests are counted; of the one that met the end a part may stand in the file.
    assert!(written > 8 << 20 && (written..written + (64 << 10)).contains(&len), "{written} of {len}");
    assert_eq!(json["jobs"][0]["error"], 0);
    std::fs::remove_file(mount.point().join("f")).unwrap();
    // A size is reached where there is space for it; where not, the end of the space is the end of
    // the job, as in fio.
    for more in [&["--size=4m"][..], &["--size=64m"], &["--size=64m", "--fallocate=none"]] {
        let line = [&write[..], &["--fill_device=1"], more].concat();
        let said = crate::requires::find("fio").map(|_| {
            let said =
                succeed(client("fio").current_dir(mount.beside().path()).arg("--output-format=json").args(&line));
            let len = std::fs::metadata(mount.point().join("f")).unwrap().len();
            std::fs::remove_file(mount.point().join("f")).unwrap();
            let json: Value = serde_json::from_str(&said[said.find('{').unwrap_or_default()..]).unwrap();
            (json["jobs"][0]["write"]["io_bytes"].as_u64().unwrap(), len)
        });
        let json = report(mount.beside(), &line);
        let own = (
            json["jobs"][0]["write"]["io_bytes"].as_u64().unwrap(),
            std::fs::metadata(mount.point().join("f")).unwrap().len(),
        );
        // fio counts the request that met the end; the mark of ours takes a block.
        let near = |(bytes, len): (u64, u64)| own.0.abs_diff(bytes) <= 128 << 10 && own.1.abs_diff(len) <= 128 << 10;
        assert!(said.is_none_or(near) && own.1 <= 16 << 20, "{more:?}: {own:?} against {said:?}");
        assert_eq!(json["jobs"][0]["error"], 0);
        std::fs::remove_file(mount.point().join("f")).unwrap();
    }
    let direct = ["--size=64m", "--fallocate=none", "--output-format=json"];
    let ended = ours(mount.beside(), &[&write[..], &direct].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["jobs"][0]["seawall"]["errors"]["no_space"].as_u64(), Some(1));
    assert_eq!(json["jobs"][0]["error"].as_i64(), Some(28));
    assert!(ended.err.contains("no space left (ENOSPC)"), "{}", ended.err);
}

/// A third of what was written is trimmed before it is checked, and reads as zeroes; a later run
/// knows which.
#[test]
fn trimmed_blocks_read_as_zeroes() {
    let scratch = Scratch::new();
    let load = ["--name=t", "--rw=randwrite", "--size=4m", "--bs=4k", "--iodepth=8", "--ioengine=io_uring"];
    let trims = ["--verify=crc32c", "--trim_percentage=33", "--trim_verify_zero=1", "--trim_backlog=100"];
    let job = &report(&scratch, &[&load[..], &trims].concat())["jobs"][0];
    let count = |way: &str| job[way]["total_ios"].as_u64().unwrap();
    assert_eq!((count("write"), count("read")), (1024, 1024));
    // 33 % of 1024 are 338, with a deviation of √(1024 × 0.33 × 0.67) = 15; four of them are 60.
    assert!(count("trim").abs_diff(338) < 60, "{}", count("trim"));
    let bytes = std::fs::read(scratch.join("t.0.0")).unwrap();
    let zeroes = bytes.chunks(4096).filter(|block| block.iter().all(|&byte| byte == 0)).count() as u64;
    assert_eq!(zeroes, count("trim"));
    assert_eq!(ours(&scratch, &[&load[..], &trims, &["--verify_only"]].concat()).code, Some(0));
    // A trim that the storage forgot.
    let at = bytes.chunks(4096).position(|block| block.iter().all(|&byte| byte == 0)).unwrap() as u64 * 4096;
    let file = std::fs::OpenOptions::new().write(true).open(scratch.join("t.0.0")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[7], at + 9).unwrap();
    let ended = ours(&scratch, &[&load[..], &trims, &["--verify_only"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let said = format!("at {at}: expected zeroes, because it was trimmed, found 0x07 at byte 9");
    assert!(ended.err.contains(&said), "{said}: {}", ended.err);
}

/// The header stands where it was put, and blocks are checked in batches of the backlog; the data
/// is right all the same.
#[test]
fn headers_stand_elsewhere_and_backlogs_have_batches() {
    let scratch = Scratch::new();
    let line = ["--name=h", "--rw=randwrite", "--size=1m", "--bs=4k", "--verify=xxhash", "--verify_offset=1024"];
    let batches = ["--verify_backlog=64", "--verify_backlog_batch=16", "--iodepth=4", "--ioengine=io_uring"];
    let json = report(&scratch, &[&line[..], &batches].concat());
    assert_eq!(json["jobs"][0]["seawall"]["verify"]["blocks"].as_u64(), Some(256), "each block once");
    let bytes = std::fs::read(scratch.join("h.0.0")).unwrap();
    assert!(bytes.chunks(4096).all(|block| &block[1024..1028] == b"SWv1" && &block[..4] != b"SWv1"));
    assert_eq!(ours(&scratch, &[&line[..], &["--verify_only"]].concat()).code, Some(0));
    assert_eq!(ours(&scratch, &[&line[..5], &["--verify_only"]].concat()).code, Some(1), "it looks at the front");
    let ended =
        ours(&scratch, &["--name=h", "--rw=write", "--size=1m", "--bs=512", "--verify=crc32c", "--verify_offset=500"]);
    assert!(ended.code == Some(2) && ended.err.contains("a header of 48 does not fit"), "{ended:?}");
}

/// Three loops, each on a new file: the file at the end has an inode of its own, and the bytes of
/// one loop.
#[test]
fn files_are_made_anew_for_each_loop() {
    use std::os::unix::fs::MetadataExt as _;
    let scratch = Scratch::new();
    let line = ["--name=l", "--rw=write", "--size=256k", "--bs=4k", "--filename=f"];
    report(&scratch, &line);
    let kept = std::fs::File::open(scratch.join("f")).unwrap();
    for engine in ["psync", "io_uring"] {
        let engine = format!("--ioengine={engine}");
        let json = report(&scratch, &[&line[..], &["--loops=3", "--unlink_each_loop=1", &engine]].concat());
        // 3 × 64 blocks.
        assert_eq!(json["jobs"][0]["write"]["total_ios"].as_u64(), Some(192));
        let now = std::fs::metadata(scratch.join("f")).unwrap();
        assert_ne!(now.ino(), kept.metadata().unwrap().ino());
        assert_eq!(now.len(), 256 << 10);
    }
    // What is removed at the end must be ours too, even where it is only read.
    std::fs::write(scratch.join("theirs"), vec![1; 65_536]).unwrap();
    let ended = ours(&scratch, &["--name=u", "--rw=read", "--filename=theirs", "--unlink=1"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("theirs: will not be removed: it is a file of 64 KiB"), "{}", ended.err);
    assert!(scratch.join("theirs").exists());
    // A file of our own is not removed either with --readonly.
    let ended = ours(&scratch, &["--name=u", "--rw=read", "--filename=f", "--unlink=1", "--readonly"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("u: unlink removes the files, and --readonly forbids that"), "{}", ended.err);
    assert!(scratch.join("f").exists());
}

/// Commands run before and after the job, their output in fio's files; one that fails fails the
/// job.
#[test]
fn commands_run_around_a_job() {
    let scratch = Scratch::new();
    let job = ["--name=c", "--ioengine=null", "--size=1m", "--rw=read"];
    let around = ["--exec_prerun=echo before", "--exec_postrun=test -f c.prerun.txt && echo after"];
    report(&scratch, &[&job[..], &around].concat());
    let said = |name: &str| std::fs::read_to_string(scratch.join(name)).unwrap();
    assert_eq!((said("c.prerun.txt").as_str(), said("c.postrun.txt").as_str()), ("before\n", "after\n"));
    let ended = ours(&scratch, &[&job[..], &["--exec_prerun=echo no >&2; exit 4", "--output-format=json"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("ended with exit status: 4; its output is in c.prerun.txt"), "{}", ended.err);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["jobs"][0]["read"]["total_ios"].as_u64(), Some(0), "nothing was asked");
}

/// The nice value and the class of its I/O are the job's own thread's while it runs: a command of
/// the job sees both.
#[test]
fn a_job_has_its_priority() {
    requires!("ionice", "ps");
    let scratch = Scratch::new();
    // The shell is a child of the job's thread and inherits from it.
    let look = "--exec_prerun=ionice -p $$; ps -o ni= -p $$";
    report(&scratch, &["--name=p", "--ioengine=null", "--size=1m", "--nice=7", "--prioclass=3", look]);
    let said = std::fs::read_to_string(scratch.join("p.prerun.txt")).unwrap();
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["idle", "7"]);
}

/// The end of a job ends those of its group, all, or none, as fio has it: who has a runtime of an
/// hour is cut short.
#[test]
fn exitall_ends_what_it_says() {
    let scratch = Scratch::new();
    let endless = |name: &str, more: &str| format!("[{name}]\n{more}\ntime_based\nruntime=3600\n");
    let file = |exit: &str| {
        format!(
            "[global]\nioengine=null\nsize=1m\n[short]\n{exit}\n{}[last]\nstonewall\nnumber_ios=10\n",
            endless("beside", "")
        )
    };
    for (exit, last) in [("exitall", 10), ("exitall\nexit_what=stonewall", 10), ("exitall\nexit_what=all", 0)] {
        std::fs::write(scratch.join("j.fio"), file(exit)).unwrap();
        let json = report(&scratch, &["j.fio"]);
        let job = |index: usize| &json["jobs"][index];
        assert_eq!(job(0)["seawall"]["interrupted"], false, "{exit}");
        assert_eq!(job(1)["seawall"]["interrupted"], true, "{exit}");
        assert_eq!(job(2)["read"]["total_ios"].as_u64(), Some(last), "{exit}");
    }
}

/// Reports while it runs: the JSON is one document with all of them in it, whose counts rise; a
/// file holds one whole document at any time. The normal output comes again and again.
#[test]
fn reports_in_between_stand_in_one_document() {
    let scratch = Scratch::new();
    let line =
        ["--name=a", "--ioengine=null", "--size=1m", "--rw=randread", "--thinktime=1ms", "--time_based", "--runtime=3"];
    let two = ["--name=b", "--ioengine=null", "--size=1m", "--stonewall", "--number_ios=100"];
    let json = report(&scratch, &[&["--status-interval=1"], &line[..], &two].concat());
    let interim = json["seawall"]["interim"].as_array().unwrap();
    assert!((1..=3).contains(&interim.len()), "{}", interim.len());
    let counts: Vec<u64> = interim.iter().map(|one| one["jobs"][0]["read"]["total_ios"].as_u64().unwrap()).collect();
    assert!(counts[0] > 0 && counts.is_sorted(), "{counts:?}");
    assert!(json["jobs"][0]["read"]["total_ios"].as_u64() >= counts.last().copied());
    assert_eq!(interim[0]["jobs"][1]["read"]["total_ios"].as_u64(), Some(0), "it has not begun");
    // The kernel shares out by ticks: which half of so little a job's time falls in is chance.
    let cpu = |which: &str| interim[0]["jobs"][0][which].as_f64().unwrap();
    assert!(cpu("usr_cpu") + cpu("sys_cpu") > 0.0, "{json}");

    let ended = ours(&scratch, &[&["--status-interval=1"], &line[..]].concat());
    let reports = ended.out.matches("a: (groupid=0, jobs=1): err= 0").count();
    assert!((2..=4).contains(&reports), "{}", ended.out);
    assert_eq!(ended.out.matches("Starting 1 thread").count(), 1, "{}", ended.out);

    // Killed without warning, the last whole document is there.
    let mut command = seawall(scratch.path());
    let endless = ["--time_based", "--runtime=3600", "--status-interval=1", "--output-format=json", "--output=r.json"];
    command.arg("fio").args(&line[..5]).args(endless).arg("--eta=always");
    let mut load = Running::start(command);
    while !scratch.join("r.json").exists() {
        load.wait_for("IOPS");
    }
    load.signal("KILL");
    load.end();
    let json: Value = serde_json::from_str(&std::fs::read_to_string(scratch.join("r.json")).unwrap()).unwrap();
    assert!(json["jobs"][0]["read"]["total_ios"].as_u64() > Some(0));
}

/// JSON is one valid document whatever happens: with errors, with several groups, and where nothing
/// was run.
#[test]
fn json_is_always_one_document() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("theirs"), "precious").unwrap();
    let refused =
        ours(&scratch, &["--output-format=json", "--name=w", "--rw=write", "--filename=theirs", "--size=64k"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let json: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!(json["jobs"][0]["error"].as_i64(), Some(22));
    assert!(json["jobs"][0]["seawall"]["error"].as_str().unwrap().starts_with("theirs: will not be written"), "{json}");
    let groups = "[global]\nioengine=null\nsize=1m\n[a]\nnumjobs=2\ngroup_reporting\n[b]\nnew_group\n[c]\nstonewall\n";
    std::fs::write(scratch.join("g.fio"), groups).unwrap();
    let json = report(&scratch, &["g.fio", "--status-interval=1"]);
    let ids: Vec<u64> = json["jobs"].as_array().unwrap().iter().map(|job| job["groupid"].as_u64().unwrap()).collect();
    assert_eq!(ids, [0, 1, 2]);
}

/// The bandwidth of all jobs together: the rows' bytes are those of the report.
#[test]
fn all_bandwidth_together_is_logged() {
    let scratch = Scratch::new();
    let shared = ["--bandwidth-log", "--ioengine=null", "--size=1m", "--bs=4k", "--rate_iops=500", "--rw=read"];
    let jobs = ["--time_based", "--runtime=2", "--name=a", "--name=b", "--startdelay=1"];
    let json = report(&scratch, &[&shared[..], &jobs].concat());
    let bytes: u64 = (0..2).map(|job| json["jobs"][job]["read"]["io_bytes"].as_u64().unwrap()).sum();
    let text = std::fs::read_to_string(scratch.join("agg-read_bw.log")).unwrap();
    let rows: Vec<Vec<u64>> =
        text.lines().map(|line| line.split(", ").map(|word| word.parse().unwrap()).collect()).collect();
    assert!(
        rows.iter().enumerate().all(|(at, row)| row[0] == (at as u64 + 1) * 500 && row[2..] == [0, 0, 0]),
        "{text}"
    );
    // Half a second each, and a little more where the machine was late. Without one of the rows a
    // twelfth would be missing.
    let logged: u64 = rows.iter().map(|row| row[1] * 512).sum();
    assert!(logged.abs_diff(bytes) <= bytes / 20, "{logged} of {bytes}\n{text}");
    assert!(scratch.join("agg-trim_bw.log").exists());
}

/// A verified writer that is stopped in the middle leaves how far it came; a later check expects
/// that and no more. Without it the blocks that were never written are wrong.
#[test]
fn a_stopped_writer_is_checked_as_far_as_it_came() {
    let scratch = Scratch::new();
    let write = ["--name=s", "--rw=randwrite", "--bs=4k", "--size=8m", "--iodepth=4", "--ioengine=io_uring"];
    let verify = ["--verify=crc32c", "--verify_state_save=1", "--do_verify=0"];
    let mut command = seawall(scratch.path());
    command.arg("fio").args(write).args(verify).args(["--rate_iops=100", "--eta=always"]);
    let mut writer = Running::start(command);
    // 2048 blocks at 100 a second take 20 s; it is stopped after the first news.
    writer.wait_for(" left");
    writer.signal("INT");
    assert_eq!(writer.end().0.code(), Some(2));
    let state = std::fs::read_to_string(scratch.join("local-s-0-verify.state")).unwrap();
    let writes: u64 = state.lines().last().unwrap().strip_prefix("writes ").unwrap().parse().unwrap();
    assert!((1..2048).contains(&writes), "{state}");
    let check = ["--verify=crc32c", "--verify_only", "--verify_state_load=1"];
    let json = report(&scratch, &[&write[..], &check].concat());
    // No place twice, as each block comes once in a pass.
    assert_eq!(json["jobs"][0]["seawall"]["verify"]["blocks"].as_u64(), Some(writes));
    assert_eq!(ours(&scratch, &[&write[..], &check[..2]].concat()).code, Some(1));
    let other = ours(&scratch, &[&write[..], &check, &["--randseed=5"]].concat());
    assert!(other.code == Some(2) && other.err.contains("run the same options"), "{other:?}");
}

/// Averaged logs of latencies tell the longest where that is asked: of the same run's requests,
/// none is above it.
#[test]
fn logs_tell_the_longest() {
    let scratch = Scratch::new();
    let line = ["--name=m", "--rw=randread", "--size=1m", "--loops=20", "--write_lat_log=m", "--log_avg_msec=100000"];
    let json = report(&scratch, &[&line[..], &["--log_max_value=1"]].concat());
    let text = std::fs::read_to_string(scratch.join("m_clat.1.log")).unwrap();
    let row: Vec<&str> = text.trim().split(", ").collect();
    // One interval holds all.
    assert_eq!(row[1].parse::<u64>().ok(), json["jobs"][0]["read"]["clat_ns"]["max"].as_u64(), "{text}");
}

/// An option that fio has and we refuse names itself and what is nearest, or why it makes no sense
/// here.
#[test]
fn what_is_not_there_is_never_ignored() {
    let scratch = Scratch::new();
    let said = run(seawall(scratch.path()).args(["fio", "--name=a", "--ioengine=null", "--size=1m", "--zonemode=zbd"]));
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("zonemode=zbd: "), "{}", said.err);
}

/// How many of the names of `filename` are used, and how long each file is: all of them, unless
/// `nrfiles` stands behind; in a section of a job file names come last, wherever they stand.
#[test]
fn as_many_names_are_used_as_nrfiles_says() {
    requires!("fio");
    let line = ["--name=j", "--rw=write", "--size=3m"];
    for options in [
        &["--filename=x:y:z"][..],
        &["--filename=x:y:z", "--nrfiles=2"],
        &["--nrfiles=2", "--filename=x:y:z"],
        &["--filename=x:y", "--nrfiles=4"],
        &["a.fio"],
        &["b.fio"],
    ] {
        let made = |fio: bool| {
            let scratch = Scratch::new();
            let section = "[a]\nrw=write\nsize=3m\n";
            std::fs::write(scratch.join("a.fio"), format!("{section}filename=x:y:z\nnrfiles=2\n")).unwrap();
            let global = "[global]\nfilename=x:y:z\n";
            std::fs::write(scratch.join("b.fio"), format!("{global}{section}nrfiles=2\n")).unwrap();
            let line = if options[0].starts_with("--") { &line[..] } else { &[] };
            let ended = match fio {
                true => run(client("fio").current_dir(scratch.path()).args(line).args(options)),
                false => ours(&scratch, &[line, options].concat()),
            };
            assert_eq!(ended.code, Some(0), "{options:?}: {ended:?}");
            ["x", "y", "z"].map(|name| std::fs::metadata(scratch.join(name)).ok().map(|about| about.len()))
        };
        assert_eq!(made(false), made(true), "{options:?}");
    }
}

/// `--enghelp` knows every engine that a job may name, alone and by name; another is an error.
#[test]
fn engines_are_described() {
    let scratch = Scratch::new();
    let all = ours(&scratch, &["--enghelp"]);
    for (name, about, option) in [
        ("mmap", "page cache", None),
        ("falloc", "takes space", None),
        ("joined", "several places", Some("uri")),
        ("libaio", "io_uring in its place", Some("sqthread_poll")),
        ("io_uring", "asynchronous", Some("registerfiles")),
        ("psync", "one system call", None),
    ] {
        assert!(all.out.lines().any(|line| line.trim().starts_with(name)), "{name}: {}", all.out);
        let one = ours(&scratch, &[&format!("--enghelp={name}")]);
        assert_eq!(one.code, Some(0), "{one:?}");
        assert!(one.out.starts_with(&format!("{name}: ")) && one.out.contains(about), "{one:?}");
        let has_none = one.out.contains("It has no options of its own.");
        let is_listed = |option: &str| one.out.lines().any(|line| line.starts_with(&format!("  {option} ")));
        assert!(option.map_or(has_none, is_listed), "{one:?}");
    }
    let one = ours(&scratch, &["--enghelp=nbd,uri"]);
    assert!(one.out.starts_with("uri: the export of ioengine=nbd"), "{one:?}");
    let none = ours(&scratch, &["--enghelp=nbd,bs"]);
    assert!(none.code == Some(2) && none.err.contains("nbd has no option bs"), "{none:?}");
    for (name, why) in [("nosuch", "there is no engine nosuch"), ("rbd", "the nearest is nbd")] {
        let ended = ours(&scratch, &[&format!("--enghelp={name}")]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
        assert!(ended.err.contains(why), "{}", ended.err);
    }
}
