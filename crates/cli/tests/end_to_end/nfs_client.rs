//! A client of NFS that sends one call at a time, for tests that need its exact answers.

use nfs::mount::{self, MountCall};
use nfs::record::{self, Joiner};
use nfs::rpc::{self, CallHead, Credential, Groups, SysCredential};
use nfs::{Call, FileHandle, Reader, Reply, Status};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// A client that waits for each answer; `None` is a server that died.
pub struct Client {
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

    /// Connects to `address` and mounts `path`; returns the handle of its top folder too.
    pub fn connect(address: &str, path: &[u8]) -> (Client, FileHandle) {
        let mut client = Client { stream: TcpStream::connect(address).unwrap(), xid: 0 };
        let call = MountCall::Mount(path);
        let mounted = client.send((mount::PROGRAM, call.procedure()), &[], |out| call.put(out)).unwrap();
        let (top, _) = mount::read_mounted(&mut Reader::new(&mounted)).unwrap().unwrap();
        (client, top)
    }

    /// How a call went, and the handle that it told; nothing where the server died.
    pub fn call(&mut self, call: &Call<'_>, data: &[u8]) -> Option<Result<Option<FileHandle>, Status>> {
        let results = self.send((nfs::PROGRAM, call.procedure() as u32), data, |out| call.put(out))?;
        let reply = Reply::read(call.procedure(), &mut Reader::new(&results)).unwrap();
        Some(match reply {
            Reply::Made(_, result) => result.map(|(handle, _)| handle),
            Reply::Lookup(_, result) => result.map(|(handle, _)| Some(handle)),
            Reply::Done(_, result) | Reply::Rename(_, _, result) => result.map(|()| None),
            Reply::Write(_, result) => result.map(|written| {
                assert_eq!(written.count as usize, data.len());
                None
            }),
            other => panic!("{other:?}"),
        })
    }

    /// What a file holds, up to 64 KiB of it.
    pub fn read(&mut self, handle: FileHandle) -> Vec<u8> {
        let call = Call::Read { handle, at: 0, count: 1 << 16 };
        let results = self.send((nfs::PROGRAM, call.procedure() as u32), &[], |out| call.put(out)).unwrap();
        let mut reader = Reader::new(&results);
        match Reply::read(call.procedure(), &mut reader).unwrap() {
            Reply::Read(_, Ok(done)) => results[reader.taken()..][..done.len as usize].to_vec(),
            other => panic!("{other:?}"),
        }
    }
}
