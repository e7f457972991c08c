//! Rows of `cache partition show`, `cache statistics show`, `memory show` and the second level.

use super::{Cell, Column, Row};

/// A partition of the cache, with its counters since the server started.
#[derive(Clone, Debug, Default)]
pub struct CachePartitionRow {
    /// Its name.
    pub partition: String,
    /// Its configured size, in bytes.
    pub size: u64,
    /// The size of a page, in bytes; 0 if the server has no cache.
    pub page: u64,
    /// Its counters; `None` if the server has no cache.
    pub counts: Option<CacheCounts>,
    /// The volumes whose pages it holds, as `SVM:VOLUME`; `None` for the default partition, which
    /// has all others.
    pub volumes: Option<Vec<String>>,
    /// Whether it does not use the second level.
    pub memory_only: bool,
}

/// Counters of a partition, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Pages asked for and found.
    pub hits: u64,
    /// Pages asked for and not found.
    pub misses: u64,
    /// Pages added.
    pub inserted: u64,
    /// Pages dropped to make room.
    pub evicted: u64,
    /// Pages dropped because their data changed or was deleted.
    pub invalidated: u64,
    /// Its present limit in bytes: less than configured while memory is short, or if the server has
    /// less memory than all partitions together.
    pub allowed: u64,
    /// Bytes that it holds.
    pub resident: u64,
    /// Pages not in memory but found in the second level.
    pub second_hits: u64,
    /// Bytes that it holds in the second level.
    pub second_resident: u64,
}

impl CacheCounts {
    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "hit-share" => match self.hits + self.misses {
                0 => Cell::Absent,
                asked => Cell::Percent(hit_percent(self.hits, asked)),
            },
            "hits" => Cell::Count(self.hits),
            "misses" => Cell::Count(self.misses),
            "inserted" => Cell::Count(self.inserted),
            "evicted" => Cell::Count(self.evicted),
            "invalidated" => Cell::Count(self.invalidated),
            "allowed" => Cell::Bytes(self.allowed),
            "resident" => Cell::Bytes(self.resident),
            "second-hits" => Cell::Count(self.second_hits),
            "second-resident" => Cell::Bytes(self.second_resident),
            _ => return None,
        })
    }
}

impl Row for CachePartitionRow {
    const COMMAND: &'static str = "cache partition show";

    const SUMMARY: &'static [Column] = &[
        Column::left("partition", "Partition", 16),
        Column::right("size", "Size", 8),
        Column::right("resident", "Resident", 8),
        Column::right("hit-share", "Hit%", 4),
        Column::right("evicted", "Evicted", 9),
        Column::wrapped("volumes", "Volumes", 28),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Partition", "partition"),
        ("Size", "size"),
        ("Allowed Now", "allowed"),
        ("Resident", "resident"),
        ("Volumes", "volumes"),
        ("Hit Share", "hit-share"),
        ("Pages Hit", "hits"),
        ("Pages Missed", "misses"),
        ("Pages Inserted", "inserted"),
        ("Pages Evicted", "evicted"),
        ("Pages Invalidated", "invalidated"),
        ("Pages Hit in Second Level", "second-hits"),
        ("Resident in Second Level", "second-resident"),
        ("Uses Second Level", "second-level"),
    ];

    const MEASURED: &'static [&'static str] = &[
        "allowed",
        "resident",
        "hit-share",
        "hits",
        "misses",
        "inserted",
        "evicted",
        "invalidated",
        "second-hits",
        "second-resident",
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "partition" => Cell::Text(self.partition.clone()),
            "size" => Cell::Paged(self.size, self.page.max(1)),
            "second-level" => Cell::Flag(!self.memory_only),
            "volumes" => match &self.volumes {
                None => Cell::Text("all others".into()),
                Some(volumes) if volumes.is_empty() => Cell::Absent,
                Some(volumes) => Cell::List(volumes.clone()),
            },
            measured => match &self.counts {
                Some(counts) => counts.cell(measured)?,
                None => CacheCounts::default().cell(measured).map(|_| Cell::Absent)?,
            },
        })
    }
}

/// The second level of the cache, in pages since the server started.
#[derive(Clone, Debug, Default)]
pub struct SecondLevelRow {
    /// Its file or device.
    pub path: String,
    /// Why it is off, if it is.
    pub failed: Option<String>,
    /// Its capacity, in bytes.
    pub size: u64,
    /// Pages not in memory but found there.
    pub hits: u64,
    /// Pages written to it.
    pub written: u64,
    /// Pages not written because they had been asked for only once.
    pub unused: u64,
    /// Pages not written because of the daily bound, or because writing had fallen behind.
    pub spared: u64,
    /// Pages dropped to make room.
    pub evicted: u64,
    /// Pages dropped because their data changed or was deleted.
    pub invalidated: u64,
}

impl Row for SecondLevelRow {
    const COMMAND: &'static str = "cache second-level show";

