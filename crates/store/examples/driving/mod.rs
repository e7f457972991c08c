//! What the examples share: serving a pool's volumes by hand.

use block::{Driver, ObjectId, Op, Request, Submitted, Target, Wakeup};
use map::What;
use store::{MappedPool, MappedVolumes, VolumesSettings};
use uring::Io;

/// Limit on requests in flight.
pub const DEPTH: usize = 32;

pub fn serve(io: &Io, pool: MappedPool) -> MappedVolumes {
    let Ok(volumes) = MappedVolumes::new(io, pool, VolumesSettings::default()) else { panic!("the slab is too small") };
    volumes
}

/// Makes a change of a LUN and waits for it.
pub fn administer(io: &Io, volumes: &mut MappedVolumes, tree: u32, what: What) {
    volumes.administer(ObjectId(tree), what);
    let (mut answers, mut out, mut io) = (Vec::new(), Vec::new(), io.clone());
    while answers.is_empty() {
        let now = io.now();
        volumes.poll(now, &mut out);
        volumes.take_answers(&mut answers);
        if answers.is_empty() {
            let until = match volumes.next_wakeup() {
                Wakeup::Now => Some(now),
                Wakeup::At(at) => Some(at),
                Wakeup::External | Wakeup::Idle => None,
            };
            io.turn(until);
        }
    }
    assert_eq!(answers[0].result, Ok(()), "{what:?}");
}

/// Sends a request of `len` bytes at each of `places`, and waits for all. `op` returns the
/// operation, or `None` if there is no memory for it yet.
pub fn drive(io: &Io, target: &mut impl Target, lun: u32, places: &[u64], len: u64, op: impl Fn(&Io) -> Option<Op>) {
    let (mut next, mut ended, mut out, mut io) = (0, 0, Vec::new(), io.clone());
    let mut now = io.now();
    while ended < places.len() {
        while next < places.len() && next - ended < DEPTH {
            let Some(op) = op(&io) else { break };
            let (tag, at) = (next as u64, places[next]);
            let request = Request { tag, object: ObjectId(lun), at, len, op, fua: false, due: now };
            assert!(matches!(target.submit(now, request), Submitted::Taken(_)));
            next += 1;
        }
        target.poll(now, &mut out);
        if out.is_empty() {
            now = io.turn(None);
            target.poll(now, &mut out);
        }
        for completion in out.drain(..) {
            assert_eq!(completion.result, Ok(()));
            completion.buf.into_iter().for_each(|buf| io.give(buf));
            ended += 1;
        }
    }
}
