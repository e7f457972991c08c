//! Every mistake in a plan is reported in one line: file, line, key, rule, value, and what to do;
//! and all of them at once.
//!
//! Each test takes a correct plan, changes one line of it, and compares the whole message.

mod any_text;
mod numbers;

use proptest::prelude::*;
use workload::Plan;

const RIGHT: &str = r#"title = "Two hosts"
about = "one grows"
seed = 7
phase_seconds = 2
[scale]
published_iops = 21000
[server]
svm = "svm01"
[[volume]]
name = "vol1"
size = "1GiB"
lun = "lun1"
[[volume]]
name = "vol2"
[[workload]]
name = "server1"
lun = "/vol/vol1/lun1"
connections = 2
depth = 256
[[workload]]
name = "server2"
lun = "/vol/vol2/lun1"
rate = 5000
[[phase]]
name = "even"
[[phase]]
name = "bully"
seconds = 3
server1 = { connections = 32 }
commands = ["qos policy-group show"]
[[criterion]]
kind = "starved"
workloads = ["server2"]
phase = "bully"
baseline = "even"
part = 0.7
[device]
kind = "parallel-servers"
servers = 8
service = "100us"
"#;

/// The messages for the correct plan with `line` (unique in it) replaced by `by`.
fn told(line: &str, by: &str) -> Vec<String> {
    assert_eq!(RIGHT.matches(&format!("{line}\n")).count(), 1, "{line:?} must be one line of the plan");
    let text = RIGHT.replace(&format!("{line}\n"), &format!("{by}\n"));
    match Plan::read(&text, "p.toml") {
        Ok(_) => Vec::new(),
        Err(errors) => errors.to_string().lines().map(str::to_owned).collect(),
    }
}

/// Checks that each replaced line causes exactly this message.
fn assert_told(cases: &[(&str, &str, &str)]) {
    for (line, by, expected) in cases {
        assert_eq!(told(line, by), [*expected], "{line:?} replaced by {by:?}");
    }
}

#[test]
fn the_plan_is_right_before_it_is_changed() {
    let plan = Plan::read(RIGHT, "p.toml").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.length(&plan.phases[1]), block::Span::from_secs(3));
    assert_eq!(plan.volumes[1].path(), "/vol/vol2/lun1");
    assert_ne!(plan.workloads[0].spec.seed, plan.workloads[1].spec.seed);
}

#[test]
fn what_is_no_toml() {
    assert_told(&[
        ("seed = 7", "seed = = 7", "p.toml:3: not valid TOML: extra `=`, expected nothing; correct the line"),
        ("seed = 7", "title = \"again\"", "p.toml:3: not valid TOML: duplicate key; correct the line"),
    ]);
    let prose = "These are ten lines of prose.\n".repeat(10);
    let lines: Vec<_> = Plan::read(&prose, "p.toml").unwrap_err().0.iter().map(|error| error.line).collect();
    assert_eq!(lines, [Some(1), Some(2), Some(3)], "more lines than these say nothing new");
    let long = "#".repeat(1 << 20) + "\n";
    let errors = Plan::read(&long, "p.toml").unwrap_err();
    let expected =
        "p.toml:1: the plan: must be at most 1048576 bytes of text, got 1048577; split it into several plans";
    assert_eq!(errors.to_string(), expected);
}

#[test]
fn unknown_keys_name_the_nearest_known_one() {
    assert_told(&[
        ("seed = 7", "sed = 7", "p.toml:3: sed: no such key in the plan; did you mean seed?"),
        ("svm = \"svm01\"", "svm = \"a\"\nvsvm = \"b\"", "p.toml:9: vsvm: no such key in [server]; did you mean svm?"),
        ("lun = \"lun1\"", "lum = \"lun1\"", "p.toml:12: lum: no such key in [[volume]]; did you mean lun?"),
        (
            "connections = 2",
            "conections = 2",
            "p.toml:18: conections: no such key in [[workload]]; did you mean connections?",
        ),
        (
            "connections = 2",
            "colour = 2",
            "p.toml:18: colour: no such key in [[workload]]; known here: name, host, lun, volume, seed, pattern, read_percent, \
             flush_every, block, offset, size, connections, depth, pace, rate, spacing, outstanding, requests",
        ),
        (
            "published_iops = 21000",
            "published_iops = 21000\niops = 1",
            "p.toml:7: iops: no such key in [scale]; known here: published_iops, most",
        ),
        ("part = 0.7", "part = 0.7\npat = 1", "p.toml:37: pat: no such key in [[criterion]]; did you mean part?"),
        ("servers = 8", "servers = 8\nserver = 8", "p.toml:40: server: no such key in [device]; did you mean servers?"),
        (
            "server1 = { connections = 32 }",
            "server1 = { conections = 32 }",
            "p.toml:29: server1.conections: no such key in [[phase]]; did you mean connections?",
        ),
        (
            "server1 = { connections = 32 }",
            "server1.seed = 3",
            "p.toml:29: server1.seed: no such key in [[phase]]; known here: pattern, read_percent, flush_every, block, \
             offset, size, connections, depth, pace, rate, spacing, outstanding, requests",
        ),
    ]);
}

