//! `…/metrics` when the pool's hourly totals cannot be read.

use super::*;
use std::cell::RefCell;

thread_local! {
    /// The pool's hours, or why they cannot be read.
    static HOURS: RefCell<Result<Vec<admin::HourDone>, String>> = const { RefCell::new(Ok(Vec::new())) };
}

/// The hours that this test has set.
pub(super) fn hours() -> Result<Vec<admin::HourDone>, String> {
    HOURS.with_borrow(Clone::clone)
}

/// An empty list would mean that nothing was done. Up to a day is in memory, and is returned.
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

/// The default is an hour by 15 s: a link without the interval would continue with that.
#[test]
fn the_next_page_is_of_the_same_interval() {
    let mut bench = Bench::new();
    let volume = bench.get("/api/storage/volumes?name=v1")["records"][0]["_links"]["self"]["href"].clone();
    let metrics = format!("{}/metrics", volume.as_str().unwrap());
    let done = |hour| admin::HourDone { hour, seconds: 3600, figures: history::Figures::default() };
    HOURS.set(Ok(vec![done(0), done(24)]));
    // A year has an interval of a day, and the previous day has figures too.
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

/// ONTAP's REST has no flag for this, and its command line refuses it.
#[test]
fn a_policy_that_is_deleted_leaves_its_members_in_none() {
    let mut bench = Bench::new();
    let refused = bench.pool.line("qos policy-group delete p", None).unwrap_err();
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(bench.ask("DELETE", "/api/storage/qos/policies?name=p", "{}").status, 200);
    assert_eq!(bench.get("/api/storage/volumes?name=v1&fields=qos")["records"][0]["qos"], Value::Null);
    assert_eq!(bench.get("/api/storage/qos/policies?name=p")["num_records"], 0);
}
