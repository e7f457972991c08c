//! Rows of `volume show`.

use super::{Cell, Column, Row};
use crate::value::UnixPermissions;

/// A volume.
#[derive(Clone, Debug, Default)]
pub struct VolumeRow {
    /// The SVM that owns it.
    pub vserver: String,
    /// Its name.
    pub volume: String,
    /// The aggregate that it is in.
    pub aggregate: Option<String>,
    /// Its identifier.
    pub uuid: String,
    /// `online`, `offline` …
    pub state: String,
    /// `RW`, `DP` …
    pub kind: String,
    /// Its size, in bytes.
    pub size: u64,
    /// Free space, in bytes.
    pub available: u64,
    /// Used space, in bytes.
    pub used: u64,
    /// Its place in the name space.
    pub junction_path: Option<String>,
    /// Owner, group and mode of its top folder, if there are files.
    pub top: Option<(u32, u32, UnixPermissions)>,
    /// Its fixed policy group.
    pub qos_policy_group: Option<String>,
    /// Its adaptive policy group.
    pub qos_adaptive_policy_group: Option<String>,
}

impl Row for VolumeRow {
    const COMMAND: &'static str = "volume show";

    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 9),
        Column::left("volume", "Volume", 12),
        Column::left("aggregate", "Aggregate", 12),
        Column::left("state", "State", 10),
        Column::left("type", "Type", 4),
        Column::right("size", "Size", 10),
        Column::right("available", "Available", 10),
        Column::right("percent-used", "Used%", 5),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver Name", "vserver"),
        ("Volume Name", "volume"),
        ("Aggregate Name", "aggregate"),
        ("Volume Size", "size"),
        ("Volume UUID", "uuid"),
        ("Volume State", "state"),
        ("Volume Type", "type"),
        ("User ID", "user"),
        ("Group ID", "group"),
        ("UNIX Permissions", "unix-permissions"),
        ("Junction Path", "junction-path"),
        ("Available Size", "available"),
        ("Used Size", "used"),
        ("Used Percentage", "percent-used"),
        ("QoS Policy Group Name", "qos-policy-group"),
        ("QoS Adaptive Policy Group Name", "qos-adaptive-policy-group"),
    ];

    const MEASURED: &'static [&'static str] =
        &["used", "available", "percent-used", "user", "group", "unix-permissions"];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "volume" => Cell::Text(self.volume.clone()),
            "aggregate" => Cell::maybe(self.aggregate.as_ref()),
            "uuid" => Cell::Text(self.uuid.clone()),
            "state" => Cell::Text(self.state.clone()),
            "type" => Cell::Text(self.kind.clone()),
            "size" => Cell::Space(self.size),
            "available" => Cell::Bytes(self.available),
            "used" => Cell::Bytes(self.used),
            "percent-used" => Cell::Percent(self.percent_used()),
            "junction-path" => Cell::maybe(self.junction_path.as_ref()),
            "user" => self.top.map_or(Cell::Absent, |(user, ..)| Cell::Count(user.into())),
            "group" => self.top.map_or(Cell::Absent, |(_, group, _)| Cell::Count(group.into())),
            "unix-permissions" => Cell::maybe(self.top.map(|(.., mode)| mode.to_string()).as_ref()),
            "qos-policy-group" => Cell::maybe(self.qos_policy_group.as_ref()),
            "qos-adaptive-policy-group" => Cell::maybe(self.qos_adaptive_policy_group.as_ref()),
            _ => return None,
        })
    }
}

impl VolumeRow {
    /// Rounded down, so that 100 % means that it is full.
    fn percent_used(&self) -> u64 {
        let percent = u128::from(self.used) * 100 / u128::from(self.size.max(1));
        u64::try_from(percent).unwrap_or(u64::MAX)
    }
}
