//! Who has mounted what, for `showmount -a`: as clients said, which may forget to say that they
//! have not any more. Nothing goes by it.

use std::collections::BTreeSet;

/// Mounts that are remembered; beyond them none are added.
const MOUNTS_MAX: usize = 1024;

/// What is mounted.
#[derive(Debug, Default)]
pub(crate) struct Mounts(BTreeSet<(String, Vec<u8>)>);

impl Mounts {
    /// A client mounted a path.
    pub(crate) fn add(&mut self, client: String, path: &[u8]) {
        if self.0.len() < MOUNTS_MAX {
            self.0.insert((client, path.to_vec()));
        }
    }

    /// It does not use it any more; `None` is everything.
    pub(crate) fn remove(&mut self, client: &str, path: Option<&[u8]>) {
        self.0.retain(|(other, mounted)| other != client || path.is_some_and(|path| mounted != path));
    }

    /// Client and path of each.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(client, path)| (client.as_bytes(), path.as_slice()))
    }
}
