//! docs/results.md describes every table, view and column, and no others.

use results::Results;
use rusqlite::Connection;
use std::collections::BTreeMap;

const TEXT: &str = include_str!("../../../../docs/results.md");

/// Third-level headings name a table or view, and the rows below its columns, in order.
fn described() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in TEXT.lines() {
        if let Some(name) = line.strip_prefix("### `").and_then(|rest| rest.strip_suffix('`')) {
            current = name.into();
            assert!(found.insert(current.clone(), Vec::new()).is_none(), "{name} is described twice");
        } else if let Some((column, about)) = line.strip_prefix("| `").and_then(|rest| rest.split_once("` | ")) {
            assert!(about.len() > 3, "{current}.{column} is not described");
            found.get_mut(&current).expect("a table of columns stands under its name").push(column.into());
        }
    }
    found
}

#[test]
fn every_table_view_and_column_is_described() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    let views = Results::open(&path).unwrap().views().unwrap();
    let connection = Connection::open(&path).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_xinfo(m.name) AS c
            WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid",
        )
        .unwrap();
    // Views use our functions, so only our connection knows their columns.
    let columns = |columns: &str| columns.split(' ').map(str::to_owned).collect();
    let mut there: BTreeMap<String, Vec<String>> = views.iter().map(|(name, of)| (name.clone(), columns(of))).collect();
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    for (name, column) in rows.map(Result::unwrap) {
        there.entry(name).or_default().push(column);
    }
    assert_eq!(described(), there);
    assert_eq!(there.len(), 40, "tables and views");
}
