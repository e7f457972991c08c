//! What the gate costs, in nanoseconds per request: with no policy on the path, with ceilings and
//! floors on four levels and 10 000 backlogged workloads, and with 1 000 000 workloads all
//! backlogged. Prints one line for each figure: `name value unit`.
//!
//! The target behind the gate completes everything at the next poll, so what is measured is the
//! gate, its submit and its poll, and the loop around them. Time is virtual and advances so that
//! the backlog never drains; only the cost is taken from a clock.
//!
//! The time in which the system let others run is taken off, since it would only say how busy the
//! machine is. Polls are timed one by one in a second pass: by the clock, and again without that
//! time (`_own`).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use block::{Bytes, Completion, Iops, ObjectId, Op, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};
use qos::{Ceiling, Edit, Floor, Gate, GroupId, Limits, Settings};

/// Completes everything at the next poll.
#[derive(Default)]
struct Null {
    taken: Vec<Request>,
    passed: u64,
}

impl Target for Null {
    fn traits(&self) -> Traits {
        Traits { size: Bytes::gib(1), align: 512, longest: 1 << 20, carries_data: false, read_only: false }
    }
    fn submit(&mut self, _now: Time, request: Request) -> Submitted {
        self.passed += 1;
        self.taken.push(request);
        Submitted::Taken(Ticket(0))
    }
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.extend(self.taken.drain(..).map(|request| Completion::of(&request, now, Ok(()))));
    }
    fn next_wakeup(&self) -> Wakeup {
        if self.taken.is_empty() { Wakeup::Idle } else { Wakeup::Now }
    }
    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

#[allow(clippy::disallowed_methods, reason = "this program measures the wall time that the gate takes")]
fn clock() -> Instant {
    Instant::now()
}

fn read(tag: u64, object: u32) -> Request {
    Request { tag, object: ObjectId(object), at: 0, len: 4096, op: Op::Read, fua: false, due: Time::ZERO }
}

fn edit(gate: &mut Gate<Null>, edit: &Edit) {
    gate.edit(Time::ZERO, edit).expect("the bench's own tree");
}

fn add(gate: &mut Gate<Null>, object: u32, parent: Option<u32>) {
    edit(gate, &Edit::AddObject { object: ObjectId(object), parent: parent.map(ObjectId) });
}

fn limits(iops: u64, floor: Option<u64>) -> Limits {
    Limits {
        ceiling: Ceiling { iops: Some(Iops(iops)), ..Ceiling::default() },
        floor: Floor { iops: floor.map(Iops), bytes: None, latency: None },
    }
}

/// Requests at depth 32 over 8 LUNs four levels down, less the cost of the same without a gate.
fn no_policy() -> f64 {
    let mut gate = Gate::new(Null::default(), Settings::default());
    for (object, parent) in [(1, None), (2, Some(1)), (3, Some(2))] {
        add(&mut gate, object, parent);
    }
    for lun in 10..18 {
        add(&mut gate, lun, Some(3));
    }
    let with = round_trips(&mut gate);
    let without = round_trips(&mut Null::default());
    eprintln!("  no policy: {with:.1} ns with the gate, {without:.1} ns without");
    with - without
}

/// Nanoseconds for a round trip in the cheapest of many short pieces.
fn round_trips(target: &mut impl Target) -> f64 {
    const PIECES: u64 = 2_000;
    const ROUNDS: u64 = 200;
    const DEPTH: u64 = 32;
    let mut out = Vec::new();
    let mut best = f64::INFINITY;
    for piece in 0..PIECES {
        let start = clock();
        for round in 0..ROUNDS {
            let now = Time::from_nanos((piece * ROUNDS + round) * 1000);
            for i in 0..DEPTH {
                let submitted = target.submit(now, read(i, 10 + (i % 8) as u32));
                assert!(matches!(submitted, Submitted::Taken(_)));
            }
            target.poll(now, &mut out);
            out.clear();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (ROUNDS * DEPTH) as f64);
    }
    best
}

/// The costs of many polls.
struct Run {
    /// Of the cheapest and of the middle one of pieces of 50 000 requests: the difference shows
    /// what else the machine did.
    ns_per_request: f64,
    ns_per_request_median: f64,
    /// By the clock, and by the gate's own time.
    polls: Polls,
    polls_own: Polls,
}

