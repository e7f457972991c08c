//! Block layer statistics of the devices behind a run's files.

use crate::devices::{self, Number};
use block::Time;
use stats::job::DiskUse;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The devices behind some files, with their counters at the start.
pub(crate) struct Disks {
    began: Time,
    before: BTreeMap<Number, DiskUse>,
}

impl Disks {
    /// Reads the counters of the devices behind `paths`.
    pub(crate) fn watch(paths: &[PathBuf], now: Time) -> Disks {
        Disks { began: now, before: read(&devices::under(paths)) }
    }

    /// The difference since the start.
    pub(crate) fn since(&self, now: Time) -> Vec<DiskUse> {
        let over = now.since(self.began);
        let after = read(&self.before.keys().copied().collect::<Vec<_>>());
        self.before.iter().filter_map(|(number, before)| Some(after.get(number)?.since(before, over))).collect()
    }
}

fn read(devices: &[Number]) -> BTreeMap<Number, DiskUse> {
    devices::counted(&std::fs::read_to_string("/proc/diskstats").unwrap_or_default(), devices)
}
