//! Our NFS client against a server that answers in every way that the protocol allows, and in some
//! that it does not.

mod nfs_server;
mod support;

use block::{Bytes, Completion, Fault, Op, OpKind, Target};
use nfs::Status;
use nfs_server::{Manners, Server};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use storage::{Consent, How, Intent, LossCounts, Place};
use support::{BACKENDS, Client};
use uring::{Choice, Io, IoSettings};

const SIZE: usize = 4 << 20;

type Nfs = Client<Box<dyn Target>>;

fn open(backend: Choice, uri: &str) -> (Nfs, LossCounts) {
    let io = Io::open(&IoSettings { backend, slab: Bytes::mib(32), ..IoSettings::default() }).unwrap();
    let consent = Consent::new(&[], &[]);
    let place = Place::parse(uri).unwrap();
    let opened = storage::open(&io, &place, Intent::Write(&consent), How::default());
    let opened = opened.unwrap_or_else(|error| panic!("{uri}: {error}"));
    (Client::new(io, opened.target), opened.losses)
}

fn pattern() -> Vec<u8> {
    (0..SIZE).map(|at| (at / 511 % 251) as u8).collect()
}

/// Runs one request to its end.
fn one(client: &mut Nfs, tag: u64) -> Result<Vec<u8>, Fault> {
    client.all(1).remove(&tag).expect("it is this one that ended")
}

fn flush(client: &mut Nfs) -> Result<Vec<u8>, Fault> {
    let tag = client.submit(0, 0, Op::Flush).unwrap();
    one(client, tag)
}

/// Reads and writes of any length at any place, some dozen at a time, over one connection and
/// sixteen, done whole and in part, with replies in one fragment and in many: the file always
/// matches the model.
#[test]
fn random_requests_agree_with_a_model_however_they_are_answered() {
    let odd = [
        Manners::default(),
        Manners { short: Some(3001), ..Manners::default() },
        Manners { fragments: Some(997), ..Manners::default() },
        Manners { short: Some(70_000), fragments: Some(40_000), jukebox: 3, durable: true, ..Manners::default() },
    ];
    for (seed, (backend, manners)) in
        BACKENDS.into_iter().flat_map(|backend| odd.clone().map(|m| (backend, m))).enumerate()
    {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
        let (mut model, server) = (pattern(), Server::start(pattern()));
        server.state().manners = manners;
        let connections = if seed % 2 == 0 { 1 } else { 16 };
        let (mut client, losses) = open(backend, &server.uri(&format!("?nconnect={connections}&rsize=128KiB")));
        // The check before writing used a connection of its own.
        server.state().connections.clear();
        for round in 0..12 {
            // Requests of one round do not overlap, since NFS has no order among requests.
            let mut reads = BTreeMap::new();
            let mut at = 0;
            let mut count = 0;
            while at < SIZE - 300_000 {
                let len = 1 + (chance.next_u32() % if round % 3 == 0 { 300_000 } else { 9000 }) as usize;
                if chance.next_u32().is_multiple_of(2) {
                    let bytes: Vec<u8> = (0..len).map(|at| (at as u8).wrapping_add(round)).collect();
                    client.write(at as u64, &bytes);
                    model[at..at + len].copy_from_slice(&bytes);
                } else {
                    reads.insert(client.read(at as u64, len as u64), (at, len));
                }
                at += len + (chance.next_u32() % 200_000) as usize;
                count += 1;
            }
            let ended = client.all(count);
            for (tag, result) in ended {
                let bytes = result.unwrap_or_else(|fault| panic!("seed {seed} round {round}: {fault:?}"));
                if let Some((at, len)) = reads.get(&tag) {
                    assert!(bytes == model[*at..at + len], "seed {seed} round {round}: {len} bytes at {at}");
                }
            }
        }
        assert_eq!(flush(&mut client), Ok(Vec::new()));
        assert!(server.state().safe == model, "seed {seed}");
        assert_eq!(server.state().connections.len(), connections, "requests go over all connections");
        assert_eq!(losses.sum().lost, 0);
        client.close();
    }
}

