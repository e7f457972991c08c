//! The bytes of a block: random, compressible and duplicated as configured, and recognisable.
//!
//! ```text
//!    0        4        8              16              24              32              40        48
//!    │ magic  │ kind   │ job and file │ block in job  │  generation   │ seed of body  │ sum     │ body …
//!                                                                                    of 0..40
//! ```
//! All little-endian. The contents of a block depend only on its recipe and its position, so that
//! filling can resume where it stopped, in any number of threads, and every block can be checked
//! without stored state. A duplicate is a complete copy of an earlier block of its job, header
//! included, as a deduplicating array requires.

use crate::BLOCK;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const MAGIC: &[u8; 4] = b"SWrb";
const HEADER: usize = 48;
/// Compressible bytes are at the end of each piece of this size, so that a compressor that works on
/// less than a block finds them too, and finds its matches cheaply.
const PIECE: usize = 2048;

/// The recipe of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Seed of everything.
    pub seed: u64,
    /// Percentage of bytes that a compressor can save, 0 to 95.
    pub compress_percent: u32,
    /// Percentage of blocks that are copies of earlier ones, 0 to 95.
    pub duplicate_percent: u32,
}

/// The identity of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockIdentity {
    /// The job; the journal has its own number.
    pub job: u64,
    /// The block in the job.
    pub block: u64,
    /// 0 as filled; otherwise the number of the write cycle that wrote it.
    pub generation: u64,
}

/// What is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("job {job}, block {block}: {what}")]
pub struct Wrong {
    /// The expected job.
    pub job: u64,
    /// The expected block in it.
    pub block: u64,
    /// What was found instead.
    pub what: String,
}

/// Whether bytes begin with the header of a block, of any contents.
pub fn is_block(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..HEADER).filter(|header| header[..4] == *MAGIC) else { return false };
    header[40..] == sum(&header[..40]).to_le_bytes()
}

impl Default for Recipe {
    /// 50 % compressible, no duplicates.
    fn default() -> Recipe {
        Recipe { seed: 1, compress_percent: 50, duplicate_percent: 0 }
    }
}

impl Recipe {
    /// The default seed of a place, from its name and its host's: the same place is filled with the
    /// same data again, and two places with different data, which a deduplicating array cannot
    /// share. Give a seed explicitly to make places alike. (64-bit FNV-1a, mixed, and cut to the
    /// range that every reader of numbers keeps exactly.)
    pub fn seed_of(host: &str, place: &str) -> u64 {
        let bytes = host.bytes().chain([0]).chain(place.bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        mix(hash) >> 11
    }

    /// Fills `bytes` (8 KiB) with the block at a position, as before any write cycle.
    pub fn fill(&self, bytes: &mut [u8], job: u64, block: u64) {
        self.write(bytes, BlockIdentity { job, block: self.origin(job, block), generation: 0 });
    }

    /// Fills `bytes` (8 KiB) with what a write cycle writes there; never a copy of another block.
    ///
    /// # Panics
    /// `bytes` is not a whole block.
    pub fn write(&self, bytes: &mut [u8], identity: BlockIdentity) {
        assert_eq!(bytes.len() as u64, BLOCK, "a block of the database is 8 KiB");
        let seed = mix(self.seed ^ mix(identity.job) ^ mix(!identity.block) ^ mix((identity.generation << 1) | 1));
        self.body(bytes, seed);
        let words = [identity.job, identity.block, identity.generation, seed];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4..8].copy_from_slice(&1u32.to_le_bytes());
        for (place, word) in bytes[8..40].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let sum = sum(&bytes[..40]);
        bytes[40..HEADER].copy_from_slice(&sum.to_le_bytes());
    }

    /// Checks whether `bytes` is what belongs there: as filled, or as a write cycle left it.
    /// Returns the generation that wrote it.
    ///
    /// # Errors
    /// What was found instead.
    pub fn check(&self, bytes: &[u8], job: u64, block: u64) -> Result<u64, Wrong> {
        let wrong = |what: &str| Err(Wrong { job, block, what: what.into() });
        if bytes.len() as u64 != BLOCK {
            return wrong("not a whole block");
        }
        if bytes[..4] != *MAGIC {
            return wrong(if bytes.iter().all(|&byte| byte == 0) { "zeroes" } else { "no block of ours" });
        }
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if word(40) != sum(&bytes[..40]) {
            return wrong("a damaged header");
        }
        let found = BlockIdentity { job: word(8), block: word(16), generation: word(24) };
        let right = if found.generation == 0 { self.origin(job, block) } else { block };
        if (found.job, found.block) != (job, right) {
            return wrong(&format!("the block {} of job {}: a misplaced write", found.block, found.job));
        }
        let mut whole = vec![0; bytes.len()];
        self.write(&mut whole, found);
        match whole == bytes {
            true => Ok(found.generation),
            false => wrong("its header is right and its data is not"),
        }
    }

