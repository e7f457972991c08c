//! How long it takes to open a pool: one that was filled and checkpointed, and one whose server
//! died with a long log.
//!
//! `cargo run --release -p store --example opening -- FOLDER [GIB]` creates maps of GIB (1024 by
//! default), without any data, in FOLDER and removes them. It times what a start does: reading
//! tables, nodes and log, and counting every block again.

#![allow(clippy::print_stdout, reason = "it is a program")]

mod driving;

use block::{ObjectId, Op};
use driving::{administer, drive};
use map::{BLOCK, What};
use std::path::{Path, PathBuf};
use store::{Cache, MapSettings, MappedPool, MappedVolumes};
use uring::{Io, IoSettings};

const GIB: u64 = 1 << 30;
/// Bytes whose blocks one request allocates: half a million changes of the maps.
const STEP: u64 = 32 * GIB;

fn main() {
    let mut words = std::env::args().skip(1);
    let parent = words.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let size = words.next().map_or(1024, |word| word.parse().expect("a number of GiB")) * GIB;
    let dir = parent.join(format!("seawall-opening-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("make the folder");
    let io = Io::open(&IoSettings::default()).expect("open a ring");
    let settings = MapSettings { cache: Cache::Page, capacity: Some(4 * size), ..MapSettings::default() };
    let mut volumes = serve(&io, MappedPool::create(&dir, 1, settings.clone()).expect("make the maps"));
    administer(&io, &mut volumes, 1, What::Create { size });
    for at in (0..size).step_by(STEP as usize) {
        zero(&io, &mut volumes, &[at], STEP.min(size - at), true);
        flush(&io, &mut volumes);
    }
    administer(&io, &mut volumes, 0, What::Checkpoint);
    drop(volumes);
    println!("{:>44}", "ms");
    println!("{:34} {:>9.1}", format!("{} GiB of blocks, no log", size / GIB), opened(&io, &dir, &settings));
    // A checkpoint starts when half of the log is used: 4 MiB are 170 000 changes.
    let mut volumes = serve(&io, MappedPool::open(&dir, settings.clone()).expect("open the maps"));
    let each = BLOCK * 1000;
    for n in 0..150 {
        zero(&io, &mut volumes, &[n * each % (size - each)], each, false);
        for piece in 0..1000 {
            // One at a time, so that each is a separate change.
            zero(&io, &mut volumes, &[(n * each + piece * BLOCK) % (size - BLOCK)], BLOCK, true);
        }
        flush(&io, &mut volumes);
        if volumes.core().usage().log > settings.log / 2 - (256 << 10) {
            break;
        }
    }
    let log = volumes.core().usage().log;
    drop(volumes);
    println!("{:34} {:>9.1}", format!("and {} KiB of log", log >> 10), opened(&io, &dir, &settings));
    std::fs::remove_dir_all(&dir).expect("remove the folder");
}

/// The median of five openings, in milliseconds.
fn opened(io: &Io, dir: &Path, settings: &MapSettings) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let began = io.clock().now();
            drop(MappedPool::open(dir, settings.clone()).expect("open the maps"));
            io.clock().now().since(began).as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[2]
}

/// Serves the pool with LUN 1 open.
fn serve(io: &Io, pool: MappedPool) -> MappedVolumes {
    let mut volumes = driving::serve(io, pool);
    volumes.open(ObjectId(1));
    volumes
}

/// Allocates blocks of LUN 1, or releases them.
fn zero(io: &Io, volumes: &mut MappedVolumes, places: &[u64], len: u64, no_hole: bool) {
    drive(io, volumes, 1, places, len, |_| Some(Op::Zero { no_hole, fast_only: false }));
}

fn flush(io: &Io, volumes: &mut MappedVolumes) {
    drive(io, volumes, 1, &[0], 0, |_| Some(Op::Flush));
}
