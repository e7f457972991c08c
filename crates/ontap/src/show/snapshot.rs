//! Rows of `volume snapshot show`.

use super::{Cell, Column, Row};

/// A snapshot.
#[derive(Clone, Debug, Default)]
pub struct SnapshotRow {
    /// The SVM that owns its volume.
    pub vserver: String,
    /// Its volume.
    pub volume: String,
    /// Its own name.
    pub snapshot: String,
    /// When it was made, in seconds since 1970.
    pub create_time: u64,
    /// Bytes that deleting it would free.
    pub size: u64,
    /// The same in percent of the volume's size.
    pub total_percent: u64,
    /// What administrators noted about it; empty if nothing.
    pub comment: String,
}

impl Row for SnapshotRow {
    const COMMAND: &'static str = "volume snapshot show";

    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 8),
        Column::left("volume", "Volume", 12),
        Column::left("snapshot", "Snapshot", 37),
        Column::right("size", "Size", 8),
        Column::right("total-percent", "Total%", 6),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver", "vserver"),
        ("Volume", "volume"),
        ("Snapshot", "snapshot"),
        ("Creation Time", "create-time"),
        ("Snapshot Size", "size"),
        ("Percentage of Total Blocks", "total-percent"),
        ("Comment", "comment"),
    ];

    const BY_AGE: bool = true;

    const MEASURED: &'static [&'static str] = &["size", "total-percent"];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "volume" => Cell::Text(self.volume.clone()),
            "snapshot" => Cell::Text(self.snapshot.clone()),
            "create-time" => Cell::Moment(self.create_time),
            "size" => Cell::Bytes(self.size),
            "total-percent" => Cell::Percent(self.total_percent),
            "comment" => Cell::maybe(Some(&self.comment).filter(|comment| !comment.is_empty())),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::SizeUnits;

    /// Compared with `date -u -d @SECONDS`.
    #[test]
    fn moments_read_as_date_prints_them() {
        let known = [
            (0, "Thu Jan 01 00:00:00 1970"),
            (951_782_399, "Mon Feb 28 23:59:59 2000"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (1_709_251_199, "Thu Feb 29 23:59:59 2024"),
            (1_795_314_659, "Sun Nov 22 02:30:59 2026"),
            (4_107_542_400, "Mon Mar 01 00:00:00 2100"),
        ];
        for (seconds, text) in known {
            assert_eq!(Cell::Moment(seconds).text(SizeUnits::Binary), text);
        }
    }
}
