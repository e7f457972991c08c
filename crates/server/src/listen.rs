//! Where the server listens: TCP addresses and Unix sockets.

use nbd::TlsMode;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use uring::socket::{SocketFile, listen_unix};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket at this path, for its owner only. A stale socket that nobody serves is
    /// replaced.
    Unix(PathBuf),
    /// A TCP address, `HOST:PORT`.
    Tcp(String),
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Listen::Unix(path) => write!(f, "unix:{}", path.display()),
            Listen::Tcp(address) => f.write_str(address),
        }
    }
}

/// Length of a Unix socket's path that the kernel accepts, without the terminating zero byte.
const PATH_BYTES_MAX: usize = 107;

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The text is neither of them.
    #[error("--listen {0:?}: write HOST:PORT (such as 127.0.0.1:10809) or unix:PATH")]
    Syntax(String),
    /// Another server listens there.
    #[error("--listen unix:{}: another server answers there", .0.display())]
    InUse(PathBuf),
    /// The path is taken by something that is not a socket.
    #[error("--listen unix:{}: there is something that is no socket; choose another path", .0.display())]
    Occupied(PathBuf),
    /// The path is too long for a socket.
    #[error("--listen unix:{}: a socket's path has at most {PATH_BYTES_MAX} bytes; choose a shorter one", .0.display())]
    TooLong(PathBuf),
    /// Not loopback: others on the network could read and change the data.
    #[error(
        "--listen {0}: is not loopback, so TLS is required there: give certificates or keys (--tls-certificates \
         DIR, --tls-psk FILE, or [tls] in the configuration), or allow clear text with --tls off"
    )]
    ClearText(String),
    /// The same for NFS, which is never encrypted.
    #[error("--nfs {0}: is not loopback, and NFS is not encrypted; allow clear text with --tls off")]
    ClearNfs(String),
    /// The system refused to listen for NFS.
    #[error("--nfs {0}: {1}")]
    Nfs(String, std::io::Error),
    /// TLS was asked for without certificates or keys.
    #[error(
        "--tls {0}: there are no certificates and no keys; give --tls-certificates DIR, --tls-psk FILE, or [tls] in the \
         configuration"
    )]
    NoCertificates(&'static str),
    /// An inherited descriptor is not a listening socket.
    #[error("LISTEN_FDS: descriptor {0} is no listening socket of TCP or Unix")]
    Inherited(usize),
    /// The system refused.
    #[error("--listen {0}: {1}")]
    System(String, std::io::Error),
}

impl ListenError {
    /// Converts the error for an address of NFS.
    pub(crate) fn of_nfs(self) -> ListenError {
        match self {
            ListenError::ClearText(address) => ListenError::ClearNfs(address),
            ListenError::System(address, error) => ListenError::Nfs(address, error),
            other => other,
        }
    }
}

impl FromStr for Listen {
    type Err = ListenError;

    fn from_str(text: &str) -> Result<Listen, ListenError> {
        match text.strip_prefix("unix:").map(PathBuf::from) {
            Some(path) if path.as_os_str().len() > PATH_BYTES_MAX => return Err(ListenError::TooLong(path)),
            Some(path) if !path.as_os_str().is_empty() => return Ok(Listen::Unix(path)),
            _ => {}
        }
        let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
        match port {
            Some(Ok(_)) => Ok(Listen::Tcp(text.into())),
            _ => Err(ListenError::Syntax(text.into())),
        }
    }
}

/// The TLS mode of an address: as asked for, or required if clients are not on this machine.
fn tls_mode(address: &str, is_local: bool, asked: Option<TlsMode>, certificates: bool) -> Result<TlsMode, ListenError> {
    match (asked, certificates) {
        (Some(TlsMode::Off), _) => Ok(TlsMode::Off),
        (Some(mode), true) => Ok(mode),
        (Some(TlsMode::Optional), false) => Err(ListenError::NoCertificates("optional")),
        (Some(TlsMode::Required), false) => Err(ListenError::NoCertificates("required")),
        (None, true) if is_local => Ok(TlsMode::Optional),
        (None, true) => Ok(TlsMode::Required),
        (None, false) if is_local => Ok(TlsMode::Off),
        (None, false) => Err(ListenError::ClearText(address.into())),
    }
}

