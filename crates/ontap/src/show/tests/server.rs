//! Output about the server itself: events, the cache, memory, and statistics over time.

use super::*;

fn event(seqnum: u64, severity: Severity, name: &str, text: &str) -> EventRow {
    EventRow {
        seqnum,
        time: 1_795_314_659 + seqnum,
        node: "seawall".into(),
        severity,
        message_name: name.into(),
        text: text.into(),
        count: 1,
    }
}

fn events() -> Vec<EventRow> {
    let missed = "svm01:/vol/vol1: 60 IOPS served of a floor of 100 IOPS: the floors together are more than the storage \
                  can do, each is held at 60 % of itself";
    let long = "10.0.0.7: the option has a name_that_is_longer_than_the_column_is_wide_and_has_to_be_broken";
    vec![
        event(3, Severity::Error, "qos.floor.missed", missed),
        event(2, Severity::Error, "nbd.client.refused", long),
        event(1, Severity::Alert, "aggr.full", "full"),
    ]
}

#[test]
fn events_are_laid_out_at_eighty_columns() {
    let text = shown(&events(), "event log show");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_snapshot!("event_summary", text);
    assert_snapshot!("event_instance", shown(&events(), "event log show -instance -messagename qos.*"));
    assert_snapshot!("event_fields", shown(&events(), "event log show -fields count,message-name"));
}

#[test]
fn users_are_laid_out() {
    let login = |vserver: &str, user: &str, role| LoginRow { vserver: vserver.into(), user: user.into(), role };
    let rows = [login("pool", "admin", LoginRole::Admin), login("svm01", "an.svms-administrator", LoginRole::SvmAdmin)];
    let text = shown(&rows, "security login show");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_snapshot!("login_summary", text);
    assert_snapshot!("login_instance", shown(&rows[1..], "security login show -instance"));
}

#[test]
fn certificates_are_laid_out() {
    let row = |serial: &str, common_name: &str, kind| CertificateRow {
        vserver: "pool".into(),
        common_name: common_name.into(),
        serial: serial.into(),
        ca: "ca.example".into(),
        kind,
        file: "server-cert.pem".into(),
        start: 1_795_314_659,
        expiration: 1_826_850_659,
    };
    let rows =
        [row("4F4E4D7B", "db.example", "server"), row("6D04F6C7C20BE2EA3CFA1B9C4FBB1FA5C0B36A42", "", "client-ca")];
    let text = shown(&rows, "security certificate show");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_snapshot!("certificate_summary", text);
    assert_snapshot!("certificate_instance", shown(&rows[..1], "security certificate show -instance"));
    let ends = |when: &str| shown(&rows, &format!("security certificate show -expiration {when} -fields expiration"));
    assert!(ends("<11/23/2027").contains("2 entries") && ends("<11/21/2027").contains("no entries matching"));
}

/// The pool, the space of its volumes, its memory, and fairness.
#[test]
fn space_and_memory_are_laid_out() {
    let pool = AggregateRow {
        aggregate: "pool".into(),
        size: 100 * GIB,
        available: 15 * GIB,
        volcount: 3,
        node: "seawall".into(),
    };
    assert_snapshot!("aggregate_summary", shown(std::slice::from_ref(&pool), "storage aggregate show"));
    assert_snapshot!("aggregate_instance", shown(&[pool], "storage aggregate show -instance"));
    assert_snapshot!("df_summary", shown(&volumes().into_iter().map(DfRow).collect::<Vec<_>>(), "df"));
    let part = |part: &str, limit, used| MemoryRow { part: part.into(), limit, allowed: limit, used };
    let memory =
        [part("cache", Some(GIB), 700 << 20), part("second level", Some(GIB), 9 << 20), part("maps", None, 12 << 20)];
    assert_snapshot!("memory_summary", shown(&memory, "memory show"));
    assert_snapshot!("memory_instance", shown(&memory[..1], "memory show -part cache"));
    let names = ["data", "data_of_january", "logs", "another_with_a_name_that_is_longer_than_a_column", "x", "y"];
    let many = CachePartitionRow {
        partition: "fast".into(),
        size: GIB,
        volumes: Some(names.map(|name| format!("svm01:{name}")).to_vec()),
        ..CachePartitionRow::default()
    };
    let others = CachePartitionRow { partition: "default".into(), size: GIB, ..CachePartitionRow::default() };
    let rows = [many, others];
    for (snapshot, text) in [
        ("cache_partition_summary", shown(&rows, "cache partition show")),
        ("cache_partition_instance", shown(&rows[..1], "cache partition show -instance")),
    ] {
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_snapshot!(snapshot, text);
    }
    assert_snapshot!("fairness_summary", shown(&json::fairness(), "qos fairness show"));
}

#[test]
fn a_time_of_statistics_is_laid_out() {
    let row = |time, is_of_a_day| HistoryRow {
        time,
        duration: 15,
        is_of_a_day,
        iops: 55_570,
        read_iops: 40_000,
        bytes_per_second: 227_614_720,
        latency_ns: 1_264_000,
        network_ns: 21_000,
        qos_max_ns: 216_870_000,
        qos_min_ns: 0,
        data_ns: 400,
        disk_ns: 9_999_500,
    };
    let rows = [row(1_795_314_659, true), row(1_795_314_674, true)];
    let selection = Selection::default();
    let text = Listing::new(rows, &selection, SizeUnits::Binary).text();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_snapshot!("history_summary", text);
    let rows = [row(1_795_314_659, false), row(1_795_314_674, false)];
    let of_hours = Listing::new(rows, &selection, SizeUnits::Binary).text();
    assert_eq!(of_hours.lines().count(), text.lines().count(), "a row is a line: {of_hours}");
}

#[test]
fn statistics_of_every_scope_are_laid_out() {
    let rows = [measured("vol2-wid102", 102, 2_000, 216_870_000), measured("vol1-wid7967", 7967, 7_219, 319_000)];
    for (name, line) in [
        ("statistics_latency", "qos statistics latency show"),
        ("statistics_volume_latency", "qos statistics volume latency show"),
        ("statistics_workload_performance", "qos statistics workload performance show"),
        ("statistics_volume_characteristics", "qos statistics volume characteristics show"),
    ] {
        assert_snapshot!(name, table(line, &rows));
    }
}
