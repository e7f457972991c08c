//! Limits the memory of a server's processes, page cache included, so that the host's memory does
//! not serve reads that should come from storage. Uses a control group of version 2, or of version
//! 1 if that has the memory controller.

use crate::play::StopSignal;
use block::Span;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where control groups are.
const ROOT: &str = "/sys/fs/cgroup";

/// How often removing a group that still has processes is tried, 10 ms apart.
const LOOKS: u32 = 100;

/// The control group of one server, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    folder: PathBuf,
    limit: u64,
}

/// Memory limit of a server's processes, and the page cache within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBound {
    /// The limit in bytes, page cache included.
    pub limit: u64,
    /// Present size of the page cache in bytes; `None` if the host does not report it.
    pub page_cache: Option<u64>,
}

impl Memory {
    /// Creates a group of that name with a limit in bytes.
    ///
    /// # Errors
    /// This needs root and the memory controller.
    pub(crate) fn limited(name: &str, bytes: u64) -> io::Result<Memory> {
        Memory::limited_in(Path::new(ROOT), name, bytes)
    }

    fn limited_in(root: &Path, name: &str, bytes: u64) -> io::Result<Memory> {
        let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
        let (parent, file) = if controllers.split_whitespace().any(|one| one == "memory") {
            // Lets child groups have the controller; no effect if that is set already.
            fs::write(root.join("cgroup.subtree_control"), "+memory")?;
            (root.to_owned(), "memory.max")
        } else if root.join("memory/memory.limit_in_bytes").exists() {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            return Err(io::Error::other("this host has no memory controller of control groups"));
        };
        let folder = parent.join(name);
        fs::create_dir(&folder)?;
        // From here on, dropping this removes the folder.
        let memory = Memory { folder, limit: bytes };
        fs::write(memory.folder.join(file), bytes.to_string())?;
        Ok(memory)
    }

    /// The limit, and the page cache within it.
    pub(crate) fn bound(&self) -> MemoryBound {
        let stat = fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        MemoryBound { limit: self.limit, page_cache: page_cache(&stat) }
    }

    /// Moves a process into the group; its future children will be in it too.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn take(&self, pid: u32) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), pid.to_string())
    }
}

/// Bytes of cached files, from the counters of either version. Shared memory is included in them
/// and subtracted.
fn page_cache(stat: &str) -> Option<u64> {
    let of = |name: &str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.trim().parse::<u64>().ok())
    };
    Some(of("file").or_else(|| of("cache"))?.saturating_sub(of("shmem")?))
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A server reports its end slightly before its processes are gone. A group that still has a
        // process later stays, which is harmless.
        let signal = StopSignal::default();
        for _ in 0..LOOKS {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                _ => return,
            }
            signal.wait(Span::from_millis(10));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_no_page_cache() {
        let first = "cache 9285632\nrss 4096\nshmem 9084928\nmapped_file 1\ntotal_cache 99\n";
        let second = "anon 4096\nfile 500\nkernel 7\nshmem 100\nfile_mapped 3\n";
        assert_eq!([first, second, ""].map(page_cache), [Some(200_704), Some(400), None]);
    }

    /// The files of the root group show which version it is, and so which file has the limit.
    #[test]
    fn either_version_has_its_file() {
        let root = tempfile::tempdir().unwrap();
        let limited = |name: &str| Memory::limited_in(root.path(), name, 4096);
        assert!(limited("a").unwrap_err().to_string().contains("no memory controller"));
        fs::create_dir(root.path().join("memory")).unwrap();
        fs::write(root.path().join("memory/memory.limit_in_bytes"), "").unwrap();
        let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        let first = limited("b").unwrap();
        assert_eq!(read("memory/b/memory.limit_in_bytes"), "4096");
        first.take(7).unwrap();
        assert_eq!(read("memory/b/cgroup.procs"), "7");
        fs::write(root.path().join("cgroup.controllers"), "cpu memory\n").unwrap();
        let _second = limited("c").unwrap();
        assert_eq!((read("c/memory.max").as_str(), read("cgroup.subtree_control").as_str()), ("4096", "+memory"));
    }
}
