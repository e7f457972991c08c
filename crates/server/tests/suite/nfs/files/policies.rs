//! Clients' files with policies of their own.

use super::*;

const SLOW: &str = "qos policy-group create slow -vserver svm01 -max-throughput 5IOPS";

fn run(server: &mut Server, lines: &[&str]) {
    for line in lines {
        server.control.execute(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

/// The paths and policies that `volume file show` lists.
fn policies(server: &mut Server) -> Vec<(String, String)> {
    let shown = server.control.execute("volume file show -fields file,qos-policy-group").unwrap();
    let rows = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter_map(|row| match row[..] {
        ["svm01", .., file, policy] => Some((file.to_owned(), policy.to_owned())),
        _ => None,
    });
    rows.collect()
}

fn pair(file: &str, policy: &str) -> (String, String) {
    (file.into(), policy.into())
}

/// A ceiling on a file limits that file alone, from the next request on, and its requests count as
/// its own. When the ceiling is removed, waiting requests proceed.
#[test]
fn a_ceiling_on_a_file_holds_that_file_alone() {
    let mut server = start(BACKENDS[0], limits());
    server.control.record().unwrap();
    let mut client = Client::connect(&server);
    let qtree = client.mount("/vol2/db").unwrap();
    let (free, held) = (client.create(qtree, b"free").unwrap(), client.create(qtree, b"held").unwrap());
    for file in [free, held] {
        client.write_all(file, 0, &[1; 65_536], Stable::File).unwrap();
    }
    run(&mut server, &[SLOW, "volume file modify -volume vol2 -file /db/held -qos-policy-group slow"]);
    let free_it = "volume file modify -volume vol2 -file /db/held -qos-policy-group none";
    holds_one_alone(&mut server, &mut client, [free, held], free_it);
    let workloads = server.control.execute("qos workload show -fields file").unwrap();
    assert!(!workloads.contains("held"), "{workloads}");
    end(server, client, "after all was answered");
}

/// Statistics of a file with a policy are its own, and are shown by its path.
#[test]
fn statistics_have_files_that_have_policies() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    let (mine, other) = (client.create(top, b"mine").unwrap(), client.create(top, b"other").unwrap());
    let policy = "qos policy-group create p -vserver svm01 -max-throughput 100000IOPS";
    run(&mut server, &[policy, "volume file modify -volume vol1 -file /mine -qos-policy-group p"]);
    server.account();
    for file in [mine, other, mine, mine] {
        client.write_all(file, 0, &[1; 8192], Stable::File).unwrap();
    }
    let account = server.account();
    let of = |path: &str| {
        let said = account.said.iter().find(|said| server.control.path_of(said.object).as_deref() == Some(path));
        said.map_or(0, |said| said.completed)
    };
    assert_eq!(of("svm01:/vol/vol1/mine"), 3);
    let shown = server.control.execute("volume file show -fields file,size,used").unwrap();
    assert!(shown.lines().any(|line| line.contains("/mine") && line.matches("8.19KB").count() == 2), "{shown}");
    end(server, client, "counted");
}

/// A policy follows its file: over renames of the file and of folders above it, a restart and a
/// restore, and is deleted with it. A later file of that name has no policy, and neither has a
/// clone.
#[test]
fn policies_follow_their_files() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let (top, qtree) = (client.mount("/vol2").unwrap(), client.mount("/vol2/db").unwrap());
    let folder = client.make_dir(top, b"folder").unwrap();
    for (place, name) in [(folder, "one"), (qtree, "two"), (top, "three")] {
        client.create(place, name.as_bytes()).unwrap();
    }
    run(&mut server, &[SLOW, "volume snapshot create vol2 -snapshot before"]);
    client.create(top, b"later").unwrap();
    for file in ["/folder/one", "/db/two", "/three", "/later"] {
        run(&mut server, &[&format!("volume file modify -volume vol2 -file {file} -qos-policy-group slow")]);
    }
    client.rename((folder, b"one"), (top, b"x")).unwrap();
    client.rename((top, b"three"), (folder, b"one")).unwrap();
    client.rename((top, b"x"), (top, b"three")).unwrap();
    client.rename((top, b"folder"), (top, b"fold er")).unwrap();
    client.rename((qtree, b"two"), (qtree, b"2")).unwrap();
    // The administrators' file in the volume has none.
    let followed = [pair("/db/2", "slow"), pair("er/one", "slow"), pair("/later", "slow"), pair("/three", "slow")];
    let sorted = |server: &mut Server| {
        let mut found = policies(server);
        found.retain(|(_, policy)| policy == "slow");
        found.sort();
        found
    };
    let mut expected = followed.to_vec();
    expected.sort();
    assert_eq!(sorted(&mut server), expected);
    run(&mut server, &["volume clone create -flexclone copy -parent-volume vol2"]);
    assert_eq!(sorted(&mut server), expected, "a clone has none");
    drop(client);
    server.until_empty();
    let mut server = server.restart_behind(limits(), front(Access::default()));
    assert_eq!(sorted(&mut server), expected);
    let mut client = Client::connect(&server);
    let (top, qtree) = (client.mount("/vol2").unwrap(), client.mount("/vol2/db").unwrap());
    client.remove(top, b"three").unwrap();
    client.create(top, b"three").unwrap();
    client.create(top, b"new").unwrap();
    client.rename((top, b"new"), (qtree, b"2")).unwrap_err();
    client.create(qtree, b"new").unwrap();
    client.rename((qtree, b"new"), (qtree, b"2")).unwrap();
    assert_eq!(sorted(&mut server), [pair("/later", "slow"), pair("er/one", "slow")]);
    // In the snapshot, one file was at the top under its first name, and the other did not exist.
    run(&mut server, &["volume snapshot restore vol2 -snapshot before -force"]);
    assert_eq!(sorted(&mut server), [pair("/three", "slow")]);
    drop(client);
    server.until_empty();
    let mut server = server.restart_behind(limits(), front(Access::default()));
    assert_eq!(sorted(&mut server), [pair("/three", "slow")]);
    let client = Client::connect(&server);
    end(server, client, "after a restore");
}

/// Names and sizes of clients' files belong to clients, and only files can have policies.
#[test]
fn what_administrators_may_not_do_with_files_of_clients() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    client.create(top, b"file").unwrap();
    client.make_dir(top, b"folder").unwrap();
    run(&mut server, &[SLOW]);
    for (line, told) in [
        ("volume file modify -volume vol1 -file /file -size 1MB", "/file: clients made that file"),
        ("volume file rename -volume vol1 -file /file -new-path /other", "/file: clients made that file"),
        ("volume file delete -volume vol1 -file /file", "/file: clients made that file"),
        ("volume file modify -volume vol1 -file /folder -qos-policy-group slow", "volume vol1 has no file /folder"),
        ("volume file modify -volume vol1 -file /file/x -qos-policy-group slow", "volume vol1 has no file /file/x"),
        ("volume file modify -volume vol1 -file /file -qos-policy-group fast", "fast"),
    ] {
        let refused = server.control.execute(line).unwrap_err().to_string();
        assert!(refused.contains(told), "{line}: {refused}");
    }
    run(
        &mut server,
        &[
            "volume file modify -volume vol1 -file /file -qos-policy-group slow",
            "lun delete /vol/vol1/lun1 -force",
            "volume delete vol1 -force",
        ],
    );
    assert!(!policies(&mut server).iter().any(|(file, _)| file == "/file"));
    end(server, client, "with its volume gone");
}

