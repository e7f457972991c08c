//! `security certificate`: the certificates that the server uses.

use super::{AdminError, Answer, Errand};
use ontap::catalogue::Selection;
use ontap::show::CertificateRow;

/// A certificate that the server uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSeen {
    /// What it is for.
    pub purpose: CertificatePurpose,
    /// Its file's name.
    pub file: String,
    /// The common name of whom it is for; empty if it has none.
    pub common_name: String,
    /// Its serial number, in hexadecimal.
    pub serial: String,
    /// The common name of who issued it; empty if that has none.
    pub issuer: String,
    /// When it begins to be valid, in seconds since 1970.
    pub begins: u64,
    /// When it expires, in seconds since 1970.
    pub ends: u64,
}

/// What the server uses a certificate for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificatePurpose {
    /// It is the server's own.
    Server,
    /// It is sent behind the server's own, to lead to an authority that clients know.
    Intermediate,
    /// It is an authority's, by which clients' certificates are verified.
    ClientAuthority,
}

impl CertificatePurpose {
    /// ONTAP's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            CertificatePurpose::Server => "server",
            CertificatePurpose::Intermediate => "server-ca",
            CertificatePurpose::ClientAuthority => "client-ca",
        }
    }
}

impl Errand<'_> {
    pub(super) fn certificates(&self, selection: &Selection) -> Result<Answer, AdminError> {
        let row = |seen: CertificateSeen| CertificateRow {
            vserver: self.cluster_name(),
            common_name: seen.common_name,
            serial: seen.serial,
            ca: seen.issuer,
            kind: seen.purpose.word(),
            file: seen.file,
            start: seen.begins,
            expiration: seen.ends,
        };
        self.listed(self.at.world.certificates().into_iter().map(row), selection)
    }
}
