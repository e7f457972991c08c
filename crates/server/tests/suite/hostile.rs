//! Clients that vanish, lie, flood or fall silent: everything they held is released, and nobody
//! else notices.

use crate::support;
use crate::support::by_hand::{FIXED_NO_ZEROES, OPT_GO, OPT_LIST, go, option, requests, simple};
use crate::support::{BACKENDS, Chance, Client, LUN, Server, is_closed, limits, settings};
use block::{Bytes, Span};
use nbd::{Command, NbdErrno, NbdRequest, Wishes};
use server::ServerLimits;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use uring::{Choice, IoSettings};

/// A whole handshake without waiting for answers: flags, and GO for the LUN without requesting
/// information.
fn hello() -> Vec<u8> {
    [FIXED_NO_ZEROES.to_vec(), go(OPT_GO, LUN)].concat()
}

/// Writes as much as the server takes without blocking: a client that never reads would wait for
/// ever.
fn push(stream: &mut UnixStream, mut bytes: &[u8]) -> bool {
    stream.set_nonblocking(true).unwrap();
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(taken) => bytes = &bytes[taken..],
            Err(_) => return false,
        }
    }
    true
}

#[test]
fn clients_that_vanish_at_any_point_leave_nothing_behind() {
    for backend in BACKENDS {
        let server = Server::start(backend, limits());
        for seed in 0..400 {
            let mut chance = Chance(seed);
            let whole = [hello(), requests(&mut chance)].concat();
            // Early cuts are in the handshake, late ones in a header, a payload or the replies.
            let cut = match chance.below(3) {
                0 => chance.below(hello().len() as u64),
                _ => chance.below(whole.len() as u64 + 1),
            };
            let mut stream = server.raw();
            push(&mut stream, &whole[..cut as usize]);
            if chance.below(2) == 0 {
                // Some of the replies were read.
                stream.set_nonblocking(false).unwrap();
                let mut some = vec![0; 1 + chance.below(20_000) as usize];
                let _ = stream.read(&mut some);
            }
            if chance.below(4) == 0 {
                let _ = stream.shutdown(std::net::Shutdown::Write);
            }
        }
        server.until_empty();
        assert_eq!(server.connect().read(0, 1).map(|bytes| bytes.len()), Ok(1), "and it goes on serving");
    }
}

#[test]
fn garbage_ends_its_connection_and_nothing_else() {
    for backend in BACKENDS {
        let server = Server::start(backend, limits());
        let mut witness = server.connect();
        for seed in 0..200 {
            let mut chance = Chance(seed);
            let mut stream = server.raw();
            let mut bytes: Vec<u8> = match chance.below(3) {
                0 => Vec::new(),
                1 => FIXED_NO_ZEROES.to_vec(),
                _ => hello(),
            };
            let noise = chance.below(100_000);
            bytes.extend((0..noise).map(|_| chance.below(256) as u8));
            push(&mut stream, &bytes);
            if seed % 20 == 0 {
                assert_eq!(witness.write(seed * 512, &[1; 512]), Ok(()));
            }
        }
        drop(witness);
        server.until_empty();
    }
}

#[test]
fn lengths_that_no_server_could_hold_are_refused() {
    let server = Server::start(BACKENDS[0], limits());
    // 32 MiB are accepted and discarded; the stream stays intact.
    let mut client = server.connect();
    let payload = vec![0; 32 << 20];
    assert_eq!(client.call(NbdRequest::write(1, 0, 32 << 20), &payload), Err(NbdErrno::NoSpace));
    assert_eq!(client.read(0, 1), Ok(vec![0]));
    // A longer one ends the connection: it would not even be received.
    let mut liar = server.connect();
    liar.ask(NbdRequest::write(1, 0, (32 << 20) + 1), &[]);
    assert!(is_closed(&mut liar.stream));
    let mut reader = server.connect();
    assert_eq!(reader.read(0, u64::from(u32::MAX)), Err(NbdErrno::Invalid));
    // The longest option that fits the receive buffer, and one that does not.
    for (len, kind) in [((64 << 10) - 16, "answered"), (64 << 10, "answered"), (1 << 20, "ends")] {
        let mut stream = server.raw();
        let bytes = [FIXED_NO_ZEROES.to_vec(), option(77, &vec![0; len]), hello()[4..].to_vec()].concat();
        let _ = stream.write_all(&bytes);
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        let mut head = [0; 20];
        let answered = stream.read_exact(&mut head).is_ok() && head[8..12] == 77u32.to_be_bytes();
        assert_eq!(if answered { "answered" } else { "ends" }, kind, "{len}");
    }
    drop((client, reader));
    server.until_empty();
}

