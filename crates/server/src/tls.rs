//! TLS for clients: the certificates it speaks with, read from PEM files, and who may speak to it.
//!
//! A [`Tls`] is what connections share; each takes a copy of it when it begins, so that renewed certificates hold for
//! those that connect from then on (see [`Tls::renew`]). The connection's own part is `session/tls`.

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ServerConfig, ServerConnection, WebPkiClientVerifier};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the certificates are, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, and behind it those between it and the authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of client certificates; without, none is asked for.
    pub client_authorities: Option<PathBuf>,
    /// A client without a certificate may come too; access rules decide what it sees.
    pub client_certificate_optional: bool,
}

impl TlsFiles {
    /// A folder with the names that libnbd, nbdkit and QEMU use: `server-cert.pem`, `server-key.pem`, `ca-cert.pem`. The
    /// authority counts where clients are to be verified.
    pub fn in_folder(folder: &Path, verify_clients: bool) -> TlsFiles {
        TlsFiles {
            certificate: folder.join("server-cert.pem"),
            key: folder.join("server-key.pem"),
            client_authorities: verify_clients.then(|| folder.join("ca-cert.pem")),
            client_certificate_optional: false,
        }
    }
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is no PEM of the right kind.
    #[error("{}: {what}: {reason}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// Why it does not.
        reason: String,
    },
    /// Key and certificate do not go together, or are of a kind that is not supported.
    #[error("{}: {reason}; the key in {} must be this certificate's", .certificate.display(), .key.display())]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What the library says.
        reason: String,
    },
}

/// The server's TLS. Cheap to clone; all clones see renewed certificates.
#[derive(Clone)]
pub struct Tls {
    files: Arc<TlsFiles>,
    config: Arc<Mutex<Arc<ServerConfig>>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// One is missing or wrong.
    pub fn load(files: TlsFiles) -> Result<Tls, TlsError> {
        let config = Arc::new(Mutex::new(Arc::new(read(&files)?)));
        Ok(Tls { files: Arc::new(files), config })
    }

    /// Reads the files again; connections from then on use what is in them.
    ///
    /// # Errors
    /// One is missing or wrong; what was in force stays.
    pub fn renew(&self) -> Result<(), TlsError> {
        let renewed = Arc::new(read(&self.files)?);
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(())
    }

    /// A connection's beginning.
    pub(crate) fn accept(&self) -> Result<ServerConnection, rustls::Error> {
        let config = Arc::clone(&self.config.lock().unwrap_or_else(PoisonError::into_inner));
        ServerConnection::new(config)
    }
}

fn read(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| file_error(&files.key, "a private key in PEM", &error))?;
    let pair = |error: rustls::Error| TlsError::Pair {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        reason: error.to_string(),
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(pair)?;
    let builder = match &files.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => builder.with_client_cert_verifier(client_verifier(path, files, provider)?),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(pair)?;
    // Every connection proves who it is anew: a certificate that was taken out of use must not live on in a ticket.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn client_verifier(
    path: &Path,
    files: &TlsFiles,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let wrong = |error: &dyn std::fmt::Display| file_error(path, "the certificate of an authority", error);
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if files.client_certificate_optional { builder.allow_unauthenticated() } else { builder };
    builder.build().map_err(|error| wrong(&error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let what = "certificates in PEM";
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => Err(file_error(path, what, &"there is none in it")),
        read => read.map_err(|error| file_error(path, what, &error)),
    }
}

fn file_error(path: &Path, what: &'static str, error: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { path: path.into(), what, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as `certtool` users have it: an authority, and a server certificate by it.
    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap().self_signed(&key).unwrap();
        std::fs::write(dir.path().join("server-cert.pem"), certificate.pem()).unwrap();
        std::fs::write(dir.path().join("server-key.pem"), key.serialize_pem()).unwrap();
        std::fs::write(dir.path().join("ca-cert.pem"), certificate.pem()).unwrap();
        dir
    }

    #[test]
    fn a_folder_of_certificates_is_read_and_renewed() {
        let dir = folder();
        let tls = Tls::load(TlsFiles::in_folder(dir.path(), true)).unwrap();
        assert!(tls.accept().is_ok());
        // A broken renewal leaves what was in force.
        std::fs::write(dir.path().join("server-cert.pem"), "rubbish").unwrap();
        assert!(tls.renew().is_err());
        assert!(tls.accept().is_ok());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_file() {
        let dir = folder();
        let load = || Tls::load(TlsFiles::in_folder(dir.path(), true)).unwrap_err().to_string();
        let other = rcgen::KeyPair::generate().unwrap();
        std::fs::write(dir.path().join("server-key.pem"), other.serialize_pem()).unwrap();
        assert!(load().contains("server-cert.pem") && load().contains("server-key.pem"), "{}", load());
        std::fs::write(dir.path().join("ca-cert.pem"), "").unwrap();
        assert!(load().contains("ca-cert.pem") && load().contains("there is none in it"), "{}", load());
        std::fs::remove_file(dir.path().join("server-key.pem")).unwrap();
        assert!(load().contains("server-key.pem"), "{}", load());
    }
}
