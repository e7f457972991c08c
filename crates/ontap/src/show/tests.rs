//! Output for people, kept as snapshots. `INSTA_UPDATE=always cargo test -p ontap` renews them;
//! review the difference.

mod json;
mod queries;
mod server;

use super::*;
use crate::catalogue::*;
use crate::value::*;
use crate::{Command, parse};
use insta::assert_snapshot;

const GIB: u64 = 1 << 30;

fn volume(volume: &str, size: u64, used: u64) -> VolumeRow {
    VolumeRow {
        vserver: "svm01".to_owned(),
        volume: volume.to_owned(),
        aggregate: Some("aggr1".to_owned()),
        uuid: "7d1a0e2c-0000-4000-8000-000000000001".to_owned(),
        state: "online".to_owned(),
        kind: "RW".to_owned(),
        size,
        available: size - used,
        used,
        junction_path: None,
        top: Some((0, 0, UnixPermissions::new(0o755))),
        qos_policy_group: Some("policy1".to_owned()),
        qos_adaptive_policy_group: None,
    }
}

fn volumes() -> Vec<VolumeRow> {
    let long = "epic_rhel1_production_01";
    vec![volume("vol1", GIB, 27 << 20), volume("vol2", 100 * GIB, 85 * GIB), volume(long, 5 << 40, 1 << 40)]
}

fn policy_group(name: &str, max: Option<ThroughputLimits>, min: Option<ThroughputLimits>) -> PolicyGroupRow {
    PolicyGroupRow {
        policy_group: name.to_owned(),
        vserver: "svm01".to_owned(),
        uuid: "63ab2b0a-0000-4000-8000-000000000002".to_owned(),
        class: "user-defined".to_owned(),
        pgid: 1664,
        max_throughput: max,
        min_throughput: min,
        expected_latency: None,
        ..PolicyGroupRow::default()
    }
}

fn policy_groups() -> Vec<PolicyGroupRow> {
    let limits = |iops, megabytes: u64| ThroughputLimits { iops, bytes_per_second: Some(megabytes * 1_000_000) };
    let floor = ThroughputLimits { iops: Some(200), bytes_per_second: None };
    vec![
        policy_group("policy1", Some(limits(Some(10_000), 300)), None),
        policy_group("policy1-shared-by-many", Some(limits(Some(4_000), 300)), Some(floor)),
        policy_group("free", None, None),
    ]
}

fn adaptive(name: &str, expected: u64, peak: u64, least: u64) -> AdaptiveRow {
    let rate = |iops| AdaptiveRate { iops, per: PerSize::Terabyte };
    AdaptiveRow {
        policy_group: name.to_owned(),
        vserver: "fp-g9a".to_owned(),
        uuid: "9c7d11aa-0000-4000-8000-000000000003".to_owned(),
        class: "preset".to_owned(),
        pgid: 40,
        expected_iops: rate(expected),
        peak_iops: rate(peak),
        expected_iops_allocation: Allocation::Allocated,
        peak_iops_allocation: Allocation::Used,
        absolute_min_iops: least,
        expected_latency: None,
        block_size: BlockSize::Any,
        peak_mode: PeakMode::Ceiling,
        num_workloads: 0,
        burst: Some(BurstRow { percent: 50, iops: 0, duration_s: 1 }),
    }
}

fn built_in() -> Vec<AdaptiveRow> {
    vec![
        adaptive("extreme", 6144, 12_288, 1000),
        adaptive("performance", 2048, 4096, 500),
        adaptive("value", 128, 512, 75),
    ]
}

/// The selection of a `show` command.
fn asks(line: &str) -> Selection {
    match parse(line).unwrap_or_else(|e| panic!("{line}: {e}")) {
        Command::Vserver(VserverCommand::Show(s))
        | Command::Volume(VolumeCommand::Show(s))
        | Command::Lun(LunCommand::Show(s))
        | Command::Qtree(QtreeCommand::Show(s))
        | Command::File(FileCommand::Show(s))
        | Command::Snapshot(SnapshotCommand::Show(s))
        | Command::Fairness(FairnessCommand::Show(s))
        | Command::PolicyGroup(PolicyGroupCommand::Show(s))
        | Command::Adaptive(AdaptiveCommand::Show(s))
        | Command::Cache(
            CacheCommand::Show(s)
            | CacheCommand::Statistics(s)
            | CacheCommand::Memory(s)
            | CacheCommand::SecondLevel(s),
        )
        | Command::Volume(VolumeCommand::Df(s))
        | Command::Aggregate(AggregateCommand::Show(s))
        | Command::Clone(CloneCommand::Show(s))
        | Command::Network(NetworkCommand::Show(s))
        | Command::Event(EventCommand::Show(s))
        | Command::Security(SecurityCommand::Show(s) | SecurityCommand::ShowCertificates(s))
        | Command::Workload(WorkloadCommand::Show(s)) => s,
        other => panic!("{line} is no show command: {other:?}"),
    }
}

