//! The test bed: a device of parallel servers with one queue, clients that keep a depth of requests
//! outstanding, and the loop that jumps from event to event.
//!
//! The checks are on what reaches the device, counted there in bins of 10 ms, not on what the gate
//! reports.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use block::{
    Buf, Bytes, BytesPerSecond, Completion, Iops, ObjectId, Op, OpKind, Request, Submitted, Target, Ticket, Time,
    Traits, Wakeup,
};
use qos::{Ceiling, Edit, Floor, Gate, GroupId, Limits, Settings};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
/// Bins in a second.
pub const BINS: usize = 100;

/// A small seeded generator (splitmix64), enough for jitter.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// Parallel servers behind one first-come queue.
#[derive(Debug)]
pub struct Device {
    /// Nanoseconds a request of no bytes takes.
    pub service_ns: u64,
    /// Nanoseconds more per KiB.
    pub per_kib_ns: u64,
    /// Service times vary evenly by ± so many percent.
    pub jitter_percent: u64,
    /// Every so often all servers pause for so long.
    pub stall: Option<(u64, u64)>,
    /// One request in a hundred takes so many times as long.
    pub tail: u64,
    /// Requests it takes at most.
    pub room: usize,
    dice: Dice,
    free_at: BinaryHeap<Reverse<u64>>,
    busy: BinaryHeap<Reverse<(u64, u64)>>,
    requests: BTreeMap<u64, (Request, u64)>,
    next: u64,
    /// Dispatches to the device by object and bin: operations, bytes that count.
    pub bins: BTreeMap<ObjectId, Vec<(u64, u64)>>,
    /// The order in which requests arrived, for tests that look at it.
    pub log: Option<Vec<(u64, ObjectId, u64)>>,
}

impl Device {
    pub fn new(servers: usize, service_ns: u64) -> Device {
        Device {
            service_ns,
            per_kib_ns: 0,
            jitter_percent: 0,
            stall: None,
            tail: 1,
            room: usize::MAX,
            dice: Dice(7),
            free_at: (0..servers).map(|_| Reverse(0)).collect(),
            busy: BinaryHeap::new(),
            requests: BTreeMap::new(),
            next: 0,
            bins: BTreeMap::new(),
            log: None,
        }
    }

    fn service(&mut self, request: &Request) -> u64 {
        let mean = self.service_ns + self.per_kib_ns * counted(request) / 1024;
        let swing = mean * self.jitter_percent / 100;
        let time = mean - swing + if swing > 0 { self.dice.below(2 * swing + 1) } else { 0 };
        if self.tail > 1 && self.dice.below(100) == 0 { time * self.tail } else { time }
    }
}

fn counted(request: &Request) -> u64 {
    if request.op.kind().moves_data() { request.len } else { 0 }
}