/// How long polls took, in microseconds.
struct Polls {
    median: f64,
    /// One poll in 10 000 took longer.
    p9999: f64,
    max: f64,
    /// Millionths of them that took longer than 100 µs.
    over_100_us: f64,
}

impl Polls {
    fn of(nanos: Vec<u64>) -> Polls {
        let nanos = sorted(nanos);
        let at = |part: f64| nanos[((nanos.len() - 1) as f64 * part) as usize] as f64 / 1000.0;
        let over = nanos.iter().filter(|&&ns| ns > 100_000).count();
        Polls { median: at(0.5), p9999: at(0.9999), max: at(1.0), over_100_us: over as f64 * 1e6 / nanos.len() as f64 }
    }
}

/// A gate whose objects are all backlogged: each completion brings the next request of its object.
struct Backlog<'a> {
    gate: &'a mut Gate<Null>,
    now: Time,
    step: block::Span,
    out: Vec<Completion>,
}

impl Backlog<'_> {
    fn poll(&mut self) {
        self.now += self.step;
        self.gate.poll(self.now, &mut self.out);
    }

    /// How many requests the last poll ended.
    fn refill(&mut self) -> u64 {
        let ended = self.out.len() as u64;
        for completion in self.out.drain(..) {
            let submitted = self.gate.submit(self.now, read(0, completion.object.0));
            assert!(matches!(submitted, Submitted::Taken(_)));
        }
        ended
    }
}

fn backlogged(gate: &mut Gate<Null>, objects: std::ops::Range<u32>, step_ns: u64, requests: u64) -> Run {
    for depth in 0..2 {
        for object in objects.clone() {
            assert!(matches!(gate.submit(Time::ZERO, read(depth, object)), Submitted::Taken(_)));
        }
    }
    let step = block::Span::from_nanos(step_ns);
    let mut backlog = Backlog { gate, now: Time::ZERO, step, out: Vec::new() };
    let pieces = pieces(&mut backlog, requests);
    let (polls, polls_own) = polls(&mut backlog);
    Run { ns_per_request: pieces[0], ns_per_request_median: pieces[pieces.len() / 2], polls, polls_own }
}

/// Nanoseconds for each request, without the time of others, in pieces of 50 000, the cheapest
/// first; the first tenth warms up.
fn pieces(backlog: &mut Backlog<'_>, requests: u64) -> Vec<f64> {
    let (mut pieces, mut done) = (Vec::new(), 0);
    let others = Others::new();
    while done < requests {
        let (before, start, mut counted) = (others.ran(), clock(), 0);
        while counted < 50_000 {
            backlog.poll();
            counted += backlog.refill();
        }
        let took = (start.elapsed().as_nanos() as u64).saturating_sub(others.ran() - before);
        pieces.push(took as f64 / counted as f64);
        done += counted;
    }
    sorted(pieces.split_off(pieces.len() / 10))
}

/// Times each of many polls.
fn polls(backlog: &mut Backlog<'_>) -> (Polls, Polls) {
    const POLLS: usize = 200_000;
    let others = Others::new();
    let (mut by_clock, mut own) = (Vec::with_capacity(POLLS), Vec::with_capacity(POLLS));
    for _ in 0..POLLS {
        let before = others.ran();
        let start = clock();
        backlog.poll();
        let took = start.elapsed().as_nanos() as u64;
        by_clock.push(took);
        own.push(took.saturating_sub(others.ran() - before));
        backlog.refill();
    }
    (Polls::of(by_clock), Polls::of(own))
}

/// For how long this thread was ready to run while others ran.
struct Others(Option<File>);

