//! Rows of `volume qtree show`.

use super::{Cell, Column, Row};

/// A qtree.
#[derive(Clone, Debug, Default)]
pub struct QtreeRow {
    /// The SVM that owns its volume.
    pub vserver: String,
    /// Its volume.
    pub volume: String,
    /// Its name.
    pub qtree: String,
    /// Its number, which never changes and identifies it in REST.
    pub id: u32,
    /// `normal` …
    pub status: String,
    /// Its policy group.
    pub qos_policy_group: Option<String>,
}

impl Row for QtreeRow {
    const COMMAND: &'static str = "volume qtree show";

    /// ONTAP has security style and oplocks in between, which are properties of file protocols.
    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 10),
        Column::left("volume", "Volume", 13),
        Column::left("qtree", "Qtree", 12),
        Column::left("status", "Status", 9),
        Column::left("qos-policy-group", "QoS Policy Group", 20),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver Name", "vserver"),
        ("Volume Name", "volume"),
        ("Qtree Name", "qtree"),
        ("Qtree Id", "id"),
        ("Qtree Status", "status"),
        ("QoS Policy Group", "qos-policy-group"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "volume" => Cell::Text(self.volume.clone()),
            "qtree" => Cell::Text(self.qtree.clone()),
            "id" => Cell::Count(self.id.into()),
            "status" => Cell::Text(self.status.clone()),
            "qos-policy-group" => Cell::maybe(self.qos_policy_group.as_ref()),
            _ => return None,
        })
    }
}
