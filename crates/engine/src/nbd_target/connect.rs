//! Making a connection: socket and handshake, blocking, before the ring takes it over.

use nbd::{ClientHandshake, ClientStep, HandshakeError, HandshakeLimits, Purpose, Rules, TlsWish, Wishes};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// How long the server may take for each step of the handshake.
const PATIENCE: Duration = Duration::from_secs(10);

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
    pub(super) rules: Rules,
    /// Bytes that came behind the handshake.
    pub(super) early: Vec<u8>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The socket failed.
    #[error("{address}: {source}")]
    Socket {
        /// Where to.
        address: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The server refused, or does not speak NBD.
    #[error("{address}: {source}")]
    Handshake {
        /// Where to.
        address: String,
        /// What was wrong.
        source: HandshakeError,
    },
    /// The server ended the connection in the handshake.
    #[error("{0}: the server closed the connection during the handshake")]
    Closed(String),
    /// The slab has no room for the receive buffer.
    #[error("no memory left for another connection")]
    NoMemory,
}

impl Connection {
    /// Connects to the export `name` at `address`.
    ///
    /// # Errors
    /// Nobody listens there, the export does not exist, or the server does not speak NBD.
    pub fn open(address: &Address, name: &str) -> Result<Connection, ConnectError> {
        // Simple replies have the smallest headers; a load has no use for chunks.
        Connection::open_with(address, Wishes { block_sizes: true, ..Wishes::plain(name) })
    }

    /// The same, asking for what `wishes` says; encryption is not among it.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_with(address: &Address, wishes: Wishes) -> Result<Connection, ConnectError> {
        let text = format!("{address} {}", wishes.export);
        let wishes = Wishes { purpose: Purpose::Go, tls: TlsWish::Off, ..wishes };
        let socket = |source| ConnectError::Socket { address: text.clone(), source };
        match address {
            Address::Unix(path) => {
                let stream = undisturbed(|| UnixStream::connect(path)).map_err(socket)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(socket)?;
                let made = shake_hands(&stream, &stream, wishes, &text)?;
                stream.set_read_timeout(None).map_err(socket)?;
                Ok(made.on(stream.into()))
            }
            Address::Tcp(host) => {
                let stream = undisturbed(|| TcpStream::connect(host)).map_err(socket)?;
                stream.set_nodelay(true).map_err(socket)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(socket)?;
                let made = shake_hands(&stream, &stream, wishes, &text)?;
                stream.set_read_timeout(None).map_err(socket)?;
                Ok(made.on(stream.into()))
            }
        }
    }

    /// The export's size in bytes.
    pub fn size(&self) -> u64 {
        self.rules.size
    }

    /// Whether the export can be told to make its writes durable. One that cannot holds nothing back.
    pub fn flushes(&self) -> bool {
        self.rules.flags.contains(nbd::TransmissionFlags::SEND_FLUSH)
    }
}

struct Made {
    rules: Rules,
    early: Vec<u8>,
}

impl Made {
    fn on(self, socket: OwnedFd) -> Connection {
        Connection { socket, rules: self.rules, early: self.early }
    }
}

fn shake_hands(mut from: impl Read, mut to: impl Write, wishes: Wishes, address: &str) -> Result<Made, ConnectError> {
    let socket = |source| ConnectError::Socket { address: address.into(), source };
    let refused = |source| ConnectError::Handshake { address: address.into(), source };
    let mut handshake = ClientHandshake::new(wishes, HandshakeLimits::CLIENT).map_err(refused)?;
    let (mut received, mut out, mut chunk) = (Vec::new(), Vec::new(), [0; 4096]);
    loop {
        let mut rest = &received[..];
        let step = handshake.receive(&mut rest, &mut out);
        let taken = received.len() - rest.len();
        received.drain(..taken);
        to.write_all(&out).map_err(socket)?;
        out.clear();
        match step.map_err(refused)? {
            ClientStep::Continue => {}
            ClientStep::Transmission(agreed) => {
                return Ok(Made { rules: Rules::of_client(&agreed), early: received });
            }
            ClientStep::NeedMore(_) => match undisturbed(|| from.read(&mut chunk)).map_err(socket)? {
                0 => return Err(ConnectError::Closed(address.into())),
                got => received.extend_from_slice(&chunk[..got]),
            },
            ClientStep::StartTls | ClientStep::Described(_) | ClientStep::Listed(_) => {
                unreachable!("neither TLS nor a list was wished for")
            }
        }
    }
}

/// Tries again when a signal came. A ring on this thread interrupts waits in system calls to get its own work done.
fn undisturbed<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            done => return done,
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
