//! How a client verifies a server's certificate.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The requirements on a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// None: the connection is encrypted, but to whoever answers.
    Anybody,
    /// One of the authorities in this file has signed it.
    Authority(PathBuf),
    /// In addition, it has the name of the host.
    Name(PathBuf),
}

/// Why certificates cannot be used; one line.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file of certificates is unusable.
    #[error("{}: {why}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The library rejects its own protocol versions.
    #[error("TLS: {0}")]
    Rustls(#[from] rustls::Error),
}

impl Trust {
    /// A client configuration; the caller adds the client's own identity.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn config(&self) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TrustError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let authority = match self {
            Trust::Anybody => None,
            Trust::Authority(file) | Trust::Name(file) => Some(authority(file, &provider)?),
        };
        let verifier = Verifier { authority, name: matches!(self, Trust::Name(_)), provider: Arc::clone(&provider) };
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)))
    }
}

fn authority(file: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, TrustError> {
    let wrong = |why: &dyn std::fmt::Display| TrustError::File { path: file.into(), why: why.to_string() };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    verifier.build().map_err(|error| wrong(&error))
}

/// The certificates in a file.
///
/// # Errors
/// It cannot be read, or has none.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let wrong = |why: String| TrustError::File { path: path.into(), why };
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found = found.map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() { Err(wrong("has no certificate in it".into())) } else { Ok(found) }
}

/// What an error means for whoever connects, in one line: the library tells dates in seconds.
pub fn error_text(error: &rustls::Error) -> String {
    use CertificateError::{ExpiredContext, NotValidYetContext};
    let date = |time: &UnixTime| block::date(time.as_secs(), "%Y-%m-%d %H:%M:%S UTC");
    match error {
        rustls::Error::InvalidCertificate(ExpiredContext { not_after, .. }) => {
            format!("the server's certificate expired on {}; it has to be renewed there", date(not_after))
        }
        rustls::Error::InvalidCertificate(NotValidYetContext { time, not_before }) => format!(
            "the server's certificate is not valid before {}, and here it is {}; set the clock, or renew it there",
            date(not_before),
            date(time)
        ),
        other => other.to_string(),
    }
}

#[derive(Debug)]
struct Verifier {
    /// `None` accepts every certificate.
    authority: Option<Arc<WebPkiServerVerifier>>,
    name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(certificate, chain, name, ocsp, now) {
            // The name is checked last, so everything else is valid.
            Err(rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) if !self.name => {
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    // Checks that the server has the key of its certificate, in any case.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
