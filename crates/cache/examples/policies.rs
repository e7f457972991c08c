//! `cargo xtask bench array`: the policies on a Zipf trace, which is written to the named file for
//! others to replay. Prints a line per policy: its name, its miss ratio, requests per second.

use cache::{Cache, Eviction, Key, PartitionId};
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Instant;

/// Requests, distinct pages, and pages that the cache holds.
const ASKS: usize = 2_000_000;
const PAGES: u64 = 100_000;
const SIZE: u32 = 2000;

#[allow(clippy::disallowed_methods, reason = "this program measures the wall time that the policies take")]
fn clock() -> Instant {
    Instant::now()
}

fn main() -> std::io::Result<()> {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(20);
    // The inverse of the logarithm, which approximates the sum.
    let mut zipf = || {
        let part = (chance.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        (((PAGES as f64 + 1.0).ln() * part).exp() as u64 - 1).min(PAGES - 1)
    };
    let trace: Vec<u64> = (0..ASKS).map(|_| zipf()).collect();
    if let Some(path) = std::env::args().nth(1) {
        let text: String = trace.iter().map(|page| format!("{}\n", page + 1)).collect();
        std::fs::write(path, text)?;
    }
    for (name, policy) in [("s3fifo", Eviction::S3Fifo), ("twoq", Eviction::TwoQ), ("sieve", Eviction::Sieve)] {
        let (mut best, mut missed) = (f64::INFINITY, 0);
        for _ in 0..3 {
            let mut cache = Cache::new(SIZE, policy);
            let part = PartitionId::default();
            let start = clock();
            missed = 0u64;
            for page in &trace {
                let key = Key { object: 1, page: *page };
                if cache.get(part, key).is_none() {
                    missed += 1;
                    cache.insert(part, key);
                }
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{name} {} {}", missed as f64 / ASKS as f64, ASKS as f64 / best);
    }
    Ok(())
}
