//! Host bus adapters (HBAs), which bound the requests outstanding to each LUN and to all LUNs of a
//! host. Further requests wait in the host, first come first served.
//!
//! ```text
//!   request ──► [queue of its LUN] ──► [adapter of its host] ──► what follows
//!                 at most `queue`         at most `adapter`
//! ```
//! With N outstanding and a response time of R behind it, at most `N / R` requests go per second
//! (Little's law): a host with 32 outstanding to storage that answers in 1 ms does 32 000 a second,
//! however many its applications ask for.

use std::collections::VecDeque;

use block::Time;

use crate::device::{DeviceError, none_zero};
use crate::simulated::{Job, Medium, withdraw};
use crate::stage::Below;

/// The adapters of all hosts, which are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAdapters {
    /// How many hosts there are.
    pub hosts: u32,
    /// How many LUNs each host has. LUNs are given to hosts in the order of their first requests,
    /// and after the last host to the first again.
    pub luns: u32,
    /// Requests outstanding to a LUN at most.
    pub queue: u32,
    /// Requests outstanding to all LUNs of a host at most.
    pub adapter: u32,
}

impl HostAdapters {
    /// Requests outstanding of all hosts at most.
    pub fn outstanding(&self) -> u64 {
        let lun = u64::from(self.queue) * u64::from(self.luns);
        u64::from(self.hosts) * lun.min(self.adapter.into())
    }

    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        let &HostAdapters { hosts, luns, queue, adapter } = self;
        let fields = [("hosts", hosts), ("luns", luns), ("queue", queue), ("adapter", adapter)];
        none_zero("hba", &fields.map(|(name, count)| (name, count.into())))
    }
}

impl Default for HostAdapters {
    /// One host with one LUN: 32 outstanding to it, the usual figure of drivers, and 2048 in all.
    fn default() -> HostAdapters {
        HostAdapters { hosts: 1, luns: 1, queue: 32, adapter: 2048 }
    }
}

/// The adapters at work.
#[derive(Debug)]
pub(crate) struct Adapters {
    spec: HostAdapters,
    luns: Vec<Queue>,
    hosts: Vec<Queue>,
    below: Below,
    /// By slot: its LUN while it is here or below.
    of: Vec<u16>,
}

/// What is outstanding, and what waits until that is less.
#[derive(Clone, Debug, Default)]
struct Queue {
    outstanding: u32,
    waiting: VecDeque<Job>,
}

impl Adapters {
    pub(crate) fn new(spec: HostAdapters, below: Box<dyn Medium>) -> Adapters {
        let hosts = vec![Queue::default(); spec.hosts as usize];
        Adapters { spec, luns: Vec::new(), hosts, below: Below::new(below), of: Vec::new() }
    }

    fn host_of(&self, lun: u16) -> usize {
        (u32::from(lun) / self.spec.luns % self.spec.hosts) as usize
    }

    /// A request has entered its LUN's queue: the adapter takes it, or it waits there.
    fn enter(&mut self, now: Time, job: Job) {
        let host = self.host_of(job.lun);
        let host = &mut self.hosts[host];
        if host.outstanding < self.spec.adapter {
            host.outstanding += 1;
            self.below.arrive(now, job);
        } else {
            host.waiting.push_back(job);
        }
    }

    /// A request has left its LUN's queue: the next comes in.
    fn leave_lun(&mut self, now: Time, lun: u16) {
        let queue = &mut self.luns[usize::from(lun)];
        match queue.waiting.pop_front() {
            Some(next) => self.enter(now, next),
            None => queue.outstanding -= 1,
        }
    }

    /// A request that was below has ended.
    fn ended(&mut self, now: Time, slot: u32) {
        let lun = self.of[slot as usize];
        let host = self.host_of(lun);
        let host = &mut self.hosts[host];
        match host.waiting.pop_front() {
            Some(next) => self.below.arrive(now, next),
            None => host.outstanding -= 1,
        }
        self.leave_lun(now, lun);
    }
}

impl Medium for Adapters {
    fn arrive(&mut self, now: Time, job: Job) {
        let (slot, lun) = (job.slot as usize, usize::from(job.lun));
        if self.of.len() <= slot {
            self.of.resize(slot + 1, 0);
        }
        if self.luns.len() <= lun {
            self.luns.resize(lun + 1, Queue::default());
        }
        self.of[slot] = job.lun;
        let queue = &mut self.luns[lun];
        if queue.outstanding < self.spec.queue {
            queue.outstanding += 1;
            self.enter(now, job);
        } else {
            queue.waiting.push_back(job);
        }
    }

    fn next_event(&self) -> Time {
        self.below.next_event()
    }

    fn next_end(&self) -> Time {
        self.below.next_end()
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        let before = ended.len();
        if self.below.is_due(now) {
            self.below.step(now, ended);
        }
        for &slot in &ended[before..] {
            self.ended(now, slot);
        }
    }

    fn withdraw(&mut self, now: Time, slot: u32) -> bool {
        let lun = self.of[slot as usize];
        let host = self.host_of(lun);
        if withdraw(&mut self.luns[usize::from(lun)].waiting, slot) {
            return true;
        }
        if withdraw(&mut self.hosts[host].waiting, slot) {
            self.leave_lun(now, lun);
            return true;
        }
        let is_gone = self.below.withdraw(now, slot);
        if is_gone {
            self.ended(now, slot);
        }
        is_gone
    }

    fn scale(&mut self, now: Time, percent: u32) {
        self.below.scale(now, percent);
    }
}
