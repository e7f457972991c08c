//! What the gate accounted for in about a second, summed up for statistics, and what held objects
//! back.

use ::history::{Figures, Latency};
use block::{Bytes, BytesPerSecond, Cause, LimitKind, ObjectId, Span};
use qos::{FloorState, GateStatus, Tally};
use std::collections::BTreeMap;

/// The bandwidth limits between clients and the server, and their counters since the server
/// started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSeen {
    /// Limit of each connection, in bytes per second.
    pub flow: Option<BytesPerSecond>,
    /// Limit of all connections together, in bytes per second, with its credit in bytes.
    pub whole: Option<qos::CreditLimit>,
    /// Bytes of reads and writes so far.
    pub bytes: u64,
    /// How often a connection had to wait for its own limit.
    pub flow_waits: u64,
    /// How often one had to wait for the limit of all together.
    pub whole_waits: u64,
    /// How often that was while there was credit left.
    pub burst_waits: u64,
    /// Credit that is left, in bytes.
    pub credit: u64,
}

/// What happened to one object during a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Reads dispatched.
    pub reads: Tally,
    /// Writes dispatched.
    pub writes: Tally,
    /// Everything else dispatched.
    pub others: u64,
    /// Completed requests.
    pub completed: u64,
    /// Requests that completed with a fault.
    pub faults: u64,
    /// Time that their replies took to reach the network, summed.
    pub network: Span,
    /// Time that completed requests waited in the gate, summed.
    pub queued: Span,
    /// Time that completed requests spent in the device, summed.
    pub service: Span,
    /// Time that completed requests would have spent there, summed, had each taken the least mean
    /// time ever seen for its kind.
    pub at_best: Span,
    /// Waiting time within the sample by cause, summed over requests, including those that still
    /// wait.
    pub waited: BTreeMap<Cause, Span>,
    /// Outstanding requests, in thousandths, integrated over time in nanoseconds.
    outstanding: u128,
    /// How its floor fared, in the longest account of the sample.
    pub floor: FloorState,
    /// The length of that account.
    judged: Span,
    /// By how much its floor was missed.
    pub missed: Missed,
}

/// By how much a floor was missed, of what its clients asked for. If a client keeps too few
/// requests outstanding, or a ceiling is in the way, the storage has not missed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Time during which it was missed, a rate or a latency.
    pub time: Span,
    /// Operations.
    pub ops: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The accounts of about a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Counted from 1; 0 is the empty sample before the first.
    pub number: u64,
    /// The time that it covers.
    pub length: Span,
    /// Objects with requests or floors.
    pub objects: BTreeMap<ObjectId, Seen>,
    /// The gate's state at its end.
    pub gate: GateStatus,
    /// The counters of each cache partition in it, by number.
    pub cache: BTreeMap<u32, CacheSeen>,
}

/// Counters of a cache partition, in pages, and its sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSeen {
    /// Pages asked for and found.
    pub hits: u64,
    /// Pages asked for and not found.
    pub misses: u64,
    /// Pages added.
    pub inserted: u64,
    /// Pages dropped to make room.
    pub evicted: u64,
    /// Pages dropped because their data changed or was deleted.
    pub invalidated: u64,
    /// Pages not in memory but found in the second level.
    pub second_hits: u64,
    /// Its limit.
    pub size: Bytes,
    /// What it holds in memory.
    pub resident: Bytes,
    /// What it holds in the second level.
    pub second_resident: Bytes,
}

/// The second level of the cache; counters are in pages since the server started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondSeen {
    /// Its file or device.
    pub path: String,
    /// Why it was switched off, if it was.
    pub failed: Option<String>,
    /// Its capacity.
    pub size: Bytes,
    /// Pages not in memory but found there.
    pub hits: u64,
    /// Pages written to it.
    pub written: u64,
    /// Pages not written because they had been asked for only once.
    pub unused: u64,
    /// Pages not written because of the daily bound, or because writing had fallen behind.
    pub spared: u64,
    /// Pages dropped to make room.
    pub evicted: u64,
    /// Pages dropped because their data changed or was deleted.
    pub invalidated: u64,
}

