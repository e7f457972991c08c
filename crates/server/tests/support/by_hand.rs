//! The protocol's bytes, written and read by hand over any stream, so that a client can also
//! misbehave.

use super::{Chance, LUN, LUN_BYTES, Server};
use nbd::{Command, NbdRequest};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

pub const OPT_EXPORT_NAME: u32 = 1;
pub const OPT_ABORT: u32 = 2;
pub const OPT_LIST: u32 = 3;
pub const OPT_STARTTLS: u32 = 5;
pub const OPT_INFO: u32 = 6;
pub const OPT_GO: u32 = 7;
pub const OPT_STRUCTURED: u32 = 8;
pub const OPT_SET_META: u32 = 10;

pub const ACK: u32 = 1;
pub const REP_SERVER: u32 = 2;
pub const REP_INFO: u32 = 3;
pub const ERR_POLICY: u32 = 1 << 31 | 2;
pub const ERR_INVALID: u32 = 1 << 31 | 3;
pub const ERR_TLS_REQD: u32 = 1 << 31 | 5;
pub const ERR_UNKNOWN: u32 = 1 << 31 | 6;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const EPERM: u32 = 1;
pub const ESHUTDOWN: u32 = 108;

/// The client's flags: new style, and no padding.
pub const FIXED_NO_ZEROES: [u8; 4] = [0, 0, 0, 3];

/// An option's bytes.
pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT".as_slice(), &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

/// GO or INFO for an export, without requesting information.
pub fn go(number: u32, name: &str) -> Vec<u8> {
    option(number, &[&(name.len() as u32).to_be_bytes(), name.as_bytes(), &[0, 0]].concat())
}

/// A request's bytes.
pub fn request(kind: u16, cookie: u64, at: u64, len: u32, payload: &[u8]) -> Vec<u8> {
    let head = [&0x25609513_u32.to_be_bytes()[..], &[0, 0], &kind.to_be_bytes(), &cookie.to_be_bytes()].concat();
    [&head[..], &at.to_be_bytes(), &len.to_be_bytes(), payload].concat()
}

/// The kind and data of an option's reply.
pub fn reply(stream: &mut impl Read) -> std::io::Result<(u32, Vec<u8>)> {
    let mut head = [0; 20];
    stream.read_exact(&mut head)?;
    assert_eq!(head[..8], 0x3e889045565a9_u64.to_be_bytes());
    let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    let mut data = vec![0; number(16) as usize];
    stream.read_exact(&mut data)?;
    Ok((number(12), data))
}

/// A client that has read the greeting and sent its flags.
pub fn greeted(server: &Server) -> UnixStream {
    let mut stream = server.raw();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream.write_all(&FIXED_NO_ZEROES).unwrap();
    stream
}

/// A client that may begin TLS.
pub fn at_tls(server: &Server) -> UnixStream {
    let mut stream = greeted(server);
    assert_eq!(stream.ask(&option(OPT_STARTTLS, &[])), ACK);
    stream
}

/// Stops a server after its client, which may have one request in flight, has sent 1000 writes of
/// 64 bytes: 92 KB with their headers. A ceiling holds back the second, and the rest is in the
/// receive buffer or the socket. All are answered, executed or ESHUTDOWN, and then the stream ends
/// as its transport requires: one that is cut off is an error.
pub fn answers_at_its_stop(mut server: Server, mut client: impl Conversation) {
    const WRITES: usize = 1000;
    for line in [
        "qos policy-group create slow -vserver svm01 -max-throughput 2IOPS",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
    ] {
        server.control.execute(line).unwrap();
    }
    let writes: Vec<u8> = (0..WRITES as u64).flat_map(|n| request(WRITE, n, n * 64, 64, &[9; 64])).collect();
    client.send(&writes);
    server.until("held back", |account| account.gate.queued >= 1);
    let Server { control, socket: _socket, dir } = server;
    let stop = std::thread::spawn(move || drop(control));
    let answers = client.answers(&[0; WRITES]);
    let count = |errno| answers.iter().filter(|(found, _)| *found == errno).count();
    let (done, dismissed) = (count(0), count(ESHUTDOWN));
    assert!(done >= 1 && dismissed >= 1 && done + dismissed == WRITES, "{done} + {dismissed}");
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "a goodbye");
    stop.join().unwrap();
    drop(dir);
}

