//! What the partitions of a server's cache did.

use super::Hits;

/// A partition of the server's cache in a point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionRecord {
    /// The point's number.
    pub point: u32,
    /// Its name.
    pub name: String,
    /// Bytes that it might hold at the point's end.
    pub size: u64,
    /// Bytes that it held then.
    pub resident: u64,
    /// Pages that reads asked it for.
    pub asked: Hits,
    /// Pages that went for others.
    pub evicted: u64,
}