#[test]
fn a_phase_changes_only_workloads_of_the_plan() {
    assert_told(&[
        (
            "server1 = { connections = 32 }",
            "sever1 = { connections = 32 }",
            "p.toml:29: sever1: no such key in [[phase]]; did you mean server1?",
        ),
        (
            "server1 = { connections = 32 }",
            "server1 = 32",
            "p.toml:29: server1: must be what changes for this workload, got 32; write { connections = 32 } or the like",
        ),
    ]);
}

#[test]
fn what_is_missing() {
    assert_told(&[
        (
            "title = \"Two hosts\"",
            "",
            "p.toml:1: title: missing in the plan; say in a few words what the experiment is called",
        ),
        (
            "svm = \"svm01\"",
            "",
            "p.toml:7: svm: missing in [server]; name the SVM that owns the volumes, such as svm01",
        ),
        (
            "published_iops = 21000",
            "",
            "p.toml:5: published_iops: missing in [scale]; say what the published machine did, or leave [scale] out",
        ),
        (
            "name = \"even\"",
            "[[phase]]\nname = \"even\"",
            "p.toml:24: name: missing in [[phase]]; name the phase, such as even",
        ),
        (
            "lun = \"/vol/vol1/lun1\"",
            "",
            "p.toml:15: lun: missing in [[workload]]; name the LUN it uses, such as /vol/vol1/lun1, or its volume",
        ),
        (
            "depth = 256",
            "",
            "p.toml:15: depth: missing in [[workload]]; say depth (requests in flight on each connection) or rate \
             (requests a second)",
        ),
        (
            "kind = \"starved\"",
            "",
            "p.toml:31: kind: missing in [[criterion]]; choose one, such as ceiling-held or starved",
        ),
        ("phase = \"bully\"", "", "p.toml:31: phase: missing in [[criterion]]; name one of the phases"),
        ("baseline = \"even\"", "", "p.toml:31: baseline: missing in [[criterion]]; name one of the phases"),
        (
            "part = 0.7",
            "",
            "p.toml:31: part: missing in [[criterion]]; say which part it is held against, 0.95 for 95 %",
        ),
        (
            "workloads = [\"server2\"]",
            "",
            "p.toml:31: workloads: missing in [[criterion]]; name those it is about, such as [\"server2\"]",
        ),
        (
            "kind = \"parallel-servers\"",
            "",
            "p.toml:37: kind: missing in [device]; choose one, such as parallel-servers",
        ),
        ("servers = 8", "", "p.toml:37: servers: missing in [device]; say how many requests it serves at a time"),
        ("service = \"100us\"", "", "p.toml:37: service: missing in [device]; say how long each takes, such as 1ms"),
    ]);
}

