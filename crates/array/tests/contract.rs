//! What every device owes its caller as a `Target`: each accepted request ends exactly once and not
//! too soon, the same seed gives the same trace, refusals and cancellations are answered, and a
//! full device hands the request back.

mod load;

use array::{Array, ArrayStage, DeviceError, DeviceSpec, Model};
use block::{Completion, Fault, Span, Submitted, Target, Ticket, Time, Wakeup};
use load::{Ask, closed_loop, request, scattered};
use proptest::prelude::*;

fn devices() -> Vec<DeviceSpec> {
    Model::NAMES.iter().map(|name| DeviceSpec::named(name).unwrap()).collect()
}

/// The least time a request can take, by the documented formulas.
fn minimum(spec: &DeviceSpec, ask: Ask) -> Span {
    match (&spec.model, ask) {
        (Model::ParallelServers(m), Ask::Flush) => m.flush,
        (Model::ParallelServers(m), Ask::Trim { .. }) => m.trim,
        (Model::ParallelServers(m), _) => m.service,
        (Model::Disk(m), Ask::Flush) => m.flush,
        (Model::Disk(m), Ask::Trim { .. }) => m.trim,
        (Model::Disk(m), Ask::Read { len, .. } | Ask::Write { len, .. }) => {
            Span::from_nanos(len * m.rotation.as_nanos() / m.track.0)
        }
        (Model::Flash(m), Ask::Flush) => m.flush,
        (Model::Flash(m), Ask::Trim { .. }) => m.trim,
        (Model::Flash(m), Ask::Read { .. }) => m.read,
        // At least the largest of equal shares.
        (Model::Flash(m), Ask::Write { len, .. }) => {
            let parts = len.div_ceil(m.page.0).min(u64::from(m.channels)).max(1);
            Span::from_nanos(m.program.as_nanos() * (len / parts) / m.page.0)
        }
        (Model::CloudVolume(m), Ask::Flush) => m.flush,
        (Model::CloudVolume(m), Ask::Trim { .. }) => m.trim,
        (Model::CloudVolume(m), _) => m.latency,
        (Model::Array(m), ask) => array_minimum(m, ask),
        // A turn of its own.
        (Model::Host(m), Ask::Flush) => m.turn + m.flush,
        (Model::Host(m), Ask::Trim { .. }) => m.turn + m.trim,
        (Model::Host(m), _) => m.turn + m.request,
    }
}

/// For the usual array: both ways over the link, the controller, and for what the log answers the
/// log.
fn array_minimum(array: &Array, ask: Ask) -> Span {
    let of = |stage: &ArrayStage| match (stage, ask) {
        (ArrayStage::Link(link), _) => link.latency + link.latency,
        (ArrayStage::Controller(controller), Ask::Flush) => controller.flush,
        (ArrayStage::Controller(controller), Ask::Trim { .. }) => controller.trim,
        (ArrayStage::Controller(controller), Ask::Read { .. }) => controller.read,
        (ArrayStage::Controller(controller), Ask::Write { .. }) => controller.write,
        (ArrayStage::WriteLog(log), Ask::Flush | Ask::Write { .. }) => log.latency,
        _ => Span::ZERO,
    };
    array.stages.iter().map(of).sum()
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Ask(Ask),
    Cancel(usize),
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let place = (0u64..1 << 39, prop_oneof![Just(4096u64), 1u64..1 << 20]);
    prop_oneof![
        4 => place.clone().prop_map(|(at, len)| Act::Ask(Ask::Read { at, len })),
        4 => place.clone().prop_map(|(at, len)| Act::Ask(Ask::Write { at, len })),
        1 => Just(Act::Ask(Ask::Flush)),
        1 => place.prop_map(|(at, len)| Act::Ask(Ask::Trim { at, len })),
        1 => (0usize..1000).prop_map(Act::Cancel),
        4 => (0u64..3_000_000).prop_map(Act::Wait),
    ]
}

