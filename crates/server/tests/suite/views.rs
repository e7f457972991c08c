//! Large replies are sent from the page cache: a client gets its own LUN's bytes, however late it
//! reads, and what it leaves unread does not delay others.

use crate::support::{BACKENDS, Client, LUN, LUN_BYTES, Server, limits, wait};
use block::Bytes;
use nbd::{Command, CommandFlags, Framing, NbdRequest, Wishes};
use server::ServerLimits;

const MIB: u64 = 1 << 20;

/// Enough memory for one client to have four reads of 1 MiB in flight: it may hold at least a ninth
/// of 7/8 of it.
fn roomy() -> ServerLimits {
    ServerLimits { memory: Bytes::mib(64), ..limits() }
}

fn ask_reads(client: &mut Client, count: u64) {
    for cookie in 0..count {
        client.ask(NbdRequest::new(cookie, Command::Read, cookie * MIB, MIB), &[]);
    }
}

fn fill(client: &mut Client, byte: u8) {
    for at in (0..LUN_BYTES).step_by(MIB as usize) {
        client.write(at, &vec![byte; MIB as usize]).unwrap();
    }
    client.call(NbdRequest::new(9, Command::Flush, 0, 0), &[]).unwrap();
}

/// Every length around the threshold of 128 KiB, from any byte, with every framing.
#[test]
fn lengths_about_the_threshold_and_odd_places_are_right() {
    for backend in BACKENDS {
        let server = Server::start(backend, roomy());
        let content: Vec<u8> = (0..4 * MIB).map(|at| (at * 7 + at / 251) as u8).collect();
        let mut writer = server.connect();
        for (number, piece) in content.chunks(MIB as usize).enumerate() {
            writer.write(number as u64 * MIB, piece).unwrap();
        }
        for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
            let structured = framing >= Framing::Structured;
            let wishes = Wishes { structured, extended: framing == Framing::Extended, ..Wishes::plain(LUN) };
            let mut client = Client::connect(&server.socket, wishes);
            for len in [126 << 10, (128 << 10) - 1, 128 << 10, (128 << 10) + 1, 200_001, MIB, 2 * MIB] {
                for at in [0, 1, 511, 4095, 4096, 70_001, MIB + 65_535] {
                    let got = client.read(at, len).unwrap();
                    assert!(got == content[at as usize..(at + len) as usize], "{framing:?} {len} from {at}");
                }
            }
        }
        drop(writer);
        server.until_empty();
    }
}

/// Blocks that were written in random order are scattered. Reads of many of them are right from any
/// byte, also if one was never written.
#[test]
fn scattered_blocks_are_put_together() {
    for backend in BACKENDS {
        let server = Server::start(backend, roomy());
        let (mut client, block) = (server.connect(), 64 << 10);
        let mut content = vec![0; 4 * MIB as usize];
        // 37 and 64 are coprime: every block once, except number 20.
        for number in (0..64).map(|number| number * 37 % 64).filter(|number| *number != 20) {
            let at = number * block;
            content[at..at + block].fill(number as u8 + 1);
            client.write(at as u64, &content[at..at + block]).unwrap();
        }
        for (at, len) in
            [(0, MIB), (1, MIB), (MIB, MIB), (2 * MIB, 2 * MIB), (2 * MIB + 4095, MIB + 7), (21 << 16, MIB)]
        {
            let got = client.read(at, len).unwrap();
            assert!(got == content[at as usize..(at + len) as usize], "{len} from {at}");
        }
        drop(client);
        server.until_empty();
    }
}

/// Holes beside data are sent as holes, and the data between them comes from the page cache.
#[test]
fn data_between_holes_is_right() {
    let server = Server::start(BACKENDS[0], roomy());
    let mut client = Client::connect(&server.socket, Wishes { structured: true, ..Wishes::plain(LUN) });
    client.write(MIB, &vec![5; MIB as usize]).unwrap();
    for (at, len, holes) in [(MIB, MIB, 0), (MIB / 2, MIB, MIB / 2), (MIB + MIB / 2, MIB, MIB / 2), (0, 2 * MIB, MIB)] {
        client.holes = 0;
        let got = client.read(at, len).unwrap();
        let expected: Vec<u8> = (at..at + len).map(|at| if (MIB..2 * MIB).contains(&at) { 5 } else { 0 }).collect();
        assert!(got == expected, "{len} from {at}");
        assert_eq!(client.holes, holes, "{len} from {at}");
    }
}

