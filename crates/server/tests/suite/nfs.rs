//! LUNs and files over NFS: what clients see, what they read and write, and what is refused. The
//! tests' own client sends exactly what a test needs; libnfs' tools are an independent client.

mod files;
mod link;
mod names;
mod portmap;

use crate::support::{BACKENDS, LUN, LUN_BYTES, Server, limits, program_or_skip, skip};
use ::nfs::mount::{self, Exported, MountCall, MountStatus};
use ::nfs::record::{self, Joiner};
use ::nfs::rpc::{self, CallHead, CallOutcome, Credential, Groups, SysCredential};
use ::nfs::{
    Call, CreateHow, Entry, FileHandle, FileKind, Procedure, Reader, Reply, SetAttributes, Stable, Status, Verifier,
};
use block::{Bytes, Span};
use server::{Access, AccessRule, Front, Listen, ServerLimits};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use uring::Choice;

/// A second volume with a file in a folder.
const FILE: &str = "/vol/vol2/db/data";

fn front(access: Access) -> Front {
    Front {
        nfs: vec![Listen::Tcp("127.0.0.1:0".into())],
        access,
        since_1970: Span::from_secs(1_700_000_000),
        ..Front::default()
    }
}

fn start(backend: Choice, limits: ServerLimits) -> Server {
    let mut server = Server::start_behind(backend, limits, front(Access::default()));
    for line in [
        "volume create -volume vol2 -size 1GB",
        "volume qtree create -volume vol2 -qtree db",
        &format!("lun create -path {FILE} -size 1048576"),
    ] {
        server.control.execute(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    server
}

fn port(server: &Server) -> u16 {
    let told = server.control.shard().listening().iter().find_map(|line| line.strip_suffix(" (NFS)"));
    told.and_then(|address| address.rsplit_once(':')).expect("it listens for NFS").1.parse().unwrap()
}

/// A client that waits for each answer.
struct Client {
    stream: TcpStream,
    xid: u32,
    uid: u32,
    /// The primary group, then the others.
    groups: Vec<u32>,
    came: Vec<u8>,
}

impl Client {
    fn connect(server: &Server) -> Client {
        Client::to(("127.0.0.1", port(server)))
    }

    fn to(address: (&str, u16)) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        // Different from the first number of any earlier client.
        let xid = RandomState::new().build_hasher().finish() as u32;
        Client { stream, xid, uid: 1000, groups: vec![1000], came: Vec::new() }
    }

    /// As another user, in these groups.
    fn of(server: &Server, uid: u32, groups: &[u32]) -> Client {
        Client { uid, groups: groups.to_vec(), ..Client::connect(server) }
    }

    /// Sends a call, followed by data.
    fn send(&mut self, (program, version, procedure): (u32, u32, u32), data: &[u8], put: impl FnOnce(&mut Vec<u8>)) {
        self.xid = self.xid.wrapping_add(1);
        let (gid, groups) = (self.groups[0], Groups::of(&self.groups[1..]));
        let sys = SysCredential { stamp: 0, machine: b"test", uid: self.uid, gid, groups };
        let credential = Credential::Sys(sys);
        let mut out = Vec::new();
        let start = record::begin(&mut out);
        rpc::put_call(&mut out, &CallHead { xid: self.xid, program, version, procedure, credential });
        put(&mut out);
        out.extend_from_slice(data);
        out.resize(start + (out.len() - start).next_multiple_of(4), 0);
        record::end(&mut out, start, 0);
        self.stream.write_all(&out).unwrap();
    }

    /// The next reply: its number, its outcome, and the rest; `None` if the connection has ended.
    fn receive(&mut self) -> Option<(u32, CallOutcome, Vec<u8>)> {
        let mut joiner = Joiner::new();
        loop {
            let mut input = &self.came[..];
            let record = joiner.feed(&mut input).unwrap().map(<[u8]>::to_vec);
            let taken = self.came.len() - input.len();
            self.came.drain(..taken);
            if let Some(record) = record {
                let mut reader = Reader::new(&record);
                let (xid, outcome) = rpc::read_reply(&mut reader).unwrap();
                return Some((xid, outcome, record[reader.taken()..].to_vec()));
            }
            let mut chunk = [0; 1 << 16];
            match self.stream.read(&mut chunk) {
                Ok(got @ 1..) => self.came.extend_from_slice(&chunk[..got]),
                Ok(_) | Err(_) => return None,
            }
        }
    }

    fn results(&mut self) -> Vec<u8> {
        let (xid, outcome, results) = self.receive().expect("an answer");
        assert_eq!((xid, outcome), (self.xid, CallOutcome::Success));
        results
    }

    fn call<T>(&mut self, call: &Call<'_>, data: &[u8], pick: impl FnOnce(Reply<'_>) -> T) -> T {
        let procedure = call.procedure();
        self.send((::nfs::PROGRAM, 3, procedure as u32), data, |out| call.put(out));
        let results = self.results();
        let mut reader = Reader::new(&results);
        let reply = Reply::read(procedure, &mut reader).unwrap();
        if !matches!(reply, Reply::Read(_, Ok(_))) {
            reader.end().unwrap();
        }
        pick(reply)
    }

    fn mount(&mut self, path: &str) -> Result<FileHandle, MountStatus> {
        let call = MountCall::Mount(path.as_bytes());
        self.send((mount::PROGRAM, 3, call.procedure()), &[], |out| call.put(out));
        let results = self.results();
        mount::read_mounted(&mut Reader::new(&results)).unwrap().map(|(handle, _)| handle)
    }

    fn look_up(&mut self, directory: FileHandle, name: &[u8]) -> Result<FileHandle, Status> {
        let entry = Entry { directory, name };
        self.call(&Call::Lookup(entry), &[], |reply| match reply {
            Reply::Lookup(_, result) => result.map(|(handle, _)| handle),
            other => panic!("{other:?}"),
        })
    }

    /// The handle of the LUN, looked up in its volume.
    fn lun(&mut self) -> FileHandle {
        let volume = self.mount("/vol1").unwrap();
        self.look_up(volume, b"lun1").unwrap()
    }

    /// Bytes, and whether they reach the end of the file.
    fn read(&mut self, handle: FileHandle, at: u64, count: u32) -> Result<(Vec<u8>, bool), Status> {
        let call = Call::Read { handle, at, count };
        self.send((::nfs::PROGRAM, 3, Procedure::Read as u32), &[], |out| call.put(out));
        let results = self.results();
        let mut reader = Reader::new(&results);
        let Reply::Read(_, result) = Reply::read(Procedure::Read, &mut reader).unwrap() else { panic!("a read") };
        let data = &results[reader.taken()..];
        result.map(|done| {
            assert!(done.count == done.len && data.len() == (done.len as usize).next_multiple_of(4));
            (data[..done.len as usize].to_vec(), done.eof)
        })
    }

    fn write(
        &mut self,
        handle: FileHandle,
        at: u64,
        data: &[u8],
        stable: Stable,
    ) -> Result<(Stable, Verifier), Status> {
        let len = data.len() as u32;
        self.call(&Call::Write { handle, at, count: len, stable, len }, data, |reply| match reply {
            Reply::Write(_, result) => result.map(|written| {
                assert_eq!(written.count, len);
                (written.stable, written.verifier)
            }),
            other => panic!("{other:?}"),
        })
    }

    fn commit(&mut self, handle: FileHandle) -> Result<Verifier, Status> {
        self.call(&Call::Commit { handle, at: 0, count: 0 }, &[], |reply| match reply {
            Reply::Commit(_, result) => result,
            other => panic!("{other:?}"),
        })
    }

    /// All names in a folder, listed with `count` bytes a page.
    fn names(&mut self, handle: FileHandle, count: u32) -> Vec<String> {
        let (mut all, mut cookie) = (Vec::new(), 0);
        loop {
            let call = Call::ReadDirPlus { handle, cookie, verifier: [0; 8], names: count, count };
            let (names, eof) = self.call(&call, &[], |reply| match reply {
                Reply::Listing(_, Ok(page)) => {
                    let names: Vec<(String, u64)> = page
                        .entries()
                        .map(|entry| (String::from_utf8(entry.name.to_vec()).unwrap(), entry.cookie))
                        .collect();
                    (names, page.eof)
                }
                other => panic!("{other:?}"),
            });
            cookie = names.last().map_or(cookie, |(_, cookie)| *cookie);
            all.extend(names.into_iter().map(|(name, _)| name));
            if eof {
                all.sort();
                return all;
            }
        }
    }
}

