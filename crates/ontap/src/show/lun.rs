//! Rows of `lun show`.

use super::{Cell, Column, Row};

/// A LUN.
#[derive(Clone, Debug, Default)]
pub struct LunRow {
    /// The SVM that owns its volume.
    pub vserver: String,
    /// `/vol/VOLUME/LUN` or `/vol/VOLUME/QTREE/LUN`.
    pub path: String,
    /// Its volume.
    pub volume: String,
    /// Its qtree, if it is in one.
    pub qtree: Option<String>,
    /// Its own name.
    pub lun: String,
    /// Its size, in bytes.
    pub size: u64,
    /// The operating system that uses it.
    pub ostype: String,
    /// `online`, `offline`.
    pub state: String,
    /// Number of client connections.
    pub connections: u64,
    /// Its identifier.
    pub uuid: String,
    /// Its fixed policy group.
    pub qos_policy_group: Option<String>,
    /// Its adaptive policy group.
    pub qos_adaptive_policy_group: Option<String>,
}

impl Row for LunRow {
    const COMMAND: &'static str = "lun show";

    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 9),
        Column::left("path", "Path", 31),
        Column::left("state", "State", 7),
        Column::left("mapped", "Mapped", 8),
        Column::left("ostype", "Type", 8),
        Column::right("size", "Size", 8),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver Name", "vserver"),
        ("LUN Path", "path"),
        ("Volume Name", "volume"),
        ("Qtree Name", "qtree"),
        ("LUN Name", "lun"),
        ("LUN Size", "size"),
        ("OS Type", "ostype"),
        ("State", "state"),
        ("Mapped", "mapped"),
        ("Connections", "connections"),
        ("LUN UUID", "uuid"),
        ("QoS Policy Group", "qos-policy-group"),
        ("QoS Adaptive Policy Group", "qos-adaptive-policy-group"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "path" => Cell::Text(self.path.clone()),
            "volume" => Cell::Text(self.volume.clone()),
            "qtree" => Cell::maybe(self.qtree.as_ref()),
            "lun" => Cell::Text(self.lun.clone()),
            "size" => Cell::Space(self.size),
            "ostype" => Cell::Text(self.ostype.clone()),
            "state" => Cell::Text(self.state.clone()),
            // There are no initiator groups: a LUN counts as mapped if a client is connected.
            "mapped" => Cell::Text(if self.connections > 0 { "mapped" } else { "unmapped" }.to_owned()),
            "connections" => Cell::Count(self.connections),
            "uuid" => Cell::Text(self.uuid.clone()),
            "qos-policy-group" => Cell::maybe(self.qos_policy_group.as_ref()),
            "qos-adaptive-policy-group" => Cell::maybe(self.qos_adaptive_policy_group.as_ref()),
            _ => return None,
        })
    }
}
