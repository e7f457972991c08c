//! Rows of `security certificate show`.

use super::{Cell, Column, Row};

/// A certificate that the server uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRow {
    /// The pool.
    pub vserver: String,
    /// The common name of whom it is for; empty if it has none.
    pub common_name: String,
    /// Its serial number, in hexadecimal.
    pub serial: String,
    /// The common name of who issued it.
    pub ca: String,
    /// What it is for, in ONTAP's words.
    pub kind: &'static str,
    /// Its file's name.
    pub file: String,
    /// When it begins to be valid, in seconds since 1970.
    pub start: u64,
    /// When it expires, in seconds since 1970.
    pub expiration: u64,
}

impl Row for CertificateRow {
    const COMMAND: &'static str = "security certificate show";

    // Together 80 columns.
    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 10),
        Column::left("serial", "Serial Number", 16),
        Column::left("common-name", "Common Name", 17),
        Column::left("type", "Type", 9),
        Column::left("expiration", "Expiration Date", 24),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver", "vserver"),
        ("FQDN or Custom Common Name", "common-name"),
        ("Serial Number of Certificate", "serial"),
        ("Certificate Authority", "ca"),
        ("Type of Certificate", "type"),
        ("Unique Certificate Name", "cert-name"),
        ("Certificate Start Date", "start"),
        ("Certificate Expiration Date", "expiration"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "common-name" => Cell::Text(self.common_name.clone()),
            "serial" => Cell::Text(self.serial.clone()),
            "ca" => Cell::Text(self.ca.clone()),
            "type" => Cell::Text(self.kind.into()),
            "cert-name" => Cell::Text(self.file.clone()),
            "start" => Cell::Moment(self.start),
            "expiration" => Cell::Moment(self.expiration),
            _ => return None,
        })
    }
}
