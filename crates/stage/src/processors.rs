//! The processors of a simulated server: each request occupies one of them for a time before it
//! goes on, in order of arrival.

use block::{Completion, OpKind, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use workload::plan::PlanProcessors;

/// How much of the time the processors worked.
#[derive(Clone, Default)]
pub struct Busy(Rc<Cell<Worked>>);

#[derive(Clone, Copy, Default)]
struct Worked {
    span: Span,
    processors: u32,
}

impl Busy {
    /// The part of the last `length` that they worked; then counts anew.
    pub fn take(&self, length: Span) -> f64 {
        let Worked { span, processors } = self.0.get();
        self.0.set(Worked { span: Span::ZERO, processors });
        let all = length.as_secs_f64() * f64::from(processors);
        if all > 0.0 { (span.as_secs_f64() / all).min(1.0) } else { 0.0 }
    }
}

/// Processors in front of a device.
pub struct Processors {
    inner: Box<dyn Target>,
    times: PlanProcessors,
    busy: Busy,
    /// When each processor is free.
    free: Vec<Time>,
    /// Requests in the order in which they go on: when that is, and when they came.
    working: VecDeque<(Time, Time, Request)>,
    /// How long those that have gone on had taken here, by tag.
    took: HashMap<u64, Span>,
    tickets: u64,
    /// The device refused the last request.
    is_stuck: bool,
}

impl Processors {
    /// Processors that are all free.
    pub fn new(inner: Box<dyn Target>, times: PlanProcessors, busy: Busy) -> Processors {
        busy.0.set(Worked { span: Span::ZERO, processors: times.count });
        let free = vec![Time::ZERO; times.count as usize];
        let (working, took) = Default::default();
        Processors { inner, times, busy, free, working, took, tickets: 0, is_stuck: false }
    }
}

impl Target for Processors {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let time = if request.op.kind() == OpKind::Read { self.times.read } else { self.times.write };
        let Some(first) = self.free.iter_mut().min() else { return self.inner.submit(now, request) };
        let end = now.max(*first) + time;
        *first = end;
        let worked = self.busy.0.get();
        self.busy.0.set(Worked { span: worked.span + time, ..worked });
        let place = self.working.partition_point(|(other, ..)| *other <= end);
        self.working.insert(place, (end, now, request));
        self.tickets += 1;
        Submitted::Taken(Ticket(self.tickets))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        self.is_stuck = false;
        while self.working.front().is_some_and(|(end, ..)| *end <= now)
            && let Some((end, came, request)) = self.working.pop_front()
        {
            let tag = request.tag;
            if let Submitted::Full(request) = self.inner.submit(now, request) {
                self.working.push_front((end, came, request));
                self.is_stuck = true;
                break;
            }
            self.took.insert(tag, now.since(came));
        }
        let before = out.len();
        self.inner.poll(now, out);
        // The gate sees all of it as the device's time.
        for completion in &mut out[before..] {
            completion.service += self.took.remove(&completion.tag).unwrap_or_default();
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        // A request that is due and did not go on waits for room in the device.
        let next = self.working.front().map(|(end, ..)| *end).filter(|_| !self.is_stuck);
        next.map_or(Wakeup::Idle, Wakeup::At).sooner(self.inner.next_wakeup())
    }

    /// Work that a processor has begun is not cancelled.
    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}
