//! Clients' files on volumes.

mod against_ganesha;
mod damaged;
mod history;
mod permissions;
mod pipelined;
mod policies;
mod qtrees;
mod repeats;
mod space;

use super::*;
use ::nfs::{Attributes, SetMoment};

/// Ends the last client, and checks that the server leaves a consistent pool.
fn end(server: Server, client: Client, about: &str) {
    drop(client);
    server.until_empty();
    let Server { control, dir, .. } = server;
    drop(control);
    let checked = store::check(&dir.path().join("pool")).unwrap();
    assert!(checked.is_clean(), "{about}: {:?}", checked.troubles);
}

/// Two files of ones, of which a policy limits one to a few IOPS. Its reads wait while the other
/// file is read as usual, and all are answered once `free_it` has removed the policy.
fn holds_one_alone(server: &mut Server, client: &mut Client, [free, held]: [FileHandle; 2], free_it: &str) {
    let mut waits = Client::connect(server);
    for at in 0..30 {
        let call = Call::Read { handle: held, at: at % 16 * 4096, count: 4096 };
        waits.send((::nfs::PROGRAM, 3, Procedure::Read as u32), &[], |out| call.put(out));
    }
    server.until("queued", |account| account.gate.queued >= 20);
    for at in 0..100 {
        assert_eq!(client.read(free, at % 16 * 4096, 4096).unwrap().0, [1; 4096]);
    }
    server.until("still queued", |account| account.gate.queued >= 1);
    server.control.execute(free_it).unwrap();
    for _ in 0..30 {
        let (_, outcome, results) = waits.receive().unwrap();
        let mut reader = Reader::new(&results);
        let read = Reply::read(Procedure::Read, &mut reader).unwrap();
        assert!(outcome == CallOutcome::Success && matches!(read, Reply::Read(_, Ok(_))), "{read:?}");
        assert!(results[reader.taken()..].iter().all(|byte| *byte == 1));
    }
}

fn set_size(size: u64) -> SetAttributes {
    SetAttributes { size: Some(size), ..SetAttributes::default() }
}

impl Client {
    fn made(&mut self, call: &Call<'_>) -> Result<FileHandle, Status> {
        self.call(call, &[], |reply| match reply {
            Reply::Made(_, result) => result.map(|(handle, _)| handle.expect("handles are told")),
            other => panic!("{other:?}"),
        })
    }

    fn create(&mut self, directory: FileHandle, name: &[u8]) -> Result<FileHandle, Status> {
        let how = CreateHow::Guarded(SetAttributes::default());
        self.made(&Call::Create { entry: Entry { directory, name }, how })
    }

    fn make_dir(&mut self, directory: FileHandle, name: &[u8]) -> Result<FileHandle, Status> {
        self.made(&Call::MakeDir { entry: Entry { directory, name }, set: SetAttributes::default() })
    }

    fn done(&mut self, call: &Call<'_>) -> Result<(), Status> {
        self.call(call, &[], |reply| match reply {
            Reply::Done(_, result) | Reply::Rename(_, _, result) | Reply::Link(_, _, result) => result,
            other => panic!("{other:?}"),
        })
    }

    fn remove(&mut self, directory: FileHandle, name: &[u8]) -> Result<(), Status> {
        self.done(&Call::Remove(Entry { directory, name }))
    }

    fn rename(&mut self, from: (FileHandle, &[u8]), to: (FileHandle, &[u8])) -> Result<(), Status> {
        let entry = |(directory, name)| Entry { directory, name };
        self.done(&Call::Rename { from: entry(from), to: entry(to) })
    }

    fn link(&mut self, handle: FileHandle, directory: FileHandle, name: &[u8]) -> Result<(), Status> {
        self.done(&Call::Link { handle, to: Entry { directory, name } })
    }

    fn resize(&mut self, handle: FileHandle, size: u64) -> Result<(), Status> {
        self.done(&Call::SetAttr { handle, set: set_size(size), guard: None })
    }

    fn attributes(&mut self, handle: FileHandle) -> Result<Attributes, Status> {
        self.call(&Call::GetAttr(handle), &[], |reply| match reply {
            Reply::GetAttr(result) => result,
            other => panic!("{other:?}"),
        })
    }