/// What no COMMIT covered is lost when the server restarts. The next flush reports it once, and it
/// is counted. What was covered is still there.
#[test]
fn writes_that_a_server_forgot_are_told_by_the_next_flush() {
    for backend in BACKENDS {
        let server = Server::start(pattern());
        let (mut client, losses) = open(backend, &server.uri("?reconnect=60"));
        for at in 0..5 {
            let tag = client.write(at * 4096, &[7; 4096]);
            assert_eq!(one(&mut client, tag), Ok(Vec::new()));
        }
        assert_eq!(flush(&mut client), Ok(Vec::new()));
        for at in 5..8 {
            let tag = client.write(at * 4096, &[7; 4096]);
            assert_eq!(one(&mut client, tag), Ok(Vec::new()));
        }
        server.die();
        assert_eq!(flush(&mut client), Err(Fault::Gone));
        assert_eq!((losses.sum().not_flushed, losses.sum().regained), (3, 1));
        // The flush was in flight when the connection was lost, or found that it was lost: it was
        // sent again.
        let tag = client.read(4 * 4096, 8192);
        let bytes = one(&mut client, tag).unwrap();
        assert!(bytes[..4096] == [7; 4096] && bytes[4096..] == pattern()[5 * 4096..6 * 4096]);
        // Everything is durable, so there is nothing to ask for.
        let commits = server.state().calls[2];
        assert_eq!((flush(&mut client), server.state().calls[2]), (Ok(Vec::new()), commits));
        let tag = client.write(0, &[9; 512]);
        assert_eq!(one(&mut client, tag), Ok(Vec::new()));
        assert_eq!((flush(&mut client), losses.sum().not_flushed), (Ok(Vec::new()), 3));
        client.close();
    }
}

/// Connections that end in the middle: everything in flight is sent again and succeeds, and each
/// request is counted.
#[test]
fn a_lost_connection_is_made_again_and_everything_is_asked_again() {
    for backend in BACKENDS {
        let server = Server::start(pattern());
        server.state().manners.patience = Some(10);
        let (mut client, losses) = open(backend, &server.uri("?nconnect=4&reconnect=60"));
        let reads: Vec<u64> = (0..40).map(|at| client.read(at * 8192, 8192)).collect();
        let writes: Vec<u64> = (0..20).map(|at| client.write((100 + at) * 8192, &[at as u8; 8192])).collect();
        client.hand_over();
        // Until then, every re-established connection ends with its first call.
        while server.state().refused == 0 {
            std::thread::yield_now();
        }
        server.state().manners.patience = None;
        let ended = client.all(60);
        for (at, tag) in (0..).zip(&reads) {
            assert!(ended[tag] == Ok(pattern()[at * 8192..(at + 1) * 8192].to_vec()), "read {at}");
        }
        assert!(writes.iter().all(|tag| ended[tag] == Ok(Vec::new())));
        assert_eq!(flush(&mut client), Ok(Vec::new()));
        assert!(server.state().safe[119 * 8192..120 * 8192] == [19; 8192]);
        let losses = losses.sum();
        assert_eq!((losses.unknown.total(), losses.not_flushed), (0, 0));
        assert_eq!(losses.under_way.total(), losses.repeated.total() + losses.unsent);
        assert!(losses.lost >= 1 && losses.regained == losses.lost, "{losses:?}");
        client.close();
    }
}

/// If it may not search for the server, everything in flight fails, and so do later requests.
#[test]
fn a_lost_server_fails_what_it_had() {
    for backend in BACKENDS {
        let server = Server::start(pattern());
        let (mut client, losses) = open(backend, &server.uri("?nconnect=2"));
        let tag = client.write(0, &[1; 100]);
        assert_eq!(one(&mut client, tag), Ok(Vec::new()));
        server.state().manners.patience = Some(0);
        for at in 0..10 {
            client.read(at * 4096, 4096);
        }
        let ended = client.all(10);
        assert!(ended.values().all(|result| *result == Err(Fault::Gone)), "{ended:?}");
        let tag = client.read(0, 1);
        assert_eq!(one(&mut client, tag), Err(Fault::Gone));
        let losses = losses.sum();
        // Nobody can tell any more whether the write is durable. The requests of the connection
        // that was lost first were to be sent again on the other one.
        assert_eq!((losses.lost, losses.not_flushed), (2, 1));
        let settled = losses.unknown.total() + losses.repeated.total() + losses.unsent;
        assert!(settled == losses.under_way.total() && losses.unknown.of(OpKind::Read) >= 5, "{losses:?}");
        client.close();
    }
}

