//! The interface to a service manager such as systemd: listening sockets that it passes
//! (`LISTEN_FDS`), and the socket for status reports (`NOTIFY_SOCKET`, see `sd_notify(3)`).

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Reports that the server is ready.
pub fn ready() {
    tell("READY=1");
}

/// Reports that the server is about to stop.
pub fn stopping() {
    tell("STOPPING=1");
}

/// Errors are ignored: the server does not depend on a listener.
fn tell(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let name = name.to_string_lossy();
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&*name),
    };
    let told = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = told {
        tracing::warn!(%error, "NOTIFY_SOCKET");
    }
}