fn shown<R: Row + Clone>(rows: &[R], line: &str) -> String
where
    Rows: From<Vec<R>>,
{
    Listing::new(rows.to_vec(), &asks(line), SizeUnits::Binary).text()
}

#[test]
fn volumes_are_listed() {
    assert_snapshot!("volume_summary", shown(&volumes(), "volume show"));
    assert_snapshot!("volume_instance", shown(&volumes(), "volume show -vserver svm01 -volume vol1"));
    assert_snapshot!("volume_fields", shown(&volumes(), "vol show -fields qos-policy-group,size"));
}

#[test]
fn policy_groups_are_listed() {
    assert_snapshot!("policy_group_summary", shown(&policy_groups(), "qos policy-group show"));
    assert_snapshot!("policy_group_instance", shown(&policy_groups(), "qos policy-group show -policy-group policy1"));
    assert_snapshot!("policy_group_fields", shown(&policy_groups(), "qos policy-group show -fields throughput-policy"));
}

#[test]
fn adaptive_policy_groups_are_listed() {
    assert_snapshot!("adaptive_summary", shown(&built_in(), "qos adaptive-policy-group show"));
    assert_snapshot!("adaptive_instance", shown(&built_in(), "qos adaptive-policy-group show value"));
}

fn partitions() -> Vec<CachePartitionRow> {
    let row = |partition: &str, size, volumes: Option<&[&str]>, hits, misses| CachePartitionRow {
        partition: partition.to_owned(),
        size,
        page: 4096,
        volumes: volumes.map(|volumes| volumes.iter().map(|volume| (*volume).to_owned()).collect()),
        counts: Some(CacheCounts {
            hits,
            misses,
            inserted: misses,
            evicted: misses / 2,
            invalidated: 7,
            allowed: size / 4 * 3,
            resident: size / 2,
            second_hits: misses / 3,
            second_resident: size * 2,
        }),
        memory_only: false,
    };
    vec![
        row("default", 3 * GIB, None, 1_000_000, 9_000_000),
        row("database", 4 * GIB, Some(&["svm01:data", "svm01:log"]), 123_456_789, 1_234_567),
        row("unused", GIB, Some(&[]), 0, 0),
        CachePartitionRow { counts: None, ..row("no-cache", GIB, Some(&[]), 0, 0) },
    ]
}

#[test]
fn partitions_of_the_cache_are_listed() {
    assert_snapshot!("cache_partition_summary", shown(&partitions(), "cache partition show"));
    assert_snapshot!("cache_partition_instance", shown(&partitions()[..2], "cache partition show -instance"));
    assert_snapshot!("cache_partition_json", shown(&partitions(), "cache part show -output json -fields hits,volumes"));
    let counts = |row: &CachePartitionRow| row.counts.unwrap_or_default();
    let figures = partitions().into_iter().map(|row| CacheStatisticsRow {
        counts: counts(&row),
        partition: row.partition,
        size: row.size,
    });
    assert_snapshot!("cache_statistics", shown(&figures.collect::<Vec<_>>(), "cache statistics show"));
}

