//! A disk of sectors. In a power failure, each sector that was not flushed may be lost
//! independently, and writes in flight may be there in part.

use block::Fault;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use tree::TreeMedia;

pub const SECTOR: u64 = 512;
type Sector = [u8; SECTOR as usize];

/// The disk.
#[derive(Default)]
pub struct Disk {
    durable: BTreeMap<u64, Sector>,
    /// What a read returns.
    seen: BTreeMap<u64, Sector>,
    /// Written since the last flush, in order.
    loose: Vec<(u64, Sector)>,
}

/// A random number below `below`.
pub fn pick(rng: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    rng.next_u64() % below
}

impl Disk {
    pub fn write(&mut self, at: u64, bytes: &[u8], durable: bool) {
        assert!(at.is_multiple_of(SECTOR) && (bytes.len() as u64).is_multiple_of(SECTOR), "{at}");
        for (number, sector) in bytes.chunks_exact(SECTOR as usize).enumerate() {
            let (key, sector) = (at / SECTOR + number as u64, sector.try_into().unwrap());
            self.seen.insert(key, sector);
            match durable {
                true => {
                    // It is later than everything unflushed there.
                    self.loose.retain(|(loose, _)| *loose != key);
                    self.durable.insert(key, sector);
                }
                false => self.loose.push((key, sector)),
            }
        }
    }

    /// What was never written is zeroes already.
    pub fn zero(&mut self, at: u64, len: u64, durable: bool) {
        let there: Vec<u64> = self.seen.range(at / SECTOR..(at + len) / SECTOR).map(|(key, _)| *key).collect();
        for key in there {
            self.write(key * SECTOR, &[0; SECTOR as usize], durable);
        }
    }

    pub fn flush(&mut self) {
        self.durable.extend(self.loose.drain(..));
    }

    /// A part of a write that was in flight.
    pub fn tear(&mut self, at: u64, bytes: &[u8], rng: &mut Xoshiro256PlusPlus) {
        let keep = pick(rng, 4);
        for (number, sector) in bytes.chunks_exact(SECTOR as usize).enumerate() {
            if pick(rng, 3) < keep {
                let (key, sector) = (at / SECTOR + number as u64, sector.try_into().unwrap());
                self.seen.insert(key, sector);
                self.loose.push((key, sector));
            }
        }
    }

    /// Does the same with zeroes.
    pub fn tear_zeroes(&mut self, at: u64, len: u64, rng: &mut Xoshiro256PlusPlus) {
        let there: Vec<u64> = self.seen.range(at / SECTOR..(at + len) / SECTOR).map(|(key, _)| *key).collect();
        for key in there {
            self.tear(key * SECTOR, &[0; SECTOR as usize], rng);
        }
    }

    /// The power fails: some of the unflushed sectors survive.
    pub fn crash(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let keep = pick(rng, 5);
        for (key, sector) in std::mem::take(&mut self.loose) {
            if pick(rng, 4) < keep {
                self.durable.insert(key, sector);
            }
        }
        self.seen = self.durable.clone();
    }

    pub fn sector(&self, at: u64) -> Sector {
        self.seen.get(&(at / SECTOR)).copied().unwrap_or([0; SECTOR as usize])
    }
}

impl TreeMedia for Disk {
    fn read(&mut self, at: u64, buf: &mut [u8]) -> Result<(), Fault> {
        for (number, part) in buf.chunks_mut(SECTOR as usize).enumerate() {
            let sector = self.sector(at + number as u64 * SECTOR);
            part.copy_from_slice(&sector[..part.len()]);
        }
        Ok(())
    }
}
