//! The server's certificate: the administrator's, or one that is made at the first start and kept
//! in the pool's folder.

use rcgen::{CertificateParams, KeyPair};
use server::TlsFiles;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Why there is no usable certificate.
#[derive(Debug, thiserror::Error)]
#[error("{}: the certificate for REST: {reason}", .path.display())]
pub struct CertificateError {
    path: PathBuf,
    reason: String,
}

/// The certificate in a folder. If there is none, makes one for this machine's names and `host`.
///
/// # Errors
/// It cannot be made or written.
pub(crate) fn of_folder(folder: &Path, host: &str) -> Result<TlsFiles, CertificateError> {
    let (certificate, key) = (folder.join("rest-cert.pem"), folder.join("rest-key.pem"));
    if !certificate.exists() || !key.exists() {
        let pair =
            made(host).map_err(|error| CertificateError { path: certificate.clone(), reason: error.to_string() })?;
        write(&key, &pair.1)?;
        // Written last: if the certificate exists, its key is complete.
        write(&certificate, &pair.0)?;
    }
    Ok(TlsFiles {
        certificate,
        key,
        client_authorities: None,
        client_certificate_optional: false,
        revocation_lists: None,
    })
}

/// A new certificate and its key, in PEM.
fn made(host: &str) -> Result<(String, String), rcgen::Error> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".into(), "::1".into()];
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    names.extend([machine.trim().to_owned(), host.to_owned()].into_iter().filter(|name| !name.is_empty()));
    names.sort();
    names.dedup();
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(names)?.self_signed(&key)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn write(path: &Path, text: &str) -> Result<(), CertificateError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|error| CertificateError { path: path.into(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::Tls;

    #[test]
    fn one_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let files = of_folder(dir.path(), "storage.example").unwrap();
        let first = std::fs::read(&files.certificate).unwrap();
        assert!(Tls::load(files).unwrap().certificates().is_some());
        let files = of_folder(dir.path(), "storage.example").unwrap();
        assert_eq!(std::fs::read(&files.certificate).unwrap(), first);
        // A certificate without its key is replaced.
        std::fs::remove_file(&files.key).unwrap();
        let files = of_folder(dir.path(), "storage.example").unwrap();
        assert_ne!(std::fs::read(&files.certificate).unwrap(), first);
        assert!(Tls::load(files).is_ok());
    }
}
