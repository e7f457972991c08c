//! Metrics of the server's memory and the cache's partitions.

use super::{Kind, Page};
use crate::resource::View;
use admin::{CacheSeen, DEFAULT_PARTITION};

/// A metric of each partition: its name, its help text, and how to read its value. There are at
/// most 64 partitions.
type Row = (&'static str, Kind, &'static str, fn(&CacheSeen) -> u64);

const PARTITION: [Row; 9] = [
    ("hits_total", Kind::Counter, "Pages requested and found in memory", |seen| seen.hits),
    ("misses_total", Kind::Counter, "Pages requested and not found in memory", |seen| seen.misses),
    ("inserted_total", Kind::Counter, "Pages added", |seen| seen.inserted),
    ("evicted_total", Kind::Counter, "Pages evicted to make room", |seen| seen.evicted),
    ("invalidated_total", Kind::Counter, "Pages dropped because their data changed or was deleted", |seen| {
        seen.invalidated
    }),
    ("second_level_hits_total", Kind::Counter, "Pages not found in memory but on the second level", |seen| {
        seen.second_hits
    }),
    ("size_bytes", Kind::Gauge, "Memory that may be used", |seen| seen.size.0),
    ("resident_bytes", Kind::Gauge, "Memory in use", |seen| seen.resident.0),
    ("second_level_resident_bytes", Kind::Gauge, "Space in use on the second level", |seen| seen.second_resident.0),
];

pub(super) fn memory(page: &mut Page, view: &View<'_>) {
    let parts = view.at.world.memory();
    let mut used = page.metric("memory_used_bytes", Kind::Gauge, "Memory in use by a part of the server.");
    for part in &parts {
        used.put(&[("part", part.name)], part.used.0);
    }
    let mut allowed =
        page.metric("memory_allowed_bytes", Kind::Gauge, "Most memory that a part of the server may use now.");
    for (part, bytes) in parts.iter().filter_map(|part| Some((part, part.allowed?))) {
        allowed.put(&[("part", part.name)], bytes.0);
    }
    link(page, view);
    let Some(seen) = view.at.world.cache() else { return };
    for (name, kind, what, of) in PARTITION {
        let help = format!("{what}, for a partition of the cache.");
        let mut metric = page.metric(&format!("cache_partition_{name}"), kind, &help);
        for (id, seen) in &seen {
            let named = view.administration.partitions.get(*id).map(|partition| partition.name.as_str());
            metric.put(&[("partition", named.unwrap_or(DEFAULT_PARTITION))], of(seen));
        }
    }
    if let Some(second) = view.at.world.second_level() {
        let help = "Whether the cache's second level is in use; it is turned off when its device fails.";
        page.one("cache_second_level_up", Kind::Gauge, help, second.failed.is_none());
        let help = "Pages written to the cache's second level.";
        page.one("cache_second_level_written_total", Kind::Counter, help, second.written);
        let help = "Pages not written to the cache's second level because of the daily bound, or because writing had fallen behind.";
        page.one("cache_second_level_spared_total", Kind::Counter, help, second.spared);
    }
}

/// The bandwidth limits of connections.
fn link(page: &mut Page, view: &View<'_>) {
    let Some(seen) = view.at.world.link() else { return };
    page.one("link_bytes_total", Kind::Counter, "Data of clients' reads and writes.", seen.bytes);
    if seen.flow.is_none() && seen.whole.is_none() {
        return;
    }
    let help = "Times that a connection waited for a limit of the network: its own, or the server's.";
    let mut waits = page.metric("link_waits_total", Kind::Counter, help);
    for (limit, count) in [("connection", seen.flow_waits), ("server", seen.whole_waits)] {
        waits.put(&[("limit", limit)], count);
    }
    if seen.whole.is_some_and(|whole| whole.credit > 0) {
        page.one("link_credit_bytes", Kind::Gauge, "Remaining credit of the server's network limit.", seen.credit);
    }
}
