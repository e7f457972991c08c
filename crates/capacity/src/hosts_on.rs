//! Hosts on an array: what each gets while every writer stays in its phase, by the array's means,
//! with ceilings and floors.
//!
//! Ceilings hold a host's reads and blocks together. A floor acts where a protected host gets less
//! than it promises and less than it would get alone: then those without a floor are slowed until
//! it does not, or until they are at a thousandth.

use array::{Array, Flow};
use block::{Bytes, OpKind};
use ramp::{BLOCK, Constants, Doing, RampLoad, Rates, Steady};
use std::collections::HashMap;

/// Hosts alike and what their policies promise and allow, in operations a second.
#[derive(Clone, Debug, PartialEq)]
pub struct HostLoad {
    /// What each asks.
    pub load: RampLoad,
    /// What each has of floors, over all its volumes.
    pub floor: Option<f64>,
    /// What its ceilings allow each, over all its volumes.
    pub ceiling: Option<f64>,
    /// How many they are: one, unless several do the same at the same time.
    pub alike: u32,
    /// Over how many bytes the reads of all that share a cache are spread; `None` for so many that
    /// no cache holds a part to speak of.
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
    /// What was computed already, by what the writers do.
    known: HashMap<Vec<Doing>, Vec<Rates>>,
}

/// How far those without a floor are slowed at most.
const LEAST: f64 = 1e-3;
/// Steps of the search for how far.
const HALVES: usize = 20;

impl<'a> HostsOn<'a> {
    /// These hosts, with the test's numbers; `credit` is whether stages with credit for bursts have
    /// some left.
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

    /// By host its reads and its writes; what each asks is taken times `part`.
    fn flows(&self, doing: &[Doing], part: impl Fn(usize) -> f64) -> Vec<Flow> {
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
                Doing::Sleeps => (Bytes(BLOCK), 0.0),
                Doing::Journal => (Bytes(self.journal * BLOCK), part),
                Doing::Blocks => (Bytes(BLOCK), self.writers * part),
            };
            // A request of the journal is one operation, whatever its size.
            let left = host.ceiling.map_or(f64::INFINITY, |ceiling| (ceiling - rate).max(ceiling / 100.0));
            let most = if *doing == Doing::Sleeps { 0.0 } else { left };
            let outstanding = outstanding * alike;
            flows.push(Flow { kind: OpKind::Write, len, rate: most * alike, outstanding, spread });
        }
        flows
    }

    fn solve(&self, doing: &[Doing], part: impl Fn(usize) -> f64) -> Vec<Rates> {
        let means = self.array.means(&self.flows(doing, part), self.credit);
        let rates = |(index, doing): (usize, &Doing)| {
            let (read, write) = (means.flows[2 * index], means.flows[2 * index + 1]);
            let blocks = match doing {
                Doing::Sleeps => 0.0,
                Doing::Journal => write.rate * self.journal as f64,
                Doing::Blocks => write.rate,
            };
            let alike = f64::from(self.hosts[index].alike);
            Rates { blocks: blocks / alike, reads: read.rate / alike, read_response: read.response }
        };
        doing.iter().enumerate().map(rates).collect()
    }

    /// Whether every host with a floor has it, or what it would have alone.
    fn floors_hold(&self, doing: &[Doing], found: &[Rates], alone: &[Rates]) -> bool {
        let operations = |index: usize, rates: &Rates| match doing[index] {
            Doing::Journal => rates.reads + rates.blocks / self.journal as f64,
            _ => rates.reads + rates.blocks,
        };
        self.hosts.iter().enumerate().all(|(index, host)| {
            let wants = host.floor.map_or(0.0, |floor| floor.min(operations(index, &alone[index])));
            operations(index, &found[index]) >= 0.999 * wants
        })
    }

    fn found(&self, doing: &[Doing]) -> Vec<Rates> {
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
    fn rates(&mut self, doing: &[Doing]) -> Vec<Rates> {
        if let Some(known) = self.known.get(doing) {
            return known.clone();
        }
        let found = self.found(doing);
        self.known.insert(doing.to_vec(), found.clone());
        found
    }
}
