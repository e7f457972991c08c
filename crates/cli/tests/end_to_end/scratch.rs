//! A folder for one test, removed with it.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The folder. On a disk where there is one: a memory file system cannot always go past the page
/// cache. Its path is short, because a Unix socket's has at most 107 bytes.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> Scratch {
        let place = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
        let made = tempfile::Builder::new().prefix("sw").tempdir_in(place);
        Scratch(made.expect("a temporary folder can be made"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Everything in it, as paths from it, in order.
    pub fn listing(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(self.path(), self.path(), &mut found);
        found.sort();
        found
    }
}

fn list(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read").flatten() {
        let path = entry.path();
        found.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(root, &path, found);
        }
    }
}

/// Writes a file that its owner alone may read, as a secret has to be.
pub fn secret(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Turns over a byte of the block at 40 KiB.
pub fn damage(file: &Path) {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let (mut byte, at) = ([0], 40_960 + 2000);
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[!byte[0]], at).unwrap();
}
