//! `security` and `event log` by the shell: who may log in by REST, which certificates the server
//! uses, and what it noticed, over a restart.

use crate::requires::{client, requires};
use crate::running::{Ended, run, seawall, succeed, until};
use crate::scratch::Scratch;
use crate::server::{Server, read_text};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Gives a shell lines, and passwords behind those that need one.
fn shell(scratch: &Scratch, input: &str) -> Ended {
    let mut command = seawall(scratch.path());
    command.args(["shell", "--pool", "pool"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Users are made, changed and deleted; the passwords are in no file and no trail; what is refused
/// says why.
#[test]
fn users_are_made_changed_and_deleted_by_the_shell() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let made = shell(
        &scratch,
        "vserver create svm01\nsecurity login create -user-or-group-name ann -application http -authentication-method \
         password -role readonly\ncorrect horse\nsecurity login create bob -vserver svm01\nbattery staple\nsecurity login \
         password ann\nanother password\nsecurity login modify ann -role admin\nsecurity login show\n",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    for words in ["ann                  http        password       admin", "svm01          bob", "vsadmin"] {
        assert!(made.out.contains(words), "{words}: {}", made.out);
    }
    for (line, told) in [
        ("security login create ann\ncorrect horse\n", "there is one already"),
        ("security login create eve\nshort\n", "at least 8 characters"),
        ("security login create eve -role readonly -vserver svm01\ncorrect horse\n", "leave -vserver out"),
        ("security login create eve -vserver none\ncorrect horse\n", "there is no SVM none"),
        ("security login create eve -password secret-word\n", "does not belong into a line"),
        ("security login delete eve\n", "there is none of that name"),
    ] {
        let ended = shell(&scratch, line);
        assert_eq!(ended.code, Some(1), "{line}");
        assert!(ended.err.contains(told), "{line}: {}", ended.err);
    }
    assert_eq!(shell(&scratch, "security login create eve\n").code, Some(2), "the input has no password");
    server.tell(&["security login delete bob"]);
    assert!(!server.tell(&["security login show"]).contains("bob"));
    let (trail, users) = (read_text(&scratch.join("pool/audit.jsonl")), read_text(&scratch.join("pool/users.json")));
    assert!(trail.contains("security login create bob -vserver svm01") && trail.contains("security login delete bob"));
    for secret in ["correct horse", "battery staple", "another password"] {
        assert!(!trail.contains(secret) && !users.contains(secret), "{secret}");
    }
    assert!(users.contains("$argon2id$") && !users.contains("bob"), "{users}");
}

/// What was noticed is there after a restart, the start itself is an event, and a plain `show` has
/// only what is grave.
#[test]
fn events_are_shown_also_after_a_restart() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let shown = server.tell(&["event log show", "event log show -severity NOTICE -fields event"]);
    assert!(shown.contains("There are no entries matching your query.") && shown.contains("server.started"), "{shown}");
    server.stop();
    let server = Server::start(&scratch);
    let shown = server.tell(&["event log show -severity * -messagename server.* -fields seqnum"]);
    assert!(shown.contains("3 entries were displayed."), "started, stopped, started: {shown}");
    let one = server.tell(&["event log show -seqnum 2"]);
    assert!(one.contains("Message Name: server.stopped") && one.contains("Severity: NOTICE"), "{one}");
}

/// What recurred in the last minute before a stop is in the log of the next start, with its count.
#[test]
fn what_recurred_before_a_stop_is_counted_after_it() {
    requires!("nbdinfo");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let refused = || assert_eq!(run(client("nbdinfo").arg(server.uri("/vol/vol1/none"))).code, Some(1));
    refused();
    // What the data thread notices is gathered once a second; what comes after is a repeat.
    until("it is told once", || server.tell(&["event log show -severity *"]).contains("nbd.export.refused"));
    refused();
    refused();
    server.stop();
    let server = Server::start(&scratch);
    let shown = server.tell(&["event log show -severity * -messagename nbd.export.refused -fields count -output json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let counts = shown["records"].as_array().unwrap().iter().filter_map(|event| event["count"].as_u64());
    assert!(counts.clone().count() > 1 && counts.sum::<u64>() >= 3, "{shown}");
}

/// The certificate that was made for REST is shown, with the serial number that it has for openssl.
#[test]
fn the_certificates_in_use_are_shown() {
    requires!("openssl");
    let scratch = Scratch::new();
    let server = Server::start_with(&scratch, &["--rest", "127.0.0.1:0"]);
    let shown = server.tell(&["security certificate show -instance"]);
    let mut openssl = Command::new("openssl");
    let openssl = openssl.args(["x509", "-noout", "-serial", "-in"]).arg(scratch.join("pool/rest-cert.pem"));
    let serial = succeed(openssl).trim().replace("serial=", "");
    for words in [format!("Serial Number of Certificate: {serial}"), "Type of Certificate: server".into()] {
        assert!(shown.contains(&words), "{words}: {shown}");
    }
    assert!(shown.contains("Vserver: pool") && shown.contains("Unique Certificate Name: rest-cert.pem"), "{shown}");
}