/// Data written over NFS is read over NFS and over NBD, at any position and length. A COMMIT and a
/// durable write have the verifier of this run of the server; the next run has another.
#[test]
fn what_is_written_is_read_by_both_protocols() {
    for backend in BACKENDS {
        let server = start(backend, limits());
        let mut client = Client::connect(&server);
        let lun = client.lun();
        let mut model = vec![0; LUN_BYTES as usize];
        let mut life = None;
        for (number, (at, len)) in
            [(0, 4096), (4095, 3), (100_001, 65_537), (1 << 20, 1 << 20), (7, 1)].into_iter().enumerate()
        {
            let data: Vec<u8> = (0..len).map(|byte| (byte * 7 + number) as u8 | 1).collect();
            let stable = if number == 2 { Stable::File } else { Stable::Unstable };
            let (done, verifier) = client.write(lun, at as u64, &data, stable).unwrap();
            assert_eq!((done, *life.get_or_insert(verifier)), (stable, verifier));
            model[at..at + len].copy_from_slice(&data);
        }
        assert_eq!(client.commit(lun), Ok(life.unwrap()));
        for (at, len) in [(0, 8192), (4090, 20), (100_000, 65_541), (1 << 20, 1 << 20), (0, 1)] {
            let (bytes, eof) = client.read(lun, at as u64, len as u32).unwrap();
            assert!(bytes == model[at..at + len] && !eof, "{len} at {at}");
        }
        assert_eq!(client.read(lun, LUN_BYTES - 5, 100), Ok((vec![0; 5], true)));
        assert_eq!(client.read(lun, LUN_BYTES, 100), Ok((Vec::new(), true)));
        let over_nbd = server.with(LUN, |nbd| nbd.read(100_000, 65_541).unwrap());
        assert!(over_nbd == model[100_000..165_541]);
        drop(client);
        server.until_empty();
    }
}

