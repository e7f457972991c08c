//! Results as Parquet, read by DuckDB.

use crate::requires::skip;
use crate::running::{RESULTS, run, seawall, succeed};
use crate::scratch::Scratch;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its columns with their types, and its rows as JSON in the order of the file.
const READ: &str = "import sys, json, duckdb
rows = duckdb.sql(f\"select * from read_parquet('{sys.argv[1]}')\")
print(json.dumps([[*map(str, rows.types)], rows.columns, [dict(zip(rows.columns, row)) for row in rows.fetchall()]]))
";

/// Where DuckDB is, if it is.
fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    let known = Command::new(&python).args(["-c", "import duckdb"]).output();
    known.is_ok_and(|output| output.status.success()).then_some(python)
}

/// Two jobs in virtual time, one of which has a schedule: every value of both views comes back as
/// JSON has it, whole numbers, numbers and words by their types, what is not known as NULL; and
/// files of both are one table, though one of them knows nothing of a schedule.
#[test]
fn duckdb_reads_what_was_exported() {
    let Some(python) = python() else {
        return skip("duckdb is not in target/python; cargo xtask test puts it there");
    };
    let scratch = Scratch::new();
    let command = |words: &[&str]| {
        let mut command = seawall(scratch.path());
        command.env(RESULTS, "kept.sqlite").args(words);
        command
    };
    let load = ["simulate", "fio", "--name=j", "--filename=data", "--size=8m", "--rw=randrw", "--bs=4k"];
    succeed(&mut command(&load));
    succeed(command(&load).args(["--rate_iops=1000,1000", "--description=\"=1+1\""]));
    let refused = run(&mut command(&["results", "export", "1", "--format", "parquet"]));
    assert!(refused.code == Some(2) && refused.err.contains("--output FILE"), "{refused:?}");
    let read = |files: &str| -> Value {
        let ended = succeed(Command::new(&python).current_dir(scratch.path()).args(["-c", READ, files]));
        serde_json::from_str(&ended).unwrap()
    };
    let mut counts = Vec::new();
    for number in ["1", "2"] {
        for (view, more) in [("rows", &[][..]), ("seconds", &["--seconds"])] {
            let file = format!("{view}{number}.parquet");
            let export = ["results", "export", number, "--format"];
            succeed(command(&export).args(["parquet", "--output", &file]).args(more));
            let json: Value = serde_json::from_str(&succeed(command(&export).arg("json").args(more))).unwrap();
            let [types, columns, rows] = read(&file).as_array().unwrap().clone().try_into().unwrap();
            assert!(rows.as_array().is_some_and(|rows| rows.len() >= 3), "the whole, reads and writes: {rows}");
            assert_same(&rows, &json);
            counts.push((view, rows.as_array().unwrap().len()));
            let at = |name: &str| columns.as_array().unwrap().iter().position(|column| column == name).unwrap();
            let typed = ["run", "ops", "failed", "class", "iops", "p99_us"].map(|name| types[at(name)].clone());
            assert_eq!(typed, ["BIGINT", "BIGINT", "BIGINT", "VARCHAR", "DOUBLE", "DOUBLE"]);
        }
    }
    let whole = read("rows*.parquet");
    let rows = whole[2].as_array().unwrap();
    assert_eq!(rows.len(), counts.iter().filter(|(view, _)| *view == "rows").map(|(_, count)| count).sum::<usize>());
    let of = |run: i64| rows.iter().find(|row| row["run"] == run && row["class"] == "all").unwrap();
    assert!(of(1)["late"].is_null() && of(2)["late"].is_number(), "{whole}");
}

/// Equal row by row; numbers within what a decimal notation may lose.
fn assert_same(found: &Value, wanted: &Value) {
    let (found, wanted) = (found.as_array().unwrap(), wanted.as_array().unwrap());
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        let (found, wanted) = (found.as_object().unwrap(), wanted.as_object().unwrap());
        assert_eq!(found.len(), wanted.len());
        for (name, value) in wanted {
            match (value.as_f64(), found[name].as_f64()) {
                (Some(wanted), Some(found)) => {
                    assert!((found - wanted).abs() <= 1e-12 * wanted.abs(), "{name}: {found} for {wanted}");
                }
                _ => assert_eq!(&found[name], value, "{name}"),
            }
        }
    }
}
