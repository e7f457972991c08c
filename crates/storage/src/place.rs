//! Places for data, as they are written on the command line.

use crate::error::{OpenError, of_system};
use crate::nbd_target::Export;
use crate::nfs_target::NfsFile;
use block::Bytes;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// A place for blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A block device, or a file, which need not exist.
    Path(PathBuf),
    /// An NBD export.
    Nbd {
        /// The URI as it was typed.
        uri: String,
        /// Its meaning.
        export: Box<Export>,
    },
    /// A file of an NFS server.
    Nfs {
        /// The URI as it was typed.
        uri: String,
        /// Its meaning.
        file: Box<NfsFile>,
    },
    /// Storage of this size that does nothing, so that only the cost of a request is left.
    Nothing(Bytes),
    /// Several places as one: concatenated in this order, or in stripes. A folder among them stands
    /// for its files. None of them is a joined place itself.
    Joined {
        /// At least one.
        members: Vec<Place>,
        /// Bytes on each member before the next one's turn.
        stripe: Option<Bytes>,
    },
}

/// Limit on joined places: each file and each connection takes a descriptor.
const MEMBERS_MAX: usize = 256;
/// Smaller files in a folder are taken for descriptions of its data and are left out.
const DATA_MIN: u64 = 4096;

impl Place {
    /// Parses a path, `nbd://HOST[:PORT]/NAME`, `nbd+unix:///NAME?socket=PATH` and other URIs of
    /// exports, `nfs://HOST[:PORT]/EXPORT/FILE`, or `null:SIZE`; or several places as one,
    /// `concat:A,B,C` or `striped:SIZE:A,B,C`, where a folder stands for its files.
    ///
    /// # Errors
    /// One line, with the rule that it breaks.
    pub fn parse(given: &str) -> Result<Place, String> {
        if let Some(size) = given.strip_prefix("null:") {
            let size = size.parse().map_err(|error| format!("{given}: {error}"))?;
            return Ok(Place::Nothing(size));
        }
        if let Some(members) = given.strip_prefix("concat:") {
            return Place::joined(given, members, None);
        }
        if let Some(rest) = given.strip_prefix("striped:") {
            let (stripe, members) = rest
                .split_once(':')
                .ok_or_else(|| format!("{given}: must be striped:SIZE:A,B,C, as in striped:64KiB:/dev/vdb,/dev/vdc"))?;
            let stripe: Bytes = stripe.parse().map_err(|error| format!("{given}: {error}"))?;
            if stripe == Bytes(0) {
                return Err(format!("{given}: a stripe must be above 0 B; as in striped:64KiB:/dev/vdb,/dev/vdc"));
            }
            return Place::joined(given, members, Some(stripe));
        }
        if given.starts_with("nbd") && given.contains("://") {
            return Place::nbd(given);
        }
        if given.starts_with("nfs://") {
            return Ok(Place::Nfs { uri: given.into(), file: Box::new(NfsFile::parse(given)?) });
        }
        if let Some((kind, _)) = given.split_once("://").filter(|(kind, _)| is_scheme(kind)) {
            return Err(format!(
                "{given}: unknown kind of place {kind}://; known: a file's or device's path, nbd://, nbds://, nbd+unix://, \
                 nbds+unix://, nfs://, null:SIZE, concat:A,B, striped:SIZE:A,B"
            ));
        }
        if given.is_empty() {
            return Err("names nothing; give a device, a file, or the URI of an NBD export or an NFS file".into());
        }
        Ok(Place::Path(given.into()))
    }

    /// The export that a URI names.
    ///
    /// # Errors
    /// One line, with the rule that it breaks.
    pub fn nbd(uri: &str) -> Result<Place, String> {
        let export = Export::parse(uri).map_err(|line| line.trim_start_matches("uri: ").to_owned())?;
        Ok(Place::Nbd { uri: uri.into(), export: Box::new(export) })
    }

