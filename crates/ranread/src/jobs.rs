//! A batch as jobs: each process is a job at depth 1 with random requests, either unlimited or a
//! fixed number.

use crate::grammar::{Effort, Load};
use crate::{BLOCK, Manifest};
use block::{Bytes, Span};
use std::path::Path;
use workload::job::{
    Amount, BlockCoverage, BlockSizes, Direction, Ending, EngineKind, FileSpec, Hash, JobPlace, JobSpec, Mix, Order,
    Pacing, PerDirection, Reach, Verify,
};

/// A target of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The database file of a directory that setup made. The blocks of its first request are left
    /// out, as later versions of the original leave out block 0.
    Database {
        /// The file.
        path: String,
    },
    /// A device.
    Device {
        /// Its node.
        path: String,
    },
    /// An NBD export.
    Export {
        /// Its URI.
        uri: String,
    },
    /// Several places combined.
    Joined {
        /// Their names as given: `striped:64KiB:/dev/vdb,/dev/vdc`.
        name: String,
    },
    /// A relation of a database, read through its server; not a job of the engine.
    Relation {
        /// The server's URL, without a password.
        name: String,
    },
    /// No storage.
    Nothing {
        /// Its size.
        size: Bytes,
    },
    /// A file of a simulated device.
    Simulated {
        /// Its name.
        name: String,
        /// Its size.
        size: Bytes,
    },
}

/// Gives neighbouring processes different requests for one seed: 2^64 divided by the golden ratio.
const APART: u64 = 0x9E37_79B9_7F4A_7C15;

/// The jobs of a batch of `processes`; process `k` loads target `k mod n`. `repeat` distinguishes
/// batches of one sweep.
pub fn jobs(load: &Load, aims: &[Aim], processes: u32, repeat: u64) -> Vec<JobSpec> {
    let job = |process: u32| {
        let aim = &aims[process as usize % aims.len()];
        let seed = load.seed ^ ((repeat << 32) | (u64::from(process) + 1)).wrapping_mul(APART);
        JobSpec {
            name: format!("process {}", process + 1),
            number: process,
            place: place(aim, load.block),
            engine: EngineKind::Sync,
            direct: !load.page_cache && matches!(aim, Aim::Database { .. } | Aim::Device { .. } | Aim::Joined { .. }),
            reach: reach(load),
            pacing: Pacing::default(),
            ending: ending(load),
            // Written blocks keep their identifying headers.
            verify: (load.read_percent < 100).then(headers),
            seed,
            ..JobSpec::default()
        }
    };
    (0..processes).map(job).collect()
}

fn place(aim: &Aim, block: u32) -> JobPlace {
    match aim {
        Aim::Database { path } => {
            let offset = Amount::Bytes(Bytes(u64::from(block)));
            JobPlace::Files(vec![FileSpec { path: path.into(), offset, ..FileSpec::default() }])
        }
        Aim::Device { path } => JobPlace::Files(vec![FileSpec { path: path.into(), ..FileSpec::default() }]),
        Aim::Export { uri: name } | Aim::Joined { name } | Aim::Relation { name } => {
            JobPlace::Named { name: name.clone(), region: FileSpec::default() }
        }
        Aim::Nothing { size } => JobPlace::Null { size: *size },
        Aim::Simulated { name, size } => {
            JobPlace::Files(vec![FileSpec { path: name.into(), file_size: Some(*size), ..FileSpec::default() }])
        }
    }
}

fn reach(load: &Load) -> Reach {
    let mix = match load.read_percent {
        100 => Mix::Only(Direction::Read),
        0 => Mix::Only(Direction::Write),
        read_percent => Mix::ReadWrite { read_percent },
    };
    Reach {
        mix,
        order: Order::RANDOM,
        // Draws are independent, as in the original.
        coverage: BlockCoverage::Free,
        blocks: PerDirection::all(BlockSizes::Fixed(load.block)),
        ..Reach::default()
    }
}

fn ending(load: &Load) -> Ending {
    match load.effort {
        Some(Effort::Seconds(seconds)) => {
            Ending { runtime: Some(Span::from_secs(seconds)), time_based: true, ..Ending::default() }
        }
        Some(Effort::Iterations(iterations)) => {
            let bytes = iterations.saturating_mul(u64::from(load.block));
            Ending { requests: Some(iterations), amount: Some(Amount::Bytes(Bytes(bytes))), ..Ending::default() }
        }
        None => Ending { requests: Some(0), ..Ending::default() },
    }
}

