//! A relay between a client and a server over TCP, which cuts the first connection that carried
//! enough: a loss at a byte and not at a time.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::spawn;

/// Listens on a port that the system chose, until the test ends.
pub struct Relay {
    /// `127.0.0.1:PORT`
    pub address: String,
}

impl Relay {
    /// Passes everything on to `server`, and cuts the first connection over which it answered more
    /// than `bytes`.
    pub fn start(server: &str, bytes: usize) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address").to_string();
        let (server, cut) = (server.to_owned(), Arc::new(AtomicBool::new(false)));
        spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&server) else { return };
                let (asking, asked) = (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
                spawn(move || pass(asking, asked, usize::MAX, &AtomicBool::new(true)));
                let cut = Arc::clone(&cut);
                spawn(move || pass(server, client, bytes, &cut));
            }
        });
        Relay { address }
    }
}

/// Passes bytes on until one side closes, or after `bytes` where `cut` is not set yet; then both
/// sides are closed.
fn pass(mut from: TcpStream, mut to: TcpStream, bytes: usize, cut: &AtomicBool) {
    let (mut block, mut passed) = (vec![0; 65536], 0);
    while let Ok(read @ 1..) = from.read(&mut block) {
        passed += read;
        if passed > bytes && !cut.swap(true, Ordering::Relaxed) || to.write_all(&block[..read]).is_err() {
            break;
        }
    }
    [&from, &to].into_iter().for_each(|side| drop(side.shutdown(Shutdown::Both)));
}
