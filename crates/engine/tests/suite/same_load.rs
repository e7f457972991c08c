//! The same load on the same device has the same figures as a plan's lane and as a load job.

use block::{Bytes, Completion, Driver, ObjectId, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup};
use engine::job::Simulation;
use engine::{Lane, NoMemory, Worker};
use stats::{Tape, Track};
use std::cell::Cell;
use std::rc::Rc;
use storage::LossCounts;
use workload::job::{Direction, Ending, JobPlace, JobSpec, Mix, Pacing};
use workload::{Arrival, Blocks, Pattern, Range, Spec, Stream};

const REQUESTS: u64 = 10_000;
const BLOCK: u64 = 4096;

/// A driver that jumps to the time it waits for.
#[derive(Clone, Default)]
struct Clock(Rc<Cell<Time>>);

impl Driver for Clock {
    fn now(&self) -> Time {
        self.0.get()
    }

    fn turn(&mut self, until: Option<Time>) -> Time {
        self.0.set(self.0.get().max(until.expect("virtual time never waits without end")));
        self.0.get()
    }
}

/// Serves any number of requests in parallel. The latency of request n depends only on n and is
/// seldom the same twice in a row: 50 to 450 µs, and 20 ms for each 1000th.
#[derive(Default)]
struct Device {
    taken: u64,
    flying: Vec<Completion>,
}

impl Target for Device {
    fn traits(&self) -> Traits {
        Traits { size: Bytes::gib(1), align: 512, longest: 1 << 20, carries_data: false, read_only: false }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        self.taken += 1;
        let slow = if self.taken.is_multiple_of(1000) { 20_000 } else { 0 };
        let service = Span::from_micros(50 + self.taken * 7919 % 401 + slow);
        let end = now + service;
        self.flying.push(Completion { service, ..Completion::of(&request, end, Ok(())) });
        Submitted::Taken(Ticket(request.tag))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.extend(self.flying.extract_if(.., |completion| completion.end <= now));
    }

    fn next_wakeup(&self) -> Wakeup {
        self.flying.iter().map(|completion| completion.end).min().map_or(Wakeup::Idle, Wakeup::At)
    }

    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

fn lane(direction: Direction, depth: u32) -> Tape {
    let spec = Spec {
        pattern: Pattern::Sequential,
        read_percent: if direction == Direction::Read { 100 } else { 0 },
        blocks: Blocks::of(Bytes(BLOCK)),
        range: Range::default(),
        arrival: Arrival::Closed { depth },
        flush_every: None,
        pace: None,
        connections: 1,
        requests: Some(REQUESTS),
        seed: 7,
    };
    let stream = Stream::new(&spec, Bytes::gib(1), 0, Time::ZERO).unwrap();
    let target = Box::new(Device::default());
    let lane = Lane {
        workload: 0,
        object: ObjectId(0),
        stream,
        target,
        memory: Box::new(NoMemory),
        losses: LossCounts::default(),
    };
    let mut worker = Worker::new(1, vec![lane]);
    worker.run(&mut Clock::default(), Time::ZERO + Span::from_secs(60));
    worker.collect().remove(0).tape
}

fn job(direction: Direction, depth: u32) -> Tape {
    let mut spec = JobSpec {
        name: "j".into(),
        place: JobPlace::Null { size: Bytes::gib(1) },
        pacing: Pacing { depth, ..Pacing::default() },
        ending: Ending { requests: Some(REQUESTS), ..Ending::default() },
        seed: 7,
        ..JobSpec::default()
    };
    spec.reach.mix = Mix::Only(direction);
    let simulation = Simulation::of(&[spec]).unwrap();
    let outcomes = simulation.run(Box::new(Device::default()), &Clock::default(), &mut || false, &mut |_, _| Ok(None));
    let [outcome] = &outcomes[..] else { panic!("one job") };
    assert_eq!(outcome.error, None);
    outcome.tape.clone()
}

fn assert_same(lane: &Tape, job: &Tape, direction: Direction) {
    let figures = |track: &Track| (track.ops, track.bytes, track.failed);
    assert_eq!(figures(&lane[direction]), (REQUESTS, REQUESTS * BLOCK, 0));
    for class in [Tape::READ, Tape::WRITE, Tape::TRIM, Tape::FLUSH] {
        assert_eq!(figures(&lane[class]), figures(&job[class]), "class {class}");
        assert_eq!(lane[class].response, job[class].response, "response times of class {class}");
        assert_eq!(lane[class].service, job[class].service, "service times of class {class}");
    }
}

#[test]
fn a_closed_loop_is_the_same_as_a_lane_and_as_a_job() {
    for (direction, depth) in [(Direction::Read, 1), (Direction::Read, 4), (Direction::Write, 32)] {
        let (lane, job) = (lane(direction, depth), job(direction, depth));
        assert_same(&lane, &job, direction);
        assert_eq!(lane.punctuality, job.punctuality);
        // The device alone decides how long a request takes.
        assert_eq!(lane[direction].service.max(), lane[direction].response.max());
    }
}
