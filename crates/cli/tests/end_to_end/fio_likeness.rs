//! What fio does and a reader of its manual would not guess, beside fio itself where both can be
//! compared.

use crate::fio_command::{ours, report};
use crate::fio_options::both;
use crate::requires::{client, requires};
use crate::running::{run, succeed};
use crate::scratch::Scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;

/// fio's JSON of these arguments.
pub fn theirs(scratch: &Scratch, arguments: &[&str]) -> Value {
    let said = succeed(client("fio").current_dir(scratch.path()).arg("--output-format=json").args(arguments));
    serde_json::from_str(&said[said.find('{').unwrap_or_default()..]).unwrap()
}

/// A least rate for all directions holds for those that the job has. One that is not reached fails
/// the job.
#[test]
fn a_least_rate_is_judged_by_what_the_job_does() {
    let scratch = Scratch::new();
    // A rest behind each request, so that what is judged takes little processor time.
    let job =
        ["--name=r", "--ioengine=null", "--size=1m", "--rw=randread", "--thinktime=1ms", "--time_based", "--runtime=4"];
    for least in ["--rate_min=4k", "--rate_iops_min=1", "--rate_iops=200 --rate_iops_min=10"] {
        report(&scratch, &[&job[..], &least.split(' ').collect::<Vec<_>>()].concat());
    }
    // A pause of 100 ms behind each request leaves ten a second.
    let slow = ["--thinktime=100ms", "--rate_iops_min=1000", "--output-format=json"];
    let ended = ours(&scratch, &[&job[..], &slow].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("operations a second, below the least that must be reached: 1000"), "{}", ended.err);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["jobs"][0]["error"].as_i64(), Some(5), "as in fio");
}

/// Percent of the requests that the most asked block has, and the most asked tenth of 4096 blocks.
fn hottest(places: &[String]) -> [f64; 2] {
    let mut counts = BTreeMap::<&str, u32>::new();
    places.iter().for_each(|place| *counts.entry(place.as_str()).or_default() += 1);
    let mut sorted: Vec<u32> = counts.into_values().collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    [1, 410].map(|blocks| sorted.iter().take(blocks).sum::<u32>() as f64 * 100.0 / places.len() as f64)
}

/// What is asked most is asked as often as with fio's own generators. Shares of 51 200 draws
/// deviate by 0.22 percent points at most, and fio's zipf is an approximation whose first tenth has
/// a point more.
#[test]
fn chance_is_spread_as_by_fio() {
    requires!("fio");
    let scratch = Scratch::new();
    let shapes = ["pareto:0.2", "pareto:0.9", "zipf:0.8", "zipf:1.2", "normal:5", "normal:20", "normal:60"];
    for shape in shapes.into_iter().chain(["zoned:60/10:30/20:10/70", "zoned_abs:80/1m:20/15m", "random"]) {
        let shape = format!("--random_distribution={shape}");
        let options =
            ["--ioengine=null", "--rw=randread", "--bs=4k", "--size=16m", "--io_size=200m", "--norandommap", &shape];
        let [fio, own] = both(&scratch, &options).map(|places| hottest(&places));
        for (fio, own) in fio.into_iter().zip(own) {
            assert!((fio - own).abs() < 2.0, "{shape}: fio {fio:.2} %, ours {own:.2} %");
        }
        std::fs::remove_file(scratch.join("theirs.log")).unwrap();
    }
}

/// Holes go around the end where they lead over it, and end the job where they meet it.
#[test]
fn holes_go_around_as_in_fio() {
    requires!("fio");
    let scratch = Scratch::new();
    for options in [
        ["--rw=read:8k", "--size=64k", "--loops=1"],
        ["--rw=read:12k", "--size=64k", "--loops=1"],
        ["--rw=write:20k", "--size=64k", "--loops=1"],
        ["--rw=read:8k", "--size=64k", "--io_size=100k"],
        ["--rw=read:-8k", "--size=64k", "--loops=1"],
        ["--rw=read:-12k", "--size=32k", "--loops=1"],
        ["--rw=read:4k", "--offset=16k", "--size=48k"],
        ["--rw=write:100k", "--offset=16k", "--size=64k"],
        ["--rw=write:12k", "--size=64k", "--filesize=96k"],
    ] {
        let [fio, own] = both(&scratch, &[&options[..], &["--bs=4k"]].concat());
        assert_eq!(own, fio, "{options:?}");
        std::fs::remove_file(scratch.join("theirs.log")).unwrap();
    }
}

