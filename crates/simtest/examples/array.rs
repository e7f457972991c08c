//! `cargo xtask bench array`: how much the simulator of arrays does in a second of one core. Prints
//! one line for each figure: `name value unit`.
//!
//! A loop of its own makes the requests, with as little randomness as will do, so that the array,
//! the gate and the tape are measured and not a stream of requests. An event is something that
//! falls due inside the array at an instant of its own: the arrival of a request, and the end of
//! its way down a link, of its time on a core or a channel, and of its way up. Time is that of this
//! thread alone, without the time in which other programs had its core.

use array::{
    Array, ArrayStage, Controller, DeviceSpec, Flash, Level, Link, Model, ParallelServers, Raid, ReadCache, WriteLog,
};
use block::{Buf, Bytes, Completion, Iops, ObjectId, Op, Request, Span, Submitted, Target, Time, Wakeup};
use capacity::{Trial, setups};
use qos::{Ceiling, Edit, Floor, Gate, Limits, Settings};
use stats::{Ended, Noted, Tape};
use std::collections::HashMap;
use uring::usage::thread_cpu;

/// Requests of one figure, and how often it is measured: the best counts.
const REQUESTS: u64 = 400_000;
const ROUNDS: usize = 5;
/// Outstanding.
const DEPTH: u64 = 64;
/// Objects with a policy each.
const OBJECTS: u32 = 4;

