//! A disk that loses power, or whose server dies.
//!
//! The fault model: a sector of 512 bytes is written completely or not at all. A write that was not
//! flushed, or had not even ended, leaves each of its sectors old or new, in any mixture, and
//! independently of all other writes: so writes are dropped, torn and reordered. A flush covers
//! what had ended when it was made, in its own region. A durable write is safe when it ends, and
//! makes nothing else safe. What was never written contains junk. A flush that fails may drop
//! anything that it should have covered, and reports it once.
//!
//! If only the server dies, what it wrote is read as it was written, but what was not flushed is no
//! safer for that. A write in flight is there or not. Data counts as written then, since from there
//! on the model knows a single value of each sector.
//!
//! The data may lie on several members, in segments by turns. Each loses power independently, and a
//! flush of the data is done when each has flushed. No command may cross the end of a segment. A
//! discard is a write of zeroes that is never made safe. A write may stop short and continue, so
//! that only parts of it are there. A member or region may be slow, so that everything else
//! overtakes it.
//! everything else overtakes it.

use block::Fault;
use map::{Command, Media, Patch, Region, Token};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::rc::Rc;

pub const SECTOR: u64 = 512;
pub type Sector = [u8; SECTOR as usize];

type Key = (Region, u64);

/// A change of one sector that is not safe yet.
struct Unsafe {
    key: Key,
    data: Rc<Sector>,
    number: u64,
}

/// A value for each sector of each region.
#[derive(Clone)]
struct Sectors<T>([Vec<Option<T>>; 6]);

impl<T> Sectors<T> {
    fn new() -> Sectors<T> {
        Sectors([const { Vec::new() }; 6])
    }

    fn of(&self, region: Region) -> &[Option<T>] {
        &self.0[Sectors::<T>::index(region)]
    }

    fn get(&self, (region, sector): Key) -> Option<&T> {
        self.of(region).get(sector as usize)?.as_ref()
    }

    fn place(&mut self, (region, sector): Key) -> &mut Option<T> {
        let sectors = &mut self.0[Sectors::<T>::index(region)];
        if sectors.len() <= sector as usize {
            sectors.resize_with(sector as usize + 1, || None);
        }
        &mut sectors[sector as usize]
    }

    fn index(region: Region) -> usize {
        match region {
            Region::Data => 0,
            Region::Log => 1,
            Region::Nodes => 2,
            Region::Table(turn) => 3 + usize::from(turn),
            Region::End => 5,
        }
    }
}

/// A command at the disk.
enum Work {
    /// Sectors being written.
    Write { region: Region, at: u64, bytes: Vec<u8>, durable: bool },
    /// The first half of a patch.
    Read { patch: Patch, data: Option<Vec<u8>> },
    /// Covers the changes of one part up to this number.
    Flush { part: Part, until: u64 },
}

/// What loses power and is flushed independently: a region, or a member of the data.
type Part = (Region, u64);

#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// How many of 1000 writes of data fail.
    pub writes: u64,
    /// How many of 1000 flushes, and of 1000 writes of metadata, fail.
    pub flushes: u64,
    /// How many of 1000 reads before a patch fail.
    pub reads: u64,
    /// How many of 1000 writes of more than a sector stop short.
    pub shorts: u64,
    /// It takes twenty times as long as the others.
    pub slow: Option<Part>,
}

/// How often each event occurred.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub shorts: u64,
    pub slow: u64,
    pub discards: u64,
    pub unread: u64,
}

pub struct Disk {
    safe: Sectors<(u64, Rc<Sector>)>,
    now: Sectors<Rc<Sector>>,
    loose: Vec<Unsafe>,
    work: Vec<(Token, Work)>,
    numbers: u64,
    /// For each flush in progress: the parts that are not done, and the result so far.
    flushing: BTreeMap<Token, (u64, Result<(), Fault>)>,
    members: u64,
    segment: u64,
    /// A flush has failed since the power came back: what reads as written may never be safe,
    /// however often it is flushed again.
    pub has_lost: bool,
    pub faults: Faults,
    pub seen: Seen,
}

