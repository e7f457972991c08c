//! Finds the processor that handles a disk's interrupts, and restricts a comparison to it.

use super::super::fio::Load;
use super::{load, succeed};
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Reads, one at a time.
const LOAD: Load = load("randread", "4k", 1);

/// The processor that handles most device interrupts while a file on the disk is read, one request
/// at a time. If the disk has a queue for each processor, that is the reader's, otherwise always
/// the same.
///
/// # Errors
/// fio failed, or the kernel does not count interrupts.
pub fn processor_of(raw: &Path, folder: &Path) -> Result<usize> {
    let before = counted()?;
    succeed(&mut LOAD.on_disk(raw, true, 1, folder))?;
    busiest(&before, &counted()?).context("/proc/interrupts: no device has interrupted any processor")
}

/// Restricts this thread, and everything it starts, to one processor until it is dropped.
pub struct OnOne {
    /// The processors before, as a list.
    before: String,
}

impl OnOne {
    /// Restricts it from now on.
    ///
    /// # Errors
    /// The program may not use that processor.
    pub fn of(processor: usize) -> Result<OnOne> {
        let file = "/proc/thread-self/status";
        let text = std::fs::read_to_string(file).context(file)?;
        let allowed = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let before = allowed.context("the kernel does not say where this program may run")?.trim().into();
        move_to(&processor.to_string())?;
        Ok(OnOne { before })
    }
}

impl Drop for OnOne {
    fn drop(&mut self) {
        // It was allowed before, so this cannot fail.
        drop(move_to(&self.before));
    }
}

/// Moves the first thread of this program to a list of processors.
fn move_to(list: &str) -> Result<()> {
    succeed(Command::new("taskset").args(["--cpu-list", "--pid", list]).arg(std::process::id().to_string()))
}

fn counted() -> Result<String> {
    std::fs::read_to_string("/proc/interrupts").context("/proc/interrupts")
}

/// The processor with most device interrupts between the two readings.
fn busiest(before: &str, after: &str) -> Option<usize> {
    let (before, after) = (by_processor(before), by_processor(after));
    let taken =
        |(processor, now): (usize, u64)| (processor, now.saturating_sub(before.get(&processor).copied().unwrap_or(0)));
    let most = after.into_iter().map(taken).filter(|(_, taken)| *taken > 0).max_by_key(|(_, taken)| *taken);
    most.map(|(processor, _)| processor)
}

/// Device interrupts by processor: their lines begin with a number; the others are the processors'
/// own.
fn by_processor(text: &str) -> BTreeMap<usize, u64> {
    let mut lines = text.lines();
    let columns = lines.next().unwrap_or_default().split_whitespace();
    let columns: Vec<usize> = columns.filter_map(|name| name.strip_prefix("CPU")?.parse().ok()).collect();
    let mut sums = BTreeMap::new();
    for line in lines {
        let Some((name, counts)) = line.split_once(':') else { continue };
        if name.trim().parse::<u32>().is_ok() {
            let counts = counts.split_whitespace().map_while(|count| count.parse::<u64>().ok());
            columns.iter().zip(counts).for_each(|(processor, count)| *sums.entry(*processor).or_default() += count);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_that_of_the_devices_lines() {
        let before = "      CPU0   CPU1\n 24:  100  200  PCI-MSI 1  virtio1-req.0\nLOC:  5  9  Local timer\n";
        let after = "      CPU0   CPU1\n 24:  100  900  PCI-MSI 1  virtio1-req.0\nLOC:  9000  9  Local timer\n";
        assert_eq!((busiest(before, after), busiest(before, before)), (Some(1), None));
    }
}
