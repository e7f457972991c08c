//! Clients: a closed or open loop of requests against one object.

use std::collections::VecDeque;

use block::{Buf, ObjectId, Op, Request, Span, Time};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A client of one object.
#[derive(Clone, Debug)]
pub struct Client {
    /// The object that it sends requests to.
    pub object: ObjectId,
    /// When it sends them.
    pub load: Load,
    /// Which requests it sends.
    pub mix: Mix,
    /// When it starts.
    pub from: Time,
    /// It sends no more from then on; what is outstanding still ends.
    pub until: Time,
}

/// When a client sends requests.
#[derive(Clone, Debug)]
pub enum Load {
    /// So many threads with one request outstanding each, the next sent as soon as that ended.
    Closed {
        /// Threads.
        depth: u32,
    },
    /// Like `Closed`, but each thread thinks between an end and the next request, evenly spread
    /// between two spans.
    Thinking {
        /// Threads.
        depth: u32,
        /// The shortest thought.
        least: Span,
        /// The longest.
        most: Span,
    },
    /// On a schedule, whatever the answers do: from each time on so many requests a second, evenly
    /// spaced.
    Open {
        /// Times and rates, in order; a rate of 0 is silence.
        steps: Vec<(Time, u64)>,
    },
}

/// Which requests a client sends.
#[derive(Clone, Debug)]
pub enum Mix {
    /// Each thread goes through these in turn.
    Cycle(Vec<Shape>),
    /// Each request is one of these by chance, all equally likely.
    Any(Vec<Shape>),
}

/// One kind of request. Reads, writes and trims go to random places, aligned to their length up to
/// 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Read so many bytes.
    Read(u32),
    /// Write so many bytes.
    Write(u32),
    /// Flush.
    Flush,
    /// Trim so many bytes.
    Trim(u32),
}

impl Client {
    /// Random 4 KiB reads and writes at this depth for ever.
    pub fn closed(object: ObjectId, depth: u32) -> Client {
        let mix = Mix::Any(vec![Shape::Read(4096), Shape::Write(4096)]);
        Client { object, load: Load::Closed { depth }, mix, from: Time::ZERO, until: Time::MAX }
    }

    /// Random 4 KiB reads and writes at this rate for ever.
    pub fn open(object: ObjectId, rate: u64) -> Client {
        Client { load: Load::Open { steps: vec![(Time::ZERO, rate)] }, ..Client::closed(object, 0) }
    }

    /// The same with another mix.
    pub fn asking(self, mix: Mix) -> Client {
        Client { mix, ..self }
    }

    /// The same between two times.
    pub fn between(self, from: Time, until: Time) -> Client {
        Client { from, until, ..self }
    }
}

/// A client at work.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) client: Client,
    /// Requests that a full target refused, oldest first.
    pub(crate) refused: VecDeque<Request>,
    number: u32,
    size: u64,
    chance: Xoshiro256PlusPlus,
    /// By thread: the place in the cycle. The arrivals of an open loop count as one thread that
    /// waits for no completion.
    places: Vec<u32>,
    /// By thread: whether its request is outstanding.
    outstanding: Vec<bool>,
    arrivals: Arrivals,
}

/// The next arrival of an open loop, exact: the k-th of a step comes at its start + ceil(k × 10^9 /
/// rate).
#[derive(Debug, Default)]
struct Arrivals {
    step: usize,
    k: u64,
}

impl Worker {
    pub(crate) fn new(client: Client, number: u32, size: u64, seed: u64) -> Worker {
        let depth = match client.load {
            Load::Closed { depth } | Load::Thinking { depth, .. } => depth as usize,
            Load::Open { .. } => 0,
        };
        // The multiplier (2^64 / golden ratio) keeps the streams of neighbouring clients apart.
        let chance = Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Worker {
            refused: VecDeque::new(),
            number,
            size,
            chance,
            places: vec![0; depth.max(1)],
            outstanding: vec![false; depth],
            arrivals: Arrivals::default(),
            client,
        }
    }

    /// How many threads start at `client.from`.
    pub(crate) fn threads(&self) -> u32 {
        self.outstanding.len() as u32
    }

    /// When an open loop sends next.
    pub(crate) fn next_arrival(&mut self) -> Option<Time> {
        let Load::Open { steps } = &self.client.load else { return None };
        loop {
            let (start, rate) = *steps.get(self.arrivals.step)?;
            let ends = steps.get(self.arrivals.step + 1).map_or(self.client.until, |next| next.0);
            if rate > 0 {
                let ns = (u128::from(self.arrivals.k) * 1_000_000_000).div_ceil(u128::from(rate));
                let at = start + Span::from_nanos(ns as u64);
                if at < ends {
                    return Some(at.max(self.client.from));
                }
            }
            self.arrivals = Arrivals { step: self.arrivals.step + 1, k: 0 };
        }
    }

    /// The request of an open loop's arrival at `due`.
    pub(crate) fn arrive(&mut self, due: Time) -> Request {
        self.arrivals.k += 1;
        self.request(0, due)
    }

    /// The next request of a thread of a closed loop.
    pub(crate) fn ask(&mut self, thread: u32, due: Time) -> Request {
        let before = std::mem::replace(&mut self.outstanding[thread as usize], true);
        assert!(!before, "client {} thread {thread} asked twice", self.number);
        self.request(thread, due)
    }

    /// A thread's request ended. Returns when the thread sends again, `None` for an open loop.
    pub(crate) fn ended(&mut self, thread: u32, now: Time) -> Option<Time> {
        let thinks = match self.client.load {
            Load::Open { .. } => return None,
            Load::Closed { .. } => Span::ZERO,
            Load::Thinking { least, most, .. } => {
                let range = most.saturating_sub(least).as_nanos() + 1;
                least + Span::from_nanos(self.chance.next_u64() % range)
            }
        };
        let before = std::mem::replace(&mut self.outstanding[thread as usize], false);
        assert!(before, "client {} thread {thread} was answered twice", self.number);
        Some(now + thinks).filter(|&at| at < self.client.until)
    }

    fn request(&mut self, thread: u32, due: Time) -> Request {
        let shape = self.shape(thread);
        let (op, len) = match shape {
            Shape::Read(len) => (Op::Read, len),
            Shape::Write(len) => (Op::Write(Buf::nothing(len)), len),
            Shape::Flush => (Op::Flush, 0),
            Shape::Trim(len) => (Op::Trim, len),
        };
        let places = (self.size - u64::from(len)) / 4096;
        let at = if len == 0 { 0 } else { self.chance.next_u64() % (places + 1) * 4096 };
        let tag = u64::from(self.number) << 32 | u64::from(thread);
        Request { tag, object: self.client.object, at, len: u64::from(len), op, fua: false, due }
    }

    fn shape(&mut self, thread: u32) -> Shape {
        match &self.client.mix {
            Mix::Cycle(shapes) => {
                let place = &mut self.places[thread as usize];
                let shape = shapes[*place as usize % shapes.len()];
                *place += 1;
                shape
            }
            Mix::Any(shapes) => shapes[(self.chance.next_u64() % shapes.len() as u64) as usize],
        }
    }
}
