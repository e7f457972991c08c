//! Settings that lack the setting they refer to.

use super::ServeConfig;
use ontap::value::ExportName;

impl ServeConfig {
    /// Refuses such settings; to be called after the command line was merged in.
    ///
    /// # Errors
    /// The key, and what it needs.
    pub fn check_unused_settings(&self) -> Result<(), String> {
        if self.portmap.is_some() && self.nfs.is_none() {
            return Err("server.portmap: is how NFS clients find the port; give nfs (or --nfs) too".into());
        }
        if self.rest.listen.is_none() && self.rest.certificate.is_some() {
            return Err("rest.certificate: is for REST; give rest.listen (or --rest) too".into());
        }
        let default_export = self.default_export.as_deref().map(str::parse::<ExportName>).transpose();
        default_export.map(drop).map_err(|error| format!("default_export: {error}"))
    }
}
