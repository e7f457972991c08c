//! Whatever the tree, the policies, the clients and the edits: no limit is broken, every request
//! ends exactly once, nobody waits where nobody is limited, and the same seed gives the same trace.

use block::{ObjectId, OpKind};
use proptest::prelude::*;
use qos::{Edit, Limits};

use crate::bed::*;

/// One object of a random tree: under which earlier one, its limits, its group, its client's depth.
#[derive(Clone, Debug)]
struct Plan {
    parent: u32,
    iops: Option<u64>,
    bytes: Option<u64>,
    group: Option<u32>,
    depth: usize,
    large: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    let rate = prop::option::weighted(0.4, 1u64..20_000);
    let bytes = prop::option::weighted(0.3, 100_000u64..200_000_000);
    (0u32..12, rate, bytes, prop::option::weighted(0.3, 1u32..4), 0usize..20, any::<bool>())
        .prop_map(|(parent, iops, bytes, group, depth, large)| Plan { parent, iops, bytes, group, depth, large })
}

fn limits(plan: &Plan) -> Limits {
    let mut limits = plan.iops.map_or(Limits::default(), iops);
    limits.ceiling.bytes = plan.bytes.map(block::BytesPerSecond);
    limits
}

const GROUP_RATES: [u64; 4] = [0, 300, 5_000, 40_000];

fn build(plans: &[Plan], room: usize) -> (Bed, Vec<u32>) {
    let mut device = Device::new(16, 50_000);
    device.jitter_percent = 50;
    device.room = room;
    device.log = Some(Vec::new());
    let clients = plans.iter().enumerate().map(|(i, p)| {
        let kinds = [OpKind::Read, OpKind::Write, OpKind::Flush, OpKind::Trim];
        let sizes: &[u64] = if p.large { &[4096, 65536, 1 << 20] } else { &[4096] };
        Client::new(i as u32 + 1, p.depth).sizes(sizes).kinds(&kinds).between(0, 900 * MS)
    });
    let mut bed = Bed::new(device, clients.collect());
    let mut parents = vec![0];
    let mut depths = vec![0];
    for (i, plan) in plans.iter().enumerate() {
        let object = i as u32 + 1;
        let parent = if plan.parent < object && depths[plan.parent as usize] < 7 { plan.parent } else { 0 };
        bed.edit(add(object, (parent > 0).then_some(parent)));
        bed.edit(limit(object, limits(plan)));
        depths.push(depths[parent as usize] + 1);
        parents.push(parent);
    }
    for number in 1..4 {
        bed.edit(group(number, iops(GROUP_RATES[number as usize])));
    }
    for (i, plan) in plans.iter().enumerate() {
        if let Some(number) = plan.group {
            bed.edit(join(i as u32 + 1, number));
        }
    }
    (bed, parents)
}

/// An object and everything beneath it.
fn beneath(parents: &[u32], object: u32) -> Vec<u32> {
    let mut set = vec![object];
    for child in object + 1..parents.len() as u32 {
        if set.contains(&parents[child as usize]) {
            set.push(child);
        }
    }
    set
}

/// The objects at which a request may go by an appointment that was charged before: those with a
/// group somewhere on a path through them.
fn promised(plans: &[&[Plan]], parents: &[u32]) -> Vec<bool> {
    let is_grouped = |object: u32| plans.iter().any(|plans| plans[object as usize - 1].group.is_some());
    let mut above = vec![false];
    for object in 1..parents.len() as u32 {
        above.push(above[parents[object as usize] as usize] || is_grouped(object));
    }
    (0..parents.len() as u32)
        .map(|object| beneath(parents, object).iter().any(|&under| above[under as usize]))
        .collect()
}