    /// Reads all of a file, in as many calls as necessary.
    fn read_all(&mut self, handle: FileHandle) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let (bytes, eof) = self.read(handle, all.len() as u64, 1 << 20).unwrap();
            all.extend(bytes);
            if eof {
                return all;
            }
        }
    }

    /// Writes all of the data, however much is accepted at a time.
    fn write_all(&mut self, handle: FileHandle, at: u64, data: &[u8], stable: Stable) -> Result<(), Status> {
        let mut done = 0;
        while done < data.len() {
            let (rest, at) = (&data[done..data.len().min(done + (1 << 20))], at + done as u64);
            let len = rest.len() as u32;
            done += self.call(&Call::Write { handle, at, count: len, stable, len }, rest, |reply| match reply {
                Reply::Write(_, result) => result.map(|written| written.count as usize),
                other => panic!("{other:?}"),
            })?;
        }
        Ok(())
    }
}

/// Names, data, links, modes and times survive a restart, with the same handles.
#[test]
fn what_clients_make_is_there_after_a_new_start() {
    for backend in BACKENDS {
        let server = start(backend, limits());
        let mut client = Client::connect(&server);
        let top = client.mount("/vol1").unwrap();
        let folder = client.make_dir(top, b"folder").unwrap();
        let file = client.create(folder, b"file\xff").unwrap();
        assert_eq!(client.create(folder, b"file\xff"), Err(Status::Exists));
        let data: Vec<u8> = (0..3_000_001u32).map(|at| (at / 251 + at) as u8).collect();
        client.write_all(file, 0, &data, Stable::Unstable).unwrap();
        client.commit(file).unwrap();
        client.write_all(file, 5 << 20, b"behind a hole", Stable::File).unwrap();
        client.link(file, top, b"other").unwrap();
        let entry = Entry { directory: folder, name: b"link" };
        let target = b"../other".as_slice();
        let link = client.made(&Call::SymLink { entry, set: SetAttributes::default(), path: target }).unwrap();
        let moment = ::nfs::Moment { seconds: 1_234_567, nanos: 89 };
        let set = SetAttributes { mode: Some(0o1640), modified: SetMoment::To(moment), ..SetAttributes::default() };
        client.done(&Call::SetAttr { handle: file, set, guard: None }).unwrap();
        client.rename((folder, b"file\xff"), (top, b"moved")).unwrap();
        let before = client.attributes(file).unwrap();
        assert_eq!((before.links, before.mode, before.modified), (2, 0o1640, moment));
        assert_eq!((before.size, before.uid), ((5 << 20) + 13, 1000));
        assert_eq!(client.remove(top, b"folder"), Err(Status::IsDirectory));
        assert_eq!(client.done(&Call::RemoveDir(Entry { directory: top, name: b"folder" })), Err(Status::NotEmpty));
        assert_eq!(client.rename((top, b"folder"), (folder, b"loop")), Err(Status::Invalid));
        drop(client);
        server.until_empty();
        let server = server.restart_behind(limits(), front(Access::default()));
        let mut client = Client::connect(&server);
        assert_eq!(client.names(top, 4096), [".", "..", "folder", "lun1", "moved", "other"]);
        assert_eq!((client.look_up(top, b"moved"), client.look_up(top, b"other")), (Ok(file), Ok(file)));
        assert_eq!((client.look_up(folder, b".."), client.look_up(folder, b"link")), (Ok(top), Ok(link)));
        assert_eq!(client.attributes(file), Ok(before));
        let mut expected = data;
        expected.resize(5 << 20, 0);
        expected.extend_from_slice(b"behind a hole");
        assert!(client.read_all(file) == expected);
        let told = client.call(&Call::ReadLink(link), &[], |reply| match reply {
            Reply::ReadLink(_, Ok(target)) => target.to_vec(),
            other => panic!("{other:?}"),
        });
        assert_eq!(told, target);
        // Truncated within a page and extended again: zeroes.
        client.resize(file, 5000).unwrap();
        client.resize(file, 9000).unwrap();
        expected.truncate(5000);
        expected.resize(9000, 0);
        assert!(client.read_all(file) == expected);
        client.remove(top, b"moved").unwrap();
        assert_eq!(client.attributes(file).unwrap().links, 1);
        client.remove(top, b"other").unwrap();
        assert_eq!(client.read(file, 0, 1), Err(Status::Stale));
        end(server, client, "");
    }
}