/// Reads of 1 MiB with writes to the same blocks between them, all requested before any reply is
/// read. A read that was requested when version `n` had been acknowledged returns that or a later
/// one in every page, never an earlier one.
#[test]
fn reads_between_writes_show_what_was_acknowledged_or_later() {
    for backend in BACKENDS {
        let server = Server::start(backend, roomy());
        let mut reader = server.connect();
        let mut writer = server.connect();
        for version in 1..=40u8 {
            let at = u64::from(version % 4) * MIB;
            writer.write(at, &vec![version; MIB as usize]).unwrap();
            reader.ask(NbdRequest::new(u64::from(version), Command::Read, at, MIB), &[]);
            writer.write(at, &vec![version + 100; MIB as usize]).unwrap();
            let (cookie, result) = reader.answer(|_| (at, MIB as u32)).unwrap();
            assert_eq!(cookie, u64::from(version));
            let found = result.unwrap();
            assert!(found.iter().all(|&byte| byte == version || byte == version + 100), "version {version}");
        }
        drop((reader, writer));
        server.until_empty();
    }
}

/// A client has requested its LUN's bytes and does not read. Meanwhile its blocks are freed, and
/// another LUN writes all available space many times over. The client still gets its own LUN's
/// bytes, and the blocks it waits for are freed nevertheless: the other's writes and flushes are
/// answered.
#[test]
fn a_late_reader_sees_no_other_luns_bytes() {
    for backend in BACKENDS {
        let mut server = Server::start(backend, roomy());
        let other = "/vol/vol1/lun2";
        server.control.execute(&format!("lun create -path {other} -size {LUN_BYTES}")).unwrap();
        let mut late = server.connect();
        // It may have as much in flight as it took before.
        (0..4).for_each(|at| assert!(late.read(at * MIB, MIB).is_ok()));
        let mut own = server.connect();
        let mut others = Client::connect(&server.socket, Wishes::plain(other));
        for round in 0..6u8 {
            fill(&mut own, 1 + round);
            ask_reads(&mut late, 4);
            server.until("under way", |account| account.claimed.0 >= 4 * MIB && account.gate.queued == 0);
            own.call(NbdRequest::new(3, Command::Trim, 0, LUN_BYTES), &[]).unwrap();
            own.call(NbdRequest::new(4, Command::Flush, 0, 0), &[]).unwrap();
            for byte in [0xEE, 0xEF] {
                fill(&mut others, byte);
                others.call(NbdRequest::new(5, Command::Trim, 0, LUN_BYTES).with(CommandFlags::FUA), &[]).unwrap();
            }
            for _ in 0..4 {
                let (_, result) = late.answer(|cookie| (cookie * MIB, MIB as u32)).unwrap();
                let found = result.unwrap();
                assert!(found.iter().all(|&byte| byte == 1 + round), "round {round}: {:x?}", &found[..1]);
            }
        }
        drop((late, own, others));
        server.until_empty();
    }
}

/// Clients that send requests and leave, with replies in the socket, at the server and in the gate:
/// everything is released.
#[test]
fn what_a_client_leaves_unread_comes_back_when_it_goes() {
    for backend in BACKENDS {
        let server = Server::start(backend, roomy());
        fill(&mut server.connect(), 7);
        for unread in 0..8 {
            let mut client = server.connect();
            ask_reads(&mut client, 8);
            for _ in 0..unread {
                assert!(client.answer(|cookie| (cookie * MIB, MIB as u32)).is_some());
            }
        }
        server.until_empty();
        assert!(server.connect().read(0, MIB).unwrap().iter().all(|&byte| byte == 7));
    }
}

/// A stopping server still answers what was requested, with the right bytes, to a client that reads
/// only then.
#[test]
fn a_stopping_server_sends_what_was_asked() {
    for backend in BACKENDS {
        let server = Server::start(backend, roomy());
        let mut client = server.connect();
        fill(&mut client, 9);
        ask_reads(&mut client, 4);
        server.until("under way", |account| account.claimed.0 >= 4 * MIB && account.gate.queued == 0);
        let Server { control, socket, dir } = server;
        let stop = std::thread::spawn(move || drop(control));
        wait("stopping", || std::os::unix::net::UnixStream::connect(&socket).is_err());
        for _ in 0..4 {
            let (_, result) = client.answer(|cookie| (cookie * MIB, MIB as u32)).unwrap();
            assert!(result.unwrap().iter().all(|&byte| byte == 9));
        }
        stop.join().unwrap();
        drop(dir);
    }
}
