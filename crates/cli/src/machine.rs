//! Describes this machine, as far as the system reports it.

use block::Bytes;
use stats::Machine;
use std::fs;
use std::path::Path;

/// The machine, with the file system of `folder`. `backend` is the I/O back end.
pub fn look(folder: Option<&Path>, backend: &str) -> Machine {
    Machine {
        host: host_name(),
        kernel: format!("{} {}", line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease")).trim().into(),
        cpu: cpu_model(&line("/proc/cpuinfo")),
        cores: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
        memory: uring::memory::machine().map_or(Bytes(0), |bound| bound.all),
        storage: folder.map(storage).unwrap_or_default(),
        backend: backend.into(),
    }
}

/// The machine's name; empty if unknown.
pub fn host_name() -> String {
    line("/proc/sys/kernel/hostname")
}

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn cpu_model(cpuinfo: &str) -> String {
    let named = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    named.map_or(String::new(), |(_, model)| model.trim().into())
}

/// Type and device of the file system that holds `folder`, as text.
fn storage(folder: &Path) -> String {
    file_system(folder).map_or(String::new(), |(kind, device)| format!("{kind} on {device}"))
}

/// Type and device of the file system that holds a path: that of the longest mount point above it.
pub fn file_system(path: &Path) -> Option<(String, String)> {
    let path = path.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let holds = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let (device, point, kind) = (words.next()?, words.next()?, words.next()?);
        path.starts_with(&point).then_some((point.len(), (kind, device)))
    };
    mounts.lines().filter_map(holds).max_by_key(|(length, _)| *length).map(|(_, found)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_proc_are_read() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t: x"), "Some CPU @ 2 GHz");
    }

    #[test]
    fn this_folder_is_on_some_file_system() {
        assert!(storage(Path::new(".")).contains(" on "));
    }
}
