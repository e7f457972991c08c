//! The server killed under a client that makes, writes, renames and removes files over NFS: what
//! was answered is there, the check is clean. `SEAWALL_KILLS` sets how often (6 if not set).

use crate::running::{run, seawall};
use crate::scratch::Scratch;
use crate::server::Server;
use nfs::mount::{self, MountCall};
use nfs::record::{self, Joiner};
use nfs::rpc::{self, CallHead, Credential, Groups, SysCredential};
use nfs::{Call, CreateHow, Entry, FileHandle, Reader, Reply, SetAttributes, Stable, Status};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// Bytes of a file.
const LEN: usize = 5000;

/// A client that waits for each answer; `None` is a server that died.
struct Client {
    stream: TcpStream,
    xid: u32,
}

impl Client {
    fn send(
        &mut self,
        (program, procedure): (u32, u32),
        data: &[u8],
        put: impl FnOnce(&mut Vec<u8>),
    ) -> Option<Vec<u8>> {
        self.xid += 1;
        let (xid, groups, version) = (self.xid, Groups::default(), 3);
        let credential = Credential::Sys(SysCredential { stamp: 0, machine: b"test", uid: 1, gid: 1, groups });
        let mut out = Vec::new();
        let start = record::begin(&mut out);
        rpc::put_call(&mut out, &CallHead { xid, program, version, procedure, credential });
        put(&mut out);
        out.extend_from_slice(data);
        out.resize(start + (out.len() - start).next_multiple_of(4), 0);
        record::end(&mut out, start, 0);
        self.stream.write_all(&out).ok()?;
        let (mut joiner, mut came) = (Joiner::new(), Vec::new());
        loop {
            let mut input = &came[..];
            if let Some(record) = joiner.feed(&mut input).unwrap().map(<[u8]>::to_vec) {
                let mut reader = Reader::new(&record);
                rpc::read_reply(&mut reader).unwrap();
                return Some(record[reader.taken()..].to_vec());
            }
            came.clear();
            let mut chunk = [0; 1 << 14];
            match self.stream.read(&mut chunk) {
                Ok(got @ 1..) => came.extend_from_slice(&chunk[..got]),
                Ok(_) | Err(_) => return None,
            }
        }
    }

    fn connect(server: &Server) -> (Client, FileHandle) {
        let mut client = Client { stream: TcpStream::connect(server.nfs()).unwrap(), xid: 0 };
        let call = MountCall::Mount(b"/v");
        let mounted = client.send((mount::PROGRAM, call.procedure()), &[], |out| call.put(out)).unwrap();
        let (top, _) = mount::read_mounted(&mut Reader::new(&mounted)).unwrap().unwrap();
        (client, top)
    }

    /// How a call went, and the handle that it told; nothing where the server died.
    fn call(&mut self, call: &Call<'_>, data: &[u8]) -> Option<Result<Option<FileHandle>, Status>> {
        let results = self.send((nfs::PROGRAM, call.procedure() as u32), data, |out| call.put(out))?;
        let reply = Reply::read(call.procedure(), &mut Reader::new(&results)).unwrap();
        Some(match reply {
            Reply::Made(_, result) => result.map(|(handle, _)| handle),
            Reply::Lookup(_, result) => result.map(|(handle, _)| Some(handle)),
            Reply::Done(_, result) | Reply::Rename(_, _, result) => result.map(|()| None),
            Reply::Write(_, result) => result.map(|written| {
                assert_eq!(written.count as usize, LEN);
                None
            }),
            other => panic!("{other:?}"),
        })
    }

    fn read(&mut self, handle: FileHandle) -> Vec<u8> {
        let call = Call::Read { handle, at: 0, count: 1 << 16 };
        let results = self.send((nfs::PROGRAM, call.procedure() as u32), &[], |out| call.put(out)).unwrap();
        let mut reader = Reader::new(&results);
        match Reply::read(call.procedure(), &mut reader).unwrap() {
            Reply::Read(_, Ok(done)) => results[reader.taken()..][..done.len as usize].to_vec(),
            other => panic!("{other:?}"),
        }
    }
}

