//! The worker in virtual time: requests are made when they are due, and those that could not be are
//! recorded as late.

use block::{
    Bytes, Completion, Driver, Iops, ObjectId, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup,
};
use engine::{Hub, Lane, NoMemory, Worker, WorkloadSecond};
use stats::{Direction, Punctuality, Tape, Track};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use storage::LossCounts;
use workload::{Arrival, Blocks, Pattern, Range, Spacing, Spec, Stream};

/// A driver that jumps to the time it waits for.
struct Clock(Time);

impl Driver for Clock {
    fn now(&self) -> Time {
        self.0
    }

    fn turn(&mut self, until: Option<Time>) -> Time {
        self.0 = self.0.max(until.expect("virtual time never waits without end"));
        self.0
    }
}

/// Takes `service` for each of up to `slots` requests at once, and is stalled from `stall.0` to
/// `stall.1`.
struct Device {
    service: Span,
    slots: usize,
    stall: (Time, Time),
    /// The most completions that one poll returns.
    per_poll: usize,
    flying: VecDeque<Completion>,
}

impl Device {
    fn new(service: Span, slots: usize) -> Device {
        let never = (Time::MAX, Time::MAX);
        Device { service, slots, stall: never, per_poll: usize::MAX, flying: VecDeque::new() }
    }
}

