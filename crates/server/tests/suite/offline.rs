//! LUNs that are taken away from clients, by a delete or by going offline and online, under I/O and
//! over a restart.

use crate::support::{BACKENDS, Client, LUN, Server, is_closed, limits, settings};
use nbd::{Command, NbdErrno, NbdRequest, Wishes};

const BLOCK: u64 = 4096;

/// Writes in flight: more than a ceiling of 5 IOPS lets through, and fewer than the 63 that a new
/// connection may have admitted at once.
const ASKED: u64 = 32;

fn refused(server: &mut Server, line: &str) -> String {
    server.control.execute(line).unwrap_err().to_string()
}

fn said(server: &mut Server, line: &str) -> String {
    server.control.execute(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// A server whose LUN has a ceiling of 5 IOPS, and a client with [`ASKED`] writes of a block each,
/// most of which wait.
fn under_writes(mut server: Server) -> (Server, Client) {
    said(&mut server, "qos policy-group create slow -vserver svm01 -max-throughput 5IOPS");
    said(&mut server, "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow");
    let mut client = server.connect();
    for cookie in 0..ASKED {
        client.ask(NbdRequest::write(cookie, cookie * BLOCK, BLOCK as u32), &[9; BLOCK as usize]);
    }
    server.until("queued", |account| account.gate.queued >= 20);
    (server, client)
}

/// Reads the replies to those writes until the server closes the connection; returns which were
/// executed. Each is answered, with success or `ESHUTDOWN`.
fn carried_out(client: &mut Client) -> Vec<bool> {
    let mut answers = vec![None; ASKED as usize];
    while let Some((cookie, result)) = client.answer(|_| (0, 0)) {
        assert!(result == Ok(Vec::new()) || result == Err(NbdErrno::Shutdown), "{cookie}: {result:?}");
        assert_eq!(answers[cookie as usize].replace(result.is_ok()), None, "one answer each");
    }
    answers.into_iter().map(|answer| answer.expect("all are answered")).collect()
}

/// A delete beneath a client is refused with a remedy, and disturbs nothing. If forced, waiting
/// requests are answered with an error.
#[test]
fn a_delete_under_writes_is_refused_unless_it_is_forced() {
    let server = Server::start(BACKENDS[0], limits());
    let (mut server, mut client) = under_writes(server);
    let told = "svm01:/vol/vol1/lun1: is mapped (1 connection); have clients disconnect, end them with `lun offline`, \
                or give -force";
    assert_eq!(refused(&mut server, &format!("lun delete -path {LUN}")), told);
    assert!(server.account().gate.queued >= 20, "what waited waits");
    let second = server.connect();
    assert!(refused(&mut server, &format!("lun delete -path {LUN}")).contains("is mapped (2 connections)"));
    let answer = said(&mut server, &format!("lun delete -path {LUN} -force"));
    assert_eq!(answer, "Note: svm01:/vol/vol1/lun1: 2 connections ended with an error.\n");
    let carried_out = carried_out(&mut client);
    // Five a second and one at once. From the first write to here it takes less than a second, or
    // few would end with errors.
    assert!(carried_out.iter().filter(|done| !**done).count() > 0, "{carried_out:?}");
    drop(second);
    server.until_empty();
    assert!(said(&mut server, "lun show").contains("currently empty"));
    let unknown = Client::try_connect(&server.socket, Wishes::plain(LUN)).err().unwrap().to_string();
    assert!(unknown.contains("there is no such export"), "{unknown}");
}

/// Offline under writes: waiting requests end with an error and were not executed, and answered
/// ones are there. No client can connect, also after a restart, and it is told why. Online again,
/// the LUN has its former contents.
#[test]
fn offline_under_writes_loses_nothing_that_was_answered() {
    let server = Server::start(BACKENDS[0], limits());
    let (mut server, mut client) = under_writes(server);
    let answer = said(&mut server, &format!("lun offline -path {LUN}"));
    assert_eq!(answer, "Note: svm01:/vol/vol1/lun1: 1 connection ended with an error.\n");
    let carried_out = carried_out(&mut client);
    assert!(carried_out.contains(&false), "{carried_out:?}");
    server.until_empty();
    for _ in 0..2 {
        let why = Client::try_connect(&server.socket, Wishes::plain(LUN)).err().unwrap().to_string();
        assert!(why.contains("it is offline; an administrator of the server can bring it online"), "{why}");
        let shown = said(&mut server, "lun show");
        assert!(shown.contains(" offline unmapped "), "{shown}");
        server = server.restart(limits(), settings(BACKENDS[0], &limits()));
    }
    assert_eq!(said(&mut server, &format!("lun online -path {LUN}")), "");
    said(&mut server, "volume modify -volume vol1 -vserver svm01 -qos-policy-group none");
    let mut client = server.connect();
    for (block, done) in (0..).zip(carried_out) {
        let expected = if done { 9 } else { 0 };
        assert_eq!(client.read(block * BLOCK, BLOCK), Ok(vec![expected; BLOCK as usize]), "{block}");
    }
    assert_eq!(client.write(0, &[3; 512]), Ok(()));
    let shown = said(&mut server, "lun show -fields state,mapped,connections");
    assert!(words(&shown).ends_with(&["online", "mapped", "1"]), "{shown}");
}

/// Without clients, and while it is offline, no force is needed.
#[test]
fn a_lun_without_clients_goes_without_force() {
    let mut server = Server::start(BACKENDS[0], limits());
    said(&mut server, &format!("lun create -path {LUN}2 -size 1MiB"));
    let mut client = server.connect();
    assert_eq!(client.write(0, &[1; 512]), Ok(()));
    said(&mut server, &format!("lun delete -path {LUN}2"));
    said(&mut server, &format!("lun offline -path {LUN}"));
    // The connection is ending, whether or not the client has noticed.
    said(&mut server, &format!("lun delete -path {LUN}"));
    assert!(is_closed(&mut client.stream));
}

/// A pattern applies to all LUNs that it matches in one SVM. A LUN in that state already stays so,
/// and a missing one is reported.
#[test]
fn patterns_take_several_offline() {
    let mut server = Server::start(BACKENDS[0], limits());
    for name in ["a1", "a2", "b"] {
        said(&mut server, &format!("lun create -path /vol/vol1/{name} -size 1MiB"));
    }
    let state = |server: &mut Server, name: &str| said(server, &format!("lun show -path /vol/vol1/{name} -instance"));
    assert_eq!(said(&mut server, "lun offline -path /vol/vol1/a*"), "2 entries were acted on.\n");
    assert_eq!(said(&mut server, "lun offline -path /vol/vol1/a1"), "");
    for (name, expected) in [("a1", "offline"), ("a2", "offline"), ("b", "online"), ("lun1", "online")] {
        let shown = state(&mut server, name);
        assert!(shown.contains(&format!("State: {expected}\n")), "{shown}");
    }
    let shown = said(&mut server, "lun show -state offline");
    assert!(shown.contains("a1") && shown.contains("a2") && !shown.contains("lun1"), "{shown}");
    assert_eq!(said(&mut server, "lun online *"), "4 entries were acted on.\n");
    assert!(!said(&mut server, "lun show").contains("offline"));
    let nothing = "SVM svm01 has no LUN /vol/vol1/c*; `lun show` lists what there is";
    for line in ["lun offline /vol/vol1/c*", "lun online /vol/vol1/c*"] {
        assert_eq!(refused(&mut server, line), nothing);
    }
}

/// A LUN that is renamed, resized or restored while offline stays offline, and a new LUN of its
/// name is online.
#[test]
fn a_lun_stays_offline_whatever_becomes_of_it() {
    let mut server = Server::start(BACKENDS[0], limits());
    server.with(LUN, |client| client.write(0, &[1; 512])).unwrap();
    for line in [
        "volume snapshot create vol1 -snapshot s",
        "lun offline /vol/vol1/lun1",
        "lun modify /vol/vol1/lun1 -size 1MiB",
        "volume snapshot restore vol1 -snapshot s",
        "lun move-in-volume /vol/vol1/lun1 -new-path /vol/vol1/lun2",
    ] {
        said(&mut server, line);
    }
    let why = Client::try_connect(&server.socket, Wishes::plain("/vol/vol1/lun2")).err().unwrap().to_string();
    assert!(why.contains("offline"), "{why}");
    said(&mut server, &format!("lun create -path {LUN} -size 1MiB"));
    assert_eq!(server.with(LUN, |client| client.read(0, 1)), Ok(vec![0]));
    said(&mut server, "lun online /vol/vol1/lun2");
    assert_eq!(server.with("/vol/vol1/lun2", |client| client.read(0, 1)), Ok(vec![1]));
}

/// The rule also applies to files and to the restore of one LUN. A forced command ends the
/// connections to what it changes, and no others.
#[test]
fn one_rule_for_all_that_takes_data_away() {
    let mut server = Server::start(BACKENDS[0], limits());
    for line in ["volume file create /f -volume vol1 -size 1MiB", "volume snapshot create vol1 -snapshot s"] {
        said(&mut server, line);
    }
    let (file, lun) = ("svm01:/vol/vol1/f", "svm01:/vol/vol1/lun1");
    let lines = [
        ("volume file modify /f -volume vol1 -size 512KiB", file),
        ("volume snapshot restore-file vol1 -snapshot s -path /f", file),
        ("volume snapshot restore-file vol1 -snapshot s -path /lun1", lun),
        ("volume file delete /f -volume vol1", file),
        ("lun modify /vol/vol1/lun1 -size 1MiB", lun),
    ];
    for (line, whose) in lines {
        let mut clients = [file, lun].map(|name| Client::connect(&server.socket, Wishes::plain(name)));
        let why = refused(&mut server, line);
        assert!(why.starts_with(&format!("{whose}: is mapped (1 connection); have clients disconnect")), "{why}");
        assert_eq!(why.contains("lun offline"), whose == lun, "files are never offline: {why}");
        for client in &mut clients {
            assert_eq!(client.read(0, 1), Ok(vec![0]), "{line}");
        }
        let shown = said(&mut server, "volume file show -fields connections");
        assert!(words(&shown).ends_with(&["/f", "1"]), "{shown}");
        let answer = said(&mut server, &format!("{line} -force"));
        assert!(answer.contains(&format!("Note: {whose}: 1 connection ended with an error.\n")), "{answer}");
        let [of_file, of_lun] = &mut clients;
        let (ended, other) = if whose == file { (of_file, of_lun) } else { (of_lun, of_file) };
        assert!(is_closed(&mut ended.stream), "{line}");
        if other.read(0, 1) != Ok(vec![0]) {
            panic!("{line}: the other one's connection ended too");
        }
        drop(clients);
        server.until_empty();
        if line.contains("delete") {
            said(&mut server, "volume file create /f -volume vol1 -size 1MiB");
        }
    }
    // Growing takes nothing away.
    let mut client = server.connect();
    said(&mut server, "lun modify /vol/vol1/lun1 -size 8MiB");
    assert_eq!(client.call(NbdRequest::new(1, Command::Flush, 0, 0), &[]), Ok(Vec::new()));
}
