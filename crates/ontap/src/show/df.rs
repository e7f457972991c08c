//! Rows of `df`.

use super::{Cell, Column, Row, VolumeRow};

/// A volume's space.
#[derive(Clone, Debug, Default)]
pub struct DfRow(pub VolumeRow);

impl Row for DfRow {
    const COMMAND: &'static str = "df";

    const SUMMARY: &'static [Column] = &[
        Column::left("filesystem", "Filesystem", 18),
        Column::right("kbytes", "kbytes", 10),
        Column::right("used", "used", 10),
        Column::right("avail", "avail", 10),
        Column::right("capacity", "capacity", 8),
        Column::left("mounted-on", "Mounted on", 10),
        Column::left("vserver", "Vserver", 7),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver", "vserver"),
        ("Volume", "volume"),
        ("Filesystem", "filesystem"),
        ("kbytes", "kbytes"),
        ("used", "used"),
        ("avail", "avail"),
        ("capacity", "capacity"),
        ("Mounted on", "mounted-on"),
    ];

    const MEASURED: &'static [&'static str] = &["used", "avail", "capacity"];

    fn cell(&self, field: &str) -> Option<Cell> {
        let volume = &self.0;
        // In units of 1024 bytes, regardless of the server's setting.
        let kbytes = |bytes: u64| Cell::Count(bytes / 1024);
        Some(match field {
            "volume" | "vserver" => return volume.cell(field),
            "filesystem" => Cell::Text(format!("/vol/{}/", volume.volume)),
            "kbytes" => kbytes(volume.size),
            "used" => kbytes(volume.used),
            "avail" => kbytes(volume.available),
            "capacity" => return volume.cell("percent-used"),
            "mounted-on" => return volume.cell("junction-path"),
            _ => return None,
        })
    }
}
