//! A random history of one gate: trees, ceilings, floors, bursts and groups that come, change and
//! go while requests wait and fly, on a device that may be full, under a clock that stands still or
//! jumps an hour ahead.
//!
//! What must hold: every request ends exactly once; an object's requests reach the device in the
//! order in which they came; no ceiling, its own or a group's, lets more pass than a bucket of its
//! rate and credit allows; a poll hands over no more than its bound; and when every limit is gone,
//! so is everything that waited.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use block::{
    Buf, Bytes, BytesPerSecond, Completion, Iops, ObjectId, Op, Request, Span, Submitted, Target, Ticket, Time, Traits,
    Wakeup,
};
use qos::{Burst, Ceiling, Edit, Floor, Gate, GroupId, Limits, Settings};

use crate::bucket::Buckets;
use crate::input::Input;

const OBJECTS: u64 = 12;
const GROUPS: u64 = 4;
/// The longest request, in bytes.
const LONGEST: u64 = 8 << 20;
const STEPS: u32 = 16;

/// Plays the history that the bytes tell.
///
/// # Panics
/// When something that must hold does not.
pub fn scheduler(data: &[u8]) {
    let mut input = Input::new(data);
    let mut play = Play::new(&mut input);
    while !input.is_over() {
        play.act(&mut input);
        play.poll();
    }
    play.end();
}

/// A few servers and a queue with little room; what reached it, in order.
struct Device {
    room: usize,
    service: u64,
    free_at: Vec<u64>,
    busy: BinaryHeap<Reverse<(u64, u64)>>,
    requests: BTreeMap<u64, Request>,
    arrived: Vec<(ObjectId, u64, u64)>,
    next: u64,
}

