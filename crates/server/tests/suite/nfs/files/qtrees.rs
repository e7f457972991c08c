//! Clients' files in qtrees: they stay there, and their requests count for the qtree.

use super::*;

/// A qtree without a LUN is visible to clients. Files that they make stay in it over renames and
/// restarts, and it cannot be deleted with its contents.
#[test]
fn qtrees_hold_files_of_clients() {
    let mut server = start(BACKENDS[0], limits());
    server.control.execute("volume qtree create -volume vol1 -qtree q").unwrap();
    let mut client = Client::connect(&server);
    let (top, other) = (client.mount("/vol1").unwrap(), client.mount("/vol2/db").unwrap());
    let qtree = client.mount("/vol1/q").unwrap();
    assert_eq!((client.look_up(top, b"q"), client.look_up(qtree, b"..")), (Ok(qtree), Ok(top)));
    assert_eq!(client.names(top, 4096), [".", "..", "lun1", "q"]);
    assert_eq!(client.attributes(qtree).unwrap().mode, 0o777);
    let folder = client.make_dir(qtree, b"folder").unwrap();
    let file = client.create(folder, b"file").unwrap();
    client.write_all(file, 0, b"text", Stable::File).unwrap();
    client.link(file, qtree, b"linked").unwrap();
    assert_eq!(client.look_up(folder, b".."), Ok(qtree));
    // Beside what administrators made.
    client.create(other, b"mine").unwrap();
    assert_eq!(client.names(other, 4096), [".", "..", "data", "mine"]);
    // The contents of a qtree cannot be moved out; the qtree itself belongs to the administrators.
    assert_eq!(client.rename((folder, b"file"), (top, b"file")), Err(Status::CrossDevice));
    assert_eq!(client.rename((qtree, b"folder"), (top, b"folder")), Err(Status::CrossDevice));
    assert_eq!(client.link(file, top, b"file"), Err(Status::CrossDevice));
    assert_eq!(client.rename((top, b"q"), (top, b"r")), Err(Status::Access));
    assert_eq!(client.done(&Call::RemoveDir(Entry { directory: top, name: b"q" })), Err(Status::Access));
    for (line, told) in [
        ("lun create -path /vol/vol1/q/folder -size 1MB", "svm01:/vol/vol1: clients made something named folder there"),
        ("volume file create /q/linked -volume vol1 -size 1MB", "clients made something named linked there"),
        ("volume qtree delete -volume vol1 -qtree q", "svm01:/vol/vol1/q: still holds 2 files and folders of clients"),
        ("volume qtree create -volume vol1 -qtree q", "q"),
    ] {
        let refused = server.control.execute(line).unwrap_err().to_string();
        assert!(refused.contains(told), "{line}: {refused}");
    }
    server.control.execute("lun create -path /vol/vol1/q/lun -size 1MB").unwrap();
    assert_eq!(client.names(qtree, 4096), [".", "..", "folder", "linked", "lun"]);
    server.control.execute("volume qtree rename -volume vol1 -qtree q -newname r").unwrap();
    assert_eq!(client.names(top, 4096), [".", "..", "lun1", "r"]);
    assert_eq!((client.attributes(qtree).map(drop), client.read_all(file)), (Err(Status::Stale), b"text".to_vec()));
    drop(client);
    server.until_empty();
    let mut server = server.restart_behind(limits(), front(Access::default()));
    let mut client = Client::connect(&server);
    let qtree = client.mount("/vol1/r").unwrap();
    assert_eq!(client.names(qtree, 4096), [".", "..", "folder", "linked", "lun"]);
    assert_eq!(client.rename((folder, b"file"), (top, b"file")), Err(Status::CrossDevice));
    client.remove(folder, b"file").unwrap();
    client.remove(qtree, b"linked").unwrap();
    client.done(&Call::RemoveDir(Entry { directory: qtree, name: b"folder" })).unwrap();
    for line in ["lun delete -path /vol/vol1/r/lun", "volume qtree delete -volume vol1 -qtree r"] {
        server.control.execute(line).unwrap();
    }
    assert_eq!(
        (client.names(top, 4096), client.mount("/vol1/r")),
        (vec![".".into(), "..".into(), "lun1".into()], Err(MountStatus::NoEntry))
    );
    // The name is free.
    client.create(top, b"r").unwrap();
    drop(client);
    server.until_empty();
    let Server { control, dir, .. } = server;
    drop(control);
    let checked = store::check(&dir.path().join("pool")).unwrap();
    assert!(checked.is_clean(), "{:?}", checked.troubles);
}

/// A ceiling on a qtree limits its contents and nothing else of the volume; its requests count for
/// the qtree and the volume.
#[test]
fn requests_for_a_qtrees_files_are_the_qtrees() {
    let mut server = start(BACKENDS[0], limits());
    server.control.record().unwrap();
    let mut client = Client::connect(&server);
    let (top, qtree) = (client.mount("/vol2").unwrap(), client.mount("/vol2/db").unwrap());
    let (free, held) = (client.create(top, b"free").unwrap(), client.create(qtree, b"held").unwrap());
    for file in [free, held] {
        client.write_all(file, 0, &[1; 65_536], Stable::File).unwrap();
    }
    for line in [
        "qos policy-group create slow -vserver svm01 -max-throughput 5IOPS",
        "volume qtree modify -volume vol2 -qtree db -qos-policy-group slow",
    ] {
        server.control.execute(line).unwrap();
    }
    let free_it = "volume qtree modify -volume vol2 -qtree db -qos-policy-group none";
    holds_one_alone(&mut server, &mut client, [free, held], free_it);
    drop(client);
    server.until_empty();
}

/// A volume restored to a time before its qtree existed has the qtree, empty; a clone has qtrees of
/// its own.
#[test]
fn restores_and_clones_have_their_qtrees() {
    let mut server = start(BACKENDS[0], limits());
    for line in ["volume snapshot create vol1 -snapshot before", "volume qtree create -volume vol1 -qtree q"] {
        server.control.execute(line).unwrap();
    }
    let mut client = Client::connect(&server);
    let qtree = client.mount("/vol1/q").unwrap();
    let file = client.create(qtree, b"file").unwrap();
    server.control.execute("volume clone create -flexclone copy -parent-volume vol1").unwrap();
    let copy = client.mount("/copy/q").unwrap();
    assert_eq!(client.names(copy, 4096), [".", "..", "file"]);
    client.remove(copy, b"file").unwrap();
    assert!(client.attributes(file).is_ok());
    server.control.execute("volume snapshot restore vol1 -snapshot before -force").unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(
        (client.names(qtree, 4096), client.attributes(file).map(drop)),
        (vec![".".into(), "..".into()], Err(Status::Stale))
    );
    client.create(qtree, b"new").unwrap();
    drop(client);
    server.until_empty();
}
