//! `network limit`: what connections may carry.

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
        "rate",
        /// What passes while credit lasts
        "burst",
        /// Credit that can be saved
        "credit",
        /// Credit that is left
        "credit-left",
        /// How often a connection waited for it
        "waits",
        /// Data of reads and writes so far
        "bytes",
    }
}
