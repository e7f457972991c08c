//! `cargo xtask bench cache`: the policies on a recorded trace, beside the optimum of a policy that
//! knows the future (Belady, 1966).
//!
//! The first line has the number of pages read and of distinct ones. Then there is a line per size
//! and policy: its name, the size in pages, its miss ratio. Pages are 8 KiB, as in databases.
//! Writes are left out: the server's cache inserts what is read, and a write only changes the bytes
//! of a cached page. If a second file is named, the page numbers are written to it in order, one
//! per line.

use cache::{Cache, Eviction, Key, PartitionId};
use fio::trace::{Action, Trace};
use std::collections::{BTreeSet, HashMap};
use std::error::Error;

const PAGE: u64 = 8192;
/// Sizes of the cache: the distinct pages divided by these.
const PARTS: [usize; 3] = [32, 8, 2];

const POLICIES: [(&str, Eviction); 4] =
    [("s3fifo", Eviction::S3Fifo), ("twoq", Eviction::TwoQ), ("sieve", Eviction::Sieve), ("lru", Eviction::Lru)];

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let trace = words.next().ok_or("which trace?")?;
    let trace = Trace::read(&std::fs::read(&trace).map_err(|error| format!("{trace}: {error}"))?)?;
    let asked = pages(&trace);
    let mut numbers: HashMap<Key, usize> = HashMap::new();
    let asked_numbers: Vec<usize> = asked
        .iter()
        .map(|key| {
            let next = numbers.len();
            *numbers.entry(*key).or_insert(next)
        })
        .collect();
    if let Some(to) = words.next() {
        // libcachesim reserves 0.
        std::fs::write(to, asked_numbers.iter().map(|number| format!("{}\n", number + 1)).collect::<String>())?;
    }
    println!("{} {}", asked.len(), numbers.len());
    for part in PARTS {
        let size = (numbers.len() / part).max(1);
        let share = |misses: usize| misses as f64 / asked.len().max(1) as f64;
        for (name, policy) in POLICIES {
            println!("{name} {size} {}", share(misses(policy, size as u32, &asked)));
        }
        println!("best {size} {}", share(fewest(size, &asked_numbers)));
    }
    Ok(())
}

/// The pages that are read, in order.
fn pages(trace: &Trace) -> Vec<Key> {
    let reads = trace.events.iter().filter(|event| event.action == Action::Read);
    let keys = reads.flat_map(|event| {
        let pages = event.at / PAGE..(event.at + u64::from(event.len)).div_ceil(PAGE);
        pages.map(|page| Key { object: event.file.into(), page })
    });
    keys.collect()
}

fn misses(policy: Eviction, size: u32, asked: &[Key]) -> usize {
    let (mut cache, part) = (Cache::new(size, policy), PartitionId::default());
    let is_miss = |key: &&Key| {
        let found = cache.get(part, **key);
        if found.is_none() {
            cache.insert(part, **key);
        }
        found.is_none()
    };
    asked.iter().filter(is_miss).count()
}

/// Keeps the pages that are accessed again soonest; a page need not be inserted at all.
fn fewest(size: usize, asked: &[usize]) -> usize {
    // When each request's page is accessed again.
    let mut again = vec![usize::MAX; asked.len()];
    let mut last: HashMap<usize, usize> = HashMap::new();
    for (at, page) in asked.iter().enumerate() {
        if let Some(before) = last.insert(*page, at) {
            again[before] = at;
        }
    }
    // The cached pages, by their next access.
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    let mut misses = 0;
    for (at, again) in again.into_iter().enumerate() {
        misses += usize::from(!kept.remove(&at));
        if again != usize::MAX {
            kept.insert(again);
        }
        if kept.len() > size {
            kept.pop_last();
        }
    }
    misses
}