/// Forged, outdated and foreign handles, writes beyond the end, and names to be created are each
/// answered with their status, and the connection continues.
#[test]
fn what_cannot_be_is_answered_and_disturbs_nothing() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let lun = client.lun();
    let volume = client.mount("/vol1").unwrap();
    for (bytes, status) in [
        (&b""[..], Status::BadHandle),
        (&[0; 64], Status::BadHandle),
        (b"SWN1\x01\0\0\0\0\0\0\0\xee", Status::Stale),
        (b"SWN1\x00\0\0\0\0\0\0\0\x01", Status::Stale),
        (b"SWN1\x02\0\0\0\0\0\0\0\x01", Status::BadHandle),
        (b"SWN1\x01\xff\xff\xff\xff\xff\xff\xff\xff", Status::BadHandle),
    ] {
        let handle = FileHandle::new(bytes).unwrap();
        assert_eq!(client.read(handle, 0, 10), Err(status), "{handle:?}");
        assert_eq!(client.write(handle, 0, &[1; 10_000], Stable::Unstable).map(|_| ()), Err(status));
        assert_eq!(client.look_up(handle, b"x"), Err(status));
    }
    assert_eq!(client.read(volume, 0, 10), Err(Status::IsDirectory));
    for at in [LUN_BYTES - 1, LUN_BYTES, u64::MAX] {
        assert_eq!(client.write(lun, at, &[1; 8], Stable::Unstable).map(|_| ()), Err(Status::NoSpace), "{at}");
    }
    assert_eq!(client.read(lun, LUN_BYTES - 1, 1), Ok((vec![0], true)), "nothing of it was written");
    assert_eq!(client.read(lun, u64::MAX, 8), Ok((Vec::new(), true)));
    let set = SetAttributes { size: Some(5), ..SetAttributes::default() };
    let done = client.call(&Call::SetAttr { handle: lun, set, guard: None }, &[], |reply| match reply {
        Reply::Done(_, result) => result,
        other => panic!("{other:?}"),
    });
    assert_eq!(done, Err(Status::NotSupported));
    for (name, how, status) in [
        (&b"new/er"[..], CreateHow::Unchecked(SetAttributes::default()), Status::Invalid),
        (b"lun1", CreateHow::Guarded(SetAttributes::default()), Status::Exists),
        (b".", CreateHow::Guarded(SetAttributes::default()), Status::Exists),
        (b"..", CreateHow::Exclusive([1; 8]), Status::Exists),
        (b"zero\0byte", CreateHow::Exclusive([1; 8]), Status::Invalid),
    ] {
        let entry = Entry { directory: volume, name };
        let made = client.call(&Call::Create { entry, how }, &[], |reply| match reply {
            Reply::Made(_, result) => result.map(|_| ()),
            other => panic!("{other:?}"),
        });
        assert_eq!(made, Err(status));
    }
    // Made-up cookies: the listing continues behind them, or has ended.
    let call = Call::ReadDir { handle: volume, cookie: u64::MAX, verifier: [7; 8], count: 4096 };
    let rest = client.call(&call, &[], |reply| match reply {
        Reply::Listing(_, Ok(page)) => (page.entries().count(), page.eof),
        other => panic!("{other:?}"),
    });
    assert_eq!(rest, (0, true));
    for (program, outcome) in [
        ((100_021, 4, 0), CallOutcome::ProgramUnavailable),
        ((::nfs::PROGRAM, 4, 0), CallOutcome::ProgramMismatch { low: 3, high: 3 }),
        ((::nfs::PROGRAM, 3, 22), CallOutcome::ProcedureUnavailable),
        ((::nfs::PROGRAM, 3, Procedure::Link as u32), CallOutcome::GarbageArguments),
        ((::nfs::PROGRAM, 3, Procedure::GetAttr as u32), CallOutcome::GarbageArguments),
    ] {
        client.send(program, &[0xff; 12], |_| ());
        let (_, said, _) = client.receive().unwrap();
        assert_eq!(said, outcome, "{program:?}");
    }
    // A deleted LUN leaves a stale handle, and the connection that used it ends.
    let line = format!("lun delete -path {LUN}");
    assert!(server.control.execute(&line).unwrap_err().to_string().contains("connection"));
    server.control.execute(&format!("{line} -force")).unwrap();
    assert!(client.receive().is_none());
    let mut client = Client::connect(&server);
    assert_eq!((client.read(lun, 0, 10), client.mount("/vol1")), (Err(Status::Stale), Ok(volume)));
    assert_eq!(client.names(volume, 4096), [".", ".."], "clients may make files there");
    drop(client);
    server.until_empty();
}

