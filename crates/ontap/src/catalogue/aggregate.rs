//! `storage aggregate`: the pool, which is the one aggregate.

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
        "size",
        /// Free space
        "available",
        /// Used space
        "used",
        /// Used space in percent
        "percent-used",
        /// State
        "state",
        /// Number of volumes
        "volcount",
        /// Node
        "node",
    }
}
