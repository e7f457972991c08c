//! The header in front of each block, by which a later read verifies that the data is what was
//! written.
//!
//! ```text
//!    0        4        8        12       16              24              32              40              48
//!    │ magic  │ sum of │ length │ hash   │    offset     │  generation   │     seed      │ sum of data   │ data …
//!    │        │ 8..48  │        │ kind   │  in the file  │ of the write  │  of the job   │               │
//! ```
//! All little-endian. The offset detects a misplaced write, the generation (the number of the write
//! in its job) a lost one, and the seed data of another run. The sums detect damage.

use super::sums::sum_of;
use crc32c::crc32c;
use workload::job::{Hash, Pattern};

const MAGIC: [u8; 4] = *b"SWv1";
/// Bytes of a header.
pub(crate) const HEADER_LEN: usize = 48;

/// What identifies a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) offset: u64,
    /// Number of the write in its job, from 1; 0 accepts any.
    pub(crate) generation: u64,
    /// The job's seed; 0 accepts any.
    pub(crate) seed: u64,
}

/// What was expected and what was found, as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) expected: String,
    pub(crate) found: String,
}

/// Writes a header into `block` that [`check`] accepts.
pub(crate) fn stamp(block: &mut [u8], hash: &Hash, identity: Identity) {
    if let Hash::Pattern(pattern) = hash {
        return fill_pattern(block, pattern, identity.offset);
    }
    let Some((header, data)) = block.split_first_chunk_mut::<HEADER_LEN>() else { return };
    if let Hash::HeaderPattern(pattern) = hash {
        fill_pattern(data, pattern, identity.offset);
    }
    let sum = sum_of(data, hash);
    header[..4].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&((data.len() + HEADER_LEN) as u32).to_le_bytes());
    header[12..16].copy_from_slice(&kind_of(hash).to_le_bytes());
    header[16..24].copy_from_slice(&identity.offset.to_le_bytes());
    header[24..32].copy_from_slice(&identity.generation.to_le_bytes());
    header[32..40].copy_from_slice(&identity.seed.to_le_bytes());
    header[40..48].copy_from_slice(&sum.to_le_bytes());
    let own = crc32c(&header[8..]);
    header[4..8].copy_from_slice(&own.to_le_bytes());
}

/// Checks that `block` is the one that `identity` describes.
pub(crate) fn check(block: &[u8], hash: &Hash, identity: Identity) -> Result<(), Wrong> {
    let Identity { offset, generation, seed } = identity;
    if let Hash::Pattern(pattern) = hash {
        return check_pattern(block, pattern, offset);
    }
    let expected = match (generation, seed) {
        (_, 0) => format!("a block of offset {offset}"),
        (0, _) => format!("a block of offset {offset}, seed {seed:#x}"),
        _ => format!("a block of offset {offset}, generation {generation}, seed {seed:#x}"),
    };
    let wrong = |found: String| Err(Wrong { expected: expected.clone(), found });
    let Some((header, data)) = block.split_first_chunk::<HEADER_LEN>() else {
        return wrong(format!("{} bytes, too few for a header", block.len()));
    };
    if header[..4] != MAGIC {
        let first = header[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let zeroes = block.iter().all(|&byte| byte == 0);
        return wrong(if zeroes { "zeroes".into() } else { format!("no header, it begins with {first}") });
    }
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    if half(4) != crc32c(&header[8..]) {
        return wrong("a header that is damaged itself".into());
    }
    if word(16) != offset {
        return wrong(format!("a block of offset {}, generation {}: a misplaced write", word(16), word(24)));
    }
    if seed != 0 && word(32) != seed {
        return wrong(format!("a block of offset {offset}, seed {:#x}: written by another job or run", word(32)));
    }
    if generation != 0 && word(24) != generation {
        return wrong(format!("generation {}: the write of generation {generation} was lost", word(24)));
    }
    if half(8) as usize != block.len() {
        let (there, asked) = (half(8), block.len());
        return wrong(format!("a block of {there} bytes, not of {asked}: written with another bs or verify_interval"));
    }
    if half(12) != kind_of(hash) {
        return wrong("a block with a sum of another kind: written with another verify=".into());
    }
    let sum = sum_of(data, hash);
    if word(40) != sum {
        return wrong(format!("damaged data: its sum is {sum:#x}, its header says {:#x}", word(40)));
    }
    match hash {
        Hash::HeaderPattern(pattern) => check_pattern(data, pattern, offset),
        _ => Ok(()),
    }
}

/// Swaps the header with the bytes at `at`; a second call restores both. 0 does nothing.
pub(crate) fn swap(block: &mut [u8], at: usize) {
    if at < HEADER_LEN || at + HEADER_LEN > block.len() {
        return;
    }
    let (front, rest) = block.split_at_mut(at);
    front[..HEADER_LEN].swap_with_slice(&mut rest[..HEADER_LEN]);
}

/// Checks that a block that was trimmed reads as zeroes.
pub(crate) fn check_zeroes(block: &[u8]) -> Result<(), Wrong> {
    match block.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => Err(Wrong {
            expected: "zeroes, because it was trimmed".into(),
            found: format!("{:#04x} at byte {at} of the block", block[at]),
        }),
    }
}