impl CacheSeen {
    /// The difference to the earlier counters `before`. A partition that was made anew meanwhile
    /// starts at zero.
    #[must_use]
    pub fn since(self, before: CacheSeen) -> CacheSeen {
        let began = if self.hits < before.hits || self.misses < before.misses { CacheSeen::default() } else { before };
        CacheSeen {
            hits: self.hits - began.hits,
            misses: self.misses - began.misses,
            inserted: self.inserted.saturating_sub(began.inserted),
            evicted: self.evicted.saturating_sub(began.evicted),
            invalidated: self.invalidated.saturating_sub(began.invalidated),
            second_hits: self.second_hits.saturating_sub(began.second_hits),
            ..self
        }
    }
}

impl Sample {
    /// Counters of a partition, per second.
    pub fn cache_of(&self, partition: u32) -> CacheSeen {
        let seen = self.cache.get(&partition).copied().unwrap_or_default();
        let per_second = |count: u64| {
            let length = u128::from(self.length.as_nanos().max(1));
            (u128::from(count) * u128::from(Span::SECOND.as_nanos()) / length) as u64
        };
        CacheSeen {
            hits: per_second(seen.hits),
            misses: per_second(seen.misses),
            inserted: per_second(seen.inserted),
            evicted: per_second(seen.evicted),
            invalidated: per_second(seen.invalidated),
            second_hits: per_second(seen.second_hits),
            ..seen
        }
    }
}

/// Requests that take a device about the same time: whether most are reads, and the binary
/// logarithm of their mean size (0 if there are none).
pub type SampleKind = (bool, u32);

impl Seen {
    /// Only the state of a floor.
    pub fn of_floor(floor: FloorState) -> Seen {
        Seen { floor, ..Seen::default() }
    }

    /// Adds an account that covers `length`.
    pub fn add(&mut self, account: &qos::ObjectAccount, length: Span) {
        add(&mut self.reads, account.reads);
        add(&mut self.writes, account.writes);
        self.others += account.others.ops;
        self.completed += account.completed;
        self.faults += account.faults;
        self.queued += account.queued.total;
        self.service += account.service.total;
        for &(cause, span) in &account.waited {
            *self.waited.entry(cause).or_default() += span;
        }
        self.outstanding += u128::from(account.outstanding_mean_milli) * u128::from(length.as_nanos());
        if length >= self.judged {
            (self.floor, self.judged) = (account.floor, length);
        }
        self.missed.add(account.floor, account.asked.min(length));
    }

    /// Adds what happened to another object in the same time; the floor is kept.
    pub fn join(&mut self, other: &Seen) {
        add(&mut self.reads, other.reads);
        add(&mut self.writes, other.writes);
        self.others += other.others;
        self.completed += other.completed;
        self.faults += other.faults;
        self.network += other.network;
        self.queued += other.queued;
        self.service += other.service;
        self.at_best += other.at_best;
        for (&cause, &span) in &other.waited {
            *self.waited.entry(cause).or_default() += span;
        }
        self.outstanding += other.outstanding;
        self.missed.time += other.missed.time;
        self.missed.ops += other.missed.ops;
        self.missed.bytes += other.missed.bytes;
    }

    /// Where the time of completed requests went, summed. Their time in the gate is divided in the
    /// proportion of the sample's waiting times.
    pub fn spent(&self) -> Latency {
        let waited = self.waited_for(|_| true);
        let part = |kind: fn(Cause) -> bool| share(self.queued, self.waited_for(kind), waited);
        let qos_max = part(|cause| matches!(cause, Cause::Ceiling(..) | Cause::Shared(..)));
        let qos_min = part(|cause| cause == Cause::Floor);
        let store = self.queued.saturating_sub(qos_max).saturating_sub(qos_min);
        Latency { network: self.network, qos_max, qos_min, store, disk: self.service }
    }

