//! The log of events by REST.

use super::*;
use admin::Event;
use ontap::value::Severity;

/// Two events, after earlier ones were dropped.
pub(super) fn noticed() -> Vec<Arc<Event>> {
    let event = |number, name: &str, severity| {
        let (name, text) = (name.to_owned(), "a sentence".to_owned());
        Arc::new(Event { number, time: 1_795_314_659 + number, severity, name, text, count: 1 })
    };
    vec![event(7, "server.started", Severity::Notice), event(9, "aggr.full", Severity::Alert)]
}

/// The latest first; filtered by severity and name as ONTAP's clients do; one by node and index. An
/// administrator of one SVM sees none, because events name clients and volumes of all.
#[test]
fn events_are_listed_and_picked() {
    let mut bench = Bench::new();
    let all = bench.get("/api/support/ems/events");
    assert_eq!(all["num_records"], 2);
    let first = &all["records"][0];
    assert_eq!((&first["index"], &first["message"]["name"]), (&json!(9), &json!("aggr.full")));
    assert_eq!(first["message"]["severity"], "alert");
    assert_eq!(first["log_message"], "aggr.full: a sentence");
    assert_eq!(first["time"], "2026-11-22T02:31:08Z");
    let picked = bench.get("/api/support/ems/events?message.severity=notice|debug&fields=source");
    assert_eq!((&picked["num_records"], &picked["records"][0]["index"]), (&json!(1), &json!(7)));
    assert_eq!(bench.get("/api/support/ems/events/seawall/7")["index"], 7);
    assert_eq!(bench.ask("GET", "/api/support/ems/events/odd/7", "").status, 404);
    bench.caller.role = Role::Svm("s".into());
    assert_eq!(bench.get("/api/support/ems/events")["num_records"], 0);
}
