//! The file that setup leaves beside a database, which describes it to later runs.

/// The file with the blocks.
pub const DATABASE_FILE: &str = "RANREAD.DAT";
/// The file that describes them.
pub const MANIFEST_FILE: &str = "ranread.manifest";

const FIRST_LINE: &str = "seawall ranread database 1";

/// A database that setup made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its name, in capitals.
    pub name: String,
    /// Its size in bytes, in whole blocks.
    pub bytes: u64,
    /// The seed of its data and of the headers of its blocks.
    pub seed: u64,
}

/// Why a manifest is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is not a manifest.
    #[error("is no manifest of seawall ranread; name a directory that setup made")]
    Kind,
    /// A line is missing or cannot be read.
    #[error("its line {0:?} is missing or broken; run purge and setup again")]
    Line(&'static str),
}

impl Manifest {
    /// The content of the file.
    pub fn text(&self) -> String {
        format!("{FIRST_LINE}\nname {}\nbytes {}\nseed {}\n", self.name, self.bytes, self.seed)
    }

    /// Parses the content of the file.
    ///
    /// # Errors
    /// It is invalid.
    pub fn read(text: &str) -> Result<Manifest, ManifestError> {
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Err(ManifestError::Kind);
        }
        let mut value = |key: &'static str| {
            let value = lines.next().and_then(|line| line.strip_prefix(key)?.strip_prefix(' '));
            value.ok_or(ManifestError::Line(key))
        };
        let name = value("name")?.to_owned();
        let bytes = value("bytes")?.parse().map_err(|_| ManifestError::Line("bytes"))?;
        let seed = value("seed")?.parse().map_err(|_| ManifestError::Line("seed"))?;
        Ok(Manifest { name, bytes, seed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_not_ours_is_refused() {
        let manifest = Manifest { name: "ZRANREAD".into(), bytes: 1 << 30, seed: 7 };
        let text = manifest.text();
        assert_eq!(Manifest::read(&text), Ok(manifest));
        assert_eq!(Manifest::read(""), Err(ManifestError::Kind));
        assert_eq!(Manifest::read(&text.replace("bytes", "size")), Err(ManifestError::Line("bytes")));
        assert_eq!(Manifest::read(&text.replace("seed 7", "seed x")), Err(ManifestError::Line("seed")));
    }
}
