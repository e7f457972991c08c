//! How SQLite executes queries of the users' views.

use results::Results;

fn plan(results: &Results, query: &str) -> String {
    format!("{:?}", results.query(&format!("EXPLAIN QUERY PLAN {query}"), || false).unwrap().rows)
}

/// A query for the seconds of one actor reads only those and not the whole run.
#[test]
fn views_of_seconds_begin_with_the_actor() {
    let dir = tempfile::tempdir().unwrap();
    let results = Results::open(&dir.path().join("results.sqlite")).unwrap();
    for (view, table) in [("seconds", "minute"), ("gate_seconds", "gate")] {
        let plan = plan(&results, &format!("SELECT * FROM {view} WHERE run = 1 AND actor_name = 'w7'"));
        let first = plan.find("SEARCH actor USING").unwrap_or_else(|| panic!("{view}: {plan}"));
        let minutes = plan.find(&format!("SEARCH {table} USING")).unwrap_or_else(|| panic!("{view}: {plan}"));
        assert!(first < minutes && plan[minutes..].contains("(run=? AND actor=?"), "{view}: {plan}");
    }
}

/// Sums over all minutes of a run read them in the order in which a run on the wall clock writes
/// them, with all actors interleaved.
#[test]
fn sums_of_a_run_go_through_its_minutes_as_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let results = Results::open(&dir.path().join("results.sqlite")).unwrap();
    let plan = plan(&results, "SELECT class, sum(ops), avg(mean_us) FROM minutes WHERE run = 1 GROUP BY class");
    assert!(plan.contains("SEARCH minute USING INDEX minute_run (run=?)"), "{plan}");
}
