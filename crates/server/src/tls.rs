//! TLS for clients: certificates from PEM files and the verification of clients, or pre-shared
//! keys.
//!
//! All connections share a [`Tls`]. Each copies its configuration when it begins, so that renewed
//! certificates apply to later connections (see [`Tls::renew`]). The state of one connection is in
//! `session/tls`.

use crate::own_certificate::{self, OwnCertificate};
use admin::CertificateSeen;
use cipher::{CipherFault, Keys, Records, Session, secret};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ServerConfig, ServerConnection, WebPkiClientVerifier};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the credentials come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsSource {
    /// Certificates.
    Certificates(TlsFiles),
    /// Pre-shared keys: a file with a line `NAME:HEX` for each, as `psktool` writes it.
    Keys(PathBuf),
}

impl From<TlsFiles> for TlsSource {
    fn from(files: TlsFiles) -> TlsSource {
        TlsSource::Certificates(files)
    }
}

/// The PEM files of the certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, followed by the intermediate ones.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of client certificates; if not set, no certificate is asked for.
    pub client_authorities: Option<PathBuf>,
    /// Whether clients without a certificate are accepted; access rules decide what they see.
    pub client_certificate_optional: bool,
    /// Revocation lists of the authorities. Revoked certificates are refused, and so is every
    /// client whose issuer has no current list.
    pub revocation_lists: Option<PathBuf>,
}

impl TlsFiles {
    /// A folder with the file names of libnbd, nbdkit and QEMU: `server-cert.pem`,
    /// `server-key.pem`, `ca-cert.pem`. The authority is used if clients are to be verified, and
    /// `ca-crl.pem` with it if it exists.
    pub fn in_folder(folder: &Path, verify_clients: bool) -> TlsFiles {
        let lists = folder.join("ca-crl.pem");
        TlsFiles {
            certificate: folder.join("server-cert.pem"),
            key: folder.join("server-key.pem"),
            client_authorities: verify_clients.then(|| folder.join("ca-cert.pem")),
            client_certificate_optional: false,
            revocation_lists: (verify_clients && lists.exists()).then_some(lists),
        }
    }
}

/// Why TLS is not available.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM of the right kind.
    #[error("{}: {what}: {reason}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// Why it cannot be used.
        reason: String,
    },
    /// Key and certificate do not match, or are of a kind that is not supported.
    #[error("{}: {reason}; the key in {} must be this certificate's", .certificate.display(), .key.display())]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The library's message.
        reason: String,
    },
}

/// The server's TLS. Cheap to clone; a renewal applies to all clones.
#[derive(Clone)]
pub struct Tls {
    source: Arc<TlsSource>,
    inner: Arc<Mutex<Inner>>,
}

/// The configuration of new connections.
#[derive(Clone)]
enum Inner {
    Certificates(Arc<ServerConfig>, Arc<[OwnCertificate]>),
    Keys(Keys),
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// One is missing or invalid.
    pub fn load(source: impl Into<TlsSource>) -> Result<Tls, TlsError> {
        let source = Arc::new(source.into());
        let inner = Arc::new(Mutex::new(Inner::read(&source)?));
        Ok(Tls { source, inner })
    }

    /// Reads the files again; later connections use the new contents.
    ///
    /// # Errors
    /// One is missing or invalid; what was in force stays.
    pub fn renew(&self) -> Result<(), TlsError> {
        let renewed = Inner::read(&self.source)?;
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(())
    }

    /// The configuration for connections that bring their own TLS code; `None` for pre-shared keys.
    pub fn certificates(&self) -> Option<Arc<ServerConfig>> {
        match &*self.inner.lock().unwrap_or_else(PoisonError::into_inner) {
            Inner::Certificates(config, _) => Some(Arc::clone(config)),
            Inner::Keys(_) => None,
        }
    }

    /// Tells, in one line each, which certificates in force are not valid at `now`, in seconds
    /// since 1970: they have expired, or their time has not begun.
    pub fn outdated(&self, now: u64) -> Vec<String> {
        match &*self.inner.lock().unwrap_or_else(PoisonError::into_inner) {
            Inner::Certificates(_, certificates) => {
                certificates.iter().filter_map(|certificate| certificate.complaint(now)).collect()
            }
            Inner::Keys(_) => Vec::new(),
        }
    }