    fn joined(given: &str, members: &str, stripe: Option<Bytes>) -> Result<Place, String> {
        let members = members.split(',').map(Place::parse).collect::<Result<Vec<Place>, String>>();
        let members =
            members.map_err(|line| if line.starts_with(given) { line } else { format!("{given}: {line}") })?;
        if members.iter().any(|member| matches!(member, Place::Joined { .. })) {
            return Err(format!("{given}: places that are joined cannot be joined again; name all of them in one row"));
        }
        Ok(Place::Joined { members, stripe })
    }

    /// Its parts: itself, or the places that are joined, with folders replaced by their files.
    ///
    /// # Errors
    /// A folder cannot be read or has no files; there are too many; or one is named twice.
    pub fn members(&self) -> Result<Vec<Place>, OpenError> {
        let Place::Joined { members, .. } = self else { return Ok(vec![self.clone()]) };
        let mut all: Vec<Place> = Vec::new();
        for member in members {
            for place in member.clone().files()? {
                if let Some(first) = all.iter().find(|other| other.is_same(&place)) {
                    return Err(OpenError::Twice(first.to_string()));
                }
                all.push(place);
            }
        }
        match all.len() {
            given if given > MEMBERS_MAX => Err(OpenError::TooMany { most: MEMBERS_MAX, given }),
            _ => Ok(all),
        }
    }