/// Replies that are invalid, belong to no call, or contain more than was asked for end the
/// connection: every request ends once, and no memory is lost.
#[test]
fn nonsense_ends_the_connection_and_nothing_else() {
    let word = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let success = |xid: u32| [xid, 1, 0, 0, 0, 0];
    let replies = [
        vec![],
        vec![1, 2, 3],
        word(&success(0)),
        word(&success(u32::MAX)),
        word(&[0, 0, 0, 0, 0, 0, 0]),
        vec![0xff; 1 << 17],
    ];
    for backend in BACKENDS {
        for nonsense in &replies {
            let server = Server::start(pattern());
            let (mut client, losses) = open(backend, &server.uri(""));
            server.state().manners.nonsense = Some(nonsense.clone());
            for at in 0..4 {
                client.read(at * 4096, 4096);
            }
            client.write(0, &[0; 4096]);
            let ended = client.all(5);
            assert!(ended.values().all(|result| *result == Err(Fault::Gone)), "{nonsense:?}: {ended:?}");
            assert_eq!(losses.sum().lost, 1);
            client.close();
        }
    }
}

/// A server's faults become those of a target. What NFS does not support is refused, and so is what
/// lies beyond the end.
#[test]
fn faults_are_told_and_what_cannot_be_is_refused() {
    let server = Server::start(pattern());
    let (mut client, _) = open(Choice::Auto, &server.uri(""));
    for (status, fault) in [
        (Status::NoSpace, Fault::NoSpace),
        (Status::Quota, Fault::NoSpace),
        (Status::Io, Fault::Io),
        (Status::Access, Fault::Denied),
        (Status::NotOwner, Fault::Denied),
        (Status::ReadOnly, Fault::ReadOnly),
        (Status::Stale, Fault::Gone),
    ] {
        server.state().manners.fault = Some(status);
        let tag = client.write(0, &[0; 4096]);
        assert_eq!(one(&mut client, tag), Err(fault), "{status}");
        let tag = client.read(0, 4096);
        assert_eq!(one(&mut client, tag), Err(fault), "{status}");
    }
    server.state().manners.fault = None;
    let traits = client.target.traits();
    assert_eq!((traits.size, traits.align, traits.read_only), (Bytes(SIZE as u64), 1, false));
    for (at, len, op, fault) in [
        (SIZE as u64 - 1, 2, Op::Read, Fault::Invalid),
        (u64::MAX, 2, Op::Read, Fault::Invalid),
        (0, 0, Op::Read, Fault::Invalid),
        (0, 4096, Op::Trim, Fault::Unsupported),
        (0, 4096, Op::Zero { no_hole: false, fast_only: false }, Fault::Unsupported),
        (0, 4096, Op::Cache, Fault::Unsupported),
    ] {
        let tag = client.submit(at, len, op).unwrap();
        assert_eq!(one(&mut client, tag), Err(fault));
    }
    // A file that was truncated: what is there is read, and its end is reported.
    server.state().data.truncate(10_000);
    let tag = client.read(8192, 4096);
    let mut ended: Vec<Completion> = Vec::new();
    while ended.is_empty() {
        client.wait();
        ended = client.poll();
    }
    let completion = ended.pop().unwrap();
    assert_eq!((completion.tag, completion.result, completion.failed_at()), (tag, Err(Fault::Io), Some(10_000)));
    let buf = completion.buf.unwrap();
    assert!(client.io.with(&buf, |bytes| bytes == &pattern()[8192..10_000]));
    client.io.give(buf);
    client.close();
}

/// A write that must be durable when it is answered is so without a COMMIT, and there is nothing to
/// flush.
#[test]
fn a_durable_write_needs_no_commit() {
    let server = Server::start(pattern());
    let (mut client, _) = open(Choice::Auto, &server.uri(""));
    server.state().calls = [0; 3];
    let op = client.data(&[5; 512]);
    let tag = client.submit_durable(3, 512, op);
    assert_eq!(one(&mut client, tag), Ok(Vec::new()));
    assert!(server.state().safe[3..515] == [5; 512]);
    assert_eq!((flush(&mut client), server.state().calls), (Ok(Vec::new()), [0, 1, 0]));
    client.close();
}