/// The outcome of a command.
pub enum Outcome {
    Done(Result<(), Fault>),
    /// The read before it failed.
    Unread(Fault),
}

pub fn pick(rng: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    rng.next_u64() % below
}

impl Disk {
    /// A disk whose data lies on this many members, `segment` bytes on each in turn.
    pub fn new(members: u64, segment: u64) -> Disk {
        Disk {
            safe: Sectors::new(),
            now: Sectors::new(),
            loose: Vec::new(),
            work: Vec::new(),
            numbers: 0,
            flushing: BTreeMap::new(),
            members,
            segment,
            has_lost: false,
            faults: Faults::default(),
            seen: Seen::default(),
        }
    }

    /// All parts that lose power independently.
    pub fn parts(&self) -> Vec<Part> {
        let others = [Region::Log, Region::Nodes, Region::Table(0), Region::Table(1), Region::End];
        let others = others.map(|region| (region, 0));
        (0..self.members).map(|member| (Region::Data, member)).chain(others).collect()
    }

    fn part(&self, (region, sector): Key) -> Part {
        (region, if region == Region::Data { sector * SECTOR / self.segment % self.members } else { 0 })
    }

    fn must_fit(&self, at: u64, len: u64) {
        assert!(
            len > 0 && at / self.segment == (at + len - 1) / self.segment,
            "{len} bytes at {at} cross a segment's end"
        );
    }

    /// Writes bytes that are safe from the start.
    pub fn plant(&mut self, region: Region, bytes: &[u8]) {
        for (sector, data) in bytes.as_chunks::<512>().0.iter().enumerate() {
            let (key, data) = ((region, sector as u64), Rc::new(*data));
            *self.safe.place(key) = Some((0, Rc::clone(&data)));
            *self.now.place(key) = Some(data);
        }
    }

    pub fn is_idle(&self) -> bool {
        self.work.is_empty()
    }

    /// Starts a command; `data` returns the bytes of the ask that it is for.
    pub fn start(&mut self, command: Command, data: impl Fn(u64) -> Vec<u8>) {
        let (token, work) = match command {
            Command::Write { token, id, from, to, len, durable } => {
                self.must_fit(to, u64::from(len));
                let bytes = data(id)[from as usize..(from + len) as usize].to_vec();
                (token, Work::Write { region: Region::Data, at: to, bytes, durable })
            }
            Command::Patch { token, id, patch } => {
                self.must_fit(patch.to, u64::from(patch.len));
                let part = |from: u32| data(id)[from as usize..(from + patch.bytes) as usize].to_vec();
                (token, Work::Read { patch, data: patch.from.map(part) })
            }
            Command::Flush { token, region } => return self.start_flush(token, region),
            Command::Store { token, region, at, bytes, durable } => (token, Work::Write { region, at, bytes, durable }),
            Command::Discard { token, at, len } => {
                self.must_fit(at, len);
                self.seen.discards += 1;
                (token, Work::Write { region: Region::Data, at, bytes: vec![0; len as usize], durable: false })
            }
        };
        self.work.push((token, work));
    }

    fn start_flush(&mut self, token: Token, region: Region) {
        let parts: Vec<Part> = self.parts().into_iter().filter(|part| part.0 == region).collect();
        self.flushing.insert(token, (parts.len() as u64, Ok(())));
        let until = self.numbers;
        self.work.extend(parts.into_iter().map(|part| (token, Work::Flush { part, until })));
    }