/// Names up to 255 bytes and link targets up to 4095 are accepted, longer ones are refused as too
/// long, and the connection continues. A receive buffer of 4 KiB does not hold the longest target.
#[test]
fn names_and_targets_that_are_too_long_are_refused_as_such() {
    let too_long = Err(Status::NameTooLong);
    for (receive, longest) in [(Bytes::kib(64), 4095), (Bytes::kib(4), 3000)] {
        let server = start(BACKENDS[0], ServerLimits { receive, ..limits() });
        let mut client = Client::connect(&server);
        let top = client.mount("/vol1").unwrap();
        let link = |client: &mut Client, name: &[u8], len| {
            let (entry, target) = (Entry { directory: top, name }, vec![b't'; len]);
            client.made(&Call::SymLink { entry, set: SetAttributes::default(), path: &target })
        };
        for len in [1025, longest] {
            let made = link(&mut client, format!("{len}").as_bytes(), len).unwrap();
            let told = client.call(&Call::ReadLink(made), &[], |reply| match reply {
                Reply::ReadLink(_, Ok(target)) => target.len(),
                other => panic!("{other:?}"),
            });
            assert_eq!(told, len);
        }
        for len in [4096, 100_000].into_iter().chain((longest < 4095).then_some(4095)) {
            assert_eq!(link(&mut client, b"long", len), too_long, "{len}");
        }
        let (fits, name) = ([b'n'; 255], [b'n'; 256]);
        let file = client.create(top, &fits).unwrap();
        assert_eq!((client.look_up(top, &fits), client.look_up(top, &name)), (Ok(file), too_long));
        assert_eq!((client.create(top, &name), client.make_dir(top, &name)), (too_long, too_long));
        assert_eq!(client.remove(top, &name), Err(Status::NameTooLong));
        assert_eq!(client.rename((top, &fits), (top, &[b'n'; 5000])), Err(Status::NameTooLong));
        assert_eq!(client.link(file, top, &name), Err(Status::NameTooLong));
        assert_eq!(client.look_up(top, &fits), Ok(file));
        drop(client);
        server.until_empty();
    }
}

/// Clients cannot change what administrators made. Administrators cannot make anything that would
/// hide clients' files, or delete them unnoticed.
#[test]
fn names_of_administrators_and_clients_do_not_meet() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    let lun = client.lun();
    client.create(top, b"mine").unwrap();
    assert_eq!((client.remove(top, b"lun1"), client.create(top, b"lun1")), (Err(Status::Access), Err(Status::Exists)));
    assert_eq!(client.rename((top, b"lun1"), (top, b"x")), Err(Status::Access));
    assert_eq!(client.rename((top, b"mine"), (top, b"lun1")), Err(Status::Exists));
    assert_eq!(client.link(lun, top, b"x"), Err(Status::Access));
    for line in [
        "lun create -path /vol/vol1/mine -size 1048576",
        "volume qtree create -volume vol1 -qtree mine",
        "volume file create /mine/file -volume vol1 -size 1048576",
        "lun move-in-volume /vol/vol1/lun1 -new-path /vol/vol1/mine",
        "volume file clone create -volume vol1 -source-path /lun1 -destination-path /mine",
    ] {
        let refused = server.control.execute(line).unwrap_err().to_string();
        assert!(refused.contains("svm01:/vol/vol1: clients made something named mine there"), "{line}: {refused}");
    }
    let other = client.mount("/vol2").unwrap();
    client.create(other, b"alone").unwrap();
    server.control.execute(&format!("lun delete -path {FILE}")).unwrap();
    server.control.execute("volume qtree delete -volume vol2 -qtree db").unwrap();
    let refused = server.control.execute("volume delete vol2").unwrap_err().to_string();
    assert!(
        refused.contains("still holds a file or folder of a client; remove it first, or delete with -force"),
        "{refused}"
    );
    // Without force it is refused while a client uses it.
    drop(client);
    server.until_empty();
    server.control.execute("volume delete vol2 -force").unwrap();
    let mut client = Client::connect(&server);
    assert_eq!((client.mount("/vol2"), client.read(other, 0, 1)), (Err(MountStatus::NoEntry), Err(Status::Stale)));
    drop(client);
    server.until_empty();
}