#[test]
fn svms_luns_qtrees_and_workloads_are_listed() {
    let vserver = VserverRow {
        vserver: "svm01".to_owned(),
        uuid: "02c9e252-0000-4000-8000-000000000004".to_owned(),
        kind: "data".to_owned(),
        subtype: "default".to_owned(),
        admin_state: "running".to_owned(),
        operational_state: "running".to_owned(),
        aggregate: Some("aggr1".to_owned()),
        ..VserverRow::default()
    };
    assert_snapshot!("vserver_summary", shown(std::slice::from_ref(&vserver), "vserver show"));
    assert_snapshot!("vserver_instance", shown(&[vserver], "vserver show -instance"));

    let lun = |path: &str| LunRow {
        vserver: "svm01".to_owned(),
        path: path.to_owned(),
        volume: "vol1".to_owned(),
        lun: "lun1".to_owned(),
        size: 50 * GIB,
        ostype: "linux".to_owned(),
        state: "online".to_owned(),
        ..LunRow::default()
    };
    let luns = [lun("/vol/vol1/lun1"), lun("/vol/a_volume_with_a_long_name/lun1")];
    assert_snapshot!("lun_summary", shown(&luns, "lun show"));
    assert_snapshot!("lun_instance", shown(&luns, "lun show -vserver svm01 -path /vol/vol1/lun1"));

    let qtree = QtreeRow {
        vserver: "svm01".to_owned(),
        volume: "vol1".to_owned(),
        qtree: "q1".to_owned(),
        id: 1,
        status: "normal".to_owned(),
        qos_policy_group: None,
    };
    assert_snapshot!("qtree_summary", shown(&[qtree], "volume qtree show"));

    let clone = |flexclone: &str, snapshot: Option<&str>| CloneRow {
        vserver: "svm01".to_owned(),
        flexclone: flexclone.to_owned(),
        parent_vserver: "svm01".to_owned(),
        parent_volume: "production".to_owned(),
        parent_snapshot: snapshot.map(str::to_owned),
    };
    let clones = [clone("dev01", None), clone("dev02", Some("nightly"))];
    assert_snapshot!("clone_summary", shown(&clones, "volume clone show"));
    let link = LinkRow {
        scope: "server".to_owned(),
        rate: Some(150_000_000),
        burst: Some(1_250_000_000),
        credit: Some(100 * GIB),
        credit_left: Some(25 * GIB),
        waits: 1234,
        bytes: 75 * GIB,
    };
    let flow = LinkRow { scope: "connection".to_owned(), rate: Some(625_000_000), waits: 7, ..LinkRow::default() };
    assert_snapshot!("link_summary", shown(&[flow, link.clone()], "network limit show"));
    assert_snapshot!("link_instance", shown(&[link], "network limit show -instance"));
    assert_snapshot!("clone_instance", shown(&clones[..1], "volume clone show -instance"));

    let workload = WorkloadRow {
        workload: "vol1-wid7967".to_owned(),
        class: "user-defined".to_owned(),
        wid: 7967,
        policy_group: Some("policy1".to_owned()),
        vserver: Some("svm01".to_owned()),
        volume: Some("vol1".to_owned()),
        ..WorkloadRow::default()
    };
    let long = WorkloadRow {
        workload: "a_lun_with_a_long_name-wid70123".to_owned(),
        wid: 70_123,
        policy_group: Some("a_policy_group_with_a_long_name".to_owned()),
        vserver: Some("svm_of_the_hospital".to_owned()),
        volume: Some("epic_rhel1_db1".to_owned()),
        lun: Some("a_lun_with_a_long_name".to_owned()),
        qtree: Some("qtree_of_q1".to_owned()),
        file: Some("a_file_beside_it.img".to_owned()),
        ..workload.clone()
    };
    let table = shown(&[workload, long], "qos workload show");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert_snapshot!("workload_summary", table);
}

#[test]
fn workloads_files_and_snapshots_are_told_in_full() {
    let workload = WorkloadRow {
        workload: "lun1-wid7967".into(),
        class: "user-defined".into(),
        wid: 7967,
        policy_group: Some("policy1".into()),
        vserver: Some("svm01".into()),
        volume: Some("vol1".into()),
        lun: Some("lun1".into()),
        max_throughput: Some(ThroughputLimits { iops: Some(1000), bytes_per_second: Some(200_000_000) }),
        expected_latency: Some(ExpectedLatency(100_000)),
        burst: Some(BurstInForce { ppm: 500_000, duration: block::Span::SECOND, on_credit: false }),
        ..WorkloadRow::default()
    };
    assert_snapshot!("workload_instance", shown(&[workload], "qos workload show -instance"));
    let (vserver, volume, size) = ("svm01".to_owned(), "vol1".to_owned(), 1 << 30);
    let file =
        FileRow { vserver: vserver.clone(), volume: volume.clone(), file: "/f.img".into(), size, ..FileRow::default() };
    assert_snapshot!("file_summary", shown(std::slice::from_ref(&file), "volume file show"));
    assert_snapshot!("file_instance", shown(&[file], "volume file show -instance"));
    let snapshot = "daily.0".to_owned();
    let comment = "before the upgrade".to_owned();
    let snapshot =
        SnapshotRow { vserver, volume, snapshot, create_time: 1_795_314_659, size, total_percent: 5, comment };
    assert_snapshot!("snapshot_summary", shown(std::slice::from_ref(&snapshot), "volume snapshot show"));
    assert_snapshot!("snapshot_instance", shown(&[snapshot], "volume snapshot show -instance"));
}