/// An open listener.
#[derive(Debug)]
pub(crate) struct Listener {
    /// As a client would write it, with the port that the system chose.
    pub address: String,
    socket: Option<OwnedFd>,
    /// The file of a Unix socket that we made; it goes with the listener.
    _file: Option<SocketFile>,
    is_unix: bool,
    /// Whether all clients are on this machine.
    is_local: bool,
}

impl Listener {
    /// Its TCP address; `None` for a Unix socket.
    pub(crate) fn socket_address(&self) -> Option<SocketAddr> {
        self.address.parse().ok()
    }
}

impl Listen {
    /// The TLS mode of the address, found without listening.
    pub(crate) fn tls_mode(&self, asked: Option<TlsMode>, certificates: bool) -> Result<TlsMode, ListenError> {
        let is_local = match self {
            Listen::Unix(_) => true,
            Listen::Tcp(address) => {
                let error = |error| ListenError::System(address.clone(), error);
                address.to_socket_addrs().map_err(error)?.all(|one| one.ip().to_canonical().is_loopback())
            }
        };
        tls_mode(&self.to_string(), is_local, asked, certificates)
    }

    pub(crate) fn open(&self) -> Result<Listener, ListenError> {
        match self {
            Listen::Unix(path) => open_unix(path),
            Listen::Tcp(address) => open_tcp(address),
        }
    }
}

fn open_unix(path: &PathBuf) -> Result<Listener, ListenError> {
    let system = |error| ListenError::System(format!("unix:{}", path.display()), error);
    if path.as_os_str().len() > PATH_BYTES_MAX {
        return Err(ListenError::TooLong(path.clone()));
    }
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => return Err(ListenError::Occupied(path.clone())),
        Ok(_) if is_served(|| UnixStream::connect(path)) => return Err(ListenError::InUse(path.clone())),
        Ok(_) => std::fs::remove_file(path).map_err(system)?,
        Err(_) => {}
    }
    let listener = listen_unix(path, 0o600).map_err(system)?;
    let address = format!("unix:{}", path.display());
    let file = Some(SocketFile::of(path).map_err(system)?);
    Ok(Listener { address, socket: Some(listener.into()), _file: file, is_unix: true, is_local: true })
}

fn open_tcp(address: &str) -> Result<Listener, ListenError> {
    let system = |error| ListenError::System(address.into(), error);
    let listener = match TcpListener::bind(address) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && !is_served(|| TcpStream::connect(address)) => {
            TcpListener::bind(address)
        }
        bound => bound,
    };
    let listener = listener.map_err(system)?;
    let address = listener.local_addr().map_err(system)?;
    Ok(tcp_listener(address, listener.into()))
}

fn tcp_listener(address: SocketAddr, socket: OwnedFd) -> Listener {
    let is_local = address.ip().to_canonical().is_loopback();
    Listener { address: address.to_string(), socket: Some(socket), _file: None, is_unix: false, is_local }
}

/// How long a server may take to greet a new connection before it counts as alive. An NBD server
/// speaks first.
const GREETING_TIME: Duration = Duration::from_secs(2);

/// How often to try a server that closes connections without a greeting. The socket of a dead
/// server refuses connections once the kernel has closed it, so a later attempt finds nobody. A
/// live server that is full closes each of them.
const CALLS: u32 = 100;

/// Whether a server is listening, as far as connecting to it shows.
///
/// A server that was killed may still accept for a moment, because its ring holds the listening
/// socket until the kernel has torn the ring down. Such connections are closed without a greeting,
/// while a live server sends one. A server that is silent but keeps the connection counts as alive.
fn is_served<P: Peer>(connect: impl Fn() -> std::io::Result<P>) -> bool {
    for _ in 0..CALLS {
        let Ok(mut connection) = connect() else { return false };
        if connection.wait_at_most(GREETING_TIME).is_err() {
            return true;
        }
        match connection.read(&mut [0; 1]) {
            Ok(1..) => return true,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return true,
            Ok(_) | Err(_) => {}
        }
    }
    true
}

