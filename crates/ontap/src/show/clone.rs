//! Rows of `volume clone show`.

use super::{Cell, Column, Row};

/// A volume that is a clone.
#[derive(Clone, Debug, Default)]
pub struct CloneRow {
    /// The SVM that owns it.
    pub vserver: String,
    /// Its name.
    pub flexclone: String,
    /// The SVM of the volume that it was cloned from.
    pub parent_vserver: String,
    /// That volume.
    pub parent_volume: String,
    /// The snapshot, if it was cloned from one.
    pub parent_snapshot: Option<String>,
}

impl Row for CloneRow {
    const COMMAND: &'static str = "volume clone show";

    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 7),
        Column::left("flexclone", "FlexClone", 13),
        Column::left("parent-vserver", "Vserver", 7).under("Parent"),
        Column::left("parent-volume", "Volume", 13).under("Parent"),
        Column::left("parent-snapshot", "Snapshot", 20).under("Parent"),
        Column::left("state", "State", 9),
        Column::left("type", "Type", 4),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver Name", "vserver"),
        ("FlexClone Volume", "flexclone"),
        ("FlexClone Parent Vserver", "parent-vserver"),
        ("FlexClone Parent Volume", "parent-volume"),
        ("FlexClone Parent Snapshot", "parent-snapshot"),
        ("FlexClone State", "state"),
        ("FlexClone Type", "type"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "flexclone" => Cell::Text(self.flexclone.clone()),
            "parent-vserver" => Cell::Text(self.parent_vserver.clone()),
            "parent-volume" => Cell::Text(self.parent_volume.clone()),
            "parent-snapshot" => Cell::maybe(self.parent_snapshot.as_ref()),
            "state" => Cell::Text("online".into()),
            "type" => Cell::Text("RW".into()),
            _ => return None,
        })
    }
}