    /// Ends one of the commands, or a part of one.
    pub fn step(&mut self, rng: &mut Xoshiro256PlusPlus) -> Option<(Token, Outcome)> {
        if self.work.is_empty() {
            return None;
        }
        let at = pick(rng, self.work.len() as u64) as usize;
        if self.faults.slow.is_some_and(|slow| self.part_of(&self.work[at].1) == slow) && pick(rng, 20) > 0 {
            self.seen.slow += 1;
            return None;
        }
        let (token, work) = self.work.swap_remove(at);
        match work {
            Work::Read { .. } if pick(rng, 1000) < self.faults.reads => {
                self.seen.unread += 1;
                Some((token, Outcome::Unread(Fault::Io)))
            }
            Work::Read { patch, data } => {
                let write = self.put_together(&patch, data);
                self.work.push((token, write));
                None
            }
            Work::Write { region, at, bytes, durable } => {
                let odds = if region == Region::Data { self.faults.writes } else { self.faults.flushes };
                let fails = pick(rng, 1000) < odds;
                let sectors = bytes.len() as u64 / SECTOR;
                let is_short = !fails && sectors > 1 && pick(rng, 1000) < self.faults.shorts;
                let done = if is_short { 1 + pick(rng, sectors - 1) } else { sectors };
                for (index, data) in bytes.as_chunks::<512>().0.iter().enumerate().take(done as usize) {
                    // A write that fails may have been done in part.
                    if !fails || pick(rng, 2) == 0 {
                        self.put((region, at / SECTOR + index as u64), Rc::new(*data), durable && !fails);
                    }
                }
                if is_short {
                    self.seen.shorts += 1;
                    let bytes = bytes[(done * SECTOR) as usize..].to_vec();
                    self.work.push((token, Work::Write { region, at: at + done * SECTOR, bytes, durable }));
                    return None;
                }
                let fault = if pick(rng, 2) == 0 { Fault::Io } else { Fault::NoSpace };
                Some((token, Outcome::Done(if fails { Err(fault) } else { Ok(()) })))
            }
            Work::Flush { part, until } => {
                let result = self.flush(part, until, rng);
                let (left, so_far) = self.flushing.get_mut(&token).expect("a flush under way");
                (*left, *so_far) = (*left - 1, so_far.and(result));
                if *left > 0 {
                    return None;
                }
                let (_, result) = self.flushing.remove(&token).expect("it was just there");
                Some((token, Outcome::Done(result)))
            }
        }
    }

    fn part_of(&self, work: &Work) -> Part {
        match work {
            Work::Write { region, at, .. } => self.part((*region, at / SECTOR)),
            Work::Read { patch, .. } => self.part((Region::Data, patch.to / SECTOR)),
            Work::Flush { part, .. } => *part,
        }
    }

    /// The power fails and comes back: what is safe stays, and some of the rest.
    pub fn crash(&mut self, rng: &mut Xoshiro256PlusPlus) {
        self.has_lost = false;
        self.flushing.clear();
        let work = std::mem::take(&mut self.work);
        for (_, work) in work {
            if let Work::Write { region, at, bytes, .. } = work {
                for (index, data) in bytes.as_chunks::<512>().0.iter().enumerate() {
                    self.numbers += 1;
                    let key = (region, at / SECTOR + index as u64);
                    self.loose.push(Unsafe { key, data: Rc::new(*data), number: self.numbers });
                }
            }
        }
        // Some crashes keep all of one part and nothing of another: that finds code that relies on
        // an order.
        let parts = self.parts().into_iter();
        let keep: BTreeMap<Part, u64> = parts.map(|part| (part, [0, 50, 100, 20, 90][pick(rng, 5) as usize])).collect();
        let mut loose = std::mem::take(&mut self.loose);
        for at in (1..loose.len()).rev() {
            loose.swap(at, pick(rng, at as u64 + 1) as usize);
        }
        for Unsafe { key, data, number } in loose {
            if pick(rng, 100) < keep[&self.part(key)] {
                self.make_safe(key, data, number);
            }
        }
        let data = |sector: &Option<(u64, Rc<Sector>)>| sector.as_ref().map(|(_, data)| Rc::clone(data));
        self.now = Sectors(self.safe.0.each_ref().map(|sectors| sectors.iter().map(data).collect()));
    }

