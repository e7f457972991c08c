//! One thread's share of a run: many lanes, each a stream and its target, and one driver that
//! waits.

use block::{
    Actor, Buf, Completion, Driver, Fault, ObjectId, Op, OpKind, Request, Submitted, Target, Time, Wait, Wakeup, drive,
};
use stats::job::{Losses, Reasons};
use stats::run::Class;
use stats::{Ended, Noted, Tape};
use storage::LossCounts;
use workload::{Draft, Next, Spec, Stream};

/// What a workload did since it was last collected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadSecond {
    /// Its requests. For an open loop, requests overdue at the end count as never sent. Kinds other
    /// than read, write, trim and flush have the class [`Class::OTHER`].
    pub tape: Tape,
    /// Requests outstanding now.
    pub outstanding: u32,
    /// Why requests failed, as far as their storage says.
    pub reasons: Reasons,
    /// Connections and data lost.
    pub losses: Losses,
}

/// How often a pass polls the same lane at most. A lane is polled again while completions let it
/// make more requests, and a target that completes at once would never end that. Only the driver's
/// turn reads the clock.
const LOOKS_MOST: usize = 8;

/// A stream and its target.
pub struct Lane {
    /// The index of its workload.
    pub workload: usize,
    /// The storage object that its requests name.
    pub object: ObjectId,
    /// Where its requests come from.
    pub stream: Stream,
    /// Where its requests go.
    pub target: Box<dyn Target>,
    /// Source of its write buffers.
    pub memory: Box<dyn Memory>,
    /// Connections and data that its target loses.
    pub losses: LossCounts,
}

/// Provides a lane's write buffers and takes back buffers of reads.
pub trait Memory {
    /// A buffer with `len` bytes of data to write; `None` if none is free.
    fn take(&mut self, len: u32) -> Option<Buf>;
    /// Returns a buffer.
    fn give(&mut self, buf: Buf);
}

/// Memory for targets that carry no data.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMemory;

impl Memory for NoMemory {
    fn take(&mut self, len: u32) -> Option<Buf> {
        Some(Buf::nothing(len))
    }
    fn give(&mut self, _buf: Buf) {}
}

/// A set of lanes with one driver.
pub struct Worker {
    lanes: Vec<Running>,
    /// One tape for each workload.
    tapes: Vec<Tape>,
    /// Why requests failed, for each workload.
    reasons: Vec<Reasons>,
    completions: Vec<Completion>,
    /// The time of the last pass.
    now: Time,
    /// Whether no new requests are made any more.
    settling: bool,
}

struct Running {
    lane: Lane,
    /// A request that the target had no room for; it goes first. A write that found no free buffer
    /// is in `starved`.
    held: Option<Request>,
    starved: Option<Draft>,
    outstanding: u32,
    next_tag: u64,
    /// When the stream has its next request.
    not_before: Option<Time>,
    /// The target has gone away: no more requests are made, as each would fail at once.
    is_lost: bool,
}

impl Worker {
    /// A worker with these lanes and `workloads` workloads.
    pub fn new(workloads: usize, lanes: Vec<Lane>) -> Worker {
        let mut worker = Worker {
            lanes: Vec::new(),
            tapes: (0..workloads).map(|_| tape()).collect(),
            reasons: vec![Reasons::default(); workloads],
            completions: Vec::new(),
            now: Time::ZERO,
            settling: false,
        };
        worker.add(lanes);
        worker
    }

    /// Adds lanes of a workload whose storage exists only now.
    pub fn add(&mut self, lanes: Vec<Lane>) {
        let running = |lane| Running {
            lane,
            held: None,
            starved: None,
            outstanding: 0,
            next_tag: 0,
            not_before: None,
            is_lost: false,
        };
        self.lanes.extend(lanes.into_iter().map(running));
    }

    /// Drives every lane until `until`; completions at exactly that time are included.
    pub fn run(&mut self, driver: &mut dyn Driver, until: Time) {
        let look = |now, _: &mut [Worker]| if now >= until { Wait::End } else { Wait::Until(until) };
        drive(driver, std::slice::from_mut(self), look);
    }

    /// Makes no more requests, and drives every lane until all outstanding requests have completed
    /// or until `latest`. Closing a connection in the middle of a server's replies can look like a
    /// fault to it: nbdkit 1.32 then exits.
    pub fn settle(&mut self, driver: &mut dyn Driver, latest: Time) {
        self.settling = true;
        self.run(driver, latest);
    }

    /// Changes the load of a workload from now on: as many lanes as `spec` has connections become
    /// active, the others idle.
    pub fn reshape(&mut self, now: Time, workload: usize, spec: &Spec) {
        for running in self.lanes.iter_mut().filter(|running| running.lane.workload == workload) {
            // The plan's reader has checked the spec against this target's size.
            let shaped = running.lane.stream.reshape(now, spec);
            debug_assert!(shaped.is_ok(), "{shaped:?}");
            running.not_before = None;
        }
    }

