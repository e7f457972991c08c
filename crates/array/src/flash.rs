//! Flash: channels that work side by side, programs slower than reads, and collections of garbage
//! that stop a channel.
//!
//! ```text
//!                       ┌─ queue ─ channel 0 ─ read · program · collect ─┐
//!   request ─ in parts ─┼─ queue ─ channel 1 ─ …                         ├─ ends with its last part
//!                       └─ queue ─ channel n ─ …                         ┘
//! ```
//! A read's pages lie where their address says, stripe by stripe, so channels may queue unevenly. A
//! write goes to the channels with the least to do, because flash is written as a log. A flush is a
//! part on every channel: it covers what queued before it, and all that comes later waits behind
//! it.
//!
//! Collections are a debt of written bytes: each channel stops for [`Collection::stall`] after
//! every [`Collection::every`] bytes programmed. By the seed each channel starts with part of its
//! debt, so that they do not stall in step. In addition, a [`Pause`] can stop the whole device at
//! regular times, whatever is written.

use std::collections::VecDeque;

use block::{Bytes, OpKind, Span, Time};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::agenda::Agenda;
use crate::simulated::{Job, Medium};
use crate::work::{share, split};

/// A solid-state drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flash {
    /// How many parts are served at once.
    pub channels: u32,
    /// Bytes of a page; neighbouring pages lie on neighbouring channels.
    pub page: Bytes,
    /// Reading one page, or part of it.
    pub read: Span,
    /// Programming one full page. Less costs its share, because small writes are gathered into
    /// pages; rounded up to the nanosecond.
    pub program: Span,
    /// Garbage collection by written bytes; `None` for none.
    pub collection: Option<Collection>,
    /// Regular stops of the whole device; `None` for none.
    pub pause: Option<Pause>,
    /// How long a flush stops each channel. A write with forced unit access takes this much longer
    /// on its channels.
    pub flush: Span,
    /// A trim's or zeroing's time on one channel, whatever its length; a status request's too.
    pub trim: Span,
}

/// Garbage collection as a debt of written bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// A channel collects after it programmed this many bytes.
    pub every: Bytes,
    /// How long it serves nothing then.
    pub stall: Span,
}

/// A regular stop: nothing begins while it lasts; what has begun ends normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// From the start of one to the start of the next; the first starts by the seed within this
    /// time.
    pub every: Span,
    /// How long it lasts, shorter than `every`.
    pub length: Span,
}

/// The drive at work.
#[derive(Debug)]
pub(crate) struct Channels {
    spec: Flash,
    channels: Vec<Channel>,
    /// By channel, the work in its queue and under way, in one vector: a write looks at all of them
    /// to choose its channel.
    loads: Vec<Span>,
    /// By the job's slot: how many of its parts have not ended. 0 is no job.
    parts_left: Vec<u32>,
    agenda: Agenda<Event>,
    /// How far into the cycle of pauses the epoch is.
    phase: Span,
    percent: u32,
}

#[derive(Debug, Default)]
struct Channel {
    queue: VecDeque<Part>,
    busy: bool,
    /// Bytes programmed since the last collection.
    debt: u64,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    slot: u32,
    time: Span,
    programs: u64,
}

#[derive(Debug)]
enum Event {
    Ends { channel: usize, part: Part },
    Collected { channel: usize },
}

impl Channels {
    pub(crate) fn new(spec: Flash, seed: u64) -> Channels {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let debt = spec.collection.map_or(1, |collection| collection.every.0);
        let channels = (0..spec.channels).map(|_| Channel { debt: chance.next_u64() % debt, ..Channel::default() });
        let channels = channels.collect();
        let loads = vec![Span::ZERO; spec.channels as usize];
        let phase = Span::from_nanos(spec.pause.map_or(0, |pause| chance.next_u64() % pause.every.as_nanos()));
        Channels { spec, channels, loads, parts_left: Vec::new(), agenda: Agenda::new(), phase, percent: 100 }
    }

    /// Reads `len` bytes where their address says.
    fn read(&mut self, now: Time, job: &Job) {
        let (first, into) = split(job.at, self.spec.page.0);
        let (whole, over) = split(into + job.len, self.spec.page.0);
        let pages = (whole + u64::from(over > 0)).max(1);
        let channels = self.channels.len() as u64;
        for k in 0..pages.min(channels) {
            // Pages k, k + channels, k + 2 × channels … of the request lie on the same channel: one
            // part.
            let on_it = if pages <= channels { 1 } else { (pages - k).div_ceil(channels) };
            let time = self.spec.read * on_it;
            self.queue(now, split(first + k, channels).1 as usize, Part { slot: job.slot, time, programs: 0 });
        }
    }

