//! Arbitrary records of what a server saw.

use crate::database::text;
use block::{Bytes, Span, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use stats::run::{Hits, PartitionRecord};
use stats::{BurstAllowed, DispatchTrace, LimitsInForce, ObjectRecord};

fn traces() -> impl Strategy<Value = DispatchTrace> {
    // Steps of up to 5 s, including zero, from any time within a year.
    let steps = vec((0u64..5_000_000_000, 0u32..1000, 0u64..1 << 40), 0..12);
    (0u64..31_536_000_000_000_000, steps).prop_map(|(start, steps)| {
        let (mut trace, mut at) = (DispatchTrace::default(), Time::from_nanos(start));
        for (step, ops, bytes) in steps {
            at += Span::from_nanos(step);
            trace.add(at, ops, bytes);
        }
        trace
    })
}

fn limits() -> impl Strategy<Value = LimitsInForce> {
    let number = || option::of(any::<u64>());
    let span = || any::<u64>().prop_map(Span::from_nanos);
    let burst = (any::<u64>(), span()).prop_map(|(ppm, duration)| BurstAllowed { ppm, duration });
    (text(), number(), number(), number(), number(), option::of(burst), option::of(span())).prop_map(
        |(policy, ceiling_iops, ceiling_bytes, floor_iops, floor_bytes, burst, floor_latency)| LimitsInForce {
            policy,
            ceiling_iops,
            ceiling_bytes,
            burst,
            floor_iops,
            floor_bytes,
            floor_latency,
        },
    )
}

/// Arbitrary objects as a server saw them.
pub fn objects() -> impl Strategy<Value = ObjectRecord> {
    let used = || option::of(any::<u64>().prop_map(Bytes));
    (text(), any::<bool>(), used(), used(), traces(), vec(limits(), 0..4)).prop_map(
        |(path, is_group, used_start, used_end, trace, limits)| ObjectRecord {
            path,
            is_group,
            used_start,
            used_end,
            trace,
            limits,
        },
    )
}

/// Arbitrary partitions of a cache.
pub fn partitions() -> impl Strategy<Value = PartitionRecord> {
    let number = || any::<u64>();
    (any::<u32>(), text(), number(), number(), number(), number(), number()).prop_map(
        |(point, name, size, resident, found, missed, evicted)| PartitionRecord {
            point,
            name,
            size,
            resident,
            asked: Hits { found, missed },
            evicted,
        },
    )
}
