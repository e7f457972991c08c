//! A link: writes take their data down it, reads bring theirs up, both ways at once.
//!
//! ```text
//!               ┌─ flow 1 ─┐                     a request takes the flows in turn; its data has left when both
//!   request ──► ├─ flow 2 ─┤ ──► the whole       the flow and the link have carried it
//!               └─ flow n ─┘      link
//! ```
//! Each is a server: data of S bytes keeps its flow busy for `S / flow` and the link for `S /
//! bandwidth`, one after the other in the order of arrival. It arrives when both are through, plus
//! the latency. A link of one flow is its own limit; sixteen flows of 5 Gb/s reach the link's limit
//! (`nconnect`).

use block::{Bytes, OpKind, Span, Time};

use crate::agenda::Agenda;
use crate::device::{DeviceError, none_zero};
use crate::simulated::{Job, Medium};
use crate::stage::Below;

/// A path for data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Bytes a second in each direction.
    pub bandwidth: Bytes,
    /// From one end to the other, each way.
    pub latency: Span,
    /// Bytes a second that one flow carries in each direction; `None`: no less than the link.
    pub flow: Option<Bytes>,
    /// How many flows there are; requests take them in turn.
    pub flows: u32,
}

impl Link {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        let flow = self.flow.map_or(1, |flow| flow.0);
        none_zero("link", &[("bandwidth", self.bandwidth.0), ("flow", flow), ("flows", self.flows.into())])
    }
}

impl Default for Link {
    /// Fibre Channel at 8 Gb/s: 800 MB/s after its coding, 10 µs.
    fn default() -> Link {
        Link { bandwidth: Bytes(800_000_000), latency: Span::from_micros(10), flow: None, flows: 1 }
    }
}

/// Both directions, and what is behind them.
#[derive(Debug)]
pub(crate) struct Wires {
    down: Direction,
    up: Direction,
    below: Below,
    jobs: Vec<Option<Job>>,
    arriving: Agenda<u32>,
    returning: Agenda<u32>,
    ended_below: Vec<u32>,
}

/// One direction.
#[derive(Debug)]
struct Direction {
    spec: Link,
    percent: u32,
    /// When each flow has carried all that it was given.
    flows: Vec<Time>,
    /// The flow that the next data takes.
    turn: u32,
    /// When the link has carried all that it was given.
    whole: Time,
}

impl Direction {
    fn new(spec: Link) -> Direction {
        Direction { percent: 100, flows: vec![Time::ZERO; spec.flows as usize], turn: 0, whole: Time::ZERO, spec }
    }

    /// When so many bytes that come now will have arrived. Only data takes turns: if requests
    /// without data did too, half of an even number of flows could carry nothing.
    fn carry(&mut self, now: Time, len: u64) -> Time {
        let flow = self.turn;
        if len > 0 {
            self.turn = if flow + 1 < self.spec.flows { flow + 1 } else { 0 };
        }
        let percent = self.percent.max(1);
        let takes = |rate: Bytes| Span::from_nanos(nanos(len, rate.0, percent));
        self.whole = self.whole.max(now) + takes(self.spec.bandwidth);
        let Some(rate) = self.spec.flow else { return self.whole + self.spec.latency };
        let free = &mut self.flows[flow as usize];
        *free = (*free).max(now) + takes(rate);
        self.whole.max(*free) + self.spec.latency
    }
}

/// Nanoseconds of `len` bytes at this percentage of a rate per second, rounded down. Where
/// everything fits in 64 bits, below 184 MB, the division is an instruction and not a call.
pub(crate) fn nanos(len: u64, rate: u64, percent: u32) -> u64 {
    const SECOND_PERCENT: u64 = 100_000_000_000;
    if len == 0 {
        return 0;
    }
    match (len.checked_mul(SECOND_PERCENT), rate.checked_mul(percent.into())) {
        (Some(whole), Some(rate)) => whole / rate,
        _ => {
            let ns = u128::from(len) * u128::from(SECOND_PERCENT) / (u128::from(rate) * u128::from(percent));
            u64::try_from(ns).unwrap_or(u64::MAX)
        }
    }
}

impl Wires {
    pub(crate) fn new(spec: &Link, below: Box<dyn Medium>) -> Wires {
        let direction = || Direction::new(spec.clone());
        let (arriving, returning) = (Agenda::new(), Agenda::new());
        Wires {
            down: direction(),
            up: direction(),
            below: Below::new(below),
            jobs: Vec::new(),
            arriving,
            returning,
            ended_below: Vec::new(),
        }
    }
}

impl Medium for Wires {
    fn arrive(&mut self, now: Time, job: Job) {
        let slot = job.slot as usize;
        if self.jobs.len() <= slot {
            self.jobs.resize(slot + 1, None);
        }
        self.jobs[slot] = Some(job);
        let bytes = if job.kind == OpKind::Write { job.len } else { 0 };
        let at = self.down.carry(now, bytes);
        self.arriving.note(at, job.slot);
    }

    fn next_event(&self) -> Time {
        self.arriving.next().min(self.returning.next()).min(self.below.next_event())
    }

    /// What is not on its way up yet takes at least that way's time.
    fn next_end(&self) -> Time {
        let on_its_way = self.arriving.next().min(self.below.next_end()) + self.up.spec.latency;
        self.returning.next().min(on_its_way)
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        while let Some(slot) = self.arriving.take_due(now) {
            let job = self.jobs[slot as usize].expect("it came");
            self.below.arrive(now, job);
        }
        if self.below.is_due(now) {
            let mut below = std::mem::take(&mut self.ended_below);
            self.below.step(now, &mut below);
            for slot in below.drain(..) {
                let job = self.jobs[slot as usize].expect("it came");
                let bytes = if job.kind == OpKind::Read { job.len } else { 0 };
                let at = self.up.carry(now, bytes);
                self.returning.note(at, slot);
            }
            self.ended_below = below;
        }
        while let Some(slot) = self.returning.take_due(now) {
            ended.push(slot);
        }
    }

    /// What is on the wire cannot be withdrawn.
    fn withdraw(&mut self, _now: Time, _slot: u32) -> bool {
        false
    }

    fn scale(&mut self, now: Time, percent: u32) {
        (self.down.percent, self.up.percent) = (percent, percent);
        self.below.scale(now, percent);
    }
}
