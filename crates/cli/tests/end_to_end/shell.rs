//! `seawall shell`: an administrator's lines to a running server, and its answers.

use crate::requires::{client, requires};
use crate::running::{Ended, run, seawall, until};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

fn refused_in_one_line(ended: &Ended, line: &str) {
    assert_eq!(ended.code, Some(1), "{line}: {ended:?}");
    assert!(ended.err.starts_with("Error: ") && ended.err.lines().count() == 1, "{line}: {}", ended.err);
    assert_eq!(ended.out, "", "{line}");
}

/// Qtrees and files like LUNs, and statistics as often as asked, each table with its total, by the
/// shell. A setting of the pool makes a gigabyte 2^30 bytes.
#[test]
fn qtrees_files_and_statistics_by_the_shell() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(scratch.join("pool/seawall.toml"), "cache = \"page\"\n[qos]\nunits = \"binary\"\n").unwrap();
    let server = Server::start(&scratch);
    server.tell(&[
        "vserver create svm01",
        "volume create vol1 -size 1GB",
        "volume qtree create q1 -volume vol1",
        "lun create /vol/vol1/q1/lun1 -size 16MB",
        "volume file create /dir/disk.img -volume vol1 -size 16MB",
        "qos policy-group create gold -max-throughput 1000IOPS -is-shared false",
        "volume qtree modify q1 -volume vol1 -qos-policy-group gold",
    ]);
    let shown = server.tell(&["volume file show -fields size", "volume qtree show", "lun show -fields qtree,size"]);
    for words in ["/dir/disk.img", "16MB", "gold", "/vol/vol1/q1/lun1"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(server.tell(&["volume show -fields size"]).contains("1GB"));
    let tables = server.tell(&["qos statistics workload performance show -iterations 2"]);
    assert_eq!((tables.matches("-total-").count(), tables.matches("q1-wid").count()), (2, 2), "{tables}");
    assert!(server.tell(&["qos workload show"]).contains("gold"));
}

/// A round of an administrator's work: every kind of object made, shown, modified and deleted, and
/// each step visible in the next answer.
#[test]
fn objects_and_policies_are_made_shown_modified_and_deleted() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let made = server.tell(&[
        "vserver create -vserver svm01",
        "volume create -vserver svm01 -volume vol1 -size 1GB",
        "lun create -vserver svm01 -path /vol/vol1/lun1 -size 64MB",
        "qos policy-group create policy1 -vserver svm01 -max-throughput 10000IOPS,300MB/s -is-shared false",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1",
    ]);
    assert!(made.contains("Created a LUN of size 64m (64000000)"), "{made}");
    assert!(server.tell(&["vserver show"]).contains("svm01"));
    assert!(server.tell(&["lun show"]).contains(LUN));
    let volume = server.tell(&["volume show -volume vol1 -instance"]);
    assert!(volume.contains("policy1"), "{volume}");
    let group = server.tell(&["qos policy-group show -policy-group policy1 -instance"]);
    assert!(group.contains("10000IOPS,300MB/s"), "{group}");
    server.tell(&["qos policy-group modify policy1 -max-throughput 1000IOPS,200MB/s"]);
    let group = server.tell(&["qos policy-group show"]);
    assert!(group.contains("1000IOPS,200MB/s") && !group.contains("10000IOPS"), "{group}");
    // With a second SVM the path's volume still tells whose LUN it is.
    server.tell(&["vserver create -vserver svm02", "lun offline -path /vol/vol1/lun1"]);
    assert!(server.tell(&["lun show -fields state"]).contains("offline"));
    server.tell(&["lun online -path /vol/vol1/lun1", "vserver delete -vserver svm02"]);
    server.tell(&[
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group none",
        "qos policy-group delete policy1",
        "lun delete -vserver svm01 -path /vol/vol1/lun1",
        "volume delete -vserver svm01 -volume vol1",
        "vserver delete -vserver svm01",
    ]);
    for show in ["vserver show", "volume show", "lun show", "qos policy-group show"] {
        let shown = server.tell(&[show]);
        assert!(!shown.contains("svm01") && !shown.contains("policy1"), "{show}\n{shown}");
    }
    let report = store::check_maps(&scratch.join("pool"), &store::Named::default()).unwrap();
    assert_eq!((report.damages, report.trees, report.used), (vec![], 0, 0), "what the LUN held went with it");
}