impl Target for Device {
    fn traits(&self) -> Traits {
        Traits { size: Bytes::gib(1), align: 512, longest: 1 << 20, carries_data: false, read_only: false }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        if self.flying.len() >= self.slots {
            return Submitted::Full(request);
        }
        let mut end = now + self.service;
        if end >= self.stall.0 && now < self.stall.1 {
            end = end.max(self.stall.1);
        }
        let mut completion = Completion::of(&request, end, Ok(()));
        completion.service = end.since(now);
        self.flying.push_back(completion);
        Submitted::Taken(Ticket(request.tag))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        for _ in 0..self.per_poll.min(self.flying.len()) {
            if self.flying.front().is_some_and(|completion| completion.end <= now) {
                out.extend(self.flying.pop_front());
            }
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        self.flying.front().map_or(Wakeup::Idle, |completion| Wakeup::At(completion.end))
    }

    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

fn spec(arrival: Arrival) -> Spec {
    Spec {
        pattern: Pattern::Random,
        read_percent: 100,
        blocks: Blocks::of(Bytes::kib(4)),
        range: Range::default(),
        arrival,
        flush_every: None,
        pace: None,
        connections: 1,
        requests: None,
        seed: 7,
    }
}

fn lane(workload: usize, spec: &Spec, target: Box<dyn Target>) -> Lane {
    let stream = Stream::new(spec, Bytes::gib(1), 0, Time::ZERO).unwrap();
    Lane { workload, object: ObjectId(0), stream, target, memory: Box::new(NoMemory), losses: LossCounts::default() }
}

fn seconds(n: u64) -> Time {
    Time::ZERO + Span::from_secs(n)
}

fn reads(seen: &WorkloadSecond) -> &Track {
    &seen.tape[Tape::READ]
}

fn open_loop(slots: usize) -> WorkloadSecond {
    // 1000 a second for 10 s, and from 4 s on the device stands still for half a second.
    let rate = Arrival::Open { rate: Iops(1000), spacing: Spacing::Uniform, outstanding: 1000 };
    let stall = (seconds(4), seconds(4) + Span::from_millis(500));
    let device = Device { stall, ..Device::new(Span::from_micros(100), slots) };
    let mut worker = Worker::new(1, vec![lane(0, &spec(rate), Box::new(device))]);
    worker.run(&mut Clock(Time::ZERO), seconds(10));
    worker.collect().remove(0)
}

#[test]
fn a_device_that_stands_still_cannot_hide() {
    // 500 of 10 000 requests are due while it stands still, the first of them 500 ms before its
    // end. The slowest 1 % are the first 100 of those: they waited from 400 to 500 ms. It takes all
    // of them at once, so service says the same.
    let seen = open_loop(usize::MAX);
    assert!((9_990..=10_010).contains(&reads(&seen).ops), "{}", reads(&seen).ops);
    for histogram in [&reads(&seen).response, &reads(&seen).service] {
        let p99 = histogram.quantile(0.99);
        assert!((Span::from_millis(396)..=Span::from_millis(404)).contains(&p99), "{p99}");
        assert!(histogram.max() >= Span::from_millis(499) && histogram.max() <= Span::from_millis(501));
    }
    assert_eq!(seen.tape.punctuality.late, 0);
}

#[test]
fn a_device_that_takes_nothing_while_it_stands_still_cannot_hide_either() {
    // With one place it holds a single request for the half second. The others are due all the
    // same, wait here, and are worked off afterwards, one in 0.1 ms: the one due k ms into the
    // stall responds after 500 - k + 0.1 k ms. The slowest 1 % are the first 100: 410 ms and more.
    let seen = open_loop(1);
    assert!((9_990..=10_010).contains(&reads(&seen).ops));
    let p99 = reads(&seen).response.quantile(0.99);
    assert!((Span::from_millis(400)..=Span::from_millis(420)).contains(&p99), "{p99}");
    assert!(reads(&seen).service.quantile(0.99) <= Span::from_micros(102), "the device itself is quick but for one");
    // Late by more than a millisecond are those with 500 - 0.9 k > 1: some 554.
    assert!((545..=560).contains(&seen.tape.punctuality.late), "{}", seen.tape.punctuality.late);
    assert!(
        (Span::from_millis(498)..=Span::from_millis(501)).contains(&seen.tape.punctuality.late_most),
        "{}",
        seen.tape.punctuality.late_most
    );
}

/// Requests that were due and never made are reported: 1000 a second for 20 s on a device that
/// takes one at a time and needs 5 ms. 20 000 were due, 4000 were made, so 16 000 were never sent.
/// A closed loop reports none.
#[test]
fn what_was_due_and_never_sent_is_told() {
    let rate = Arrival::Open { rate: Iops(1000), spacing: Spacing::Uniform, outstanding: 1 };
    let device = Device::new(Span::from_millis(5), 1);
    let mut worker = Worker::new(1, vec![lane(0, &spec(rate), Box::new(device))]);
    worker.run(&mut Clock(Time::ZERO), seconds(20));
    let seen = worker.collect().remove(0);
    let schedule = seen.tape.punctuality;
    assert!(schedule.scheduled);
    assert!((3_995..=4_000).contains(&reads(&seen).ops), "{}", reads(&seen).ops);
    assert_eq!(
        reads(&seen).ops + u64::from(seen.outstanding) + schedule.never_sent,
        20_000,
        "one due at the end is not in it"
    );
    assert!((3_990..=4_002).contains(&schedule.held), "each but the first met the cap: {schedule:?}");
    let closed =
        Worker::new(1, vec![lane(0, &spec(Arrival::Closed { depth: 1 }), Box::new(Device::new(Span::SECOND, 1)))]);
    assert_eq!({ closed }.collect()[0].tape.punctuality, Punctuality::default());
}

/// Reads and writes have their own times, and the whole is their sum.
#[test]
fn classes_are_told_apart() {
    let device = Device::new(Span::from_millis(2), usize::MAX);
    let mixed = Spec { read_percent: 50, ..spec(Arrival::Closed { depth: 4 }) };
    let mut worker = Worker::new(1, vec![lane(0, &mixed, Box::new(device))]);
    worker.run(&mut Clock(Time::ZERO), seconds(5));
    let seen = worker.collect().remove(0);
    for direction in [Direction::Read, Direction::Write] {
        let track = &seen.tape[direction];
        assert_eq!([track.response.count(), track.service.count(), track.gate.count()], [track.ops; 3]);
    }
    assert!(reads(&seen).ops.min(seen.tape[Tape::WRITE].ops) > 4_000, "{:?}", seen.tape);
    assert_eq!(seen.tape.merged(|track| &track.response).count(), seen.tape.ops());
}

#[test]
fn a_closed_loop_keeps_its_depth_and_no_more() {
    // Depth 4 at 2 ms is 2000 a second.
    let device = Device::new(Span::from_millis(2), usize::MAX);
    let mut worker = Worker::new(1, vec![lane(0, &spec(Arrival::Closed { depth: 4 }), Box::new(device))]);
    worker.run(&mut Clock(Time::ZERO), seconds(5));
    let seen = worker.collect().remove(0);
    assert!((9_996..=10_000).contains(&reads(&seen).ops), "{}", reads(&seen).ops);
    assert_eq!(seen.outstanding, 4);
    assert_eq!(
        (reads(&seen).response.min(), reads(&seen).response.max()),
        (Span::from_millis(2), Span::from_millis(2))
    );
    assert_eq!(seen.tape.punctuality.late, 0);
}

#[test]
fn a_lane_hears_of_what_another_lanes_poll_brought() {
    // Three lanes share a device that returns one completion a poll, so each lane's polls also
    // return others' completions.
    // polls.
    let device = Device { per_poll: 1, ..Device::new(Span::from_millis(1), usize::MAX) };
    let hub = Hub::new(device);
    let closed = spec(Arrival::Closed { depth: 1 });
    let lanes = (0..3).map(|workload| lane(workload, &closed, Box::new(hub.socket()))).collect();
    let mut worker = Worker::new(3, lanes);
    worker.run(&mut Clock(Time::ZERO), seconds(2));
    for seen in worker.collect() {
        assert!((1999..=2000).contains(&reads(&seen).ops), "{}", reads(&seen).ops);
        assert_eq!(
            (reads(&seen).response.min(), reads(&seen).response.max()),
            (Span::from_millis(1), Span::from_millis(1))
        );
    }
}

#[test]
fn a_reshape_holds_from_the_next_request_on_and_silence_ends_what_is_under_way() {
    let device = Device::new(Span::from_millis(1), usize::MAX);
    let closed = |depth| spec(Arrival::Closed { depth });
    let mut worker = Worker::new(1, vec![lane(0, &closed(2), Box::new(device))]);
    let mut clock = Clock(Time::ZERO);
    worker.run(&mut clock, seconds(1));
    assert!((1998..=2000).contains(&reads(&worker.collect()[0]).ops));
    worker.reshape(clock.now(), 0, &closed(8));
    worker.run(&mut clock, seconds(2));
    assert!((7990..=8000).contains(&reads(&worker.collect()[0]).ops));
    worker.reshape(clock.now(), 0, &Spec { connections: 0, ..closed(1) });
    worker.run(&mut clock, seconds(3));
    let last = worker.collect().remove(0);
    assert_eq!(last.outstanding, 0);
    assert!(reads(&last).ops <= 8, "{}", reads(&last).ops);
}

/// A target that fails every request, and a memory that counts buffers.
struct Broken(Vec<Completion>);

impl Target for Broken {
    fn traits(&self) -> Traits {
        Device::new(Span::ZERO, 0).traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let tag = request.tag;
        self.0.push(Completion::refuse(request, now + Span::from_millis(10), block::Fault::Io));
        Submitted::Taken(Ticket(tag))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.extend(self.0.extract_if(.., |completion| completion.end <= now));
    }

    fn next_wakeup(&self) -> Wakeup {
        self.0.first().map_or(Wakeup::Idle, |completion| Wakeup::At(completion.end))
    }

    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

struct Counting(Rc<RefCell<i64>>);

impl engine::Memory for Counting {
    fn take(&mut self, len: u32) -> Option<block::Buf> {
        // Room for three.
        let mut out = self.0.borrow_mut();
        (*out < 3).then(|| {
            *out += 1;
            block::Buf::nothing(len)
        })
    }

    fn give(&mut self, _buf: block::Buf) {
        *self.0.borrow_mut() -= 1;
    }
}

#[test]
fn failures_are_counted_apart_and_give_their_memory_back() {
    let out = Rc::new(RefCell::new(0));
    let writes = Spec { read_percent: 0, ..spec(Arrival::Closed { depth: 5 }) };
    let memory = Box::new(Counting(Rc::clone(&out)));
    let mut worker = Worker::new(1, vec![Lane { memory, ..lane(0, &writes, Box::new(Broken(Vec::new()))) }]);
    worker.run(&mut Clock(Time::ZERO), seconds(1));
    let seen = worker.collect().remove(0);
    // Three at a time for 10 ms each, though five were wished for.
    assert!((297..=300).contains(&seen.tape[Tape::WRITE].failed));
    assert_eq!(
        (seen.tape.ops(), seen.tape.merged(|track| &track.response).count()),
        (0, 0),
        "a failure has no response time"
    );
    assert_eq!(i64::from(seen.outstanding), *out.borrow());
}

/// At its end a worker makes no more requests and waits for those outstanding, in a closed and in
/// an open loop; for a stalled device it waits no longer than allowed.
#[test]
fn a_worker_settles_before_it_goes() {
    let rate = Arrival::Open { rate: Iops(10_000), spacing: Spacing::Uniform, outstanding: 1000 };
    for arrival in [Arrival::Closed { depth: 8 }, rate] {
        let device = Device::new(Span::from_millis(3), 1000);
        let mut worker = Worker::new(1, vec![lane(0, &spec(arrival), Box::new(device))]);
        let mut clock = Clock(Time::ZERO);
        worker.run(&mut clock, seconds(1));
        let [before] = &worker.collect()[..] else { panic!("one workload") };
        assert!(before.outstanding >= 8, "{before:?}");
        worker.settle(&mut clock, seconds(3));
        let [after] = &worker.collect()[..] else { panic!("one workload") };
        // The last was made at 1 s at the latest, and takes 3 ms.
        assert_eq!((after.outstanding, reads(after).ops), (0, u64::from(before.outstanding)));
        assert!(clock.0 <= seconds(1) + Span::from_millis(3), "{:?}", clock.0);
    }
    let stall = (seconds(1), seconds(60));
    let device = Device { stall, ..Device::new(Span::from_millis(3), 8) };
    let mut worker = Worker::new(1, vec![lane(0, &spec(Arrival::Closed { depth: 8 }), Box::new(device))]);
    let mut clock = Clock(Time::ZERO);
    worker.run(&mut clock, seconds(2));
    worker.settle(&mut clock, seconds(4));
    assert_eq!((worker.collect()[0].outstanding, clock.0), (8, seconds(4)));
}
