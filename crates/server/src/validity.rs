//! The time for which certificates are valid. A server goes on with one that has expired, as web
//! servers do, because refusing to start would take away the clients that do not look at it; but it
//! says so.

use crate::tls::{TlsError, TlsFiles, certificates};
use block::date;
use std::path::{Path, PathBuf};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

/// How a date is told.
const DATE: &str = "%Y-%m-%d %H:%M:%S UTC";

/// A certificate's time, in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    path: PathBuf,
    role: Role,
    begins: u64,
    ends: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Server,
    Authority,
}

/// The times of all certificates in these files. One that is not understood has none; the library
/// judges it.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn of(files: &TlsFiles) -> Result<Vec<Validity>, TlsError> {
    let mut found = in_file(&files.certificate, Role::Server)?;
    if let Some(authorities) = &files.client_authorities {
        found.append(&mut in_file(authorities, Role::Authority)?);
    }
    Ok(found)
}

fn in_file(path: &Path, role: Role) -> Result<Vec<Validity>, TlsError> {
    let of_one = |certificate: &[u8]| {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let validity = certificate.validity();
        let seconds = |time: x509_parser::time::ASN1Time| u64::try_from(time.timestamp()).unwrap_or(0);
        Some(Validity {
            path: path.into(),
            role,
            begins: seconds(validity.not_before),
            ends: seconds(validity.not_after),
        })
    };
    Ok(certificates(path)?.iter().filter_map(|certificate| of_one(certificate)).collect())
}

impl Validity {
    /// What is wrong with it at `now`, in one line.
    pub(crate) fn complaint(&self, now: u64) -> Option<String> {
        let whose = match self.role {
            Role::Server => "the server's certificate",
            Role::Authority => "a certificate of an authority of clients",
        };
        let what = match now {
            early if early < self.begins => format!("is not valid before {}", date(self.begins, DATE)),
            late if late > self.ends => format!("expired on {}", date(self.ends, DATE)),
            _ => return None,
        };
        let advice = match self.role {
            Role::Server => "clients that look at it refuse it; renew it and send SIGHUP",
            Role::Authority => "clients with a certificate by it are accepted all the same",
        };
        Some(format!("{}: {whose} {what}; {advice}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    /// One that is valid in 2026, as the server's own and as an authority's: at its ends and
    /// beyond.
    #[test]
    fn expired_certificates_are_told_with_their_date() {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2026, 12, 31));
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        for file in ["server-cert.pem", "ca-cert.pem"] {
            std::fs::write(folder.path().join(file), certificate.pem()).unwrap();
        }
        let found = of(&TlsFiles::in_folder(folder.path(), true)).unwrap();
        let complaints = |date: &str| {
            let now = block::moment(date).unwrap();
            found.iter().filter_map(|validity| validity.complaint(now)).collect::<Vec<_>>()
        };
        for within in ["2026-01-01", "2026-06-01", "2026-12-31"] {
            assert_eq!(complaints(within), [""; 0], "{within}");
        }
        let folder = folder.path().display();
        assert_eq!(
            complaints("2026-12-31T00:00:01"),
            [
                format!(
                    "{folder}/server-cert.pem: the server's certificate expired on 2026-12-31 00:00:00 UTC; clients that \
                     look at it refuse it; renew it and send SIGHUP"
                ),
                format!(
                    "{folder}/ca-cert.pem: a certificate of an authority of clients expired on 2026-12-31 00:00:00 UTC; \
                     clients with a certificate by it are accepted all the same"
                ),
            ]
        );
        assert!(complaints("2025-12-31T23:59:59")[0].contains("is not valid before 2026-01-01 00:00:00 UTC; "));
    }
}
