//! Clocks that stand still, step back or jump, absurd rates and sizes: no panic, no overflow, no
//! unlimited burst.

use block::{Buf, BytesPerSecond, Iops, ObjectId, Op, Request, Span, Submitted, Target, Time, Wakeup};
use proptest::prelude::*;
use qos::{Burst, Ceiling, Edit, Floor, Gate, Limits, Settings};

use crate::bed::*;

fn request(tag: u64, object: u32, op: Op, len: u64) -> Request {
    Request { tag, object: ObjectId(object), at: u64::MAX, len, op, fua: true, due: Time::MAX }
}

/// Polls until nothing is to be done now; how many ended.
fn settle(gate: &mut Gate<Device>, now: Time) -> usize {
    let mut out = Vec::new();
    loop {
        gate.poll(now, &mut out);
        if gate.next_wakeup() != Wakeup::Now {
            return out.len();
        }
    }
}

fn gate(limits: Limits) -> Gate<Device> {
    let mut gate = Gate::new(Device::new(8, 1_000), Settings::default());
    gate.edit(Time::ZERO, &add(1, None)).unwrap();
    gate.edit(Time::ZERO, &limit(1, limits)).unwrap();
    gate
}

fn fill(gate: &mut Gate<Device>, now: Time, count: u64) {
    for tag in 0..count {
        assert!(matches!(gate.submit(now, request(tag, 1, Op::Read, 4096)), Submitted::Taken(_)));
    }
}

#[test]
fn a_clock_that_stands_still_passes_one_request() {
    let mut gate = gate(iops(1_000));
    fill(&mut gate, Time::ZERO, 100);
    for _ in 0..1000 {
        settle(&mut gate, Time::ZERO);
    }
    assert_eq!(gate.status().in_flight, 1);
}

#[test]
fn a_clock_that_jumps_an_hour_gives_no_burst() {
    // The tolerance of 5 ms at 10 000/s is 50 requests, and one.
    let mut gate = gate(iops(10_000));
    fill(&mut gate, Time::ZERO, 1_000);
    let later = Time::ZERO + Span::from_secs(3600);
    settle(&mut gate, later);
    assert_eq!(gate.status().in_flight, 51);
    // A step back counts as standing still.
    settle(&mut gate, Time::ZERO);
    assert_eq!(gate.status().in_flight, 51);
}

#[test]
fn one_operation_a_second_and_a_billion() {
    let mut slow = gate(iops(1));
    fill(&mut slow, Time::ZERO, 3);
    settle(&mut slow, Time::from_nanos(SECOND - 1));
    assert_eq!(slow.gate_dispatched(), 1);
    settle(&mut slow, Time::from_nanos(SECOND + MS));
    assert_eq!(slow.gate_dispatched(), 2);
    let mut fast = gate(iops(1_000_000_000));
    fill(&mut fast, Time::ZERO, 1_000);
    // 1 000 operations take a microsecond, rounded up to the timers' grain.
    settle(&mut fast, Time::from_nanos(200_000));
    assert_eq!(fast.gate_dispatched(), 1_000);
}

trait Dispatched {
    fn gate_dispatched(&self) -> u64;
}

impl Dispatched for Gate<Device> {
    fn gate_dispatched(&self) -> u64 {
        self.inner().bins.values().flatten().map(|b| b.0).sum()
    }
}

#[test]
fn requests_without_length_cost_an_operation() {
    let mut gate = gate(Limits { ceiling: Ceiling { iops: Some(Iops(100)), ..bytes(1).ceiling }, ..Limits::default() });
    for tag in 0..10 {
        let op = if tag % 2 == 0 { Op::Flush } else { Op::Trim };
        assert!(matches!(gate.submit(Time::ZERO, request(tag, 1, op, tag * 1000)), Submitted::Taken(_)));
    }
    // One byte a second does not hold what moves no data; 100 operations a second do.
    settle(&mut gate, Time::from_nanos(45 * MS));
    // One at 0, and no more than the tolerance of just under an operation is saved while nobody
    // polls.
    assert_eq!(gate.gate_dispatched(), 2);
    for ms in 46..100 {
        settle(&mut gate, Time::from_nanos(ms * MS));
    }
    // Then about one every 10 ms.
    assert!((7..=9).contains(&gate.gate_dispatched()), "{}", gate.gate_dispatched());
}

#[test]
fn a_full_gate_hands_requests_back_and_takes_them_later() {
    let settings = Settings { queued_max: 5, queued_max_per_object: 3, ..Settings::default() };
    let mut gate = Gate::new(Device::new(8, 1_000), settings);
    for object in [1, 2] {
        gate.edit(Time::ZERO, &add(object, None)).unwrap();
        gate.edit(Time::ZERO, &limit(object, iops(1))).unwrap();
    }
    let taken = |gate: &mut Gate<Device>, object, now| {
        (0..10)
            .filter(|&tag| matches!(gate.submit(now, request(tag, object, Op::Read, 1)), Submitted::Taken(_)))
            .count()
    };
    // One goes at once, three wait; then one at once and two, as five wait in all.
    assert_eq!(taken(&mut gate, 1, Time::ZERO), 4);
    assert_eq!(taken(&mut gate, 2, Time::ZERO), 3);
    let later = Time::from_nanos(SECOND + MS);
    settle(&mut gate, later);
    assert_eq!(taken(&mut gate, 1, later), 1);
}

