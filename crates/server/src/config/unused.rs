//! Settings that lack the setting they refer to.

use super::ServeConfig;
use ontap::value::FilePath;

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
        match &self.default_export {
            Some(name) if !is_export(name) => Err(format!(
                "default_export: {name:?}: must be a LUN's or file's path, such as /vol/vol1/lun1 or svm01:/vol/vol1/lun1"
            )),
            _ => Ok(()),
        }
    }
}

/// Whether the name can be that of an export: `/vol/VOLUME/LUN`, optionally with `SVM:` before it.
fn is_export(name: &str) -> bool {
    let path = name.split_once(':').map_or(name, |(svm, path)| if svm.is_empty() { "" } else { path });
    let inside = path.strip_prefix("/vol").filter(|inside| inside.matches('/').count() >= 2);
    inside.is_some_and(|inside| inside.parse::<FilePath>().is_ok())
}
