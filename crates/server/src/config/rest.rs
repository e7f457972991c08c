//! `[rest]`: administration by REST.

use crate::tls::TlsFiles;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Where REST listens, and with which certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RestConfig {
    /// `HOST:PORT`; if not set, there is no REST.
    pub listen: Option<String>,
    /// The certificate, as a PEM file; if not set, one is made and kept in the pool's folder.
    pub certificate: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
}

impl RestConfig {
    pub(super) fn checked(self, folder: &Path) -> Result<RestConfig, String> {
        match (&self.certificate, &self.key) {
            (Some(_), None) => return Err("rest.certificate: give rest.key too".into()),
            (None, Some(_)) => return Err("rest.key: give rest.certificate too".into()),
            _ => {}
        }
        if let Some(listen) = &self.listen {
            let port = listen.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
            if port.is_none_or(|port| port.parse::<u16>().is_err()) {
                return Err(format!("rest.listen: {listen:?}: write HOST:PORT, such as 127.0.0.1:8443"));
            }
        }
        let from_here = |path: PathBuf| folder.join(path);
        Ok(RestConfig { certificate: self.certificate.map(from_here), key: self.key.map(from_here), ..self })
    }

    /// The files of the certificate, if one is given.
    pub fn files(&self) -> Option<TlsFiles> {
        let (certificate, key) = (self.certificate.clone()?, self.key.clone()?);
        let (client_authorities, revocation_lists) = (None, None);
        Some(TlsFiles { certificate, key, client_authorities, client_certificate_optional: false, revocation_lists })
    }
}