    /// What each workload did since the last call.
    pub fn collect(&mut self) -> Vec<WorkloadSecond> {
        let mut seconds = Vec::with_capacity(self.tapes.len());
        for (workload, tape) in self.tapes.iter_mut().enumerate() {
            let (mut outstanding, mut losses) = (0, Losses::default());
            for running in self.lanes.iter_mut().filter(|running| running.lane.workload == workload) {
                outstanding += running.outstanding;
                losses.absorb(&running.lane.losses.take());
                if let Some(overdue) = running.overdue(self.now) {
                    tape.punctuality.scheduled = true;
                    tape.punctuality.never_sent += overdue;
                }
            }
            let reasons = std::mem::take(&mut self.reasons[workload]);
            seconds.push(WorkloadSecond { tape: tape.take(self.now), outstanding, reasons, losses });
            tape.punctuality.scheduled = false;
        }
        seconds
    }
}

impl Actor for Worker {
    fn pass(&mut self, now: Time) {
        self.now = now;
        for running in &mut self.lanes {
            let workload = running.lane.workload;
            let (tape, reasons) = (&mut self.tapes[workload], &mut self.reasons[workload]);
            // If work is left after that, the target asks to be polled at once.
            for _ in 0..LOOKS_MOST {
                running.lane.target.poll(now, &mut self.completions);
                running.take(now, &mut self.completions, tape, reasons);
                if self.settling || running.is_lost || running.issue(now, tape) == 0 {
                    break;
                }
            }
        }
    }

    fn next_wakeup(&self, _now: Time) -> Wakeup {
        let wakeup = |running: &Running| match self.settling || running.is_lost {
            // The stream's next request no longer matters.
            true => running.lane.target.next_wakeup(),
            false => running.next_wakeup(),
        };
        self.lanes.iter().map(wakeup).fold(Wakeup::Idle, Wakeup::sooner)
    }

    fn is_over(&self, _now: Time) -> bool {
        self.settling && self.lanes.iter().all(|running| running.outstanding == 0)
    }
}

impl Running {
    /// Requests of an open loop that were due before now and are not submitted; `None` for a closed
    /// loop. One that is due exactly now belongs to the next second.
    fn overdue(&self, now: Time) -> Option<u64> {
        let waiting = u64::from(self.held.is_some()) + u64::from(self.starved.is_some());
        self.lane.stream.is_scheduled().then(|| self.lane.stream.overdue(now - block::Span::from_nanos(1)) + waiting)
    }

    fn take(&mut self, now: Time, completions: &mut Vec<Completion>, tape: &mut Tape, reasons: &mut Reasons) {
        for mut completion in completions.drain(..) {
            let class = class_of(completion.kind);
            match completion.result {
                Ok(()) => tape.ended(&Ended::of(class, &completion)),
                Err(fault) => {
                    self.is_lost |= fault == Fault::Gone;
                    completion.why().into_iter().for_each(|why| reasons.count(why));
                    tape.failed(class, false);
                }
            }
            if let Some(buf) = completion.buf.take() {
                self.lane.memory.give(buf);
            }
            self.outstanding -= 1;
            self.lane.stream.completed(now);
            self.not_before = None;
        }
    }

    /// Makes requests that are due; returns how many the target took.
    fn issue(&mut self, now: Time, tape: &mut Tape) -> usize {
        let mut taken = 0;
        if self.not_before.is_some_and(|at| at > now) {
            return 0;
        }
        while let Some(request) = self.next_request(now) {
            let due = request.due;
            match self.lane.target.submit(now, request) {
                Submitted::Taken(_) => {
                    if self.lane.stream.is_scheduled() {
                        tape.made(due, now, self.lane.stream.cap_met());
                    }
                    self.outstanding += 1;
                    taken += 1;
                }
                Submitted::Full(request) => {
                    self.held = Some(request);
                    break;
                }
            }
        }
        taken
    }

    fn next_request(&mut self, now: Time) -> Option<Request> {
        self.not_before = None;
        if let Some(request) = self.held.take() {
            return Some(request);
        }
        let draft = match self.starved.take() {
            Some(draft) => draft,
            None => match self.lane.stream.next(now) {
                Next::Issue(draft) => draft,
                Next::NotBefore(at) => {
                    self.not_before = Some(at);
                    return None;
                }
                Next::WaitForCompletion | Next::Done => return None,
            },
        };
        let op = match draft.kind {
            OpKind::Read => Op::Read,
            OpKind::Write => match self.lane.memory.take(draft.len as u32) {
                Some(buf) => Op::Write(buf),
                None => {
                    self.starved = Some(draft);
                    return None;
                }
            },
            OpKind::Trim => Op::Trim,
            OpKind::Zero => Op::Zero { no_hole: false, fast_only: false },
            OpKind::Flush => Op::Flush,
            OpKind::Cache => Op::Cache,
            OpKind::Status => Op::Status { sharing: false },
        };
        self.next_tag = (self.next_tag + 1) & 0xffff_ffff;
        let object = self.lane.object;
        Some(Request { tag: self.next_tag, object, at: draft.at, len: draft.len, op, fua: false, due: draft.due })
    }

