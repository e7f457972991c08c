//! What `network limit show` lists.

use super::{Cell, Column, Row};
use crate::value::ThroughputLimits;

/// A limit of the network between clients and the server.
#[derive(Clone, Debug, Default)]
pub struct LinkRow {
    /// `connection` or `server`.
    pub scope: String,
    /// Bytes a second that pass for ever; nothing where there is no limit.
    pub rate: Option<u64>,
    /// Bytes a second that pass while credit lasts.
    pub burst: Option<u64>,
    /// Bytes of credit that can be saved.
    pub credit: Option<u64>,
    /// Bytes of credit that are left.
    pub credit_left: Option<u64>,
    /// How often a connection waited for it.
    pub waits: u64,
    /// Bytes of reads and writes so far.
    pub bytes: u64,
}

impl Row for LinkRow {
    const COMMAND: &'static str = "network limit show";

    const SUMMARY: &'static [Column] = &[
        Column::left("scope", "Limit Of", 10),
        Column::right("rate", "Rate", 12),
        Column::right("burst", "Burst", 12),
        Column::right("credit", "Credit", 10),
        Column::right("credit-left", "Left", 10),
        Column::right("waits", "Waits", 10),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Limit Of", "scope"),
        ("Rate", "rate"),
        ("Burst", "burst"),
        ("Credit", "credit"),
        ("Credit Left", "credit-left"),
        ("Waits", "waits"),
        ("Data Carried", "bytes"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        let rate = |bytes: Option<u64>| {
            let limits = |bytes| ThroughputLimits { iops: None, bytes_per_second: Some(bytes) };
            bytes.map_or(Cell::Absent, |bytes| Cell::Ceiling(Some(limits(bytes))))
        };
        let size = |bytes: Option<u64>| bytes.map_or(Cell::Absent, Cell::Bytes);
        Some(match field {
            "scope" => Cell::Text(self.scope.clone()),
            "rate" => rate(self.rate),
            "burst" => rate(self.burst),
            "credit" => size(self.credit),
            "credit-left" => size(self.credit_left),
            "waits" => Cell::Count(self.waits),
            "bytes" => Cell::Bytes(self.bytes),
            _ => return None,
        })
    }
}
