//! The bytes that a job writes: random, as compressible and as duplicated as its content asks.
//!
//! Each block's random bytes come from a seed of its own. A duplicate uses the seed of an earlier
//! block again, so only seeds are kept. A block that is verified has the seed of its write's
//! number, so that its data can be made again.

use super::context::Context;
use super::header::fill_pattern;
use block::Buf;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::job::{Content, Fill};

/// Seeds kept for duplicates: enough that a duplicate is rarely near its original, 512 KiB.
const SEEDS_MAX: usize = 65_536;

/// One job's buffers for writes.
pub(crate) struct Filler {
    context: Context,
    content: Content,
    /// Length of every buffer, that of the longest write.
    size: u32,
    seed: u64,
    chance: Xoshiro256PlusPlus,
    pool: Vec<Buf>,
    seeds: Vec<u64>,
    writes: u64,
    /// Each write is filled anew from a seed.
    anew: bool,
}

impl Filler {
    /// A filler with buffers of up to `size` bytes from this worker's slab, its bytes drawn from
    /// `seed`.
    pub(crate) fn new(context: &Context, content: &Content, size: u32, seed: u64) -> Filler {
        Filler {
            context: context.clone(),
            size,
            seed,
            chance: Xoshiro256PlusPlus::seed_from_u64(seed),
            pool: Vec::new(),
            seeds: Vec::new(),
            writes: 0,
            anew: content.refill
                || content.compress_percent.is_some_and(|percent| percent > 0)
                || content.dedupe_percent.is_some(),
            content: content.clone(),
        }
    }

    /// A buffer of `len` bytes to write at `at`; `None` if the slab is exhausted.
    pub(crate) fn take(&mut self, len: u32, at: u64) -> Option<Buf> {
        let (mut buf, fresh) = match self.pool.pop() {
            Some(buf) => (buf, false),
            None => (self.context.take(self.size)?, true),
        };
        let context = self.context.clone();
        if fresh {
            context.with_mut(&mut buf, |bytes| self.fill(bytes, at));
        }
        let mut buf = buf.window(0, len);
        self.writes += 1;
        if self.content.fill == Fill::Random || self.anew {
            if self.anew {
                context.with_mut(&mut buf, |bytes| self.fill(bytes, at));
            } else if self.content.scramble {
                context.with_mut(&mut buf, |bytes| scramble(bytes, at, self.writes));
            }
        } else if let Fill::Pattern(pattern) = &self.content.fill
            && !pattern.offsets_at.is_empty()
        {
            context.with_mut(&mut buf, |bytes| fill_pattern(bytes, pattern, at));
        }
        Some(buf)
    }

    /// Returns a buffer.
    pub(crate) fn give(&mut self, buf: Buf) {
        self.pool.push(buf);
    }

    /// Fills a block according to the job's content.
    pub(crate) fn fill(&mut self, bytes: &mut [u8], at: u64) {
        let seed = self.seed();
        self.fill_from(seed, bytes, at);
    }

    /// Fills a block as that of the write of this number, whenever that is; returns false where
    /// blocks are to be copies of others, and leaves it as it is.
    pub(crate) fn fill_again(&self, generation: u64, bytes: &mut [u8], at: u64) -> bool {
        let may = self.content.dedupe_percent.is_none();
        if may {
            self.fill_from(self.seed ^ generation.wrapping_mul(0x9e37_79b9_7f4a_7c15), bytes, at);
        }
        may
    }