/// A clone has its parent's files and changes independently. A restored volume has its former
/// contents, with the former handles, and later changes are gone.
#[test]
fn snapshots_and_clones_have_the_files() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol2").unwrap();
    let file = client.create(top, b"file").unwrap();
    // It was answered without being durable.
    client.write_all(file, 0, &[1; 100_000], Stable::Unstable).unwrap();
    server.control.execute("volume snapshot create vol2 -snapshot one").unwrap();
    client.write_all(file, 0, &[2; 200_000], Stable::Unstable).unwrap();
    let later = client.create(top, b"later").unwrap();
    for line in [
        "volume clone create -flexclone then -parent-volume vol2 -parent-snapshot one",
        "volume clone create -flexclone now -parent-volume vol2",
    ] {
        server.control.execute(line).unwrap();
    }
    let found = |client: &mut Client, volume: &str, name: &[u8]| {
        let top = client.mount(volume).unwrap();
        let file = client.look_up(top, name)?;
        Ok::<_, Status>(client.read_all(file))
    };
    assert!(found(&mut client, "/then", b"file") == Ok(vec![1; 100_000]));
    assert!(found(&mut client, "/now", b"file") == Ok(vec![2; 200_000]));
    assert_eq!(found(&mut client, "/then", b"later"), Err(Status::NoEntry));
    assert_eq!(found(&mut client, "/now", b"later"), Ok(Vec::new()));
    let copy = client.mount("/now").unwrap();
    client.remove(copy, b"file").unwrap();
    assert!(client.read_all(file) == vec![2; 200_000]);
    let line = "volume snapshot restore vol2 -snapshot one";
    assert!(server.control.execute(line).unwrap_err().to_string().contains("connection"));
    server.control.execute(&format!("{line} -force")).unwrap();
    assert!(client.receive().is_none());
    let mut client = Client::connect(&server);
    assert!(client.read_all(file) == vec![1; 100_000]);
    assert_eq!(client.attributes(later).map(drop), Err(Status::Stale));
    assert_eq!(client.names(top, 4096), [".", "..", "db", "file"]);
    end(server, client, "");
}

/// A full volume refuses whole writes, and accepts others once something was removed. Space that
/// LUNs take is not available to files.
#[test]
fn a_full_volume_takes_nothing_more_until_something_goes() {
    let mut server = start(BACKENDS[0], limits());
    server.control.execute("volume create small -size 4MB").unwrap();
    server.control.execute("lun create /vol/small/l -size 1MB").unwrap();
    let mut client = Client::connect(&server);
    let top = client.mount("/small").unwrap();
    let (one, two) = (client.create(top, b"one").unwrap(), client.create(top, b"two").unwrap());
    client.write_all(one, 0, &[1; 2_000_000], Stable::Unstable).unwrap();
    assert_eq!(client.write_all(two, 0, &[2; 1_100_000][..1 << 20], Stable::Unstable), Err(Status::NoSpace));
    assert_eq!(client.attributes(two).unwrap().size, 0, "nothing of it was written");
    let refused = server.control.execute("lun create /vol/small/m -size 2MB").unwrap_err().to_string();
    assert!(refused.contains(" left for LUNs and files"), "{refused}");
    client.remove(top, b"one").unwrap();
    client.write_all(two, 0, &[2; 1 << 20], Stable::File).unwrap();
    let free = client.space(top).map(|stat| (stat.bytes, stat.free)).unwrap();
    // 4 MB are 4 000 000 bytes in whole blocks of 4 KiB, and the LUN's 1 MB as well.
    assert_eq!((free.0 / 4096, free.1 / 4096), (977 - 245, 977 - 245 - 256));
    drop(client);
    server.until_empty();
}

