//! Rows of `vserver show`.

use super::{Cell, Column, Row};

/// A storage virtual machine.
#[derive(Clone, Debug, Default)]
pub struct VserverRow {
    /// Its name.
    pub vserver: String,
    /// Its identifier.
    pub uuid: String,
    /// `data`, `admin` …
    pub kind: String,
    /// `default` …
    pub subtype: String,
    /// The state that was asked for: `running`, `stopped`.
    pub admin_state: String,
    /// The state that it is in.
    pub operational_state: String,
    /// Its root volume, if it has one.
    pub root_volume: Option<String>,
    /// The aggregate of its volumes.
    pub aggregate: Option<String>,
    /// Its own policy group.
    pub qos_policy_group: Option<String>,
    /// The adaptive policy group that new volumes get.
    pub qos_adaptive_policy_group_template: Option<String>,
}

impl Row for VserverRow {
    const COMMAND: &'static str = "vserver show";

    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 11),
        Column::left("type", "Type", 7),
        Column::left("subtype", "Subtype", 10),
        Column::left("admin-state", "State", 10).under("Admin"),
        Column::left("operational-state", "State", 11).under("Operational"),
        Column::left("rootvolume", "Volume", 10).under("Root"),
        Column::left("aggregate", "Aggregate", 10),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver", "vserver"),
        ("Vserver Type", "type"),
        ("Vserver Subtype", "subtype"),
        ("Vserver UUID", "uuid"),
        ("Root Volume", "rootvolume"),
        ("Aggregate", "aggregate"),
        ("Vserver Admin State", "admin-state"),
        ("Vserver Operational State", "operational-state"),
        ("QoS Policy Group", "qos-policy-group"),
        ("QoS Adaptive Policy Group Template", "qos-adaptive-policy-group-template"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "uuid" => Cell::Text(self.uuid.clone()),
            "type" => Cell::Text(self.kind.clone()),
            "subtype" => Cell::Text(self.subtype.clone()),
            "admin-state" => Cell::Text(self.admin_state.clone()),
            "operational-state" => Cell::Text(self.operational_state.clone()),
            "rootvolume" => Cell::maybe(self.root_volume.as_ref()),
            "aggregate" => Cell::maybe(self.aggregate.as_ref()),
            "qos-policy-group" => Cell::maybe(self.qos_policy_group.as_ref()),
            "qos-adaptive-policy-group-template" => Cell::maybe(self.qos_adaptive_policy_group_template.as_ref()),
            _ => return None,
        })
    }
}