#[test]
fn a_poll_takes_a_bounded_number_of_steps() {
    let settings = Settings { steps_per_poll: 10, ..Settings::default() };
    let mut gate = Gate::new(Device::new(8, 1_000), settings);
    gate.edit(Time::ZERO, &add(1, None)).unwrap();
    gate.edit(Time::ZERO, &limit(1, iops(1))).unwrap();
    fill(&mut gate, Time::ZERO, 100);
    gate.edit(Time::ZERO, &limit(1, Limits::default())).unwrap();
    let mut polls = 0;
    while gate.next_wakeup() == Wakeup::Now {
        gate.poll(Time::ZERO, &mut Vec::new());
        polls += 1;
    }
    assert_eq!(gate.status().in_flight, 100);
    assert!((10..=11).contains(&polls), "{polls}");
}

fn rate() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(prop_oneof![Just(1), Just(1 << 40), Just(1_000_000_000), 1u64..100_000])
}

fn any_limits() -> impl Strategy<Value = Limits> {
    let burst = prop::option::of((any::<u32>(), prop_oneof![Just(u64::MAX), 0..u64::MAX, 0..3 * SECOND]));
    (rate(), rate(), rate(), rate(), burst).prop_map(|(iops, bytes, floor_iops, floor_bytes, burst)| Limits {
        ceiling: Ceiling {
            iops: iops.map(Iops),
            bytes: bytes.map(BytesPerSecond),
            burst: burst.map(|(percent, duration)| Burst::percent(percent, Span::from_nanos(duration))),
        },
        floor: Floor {
            iops: floor_iops.map(Iops),
            bytes: floor_bytes.map(BytesPerSecond),
            latency: floor_iops.map(Span::from_nanos),
        },
    })
}

#[derive(Clone, Debug)]
enum Act {
    Edit(Edit),
    Request(u32, u8, u64),
    Cancel(usize),
    Wait(u64),
    Account,
}

fn act() -> impl Strategy<Value = Act> {
    let object = || 0u32..6;
    let group = || 0u32..3;
    let id = ObjectId;
    let edit = prop_oneof![
        (object(), prop::option::of(object()))
            .prop_map(move |(o, p)| Edit::AddObject { object: id(o), parent: p.map(id) }),
        object().prop_map(move |o| Edit::RemoveObject { object: id(o) }),
        (object(), any_limits()).prop_map(move |(o, limits)| Edit::SetLimits { object: id(o), limits }),
        (group(), any_limits()).prop_map(|(g, limits)| Edit::AddGroup { group: qos::GroupId(g), limits }),
        (group(), any_limits()).prop_map(|(g, limits)| Edit::SetGroup { group: qos::GroupId(g), limits }),
        group().prop_map(|g| Edit::RemoveGroup { group: qos::GroupId(g) }),
        (object(), prop::option::of(group()))
            .prop_map(move |(o, g)| Edit::Join { object: id(o), group: g.map(qos::GroupId) }),
        (prop::option::of(object()), any::<bool>())
            .prop_map(move |(o, fair)| Edit::SetFair { object: o.map(id), fair }),
    ];
    let length = prop_oneof![Just(0), Just(u64::MAX), 0u64..2_000_000];
    prop_oneof![
        3 => edit.prop_map(Act::Edit),
        6 => (object(), 0u8..4, length).prop_map(|(o, k, l)| Act::Request(o, k, l)),
        1 => (0usize..100).prop_map(Act::Cancel),
        3 => prop_oneof![0..1_000_000u64, Just(3600 * SECOND), 0..SECOND].prop_map(Act::Wait),
        1 => Just(Act::Account),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any sequence of edits (refused ones too), requests, cancellations and times: every request
    /// ends exactly once.
    #[test]
    fn nothing_is_lost_and_nothing_panics(acts in prop::collection::vec(act(), 1..150), room in 1usize..20) {
        let mut device = Device::new(2, 50_000);
        device.room = room;
        let mut gate = Gate::new(device, Settings { steps_per_poll: 5, ..Settings::default() });
        let (mut now, mut made, mut out, mut tickets) = (Time::ZERO, 0, Vec::new(), Vec::new());
        for act in acts {
            match act {
                Act::Edit(edit) => { let _ = gate.edit(now, &edit); }
                Act::Request(object, kind, len) => {
                    let op = match kind {
                        0 => Op::Read,
                        1 => Op::Write(Buf::nothing(0)),
                        2 => Op::Flush,
                        _ => Op::Trim,
                    };
                    if let Submitted::Taken(ticket) = gate.submit(now, request(made, object, op, len)) {
                        tickets.push(ticket);
                        made += 1;
                    }
                }
                Act::Cancel(which) if !tickets.is_empty() => gate.cancel(now, tickets[which % tickets.len()]),
                Act::Cancel(_) => {}
                Act::Wait(ns) => now += Span::from_nanos(ns),
                Act::Account => {
                    gate.account(now, &mut Vec::new());
                    gate.groups(now, &mut Vec::new());
                }
            }
            gate.poll(now, &mut out);
        }
        // Without limits everything that waits goes.
        for object in 0..6 {
            let _ = gate.edit(now, &limit(object, Limits::default()));
            let _ = gate.edit(now, &Edit::Join { object: ObjectId(object), group: None });
        }
        for _ in 0..2_000 {
            now += Span::from_millis(100);
            gate.poll(now, &mut out);
        }
        let mut tags: Vec<u64> = out.iter().map(|c| c.tag).collect();
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..made).collect::<Vec<_>>());
        let status = gate.status();
        prop_assert_eq!((status.queued, status.in_flight), (0, 0));
    }
}