#[test]
fn a_client_that_asks_for_lists_and_never_listens_is_held_back() {
    let mut server = Server::start(BACKENDS[0], limits());
    for n in 0..100 {
        server
            .control
            .execute(&format!("lun create -path /vol/vol1/a_long_name_to_fill_the_list_{n} -size 1MB"))
            .unwrap();
    }
    let mut stream = server.raw();
    let lists: Vec<u8> = (0..64).flat_map(|_| option(OPT_LIST, &[])).collect();
    stream.write_all(&[FIXED_NO_ZEROES.to_vec(), lists].concat()).unwrap();
    server.until("connected", |account| account.connections == 1);
    // Then it does read after all, and receives 64 lists of 101 exports with an end each.
    let mut replies = 0;
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    while replies < 64 * 102 {
        let mut head = [0; 20];
        stream.read_exact(&mut head).unwrap_or_else(|e| panic!("{replies} {e}"));
        let mut data = vec![0; u32::from_be_bytes(head[16..].try_into().unwrap()) as usize];
        stream.read_exact(&mut data).unwrap();
        replies += 1;
    }
    drop(stream);
    server.until_empty();
}

#[test]
fn connections_beyond_the_limit_are_closed_and_places_are_given_back() {
    for backend in BACKENDS {
        let server = Server::start(backend, ServerLimits { connections: 3, ..limits() });
        let mut first: Vec<Client> = (0..3).map(|_| server.connect()).collect();
        let mut fourth = server.raw();
        assert!(is_closed(&mut fourth));
        first.pop();
        server.until("two", |account| account.connections == 2);
        let mut again = server.connect();
        assert_eq!(again.read(0, 1), Ok(vec![0]));
    }
}

#[test]
fn a_thousand_connections_are_served_side_by_side() {
    uring::usage::raise_file_limit();
    for backend in BACKENDS {
        let limits = ServerLimits { memory: Bytes::mib(64), receive: Bytes::kib(4), ..limits() };
        let server = Server::start(backend, limits);
        let mut clients: Vec<Client> = (0..1000).map(|_| server.connect()).collect();
        for (n, client) in clients.iter_mut().enumerate() {
            client.ask(NbdRequest::write(n as u64, n as u64 * 8192, 8192), &[n as u8; 8192]);
        }
        for client in &mut clients {
            assert_eq!(client.answer(|_| (0, 0)).unwrap().1, Ok(Vec::new()));
        }
        assert_eq!(server.account().connections, 1000);
        drop(clients);
        server.until_empty();
    }
}

#[test]
fn a_flood_of_flushes_is_taken_in_portions_and_answered_whole() {
    for backend in BACKENDS {
        let server = Server::start(backend, ServerLimits { connection_requests: 16, ..limits() });
        let mut client = server.connect();
        let mut witness = server.connect();
        let flood: Vec<u8> =
            (0..20_000).flat_map(|cookie| simple(&NbdRequest::new(cookie, Command::Flush, 0, 0))).collect();
        let mut to = client.stream.try_clone().unwrap();
        let flooder = std::thread::spawn(move || to.write_all(&flood).unwrap());
        // 64 KiB of receive buffer are 2340 flushes, but at most 16 of them are admitted at a time.
        for _ in 0..50 {
            let held = server.account().claimed.0;
            assert!(held <= (16 + 1) * 512 + 4096, "{held}");
            assert_eq!(witness.read(0, 1), Ok(vec![0]));
        }
        for _ in 0..20_000 {
            assert!(matches!(client.answer(|_| (0, 0)), Some((_, Ok(_)))));
        }
        flooder.join().unwrap();
    }
}

#[test]
fn refusals_that_nobody_reads_do_not_pile_up() {
    let server = Server::start(BACKENDS[0], ServerLimits { connection_requests: 100, ..limits() });
    let mut client = server.connect();
    let bad: Vec<u8> =
        (0..200_000).flat_map(|cookie| simple(&NbdRequest::new(cookie, Command::Other(9), 0, 0))).collect();
    // The server stops reading: the flood fills the sockets' buffers.
    assert!(!push(&mut client.stream, &bad));
    let account = server.account();
    assert!(account.claimed.0 <= 100 * 512, "{account:?}");
    drop(client);
    server.until_empty();
}