    /// The certificates in force; none for pre-shared keys.
    pub(crate) fn seen(&self) -> Vec<CertificateSeen> {
        match &*self.inner.lock().unwrap_or_else(PoisonError::into_inner) {
            Inner::Certificates(_, certificates) => certificates.iter().map(|own| own.seen.clone()).collect(),
            Inner::Keys(_) => Vec::new(),
        }
    }

    /// The records of a new connection.
    pub(crate) fn accept(&self) -> Result<Records, CipherFault> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match inner {
            // The amount that is encrypted at once is bounded by the caller.
            Inner::Certificates(config, _) => Ok(Records::of_certificates(ServerConnection::new(config)?)),
            Inner::Keys(keys) => Ok(Records::of_keys(Session::accept(&keys))),
        }
    }
}

impl Inner {
    fn read(source: &TlsSource) -> Result<Inner, TlsError> {
        match source {
            TlsSource::Certificates(files) => {
                Ok(Inner::Certificates(Arc::new(read(files)?), own_certificate::of(files)?.into()))
            }
            TlsSource::Keys(path) => {
                let wrong = |error: &dyn std::fmt::Display| file_error(path, "pre-shared keys", error);
                let text = secret::read(path).map_err(|error| wrong(&error))?;
                Ok(Inner::Keys(Keys::parse(&text).map_err(|error| wrong(&error))?))
            }
        }
    }
}

fn read(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = certificates(&files.certificate)?;
    let key_error = |error: &dyn std::fmt::Display| file_error(&files.key, "a private key in PEM", error);
    let key = secret::read(&files.key).map_err(|error| key_error(&error))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| key_error(&error))?;
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
    // Session resumption is off, because every connection has to prove its identity anew: a revoked
    // certificate must not live on in a ticket.
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
    let builder = match &files.revocation_lists {
        None => builder,
        // An outdated list may lack later revocations.
        Some(path) => builder.with_crls(revocation_lists(path)?).enforce_revocation_expiration(),
    };
    builder.build().map_err(|error| wrong(&error))
}

/// All items of a kind in a file, at least one.
fn pem<T: PemObject>(path: &Path, what: &'static str) -> Result<Vec<T>, TlsError> {
    match T::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
        Ok(found) if found.is_empty() => Err(file_error(path, what, &"there is none in it")),
        read => read.map_err(|error| file_error(path, what, &error)),
    }
}

pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    pem(path, "certificates in PEM")
}

fn revocation_lists(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    pem(path, "certificate revocation lists in PEM")
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
        secret(&dir.path().join("server-key.pem"), &key.serialize_pem());
        std::fs::write(dir.path().join("ca-cert.pem"), certificate.pem()).unwrap();
        dir
    }

    fn secret(path: &Path, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn a_folder_of_certificates_is_read_and_renewed() {
        let dir = folder();
        let tls = Tls::load(TlsFiles::in_folder(dir.path(), true)).unwrap();
        assert!(tls.accept().is_ok());
        // A failed renewal leaves what was in force.
        std::fs::write(dir.path().join("server-cert.pem"), "rubbish").unwrap();
        assert!(tls.renew().is_err());
        assert!(tls.accept().is_ok());
    }

    #[cfg(feature = "psk")]
    #[test]
    fn a_file_of_keys_is_read_and_renewed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.psk");
        let load = || Tls::load(TlsSource::Keys(path.clone()));
        assert!(load().unwrap_err().to_string().contains("keys.psk: pre-shared keys: No such file"));
        secret(&path, &format!("alice:{}\n", "5a".repeat(32)));
        let tls = load().unwrap();
        std::fs::write(&path, "alice:5a5a\n").unwrap();
        let said = tls.renew().unwrap_err().to_string();
        assert!(said.contains("keys.psk") && said.contains("line 1") && !said.contains("5a5a"), "{said}");
        assert!(matches!(tls.accept(), Ok(Records::Keys(_))));
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
