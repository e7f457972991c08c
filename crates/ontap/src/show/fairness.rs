//! Rows of `qos fairness show`.

use super::{Cell, Column, Row};

/// An object, and whether its contents take turns.
#[derive(Clone, Debug, Default)]
pub struct FairnessRow {
    /// The SVM; `None` for the whole server.
    pub vserver: Option<String>,
    /// The volume, if it is one or is in one.
    pub volume: Option<String>,
    /// The qtree, if it is one.
    pub qtree: Option<String>,
    /// What takes turns in it: `SVMs`, `volumes` …
    pub among: String,
    /// Whether they take turns.
    pub enabled: bool,
}

impl Row for FairnessRow {
    const COMMAND: &'static str = "qos fairness show";

    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 14),
        Column::left("volume", "Volume", 16),
        Column::left("qtree", "Qtree", 14),
        Column::left("among", "Among", 21),
        Column::left("enabled", "Enabled", 7),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver Name", "vserver"),
        ("Volume Name", "volume"),
        ("Qtree Name", "qtree"),
        ("Among", "among"),
        ("Enabled", "enabled"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::maybe(self.vserver.as_ref()),
            "volume" => Cell::maybe(self.volume.as_ref()),
            "qtree" => Cell::maybe(self.qtree.as_ref()),
            "among" => Cell::Text(self.among.clone()),
            "enabled" => Cell::Flag(self.enabled),
            _ => return None,
        })
    }
}