/// Has `count` connections request far more than they read, after they have read for a while: each
/// holds as much of the server's memory as it may.
fn deaf(server: &Server, count: usize) -> Vec<Client> {
    let greedy = |_| {
        let mut client = server.connect();
        (0..8).for_each(|_| assert!(client.read(0, 256 << 10).is_ok()));
        let reads: Vec<u8> =
            (0..64).flat_map(|n| simple(&NbdRequest::new(n, Command::Read, n * 65536, 256 << 10))).collect();
        push(&mut client.stream, &reads);
        client
    };
    let clients = (0..count).map(greedy).collect();
    server.until("asleep", |account| account.gate.queued == 0 && account.objects.is_empty() && account.turns <= 2);
    clients
}

/// 128 reads of 64 KiB at once, from a client that reads nothing. The server starts 256 KiB of
/// them, and as much more as fits in the socket's buffer. Once the client reads, it gets them all.
#[test]
fn little_is_read_for_who_does_not_take_it() {
    for backend in BACKENDS {
        let server = Server::start(backend, ServerLimits { memory: Bytes::mib(64), ..limits() });
        let mut client = server.connect();
        server.account();
        let reads: Vec<u8> =
            (0..128).flat_map(|n| simple(&NbdRequest::new(n, Command::Read, n << 16, 64 << 10))).collect();
        client.stream.write_all(&reads).unwrap();
        let done = std::cell::Cell::new(0);
        server.until("asleep", |account| {
            done.set(done.get() + account.objects.iter().map(|(_, object)| object.counts.reads).sum::<u64>());
            account.objects.is_empty() && account.turns <= 2 && done.get() > 0
        });
        // The buffer of a Unix socket takes 208 KiB, minus the kernel's overhead.
        assert!((3..=10).contains(&done.get()), "{} reads", done.get());
        let account = server.account();
        assert!(account.claimed.0 <= 10 * ((64 << 10) + 512), "{account:?}");
        for _ in 0..128 {
            assert!(matches!(client.answer(|cookie| (cookie << 16, 64 << 10)), Some((_, Ok(_)))));
        }
        drop(client);
        server.until_empty();
    }
}

/// Twenty clients have sent 2000 reads each, and the last one a write, before any of them is
/// admitted. The results of the reads show how many came before the write: not the first client's
/// 2000, but a few portions of each. 128 are admitted at a time, and in each round a connection is
/// accepted, has its handshake and its turn: some thirty times.
#[test]
fn everybody_has_a_turn_before_anybody_has_all() {
    for backend in BACKENDS {
        let Server { control, socket, dir } = Server::start(backend, limits());
        drop(control);
        let pool = store::Pool::open(&dir.path().join("pool")).unwrap();
        let shard =
            server::Shard::start(&[server::Listen::Unix(socket.clone())], limits(), settings(backend, &limits()));
        let shard = shard.unwrap();
        let reads: Vec<u8> = (0..2000).flat_map(|n| simple(&NbdRequest::new(n, Command::Read, 0, 1))).collect();
        let asked = |request: &[u8]| {
            let mut stream = support::stream(&socket);
            stream.write_all(&[hello(), request.to_vec()].concat()).unwrap();
            stream
        };
        let readers: Vec<UnixStream> = (0..20).map(|_| asked(&reads)).collect();
        let mut writer = asked(&[simple(&NbdRequest::write(1, 0, 1)), vec![7]].concat());
        let control = server::Control::open(pool, shard, qos::RegistrySettings::default()).unwrap();
        // The greeting, and the acknowledgement of GO with the export's information before it.
        let skip = |stream: &mut UnixStream| {
            stream.read_exact(&mut [0; 18]).unwrap();
            while support::by_hand::reply(stream).unwrap().0 != support::by_hand::ACK {}
        };
        skip(&mut writer);
        writer.read_exact(&mut [0; 16]).unwrap();
        let before = readers.into_iter().map(|mut reader| {
            skip(&mut reader);
            let mut came = 0;
            for _ in 0..2000 {
                let mut answer = [0; 17];
                reader.read_exact(&mut answer).unwrap();
                came += u32::from(answer[16] == 0);
            }
            came
        });
        let before: Vec<u32> = before.collect();
        // How many turns they had before its handshake was over depends on the machine.
        let (most, sum) = (before.iter().max().unwrap(), before.iter().sum::<u32>());
        assert!(*most < 2000 && (1..20_000).contains(&sum), "came before the write: {before:?}");
        drop(control);
    }
}