    /// Writes `len` bytes, page by page, to the channels with the least to do.
    fn write(&mut self, now: Time, job: &Job) {
        let pages = job.len.div_ceil(self.spec.page.0).max(1);
        let parts = pages.min(self.channels.len() as u64);
        let extra = if job.fua { self.spec.flush } else { Span::ZERO };
        for k in 0..parts {
            // Even shares of whole bytes: the differences of the running totals add up to len.
            let programs = job.len * (k + 1) / parts - job.len * k / parts;
            let time = self.program(programs) + extra;
            let idlest = self.idlest();
            self.queue(now, idlest, Part { slot: job.slot, time, programs });
        }
    }

    fn program(&self, bytes: u64) -> Span {
        share(self.spec.program, bytes, self.spec.page)
    }

    /// The channel with the least to do, the first of several.
    fn idlest(&self) -> usize {
        let mut least = (Span::MAX, 0);
        for (channel, load) in self.loads.iter().enumerate() {
            if *load == Span::ZERO {
                return channel;
            }
            if *load < least.0 {
                least = (*load, channel);
            }
        }
        least.1
    }

    fn queue(&mut self, now: Time, channel: usize, part: Part) {
        self.parts_left[part.slot as usize] += 1;
        self.loads[channel] += part.time;
        self.channels[channel].queue.push_back(part);
        self.begin(now, channel);
    }

    /// Begins the channel's next part if it is free.
    fn begin(&mut self, now: Time, channel: usize) {
        let idle = &mut self.channels[channel];
        if idle.busy || self.percent == 0 {
            return;
        }
        let Some(part) = idle.queue.pop_front() else { return };
        idle.busy = true;
        let slowed = part.time.as_nanos().saturating_mul(100).div_ceil(u64::from(self.percent));
        let end = self.after_pause(now) + Span::from_nanos(slowed);
        self.agenda.note(end, Event::Ends { channel, part });
    }

    /// `now`, or the end of the pause that `now` falls into.
    fn after_pause(&self, now: Time) -> Time {
        let Some(pause) = self.spec.pause else { return now };
        let within = (now.as_nanos() + self.phase.as_nanos()) % pause.every.as_nanos();
        now + pause.length.saturating_sub(Span::from_nanos(within))
    }

    fn end(&mut self, now: Time, channel: usize, part: Part, ended: &mut Vec<u32>) {
        let left = &mut self.parts_left[part.slot as usize];
        *left -= 1;
        if *left == 0 {
            ended.push(part.slot);
        }
        self.loads[channel] = self.loads[channel].saturating_sub(part.time);
        let at = &mut self.channels[channel];
        at.debt += part.programs;
        let collects = self.spec.collection.filter(|collection| at.debt >= collection.every.0);
        match collects {
            Some(collection) => {
                at.debt -= collection.every.0;
                self.agenda.note(now + collection.stall, Event::Collected { channel });
            }
            None => {
                at.busy = false;
                self.begin(now, channel);
            }
        }
    }
}

impl Medium for Channels {
    fn arrive(&mut self, now: Time, job: Job) {
        let slot = job.slot as usize;
        if self.parts_left.len() <= slot {
            self.parts_left.resize(slot + 1, 0);
        }
        match job.kind {
            OpKind::Read | OpKind::Cache => self.read(now, &job),
            OpKind::Write => self.write(now, &job),
            OpKind::Flush => {
                for channel in 0..self.channels.len() {
                    self.queue(now, channel, Part { slot: job.slot, time: self.spec.flush, programs: 0 });
                }
            }
            OpKind::Trim | OpKind::Zero | OpKind::Status => {
                let channel = (job.at / self.spec.page.0) as usize % self.channels.len();
                self.queue(now, channel, Part { slot: job.slot, time: self.spec.trim, programs: 0 });
            }
        }
    }

    fn next_event(&self) -> Time {
        self.agenda.next()
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        while let Some(event) = self.agenda.take_due(now) {
            match event {
                Event::Ends { channel, part } => self.end(now, channel, part, ended),
                Event::Collected { channel } => {
                    self.channels[channel].busy = false;
                    self.begin(now, channel);
                }
            }
        }
    }

    fn withdraw(&mut self, _now: Time, slot: u32) -> bool {
        let queued = |channel: &Channel| channel.queue.iter().filter(|part| part.slot == slot).count() as u32;
        let waiting: u32 = self.channels.iter().map(queued).sum();
        let left = self.parts_left[slot as usize];
        // A part under way cannot be taken back. Parts that have ended do not keep the rest from
        // being dropped: nobody knows how much of a cancelled request took effect.
        if waiting < left {
            return false;
        }
        for (channel, load) in self.channels.iter_mut().zip(&mut self.loads) {
            let gone: Span = channel.queue.iter().filter(|part| part.slot == slot).map(|part| part.time).sum();
            *load = load.saturating_sub(gone);
            channel.queue.retain(|part| part.slot != slot);
        }
        self.parts_left[slot as usize] = 0;
        true
    }

    /// Everything takes 100/percent times as long from the next part on.
    fn scale(&mut self, now: Time, percent: u32) {
        self.percent = percent;
        for channel in 0..self.channels.len() {
            self.begin(now, channel);
        }
    }
}
