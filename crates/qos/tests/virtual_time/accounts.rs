//! What the gate reports about its objects: counts that agree with what the device saw, and what
//! held each one back.

use block::{BytesPerSecond, Cause, Iops, LimitKind, ObjectId, OpKind, Time};
use qos::{Ceiling, Edit, Floor, FloorState, GroupAccount, GroupId, Limits, ObjectAccount, Passed, Shortage};

use crate::bed::*;

fn accounts(bed: &mut Bed) -> Vec<ObjectAccount> {
    let mut out = Vec::new();
    bed.gate.account(Time::from_nanos(bed.now), &mut out);
    out.sort_by_key(|a| a.object);
    out
}

fn groups(bed: &mut Bed) -> Vec<GroupAccount> {
    let mut out = Vec::new();
    bed.gate.groups(Time::from_nanos(bed.now), &mut out);
    out
}

/// The trace's bins, spread out from the first second's beginning.
fn spread(passed: &Passed, bins: usize) -> Vec<(u64, u64)> {
    let mut out = vec![(0, 0); bins];
    for bin in &passed.trace {
        out[bin.at as usize] = (bin.tally.ops, bin.tally.bytes);
    }
    out
}

#[test]
fn counts_and_traces_agree_with_what_the_device_saw() {
    let kinds = [OpKind::Read, OpKind::Write, OpKind::Flush];
    let mut bed = Bed::new(Device::new(8, 100_000), vec![Client::new(11, 8).kinds(&kinds), Client::new(12, 8)]);
    for edit in
        [add(1, None), add(11, Some(1)), add(12, Some(1)), limit(1, iops(3_000)), group(4, iops(500)), join(12, 4)]
    {
        bed.edit(edit);
    }
    // Stop within a bin, so that the next account continues it.
    bed.run(SECOND + 4 * MS);
    let accounts = accounts(&mut bed);
    assert_eq!(accounts.iter().map(|a| a.object.0).collect::<Vec<_>>(), [1, 11, 12]);
    for account in &accounts[1..] {
        let device = &bed.gate.inner().bins[&account.object];
        let (ops, bytes) = device.iter().fold((0, 0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
        assert_eq!((account.dispatched().ops, account.dispatched().bytes), (ops, bytes));
        assert_eq!(account.reads.ops + account.writes.ops + account.others.ops, ops);
        assert_eq!((account.faults, account.passed.is_none()), (0, true));
        // Closed loops of 8: always 8 outstanding, and what is not completed is one of them.
        assert_eq!(account.outstanding_max, 8);
        assert!((7_900..=8_000).contains(&account.outstanding_mean_milli), "{}", account.outstanding_mean_milli);
        assert!(ops - account.completed <= 8);
    }
    let svm = accounts[0].passed.as_ref().unwrap();
    let mut both = vec![(0, 0); 101];
    for object in [11, 12] {
        for (sum, bin) in both.iter_mut().zip(&bed.gate.inner().bins[&ObjectId(object)]) {
            *sum = (sum.0 + bin.0, sum.1 + bin.1);
        }
    }
    assert_eq!(spread(svm, 101), both);
    let group = &groups(&mut bed)[0];
    assert_eq!((group.group, group.members), (GroupId(4), 1));
    assert_eq!(spread(&group.passed, 101).iter().map(|b| b.0).sum::<u64>(), accounts[2].dispatched().ops);
    // The second account begins where the first ended.
    bed.run(SECOND + 10 * MS);
    let next: u64 = self::accounts(&mut bed)[0].passed.as_ref().unwrap().trace.iter().map(|b| b.tally.ops).sum();
    let first: u64 = svm.trace.iter().map(|b| b.tally.ops).sum();
    let seen: u64 = bed.bins(&[11, 12]).iter().map(|b| b.0).sum();
    assert_eq!(first + next, seen);
}

#[test]
fn what_held_an_object_back_is_named() {
    // 1: its own ceiling in bytes; 21: its SVM's ceiling; 3: its group's; 4: nothing, it goes at
    // once.
    let clients = vec![Client::new(1, 8), Client::new(21, 8), Client::new(3, 8), Client::new(4, 2)];
    let mut bed = Bed::new(Device::new(64, 100_000), clients);
    for edit in [add(1, None), add(2, None), add(21, Some(2)), add(3, None), add(4, None)] {
        bed.edit(edit);
    }
    bed.edit(limit(1, bytes(1_000_000))).edit(limit(2, iops(100))).edit(group(7, iops(200))).edit(join(3, 7));
    bed.run(2 * SECOND);
    let accounts = accounts(&mut bed);
    let held: Vec<(u32, Cause)> =
        accounts.iter().filter(|a| a.object.0 != 2).map(|a| (a.object.0, a.held_by)).collect();
    let svm = Cause::Ceiling(ObjectId(2), LimitKind::Iops);
    let expected = [
        (1, Cause::Ceiling(ObjectId(1), LimitKind::Throughput)),
        (3, Cause::Shared(7, LimitKind::Iops)),
        (4, Cause::Nothing),
        (21, svm),
    ];
    assert_eq!(held, expected);
    let lun = accounts.iter().find(|a| a.object.0 == 21).unwrap();
    // 8 outstanding for 2 s, of which 100 × 2 × 0.1 ms in the device: nearly 16 s of waiting, all
    // for the SVM's ceiling.
    assert_eq!(lun.waited.len(), 1, "{:?}", lun.waited);
    assert!((15_800..16_000).contains(&(lun.waited[0].1.as_nanos() / MS)), "{:?}", lun.waited);
    let free = accounts.iter().find(|a| a.object.0 == 4).unwrap();
    assert_eq!((free.ever_queued, free.waited.len(), free.queued.max.as_nanos()), (false, 0, 0));
}

#[test]
fn waiting_for_floors_and_for_the_backend_is_named() {
    let mut bed = Bed::new(Device::new(8, 100_000), vec![Client::new(1, 4), Client::new(2, 256)]);
    bed.flat(1..3).edit(limit(1, floor(20_000)));
    bed.run(2 * SECOND);
    accounts(&mut bed);
    bed.run(3 * SECOND);
    assert_eq!(accounts(&mut bed)[1].held_by, Cause::Floor);
    // A backend that takes 16 at a time, no policy anywhere.
    let mut device = Device::new(8, 100_000);
    device.room = 16;
    let mut bed = Bed::new(device, vec![Client::new(1, 4), Client::new(2, 256)]);
    bed.flat(1..3);
    bed.run(SECOND);
    for account in accounts(&mut bed) {
        assert_eq!(account.held_by, Cause::Backend);
    }
    // First come, first served: by their depths, as without a gate.
    let ratio = bed.completed[1][0] as f64 / bed.completed[0][0] as f64;
    assert!((60.0..68.0).contains(&ratio), "{ratio}");
}

#[test]
fn an_idle_object_is_left_out() {
    let mut bed = Bed::new(Device::new(8, 100_000), vec![Client::new(1, 4).between(0, SECOND)]);
    bed.flat(1..3);
    bed.run(SECOND + MS);
    assert_eq!(accounts(&mut bed).len(), 1);
    bed.run(2 * SECOND);
    assert!(accounts(&mut bed).is_empty());
}

#[test]
fn a_fair_node_gives_turns_where_no_limit_binds() {
    // Without turns depth decides, 1 to 4; with them both get half of 80 000/s, and the deep one
    // waits for its turn.
    let mut bed = Bed::new(Device::new(8, 100_000), vec![Client::new(1, 64), Client::new(2, 256)]);
    bed.flat(1..3).edit(Edit::SetFair { object: None, fair: true });
    bed.run(2 * SECOND);
    let counts = [0, 1].map(|c| bed.completed[c].iter().sum::<u64>());
    assert!(counts[0].abs_diff(counts[1]) <= counts[0] / 50, "{counts:?}");
    assert!(counts[0] + counts[1] >= 158_000, "{counts:?}");
    assert_eq!(accounts(&mut bed)[1].held_by, Cause::Turn);
    // Off again under load.
    bed.edit(Edit::SetFair { object: None, fair: false });
    bed.run(3 * SECOND);
    assert!(bed.completed[1][2] > 3 * bed.completed[0][2], "{:?}", bed.completed);
}

/// How the only object's floor fared over the third second.
fn fared(device: Device, client: Client, limits: Limits) -> FloorState {
    let mut bed = Bed::new(device, vec![client]);
    bed.flat(1..2).edit(Edit::SetLimits { object: ObjectId(1), limits });
    bed.run(2 * SECOND);
    accounts(&mut bed);
    bed.run(3 * SECOND);
    accounts(&mut bed)[0].floor
}

#[test]
fn a_floor_of_both_kinds_is_met_by_the_one_reached_first() {
    // 1 GiB/s and 1000/s: 4 KiB at depth 1 on 100 µs are 10 000/s, but 41 MB/s only.
    let floor = Floor { iops: Some(Iops(1000)), bytes: Some(BytesPerSecond(1 << 30)), latency: None };
    let limits = Limits { floor, ..Limits::default() };
    assert_eq!(fared(Device::new(8, 100_000), Client::new(1, 1), limits), FloorState::Met);
    // At 1 ms each it gets 1000 of 2000, half, and 4 of 1074 MB/s: short by the nearer.
    let floor = Floor { iops: Some(Iops(2000)), ..floor };
    let state = fared(Device::new(8, 1_000_000), Client::new(1, 1), Limits { floor, ..limits });
    let why = Shortage::NeedsOutstanding(2);
    assert_eq!(state, FloorState::Short { served: 1000, wanted: 2000, kind: LimitKind::Iops, why });
}

#[test]
fn what_a_floor_in_bytes_needs_is_counted_in_its_own_requests() {
    // 400 MB/s in 16 KiB are 24 414 a second; at 100 µs each 2.44 outstanding.
    let floor = Floor { iops: None, bytes: Some(BytesPerSecond(400_000_000)), latency: None };
    let limits = Limits { floor, ..Limits::default() };
    let state = fared(Device::new(8, 100_000), Client::new(1, 1).sizes(&[16384]), limits);
    let FloorState::Short { why, kind, .. } = state else { panic!("{state:?}") };
    assert_eq!((why, kind), (Shortage::NeedsOutstanding(3), LimitKind::Throughput));
}

/// Requests are on their way for longer than in the device, so the gate sees none most of the time.
/// At depth 2 and 600 µs a turn that is 3333 a second of 4000: by Little's law 2.4 are needed, so
/// 3. A client that pauses for longer than a turn asks for nothing meanwhile.
#[test]
fn time_on_the_way_is_asked_for_too() {
    let floor = Floor { iops: Some(Iops(4000)), bytes: None, latency: None };
    let limits = Limits { floor, ..Limits::default() };
    let after = |ns: u64, depth: usize| fared(Device::new(8, 100_000), Client::new(1, depth).think(ns), limits);
    let state = after(500_000, 2);
    let FloorState::Short { served, why, .. } = state else { panic!("{state:?}") };
    assert!((3_300..=3_340).contains(&served), "{served}");
    assert_eq!(why, Shortage::NeedsOutstanding(3));
    assert_eq!(after(500_000, 3), FloorState::Met);
    assert_eq!(after(5_000_000, 2), FloorState::Met);
}

/// The account of one object.
fn account_of(bed: &mut Bed, object: u32) -> ObjectAccount {
    accounts(bed).into_iter().find(|account| account.object.0 == object).unwrap_or_else(|| panic!("{object}"))
}

/// A run that ends or begins within an interval, and its pause before or after, on the way to a
/// floor above it. It gets 10 000 a second of a floor of 20 000 at depth 1, by its own time: not
/// the 3000 of the whole interval, and not everything that it asked for.
#[test]
fn a_run_within_an_interval_is_judged_by_its_own_time() {
    let runs = [Client::new(11, 1).between(0, SECOND + 300 * MS), Client::new(12, 1).between(5_700 * MS, 8 * SECOND)];
    let mut bed = Bed::new(Device::new(8, 100_000), runs.into());
    bed.edit(add(1, None)).edit(add(11, Some(1))).edit(add(12, Some(1))).edit(limit(1, floor(20_000)));
    bed.run(SECOND);
    accounts(&mut bed);
    for until in [2, 6] {
        bed.run(until * SECOND);
        let account = account_of(&mut bed, 1);
        let why = Shortage::NeedsOutstanding(2);
        let FloorState::Short { served, wanted: 20_000, why: said, .. } = account.floor else { panic!("{account:?}") };
        assert!(said == why && (7_500..=10_100).contains(&served), "{account:?}");
        assert!((290..=380).contains(&(account.asked.as_nanos() / MS)), "{account:?}");
    }
}

/// One request at a time, with pauses, is all that it was asked for: 1000 a second say nothing
/// about a floor of 900. Beside others that wait, they do.
#[test]
fn floors_are_near_the_best_only_where_more_was_asked_for() {
    let mut bed = Bed::new(Device::new(8, 100_000), vec![Client::new(1, 1).think(900_000)]);
    bed.flat(1..2).edit(limit(1, floor(900)));
    bed.run(5 * SECOND);
    let status = bed.gate.status();
    assert!(!status.floors_near_best && (900..=1_010).contains(&status.best_iops), "{status:?}");
}

#[test]
fn only_a_ceiling_that_is_lower_is_named_as_being_above() {
    // A device of 20 000: floor and ceiling 40 000 on the object, which is overcommitted, not
    // limited.
    let both = Limits {
        ceiling: Ceiling { iops: Some(Iops(40_000)), ..Ceiling::default() },
        floor: Floor { iops: Some(Iops(40_000)), bytes: None, latency: None },
    };
    let state = fared(Device::new(2, 100_000), Client::new(1, 64), both);
    assert!(matches!(state, FloorState::Short { why: Shortage::Overcommitted { .. }, .. }), "{state:?}");
    // The same floor under a ceiling of 4 KiB × 1000 a second.
    let ceiling = Ceiling { bytes: Some(BytesPerSecond(4_096_000)), ..Ceiling::default() };
    let state = fared(Device::new(2, 100_000), Client::new(1, 64), Limits { ceiling, ..both });
    assert!(matches!(state, FloorState::Short { why: Shortage::CeilingAbove, .. }), "{state:?}");
}

#[test]
fn floors_of_both_kinds_promise_their_operations_only() {
    let both = Floor { iops: Some(Iops(1000)), bytes: Some(BytesPerSecond(1 << 30)), latency: None };
    let alone = Floor { iops: None, bytes: Some(BytesPerSecond(1 << 20)), latency: None };
    let mut bed = Bed::new(Device::new(8, 100_000), vec![Client::new(1, 1)]);
    bed.flat(1..3);
    for (object, floor) in [(1, both), (2, alone)] {
        bed.edit(Edit::SetLimits { object: ObjectId(object), limits: Limits { floor, ..Limits::default() } });
    }
    let status = bed.gate.status();
    assert_eq!((status.floors_iops, status.floors_bytes.0), (1000, 1 << 20));
}