/// A repeated exclusive CREATE finds the file it made. A client that may only read changes nothing,
/// and one without access finds nothing.
#[test]
fn who_may_what_is_a_matter_of_access() {
    let server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    let entry = Entry { directory: top, name: b"file" };
    let exclusive = |number: u8| Call::Create { entry, how: CreateHow::Exclusive([number; 8]) };
    let file = client.made(&exclusive(7)).unwrap();
    assert_eq!((client.made(&exclusive(7)), client.made(&exclusive(8))), (Ok(file), Err(Status::Exists)));
    drop(client);
    server.until_empty();
    let rule = AccessRule { exports: vec!["svm01:/vol/vol1/*".into()], read_only: true, ..AccessRule::default() };
    let server = server.restart_behind(limits(), front(Access::by_rules(vec![rule])));
    let mut client = Client::connect(&server);
    assert_eq!(client.look_up(top, b"file"), Ok(file));
    assert_eq!((client.create(top, b"x"), client.remove(top, b"file")), (Err(Status::ReadOnly), Err(Status::ReadOnly)));
    assert_eq!(client.write_all(file, 0, b"x", Stable::File), Err(Status::ReadOnly));
    assert_eq!(client.resize(file, 3), Err(Status::ReadOnly));
    drop(client);
    server.until_empty();
    let rule = AccessRule { exports: vec!["svm01:/vol/vol2/*".into()], ..AccessRule::default() };
    let server = server.restart_behind(limits(), front(Access::by_rules(vec![rule])));
    let mut client = Client::connect(&server);
    assert_eq!((client.mount("/vol1"), client.read(file, 0, 1)), (Err(MountStatus::NoEntry), Err(Status::Stale)));
    assert_eq!(client.create(top, b"x"), Err(Status::Stale));
    drop(client);
    server.until_empty();
}

/// libnfs copies a file in and out, and lists it.
#[test]
fn libnfs_makes_files() {
    let (Some(list), Some(copy), Some(show)) =
        (program_or_skip("nfs-ls"), program_or_skip("nfs-cp"), program_or_skip("nfs-cat"))
    else {
        return;
    };
    let server = start(BACKENDS[0], limits());
    let ports = format!("?version=3&nfsport={0}&mountport={0}", port(&server));
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..5_000_000u32).map(|at| (at / 4093 + at) as u8).collect();
    let local = folder.path().join("data");
    std::fs::write(&local, &data).unwrap();
    let remote = format!("nfs://127.0.0.1/vol1/copied{ports}");
    let run = |program: &PathBuf, arguments: &[&std::ffi::OsStr]| {
        let output = Command::new("timeout").arg("60").arg(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    run(&copy, &[local.as_ref(), remote.as_ref()]);
    assert!(run(&show, &[remote.as_ref()]) == data);
    let listed = run(&list, &[format!("nfs://127.0.0.1/vol1/{ports}").as_ref()]);
    let listed = String::from_utf8(listed).unwrap();
    assert!(listed.contains("copied") && listed.contains("5000000") && listed.contains("lun1"), "{listed}");
    server.until_empty();
}

/// Cached pages of clients' files are in the partition of their volume, from the first read on,
/// after a restart too, and in another partition once the volume is.
#[test]
fn files_are_kept_in_the_partition_of_their_volume() {
    let cache = store::CacheSettings { memory: Bytes::mib(4), page: 4096, policy: cache::Eviction::default() };
    let kept = || Front { cache: Some(cache), ..front(Access::default()) };
    let mut server = Server::start_behind(BACKENDS[0], limits(), kept());
    server.control.execute("cache partition create fast -size 1MiB -volumes vol1").unwrap();
    let read = |server: &Server, name: &[u8]| {
        let mut client = Client::connect(server);
        let top = client.mount("/vol1").unwrap();
        let file = client.create(top, name).unwrap();
        client.write_all(file, 0, &[7; 65_536], Stable::File).unwrap();
        (0..2).for_each(|_| assert_eq!(client.read(file, 0, 65_536).unwrap().0, [7; 65_536]));
    };
    let resident = |server: &Server, partition: u32| server.account().cache[&partition].resident.0;
    read(&server, b"one");
    assert!(resident(&server, 1) >= 65_536, "{:?}", server.account().cache);
    assert_eq!(resident(&server, 0), 0, "nothing of it is in the default one");
    let mut server = server.restart_behind(limits(), kept());
    read(&server, b"two");
    assert!(resident(&server, 1) >= 65_536 && resident(&server, 0) == 0, "{:?}", server.account().cache);
    server.control.execute("cache partition modify fast -volumes none").unwrap();
    read(&server, b"three");
    assert!(resident(&server, 0) >= 65_536, "{:?}", server.account().cache);
}
