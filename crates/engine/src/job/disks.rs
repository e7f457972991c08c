//! What the block layer counts for the devices behind a run's files.

use crate::devices::{self, Number};
use block::Time;
use stats::job::DiskUse;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The devices behind some files, as they stood at the start.
pub(crate) struct Disks {
    began: Time,
    before: BTreeMap<Number, DiskUse>,
}

impl Disks {
    /// Looks at the devices behind `paths` now.
    pub(crate) fn watch(paths: &[PathBuf], now: Time) -> Disks {
        Disks { began: now, before: read(&devices::under(paths)) }
    }

    /// What was counted since.
    pub(crate) fn since(&self, now: Time) -> Vec<DiskUse> {
        let over = now.since(self.began);
        let after = read(&self.before.keys().copied().collect::<Vec<_>>());
        self.before.iter().filter_map(|(number, before)| Some(after.get(number)?.since(before, over))).collect()
    }
}

fn read(devices: &[Number]) -> BTreeMap<Number, DiskUse> {
    devices::counted(&std::fs::read_to_string("/proc/diskstats").unwrap_or_default(), devices)
}
