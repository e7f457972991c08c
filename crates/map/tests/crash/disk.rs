//! A disk that loses power.
//!
//! The fault model: a sector of 512 bytes is written whole or not at all. A write that was not flushed, or had not even
//! ended, leaves each of its sectors as it was or as it would be, in any mixture, and independently of all others: so
//! writes are dropped, torn and reordered. A flush covers what had ended when it was made, in its own region. A durable
//! write is safe when it ends, and makes nothing else safe. What was never written holds junk. A flush that fails may
//! drop anything that it should have covered, and says so once.

use block::Fault;
use map::{Command, Media, Patch, Region, Token};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;

pub const SECTOR: u64 = 512;
pub type Sector = [u8; SECTOR as usize];

type Key = (Region, u64);

/// One sector's change that is not safe yet.
struct Unsafe {
    key: Key,
    data: Sector,
    number: u64,
}

/// A command at the disk.
enum Work {
    /// Sectors on their way.
    Write { region: Region, at: u64, bytes: Vec<u8>, durable: bool },
    /// The first half of a patch.
    Read { patch: Patch, data: Option<Vec<u8>> },
    /// Covers changes up to this number.
    Flush { region: Region, until: u64 },
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Of 1000 writes of data, so many fail.
    pub writes: u64,
    /// Of 1000 flushes and of 1000 writes of metadata, so many fail.
    pub flushes: u64,
}

pub struct Disk {
    safe: BTreeMap<Key, (u64, Sector)>,
    now: BTreeMap<Key, Sector>,
    loose: Vec<Unsafe>,
    work: Vec<(Token, Work)>,
    numbers: u64,
    pub faults: Faults,
}

pub fn pick(rng: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    rng.next_u64() % below
}

impl Disk {
    pub fn new() -> Disk {
        let (safe, now) = (BTreeMap::new(), BTreeMap::new());
        Disk { safe, now, loose: Vec::new(), work: Vec::new(), numbers: 0, faults: Faults::default() }
    }

    /// Bytes that are safe from the start.
    pub fn plant(&mut self, region: Region, bytes: &[u8]) {
        for (sector, data) in bytes.as_chunks::<512>().0.iter().enumerate() {
            self.safe.insert((region, sector as u64), (0, *data));
            self.now.insert((region, sector as u64), *data);
        }
    }

    pub fn is_idle(&self) -> bool {
        self.work.is_empty()
    }

    /// Takes a command; `data` has the bytes of the ask that it is for.
    pub fn start(&mut self, command: Command, data: impl Fn(u64) -> Vec<u8>) {
        let (token, work) = match command {
            Command::Write { token, id, from, to, len, durable } => {
                let bytes = data(id)[from as usize..(from + len) as usize].to_vec();
                (token, Work::Write { region: Region::Data, at: to, bytes, durable })
            }
            Command::Patch { token, id, patch } => {
                let part = |from: u32| data(id)[from as usize..(from + patch.bytes) as usize].to_vec();
                (token, Work::Read { patch, data: patch.from.map(part) })
            }
            Command::Flush { token, region } => (token, Work::Flush { region, until: self.numbers }),
            Command::Store { token, region, at, bytes, durable } => (token, Work::Write { region, at, bytes, durable }),
        };
        self.work.push((token, work));
    }

