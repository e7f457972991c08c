//! A client of the oldest kind, for tests that must know what was asked and what was answered when
//! a server dies: one option, simple replies, nothing else. It shares no code with the server.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A hang becomes a failure.
const GIVE_UP: Duration = Duration::from_secs(120);

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const FUA: u16 = 1;

pub struct Client {
    stream: UnixStream,
}

/// An answer to a request that brings no data.
pub struct Answered {
    pub cookie: u64,
    pub failed: bool,
    /// The protocol's number of the error; 0 if there was none.
    pub error: u32,
}

impl Client {
    /// Opens an export.
    pub fn connect(socket: &Path, export: &str) -> Client {
        let mut stream = UnixStream::connect(socket).expect("a server that listens");
        stream.set_read_timeout(Some(GIVE_UP)).unwrap();
        stream.set_write_timeout(Some(GIVE_UP)).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).expect("a greeting");
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        // Fixed newstyle, and no 124 zeroes at the end; then NBD_OPT_EXPORT_NAME, which is 1.
        let mut hello = 3u32.to_be_bytes().to_vec();
        hello.extend(b"IHAVEOPT");
        hello.extend(1u32.to_be_bytes());
        hello.extend((export.len() as u32).to_be_bytes());
        hello.extend(export.as_bytes());
        stream.write_all(&hello).expect("a server that takes options");
        // Its size and flags.
        stream.read_exact(&mut [0; 10]).expect("the server has the export");
        Client { stream }
    }

    /// Asks for a write; false if the server is gone.
    pub fn write(&mut self, cookie: u64, at: u64, bytes: &[u8], fua: bool) -> bool {
        let mut request = request(if fua { FUA } else { 0 }, WRITE, cookie, at, bytes.len() as u32);
        request.extend(bytes);
        self.send(&request)
    }

    /// Writes, with no other request under way; or the error of the answer.
    pub fn written(&mut self, at: u64, bytes: &[u8], fua: bool) -> Result<(), u32> {
        assert!(self.write(1, at, bytes, fua), "the server is gone");
        self.answer_with(|_| 0).1.map(drop)
    }

    /// Flushes, with no other request under way; or the error of the answer.
    pub fn flushed(&mut self) -> Result<(), u32> {
        assert!(self.flush(1), "the server is gone");
        self.answer_with(|_| 0).1.map(drop)
    }

    /// Asks for a read; false if the server is gone.
    pub fn ask_read(&mut self, cookie: u64, at: u64, len: u32) -> bool {
        self.send(&request(0, READ, cookie, at, len))
    }

    /// Asks for a trim; false if the server is gone.
    pub fn trim(&mut self, cookie: u64, at: u64, len: u32) -> bool {
        self.send(&request(0, TRIM, cookie, at, len))
    }

    /// Asks for a flush; false if the server is gone.
    pub fn flush(&mut self, cookie: u64) -> bool {
        self.send(&request(0, FLUSH, cookie, 0, 0))
    }

    /// The next answer; `None` if the server is gone.
    pub fn answer(&mut self) -> Option<Answered> {
        let mut reply = [0; 16];
        match self.stream.read_exact(&mut reply) {
            Ok(()) => {}
            Err(error) if is_gone(error.kind()) => return None,
            Err(error) => panic!("the server neither answers nor closes: {error}"),
        }
        assert_eq!(reply[..4], [0x67, 0x44, 0x66, 0x98], "a simple reply");
        let error = u32::from_be_bytes(reply[4..8].try_into().expect("four bytes"));
        let cookie = u64::from_be_bytes(reply[8..].try_into().expect("eight bytes"));
        Some(Answered { cookie, failed: error != 0, error })
    }

    /// Reads, with no other request under way.
    pub fn read(&mut self, at: u64, len: u32) -> Vec<u8> {
        self.try_read(at, len).unwrap_or_else(|error| panic!("a read at {at} failed with {error}"))
    }

    /// The same, or the error of the answer.
    pub fn try_read(&mut self, at: u64, len: u32) -> Result<Vec<u8>, u32> {
        assert!(self.ask_read(1, at, len), "the server is gone");
        self.answer_with(|_| len).1
    }

    /// The next answer to any request: whose, and its data or its error. `len` says how much data
    /// the answer brings.
    pub fn answer_with(&mut self, len: impl FnOnce(u64) -> u32) -> (u64, Result<Vec<u8>, u32>) {
        let Answered { cookie, error, .. } = self.answer().expect("the server is gone");
        if error != 0 {
            return (cookie, Err(error));
        }
        let mut bytes = vec![0; len(cookie) as usize];
        self.stream.read_exact(&mut bytes).expect("the data of a read");
        (cookie, Ok(bytes))
    }

    fn send(&mut self, bytes: &[u8]) -> bool {
        match self.stream.write_all(bytes) {
            Ok(()) => true,
            Err(error) if is_gone(error.kind()) => false,
            Err(error) => panic!("the server takes no request: {error}"),
        }
    }
}

fn request(flags: u16, kind: u16, cookie: u64, at: u64, len: u32) -> Vec<u8> {
    let mut bytes = vec![0x25, 0x60, 0x95, 0x13];
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(at.to_be_bytes());
    bytes.extend(len.to_be_bytes());
    bytes
}

fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}
