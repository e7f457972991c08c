//! What a job file may ask of this machine.

use block::Bytes;
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use storage::{Intent, OpenError, Permit, Place};

/// This machine.
pub struct Machine;

impl fio::World for Machine {
    fn read(&self, path: &str) -> io::Result<String> {
        if path == "-" {
            let mut text = String::new();
            return io::stdin().read_to_string(&mut text).map(|_| text);
        }
        std::fs::read_to_string(path)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn size_of(&self, path: &str) -> Option<u64> {
        Some(Permit::ask(&Place::Path(path.into()), Intent::Read).ok()?.size().0)
    }

    fn why_no_size(&self, path: &str) -> Option<String> {
        if uring::disk::is_endless(std::path::Path::new(path)) {
            return Some(format!("{path}: has no size of its own; set size="));
        }
        match Permit::ask(&Place::Path(path.into()), Intent::Read) {
            Ok(_) => None,
            Err(OpenError::Missing { .. }) if !path.starts_with("/dev/") => None,
            Err(error) => Some(error.to_string()),
        }
    }

    fn is_folder(&self, path: &str) -> bool {
        std::path::Path::new(path).is_dir()
    }

    fn page_bytes(&self) -> u64 {
        // `AT_PAGESZ` (6) among the pairs that the kernel hands to every program; see getauxval(3).
        let pairs = std::fs::read("/proc/self/auxv").unwrap_or_default();
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let mut words = pairs.chunks_exact(16).map(|pair| (word(&pair[..8]), word(&pair[8..])));
        words.find(|(key, _)| *key == 6).map_or(4096, |(_, value)| value)
    }

    fn cpus(&self) -> u64 {
        std::thread::available_parallelism().map_or(1, |n| n.get() as u64)
    }

    fn last_cpu(&self) -> u64 {
        // A list as in `0-3,8`, in order; unlike `cpus` it does not ask where this process may run.
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let last = online.trim().rsplit([',', '-']).next().and_then(|number| number.parse().ok());
        last.unwrap_or_else(|| self.cpus().saturating_sub(1))
    }

    fn memory_mib(&self) -> u64 {
        let Bytes(bytes) = crate::machine::look(None, "").memory;
        bytes >> 20
    }

    fn chance(&self) -> u64 {
        static DRAWN: AtomicU64 = AtomicU64::new(0);
        let mut bytes = [0; 8];
        // Without the system's source of chance a counter still tells one draw from the next.
        let read = std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
        match read {
            Ok(()) => u64::from_ne_bytes(bytes),
            Err(_) => u64::from(std::process::id()) << 32 | DRAWN.fetch_add(1, Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fio::World as _;

    #[test]
    fn the_machine_tells_its_numbers() {
        assert!(Machine.page_bytes().is_power_of_two() && Machine.page_bytes() >= 4096);
        assert!(Machine.cpus() >= 1 && Machine.last_cpu() + 1 >= Machine.cpus() && Machine.memory_mib() > 16);
        assert_ne!(Machine.chance(), Machine.chance());
        assert_eq!(Machine.size_of("/no/such/file"), None);
    }
}
