//! A client of the oldest kind, for tests that must know what was asked and what was answered when a server dies: one
//! option, simple replies, nothing else. It shares no code with the server.

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
        let failed = reply[4..8] != [0; 4];
        Some(Answered { cookie: u64::from_be_bytes(reply[8..].try_into().expect("eight bytes")), failed })
    }

    /// Reads, with no other request under way.
    pub fn read(&mut self, at: u64, len: u32) -> Vec<u8> {
        assert!(self.send(&request(0, READ, 1, at, len)), "the server is gone");
        let answered = self.answer().expect("the server is gone");
        assert!(!answered.failed, "a read at {at} failed");
        let mut bytes = vec![0; len as usize];
        self.stream.read_exact(&mut bytes).expect("the data of a read");
        bytes
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