/// A stream of either kind.
trait Peer: Read {
    fn wait_at_most(&self, time: Duration) -> std::io::Result<()>;
}

impl Peer for UnixStream {
    fn wait_at_most(&self, time: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(time))
    }
}

impl Peer for TcpStream {
    fn wait_at_most(&self, time: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(time))
    }
}

impl Listener {
    /// Takes the socket out, for accepting; the listener keeps its address.
    pub(crate) fn take_socket(&mut self) -> OwnedFd {
        self.socket.take().expect("a listener's socket is taken once")
    }

    /// Wraps an inherited socket; `number` is its descriptor, for messages.
    pub(crate) fn inherited(number: usize, socket: OwnedFd) -> Result<Listener, ListenError> {
        let error = |_| ListenError::Inherited(number);
        let socket = match TcpListener::from(socket) {
            tcp if tcp.local_addr().is_ok() => {
                return Ok(tcp_listener(tcp.local_addr().map_err(error)?, tcp.into()));
            }
            other => OwnedFd::from(other),
        };
        let unix = UnixListener::from(socket);
        let bound = unix.local_addr().map_err(error)?;
        let address = bound.as_pathname().map_or("unix:".into(), |path| format!("unix:{}", path.display()));
        Ok(Listener { address, socket: Some(unix.into()), _file: None, is_unix: true, is_local: true })
    }

    /// The TLS mode of this listener.
    pub(crate) fn tls_mode(&self, asked: Option<TlsMode>, certificates: bool) -> Result<TlsMode, ListenError> {
        tls_mode(&self.address, self.is_local, asked, certificates)
    }

    /// Prepares a new connection, and returns the client's address. Nagle's algorithm is switched
    /// off, because small replies must not wait for more data.
    pub(crate) fn prepare(&self, socket: OwnedFd) -> std::io::Result<(OwnedFd, Option<IpAddr>)> {
        if self.is_unix {
            return Ok((socket, None));
        }
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        let address = stream.peer_addr()?.ip().to_canonical();
        Ok((stream.into(), Some(address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn addresses_are_told_from_paths_and_both_from_nonsense() {
        let parse = |text: &str| text.parse::<Listen>();
        assert_eq!(parse("unix:/run/s.sock").unwrap(), Listen::Unix("/run/s.sock".into()));
        assert_eq!(parse("127.0.0.1:10809").unwrap(), Listen::Tcp("127.0.0.1:10809".into()));
        assert_eq!(parse("[::1]:0").unwrap(), Listen::Tcp("[::1]:0".into()));
        let path = |length: usize| format!("unix:{}", "x".repeat(length));
        assert!(parse(&path(107)).is_ok() && matches!(parse(&path(108)), Err(ListenError::TooLong(_))));
        for wrong in ["", "unix:", "10809", ":10809", "host:port", "host:70000"] {
            assert!(matches!(parse(wrong), Err(ListenError::Syntax(_))), "{wrong}");
        }
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        // A socket whose server has ended without removing it.
        drop(listen_unix(&path, 0o600).unwrap());
        let live = Listen::Unix(path.clone()).open().unwrap();
        assert!(matches!(Listen::Unix(path.clone()).open(), Err(ListenError::InUse(_))));
        drop(live);
        assert!(!path.exists(), "it goes with its listener");
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("thesis.txt");
        std::fs::write(&path, "years of work").unwrap();
        assert!(matches!(Listen::Unix(path.clone()).open(), Err(ListenError::Occupied(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"years of work");
    }

    #[test]
    fn who_hangs_up_once_is_dead_and_who_greets_or_keeps_hanging_up_is_not() {
        let calls = std::cell::Cell::new(0);
        let dead = || {
            calls.set(calls.get() + 1);
            if calls.get() == 1 { Ok(UnixStream::pair()?.0) } else { Err(ErrorKind::ConnectionRefused.into()) }
        };
        assert!(!is_served(dead));
        assert!(is_served(|| Ok(UnixStream::pair()?.0)), "it is full");
        let (here, mut there) = UnixStream::pair().unwrap();
        there.write_all(b"NBDMAGIC").unwrap();
        assert!(is_served(|| here.try_clone()));
    }
}