/// What cannot be is refused in one line that names it, with exit code 1, and nothing changes.
#[test]
fn what_cannot_be_is_refused_and_nothing_changes() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    server.tell(&["qos policy-group create policy1 -vserver svm01 -max-throughput 1000IOPS -is-shared false"]);
    let shows = ["vserver show", "volume show -instance", "lun show -instance", "qos policy-group show -instance"];
    let before = (server.tell(&shows), scratch.listing());
    let wrong = [
        ("bogus", "bogus"),
        ("volume", "create, modify, rename, delete, size, mount, unmount, show"),
        ("vserver create -vserver svm01", "in use"),
        ("vserver create -vserver 'x y'", "\"x y\" is not a name"),
        ("volume create -vserver svm09 -volume v", "svm09"),
        ("volume create -vserver svm01 -volume vol1", "in use"),
        ("volume create -vserver svm01 -volume v -size 10XB", "\"10XB\" is not a size"),
        ("volume modify -volume vol9 -vserver svm01 -size 1GB", "no volume vol9; it has: vol1"),
        ("volume modify -volume vol1 -vserver svm01 -size 1MB", "its LUNs and files take 8.39MB together"),
        ("volume modify -volume vol1 -vserver svm01 -qos-policy-group nope", "nope"),
        ("lun create -vserver svm01 -path /vol/vol9/lun1 -size 1MB", "vol9"),
        ("lun create -vserver svm01 -path /vol/vol1/lun2 -size 1GB", "are needed; grow it"),
        ("lun create -vserver svm01 -path /vol/vol1/../../x -size 1MB", "-path"),
        ("lun delete -vserver svm01 -path /vol/vol1/lun9", "no LUN /vol/vol1/lun9"),
        ("volume delete -vserver svm01 -volume vol1", "vol1"),
        ("qos policy-group create p -vserver svm01 -max-throughput 10IOPSS", "\"10IOPSS\" is not a throughput"),
        ("qos policy-group delete nope", "nope"),
        ("help nope", "nope"),
    ];
    for (line, names) in wrong {
        let ended = server.ask(&[line]);
        refused_in_one_line(&ended, line);
        assert!(ended.err.contains(names), "{line}: {}", ended.err);
    }
    assert_eq!((server.tell(&shows), scratch.listing()), before);
}

/// The first refused command of several ends the call, and those after it are not done.
#[test]
fn a_refusal_ends_the_call() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let ended = server.ask(&["vserver create -vserver one", "bogus", "vserver create -vserver two"]);
    assert_eq!(ended.code, Some(1));
    let shown = server.tell(&["vserver show"]);
    assert!(shown.contains("one") && !shown.contains("two"), "{shown}");
}

/// Lines from a script: comments and empty lines are passed over, the first refusal ends it, `exit`
/// ends it well.
#[test]
fn a_script_on_the_input_ends_at_its_first_refusal() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let script = |text: &[u8]| {
        let mut command = seawall(scratch.path());
        command.args(["shell", "--pool", "pool"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text).unwrap();
        child.wait_with_output().unwrap()
    };
    let ended = script(b"# set-up\n\nvserver create -vserver one\nbogus\nvserver create -vserver two\n");
    assert_eq!(ended.status.code(), Some(1));
    let ended = script(b"vserver create -vserver three\nexit\nvserver create -vserver four\n");
    assert_eq!(ended.status.code(), Some(0));
    // Which line is no text, and how far it went, is told.
    let ended = script(b"vserver create -vserver five\nvserver create -vserver t\xfct\nvserver create -vserver six\n");
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("\"vserver create -vserver t\u{fffd}t\": a command is text in UTF-8"), "{said}");
    let shown = server.tell(&["vserver show"]);
    assert!(["one", "three", "five"].iter().all(|name| shown.contains(name)), "{shown}");
    assert!(["two", "four", "six"].iter().all(|name| !shown.contains(name)), "{shown}");
}

/// Every command that the list of all commands names explains itself with a usage line, by
/// `help COMMAND` and by `COMMAND ?` alike.
#[test]
fn every_command_explains_itself() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let list = server.tell(&["help"]);
    // What goes on below a command's first line is indented further.
    let lines = list.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let commands: Vec<&str> = lines.filter_map(|line| Some(line.split_once("  ")?.0.trim())).collect();
    assert!(commands.len() >= 12, "{list}");
    for of_the_issue in ["vserver create", "volume modify", "lun delete", "qos policy-group show"] {
        assert!(commands.contains(&of_the_issue), "{of_the_issue}\n{list}");
    }
    for command in commands {
        let help = server.tell(&[&format!("help {command}")]);
        assert!(help.contains(&format!("Usage: {command}")), "{command}\n{help}");
        assert_eq!(server.tell(&[&format!("{command} ?")]), help);
    }
}

