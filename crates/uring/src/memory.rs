//! The memory that this process may use: that of the machine, or less if a control group has a
//! limit; and how much of it is left.
//!
//! ```text
//!   /proc/meminfo                                       MemTotal    MemAvailable
//!   our control group of version 2, and all above it    memory.max or memory.high    all - memory.current + files in memory
//!   the same of version 1                               memory.limit_in_bytes        all - memory.usage_in_bytes + files
//! ```

use block::Bytes;
use std::path::{Path, PathBuf};

use crate::groups::own_and_above;

/// A limit on the memory of this process and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// What all of them may use together.
    pub all: Bytes,
    /// How much more they may take before one of them is killed.
    pub left: Bytes,
}

/// The memory that this process may use; `None` if the system does not tell.
pub fn most() -> Option<Bytes> {
    let machine = machine()?;
    let groups = groups().into_iter().filter_map(|folder| of_group(&folder));
    groups.chain([machine]).map(|bound| bound.all).min()
}

/// The machine's memory.
pub fn machine() -> Option<Bound> {
    machine_of(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// The folders of the control groups that can limit this process's memory, whether or not they do.
pub fn groups() -> Vec<PathBuf> {
    ["", "memory"].into_iter().flat_map(own_and_above).collect()
}

/// The limit of the control group in `folder`; `None` if it has none.
pub fn of_group(folder: &Path) -> Option<Bound> {
    [&SECOND, &FIRST].into_iter().find_map(|names| names.bound(folder))
}

/// The names of what is read here, in one version of control groups.
struct Names {
    limits: &'static [&'static str],
    used: &'static str,
    /// Lines of `memory.stat`: cached files, which the kernel drops before it kills anybody, and
    /// the mapped part of them, such as running programs, which it had better keep.
    files: [&'static str; 2],
    mapped: &'static str,
}

const SECOND: Names = Names {
    limits: &["memory.max", "memory.high"],
    used: "memory.current",
    files: ["inactive_file", "active_file"],
    mapped: "file_mapped",
};
const FIRST: Names = Names {
    limits: &["memory.limit_in_bytes"],
    used: "memory.usage_in_bytes",
    files: ["total_inactive_file", "total_active_file"],
    mapped: "total_mapped_file",
};
/// "No limit" is a word in version 2, and a number that no machine reaches in version 1.
const NO_LIMIT: u64 = u64::MAX >> 2;

impl Names {
    fn bound(&self, folder: &Path) -> Option<Bound> {
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let number = |name: &&str| text(name)?.trim().parse::<u64>().ok();
        let all = self.limits.iter().filter_map(number).min().filter(|all| *all < NO_LIMIT)?;
        let stat = text("memory.stat")?;
        let of = |name: &str| {
            let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
        };
        let files = self.files.map(of).iter().sum::<u64>().saturating_sub(of(self.mapped));
        let left = all.saturating_sub(number(&self.used)?).saturating_add(files).min(all);
        Some(Bound { all: Bytes(all), left: Bytes(left) })
    }
}

/// From `/proc/meminfo`.
fn machine_of(text: &str) -> Option<Bound> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(Bytes(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)?))
    };
    Some(Bound { all: of("MemTotal")?, left: of("MemAvailable")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_either_version_has_what_is_unused_and_what_is_read_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(of_group(folder.path()), None, "nothing there");
        write("memory.limit_in_bytes", "9223372036854771712\n");
        write("memory.usage_in_bytes", "700\n");
        write("memory.stat", "inactive_file 1\ntotal_inactive_file 90\ntotal_active_file 50\ntotal_mapped_file 40\n");
        assert_eq!(of_group(folder.path()), None, "no limit");
        write("memory.limit_in_bytes", "1000\n");
        assert_eq!(of_group(folder.path()), Some(Bound { all: Bytes(1000), left: Bytes(400) }));
        write("memory.max", "max\n");
        write("memory.high", "max\n");
        write("memory.current", "900\n");
        write("memory.stat", "anon 700\ninactive_file 90\nactive_file 50\nfile_mapped 40\n");
        std::fs::remove_file(folder.path().join("memory.limit_in_bytes")).unwrap();
        assert_eq!(of_group(folder.path()), None, "no limit");
        write("memory.max", "1000\n");
        assert_eq!(of_group(folder.path()), Some(Bound { all: Bytes(1000), left: Bytes(200) }));
        write("memory.high", "800\n");
        assert_eq!(of_group(folder.path()), Some(Bound { all: Bytes(800), left: Bytes(100) }));
    }

    #[test]
    fn the_machine_has_what_it_calls_available() {
        let text = "MemTotal:       24683560 kB\nMemFree:  1 kB\nMemAvailable:   23132360 kB\n";
        let bound = Bound { all: Bytes::kib(24_683_560), left: Bytes::kib(23_132_360) };
        assert_eq!((machine_of(text), machine_of("MemTotal: 1 kB\n")), (Some(bound), None));
        let (most, machine) = (most().unwrap(), machine().unwrap());
        assert!(most <= machine.all && machine.left < machine.all, "{most:?} of {machine:?}");
    }
}
