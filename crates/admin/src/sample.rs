//! What the gate said of about a second, summed up for statistics, and what held objects back in
//! it.

use ::history::{Figures, Latency};
use block::{Bytes, BytesPerSecond, Cause, LimitKind, ObjectId, Span};
use qos::{FloorState, GateStatus, Shortage, Tally};
use std::collections::BTreeMap;

/// The limits of the network between clients and the server, and what came of them since the server
/// started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSeen {
    /// Bytes a second of one connection.
    pub flow: Option<BytesPerSecond>,
    /// Bytes a second of all connections, and their credit in bytes.
    pub whole: Option<qos::CreditLimit>,
    /// Bytes of reads and writes.
    pub bytes: u64,
    /// How often a connection had to wait for its own limit.
    pub flow_waits: u64,
    /// How often one had to wait for the limit of all.
    pub whole_waits: u64,
    /// How often that was so while there was credit.
    pub burst_waits: u64,
    /// Credit that is left, in bytes.
    pub credit: u64,
}

/// What happened to one object in a sample's time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Reads dispatched.
    pub reads: Tally,
    /// Writes dispatched.
    pub writes: Tally,
    /// Everything else dispatched.
    pub others: u64,
    /// Requests that ended.
    pub completed: u64,
    /// Requests that ended with a fault.
    pub faults: u64,
    /// Time that their replies took into the network, summed.
    pub network: Span,
    /// Time that those waited in the gate, summed.
    pub queued: Span,
    /// Time that those spent in the device, summed.
    pub service: Span,
    /// What those would have spent there, summed, had each taken the least mean time that requests
    /// of its kind were ever seen to take.
    pub at_best: Span,
    /// Waiting time within the sample by cause, summed over requests, those still waiting included.
    pub waited: BTreeMap<Cause, Span>,
    /// Thousandths of requests outstanding, times the nanoseconds that they were.
    outstanding: u128,
    /// How its floor fared.
    pub floor: FloorState,
    /// What its floor was missed by.
    pub missed: Missed,
}

/// What a floor was missed by, of what was asked for: a client that keeps too few requests
/// outstanding, and a ceiling in the way, are no miss of the storage's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Time in which it was.
    pub time: Span,
    /// Operations.
    pub ops: u64,
    /// Bytes.
    pub bytes: u64,
}

/// About a second of everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Counted from 1; 0 is the empty one before all others.
    pub number: u64,
    /// How long it is.
    pub length: Span,
    /// Objects with requests, and those with floors.
    pub objects: BTreeMap<ObjectId, Seen>,
    /// The gate at its end.
    pub gate: GateStatus,
    /// What each partition of the cache did in it, by number.
    pub cache: BTreeMap<u32, CacheSeen>,
}

/// What a partition of the cache did, in pages, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSeen {
    /// Asked for and there.
    pub hits: u64,
    /// Asked for and not there.
    pub misses: u64,
    /// That came in.
    pub inserted: u64,
    /// That went for others.
    pub evicted: u64,
    /// That went because what they held was changed or is gone.
    pub invalidated: u64,
    /// Missed in memory and found in the second level.
    pub second_hits: u64,
    /// What it may hold.
    pub size: Bytes,
    /// What it holds.
    pub resident: Bytes,
    /// What it has in the second level.
    pub second_resident: Bytes,
}

/// The second level of the cache, in pages since the server began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondSeen {
    /// Its file or device.
    pub path: String,
    /// Why it was turned off, where it was.
    pub failed: Option<String>,
    /// What it may hold.
    pub size: Bytes,
    /// Missed in memory and found there.
    pub hits: u64,
    /// Written to it.
    pub written: u64,
    /// Not written, because they had been asked for only once.
    pub unused: u64,
    /// Not written, because of the bound of a day or because it was behind.
    pub spared: u64,
    /// That went for others.
    pub evicted: u64,
    /// That went because what they held was changed or is gone.
    pub invalidated: u64,
}

impl CacheSeen {
    /// What came of it since it was as `before`. A partition that was made anew meanwhile begins at
    /// nothing.
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
    /// What a partition did, by the second.
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

/// What takes a device about as long: mostly reads or not, and the binary logarithm of their mean
/// size; 0 for none.
pub type SampleKind = (bool, u32);

impl Seen {
    /// Nothing but how a floor fared.
    pub fn of_floor(floor: FloorState) -> Seen {
        Seen { floor, ..Seen::default() }
    }

    /// Adds what happened in `length`.
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
        self.floor = account.floor;
        self.missed.add(account.floor, length);
    }

    /// Adds what happened to another object in the same time; the floor stays.
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

    /// Where the time of those that ended went, summed. What they waited in the gate is divided as
    /// the waiting of the sample's time was.
    pub fn spent(&self) -> Latency {
        let waited = self.waited_for(|_| true);
        let part = |kind: fn(Cause) -> bool| share(self.queued, self.waited_for(kind), waited);
        let qos_max = part(|cause| matches!(cause, Cause::Ceiling(..) | Cause::Shared(..)));
        let qos_min = part(|cause| cause == Cause::Floor);
        let store = self.queued.saturating_sub(qos_max).saturating_sub(qos_min);
        Latency { network: self.network, qos_max, qos_min, store, disk: self.service }
    }

    /// As it is kept.
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

    /// A request's mean time in the gate and in the device.
    pub fn times(&self) -> (Span, Span) {
        let requests = self.completed.max(1);
        (self.queued / requests, self.service / requests)
    }

    /// Whether the device took twice as long as it can: more requests at a time would only have
    /// waited there.
    pub fn is_device_busy(&self) -> bool {
        self.service > self.at_best * 2
    }

    /// What the device is compared by.
    pub fn kind(&self) -> SampleKind {
        let size = self.bytes().checked_div(self.ops()).and_then(u64::checked_ilog2);
        (self.reads.ops * 2 > self.ops(), size.unwrap_or(0))
    }

    /// Waiting time for causes of a kind.
    pub fn waited_for(&self, kind: impl Fn(Cause) -> bool) -> Span {
        self.waited.iter().filter(|(cause, _)| kind(**cause)).map(|(_, span)| *span).sum()
    }
}

impl Missed {
    /// Adds how a floor fared for a time.
    fn add(&mut self, floor: FloorState, length: Span) {
        let FloorState::Short { served, wanted, kind, why } = floor else { return };
        if !matches!(why, Shortage::Overcommitted { .. } | Shortage::Adjusting) {
            return;
        }
        let less = u128::from(wanted.saturating_sub(served)) * u128::from(length.as_nanos()) / 1_000_000_000;
        self.time += length;
        *match kind {
            LimitKind::Iops => &mut self.ops,
            LimitKind::Throughput => &mut self.bytes,
        } += less as u64;
    }
}

/// `whole × part / all`; nothing of nothing.
fn share(whole: Span, part: Span, all: Span) -> Span {
    let product = u128::from(whole.as_nanos()) * u128::from(part.as_nanos());
    Span::from_nanos(product.checked_div(u128::from(all.as_nanos())).unwrap_or(0) as u64)
}

fn add(sum: &mut Tally, more: Tally) {
    sum.ops += more.ops;
    sum.bytes = sum.bytes.saturating_add(more.bytes);
}

/// From this part of the waiting on the stalls are told and not the ceiling: one in this many.
const STALLS_TOLD: u64 = 20;

/// What requests waited for most. A ceiling that was missed by a twentieth and more because the
/// server did not run is not what held its object back to less than it.
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
