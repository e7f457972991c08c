//! N servers of fixed latency behind one queue: the simplest device with a capacity,
//! `servers / service` requests a second, and the one whose every figure can be worked out by hand.
//!
//! ```text
//!                      ┌─ server ─┐
//!   ──► first come ──► ├─ server ─┤ ──►      a request of S bytes holds one server for
//!       first served   └─ server ─┘          service × (1 + S / size_unit)
//! ```

use std::collections::VecDeque;

use block::{Bytes, OpKind, Span, Time};

use crate::agenda::Agenda;
use crate::simulated::{Job, Medium, withdraw};
use crate::work::Work;

/// Parallel servers of fixed latency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParallelServers {
    /// How many requests are served at once.
    pub servers: u32,
    /// How long a read or write of no size holds its server.
    pub service: Span,
    /// A read or write of S bytes holds its server for `service × (1 + S / size_unit)`, rounded up
    /// to the nanosecond. `None`: size costs nothing.
    pub size_unit: Option<Bytes>,
    /// How long a flush holds its server; a write with forced unit access takes this much longer.
    pub flush: Span,
    /// How long a trim or zeroing holds its server, whatever its length. A status request costs the
    /// same.
    pub trim: Span,
}

impl ParallelServers {
    /// How long requests hold their server.
    fn work(&self) -> Work {
        let &ParallelServers { service, size_unit, flush, trim, .. } = self;
        Work { read: service, write: service, size_unit, flush, trim }
    }
}

/// The servers at work.
#[derive(Debug)]
pub(crate) struct Servers {
    servers: u32,
    work: Work,
    /// How many servers may begin something new.
    open: u32,
    busy: u32,
    waiting: VecDeque<Job>,
    /// Writes that wait until no read does; `None` where both wait in one queue.
    behind: Option<VecDeque<Job>>,
    running: Agenda<u32>,
}

impl Servers {
    pub(crate) fn new(spec: &ParallelServers) -> Servers {
        Servers::that(spec.servers, spec.work(), false)
    }

    /// So many servers that do this work. With `reads_first`, no write begins while a read waits.
    pub(crate) fn that(servers: u32, work: Work, reads_first: bool) -> Servers {
        let behind = reads_first.then(VecDeque::new);
        Servers { open: servers, servers, work, busy: 0, waiting: VecDeque::new(), behind, running: Agenda::new() }
    }

    /// Gives free servers something to do.
    fn begin(&mut self, now: Time) {
        while self.busy < self.open {
            let next = self.waiting.pop_front().or_else(|| self.behind.as_mut()?.pop_front());
            let Some(job) = next else { return };
            self.run(now, &job);
        }
    }

    fn run(&mut self, now: Time, job: &Job) {
        self.busy += 1;
        self.running.note(now + self.work.of(job), job.slot);
    }
}

impl Medium for Servers {
    fn arrive(&mut self, now: Time, job: Job) {
        if self.busy < self.open {
            // Nothing waits while a server is idle.
            return self.run(now, &job);
        }
        match &mut self.behind {
            Some(behind) if job.kind == OpKind::Write => behind.push_back(job),
            _ => self.waiting.push_back(job),
        }
    }

    fn next_event(&self) -> Time {
        self.running.next()
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        while let Some(slot) = self.running.take_due(now) {
            self.busy -= 1;
            ended.push(slot);
            self.begin(now);
        }
    }

    fn withdraw(&mut self, _now: Time, slot: u32) -> bool {
        withdraw(&mut self.waiting, slot) || self.behind.as_mut().is_some_and(|behind| withdraw(behind, slot))
    }

    /// Fewer servers; those that are busy finish what they have. At least one stays open unless the
    /// percentage is 0.
    fn scale(&mut self, now: Time, percent: u32) {
        let open = u64::from(self.servers) * u64::from(percent) / 100;
        self.open = u32::try_from(open).unwrap_or(u32::MAX).max(u32::from(percent > 0));
        self.begin(now);
    }
}
