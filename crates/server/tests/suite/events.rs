//! Events, as an administrator sees them.

use crate::support::{Client, LUN, Server, limits};
use nbd::Wishes;
use server::{EVENTS_FILE, Events, ServerLimits};
use std::sync::Arc;
use uring::Choice;

/// The log, once it has a message of that name: the data thread is asked once a second.
fn shown_with(server: &mut Server, name: &str) -> String {
    server.account();
    let shown = server.control.execute("event log show -severity * -fields event").unwrap();
    assert!(shown.contains(name), "{name}: {shown}");
    shown
}

/// An unknown export, one connection too many, and a LUN taken away by force are events, each with
/// its name, the client and the subject. Repeats within a minute are counted and not logged again.
/// A plain `show` lists only severe events.
#[test]
fn refusals_and_what_is_taken_away_are_events() {
    let mut server = Server::start(Choice::Auto, ServerLimits { connections: 2, ..limits() });
    let events = server.control.events();
    events.keep_in(&server.dir.path().join(EVENTS_FILE)).unwrap();
    for _ in 0..3 {
        let refused = Client::try_connect(&server.socket, Wishes::plain("/vol/vol1/none"));
        assert!(refused.is_err(), "there is no such export");
    }
    let shown = shown_with(&mut server, "nbd.export.refused");
    assert!(shown.contains("unix: export \"/vol/vol1/none\" is unknown, offline, or not for this client"), "{shown}");
    assert_eq!(shown.matches("nbd.export.refused").count(), 1, "{shown}");
    let (_one, _two) = (server.connect(), server.connect());
    assert!(Client::try_connect(&server.socket, Wishes::plain(LUN)).is_err(), "two are as many as may be");
    let shown = shown_with(&mut server, "nbd.client.refused");
    assert!(shown.contains("the limit `connections` is met"), "{shown}");
    server.control.execute(&format!("lun delete {LUN} -force")).unwrap();
    shown_with(&mut server, "nbd.client.disconnected");
    let grave = server.control.execute("event log show").unwrap();
    assert!(grave.contains("nbd.client.refused") && !grave.contains("nbd.client.disconnected"), "{grave}");
    let notices = server.control.execute("event log show -severity NOTICE -messagename nbd.*").unwrap();
    assert!(notices.contains("nbd.client.disconnected") && !notices.contains("refused"), "{notices}");
    // Another server of the same pool starts with the stored events.
    let next = Arc::new(Events::default());
    next.keep_in(&server.dir.path().join(EVENTS_FILE)).unwrap();
    assert_eq!(next.list(), events.list());
}
