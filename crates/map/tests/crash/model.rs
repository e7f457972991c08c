//! What a tree may contain, sector by sector.
//!
//! Every write of a sector is a *version*. A version is superseded when another one was started
//! after it had ended, and has also ended. Reads return a version that is not superseded. After a
//! power failure, only versions known to be durable supersede others: those that had ended when a
//! flush was asked that was answered, and those with FUA that were answered. So writes that overlap
//! in time may end either way, and nothing else is allowed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The times of an operation, in events.
#[derive(Debug)]
pub struct Times {
    pub begun: u64,
    pub ended: Cell<Option<u64>>,
    /// It is durable by itself.
    pub durable: Cell<bool>,
}

#[derive(Clone, Debug)]
pub struct Version {
    pub value: u64,
    pub times: Rc<Times>,
}

/// The sectors of a tree; missing ones were never written.
#[derive(Clone, Debug, Default)]
pub struct Content {
    sectors: BTreeMap<u64, Vec<Version>>,
}

/// Which versions count.
#[derive(Clone, Copy, Debug)]
pub enum Known {
    /// All that had ended at this time.
    Ended(u64),
    /// Those that had ended at this time, and those with FUA: what survives a power failure.
    Durable(u64),
}

impl Known {
    fn counts(self, times: &Times) -> bool {
        match (self, times.ended.get()) {
            (_, None) => false,
            (Known::Ended(until), Some(ended)) => ended <= until,
            (Known::Durable(until), Some(ended)) => ended <= until || times.durable.get(),
        }
    }
}

impl Content {
    /// Adds a write to a sector.
    pub fn write(&mut self, sector: u64, value: u64, times: &Rc<Times>) {
        let versions = self.sectors.entry(sector).or_insert_with(|| vec![Version::base(0)]);
        versions.push(Version { value, times: Rc::clone(times) });
    }

    /// From here on a sector has this value.
    pub fn fix(&mut self, sector: u64, value: u64) {
        self.sectors.insert(sector, vec![Version::base(value)]);
    }

    /// Nothing from this sector on was ever written.
    pub fn cut(&mut self, sector: u64) {
        self.sectors.split_off(&sector);
    }

    /// Whether a sector may have a value.
    pub fn may_hold(&self, sector: u64, value: u64, known: Known) -> bool {
        self.sectors.get(&sector).map_or(value == 0, |versions| may_hold(versions, value, known))
    }

    /// The first sector with a value that is not allowed, and the value.
    pub fn first_wrong(&self, values: &[u64], known: Known) -> Option<(u64, u64)> {
        let mut written = self.sectors.iter().peekable();
        values.iter().zip(0..).find_map(|(value, sector)| {
            let good = match written.next_if(|(next, _)| **next == sector) {
                Some((_, versions)) => may_hold(versions, *value, known),
                None => *value == 0,
            };
            (!good).then_some((sector, *value))
        })
    }

    /// What a sector may contain, for a message.
    pub fn choices(&self, sector: u64, known: Known) -> Vec<u64> {
        let Some(versions) = self.sectors.get(&sector) else { return vec![0] };
        versions.iter().filter(|version| !superseded(version, versions, known)).map(|version| version.value).collect()
    }
}

fn may_hold(versions: &[Version], value: u64, known: Known) -> bool {
    versions.iter().any(|version| version.value == value && !superseded(version, versions, known))
}

fn superseded(version: &Version, all: &[Version], known: Known) -> bool {
    let Some(ended) = version.times.ended.get() else { return false };
    all.iter().any(|other| known.counts(&other.times) && ended < other.times.begun)
}

impl Version {
    /// What was there before everything else.
    fn base(value: u64) -> Version {
        let times = Times { begun: 0, ended: Cell::new(Some(0)), durable: Cell::new(true) };
        Version { value, times: Rc::new(times) }
    }
}
