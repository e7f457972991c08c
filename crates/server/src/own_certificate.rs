//! The certificates that the server uses, and how long they are valid. A server goes on with one
//! that has expired, as web servers do, because refusing to start would take away the clients that
//! do not look at it; but it says so.

use crate::certificate::common_name;
use crate::tls::{TlsError, TlsFiles, certificates};
use admin::{CertificatePurpose, CertificateSeen};
use block::date;
use std::path::{Path, PathBuf};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

/// How a date is told.
const DATE: &str = "%Y-%m-%d %H:%M:%S UTC";

/// A certificate that the server uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnCertificate {
    path: PathBuf,
    pub(crate) seen: CertificateSeen,
}

/// All certificates in these files. One that is not understood is left out; the library judges it.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn of(files: &TlsFiles) -> Result<Vec<OwnCertificate>, TlsError> {
    let mut found = in_file(&files.certificate, CertificatePurpose::Intermediate)?;
    if let Some(own) = found.first_mut() {
        own.seen.purpose = CertificatePurpose::Server;
    }
    if let Some(authorities) = &files.client_authorities {
        found.append(&mut in_file(authorities, CertificatePurpose::ClientAuthority)?);
    }
    Ok(found)
}

fn in_file(path: &Path, purpose: CertificatePurpose) -> Result<Vec<OwnCertificate>, TlsError> {
    let of_one = |certificate: &[u8]| {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let validity = certificate.validity();
        let seconds = |time: x509_parser::time::ASN1Time| u64::try_from(time.timestamp()).unwrap_or(0);
        let seen = CertificateSeen {
            purpose,
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            common_name: common_name(certificate.subject()),
            serial: hexadecimal(certificate.raw_serial()),
            issuer: common_name(certificate.issuer()),
            begins: seconds(validity.not_before),
            ends: seconds(validity.not_after),
        };
        Some(OwnCertificate { path: path.into(), seen })
    };
    Ok(certificates(path)?.iter().filter_map(|certificate| of_one(certificate)).collect())
}

/// A serial number as ONTAP writes it: without the zero that keeps it positive in DER.
fn hexadecimal(serial: &[u8]) -> String {
    let zeros = serial.iter().take_while(|byte| **byte == 0).count();
    serial[zeros..].iter().map(|byte| format!("{byte:02X}")).collect()
}

impl OwnCertificate {
    /// What is wrong with it at `now`, in one line.
    pub(crate) fn complaint(&self, now: u64) -> Option<String> {
        let CertificateSeen { purpose, begins, ends, .. } = self.seen;
        let is_own = purpose != CertificatePurpose::ClientAuthority;
        let whose = if is_own { "the server's certificate" } else { "a certificate of an authority of clients" };
        let what = match now {
            early if early < begins => format!("is not valid before {}", date(begins, DATE)),
            late if late > ends => format!("expired on {}", date(ends, DATE)),
            _ => return None,
        };
        let advice = match is_own {
            true => "clients that look at it refuse it; renew it and send SIGHUP",
            false => "clients with a certificate by it are accepted all the same",
        };
        Some(format!("{}: {whose} {what}; {advice}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, Issuer, KeyPair, SerialNumber, date_time_ymd};

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
            found.iter().filter_map(|certificate| certificate.complaint(now)).collect::<Vec<_>>()
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

    /// The server's certificate by an authority, with that behind it, as files of certificates have
    /// it: who each is of and by, and its number as ONTAP writes it, also where its first bit is
    /// set, which DER puts a zero before.
    #[test]
    fn certificates_are_told_with_their_names_and_numbers() {
        let made = |name: &str, serial: &[u8]| {
            let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params.serial_number = Some(SerialNumber::from_slice(serial));
            params
        };
        let folder = tempfile::tempdir().unwrap();
        let (key, of_authority) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let authority = Issuer::new(made("ca.example", &[0x01]), &of_authority);
        let own = made("storage.example", &[0xf0, 0x0d]).signed_by(&key, &authority).unwrap();
        let behind = made("ca.example", &[0x01]).self_signed(&of_authority).unwrap();
        std::fs::write(folder.path().join("server-cert.pem"), own.pem() + &behind.pem()).unwrap();
        let found = of(&TlsFiles::in_folder(folder.path(), false)).unwrap();
        let told = |OwnCertificate { seen, .. }: &OwnCertificate| {
            [seen.purpose.word(), &seen.file, &seen.common_name, &seen.serial, &seen.issuer].map(str::to_owned)
        };
        assert_eq!(
            found.iter().map(told).collect::<Vec<_>>(),
            [
                ["server", "server-cert.pem", "storage.example", "F00D", "ca.example"],
                ["server-ca", "server-cert.pem", "ca.example", "01", "ca.example"],
            ]
        );
    }
}