    /// Only the server dies.
    pub fn orphan(&mut self, rng: &mut Xoshiro256PlusPlus) {
        self.flushing.clear();
        for (_, work) in std::mem::take(&mut self.work) {
            let Work::Write { region, at, bytes, .. } = work else { continue };
            if pick(rng, 2) == 0 {
                for (index, data) in bytes.as_chunks::<512>().0.iter().enumerate() {
                    self.put((region, at / SECTOR + index as u64), Rc::new(*data), false);
                }
            }
        }
        self.make_all_safe(|key| key.0 == Region::Data);
    }

    fn make_all_safe(&mut self, which: impl Fn(Key) -> bool) {
        let (safe, loose) = std::mem::take(&mut self.loose).into_iter().partition(|entry| which(entry.key));
        self.loose = loose;
        let safe: Vec<Unsafe> = safe;
        safe.into_iter().for_each(|entry| self.make_safe(entry.key, entry.data, entry.number));
    }

    /// The present contents of a sector.
    pub fn sector(&self, region: Region, sector: u64) -> Rc<Sector> {
        self.now.get((region, sector)).cloned().unwrap_or_else(|| Rc::new(junk(region, sector)))
    }

    fn put_together(&self, patch: &Patch, data: Option<Vec<u8>>) -> Work {
        let mut bytes = vec![0xee; patch.len as usize];
        if let Some(source) = patch.read {
            assert!(source.into + source.len <= patch.len);
            for (index, to) in bytes[source.into as usize..][..source.len as usize].chunks_mut(512).enumerate() {
                to.copy_from_slice(&self.sector(Region::Data, source.at / SECTOR + index as u64)[..]);
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

    fn put(&mut self, key: Key, data: Rc<Sector>, durable: bool) {
        self.numbers += 1;
        *self.now.place(key) = Some(Rc::clone(&data));
        match durable {
            true => self.make_safe(key, data, self.numbers),
            false => self.loose.push(Unsafe { key, data, number: self.numbers }),
        }
    }

    /// Makes a change safe, unless a newer one is. A sector whose newer change was lost in a crash
    /// in favour of an older one starts anew.
    fn make_safe(&mut self, key: Key, data: Rc<Sector>, number: u64) {
        let safe = self.safe.place(key);
        if safe.as_ref().is_none_or(|(last, _)| *last <= number) {
            *safe = Some((number, data));
        }
    }

    fn flush(&mut self, part: Part, until: u64, rng: &mut Xoshiro256PlusPlus) -> Result<(), Fault> {
        let fails = pick(rng, 1000) < self.faults.flushes;
        self.has_lost |= fails;
        for entry in std::mem::take(&mut self.loose) {
            if self.part(entry.key) != part || entry.number > until {
                self.loose.push(entry);
            } else if !fails || pick(rng, 2) == 0 {
                self.make_safe(entry.key, entry.data, entry.number);
            }
        }
        if fails { Err(Fault::Io) } else { Ok(()) }
    }
}

/// The contents where nothing was written: never zeroes in the data, so that reading it is noticed.
fn junk(region: Region, sector: u64) -> Sector {
    let word = if region == Region::Data { 0xbad0_0000_0000_0000 | sector } else { 0 };
    let mut data = [0; SECTOR as usize];
    data.as_chunks_mut::<8>().0.fill(word.to_le_bytes());
    data
}

impl Media for Disk {
    fn read(&mut self, region: Region, at: u64, buf: &mut [u8]) -> Result<usize, Fault> {
        let last = self.now.of(region).len() as u64;
        let there = (last * SECTOR).saturating_sub(at).min(buf.len() as u64) as usize;
        for (index, to) in buf[..there].chunks_mut(512).enumerate() {
            let data = self.sector(region, at / SECTOR + index as u64);
            to.copy_from_slice(&data[..to.len()]);
        }
        Ok(there)
    }

    fn settle(&mut self, region: Region) -> Result<(), Fault> {
        self.make_all_safe(|key| key.0 == region);
        Ok(())
    }
}
