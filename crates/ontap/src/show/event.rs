//! What `event log show` lists.

use super::{Cell, Column, Row};
use crate::value::Severity;

/// Something that the server noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number, one more for each event of the pool.
    pub seqnum: u64,
    /// When, in seconds since the beginning of 1970.
    pub time: u64,
    /// The node.
    pub node: String,
    /// How much it matters.
    pub severity: Severity,
    /// What kind of event it is: `qos.floor.missed`.
    pub message_name: String,
    /// What happened, as a sentence.
    pub text: String,
    /// How many times it happened since it was written down last.
    pub count: u64,
}

impl Row for EventRow {
    const COMMAND: &'static str = "event log show";

    // Together 80 columns.
    const SUMMARY: &'static [Column] = &[
        Column::left("time", "Time", 19),
        Column::left("node", "Node", 7),
        Column::left("severity", "Severity", 13),
        Column::wrapped("event", "Event", 38),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Sequence#", "seqnum"),
        ("Time", "time"),
        ("Node", "node"),
        ("Severity", "severity"),
        ("Message Name", "message-name"),
        ("Event", "event"),
        ("Count", "count"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "seqnum" => Cell::Count(self.seqnum),
            "time" => Cell::Stamp(self.time),
            "node" => Cell::Text(self.node.clone()),
            "severity" => Cell::Severity(self.severity),
            "message-name" => Cell::Text(self.message_name.clone()),
            "event" => Cell::Text(format!("{}: {}", self.message_name, self.text)),
            "count" => Cell::Count(self.count),
            _ => return None,
        })
    }
}