/// A pool that nobody serves has nobody who answers: one line, exit code 2, and nothing is made.
#[test]
fn a_pool_that_nobody_serves_gives_one_line() {
    let scratch = Scratch::new();
    let ended = run(seawall(scratch.path()).args(["shell", "--pool", "nowhere", "-c", "volume show"]));
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert!(ended.err.contains("--pool nowhere") && ended.err.contains("seawall serve"), "{}", ended.err);
    assert_eq!(scratch.listing(), [""; 0]);
}

/// 64 idle connections to the control socket keep no administrator out, and a shell whose
/// connection gave way to another goes on with a new one. While all of them are busy, one more is
/// refused in one line.
#[test]
fn idle_connections_to_the_control_socket_give_way() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let mut command = seawall(scratch.path());
    command.args(["shell", "--pool", "pool"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut waiting = command.spawn().unwrap();
    waiting.stdin.as_mut().unwrap().write_all(b"vserver create -vserver one\n").unwrap();
    until("the first line is done", || server.tell(&["vserver show"]).contains("one"));
    let connect = |_| UnixStream::connect(scratch.join("pool/control.sock")).unwrap();
    let idle: Vec<UnixStream> = (0..64).map(connect).collect();
    server.tell(&["vserver create -vserver two"]);
    waiting.stdin.as_mut().unwrap().write_all(b"vserver create -vserver three\n").unwrap();
    let ended = waiting.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap().as_str()), (Some(0), ""));
    assert!(server.tell(&["vserver show"]).contains("three"));
    drop(idle);
    let mut busy: Vec<UnixStream> = (0..64).map(connect).collect();
    for stream in &mut busy {
        stream.write_all(b"qos statistics performance show\n").unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
    }
    let ended = server.ask(&["vserver show"]);
    let told = "seawall: the server closed the connection: all 64 control connections of the server are busy; end what \
                one of them runs and try again\n";
    assert_eq!((ended.code, ended.err.as_str()), (Some(2), told));
}

/// At a terminal: Tab completes, `?` lists at once what could follow and leaves the line, Ctrl-C
/// drops a line, ends what would go on for ever and leaves the question for a password, and none of
/// them ends the shell; the next shell remembers the lines.
#[test]
fn a_terminal_edits_completes_asks_and_survives_interrupts() {
    requires!("python3");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.tell(&["vserver create svm01", "volume create vol1 -size 1GB"]);
    let terminal = |steps: &[(&str, &str)]| {
        let steps = serde_json::to_string(steps).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/terminal.py");
        let mut command = client("python3");
        command.current_dir(scratch.path()).env("XDG_STATE_HOME", scratch.join("state")).arg(script).arg(steps);
        let ended = run(command.arg(env!("CARGO_BIN_EXE_seawall")).args(["shell", "--pool", "pool"]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.out
    };
    let shown = terminal(&[
        ("::> ", "vol sh\t"),
        ("show ", "?"),
        ("  -vserver  ", "-volume vol1\r"),
        ("svm01     vol1", ""),
        ("::> ", "this is dropped\x03"),
        ("::> ", "qos statistics volume performance show\r"),
        ("vol1-wid", "\x03"),
        ("::> ", "security login create eve\r"),
        ("user 'eve':", "one password\r"),
        ("again:", "another password\r"),
        ("Error: the two passwords are not the same", ""),
        ("::> ", "security login create eve\r"),
        ("user 'eve':", "half\x03"),
        ("Error: no password was given", ""),
        ("::> ", "rows 4\r"),
        ("::> ", "volume show -instance\r"),
        ("for the next page", "typed ahead\r"),
        ("That is no command here", ""),
        ("for the next page", "\r"),
        ("for the next page", "\x03"),
        ("::> ", "rows 0\r"),
        ("::> ", "qos fairness show\r"),
        ("::> ", "exit\r"),
    ]);
    assert!(!shown.contains("Error: this") && !shown.contains("another"), "{shown}");
    assert!(!shown.contains("typed ahead"), "{shown}");
    let remembered = terminal(&[("::> ", "\x1b[A\x1b[A"), ("qos fairness show", "\x03"), ("::> ", "\x04")]);
    assert!(remembered.contains("qos fairness show"), "{remembered}");
}
