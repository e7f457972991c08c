//! No file descriptor is left. This needs a process of its own with few of them, so the test runs
//! itself again.

use crate::support::{BACKENDS, Server, is_closed, limits};
use block::Span;
use server::ServerLimits;
use std::fs::File;
use std::io::Read;
use std::process::Command;

/// Set in the process that may open few files.
const FEW: &str = "SEAWALL_FEW_DESCRIPTORS";

#[test]
fn without_descriptors_the_shard_sleeps_and_accepts_again_when_there_are_some() {
    // The test runs itself again, in a process of its own that may open few files.
    if std::env::var_os(FEW).is_some() {
        return in_a_process_with_few_descriptors();
    }
    let me = std::env::current_exe().unwrap();
    let script = "ulimit -n 100 && exec \"$0\" --exact --nocapture \
                  descriptors::without_descriptors_the_shard_sleeps_and_accepts_again_when_there_are_some";
    let output = Command::new("sh").args(["-c", script]).arg(me).env(FEW, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn in_a_process_with_few_descriptors() {
    for backend in BACKENDS {
        let limits = ServerLimits { handshake_time: Span::from_millis(1200), ..limits() };
        let server = Server::start(backend, limits);
        let mut silent = server.raw();
        server.until("accepted", |account| account.connections == 1);
        let mut fillers: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        assert!(fillers.len() < 100);
        fillers.pop();
        // This end takes the last one, so there is none left for the server's end.
        let mut waiting = server.raw();
        server.account();
        assert!(is_closed(&mut silent), "over a second later");
        let turns = server.account().turns;
        assert!(turns < 60, "{turns} turns");
        drop(fillers);
        let mut greeting = [0; 18];
        waiting.read_exact(&mut greeting).unwrap();
        assert_eq!(greeting[..8], *b"NBDMAGIC");
        drop((silent, waiting));
        server.until_empty();
    }
}