/// Fills `block` with the pattern, which starts at its first byte.
pub(crate) fn fill_pattern(block: &mut [u8], pattern: &Pattern, offset: u64) {
    if pattern.bytes.is_empty() {
        return block.fill(0);
    }
    for piece in block.chunks_mut(pattern.bytes.len()) {
        let len = piece.len();
        piece.copy_from_slice(&pattern.bytes[..len]);
        for &at in &pattern.offsets_at {
            let at = at as usize;
            for (byte, value) in piece.iter_mut().skip(at).take(8).zip(offset.to_le_bytes()) {
                *byte = value;
            }
        }
    }
}

fn check_pattern(block: &[u8], pattern: &Pattern, offset: u64) -> Result<(), Wrong> {
    let mut right = vec![0; block.len()];
    fill_pattern(&mut right, pattern, offset);
    match block.iter().zip(&right).position(|(found, right)| found != right) {
        None => Ok(()),
        Some(at) => Err(Wrong {
            expected: format!("the pattern, {:#04x} at byte {at} of the block", right[at]),
            found: format!("{:#04x}", block[at]),
        }),
    }
}

fn kind_of(hash: &Hash) -> u32 {
    match hash {
        Hash::Header | Hash::Pattern(_) => 0,
        Hash::Crc32c => 1,
        Hash::Xxhash64 => 2,
        Hash::HeaderPattern(_) => 3,
        Hash::Crc7 => 4,
        Hash::Crc16 => 5,
        Hash::Crc32 => 6,
        Hash::Crc64 => 7,
        Hash::Md5 => 8,
        Hash::Sha1 => 9,
        Hash::Sha256 => 10,
        Hash::Sha512 => 11,
        Hash::Sha3L224 => 12,
        Hash::Sha3L256 => 13,
        Hash::Sha3L384 => 14,
        Hash::Sha3L512 => 15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Identity = Identity { offset: 8192, generation: 5, seed: 7 };

    fn block(hash: &Hash) -> Vec<u8> {
        let mut block: Vec<u8> = (0..4096).map(|i| (i * 7) as u8).collect();
        stamp(&mut block, hash, HERE);
        block
    }

    #[test]
    fn each_way_of_being_wrong_is_told_apart() {
        let sums =
            [Hash::Crc32c, Hash::Xxhash64, Hash::Crc7, Hash::Crc16, Hash::Crc32, Hash::Crc64, Hash::Md5, Hash::Sha1];
        let digests = [Hash::Sha256, Hash::Sha512, Hash::Sha3L224, Hash::Sha3L256, Hash::Sha3L384, Hash::Sha3L512];
        for hash in sums.into_iter().chain(digests) {
            let good = block(&hash);
            assert_eq!(check(&good, &hash, HERE), Ok(()));
            assert_eq!(check(&good, &hash, Identity { generation: 0, ..HERE }), Ok(()), "any generation");
            assert_eq!(check(&good, &hash, Identity { generation: 0, seed: 0, ..HERE }), Ok(()), "any job's");
            let found = |block: &[u8], identity| check(block, &hash, identity).unwrap_err().found;
            assert!(found(&good, Identity { offset: 4096, ..HERE }).contains("offset 8192, generation 5: a misplaced"));
            assert!(found(&good, Identity { generation: 6, ..HERE }).contains("write of generation 6 was lost"));
            assert!(found(&good, Identity { seed: 8, ..HERE }).contains("another job or run"));
            assert_eq!(found(&[0; 4096], HERE), "zeroes");
            assert!(found(&[1; 4096], HERE).starts_with("no header"));
            let mut damaged = good.clone();
            damaged[4095] ^= 1;
            assert!(found(&damaged, HERE).starts_with("damaged data"));
            let mut damaged = good.clone();
            damaged[17] ^= 1;
            assert!(found(&damaged, HERE).starts_with("a header that is damaged"));
        }
    }

    #[test]
    fn other_options_are_told_from_another_job() {
        let found = |block: &[u8], hash| check(block, hash, HERE).unwrap_err().found;
        let good = block(&Hash::Crc32c);
        assert!(found(&good, &Hash::Md5).ends_with("written with another verify="));
        assert!(found(&good[..512], &Hash::Crc32c).starts_with("a block of 4096 bytes, not of 512"));
    }

    #[test]
    fn a_header_stands_elsewhere_and_comes_back() {
        let good = block(&Hash::Crc32c);
        let mut moved = good.clone();
        swap(&mut moved, 1000);
        assert_eq!((&moved[1000..1004], &moved[..4]), (&MAGIC[..], &good[1000..1004]));
        assert!(check(&moved, &Hash::Crc32c, HERE).is_err());
        swap(&mut moved, 1000);
        assert_eq!(moved, good);
        assert_eq!(check_zeroes(&[0; 512]), Ok(()));
        assert_eq!(check_zeroes(&[0, 0, 7]).unwrap_err().found, "0x07 at byte 2 of the block");
    }

    /// Behind the header the pattern begins at its own first byte; a mismatch reports the expected
    /// bytes.
    #[test]
    fn a_pattern_stands_behind_a_header() {
        let hash = Hash::HeaderPattern(Pattern { bytes: vec![1, 2, 3], offsets_at: vec![] });
        let good = block(&hash);
        assert_eq!((&good[..4], &good[48..52]), (&MAGIC[..], &[1, 2, 3, 1][..]));
        assert_eq!(check(&good, &hash, HERE), Ok(()));
        assert!(check(&good, &hash, Identity { offset: 0, ..HERE }).unwrap_err().found.contains("misplaced"));
        let mut damaged = good;
        damaged[50] = 9;
        assert!(check(&damaged, &hash, HERE).unwrap_err().expected.contains("0x03 at byte 2"));
    }

    #[test]
    fn a_pattern_repeats_and_carries_its_offset() {
        let pattern = Pattern { bytes: vec![0xaa; 16], offsets_at: vec![4] };
        let hash = Hash::Pattern(pattern);
        let good = block(&hash);
        assert_eq!((good[3], good[4], good[5], good[16], good[21]), (0xaa, 0x00, 0x20, 0xaa, 0x20));
        assert_eq!(check(&good, &hash, HERE), Ok(()));
        let mut damaged = good;
        damaged[100] = 1;
        let wrong = check(&damaged, &hash, HERE).unwrap_err();
        assert_eq!(
            (wrong.expected.as_str(), wrong.found.as_str()),
            ("the pattern, 0x00 at byte 100 of the block", "0x01")
        );
    }
}
