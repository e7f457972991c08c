//! Edits while requests wait and are in flight: right at once, no burst to be had by editing,
//! nothing lost.

use block::{ObjectId, Op, Request, Submitted, Target, Time};
use qos::{Edit, EditError, Gate, GroupId, Limits, Settings};

use crate::bed::*;

fn ops(bed: &Bed, object: u32, bins: std::ops::Range<usize>) -> u64 {
    bed.bins(&[object])[bins].iter().map(|b| b.0).sum()
}

#[test]
fn a_limit_changed_while_busy_is_right_within_the_next_bins() {
    let mut bed = Bed::new(Device::new(64, 20_000), vec![Client::new(1, 64)]);
    bed.flat(1..2).edit(limit(1, iops(10_000)));
    for (at, rate) in [(1, 1_000), (2, 20_000), (3, 500)] {
        bed.edit_at(at * SECOND, limit(1, iops(rate)));
    }
    bed.edit_at(4 * SECOND, limit(1, Limits::default())).edit_at(5 * SECOND, limit(1, iops(1_000)));
    bed.run(6 * SECOND);
    // Rate × second, 1 % and one operation either way.
    for (second, rate) in [(0, 10_000), (1, 1_000), (2, 20_000), (3, 500), (5, 1_000)] {
        let count = ops(&bed, 1, second * 100..second * 100 + 100);
        assert!(count.abs_diff(rate) <= rate / 100 + 1, "second {second}: {count} of {rate}");
    }
    // Unlimited for a second: 64 servers of 20 µs, depth 64.
    assert!(ops(&bed, 1, 400..500) > 3_000_000);
}

#[test]
fn editing_again_and_again_buys_nothing() {
    // Every 10 ms the limit is set anew: the same, another and back, none and back. Still 1 000/s.
    let mut bed = Bed::new(Device::new(64, 20_000), vec![Client::new(1, 64)]);
    bed.flat(1..2).edit(limit(1, iops(1_000)));
    for i in 1..300 {
        let at = i * 10 * MS;
        let other = match i % 3 {
            0 => iops(1_000),
            1 => iops(50),
            _ => Limits::default(),
        };
        bed.edit_at(at, limit(1, other)).edit_at(at, limit(1, iops(1_000)));
    }
    bed.run(3 * SECOND);
    let (most, mean) = windows(&bed.bins(&[1]).iter().map(|b| b.0).collect::<Vec<_>>());
    assert!(most <= 1_011 && mean >= 990.0, "{most} {mean}");
}

#[test]
fn joining_and_leaving_while_queued_moves_at_once() {
    let mut bed = Bed::new(Device::new(64, 20_000), vec![Client::new(1, 16), Client::new(2, 16)]);
    bed.flat(1..3).edit(group(1, iops(1_000))).edit(group(2, iops(4_000))).edit(join(1, 1)).edit(join(2, 1));
    bed.edit_at(SECOND, join(2, 2));
    bed.edit_at(2 * SECOND, Edit::Join { object: ObjectId(2), group: None });
    bed.edit_at(2 * SECOND, limit(2, iops(2_000)));
    bed.run(3 * SECOND);
    for (object, second, expected) in
        [(1, 0, 500), (2, 0, 500), (1, 1, 1_000), (2, 1, 4_000), (1, 2, 1_000), (2, 2, 2_000)]
    {
        let count = ops(&bed, object, second * 100..second * 100 + 100);
        // Leaving a group keeps nothing of it; the new limit adds its first request and the old
        // turn's remainder.
        assert!(count.abs_diff(expected) <= expected / 100 + 5, "{object} in second {second}: {count} of {expected}");
    }
}

