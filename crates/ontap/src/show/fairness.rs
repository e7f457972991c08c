//! What `qos fairness show` lists.

use super::{Cell, Column, Row};

/// Something that holds others, and whether those take turns.
#[derive(Clone, Debug, Default)]
pub struct FairnessRow {
    /// The SVM, unless it is the server.
    pub vserver: Option<String>,
    /// The volume, if it is one or in one.
    pub volume: Option<String>,
    /// The qtree, if it is one.
    pub qtree: Option<String>,
    /// Who takes turns: `SVMs`, `volumes` …
    pub among: String,
    /// Whether they do.
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