    fn next_wakeup(&self) -> Wakeup {
        let stream = self.not_before.map_or(Wakeup::Idle, Wakeup::At);
        self.lane.target.next_wakeup().sooner(stream)
    }
}

/// A workload's tape. It covers one second, so it has no slices.
fn tape() -> Tape {
    let mut tape = Tape::new(Time::ZERO, Noted { gate: true, ..Noted::default() });
    tape.add(Class::OTHER);
    tape
}

/// The class in which a request is counted.
fn class_of(kind: OpKind) -> usize {
    match kind {
        OpKind::Read => Tape::READ,
        OpKind::Write => Tape::WRITE,
        OpKind::Trim => Tape::TRIM,
        OpKind::Flush => Tape::FLUSH,
        OpKind::Zero | OpKind::Cache | OpKind::Status => Tape::OWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Bytes, Span, Ticket, Traits};
    use workload::{Arrival, Blocks, Pattern, Range, SpecError};

    /// Completes every request at once, and counts requests between two readings of the clock.
    #[derive(Default)]
    struct AtOnce {
        ended: Vec<Completion>,
        last: Time,
        asked: u64,
        /// Every request fails, as of a server that has gone away.
        is_gone: bool,
    }

    impl Target for AtOnce {
        fn traits(&self) -> Traits {
            Traits { size: Bytes::gib(1), align: 1, longest: u32::MAX, carries_data: false, read_only: false }
        }

        fn submit(&mut self, now: Time, request: Request) -> Submitted {
            self.asked = if now == self.last { self.asked + 1 } else { 1 };
            self.last = now;
            assert!(self.asked < 10_000, "nobody looks at the clock");
            let result = if self.is_gone { Err(Fault::Gone) } else { Ok(()) };
            self.ended.push(Completion::of(&request, now, result));
            Submitted::Taken(Ticket(request.tag))
        }

        fn poll(&mut self, _now: Time, out: &mut Vec<Completion>) {
            out.append(&mut self.ended);
        }

        fn next_wakeup(&self) -> Wakeup {
            if self.ended.is_empty() { Wakeup::Idle } else { Wakeup::Now }
        }

        fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
    }

    /// A driver whose every turn takes a microsecond, whatever it waits for.
    struct Ticking(Time);

    impl Driver for Ticking {
        fn now(&self) -> Time {
            self.0
        }

        fn turn(&mut self, _until: Option<Time>) -> Time {
            self.0 += Span::from_micros(1);
            self.0
        }
    }

    /// Eight requests at a time for a millisecond; what each workload did.
    fn a_millisecond(target: AtOnce) -> Result<Vec<WorkloadSecond>, SpecError> {
        let spec = Spec {
            pattern: Pattern::Random,
            read_percent: 100,
            blocks: Blocks::of(Bytes::kib(4)),
            range: Range::default(),
            arrival: Arrival::Closed { depth: 8 },
            flush_every: None,
            pace: None,
            connections: 1,
            requests: None,
            seed: 1,
        };
        let lane = Lane {
            workload: 0,
            object: ObjectId(0),
            stream: Stream::new(&spec, Bytes::gib(1), 0, Time::ZERO)?,
            target: Box::new(target),
            memory: Box::new(NoMemory),
            losses: LossCounts::default(),
        };
        let mut worker = Worker::new(1, vec![lane]);
        worker.run(&mut Ticking(Time::ZERO), Time::ZERO + Span::from_millis(1));
        Ok(worker.collect())
    }

    /// A run ends on time even if its target completes everything at once.
    #[test]
    fn a_target_that_ends_everything_at_once_stops_no_clock() -> Result<(), SpecError> {
        let seconds = a_millisecond(AtOnce::default())?;
        let ops: u64 = seconds[0].tape.tracks().map(|track| track.ops).sum();
        // 8 requests a look, 8 looks a pass, a pass a microsecond, and the passes at both ends.
        assert!((64_000..=64_128).contains(&ops), "{ops}");
        Ok(())
    }

    /// What was in flight when a target went away has failed, and nothing more is asked of it.
    #[test]
    fn a_target_that_has_gone_away_is_asked_no_more() -> Result<(), SpecError> {
        let seconds = a_millisecond(AtOnce { is_gone: true, ..AtOnce::default() })?;
        let failed: u64 = seconds[0].tape.tracks().map(|track| track.failed).sum();
        assert_eq!(failed, 8);
        Ok(())
    }
}
