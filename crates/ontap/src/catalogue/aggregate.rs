//! `storage aggregate`: the pool, which is the only aggregate.

use super::commands;

commands! {
    /// Everything that begins with `storage aggregate`.
    AggregateCommand in Aggregate

    shows
    /// Display the aggregate
    "storage aggregate show" => Show by { "aggregate" } {
        /// Aggregate: the pool
        "aggregate",
        /// Size
        "size": Size,
        /// Free space
        "available": Size,
        /// Used space
        "used": Size,
        /// Used space in percent
        "percent-used": Percent,
        /// State
        "state",
        /// Number of volumes
        "volcount": Count,
        /// Node
        "node",
    }
}
