//! Rows of `network limit show`.

use super::{Cell, Column, Row};
use crate::value::ThroughputLimits;

/// A bandwidth limit between clients and the server.
#[derive(Clone, Debug, Default)]
pub struct LinkRow {
    /// `connection` or `server`.
    pub scope: String,
    /// The sustained rate in bytes per second; `None` without a limit.
    pub rate: Option<u64>,
    /// The rate in bytes per second while there is credit.
    pub burst: Option<u64>,
    /// Most credit that can be saved, in bytes.
    pub credit: Option<u64>,
    /// Credit that is left, in bytes.
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