    /// What is loaded of it: itself, or for a folder its files of 4 KiB and more, in the order of
    /// their names. Folders in it are ignored.
    ///
    /// # Errors
    /// It cannot be read, or has no such file.
    pub fn files(self) -> Result<Vec<Place>, OpenError> {
        let Place::Path(folder) = &self else { return Ok(vec![self]) };
        if !folder.is_dir() {
            return Ok(vec![self]);
        }
        let look = |cause| of_system(&self.to_string(), cause);
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(look)? {
            let path = entry.map_err(look)?.path();
            if std::fs::metadata(&path).is_ok_and(|about| about.is_file() && about.len() >= DATA_MIN) {
                files.push(path);
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(OpenError::NoFiles(self.to_string()));
        }
        Ok(files.into_iter().map(Place::Path).collect())
    }

    /// Whether both are the same storage, or overlap.
    pub fn is_same(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Path(one), Place::Path(other)) => same(one, other),
            (Place::Nbd { export: one, .. }, Place::Nbd { export: other, .. }) => {
                (&one.address, &one.name) == (&other.address, &other.name)
            }
            (Place::Nfs { file: one, .. }, Place::Nfs { file: other, .. }) => one.is_same(other),
            (Place::Joined { members, .. }, other) | (other, Place::Joined { members, .. }) => {
                members.iter().any(|member| member.is_same(other))
            }
            _ => false,
        }
    }

    /// Whether it is a path of a block device.
    pub fn is_block_device(&self) -> bool {
        let kind = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device());
        matches!(self, Place::Path(path) if kind(path))
    }

    /// Whether it is one of `names`, each of which is a place and not a pattern: a path by any
    /// links, a URI as it was typed, or the name of an export.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        match self {
            Place::Path(path) => same(path, Path::new(name)),
            Place::Nbd { uri, export } => name == uri || (!name.is_empty() && name == export.name),
            Place::Nfs { uri, file } => name == uri || (!name.is_empty() && name == file.path),
            Place::Nothing(_) => false,
            Place::Joined { members, .. } => {
                name == self.to_string() || members.iter().any(|member| member.is_called(name))
            }
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Path(path) => write!(f, "{}", path.display()),
            Place::Nbd { uri, .. } | Place::Nfs { uri, .. } => f.write_str(uri),
            Place::Nothing(size) => write!(f, "null:{}", written(*size)),
            Place::Joined { members, stripe } => {
                match stripe {
                    None => f.write_str("concat:")?,
                    Some(stripe) => write!(f, "striped:{}:", written(*stripe))?,
                }
                for (number, member) in members.iter().enumerate() {
                    write!(f, "{}{member}", if number > 0 { "," } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

/// A size as it can be given: exact, in the largest unit of which it is a whole number.
fn written(size: Bytes) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.into_iter().find(|(shift, _)| size.0 > 0 && size.0.trailing_zeros() >= *shift);
    whole.map_or_else(|| size.0.to_string(), |(shift, unit)| format!("{}{unit}", size.0 >> shift))
}

/// Whether it is the scheme of a URI. A path that looks like one can be written with `./`.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Whether two paths lead to the same file, by any links.
fn same(one: &Path, other: &Path) -> bool {
    whole(one) == whole(other)
}

/// A path without links. A path that does not exist is only made absolute.
pub(crate) fn whole(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart_by_how_they_are_written() {
        assert_eq!(Place::parse("/dev/vdb"), Ok(Place::Path("/dev/vdb".into())));
        assert_eq!(Place::parse("null:1GiB"), Ok(Place::Nothing(Bytes::gib(1))));
        for name in ["null:1GiB", "null:1500MiB", "null:513", "striped:64KiB:null:1GiB,/dev/vdc"] {
            assert_eq!(Place::parse(name).unwrap().to_string(), name, "sizes are named as they can be given");
        }
        let uri = "nbd+unix:///a?socket=s";
        let nbd = Place::parse(uri).unwrap();
        let Place::Nbd { export, .. } = &nbd else { panic!("{nbd:?}") };
        assert_eq!((&export.address, export.name.as_str()), (&crate::Address::Unix("s".into()), "a"));
        assert!(Place::parse("nbd+unix:///a").unwrap_err().starts_with("must name its socket, got"));
        let typed = "nfs://h/vol1/f?nconnect=16";
        let nfs = Place::parse(typed).unwrap();
        assert!(
            nfs.is_called(typed) && nfs.is_called("/vol1/f") && nfs.is_same(&Place::parse("nfs://h/vol1/f").unwrap())
        );
        assert!(Place::parse("nfs://h").unwrap_err().starts_with("must name a file behind its host, got"));
        let joined = Place::parse("striped:64KiB:/dev/vdb,null:1GiB").unwrap();
        let Place::Joined { members, stripe } = &joined else { panic!("{joined:?}") };
        assert_eq!(
            (members.as_slice(), *stripe),
            (&[Place::Path("/dev/vdb".into()), Place::Nothing(Bytes::gib(1))][..], Some(Bytes::kib(64)))
        );
        assert_eq!(Place::parse(&joined.to_string()), Ok(joined.clone()), "{joined}");
        assert!(joined.is_called("/dev/vdb") && joined.is_same(&members[0]) && !joined.is_called("/dev/vdc"));
        for (given, rule) in [
            ("concat:", "names nothing"),
            ("striped:64KiB", "must be striped:SIZE:A,B,C"),
            ("striped:0:a,b", "must be above 0 B"),
            ("striped:x:a,b", "striped:x:a,b: "),
            ("concat:a,concat:b", "cannot be joined again"),
        ] {
            let line = Place::parse(given).unwrap_err();
            assert!(line.contains(rule) && line.starts_with(given), "{line}");
        }
        for given in ["http://x", "ftp://x/y", "NFS://h/x/y", "concat:a,http://x"] {
            let line = Place::parse(given).unwrap_err();
            assert!(line.contains("unknown kind of place"), "{line}");
        }
        assert_eq!(Place::parse("./http://x"), Ok(Place::Path("./http://x".into())));
        assert!(Place::parse("null:much").unwrap_err().starts_with("null:much"));
        assert!(Place::parse("").unwrap_err().starts_with("names nothing"));
        assert!(nbd.is_called(uri) && nbd.is_called("a") && !nbd.is_called("b"));
        let here = Place::Path(".".into());
        assert!(here.is_called("./") && here.is_same(&Place::Path("./.".into())) && !here.is_same(&nbd));
    }
}
