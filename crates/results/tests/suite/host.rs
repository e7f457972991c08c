//! Statistics of the host and its devices: saved during the run, loaded completely, and queried by
//! SQL.

use block::{Bytes, Span};
use results::{Answer, Results, SqlValue};
use stats::run::{CpuTimes, DeviceRow, DeviceSeries, HostRecord, HostRow, MemoryUse, Moved, Pressure, Run, Stall};

/// Seconds in which programs used a quarter of two processors, something waited for I/O half of the
/// time, and a device did 8 reads of 4 KiB of 2 ms each. In the second minute processor times are
/// not known.
fn run(seconds: u64) -> Run {
    let ms = Span::from_millis;
    let host = |second: u64| HostRow {
        start: Span::from_secs(second),
        length: Span::SECOND,
        cpu: (second < 60).then_some(CpuTimes { user: ms(500), idle: ms(1500), ..CpuTimes::default() }),
        pressure: Pressure { io: Some(Stall { some: ms(500), full: ms(250) }), ..Pressure::default() },
        memory: Some(MemoryUse { available: Bytes(1000 - second), dirty: Bytes(second), ..MemoryUse::default() }),
    };
    let device = |second: u64| DeviceRow {
        start: Span::from_secs(second),
        length: Span::SECOND,
        busy: ms(160),
        in_queue: ms(16),
        reads: Moved { count: 8, bytes: Bytes::kib(32), took: ms(16) },
        writes: Moved::default(),
    };
    let devices =
        ["vda", "vdb"].map(|name| DeviceSeries { name: name.into(), rows: (0..seconds).map(device).collect() });
    let host = HostRecord { rows: (0..seconds).map(host).collect(), devices: devices.to_vec() };
    Run { host, ..Run::default() }
}

/// Saved after 30, 90 and 150 s, it is the same as if it had been saved once.
#[test]
fn a_host_is_written_as_the_run_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
    let number = results.save(&run(30)).unwrap();
    [90, 150].into_iter().for_each(|seconds| results.replace(number, &run(seconds)).unwrap());
    assert_eq!(results.load(number).unwrap(), run(150));
    let rows = asked(&results, "SELECT (SELECT count(*) FROM host), (SELECT count(*) FROM device)").rows;
    assert_eq!(rows, [[SqlValue::Integer(3), SqlValue::Integer(6)]], "a row for each minute");
}

#[test]
fn minutes_and_seconds_say_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
    results.save(&run(90)).unwrap();
    for view in ["host_minutes", "host_seconds"] {
        let query = format!(
            "SELECT user_percent, idle_percent, io_some_percent, io_full_percent, cpu_some_percent FROM {view} ORDER BY second"
        );
        let rows = asked(&results, &query).rows;
        let (first, last) = (rows.first().unwrap(), rows.last().unwrap());
        let known = [25.0, 75.0, 50.0, 25.0].map(SqlValue::Real);
        assert_eq!(first[..], [&known[..], &[SqlValue::Null]].concat(), "{view}");
        assert_eq!(
            last[..3],
            [SqlValue::Null, SqlValue::Null, SqlValue::Real(50.0)],
            "{view}: what nobody told is not zero"
        );
    }
    // The smallest available and the largest dirty amount.
    let rows = asked(&results, "SELECT available_bytes, dirty_bytes FROM host_minutes ORDER BY second").rows;
    assert_eq!(rows[0], [SqlValue::Integer(941), SqlValue::Integer(59)]);
    for view in ["device_minutes", "device_seconds"] {
        let query = format!(
            "SELECT busy_percent, queue, read_iops, round(read_mb_s, 6), read_await_us, write_iops, write_await_us FROM {view}
            WHERE device = 'vdb' ORDER BY second"
        );
        let rows = asked(&results, &query).rows;
        let figures = [16.0, 0.016, 8.0, 0.032_768, 2000.0, 0.0].map(SqlValue::Real);
        assert_eq!(rows[0][..], [&figures[..], &[SqlValue::Null]].concat(), "{view}");
    }
}

fn asked(results: &Results, sql: &str) -> Answer {
    results.query(sql, || false).unwrap()
}
