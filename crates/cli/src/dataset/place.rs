//! Where data can be, as it is written on the command line.

use anyhow::{Context as _, Result, anyhow, bail};
use block::Bytes;
use engine::Export;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// A place for blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A block device, or a file that is used like one.
    Path(PathBuf),
    /// An NBD export.
    Nbd {
        /// As it was typed.
        uri: String,
        /// What that says.
        export: Box<Export>,
    },
    /// No storage at all, so many bytes of it: what is left is the cost of asking.
    Nothing(Bytes),
}

impl Place {
    /// Reads what was given to `option`: a path, `nbd://HOST[:PORT]/NAME`, `nbd+unix:///NAME?socket=PATH` and
    /// what else a URI of an export can say, `null:SIZE`.
    pub fn parse(option: &str, given: &str) -> Result<Place> {
        if let Some(size) = given.strip_prefix("null:") {
            let size: Bytes = size.parse().with_context(|| format!("--{option} {given}"))?;
            return Ok(Place::Nothing(size));
        }
        if given.starts_with("nbd") && given.contains("://") {
            let wrong = |line: String| anyhow!("--{option}: {}", line.trim_start_matches("uri: "));
            let export = Box::new(Export::parse(given).map_err(wrong)?);
            return Ok(Place::Nbd { uri: given.into(), export });
        }
        if given.is_empty() {
            bail!("--{option}: names nothing; give a device, a file or an NBD URI");
        }
        Ok(Place::Path(given.into()))
    }

    /// Whether it is one of `names`, as `--destroy-data` gives them.
    pub fn is_among(&self, names: &[String]) -> bool {
        names.iter().any(|name| match self {
            Place::Path(path) => same(path, Path::new(name)),
            Place::Nbd { uri, export } => *name == *uri || *name == export.name,
            Place::Nothing(_) => false,
        })
    }

    /// Whether both are the same storage.
    pub fn is_same(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Path(one), Place::Path(other)) => same(one, other),
            (Place::Nbd { export: one, .. }, Place::Nbd { export: other, .. }) => {
                (&one.address, &one.name) == (&other.address, &other.name)
            }
            _ => false,
        }
    }

    /// Whether it is a path of a block device.
    pub fn is_block_device(&self) -> bool {
        let kind = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device());
        matches!(self, Place::Path(path) if kind(path))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Path(path) => write!(f, "{}", path.display()),
            Place::Nbd { uri, .. } => f.write_str(uri),
            Place::Nothing(size) => write!(f, "null:{}", size.0),
        }
    }
}

/// Whether two paths lead to the same file, by whichever links.
fn same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    whole(one) == whole(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart_by_how_they_are_written() {
        let parse = |given: &str| Place::parse("device", given).map_err(|error| format!("{error:#}"));
        assert_eq!(parse("/dev/vdb"), Ok(Place::Path("/dev/vdb".into())));
        assert_eq!(parse("null:1GiB"), Ok(Place::Nothing(Bytes::gib(1))));
        let uri = "nbd+unix:///a?socket=s";
        let nbd = parse(uri).unwrap();
        let Place::Nbd { export, .. } = &nbd else { panic!("{nbd:?}") };
        assert_eq!((&export.address, export.name.as_str()), (&engine::Address::Unix("s".into()), "a"));
        assert!(parse("nbd+unix:///a").unwrap_err().starts_with("--device: must name its socket, got"));
        assert!(parse("null:much").unwrap_err().starts_with("--device null:much"));
        assert!(parse("").unwrap_err().starts_with("--device: names nothing"));
        assert!(nbd.is_among(&[uri.into()]) && nbd.is_among(&["a".into()]) && !nbd.is_among(&["b".into()]));
        let here = Place::Path(".".into());
        assert!(here.is_among(&["./".into()]) && here.is_same(&Place::Path("./.".into())) && !here.is_same(&nbd));
    }
}
