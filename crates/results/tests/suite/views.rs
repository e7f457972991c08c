//! How SQLite goes through the views that people ask.

use results::Results;

/// A query for one actor looks at the minutes of that actor and not at all of the run.
#[test]
fn views_by_actor_begin_with_the_actor() {
    let dir = tempfile::tempdir().unwrap();
    let results = Results::open(&dir.path().join("results.sqlite")).unwrap();
    for (view, table) in [("minutes", "minute"), ("seconds", "minute"), ("gate_seconds", "gate")] {
        let query = format!("EXPLAIN QUERY PLAN SELECT * FROM {view} WHERE run = 1 AND actor_name = 'w7'");
        let plan = format!("{:?}", results.query(&query, || false).unwrap().rows);
        let first = plan.find("SEARCH actor USING").unwrap_or_else(|| panic!("{view}: {plan}"));
        let minutes = plan.find(&format!("SEARCH {table} USING")).unwrap_or_else(|| panic!("{view}: {plan}"));
        assert!(first < minutes && plan[minutes..].contains("(run=? AND actor=?"), "{view}: {plan}");
    }
}
