//! Valid and invalid queries on fields.

use super::*;
use crate::word::Word;

/// For every field: a row is selected by the value that it shows, and a value that it could never
/// show is refused, unless the field is text.
fn check<R: Row>(row: &R) {
    let columns = specs().find(|spec| spec.path == R::COMMAND).expect(R::COMMAND).columns();
    for column in columns {
        let cell = row.cell(column).expect(column);
        let text = cell.text(SizeUnits::Binary);
        let word = Word { text: text.clone(), quoted: true };
        let shown = asks(&format!("{} -{column} {word}", R::COMMAND));
        assert!(picked(row, &shown, SizeUnits::Binary), "{} {column} {text}", R::COMMAND);
        if let Some(kind) = cell.kind() {
            let refused = parse(&format!("{} -{column} >x!", R::COMMAND)).is_err();
            let is_word = !R::COMMAND.starts_with("vserver")
                && !R::COMMAND.starts_with("storage")
                && !R::COMMAND.starts_with("cache")
                && ["state", "type", "ostype", "mapped", "class"].contains(&column);
            assert_eq!(refused, kind != FieldKind::Text || is_word, "{} {column}", R::COMMAND);
        }
    }
}

#[test]
fn every_field_takes_what_it_shows_and_refuses_what_it_cannot_show() {
    let burst = Some(BurstRow { percent: 50, iops: 0, duration_s: 60 });
    let limits = Some(ThroughputLimits { iops: Some(100), bytes_per_second: Some(300_000_000) });
    let latency = Some(ExpectedLatency(12_500));
    let (a, b, c) = (27 << 20, 3, 99);
    let counts = CacheCounts {
        hits: a,
        misses: b,
        inserted: c,
        resident: a + b,
        second_resident: a * b + c,
        ..CacheCounts::default()
    };
    let partition = CachePartitionRow { size: a, counts: Some(counts), ..CachePartitionRow::default() };
    let held = BurstInForce { ppm: 500_000, duration: block::Span::SECOND, on_credit: true };
    check(&VserverRow::default());
    check(&volume("v", 1, 0));
    check(&volume("v", 10_000_001, 777_777));
    check(&DfRow(volume("v", 10_000_001, 777_777)));
    check(&LunRow { state: "online".into(), ostype: "linux".into(), ..LunRow::default() });
    check(&QtreeRow::default());
    check(&FileRow { size: 4_097, ..FileRow::default() });
    check(&SnapshotRow { create_time: 1_795_314_659, size: a, total_percent: b, ..SnapshotRow::default() });
    check(&CloneRow::default());
    check(&AggregateRow { size: a * 1_000 + 1, available: a, ..AggregateRow::default() });
    check(&PolicyGroupRow { is_auto_generated: Some(true), burst, ..policy_group("p", limits, limits) });
    check(&policy_group("p", None, None));
    check(&AdaptiveRow { expected_latency: latency, burst, ..built_in().remove(0) });
    let workload =
        WorkloadRow { max_throughput: limits, expected_latency: latency, burst: Some(held), ..WorkloadRow::default() };
    let class = "user-defined".to_owned();
    let workload = WorkloadRow { class: class.clone(), ..workload };
    check(&workload);
    check(&WorkloadRow { class, ..WorkloadRow::default() });
    check(&FairnessRow::default());
    check(&EventRow {
        seqnum: c,
        time: 1_795_314_659,
        node: "seawall".into(),
        severity: Severity::Error,
        message_name: "qos.floor.missed".into(),
        text: "60 IOPS of 100".into(),
        count: b,
    });
    check(&LinkRow { rate: Some(a), burst: Some(a), credit: Some(a), credit_left: Some(c), ..LinkRow::default() });
    check(&partition);
    check(&CachePartitionRow::default());
    check(&CacheStatisticsRow { counts, ..CacheStatisticsRow::default() });
    check(&SecondLevelRow { failed: Some("a fault".into()), ..SecondLevelRow::default() });
    check(&MemoryRow { limit: Some(a), allowed: Some(c), used: b, ..MemoryRow::default() });
}

#[test]
fn rates_and_owners_are_compared_by_number() {
    let rows = [50, 2_000, 300].map(|iops| {
        let limits = ThroughputLimits { iops: Some(iops), bytes_per_second: None };
        policy_group(&iops.to_string(), Some(limits), None)
    });
    let names = |line: &str| {
        let selection = asks(line);
        let picked = rows.iter().filter(|row| picked(*row, &selection, SizeUnits::Binary));
        picked.map(|row| row.policy_group.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("qos policy-group show -max-throughput >1000IOPS"), "2000");
    assert_eq!(names("qos policy-group show -max-throughput 0..500IOPS"), "50 300");
    assert_eq!(names("qos policy-group show -throughput-policy *-2000IOPS"), "2000");
    let owned = VolumeRow { top: Some((1_000, 0, UnixPermissions::new(0o755))), ..volume("v", 1, 0) };
    assert!(picked(&owned, &asks("volume show -user >999 -group 0"), SizeUnits::Binary));
}

#[test]
fn a_value_that_a_field_cannot_have_is_refused_by_name() {
    for (line, expected) in [
        ("qos policy-group show -num-workloads x", "-num-workloads: \"x\" is not a whole number from 0 to"),
        ("qos policy-group show -is-shared maybe", "-is-shared: \"maybe\" is not a truth value"),
        ("volume show -size >x", "-size: \"x\" is not a size"),
        ("cache partition show -hits x", "-hits: \"x\" is not a whole number"),
    ] {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}: {error}");
    }
}
