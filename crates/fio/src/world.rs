//! What a job file needs from the machine: other files, the environment, and some numbers.
//!
//! This crate opens nothing itself. The program passes in a [`World`]; tests and the fuzzer pass in
//! [`Given`].

use std::collections::BTreeMap;
use std::io;

/// Source of texts, variables and the machine's numbers.
pub trait World {
    /// The whole text of a job file or of an included one; `-` is the standard input.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, path: &str) -> io::Result<String>;
    /// An environment variable; `None` if it is not set.
    fn variable(&self, name: &str) -> Option<String>;
    /// The size of an existing file or device in bytes; `None` if there is none.
    fn size_of(&self, path: &str) -> Option<u64>;
    /// Why a path has no size, as a line that names it, if the reason is more than a missing file:
    /// a missing device, a missing permission, a folder.
    fn why_no_size(&self, _path: &str) -> Option<String> {
        None
    }
    /// Whether this folder exists.
    fn is_folder(&self, path: &str) -> bool;
    /// Bytes in a memory page, for `$pagesize`.
    fn page_bytes(&self) -> u64;
    /// Number of processors online, for `$ncpus`.
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

/// A world with values that are all given in advance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Path and text of every readable file.
    pub texts: BTreeMap<String, String>,
    /// Name and value of every variable.
    pub variables: BTreeMap<String, String>,
    /// Path and size of every existing data file.
    pub sizes: BTreeMap<String, u64>,
    /// Folders that do not exist; all others do.
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
    /// No files, no variables, 4 KiB pages, four processors, 8 GiB.
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
    /// Adds a readable file.
    #[must_use]
    pub fn with_text(mut self, path: &str, text: &str) -> Given {
        self.texts.insert(path.into(), text.into());
        self
    }

    /// Adds a variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Given {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Adds a data file of `bytes`.
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