#[test]
fn clients_who_do_not_read_leave_a_share_for_those_who_do() {
    for backend in BACKENDS {
        let server = Server::start(backend, ServerLimits { connections: 32, ..limits() });
        // 12 MiB can be claimed. Ten clients leave about a third of that, so small requests do not
        // have to wait.
        let deaf = deaf(&server, 10);
        let account = server.account();
        assert!((6 << 20..9 << 20).contains(&account.claimed.0), "{account:?}");
        let mut witness = server.connect();
        for n in 0..200u64 {
            assert_eq!(witness.write(n * 4096, &[n as u8; 4096]), Ok(()));
            assert_eq!(witness.read(n * 4096, 4096).unwrap(), [n as u8; 4096]);
        }
        assert_eq!(server.account().connections, 11, "nobody had to go");
        drop((deaf, witness));
        server.until_empty();
    }
}

/// Has each of `count` connections announce a write of 2 MiB and send only its beginning. Each has
/// its one request admitted, and six leave nothing to share.
fn mute(server: &Server, count: usize) -> Vec<Client> {
    let hold = |_| {
        let mut client = server.connect();
        client.ask(NbdRequest::write(1, 0, 2 << 20), &[1; 1000]);
        client
    };
    (0..count).map(hold).collect()
}

/// Depends on the machine's speed, so nothing runs beside these tests: see CONTRIBUTING.md.
mod alone {
    use super::*;

    #[test]
    fn a_handshake_that_says_nothing_is_ended_and_the_shard_sleeps_meanwhile() {
        for backend in BACKENDS {
            let limits = ServerLimits { handshake_time: Span::from_millis(1200), ..limits() };
            let server = Server::start(backend, limits);
            let mut idle = server.connect();
            server.account();
            let mut silent = server.raw();
            let mut half = server.raw();
            half.write_all(&hello()[..20]).unwrap();
            assert!(is_closed(&mut silent) && is_closed(&mut half));
            // It checks every 500 ms, and handles what arrives; a shard that spins makes a hundred
            // thousand turns in that time.
            let account = server.account();
            assert!(account.turns < 60, "{} turns", account.turns);
            server.until("alone", |account| account.connections == 1);
            assert_eq!(idle.read(0, 1), Ok(vec![0]), "who is past the handshake may be silent");
        }
    }

    #[test]
    fn who_holds_what_others_wait_for_and_does_not_read_is_cut_off() {
        for backend in BACKENDS {
            let limits = ServerLimits { patience: Span::from_millis(300), connections: 32, ..limits() };
            let server = Server::start(backend, limits);
            // 4 of 12 MiB are taken by one request each, whose replies nobody reads; the rest is
            // shared out.
            let big = |_| {
                let mut client = server.connect();
                client.ask(NbdRequest::new(1, Command::Read, 0, 2 << 20), &[]);
                client
            };
            let big: Vec<Client> = (0..5).map(big).collect();
            server.until("read", |account| account.claimed.0 > 10 << 20 && account.gate.in_flight == 0);
            server.account();
            let mut witness = server.connect();
            let bytes = vec![5; 2 << 20];
            assert_eq!(witness.write(0, &bytes), Ok(()));
            let account = server.account();
            assert!(account.connections < 6, "{account:?}");
            assert!(account.turns < 2000, "it slept while it waited: {} turns", account.turns);
            assert!(witness.read(0, 2 << 20).unwrap() == bytes);
            drop((big, witness));
            server.until_empty();
        }
    }

    #[test]
    fn a_write_that_never_comes_is_cut_off_when_others_need_its_memory() {
        for backend in BACKENDS {
            let limits = ServerLimits { patience: Span::from_millis(300), connections: 32, ..limits() };
            let server = Server::start(backend, limits);
            let mute = mute(&server, 5);
            server.until("held", |account| account.claimed.0 > 10 << 20);
            let mut witness = server.connect();
            assert_eq!(witness.write(0, &vec![2; 2 << 20]), Ok(()));
            drop((mute, witness));
            server.until_empty();
        }
    }
}

