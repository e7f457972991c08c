//! The commands in both spellings, their defaults, and what is wrong with others in one line.

use super::*;

fn parsed(line: &[&str]) -> Result<Command, GrammarError> {
    let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
    parse(&words)
}

fn refused(line: &[&str]) -> String {
    parsed(line).unwrap_err().to_string()
}

fn a_run(line: &[&str]) -> RunOptions {
    match parsed(line) {
        Ok(Command::Run(run)) => run,
        other => panic!("{other:?}"),
    }
}

/// The published call, whole or parted by a shell, asks what the command's words ask.
#[test]
fn the_published_spelling_means_the_same() {
    let words = parsed(&["run", "/dir", "20", "10000"]).unwrap();
    assert_eq!(parsed(&["do ##class(PerfTools.RanRead).Run(\"/dir\",20,10000)"]), Ok(words.clone()));
    assert_eq!(parsed(&["do", "##class(PerfTools.RanRead).Run(\"/dir\",20,10000)"]), Ok(words.clone()));
    assert_eq!(parsed(&["##class(PerfTools.RanRead).Run( \"/dir\" , 20, 10000 )"]), Ok(words));
    let timed = parsed(&["do ##class(PerfTools.RanRead).Run(\"/dir\",20)", "--seconds", "30"]).unwrap();
    assert_eq!(parsed(&["run", "/dir", "20", "--seconds=30"]), Ok(timed));
    for (call, words) in [("Help()", &["help"][..]), ("Stop()", &["stop"]), ("Reset()", &["reset"])] {
        assert_eq!(parsed(&[&format!("do ##class(PerfTools.RanRead).{call}")]), parsed(words));
    }
    assert_eq!(
        parsed(&["do ##class(PerfTools.RanRead).Setup(\"/usr/iris/db/zranread\",\"ZRANREAD\",100,1)"]),
        parsed(&["setup", "/usr/iris/db/zranread", "zranread", "100", "1"])
    );
    assert_eq!(parsed(&["do ##class(PerfTools.RanRead).Export(\"/d\")"]), parsed(&["export", "/d"]));
    assert_eq!(a_run(&["do ##class(PerfTools.RanRead).Run(\"a \"\"b\"\"\",,7)"]).load.targets, ["a \"b\""]);
}

#[test]
fn setup_has_the_originals_defaults() {
    let Ok(Command::Setup(setup)) = parsed(&["setup", "/d"]) else { panic!("a directory is enough") };
    assert_eq!((setup.name.as_str(), setup.size, setup.size_said.as_str()), ("ZRANREAD", Bytes::gib(1), "1GB"));
    assert_eq!((setup.log_level, setup.array_cache), (1, None));
    let Ok(Command::Setup(small)) = parsed(&["setup", "/d", "x", "16MiB", "--array-cache=4g"]) else {
        panic!("{setup:?}")
    };
    assert_eq!((small.size, small.array_cache), (Bytes::mib(16), Some(Bytes::gib(4))));
}

#[test]
fn a_run_says_how_much_how_large_and_which_way() {
    let run = a_run(&["run", "/d"]);
    assert_eq!((run.processes, run.load.effort, run.load.block, run.load.read_percent), (1, None, 8192, 100));
    let run = a_run(&["run", "/a,/b", "4", "--seconds", "5", "--block", "64k", "--write", "--target", "nbd://h/x"]);
    assert_eq!(run.load.targets, ["/a", "/b", "nbd://h/x"]);
    assert_eq!((run.load.effort, run.load.block, run.load.read_percent), (Some(Effort::Seconds(5)), 65_536, 0));
    assert_eq!(a_run(&["run", "/d", "--max-ms", "off"]).limits, Some(Limits { average_ms: 2.0, most_ms: None }));
}

#[test]
fn a_sweep_has_the_published_limits() {
    let Ok(Command::Sweep(sweep)) = parsed(&["sweep", "/d", "--target-iops", "2000"]) else { panic!("it is one") };
    let Settings { from, to, stop_ms, limits, target, .. } = sweep.settings;
    assert_eq!((from, to, stop_ms, sweep.load.effort), (1, 200, 10.0, Some(Effort::Seconds(10))));
    let published = |item: &str| -> f64 {
        let text = include_str!("../../fixtures/ranread_acceptance.csv");
        let line = text.lines().find_map(|line| line.strip_prefix(item)?.strip_prefix(','));
        line.and_then(|rest| rest.split(',').next()?.parse().ok()).expect("the item is there")
    };
    assert_eq!(limits.average_ms, published("average_response_max"));
    assert_eq!(limits.most_ms, Some(published("not_to_exceed")));
    assert_eq!(stop_ms, published("stop_when_consistently_over"));
    let [iops, ms] = ["example_target_iops", "example_target_response_max"].map(published);
    assert_eq!(target, Some(Target { iops, ms }));
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let lines = [
        refused(&["rnu", "/d"]),
        refused(&["run"]),
        refused(&["run", "/d", "0"]),
        refused(&["run", "/d", "1", "2", "3"]),
        refused(&["run", "/d", "1", "2", "--seconds", "3"]),
        refused(&["run", "/d", "--blok", "8k"]),
        refused(&["run", "/d", "--block", "4k"]),
        refused(&["run", "/d", "--write", "--read-percent", "5"]),
        refused(&["setup", "/d", "1x"]),
        refused(&["setup", "/d", "x", "0"]),
        refused(&["setup", "/d", "x", "1", "4"]),
        refused(&["sweep", "/d", "--from", "9", "--to", "3"]),
        refused(&["sweep", "/d", "--target-ms", "3"]),
        refused(&["do ##class(PerfTools.RanRaed).Run(\"/d\")"]),
        refused(&["do ##class(PerfTools.RanRead).Run(/d)"]),
    ];
    let parts = [
        "\"rnu\": there is no such command; did you mean run?; help lists them",
        "run: needs DIRECTORY PROCESSES ITERATIONS, as in: seawall ranread run",
        "PROCESSES: must be a whole number from 1 to 4096, got \"0\"",
        "run: takes no \"3\" behind its 3 values",
        "--seconds and --iterations: say two things",
        "--blok: run has no such option; did you mean block?",
        "--block: must be 8k or 64k, got \"4k\"",
        "--write and --read-percent: say two things",
        "NAME: must be up to 64 letters",
        "SIZE_GB: must be a number of GB from 1 to",
        "LOGLEVEL: must be a whole number from 0 to 3, got \"4\"",
        "--to: must be a whole number from 9 to 4096, got \"3\"",
        "--target-ms: needs --target-iops beside it",
        "the class must be PerfTools.RanRead, as in: do ##class",
        "a text must stand in double quotes, as in: do ##class",
    ];
    for (line, part) in lines.iter().zip(parts) {
        assert!(line.contains(part) && !line.contains('\n'), "{line}\n{part}");
    }
}
