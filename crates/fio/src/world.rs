//! What a job file may ask of the machine: other files, the environment, and three numbers.
//!
//! This crate opens nothing itself. The program hands in a [`World`]; tests and the fuzzer hand in
//! [`Given`].

use std::collections::BTreeMap;
use std::io;

/// Where texts, variables and the machine's numbers come from.
pub trait World {
    /// The whole text of a job file or an included one; `-` is the standard input.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, path: &str) -> io::Result<String>;
    /// An environment variable; `None` where it is not set.
    fn variable(&self, name: &str) -> Option<String>;
    /// The size of a file or device that is there, in bytes; `None` where there is none.
    fn size_of(&self, path: &str) -> Option<u64>;
    /// Why nothing with a size can be had there, in a line that names it, where that is more than
    /// that no file is there yet: a device that is missing, one that may not be opened, a folder.
    fn why_no_size(&self, _path: &str) -> Option<String> {
        None
    }
    /// Whether a folder of that name is there.
    fn is_folder(&self, path: &str) -> bool;
    /// Bytes of a memory page, for `$pagesize`.
    fn page_bytes(&self) -> u64;
    /// Processors online, for `$ncpus`.
    fn cpus(&self) -> u64;
    /// The highest number of a processor that is online.
    fn last_cpu(&self) -> u64 {
        self.cpus().saturating_sub(1)
    }
    /// Memory of the machine in MiB, for `$mb_memory`.
    fn memory_mib(&self) -> u64;
    /// A number that differs from run to run, for `randrepeat=0`.
    fn chance(&self) -> u64;
}

/// A world that is all said beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Path and text of every file that can be read.
    pub texts: BTreeMap<String, String>,
    /// Name and value of every variable.
    pub variables: BTreeMap<String, String>,
    /// Path and bytes of every data file that is there.
    pub sizes: BTreeMap<String, u64>,
    /// Folders that are not there; all others are.
    pub missing_folders: Vec<String>,
    /// See [`World::page_bytes`].
    pub page_bytes: u64,
    /// See [`World::cpus`].
    pub cpus: u64,
    /// See [`World::memory_mib`].
    pub memory_mib: u64,
    /// See [`World::chance`].
    pub chance: u64,
}

impl Default for Given {
    /// No file, no variable, 4 KiB pages, four processors, 8 GiB.
    fn default() -> Given {
        Given {
            texts: BTreeMap::new(),
            variables: BTreeMap::new(),
            sizes: BTreeMap::new(),
            missing_folders: Vec::new(),
            page_bytes: 4096,
            cpus: 4,
            memory_mib: 8192,
            chance: 1,
        }
    }
}

impl Given {
    /// The same with one more readable file.
    #[must_use]
    pub fn with_text(mut self, path: &str, text: &str) -> Given {
        self.texts.insert(path.into(), text.into());
        self
    }

    /// The same with one more variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Given {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The same with one more data file of `bytes`.
    #[must_use]
    pub fn with_file(mut self, path: &str, bytes: u64) -> Given {
        self.sizes.insert(path.into(), bytes);
        self
    }
}

impl World for Given {
    fn read(&self, path: &str) -> io::Result<String> {
        self.texts.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn size_of(&self, path: &str) -> Option<u64> {
        self.sizes.get(path).copied()
    }

    fn is_folder(&self, path: &str) -> bool {
        !self.missing_folders.iter().any(|missing| missing == path)
    }

    fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    fn cpus(&self) -> u64 {
        self.cpus
    }

    fn memory_mib(&self) -> u64 {
        self.memory_mib
    }

    fn chance(&self) -> u64 {
        self.chance
    }
}
