//! Answers as JSON: every field and figure of the text, in base units.

use super::*;
use block::{LimitKind, Span};
use serde_json::Value;

fn name(text: &str) -> String {
    text.to_owned()
}

fn vserver() -> VserverRow {
    VserverRow { vserver: name("svm01"), kind: name("data"), admin_state: name("running"), ..VserverRow::default() }
}

fn lun() -> LunRow {
    let (path, lun) = (name("/vol/vol1/lun1"), name("lun1"));
    let row = LunRow { vserver: name("svm01"), path, volume: name("vol1"), lun, ..LunRow::default() };
    LunRow { size: 50 * GIB, state: name("online"), connections: 2, ..row }
}

fn qtree() -> QtreeRow {
    QtreeRow { vserver: name("svm01"), volume: name("vol1"), qtree: name("q1"), id: 1, ..QtreeRow::default() }
}

fn file() -> FileRow {
    let row = FileRow { vserver: name("svm01"), volume: name("vol1"), file: name("a.img"), ..FileRow::default() };
    FileRow { size: GIB, used: 27 << 20, connections: 1, ..row }
}

fn snapshot() -> SnapshotRow {
    let (volume, snapshot) = (name("vol1"), name("daily"));
    SnapshotRow {
        vserver: name("svm01"),
        volume,
        snapshot,
        create_time: 1_795_314_659,
        size: GIB / 4,
        total_percent: 25,
        comment: String::new(),
    }
}

fn workloads() -> Vec<WorkloadRow> {
    let max = ThroughputLimits { iops: Some(1_000), bytes_per_second: Some(200_000_000) };
    let bursting = WorkloadRow {
        workload: name("vol1-wid7"),
        wid: 7,
        max_throughput: Some(max),
        burst: Some(BurstInForce { ppm: 505_000, duration: Span::from_secs(2), on_credit: true }),
        ..WorkloadRow::default()
    };
    vec![bursting, WorkloadRow { workload: name("vol2-wid8"), wid: 8, ..WorkloadRow::default() }]
}

pub(super) fn fairness() -> Vec<FairnessRow> {
    let volumes = FairnessRow { vserver: Some(name("svm01")), among: name("volumes"), ..FairnessRow::default() };
    vec![FairnessRow { among: name("SVMs"), enabled: true, ..FairnessRow::default() }, volumes]
}

/// The document of a `show` command with `-instance`, checked against the text of the same command.
fn document<R: Row + Clone>(rows: &[R]) -> String
where
    Rows: From<Vec<R>>,
{
    let text = shown(rows, &format!("{} -instance", R::COMMAND));
    let json = shown(rows, &format!("{} -instance -output json", R::COMMAND));
    let document: Value = serde_json::from_str(&json).expect(&json);
    assert_eq!(document["num_records"], rows.len(), "{json}");
    let records = document["records"].as_array().expect("a list");
    for ((row, record), block) in rows.iter().zip(records).zip(text.split("\n\n")) {
        assert_eq!(record.as_object().expect("an object").len(), R::INSTANCE.len(), "{record}");
        for ((label, field), line) in R::INSTANCE.iter().zip(block.lines()) {
            let printed = line.trim_start().strip_prefix(&format!("{label}: ")).expect(line);
            let value = &record[field.replace('-', "_")];
            assert_eq!(as_text(value, &row.cell(field).unwrap()), printed, "{}: {field} of {record}", R::COMMAND);
        }
    }
    format!("{}\n{json}", R::COMMAND)
}

