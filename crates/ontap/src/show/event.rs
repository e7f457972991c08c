//! Rows of `event log show`.

use super::{Cell, Column, Row};
use crate::value::Severity;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number, which grows by one for each event of the pool.
    pub seqnum: u64,
    /// When, in seconds since 1970.
    pub time: u64,
    /// The node.
    pub node: String,
    /// Its severity.
    pub severity: Severity,
    /// Its kind: `qos.floor.missed`.
    pub message_name: String,
    /// What happened, as a sentence.
    pub text: String,
    /// How often it occurred since it was last logged.
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
