//! Rows of `volume file show`.

use super::{Cell, Column, Row};

/// A file.
#[derive(Clone, Debug, Default)]
pub struct FileRow {
    /// The SVM that owns its volume.
    pub vserver: String,
    /// Its volume.
    pub volume: String,
    /// Its qtree, if it is in one.
    pub qtree: Option<String>,
    /// Its path, from the root of the volume.
    pub file: String,
    /// Its size, in bytes.
    pub size: u64,
    /// The space that it uses, in bytes.
    pub used: u64,
    /// Number of client connections.
    pub connections: u64,
    /// Its identifier.
    pub uuid: String,
    /// Its fixed policy group.
    pub qos_policy_group: Option<String>,
    /// Its adaptive policy group.
    pub qos_adaptive_policy_group: Option<String>,
}

impl Row for FileRow {
    const COMMAND: &'static str = "volume file show";

    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 10),
        Column::left("volume", "Volume", 13),
        Column::left("file", "File", 31),
        Column::right("size", "Size", 8),
        Column::right("used", "Used", 8),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver Name", "vserver"),
        ("Volume Name", "volume"),
        ("Qtree Name", "qtree"),
        ("File Path", "file"),
        ("File Size", "size"),
        ("Used Size", "used"),
        ("Connections", "connections"),
        ("File UUID", "uuid"),
        ("QoS Policy Group", "qos-policy-group"),
        ("QoS Adaptive Policy Group", "qos-adaptive-policy-group"),
    ];

    const MEASURED: &'static [&'static str] = &["size", "used"];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "volume" => Cell::Text(self.volume.clone()),
            "qtree" => Cell::maybe(self.qtree.as_ref()),
            "file" => Cell::Text(self.file.clone()),
            "size" => Cell::Space(self.size),
            "used" => Cell::Bytes(self.used),
            "connections" => Cell::Count(self.connections),
            "uuid" => Cell::Text(self.uuid.clone()),
            "qos-policy-group" => Cell::maybe(self.qos_policy_group.as_ref()),
            "qos-adaptive-policy-group" => Cell::maybe(self.qos_adaptive_policy_group.as_ref()),
            _ => return None,
        })
    }
}