/// A header in each block, which is not read back during a load.
fn headers() -> Verify {
    Verify { hash: Hash::Header, interval: BLOCK, reads_back: false, ..Verify::default() }
}

/// Bytes of setup's writes.
const SETUP_PIECE: u32 = 1 << 20;
/// Number of them in flight.
const SETUP_DEPTH: u32 = 8;

/// The job that fills a database in `directory`: random data with a header in each block. A sparse
/// file, or one that an array can compress or deduplicate, would be read without accessing the
/// medium.
pub fn setup_job(path: &Path, manifest: &Manifest) -> JobSpec {
    let size = Some(Amount::Bytes(Bytes(manifest.bytes)));
    let (piece, rest) = (u64::from(SETUP_PIECE), manifest.bytes % u64::from(SETUP_PIECE));
    let mut spec = JobSpec {
        name: manifest.name.clone(),
        place: JobPlace::Files(vec![FileSpec { path: path.into(), size, ..FileSpec::default() }]),
        engine: EngineKind::Uring,
        direct: true,
        reach: Reach {
            mix: Mix::Only(Direction::Write),
            order: Order::Sequential { hole: 0 },
            blocks: PerDirection::all(BlockSizes::Fixed(if rest == 0 { piece as u32 } else { BLOCK })),
            ..Reach::default()
        },
        pacing: Pacing { depth: SETUP_DEPTH, ..Pacing::default() },
        verify: Some(headers()),
        seed: manifest.seed,
        ..JobSpec::default()
    };
    spec.content.refill = true;
    spec.flushes.at_end = true;
    spec
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Time;
    use std::collections::HashSet;
    use workload::job::{JobNext, JobStream, Region};

    fn load(effort: Effort, read_percent: u32, block: u32) -> Load {
        Load {
            targets: Vec::new(),
            effort: Some(effort),
            block,
            read_percent,
            seed: 1,
            page_cache: false,
            destroy: Vec::new(),
            even_in_use: Vec::new(),
        }
    }

    fn places(spec: &JobSpec, region: Region) -> Vec<u64> {
        let mut stream = JobStream::new(spec, &[region], Time::ZERO);
        let mut found = Vec::new();
        while let JobNext::Issue(draft) = stream.next(Time::ZERO) {
            assert_eq!(draft.len, spec.reach.most_block());
            found.push(draft.at);
        }
        found
    }

    /// A database of 65 blocks of which the first is left out: 1000 draws with replacement end
    /// after 1000 and not after 64, are within blocks 1 to 64, and reach all of them (the
    /// probability that one is missed is 64 × (63/64)^1000 = 10^-5).
    #[test]
    fn a_process_draws_blocks_independently_and_never_block_zero() {
        let aim = Aim::Database { path: "f".into() };
        let jobs = jobs(&load(Effort::Iterations(1000), 100, BLOCK), &[aim], 2, 0);
        let region = Region { start: 8192, len: 64 * 8192, ..Region::default() };
        let drawn = places(&jobs[0], region);
        assert_eq!(drawn.len(), 1000);
        let distinct: HashSet<u64> = drawn.iter().copied().collect();
        assert_eq!(distinct.len(), 64);
        assert!(drawn.iter().all(|at| (8192..65 * 8192).contains(at) && at.is_multiple_of(8192)));
        assert_ne!(drawn, places(&jobs[1], region), "processes differ");
    }

    #[test]
    fn processes_take_turns_at_targets() {
        let aims = ["a", "b"].map(|path| Aim::Device { path: path.into() });
        let jobs = jobs(&load(Effort::Seconds(5), 70, 65_536), &aims, 3, 0);
        let path = |spec: &JobSpec| match &spec.place {
            JobPlace::Files(files) => files[0].path.display().to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(jobs.iter().map(path).collect::<Vec<_>>(), ["a", "b", "a"]);
        assert_eq!(jobs[0].reach.mix, Mix::ReadWrite { read_percent: 70 });
        assert!(jobs[0].verify.is_some() && jobs[0].direct && jobs[0].ending.time_based);
    }
}