/// A client that may not see a LUN does not learn that it exists; one that may only read cannot
/// write.
#[test]
fn rules_of_access_hold_for_handles_too() {
    let rule =
        |exports: &str, read_only| AccessRule { exports: vec![exports.into()], read_only, ..AccessRule::default() };
    let access = Access::by_rules(vec![rule("svm01:/vol/vol1/*", true)]);
    let mut server = Server::start_behind(BACKENDS[0], limits(), front(access));
    for line in ["volume create -volume vol2 -size 1GB", "lun create -path /vol/vol2/secret -size 1MB"] {
        server.control.execute(line).unwrap();
    }
    let mut client = Client::connect(&server);
    assert_eq!(client.mount("/vol2"), Err(MountStatus::NoEntry));
    let lun = client.lun();
    let volume = client.mount("/vol1").unwrap();
    let top = client.look_up(volume, b"..").unwrap();
    assert_eq!(client.names(top, 4096), [".", "..", "vol1"]);
    // Guessing the numbers of LUNs does not help.
    let mut bytes = lun.as_bytes().to_vec();
    for number in 0..32 {
        bytes[12] = number;
        let guessed = FileHandle::new(&bytes).unwrap();
        assert!(guessed == lun || client.read(guessed, 0, 1) == Err(Status::Stale), "{number}");
    }
    client.uid = 0;
    assert_eq!(client.write(lun, 0, &[1; 512], Stable::Unstable).map(|_| ()), Err(Status::ReadOnly));
    assert_eq!(client.read(lun, 0, 512), Ok((vec![0; 512], false)));
    drop(client);
    server.until_empty();
}

/// A handle is valid after a restart, and that of a deleted LUN never refers to one that was made
/// later.
#[test]
fn handles_outlive_a_restart_and_stand_for_one_lun_only() {
    let front = || front(Access::default());
    let mut server = Server::start_behind(BACKENDS[0], limits(), front());
    server.control.execute("lun create -path /vol/vol1/old -size 1MB").unwrap();
    let mut client = Client::connect(&server);
    let (kept, volume) = (client.lun(), client.mount("/vol1").unwrap());
    let old = client.look_up(volume, b"old").unwrap();
    client.write(old, 0, &[7; 512], Stable::File).unwrap();
    drop(client);
    server.until_empty();
    server.control.execute("lun delete -path /vol/vol1/old").unwrap();
    // Object numbers continue where they were, although the one with the largest number is gone.
    let mut server = server.restart_behind(limits(), front());
    server.control.execute("lun create -path /vol/vol1/new -size 1MB").unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.read(kept, 0, 512), Ok((vec![0; 512], false)));
    assert_eq!(client.read(old, 0, 512).map(|_| ()), Err(Status::Stale));
    assert_eq!(client.write(old, 0, &[9; 512], Stable::File).map(|_| ()), Err(Status::Stale));
    let new = client.look_up(volume, b"new").unwrap();
    assert_ne!(new, old);
    assert_eq!(client.read(new, 0, 512), Ok((vec![0; 512], false)));
}

