//! Bandwidth limits of connections on the wall clock: one connection and several. For NFS see
//! `nfs/link.rs`.

use crate::support::{BACKENDS, LUN_BYTES, Server, limits};
use block::BytesPerSecond;
use nbd::{Command, NbdRequest};
use qos::CreditLimit;
use server::{Front, LinkSettings};
use uring::Clock;

const PIECE: u64 = 256 << 10;
/// Seconds for which unused bandwidth may be used later.
const LATE: f64 = 0.01;

fn start(link: LinkSettings) -> Server {
    let front = Front { link, ..Front::default() };
    Server::start_behind(BACKENDS[0], limits(), front)
}

/// Reads that many pieces on each of several connections, all requested at once; returns the
/// seconds it took.
fn seconds(server: &Server, connections: usize, pieces: u64) -> f64 {
    let mut clients: Vec<_> = (0..connections).map(|_| server.connect()).collect();
    let clock = Clock::new();
    let began = clock.now();
    for client in &mut clients {
        for piece in 0..pieces {
            client.ask(NbdRequest::new(piece, Command::Read, piece * PIECE % LUN_BYTES, PIECE), &[]);
        }
    }
    for client in &mut clients {
        for _ in 0..pieces {
            let (_, read) = client.answer(|cookie| (cookie * PIECE % LUN_BYTES, PIECE as u32)).expect("an answer");
            assert_eq!(read.map(|bytes| bytes.len()), Ok(PIECE as usize));
        }
    }
    clock.now().since(began).as_secs_f64()
}

fn shown(server: &mut Server) -> Vec<serde_json::Value> {
    let answer = server.control.execute("network limit show -output json").unwrap();
    serde_json::from_str::<serde_json::Value>(&answer).unwrap()["records"].as_array().unwrap().clone()
}

/// A connection waits for its own limit, however much it requests at once; two connections both
/// have their full limit. The first request passes in any case.
#[test]
fn each_connection_has_its_own_limit() {
    const RATE: u64 = 8 << 20;
    let mut server = start(LinkSettings { flow: Some(BytesPerSecond(RATE)), whole: None });
    let pieces = 16;
    let least = ((pieces - 1) * PIECE) as f64 / RATE as f64 - LATE;
    for connections in [1, 2] {
        let took = seconds(&server, connections, pieces);
        assert!(took >= least, "{connections}: {took} s, {least} s at least");
    }
    let [ref row] = shown(&mut server)[..] else { panic!("one limit") };
    assert_eq!((&row["scope"], &row["rate"]["bytes_per_second"]), (&"connection".into(), &RATE.into()), "{row}");
    assert!(row["waits"].as_u64() >= Some(3), "{row}");
    server.until_empty();
}

/// Time that requests wait for the link counts as time in the network of their LUN: for sixteen
/// requests at once, all the time for which the connection was blocked.
#[test]
fn waiting_for_the_link_is_time_in_the_network() {
    const RATE: u64 = 8 << 20;
    let server = start(LinkSettings { flow: Some(BytesPerSecond(RATE)), whole: None });
    let pieces = 16;
    seconds(&server, 1, pieces);
    let account = server.control.account().unwrap();
    let waited: f64 = account.replies.iter().map(|(_, took)| took.as_secs_f64()).sum();
    // The tolerance is no wait: the first 10 ms, and when the thread is late.
    let least = 0.5 * ((pieces - 1) * PIECE) as f64 / RATE as f64;
    assert!(waited >= least, "{waited} s, {least} s at least");
    server.until_empty();
}

/// All connections share the limit of all: first as much as credit allows, then the sustained rate.
/// Without a limit nothing waits.
#[test]
fn all_connections_share_one_limit_with_credit() {
    let whole = CreditLimit { base: 4 << 20, peak: 64 << 20, credit: 4 << 20 };
    let mut server = start(LinkSettings { flow: None, whole: Some(whole) });
    // Half of the 8 MiB is covered by credit; the rest takes a second, except the last request.
    let took = seconds(&server, 4, 8);
    let least = (8 * 4 * PIECE - whole.credit - PIECE) as f64 / whole.base as f64 - LATE;
    assert!(took >= least, "{took} s, {least} s at least");
    let [ref row] = shown(&mut server)[..] else { panic!("one limit") };
    assert_eq!((&row["scope"], &row["credit"]), (&"server".into(), &whole.credit.into()), "{row}");
    assert!(row["credit_left"].as_u64() < Some(whole.credit) && row["waits"].as_u64() > Some(0), "{row}");
    server.until_empty();
    let mut free = start(LinkSettings::default());
    seconds(&free, 2, 16);
    assert!(shown(&mut free).is_empty());
}