/// What a name's file must hold.
type Files = BTreeMap<String, u8>;

/// Works until the server dies; what was asked last, and what it touches, may be there or not.
fn work(mut client: Client, top: FileHandle, files: &mut Files, round: u64, answered: &dyn Fn()) -> Vec<String> {
    for number in 0.. {
        let (name, moved) = (format!("{round}-{number}"), format!("{round}-{number}-moved"));
        let doubt = vec![name.clone(), moved.clone()];
        let entry = |name| Entry { directory: top, name };
        let how = CreateHow::Guarded(SetAttributes::default());
        let Some(made) = client.call(&Call::Create { entry: entry(name.as_bytes()), how }, &[]) else { return doubt };
        let handle = made.unwrap().unwrap();
        let (byte, count) = (number as u8, LEN as u32);
        let write = Call::Write { handle, at: 0, count, stable: Stable::File, len: count };
        let Some(done) = client.call(&write, &[byte; LEN]) else { return doubt };
        done.unwrap();
        if number % 3 > 0 {
            let rename = Call::Rename { from: entry(name.as_bytes()), to: entry(moved.as_bytes()) };
            let Some(done) = client.call(&rename, &[]) else { return doubt };
            done.unwrap();
        }
        if number % 3 == 2 {
            let Some(done) = client.call(&Call::Remove(entry(moved.as_bytes())), &[]) else { return doubt };
            done.unwrap();
        } else {
            files.insert(if number % 3 == 0 { name } else { moved }, byte);
        }
        answered();
    }
    unreachable!("the server is killed")
}

#[test]
fn files_that_were_answered_are_there_after_kills() {
    let kills = std::env::var("SEAWALL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let scratch = Scratch::new();
    let mut server = Server::start_with(&scratch, &["--nfs", "127.0.0.1:0"]);
    server.tell(&["vserver create -vserver svm01", "volume create -vserver svm01 -volume v -size 1GB"]);
    let mut files = Files::new();
    for round in 0..kills {
        let (client, top) = Client::connect(&server);
        let (tell, answered) = std::sync::mpsc::channel();
        let doubt = std::thread::scope(|scope| {
            let files = &mut files;
            let worker = scope.spawn(move || {
                work(client, top, files, round, &|| {
                    let _ = tell.send(());
                })
            });
            for _ in 0..=(round % 40) * 37 {
                answered.recv().unwrap();
            }
            server.kill();
            worker.join().unwrap()
        });
        let checked = run(seawall(scratch.path()).args(["check", "pool"]));
        assert_eq!(checked.code, Some(0), "kill {round}: {}{}", checked.out, checked.err);
        server = Server::start_with(&scratch, &["--nfs", "127.0.0.1:0"]);
        let (mut client, top) = Client::connect(&server);
        // All of them; of many rounds those of this one, a sixteenth of the earlier ones, and all
        // in the end, so that the time does not grow with the square of the rounds.
        let are_all = kills <= 16 || round + 1 == kills;
        let of_round = format!("{round}-");
        for (number, (name, byte)) in files.iter().enumerate() {
            let is_due = are_all || name.starts_with(&of_round) || number as u64 % 16 == round % 16;
            if !is_due {
                continue;
            }
            let entry = Entry { directory: top, name: name.as_bytes() };
            let handle =
                client.call(&Call::Lookup(entry), &[]).unwrap().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(client.read(handle.unwrap()) == [*byte; LEN], "kill {round}: {name}");
        }
        for name in doubt {
            let entry = Entry { directory: top, name: name.as_bytes() };
            if let Some(Ok(_)) = client.call(&Call::Remove(entry), &[]) {
                files.remove(&name);
            }
        }
    }
    println!("{kills} kills, {} files are there", files.len());
    server.stop();
}