    fn fill_from(&self, seed: u64, bytes: &mut [u8], at: u64) {
        let percent = self.content.compress_percent.unwrap_or(0).min(100) as usize;
        match &self.content.fill {
            Fill::Zero => return bytes.fill(0),
            Fill::Pattern(pattern) if self.content.compress_percent.is_none() => {
                return fill_pattern(bytes, pattern, at);
            }
            _ => {}
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        if percent == 0 {
            return random.fill_bytes(bytes);
        }
        let whole = bytes.len();
        let chunk = match self.content.compress_chunk as usize {
            0 => whole,
            chunk => chunk.min(whole),
        };
        for piece in bytes.chunks_mut(chunk.max(1)) {
            let (mixed, plain) = piece.split_at_mut(piece.len() * (100 - percent) / 100);
            random.fill_bytes(mixed);
            match &self.content.fill {
                Fill::Pattern(pattern) => fill_pattern(plain, pattern, at),
                _ => plain.fill(0),
            }
        }
    }

    /// A new seed, or an earlier one for a duplicate.
    fn seed(&mut self) -> u64 {
        let draw = self.chance.next_u64();
        let Some(percent) = self.content.dedupe_percent else { return draw };
        // The high half decides, the low half picks.
        let copies = ((draw >> 32) * 100) >> 32 < u64::from(percent);
        if let Some(set) = self.content.working_set {
            // Seeds of the working set are numbers below its size; new ones are drawn from the
            // job's own random source.
            let number = draw as u32 as u64 % set.blocks.max(1);
            return if copies {
                set.seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            } else {
                self.chance.next_u64()
            };
        }
        if copies && !self.seeds.is_empty() {
            return self.seeds[(draw as u32 as usize) % self.seeds.len()];
        }
        let seed = self.chance.next_u64();
        match self.seeds.len() < SEEDS_MAX {
            true => self.seeds.push(seed),
            false => self.seeds[(draw as u32 as usize) % SEEDS_MAX] = seed,
        }
        seed
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        self.pool.drain(..).for_each(|buf| self.context.give(buf));
    }
}

/// Changes a few bytes in every 512, so that no two blocks are equal to the storage.
fn scramble(bytes: &mut [u8], at: u64, number: u64) {
    for (index, piece) in bytes.chunks_exact_mut(512).enumerate() {
        let place = at.wrapping_add(index as u64 * 512) ^ number.rotate_left(40);
        piece[..8].copy_from_slice(&place.to_le_bytes());
        piece[504..].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use uring::{Choice, Io, IoSettings};
    use workload::job::WorkingSet;

    fn blocks(content: &Content, count: usize) -> Vec<Vec<u8>> {
        let settings = IoSettings { backend: Choice::Threads, threads: 1, ..IoSettings::default() };
        let io = Io::open(&settings).unwrap();
        let mut filler = Filler::new(&Context::Wall(io.clone()), content, 4096, 5);
        (0..count as u64)
            .map(|number| {
                let buf = filler.take(4096, number * 4096).unwrap();
                let bytes = io.with(&buf, <[u8]>::to_vec);
                filler.give(buf);
                bytes
            })
            .collect()
    }

    #[test]
    fn copies_have_their_share() {
        let content = Content { dedupe_percent: Some(40), ..Content::default() };
        let unique: HashSet<Vec<u8>> = blocks(&content, 5000).into_iter().collect();
        // 60 % of 5000 are new, with a deviation of √(5000 × 0.4 × 0.6) = 35: two points are 100.
        assert!(unique.len().abs_diff(3000) < 100, "{}", unique.len());
        let unique: HashSet<Vec<u8>> = blocks(&Content::default(), 500).into_iter().collect();
        assert_eq!(unique.len(), 500, "scrambled blocks differ");
    }

    /// Duplicates come from a working set of the size asked for, and jobs with the same set share
    /// it.
    #[test]
    fn copies_come_from_a_working_set() {
        let set = WorkingSet { blocks: 10, seed: 3 };
        let content = Content { dedupe_percent: Some(40), working_set: Some(set), ..Content::default() };
        let mut counts = std::collections::HashMap::new();
        blocks(&content, 5000).into_iter().for_each(|block| *counts.entry(block).or_insert(0) += 1);
        let copied: Vec<&Vec<u8>> = counts.iter().filter(|(_, count)| **count > 1).map(|(block, _)| block).collect();
        assert_eq!(copied.len(), 10);
        // 60 % of 5000 are new, and ten more: two points are 100.
        assert!(counts.len().abs_diff(3010) < 100, "{}", counts.len());
        let other = Content { dedupe_percent: Some(100), ..content };
        assert!(blocks(&other, 50).iter().all(|block| copied.contains(&block)));
    }

    #[test]
    fn a_compressor_saves_what_was_asked() {
        let content = Content { compress_percent: Some(70), ..Content::default() };
        for block in blocks(&content, 10) {
            for piece in block.chunks(512) {
                // 30 % of 512 are 153 random bytes; of them one in 256 is zero by chance.
                let zeroes = piece.iter().filter(|&&byte| byte == 0).count();
                assert!((359..=365).contains(&zeroes), "{zeroes}");
            }
        }
    }
}
