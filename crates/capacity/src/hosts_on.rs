//! Hosts on an array: the rates of each while every writer stays in its phase, from the array's
//! means, with ceilings and floors.
//!
//! Ceilings limit the sum of a host's reads and blocks. A floor acts if a protected host gets less
//! than its floor and less than it would get alone. Then hosts without a floor are slowed until
//! that is no longer so, or until they are at a thousandth.

use array::{Array, Flow};
use block::{Bytes, OpKind};
use ramp::{BLOCK, Constants, HostPhase, RampLoad, Rates, Steady};
use std::collections::HashMap;

/// Identical hosts, with their floors and ceilings in operations a second.
#[derive(Clone, Debug, PartialEq)]
pub struct HostLoad {
    /// The load of each.
    pub load: RampLoad,
    /// The floor of each, over all its volumes.
    pub floor: Option<f64>,
    /// The ceiling of each, over all its volumes.
    pub ceiling: Option<f64>,
    /// Number of hosts: one, unless several do the same at the same time.
    pub alike: u32,
    /// The space over which the reads of all hosts that share a cache are spread; `None` if it is
    /// too large for a cache to hold a significant part.
    pub spread: Option<Bytes>,
}

impl HostLoad {
    /// One host without policies.
    pub fn of(load: RampLoad) -> HostLoad {
        HostLoad { load, floor: None, ceiling: None, alike: 1, spread: None }
    }
}

/// Hosts on an array.
pub struct HostsOn<'a> {
    array: &'a Array,
    hosts: &'a [HostLoad],
    writers: f64,
    readers: f64,
    journal: u64,
    credit: bool,
    /// Results that were already computed, by what the writers do.
    known: HashMap<Vec<HostPhase>, Vec<Rates>>,
}

/// The smallest fraction to which hosts without a floor are slowed.
const LEAST: f64 = 1e-3;
/// Steps of the bisection for that fraction.
const HALVES: usize = 20;

impl<'a> HostsOn<'a> {
    /// Hosts on an array with the test's constants; `credit` says whether stages with burst credits
    /// have some left.
    pub fn new(array: &'a Array, hosts: &'a [HostLoad], constants: &Constants, credit: bool) -> HostsOn<'a> {
        HostsOn {
            array,
            hosts,
            writers: constants.writers.into(),
            readers: constants.readers.into(),
            journal: ramp::journal_write(constants),
            credit,
            known: HashMap::new(),
        }
    }

    /// The reads and writes of each host, with its load multiplied by `part`.
    fn flows(&self, doing: &[HostPhase], part: impl Fn(usize) -> f64) -> Vec<Flow> {
        let mut flows = Vec::with_capacity(2 * doing.len());
        for (index, (host, doing)) in self.hosts.iter().zip(doing).enumerate() {
            let (part, alike) = (part(index), f64::from(host.alike));
            let read = Bytes(BLOCK);
            let mut rate = host.load.reads_per_second() * part;
            rate = host.ceiling.map_or(rate, |ceiling| rate.min(ceiling));
            let spread = host.spread;
            let outstanding = self.readers * part * alike;
            flows.push(Flow { kind: OpKind::Read, len: read, rate: rate * alike, outstanding, spread });
            let (len, outstanding) = match doing {
                HostPhase::Sleeps => (Bytes(BLOCK), 0.0),
                HostPhase::Journal => (Bytes(self.journal * BLOCK), part),
                HostPhase::Blocks => (Bytes(BLOCK), self.writers * part),
            };
            // A request to the journal counts as one operation, whatever its size.
            let left = host.ceiling.map_or(f64::INFINITY, |ceiling| (ceiling - rate).max(ceiling / 100.0));
            let most = if *doing == HostPhase::Sleeps { 0.0 } else { left };
            let outstanding = outstanding * alike;
            flows.push(Flow { kind: OpKind::Write, len, rate: most * alike, outstanding, spread });
        }
        flows
    }

    fn solve(&self, doing: &[HostPhase], part: impl Fn(usize) -> f64) -> Vec<Rates> {
        let means = self.array.means(&self.flows(doing, part), self.credit);
        let rates = |(index, doing): (usize, &HostPhase)| {
            let (read, write) = (means.flows[2 * index], means.flows[2 * index + 1]);
            let blocks = match doing {
                HostPhase::Sleeps => 0.0,
                HostPhase::Journal => write.rate * self.journal as f64,
                HostPhase::Blocks => write.rate,
            };
            let alike = f64::from(self.hosts[index].alike);
            Rates { blocks: blocks / alike, reads: read.rate / alike, read_response: read.response }
        };
        doing.iter().enumerate().map(rates).collect()
    }

    /// Whether every host with a floor reaches it, or what it would have alone.
    fn floors_hold(&self, doing: &[HostPhase], found: &[Rates], alone: &[Rates]) -> bool {
        let operations = |index: usize, rates: &Rates| match doing[index] {
            HostPhase::Journal => rates.reads + rates.blocks / self.journal as f64,
            _ => rates.reads + rates.blocks,
        };
        self.hosts.iter().enumerate().all(|(index, host)| {
            let wants = host.floor.map_or(0.0, |floor| floor.min(operations(index, &alone[index])));
            operations(index, &found[index]) >= 0.999 * wants
        })
    }

    fn found(&self, doing: &[HostPhase]) -> Vec<Rates> {
        let together = self.solve(doing, |_| 1.0);
        if self.hosts.iter().all(|host| host.floor.is_none()) {
            return together;
        }
        let slowed = |part: f64| self.solve(doing, |index| if self.hosts[index].floor.is_some() { 1.0 } else { part });
        let alone = slowed(LEAST);
        if self.floors_hold(doing, &together, &alone) {
            return together;
        }
        let (mut low, mut high) = (LEAST, 1.0);
        for _ in 0..HALVES {
            let middle = f64::midpoint(low, high);
            let holds = self.floors_hold(doing, &slowed(middle), &alone);
            *(if holds { &mut low } else { &mut high }) = middle;
        }
        slowed(low)
    }
}

impl Steady for HostsOn<'_> {
    fn rates(&mut self, doing: &[HostPhase]) -> Vec<Rates> {
        if let Some(known) = self.known.get(doing) {
            return known.clone();
        }
        let found = self.found(doing);
        self.known.insert(doing.to_vec(), found.clone());
        found
    }
}