impl Target for Device {
    fn traits(&self) -> Traits {
        Traits { size: Bytes::gib(1), align: 512, longest: LONGEST as u32, carries_data: false, read_only: false }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        if self.requests.len() >= self.room {
            return Submitted::Full(request);
        }
        let bytes = if request.op.kind().moves_data() { request.len } else { 0 };
        self.arrived.push((request.object, request.at, bytes));
        let server = self.free_at.iter_mut().min().expect("there is a server");
        *server = (*server).max(now.as_nanos()).saturating_add(self.service);
        self.next += 1;
        self.busy.push(Reverse((*server, self.next)));
        self.requests.insert(self.next, request);
        Submitted::Taken(Ticket(self.next))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        while let Some(&Reverse((end, id))) = self.busy.peek()
            && end <= now.as_nanos()
        {
            self.busy.pop();
            let request = self.requests.remove(&id).expect("it is busy with what it has");
            out.push(Completion::of(&request, Time::from_nanos(end), Ok(())));
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        self.busy.peek().map_or(Wakeup::Idle, |&Reverse((end, _))| Wakeup::At(Time::from_nanos(end)))
    }

    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

/// An object as the gate should know it.
struct Known {
    parent: Option<ObjectId>,
    group: Option<GroupId>,
    buckets: Buckets,
}

struct Play {
    gate: Gate<Device>,
    now: u64,
    objects: BTreeMap<ObjectId, Known>,
    groups: BTreeMap<GroupId, Buckets>,
    /// The last request of each object that reached the device.
    last: BTreeMap<ObjectId, u64>,
    tickets: Vec<Ticket>,
    made: u64,
    ended: Vec<bool>,
    out: Vec<Completion>,
    /// Requests by appointment at most, which a shared group can lead to: they were counted before
    /// they go.
    late: u64,
}

impl Play {
    fn new(input: &mut Input<'_>) -> Play {
        let device = Device {
            room: 1 + input.below(40) as usize,
            service: input.magnitude(24),
            free_at: vec![0; 1 + input.below(8) as usize],
            busy: BinaryHeap::new(),
            requests: BTreeMap::new(),
            arrived: Vec::new(),
            next: 0,
        };
        let settings = Settings {
            steps_per_poll: STEPS,
            queued_max: if input.once_in(4) { 20 } else { 1 << 20 },
            traces_max: input.below(8) as u32,
            ..Settings::default()
        };
        // Time begins anywhere, so that nothing counts on zero.
        let now = if input.once_in(2) { 0 } else { input.magnitude(60) };
        Play {
            gate: Gate::new(device, settings),
            now,
            objects: BTreeMap::new(),
            groups: BTreeMap::new(),
            last: BTreeMap::new(),
            tickets: Vec::new(),
            made: 0,
            ended: Vec::new(),
            out: Vec::new(),
            late: 0,
        }
    }

    fn time(&self) -> Time {
        Time::from_nanos(self.now)
    }

    fn act(&mut self, input: &mut Input<'_>) {
        match input.below(16) {
            0..=3 => self.edit(edit(input)),
            4..=10 => self.requests(input),
            11 if !self.tickets.is_empty() => {
                let ticket = self.tickets[input.below(self.tickets.len() as u64) as usize];
                self.gate.cancel(self.time(), ticket);
            }
            12 => {
                let (mut objects, mut groups) = (Vec::new(), Vec::new());
                self.gate.account(self.time(), &mut objects);
                self.gate.groups(self.time(), &mut groups);
            }
            13 if input.once_in(8) => self.now = self.now.saturating_add(3600 * 1_000_000_000),
            13 => self.now = self.now.saturating_add(input.magnitude(31)),
            // Stands still: the next act is at the same moment.
            _ => self.now = self.now.saturating_add(if input.once_in(3) { 0 } else { input.magnitude(24) }),
        }
    }

    /// One request or many alike.
    fn requests(&mut self, input: &mut Input<'_>) {
        let object = ObjectId(input.below(OBJECTS) as u32);
        let count = input.magnitude(7);
        let len = if input.once_in(8) { input.below(2) * LONGEST } else { input.magnitude(21) };
        let kind = input.below(8);
        for _ in 0..count {
            let op = match kind {
                0..=2 => Op::Read,
                3..=5 => Op::Write(Buf::nothing(len as u32)),
                6 => Op::Flush,
                _ => Op::Trim,
            };
            let request = Request { tag: self.made, object, at: self.made, len, op, fua: false, due: self.time() };
            if let Submitted::Taken(ticket) = self.gate.submit(self.time(), request) {
                self.tickets.push(ticket);
                self.ended.push(false);
                self.made += 1;
            }
        }
        self.look();
    }

    fn edit(&mut self, edit: Edit) {
        let before = self.gate.status();
        if self.gate.edit(self.time(), &edit).is_err() {
            assert_eq!(self.gate.status(), before, "refused, yet something changed: {edit:?}");
            return;
        }
        let now = self.now;
        match edit {
            Edit::AddObject { object, parent } => {
                self.objects.insert(object, Known { parent, group: None, buckets: Buckets::new() });
            }
            Edit::RemoveObject { object } => {
                self.objects.remove(&object);
            }
            Edit::SetLimits { object, limits } => {
                self.objects.get_mut(&object).expect("it was accepted").buckets.set(now, limits.ceiling);
            }
            Edit::AddGroup { group, limits } => {
                self.groups.entry(group).or_insert_with(Buckets::new).set(now, limits.ceiling);
            }
            Edit::SetGroup { group, limits } => {
                self.groups.get_mut(&group).expect("it was accepted").set(now, limits.ceiling);
            }
            Edit::RemoveGroup { group } => {
                self.groups.remove(&group);
            }
            Edit::Join { object, group } => {
                self.late = if group.is_some() { OBJECTS } else { self.late };
                self.objects.get_mut(&object).expect("it was accepted").group = group;
            }
            Edit::SetFair { .. } => {}
        }
    }

    fn poll(&mut self) {
        let before = self.gate.inner().arrived.len();
        self.gate.poll(self.time(), &mut self.out);
        let handed_over = self.gate.inner().arrived.len() - before;
        assert!(handed_over <= STEPS as usize, "{handed_over} requests in one poll");
        self.look();
        for completion in self.out.drain(..) {
            let ended = &mut self.ended[completion.tag as usize];
            assert!(!std::mem::replace(ended, true), "request {} ended twice", completion.tag);
        }
    }

    /// Looks at what reached the device.
    fn look(&mut self) {
        let arrived = std::mem::take(&mut self.gate.inner_mut().arrived);
        for (object, number, bytes) in arrived {
            if let Some(last) = self.last.insert(object, number) {
                assert!(last < number, "object {}: request {number} after {last}", object.0);
            }
            let mut at = Some(object);
            while let Some(id) = at
                && let Some(known) = self.objects.get_mut(&id)
            {
                known
                    .buckets
                    .pass(self.now, bytes, self.late, LONGEST)
                    .unwrap_or_else(|e| panic!("object {}: {e}", id.0));
                if let Some(group) = known.group {
                    let buckets = self.groups.get_mut(&group).expect("a group with members");
                    let most = OBJECTS * (OBJECTS + 1);
                    buckets.pass(self.now, bytes, most, LONGEST).unwrap_or_else(|e| panic!("group {}: {e}", group.0));
                }
                at = known.parent;
            }
        }
    }

    /// Without limits everything that waits goes, within a bounded number of polls.
    fn end(mut self) {
        for object in self.objects.keys().copied().collect::<Vec<_>>() {
            self.edit(Edit::SetLimits { object, limits: Limits::default() });
            self.edit(Edit::Join { object, group: None });
        }
        for _ in 0..self.made + 2_000 {
            self.now = self.now.saturating_add(100_000_000);
            self.poll();
            let status = self.gate.status();
            if status.queued + status.in_flight == 0 && self.ended.iter().all(|&ended| ended) {
                return;
            }
        }
        let lost: Vec<_> = (0..).zip(&self.ended).filter(|(_, ended)| !**ended).map(|(tag, _): (u64, _)| tag).collect();
        panic!("never ended: {lost:?}; {:?}; wakes {:?}", self.gate.status(), self.gate.next_wakeup());
    }
}

fn edit(input: &mut Input<'_>) -> Edit {
    let object = ObjectId(input.below(OBJECTS) as u32);
    let group = GroupId(input.below(GROUPS) as u32);
    match input.below(16) {
        0..=3 => {
            let parent = ObjectId(input.below(OBJECTS) as u32);
            Edit::AddObject { object, parent: (!input.once_in(3)).then_some(parent) }
        }
        4 => Edit::RemoveObject { object },
        5..=9 => Edit::SetLimits { object, limits: limits(input) },
        10 => Edit::AddGroup { group, limits: limits(input) },
        11 => Edit::SetGroup { group, limits: limits(input) },
        12 => Edit::RemoveGroup { group },
        13 | 14 => Edit::Join { object, group: (!input.once_in(4)).then_some(group) },
        _ => Edit::SetFair { object: (!input.once_in(3)).then_some(object), fair: input.once_in(2) },
    }
}

/// 1 to 10⁹ a second, and now and then a rate that must be refused.
fn rate(input: &mut Input<'_>) -> Option<u64> {
    match input.below(32) {
        0..=11 => None,
        12 => Some(0),
        13 => Some(u64::MAX),
        14 => Some(1),
        15 => Some(1_000_000_000),
        _ => Some(input.magnitude(30).min(1_000_000_000)),
    }
}

fn limits(input: &mut Input<'_>) -> Limits {
    let burst = input.once_in(4).then(|| Burst {
        ppm: if input.once_in(8) { u64::from(u32::MAX) * 10_000 } else { input.below(300) * 10_000 },
        duration: if input.once_in(8) { Span::MAX } else { Span::from_nanos(input.magnitude(36)) },
    });
    let ceiling = Ceiling { iops: rate(input).map(Iops), bytes: rate(input).map(BytesPerSecond), burst };
    let floor = match input.once_in(3) {
        true => Floor {
            iops: rate(input).map(Iops),
            bytes: rate(input).map(BytesPerSecond),
            latency: input.once_in(4).then(|| Span::from_nanos(input.magnitude(36))),
        },
        false => Floor::default(),
    };
    Limits { ceiling, floor }
}
