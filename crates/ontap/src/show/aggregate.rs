//! Rows of `storage aggregate show`.

use super::{Cell, Column, Row};

/// The aggregate: the pool.
#[derive(Clone, Debug, Default)]
pub struct AggregateRow {
    /// Its name.
    pub aggregate: String,
    /// Its whole space, in bytes.
    pub size: u64,
    /// Its free space, in bytes.
    pub available: u64,
    /// Volumes in it.
    pub volcount: u64,
    /// Its node.
    pub node: String,
}

impl Row for AggregateRow {
    const COMMAND: &'static str = "storage aggregate show";

    const SUMMARY: &'static [Column] = &[
        Column::left("aggregate", "Aggregate", 14),
        Column::right("size", "Size", 8),
        Column::right("available", "Available", 9),
        Column::right("percent-used", "Used%", 5),
        Column::left("state", "State", 7),
        Column::right("volcount", "#Vols", 6),
        Column::left("node", "Nodes", 12),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Aggregate", "aggregate"),
        ("Size", "size"),
        ("Available Size", "available"),
        ("Used Size", "used"),
        ("Used Percentage", "percent-used"),
        ("State", "state"),
        ("Number Of Volumes", "volcount"),
        ("Node", "node"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        let used = self.size.saturating_sub(self.available);
        Some(match field {
            "aggregate" => Cell::Text(self.aggregate.clone()),
            "size" => Cell::Bytes(self.size),
            "available" => Cell::Bytes(self.available),
            "used" => Cell::Bytes(used),
            "percent-used" => Cell::Percent((u128::from(used) * 100 / u128::from(self.size.max(1))) as u64),
            "state" => Cell::Text("online".into()),
            "volcount" => Cell::Count(self.volcount),
            "node" => Cell::Text(self.node.clone()),
            _ => return None,
        })
    }
}
