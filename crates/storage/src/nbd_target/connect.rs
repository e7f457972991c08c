//! Establishing a connection: socket and handshake, blocking, before the ring takes it over.

use super::export::Export;
use super::tls::{Tls, TlsChoice, TlsError};
use crate::dial::{PATIENCE, call, retry_interrupted};
use cipher::Records;
use nbd::{ClientHandshake, ClientStep, HandshakeError, HandshakeLimits, Purpose, Rules, TlsWish, Wishes};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// `HOST:PORT`
    Tcp(String),
}

/// A connection that is ready for requests.
#[derive(Debug)]
pub struct Connection {
    pub(super) socket: OwnedFd,
    pub(crate) rules: Rules,
    /// Bytes that followed the handshake; on an encrypted connection they are in `tls`.
    pub(super) early: Vec<u8>,
    /// Encryption.
    pub(super) tls: Option<Box<Tls>>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The socket failed.
    #[error("{address}: {source}")]
    Socket {
        /// The address.
        address: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The server refused, or does not speak NBD.
    #[error("{address}: {source}")]
    Handshake {
        /// The address.
        address: String,
        /// What was wrong.
        source: HandshakeError,
    },
    /// The requested encryption is not possible.
    #[error("{address}: {source}")]
    Tls {
        /// The address.
        address: String,
        /// What was wrong.
        source: TlsError,
    },
    /// Several connections are asked for, but the server does not promise that a flush on one
    /// covers the writes of the others.
    #[error(
        "{0}: the server does not offer several connections to this export (CAN_MULTI_CONN): leave connections= out"
    )]
    OneConnection(String),
    /// The server closed the connection during the handshake.
    #[error("{0}: the server closed the connection during the handshake")]
    Closed(String),
    /// The slab has no room for the receive buffer.
    #[error("no memory left for another connection")]
    NoMemory,
}

impl Connection {
    /// Connects to the export `name` at `address` in clear text.
    ///
    /// # Errors
    /// Nobody listens there, the export does not exist, or the server does not speak NBD.
    pub fn open(address: &Address, name: &str) -> Result<Connection, ConnectError> {
        // Simple replies have the smallest headers; a load does not need chunks.
        Connection::to(&Export::new(address.clone(), name))
    }

    /// Connects with other `wishes`, but always in clear text.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_with(address: &Address, wishes: Wishes) -> Result<Connection, ConnectError> {
        let wishes = Wishes { tls: TlsWish::Off, ..wishes };
        connect(address, wishes, None)
    }

    /// One connection to `export`.
    ///
    /// # Errors
    /// As [`Connection::open`]; or it cannot be encrypted as asked for.
    pub fn to(export: &Export) -> Result<Connection, ConnectError> {
        connect(&export.address, export.wishes(), export.tls.as_ref())
    }

    /// As many connections to `export` as it asks for.
    ///
    /// # Errors
    /// As [`Connection::to`]; or the server supports only one.
    pub fn all(export: &Export) -> Result<Vec<Connection>, ConnectError> {
        let first = Connection::to(export)?;
        let flags = first.rules.flags;
        let may =
            flags.contains(nbd::TransmissionFlags::CAN_MULTI_CONN) || flags.contains(nbd::TransmissionFlags::READ_ONLY);
        if export.connections > 1 && !may {
            return Err(ConnectError::OneConnection(format!("{} {}", export.address, export.name)));
        }
        let mut all = vec![first];
        while (all.len() as u32) < export.connections {
            all.push(Connection::to(export)?);
        }
        Ok(all)
    }

    /// The export's size in bytes.
    pub fn size(&self) -> u64 {
        self.rules.size
    }

    /// The framing of its messages.
    pub fn framing(&self) -> nbd::Framing {
        self.rules.framing
    }
}

fn connect(address: &Address, wishes: Wishes, tls: Option<&TlsChoice>) -> Result<Connection, ConnectError> {
    let text = format!("{address} {}", wishes.export);
    let wishes = Wishes { purpose: Purpose::Go, ..wishes };
    let socket = |source| ConnectError::Socket { address: text.clone(), source };
    let begin = |host: Option<&str>| {
        let begun = tls.map(|choice| choice.begin(host)).transpose();
        begun.map_err(|source| ConnectError::Tls { address: text.clone(), source })
    };
    match address {
        Address::Unix(path) => {
            let session = begin(None)?;
            let stream = retry_interrupted(|| UnixStream::connect(path)).map_err(socket)?;
            stream.set_read_timeout(Some(PATIENCE)).map_err(socket)?;
            let made = shake_hands(&stream, session, wishes, &text)?;
            stream.set_read_timeout(None).map_err(socket)?;
            Ok(made.on(stream.into()))
        }
        Address::Tcp(host) => {
            let session = begin(host.rsplit_once(':').map(|(host, _)| host.trim_matches(['[', ']'])))?;
            let stream = call(host).map_err(socket)?;
            stream.set_nodelay(true).map_err(socket)?;
            stream.set_read_timeout(Some(PATIENCE)).map_err(socket)?;
            let made = shake_hands(&stream, session, wishes, &text)?;
            stream.set_read_timeout(None).map_err(socket)?;
            Ok(made.on(stream.into()))
        }
    }
}