/// Clones begin where fio's begin, whose numbers count down, and files become as long as with fio.
/// A part in percent is one of the file as the clone finds it: nothing of one that is missing, more
/// of one that an earlier clone made longer.
#[test]
fn clones_begin_where_those_of_fio_begin() {
    requires!("fio");
    let scratch = Scratch::new();
    let file = scratch.join("f");
    for (there, options) in [
        (0, "--size=4m --offset_increment=128k --numjobs=4"),
        (0, "--size=4m --offset_increment=10% --numjobs=4"),
        (1 << 20, "--size=4m --offset_increment=10% --numjobs=3"),
        (0, "--size=4m --offset=10% --numjobs=3"),
        (8 << 20, "--size=2m --offset=10% --offset_increment=10% --numjobs=3"),
        (8 << 20, "--size=2m --offset=70000 --offset_increment=10% --numjobs=3"),
        (8 << 20, "--size=2m --offset=10% --offset_align=4k --numjobs=2 --max-jobs=1"),
    ] {
        let begins = |fio: bool| -> (u64, Vec<String>) {
            if file.exists() {
                std::fs::remove_file(&file).unwrap();
            }
            if there > 0 {
                std::fs::File::create(&file).unwrap().set_len(there).unwrap();
            }
            let line = "--name=j --filename=f --rw=write --bs=64k --write_bw_log=begin --log_offset=1 --destroy-data=f";
            let words: Vec<&str> = line.split(' ').chain(options.split(' ')).collect();
            let ended = match fio {
                true => run(client("fio")
                    .current_dir(scratch.path())
                    .args(words.iter().filter(|word| !word.contains("destroy")))),
                false => ours(&scratch, &words),
            };
            assert_eq!(ended.code, Some(0), "{options}: {ended:?}");
            let logs = (1..).map(|clone| scratch.join(&format!("begin_bw.{clone}.log"))).take_while(|log| log.exists());
            let begin = |log: std::path::PathBuf| {
                let rows = std::fs::read_to_string(&log).unwrap();
                std::fs::remove_file(log).unwrap();
                rows.lines().next().unwrap().split(", ").nth(4).unwrap().to_owned()
            };
            let begins = logs.map(begin).collect();
            (file.metadata().unwrap().len(), begins)
        };
        let (fio, own) = (begins(true), begins(false));
        assert_eq!(own, fio, "{there} {options}");
        assert!(own.1.len() > 1, "{own:?}");
    }
}

/// fio refuses to wait for nobody, for itself, for one that comes later, and for one of several; so
/// do we.
#[test]
fn who_waits_waits_for_an_earlier_job() {
    requires!("fio");
    let scratch = Scratch::new();
    for (jobs, good) in [
        ("[a]\n[b]\nwait_for=a\n[c]\nwait_for=b\n", true),
        ("[a]\nnumjobs=2\n[b]\nwait_for=a\n", true),
        ("[a]\n[b]\nwait_for=b\n", false),
        ("[a]\n[b]\nwait_for=nobody\n", false),
        ("[a]\nwait_for=b\n[b]\nwait_for=a\n", false),
        ("[a]\n[a]\n[b]\nwait_for=a\n", false),
    ] {
        std::fs::write(scratch.join("w.fio"), format!("[global]\nioengine=null\nsize=1m\n{jobs}")).unwrap();
        let fio = run(client("fio").current_dir(scratch.path()).args(["w.fio", "--minimal"]));
        assert_eq!((fio.code == Some(0), ours(&scratch, &["w.fio"]).code == Some(0)), (good, good), "{jobs}{fio:?}");
    }
}

