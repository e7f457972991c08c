//! Connecting to a server, blocking, before the ring takes over the connection.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Timeout of each step before the first request.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Connects to the first of the host's addresses that answers; `host` ends with its port.
pub(crate) fn call(host: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "the host has no address");
    for address in host.to_socket_addrs()? {
        match retry_interrupted(|| TcpStream::connect_timeout(&address, PATIENCE)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Repeats a call that a signal interrupted. A ring on this thread interrupts system calls to get
/// its own work done.
pub(crate) fn retry_interrupted<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