    /// The block that this one is a copy of, or the block itself.
    ///
    /// Of the blocks after the first, `duplicate_percent` are copies of an earlier one, which may
    /// itself be a copy: this is the fraction of blocks that a deduplicating array saves.
    fn origin(&self, job: u64, block: u64) -> u64 {
        let mut block = block;
        while block > 0 {
            let draw = mix(self.seed.rotate_left(17) ^ mix(job ^ 0x0dd5) ^ mix(block));
            // The low half decides whether, the whole number decides which.
            if ((draw & 0xffff_ffff) * 100) >> 32 >= u64::from(self.duplicate_percent) {
                return block;
            }
            block = ((u128::from(mix(draw)) * u128::from(block)) >> 64) as u64;
        }
        block
    }

    fn body(&self, bytes: &mut [u8], seed: u64) {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        for piece in bytes.chunks_mut(PIECE) {
            let random = piece.len() * (100 - self.compress_percent.min(95) as usize) / 100;
            let (random, plain) = piece.split_at_mut(random);
            chance.fill_bytes(random);
            plain.fill(0);
        }
    }
}

/// The checksum of a header: each eight bytes are mixed in turn.
fn sum(header: &[u8]) -> u64 {
    let words = header.chunks_exact(8).map(|word| u64::from_le_bytes(std::array::from_fn(|i| word[i])));
    words.fold(0x5eed, |sum, word| mix(sum ^ word))
}

/// A bijection of 64 bits that scatters (the finaliser of SplitMix64, Steele and others 2014).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn block(recipe: &Recipe, job: u64, number: u64) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK as usize];
        recipe.fill(&mut bytes, job, number);
        bytes
    }

    #[test]
    fn copies_have_their_share_of_whole_blocks() {
        for percent in [0, 30, 70] {
            let recipe = Recipe { duplicate_percent: percent, ..Recipe::default() };
            let count = 5000;
            let unique: HashSet<Vec<u8>> = (0..count).map(|number| block(&recipe, 3, number)).collect();
            let saved = 100.0 * (1.0 - unique.len() as f64 / count as f64);
            // Binomial: the standard deviation is √(p (1 − p) / 5000) = 0.65 points at most; two
            // points are three of them.
            assert!((saved - f64::from(percent)).abs() < 2.0, "{saved} for {percent}");
        }
    }

    #[test]
    fn a_place_has_a_seed_of_its_own() {
        let seed = Recipe::seed_of("host1", "/epic");
        assert_eq!(seed, Recipe::seed_of("host1", "/epic"));
        let others = [("host2", "/epic"), ("host1", "/epic2"), ("host1/", "epic"), ("", "host1/epic")];
        for (host, place) in others {
            assert_ne!(Recipe::seed_of(host, place), seed, "{host} {place}");
        }
        assert!(seed < 1 << 53);
    }

    #[test]
    fn a_block_follows_from_its_place_and_is_recognised() {
        let recipe = Recipe { duplicate_percent: 40, ..Recipe::default() };
        for number in 0..200 {
            let bytes = block(&recipe, 2, number);
            assert_eq!(bytes, block(&recipe, 2, number));
            assert_eq!(recipe.check(&bytes, 2, number), Ok(0));
        }
        let mut bytes = vec![0; BLOCK as usize];
        recipe.write(&mut bytes, BlockIdentity { job: 2, block: 7, generation: 9 });
        assert_eq!(recipe.check(&bytes, 2, 7), Ok(9));
    }

    #[test]
    fn each_way_of_being_wrong_is_told_apart() {
        let recipe = Recipe::default();
        let good = block(&recipe, 1, 5);
        let what = |bytes: &[u8], number| recipe.check(bytes, 1, number).unwrap_err().to_string();
        assert_eq!(what(&good, 6), "job 1, block 6: the block 5 of job 1: a misplaced write");
        assert_eq!(what(&[0; BLOCK as usize], 5), "job 1, block 5: zeroes");
        assert_eq!(what(&[7; BLOCK as usize], 5), "job 1, block 5: no block of ours");
        assert_eq!(what(&good[..100], 5), "job 1, block 5: not a whole block");
        for (at, says) in [(20, "a damaged header"), (8000, "its header is right and its data is not")] {
            let mut damaged = good.clone();
            damaged[at] ^= 1;
            assert_eq!(what(&damaged, 5), format!("job 1, block 5: {says}"));
        }
    }

    #[test]
    fn the_compressible_share_is_zeroes() {
        for percent in [0, 50, 80] {
            let recipe = Recipe { compress_percent: percent, ..Recipe::default() };
            let zeroes = block(&recipe, 1, 1).iter().filter(|&&byte| byte == 0).count();
            // The rest is random; one in 256 bytes of it is zero.
            let share = 100.0 * zeroes as f64 / BLOCK as f64;
            assert!((share - f64::from(percent)).abs() < 1.0, "{share} for {percent}");
        }
    }
}
