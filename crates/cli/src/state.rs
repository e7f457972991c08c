//! The folder for a user's state between runs: `$XDG_STATE_HOME/seawall`, or
//! `~/.local/state/seawall`.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// The folder; `None` for a user without a home.
pub fn folder() -> Option<PathBuf> {
    // The specification ignores paths that are not absolute.
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(base.join("seawall"))
}

/// Creates the folder, accessible only to its owner.
///
/// # Errors
/// It cannot be created.
pub fn make(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