/// No summary is wider than a terminal, whatever it contains.
#[test]
fn every_summary_fits_a_terminal() {
    fn widest<R: Row>() -> usize {
        let mut table = Table::new(R::SUMMARY.to_vec());
        table.line(R::SUMMARY.iter().map(|_| "x".repeat(40)));
        table.text().lines().map(str::len).max().unwrap_or(0)
    }
    let all = [
        widest::<VserverRow>(),
        widest::<VolumeRow>(),
        widest::<LunRow>(),
        widest::<QtreeRow>(),
        widest::<FileRow>(),
        widest::<SnapshotRow>(),
        widest::<PolicyGroupRow>(),
        widest::<AdaptiveRow>(),
        widest::<WorkloadRow>(),
        widest::<CloneRow>(),
        widest::<LinkRow>(),
    ];
    assert_eq!(all, [80; 11]);
}

#[test]
fn filters_pick_rows_by_text_and_by_size() {
    let names = |line: &str| {
        let selection = asks(line);
        let rows = volumes();
        let picked = rows.iter().filter(|row| picked(*row, &selection, SizeUnits::Binary));
        picked.map(|row| row.volume.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("volume show -volume vol*"), "vol1 vol2");
    // 100 GiB is more than 10 GB and less than 1 TB; the last two have 85 % and 20 % of their space
    // used.
    assert_eq!(names("volume show -size 10GB..1TB"), "vol2");
    assert_eq!(names("volume show -percent-used >=20%"), "vol2 epic_rhel1_production_01");
    assert_eq!(names("volume show -qos-adaptive-policy-group -"), "vol1 vol2 epic_rhel1_production_01");
    assert_eq!(names("volume show -volume !vol* -size >1GB"), "epic_rhel1_production_01");
    let rates = |line: &str| built_in().iter().filter(|row| picked(*row, &asks(line), SizeUnits::Binary)).count();
    // 6144 and 2048 are at least 2 IOPS/GB = 2000 IOPS/TB; 75 is the only minimum below 500.
    assert_eq!(rates("qos adaptive show -expected-iops >=2IOPS/GB"), 2);
    assert_eq!(rates("qos adaptive show -absolute-min-iops <500IOPS"), 1);
}

#[test]
fn nothing_to_show_is_said() {
    let none: [VolumeRow; 0] = [];
    assert_eq!(shown(&none, "volume show"), "This table is currently empty.\n");
    assert_eq!(shown(&volumes(), "volume show -volume v9"), "There are no entries matching your query.\n");
}

/// Every field in a command's table has a value in the row type, and every field that a row type
/// shows is in its command's table.
#[test]
fn tables_and_rows_know_the_same_fields() {
    fn check<R: Row>(row: &R) {
        let spec = specs().find(|s| s.path == R::COMMAND).expect(R::COMMAND);
        let columns: Vec<_> = spec.columns().collect();
        for column in &columns {
            assert!(row.cell(column).is_some(), "{}: {column} has no value", R::COMMAND);
        }
        let shown = R::SUMMARY.iter().map(|c| c.field).chain(R::INSTANCE.iter().map(|(_, field)| *field));
        for field in shown.chain(spec.keys.iter().copied()) {
            assert!(columns.contains(&field), "{}: {field} is no field", R::COMMAND);
        }
        assert!(columns.iter().all(|c| R::INSTANCE.iter().any(|(_, field)| field == c)), "{}: -instance", R::COMMAND);
        assert_eq!(row.cell("no-such-field"), None);
    }
    check(&VserverRow::default());
    check(&volume("v", 1, 0));
    check(&LunRow::default());
    check(&QtreeRow::default());
    check(&policy_group("p", None, None));
    check(&built_in()[0]);
    check(&WorkloadRow::default());
    check(&CloneRow::default());
    check(&LinkRow::default());
    check(&FileRow::default());
    check(&SnapshotRow::default());
}

fn measured(name: &str, id: u32, iops: u64, latency_ns: u64) -> Measured {
    Measured {
        name: name.to_owned(),
        vserver: None,
        id: Some(id),
        iops,
        bytes_per_second: iops * 4096,
        request_bytes: 4096,
        latency_ns,
        waits: Waits { disk_ns: latency_ns / 4, qos_max_ns: latency_ns - latency_ns / 4, ..Waits::default() },
        read_percent: 50,
        concurrency: 16,
        is_adaptive: false,
        held_by: HeldBy::Floors,
        floor: FloorStatus::NeedsOutstanding(12),
    }
}

fn table(line: &str, rows: &[Measured]) -> String {
    let Ok(Command::Statistics(command)) = parse(line) else { panic!("{line}") };
    Statistics::new(rows.to_vec(), &command, None).text()
}

#[test]
fn statistics_are_laid_out() {
    let idle = Measured { name: "_Scan_Background_Work".to_owned(), id: Some(3), ..Measured::default() };
    let rows = [measured("vol2-wid102", 102, 2_000, 216_870_000), idle, measured("vol1-wid7967", 7967, 7_219, 319_000)];
    assert_snapshot!("statistics_volume_performance", table("qos statistics volume performance show", &rows));
    assert_snapshot!("statistics_performance", table("qos statistics performance show", &rows));
    assert_snapshot!("statistics_workload_latency", table("qos statistics workload latency show", &rows));
    assert_snapshot!("statistics_workload_held", table("qos statistics workload held show", &rows));
    assert_snapshot!("statistics_characteristics", table("qos statistics characteristics show", &rows));
}

/// Volumes of several SVMs may have one name, so then the SVM is shown; in JSON it always is.
#[test]
fn volumes_of_several_svms_are_told_apart() {
    let of = |svm: &str, id: u32| Measured { vserver: Some(svm.into()), ..measured("vol1-wid", id, 100, 1_000_000) };
    let line = "qos statistics volume performance show";
    let words = |text: &str| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let both = words(&table(line, &[of("svm01", 2), of("svm02", 5)]));
    assert_eq!([&both[0][1], &both[2][1], &both[3][1], &both[4][1]], ["Vserver", "-", "svm01", "svm02"]);
    let one = words(&table(line, &[of("svm01", 2), of("svm01", 5)]));
    assert_eq!([&one[0][1], &one[3][1]], ["ID", "2"]);
    let json: serde_json::Value =
        serde_json::from_str(&table(&format!("{line} -output json"), &[of("svm01", 2)])).unwrap();
    assert_eq!(
        (&json["records"][0]["vserver"], &json["total"]["vserver"]),
        (&"svm01".into(), &serde_json::Value::Null)
    );
}

#[test]
fn the_total_sums_work_and_averages_time_over_operations() {
    let rows = [measured("a", 1, 100, 1_000_000), measured("b", 2, 300, 3_000_000)];
    let text = table("qos statistics workload performance show -rows 1", &rows);
    let lines: Vec<&str> = text.lines().collect();
    // 100 + 300 operations of 4 KiB = 1.5625 MiB/s; (100 · 1 ms + 300 · 3 ms) / 400 = 2.5 ms. One
    // row: the busier.
    assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["-total-", "-", "400", "1.56MB/s", "2.50ms"]);
    assert_eq!(lines.len(), 4);
    assert!(lines[3].starts_with("b "));
    assert_eq!(table("qos statistics performance show", &[]).lines().count(), 3);
}

#[test]
fn what_was_done_is_said() {
    assert_eq!(entries(1, "modified"), "1 entry was modified.\n");
    assert_eq!(entries(3, "modified"), "3 entries were modified.\n");
    let created = |text: &str, bytes| lun_created(text.parse().unwrap(), bytes);
    assert_eq!(created("10GB", 10 << 30), "Created a LUN of size 10g (10737418240)\n");
    assert_eq!(created("512MiB", 512 << 20), "Created a LUN of size 512MiB (536870912)\n");
}