fn main() {
    let only = std::env::args().nth(1);
    let wanted = |name: &str| only.as_deref().is_none_or(|only| name == only);
    type Row = (&'static str, f64, fn() -> f64);
    let rows: [Row; 8] = [
        ("mm1", 2.0, || open_queue(REQUESTS)),
        ("station", 2.0, || closed(bare(&station()), false, &Mix::reads())),
        ("station_gate_tape", 2.0, || closed(gated(&station()), true, &Mix::reads())),
        ("a700", events_of(&Mix::oltp(), false), || closed(bare(&a700(None)), false, &Mix::oltp())),
        ("a700_gate_tape", events_of(&Mix::oltp(), false), || closed(gated(&a700(None)), true, &Mix::oltp())),
        ("a700_cache", events_of(&Mix::oltp(), true), || closed(bare(&a700(Some(cache()))), false, &Mix::oltp())),
        ("a700_cache_gate", events_of(&Mix::oltp(), true), || closed(gated(&a700(Some(cache()))), false, &Mix::oltp())),
        ("a700_cache_gate_tape", events_of(&Mix::oltp(), true), || {
            closed(gated(&a700(Some(cache()))), true, &Mix::oltp())
        }),
    ];
    for (name, events, play) in rows {
        if wanted(name) {
            let seconds = (0..ROUNDS).map(|_| play()).fold(f64::INFINITY, f64::min);
            println!("{name}_requests {:.0} /s", REQUESTS as f64 / seconds);
            println!("{name}_events {:.0} /s", events * REQUESTS as f64 / seconds);
        }
    }
    if wanted("phases") {
        let seconds = (0..ROUNDS).map(|_| phases()).fold(f64::INFINITY, f64::min);
        println!("phases {:.1} ms", 1e3 * seconds);
    }
}

/// Events of a request in the array. Reads arrive, go down the link, through a core and a channel,
/// and up the link. Where half of them are found in the cache, that event replaces the channel's.
/// Writes end in the log, an event that also replaces the channel's; what a consistency point
/// writes afterwards is not counted.
fn events_of(_mix: &Mix, _cache: bool) -> f64 {
    5.0
}

/// Reads in a hundred, and the size of the region that they go to.
struct Mix {
    reads: u64,
    spread: u64,
}

impl Mix {
    fn reads() -> Mix {
        Mix { reads: 100, spread: 1 << 36 }
    }

    fn oltp() -> Mix {
        Mix { reads: 75, spread: 1 << 36 }
    }
}

/// xorshift64 (Marsaglia, 2003).
fn chance(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn station() -> DeviceSpec {
    DeviceSpec::of(Model::ParallelServers(ParallelServers { servers: 8, ..ParallelServers::default() }))
}

/// Half the size of the region that the requests go to.
fn cache() -> ReadCache {
    ReadCache { size: Bytes(1 << 35), page: Bytes::mib(1), warm: true, ..ReadCache::default() }
}

/// The stages of the file arrays/aff-a700.toml.
fn a700(cache: Option<ReadCache>) -> DeviceSpec {
    let link = Link {
        bandwidth: Bytes(12_800_000_000),
        latency: Span::from_micros(10),
        flow: Some(Bytes(1_095_400_000)),
        flows: 48,
    };
    let (read, write) = (Span::from_micros(165), Span::from_micros(45));
    let controller = Controller { cores: 72, read, write, ..Controller::default() };
    let log = WriteLog {
        half: Bytes::gib(16),
        latency: Span::from_nanos(31_200),
        depth: 32,
        unit: Bytes::mib(1),
        anywhere: true,
        ..WriteLog::default()
    };
    let raid = Raid { level: Level::Dp, members: 18, unit: Bytes::kib(64) };
    let flash = Flash {
        channels: 64,
        page: Bytes::kib(8),
        read: Span::from_micros(75),
        program: Span::from_micros(750),
        ..Flash::default()
    };
    let mut stages = vec![ArrayStage::Link(link), ArrayStage::Controller(controller), ArrayStage::WriteLog(log)];
    stages.extend(cache.map(ArrayStage::Cache));
    stages.push(ArrayStage::Raid(raid));
    DeviceSpec::of(Model::Array(Array { stages, media: Box::new(Model::Flash(flash)) }))
}

fn bare(spec: &DeviceSpec) -> Box<dyn Target> {
    spec.build(1).expect("a device")
}

/// Behind a gate with a floor and a ceiling for each object, none of which bind.
fn gated(spec: &DeviceSpec) -> Box<dyn Target> {
    let mut gate = Gate::new(bare(spec), Settings::default());
    let limits = Limits {
        ceiling: Ceiling { iops: Some(Iops(10_000_000)), ..Ceiling::default() },
        floor: Floor { iops: Some(Iops(1000)), bytes: None, latency: None },
    };
    for object in (0..OBJECTS).map(ObjectId) {
        for edit in [Edit::AddObject { object, parent: None }, Edit::SetLimits { object, limits }] {
            gate.edit(Time::ZERO, &edit).expect("the bench's own tree");
        }
    }
    Box::new(gate)
}

/// Seconds that a closed loop takes for [`REQUESTS`].
fn closed(mut target: Box<dyn Target>, records: bool, mix: &Mix) -> f64 {
    let mut tape = Tape::new(Time::ZERO, Noted { gate: true, ..Noted::default() });
    let (mut now, mut state, mut tag, mut done) = (Time::ZERO, 0x9e37_79b9_7f4a_7c15, 0u64, 0u64);
    let mut ended: Vec<Completion> = Vec::new();
    let mut submit = |target: &mut dyn Target, now: Time| {
        let drawn = chance(&mut state);
        let op = if drawn % 100 < mix.reads { Op::Read } else { Op::Write(Buf::nothing(8192)) };
        let object = ObjectId((tag % u64::from(OBJECTS)) as u32);
        let at = (drawn >> 8) % (mix.spread / 8192) * 8192;
        let request = Request { tag, object, at, len: 8192, op, fua: false, due: now };
        let Submitted::Taken(_) = target.submit(now, request) else { panic!("full") };
        tag += 1;
    };
    let start = thread_cpu();
    (0..DEPTH).for_each(|_| submit(&mut *target, now));
    while done < REQUESTS {
        match target.next_wakeup() {
            Wakeup::At(at) => now = now.max(at),
            Wakeup::Now => {}
            Wakeup::Idle | Wakeup::External => panic!("at a standstill at {now:?}"),
        }
        target.poll(now, &mut ended);
        for completion in ended.drain(..) {
            if records {
                let class = if completion.kind == block::OpKind::Read { Tape::READ } else { Tape::WRITE };
                tape.ended(&Ended::of(class, &completion));
            }
            done += 1;
            submit(&mut *target, now);
        }
        if records {
            tape.roll(now);
        }
    }
    assert!(!records || tape.ops() == done);
    thread_cpu().saturating_sub(start).as_secs_f64()
}

/// Seconds that M/M/1 takes, at 80 % of its server: arrivals and service by chance.
fn open_queue(requests: u64) -> f64 {
    let service = Span::from_nanos(1);
    let server = ParallelServers { servers: 1, service, size_unit: Some(Bytes(1)), ..ParallelServers::default() };
    let mut target = bare(&DeviceSpec::of(Model::ParallelServers(server)));
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut exponential = |mean: f64| -mean * (((chance(&mut state) >> 11) as f64 + 0.5) / (1u64 << 53) as f64).ln();
    let (mut arrives, mut done, mut tag) = (0.0, 0, 0);
    let mut ended = Vec::new();
    let start = thread_cpu();
    while done < requests {
        let next = Time::from_nanos(arrives as u64);
        match target.next_wakeup() {
            Wakeup::At(at) if at <= next => {
                target.poll(at, &mut ended);
                done += ended.drain(..).count() as u64;
            }
            _ => {
                let len = exponential(8000.0) as u64;
                let request = Request { tag, object: ObjectId(0), at: 0, len, op: Op::Read, fua: false, due: next };
                let Submitted::Taken(_) = target.submit(next, request) else { panic!("full") };
                (tag, arrives) = (tag + 1, arrives + exponential(10_000.0));
            }
        }
    }
    thread_cpu().saturating_sub(start).as_secs_f64()
}

/// Seconds that the table of three hosts with ten runs each takes at the level of phases, as
/// `seawall reproduce aqos` plays it: once with floors and ceilings, once without.
fn phases() -> f64 {
    let Model::Array(array) = a700(None).model else { unreachable!("it has stages") };
    let (hosts, settings) = setups("A700_AQOS", &HashMap::new()).expect("the published test");
    let protected = (Some(120_000.0), Some(147_360.0));
    let policies = [protected, protected, (None, None)];
    let start = thread_cpu();
    for policies in [&policies, &[(None, None); 3]] {
        let trial = Trial::play(&array, hosts.clone(), settings.clone(), policies);
        assert_eq!(trial.rows.iter().map(Vec::len).sum::<usize>(), 30);
    }
    thread_cpu().saturating_sub(start).as_secs_f64()
}
