//! A closed loop over a device: so many requests outstanding, each completion replaced at once.

use array::{DeviceSpec, VirtualClock};
use block::{Buf, Completion, Driver, ObjectId, Op, Request, Submitted, Target, Time, Wakeup};

/// One request: what and where. Not every test asks for all.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    Read { at: u64, len: u64 },
    Write { at: u64, len: u64 },
    Flush,
    Trim { at: u64, len: u64 },
}

pub fn request(tag: u64, due: Time, ask: Ask) -> Request {
    let (op, at, len) = match ask {
        Ask::Read { at, len } => (Op::Read, at, len),
        Ask::Write { at, len } => (Op::Write(Buf::nothing(len as u32)), at, len),
        Ask::Flush => (Op::Flush, 0, 0),
        Ask::Trim { at, len } => (Op::Trim, at, len),
    };
    Request { tag, object: ObjectId(0), at, len, op, fua: false, due }
}

/// Keeps `depth` requests of `asks` outstanding until `until`; returns what ended by then, in the
/// order reported. Polls at the device's own wakeups and nowhere else.
pub fn closed_loop(
    spec: &DeviceSpec,
    seed: u64,
    depth: usize,
    until: Time,
    mut asks: impl FnMut(u64) -> Ask,
) -> Vec<Completion> {
    let mut device = spec.build(seed).expect("a valid device");
    let mut clock = VirtualClock::new();
    let (mut done, mut ended, mut tag) = (Vec::new(), Vec::new(), 0);
    let mut submit = |device: &mut dyn Target, now| {
        let Submitted::Taken(_) = device.submit(now, request(tag, now, asks(tag))) else { panic!("full") };
        tag += 1;
    };
    (0..depth).for_each(|_| submit(&mut *device, Time::ZERO));
    loop {
        let wake = match device.next_wakeup() {
            Wakeup::At(at) => Some(at),
            Wakeup::Now => Some(clock.now()),
            _ => None,
        };
        let now = clock.turn(wake);
        if now > until {
            return done;
        }
        device.poll(now, &mut ended);
        for completion in ended.drain(..) {
            assert_eq!(completion.end, now, "the wakeup was not at the end of {completion:?}");
            submit(&mut *device, now);
            done.push(completion);
        }
    }
}

/// A stream of addresses, the same for the same seed.
pub fn scattered(seed: u64, step: u64, count: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        // xorshift64 (Marsaglia, 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % count * step
    }
}