/// Folders within a name are made, whatever the name comes from; `directory` itself must be there.
#[test]
fn folders_within_names_are_made() {
    requires!("fio");
    let mut seen = Vec::new();
    for fio in [true, false] {
        let scratch = Scratch::new();
        let start = |arguments: &[&str]| match fio {
            true => run(client("fio").current_dir(scratch.path()).arg("--minimal").args(arguments)).code == Some(0),
            false => ours(&scratch, arguments).code == Some(0),
        };
        let job = ["--size=64k", "--rw=write"];
        assert!(start(&[&job[..], &["--name=a/b"]].concat()));
        assert!(start(&[&job[..], &["--name=c", "--filename=new/f"]].concat()));
        assert!(start(&[&job[..], &["--name=d", "--filename_format=by/$jobname/$filenum", "--nrfiles=2"]].concat()));
        std::fs::create_dir(scratch.join("there")).unwrap();
        assert!(start(&[&job[..], &["--name=e", "--directory=there", "--filename=in/it"]].concat()));
        assert!(!start(&[&job[..], &["--name=g", "--directory=nowhere"]].concat()));
        let is_there = |name: &&str| scratch.join(name).exists();
        let names = ["a/b.0.0", "new/f", "by/d/0", "by/d/1", "there/in/it", "nowhere", "nowhere/g.0.0"];
        seen.push(names.into_iter().filter(is_there).collect::<Vec<_>>());
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1].len(), 5, "{seen:?}");
}

/// A job whose file another lays out takes its size from there.
#[test]
fn a_size_comes_from_an_earlier_job() {
    let scratch = Scratch::new();
    let file = "[w]\nrw=write\nfilename=f\nsize=256k\nbs=16k\n[r]\nstonewall\nrw=read\nfilename=f\nbs=4k\n";
    std::fs::write(scratch.join("j.fio"), file).unwrap();
    let json = report(&scratch, &["j.fio"]);
    assert_eq!(json["jobs"][1]["read"]["io_bytes"].as_u64(), Some(256 << 10));
    // The other way round nobody has made it.
    std::fs::write(scratch.join("j.fio"), "[r]\nfilename=g\n[w]\nstonewall\nrw=write\nfilename=g\nsize=256k\n")
        .unwrap();
    let ended = ours(&scratch, &["j.fio"]);
    assert!(ended.code == Some(2) && ended.err.contains("[r]: needs size="), "{ended:?}");
}