/// Any run of bins holds at most the rate's worth of its length and of the tolerance, which is 5 ms
/// or just under one operation, and one request more; two, where one may have had an appointment
/// that was charged before.
fn within(bins: &[u64], rate: u64, largest: u64, promised: bool) -> Result<(), TestCaseError> {
    let more = largest * (1 + u64::from(promised));
    let mut sums = vec![0];
    sums.extend(bins.iter().scan(0, |sum, b| {
        *sum += b;
        Some(*sum)
    }));
    for from in 0..bins.len() {
        for to in from + 1..=bins.len().min(from + BINS) {
            let saved = (rate as f64 * 0.005).max(if largest < 4096 { 1.0 } else { 0.0 });
            let most = rate as f64 * (to - from) as f64 * 0.01 + saved + more as f64;
            prop_assert!(
                (sums[to] - sums[from]) as f64 <= most + 0.01,
                "{from}..{to}: {} > {most}",
                sums[to] - sums[from]
            );
        }
    }
    Ok(())
}

fn check_limits(
    bed: &Bed,
    plans: &[Plan],
    parents: &[u32],
    promised: &[bool],
    range: std::ops::Range<usize>,
) -> Result<(), TestCaseError> {
    for (i, plan) in plans.iter().enumerate() {
        let bins = &bed.bins(&beneath(parents, i as u32 + 1))[range.clone()];
        if let Some(rate) = plan.iops {
            within(&bins.iter().map(|b| b.0).collect::<Vec<_>>(), rate, 1, promised[i + 1])?;
        }
        if let Some(rate) = plan.bytes {
            within(&bins.iter().map(|b| b.1).collect::<Vec<_>>(), rate, 1 << 20, promised[i + 1])?;
        }
    }
    for number in 1..4u32 {
        // A request passes a group once for each member on its path; a member within a member
        // counts twice.
        let mut sum = vec![0; range.len()];
        for (i, _) in plans.iter().enumerate().filter(|(_, p)| p.group == Some(number)) {
            for (s, b) in sum.iter_mut().zip(&bed.bins(&beneath(parents, i as u32 + 1))[range.clone()]) {
                *s += b.0;
            }
        }
        within(&sum, GROUP_RATES[number as usize], 7, false)?;
    }
    Ok(())
}

/// Runs on until all that was queued is served, if need be without any policy.
fn drain(bed: &mut Bed, objects: u32) {
    for object in 1..=objects {
        bed.edit(limit(object, Limits::default()));
        bed.edit(Edit::Join { object: ObjectId(object), group: None });
    }
    bed.run(bed.now + SECOND);
    assert_eq!(bed.outstanding(), 0, "every request ends");
    let status = bed.gate.status();
    assert_eq!((status.queued, status.in_flight), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_limit_is_broken_and_every_request_ends_once(
        plans in prop::collection::vec(plan(), 1..12),
        changed in prop::collection::vec(plan(), 12),
        room in prop_oneof![Just(usize::MAX), 1usize..40],
    ) {
        let (mut bed, parents) = build(&plans, room);
        bed.run(500 * MS);
        let changed = &changed[..plans.len()];
        check_limits(&bed, &plans, &parents, &promised(&[&plans], &parents), 0..50)?;
        // Every limit and membership changes under load.
        for (i, plan) in changed.iter().enumerate() {
            let object = i as u32 + 1;
            bed.edit(limit(object, limits(plan)));
            bed.edit(Edit::Join { object: ObjectId(object), group: plan.group.map(qos::GroupId) });
        }
        bed.run(SECOND);
        check_limits(&bed, changed, &parents, &promised(&[&plans, changed], &parents), 50..100)?;
        drain(&mut bed, plans.len() as u32);
    }

    #[test]
    fn the_same_seed_gives_the_same_trace(plans in prop::collection::vec(plan(), 1..8)) {
        let trace = || {
            let (mut bed, _) = build(&plans, 20);
            bed.run(200 * MS);
            (bed.gate.inner_mut().log.take(), bed.queued_ns.clone())
        };
        prop_assert_eq!(trace(), trace());
    }

    #[test]
    fn nobody_waits_where_nobody_is_limited(plans in prop::collection::vec(plan(), 1..8)) {
        let free: Vec<Plan> = plans.iter().map(|p| Plan { iops: None, bytes: None, group: None, ..p.clone() }).collect();
        let (mut bed, _) = build(&free, usize::MAX);
        bed.run(100 * MS);
        prop_assert!(bed.queued_ns.iter().all(|&q| q == 0));
    }
}