    /// The figures for the history.
    pub fn figures(&self) -> Figures {
        let us = |span: Span| span.as_nanos() / 1000;
        let spent = self.spent();
        Figures {
            read_ops: self.reads.ops,
            write_ops: self.writes.ops,
            other_ops: self.others,
            read_bytes: self.reads.bytes,
            write_bytes: self.writes.bytes,
            completed: self.completed,
            faults: self.faults,
            network_us: us(spent.network),
            qos_max_us: us(spent.qos_max),
            qos_min_us: us(spent.qos_min),
            store_us: us(spent.store),
            disk_us: us(spent.disk),
            missed_ms: self.missed.time.as_nanos() / 1_000_000,
            missed_ops: self.missed.ops,
            missed_bytes: self.missed.bytes,
        }
    }

    /// Operations dispatched.
    pub fn ops(&self) -> u64 {
        self.reads.ops + self.writes.ops + self.others
    }

    /// Bytes dispatched.
    pub fn bytes(&self) -> u64 {
        self.reads.bytes.saturating_add(self.writes.bytes)
    }

    /// Requests outstanding on average over `length`, rounded.
    pub fn outstanding(&self, length: Span) -> u64 {
        let thousandths = self.outstanding / u128::from(length.as_nanos().max(1));
        ((thousandths + 500) / 1000) as u64
    }

    /// Mean time of a request in the gate and in the device.
    pub fn times(&self) -> (Span, Span) {
        let requests = self.completed.max(1);
        (self.queued / requests, self.service / requests)
    }

    /// Whether the device took more than twice its best time: then a deeper queue would only add
    /// waiting there.
    pub fn is_device_busy(&self) -> bool {
        self.service > self.at_best * 2
    }

    /// The kind of its requests, for comparing the device's times.
    pub fn kind(&self) -> SampleKind {
        let size = self.bytes().checked_div(self.ops()).and_then(u64::checked_ilog2);
        (self.reads.ops * 2 > self.ops(), size.unwrap_or(0))
    }

    /// Waiting time for causes that satisfy `kind`.
    pub fn waited_for(&self, kind: impl Fn(Cause) -> bool) -> Span {
        self.waited.iter().filter(|(cause, _)| kind(**cause)).map(|(_, span)| *span).sum()
    }
}

impl Missed {
    /// Adds the state of a floor of which something was asked for `asked`.
    fn add(&mut self, floor: FloorState, asked: Span) {
        let (FloorState::Short { why, .. } | FloorState::Slow { why, .. }) = floor else { return };
        if !why.is_of_storage() {
            return;
        }
        self.time += asked;
        // Where a latency is missed, no rate is.
        let FloorState::Short { served, wanted, kind, .. } = floor else { return };
        let less = u128::from(wanted.saturating_sub(served)) * u128::from(asked.as_nanos()) / 1_000_000_000;
        *match kind {
            LimitKind::Iops => &mut self.ops,
            LimitKind::Throughput => &mut self.bytes,
        } += less as u64;
    }
}

/// `whole × part / all`; zero if `all` is zero.
fn share(whole: Span, part: Span, all: Span) -> Span {
    let product = u128::from(whole.as_nanos()) * u128::from(part.as_nanos());
    Span::from_nanos(product.checked_div(u128::from(all.as_nanos())).unwrap_or(0) as u64)
}

fn add(sum: &mut Tally, more: Tally) {
    sum.ops += more.ops;
    sum.bytes = sum.bytes.saturating_add(more.bytes);
}

/// If stalls have at least this part of the waiting, they are reported in place of the ceiling: one
/// in this many.
const STALLS_TOLD: u64 = 20;

/// The cause that requests waited for longest. If a twentieth or more of the wait was for stalls of
/// the server, a ceiling is not what held the object back.
pub fn main_cause(waited: impl Iterator<Item = (Cause, Span)>) -> Option<Cause> {
    let (mut most, mut all, mut stalled) = (None, Span::ZERO, Span::ZERO);
    for (cause, span) in waited {
        all += span;
        stalled += if cause == Cause::Stalled { span } else { Span::ZERO };
        most = most.filter(|&(_, longest)| longest >= span).or(Some((cause, span)));
    }
    most.map(|(cause, _)| match cause {
        Cause::Ceiling(..) | Cause::Shared(..) if stalled * STALLS_TOLD >= all => Cause::Stalled,
        cause => cause,
    })
}
