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
use uring::socket::listen_unix;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket at this path, for its owner only. A stale one, where nobody answers, is
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

/// What the kernel takes as a Unix socket's path, less the zero byte behind it.
const PATH_BYTES_MAX: usize = 107;

/// Why a listener could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The text is neither.
    #[error("--listen {0:?}: write HOST:PORT (such as 127.0.0.1:10809) or unix:PATH")]
    Syntax(String),
    /// Somebody answers there.
    #[error("--listen unix:{}: another server answers there", .0.display())]
    InUse(PathBuf),
    /// What is there is not ours to remove.
    #[error("--listen unix:{}: there is something that is no socket; choose another path", .0.display())]
    Occupied(PathBuf),
    /// The path is longer than a socket's may be.
    #[error("--listen unix:{}: a socket's path has at most {PATH_BYTES_MAX} bytes; choose a shorter one", .0.display())]
    TooLong(PathBuf),
    /// Everybody on the way could read and change what goes there.
    #[error(
        "--listen {0}: is not loopback, so TLS is required there: give certificates or keys (--tls-certificates \
         DIR, --tls-psk FILE, or [tls] in the configuration), or allow clear text with --tls off"
    )]
    ClearText(String),
    /// The same of NFS, which is never encrypted.
    #[error("--nfs {0}: is not loopback, and NFS is not encrypted; allow clear text with --tls off")]
    ClearNfs(String),
    /// The system refused.
    #[error("--nfs {0}: {1}")]
    Nfs(String, std::io::Error),
    /// There are no certificates and no keys.
    #[error(
        "--tls {0}: there are no certificates and no keys; give --tls-certificates DIR, --tls-psk FILE, or [tls] in the \
         configuration"
    )]
    NoCertificates(&'static str),
    /// What was handed over is no listening socket.
    #[error("LISTEN_FDS: descriptor {0} is no listening socket of TCP or Unix")]
    Inherited(usize),
    /// The system refused.
    #[error("--listen {0}: {1}")]
    System(String, std::io::Error),
}

impl ListenError {
    /// The same of an address for NFS.
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

/// Whether clients there may or must encrypt: as asked for, or required where others are on the
/// way.
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
    /// A Unix socket's path, removed at the end if the socket is ours.
    path: Option<PathBuf>,
    is_unix: bool,
    /// Whoever connects is on this machine.
    is_local: bool,
}

impl Listener {
    /// Its address; none of a Unix socket.
    pub(crate) fn socket_address(&self) -> Option<SocketAddr> {
        self.address.parse().ok()
    }
}

impl Listen {
    /// Whether clients there may or must encrypt, found out without listening.
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
    let path = Some(path.clone());
    Ok(Listener { address, socket: Some(listener.into()), path, is_unix: true, is_local: true })
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
    Listener { address: address.to_string(), socket: Some(socket), path: None, is_unix: false, is_local }
}

/// How long a server may take to greet a new connection until it counts as alive. An NBD server
/// speaks first.
const GREETING_TIME: Duration = Duration::from_secs(2);

/// How often somebody who hangs up without a word is called again. A dead server's socket hangs up
/// when the kernel closes it, so the next call finds nobody; a living one that is full hangs up
/// every time.
const CALLS: u32 = 100;

/// Whether a server is there, as far as calling it tells.
///
/// A server that was killed accepts for a moment still: its ring holds the listening socket until
/// the kernel has taken the ring apart. What is connected then is closed without a word, while a
/// living server greets, and one that only keeps silent is left alone.
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

/// A connection of either kind.
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
    /// The socket, for whoever accepts; the listener keeps its name.
    pub(crate) fn take_socket(&mut self) -> OwnedFd {
        self.socket.take().expect("a listener's socket is taken once")
    }

    /// One that whoever started this process has made; `number` counts them, for the message.
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
        Ok(Listener { address, socket: Some(unix.into()), path: None, is_unix: true, is_local: true })
    }

    /// Whether clients of this listener may or must encrypt.
    pub(crate) fn tls_mode(&self, asked: Option<TlsMode>, certificates: bool) -> Result<TlsMode, ListenError> {
        tls_mode(&self.address, self.is_local, asked, certificates)
    }

    /// Makes a new connection ready, and tells whom it is from: small replies must not wait for
    /// more.
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

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
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
        // A socket whose server is gone without removing it.
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
