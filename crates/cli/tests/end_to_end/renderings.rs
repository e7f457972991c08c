//! One run, shown in every way that there is: all of them give the same figures.

use crate::running::{RESULTS, seawall, succeed};
use crate::scratch::Scratch;
use crate::server::read_text;
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads and writes on schedule over a simulated device, so that both have response times of their
/// own.
const JOB: [&str; 14] = [
    "simulate",
    "fio",
    "--name=j",
    "--filename=f",
    "--size=1g",
    "--rw=randrw",
    "--rate_iops=300,200",
    "--iodepth=4",
    "--time_based",
    "--runtime=5",
    "--ioengine=libaio",
    "--unified_rw_reporting=both",
    "--lat_percentiles=1",
    "--output-format=json",
];

/// What is compared: operations, bytes, a second each, and response times in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Figures {
    ops: f64,
    bytes: f64,
    iops: f64,
    mean: f64,
    p50: f64,
    p99: f64,
    max: f64,
}

impl Figures {
    fn of_fio(document: &Value, class: &str) -> Figures {
        let of = &document["jobs"][0][class];
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{class}: {value}"));
        let (times, parts) = (&of["lat_ns"], &of["lat_ns"]["percentile"]);
        Figures {
            ops: number(&of["total_ios"]),
            bytes: number(&of["io_bytes"]),
            iops: number(&of["iops"]),
            mean: number(&times["mean"]),
            p50: number(&parts["50.000000"]),
            p99: number(&parts["99.000000"]),
            max: number(&times["max"]),
        }
    }

    /// Of a row by its columns' names, in microseconds.
    fn of_row(row: &BTreeMap<String, String>) -> Figures {
        let number = |name: &str| row[name].parse::<f64>().unwrap_or_else(|_| panic!("{name}: {row:?}"));
        let nanos = |name| number(name) * 1e3;
        let (ops, bytes, iops) = (number("ops"), number("bytes"), number("iops"));
        Figures {
            ops,
            bytes,
            iops,
            mean: nanos("mean_us"),
            p50: nanos("p50_us"),
            p99: nanos("p99_us"),
            max: nanos("max_us"),
        }
    }

    /// IOPS and response times as far as three significant digits tell them.
    fn assert_shown(&self, where_: &str, shown: [(&str, f64); 4]) {
        let exact = [self.iops, self.mean, self.p99, self.max];
        for ((name, shown), exact) in shown.into_iter().zip(exact) {
            assert!((shown - exact).abs() <= exact * 0.006, "{where_}, {name}: {shown} instead of {exact}");
        }
    }
}

/// Rows of CSV by their columns' names; no figure here has a comma in it.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines().map(|line| line.trim_end().split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().expect("a header").collect();
    lines.map(|line| names.iter().cloned().zip(line).collect()).collect()
}

#[test]
fn one_recording_has_the_same_figures_in_all_renderings() {
    let scratch = Scratch::new();
    let kept = |words: &[&str]| succeed(seawall(scratch.path()).env(RESULTS, "kept.sqlite").args(words));
    let document: Value = serde_json::from_str(&kept(&JOB)).unwrap();
    let classes = [("all", "mixed"), ("read", "read"), ("write", "write")];
    let fio: BTreeMap<&str, Figures> =
        classes.into_iter().map(|(class, name)| (class, Figures::of_fio(&document, name))).collect();
    // 300 and 200 a second for 5 s; the classes differ, so that none could pass for another.
    assert_eq!([fio["read"].ops, fio["write"].ops, fio["all"].ops], [1500.0, 1000.0, 2500.0]);
    assert!(fio["read"].mean * 1.5 < fio["write"].mean && fio["read"].max < fio["write"].max, "{fio:?}");

    // The database, as CSV of a row for each class: to the digit.
    let figures = rows(&kept(&["results", "export", "last"]));
    let found: Vec<&str> = figures.iter().map(|row| row["class"].as_str()).collect();
    assert_eq!(found, ["all", "read", "write"]);
    for row in &figures {
        let (kept, fio) = (Figures::of_row(row), fio[row["class"].as_str()]);
        let pairs = [
            (kept.ops, fio.ops),
            (kept.bytes, fio.bytes),
            (kept.iops, fio.iops),
            (kept.mean, fio.mean),
            (kept.p50, fio.p50),
            (kept.p99, fio.p99),
            (kept.max, fio.max),
        ];
        // A mean is kept in whole nanoseconds, a rate in the binary fractions of a different
        // division.
        let differ = pairs.iter().filter(|(kept, fio)| (kept - fio).abs() > 1.0_f64.min(fio * 1e-3));
        assert_eq!(differ.count(), 0, "{}: {kept:?} instead of {fio:?}", row["class"]);
    }

    // The seconds: their sums are the whole, in the view of the database and in the CSV of a
    // report.
    let seconds = rows(&kept(&["results", "export", "last", "--seconds"]));
    for class in ["read", "write"] {
        let of = |name: &str| -> Vec<f64> {
            seconds.iter().filter(|row| row["class"] == class).map(|row| row[name].parse().unwrap()).collect()
        };
        let (ops, bytes, means) = (of("ops"), of("bytes"), of("mean_us"));
        assert_eq!((ops.iter().sum::<f64>(), bytes.iter().sum::<f64>()), (fio[class].ops, fio[class].bytes));
        let time: f64 = ops.iter().zip(&means).map(|(ops, mean)| ops * mean * 1e3).sum();
        assert!((time / fio[class].ops - fio[class].mean).abs() < 2.0, "{class}: {time}");
    }
    let report = rows(&kept(&["results", "show", "last", "--csv", "seconds"]));
    let sum = |name: &str| report.iter().map(|row| row[name].parse::<f64>().unwrap()).sum::<f64>();
    assert_eq!((sum("reads"), sum("writes"), sum("other")), (fio["read"].ops, fio["write"].ops, 0.0));

    // The table: class, IOPS, MB/s, mean, p99, longest in ms, failed.
    let table = kept(&["results", "show", "last"]);
    for (class, fio) in &fio {
        let words = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let row = words.into_iter().find(|words| words.len() == 8 && words[1] == *class);
        let row = row.unwrap_or_else(|| panic!("no row of {class}:\n{table}"));
        let number = |at: usize| row[at].replace(',', "").parse::<f64>().unwrap();
        let shown =
            [("IOPS", number(2)), ("mean", number(4) * 1e6), ("p99", number(5) * 1e6), ("max", number(6) * 1e6)];
        fio.assert_shown(&format!("table, {class}"), shown);
        assert_eq!(row[7], "0", "failed");
    }

    // The page has the whole: IOPS, MB/s, mean, p50, p99, p99.9 and longest in ms.
    kept(&["report", "last", "-o", "page.html"]);
    let page = read_text(&scratch.join("page.html"));
    let row = page.split("<th scope=\"row\" class=\"l\">j · f</th>").nth(1).expect("the job's row of the page");
    let cells: Vec<f64> = row
        .split("<td>")
        .skip(1)
        .take(7)
        .map(|cell| cell.split("</td>").next().unwrap().replace(',', "").parse().unwrap())
        .collect();
    let shown = [("IOPS", cells[0]), ("mean", cells[2] * 1e6), ("p99", cells[4] * 1e6), ("max", cells[6] * 1e6)];
    fio["all"].assert_shown("page", shown);
}
