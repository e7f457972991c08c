//! Wrong input: one line that names the key, the rule and the value; exit code 2; and nothing made.

use crate::plan::PLAN;
use crate::requires::skip;
use crate::running::{Ended, run, seawall};
use crate::scratch::Scratch;
use std::process::Command;

/// Runs the program in a folder that holds a few things, and compares: it must complain in one line
/// with every part in `names`, and the folder must be as it was.
fn refused(scratch: &Scratch, arguments: &[&str], names: &[&str]) {
    let before = scratch.listing();
    let ended = run(seawall(scratch.path()).args(arguments));
    let told = format!("{arguments:?}\n{}{}", ended.out, ended.err);
    complaint(&ended, names, &told);
    assert_eq!(ended.err.lines().count(), 1, "{told}");
    assert_eq!(scratch.listing(), before, "{told}");
}

fn complaint(ended: &Ended, names: &[&str], told: &str) {
    assert_eq!(ended.code, Some(2), "{told}");
    assert_eq!(ended.out, "", "{told}");
    assert!(ended.err.starts_with("seawall: "), "{told}");
    for part in names {
        assert!(ended.err.contains(part), "no {part:?} in: {told}");
    }
}

/// Flags of every command.
#[test]
fn wrong_flags_are_refused_in_one_line() {
    let scratch = Scratch::new();
    let file = "a_file";
    std::fs::write(scratch.join(file), "somebody's").unwrap();
    std::fs::create_dir(scratch.join("folder")).unwrap();
    std::fs::write(scratch.join("folder/thesis.txt"), "years of work").unwrap();
    std::fs::write(scratch.join("binary.toml"), [0xff, 0xfe]).unwrap();
    let long = format!("unix:/{}", "a".repeat(107));
    let bundled = |name: &str| format!("{}/../../plans/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let (tiers, hosts) = (bundled("tiers-published"), bundled("protected-production"));
    let cases: &[(&[&str], &[&str])] = &[
        (&["bogus"], &["'bogus'"]),
        (&["demo", "extra"], &["'extra'"]),
        (&["demo", "5"], &["unexpected argument '5'"]),
        (&["size", "--iops", "-50"], &["--iops: must not be negative, got \"-50\""]),
        (&["demo", "--sizee", "1MiB"], &["--sizee", "--size"]),
        (&["demo", "--size", "lots"], &["--size", "must be", "\"lots\""]),
        (&["demo", "--size", "10XB"], &["--size", "must be", "\"10XB\""]),
        (&["demo", "--size", "0"], &["--size", "at least 1 MiB", "\"0\""]),
        (&["demo", "--size", "1000KiB"], &["--size", "at least 1 MiB", "\"1000KiB\""]),
        (&["demo", "--size", "-1"], &["-1"]),
        (&["demo", "--size", "100PB"], &["--dir", "are needed", "are free", "--size"]),
        (&["demo", "--out", "new", "--size", "100PB"], &["are needed"]),
        (&["demo", "--phase-seconds", "0"], &["--phase-seconds", "from 1 to 604800", "\"0\""]),
        (&["demo", "--phase-seconds", "soon"], &["--phase-seconds", "must be", "\"soon\""]),
        (&["demo", "--scale", "0"], &["--scale", "from 0.0001 to 10000", "\"0\""]),
        (&["demo", "--scale", "nan"], &["--scale", "must be a number", "\"nan\""]),
        (&["demo", "--dir", "folder"], &["--dir folder", "exists already", "name one that does not"]),
        (&["demo", "--dir", "nowhere/pool"], &["--dir nowhere/pool", "make it first"]),
        (&["demo", "--out", file], &["--out a_file", "must be a folder", "name another place"]),
        // Nobody may make a folder there, not even root.
        (&["demo", "--out", "/sys/seawall"], &["--out /sys/seawall", "name another place"]),
        (&["demo", "--dir", "/sys/seawall"], &["--dir /sys/seawall"]),
        // What is written at the end of hours is looked at before them.
        (
            &["fio", "--name=a", "--size=1m", "--rw=write", "--output=nowhere/a.json"],
            &["--output nowhere/a.json: cannot be written", "name another file"],
        ),
        (
            &["calibrate", "--place", "new.file", "-o", "nowhere/a.toml"],
            &["--output nowhere/a.toml: cannot be written"],
        ),
        (
            &["oltp", "run", "--array", "aff-a300", "--xml", "nowhere/a.xml"],
            &["--xml nowhere/a.xml: cannot be written"],
        ),
        (
            &["oltp", "setup", "--database", "sqlite:nowhere/a.sqlite"],
            &["setup: nowhere/a.sqlite: No such file or directory"],
        ),
        (&["advise", "--iops", "lots", "--used-space", "1TB"], &["--iops: must be a whole number", "got \"lots\""]),
        (&["advise", "--used-space", "1TB"], &["--iops", "--global-references", "--recording"]),
        (&["results", "show", "99999999999999999999"], &["--results: there is no results database"]),
        (&["dgen"], &["--directory", "--device"]),
        (&["run"], &["<PLAN>"]),
        (&["run", "nowhere.toml"], &["nowhere.toml", "No such file"]),
        (&["run", "folder"], &["folder", "Is a directory"]),
        (&["simulate", "nowhere.toml"], &["nowhere.toml", "No such file"]),
        (&["simulate", "folder/thesis.txt"], &["folder/thesis.txt:1", "not valid TOML"]),
        (&["simulate", "binary.toml"], &["PLAN binary.toml: is no text"]),
        (&["simulate", &tiers], &["is a list of storage tiers", "seawall tiers show"]),
        (&["simulate", &hosts, "--size", "1GiB"], &["--size: ", "is a plan of hosts"]),
        (&["serve"], &["--pool"]),
        (&["serve", "--pool", "nowhere"], &["--pool nowhere", "no pool there", "--create"]),
        (&["serve", "--pool", "folder"], &["--pool folder", "not a pool", "name a pool"]),
        (&["serve", "--pool", "folder", "--create"], &["--pool folder", "not a pool", "name a pool"]),
        (&["serve", "--pool", file, "--create"], &["--pool a_file", "must be a folder"]),
        (&["serve", "--pool", "/sys/seawall", "--create"], &["--pool /sys/seawall", "make the folder"]),
        (&["serve", "--pool", "new", "--create", "--listen", "here"], &["--listen", "HOST:PORT", "\"here\""]),
        (&["serve", "--pool", "new", "--create", "--listen", "127.0.0.1:99999"], &["--listen", "127.0.0.1:99999"]),
        (&["serve", "--pool", "new", "--create", "--listen", &long], &["--listen", "107 bytes", "shorter"]),
        (&["serve", "--pool", "new", "--create", "--listen", "unix:nowhere/s"], &["--listen unix:nowhere/s"]),
        // An address of documentation (RFC 5737), which no machine has.
        (&["serve", "--pool", "new", "--create", "--listen", "192.0.2.1:0"], &["--listen 192.0.2.1:0"]),
        (&["shell"], &["--pool"]),
        (&["shell", "--pool", "nowhere", "-c", "volume show"], &["--pool nowhere", "seawall serve --pool nowhere"]),
    ];
    for (arguments, names) in cases {
        refused(&scratch, arguments, names);
    }
}

/// A configuration that is read and cannot be served is found by --check-config already, and makes
/// nothing.
#[test]
fn a_configuration_that_cannot_be_served_is_refused() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("a_file"), "somebody's").unwrap();
    let rule = "[[access]]\nexports = [\"*\"]\n[[access]]\nexports = [\"*\"]\ncertificates = [\"CN=a\"]";
    let cases: &[(&str, &[&str])] = &[
        ("", &["--pool DIR, or folder in [pool]"]),
        ("[pool]\nfolder = \"nowhere\"", &["--pool nowhere", "no pool there", "--create"]),
        ("[pool]\nfolder = \"a_file\"", &["--pool a_file", "must be a folder"]),
        ("[pool]\nfolder = \"p\"\ncreate = true\n[audit]\nfile = \"no/trail\"", &["audit.file: no/trail"]),
        (&format!("[pool]\nfolder = \"p\"\ncreate = true\n{rule}"), &["access: rule 2", "tls.client_certificates"]),
    ];
    for (text, names) in cases {
        std::fs::write(scratch.join("server.toml"), text).unwrap();
        refused(&scratch, &["serve", "--config", "server.toml", "--check-config"], names);
    }
}