/// Calls pass through the gate: a ceiling delays them, those that wait are visible, and what a
/// client requests without reading the replies is bounded.
#[test]
fn a_ceiling_holds_calls_back_and_a_client_that_does_not_read_is_bounded() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let lun = client.lun();
    for line in [
        "qos policy-group create slow -vserver svm01 -max-throughput 5IOPS",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
    ] {
        server.control.execute(line).unwrap();
    }
    for at in 0..30 {
        let call = Call::Read { handle: lun, at: at * 4096, count: 4096 };
        client.send((::nfs::PROGRAM, 3, Procedure::Read as u32), &[], |out| call.put(out));
    }
    server.until("queued", |account| account.gate.queued >= 20);
    server.control.execute("volume modify -volume vol1 -vserver svm01 -qos-policy-group none").unwrap();
    let mut answered: Vec<u32> = (0..30).map(|_| client.receive().unwrap().0).collect();
    answered.sort_unstable();
    assert_eq!(answered.len(), 30);
    assert!(answered.windows(2).all(|pair| pair[0] + 1 == pair[1]), "one answer each");
    // Hundreds of MiB are requested and not read; the server has 16 MiB of memory.
    let mut greedy = Client::connect(&server);
    greedy.stream.set_nonblocking(true).unwrap();
    for _ in 0..500 {
        let call = Call::Read { handle: lun, at: 0, count: 1 << 20 };
        let mut out = Vec::new();
        let start = record::begin(&mut out);
        let (program, version, procedure) = (::nfs::PROGRAM, 3, Procedure::Read as u32);
        rpc::put_call(&mut out, &CallHead { xid: 7, program, version, procedure, credential: Credential::None });
        call.put(&mut out);
        record::end(&mut out, start, 0);
        if greedy.stream.write_all(&out).is_err() {
            break;
        }
    }
    for _ in 0..20 {
        assert_eq!(client.read(lun, 0, 4096).unwrap().0.len(), 4096, "others are served");
    }
    drop((client, greedy));
    server.until_empty();
}

/// A fragmented record, one that is too long, and anything that is not a call end the connection,
/// and nothing of it remains.
#[test]
fn a_stream_that_is_none_ends_its_connection() {
    let server = start(BACKENDS[0], limits());
    for bytes in [
        &[0, 0, 0, 8, 0, 0, 0, 0][..],
        &[0xff, 0xff, 0xff, 0xff],
        &[0x80, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1],
        &[0x80, 0, 0, 4, 0, 0, 0, 1],
    ] {
        let mut client = Client::connect(&server);
        client.stream.write_all(bytes).unwrap();
        assert!(client.receive().is_none(), "{bytes:?}");
    }
    server.until_empty();
}

/// libnfs lists, reads and overwrites what is there.
#[test]
fn libnfs_reads_and_writes() {
    let (Some(list), Some(show)) = (program_or_skip("nfs-ls"), program_or_skip("nfs-cat")) else {
        return;
    };
    let server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let lun = client.lun();
    let data: Vec<u8> = (0..LUN_BYTES).map(|at| (at / 4096 + at) as u8).collect();
    for (number, piece) in data.chunks(1 << 20).enumerate() {
        client.write(lun, (number as u64) << 20, piece, Stable::Unstable).unwrap();
    }
    let ports = format!("?version=3&nfsport={0}&mountport={0}", port(&server));
    let run = |program: &PathBuf, path: &str| {
        let uri = format!("nfs://127.0.0.1{path}{ports}");
        let output = Command::new("timeout").arg("60").arg(program).arg(&uri).output().unwrap();
        assert!(output.status.success(), "{uri}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let listed = String::from_utf8(run(&list, "/vol1/")).unwrap();
    assert!(listed.contains("lun1") && listed.contains(&LUN_BYTES.to_string()), "{listed}");
    assert!(run(&show, "/vol1/lun1") == data);
    // A client of version 4 is told at once which version is supported, and does not wait for a
    // reply.
    let uri = format!("nfs://127.0.0.1/vol1/?version=4&nfsport={}", port(&server));
    let output = Command::new("timeout").arg("60").arg(&list).arg(&uri).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code != 0 && code != 124), "{output:?}");
    assert!(said.contains("Failed to mount"), "{said}");
    drop(client);
    server.until_empty();
}
