//! Comparisons with fio itself, if it is installed: what it accepts, how it reads it, and the shape
//! of its outputs. fio uses its null engine here, which touches no storage.

use crate::outcome::{outcomes, parsed, words};
use fio::render::{Moment, Report};
use fio::{Given, Invocation};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Whether fio is installed; prints a message if not.
fn fio_is_there() -> bool {
    let there = Command::new("fio").arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: fio is not installed");
    }
    there
}

/// Runs fio in this folder.
fn fio(folder: &Path, arguments: &[String]) -> Output {
    Command::new("fio").args(arguments).current_dir(folder).output().unwrap()
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn report<'r>(invocation: &'r Invocation, outcomes: &'r [stats::job::JobOutcome]) -> Report<'r> {
    let moment = Moment { unix_ms: 1_795_303_069_994, ahead_s: 0 };
    Report { invocation, outcomes, moment, host: "a-host", pid: 7, notes: &[], interim: &[], interrupted: false }
}

/// fio's first line has kind, block sizes, engine and depth as it understood them. Seawall's must
/// be the same for each notation of a size, a range, a split, and a triple.
#[test]
fn what_was_typed_is_understood_as_fio_understands_it() {
    if !fio_is_there() {
        return;
    }
    let folder = folder("understood");
    let strict = [
        "--bs=4k",
        "--bs=4KiB",
        "--bs=4ki",
        "--bs=1.5k",
        "--bs=1e3",
        "--bs=0x1000",
        "--bs=4096b",
        "--bs=4q",
        "--bs=4kk",
        "--bs=4k-8k",
        "--bs=4k,8k",
        "--bs=4k,,8k",
        "--bs=,8k",
        "--bs=4k,8k,16k",
        "--bs=+4k",
        "--bs=010",
        "--bs=1m",
        "--kb_base=1000 --bs=4KiB",
        "--kb_base=1000 --bs=4k",
        "--bs=4k --kb_base=1000",
        "--bs=64K --iodepth=1k",
        "--bsrange=4k-8k",
        "--bsrange=8k-4k,1k-2k",
        "--bssplit=4k/50:64k/50",
        "--rw=randrw --iodepth=32",
        "--rw=trimwrite",
        "--readwrite=randread",
        "--blocksize=12k",
    ];
    for options in strict {
        let line = format!("--name=j --ioengine=null --size=64m --number_ios=1 {options}");
        let theirs = String::from_utf8(fio(&folder, &words(&line)).stdout).unwrap();
        let theirs = theirs.lines().find(|line| line.contains("(g=0)")).unwrap_or_default();
        let line = format!("--strict-fio {line}");
        let invocation = Invocation::parse(&words(&line), &Given::default()).unwrap();
        let outcomes = [];
        assert_eq!(report(&invocation, &outcomes).opening().lines().next().unwrap(), theirs, "{options}");
    }
}

/// A depth that its engine cannot have is noted as by fio, once for each thread.
#[test]
fn a_depth_without_effect_is_noted_in_fios_words() {
    if !fio_is_there() {
        return;
    }
    let folder = folder("capped");
    for (engine, count) in [("psync", 2), ("libaio", 0)] {
        let line = format!("--name=j --rw=read --ioengine={engine} --size=64k --iodepth=4 --numjobs=2");
        let notes =
            |text: &str| text.lines().filter(|line| line.starts_with("note: ")).map(String::from).collect::<Vec<_>>();
        let theirs = notes(&String::from_utf8(fio(&folder, &words(&line)).stdout).unwrap());
        let (invocation, outcomes) = (parsed(&line), []);
        assert_eq!(notes(&report(&invocation, &outcomes).opening()), theirs, "{engine}");
        assert_eq!(theirs.len(), count, "{engine}");
    }
}

/// `--showcmd` of the same job file has the same output byte for byte, if no value needs quoting
/// and there is one global section.
#[test]
fn job_files_become_the_same_command_line() {
    if !fio_is_there() {
        return;
    }
    let folder = folder("showcmd");
    let files = [
        "[global]\nbs=8k\nioengine=null\nsize=1m\nnorandommap\n[one]\nrw=randread\niodepth=4\nnumjobs=2\n[two]\nstonewall\nrw=write\n",
        "; comment\n# comment\n\n[a]\nsize=${SIZE}\nfilename=x:y\nrate=1m,500k\n",
        "[a]\nfilename=f\nsize=1m\nkb_base=1000\nbs=4k\n",
        "[j]\ninclude inc.fio\nsize=1m\n",
        "[j]\nsize=$pagesize\n",
        "[j] ; head\nsize=1m\t; size\niodepth=4 # four\n[k]# next\nsize=1m\nthread\n",
    ];
    std::fs::write(folder.join("inc.fio"), "rw=write\nbsrange=4k-8k\n").unwrap();
    for text in files {
        std::fs::write(folder.join("a.fio"), text).unwrap();
        let output = Command::new("fio").args(["--showcmd", "a.fio"]).env("SIZE", "4m").current_dir(&folder).output();
        let world = Given::default().with_text("a.fio", text).with_variable("SIZE", "4m");
        let world = world.with_text("inc.fio", "rw=write\nbsrange=4k-8k\n");
        let invocation = Invocation::parse(&words("--showcmd a.fio"), &world).unwrap();
        assert_eq!(invocation.command(), String::from_utf8(output.unwrap().stdout).unwrap(), "{text}");
    }
}

/// No option of fio's is unknown: each exists, or is refused by name with its replacement.
#[test]
fn every_option_of_fios_is_known() {
    if !fio_is_there() {
        return;
    }
    let folder = folder("options");
    let mut unknown = Vec::new();
    let engines = String::from_utf8(fio(&folder, &words("--enghelp")).stdout).unwrap();
    let engines = engines.lines().skip(1).map(|name| format!("--enghelp={}", name.trim()));
    for arguments in engines.chain(["--cmdhelp=all".to_owned()]) {
        let help = String::from_utf8(fio(&folder, &words(&arguments)).stdout).unwrap();
        let names = help.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned());
        unknown.extend(
            names.filter(|name| fio::catalogue::find(name).is_none() && fio::catalogue::replacement(name).is_none()),
        );
    }
    assert_eq!(unknown, Vec::<String>::new());
    let help = String::from_utf8(fio(&folder, &words("--help")).stdout).unwrap();
    let flags = help.lines().filter_map(|line| line.trim().strip_prefix("--"));
    let flags = flags.map(|line| line.split(['=', '\t', ' ']).next().unwrap_or_default());
    let known = |flag: &&str| {
        fio::flags::Flag::find(flag).is_some() || fio::flags::MISSING.iter().any(|(missing, _)| missing == flag)
    };
    let unknown: Vec<&str> = flags.filter(|flag| !known(flag)).collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

/// Every key in fio's JSON is at the same place in seawall's, with the same type and in fio's
/// order.
#[test]
fn no_key_of_fios_json_is_missing() {
    if !fio_is_there() {
        return;
    }
    let folder = folder("json");
    for (format, options) in [
        ("json", "--bs=4k --name=j --rw=randrw --ioengine=null --size=4m"),
        ("json", "--name=j --rw=rw --ioengine=null --size=4m --description=d --lat_percentiles=1 --slat_percentiles=1"),
        ("json", "--name=j --rw=rw --ioengine=null --size=4m --unified_rw_reporting=both --continue_on_error=all"),
        ("json", "--name=j --rw=rw --ioengine=null --size=4m --unified_rw_reporting=mixed"),
        (
            "json",
            "--name=j --rw=read --ioengine=null --size=4m --time_based --runtime=3 --steadystate=iops:90% --ss_dur=2",
        ),
        (
            "json+",
            "--name=j --rw=trimwrite --ioengine=null --size=4m --numjobs=2 --group_reporting --clat_percentiles=0",
        ),
        (
            "json+",
            "--name=j --rw=read --ioengine=null --size=1m --percentile_list=50:99.9 --name=k --size=1m --ioengine=null --stonewall",
        ),
    ] {
        let line = format!("--output-format={format} {options}");
        let theirs: Value = serde_json::from_slice(&fio(&folder, &words(&line)).stdout).unwrap();
        let invocation = parsed(&line);
        let outcomes = outcomes(&invocation);
        let ours: Value = serde_json::from_str(&report(&invocation, &outcomes).outputs()).unwrap();
        let missing = missing_keys("", &theirs, &ours);
        assert_eq!(ours["jobs"][0]["steadystate"]["ss"], theirs["jobs"][0]["steadystate"]["ss"], "{line}");
        assert_eq!(missing, BTreeSet::new(), "{line}");
    }
}

/// A terse line has as many fields as fio's, whichever directions are combined, and the same names
/// of percentiles. This also holds for a direction without requests.
#[test]
fn a_line_of_terse_has_fios_fields() {
    if !fio_is_there() {
        return;
    }
    let folder = folder("terse");
    for options in [
        "--rw=randrw",
        "--rw=read",
        "--rw=randrw --unified_rw_reporting=both",
        "--rw=randrw --unified_rw_reporting=mixed",
        "--rw=write --unified_rw_reporting=mixed --percentile_list=50:99.9",
    ] {
        // Without devices, since none are used.
        let line = format!("--minimal --disk_util=0 --name=j --ioengine=null --size=4m {options}");
        let theirs = String::from_utf8(fio(&folder, &words(&line)).stdout).unwrap();
        let invocation = parsed(&line);
        let outcomes = outcomes(&invocation);
        let ours = report(&invocation, &outcomes).outputs();
        let shape = |text: &str| -> Vec<String> {
            let percent = |field: &str| field.split_once("%=").map(|(percent, _)| percent.to_owned());
            text.trim().split(';').map(|field| percent(field).unwrap_or_default()).collect()
        };
        assert_eq!(shape(&ours), shape(&theirs), "{options}");
    }
}

/// Paths of keys in `theirs` that `ours` lacks, or has with another type.
fn missing_keys(path: &str, theirs: &Value, ours: &Value) -> BTreeSet<String> {
    match (theirs, ours) {
        // Which latencies occur differs from run to run.
        _ if path.ends_with("bins") => BTreeSet::new(),
        (Value::Object(theirs), Value::Object(ours)) => {
            let below = |(key, value): (&String, &Value)| match ours.get(key) {
                Some(mine) => missing_keys(&format!("{path}/{key}"), value, mine),
                // Without requests of a direction, fio has no percentiles; the made-up jobs have
                // requests of all directions.
                None => BTreeSet::from([format!("{path}/{key}")]),
            };
            theirs.iter().flat_map(below).collect()
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            assert_eq!(theirs.len(), ours.len(), "{path}");
            let pairs = theirs.iter().zip(ours).enumerate();
            pairs.flat_map(|(index, (theirs, ours))| missing_keys(&format!("{path}/{index}"), theirs, ours)).collect()
        }
        (Value::Number(theirs), Value::Number(ours)) if theirs.is_f64() == ours.is_f64() => BTreeSet::new(),
        (Value::String(_), Value::String(_)) => BTreeSet::new(),
        (theirs, ours) => BTreeSet::from([format!("{path}: {theirs} against {ours}")]),
    }
}

/// The terse line has as many fields as fio's, and the lines of the normal output begin with the
/// same words.
#[test]
fn terse_and_normal_outputs_have_fios_shape() {
    if !fio_is_there() {
        return;
    }
    let folder = folder("shape");
    let line = "--disk_util=0 --name=j --rw=randrw --ioengine=null --size=400m --numjobs=2 --group_reporting --lat_percentiles=1";
    let terse = format!("--output-format=terse {line}");
    let theirs = String::from_utf8(fio(&folder, &words(&terse)).stdout).unwrap();
    let invocation = parsed(&terse);
    let outcomes = outcomes(&invocation);
    let ours = report(&invocation, &outcomes).terse();
    assert_eq!(ours.trim().split(';').count(), theirs.trim().split(';').count(), "{ours}\n{theirs}");

    let theirs = String::from_utf8(fio(&folder, &words(line)).stdout).unwrap();
    let report = report(&invocation, &outcomes);
    let ours = report.opening() + &report.normal();
    // Which percentiles share a line, which coarse latencies occur, and whether the run was long
    // enough for a figure over time differ from run to run.
    let heads = |text: &str| -> Vec<String> {
        let varies =
            |line: &&str| ["     |", "  lat (", "   bw (", "   iops"].iter().any(|head| line.starts_with(head));
        let head = |line: &str| line.split([':', '(', '=']).next().unwrap_or_default().replace("processes", "threads");
        text.lines().filter(|line| !varies(line)).map(head).filter(|head| !head.starts_with("fio-")).collect()
    };
    assert_eq!(heads(&ours), heads(&theirs), "{ours}\n{theirs}");
}

/// Clones, groups and names of entries are the same as fio's.
#[test]
fn entries_and_groups_are_fios() {
    if !fio_is_there() {
        return;
    }
    let folder = folder("groups");
    let first = "[global]\ngroup_reporting\nnumjobs=2\nioengine=null\nsize=1m\n[a]\n[b]\nstonewall\n[c]\nname=cee\nnew_group\n[d]\n";
    let second = "[global]\nioengine=null\nsize=1m\n[e]\nnumjobs=2\n[f]\nnew_group\ngroup_reporting\n";
    std::fs::write(folder.join("1.fio"), first).unwrap();
    std::fs::write(folder.join("2.fio"), second).unwrap();
    let line = "1.fio 2.fio --output-format=json";
    let theirs: Value = serde_json::from_slice(&fio(&folder, &words(line)).stdout).unwrap();
    let world = Given::default().with_text("1.fio", first).with_text("2.fio", second);
    let invocation = Invocation::parse(&words(line), &world).unwrap();
    let outcomes = outcomes(&invocation);
    let ours: Value = serde_json::from_str(&report(&invocation, &outcomes).json()).unwrap();
    let names = |value: &Value| -> Vec<String> {
        let jobs = value["jobs"].as_array().unwrap().iter();
        jobs.map(|job| format!("{} {} {}", job["jobname"], job["groupid"], job["job options"])).collect()
    };
    let bare = |value: &Value| -> Vec<String> {
        let jobs = value["jobs"].as_array().unwrap().iter();
        jobs.map(|job| format!("{} {}", job["jobname"], job["groupid"])).collect()
    };
    assert_eq!(bare(&ours), bare(&theirs), "{:?}", names(&theirs));
}

/// Files are named after their section. `name` is for reports and `wait_for`, and two sections may
/// set the same one.
#[test]
fn files_bear_the_name_of_their_section() {
    let file = "[global]\nrw=write\nsize=4k\n[fill]\nname=t\n[scratch]\nname=t\n[third]\nname=x\n\
                filename_format=$jobname.dat\n[last]\nwait_for=x\n";
    let expected = ["fill.0.0", "last.0.0", "scratch.0.0", "third.dat"];
    let world = Given::default().with_text("names.fio", file);
    let invocation = Invocation::parse(&words("names.fio"), &world).unwrap();
    let names: Vec<&str> = invocation.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["t", "t", "x", "last"]);
    let mut paths: Vec<String> = invocation.jobs.iter().flat_map(|job| job.paths()).collect();
    paths.sort();
    assert_eq!(paths, expected);
    if !fio_is_there() {
        return;
    }
    let folder = folder("names");
    std::fs::write(folder.join("names.fio"), file).unwrap();
    fio(&folder, &words("names.fio"));
    for name in expected {
        assert!(folder.join(name).exists(), "{name}");
    }
}
