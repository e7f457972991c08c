//! Which client has mounted what, for `showmount -a`. Clients report it, and may forget to report
//! an unmount, so nothing depends on it.

use std::collections::BTreeSet;

/// Most mounts that are kept; further ones are not added.
const MOUNTS_MAX: usize = 1024;

/// What is mounted.
#[derive(Debug, Default)]
pub(crate) struct Mounts(BTreeSet<(String, Vec<u8>)>);

impl Mounts {
    /// Adds a client's mount of a path.
    pub(crate) fn add(&mut self, client: String, path: &[u8]) {
        if self.0.len() < MOUNTS_MAX {
            self.0.insert((client, path.to_vec()));
        }
    }

    /// Removes a client's mount of a path; `None` for all of its mounts.
    pub(crate) fn remove(&mut self, client: &str, path: Option<&[u8]>) {
        self.0.retain(|(other, mounted)| other != client || path.is_some_and(|path| mounted != path));
    }

    /// Client and path of each mount.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(client, path)| (client.as_bytes(), path.as_slice()))
    }
}
