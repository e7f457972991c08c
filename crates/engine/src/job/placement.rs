//! Which processor is nearest to a worker's disk.
//!
//! A disk with one queue has one interrupt, which one processor takes. A worker on that processor
//! wakes without an inter-processor message, and without waiting for another processor to leave
//! idle. On a virtio disk with two processors that gave a fifth more requests a second at depth 1.
//! A disk with a queue for each processor completes where it was asked, so there is nothing to
//! choose.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use storage::major_minor;
use uring::usage;
use workload::job::{MemoryPolicy, Numa};

/// A processor, and the disk whose interrupts it handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Near {
    pub(crate) processor: u32,
    pub(crate) disk: String,
}

/// Where the kernel describes its disks and interrupts: its own folders, or those of a test.
struct Kernel {
    sys: PathBuf,
    proc: PathBuf,
}

/// The best processor for a worker with direct I/O to these files. `None` if they are on several
/// disks, if the disk has several queues or none that is known, or if this process may not run
/// there.
pub(crate) fn near(paths: &[PathBuf]) -> Option<Near> {
    let mut devices: Vec<u64> = paths.iter().map(|path| device_of(path)).collect::<Option<_>>()?;
    devices.sort_unstable();
    devices.dedup();
    let [device] = devices[..] else { return None };
    Kernel { sys: "/sys".into(), proc: "/proc".into() }.near(device)
}

/// Binds the calling thread and its memory to NUMA nodes; an error says why that is not possible.
pub(crate) fn settle(numa: &Numa) -> Result<(), String> {
    let processors_of = |node: &u32| {
        let path = format!("/sys/devices/system/node/node{node}/cpulist");
        std::fs::read_to_string(path).map_err(|error| format!("numa_cpu_nodes: node {node}: {error}"))
    };
    let lists = numa.nodes.iter().map(processors_of).collect::<Result<Vec<_>, _>>()?;
    if !lists.is_empty() {
        let processors: Vec<u32> = lists.iter().flat_map(|text| list(text)).collect();
        usage::pin(&processors).map_err(|error| format!("numa_cpu_nodes: {error}"))?;
    }
    let wanted = match &numa.memory {
        None => return Ok(()),
        Some(MemoryPolicy::Default) => (usage::Memory::Default, &[][..]),
        Some(MemoryPolicy::Local) => (usage::Memory::Local, &[][..]),
        Some(MemoryPolicy::Prefer(node)) => (usage::Memory::Prefer, std::slice::from_ref(node)),
        Some(MemoryPolicy::Bind(nodes)) => (usage::Memory::Bind, &nodes[..]),
        Some(MemoryPolicy::Interleave(nodes)) => (usage::Memory::Interleave, &nodes[..]),
    };
    usage::take_memory(wanted.0, wanted.1).map_err(|error| format!("numa_mem_policy: {error}"))
}

fn device_of(path: &Path) -> Option<u64> {
    let about = std::fs::metadata(path).ok()?;
    Some(if about.file_type().is_block_device() { about.rdev() } else { about.dev() })
}

impl Kernel {
    fn near(&self, device: u64) -> Option<Near> {
        let (major, minor) = major_minor(device);
        let folder = std::fs::canonicalize(self.sys.join(format!("dev/block/{major}:{minor}"))).ok()?;
        let disk = if folder.join("partition").exists() { folder.parent()?.to_owned() } else { folder };
        if std::fs::read_dir(disk.join("mq")).ok()?.count() != 1 {
            return None;
        }
        let processor = self.processor_of(self.busiest_of(&disk)?)?;
        let status = std::fs::read_to_string(self.proc.join("self/status")).ok()?;
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        list(allowed).contains(&processor).then_some(())?;
        Some(Near { processor, disk: disk.file_name()?.to_string_lossy().into_owned() })
    }

    /// The most frequent interrupt of the disk's controller. The others report changes of
    /// configuration, which are rare.
    fn busiest_of(&self, disk: &Path) -> Option<u32> {
        let controller = std::fs::canonicalize(disk.join("device")).ok()?;
        let own = controller.ancestors().take(3).find_map(|folder| std::fs::read_dir(folder.join("msi_irqs")).ok())?;
        let own: Vec<u32> = own.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        let counts = std::fs::read_to_string(self.proc.join("interrupts")).ok()?;
        let count = |line: &str| -> Option<(u64, u32)> {
            let (number, rest) = line.trim_start().split_once(':')?;
            let number = number.parse().ok().filter(|number| own.contains(number))?;
            Some((rest.split_whitespace().map_while(|word| word.parse::<u64>().ok()).sum(), number))
        };
        counts.lines().filter_map(count).max().map(|(_, number)| number)
    }

    /// The processor that handles an interrupt, if it is only one.
    fn processor_of(&self, interrupt: u32) -> Option<u32> {
        let text = self.proc.join(format!("irq/{interrupt}/effective_affinity_list"));
        match list(&std::fs::read_to_string(text).ok()?)[..] {
            [processor] => Some(processor),
            _ => None,
        }
    }
}

/// Parses a list such as `0-3,8`; what is not a number is left out.
fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A virtio disk with one queue; the file is on its partition, device number 254:1.
    fn machine(allowed: &str, queues: u32) -> Option<Near> {
        let root = tempfile::tempdir().unwrap();
        let (sys, proc) = (root.path().join("sys"), root.path().join("proc"));
        let disk = "devices/pci0/virtio1/block/vda";
        write(&sys, &format!("{disk}/vda1/partition"), "1\n");
        (0..queues).for_each(|queue| write(&sys, &format!("{disk}/mq/{queue}/cpu_list"), "0, 1\n"));
        ["35", "36"].iter().for_each(|irq| write(&sys, &format!("devices/pci0/msi_irqs/{irq}"), "msix\n"));
        std::os::unix::fs::symlink("../..", sys.join(disk).join("device")).unwrap();
        std::fs::create_dir_all(sys.join("dev/block")).unwrap();
        std::os::unix::fs::symlink(format!("../../{disk}/vda1"), sys.join("dev/block/254:1")).unwrap();
        write(
            &proc,
            "interrupts",
            "  CPU0 CPU1\n 35: 3 1 PCI-MSIX virtio1-config\n 36: 0 999 PCI-MSIX virtio1-req.0\n",
        );
        write(&proc, "irq/36/effective_affinity_list", "1\n");
        write(&proc, "self/status", &format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"));
        Kernel { sys, proc }.near(254 << 8 | 1)
    }

    #[test]
    fn the_processor_of_the_only_queue_is_found() {
        assert_eq!(machine("0-1", 1), Some(Near { processor: 1, disk: "vda".into() }));
        assert_eq!(machine("0", 1), None, "it may not run there");
        assert_eq!(machine("0-1", 2), None, "each processor has its own");
    }

    #[test]
    fn lists_of_processors() {
        assert_eq!(list(" 0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(list("\n"), Vec::<u32>::new());
    }
}
