//! `network limit`: the bandwidth limits of connections.

use super::commands;

commands! {
    /// Everything that begins with `network`.
    NetworkCommand in Network

    shows
    /// Display the limits of connections, and what waited for them since the server started
    "network limit show" => Show by { "scope" } {
        /// Of one connection, or of all
        "scope",
        /// What passes for ever
        "rate": Ceiling,
        /// What passes while credit lasts
        "burst": Ceiling,
        /// Credit that can be saved
        "credit": Size,
        /// Credit that is left
        "credit-left": Size,
        /// How often a connection waited for it
        "waits": Count,
        /// Data of reads and writes so far
        "bytes": Size,
    }
}