impl Others {
    fn new() -> Others {
        Others(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Nanoseconds; always 0 where the system does not tell.
    fn ran(&self) -> u64 {
        let mut text = [0; 64];
        let read = self.0.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        let text = std::str::from_utf8(&text[..read]).unwrap_or("");
        text.split(' ').nth(1).and_then(|field| field.parse().ok()).unwrap_or(0)
    }
}

fn sorted<T: PartialOrd>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable_by(|a, b| a.partial_cmp(b).expect("no NaN among times"));
    values
}

/// 10 SVMs > 100 volumes > 1 000 qtrees > 10 000 LUNs, ceilings on all levels, floors on the LUNs.
fn four_levels() -> Run {
    let mut gate = Gate::new(Null::default(), Settings::default());
    let (svms, volumes, qtrees, luns) = (0..10u32, 100..200u32, 1_000..2_000u32, 10_000..20_000u32);
    for svm in svms {
        add(&mut gate, svm, None);
        edit(&mut gate, &Edit::SetLimits { object: ObjectId(svm), limits: limits(400_000, None) });
    }
    for volume in volumes {
        add(&mut gate, volume, Some((volume - 100) / 10));
        edit(&mut gate, &Edit::SetLimits { object: ObjectId(volume), limits: limits(45_000, None) });
    }
    for qtree in qtrees {
        add(&mut gate, qtree, Some(100 + (qtree - 1_000) / 10));
        edit(&mut gate, &Edit::SetLimits { object: ObjectId(qtree), limits: limits(5_000, None) });
    }
    for lun in luns.clone() {
        add(&mut gate, lun, Some(1_000 + (lun - 10_000) / 10));
        edit(&mut gate, &Edit::SetLimits { object: ObjectId(lun), limits: limits(900, Some(100)) });
    }
    backlogged(&mut gate, luns, 10_000, 4_000_000)
}

/// A million objects, each limited by itself: every one has its own timer.
fn million_limited() -> Run {
    let mut gate = Gate::new(Null::default(), Settings::default());
    for object in 0..1_000_000 {
        add(&mut gate, object, None);
        edit(&mut gate, &Edit::SetLimits { object: ObjectId(object), limits: limits(4, None) });
    }
    backlogged(&mut gate, 0..1_000_000, 10_000, 6_000_000)
}

/// A million objects behind one shared limit.
fn million_shared() -> Run {
    let mut gate = Gate::new(Null::default(), Settings::default());
    edit(&mut gate, &Edit::AddGroup { group: GroupId(1), limits: limits(4_000_000, None) });
    for object in 0..1_000_000 {
        add(&mut gate, object, None);
        edit(&mut gate, &Edit::Join { object: ObjectId(object), group: Some(GroupId(1)) });
    }
    backlogged(&mut gate, 0..1_000_000, 10_000, 6_000_000)
}

/// The memory of an object without requests: the growth of this process by the second million of
/// them, when the allocator has no leftovers of growing tables any more.
fn idle_bytes(limits: Limits) -> Option<f64> {
    let resident = || -> Option<f64> {
        let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
        Some(statm.split_whitespace().nth(1)?.parse::<f64>().ok()? * 4096.0)
    };
    let mut gate = Gate::new(Null::default(), Settings::default());
    let mut million = |from: u32| {
        for object in from..from + 1_000_000 {
            add(&mut gate, object, None);
            if limits != Limits::default() {
                edit(&mut gate, &Edit::SetLimits { object: ObjectId(object), limits });
            }
        }
        gate.status().objects
    };
    million(0);
    let before = resident()?;
    assert_eq!(million(1_000_000), 2_000_000);
    Some((resident()? - before) / 1e6)
}

fn main() {
    let only = std::env::args().nth(1);
    let wanted = |name: &str| only.as_deref().is_none_or(|o| name.contains(o));
    let idle = [
        ("idle_workload", Limits::default()),
        ("idle_workload_ceiling", limits(4, None)),
        ("idle_workload_floor", limits(4, Some(1))),
    ];
    for (name, limits) in idle {
        if wanted(name)
            && let Some(bytes) = idle_bytes(limits)
        {
            println!("{name} {bytes:.0} bytes");
        }
    }
    if wanted("no_policy") {
        println!("no_policy {:.1} ns/request", no_policy());
    }
    type Case = (&'static str, fn() -> Run);
    let runs: [Case; 3] =
        [("four_levels_10k", four_levels), ("million_limited", million_limited), ("million_shared", million_shared)];
    for (name, run) in runs {
        if wanted(name) {
            let run = run();
            println!("{name} {:.1} ns/request", run.ns_per_request);
            println!("{name}_median {:.1} ns/request", run.ns_per_request_median);
            for (which, polls) in [("poll", run.polls), ("poll_own", run.polls_own)] {
                println!("{name}_{which}_median {:.1} us", polls.median);
                println!("{name}_{which}_p99.99 {:.1} us", polls.p9999);
                println!("{name}_{which}_max {:.1} us", polls.max);
                println!("{name}_{which}_over_100us {:.0} in 1000000", polls.over_100_us);
            }
        }
    }
}
