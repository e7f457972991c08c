//! `event log`: the log of events.

use super::commands;

commands! {
    /// Everything that begins with `event`.
    EventCommand in Event

    shows
    /// Display what the server noticed: errors and graver ones, or those of -severity
    "event log show" => Show by { "seqnum" } {
        /// Number of the event
        "seqnum": Count,
        /// When: MM/DD/YYYY, or with a time of day, "MM/DD/YYYY HH:MM:SS"
        "time": Time,
        /// Node
        "node",
        /// EMERGENCY, ALERT, ERROR, NOTICE, INFORMATIONAL or DEBUG; <=ERROR for errors and graver
        /// ones, * for all
        "severity": Severity,
        /// Name of the message: qos.floor.missed, aggr.full ...
        "message-name",
        /// Name and text of the message
        "event",
        /// How many times it happened since it was written down last
        "count": Count,
    }
}
