//! Clients that request long cache hits and read none of the replies, which are sent from the
//! cache's pages. The memory for them is counted and bounded, nobody waits for them, and each reply
//! has the contents of the time when it was answered.

use crate::support::{BACKENDS, Client, LUN_BYTES, Server, limits};
use block::Bytes;
use cache::Eviction;
use nbd::{Command, NbdRequest};
use server::{Front, ServerLimits};
use std::cell::Cell;
use std::io::Read;
use store::CacheSettings;
use uring::Choice;

const MIB: u64 = 1 << 20;
/// The part that they read; the LUN is twice as large.
const READ: u64 = 4 * MIB;
/// Replies that each of them requests.
const ASKED: u64 = 8;
/// What a reply of 1 MiB claims.
const CLAIM: u64 = MIB + 512;
const MEMORY: u64 = 64 * MIB;
const PIECE: usize = 64 << 10;
/// What all connections together may claim: some 32 have receive buffers of 64 KiB, and an eighth
/// is reserved.
const MOST: u64 = MEMORY - MEMORY / 8 - 32 * (64 << 10);
/// Other memory of this process, and the kernel's rounding.
const SLACK: u64 = 8 * MIB;

/// A server whose cache holds three quarters of the LUN, so reading all of it evicts pages.
fn server(backend: Choice) -> Server {
    let limits = ServerLimits { memory: Bytes(MEMORY), connections: 32, ..limits() };
    let cache = CacheSettings { memory: Bytes::mib(6), page: 4096, policy: Eviction::default() };
    Server::start_behind(backend, limits, Front { cache: Some(cache), ..Front::default() })
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok()).unwrap() * 4096
}

/// Writes the first `len` bytes of the LUN, and reads them. It does so in pieces small enough for
/// the registered part of the memory: other buffers keep their memory for a while after use, which
/// must not be measured.
fn fill(client: &mut Client, len: u64, byte: u8) {
    (0..len).step_by(PIECE).for_each(|at| client.write(at, &vec![byte; PIECE]).unwrap());
    (0..len).step_by(PIECE).for_each(|at| assert!(client.read(at, PIECE as u64).unwrap() == vec![byte; PIECE]));
}

fn part_of(cookie: u64) -> (u64, u32) {
    (cookie * MIB % READ, MIB as u32)
}

/// A client that has read for a while, so that its window is open.
fn warm(server: &Server) -> Client {
    let mut client = server.connect();
    (0..2 * ASKED).for_each(|cookie| drop(client.read(part_of(cookie).0, MIB).unwrap()));
    client
}

/// Requests everything at once; returns how many replies wait to be sent.
fn ask(server: &Server, client: &mut Client) -> u64 {
    let before = server.account();
    for cookie in 0..ASKED {
        client.ask(NbdRequest::new(cookie, Command::Read, part_of(cookie).0, MIB), &[]);
    }
    // One account may be from between two turns; that many cannot.
    let seen = Cell::new((before.claimed, 0));
    let asleep = server.until("asleep", |account| {
        let is_idle = account.gate.queued + account.gate.in_flight == 0;
        let again = if is_idle && seen.get().0 == account.claimed { seen.get().1 + 1 } else { 0 };
        seen.set((account.claimed, again));
        account.claimed > before.claimed && again >= 50
    });
    assert_eq!(asleep.cache[&0].misses, before.cache[&0].misses, "they are hits");
    let held = asleep.claimed.0 - before.claimed.0;
    assert_eq!(held % CLAIM, 0, "each reply is counted whole: {held}");
    // Half of the first reply is in no socket, so none of it has been released. The last one was
    // admitted while all together were an eighth of what was free without it: h ≤ (most − (h −
    // claim)) / 8.
    let most = (MOST + CLAIM) / 9;
    assert!((CLAIM..=most).contains(&held), "one may hold {most} bytes: {} replies", held / CLAIM);
    assert!(asleep.claimed.0 <= MOST);
    held / CLAIM
}

/// A server, a client that continues, and six that hold replies from the cache's pages and do not
/// read.
struct Held {
    server: Server,
    witness: Client,
    slow: Vec<Client>,
    /// How many replies each of them holds.
    replies: Vec<u64>,
    /// Resident memory of this process before they sent their requests, in bytes.
    before: u64,
}

impl Held {
    /// Each client holds what was there before the next one sent its requests, so that their pages
    /// differ and are not in the cache any more.
    fn each_its_own(backend: Choice) -> Held {
        let server = server(backend);
        let mut witness = server.connect();
        fill(&mut witness, LUN_BYTES, 77);
        let mut slow: Vec<Client> = (0..6).map(|_| warm(&server)).collect();
        let before = resident();
        let one = |(client, byte): (&mut Client, u8)| {
            fill(&mut witness, READ, byte);
            ask(&server, client)
        };
        let replies = slow.iter_mut().zip(1..).map(one).collect();
        Held { server, witness, slow, replies, before }
    }
}

#[test]
fn replies_of_pages_that_nobody_reads_are_counted_bounded_and_stay_what_they_were() {
    for backend in BACKENDS {
        let Held { server, mut witness, mut slow, replies: held, before } = Held::each_its_own(backend);
        let counts = server.account().cache[&0];
        // Writes and reads of another client, including hits, of both held and other data.
        fill(&mut witness, LUN_BYTES, 200);
        assert!(witness.read(0, MIB).unwrap() == witness.read(0, MIB).unwrap());
        let account = server.account();
        let beside = account.cache[&0];
        assert!(
            beside.evicted >= counts.evicted + 512 && beside.hits > counts.hits,
            "2 MiB of 8 have no room: {beside:?}"
        );
        let (claimed, grown) = (account.claimed.0, resident().saturating_sub(before));
        assert_eq!(claimed, held.iter().sum::<u64>() * CLAIM, "it is still held");
        assert!(grown > claimed / 2, "it is memory of its own by now: {grown} bytes for {claimed}");
        assert!(grown <= claimed + SLACK, "{grown} bytes for {claimed} that are counted");

        // Replies from now on are from memory again.
        fill(&mut witness, READ, 200);
        for ((client, held), byte) in slow.iter_mut().zip(&held).zip(1u8..) {
            for number in 0..ASKED {
                let (cookie, bytes) = client.answer(part_of).unwrap();
                let was = if number < *held { byte } else { 200 };
                assert!(bytes.unwrap() == vec![was; MIB as usize], "reply {cookie} of client {byte}");
            }
        }
        let account = server.until("all is sent", |account| account.claimed == Bytes(0));
        assert_eq!(account.connections, 7, "nobody was sent away");
        let left = resident().saturating_sub(before);
        assert!(left <= claimed / 2, "{left} bytes are left of {grown}");
    }
}

#[test]
fn who_goes_with_replies_of_pages_unread_gives_them_back() {
    for backend in BACKENDS {
        let Held { server, mut witness, mut slow, replies: held, before } = Held::each_its_own(backend);
        fill(&mut witness, READ, 200);
        let grown = resident().saturating_sub(before);
        // In the middle of a reply, and before the first byte of one.
        slow[0].stream.read_exact(&mut vec![0; 300_000]).unwrap();
        slow.truncate(1);
        server.until("five are gone", |account| account.connections == 2 && account.claimed.0 <= ASKED * CLAIM);
        slow.clear();
        drop(witness);
        server.until_empty();
        let left = resident().saturating_sub(before);
        assert!(grown > held.iter().sum::<u64>() * MIB / 2 && left <= SLACK, "{left} bytes are left of {grown}");
        assert!(server.connect().read(0, MIB).unwrap() == vec![200; MIB as usize]);
    }
}
