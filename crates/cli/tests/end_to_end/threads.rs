//! Where io_uring is forbidden: the same server on threads.

use crate::requires::{client, requires};
use crate::running::{succeed, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server, pattern, read};

/// With `--no-io-uring` the server says that it works with threads, and serves the same: a copy
/// there and back, zeroes, discards and flushes.
#[test]
fn the_server_works_with_threads_and_says_so() {
    requires!("nbdcopy", "qemu-io");
    let scratch = Scratch::new();
    let server = Server::start_with(&scratch, &["--no-io-uring"]);
    assert!(server.backend.starts_with("threads"), "{}", server.backend);
    server.make_lun("16MiB");
    let (there, back) = (scratch.join("there"), scratch.join("back"));
    std::fs::write(&there, pattern(16 << 20)).unwrap();
    succeed(client("nbdcopy").args(["--connections=2", "--flush"]).arg(&there).arg(server.uri(LUN)));
    succeed(client("nbdcopy").arg(server.tcp_uri(LUN)).arg(&back));
    assert!(read(&there) == read(&back), "what came back is not what went there");
    let commands = ["-c", "write -z 0 64k", "-c", "discard 64k 64k", "-c", "flush", "-c", "read -P 0 0 64k"];
    let said = succeed_with(client("qemu-io"), [&["-f", "raw"], &commands[..], &[&server.uri(LUN)]].concat());
    assert!(!said.contains("verification failed"), "{said}");
}