impl Target for Device {
    fn traits(&self) -> Traits {
        Traits { size: Bytes::gib(1), align: 512, longest: 32 << 20, carries_data: false, read_only: false }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        if self.requests.len() >= self.room {
            return Submitted::Full(request);
        }
        let now = now.as_nanos();
        let bin = (now / (10 * MS)) as usize;
        let bins = self.bins.entry(request.object).or_default();
        if bins.len() <= bin {
            bins.resize(bin + 1, (0, 0));
        }
        bins[bin].0 += 1;
        bins[bin].1 = bins[bin].1.saturating_add(counted(&request));
        if let Some(log) = &mut self.log {
            log.push((now, request.object, request.at));
        }
        let Reverse(free) = self.free_at.pop().unwrap();
        let start = free.max(now);
        let mut end = start + self.service(&request);
        if let Some((every, pause)) = self.stall {
            // A request that would be served in a pause is served after it.
            let within = end % every;
            if within < pause && end >= every {
                end += pause - within;
            }
        }
        self.free_at.push(Reverse(end));
        let id = self.next;
        self.next += 1;
        self.busy.push(Reverse((end, id)));
        self.requests.insert(id, (request, start));
        Submitted::Taken(Ticket(id))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        while let Some(&Reverse((end, id))) = self.busy.peek() {
            if end > now.as_nanos() {
                break;
            }
            self.busy.pop();
            let (request, _) = self.requests.remove(&id).unwrap();
            let mut completion = Completion::of(&request, Time::from_nanos(end), Ok(()));
            if let Op::Write(buf) = request.op {
                completion.buf = Some(buf);
            }
            out.push(completion);
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        self.busy.peek().map_or(Wakeup::Idle, |&Reverse((end, _))| Wakeup::At(Time::from_nanos(end)))
    }

    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

/// A client: keeps `depth` requests outstanding, or waits `think_ns` after each.
#[derive(Clone, Debug)]
pub struct Client {
    pub object: ObjectId,
    pub depth: usize,
    pub think_ns: u64,
    /// Sizes in turn at random.
    pub sizes: Vec<u64>,
    pub kinds: Vec<OpKind>,
    /// Active within these times.
    pub from: u64,
    pub until: u64,
}

impl Client {
    pub fn new(object: u32, depth: usize) -> Client {
        Client {
            object: ObjectId(object),
            depth,
            think_ns: 0,
            sizes: vec![4096],
            kinds: vec![OpKind::Read],
            from: 0,
            until: u64::MAX,
        }
    }

    pub fn sizes(mut self, sizes: &[u64]) -> Client {
        self.sizes = sizes.to_vec();
        self
    }

    pub fn kinds(mut self, kinds: &[OpKind]) -> Client {
        self.kinds = kinds.to_vec();
        self
    }

    pub fn think(mut self, ns: u64) -> Client {
        self.think_ns = ns;
        self
    }

    pub fn between(mut self, from: u64, until: u64) -> Client {
        (self.from, self.until) = (from, until);
        self
    }
}

/// A server's own queue before the gate, where clients wait for their turns while the device has
/// enough to do.
pub struct Door {
    /// Requests that may be in the device beyond those it works on.
    pub backlog: usize,
    /// Requests that a floor is due for come in first.
    pub asks: bool,
    /// What each client's connection has sent.
    lanes: Vec<VecDeque<Request>>,
    /// Whose turn is next.
    turn: usize,
}

impl Door {
    /// Requests that a client sends in before it is the next one's turn.
    const PORTION: usize = 4;

    pub fn new(backlog: usize, asks: bool) -> Door {
        Door { backlog, asks, lanes: Vec::new(), turn: 0 }
    }
}

/// Everything together.
pub struct Bed {
    pub gate: Gate<Device>,
    pub now: u64,
    clients: Vec<Client>,
    /// Requests to be made: when, by which client.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    waiting_for_room: VecDeque<(usize, Request)>,
    dice: Dice,
    made: u64,
    /// Outstanding requests by tag.
    outstanding: BTreeMap<u64, usize>,
    /// Completions by client and whole second.
    pub completed: Vec<Vec<u64>>,
    pub queued_ns: Vec<u64>,
    /// Changes to be made: when, which.
    edits: VecDeque<(u64, Edit)>,
    /// When nobody runs, neither gate nor clients; in the order of time.
    pub stalls: VecDeque<std::ops::Range<u64>>,
    /// Device changes: when, service time.
    pub service_changes: VecDeque<(u64, u64)>,
    /// What is in front of the gate.
    pub door: Option<Door>,
}

impl Bed {
    pub fn new(device: Device, clients: Vec<Client>) -> Bed {
        Bed::with(device, clients, Settings::default())
    }

    pub fn with(device: Device, clients: Vec<Client>, settings: Settings) -> Bed {
        let mut due = BinaryHeap::new();
        for (i, client) in clients.iter().enumerate() {
            for _ in 0..client.depth {
                due.push(Reverse((client.from, i)));
            }
        }
        Bed {
            gate: Gate::new(device, settings),
            now: 0,
            completed: vec![Vec::new(); clients.len()],
            queued_ns: vec![0; clients.len()],
            clients,
            due,
            waiting_for_room: VecDeque::new(),
            dice: Dice(42),
            made: 0,
            outstanding: BTreeMap::new(),
            edits: VecDeque::new(),
            stalls: VecDeque::new(),
            service_changes: VecDeque::new(),
            door: None,
        }
    }

    /// Applies a change at once.
    #[allow(clippy::needless_pass_by_value, reason = "every call makes its edit on the spot")]
    pub fn edit(&mut self, edit: Edit) -> &mut Bed {
        self.gate.edit(Time::from_nanos(self.now), &edit).unwrap();
        self
    }

    /// Applies a change later; calls are in the order of time.
    pub fn edit_at(&mut self, at: u64, edit: Edit) -> &mut Bed {
        self.edits.push_back((at, edit));
        self
    }

    /// Objects directly under the backend.
    pub fn flat(&mut self, objects: std::ops::Range<u32>) -> &mut Bed {
        for object in objects {
            self.edit(add(object, None));
        }
        self
    }

    fn make(&mut self, client: usize) {
        let spec = &self.clients[client];
        if self.now >= spec.until {
            return;
        }
        let len = spec.sizes[self.dice.below(spec.sizes.len() as u64) as usize];
        let op = match spec.kinds[self.dice.below(spec.kinds.len() as u64) as usize] {
            OpKind::Write => Op::Write(Buf::nothing(len as u32)),
            OpKind::Flush => Op::Flush,
            OpKind::Trim => Op::Trim,
            _ => Op::Read,
        };
        let due = Time::from_nanos(self.now);
        let request = Request { tag: self.made, object: spec.object, at: self.made * 4096, len, op, fua: false, due };
        self.outstanding.insert(self.made, client);
        self.made += 1;
        match &mut self.door {
            None => self.hand_in(client, request),
            Some(door) => {
                door.lanes.resize_with(self.clients.len(), VecDeque::new);
                door.lanes[client].push_back(request);
            }
        }
    }

    /// Lets in requests that floors are due for, then what there is room for, in turns.
    fn open_door(&mut self) {
        let Some(mut door) = self.door.take() else { return };
        let now = Time::from_nanos(self.now);
        for client in (0..door.lanes.len()).filter(|_| door.asks) {
            while self.gate.is_floor_due(now, self.clients[client].object)
                && let Some(request) = door.lanes[client].pop_front()
            {
                self.hand_in(client, request);
            }
        }
        let device = self.gate.inner();
        let mut room = (device.free_at.len() + door.backlog).saturating_sub(device.requests.len());
        let mut empty = 0;
        while room > 0 && empty < door.lanes.len() {
            let client = door.turn % door.lanes.len();
            let portion = door.lanes[client].len().min(Door::PORTION).min(room);
            for request in door.lanes[client].drain(..portion).collect::<Vec<_>>() {
                self.hand_in(client, request);
            }
            door.turn += 1;
            room -= portion;
            empty = if portion == 0 { empty + 1 } else { 0 };
        }
        self.door = Some(door);
    }

    fn hand_in(&mut self, client: usize, request: Request) {
        match self.gate.submit(Time::from_nanos(self.now), request) {
            Submitted::Taken(_) => {}
            Submitted::Full(request) => self.waiting_for_room.push_back((client, request)),
        }
    }

    fn take(&mut self, completions: &mut Vec<Completion>) {
        for completion in completions.drain(..) {
            let client = self.outstanding.remove(&completion.tag).expect("completed once, and known");
            assert_eq!(completion.object, self.clients[client].object);
            let second = (self.now / SECOND) as usize;
            let seconds = &mut self.completed[client];
            if seconds.len() <= second {
                seconds.resize(second + 1, 0);
            }
            seconds[second] += 1;
            self.queued_ns[client] += completion.queued.as_nanos();
            self.due.push(Reverse((self.now + self.clients[client].think_ns, client)));
        }
    }

    /// Runs until a time.
    pub fn run(&mut self, until: u64) {
        let mut completions = Vec::new();
        while self.now < until {
            while self.edits.front().is_some_and(|e| e.0 <= self.now) {
                let edit = self.edits.pop_front().unwrap().1;
                self.edit(edit);
            }
            while self.service_changes.front().is_some_and(|c| c.0 <= self.now) {
                self.gate.inner_mut().service_ns = self.service_changes.pop_front().unwrap().1;
            }
            while self.due.peek().is_some_and(|d| d.0.0 <= self.now) {
                let Reverse((_, client)) = self.due.pop().unwrap();
                self.make(client);
            }
            self.open_door();
            self.gate.poll(Time::from_nanos(self.now), &mut completions);
            if !completions.is_empty() {
                self.take(&mut completions);
                for _ in 0..self.waiting_for_room.len() {
                    let (client, request) = self.waiting_for_room.pop_front().unwrap();
                    self.hand_in(client, request);
                }
            }
            let mut next = until;
            for at in [
                self.edits.front().map(|e| e.0),
                self.service_changes.front().map(|c| c.0),
                self.due.peek().map(|d| d.0.0),
            ] {
                next = next.min(at.unwrap_or(until));
            }
            match self.gate.next_wakeup() {
                Wakeup::Now => next = self.now,
                Wakeup::At(at) => next = next.min(at.as_nanos()),
                Wakeup::Idle | Wakeup::External => {}
            }
            self.now = next.max(self.now);
            while self.stalls.front().is_some_and(|stall| stall.start <= self.now) {
                self.now = self.stalls.pop_front().unwrap().end.max(self.now);
            }
        }
    }

    /// Requests not completed.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Dispatches of some objects together by bin, from the start to now.
    pub fn bins(&self, objects: &[u32]) -> Vec<(u64, u64)> {
        let mut sum = vec![(0, 0); (self.now / (10 * MS)) as usize];
        for object in objects {
            for (i, bin) in self.gate.inner().bins.get(&ObjectId(*object)).into_iter().flatten().enumerate() {
                if i < sum.len() {
                    sum[i].0 += bin.0;
                    sum[i].1 += bin.1;
                }
            }
        }
        sum
    }
}

/// The largest sum over any second, in steps of 10 ms, and the mean per second.
pub fn windows(bins: &[u64]) -> (u64, f64) {
    let most = bins.windows(BINS.min(bins.len())).map(|w| w.iter().sum()).max().unwrap_or(0);
    (most, bins.iter().sum::<u64>() as f64 * BINS as f64 / bins.len() as f64)
}

pub fn add(object: u32, parent: Option<u32>) -> Edit {
    Edit::AddObject { object: ObjectId(object), parent: parent.map(ObjectId) }
}

pub fn limit(object: u32, limits: Limits) -> Edit {
    Edit::SetLimits { object: ObjectId(object), limits }
}

pub fn group(group: u32, limits: Limits) -> Edit {
    Edit::AddGroup { group: GroupId(group), limits }
}

pub fn join(object: u32, group: u32) -> Edit {
    Edit::Join { object: ObjectId(object), group: Some(GroupId(group)) }
}

pub fn iops(rate: u64) -> Limits {
    Limits { ceiling: Ceiling { iops: Some(Iops(rate)), ..Ceiling::default() }, ..Limits::default() }
}

pub fn bytes(rate: u64) -> Limits {
    Limits { ceiling: Ceiling { bytes: Some(BytesPerSecond(rate)), ..Ceiling::default() }, ..Limits::default() }
}

pub fn floor(rate: u64) -> Limits {
    Limits { floor: Floor { iops: Some(Iops(rate)), bytes: None, latency: None }, ..Limits::default() }
}