/// Plays the acts, polling only after waits, then lets the device run dry.
fn play(spec: &DeviceSpec, seed: u64, acts: &[Act]) -> (Vec<(Ask, Time)>, Vec<Completion>) {
    let mut device = spec.build(seed).unwrap();
    let (mut now, mut taken, mut tickets, mut done) = (Time::ZERO, Vec::new(), Vec::new(), Vec::new());
    for act in acts {
        match *act {
            Act::Ask(ask) => match device.submit(now, request(taken.len() as u64, now, ask)) {
                Submitted::Taken(ticket) => {
                    taken.push((ask, now));
                    tickets.push(ticket);
                }
                Submitted::Full(_) => assert!(spec.queue_limit.is_some()),
            },
            Act::Cancel(k) if !tickets.is_empty() => device.cancel(now, tickets[k % tickets.len()]),
            Act::Cancel(_) => {}
            Act::Wait(ns) => {
                now += Span::from_nanos(ns);
                device.poll(now, &mut done);
            }
        }
    }
    loop {
        match device.next_wakeup() {
            Wakeup::Now => {}
            Wakeup::At(at) => {
                assert!(at > now || at >= done.last().map_or(Time::ZERO, |c| c.end), "a wakeup in the past");
                now = now.max(at);
            }
            _ => return (taken, done),
        }
        device.poll(now, &mut done);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_request_ends_exactly_once_and_not_too_soon(
        acts in prop::collection::vec(act(), 1..120),
        seed in any::<u64>(),
        limit in prop::option::of(1u32..20),
    ) {
        for mut spec in devices() {
            spec.queue_limit = limit;
            let (taken, done) = play(&spec, seed, &acts);
            let mut seen = vec![false; taken.len()];
            for completion in &done {
                let (ask, at) = taken[completion.tag as usize];
                prop_assert!(!std::mem::replace(&mut seen[completion.tag as usize], true), "twice: {completion:?}");
                prop_assert_eq!(completion.end.since(at), completion.service);
                match completion.result {
                    Ok(()) => prop_assert!(completion.service >= minimum(&spec, ask), "{} {completion:?}", spec.model.name()),
                    Err(fault) => prop_assert_eq!(fault, Fault::Gone),
                }
                let carries = matches!(ask, Ask::Read { .. }) && completion.result.is_ok() || matches!(ask, Ask::Write { .. });
                prop_assert_eq!(completion.buf.is_some(), carries, "the buffer of {:?}", completion);
            }
            prop_assert!(seen.iter().all(|&seen| seen), "{}: not all ended", spec.model.name());
        }
    }

    /// A late poll changes when an end is reported, never when it was.
    #[test]
    fn late_polls_see_the_same_ends(count in 1usize..60, seed in any::<u64>()) {
        for spec in devices() {
            let mut place = scattered(seed, 4096, 1 << 20);
            let asks: Vec<Act> = (0..count).map(|_| Act::Ask(Ask::Write { at: place(), len: 65536 })).collect();
            let mut late = asks.clone();
            late.push(Act::Wait(60_000_000_000));
            prop_assert_eq!(play(&spec, seed, &asks).1, play(&spec, seed, &late).1);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    for spec in devices() {
        let run = |seed| {
            let mut place = scattered(42, 4096, 1 << 20);
            let mixed = move |tag: u64| match tag % 3 {
                0 => Ask::Write { at: place(), len: 16384 },
                _ => Ask::Read { at: place(), len: 4096 },
            };
            closed_loop(&spec, seed, 32, Time::ZERO + Span::SECOND, mixed)
        };
        assert_eq!(run(1), run(1), "{}", spec.model.name());
        // Parallel servers leave nothing to chance.
        assert_eq!(run(1) == run(2), matches!(spec.model, Model::ParallelServers(_)), "{}", spec.model.name());
    }
}

#[test]
fn a_full_device_hands_the_request_back_and_has_room_after_an_end() {
    for mut spec in devices() {
        spec.queue_limit = Some(2);
        let mut device = spec.build(0).unwrap();
        let ask = Ask::Write { at: 0, len: 4096 };
        for tag in 0..2 {
            assert!(matches!(device.submit(Time::ZERO, request(tag, Time::ZERO, ask)), Submitted::Taken(_)));
        }
        let Submitted::Full(back) = device.submit(Time::ZERO, request(2, Time::ZERO, ask)) else { panic!("no limit") };
        assert_eq!(back, request(2, Time::ZERO, ask), "it came back changed");
        // The submit itself sees the end, without a poll before it. Until then a wakeup may also be
        // a beginning.
        let mut next = back;
        while device.next_wakeup() != Wakeup::Now {
            let Wakeup::At(at) = device.next_wakeup() else { panic!("{}: nothing under way", spec.model.name()) };
            let Submitted::Full(back) = device.submit(at, next) else { break };
            next = back;
        }
        assert_eq!(device.next_wakeup(), Wakeup::Now, "{}: an end waits to be told", spec.model.name());
    }
}

#[test]
fn what_lies_outside_is_refused_with_its_buffer() {
    for spec in devices() {
        let mut device = spec.build(0).unwrap();
        let end = spec.size.0;
        let asks = [
            (Ask::Read { at: end - 4096, len: 4097 }, Err(Fault::Invalid)),
            (Ask::Write { at: u64::MAX, len: 4096 }, Err(Fault::NoSpace)),
            (Ask::Read { at: 0, len: 1 << 33 }, Err(Fault::Invalid)),
            (Ask::Trim { at: end, len: 1 }, Err(Fault::Invalid)),
        ];
        for (tag, (ask, _)) in asks.iter().enumerate() {
            let taken = device.submit(Time::ZERO, request(tag as u64, Time::ZERO, *ask));
            assert!(matches!(taken, Submitted::Taken(_)));
        }
        let mut done = Vec::new();
        device.poll(Time::ZERO, &mut done);
        assert_eq!(done.len(), asks.len());
        for (completion, (_, expected)) in done.iter().zip(asks) {
            assert_eq!(completion.result, expected);
            assert_eq!(completion.buf.is_some(), completion.kind == block::OpKind::Write);
        }
        assert_eq!(device.next_wakeup(), Wakeup::Idle);
    }
}

#[test]
fn a_waiting_request_can_be_cancelled_and_one_under_way_ends_as_it_would() {
    for mut spec in devices() {
        // What is on an array's link cannot be called back: there all are under way. Behind it they
        // wait for its cores.
        if let Model::Array(array) = &mut spec.model {
            array.stages.retain(|stage| !matches!(stage, ArrayStage::Link(_)));
        }
        let mut device = spec.build(0).unwrap();
        let mut submit = |tag, at| match device.submit(at, request(tag, at, Ask::Read { at: 0, len: 4096 })) {
            Submitted::Taken(ticket) => ticket,
            Submitted::Full(_) => panic!("full"),
        };
        // The first has begun when the others come. All on one address: flash queues them on one
        // channel. 2000 wait on any device.
        let at = Time::from_nanos(10);
        let tickets: Vec<Ticket> = (0..2000).map(|tag| submit(tag, if tag == 0 { Time::ZERO } else { at })).collect();
        device.cancel(at, tickets[1999]);
        device.cancel(at, tickets[0]);
        device.cancel(at, tickets[1999]);
        let mut done = Vec::new();
        device.poll(at, &mut done);
        let gone: Vec<u64> = done.iter().filter(|c| c.result == Err(Fault::Gone)).map(|c| c.tag).collect();
        assert_eq!(gone, [1999], "{}", spec.model.name());
        while let Wakeup::At(at) = device.next_wakeup() {
            device.poll(at, &mut done);
        }
        assert_eq!(done.len(), 2000, "{}", spec.model.name());
        assert_eq!(done.iter().filter(|c| c.result.is_ok()).count(), 1999);
    }
}

#[test]
fn bad_devices_are_refused_by_field() {
    let error = |change: &dyn Fn(&mut DeviceSpec), name| {
        let mut spec = DeviceSpec::named(name).unwrap();
        change(&mut spec);
        spec.build(0).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(error(&|spec| spec.queue_limit = Some(0), "flash"), "flash: queue_limit must be at least 1");
    let servers = |spec: &mut DeviceSpec| {
        if let Model::ParallelServers(m) = &mut spec.model {
            m.servers = 0;
        }
    };
    assert_eq!(error(&servers, "parallel-servers"), "parallel-servers: servers must be at least 1");
    let base = |spec: &mut DeviceSpec| {
        if let Model::CloudVolume(m) = &mut spec.model {
            m.operations.peak = 1;
        }
    };
    let words = "cloud-volume: iops must not be more than iops_peak, got 3000 and 1";
    assert_eq!(error(&base, "cloud-volume"), words);
    let stop = |spec: &mut DeviceSpec| spec.changes = vec![array::Change { at: Time::ZERO, percent: 0 }];
    assert!(error(&stop, "disk").contains("0 % of the capacity for ever"));
    assert_eq!(DeviceSpec::named("tape").unwrap_err(), DeviceError::Name("tape".into()),);
}