    /// Ends one of the commands, or half of one.
    pub fn step(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<(Token, Result<(), Fault>)> {
        if self.work.is_empty() {
            return None;
        }
        let at = pick(rng, self.work.len() as u64) as usize;
        let (token, work) = self.work.swap_remove(at);
        match work {
            Work::Read { patch, data } => {
                let write = self.put_together(&patch, data);
                self.work.push((token, write));
                None
            }
            Work::Write { region, at, bytes, durable } => {
                let odds = if region == Region::Data { self.faults.writes } else { self.faults.flushes };
                let fails = pick(rng, 1000) < odds;
                for (index, data) in bytes.as_chunks::<512>().0.iter().enumerate() {
                    // A write that fails may have gone half of the way.
                    if !fails || pick(rng, 2) == 0 {
                        self.put((region, at / SECTOR + index as u64), *data, durable && !fails);
                    }
                }
                let fault = if pick(rng, 2) == 0 { Fault::Io } else { Fault::NoSpace };
                Some((token, if fails { Err(fault) } else { Ok(()) }))
            }
            Work::Flush { region, until } => Some((token, self.flush(region, until, rng))),
        }
    }

    /// The power goes, and comes again: what is safe stays, and of the rest something.
    pub fn crash(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let work = std::mem::take(&mut self.work);
        for (_, work) in work {
            if let Work::Write { region, at, bytes, .. } = work {
                for (index, data) in bytes.as_chunks::<512>().0.iter().enumerate() {
                    self.numbers += 1;
                    let key = (region, at / SECTOR + index as u64);
                    self.loose.push(Unsafe { key, data: *data, number: self.numbers });
                }
            }
        }
        // Some crashes keep all of one region and nothing of another: that finds what relies on an order.
        let regions = [Region::Data, Region::Log, Region::Nodes, Region::Table(0), Region::Table(1)];
        let keep: Vec<(Region, u64)> =
            regions.map(|region| (region, [0, 50, 100, 20, 90][pick(rng, 5) as usize])).into();
        let mut loose = std::mem::take(&mut self.loose);
        for at in (1..loose.len()).rev() {
            loose.swap(at, pick(rng, at as u64 + 1) as usize);
        }
        for Unsafe { key, data, number } in loose {
            let odds = keep.iter().find(|(region, _)| *region == key.0).map_or(0, |(_, odds)| *odds);
            if pick(rng, 100) < odds {
                self.make_safe(key, data, number);
            }
        }
        self.now = self.safe.iter().map(|(key, (_, data))| (*key, *data)).collect();
    }

    /// A sector as it reads now.
    pub fn sector(&self, region: Region, sector: u64) -> Sector {
        self.now.get(&(region, sector)).copied().unwrap_or_else(|| junk(region, sector))
    }

    fn put_together(&self, patch: &Patch, data: Option<Vec<u8>>) -> Work {
        let mut bytes = vec![0xee; patch.len as usize];
        if let Some(source) = patch.read {
            assert!(source.into + source.len <= patch.len);
            for (index, to) in bytes[source.into as usize..][..source.len as usize].chunks_mut(512).enumerate() {
                to.copy_from_slice(&self.sector(Region::Data, source.at / SECTOR + index as u64));
            }
        }
        for (page, to) in bytes.chunks_mut(4096).enumerate() {
            if patch.clear >> page & 1 == 1 {
                to.fill(0);
            }
        }
        let laid = data.unwrap_or_else(|| vec![0; patch.bytes as usize]);
        bytes[patch.into as usize..][..patch.bytes as usize].copy_from_slice(&laid);
        Work::Write { region: Region::Data, at: patch.to, bytes, durable: patch.durable }
    }

    fn put(&mut self, key: Key, data: Sector, durable: bool) {
        self.numbers += 1;
        self.now.insert(key, data);
        match durable {
            true => self.make_safe(key, data, self.numbers),
            false => self.loose.push(Unsafe { key, data, number: self.numbers }),
        }
    }

    /// Safe, unless something newer is. A sector that was lost to a crash in favour of an older write starts anew.
    fn make_safe(&mut self, key: Key, data: Sector, number: u64) {
        let safe = self.safe.entry(key).or_insert((0, data));
        if safe.0 <= number {
            *safe = (number, data);
        }
    }

    fn flush(&mut self, region: Region, until: u64, rng: &mut Xoshiro256PlusPlus) -> Result<(), Fault> {
        let fails = pick(rng, 1000) < self.faults.flushes;
        for entry in std::mem::take(&mut self.loose) {
            if entry.key.0 != region || entry.number > until {
                self.loose.push(entry);
            } else if !fails || pick(rng, 2) == 0 {
                self.make_safe(entry.key, entry.data, entry.number);
            }
        }
        if fails { Err(Fault::Io) } else { Ok(()) }
    }
}

/// What stands where nothing was written: never zeroes in the data, so that reading it is noticed.
fn junk(region: Region, sector: u64) -> Sector {
    let word = if region == Region::Data { 0xbad0_0000_0000_0000 | sector } else { 0 };
    let mut data = [0; SECTOR as usize];
    data.as_chunks_mut::<8>().0.fill(word.to_le_bytes());
    data
}

impl Media for &Disk {
    fn read(&mut self, region: Region, at: u64, buf: &mut [u8]) -> Result<usize, Fault> {
        let last =
            self.now.range((region, 0)..=(region, u64::MAX)).next_back().map_or(0, |((_, sector), _)| sector + 1);
        let there = (last * SECTOR).saturating_sub(at).min(buf.len() as u64) as usize;
        for (index, to) in buf[..there].chunks_mut(512).enumerate() {
            let data = self.sector(region, at / SECTOR + index as u64);
            to.copy_from_slice(&data[..to.len()]);
        }
        Ok(there)
    }
}
