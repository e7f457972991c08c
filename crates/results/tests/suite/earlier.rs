//! Files of formats 1 to 3 can be opened without loss; a damaged one is not changed.

use block::{Bytes, Span};
use results::{Error, Filter, Results};
use rusqlite::Connection;
use stats::{CycleRecord, HeldBy, Outcome};
use std::path::Path;

const STEPS: [&str; 3] = [
    include_str!("../../src/version_1.sql"),
    include_str!("../../src/version_2.sql"),
    include_str!("../../src/version_3.sql"),
];

/// A run in format 1: one phase with a command, one workload with two seconds and a tally, an
/// object, a verdict.
const RUN: &str = "
    INSERT INTO run VALUES (3, 'old', 'a plan', 'seawall demo', '0.0.9', -1, 1700000000000, 0, 1, 'h', 'Linux 6', 'c',
        4, 8192, 'ext4 on /dev/sda', 'io_uring', 0.5, 1000.0, NULL);
    INSERT INTO phase VALUES (3, 0, 'even', 'all alike', 0, 2000000000, 7);
    INSERT INTO phase_command VALUES (3, 0, 'run', 0, 'qos show');
    INSERT INTO workload VALUES (3, 0, 'server1', 'host1', 'svm:/vol/v');
    INSERT INTO interval (run, workload, position, start_ns, length_ns, reads, writes, other, read_bytes, write_bytes,
        faults, response_count, response_mean_ns, response_p50_ns, response_p99_ns, response_p999_ns, response_max_ns,
        service_count, service_mean_ns, service_p50_ns, service_p99_ns, service_p999_ns, service_max_ns, outstanding,
        wait_ceiling_ns, wait_floors_ns, wait_turn_ns, device_ns, held_by)
        VALUES (3, 0, 0, 0, 1000000000, 10, 5, 1, 40960, 20480, 2, 16, 300, 250, 900, 950, 1000, 16, 200, 150, 800, 850,
            900, 4, 1, 2, 3, 4, 'disk'),
        (3, 0, 1, 1000000000, 1000000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'nothing');
    INSERT INTO tally VALUES (3, 0, 0, 1000000000, 10, 5, 1, 40960, 20480, 2, 6, 9000);
    INSERT INTO histogram SELECT 3, 0, 0, column1, 1, 100, 100, 100, 100, 100, 100, x'6401' FROM
        (VALUES ('response'), ('service'), ('queued'), ('device'));
    INSERT INTO object (run, position, path, is_group) VALUES (3, 0, 'svm:/vol/v', 0);
    INSERT INTO object_trace VALUES (3, 0, 5, x'0102');
    INSERT INTO limits VALUES (3, 0, 0, 'gold', 500, NULL, 100, NULL);
    INSERT INTO verdict VALUES (3, 0, 'q', 'cannot_say', 'b');
    INSERT INTO note VALUES (3, 0, 'a note');";

/// A file of this format with that run.
fn file(path: &Path, version: usize) {
    let connection = Connection::open(path).unwrap();
    STEPS[..version].iter().for_each(|step| connection.execute_batch(step).unwrap());
    connection.execute_batch(RUN).unwrap();
    if version >= 3 {
        connection
            .execute_batch(
                "INSERT INTO cycle VALUES (3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7);
                UPDATE object SET used_end_bytes = 4096",
            )
            .unwrap();
    }
    connection.pragma_update(None, "application_id", 0x5357_616c).unwrap();
    connection.pragma_update(None, "user_version", version as i64).unwrap();
}

#[test]
fn a_file_of_any_earlier_format_keeps_what_it_held() {
    for version in 1..=3 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.sqlite");
        file(&path, version);
        let mut results = Results::open_existing(&path).unwrap();
        let list = results.list(&Filter::default()).unwrap();
        assert_eq!((list.len(), list[0].id, list[0].tool.as_str(), list[0].cannot_say), (1, 3, "run", 1), "{version}");
        let run = results.load(3).unwrap();
        assert_eq!(run.cells[0].never_sent, None, "nobody counted");
        let told = run.recording();
        let origin = &told.origin;
        assert_eq!((origin.title.as_str(), origin.seed, origin.cut_short), ("old", u64::MAX, true));
        assert_eq!(
            (told.phases[0].commands.as_slice(), told.phases[0].stalled),
            (&["qos show".into()][..], Span::from_nanos(7))
        );
        let workload = &told.workloads[0];
        let (second, tally) = (&workload.intervals[0], &workload.tallies[0]);
        assert_eq!(
            (second.counts.other, second.response.and_then(|times| times.p999()), second.held_by),
            (1, Some(Span::from_nanos(950)), HeldBy::Disk)
        );
        assert_eq!((workload.intervals.len(), workload.intervals[1].response), (2, None));
        assert_eq!((tally.late, tally.response.max(), tally.counts.faults), (Some(6), Span::from_nanos(100), 2));
        let object = &told.objects[0];
        assert_eq!((object.limits[0].floor_iops, object.trace.bins().next()), (Some(100), Some((5, 1, 2))));
        assert_eq!((told.verdicts[0].outcome, told.notes.as_slice()), (Outcome::CannotSay, &["a note".into()][..]));
        let ns = Span::from_nanos;
        let cycle = CycleRecord {
            phase: 0,
            due: ns(1),
            start: ns(2),
            sleep: ns(3),
            wij: ns(4),
            write: ns(5),
            cycle: ns(6),
            blocks: 7,
        };
        let (cycles, used) = if version == 3 { (vec![cycle], Some(Bytes(4096))) } else { (Vec::new(), None) };
        assert_eq!((&workload.cycles, object.used_end), (&cycles, used));
        // The next run has the next number, and the backup exists.
        assert_eq!(results.save(&run).unwrap(), 4);
        assert!(dir.path().join(format!("results.sqlite.v{version}.bak")).exists());
    }
}

/// If a run cannot be read, nothing is lost: the file keeps its format and its run.
#[test]
fn a_damaged_file_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    file(&path, 2);
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE histogram SET buckets = x'ff' WHERE kind = 'device'")
        .unwrap();
    let error = Results::open(&path).unwrap_err();
    assert!(matches!(error, Error::Damaged { run: 3, what: "a histogram", .. }), "{error}");
    let connection = Connection::open(&path).unwrap();
    let found: (i64, i64) = connection
        .query_row("SELECT (SELECT count(*) FROM interval), user_version FROM pragma_user_version", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(found, (2, 2));
}