#[test]
fn a_refused_edit_changes_nothing() {
    let mut gate = Gate::new(Device::new(1, 1_000), Settings::default());
    let now = Time::ZERO;
    for edit in [add(1, None), add(2, Some(1)), group(1, iops(5)), join(2, 1)] {
        gate.edit(now, &edit).unwrap();
    }
    let no = |id| EditError::NoObject(ObjectId(id));
    let rate = |r| limit(2, iops(r));
    for (edit, error) in [
        (add(2, None), EditError::ObjectExists(ObjectId(2))),
        (add(3, Some(9)), no(9)),
        (limit(9, iops(5)), no(9)),
        (rate(0), EditError::Rate(0)),
        (rate(1 << 43), EditError::Rate(1 << 43)),
        (group(1, iops(5)), EditError::GroupExists(GroupId(1))),
        (group(2, iops(0)), EditError::Rate(0)),
        (join(2, 7), EditError::NoGroup(GroupId(7))),
        (join(7, 1), no(7)),
        (Edit::RemoveObject { object: ObjectId(1) }, EditError::HasChildren(ObjectId(1))),
        (Edit::RemoveGroup { group: GroupId(1) }, EditError::HasMembers(GroupId(1))),
        (Edit::RemoveGroup { group: GroupId(2) }, EditError::NoGroup(GroupId(2))),
        (Edit::SetFair { object: Some(ObjectId(4)), fair: true }, no(4)),
    ] {
        assert_eq!(gate.edit(now, &edit), Err(error), "{edit:?}");
    }
    for depth in 3..=8 {
        gate.edit(now, &add(depth, Some(depth - 1))).unwrap();
    }
    assert_eq!(gate.edit(now, &add(9, Some(8))), Err(EditError::TooDeep(8)));
    assert_eq!((gate.status().objects, gate.status().groups), (8, 1));
}

fn read(tag: u64, object: u32) -> Request {
    Request { tag, object: ObjectId(object), at: 0, len: 4096, op: Op::Read, fua: false, due: Time::ZERO }
}

#[test]
fn removing_an_object_ends_what_it_queued_and_waits_for_what_flies() {
    let mut gate = Gate::new(Device::new(1, 1_000), Settings::default());
    for edit in [add(1, None), add(2, Some(1)), limit(2, iops(1))] {
        gate.edit(Time::ZERO, &edit).unwrap();
    }
    for tag in 0..3 {
        assert!(matches!(gate.submit(Time::ZERO, read(tag, 2)), Submitted::Taken(_)));
    }
    for object in [2, 1] {
        gate.edit(Time::ZERO, &Edit::RemoveObject { object: ObjectId(object) }).unwrap();
    }
    // The number is free for another object at once.
    gate.edit(Time::ZERO, &add(2, None)).unwrap();
    let mut out = Vec::new();
    gate.poll(Time::from_nanos(2_000), &mut out);
    let mut ends: Vec<_> = out.iter().map(|c| (c.tag, c.result)).collect();
    ends.sort_unstable_by_key(|e| e.0);
    assert_eq!(ends, [(0, Ok(())), (1, Err(block::Fault::Gone)), (2, Err(block::Fault::Gone))]);
    // A request for an object nobody knows ends as invalid.
    assert!(matches!(gate.submit(Time::from_nanos(2_000), read(9, 1)), Submitted::Taken(_)));
    out.clear();
    gate.poll(Time::from_nanos(2_000), &mut out);
    assert_eq!((out[0].tag, out[0].result), (9, Err(block::Fault::Invalid)));
}

#[test]
fn a_cancelled_request_ends_once_wherever_it_is() {
    let mut gate = Gate::new(Device::new(1, 1_000), Settings::default());
    gate.edit(Time::ZERO, &add(1, None)).unwrap();
    gate.edit(Time::ZERO, &limit(1, iops(1_000))).unwrap();
    let mut tickets = Vec::new();
    for tag in 0..4 {
        let Submitted::Taken(ticket) = gate.submit(Time::ZERO, read(tag, 1)) else { panic!("room for all") };
        tickets.push(ticket);
    }
    // The first is in flight, the others wait. The middle one is cancelled twice; the one in flight
    // is for the device to cancel.
    for ticket in [tickets[2], tickets[2], tickets[0]] {
        gate.cancel(Time::ZERO, ticket);
    }
    let mut out = Vec::new();
    for ms in 0..10 {
        gate.poll(Time::from_nanos(ms * MS), &mut out);
    }
    let ends: Vec<_> = out.iter().map(|c| (c.tag, c.result.is_ok())).collect();
    assert_eq!(ends, [(2, false), (0, true), (1, true), (3, true)]);
}
