//! The names under which clients mount and find things.

use super::*;

/// Volumes are mounted by name, folders are listed by pages of any size, their contents found.
#[test]
fn volumes_are_mounted_listed_and_looked_up() {
    let server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    client.send((mount::PROGRAM, 3, 5), &[], |_| ());
    let results = client.results();
    let exported = |path: &str| Exported { path: path.into(), groups: Vec::new() };
    assert_eq!(mount::read_exports(&mut Reader::new(&results)), Ok(vec![exported("/vol1"), exported("/vol2")]));
    let volume = client.mount("/vol2").unwrap();
    assert_eq!((client.mount("svm01:/vol2"), client.mount("/vol/vol2")), (Ok(volume), Ok(volume)));
    assert_eq!(client.mount("/vol3"), Err(MountStatus::NoEntry));
    assert_eq!(client.mount("/vol1/lun1"), Err(MountStatus::NoEntry));
    let top = client.look_up(volume, b"..").unwrap();
    assert_eq!(client.names(top, 32_768), [".", "..", "vol1", "vol2"]);
    // Pages that hold one entry each.
    assert_eq!(client.names(top, 400), [".", "..", "vol1", "vol2"]);
    let db = client.look_up(volume, b"db").unwrap();
    assert_eq!(client.names(db, 4096), [".", "..", "data"]);
    let file = client.look_up(db, b"data").unwrap();
    let attributes = client.call(&Call::GetAttr(file), &[], |reply| match reply {
        Reply::GetAttr(Ok(attributes)) => attributes,
        other => panic!("{other:?}"),
    });
    assert_eq!((attributes.kind, attributes.size, attributes.mode), (FileKind::Regular, 1 << 20, 0o666));
    assert_eq!(client.look_up(db, b"nothing"), Err(Status::NoEntry));
    assert_eq!(client.look_up(db, b"\xff\xfe"), Err(Status::NoEntry));
    assert_eq!(client.look_up(file, b"x"), Err(Status::NotDirectory));
    drop(client);
    server.until_empty();
}

/// A volume can be mounted and listed by its junction path from the moment it is set, also after a
/// restart, until it is removed.
#[test]
fn junction_paths_are_where_volumes_are_mounted() {
    let front = || front(Access::default());
    let mut server = Server::start_behind(BACKENDS[0], limits(), front());
    let mut client = Client::connect(&server);
    let volume = client.mount("/vol1").unwrap();
    server.control.execute("volume mount vol1 -junction-path /hospital/db").unwrap();
    assert_eq!((client.mount("/hospital/db"), client.mount("svm01:/hospital/db")), (Ok(volume), Ok(volume)));
    assert_eq!((client.mount("/hospital"), client.mount("/vol1")), (Err(MountStatus::NoEntry), Ok(volume)));
    server.control.execute("volume rename vol1 -newname vol9").unwrap();
    drop(client);
    server.until_empty();
    let mut server = server.restart_behind(limits(), front());
    let mut client = Client::connect(&server);
    let mounted = client.mount("/hospital/db").unwrap();
    assert!(client.look_up(mounted, b"lun1").is_ok());
    client.send((mount::PROGRAM, 3, 5), &[], |_| ());
    let results = client.results();
    let exported = |path: &str| Exported { path: path.into(), groups: Vec::new() };
    assert_eq!(mount::read_exports(&mut Reader::new(&results)), Ok(vec![exported("/hospital/db")]));
    server.control.execute("volume unmount vol9").unwrap();
    assert_eq!(client.mount("/hospital/db"), Err(MountStatus::NoEntry));
    drop(client);
    server.until_empty();
}

/// A path that another SVM gets too stays with the volume that had it first, also after a restart
/// and where the other volume is the older one; the other is mounted with its SVM.
#[test]
fn no_svm_takes_a_path_from_the_clients_of_another() {
    let front = || front(Access::default());
    let mut server = Server::start_behind(BACKENDS[0], limits(), front());
    for line in [
        "vserver create svm02",
        "volume create old -vserver svm02 -size 10MB",
        "volume create new -vserver svm01 -size 10MB -junction-path /db",
    ] {
        server.control.execute(line).unwrap();
    }
    let mut client = Client::connect(&server);
    let first = client.mount("/db").unwrap();
    let answer = server.control.execute("volume mount old -vserver svm02 -junction-path /db").unwrap();
    assert!(answer.contains("clients mount it as svm02:/db"), "{answer}");
    server.control.execute("volume create db -vserver svm02 -size 10MB").unwrap();
    assert_eq!(client.mount("/db"), Ok(first));
    drop(client);
    server.until_empty();
    let server = server.restart_behind(limits(), front());
    let mut client = Client::connect(&server);
    assert_eq!((client.mount("/db"), client.mount("svm01:/db")), (Ok(first), Ok(first)));
    let second = client.mount("svm02:/db").unwrap();
    assert_ne!(first, second);
    client.send((mount::PROGRAM, 3, 5), &[], |_| ());
    let results = client.results();
    let listed = mount::read_exports(&mut Reader::new(&results)).unwrap();
    for path in ["/db", "/svm02:/db"] {
        assert!(listed.iter().any(|exported| exported.path == path.as_bytes()), "{path}: {listed:?}");
    }
    drop(client);
    server.until_empty();
}
