//! Hourly totals: what was done and promised, by the names and policies of then.

use super::*;
use store::HourRow;

/// What is done comes to the pool's file every so many rounds, under the names and the policy that
/// it was done with, which what is in a volume has of the volume: what lies there at any moment is
/// there after a kill. A volume that is deleted keeps what it did.
#[test]
fn hourly_totals_are_kept_while_the_server_runs() {
    let mut server = Server::start_under(limits(), settings(BACKENDS[0], &limits()), RegistrySettings::default());
    run(
        &mut server.control,
        &[
            "qos policy-group create gold -min-throughput 100IOPS -is-shared false",
            "volume modify vol1 -qos-policy-group gold",
        ],
    );
    let mut client = connect(&server, LUN);
    let Server { control, dir, .. } = server;
    let control = Arc::new(Mutex::new(control.with_date(|| 7 * 3600 + 5)));
    let every = HousekeepingSettings { account: Duration::from_millis(5), sizes: 1000, totals: 3 };
    let housekeeping = Housekeeping::start(Arc::clone(&control), every).unwrap();
    let pool = dir.path().join("pool");
    let kept = || {
        // As after a kill: the files as they are, without what the server knows.
        let copy = tempfile::tempdir().unwrap();
        for name in ["totals.db", "totals.db-wal"] {
            let _ = std::fs::copy(pool.join(name), copy.path().join(name));
        }
        let mut rows = Vec::new();
        // Copied in the middle of a write it may be none.
        let _ = store::HourlyTotals::read(copy.path(), 0..100, &mut |row| rows.push(row));
        rows
    };
    let reads = |path: &str| {
        let rows = kept();
        let found = rows.iter().find(|row| row.name.path == path && row.hour == 7);
        found.map_or((0, String::new()), |row| (row.totals.figures.read_ops, row.name.policy.clone()))
    };
    // The first account covers an unknown time and is left out.
    support::wait("a sample", || control.lock().unwrap().monitor().latest().number > 0);
    for _ in 0..10 {
        client.read(0, 4096).unwrap();
    }
    support::wait("ten reads are kept", || reads("svm01:/vol/vol1/lun1") == (10, "gold".into()));
    let of_volume = |row: &&HourRow| row.name.path == "svm01:/vol/vol1" && row.name.policy == "gold";
    let promised = || kept().iter().find(of_volume).map(|row| row.totals.promise);
    let mut found = None;
    support::wait("a second is promised", || {
        found = promised().filter(|promise| promise.seconds > 0);
        found.is_some()
    });
    let promise = found.unwrap();
    assert_eq!(promise.floor_ops, 100 * promise.seconds);
    // 10^9 bytes for so long.
    assert_eq!(promise.allocated_mib_s, (1_000_000_000 * promise.seconds) >> 20);
    client.read(0, 4096).unwrap();
    drop(client);
    // The server adds what is left when it stops.
    run(&mut control.lock().unwrap(), &["volume rename vol1 -newname old"]);
    drop(housekeeping);
    assert_eq!(reads("svm01:/vol/vol1/lun1").0, 11, "{:?}", kept());
    assert_eq!(reads("svm01:/vol/old/lun1").0, 0);
}

/// A volume comes under another policy between two additions: what its LUN did up to then, and the
/// second of the change, count for the policy that was there. A qtree's policy is that of what is
/// in the qtree.
#[test]
fn a_change_of_policy_parts_the_hour() {
    let mut server = Server::start_under(limits(), settings(BACKENDS[0], &limits()), RegistrySettings::default());
    run(&mut server.control, &OBJECTS);
    run(
        &mut server.control,
        &[
            "qos policy-group create gold -max-throughput 100000IOPS",
            "qos policy-group create iron -max-throughput 100000IOPS",
            "volume modify vol1 -qos-policy-group gold",
            "volume qtree modify -volume vol2 -qtree q1 -qos-policy-group iron",
        ],
    );
    let (mut client, mut beside) = (connect(&server, LUN), connect(&server, "/vol/vol2/q1/lun1"));
    let Server { control, dir: _dir, .. } = server;
    let control = Arc::new(Mutex::new(control.with_date(|| 7 * 3600 + 5)));
    let every = HousekeepingSettings { account: Duration::from_millis(5), sizes: 1000, totals: 0 };
    let housekeeping = Housekeeping::start(Arc::clone(&control), every).unwrap();
    let sample = || control.lock().unwrap().monitor().latest().number;
    support::wait("a sample", || sample() > 0);
    assert_eq!(control.lock().unwrap().take_totals().unwrap(), [], "it begins");
    for _ in 0..10 {
        client.read(0, 4096).unwrap();
        beside.read(0, 4096).unwrap();
    }
    run(&mut control.lock().unwrap(), &["volume modify vol1 -qos-policy-group none"]);
    client.read(0, 4096).unwrap();
    let after = sample();
    support::wait("three samples after it, which are more than a second", || sample() >= after + 3);
    let rows = control.lock().unwrap().take_totals().unwrap();
    let find = |path: &str, policy: &str| {
        let is_it = |row: &&HourRow| row.name.path == path && row.name.policy == policy;
        rows.iter().find(is_it).map(|row| (row.totals.figures.read_ops, row.totals.promise.seconds))
    };
    let told = |path: &str| (find(path, "gold").unwrap(), find(path, "").unwrap());
    let ((gold, gold_seconds), (none, none_seconds)) = told("svm01:/vol/vol1/lun1");
    assert_eq!((gold, none), (10, 1));
    // The second that had begun, whatever was left of it, is gold's.
    assert!(gold_seconds > 0 && none_seconds > 0, "{rows:?}");
    assert_eq!(told("svm01:/vol/vol1"), ((0, gold_seconds), (0, none_seconds)), "the volume's time is parted alike");
    assert_eq!(find("svm01:/vol/vol2/q1/lun1", "iron").unwrap().0, 10);
    drop(housekeeping);
}
