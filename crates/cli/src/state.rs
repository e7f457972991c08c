//! The folder where a user's state is kept between runs: `$XDG_STATE_HOME/seawall`, or
//! `~/.local/state/seawall`.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Where it is; `None` for a user without a home.
pub fn folder() -> Option<PathBuf> {
    // The specification ignores paths that are not absolute.
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(base.join("seawall"))
}

/// Makes it, readable by its owner alone.
///
/// # Errors
/// It cannot be made.
pub fn make(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
