//! The second level of a server's cache: a device that fails, memory-only partitions, and unusable
//! settings.

use super::*;

/// A device that returns wrong bytes is switched off while clients read, which they do not notice;
/// the administrator sees the reason.
#[test]
fn a_second_level_that_fails_is_turned_off_and_clients_notice_nothing() {
    let behind = tempfile::tempdir().unwrap();
    let Some(place) = second_level(behind.path()) else {
        eprintln!("skipped: the temporary folder's file system has no direct I/O");
        return;
    };
    let memory = Bytes::mib(1);
    let front = Front { second_level: Some(place.clone()), ..with(memory) };
    let mut server = Server::start_behind(BACKENDS[0], limits(), front);
    let pieces: Vec<u64> = (0..64).map(|n| n * 37 % 64 * (64 << 10)).collect();
    let mut client = Client::connect(&server.socket, Wishes::plain(LUN));
    for at in &pieces {
        client.write(*at, &vec![(*at >> 16) as u8 + 1; 64 << 10]).unwrap();
        // Twice: the second time from memory, so that the pages were used before they are evicted.
        (0..2).for_each(|_| drop(client.read(*at, 64 << 10).unwrap()));
    }
    let shown = run(&mut server, "cache second-level show");
    let row: Vec<&str> = shown.lines().find(|line| line.contains("second")).unwrap().split_whitespace().collect();
    assert_eq!((row[1], row[2]), ("on", "8.39MB"), "{shown}");
    let shown = run(&mut server, "memory show -part \"second level\" -fields used");
    assert!(shown.contains("second level"), "{shown}");
    // Overwrites the device, so that other bytes come back.
    let file = std::fs::OpenOptions::new().write(true).open(&place.path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &vec![7; 8 << 20], 64 << 10).unwrap();
    for at in &pieces {
        assert!(client.read(*at, 64 << 10).unwrap() == vec![(*at >> 16) as u8 + 1; 64 << 10], "at {at}");
    }
    let shown = run(&mut server, "cache second-level show -fields state,reason,hits");
    assert!(shown.contains("read: bytes that are not those that were written"), "{shown}");
    for at in &pieces {
        assert!(client.read(*at, 64 << 10).unwrap() == vec![(*at >> 16) as u8 + 1; 64 << 10], "at {at}");
    }
}

/// What can be found without writing is reported when the configuration is checked, and nothing is
/// created.
#[test]
fn a_second_level_that_cannot_be_used_is_found_by_the_check() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("letter"), "Dear Sir").unwrap();
    let checked = |name: &str, memory: Option<Bytes>| {
        let (size, writes_per_day) = (Bytes::mib(8), Bytes::gib(4));
        let second_level = Some(SecondPlace { path: dir.path().join(name), size, writes_per_day });
        Front { second_level, ..memory.map_or_else(Front::default, with) }.check().map_err(|error| error.to_string())
    };
    for (name, why) in [
        ("", "neither a file nor a block device"),
        ("/dev/null", "neither a file nor a block device"),
        ("nowhere/second", "must be a file in a folder that is there, or a device"),
        ("letter", "holds something that is not a second level of a cache"),
    ] {
        let refused = checked(name, Some(MEMORY)).unwrap_err();
        assert!(refused.starts_with("cache.second_level: ") && refused.contains(why), "{refused}");
        assert_eq!(checked(name, None), Ok(vec![]), "it is behind nothing");
    }
    assert_eq!(checked("new", Some(MEMORY)), Ok(vec![]));
    assert!(!dir.path().join("new").exists());
}

/// What a memory-only partition evicts is not written anywhere, until that is changed.
#[test]
fn a_partition_may_keep_to_memory() {
    let behind = tempfile::tempdir().unwrap();
    let Some(place) = second_level(behind.path()) else {
        eprintln!("skipped: the temporary folder's file system has no direct I/O");
        return;
    };
    let front = Front { second_level: Some(place), ..with(MEMORY) };
    let mut server = Server::start_behind(BACKENDS[0], limits(), front);
    run(&mut server, "cache partition create db -size 512KiB -volumes vol1 -second-level false");
    let pass = |server: &mut Server| {
        let mut client = Client::connect(&server.socket, Wishes::plain(LUN));
        for at in (0..64).map(|n| n * 37 % 64 * (64 << 10)) {
            // Twice: the second time from memory, so that the pages were used before they are
            // evicted.
            (0..2).for_each(|_| drop(client.read(at, 64 << 10).unwrap()));
        }
    };
    pass(&mut server);
    let shown = run(&mut server, "cache partition show db -fields evicted,second-resident,second-level -output json");
    assert!(shown.contains("\"second_resident\":0") && shown.contains("\"second_level\":false"), "{shown}");
    assert!(!shown.contains("\"evicted\":0"), "{shown}");
    run(&mut server, "cache partition modify db -second-level true");
    pass(&mut server);
    server.until("it uses the second level", |account| account.cache[&1].second_resident > Bytes(0));
    assert!(run(&mut server, "cache partition show db -instance").contains("Uses Second Level: true"));
}