/// Converts a JSON value to its text; only the kind of the cell is used.
fn as_text(value: &Value, kind: &Cell) -> String {
    let number = || value.as_u64().unwrap_or_else(|| panic!("{value} for {kind:?}"));
    let limits = |value: &Value, none: &str| match value {
        Value::Null => none.to_owned(),
        _ => ThroughputLimits { iops: value["iops"].as_u64(), bytes_per_second: value["bytes_per_second"].as_u64() }
            .to_string(),
    };
    match kind {
        Cell::Absent => value.is_null().then(|| name("-")).expect("null"),
        Cell::Text(_) | Cell::List(_) => name(value.as_str().expect("text")),
        Cell::Flag(_) => value.as_bool().expect("a flag").to_string(),
        Cell::Count(_) => number().to_string(),
        Cell::Percent(_) => format!("{}%", number()),
        Cell::Bytes(_) | Cell::Space(_) | Cell::Paged(..) => size(number(), SizeUnits::Binary),
        Cell::Iops(_) => format!("{}IOPS", number()),
        Cell::Latency(_) => value.as_u64().map_or(name("-"), |ns| ExpectedLatency(ns).to_string()),
        Cell::Rate(_) => format!("{}IOPS/TB", number()),
        Cell::Stamp(_) | Cell::Severity(_) => unreachable!("events have their own test"),
        // Sun Nov 22 02:30:59 2026.
        Cell::Moment(_) => match value.as_str() {
            Some("2026-11-22T02:30:59Z") => name("Sun Nov 22 02:30:59 2026"),
            other => panic!("{other:?}"),
        },
        Cell::Ceiling(_) => limits(value, "INF"),
        Cell::Floor(_) => limits(value, "0"),
        Cell::Throughput { .. } => format!("{}-{}", limits(&value["min"], "0"), limits(&value["max"], "INF")),
        Cell::BlockSize(_) => value.as_u64().map_or(name("ANY"), |bytes| format!("{}K", bytes / 1024)),
        Cell::Burst(_) => {
            let seconds = value["duration_ns"].as_u64().expect("nanoseconds") / 1_000_000_000;
            let mode = if value["on_credit"] == true { ", on credit saved below the ceiling" } else { "" };
            format!("{} % above for {}{mode}", value["above_percent"], Span::from_secs(seconds))
        }
    }
}

#[test]
fn every_show_has_the_figures_of_its_text() {
    let mut adaptive = built_in();
    adaptive[0].block_size = BlockSize::K32;
    let all = [
        document(&[vserver()]),
        document(&volumes()),
        document(&[lun()]),
        document(&[qtree()]),
        document(&[file()]),
        document(&[snapshot()]),
        document(&policy_groups()),
        document(&adaptive),
        document(&workloads()),
        document(&fairness()),
    ];
    assert_snapshot!("json_shows", all.join("\n"));
}

#[test]
fn a_document_has_the_keys_and_the_fields_of_its_form() {
    let fields = |line: &str| -> Vec<String> {
        let document: Value = serde_json::from_str(&shown(&volumes(), line)).unwrap();
        document["records"][0].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(fields("volume show -fields size -output json"), ["size", "volume", "vserver"]);
    let summary = ["aggregate", "available", "percent_used", "size", "state", "type", "volume", "vserver"];
    assert_eq!(fields("volume show -output json"), summary);
    // An empty list is a document too.
    assert_eq!(shown(&volumes(), "volume show -volume v9 -output json"), "{\"num_records\":0,\"records\":[]}\n");
    assert_eq!(crate::output_of("volume show -output json -nonsense"), Output::Json);
    assert_eq!(crate::output_of("volume show -outp JSON -nonsense"), Output::Json);
    assert_eq!(crate::output_of("volume show -volume json"), Output::Text);
}

#[test]
fn statistics_are_documents_with_their_units() {
    let by_ceiling = HeldBy::CeilingOf(name("vol1"), LimitKind::Throughput);
    let held =
        Measured { held_by: by_ceiling, floor: FloorStatus::CutTo(80), ..measured("vol1-wid7", 7, 100, 1_264_000) };
    let rows = [measured("a_volume_with_a_long_name-wid102", 102, 2_000, 216_870_000), held];
    let all: String = [
        "qos statistics performance show",
        "qos statistics workload performance show",
        "qos statistics workload latency show",
        "qos statistics workload characteristics show",
        "qos statistics workload held show",
    ]
    .iter()
    .map(|line| format!("{line}\n{}", table(&format!("{line} -output json"), &rows)))
    .collect();
    assert_snapshot!("json_statistics", all);
    let document = table("qos statistics workload latency show -output json", &rows);
    let text = table("qos statistics workload latency show", &rows);
    let document: Value = serde_json::from_str(&document).unwrap();
    // Two lines of the header, the total, then the slowest: its latency and its time on the disk.
    let line: Vec<&str> = text.lines().nth(3).unwrap().split_whitespace().collect();
    let slowest = &document["records"][0];
    assert_eq!(latency(slowest["latency_ns"].as_u64().unwrap()), line[2]);
    assert_eq!(latency(slowest["disk_ns"].as_u64().unwrap()), line[6]);
    assert_eq!(slowest["workload"], "a_volume_with_a_long_name-wid102", "names are whole");
}

#[test]
fn a_refusal_has_the_envelope_of_the_rest_interface() {
    let text = r#"{"error":{"code":"4","message":"no \"x\"","target":"svm01"}}"#;
    assert_eq!(refusal(Some(4), "no \"x\"", Some("svm01")), text);
    assert_eq!(refusal(None, "gone", None), r#"{"error":{"code":null,"message":"gone","target":null}}"#);
}