/// One mistake in a plan at a time: the line names the file and its line, the key, the rule and the
/// value.
#[test]
fn each_mistake_in_a_plan_is_one_line() {
    let scratch = Scratch::new();
    let cases: &[(&str, &str, &[&str])] = &[
        ("title = \"One host, one ceiling\"\n", "", &["title", "missing"]),
        ("seed = 7", "seed = \"x\"", &["plan.toml:3", "seed", "must be", "x"]),
        ("seed = 7", "sead = 7", &["plan.toml:3", "sead", "no such key", "seed"]),
        ("seed = 7", "seed = = 7", &["plan.toml:3", "not valid TOML"]),
        ("svm = \"svm01\"", "svm = \"a b\"", &["svm", "a b"]),
        ("[server]\nsvm = \"svm01\"\n", "", &["server", "missing"]),
        ("size = \"16MiB\"", "size = \"16XB\"", &["plan.toml:10", "size", "16XB"]),
        ("size = \"16MiB\"", "size = \"0\"", &["plan.toml:10", "size", "above zero", "\"0\""]),
        ("size = \"16MiB\"", "size = 16.5", &["plan.toml:10", "size", "16.5"]),
        ("/vol/vol1/lun1", "/vol/vol9/lun1", &["plan.toml:14", "lun", "/vol/vol9/lun1", "/vol/vol1/lun1"]),
        ("\"random\"", "\"randm\"", &["plan.toml:15", "pattern", "must be", "randm", "random"]),
        ("read_percent = 70", "read_percent = 170", &["plan.toml:16", "read_percent", "170"]),
        ("block = \"4k\"", "block = \"64MiB\"", &["plan.toml:17", "block"]),
        ("block = \"4k\"", "block = \"0\"", &["plan.toml:17", "block"]),
        ("connections = 2", "connections = 0", &["connections", "1 or more"]),
        ("depth = 8\n", "depth = 0\n", &["depth"]),
        ("depth = 8\n", "", &["depth", "missing"]),
        ("depth = 8\n", "depth = 8\nrate = 100\n", &["contradicts"]),
        ("seconds = 2", "seconds = 0", &["seconds", "from 1 to 604800"]),
        ("seconds = 2", "seconds = 2\nserver2 = { depth = 1 }", &["server2", "no such key"]),
        ("name = \"held\"", "name = \"free\"", &["name", "free", "choose another"]),
        ("-max-throughput", "-mx-throughput", &["phase \"held\"", "-mx-throughput", "-max-throughput"]),
        ("500IOPS", "500IOPSS", &["phase \"held\"", "500IOPSS", "not a throughput"]),
        ("\"ceiling-held\"", "\"ceiling-help\"", &["kind", "ceiling-help", "ceiling-held"]),
        ("tolerance = 0.01", "tolerance = 2", &["tolerance", "2"]),
        ("\"parallel-servers\"", "\"tape\"", &["kind", "tape"]),
        ("service = \"500us\"", "service = \"500\"", &["service", "500"]),
    ];
    for (right, wrong, names) in cases {
        assert_eq!(PLAN.matches(right).count().min(1), 1, "{right} is in the plan");
        let text = PLAN.trim_start().replacen(right, wrong, 1);
        std::fs::write(scratch.join("plan.toml"), &text).unwrap();
        let names = [&["plan.toml"], *names].concat();
        for command in ["simulate", "run"] {
            refused(&scratch, &[command, "plan.toml"], &names);
        }
    }
}

