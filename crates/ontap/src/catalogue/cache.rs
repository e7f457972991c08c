//! `cache`: the partitions of the server's cache, their counters, and the other users of memory.

use super::commands;
use crate::value::{ObjectName, Switch, UnitSize, VolumeList};

commands! {
    /// Everything that begins with `cache`, and `memory`.
    CacheCommand in Cache

    /// Create a partition of the cache
    "cache partition create" => Create(CachePartitionCreate) {
        /// Name of the new partition
        "partition" partition: ObjectName,
        /// Its size, taken from the default partition
        "size" size: UnitSize,
        /// Volumes whose pages it has; without it none
        "volumes" volumes: Option<VolumeList>,
        /// Whether what it evicts goes to the second level of the cache; true unless given
        "second-level" second_level: Option<bool>,
    }

    /// Change a partition of the cache
    "cache partition modify" => Modify(CachePartitionModify) {
        /// Partition
        "partition" partition: ObjectName,
        /// New size
        "size" size: Option<UnitSize>,
        /// Volumes whose pages it has from now on, in place of those it had
        "volumes" volumes: Option<VolumeList>,
        /// More volumes
        "add-volumes" add_volumes: Option<VolumeList>,
        /// Volumes that go to the default partition
        "remove-volumes" remove_volumes: Option<VolumeList>,
        /// Whether what it evicts goes to the second level of the cache
        "second-level" second_level: Option<bool>,
        /// Its new name
        "new-name" new_name: Option<ObjectName>,
    } apart { "volumes" "add-volumes", "volumes" "remove-volumes", }

    /// Delete a partition of the cache
    "cache partition delete" => Delete(CachePartitionDelete) {
        /// Partition
        "partition" partition: ObjectName,
        /// Also if it has volumes; they go to the default partition
        "force" force: Switch,
    }

    shows
    /// Display the partitions of the cache
    "cache partition show" => Show by { "partition" } {
        /// Partition
        "partition",
        /// What it was given
        "size": Size,
        /// What it may hold now
        "allowed": Size,
        /// What it holds
        "resident": Size,
        /// Volumes whose pages it has
        "volumes",
        /// Share of the pages asked for that were there, since the server started
        "hit-share": Percent,
        /// Pages asked for that were there
        "hits": Count,
        /// Pages asked for that were not
        "misses": Count,
        /// Pages that came in
        "inserted": Count,
        /// Pages that went for others
        "evicted": Count,
        /// Pages that went because what they held was changed
        "invalidated": Count,
        /// Pages missed in memory and found in the second level
        "second-hits": Count,
        /// What it has in the second level
        "second-resident": Size,
        /// Whether what it evicts goes there
        "second-level": Truth,
    }

    shows
    /// Display the second level of the cache and what came of it since the server started
    "cache second-level show" => SecondLevel by { "path" } {
        /// File or device
        "path",
        /// Whether it is used: on, off
        "state",
        /// Why it is off
        "reason",
        /// What it may hold
        "size": Size,
        /// Pages missed in memory and found there
        "hits": Count,
        /// Pages written to it
        "written": Count,
        /// Pages not written because they had been asked for only once
        "unused": Count,
        /// Pages not written because of the bound of a day, or because it was behind
        "spared": Count,
        /// Pages that went for others
        "evicted": Count,
        /// Pages that went because what they held was changed
        "invalidated": Count,
    }

    shows
    /// Display what the server's memory is for
    "memory show" => Memory by { "part" } {
        /// What it is for
        "part",
        /// The most that it may take
        "limit": Size,
        /// The most that it may take now
        "allowed": Size,
        /// What it takes
        "used": Size,
    }

    shows
    /// Display what the partitions of the cache did in the last second
    "cache statistics show" => Statistics by { "partition" } {
        /// Partition
        "partition",
        /// Share of the pages asked for that were there
        "hit-share": Percent,
        /// Pages asked for that were there
        "hits": Count,
        /// Pages asked for that were not
        "misses": Count,
        /// Pages that came in
        "inserted": Count,
        /// Pages that went for others
        "evicted": Count,
        /// What it holds
        "resident": Size,
        /// What it may hold now
        "allowed": Size,
        /// What it was given
        "size": Size,
        /// Pages missed in memory and found in the second level
        "second-hits": Count,
        /// What it has in the second level
        "second-resident": Size,
    }
}
