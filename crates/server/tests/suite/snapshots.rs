//! Snapshots and clones with real I/O over NBD: their contents, the space they use, the order of
//! their deletion, and that they survive a restart.

use crate::support;
use crate::support::{BACKENDS, Chance, Client, LUN, Server, is_closed, limits, settings};
use nbd::{Command, NbdRequest, Wishes};
use server::Control;
use store::Pool;

const BLOCK: u64 = 64 << 10;

fn run(control: &mut Control, lines: &[&str]) {
    for line in lines {
        control.execute(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

fn server() -> Server {
    Server::start(BACKENDS[0], limits())
}

fn connect(server: &Server, export: &str) -> Client {
    Client::connect(&server.socket, Wishes::plain(export))
}

fn blocks(server: &Server, export: &str) -> Vec<u8> {
    server.with(export, |client| (0..4).map(|block| client.read(block * BLOCK, 1).unwrap()[0]).collect())
}

fn write(server: &Server, export: &str, block: u64, byte: u8) {
    server.with(export, |client| client.write(block * BLOCK, &[byte; BLOCK as usize])).unwrap();
}

fn flush(server: &Server, export: &str) {
    server.with(export, |client| client.call(NbdRequest::new(9, Command::Flush, 0, 0), &[])).unwrap();
}

fn restart(server: Server) -> Server {
    let Server { control, socket, dir } = server;
    drop(control);
    let found = store::check_maps(&dir.path().join("pool"), &store::Named::default()).unwrap();
    assert_eq!(found.damages, []);
    let pool = Pool::open(&dir.path().join("pool")).unwrap();
    let control = support::open(pool, &socket, limits(), settings(BACKENDS[0], &limits()));
    Server { control, socket, dir }
}

/// The snapshot's size in `volume snapshot show` and the volume's used space in `volume show`, in
/// bytes.
fn sizes(server: &mut Server, snapshot: &str) -> (u64, u64) {
    let figure = |text: String, what: &str| {
        let last = text.lines().find(|line| line.contains(what)).and_then(|line| line.split_whitespace().last());
        let text = last.unwrap_or_else(|| panic!("{what}: {text}")).to_owned();
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap());
        let unit = match unit {
            "B" => 1.0,
            "KB" => 1e3,
            "MB" => 1e6,
            other => panic!("{other}"),
        };
        // Printed with four digits, which is precise enough for a number of blocks.
        (number.parse::<f64>().unwrap() * unit / BLOCK as f64).round() as u64 * BLOCK
    };
    let alone = server.control.execute("volume snapshot show -fields size").unwrap();
    let used = server.control.execute("volume show -volume vol1 -fields used").unwrap();
    (figure(alone, snapshot), figure(used, "vol1"))
}

/// A snapshot keeps its contents. It uses no space until something is overwritten, then exactly the
/// blocks that only it has, and frees them when it is deleted. After a restart everything is the
/// same.
#[test]
fn a_snapshot_keeps_what_was_there_and_takes_what_only_it_has() {
    let mut server = server();
    (0..3).for_each(|block| write(&server, LUN, block, 1));
    run(&mut server.control, &["volume snapshot create vol1 -snapshot one -comment 'before \"2\"'"]);
    assert_eq!(sizes(&mut server, "one"), (0, 3 * BLOCK));
    write(&server, LUN, 0, 2);
    write(&server, LUN, 3, 2);
    flush(&server, LUN);
    assert_eq!(sizes(&mut server, "one"), (BLOCK, 4 * BLOCK));
    run(
        &mut server.control,
        &["volume file clone create /lun1 -destination-path /copy -volume vol1 -snapshot-name one"],
    );
    assert_eq!(blocks(&server, "/vol/vol1/copy"), [1, 1, 1, 0]);
    assert_eq!(blocks(&server, LUN), [2, 1, 1, 2]);
    run(&mut server.control, &["lun delete /vol/vol1/copy"]);

    let comment = |server: &mut Server, name: &str| {
        let show = format!("volume snapshot show vol1 -snapshot {name} -fields comment -output json");
        let shown: serde_json::Value = serde_json::from_str(&server.control.execute(&show).unwrap()).unwrap();
        shown["records"][0]["comment"].clone()
    };
    assert_eq!(comment(&mut server, "one"), "before \"2\"");
    let mut server = restart(server);
    assert_eq!(sizes(&mut server, "one"), (BLOCK, 4 * BLOCK));
    assert_eq!(blocks(&server, LUN), [2, 1, 1, 2]);
    run(&mut server.control, &["volume snapshot rename vol1 -snapshot one -new-name first"]);
    assert_eq!(comment(&mut server, "first"), "before \"2\"");
    run(&mut server.control, &["volume snapshot modify vol1 -snapshot first -comment 'kept for audit'"]);
    let mut server = restart(server);
    assert_eq!(comment(&mut server, "first"), "kept for audit");
    run(&mut server.control, &["volume snapshot modify vol1 -snapshot first -comment \"\""]);
    assert_eq!(comment(&mut server, "first"), serde_json::Value::Null);
    assert_eq!(blocks(&server, LUN), [2, 1, 1, 2]);
    run(&mut server.control, &["volume snapshot restore vol1 -snapshot first"]);
    assert_eq!(blocks(&server, LUN), [1, 1, 1, 0]);
    run(&mut server.control, &["volume snapshot delete vol1 -snapshot first"]);
    assert!(server.control.execute("volume snapshot show").unwrap().contains("currently empty"));
    assert_eq!(blocks(&restart(server), LUN), [1, 1, 1, 0]);
}

/// A volume with two LUNs, one of them in a qtree, and a file. After the snapshot one LUN is
/// written, the other deleted, the file extended and written, and a LUN is made. The restore brings
/// back the former objects with their sizes and deletes the new one. It is refused if clients are
/// connected unless forced, and then they are disconnected. A single file is restored in the same
/// way.
#[test]
fn a_volume_is_restored_as_a_whole() {
    let mut server = server();
    run(
        &mut server.control,
        &[
            "volume create vol2 -size 64MiB",
            "volume qtree create q1 -volume vol2",
            "lun create /vol/vol2/a -size 1MiB",
            "lun create /vol/vol2/q1/b -size 1MiB",
            "volume file create /dir/f -volume vol2 -size 1MiB",
        ],
    );
    let exports = ["/vol/vol2/a", "/vol/vol2/q1/b", "/vol/vol2/dir/f"];
    exports.iter().zip(1..).for_each(|(export, byte)| write(&server, export, 0, byte));
    run(&mut server.control, &["volume snapshot create vol2 -snapshot s"]);
    exports.iter().zip(11..).for_each(|(export, byte)| write(&server, export, 0, byte));
    run(
        &mut server.control,
        &[
            "lun delete /vol/vol2/q1/b",
            "volume qtree delete q1 -volume vol2",
            "volume file modify /dir/f -volume vol2 -size 2MiB",
            "qos policy-group create slow -max-throughput 5000IOPS",
            "lun create /vol/vol2/later -size 1MiB -qos-policy-group slow",
        ],
    );
    let mut client = connect(&server, "/vol/vol2/a");
    assert_eq!(client.read(0, 1).unwrap(), [11]);
    let refused = server.control.execute("volume snapshot restore vol2 -snapshot s").unwrap_err().to_string();
    let told = "svm01:/vol/vol2/a: is mapped (1 connection); have clients disconnect, end them with `lun offline`, or \
                give -force";
    assert_eq!((refused.as_str(), client.read(0, 1)), (told, Ok(vec![11])));
    let forced = server.control.execute("volume snapshot restore vol2 -snapshot s -force").unwrap();
    for note in [
        "svm01:/vol/vol2/a: 1 connection ended with an error",
        "svm01:/vol/vol2/later in policy group slow: deleted; the snapshot has none of that name",
        "svm01:/vol/vol2/q1/b: made again, in no policy group of its own; nothing of that name was left",
    ] {
        assert!(forced.contains(&format!("Note: {note}.\n")), "{forced}");
    }
    assert_eq!(forced.lines().count(), 3, "{forced}");
    assert!(is_closed(&mut client.stream));
    assert_eq!(connect(&server, "/vol/vol2/a").read(0, 1).unwrap(), [1], "who comes again sees what was");
    let mut server = restart(server);
    for (export, byte) in exports.iter().zip(1..) {
        assert_eq!(blocks(&server, export), [byte, 0, 0, 0], "{export}");
    }
    let shown = server.control.execute("volume file show -fields size").unwrap();
    assert!(shown.contains("1.05MB") && !shown.contains("2.10MB"), "{shown}");
    let shown = server.control.execute("lun show").unwrap();
    assert!(!shown.contains("later") && shown.contains("/vol/vol2/q1/b"), "{shown}");
    exports.iter().for_each(|export| write(&server, export, 0, 33));
    run(&mut server.control, &["volume snapshot restore-file vol2 -snapshot s -path /dir/f"]);
    assert_eq!(blocks(&server, exports[2])[0], 3);
    assert_eq!(blocks(&server, exports[0])[0], 33, "the others stay");
}

/// Eight clones, each of the previous one with a change of its own, alternately of volumes and of
/// LUNs. All have the right contents. In whatever order they and the snapshots are deleted, the
/// remaining ones keep theirs, and at the end all space is free.
#[test]
fn clones_of_clones_go_in_any_order() {
    let mut chance = Chance(5);
    for _ in 0..3 {
        let mut server = server();
        run(&mut server.control, &["volume create v0 -size 64MiB", "lun create /vol/v0/l -size 1MiB"]);
        write(&server, "/vol/v0/l", 0, 1);
        for depth in 1..=8u8 {
            let before = depth - 1;
            run(
                &mut server.control,
                &[
                    &format!("volume snapshot create v{before} -snapshot s"),
                    &format!("volume clone create v{depth} -parent-volume v{before} -parent-snapshot s"),
                    &format!("volume file clone create /l -destination-path /copy{depth} -volume v{depth}"),
                ],
            );
            write(&server, &format!("/vol/v{depth}/l"), u64::from(depth % 4), depth + 1);
        }
        flush(&server, "/vol/v0/l");
        let expected = |depth: u8| {
            let mut blocks = vec![1, 0, 0, 0];
            (1..=depth).for_each(|depth| blocks[usize::from(depth % 4)] = depth + 1);
            blocks
        };
        let mut left: Vec<u8> = (0..=8).collect();
        while !left.is_empty() {
            for &depth in &left {
                assert_eq!(blocks(&server, &format!("/vol/v{depth}/l")), expected(depth), "depth {depth}");
                for copy in 1..=depth {
                    let export = format!("/vol/v{depth}/copy{copy}");
                    assert_eq!(blocks(&server, &export), expected(copy - 1), "{export}");
                }
            }
            let gone = left.remove(chance.below(left.len() as u64) as usize);
            if gone < 8 {
                run(&mut server.control, &[&format!("volume snapshot delete v{gone} -snapshot s")]);
            }
            run(&mut server.control, &[&format!("lun delete /vol/v{gone}/l")]);
            for copy in 1..=gone {
                run(&mut server.control, &[&format!("lun delete /vol/v{gone}/copy{copy}")]);
            }
            run(&mut server.control, &[&format!("volume delete v{gone}")]);
        }
        run(&mut server.control, &[&format!("lun delete {LUN}")]);
        let Server { control, dir, .. } = server;
        drop(control);
        let found = store::check_maps(&dir.path().join("pool"), &store::Named::default()).unwrap();
        // The first volume's own tree.
        assert_eq!((found.damages, found.trees, found.used), (vec![], 1, 0));
    }
}

/// A clone has no policy, whatever its parent has; one that is given with the command applies.
#[test]
fn a_clone_carries_no_policy() {
    let mut server = server();
    run(
        &mut server.control,
        &[
            "qos policy-group create slow -max-throughput 100IOPS -is-shared false -vserver svm01",
            "volume modify vol1 -qos-policy-group slow",
            "volume clone create plain -parent-volume vol1",
            "volume clone create bound -parent-volume vol1 -qos-policy-group slow",
            "volume modify vol1 -qos-policy-group none",
            "lun modify /vol/vol1/lun1 -qos-policy-group slow",
            "volume file clone create /lun1 -destination-path /two -volume vol1",
            "volume snapshot create vol1 -snapshot s",
            "volume clone create late -parent-volume vol1 -parent-snapshot s",
        ],
    );
    let names: Vec<String> = server.control.limits().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["svm01:/vol/vol1/lun1", "svm01:/vol/bound"]);
}

/// Two LUNs of a volume, and a writer that endlessly writes to one and, when that is answered, to
/// the other. However often a snapshot is taken, in it the first LUN is never behind the second,
/// and at most one write ahead.
#[test]
fn a_snapshot_of_two_luns_is_of_one_moment() {
    let mut server = server();
    run(
        &mut server.control,
        &["volume create v -size 64MiB", "lun create /vol/v/a -size 1MiB", "lun create /vol/v/b -size 1MiB"],
    );
    let (mut a, mut b) = (connect(&server, "/vol/v/a"), connect(&server, "/vol/v/b"));
    let stop = std::sync::atomic::AtomicBool::new(false);
    let seen = std::sync::atomic::AtomicU32::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1u32.. {
                if stop.load(order) {
                    break;
                }
                a.write(0, &number.to_le_bytes().repeat(128)).unwrap();
                b.write(0, &number.to_le_bytes().repeat(128)).unwrap();
                seen.store(number, order);
            }
        });
        for round in 0..20 {
            let before = seen.load(order);
            while seen.load(order) < before + 3 {
                std::thread::yield_now();
            }
            run(&mut server.control, &[&format!("volume snapshot create v -snapshot s{round}")]);
        }
        stop.store(true, order);
    });
    let mut last = 0;
    for round in 0..20 {
        run(
            &mut server.control,
            &[&format!("volume clone create c{round} -parent-volume v -parent-snapshot s{round}")],
        );
        let number = |lun: &str| {
            let bytes = connect(&server, &format!("/vol/c{round}/{lun}")).read(0, 4).unwrap();
            u32::from_le_bytes(bytes.try_into().unwrap())
        };
        let (a, b) = (number("a"), number("b"));
        assert!(a == b || a == b + 1, "snapshot {round}: {a} in the first and {b} in the second");
        assert!(b > last, "time goes on");
        last = b;
    }
}