#[test]
fn a_goodbye_without_taking_the_answers_does_not_keep_the_place() {
    let server = Server::start(BACKENDS[0], ServerLimits { patience: Span::from_millis(100), ..limits() });
    let mut client = server.connect();
    // More than fits in the sockets' buffers.
    let read = simple(&NbdRequest::new(1, Command::Read, 0, 1 << 20));
    let bye = simple(&NbdRequest::new(9, Command::Disconnect, 0, 0));
    client.stream.write_all(&[read, bye].concat()).unwrap();
    server.until_empty();
    drop(client);
}

#[test]
fn what_the_gate_is_too_full_for_goes_with_its_client() {
    let mut server = Server::start(BACKENDS[0], ServerLimits { memory: Bytes::mib(512), ..limits() });
    let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        // The memory of 16 384 flushes may be in flight for a client that took as much before.
        (0..9).for_each(|_| assert!(client.read(0, 1 << 20).is_ok()));
    }
    for line in [
        "qos policy-group create slow -vserver svm01 -max-throughput 1IOPS",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
    ] {
        server.control.execute(line).unwrap();
    }
    // The gate queues up to 65 536 requests of an object. Each of these clients sends 16 384, and
    // the fifth reaches the limit.
    let flood: Vec<u8> =
        (0..16_384).flat_map(|cookie| simple(&NbdRequest::new(cookie, Command::Flush, 0, 0))).collect();
    for client in &mut clients[..4] {
        client.stream.write_all(&flood).unwrap();
    }
    server.until("nearly full", |account| account.gate.queued >= 65_000);
    for client in &mut clients[4..] {
        push(&mut client.stream, &flood);
    }
    server.until("full", |account| account.gate.queued >= 65_536);
    // They all leave in the order in which they came, so the one that waits for room is not the
    // first.
    drop(clients);
    server.until_empty();
    assert_eq!(server.account().gate.queued, 0);
}

#[test]
fn a_ring_with_little_room_serves_everybody_all_the_same() {
    // Room for the store's 512 requests, a listener and 15 connections with two jobs each, but no
    // more.
    for backend in BACKENDS {
        let limits = limits();
        let settings = IoSettings { in_flight: 512 + 1 + 2 * 15, ..settings(backend, &limits) };
        let server = Server::start_with(limits, settings);
        let mut clients: Vec<Client> = (0..15).map(|_| server.connect()).collect();
        assert!(is_closed(&mut server.raw()), "one more is refused rather than starved");
        let reads: Vec<u8> = (0..100).flat_map(|n| simple(&NbdRequest::new(n, Command::Read, n * 512, 512))).collect();
        for client in &mut clients {
            client.stream.write_all(&reads).unwrap();
        }
        for client in &mut clients {
            for _ in 0..100 {
                assert!(matches!(client.answer(|cookie| (cookie * 512, 512)), Some((_, Ok(_)))));
            }
        }
        drop(clients);
        server.until_empty();
    }
}

#[test]
fn one_connection_in_a_hurry_does_not_starve_another() {
    let server = Server::start(Choice::Auto, limits());
    let mut busy = server.connect();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&stop);
    let flood: Vec<u8> = (0..1000).flat_map(|n| simple(&NbdRequest::new(n, Command::Read, n * 4096, 4096))).collect();
    let hurry = std::thread::spawn(move || {
        let mut done = 0;
        while !seen.load(std::sync::atomic::Ordering::Relaxed) {
            busy.stream.write_all(&flood).unwrap();
            for _ in 0..1000 {
                busy.answer(|cookie| (cookie * 4096, 4096)).unwrap().1.unwrap();
            }
            done += 1000;
        }
        done
    });
    let mut calm = Client::connect(&server.socket, Wishes::plain(LUN));
    for _ in 0..100 {
        assert_eq!(calm.read(0, 4096).unwrap(), [0; 4096]);
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    // A request of the calm client has at most the busy one's queue before it; if it were starved,
    // it would see far more.
    let done: u64 = hurry.join().unwrap();
    assert!(done <= 100 * 1000 * 4, "{done} requests of the busy one beside 100 of the calm one");
}