/// A write that asked to be durable and was answered otherwise fails, and a COMMIT is still due for
/// what the server has of it.
#[test]
fn a_promise_that_is_less_than_was_asked_for_is_an_error() {
    let server = Server::start(pattern());
    let (mut client, losses) = open(Choice::Auto, &server.uri(""));
    server.state().manners.forgetful = true;
    let op = client.data(&[5; 512]);
    client.submit_durable(0, 512, op);
    let (result, why) = client.ended();
    assert_eq!(result, Err(Fault::Io));
    assert_eq!(
        why,
        "the server broke the protocol: a WRITE that asked for FILE_SYNC was answered UNSTABLE, so it is not durable"
    );
    assert_eq!((flush(&mut client), losses.sum().lost), (Ok(Vec::new()), 0));
    assert!(server.state().safe[..512] == [5; 512]);
    client.close();
}

/// A server that restarted behind a proxy: the connection is still there, and only the verifier
/// shows that three writes may be lost.
#[test]
fn a_restart_behind_a_connection_that_lasts_is_told_and_counted() {
    let server = Server::start(pattern());
    let (mut client, losses) = open(Choice::Auto, &server.uri(""));
    for at in 0..3 {
        let tag = client.write(at * 4096, &[7; 4096]);
        assert_eq!(one(&mut client, tag), Ok(Vec::new()));
    }
    server.state().verifier = [9; 8];
    client.submit(0, 0, Op::Flush).unwrap();
    let (result, why) = client.ended();
    assert_eq!(result, Err(Fault::Gone));
    assert!(why.starts_with("the server restarted") && why.contains("may have lost 3 writes"), "{why}");
    let losses = losses.sum();
    assert_eq!((losses.lost, losses.not_flushed), (0, 3));
    assert_eq!(losses.lines(), ["answered but not flushed when the server restarted: 3"]);
    client.close();
}

/// What the server said is told in its own words, and the connection stays; how it broke the
/// protocol is told where the connection has to be given up.
#[test]
fn failures_are_told_with_their_reason() {
    let server = Server::start(pattern());
    let (mut client, losses) = open(Choice::Auto, &server.uri(""));
    server.state().manners.fault = Some(Status::Stale);
    client.read(0, 4096);
    let stale = "the server refused: the file handle is of a file that is not there any more (NFS status 70)";
    assert_eq!(client.ended(), (Err(Fault::Gone), stale.to_owned()));
    server.state().manners = Manners { status: Some(4711), ..Manners::default() };
    client.write(0, &[1; 4096]);
    let unknown = "the server failed: the status is 4711, which NFS version 3 does not have";
    assert_eq!(client.ended(), (Err(Fault::Io), unknown.to_owned()));
    assert_eq!(losses.sum().lost, 0);
    server.state().manners = Manners { nonsense: Some(vec![0xff; 64]), ..Manners::default() };
    client.write(0, &[1; 4096]);
    let (result, why) = client.ended();
    assert_eq!(result, Err(Fault::Gone));
    assert!(why.starts_with("the server broke the protocol: "), "{why}");
    assert!(why.ends_with("; whether the request took effect is unknown"), "{why}");
    let losses = losses.sum();
    assert_eq!(losses.why.iter().map(|(_, count)| count).sum::<u64>(), 1);
    // Later requests are told why there is no connection.
    client.read(0, 4096);
    assert_eq!(client.ended(), (Err(Fault::Gone), why.split("; whether").next().unwrap().to_owned()));
    client.close();
}

/// What the server wants to be asked again and again ends when the caller cancels it.
#[test]
fn asking_again_ends_with_a_cancel() {
    let server = Server::start(pattern());
    let (mut client, _) = open(Choice::Auto, &server.uri(""));
    server.state().manners.jukebox = u32::MAX;
    let tag = client.write(0, &[1; 4096]);
    client.hand_over();
    while server.state().calls[1] < 3 {
        client.wait();
        assert!(client.poll().is_empty());
    }
    loop {
        let now = block::Driver::now(&client.io);
        client.target.cancel(now, block::Ticket(tag));
        if let [completion] = &mut client.poll()[..] {
            assert_eq!((completion.tag, completion.result), (tag, Err(Fault::Gone)));
            assert!(completion.why().is_some_and(|why| why.contains("NFS3ERR_JUKEBOX")));
            client.io.give(completion.buf.take().unwrap());
            break;
        }
        client.wait();
    }
    client.close();
}
