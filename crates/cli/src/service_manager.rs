//! What is reported to a service manager such as systemd, and what it hands over: listening sockets
//! (`LISTEN_FDS`), and where to say how things stand (`NOTIFY_SOCKET`, see `sd_notify(3)`).

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Says that the server is ready to serve.
pub fn ready() {
    tell("READY=1");
}

/// Says that the server is about to end.
pub fn stopping() {
    tell("STOPPING=1");
}

/// Nobody may be listening, and a server is none the worse for it.
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