/// Clients' changes of a volume's names wait for its ceiling like all of their requests. What an
/// administrator's command needs of its files does not wait, and takes waiting changes along.
#[test]
fn an_administrator_waits_for_no_ceiling() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    let file = client.create(top, b"file").unwrap();
    client.write_all(file, 0, &[1; 65_536], Stable::File).unwrap();
    let slow = "qos policy-group create slow -vserver svm01 -max-throughput 1IOPS";
    run(&mut server, &[slow, "volume modify vol1 -qos-policy-group slow"]);
    let (mut waits, mut maker) = (Client::connect(&server), Client::connect(&server));
    for at in 0..30 {
        let call = Call::Read { handle: file, at: at % 16 * 4096, count: 4096 };
        waits.send((::nfs::PROGRAM, 3, Procedure::Read as u32), &[], |out| call.put(out));
    }
    server.until("queued", |account| account.gate.queued >= 20);
    let how = CreateHow::Guarded(SetAttributes::default());
    let call = Call::Create { entry: Entry { directory: top, name: b"made" }, how };
    maker.send((::nfs::PROGRAM, 3, Procedure::Create as u32), &[], |out| call.put(out));
    while client.look_up(top, b"made").is_err() {}
    run(
        &mut server,
        &["volume clone create -flexclone c -parent-volume vol1", "volume modify vol1 -unix-permissions 0750"],
    );
    assert!(matches!(maker.receive().unwrap(), (_, CallOutcome::Success, _)));
    let account = server.until("the reads still wait", |account| account.gate.queued >= 1);
    assert!(account.gate.queued <= 30, "and nothing else does");
    let copy = client.mount("/c").unwrap();
    assert!(client.look_up(copy, b"made").is_ok(), "the clone has what was asked before");
    run(&mut server, &["volume modify vol1 -qos-policy-group none"]);
    for _ in 0..30 {
        waits.receive().unwrap();
    }
    drop((client, maker, waits));
    server.until_empty();
}

