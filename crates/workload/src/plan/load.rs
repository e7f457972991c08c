//! The keys of a load, which `[[workload]]` and a phase's changes share, applied to a
//! specification.

use super::error::Problem;
use super::table::Table;
use crate::spec::{Arrival, BlockShare, Blocks, Pattern, Range, Spacing, Spec, SpecError};
use block::{Bytes, Iops, ParseBytesError};

/// The keys, as in [`Spec`].
pub(super) const KEYS: [&str; 13] = [
    "pattern",
    "read_percent",
    "flush_every",
    "block",
    "offset",
    "size",
    "connections",
    "depth",
    "pace",
    "rate",
    "spacing",
    "outstanding",
    "requests",
];

/// Default maximum of outstanding requests of an open loop: what storage servers commonly accept on
/// a connection.
const OUTSTANDING_DEFAULT: u32 = 256;

/// The load before any key is read: reads, because they destroy nothing, on one connection at depth
/// 1.
pub(super) fn unsaid(seed: u64) -> Spec {
    Spec {
        pattern: Pattern::Random,
        read_percent: 100,
        flush_every: None,
        pace: None,
        blocks: Blocks::of(Bytes::kib(4)),
        range: Range::default(),
        arrival: Arrival::Closed { depth: 1 },
        connections: 1,
        requests: None,
        seed,
    }
}

/// `base` with the keys of `table` applied.
pub(super) fn over(table: &Table<'_>, base: &Spec) -> Spec {
    let range = base.range;
    let arrival = arrival(table, base.arrival);
    Spec {
        pattern: table
            .choice("pattern", &[("random", Pattern::Random), ("sequential", Pattern::Sequential)])
            .unwrap_or(base.pattern),
        read_percent: table.count("read_percent").unwrap_or(base.read_percent),
        flush_every: table.count("flush_every").or(base.flush_every),
        blocks: blocks(table).unwrap_or_else(|| base.blocks.clone()),
        range: Range {
            offset: table.space("offset").unwrap_or(range.offset),
            size: table.space("size").or(range.size),
        },
        arrival,
        pace: pace(table, base.pace, arrival),
        connections: table.count("connections").unwrap_or(base.connections),
        requests: table.whole("requests").or(base.requests),
        seed: base.seed,
    }
}

/// Reports the rules that `spec` breaks on its volume, except those in `known`, to which it adds
/// them. So a mistake is reported where it is made and not again in each later phase.
pub(super) fn check(table: &Table<'_>, spec: &Spec, volume: Option<Bytes>, known: &mut Vec<SpecError>) {
    for error in spec.broken_rules(volume) {
        if !known.contains(&error) {
            let key = error.key();
            let within = table.within().to_owned();
            table.note(table.line_of(key), Problem::Load { within, error: error.clone() });
            known.push(error);
        }
    }
}

fn arrival(table: &Table<'_>, base: Arrival) -> Arrival {
    let spacing = table.choice("spacing", &[("uniform", Spacing::Uniform), ("poisson", Spacing::Poisson)]);
    let outstanding = table.count("outstanding");
    if table.has("depth") && table.has("rate") {
        let advice = "a load is a closed loop (depth) or an open one (rate), keep one of them";
        let (other, line) = (table.full("depth"), table.line_of("depth"));
        table.note(table.line_of("rate"), Problem::Contradiction { key: table.full("rate"), other, line, advice });
        return base;
    }
    let rate = table.whole("rate").map(Iops);
    let arrival = match (table.count("depth"), rate, base) {
        (Some(depth), ..) => Arrival::Closed { depth },
        (None, None, Arrival::Closed { .. }) => base,
        (None, Some(rate), Arrival::Closed { .. }) => Arrival::Open {
            rate,
            spacing: spacing.unwrap_or(Spacing::Uniform),
            outstanding: outstanding.unwrap_or(OUTSTANDING_DEFAULT),
        },
        (None, rate, Arrival::Open { rate: old_rate, spacing: old_spacing, outstanding: old_outstanding }) => {
            Arrival::Open {
                rate: rate.unwrap_or(old_rate),
                spacing: spacing.unwrap_or(old_spacing),
                outstanding: outstanding.unwrap_or(old_outstanding),
            }
        }
    };
    if matches!(arrival, Arrival::Closed { .. }) && !table.has("rate") {
        alone(table);
    }
    arrival
}

/// The pace of a closed loop; an open loop has a rate instead.
fn pace(table: &Table<'_>, base: Option<Iops>, arrival: Arrival) -> Option<Iops> {
    if let Arrival::Closed { .. } = arrival {
        return table.whole("pace").map(Iops).or(base);
    }
    if table.has("pace") {
        let advice = "a load with a rate makes a request when it is due; say a depth, or leave this out";
        table.note(table.line_of("pace"), Problem::Alone { key: table.full("pace"), other: "depth", advice });
    }
    None
}

/// Reports keys of an open loop in a closed one.
fn alone(table: &Table<'_>) {
    let advice = "a load with a depth makes a request when another ends; say a rate, or leave this out";
    for key in ["spacing", "outstanding"] {
        if table.has(key) {
            table.note(table.line_of(key), Problem::Alone { key: table.full(key), other: "rate", advice });
        }
    }
}

/// One size, or a table of sizes with their percentages.
fn blocks(table: &Table<'_>) -> Option<Blocks> {
    let Some(mix) = table.table_within("block") else { return table.size("block").map(Blocks::of) };
    let mut shares = Vec::new();
    for key in mix.keys() {
        let size = key.value.parse().map_err(|why: ParseBytesError| {
            let problem = Problem::Unreadable { key: table.full("block"), why: why.to_string() };
            table.note(key.line, problem);
        });
        if size.is_ok_and(|size| shares.iter().any(|share: &BlockShare| share.size == size)) {
            let (name, given) = (table.full("block"), format!("{} again", key.value));
            let (rule, advice) = ("sizes that differ".into(), "add the percentages of both up".into());
            table.note(key.line, Problem::Value { key: name, rule, given, advice });
            return None;
        }
        shares.push(BlockShare { size: size.ok()?, weight: mix.count(key.value)? });
    }
    let sum: u64 = shares.iter().map(|share| u64::from(share.weight)).sum();
    if sum != 100 {
        let (key, given) = (table.full("block"), sum.to_string());
        let (rule, advice) = ("sizes whose percentages sum to 100".into(), "such as { 4k = 60, 64k = 40 }".into());
        table.note(mix.line(), Problem::Value { key, rule, given, advice });
    }
    Blocks::mixed(shares)
}