/// Several mistakes at once: a line for each, so that one reading mends them all.
#[test]
fn several_mistakes_in_a_plan_are_told_together() {
    let scratch = Scratch::new();
    let text = PLAN.replace("seed = 7", "sead = 7").replace("\"random\"", "\"randm\"");
    std::fs::write(scratch.join("plan.toml"), text).unwrap();
    let before = scratch.listing();
    let ended = run(seawall(scratch.path()).args(["run", "plan.toml"]));
    complaint(&ended, &["sead", "randm"], &ended.err);
    assert_eq!(ended.err.lines().count(), 2, "{}", ended.err);
    assert_eq!(scratch.listing(), before);
}

/// A plan that needs a device it does not name cannot be simulated; it can be run.
#[test]
fn a_plan_without_a_device_is_not_simulated() {
    let scratch = Scratch::new();
    let text = PLAN.split("[device]").next().unwrap();
    std::fs::write(scratch.join("plan.toml"), text).unwrap();
    refused(&scratch, &["simulate", "plan.toml"], &["plan.toml", "[device]"]);
}

/// Settings of a pool: a wrong key and a wrong value are refused with their line, and the folder
/// stays as it was.
#[test]
fn wrong_settings_of_a_pool_are_refused() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("pool")).unwrap();
    for (text, names) in [("\ncash = \"page\"\n", ["line 2", "cash"]), ("cache = \"pag\"\n", ["line 1", "pag"])] {
        std::fs::write(scratch.join("pool/seawall.toml"), text).unwrap();
        refused(&scratch, &["serve", "--pool", "pool", "--create"], &[&["pool/seawall.toml"], &names[..]].concat());
    }
}

/// A file system without O_DIRECT, a folder of somebody else's, a file where the folder should be:
/// one line, and nothing made.
#[test]
fn a_pool_where_there_cannot_be_one_is_refused_in_a_line() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("file"), "years of work").unwrap();
    refused(&scratch, &["serve", "--pool", "file", "--create"], &["--pool file", "must be a folder"]);
    std::fs::create_dir(scratch.join("home")).unwrap();
    std::fs::write(scratch.join("home/thesis"), "years of work").unwrap();
    refused(&scratch, &["serve", "--pool", "home", "--create"], &["home: not a pool, and not empty"]);
    if run(Command::new("unshare").args(["--mount", "true"])).code != Some(0) {
        skip("not allowed to mount a file system");
        return;
    }
    std::fs::create_dir(scratch.join("disk")).unwrap();
    // Mounted where only the server sees it, so that it goes with it. What is left there is told on
    // the last line.
    let script = "mount -t ramfs none disk && \"$0\" serve --pool disk/pool --create --listen unix:nbd.sock; code=$?; \
                  find disk -mindepth 1 >&2; exit $code";
    let mut command = Command::new("unshare");
    command
        .current_dir(scratch.path())
        .args(["--mount", "sh", "-c", script])
        .arg(seawall(scratch.path()).get_program());
    let ended = run(&mut command);
    assert_eq!((ended.code, ended.err.lines().count()), (Some(2), 1), "one line, and nothing made: {ended:?}");
    assert!(ended.err.contains("its file system has no direct I/O (O_DIRECT)"), "{ended:?}");
    assert!(
        ended.err.contains("write cache = \"page\" in the pool's seawall.toml, or use another file system"),
        "{ended:?}"
    );
}
