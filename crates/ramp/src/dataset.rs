//! A directory filled with data: its files, the blocks in them, and how much is needed to fill it.
//!
//! ```text
//!   DIR/seawall-data.toml      how it was made, and how many blocks each job has
//!   DIR/dir01/data0001 …       job 1: its blocks in files of 1 GiB, one after the other
//!   DIR/dir02/data0001 …       job 2
//! ```

use crate::BLOCK;
use crate::content::Recipe;
use serde::{Deserialize, Serialize};

/// How a directory was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// The recipe of its blocks.
    pub recipe: Recipe,
    /// Number of sub-directories.
    pub jobs: u32,
}

/// A manifest that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ManifestError(String);

impl ManifestError {
    pub(crate) fn new(what: String) -> ManifestError {
        ManifestError(what)
    }
}

/// The space of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Its size.
    pub total: u64,
    /// Free space, including root's reserve.
    pub free: u64,
    /// Space available to this user; never root's reserve.
    pub available: u64,
}

/// How much to fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillPlan {
    /// Blocks of each job at the end.
    pub blocks_per_job: u64,
    /// Maximum bytes in use at the end.
    pub used_at_most: u64,
    /// Whether root's reserve prevents the requested fill level.
    pub reserve_in_the_way: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u32,
    seed: u64,
    jobs: u32,
    compress_percent: u32,
    duplicate_percent: u32,
    #[serde(default)]
    blocks: Vec<u64>,
}

impl Dataset {
    /// The manifest's name.
    pub const MANIFEST: &str = "seawall-data.toml";
    /// Blocks of a file, except the last one of a job: 1 GiB.
    pub const FILE_BLOCKS: u64 = (1 << 30) / BLOCK;

    /// The manifest's text. `blocks` is the number of blocks of each job when the last filling
    /// ended; empty before that.
    pub fn manifest(&self, blocks: &[u64]) -> String {
        let Recipe { seed, compress_percent, duplicate_percent } = self.recipe;
        let blocks = if blocks.is_empty() { String::new() } else { format!("blocks = {blocks:?}\n") };
        format!(
            "# Made by seawall dgen; seawall ramp finds its data by it. Remove it together with the dir* folders.\n\
             format = 1\nseed = {seed}\njobs = {}\ncompress_percent = {compress_percent}\n\
             duplicate_percent = {duplicate_percent}\n{blocks}",
            self.jobs
        )
    }

    /// Reads a manifest, and how many blocks each job had.
    ///
    /// # Errors
    /// It is damaged, or of another format.
    pub fn read(manifest: &str) -> Result<(Dataset, Vec<u64>), ManifestError> {
        let damaged = |error: toml::de::Error| {
            let (line, what) = nearest::toml::wrong(manifest, error.span(), error.message());
            ManifestError(format!("is damaged: line {line}: {what}"))
        };
        let Manifest { format, seed, jobs, compress_percent, duplicate_percent, blocks } =
            toml::from_str(manifest).map_err(damaged)?;
        if format != 1 {
            return Err(ManifestError(format!("is of format {format}; this seawall knows format 1")));
        }
        if !blocks.is_empty() && blocks.len() != jobs as usize {
            return Err(ManifestError(format!("is damaged: blocks of {} jobs, and there are {jobs}", blocks.len())));
        }
        Ok((Dataset { recipe: Recipe { seed, compress_percent, duplicate_percent }, jobs }, blocks))
    }

    /// The folder of a job, from 1.
    pub fn folder(job: u32) -> String {
        format!("dir{job:02}")
    }

    /// The name of a job's file, from 0.
    pub fn file(index: u64) -> String {
        format!("data{:04}", index + 1)
    }

    /// How far to fill: until `percent` of the whole file system is in use, including other data,
    /// but never into root's reserve. `ours` is the size of this data so far, in bytes.
    pub fn plan(&self, room: Room, ours: u64, percent: u32) -> FillPlan {
        let used_at_most = (u128::from(room.total) * u128::from(percent) / 100) as u64;
        let used = room.total.saturating_sub(room.free);
        let wanted = used_at_most.saturating_sub(used);
        let added = wanted.min(room.available);
        let added = added.saturating_sub(metadata(added));
        let jobs = u64::from(self.jobs.max(1));
        let blocks = ((ours + added) / BLOCK).max(ours / BLOCK);
        let blocks_per_job = if added == 0 { ours / BLOCK / jobs } else { blocks / jobs };
        FillPlan { blocks_per_job, used_at_most, reserve_in_the_way: room.available < wanted }
    }
}

/// Metadata that a file system needs for this many bytes of files: names, and extents of a MiB at
/// worst. Left free, so that the target is reached and not exceeded.
fn metadata(bytes: u64) -> u64 {
    (64 << 10) + bytes / 16_384 + (bytes >> 30) * (8 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: Dataset = Dataset { recipe: Recipe { seed: 5, compress_percent: 40, duplicate_percent: 10 }, jobs: 4 };

    #[test]
    fn a_manifest_is_read_back_and_a_damaged_one_is_refused() {
        assert_eq!(Dataset::read(&DATA.manifest(&[])), Ok((DATA, vec![])));
        assert_eq!(Dataset::read(&DATA.manifest(&[9, 9, 9, 7])), Ok((DATA, vec![9, 9, 9, 7])));
        let odd = Dataset::read(&DATA.manifest(&[9])).unwrap_err().to_string();
        assert_eq!(odd, "is damaged: blocks of 1 jobs, and there are 4");
        assert!(
            Dataset::read("format = 1").unwrap_err().to_string().starts_with("is damaged: line 1: seed: is missing")
        );
        let newer = DATA.manifest(&[]).replace("format = 1", "format = 2");
        assert_eq!(Dataset::read(&newer).unwrap_err().to_string(), "is of format 2; this seawall knows format 1");
    }

    #[test]
    fn names_count_from_one_in_two_digits() {
        let names = (Dataset::folder(1), Dataset::folder(80), Dataset::folder(100), Dataset::file(0));
        assert_eq!(names, ("dir01".into(), "dir80".into(), "dir100".into(), "data0001".into()));
    }

    #[test]
    fn a_plan_counts_what_is_there_and_leaves_the_reserve() {
        // 1000 MiB, 100 in use by others: 850 MiB at 85 %, so 750 MiB less metadata (64 KiB and
        // 48 KiB).
        let mib = |n: u64| n << 20;
        let room = Room { total: mib(1000), free: mib(900), available: mib(850) };
        let plan = DATA.plan(room, 0, 85);
        let all = plan.blocks_per_job * 4 * BLOCK;
        assert_eq!(plan.used_at_most, mib(850));
        assert!(all <= mib(750) && all > mib(750) - (256 << 10), "{all}");
        assert!(!plan.reserve_in_the_way);
        // 95 % would be 950 MiB; 50 MiB are root's, so 850 are available.
        let plan = DATA.plan(Room { available: mib(800), ..room }, 0, 95);
        assert!(plan.blocks_per_job * 4 * BLOCK <= mib(800) && plan.reserve_in_the_way);
        // If it is full, nothing is added and nothing is removed.
        let full = Room { total: mib(1000), free: mib(100), available: mib(50) };
        assert_eq!(DATA.plan(full, mib(400), 85).blocks_per_job, mib(100) / BLOCK);
        // After half of it, filling continues to the same end.
        let half = Room { free: mib(900) - mib(400), available: mib(450), ..room };
        let again = DATA.plan(half, mib(400), 85).blocks_per_job;
        assert!(again.abs_diff(DATA.plan(room, 0, 85).blocks_per_job) <= 16, "{again}");
    }
}
