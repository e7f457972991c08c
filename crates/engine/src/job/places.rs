//! Counts a job's requests by slices of its space, for jobs that ask for it.

use stats::job::Coverage;
use workload::job::{JobSpec, Region};

/// Numbers the places where requests may begin, through all files of a job.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// For each file: the start of its region, and the number of its first place.
    files: Vec<(u64, u64)>,
    /// Distance between places, in bytes.
    apart: u64,
    pub(crate) coverage: Coverage,
}

impl Places {
    /// Counters at zero.
    pub(crate) fn new(spec: &JobSpec, regions: &[Region], slices: u32) -> Places {
        let apart = u64::from(spec.reach.least_block()).max(1);
        let mut places = 0;
        let file = |region: &Region| {
            let first = places;
            places += region.len / apart;
            (region.start, first)
        };
        let files = regions.iter().map(file).collect();
        Places { files, apart, coverage: Coverage::new(places, slices) }
    }

    /// Counts a request.
    #[inline]
    pub(crate) fn count(&mut self, file: u32, at: u64) {
        if let Some((start, first)) = self.files.get(file as usize) {
            self.coverage.count(first + at.saturating_sub(*start) / self.apart);
        }
    }
}
