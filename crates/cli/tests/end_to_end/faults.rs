//! Disks that fail under the server: the client gets the right error, the others go on, nothing is
//! corrupted.
//!
//! ```text
//!   data = [good, bad]      segments of 1 MiB by turns: what is written first lies on the one, what comes next on the other
//!       LUN a  ─► good
//!       LUN b  ─► bad
//! ```

use crate::bad_disk::BadDisk;
use crate::raw_client::Client;
use crate::requires::{client as client_program, requires};
use crate::running::{run, seawall, succeed_with};
use crate::scratch::Scratch;
use crate::server::Server;

const MIB: usize = 1 << 20;
const EIO: u32 = 5;
const ENOSPC: u32 = 28;

/// A pool on two devices, and the LUNs `a` and `b` of 1 MiB, each on one of them. The server goes
/// before its disks.
struct Pool {
    server: Option<Server>,
    bad: BadDisk,
    _good: BadDisk,
    scratch: Scratch,
    a: Vec<u8>,
    b: Vec<u8>,
}

impl Pool {
    fn new(errno: &str) -> Option<Pool> {
        let scratch = Scratch::new();
        let (good, bad) = (BadDisk::new(&scratch, "good", 64, "EIO")?, BadDisk::new(&scratch, "bad", 64, errno)?);
        std::fs::create_dir(scratch.join("pool")).unwrap();
        let settings = format!("[pool]\ndata = [{:?}, {:?}]\n", good.path(), bad.path());
        std::fs::write(scratch.join("pool/seawall.toml"), settings).unwrap();
        let server = Server::start(&scratch);
        server.tell(&["vserver create -vserver svm01", "volume create -vserver svm01 -volume v -size 64MiB"]);
        for lun in ["a", "b"] {
            server.tell(&[&format!("lun create -vserver svm01 -path /vol/v/{lun} -size 1MiB")]);
        }
        let (a, b) = (vec![0xa1; MIB], vec![0xb1; MIB]);
        let pool = Pool { server: Some(server), bad, _good: good, scratch, a, b };
        assert_eq!(pool.client("a").written(0, &pool.a, false), Ok(()));
        let mut client = pool.client("b");
        assert_eq!(client.written(0, &pool.b, false), Ok(()));
        assert_eq!(client.flushed(), Ok(()));
        Some(pool)
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    fn client(&self, lun: &str) -> Client {
        Client::connect(&self.server().socket(), &format!("/vol/v/{lun}"))
    }

    /// LUN `a` is written and read as if nothing had happened.
    fn others_go_on(&mut self, byte: u8) {
        let mut client = self.client("a");
        assert_eq!(client.written(4096, &[byte; 8192], false), Ok(()));
        self.a[4096..12288].fill(byte);
        assert!(client.read(0, MIB as u32) == self.a);
    }

    /// Both LUNs hold what they should, the pool is whole, and the next server finds the same.
    fn ends_whole(mut self) {
        for again in [false, true] {
            assert!(self.client("a").read(0, MIB as u32) == self.a, "again: {again}");
            assert!(self.client("b").read(0, MIB as u32) == self.b, "again: {again}");
            self.server.take().expect("it runs").stop();
            let checked = run(seawall(self.scratch.path()).args(["check", "pool"]));
            assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
            self.server = Some(Server::start(&self.scratch));
        }
        drop(self.server.take());
    }
}

/// Writes to one device fail, as of a disk that breaks and of one that is thin and full: the client
/// is told which, the LUN keeps what it had, the LUN on the other device goes on, and when the
/// device takes writes again so does its LUN.
#[test]
fn writes_that_a_device_fails_are_told_and_hurt_nobody_else() {
    requires!("nbdkit", "nbdfuse", "losetup");
    for (name, errno) in [("EIO", EIO), ("ENOSPC", ENOSPC)] {
        let Some(mut pool) = Pool::new(name) else { return };
        let mut client = pool.client("b");
        pool.bad.fail_writes(true);
        assert_eq!(client.written(65536, &[0xb2; 4096], false), Err(errno), "in place");
        assert_eq!(client.written(131_172, &[0xb3; 700], false), Err(errno), "a part of a page");
        assert!(client.read(0, MIB as u32) == pool.b, "reads go on, and nothing has changed");
        pool.others_go_on(0xa2);
        pool.bad.fail_writes(false);
        assert_eq!(client.written(65536, &[0xb4; 4096], false), Ok(()));
        pool.b[65536..69632].fill(0xb4);
        assert_eq!(client.flushed(), Ok(()));
        pool.ends_whole();
    }
}

/// The device of the cache's second level fails a write: it is turned off, which is an event, and
/// every read is answered from the pool.
#[test]
fn a_second_level_that_fails_a_write_is_turned_off_and_told() {
    requires!("nbdkit", "nbdfuse", "losetup");
    let scratch = Scratch::new();
    let Some(second) = BadDisk::new(&scratch, "second", 64, "EIO") else { return };
    let settings = format!(
        "[cache]\nmemory = \"1MiB\"\nsecond_level = {:?}\nsecond_level_size = \"16MiB\"\n\
         second_level_writes_per_day = \"1GiB\"\n",
        second.path()
    );
    std::fs::write(scratch.join("server.toml"), settings).unwrap();
    let server = Server::start_with(&scratch, &["--config", "server.toml"]);
    server.make_lun("16MiB");
    let data = crate::server::pattern(16 * MIB);
    let mut client = Client::connect(&server.socket(), crate::server::LUN);
    for at in (0..16).map(|piece| piece * MIB) {
        assert_eq!(client.written(at as u64, &data[at..at + MIB], false), Ok(()));
    }
    second.fail_writes(true);
    // Each page twice in a row is asked for again, and what a MiB of memory evicts of them goes on.
    for at in (0..16 * MIB).step_by(4096) {
        for _ in 0..2 {
            assert!(client.read(at as u64, 4096) == data[at..at + 4096], "{at}");
        }
    }
    let mut told = (0..500).map(|_| server.tell(&["event log show -messagename cache.second.failed -output json"]));
    let told = told.find(|told| told.contains("cache.second.failed")).expect("it is told");
    assert!(told.contains("reads go to the pool") && told.contains("/dev/loop"), "{told}");
    assert!(server.tell(&["cache second-level show -instance"]).contains("write"), "the reason is shown");
    assert!(client.read(0, MIB as u32) == data[..MIB]);
    drop(client);
    server.stop();
}

/// Reads from one device fail: the client's own, the read of what surrounds a part of a page, and
/// the read of a shared block that is to be copied, with FUA too.
#[test]
fn reads_that_a_device_fails_are_told_and_hurt_nobody_else() {
    requires!("nbdkit", "nbdfuse", "losetup");
    let Some(mut pool) = Pool::new("EIO") else { return };
    let mut client = pool.client("b");
    pool.bad.fail_reads(true);
    assert_eq!(client.try_read(65536, 4096), Err(EIO));
    assert_eq!(client.written(65536 + 100, &[0xb2; 700], true), Err(EIO), "a part of a page, with FUA");
    assert_eq!(client.written(65536, &[0xb3; 4096], false), Ok(()), "whole pages need no read");
    pool.b[65536..69632].fill(0xb3);
    pool.others_go_on(0xa2);
    // In the middle of a copy-on-write.
    pool.server().tell(&["volume snapshot create v -snapshot s"]);
    assert_eq!(client.written(131_072, &[0xb4; 4096], true), Err(EIO));
    pool.others_go_on(0xa3);
    pool.bad.fail_reads(false);
    assert_eq!(client.written(131_072, &[0xb5; 4096], true), Ok(()), "the pool has not failed");
    pool.b[131_072..135_168].fill(0xb5);
    // The snapshot has what was there before.
    let clone =
        "volume file clone create -vserver svm01 -volume v -source-path /b -destination-path /old -snapshot-name s";
    pool.server().tell(&[clone]);
    let old = pool.client("old").read(0, MIB as u32);
    assert!(old[131_072..].iter().all(|byte| *byte == 0xb1) && old[65536..69632].iter().all(|byte| *byte == 0xb3));
    pool.ends_whole();
}

/// A read over both devices, of which one fails: libnbd gets the MiB of the good one as data, and
/// an error that names the place where the bad one's part begins (1 MiB = 1048576). Each of its
/// structured answers is the LUN's offset, the bytes, and what it is: 1 data, 3 an error.
#[test]
fn a_read_that_one_of_two_devices_fails_brings_the_others_part() {
    requires!("nbdkit", "nbdfuse", "losetup", "nbdsh");
    let Some(pool) = Pool::new("EIO") else { return };
    pool.server().tell(&["lun create -vserver svm01 -path /vol/v/c -size 2MiB"]);
    let mut client = pool.client("c");
    assert_eq!(client.written(0, &vec![0xc1; 2 * MIB], false), Ok(()));
    assert_eq!(client.flushed(), Ok(()));
    let read = |script: &str| succeed_with(client_program("python3"), ["-c", script, &pool.server().uri("/vol/v/c")]);
    let script = "
import nbd, sys
handle, seen = nbd.NBD(), []
handle.connect_uri(sys.argv[1])
def chunk(data, at, kind, error):
    seen.append((at, len(data), kind, data == b'\\xc1' * len(data)))
try:
    handle.pread_structured(2 << 20, 0, chunk)
    print('read', seen)
except nbd.Error as failure:
    print(failure.errno, seen)
";
    assert_eq!(read(script).trim(), "read [(0, 2097152, 1, True)]");
    pool.bad.fail_reads(true);
    assert_eq!(read(script).trim(), "EIO [(0, 1048576, 1, True), (1048576, 0, 3, True)]");
    assert_eq!(client.try_read(0, 2 * MIB as u32), Err(EIO), "simple replies fail as a whole");
    pool.bad.fail_reads(false);
    assert!(client.read(0, 2 * MIB as u32).iter().all(|byte| *byte == 0xc1));
    pool.ends_whole();
}

/// A device that does not answer at all: a hundred reads and writes of the LUN on the other one are
/// answered while those on this one wait, and those end well when it comes back.
#[test]
fn a_device_that_stands_still_holds_up_only_its_own() {
    requires!("nbdkit", "nbdfuse", "losetup");
    let Some(mut pool) = Pool::new("EIO") else { return };
    let mut waiting: Vec<Client> = (0..4).map(|_| pool.client("b")).collect();
    pool.bad.stand_still();
    for (number, client) in waiting.iter_mut().enumerate() {
        assert!(client.write(1, number as u64 * 65536, &[0xc0 | number as u8; 4096], false));
        assert!(client.ask_read(2, 512 << 10, 65536));
    }
    for round in 0..50 {
        pool.others_go_on(round);
    }
    pool.bad.go_on();
    for (number, client) in waiting.iter_mut().enumerate() {
        for _ in 0..2 {
            let (cookie, data) = client.answer_with(|cookie| if cookie == 2 { 65536 } else { 0 });
            let expected = if cookie == 2 { vec![0xb1; 65536] } else { Vec::new() };
            assert!(data == Ok(expected), "request {cookie}");
        }
        pool.b[number * 65536..number * 65536 + 4096].fill(0xc0 | number as u8);
    }
    pool.ends_whole();
}

/// A storm of flushes while one device does not answer: the flushes wait, the reads and writes of
/// the LUN on the other one do not, and afterwards all sixteen have cost the disk two flushes: the
/// one that was under way, and one for the rest.
#[test]
fn a_storm_of_flushes_stops_nobody_and_is_shared() {
    requires!("nbdkit", "nbdfuse", "losetup");
    let Some(mut pool) = Pool::new("EIO") else { return };
    let mut storm: Vec<Client> = (0..16).map(|_| pool.client("a")).collect();
    for (number, client) in storm.iter_mut().enumerate() {
        let at = (16 + number) * 4096;
        assert_eq!(client.written(at as u64, &[0xd0; 4096], false), Ok(()));
        pool.a[at..at + 4096].fill(0xd0);
    }
    pool.bad.stand_still();
    let before = pool.bad.flushes();
    for client in &mut storm {
        assert!(client.flush(1));
        // Requests of a connection are taken in order: when this one is answered the flush is under
        // way, or in line.
        assert!(client.ask_read(2, 0, 4096));
        let (cookie, data) = client.answer_with(|_| 4096);
        assert_eq!((cookie, data.map(|data| data.len())), (2, Ok(4096)), "a read passes the flush");
    }
    for round in 0..50 {
        pool.others_go_on(round);
    }
    pool.bad.go_on();
    for client in &mut storm {
        assert_eq!(client.answer_with(|_| 0), (1, Ok(Vec::new())));
    }
    assert_eq!(pool.bad.flushes() - before, 2, "sixteen flushes");
    pool.ends_whole();
}
