//! Sixteen exports at once, and strangers who take what they can: nobody gets less for it.

use crate::scratch::Scratch;
use crate::server::Server;
use block::{Bytes, Completion, Driver as _, ObjectId, Op, Request, Submitted, Target as _};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use storage::{Export, NbdTarget};
use uring::{Io, IoSettings};

const EXPORTS: usize = 16;
/// To each export.
const CONNECTIONS: usize = 4;
/// Requests that each export always has waiting.
const DEPTH: usize = 32;
/// Requests of all exports together before counting begins: whoever was connected first had a
/// start.
const WARM_UP: u64 = 16 * 500;
/// Requests that are counted in one stretch, of all exports together.
const COUNTED: u64 = 16 * 4000;
/// Stretches of which one has to be fair. Shares are within 0.3 % while both processors are there;
/// where one is taken away for some of the 0.3 s of a stretch, connections served on the other are
/// ahead by up to 7 %. What the server did unfairly it would do in each.
const STRETCHES: usize = 5;

/// A closed loop on one export, its ends counted.
struct Loop {
    target: NbdTarget,
    size: u64,
    length: u64,
    done: u64,
    next: u64,
}

impl Loop {
    fn start(io: &Io, server: &Server, export: &str, length: u64, depth: usize) -> Loop {
        let uri = format!("{}&connections={CONNECTIONS}", server.uri(export));
        let target = storage::own_export(io, &Export::parse(&uri).unwrap(), false).unwrap();
        let size = target.traits().size.0;
        let mut made = Loop { target, size, length, done: 0, next: 0 };
        (0..depth).for_each(|_| made.ask(io));
        made
    }

    fn ask(&mut self, io: &Io) {
        let now = io.now();
        self.next += 1;
        let at = self.next * self.length % self.size;
        let request =
            Request { tag: self.next, object: ObjectId(0), at, len: self.length, op: Op::Read, fua: false, due: now };
        assert!(matches!(self.target.submit(now, request), Submitted::Taken(_)));
    }

    /// Takes ends and asks anew, until there are none and all that was asked is on its way.
    fn go_on(&mut self, io: &Io, ended: &mut Vec<Completion>) {
        loop {
            self.target.poll(io.now(), ended);
            if ended.is_empty() {
                return;
            }
            for completion in ended.drain(..) {
                assert_eq!(completion.result, Ok(()));
                self.done += 1;
                self.ask(io);
            }
        }
    }
}

/// A client that asks for 64 MiB and never takes an answer. Byte by byte as the protocol has it,
/// with an old client's handshake.
fn never_reads(server: &Server, export: &str) -> UnixStream {
    let mut stream = UnixStream::connect(server.socket()).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    let mut said = 3u32.to_be_bytes().to_vec();
    said.extend(b"IHAVEOPT");
    said.extend(1u32.to_be_bytes());
    said.extend((export.len() as u32).to_be_bytes());
    said.extend(export.as_bytes());
    stream.write_all(&said).unwrap();
    stream.read_exact(&mut [0; 10]).unwrap();
    for cookie in 0..64u64 {
        let mut request = 0x2560_9513u32.to_be_bytes().to_vec();
        request.extend([0, 0, 0, 0]);
        request.extend(cookie.to_be_bytes());
        request.extend(0u64.to_be_bytes());
        request.extend((1u32 << 20).to_be_bytes());
        // The server may stop listening to it, which is its right.
        stream.set_nonblocking(true).unwrap();
        let _ = stream.write_all(&request);
    }
    stream
}

/// Judged by the machine's time, so nothing runs beside them: see CONTRIBUTING.md.
mod alone {
    use super::*;

    /// Sixteen exports with four connections and 32 requests each, driven by one thread that serves
    /// all alike, so that the shares are the server's doing alone: of 64 000 answers each export
    /// gets its sixteenth, ±5 %. Beside them two clients never read what they ask for, one half of
    /// a handshake stands open, one sent garbage, and another export is asked for 64 KiB at a time
    /// by a client eight times as deep.
    #[test]
    fn sixteen_exports_get_equal_shares_beside_strangers() {
        let scratch = Scratch::new();
        let server = Server::start(&scratch);
        server.tell(&["vserver create -vserver svm01", "volume create -vserver svm01 -volume vol1 -size 64MiB"]);
        for export in 0..=EXPORTS {
            server.tell(&[&format!("lun create -vserver svm01 -path /vol/vol1/lun{export} -size 1MiB")]);
        }
        let _silent = [never_reads(&server, "/vol/vol1/lun0"), never_reads(&server, "/vol/vol1/lun16")];
        let _half = UnixStream::connect(server.socket()).unwrap();
        let mut garbage = UnixStream::connect(server.socket()).unwrap();
        let _ = garbage.write_all(&[0xff; 4096]);

        let settings = IoSettings { slab: Bytes::mib(32), in_flight: 4096, ..IoSettings::default() };
        let mut io = Io::open(&settings).unwrap();
        let mut loops: Vec<Loop> = (0..EXPORTS)
            .map(|export| Loop::start(&io, &server, &format!("/vol/vol1/lun{export}"), 4096, DEPTH))
            .collect();
        let mut greedy = Loop::start(&io, &server, "/vol/vol1/lun16", 65_536, 8 * DEPTH);
        let mut play = |loops: &mut [Loop], count: u64| {
            let (mut ended, mut first) = (Vec::new(), 0);
            loops.iter_mut().for_each(|each| each.done = 0);
            while loops.iter().map(|each| each.done).sum::<u64>() < count {
                // Whoever is looked at first asks first: another one each time.
                first = (first + 1) % EXPORTS;
                let (later, sooner) = loops.split_at_mut(first);
                sooner.iter_mut().chain(later).chain([&mut greedy]).for_each(|each| each.go_on(&io, &mut ended));
                io.turn(None);
            }
        };
        play(&mut loops, WARM_UP);
        let (share, allowed) = (COUNTED / EXPORTS as u64, COUNTED / EXPORTS as u64 / 20);
        let stretches = (0..STRETCHES).map(|_| {
            play(&mut loops, COUNTED);
            loops.iter().map(|each| each.done).collect::<Vec<u64>>()
        });
        let is_fair = |shares: &Vec<u64>| shares.iter().all(|done| done.abs_diff(share) <= allowed);
        let unfair: Vec<_> = stretches.take_while(|shares| !is_fair(shares)).collect();
        assert!(unfair.len() < STRETCHES, "none of these is fair, greedy {}: {unfair:?}", greedy.done);
        // Its share is served as well, only not at the cost of others.
        assert!(greedy.done > 0);
    }
}
