//! The cost of the maps: processor time per I/O at depth 32, without and with clones.
//!
//! `cargo run --release -p store --example maps -- FOLDER [direct]` creates its files in FOLDER and
//! removes them. By default it uses the page cache, so that the disk is not measured. Each line is
//! the median of several interleaved rounds, so that a busy machine slows all of them alike.

#![allow(clippy::print_stdout, reason = "it is a program")]

mod driving;

use block::{Driver as _, ObjectId, Op, Target};
use driving::{DEPTH, administer, drive, serve};
use map::What;
use std::path::{Path, PathBuf};
use store::{Cache, MapSettings, MappedPool, MappedVolumes};
use uring::{Io, IoSettings};

const SIZE: u64 = 256 << 20;
const LEN: u32 = 4096;
const OPS: u64 = 30_000;
const ROUNDS: usize = 9;

const ROWS: [&str; 4] = ["read", "read, the last of 8 clones", "overwrite", "first write"];

fn main() {
    let parent = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = parent.join(format!("seawall-maps-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("make the folder");
    let io = Io::open(&IoSettings::default()).expect("open a ring");
    let cache = if std::env::args().nth(2).is_some_and(|word| word == "direct") { Cache::Direct } else { Cache::Page };
    let mut mapped = mapped(&io, &dir, cache);
    let mut costs = ROWS.map(|_| Vec::new());
    for seed in 0..ROUNDS as u64 {
        // Each is the first one in turn.
        for turn in 0..ROWS.len() {
            let row = (turn + seed as usize) % ROWS.len();
            costs[row].push(match row {
                0 => measure(&io, &mut mapped, 1, read, seed),
                1 => measure(&io, &mut mapped, 10, read, seed),
                2 => measure(&io, &mut mapped, 1, write, seed),
                _ => first_write(&io, &mut mapped, 11, seed),
            });
        }
    }
    println!("{OPS} I/Os of {LEN} bytes at depth {DEPTH}, median of {ROUNDS} rounds");
    println!("{:34} {:>10} {:>10}", "", "CPU µs", "µs");
    for (name, costs) in ROWS.iter().zip(&mut costs) {
        println!("{name:34} {:>10.2} {:>10.2}", median(costs, 0), median(costs, 1));
    }
    let ratio = median(&mut costs[1], 0) / median(&mut costs[0], 0);
    println!("{:34} {ratio:>10.2}    of the processor time without clones; wanted: at most 1.10", "8 clones");
    drop(mapped);
    std::fs::remove_dir_all(&dir).expect("remove the folder");
}

fn median(costs: &mut [[f64; 2]], which: usize) -> f64 {
    costs.sort_by(|a, b| a[which].total_cmp(&b[which]));
    costs[costs.len() / 2][which]
}

/// LUN 1 by itself; LUN 2 and a chain of eight clones, 3 to 10, each of the previous one; LUN 11,
/// empty.
fn mapped(io: &Io, dir: &Path, cache: Cache) -> MappedVolumes {
    let settings = MapSettings { cache, capacity: Some(4 * SIZE), ..MapSettings::default() };
    let pool = MappedPool::create(dir, 1, settings).expect("make the maps");
    let mut volumes = serve(io, pool);
    for tree in 1..=11 {
        let what = if tree <= 2 || tree == 11 {
            What::Create { size: SIZE }
        } else {
            What::Share { from: tree - 1, frozen: false }
        };
        administer(io, &mut volumes, tree, what);
        volumes.open(ObjectId(tree));
        if tree <= 2 {
            fill(io, &mut volumes, tree);
        }
    }
    volumes
}

/// Writes a whole LUN.
fn fill(io: &Io, target: &mut impl Target, lun: u32) {
    const PIECE: u64 = 1 << 20;
    let places: Vec<u64> = (0..SIZE / PIECE).map(|piece| piece * PIECE).collect();
    drive(io, target, lun, &places, PIECE, |io| io.take(PIECE as u32).map(Op::Write));
}

/// Microseconds of processor time and of time per I/O at random places.
fn measure(io: &Io, target: &mut impl Target, lun: u32, op: fn(&Io) -> Option<Op>, seed: u64) -> [f64; 2] {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut place = || {
        // Marsaglia's xorshift: any cheap distribution will do.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % (SIZE / u64::from(LEN)) * u64::from(LEN)
    };
    let places: Vec<u64> = (0..OPS).map(|_| place()).collect();
    // Start with clean pages.
    drive(io, target, lun, &[0], 0, |_| Some(Op::Flush));
    let (cpu, began) = (uring::usage::thread_cpu(), io.now());
    drive(io, target, lun, &places, LEN.into(), op);
    let spent = [uring::usage::thread_cpu().saturating_sub(cpu), io.now().since(began)];
    spent.map(|span| span.as_nanos() as f64 / 1e3 / OPS as f64)
}

/// Does the same for writes to an empty LUN, which is restored or filled afterwards.
fn first_write(io: &Io, target: &mut impl Target, lun: u32, seed: u64) -> [f64; 2] {
    trim(io, target, lun);
    drive(io, target, lun, &[0], 0, |_| Some(Op::Flush));
    let cost = measure(io, target, lun, write, seed);
    match lun {
        1 => fill(io, target, lun),
        _ => trim(io, target, lun),
    }
    cost
}

fn read(_: &Io) -> Option<Op> {
    Some(Op::Read)
}

fn write(io: &Io) -> Option<Op> {
    io.take(LEN).map(Op::Write)
}

fn trim(io: &Io, target: &mut impl Target, lun: u32) {
    drive(io, target, lun, &[0], SIZE, |_| Some(Op::Trim));
}