/// No account has the records of what clients change of a volume's names, nor what an
/// administrator's command needs of its files; what clients write to files is there.
#[test]
fn records_of_names_are_not_counted() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    server.account();
    for name in [b"a", b"b", b"c"] {
        client.create(top, name).unwrap();
    }
    let policy = "qos policy-group create wide -vserver svm01 -max-throughput 100000IOPS";
    run(
        &mut server,
        &[
            policy,
            "volume modify vol1 -qos-policy-group wide",
            "volume qtree create -vserver svm01 -volume vol1 -qtree q",
            "volume clone create -flexclone c -parent-volume vol1",
            "volume modify vol1 -unix-permissions 0777",
        ],
    );
    let file = client.create(top, b"d").unwrap();
    let counted = |server: &mut Server| {
        let said = server.account().said;
        said.iter().map(|said| (said.dispatched().ops, said.completed)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    };
    assert_eq!(counted(&mut server), (0, 0));
    client.write_all(file, 0, &[1; 8192], Stable::File).unwrap();
    let (dispatched, completed) = counted(&mut server);
    assert!(dispatched > 0 && completed > 0);
    end(server, client, "not counted");
}

/// What a start clears, nobody asked for: it waits for no ceiling, keeps no client waiting there,
/// and no statistics have it.
#[test]
fn what_a_start_clears_is_nobodys() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    let file = client.create(top, b"file").unwrap();
    // Backwards, so that room is left behind each page: as many runs that a start clears.
    for page in (0..16).rev() {
        client.write_all(file, page * 4096, &[1; 4096], Stable::File).unwrap();
    }
    let slow = "qos policy-group create slow -vserver svm01 -max-throughput 1IOPS";
    run(&mut server, &[slow, "volume modify vol1 -qos-policy-group slow"]);
    drop(client);
    server.until_empty();
    let server = server.restart_behind(limits(), front(Access::default()));
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    let file = client.look_up(top, b"file").unwrap();
    assert_eq!(client.read(file, 0, 4096).unwrap().0, [1; 4096]);
    // The read, and a record of what the start reserves; the runs alone are 16.
    let completed = server.account().said.iter().map(|said| said.completed).max().unwrap();
    assert!(completed < 4, "{completed} requests");
    drop(client);
    server.until_empty();
}
