//! NFS mounts of the kernel: the server behind a file or folder, and the options of its mount.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How the kernel mounted an NFS file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsMount {
    /// Server and export: `filer:/vol1`.
    pub source: String,
    /// The version of the protocol, such as `3` or `4.1`.
    pub version: String,
    /// TCP connections.
    pub connections: u32,
    /// Limit on the bytes of a READ; 0 if unknown.
    pub read_most: u64,
    /// Limit on the bytes of a WRITE; 0 if unknown.
    pub write_most: u64,
}

impl NfsMount {
    /// The mount that a path is on, if that is NFS. For a path that does not exist, its folder is
    /// examined.
    pub fn of(path: &Path) -> Option<NfsMount> {
        let folder = || path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let path = std::fs::canonicalize(path).or_else(|_| std::fs::canonicalize(folder().unwrap_or(path))).ok()?;
        NfsMount::among(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, &path)
    }

    /// Does the same from the text of `mountinfo` (proc(5)): the deepest mount above a path, and
    /// the last of those, which hides the others.
    fn among(text: &str, path: &Path) -> Option<NfsMount> {
        let mut found: Option<(usize, &str)> = None;
        for line in text.lines() {
            let Some(place) = line.split(' ').nth(4).map(unescaped) else { continue };
            let place = Path::new(std::ffi::OsStr::from_bytes(&place));
            let depth = place.components().count();
            if path.starts_with(place) && found.is_none_or(|(deepest, _)| depth >= deepest) {
                found = Some((depth, line));
            }
        }
        let (_, behind) = found?.1.split_once(" - ")?;
        let mut words = behind.split(' ');
        let (kind, source, options) = (words.next()?, words.next()?, words.next()?);
        if !matches!(kind, "nfs" | "nfs4") {
            return None;
        }
        let option = |name: &str| options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
        let number = |name: &str| option(name).and_then(|value| value.parse().ok());
        Some(NfsMount {
            source: String::from_utf8_lossy(&unescaped(source)).into_owned(),
            version: option("vers").unwrap_or("unknown").into(),
            connections: number("nconnect").unwrap_or(1) as u32,
            read_most: number("rsize").unwrap_or(0),
            write_most: number("wsize").unwrap_or(0),
        })
    }
}

impl fmt::Display for NfsMount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NfsMount { source, version, connections, read_most, write_most } = self;
        write!(f, "{source} by NFS {version}, nconnect={connections}, rsize={read_most}, wsize={write_most}")
    }
}

/// Blanks, tabs, line ends and backslashes in a name are written as a backslash and three octal
/// digits.
fn unescaped(word: &str) -> Vec<u8> {
    let mut rest = word.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while let Some((&byte, behind)) = rest.split_first() {
        let (byte, left) = match behind {
            [high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', behind @ ..] if byte == b'\\' => {
                ((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'), behind)
            }
            _ => (byte, behind),
        };
        out.push(byte);
        rest = left;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as a kernel writes them (version, connections and sizes are options of the super
    /// block). The second mount hides the first, and a local folder is mounted below.
    #[test]
    fn the_deepest_and_last_mount_above_a_path_is_told() {
        let text = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
61 22 0:50 / /mnt/fsx\\040one rw,relatime shared:9 - nfs filer:/vol1 rw,vers=3,rsize=65536,wsize=65536,proto=tcp
62 22 0:51 / /mnt/fsx\\040one rw shared:9 - nfs4 [::1]:/vol1 rw,vers=4.1,rsize=1048576,wsize=262144,proto=tcp,nconnect=16
63 62 254:1 /d /mnt/fsx\\040one/disk rw shared:1 - ext4 /dev/vda1 rw
";
        let of = |path: &str| NfsMount::among(text, Path::new(path));
        let mount = of("/mnt/fsx one/a/file").unwrap();
        assert_eq!(mount.to_string(), "[::1]:/vol1 by NFS 4.1, nconnect=16, rsize=1048576, wsize=262144");
        assert_eq!((of("/mnt/fsx one/disk/f"), of("/mnt/fsx"), of("/etc/passwd")), (None, None, None));
        let first = text.lines().take(2).collect::<Vec<_>>().join("\n");
        let mount = NfsMount::among(&first, Path::new("/mnt/fsx one")).unwrap();
        assert_eq!((mount.version.as_str(), mount.connections, mount.read_most), ("3", 1, 65536));
    }
}
