//! Activity of the partitions of a server's cache.

use super::Hits;

/// A partition of the server's cache in a point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionRecord {
    /// Index of the point.
    pub point: u32,
    /// Its name.
    pub name: String,
    /// Its size limit in bytes at the point's end.
    pub size: u64,
    /// Bytes it held at the point's end.
    pub resident: u64,
    /// Hits and misses of reads, in pages.
    pub asked: Hits,
    /// Pages that were evicted to make room.
    pub evicted: u64,
}
