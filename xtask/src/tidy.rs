//! `cargo xtask tidy`: the parts of our style that can be checked. Each rule looks at one file, or
//! at the manifests, and reports what it found, where, and what to do.

mod crates;
mod links;
mod names;
mod shape;
mod words;

use anyhow::{Context as _, Result, bail};
use std::fmt;
use std::path::Path;
use std::process::Command;

/// A file of the repository.
#[derive(Debug)]
pub struct Source {
    /// Its path from the root, with slashes.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, counted from 1; 0 for the whole file.
    pub line: usize,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// All violations, file by file.
///
/// # Errors
/// The files cannot be listed or read.
pub fn findings(root: &Path) -> Result<Vec<Finding>> {
    let sources = sources(root)?;
    let mut found: Vec<Finding> =
        sources.iter().flat_map(|source| [shape::check(source), words::check(source)]).flatten().collect();
    let manifests = crates::manifests(root)?;
    found.extend(crates::check(&manifests));
    found.extend(names::check(&sources, &manifests));
    found.extend(crates::check_sources(&sources));
    found.extend(links::check(&sources));
    Ok(found)
}

/// All text files that are in the repository, or would be with the next commit.
fn sources(root: &Path) -> Result<Vec<Source>> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("list the repository's files with git")?;
    if !listing.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&listing.stderr).trim());
    }
    let names = String::from_utf8(listing.stdout).context("names of files")?;
    let mut sources = Vec::new();
    for path in names.split('\0').filter(|path| !path.is_empty()) {
        // Pictures are not text, and a deleted file is listed until the next commit.
        if let Ok(text) = std::fs::read_to_string(root.join(path)) {
            sources.push(Source { path: path.to_owned(), text });
        }
    }
    Ok(sources)
}