/// A client's side of a conversation over any transport.
pub trait Conversation: Read + Write + Sized {
    /// The kind of the last reply to an option.
    fn ask(&mut self, bytes: &[u8]) -> u32 {
        self.send(bytes);
        loop {
            match self.heard().0 {
                REP_INFO | REP_SERVER => {}
                kind => return kind,
            }
        }
    }

    /// The names of all exports.
    fn list(&mut self) -> Vec<String> {
        self.send(&option(OPT_LIST, &[]));
        let mut names = Vec::new();
        while let (REP_SERVER, data) = self.heard() {
            names.push(String::from_utf8(data[4..].to_vec()).unwrap());
        }
        names
    }

    /// Sends all requests at once; returns errors and data in their order, from simple replies.
    fn requests(&mut self, requests: &[Vec<u8>], reads: &[usize]) -> Vec<(u32, Vec<u8>)> {
        self.send(&requests.concat());
        self.answers(reads)
    }

    /// Errors and data of requests that were sent, by cookie; `reads` has the length of each read.
    fn answers(&mut self, reads: &[usize]) -> Vec<(u32, Vec<u8>)> {
        let mut answers = vec![None; reads.len()];
        for _ in reads {
            let mut head = [0; 16];
            self.read_exact(&mut head).unwrap();
            let errno = u32::from_be_bytes(head[4..8].try_into().unwrap());
            let cookie = u64::from_be_bytes(head[8..].try_into().unwrap()) as usize;
            let mut data = vec![0; if errno == 0 { reads[cookie] } else { 0 }];
            self.read_exact(&mut data).unwrap();
            answers[cookie] = Some((errno, data));
        }
        answers.into_iter().map(|answer| answer.expect("each is answered once")).collect()
    }

    /// One write: its error.
    fn put(&mut self, at: u64, bytes: &[u8]) -> u32 {
        self.requests(&[request(WRITE, 0, at, bytes.len() as u32, bytes)], &[0])[0].0
    }

    /// One read: its error and its data.
    fn get(&mut self, at: u64, len: usize) -> (u32, Vec<u8>) {
        self.requests(&[request(READ, 0, at, len as u32, &[])], &[len]).remove(0)
    }

    /// Enters transmission for the LUN that every server here has.
    fn enter(mut self) -> Self {
        assert_eq!(self.ask(&go(OPT_GO, LUN)), ACK);
        self
    }

    fn send(&mut self, bytes: &[u8]) {
        self.write_all(bytes).unwrap();
        self.flush().unwrap();
    }

    fn heard(&mut self) -> (u32, Vec<u8>) {
        reply(self).unwrap()
    }
}

impl<S: Read + Write> Conversation for S {}

pub fn simple(request: &NbdRequest) -> Vec<u8> {
    let mut bytes = Vec::new();
    request.put(nbd::Framing::Simple, &mut bytes).unwrap();
    bytes
}

/// A few hundred KiB of valid requests of every kind.
pub fn requests(chance: &mut Chance) -> Vec<u8> {
    let mut bytes = Vec::new();
    for cookie in 0..chance.below(60) {
        let len = [1, 512, 4096, 5000, 200_000][chance.below(5) as usize];
        let at = chance.below(LUN_BYTES - len);
        let command =
            [Command::Read, Command::Write, Command::Flush, Command::Trim, Command::WriteZeroes, Command::Other(9)]
                [chance.below(6) as usize];
        match command {
            Command::Write => {
                bytes.extend(simple(&NbdRequest::write(cookie, at, len as u32)));
                bytes.resize(bytes.len() + len as usize, cookie as u8);
            }
            Command::Flush => bytes.extend(simple(&NbdRequest::new(cookie, command, 0, 0))),
            _ => bytes.extend(simple(&NbdRequest::new(cookie, command, at, len))),
        }
    }
    bytes
}
