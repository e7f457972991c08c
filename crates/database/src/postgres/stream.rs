//! The socket of a connection: plain, or encrypted as the address says.

use super::address::{Address, Encryption, Host};
use bytes::BytesMut;
use cipher::Trust;
use postgres_protocol::message::frontend;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Timeout of a connection attempt.
const CONNECTING: Duration = Duration::from_secs(10);
/// A server is considered lost after this much silence, which is more than a statement may take
/// ([`super::TIMEOUT_MS`]).
const SILENCE: Duration = Duration::from_secs(150);

/// The bytes of a connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    /// Connects, and encrypts TCP connections as the address says. As in libpq, Unix sockets are
    /// never encrypted.
    pub fn open(address: &Address) -> io::Result<Stream> {
        match &address.host {
            Host::Folder(folder) => {
                let path = folder.join(format!(".s.PGSQL.{}", address.port));
                let stream = UnixStream::connect(&path)
                    .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
                stream.set_read_timeout(Some(SILENCE))?;
                Ok(Stream::Unix(stream))
            }
            Host::Tcp(host) => {
                let stream = connect(host, address.port)?;
                match &address.encryption {
                    Encryption::Never => Ok(Stream::Tcp(stream)),
                    Encryption::Preferred => encrypt(stream, host, &Trust::Anybody, false),
                    Encryption::Required(trust) => encrypt(stream, host, trust, true),
                }
            }
        }
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let received = match self {
                Stream::Tcp(stream) => stream.read(into),
                Stream::Unix(stream) => stream.read(into),
                Stream::Encrypted(stream) => stream.read(into),
            };
            match received {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => return received,
            }
        }
    }

    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Encrypted(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for place in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, CONNECTING) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(SILENCE))?;
                return Ok(stream);
            }
            Err(error) => last = io::Error::new(error.kind(), format!("{place}: {error}")),
        }
    }
    Err(last)
}

/// Asks the server for encryption; if it does not support it, that is an error only if `required`.
fn encrypt(mut stream: TcpStream, host: &str, trust: &Trust, required: bool) -> io::Result<Stream> {
    let mut asked = BytesMut::new();
    frontend::ssl_request(&mut asked);
    stream.write_all(&asked)?;
    // Reads exactly one byte: plain text injected after it would otherwise be taken for the
    // server's.
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    match answer[0] {
        b'S' => {}
        b'N' if !required => return Ok(Stream::Tcp(stream)),
        b'N' => return Err(io::Error::other("the server does not encrypt connections, and sslmode wants it")),
        _ => return Err(io::Error::other("the server does not know what encryption is; say sslmode=disable")),
    }
    let config = trust.config().map_err(io::Error::other)?.with_no_client_auth();
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| io::Error::other(format!("{host}: is no name that a certificate can have")))?;
    let session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(session, stream);
    // Completes the handshake now, so that an untrusted certificate is reported before anything is
    // sent.
    while stream.conn.is_handshaking() {
        stream
            .conn
            .complete_io(&mut stream.sock)
            .map_err(|error| io::Error::new(error.kind(), format!("TLS: {error}")))?;
    }
    Ok(Stream::Encrypted(Box::new(stream)))
}