/// What cannot be done is refused in one line, and nothing changes.
#[test]
fn what_is_refused_changes_nothing() {
    let mut server = server();
    run(&mut server.control, &["volume snapshot create vol1 -snapshot s"]);
    let refused = [
        ("volume snapshot create vol1 -snapshot s", "has a snapshot s already"),
        ("volume snapshot create vol9 -snapshot s", "has no volume vol9; it has: vol1"),
        ("volume snapshot create vol1 -snapshot a/b", "is not a name"),
        ("volume snapshot delete vol1 -snapshot t", "volume vol1 has no snapshot t; it has: s"),
        ("volume snapshot restore vol1 -snapshot t", "has no snapshot t"),
        ("volume snapshot restore-file vol1 -snapshot s -path /lun9", "has no LUN or file /lun9; it has: /lun1"),
        ("volume clone create vol1 -parent-volume vol1", "vol1"),
        ("volume clone create c -parent-volume vol1 -parent-snapshot t", "has no snapshot t"),
        ("volume clone create c -parent-volume vol1 -qos-policy-group nowhere", "nowhere"),
        (
            "volume file clone create /lun9 -destination-path /c -volume vol1",
            "volume vol1 has no LUN or file /lun9; it has: /lun1",
        ),
        ("volume file clone create /lun1 -destination-path /lun1 -volume vol1", "lun1"),
        ("volume file clone create /lun1 -destination-path /q9/c -volume vol1", "q9"),
        ("volume file clone create lun1 -destination-path /c -volume vol1", "must begin with /"),
    ];
    let shows = ["volume show", "lun show", "volume snapshot show", "volume qtree show"];
    let before = shows.map(|line| server.control.execute(line).unwrap());
    for (line, words) in refused {
        let error = server.control.execute(line).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{line}: {error}");
        assert_eq!(shows.map(|line| server.control.execute(line).unwrap()), before, "{line}");
    }
    run(&mut server.control, &["lun delete /vol/vol1/lun1"]);
    let error = server.control.execute("volume delete vol1").unwrap_err().to_string();
    assert_eq!(error, "svm01:/vol/vol1: still has snapshots: s; delete them first");
    // The LUN is gone, but the snapshot still has it.
    run(&mut server.control, &["volume snapshot restore-file vol1 -snapshot s -path /lun1"]);
    assert_eq!(blocks(&server, LUN), [0; 4]);
    let server = restart(server);
    assert_eq!(blocks(&server, LUN), [0; 4]);
}