    const SUMMARY: &'static [Column] = &[
        Column::left("path", "Second Level", 28),
        Column::left("state", "State", 5),
        Column::right("size", "Size", 8),
        Column::right("hits", "Hits", 10),
        Column::right("written", "Written", 10),
        Column::right("spared", "Spared", 10),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Second Level", "path"),
        ("State", "state"),
        ("Why It Is Off", "reason"),
        ("Size", "size"),
        ("Pages Hit", "hits"),
        ("Pages Written", "written"),
        ("Pages Not Written, Asked For Once", "unused"),
        ("Pages Not Written, Bound or Device", "spared"),
        ("Pages Evicted", "evicted"),
        ("Pages Invalidated", "invalidated"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "path" => Cell::Text(self.path.clone()),
            "state" => Cell::Text(if self.failed.is_some() { "off" } else { "on" }.into()),
            "reason" => Cell::maybe(self.failed.as_ref()),
            "size" => Cell::Bytes(self.size),
            "hits" => Cell::Count(self.hits),
            "written" => Cell::Count(self.written),
            "unused" => Cell::Count(self.unused),
            "spared" => Cell::Count(self.spared),
            "evicted" => Cell::Count(self.evicted),
            "invalidated" => Cell::Count(self.invalidated),
            _ => return None,
        })
    }
}

/// A part of the server's memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryRow {
    /// `cache`, `second level`, `buffers`, `maps`, `statistics`, or `all`.
    pub part: String,
    /// Its limit, in bytes; `None` if it grows with the pool.
    pub limit: Option<u64>,
    /// Its present limit, which is lower while memory is short.
    pub allowed: Option<u64>,
    /// Its present use, in bytes.
    pub used: u64,
}

impl Row for MemoryRow {
    const COMMAND: &'static str = "memory show";

    const SUMMARY: &'static [Column] = &[
        Column::left("part", "Memory", 12),
        Column::right("limit", "Limit", 8),
        Column::right("allowed", "Allowed", 8),
        Column::right("used", "Used", 8),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] =
        &[("Memory", "part"), ("Limit", "limit"), ("Allowed Now", "allowed"), ("Used", "used")];

    fn cell(&self, field: &str) -> Option<Cell> {
        let maybe = |bytes: Option<u64>| bytes.map_or(Cell::Absent, Cell::Bytes);
        Some(match field {
            "part" => Cell::Text(self.part.clone()),
            "limit" => maybe(self.limit),
            "allowed" => maybe(self.allowed),
            "used" => Cell::Bytes(self.used),
            _ => return None,
        })
    }
}

/// A partition's rates in the last second.
#[derive(Clone, Debug, Default)]
pub struct CacheStatisticsRow {
    /// Its name.
    pub partition: String,
    /// Its configured size, in bytes.
    pub size: u64,
    /// Pages per second, its limit and what it holds.
    pub counts: CacheCounts,
}

impl Row for CacheStatisticsRow {
    const COMMAND: &'static str = "cache statistics show";

    const SUMMARY: &'static [Column] = &[
        Column::left("partition", "Partition", 16),
        Column::right("hit-share", "Hit%", 4),
        Column::right("hits", "Hits/s", 9),
        Column::right("misses", "Misses/s", 9),
        Column::right("inserted", "Ins/s", 8),
        Column::right("evicted", "Evict/s", 8),
        Column::right("resident", "Resident", 8),
        Column::right("allowed", "Allowed", 8),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Partition", "partition"),
        ("Hit Share", "hit-share"),
        ("Pages Hit Per Second", "hits"),
        ("Pages Missed Per Second", "misses"),
        ("Pages Inserted Per Second", "inserted"),
        ("Pages Evicted Per Second", "evicted"),
        ("Pages Hit in Second Level Per Second", "second-hits"),
        ("Resident", "resident"),
        ("Resident in Second Level", "second-resident"),
        ("Allowed Now", "allowed"),
        ("Size", "size"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        match field {
            "partition" => Some(Cell::Text(self.partition.clone())),
            "size" => Some(Cell::Bytes(self.size)),
            field => self.counts.cell(field),
        }
    }
}

/// The percentage of the pages asked for that were hits, rounded; 100 only if all were.
fn hit_percent(hits: u64, asked: u64) -> u64 {
    let (hits, asked) = (u128::from(hits), u128::from(asked));
    let rounded = ((hits * 100 + asked / 2) / asked) as u64;
    if hits < asked { rounded.min(99) } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_rounded_and_only_all_of_them_are_100_percent() {
        let all = [(0, 3), (1, 3), (2, 3), (199, 200), (999_999, 1_000_000), (7, 7), (u64::MAX, u64::MAX)];
        assert_eq!(all.map(|(hits, asked)| hit_percent(hits, asked)), [0, 33, 67, 99, 99, 100, 100]);
    }
}