#[test]
fn an_empty_plan_is_told_all_it_needs() {
    let errors = Plan::read("", "p.toml").unwrap_err().to_string();
    let expected = [
        "p.toml:1: title: missing in the plan; say in a few words what the experiment is called",
        "p.toml:1: volume: missing in the plan; begin each with a line [[volume]] and name it",
        "p.toml:1: server: missing in the plan; begin it with a line [server] and name its svm",
        "p.toml:1: workload: missing in the plan; begin each with a line [[workload]] and name it",
        "p.toml:1: phase: missing in the plan; begin each with a line [[phase]] and name it",
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn names_are_plain_and_different() {
    assert_told(&[
        (
            "name = \"vol2\"",
            "name = \"vol2\"\n[[volume]]\nname = \"vol1\"",
            "p.toml:16: name: must be different for each [[volume]], got \"vol1\" as on line 10; choose another",
        ),
        (
            "name = \"bully\"",
            "name = \"bully\"\n[[phase]]\nname = \"even\"",
            "p.toml:29: name: must be different for each [[phase]], got \"even\" as on line 25; choose another",
        ),
        (
            "svm = \"svm01\"",
            "svm = \"-svm\"",
            "p.toml:8: svm: must be 1 to 64 letters, digits, _, - and ., the first a letter, digit or _, got \"-svm\"; \
             choose a plainer name",
        ),
        (
            "name = \"server1\"",
            "name = \"server1\"\nhost = \"a host\"",
            "p.toml:17: host: must be 1 to 64 letters, digits, _, - and ., the first a letter, digit or _, got \
             \"a host\"; choose a plainer name",
        ),
        (
            "title = \"Two hosts\"",
            "title = \"two\\nlines\"",
            "p.toml:1: title: must be text on one line, without control characters, got \"two\\nlines\"; leave them out",
        ),
        (
            "title = \"Two hosts\"",
            "title = 2",
            "p.toml:1: title: must be text on one line, not empty, got 2; put it in quotes",
        ),
        (
            "name = \"server1\"",
            "name = \"server1\"\nhost = \"\"",
            "p.toml:17: host: must be not empty, got \"\"; write it between the quotes, or leave the key out",
        ),
    ]);
    let told = told("name = \"server2\"", "name = \"server1\"");
    let first =
        "p.toml:21: name: must be different for each [[workload]], got \"server1\" as on line 16; choose another";
    let second = "p.toml:33: workloads: no workload is called \"server2\"; did you mean server1?";
    assert_eq!(told, [first, second]);
}

#[test]
fn a_workload_is_not_called_like_a_key_of_a_phase() {
    let told = told("name = \"server2\"", "name = \"seconds\"");
    let expected = "p.toml:21: name: must be no key of a phase, got \"seconds\"; phases name workloads as keys, choose \
                    another name";
    assert_eq!(told[0], expected);
}

#[test]
fn names_that_nothing_has() {
    assert_told(&[
        (
            "lun = \"/vol/vol1/lun1\"",
            "lun = \"/vol/vol3/lun1\"",
            "p.toml:17: lun: no LUN is called \"/vol/vol3/lun1\"; did you mean /vol/vol1/lun1?",
        ),
        (
            "workloads = [\"server2\"]",
            "workloads = [\"server1\", \"oracle\"]",
            "p.toml:33: workloads: no workload is called \"oracle\"; known here: server1, server2",
        ),
        ("phase = \"bully\"", "phase = \"buly\"", "p.toml:34: phase: no phase is called \"buly\"; did you mean bully?"),
        (
            "baseline = \"even\"",
            "baseline = \"odd\"",
            "p.toml:35: baseline: no phase is called \"odd\"; known here: even, bully",
        ),
    ]);
}

#[test]
fn a_lun_where_all_volumes_have_places() {
    let plan = "title = \"t\"\nabout = \"a\"\n[[volume]]\nname = \"v\"\nplace = \"f\"\nsize = \"1MiB\"\n[[workload]]\n\
                name = \"w\"\nlun = \"/vol/v/lun1\"\ndepth = 1\n[[phase]]\nname = \"p\"\nabout = \"a\"\n";
    let said = "p.toml:9: lun: must be left out here, got \"/vol/v/lun1\"; volumes with a place have no LUN; name one by volume";
    assert_eq!(Plan::read(plan, "p.toml").unwrap_err().to_string(), said);
}

#[test]
fn keys_that_contradict_each_other() {
    assert_told(&[
        (
            "depth = 256",
            "depth = 256\nrate = 100",
            "p.toml:20: rate: contradicts depth on line 19; a load is a closed loop (depth) or an open one (rate), keep \
             one of them",
        ),
        (
            "server1 = { connections = 32 }",
            "server1.depth = 1\nserver1.rate = 5",
            "p.toml:30: server1.rate: contradicts server1.depth on line 29; a load is a closed loop (depth) or an open \
             one (rate), keep one of them",
        ),
        (
            "depth = 256",
            "depth = 256\nspacing = \"poisson\"",
            "p.toml:20: spacing: means nothing without rate; a load with a depth makes a request when another ends; say \
             a rate, or leave this out",
        ),
        (
            "server1 = { connections = 32 }",
            "server1 = { outstanding = 9 }",
            "p.toml:29: server1.outstanding: means nothing without rate; a load with a depth makes a request when \
             another ends; say a rate, or leave this out",
        ),
        (
            "baseline = \"even\"",
            "baseline = \"bully\"",
            "p.toml:35: baseline: must be another phase than the one judged, got \"bully\"; name the phase to compare \
             with",
        ),
    ]);
}

#[test]
fn words_that_are_no_choice() {
    assert_told(&[
        (
            "connections = 2",
            "pattern = \"randm\"",
            "p.toml:18: pattern: must be random or sequential, got \"randm\"; did you mean random?",
        ),
        (
            "rate = 5000",
            "rate = 5000\nspacing = \"bursty\"",
            "p.toml:24: spacing: must be uniform or poisson, got \"bursty\"; choose one of them",
        ),
        (
            "kind = \"starved\"",
            "kind = \"starve\"",
            "p.toml:32: kind: must be ceiling-held or shared-sum or starved or restored or floor-held or response-within or rate-reached or rate-is or held-by or hit-share-kept or \
             hit-share-below, got \"starve\"; \
             did you mean starved?",
        ),
        (
            "kind = \"parallel-servers\"",
            "kind = \"tape\"",
            "p.toml:38: kind: must be parallel-servers or disk or flash or cloud-volume or host or array, got \"tape\"; choose one of them",
        ),
    ]);
}

#[test]
fn lists_and_tables_of_another_form() {
    assert_told(&[
        (
            "commands = [\"qos policy-group show\"]",
            "commands = \"qos policy-group show\"",
            "p.toml:30: commands: must be a list of texts, got \"qos policy-group show\"; put it in brackets: [\"…\"]",
        ),
        (
            "commands = [\"qos policy-group show\"]",
            "commands = [\n  \"qos policy-group show\",\n  \" \",\n]",
            "p.toml:32: commands: must be a list of texts on one line each, none empty, got \" \"; correct this one",
        ),
        (
            "workloads = [\"server2\"]",
            "workloads = []",
            "p.toml:33: workloads: must be at least one workload, got an empty list; name those it is about, such as \
             [\"server2\"]",
        ),
    ]);
    let text = RIGHT.replace("[device]", "[[device]]");
    let expected = "p.toml:37: device: must be a table [device], got a list; write its keys below that line";
    assert_eq!(Plan::read(&text, "p.toml").unwrap_err().to_string(), expected);
    let text = RIGHT.replace("[[criterion]]", "[criterion]");
    let expected =
        "p.toml:31: criterion: must be tables [[criterion]], got a table; write its keys below a line of that form";
    assert_eq!(Plan::read(&text, "p.toml").unwrap_err().to_string(), expected);
}

#[test]
fn all_mistakes_are_told_at_once_in_the_files_order() {
    let text = RIGHT.replace("seed = 7", "sed = 7").replace("depth = 256", "depth = 0").replace("0.7", "7");
    let lines: Vec<_> = Plan::read(&text, "p.toml").unwrap_err().0.iter().filter_map(|error| error.line).collect();
    assert_eq!(lines, [3, 19, 36]);
}

#[test]
fn a_mistake_in_a_load_is_told_once_and_not_in_each_phase_after_it() {
    let expected = "p.toml:19: depth: must be from 1 to 65536, got 0; it counts requests in flight on each connection";
    assert_eq!(told("depth = 256", "depth = 0"), [expected]);
}

/// A plan of a database or of hosts whose own table is mistyped is told in one line, not by all
/// that a plan of phases has not.
#[test]
fn a_mistyped_kind_of_plan_is_told_alone() {
    for (header, says) in [
        ("[databse]\nvolume = \"db\"", "p.toml:2: databse: no such key in the plan; did you mean [database]?"),
        ("[[hst]]\nname = \"a\"", "p.toml:2: hst: no such key in the plan; did you mean [[host]]?"),
    ] {
        let text = format!("title = \"t\"\n{header}\n[[arm]]\nname = \"alone\"\n");
        let errors = Plan::read(&text, "p.toml").expect_err("it is no plan of phases");
        assert_eq!(errors.to_string(), says);
    }
}
