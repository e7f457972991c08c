//! `seawall shell`: an administrator's lines to a running server, and its answers.

use crate::running::{run, seawall};
use crate::scratch::Scratch;
use crate::server::Server;

/// The answers of one round of work, as an administrator knows them, and the refusal of what cannot be.
#[test]
fn commands_are_answered_and_wrong_ones_refused_in_one_line() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    server.tell(&[
        "qos policy-group create policy1 -vserver svm01 -max-throughput 1000IOPS,200MB/s -is-shared false",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1",
    ]);
    let shown = server.tell(&["qos policy-group show"]);
    assert!(shown.contains("policy1") && shown.contains("0-1000IOPS,200MB/s"), "{shown}");
    let refused = server.ask(&["volume modify -volume vol9 -vserver svm01 -qos-policy-group policy1"]);
    assert_eq!(refused.code, Some(1));
    assert_eq!(refused.err, "Error: SVM svm01 has no volume vol9; it has: vol1\n");
    assert_eq!(refused.out, "");
}

/// A pool that nobody serves has nobody who answers: one line, exit code 2, and nothing is made.
#[test]
fn a_pool_that_nobody_serves_gives_one_line() {
    let scratch = Scratch::new();
    let ended = run(seawall(scratch.path()).args(["shell", "--pool", "nowhere", "-c", "volume show"]));
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert!(ended.err.contains("nowhere") && ended.err.contains("seawall serve"), "{}", ended.err);
    assert!(scratch.listing().is_empty());
}
