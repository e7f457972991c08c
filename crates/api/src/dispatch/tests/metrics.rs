//! `…/metrics` where what the pool keeps by the hour cannot be read.

use super::*;
use std::cell::RefCell;

thread_local! {
    /// What the pool's hours are: read, or why not.
    static HOURS: RefCell<Result<Vec<admin::HourDone>, String>> = const { RefCell::new(Ok(Vec::new())) };
}

/// What this test has put there.
pub(super) fn hours() -> Result<Vec<admin::HourDone>, String> {
    HOURS.with_borrow(Clone::clone)
}

/// An empty list would say that nothing was done. A day and less are in memory, and are told.
#[test]
fn hours_that_cannot_be_read_are_an_error_and_no_empty_list() {
    let mut bench = Bench::new();
    let volume = bench.get("/api/storage/volumes?name=v1")["records"][0]["_links"]["self"]["href"].clone();
    let metrics = format!("{}/metrics", volume.as_str().unwrap());
    assert_eq!(bench.get(&format!("{metrics}?interval=1m"))["num_records"], 0);
    HOURS.set(Err("totals.db: disk I/O error".into()));
    for target in [format!("{metrics}?interval=1m"), format!("{metrics}/2026-01-01T00:00:00Z?interval=1y")] {
        let reply = bench.ask("GET", &target, "");
        assert_eq!((reply.status, &reply.body["error"]["code"]), (500, &json!("5")), "{target}");
        let message = reply.body["error"]["message"].as_str().unwrap();
        assert!(message.contains("cannot be read") && !message.contains("totals.db"), "{message}");
    }
    assert_eq!(bench.get(&format!("{metrics}?interval=1d"))["num_records"], 0);
}

/// The default is an hour by 15 s: where a link forgot the interval, the second page was of that.
#[test]
fn the_next_page_is_of_the_same_interval() {
    let mut bench = Bench::new();
    let volume = bench.get("/api/storage/volumes?name=v1")["records"][0]["_links"]["self"]["href"].clone();
    let metrics = format!("{}/metrics", volume.as_str().unwrap());
    let done = |hour| admin::HourDone { hour, seconds: 3600, figures: history::Figures::default() };
    HOURS.set(Ok(vec![done(0), done(24)]));
    // A year is told by the day, and the day before has something, too.
    let first = bench.get(&format!("{metrics}?interval=1y&max_records=1&fields=duration"));
    assert_eq!(first["records"][0]["duration"], "P1D", "{first}");
    for link in ["self", "next"] {
        let page = bench.get(first["_links"][link]["href"].as_str().unwrap());
        assert_eq!(page["records"][0]["duration"], "P1D", "{link}: {page}");
    }
    for (query, status) in [("interval=1x", 400), ("interval=1d&interval=1d", 400), ("interval=%31d", 200)] {
        assert_eq!(bench.ask("GET", &format!("{metrics}?{query}"), "").status, status, "{query}");
    }
}

/// ONTAP's REST has no flag for it, and its line refuses.
#[test]
fn a_policy_that_is_deleted_leaves_its_members_in_none() {
    let mut bench = Bench::new();
    let refused = bench.desk.line("qos policy-group delete p", None).unwrap_err();
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(bench.ask("DELETE", "/api/storage/qos/policies?name=p", "{}").status, 200);
    assert_eq!(bench.get("/api/storage/volumes?name=v1&fields=qos")["records"][0]["qos"], Value::Null);
    assert_eq!(bench.get("/api/storage/qos/policies?name=p")["num_records"], 0);
}