struct Made {
    rules: Rules,
    early: Vec<u8>,
    tls: Option<Records>,
}

impl Made {
    fn on(self, socket: OwnedFd) -> Connection {
        let Made { rules, early, tls } = self;
        match tls {
            Some(session) => {
                Connection { socket, rules, early: Vec::new(), tls: Some(Box::new(Tls::new(session, early))) }
            }
            None => Connection { socket, rules, early, tls: None },
        }
    }
}

/// A socket, possibly encrypted.
struct Wire<S> {
    stream: S,
    tls: Option<Records>,
}

/// Why a step of the handshake failed.
enum StepError {
    Socket(std::io::Error),
    Tls(TlsError),
}

impl From<std::io::Error> for StepError {
    fn from(error: std::io::Error) -> StepError {
        StepError::Socket(error)
    }
}

impl From<cipher::CipherFault> for StepError {
    fn from(fault: cipher::CipherFault) -> StepError {
        StepError::Tls(fault.into())
    }
}

impl<S: Read + Write> Wire<S> {
    /// Appends received bytes to `into`; returns 0 at the end.
    fn receive(&mut self, into: &mut Vec<u8>) -> Result<usize, StepError> {
        let (had, mut chunk) = (into.len(), [0; 4096]);
        let Some(records) = &mut self.tls else {
            let got = retry_interrupted(|| self.stream.read(&mut chunk))?;
            into.extend_from_slice(&chunk[..got]);
            return Ok(got);
        };
        loop {
            let closed = records.take_clear(into)?;
            if into.len() > had || closed {
                return Ok(into.len() - had);
            }
            let got = retry_interrupted(|| self.stream.read(&mut chunk))?;
            if got == 0 {
                return Ok(0);
            }
            let mut came = &chunk[..got];
            while !came.is_empty() {
                came = &came[records.feed(came)?..];
                if records.take_clear(into)? {
                    break;
                }
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.tls {
            Some(records) => {
                records.write(bytes);
                flush(records, &mut self.stream)
            }
            None => self.stream.write_all(bytes),
        }
    }

    fn encrypt(&mut self, mut records: Records) -> Result<(), StepError> {
        let mut chunk = [0; 4096];
        loop {
            let step = records.shake_hands();
            // What a failed handshake sends tells the server why.
            flush(&mut records, &mut self.stream)?;
            if step? {
                break;
            }
            let got = retry_interrupted(|| self.stream.read(&mut chunk))?;
            if got == 0 {
                return Err(StepError::Tls(TlsError::Ended));
            }
            let mut came = &chunk[..got];
            while !came.is_empty() {
                let fed = records.feed(came);
                if fed.is_err() {
                    flush(&mut records, &mut self.stream)?;
                }
                came = &came[fed?..];
            }
        }
        self.tls = Some(records);
        Ok(())
    }
}

fn flush(records: &mut Records, stream: &mut impl Write) -> std::io::Result<()> {
    let mut out = Vec::new();
    records.take(&mut out);
    stream.write_all(&out)
}

fn shake_hands(
    stream: impl Read + Write,
    mut session: Option<Records>,
    wishes: Wishes,
    address: &str,
) -> Result<Made, ConnectError> {
    let socket = |source| ConnectError::Socket { address: address.into(), source };
    let failed = |error| match error {
        StepError::Socket(source) => socket(source),
        StepError::Tls(source) => ConnectError::Tls { address: address.into(), source },
    };
    let refused = |source| ConnectError::Handshake { address: address.into(), source };
    let mut handshake = ClientHandshake::new(wishes, HandshakeLimits::CLIENT).map_err(refused)?;
    let (mut received, mut out) = (Vec::new(), Vec::new());
    let mut wire = Wire { stream, tls: None };
    loop {
        let mut rest = &received[..];
        let step = handshake.receive(&mut rest, &mut out);
        let taken = received.len() - rest.len();
        received.drain(..taken);
        wire.send(&out).map_err(socket)?;
        out.clear();
        match step.map_err(refused)? {
            ClientStep::Continue => {}
            ClientStep::Transmission(agreed) => {
                return Ok(Made { rules: Rules::of_client(&agreed), early: received, tls: wire.tls });
            }
            ClientStep::NeedMore(_) => {
                if wire.receive(&mut received).map_err(failed)? == 0 {
                    return Err(ConnectError::Closed(address.into()));
                }
            }
            ClientStep::StartTls => {
                let session = session.take().expect("TLS was wished for, and starts once");
                wire.encrypt(session).map_err(failed)?;
                handshake.tls_established(&mut out);
                wire.send(&out).map_err(socket)?;
                out.clear();
            }
            ClientStep::Described(_) | ClientStep::Listed(_) => unreachable!("the export is to be used"),
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(host) => f.write_str(host),
        }
    }
}