/// Values that fio takes: a fraction of a second, a size with a sign, and engines that are near to
/// ours.
#[test]
fn what_fio_takes_is_taken() {
    let scratch = Scratch::new();
    let job = ["--name=t", "--size=1m", "--rw=write", "--bs=64k"];
    let bytes = |more: &[&str]| report(&scratch, &[&job[..], more].concat())["jobs"][0]["write"]["io_bytes"].as_u64();
    for more in [&["--startdelay=0.2"][..], &["--size=-1m"], &["--ioengine=mmap"], &["--lockfile=readwrite"]] {
        assert_eq!(bytes(more), Some(1 << 20), "{more:?}");
    }
    let json = report(&scratch, &[&job[..], &["--lockfile=exclusive", "--numjobs=4", "--filename=one"]].concat());
    let all = (0..4).map(|clone| json["jobs"][clone]["write"]["io_bytes"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(all, 4 << 20);
    let said = ours(&scratch, &[&job[..], &["--startdelay=0.25", "--parse-only"]].concat());
    assert!(said.out.contains("250 ms"), "{}", said.out);
}

/// The falloc engine takes space with writes and reads and gives it back with trims; nothing is
/// moved. The file has as much space as fio leaves it.
#[test]
fn space_is_taken_and_given_back() {
    requires!("fio");
    let scratch = Scratch::new();
    let job = ["--name=s", "--ioengine=falloc", "--fallocate=none", "--size=1m", "--bs=64k", "--rw=write"];
    let both = |more: &[&str]| {
        theirs(&scratch, &[&job[..], &["--filename=theirs"], more].concat());
        report(&scratch, &[&job[..], &["--filename=own"], more].concat());
        ["theirs", "own"].map(|name| {
            let about = std::fs::metadata(scratch.join(name)).unwrap();
            (about.len(), about.blocks())
        })
    };
    // The list of its parts, and our mark, may take a block of the file system each: 8 of
    // 512 bytes.
    let same = |[fio, own]: [(u64, u64); 2]| {
        assert!(own.0 == fio.0 && own.1.abs_diff(fio.1) <= 16, "{own:?} against {fio:?}");
        own
    };
    let (len, blocks) = same(both(&[]));
    assert!(len == 1 << 20 && blocks >= 2048, "{len} {blocks}");
    assert!(std::fs::read(scratch.join("own")).unwrap().iter().all(|&byte| byte == 0));
    let (len, blocks) = same(both(&["--rw=trim"]));
    assert!(len == 1 << 20 && blocks <= 16, "{len} {blocks}");
}

/// A direction without requests has no time, and flushes are counted as fio counts them: each
/// before the request behind it, `fdatasync` timed and not counted, those at the end neither.
#[test]
fn times_and_flushes_are_counted_as_in_fio() {
    requires!("fio");
    let scratch = Scratch::new();
    let job = ["--name=s", "--size=64k", "--bs=4k"];
    for more in [
        &["--rw=read"][..],
        &["--rw=write", "--fsync=1"],
        &["--rw=write", "--fdatasync=1"],
        &["--rw=write", "--fsync=3"],
        &["--rw=write", "--end_fsync=1"],
        &["--rw=write", "--fsync_on_close=1"],
        &["--rw=randwrite", "--fsync=4", "--end_fsync=1"],
        &["--rw=write", "--fsync=4", "--number_ios=8"],
    ] {
        let figures = |json: Value| {
            let job = &json["jobs"][0];
            let unused = if more == ["--rw=read"] { "write" } else { "read" };
            let runtimes = ["trim", unused].map(|way| job[way]["runtime"].as_u64());
            (runtimes, job["sync"]["total_ios"].as_u64(), job["sync"]["lat_ns"]["N"].as_u64())
        };
        let fio = figures(theirs(&scratch, &[&job[..], &["--filename=theirs"], more].concat()));
        let own = figures(report(&scratch, &[&job[..], &["--filename=own"], more].concat()));
        assert_eq!(own, fio, "{more:?}");
    }
}

/// With a rate the printed percentiles are of response times, so that a pause shows in them: of 40
/// requests at 200 a second all behind a pause of half a second waited for it.
#[test]
fn with_a_rate_percentiles_tell_a_pause() {
    let scratch = Scratch::new();
    let job = ["--name=p", "--ioengine=null", "--size=160k", "--rw=read", "--rate_iops=200"];
    let pause = ["--thinktime=500ms", "--thinktime_blocks=20", "--percentile_list=40:99"];
    let said = ours(&scratch, &[&job[..], &pause].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!said.out.contains("clat percentiles"), "{}", said.out);
    let line = said.out.lines().skip_while(|line| !line.contains("response percentiles (")).nth(1).unwrap_or_default();
    let percentile = line.split("99th=[").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    // In whatever unit: the 99th is at least 400 ms, the first of a pause of 500 ms being due 5 ms
    // into it.
    let unit = said.out.lines().find(|line| line.contains("response percentiles")).unwrap();
    let nanos = [("(nsec)", 1), ("(usec)", 1_000), ("(msec)", 1_000_000)];
    let scale = nanos.into_iter().find(|(name, _)| unit.contains(name)).unwrap().1;
    let percentile: u64 = percentile.trim().parse::<u64>().unwrap() * scale;
    assert!(percentile >= 400_000_000, "{}", said.out);
    // Without a rate they are of service times, as in fio.
    let said = ours(&scratch, &job[..4]);
    assert!(said.out.contains("clat percentiles") && !said.out.contains("response"), "{}", said.out);
}

/// Jobs of a flow make requests by their weights, in fio and here. Pauses of 1 ms keep them slow
/// beside what one makes alone between the other's end and its own.
#[test]
fn jobs_share_by_flow_as_in_fio() {
    requires!("fio");
    let scratch = Scratch::new();
    let load = ["--ioengine=null", "--size=1g", "--time_based", "--runtime=2", "--thinktime=1000"];
    let jobs = [
        &["--name=a", "--flow=8", "--name=b", "--flow=1"][..],
        &["--name=c", "--flow=1", "--flow_id=5", "--name=d", "--flow=2", "--flow_id=5", "--flow_sleep=500"],
    ];
    let line = [&load[..], jobs[0], jobs[1]].concat();
    for json in [theirs(&scratch, &line), report(&scratch, &line)] {
        let made = |job: usize| json["jobs"][job]["read"]["total_ios"].as_u64().unwrap() as f64;
        for (job, other, share) in [(0, 1, 8.0 / 9.0), (2, 3, 1.0 / 3.0)] {
            let (found, all) = (made(job), made(job) + made(other));
            // A request each way, and what is made alone at the ends.
            assert!((found - all * share).abs() < 3.0 + all * 0.03, "{job}: {found} of {all}, not {share:.3}");
        }
    }
    // A job that waits for one behind a stonewall would wait for ever.
    let apart = ["--ioengine=null", "--size=1m", "--name=a", "--flow=1", "--name=b", "--stonewall", "--flow=9"];
    let json = report(&scratch, &apart);
    assert_eq!([0, 1].map(|job| json["jobs"][job]["read"]["total_ios"].as_u64()), [Some(256); 2]);
    // What checks counts too, and system calls on threads of their own wake each other.
    let checked = ["--size=256k", "--rw=write", "--verify=crc32c", "--name=a", "--flow=1", "--name=b", "--flow=3"];
    let json = report(&scratch, &checked);
    assert_eq!([0, 1].map(|job| json["jobs"][job]["read"]["total_ios"].as_u64()), [Some(64); 2]);
}

/// Reports have fio's keys in fio's order, and fio's options: a group those of its last job, none
/// that stand alone in a file; drawn sizes of files are whole blocks.
#[test]
fn reports_have_fios_keys_and_options() {
    requires!("fio");
    let scratch = Scratch::new();
    for (index, text) in [
        "[global]\ngroup_reporting\n[a]\nrw=write\nbs=8k\n[b]\nnumjobs=2\nrw=randread\ntime_based=0\n",
        "[a]\ndescription=of one\nrw=read\n[b]\nstonewall\nunified_rw_reporting=1\nrw=rw\nrefill_buffers\n",
        "[a]\nrw=randwrite\ncontinue_on_error=all\npercentile_list=10:99.999\nlat_percentiles=1\n",
        "[a]\nrw=write\ncreate_only=1\ndescription=of files; and more\n",
        "[a]\nrw=read\nss=iops:5%\nbs_is_seq_rand=0\n",
        "[a]\nnrfiles=9\nfilesize=4k-16k\nrw=write\nbs=4k\nfsync=2\ngroup_reporting=0\n",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{index}.fio");
        std::fs::write(scratch.join(&name), format!("[global]\nsize=36k\nioengine=libaio\n{text}")).unwrap();
        let said = succeed(client("fio").current_dir(scratch.path()).args(["--output-format=json", &name]));
        let ended = ours(&scratch, &["--output-format=json", &name, "--destroy-data=[ab].*"]);
        assert_eq!(keys(&ended.out), keys(&said), "{text}{}", ended.err);
        let [fio, own]: [Value; 2] = [&said, &ended.out].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(own["global options"], fio["global options"], "{text}");
        for (own, fio) in own["jobs"].as_array().unwrap().iter().zip(fio["jobs"].as_array().unwrap()) {
            assert_eq!(own["job options"], fio["job options"], "{text}");
        }
        let sizes = (0..9).filter_map(|file| std::fs::metadata(scratch.join(&format!("a.0.{file}"))).ok());
        assert!(sizes.into_iter().all(|about| about.len().is_multiple_of(4096)), "{text}");
    }
}

/// What stands alone in front of a command line's first job is not repeated, as in fio; that
/// something was set is.
#[test]
fn options_of_all_jobs_are_repeated_as_by_fio() {
    requires!("fio");
    let scratch = Scratch::new();
    let job = ["--name=a", "--ioengine=null", "--size=64k"];
    for before in [&["--group_reporting"][..], &["--thread", "--bs=8k"], &["--bs=8k", "--thread=1"], &[]] {
        let line = [before, &job].concat();
        let (fio, own) = (theirs(&scratch, &line), report(&scratch, &line));
        assert_eq!(own["global options"], fio["global options"], "{before:?}");
    }
}

/// The keys of a report in their order, without ours and without the devices, which may be others.
fn keys(text: &str) -> Vec<&str> {
    let mut skipped = None;
    let lines =
        text.lines().skip_while(|line| !line.starts_with('{')).take_while(|line| !line.contains("\"disk_util\""));
    let kept = lines.filter(|line| {
        let indent = line.len() - line.trim_start().len();
        let is_inside = skipped.is_some_and(|outer| indent > outer);
        if !is_inside {
            skipped = line.trim_start().starts_with("\"seawall\"").then_some(indent);
        }
        // The line that closes what is ours has its indent, and no key.
        !is_inside && skipped.is_none()
    });
    kept.filter_map(|line| line.split_once("\" :").map(|(key, _)| key)).collect()
}

/// fio's own example job files, where its package is: all that need no engine of other kinds of
/// storage, no zoned device and no priorities are read. Devices need not be there, nor sizes be
/// known.
#[test]
fn fios_own_examples_are_read() {
    let Some(folder) = examples() else {
        return crate::requires::skip("fio's example job files are not here; SEAWALL_FIO_EXAMPLES names their folder");
    };
    let scratch = Scratch::new();
    let absent = [
        "ime_psync",
        "cpp_null",
        "cpuio",
        "net",
        "rdma",
        "librpma",
        "http",
        "nfs",
        "gfapi",
        "libhdfs",
        "libiscsi",
        "rados",
        "rbd",
        "dfs",
        "dev-dax",
        "libpmem",
        "pmemblk",
        "mtd",
        "e4defrag",
        "ftruncate",
        "filecreate",
        "filedelete",
        "filestat",
        "exec",
        "sg",
        "libcufile",
        "libzbc",
        "xnvme",
        "io_uring_cmd",
        "cuda",
    ];
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let needs =
            |engine: &str| text.lines().any(|line| line.replace(' ', "").starts_with(&format!("ioengine={engine}")));
        let beyond = ["zonemode=zbd", "cmdprio", "pool=", "gpu", "xnvme"].iter().any(|word| text.contains(word));
        if path.extension().is_none_or(|kind| kind != "fio") || beyond || absent.iter().any(|engine| needs(engine)) {
            continue;
        }
        let ended = ours(&scratch, &["--parse-only", &path.display().to_string()]);
        assert_eq!(ended.code, Some(0), "{}: {}", path.display(), ended.err);
        read += 1;
    }
    assert!(read >= 35, "only {read} of the examples need nothing special");
    assert_eq!(scratch.listing(), Vec::<String>::new(), "nothing is made");
}

/// Where fio's example job files are: where a package puts them, or where the environment says.
fn examples() -> Option<std::path::PathBuf> {
    let named = std::env::var_os("SEAWALL_FIO_EXAMPLES").map(std::path::PathBuf::from);
    let packaged = ["/usr/share/doc/fio/examples", "/usr/local/share/doc/fio/examples"].map(std::path::PathBuf::from);
    named.into_iter().chain(packaged).find(|folder| folder.is_dir())
}
