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
    /// How much longer each of them takes, so that all together have the capacity asked for: in
    /// parts of `per`.
    takes: u64,
    per: u64,
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
        let (waiting, running) = (VecDeque::new(), Agenda::new());
        Servers { open: servers, takes: 1, per: 1, servers, work, busy: 0, waiting, behind, running }
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
        self.running.note(now + self.held(self.work.of(job)), job.slot);
    }

    /// How long work holds a server at the present capacity, rounded up to the nanosecond.
    fn held(&self, work: Span) -> Span {
        if self.takes == self.per {
            return work;
        }
        let ns = (u128::from(work.as_nanos()) * u128::from(self.takes)).div_ceil(u128::from(self.per));
        Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
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

    /// Fewer servers, or more; those that are busy finish what they have. Servers are whole: of 10,
    /// 25 % are 3 that take 1.2 times as long.
    fn scale(&mut self, now: Time, percent: u32) {
        let wanted = u64::from(self.servers) * u64::from(percent);
        let open = u32::try_from(wanted.div_ceil(100)).unwrap_or(u32::MAX);
        (self.open, self.takes, self.per) = (open, u64::from(open) * 100, wanted.max(1));
        if open == 0 {
            (self.takes, self.per) = (1, 1);
        }
        self.begin(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests that end within ten seconds, with enough of them waiting.
    fn served(percent: u32) -> u64 {
        let (servers, service) = (10, Span::from_millis(1));
        let spec = ParallelServers { servers, service, size_unit: None, flush: Span::ZERO, trim: Span::ZERO };
        let mut servers = Servers::new(&spec);
        servers.scale(Time::ZERO, percent);
        let job = |slot| Job { slot, kind: OpKind::Read, at: 0, len: 4096, fua: false, lun: 0 };
        (0..100).for_each(|slot| servers.arrive(Time::ZERO, job(slot)));
        let (mut count, mut ended) = (0, Vec::new());
        while servers.next_event() <= Time::ZERO + Span::from_secs(10) {
            let now = servers.next_event();
            servers.step(now, &mut ended);
            for slot in ended.drain(..) {
                count += 1;
                servers.arrive(now, job(slot));
            }
        }
        count
    }

    /// Ten servers of 1 ms do 10 000 requests a second, so 1000 in ten seconds for each percent.
    #[test]
    fn every_percentage_has_its_capacity() {
        for percent in [1, 5, 25, 50, 99, 100, 101, 150] {
            let (count, wanted) = (served(percent), u64::from(percent) * 1000);
            assert!(count.abs_diff(wanted) <= 10, "{percent} %: {count}");
        }
        assert_eq!(served(0), 0);
    }
}
